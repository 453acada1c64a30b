/**
 * An address of an upstream. The actor sends one request for all callers that ask for the same at the same time, and
 * answers all of them with its result. A caller that wants another variant (smaller, fresher) waits until the request
 * under way has ended, and is then mostly answered from the cache. How an address is requested is the upstream's own
 * (`FetchDocument`).
 */
import {
  type ActorClient,
  actor,
  DEFERRED,
  type ReplyTo,
  type Turn,
  type WorkContext,
} from "../../../cluster/actor.ts";
import type { AddressContract, AddressOwn, SourceAnswer } from "../../../schemas/upstream.ts";
import {
  callersOf,
  type Coalescer,
  complete,
  emptyCoalescer,
  join,
  mayRerun,
  remove,
  type Run,
} from "../../lib/coalescer.ts";

/** Requests one address; `digest` is that of the address. Throws Fault. */
export type FetchDocument<Request> = (
  ask: ActorClient,
  work: WorkContext,
  request: Request,
  digest: string,
) => Promise<SourceAnswer>;

/** Fields of every upstream's request that this actor reads. */
interface AddressRequest {
  readonly kind: string;
  readonly cache_ttl_s: number | null;
  readonly max_bytes: number;
  readonly within?: string;
  readonly deadline_ms: number;
}

interface Caller<Request> {
  readonly request: Request;
  readonly reply: ReplyTo<SourceAnswer>;
}

/** Passivation loses the callers: each of them asks again. */
interface State<Request> {
  coalescer: Coalescer<Caller<Request>, Request>;
}

/** A fetch ends at its deadline with a reason; callers that joined it wait this much longer. */
const GRACE_MS = 500;
const PASSIVATE_AFTER_MS = 60_000;

/** Requests of one variant have the same answer. */
const variantOf = ({ cache_ttl_s, max_bytes, kind, within }: AddressRequest): string =>
  JSON.stringify([cache_ttl_s, max_bytes, kind, within ?? null]);

export function addressActor<Request extends AddressRequest>(
  contract: AddressContract<Request>,
  fetchDocument: FetchDocument<Request>,
) {
  type AddressTurn = Turn<State<Request>, AddressOwn>;
  const rules = {
    serves: (request: Request, caller: Caller<Request>) => variantOf(request) === variantOf(caller.request),
    requestFor: ([first]: readonly [Caller<Request>, ...Caller<Request>[]]) => first.request,
    max_runs: 1,
  };

  function start(turn: AddressTurn, { run, request }: Run<Request>): void {
    const digest = turn.key.slice(turn.key.indexOf(" ") + 1);
    turn.pipeToSelf("fetched", async (ask, work) => ({
      fetch_number: run,
      answer: await fetchDocument(ask, work, request, digest),
    }));
  }

  const isExpired = ({ deadline_ms }: Request, now_ms: number): boolean => deadline_ms + GRACE_MS <= now_ms;

  /** Answers the callers whose deadline has passed, except `spared` ones, and sets the timer for the next. */
  function expire(turn: AddressTurn, spared: readonly Caller<Request>[] = []): void {
    const { state, now_ms } = turn;
    const { coalescer, removed } = remove(
      state.coalescer,
      (caller) => isExpired(caller.request, now_ms) && !spared.includes(caller),
    );
    state.coalescer = coalescer;
    for (const { reply } of removed) turn.answer(reply, TIMED_OUT);
    const deadlines_ms = callersOf(coalescer).map(({ request }) => request.deadline_ms + GRACE_MS);
    if (deadlines_ms.length > 0) turn.setTimer(Math.min(...deadlines_ms), "tick", null);
  }

  return actor(contract)<State<Request>>({
    activate: () => ({ coalescer: emptyCoalescer() }),
    passivate_after_ms: PASSIVATE_AFTER_MS,
    on: {
      get(turn, request) {
        const ownRequest = request as unknown as Request;
        if (isExpired(ownRequest, turn.now_ms)) return TIMED_OUT;
        const caller = { request: ownRequest, reply: turn.deferReply<SourceAnswer>() };
        const { coalescer, started } = join(turn.state.coalescer, rules, caller)!;
        turn.state.coalescer = coalescer;
        expire(turn);
        if (started) start(turn, started);
        return DEFERRED;
      },

      fetched(turn, { fetch_number, answer }) {
        const didTimeOut = answer.kind === "failed" && answer.error === "timeout";
        // Expired callers must not start another fetch; those of this fetch are still answered with its result.
        expire(turn, callersOf(turn.state.coalescer, fetch_number));
        const completed = complete(
          turn.state.coalescer,
          rules,
          fetch_number,
          ({ request }, run) => !didTimeOut || !mayRerun(request, run, turn.now_ms),
        );
        if (!completed) return;
        turn.state.coalescer = completed.coalescer;
        for (const { reply } of completed.served) turn.answer(reply, answer);
        expire(turn);
        for (const run of completed.started) start(turn, run);
      },

      tick: (turn) => expire(turn),
    },
  });
}

const TIMED_OUT: SourceAnswer = {
  kind: "failed",
  error: "timeout",
  message: "The time ran out before the upstream answered",
  retry_after_s: null,
  status: null,
  redirects: [],
  requests: 0,
};

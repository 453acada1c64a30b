/**
 * One address of the filing system. It gathers everyone who wants it now, has it asked for once, and answers them all;
 * who wants it otherwise (smaller, fresher) waits until that is done and then mostly finds it kept. How it is asked for
 * is fetch-document.ts.
 */
import { actor, DEFERRED, type ReplyTo, type Turn } from "../../../cluster/actor.ts";
import { FilingAddress, type SourceAnswer, type SourceRequest } from "../../../schemas/filing-source.ts";
import type { FetchDocument } from "./fetch-document.ts";

interface WaitingCaller {
  readonly request: SourceRequest & { readonly ask_id: string };
  readonly reply: ReplyTo<SourceAnswer>;
}

interface State {
  /** Not kept: callers whose actor moved ask again. */
  callers: readonly WaitingCaller[];
  /** What is being asked for, for those with the same variant. */
  in_flight: { readonly number: number; readonly variant: string } | null;
  fetches_started: number;
}

type AddressTurn = Turn<State, typeof FilingAddress.own>;

/** A flight ends by itself at its deadline and says why; this is for those who joined it. */
const GRACE_MS = 500;
/** A caller whose patience outlasts a flight that ran out of time by this much gets one of its own. */
const WORTH_ANOTHER_MS = 1_000;

/** What makes two questions the same one. */
const variantOf = ({ cache_ttl_s, max_bytes, kind, within }: SourceRequest): string =>
  JSON.stringify([cache_ttl_s, max_bytes, kind, within ?? null]);

export const filingAddressActor = (fetchDocument: FetchDocument) =>
  actor(FilingAddress)<State>({
    activate: () => ({ callers: [], in_flight: null, fetches_started: 0 }),
    passivate_after_ms: 60_000,
    on: {
      get(turn, request) {
        // Asked again after a lost answer: the new address counts.
        const otherCallers = turn.state.callers.filter(
          ({ request: { ask_id } }) => ask_id !== request.ask_id,
        );
        turn.state.callers = [...otherCallers, { request, reply: turn.deferReply() }];
        startFetch(turn, fetchDocument);
        return DEFERRED;
      },

      fetched(turn, { fetch_number: number, answer }) {
        const { in_flight, callers } = turn.state;
        if (in_flight?.number !== number) return;
        turn.state.in_flight = null;
        const didTimeOut = answer.kind === "failed" && answer.error === "timeout";
        const served = callers.filter(
          ({ request }) =>
            variantOf(request) === in_flight.variant &&
            !(didTimeOut && request.deadline_ms > turn.now_ms + WORTH_ANOTHER_MS),
        );
        for (const { reply } of served) turn.answer(reply, answer);
        turn.state.callers = callers.filter((caller) => !served.includes(caller));
        startFetch(turn, fetchDocument);
      },

      tick: (turn) => startFetch(turn, fetchDocument),
    },
  });

/** Lets the late go, and has what the first of the others wants asked for. */
function startFetch(turn: AddressTurn, fetchDocument: FetchDocument): void {
  const { state, now_ms, key } = turn;
  const isLate = ({ request }: WaitingCaller): boolean => request.deadline_ms + GRACE_MS <= now_ms;
  for (const { reply } of state.callers.filter(isLate))
    turn.answer(reply, failed("timeout", "The time ran out before the filing system answered", null));
  state.callers = state.callers.filter((caller) => !isLate(caller));
  const [first] = state.callers;
  if (!first) return;
  turn.setTimer(
    Math.min(...state.callers.map(({ request }) => request.deadline_ms + GRACE_MS)),
    "tick",
    null,
  );
  if (state.in_flight) return;
  const number = state.fetches_started++;
  state.in_flight = { number, variant: variantOf(first.request) };
  const digest = key.slice(key.indexOf(" ") + 1);
  const { ask_id: _, ...request } = first.request;
  turn.pipeToSelf("fetched", async (ask, work) => ({
    fetch_number: number,
    answer: await fetchDocument(ask, work, request, digest),
  }));
}

const failed = (error: string, message: string, retry_after_s: number | null): SourceAnswer => ({
  kind: "failed",
  error,
  message,
  retry_after_s,
  status: null,
  redirects: [],
  requests: 0,
});

/**
 * A page of the profile site. Callers that ask for it at the same time share one request; what a caller chooses that
 * changes the request (its routes, its exit, the age it accepts) makes another one. Its state is not stored: callers
 * whose actor moved to another node ask again.
 */
import { actor, DEFERRED, type ReplyTo, type Turn } from "../../../cluster/actor.ts";
import { ProfilePage, type ProfilePageAnswer, type ProfilePageRequest } from "../../../schemas/profiles.ts";
import {
  callersOf,
  type Coalescer,
  type CoalescerRules,
  complete,
  emptyCoalescer,
  join,
  mayRerun,
  remove,
  type Run,
} from "../../lib/coalescer.ts";
import { failedAnswer, type SiteRequest } from "./site-request.ts";

interface Caller {
  readonly request: ProfilePageRequest;
  readonly reply: ReplyTo<ProfilePageAnswer>;
}

interface State {
  coalescer: Coalescer<Caller, ProfilePageRequest>;
}

type PageTurn = Turn<State, typeof ProfilePage.own>;

/** Fewer than the runtime's 500 open asks of one actor. */
const MAX_CALLERS = 400;
const PASSIVATE_AFTER_MS = 60_000;
/** A request ends at its deadline with a reason; callers that joined it wait this much longer. */
const GRACE_MS = 500;

/** Requests of one variant have the same answer. */
const variantOf = ({
  cache_ttl_s,
  routes,
  country,
  session_key,
  max_bytes,
  lane,
}: ProfilePageRequest): string =>
  JSON.stringify([cache_ttl_s, routes, country, session_key, max_bytes, lane]);

const RULES: CoalescerRules<Caller, ProfilePageRequest> = {
  max_runs: 1,
  max_callers: MAX_CALLERS,
  serves: (request, caller) => variantOf(request) === variantOf(caller.request),
  requestFor: ([{ request }]) => request,
};

const isExpired = ({ request }: Caller, now_ms: number): boolean => request.deadline_ms + GRACE_MS <= now_ms;
const TIMED_OUT = "The time was over before the site answered";

export function profilePageActor(siteRequest: SiteRequest) {
  function start(turn: PageTurn, { run, request }: Run<ProfilePageRequest>): void {
    const [site, digest] = turn.key.split(" ") as [string, string];
    turn.pipeToSelf("fetched", async (ask, work) => ({
      run,
      answer: await siteRequest(ask, work, request, { site, digest, run }),
    }));
  }

  /** Answers the callers whose deadline has passed, except `spared` ones, and sets the timer for the next. */
  function expire(turn: PageTurn, spared: readonly Caller[] = []): void {
    const { now_ms, state } = turn;
    const { coalescer, removed } = remove(
      state.coalescer,
      (caller) => isExpired(caller, now_ms) && !spared.includes(caller),
    );
    state.coalescer = coalescer;
    for (const { reply, request } of removed)
      turn.answer(reply, failedAnswer(request.url, "timeout", TIMED_OUT));
    const deadlines_ms = callersOf(coalescer).map(({ request }) => request.deadline_ms + GRACE_MS);
    if (deadlines_ms.length > 0) turn.setTimer(Math.min(...deadlines_ms), "tick", null);
  }

  return actor(ProfilePage)<State>({
    activate: () => ({ coalescer: emptyCoalescer() }),
    passivate_after_ms: PASSIVATE_AFTER_MS,
    on: {
      get(turn, request) {
        const caller = { request, reply: turn.deferReply<ProfilePageAnswer>() };
        const joined = join(turn.state.coalescer, RULES, caller);
        if (!joined) {
          const detail = "Too many callers wait for this page";
          turn.answer(caller.reply, failedAnswer(request.url, "politeness_timeout", detail));
          return DEFERRED;
        }
        turn.state.coalescer = joined.coalescer;
        expire(turn);
        if (joined.started) start(turn, joined.started);
        return DEFERRED;
      },

      fetched(turn, { run, answer }) {
        const completed = complete(turn.state.coalescer, RULES, run, (caller, request) =>
          isAnswered(caller, answer, request, turn.now_ms),
        );
        if (!completed) return;
        turn.state.coalescer = completed.coalescer;
        const payer = payerOf(completed.served, completed.request);
        for (const caller of completed.served)
          turn.answer(caller.reply, caller === payer ? answer : shared(answer));
        expire(turn);
        for (const started of completed.started) start(turn, started);
      },

      tick: (turn) => expire(turn),
    },
  });
}

const isSamePayer = (a: ProfilePageRequest, b: ProfilePageRequest): boolean =>
  a.project === b.project && a.key === b.key;

/** Whether the answer of a run that another caller began is this caller's as well. */
function isAnswered(
  { request }: Caller,
  { error }: ProfilePageAnswer,
  run: ProfilePageRequest,
  now_ms: number,
): boolean {
  if (error === "timeout") return !mayRerun(request, run, now_ms);
  return error !== "budget_exhausted" || isSamePayer(request, run);
}

/**
 * The caller that is told the cost, which was spent once: the one whose request was run, or one of its key. Of a caller that
 * asked again from another node, the last address is the one where it still waits.
 */
const payerOf = (served: readonly Caller[], run: ProfilePageRequest): Caller | undefined =>
  served.findLast(({ request }) => request.fetch_id === run.fetch_id) ??
  served.findLast(({ request }) => isSamePayer(request, run));

const shared = (answer: ProfilePageAnswer): ProfilePageAnswer =>
  answer.error === null ? { ...answer, cached: true, cost_micros: 0 } : { ...answer, cost_micros: 0 };

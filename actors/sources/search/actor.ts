/**
 * The search actor: one per query. Callers that ask the same at the same time share one search; a caller that wants
 * more results than a search under way looks for, or fresher ones, gets a search of its own. It knows no engine
 * (run-search.ts) and no cache (cache.ts); the rule of sharing is actors/lib/coalescer.ts.
 */
import assert from "node:assert/strict";
import {
  actor,
  type ActorClient,
  DEFERRED,
  type ReplyTo,
  type Turn,
  type WorkContext,
} from "../../../cluster/actor.ts";
import { Search, type SearchAnswer, type SearchRequest } from "../../../schemas/search.ts";
import { traced } from "../../../cluster/traced.ts";
import {
  type Coalescer,
  type CoalescerRules,
  complete,
  emptyCoalescer,
  join,
  type Run,
} from "../../lib/coalescer.ts";
import type { SearchOutcome } from "./run-search.ts";

interface Caller {
  readonly request: SearchRequest;
  readonly reply: ReplyTo<SearchAnswer>;
}

interface State {
  /** Not stored: callers whose actor moved to another node ask again. */
  callers: Coalescer<Caller, SearchRequest>;
}

const RULES: CoalescerRules<Caller, SearchRequest> = {
  // Deep enough, and as fresh as asked for.
  serves: (running, { request }) =>
    running.max_results >= request.max_results &&
    (running.cache_ttl_s === 0 || running.cache_ttl_s === request.cache_ttl_s),
  // The first caller pays; the search asks for the largest number of results that any of the callers wants.
  requestFor: ([first, ...others]) => ({
    ...first.request,
    max_results: Math.max(...[first, ...others].map(({ request }) => request.max_results)),
  }),
};

interface SearchActorDeps {
  readonly runSearch: (
    ask: ActorClient,
    work: WorkContext,
    request: SearchRequest,
    digest: string,
  ) => Promise<SearchOutcome>;
  readonly now: () => number;
}

export const searchActor = (deps: SearchActorDeps) =>
  actor(Search)<State>({
    activate: () => ({ callers: emptyCoalescer() }),
    passivate_after_ms: 60_000,
    on: {
      get(turn, request) {
        const joined = join(turn.state.callers, RULES, { request, reply: turn.deferReply<SearchAnswer>() });
        assert(joined, "A search takes any number of callers");
        turn.state.callers = joined.coalescer;
        if (joined.started) startSearch(turn, joined.started, deps);
        return DEFERRED;
      },

      completed(turn, { search, answer, is_refused }) {
        // A payer without money refuses the search for its own callers only.
        const isServed = ({ request }: Caller, run: SearchRequest): boolean =>
          !is_refused || (request.project === run.project && request.key === run.key);
        const completed = complete(turn.state.callers, RULES, search, isServed);
        if (!completed) return;
        turn.state.callers = completed.coalescer;
        for (const { request, reply } of completed.served) {
          const isPayer = request.search_id === completed.request.search_id;
          const { trace, ...untraced } = answer;
          turn.answer(reply, {
            ...untraced,
            ...(isPayer && trace && { trace }),
            results: answer.results.slice(0, request.max_results),
            cost_usd: isPayer ? answer.cost_usd : "0",
          });
        }
        for (const started of completed.started) startSearch(turn, started, deps);
      },
    },
  });

function startSearch(
  turn: Turn<State, typeof Search.own>,
  { run, request }: Run<SearchRequest>,
  { runSearch, now }: SearchActorDeps,
): void {
  const digest = turn.key;
  turn.pipeToSelf("completed", async (ask, work) => {
    if (!request.is_traced) return { search: run, ...(await runSearch(ask, work, request, digest)) };
    const recorded = traced(ask, now);
    const outcome = await runSearch(recorded.ask, work, request, digest);
    return { search: run, ...outcome, answer: { ...outcome.answer, trace: recorded.steps() } };
  });
}

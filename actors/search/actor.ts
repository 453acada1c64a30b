/**
 * The search actor: one per query. It gathers everyone who asks the same now and has it searched once; who wants more
 * results than are being looked for gets a search of their own. It knows no engine (run-search.ts) and no cache (cache.ts).
 */
import {
  actor,
  type WorkContext,
  DEFERRED,
  type ReplyTo,
  type ActorClient,
  type Turn,
} from "../../cluster/actor.ts";
import { Search, type SearchAnswer, type SearchRequest } from "../../schemas/search.ts";
import type { SearchOutcome } from "./run-search.ts";

interface Caller {
  readonly request: SearchRequest;
  readonly reply: ReplyTo<SearchAnswer>;
}

interface RunningSearch {
  readonly search: number;
  /** The first caller's, who pays when it costs anything. */
  readonly request: SearchRequest;
  readonly callers: readonly Caller[];
}

interface State {
  /** Not kept: callers whose actor moved ask again. */
  running: readonly RunningSearch[];
  started_count: number;
}

type RunSearch = (
  ask: ActorClient,
  work: WorkContext,
  request: SearchRequest,
  digest: string,
) => Promise<SearchOutcome>;
type SearchTurn = Turn<State, typeof Search.operations>;

export const searchActor = (runSearch: RunSearch) =>
  actor(Search)<State>({
    activate: () => ({ running: [], started_count: 0 }),
    passivate_after_ms: 60_000,
    on: {
      get(turn, request) {
        const caller = { request, reply: turn.deferReply<SearchAnswer>() };
        // Asked again after a lost answer: the new address counts.
        turn.state.running = turn.state.running.map((running) => ({
          ...running,
          callers: running.callers.filter(({ request: { search_id } }) => search_id !== request.search_id),
        }));
        const joinable = turn.state.running.find((running) => canServe(running.request, request));
        if (!joinable) {
          startSearch(turn, [caller], runSearch);
          return DEFERRED;
        }
        turn.state.running = turn.state.running.map((running) =>
          running === joinable ? { ...running, callers: [...running.callers, caller] } : running,
        );
        return DEFERRED;
      },

      completed(turn, { search: number, answer, refused_project }) {
        const finished = turn.state.running.find((running) => running.search === number);
        if (!finished) return;
        turn.state.running = turn.state.running.filter((running) => running !== finished);
        // One project's empty purse is not everybody's.
        const unaffected =
          refused_project === null
            ? []
            : finished.callers.filter(({ request }) => request.project !== refused_project);
        for (const caller of finished.callers) {
          if (unaffected.includes(caller)) continue;
          const isPayer = caller.request.search_id === finished.request.search_id;
          turn.answer(caller.reply, {
            ...answer,
            results: answer.results.slice(0, caller.request.max_results),
            cost_usd: isPayer ? answer.cost_usd : "0",
          });
        }
        if (unaffected.length > 0) startSearch(turn, unaffected, runSearch);
      },
    },
  });

/** The largest wish of all who wait, in the name of the first. */
function startSearch(turn: SearchTurn, callers: readonly Caller[], runSearch: RunSearch): void {
  const max_results = Math.max(...callers.map(({ request }) => request.max_results));
  const request = { ...callers[0]!.request, max_results };
  const number = turn.state.started_count++;
  turn.state = {
    started_count: number + 1,
    running: [...turn.state.running, { search: number, request, callers }],
  };
  const digest = turn.key;
  turn.pipeToSelf("completed", async (ask, work) => ({
    search: number,
    ...(await runSearch(ask, work, request, digest)),
  }));
}

/** Whether what is being searched will do for this caller: deep enough, and as fresh as asked for. */
const canServe = (running: SearchRequest, request: SearchRequest): boolean =>
  running.max_results >= request.max_results &&
  (running.cache_ttl_s === 0 || running.cache_ttl_s === request.cache_ttl_s);

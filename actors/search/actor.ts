/**
 * The search actor: one per query. It gathers everyone who asks the same now and has it searched once; who wants more
 * results than are being looked for gets a search of their own. It knows no engine (seek.ts) and no cache (cache.ts).
 */
import { actor, type Held, PARKED, type ReplyTo, type Say, type Turn } from "../../cluster/actor.ts";
import { Search, type SearchAnswer, type SearchAsk } from "../../schemas/search.ts";
import type { Sought } from "./run-search.ts";

interface Caller {
  readonly ask: SearchAsk;
  readonly reply: ReplyTo<SearchAnswer>;
}

interface Running {
  readonly search: number;
  /** The first caller's, who pays when it costs anything. */
  readonly ask: SearchAsk;
  readonly callers: readonly Caller[];
}

interface State {
  /** Not kept: callers whose actor moved ask again. */
  running: readonly Running[];
  begun: number;
}

type Seek = (say: Say, held: Held, ask: SearchAsk, digest: string) => Promise<Sought>;
type SearchTurn = Turn<State, typeof Search.operations>;

export const search = (seek: Seek) =>
  actor(Search)<State>({
    begin: () => ({ running: [], begun: 0 }),
    idle_ms: 60_000,
    on: {
      get(turn, ask) {
        const caller = { ask, reply: turn.park<SearchAnswer>() };
        // Asked again after a lost answer: the new address counts.
        turn.state.running = turn.state.running.map((running) => ({
          ...running,
          callers: running.callers.filter(({ ask: { search_id } }) => search_id !== ask.search_id),
        }));
        const known = turn.state.running.find((running) => serves(running.ask, ask));
        if (!known) {
          begin(turn, [caller], seek);
          return PARKED;
        }
        turn.state.running = turn.state.running.map((running) =>
          running === known ? { ...running, callers: [...running.callers, caller] } : running,
        );
        return PARKED;
      },

      searched(turn, { search: number, answer, refused_project }) {
        const found = turn.state.running.find((running) => running.search === number);
        if (!found) return;
        turn.state.running = turn.state.running.filter((running) => running !== found);
        // One project's empty purse is not everybody's.
        const others =
          refused_project === null ? [] : found.callers.filter(({ ask }) => ask.project !== refused_project);
        for (const caller of found.callers) {
          if (others.includes(caller)) continue;
          const pays = caller.ask.search_id === found.ask.search_id;
          turn.answer(caller.reply, {
            ...answer,
            results: answer.results.slice(0, caller.ask.max_results),
            cost_usd: pays ? answer.cost_usd : "0",
          });
        }
        if (others.length > 0) begin(turn, others, seek);
      },
    },
  });

/** The largest wish of all who wait, in the name of the first. */
function begin(turn: SearchTurn, callers: readonly Caller[], seek: Seek): void {
  const max_results = Math.max(...callers.map(({ ask }) => ask.max_results));
  const ask = { ...callers[0]!.ask, max_results };
  const number = turn.state.begun++;
  turn.state = {
    begun: number + 1,
    running: [...turn.state.running, { search: number, ask, callers }],
  };
  const digest = turn.key;
  turn.start("searched", async (say, held) => ({ search: number, ...(await seek(say, held, ask, digest)) }));
}

/** Whether what is being searched will do for this caller: deep enough, and as fresh as asked for. */
const serves = (running: SearchAsk, ask: SearchAsk): boolean =>
  running.max_results >= ask.max_results &&
  (running.cache_ttl_s === 0 || running.cache_ttl_s === ask.cache_ttl_s);

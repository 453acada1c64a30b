/**
 * The fetch actor: one per cache key. It gathers everyone who wants the same page now, has the ladder climbed once
 * for each variant of the question, and gives them all the same answer. It never opens a socket (climb.ts) and
 * decides no route (ladder.ts).
 */
import { actor, type Held, PARKED, type ReplyTo, type Say, type Turn } from "../../cluster/actor.ts";
import type { Versioned } from "../../cluster/ports/documents.ts";
import { EMPTY_RECORD, Fetch, type FetchAnswer, type FetchAsk } from "../../schemas/fetch.ts";
import { asCachedPage, type CachedPage, freshness, type Freshness, variantOf } from "./freshness.ts";

interface Caller {
  readonly fetch_id: string;
  readonly project: string;
  readonly lane: FetchAsk["lane"];
  readonly deadline_ms: number;
  readonly hard_deadline: boolean;
  readonly reply: ReplyTo<FetchAnswer>;
}

interface Climbing {
  readonly climb: number;
  readonly request: FetchAsk;
  readonly callers: readonly Caller[];
  /** Ends it early, when nobody wants it any more. */
  readonly stop: AbortController;
}

interface State {
  /** Climbs under way by variant. Not kept: callers whose actor moved ask again. */
  climbing: ReadonlyMap<string, Climbing>;
  begun: number;
}

export interface Ways {
  readonly climb: (
    say: Say,
    held: Held,
    climb: {
      readonly request: FetchAsk;
      readonly digest: string;
      readonly known: Promise<Versioned | null>;
      readonly stale: CachedPage | null;
      readonly unwanted: AbortSignal;
    },
  ) => Promise<FetchAnswer>;
  /** What is stored for this digest, or null. */
  readonly stored: (digest: string) => Promise<Versioned | null>;
  readonly now: () => number;
}

/** More callers for one page than this are told to come back: they would all be answered, but not remembered. */
const MAX_CALLERS = 5_000;
/** A caller whose patience outlasts a climb that ran into its own deadline by this much gets a climb of its own. */
const WORTH_ANOTHER_MS = 1_000;

type FetchTurn = Turn<State, typeof Fetch.operations>;

export const fetch = (ways: Ways) =>
  actor(Fetch)<State>({
    begin: () => ({ climbing: new Map(), begun: 0 }),
    idle_ms: 60_000,
    on: {
      get(turn, request) {
        const variant = variantOf(request);
        const known = turn.state.climbing.get(variant);
        const callers = known?.callers ?? [];
        if (callers.length >= MAX_CALLERS) return busy();
        const caller: Caller = {
          fetch_id: request.fetch_id,
          project: request.project,
          lane: request.lane,
          deadline_ms: request.deadline_ms,
          hard_deadline: request.hard_deadline,
          reply: turn.park(),
        };
        // Asked again after a lost answer: the new address counts.
        const others = callers.filter(({ fetch_id }) => fetch_id !== caller.fetch_id);
        if (known) remember(turn, variant, { ...known, callers: [...others, caller] });
        else begin(turn, variant, request, [caller], ways);
        wakeForPatience(turn);
        return PARKED;
      },

      leave(turn, { fetch_id }) {
        for (const [variant, climbing] of turn.state.climbing) {
          const left = climbing.callers.filter((caller) => caller.fetch_id === fetch_id);
          if (left.length === 0) continue;
          for (const caller of left) turn.answer(caller.reply, tooLate());
          const callers = climbing.callers.filter((caller) => !left.includes(caller));
          if (callers.length === 0) climbing.stop.abort();
          remember(turn, variant, { ...climbing, callers });
        }
      },

      climbed(turn, { climb, answer }) {
        const found = [...turn.state.climbing].find(([, climbing]) => climbing.climb === climb);
        if (!found) return;
        const [variant, { request, callers, stop }] = found;
        const another = (caller: Caller) =>
          // It ended because all others had left.
          stop.signal.aborted ||
          (answer.error === "timeout" && caller.deadline_ms > turn.now_ms + WORTH_ANOTHER_MS) ||
          (wasBroke(answer) && caller.project !== request.project) ||
          // Common Crawl answers batches only (1-core.md, alternate_source).
          (answer.record.alternate_source === "common_crawl" && caller.lane === "sync");
        const { left = [], served = [] } = Object.groupBy(callers, (caller) =>
          another(caller) ? "left" : "served",
        );
        // Money was spent once, so one of them tells of it: whoever's budget paid, if they are still there.
        const payer =
          served.find(({ fetch_id }) => fetch_id === request.fetch_id) ??
          served.find(({ project }) => project === request.project) ??
          served[0];
        const shared = { ...answer, cost_usd: "0" };
        for (const caller of served) turn.answer(caller.reply, caller === payer ? answer : shared);
        forget(turn, variant);
        const [first] = left;
        if (!first) return;
        const deadline_ms = Math.max(...left.map((caller) => caller.deadline_ms));
        const { fetch_id, project } = left.find((caller) => caller.project === request.project) ?? first;
        const lane = left.some((caller) => caller.lane === "sync") ? "sync" : "batch";
        begin(turn, variant, { ...request, fetch_id, project, lane, deadline_ms }, left, ways);
      },

      tick(turn) {
        for (const [variant, climbing] of turn.state.climbing) {
          const late = climbing.callers.filter((caller) => isLate(caller, turn.now_ms));
          if (late.length === 0) continue;
          for (const caller of late) turn.answer(caller.reply, tooLate());
          const callers = climbing.callers.filter((caller) => !late.includes(caller));
          remember(turn, variant, { ...climbing, callers });
        }
        wakeForPatience(turn);
      },
    },
  });

function begin(
  turn: FetchTurn,
  variant: string,
  request: FetchAsk,
  callers: readonly Caller[],
  ways: Ways,
): void {
  const number = turn.state.begun++;
  const digest = turn.key.slice(turn.key.indexOf(" ") + 1);
  const stop = new AbortController();
  remember(turn, variant, { climb: number, request, callers, stop });
  turn.start("climbed", async (say, held) => {
    const known = ways.stored(digest);
    // Whoever wants nothing of it need not wait for it; what goes wrong is heard when it is needed.
    known.catch(() => {});
    const page = request.cache_ttl_s === 0 ? null : asCachedPage((await known)?.value);
    const fresh: Freshness = freshness(page, request, ways.now());
    if (fresh.kind === "hit") return { climb: number, answer: fresh.answer };
    const stale = fresh.kind === "stale" ? fresh.page : null;
    return {
      climb: number,
      answer: await ways.climb(say, held, { request, digest, known, stale, unwanted: stop.signal }),
    };
  });
}

/** No page, and money would have taken another route: somebody else's budget may have some. */
const wasBroke = ({ error, attempts }: FetchAnswer): boolean =>
  error !== null && attempts.some(({ reason }) => reason === "budget_exhausted");

function remember(turn: FetchTurn, variant: string, climbing: Climbing): void {
  turn.state = { ...turn.state, climbing: new Map(turn.state.climbing).set(variant, climbing) };
}

function forget(turn: FetchTurn, variant: string): void {
  const climbing = new Map(turn.state.climbing);
  climbing.delete(variant);
  turn.state = { ...turn.state, climbing };
}

/** A climb with a deadline of its own ends by itself, and says what it tried; this is for those who joined it. */
const GRACE_MS = 1_000;
const isLate = (caller: Caller, now_ms: number): boolean =>
  caller.hard_deadline && caller.deadline_ms + GRACE_MS <= now_ms;

function wakeForPatience(turn: FetchTurn): void {
  const ends = [...turn.state.climbing.values()].flatMap(({ callers }) =>
    callers.filter(({ hard_deadline }) => hard_deadline).map(({ deadline_ms }) => deadline_ms + GRACE_MS),
  );
  if (ends.length > 0) turn.wake(Math.min(...ends), "tick", null);
}

/** An answer without a page: the step that ended it stands in its attempts. */
function without(error: string, step: string, retry_after_s: number | null, detail: string): FetchAnswer {
  return {
    record: EMPTY_RECORD,
    attempts: [{ tier: step, status: null, reason: error, ms: 0, detail: null }],
    cached: false,
    revalidated: false,
    cost_usd: "0",
    error,
    error_detail: detail,
    retry_after_s,
    premium_routes_tried: false,
  };
}

const busy = (): FetchAnswer =>
  without("domain_busy", "politeness", 5, `${MAX_CALLERS} callers are waiting for this page`);
const tooLate = (): FetchAnswer =>
  without("timeout", "request_timeout", null, "timeout_s ran out before the page was there");

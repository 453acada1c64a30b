/**
 * The fetch actor: one per cache key. It gathers everyone who wants the same page now, has the ladder climbed once
 * for each variant of the question, and gives them all the same answer. It never opens a socket (climb.ts) and
 * decides no route (ladder.ts).
 */
import {
  actor,
  type WorkContext,
  DEFERRED,
  type ReplyTo,
  type ActorClient,
  type Turn,
} from "../../cluster/actor.ts";
import type { Versioned } from "../../cluster/ports/documents.ts";
import { EMPTY_RECORD, Fetch, type FetchAnswer, type FetchRequest } from "../../schemas/fetch.ts";
import { asCachedPage, type CachedPage, freshness, type Freshness, variantOf } from "./freshness.ts";

interface Caller {
  readonly fetch_id: string;
  readonly project: string;
  readonly lane: FetchRequest["lane"];
  readonly deadline_ms: number;
  readonly hard_deadline: boolean;
  readonly reply: ReplyTo<FetchAnswer>;
}

interface ActiveRun {
  readonly run: number;
  readonly request: FetchRequest;
  readonly callers: readonly Caller[];
  /** Ends it early, when nobody wants it any more. */
  readonly stop: AbortController;
}

interface State {
  /** Climbs under way by variant. Not kept: callers whose actor moved ask again. */
  active: ReadonlyMap<string, ActiveRun>;
  run_count: number;
}

export interface FetchDeps {
  readonly runFetch: (
    ask: ActorClient,
    work: WorkContext,
    runFetch: {
      readonly request: FetchRequest;
      readonly digest: string;
      readonly stored: Promise<Versioned | null>;
      readonly stale: CachedPage | null;
      readonly cancelled: AbortSignal;
    },
  ) => Promise<FetchAnswer>;
  /** What is stored for this digest, or null. */
  readonly loadStored: (digest: string) => Promise<Versioned | null>;
  readonly now: () => number;
}

/** More callers for one page than this are told to come back: they would all be answered, but not remembered. */
const MAX_CALLERS = 5_000;
/** A caller whose patience outlasts a climb that ran into its own deadline by this much gets a climb of its own. */
const MIN_RERUN_MS = 1_000;

type FetchTurn = Turn<State, typeof Fetch.operations>;

export const fetchActor = (deps: FetchDeps) =>
  actor(Fetch)<State>({
    activate: () => ({ active: new Map(), run_count: 0 }),
    passivate_after_ms: 60_000,
    on: {
      get(turn, request) {
        const variant = variantOf(request);
        const existing = turn.state.active.get(variant);
        const callers = existing?.callers ?? [];
        if (callers.length >= MAX_CALLERS) return busy();
        const caller: Caller = {
          fetch_id: request.fetch_id,
          project: request.project,
          lane: request.lane,
          deadline_ms: request.deadline_ms,
          hard_deadline: request.hard_deadline,
          reply: turn.deferReply(),
        };
        // Asked again after a lost answer: the new address counts.
        const others = callers.filter(({ fetch_id }) => fetch_id !== caller.fetch_id);
        if (existing) remember(turn, variant, { ...existing, callers: [...others, caller] });
        else startRun(turn, variant, request, [caller], deps);
        setDeadlineTimer(turn);
        return DEFERRED;
      },

      cancel(turn, { fetch_id }) {
        for (const [variant, active] of turn.state.active) {
          const leaving = active.callers.filter((caller) => caller.fetch_id === fetch_id);
          if (leaving.length === 0) continue;
          for (const caller of leaving) turn.answer(caller.reply, timedOut());
          const callers = active.callers.filter((caller) => !leaving.includes(caller));
          if (callers.length === 0) active.stop.abort();
          remember(turn, variant, { ...active, callers });
        }
      },

      completed(turn, { run, answer }) {
        const match = [...turn.state.active].find(([, active]) => active.run === run);
        if (!match) return;
        const [variant, { request, callers, stop }] = match;
        const needsOwnRun = (caller: Caller) =>
          // It ended because all others had left.
          stop.signal.aborted ||
          (answer.error === "timeout" && caller.deadline_ms > turn.now_ms + MIN_RERUN_MS) ||
          (lackedBudget(answer) && caller.project !== request.project) ||
          // Common Crawl answers batches only (1-core.md, alternate_source).
          (answer.record.alternate_source === "common_crawl" && caller.lane === "sync");
        const { left: remaining = [], served = [] } = Object.groupBy(callers, (caller) =>
          needsOwnRun(caller) ? "left" : "served",
        );
        // Money was spent once, so one of them tells of it: whoever's budget paid, if they are still there.
        const payer =
          served.find(({ fetch_id }) => fetch_id === request.fetch_id) ??
          served.find(({ project }) => project === request.project) ??
          served[0];
        const shared = { ...answer, cost_usd: "0" };
        for (const caller of served) turn.answer(caller.reply, caller === payer ? answer : shared);
        forget(turn, variant);
        const [first] = remaining;
        if (!first) return;
        const deadline_ms = Math.max(...remaining.map((caller) => caller.deadline_ms));
        const { fetch_id, project } = remaining.find((caller) => caller.project === request.project) ?? first;
        const lane = remaining.some((caller) => caller.lane === "sync") ? "sync" : "batch";
        startRun(turn, variant, { ...request, fetch_id, project, lane, deadline_ms }, remaining, deps);
      },

      tick(turn) {
        for (const [variant, active] of turn.state.active) {
          const expired = active.callers.filter((caller) => isExpired(caller, turn.now_ms));
          if (expired.length === 0) continue;
          for (const caller of expired) turn.answer(caller.reply, timedOut());
          const callers = active.callers.filter((caller) => !expired.includes(caller));
          remember(turn, variant, { ...active, callers });
        }
        setDeadlineTimer(turn);
      },
    },
  });

function startRun(
  turn: FetchTurn,
  variant: string,
  request: FetchRequest,
  callers: readonly Caller[],
  deps: FetchDeps,
): void {
  const run = turn.state.run_count++;
  const digest = turn.key.slice(turn.key.indexOf(" ") + 1);
  const stop = new AbortController();
  remember(turn, variant, { run: run, request, callers, stop });
  turn.pipeToSelf("completed", async (ask, work) => {
    const stored = deps.loadStored(digest);
    // Whoever wants nothing of it need not wait for it; what goes wrong is heard when it is needed.
    stored.catch(() => {});
    const page = request.cache_ttl_s === 0 ? null : asCachedPage((await stored)?.value);
    const fresh: Freshness = freshness(page, request, deps.now());
    if (fresh.kind === "hit") return { run: run, answer: fresh.answer };
    const stale = fresh.kind === "stale" ? fresh.page : null;
    return {
      run: run,
      answer: await deps.runFetch(ask, work, { request, digest, stored, stale, cancelled: stop.signal }),
    };
  });
}

/** No page, and money would have taken another route: somebody else's budget may have some. */
const lackedBudget = ({ error, attempts }: FetchAnswer): boolean =>
  error !== null && attempts.some(({ reason }) => reason === "budget_exhausted");

function remember(turn: FetchTurn, variant: string, active: ActiveRun): void {
  turn.state = { ...turn.state, active: new Map(turn.state.active).set(variant, active) };
}

function forget(turn: FetchTurn, variant: string): void {
  const active = new Map(turn.state.active);
  active.delete(variant);
  turn.state = { ...turn.state, active };
}

/** A climb with a deadline of its own ends by itself, and says what it tried; this is for those who joined it. */
const GRACE_MS = 1_000;
const isExpired = (caller: Caller, now_ms: number): boolean =>
  caller.hard_deadline && caller.deadline_ms + GRACE_MS <= now_ms;

function setDeadlineTimer(turn: FetchTurn): void {
  const deadlines = [...turn.state.active.values()].flatMap(({ callers }) =>
    callers.filter(({ hard_deadline }) => hard_deadline).map(({ deadline_ms }) => deadline_ms + GRACE_MS),
  );
  if (deadlines.length > 0) turn.setTimer(Math.min(...deadlines), "tick", null);
}

/** An answer without a page: the step that ended it stands in its attempts. */
function failedAnswer(
  error: string,
  step: string,
  retry_after_s: number | null,
  detail: string,
): FetchAnswer {
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
  failedAnswer("domain_busy", "politeness", 5, `${MAX_CALLERS} callers are waiting for this page`);
const timedOut = (): FetchAnswer =>
  failedAnswer("timeout", "request_timeout", null, "timeout_s ran out before the page was there");

/**
 * The fetch actor: one per cache key. Callers that want the same page at the same time share one run of the pipeline,
 * one run for each variant of the request, and get the same answer. It opens no socket (pipeline.ts) and decides no
 * route (ladder.ts); the rule of sharing is actors/lib/coalescer.ts.
 */
import { isDeepStrictEqual } from "node:util";
import {
  actor,
  type ActorClient,
  DEFERRED,
  type ReplyTo,
  type Turn,
  type WorkContext,
} from "../../../cluster/actor.ts";
import { traced } from "../../../cluster/traced.ts";
import {
  type Attempt,
  EMPTY_ANSWER,
  Fetch,
  type FetchAnswer,
  type FetchRequest,
  type PageRecord,
} from "../../../schemas/fetch.ts";
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
import type { Versioned } from "../../../cluster/ports/documents.ts";
import {
  asksModel,
  type CachedPage,
  fitted,
  freshness,
  type Freshness,
  lacksFormats,
  variantOf,
  wantsReading,
} from "./freshness.ts";
import type { StoredPages } from "./page-store.ts";
import type { ReadByModel } from "./model/read-by-model.ts";
import type { Reread } from "./reread.ts";
import { applyLimits, exceedsApplied, extendLimits, type FetchRun, limitsOf, type RunLimits } from "./run.ts";

interface Caller {
  readonly variant: string;
  readonly request: FetchRequest;
  readonly reply: ReplyTo<FetchAnswer>;
}

/** The work of a run: the request of its first caller in the faster lane of all, within the limits of all. */
interface Shared extends Pick<Caller, "variant" | "request"> {
  readonly limits: RunLimits;
  /** The only project whose callers it serves; null: all projects. */
  readonly project: string | null;
  /** Attempts of the run so far. */
  readonly attempts: Attempt[];
}

interface State {
  /** Not stored: callers whose actor moved to another node ask again. */
  callers: Coalescer<Caller, Shared>;
  /** By run: ends it early, when its last caller has cancelled. */
  aborts: ReadonlyMap<number, AbortController>;
}

export interface FetchDeps {
  readonly runFetch: (ask: ActorClient, work: WorkContext, run: FetchRun) => Promise<FetchAnswer>;
  /** The record of a stored page with its formats, which are stored, too; null when its body is lost. */
  readonly deriveFormats: (
    key: string,
    page: CachedPage,
    stored: Versioned,
    caller: { readonly signal: AbortSignal; readonly project: string },
  ) => Promise<PageRecord | null>;
  /** The answer as this request wants its page read; null when its body is lost. */
  readonly reread: Reread;
  /** The answer with the values that its request wants of a language model. Default: no request wants any. */
  readonly readByModel?: ReadByModel;
  /** Reads the pages that are cached under this digest, and for this project. */
  readonly loadStored: (digest: string, project: string) => Promise<StoredPages>;
  readonly now: () => number;
}

/** The most callers of one run; one more is answered domain_busy. */
const MAX_CALLERS = 5_000;

const RULES: CoalescerRules<Caller, Shared> = {
  max_callers: MAX_CALLERS,
  serves: ({ variant, project }, caller) =>
    variant === caller.variant && (project === null || project === caller.request.project),
  requestFor: (callers, previous) => sharedRequest(callers, previous, null),
};

/** After an answer that is private to the project of its caller: each of the other projects has a run of its own. */
const PRIVATE_RULES: CoalescerRules<Caller, Shared> = {
  ...RULES,
  requestFor([first, ...others], previous) {
    const { project } = first.request;
    const own = others.filter(({ request }) => request.project === project);
    return sharedRequest([first, ...own], previous, project);
  },
};

function sharedRequest(
  [first, ...others]: readonly [Caller, ...Caller[]],
  previous: Shared | null,
  project: string | null,
): Shared {
  const callers = [first, ...others].filter(({ variant }) => variant === (previous ?? first).variant);
  // For callers that the last run did not serve: for a caller whose project paid before, if there is one.
  const payer = callers.find(({ request }) => previous && isSamePayer(request, previous.request)) ?? first;
  const { variant, request } = payer;
  const limits = limitsOf(request);
  for (const caller of callers) extendLimits(limits, caller.request);
  const deadline_ms = Math.max(...callers.map((caller) => caller.request.deadline_ms));
  const lane = callers.some((caller) => caller.request.lane === "sync") ? "sync" : "batch";
  const with_formats = callers.some((caller) => caller.request.with_formats === true);
  const with_followed = callers.some((caller) => caller.request.with_followed === true);
  const shared: FetchRequest = {
    ...request,
    lane,
    deadline_ms,
    ...(with_formats && { with_formats }),
    ...(with_followed && { with_followed }),
  };
  return { variant, request: shared, limits, project, attempts: [] };
}

/** Callers of other projects are not told whose right is stored. */
function forProject(answer: FetchAnswer, { project }: FetchRequest): FetchAnswer {
  if (answer.granted === undefined || answer.granted.project === project) return answer;
  const { granted: _, ...ungranted } = answer;
  return ungranted;
}

type FetchTurn = Turn<State, typeof Fetch.own>;

export const fetchActor = (deps: FetchDeps) =>
  actor(Fetch)<State>({
    activate: () => ({ callers: emptyCoalescer(), aborts: new Map() }),
    // Nothing is stored or known between two runs.
    passivate_after_ms: 5_000,
    on: {
      get(turn, request) {
        const reply = turn.deferReply<FetchAnswer>();
        const joined = join(turn.state.callers, RULES, { variant: variantOf(request), request, reply });
        if (!joined) {
          turn.answer(reply, busy());
          return DEFERRED;
        }
        turn.state.callers = joined.coalescer;
        if (joined.started) startRun(turn, joined.started, deps);
        else extendRun(turn, request);
        setDeadlineTimer(turn);
        return DEFERRED;
      },

      cancel(turn, { fetch_id }) {
        const cancelled = remove(turn.state.callers, ({ request }) => request.fetch_id === fetch_id);
        turn.state.callers = cancelled.coalescer;
        for (const { reply } of cancelled.removed) turn.answer(reply, timedOut());
        abortRuns(turn, cancelled.abandoned);
      },

      completed(turn, { run, answer }) {
        const isCancelled = turn.state.aborts.get(run)?.signal.aborted === true;
        const isServed = (caller: Caller, shared: Shared): boolean =>
          // A caller joined after the last one had cancelled.
          !isCancelled && !needsOwnRun(caller.request, shared, answer, turn.now_ms);
        const rules = answer.only_project ? PRIVATE_RULES : RULES;
        const completed = complete(turn.state.callers, rules, run, isServed);
        if (!completed) return;
        const aborts = new Map(turn.state.aborts);
        aborts.delete(run);
        turn.state = { callers: completed.coalescer, aborts };
        const payer = payerOf(completed.served, completed.request.request);
        // Cost and trace are those of the payer: a trace names its accounts.
        const { trace: _, llm_cost_usd: _l, ...untraced } = answer;
        const shared = { ...untraced, cost_usd: "0" };
        for (const caller of completed.served) {
          const own = forProject(caller === payer ? answer : shared, caller.request);
          turn.answer(caller.reply, fitted(own, caller.request));
        }
        for (const started of completed.started) startRun(turn, started, deps);
      },

      tick(turn) {
        const { callers } = turn.state;
        const expired = remove(callers, ({ request }) => expiryOf(request) <= turn.now_ms);
        turn.state.callers = expired.coalescer;
        for (const caller of expired.removed)
          turn.answer(caller.reply, timedOut(runOf(callers, caller.request)?.attempts));
        // No caller waits for it any more, although it was meant to last for one that has left.
        abortRuns(turn, expired.abandoned);
        setDeadlineTimer(turn);
      },
    },
  });

function startRun(turn: FetchTurn, { run, request: shared }: Run<Shared>, deps: FetchDeps): void {
  const { request, limits, attempts } = shared;
  const digest = turn.key.slice(turn.key.indexOf(" ") + 1);
  const { readByModel = async (answer) => answer } = deps;
  const abort = new AbortController();
  turn.state.aborts = new Map(turn.state.aborts).set(run, abort);
  turn.pipeToSelf("completed", async (ask, work) => {
    const loaded = deps.loadStored(digest, request.project);
    const stored = loaded.then(({ shared: versioned }) => versioned);
    // A run that does not need the stored page does not wait for it; a run that needs it throws its failure.
    stored.catch(() => {});
    const { key, own, page } = request.cache_ttl_s === 0 ? NOTHING_STORED : await loaded;
    const fresh: Freshness = freshness(page, { ...request, ...applyLimits(limits) }, deps.now());
    const reader = { signal: abort.signal, project: request.project };
    const payer = { ask, epoch: work.epoch, signal: abort.signal };
    if (fresh.kind === "hit") {
      const { answer } = fresh;
      const record = lacksFormats(answer.record, request)
        ? await deps.deriveFormats(key, page!, own!, reader)
        : answer.record;
      const read = record && (await deps.reread({ ...answer, record }, request, reader));
      if (read) return { run, answer: await readByModel(read, request, payer) };
    }
    const stale = fresh.kind === "stale" ? fresh.page : null;
    const fetched = { request, limits, attempts, digest, stored, stale, cancelled: abort.signal };
    const recorded = request.is_traced ? traced(ask, deps.now) : null;
    const asking = recorded?.ask ?? ask;
    const answer = await deps.runFetch(asking, work, fetched);
    const reread = (await deps.reread(answer, request, reader)) ?? answer;
    const read = await readByModel(reread, request, { ...payer, ask: asking });
    return { run, answer: recorded ? { ...read, trace: recorded.steps() } : read };
  });
}

const NOTHING_STORED = { key: "", own: null, page: null } as const;

/** The run that answers this caller. */
const runOf = ({ entries, runs }: State["callers"], { fetch_id }: FetchRequest): Shared | undefined => {
  const entry = entries.find(({ caller }) => caller.request.fetch_id === fetch_id);
  return runs.find(({ run }) => run === entry?.run)?.request;
};

/** The run under way that this caller has joined goes on for as long, and accepts as much, as the caller asks for. */
function extendRun({ state }: FetchTurn, request: FetchRequest): void {
  const joined = runOf(state.callers, request);
  if (joined) extendLimits(joined.limits, request);
}

function abortRuns({ state }: FetchTurn, runs: readonly Run<Shared>[]): void {
  for (const { run } of runs) state.aborts.get(run)?.abort();
}

/** Whether the answer of a shared run does not serve this caller, so that it gets its own run. */
function needsOwnRun(
  caller: FetchRequest,
  { request: shared, limits }: Shared,
  { error, attempts, record, only_project }: FetchAnswer,
  now_ms: number,
): boolean {
  if (only_project && caller.project !== shared.project) return true;
  // The caller joined after the body had been refused.
  if ((error === "too_large" || error === "pdf_not_accepted") && exceedsApplied(limits, caller)) return true;
  if (error === "timeout" && mayRerun(caller, shared, now_ms)) return true;
  // The skip may be that of the project alone whose request was run.
  if (error === "domain_unavailable" && caller.project !== shared.project) return true;
  // The project whose request was run may reach fewer private networks.
  const isUnreached =
    error === "blocked_destination" || attempts.some(({ reason }) => reason === "dns_nxdomain");
  if ((isUnreached || error === "domain_dead") && caller.project !== shared.project) return true;
  // There is no page because of a budget: another key or project may have budget left.
  const lackedBudget = error !== null && attempts.some(({ reason }) => reason === "budget_exhausted");
  if (lackedBudget && !isSamePayer(caller, shared)) return true;
  // A caller whose accounts have not paid for a model gets neither its answer nor `budget_exhausted` of other accounts.
  if (error === null && asksModel(caller) && !isSamePayer(caller, shared)) return true;
  if (error === null && lacksFormats(record, caller)) return true;
  const isReadApart = [caller, shared].some(
    (request) => wantsReading(record, request) || (error === null && asksModel(request)),
  );
  if (isReadApart && !isDeepStrictEqual(caller.reading, shared.reading)) return true;
  // Copies from Common Crawl answer batch items only.
  return record.alternate_source === "common_crawl" && caller.lane === "sync";
}

const isSamePayer = (a: FetchRequest, b: FetchRequest): boolean => a.project === b.project && a.key === b.key;

/**
 * The caller whose answer carries the cost, which was spent once: the one whose request was run, or one of its key, whose
 * accounts paid. No other answer carries it. Of a caller that asked again from another node, the last address is the one
 * where it still waits.
 */
const payerOf = (served: readonly Caller[], run: FetchRequest): Caller | undefined =>
  served.findLast(({ request }) => request.fetch_id === run.fetch_id) ??
  served.findLast(({ request }) => isSamePayer(request, run));

/** For callers that joined a run: a run with its own deadline ends by itself, with its attempts. */
const GRACE_MS = 1_000;

/** When a caller is answered without a page; a request without timeout_s waits as long as its run takes. */
const expiryOf = ({ hard_deadline, deadline_ms }: FetchRequest): number =>
  hard_deadline ? deadline_ms + GRACE_MS : Infinity;

function setDeadlineTimer(turn: FetchTurn): void {
  const next_ms = Math.min(...callersOf(turn.state.callers).map(({ request }) => expiryOf(request)));
  if (next_ms < Infinity) turn.setTimer(next_ms, "tick", null);
}

/** An answer without a page; its only attempt names the step that ended it. */
function failedAnswer(
  error: string,
  step: string,
  retry_after_s: number | null,
  detail: string,
): FetchAnswer {
  return {
    ...EMPTY_ANSWER,
    attempts: [{ tier: step, status: null, reason: error, ms: 0, detail: null }],
    error,
    error_detail: detail,
    retry_after_s,
  };
}

const busy = (): FetchAnswer =>
  failedAnswer("domain_busy", "politeness", 5, `${MAX_CALLERS} callers are waiting for this page`);
/** `attempts`: those of the run, which goes on for other callers. */
function timedOut(attempts: readonly Attempt[] = []): FetchAnswer {
  const answer = failedAnswer(
    "timeout",
    "request_timeout",
    null,
    "timeout_s ran out before the page was there",
  );
  return { ...answer, attempts: [...attempts, ...answer.attempts] };
}

/**
 * A search from its request to its answer: the cache, then the metasearch instances in turn, then the fallback API when the
 * primary answer is poor. Whatever the upstreams do, it ends within UPSTREAM_MS for each, with a named result. merge.ts decides
 * what is poor, cache.ts what is stored, health.ts which instance may be asked.
 */
import type { WorkContext, ActorClient } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import { fromMicros } from "../../../schemas/accounts.ts";
import type { SearchError } from "../../../schemas/errors.ts";
import {
  type FallbackReason,
  Instances,
  INSTANCES_KEY,
  type SearchAnswer,
  type SearchRequest,
  type SearchResult,
} from "../../../schemas/search.ts";
import { workFields } from "../../lib/work-fields.ts";
import { asCachedSearch, type CachedSearch, freshAnswer, ttlOf } from "./cache.ts";
import type { Engine, EngineAnswer, RawResult } from "./engine.ts";
import { merge, fallbackReason, RESULTS_ENOUGH } from "./merge.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import { SEARCHES } from "./collections.ts";

/** The accounts that pay: reserved from before the fallback is called, settled when the call's cost is known. */
export interface Spending {
  /** False: one of them has less left. The same id again is the same reservation. */
  readonly reserve: (ask: ActorClient, payer: SearchRequest, id: string, micros: number) => Promise<boolean>;
  /** Never throws. */
  readonly settle: (ask: ActorClient, payer: SearchRequest, id: string, micros: number) => Promise<void>;
}

export interface Fallback {
  readonly engine: Engine;
  /** The price of one request, in millionths. */
  readonly price_micros: number;
  readonly spending: Spending;
}

export interface SearchDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly metrics: Metrics;
  readonly log: Log;
  /** The primary instances, by the names the Instances actor gives. */
  readonly engines: readonly Engine[];
  /** Null: none is configured, and the primary answer is used as it is. */
  readonly fallback: Fallback | null;
  /** The revision of the built-in index when it is the primary; null: answers do not depend on stored pages. */
  readonly revision: () => string | null;
}

export interface SearchOutcome {
  readonly answer: SearchAnswer;
  /** The payer had no money for the fallback: the answer is for callers with the same payer only. */
  readonly is_refused: boolean;
}

/** How long one upstream may take. Three instances and the fallback make 40 s, well within a caller's 150 s. */
export const UPSTREAM_MS = 10_000;
/** The most instances asked in one search: after a failure the next is asked. */
export const MAX_INSTANCES = 3;

export function runSearch(
  deps: SearchDeps,
): (ask: ActorClient, work: WorkContext, request: SearchRequest, digest: string) => Promise<SearchOutcome> {
  const { clock, fallback, revision } = deps;
  const engines = new Map(deps.engines.map((engine) => [engine.name, engine]));

  return async (ask, work, request, digest) => {
    const entry = request.cache_ttl_s === 0 ? null : await stored(deps, digest);
    const hit = freshAnswer(entry, request, revision(), clock.now());
    if (hit) return { answer: hit, is_refused: false };

    // Read before the search: a page stored during the search may be missing from its answer.
    const revisionBefore = revision();
    const primaryResult = await askPrimary(deps, engines, ask, work, request);
    const options = { ...request, now_ms: clock.now() };
    const results = typeof primaryResult === "string" ? [] : merge([primaryResult.results], options);
    const reason =
      typeof primaryResult === "string" ? primaryResult : fallbackReason(primaryResult, results.length);
    const fallbackResult =
      reason !== null && fallback ? await askFallback(deps, ask, work, request, fallback) : null;

    const usesFallback = fallbackResult !== null && typeof fallbackResult !== "string";
    const allResults = usesFallback
      ? merge(
          [typeof primaryResult === "string" ? [] : primaryResult.results, fallbackResult.results],
          options,
        )
      : results;
    const error = usesFallback ? null : errorOf(reason, allResults.length, fallbackResult);
    const answer: SearchAnswer = {
      results: allResults.slice(0, request.max_results),
      provider: error !== null ? null : usesFallback ? "fallback" : "metasearch",
      fallback_reason: reason,
      unresponsive_engines:
        typeof primaryResult === "string"
          ? []
          : [...new Set(primaryResult.unresponsive.map(({ engine }) => engine))],
      cached: false,
      cost_usd: fromMicros(usesFallback ? fallbackResult.cost_micros : 0),
      error,
    };
    // A poor answer that the fallback could not improve is not stored: the next search may improve it.
    if (reason === null || usesFallback || !fallback)
      await store(deps, digest, request, answer, allResults, revisionBefore);
    return { answer, is_refused: fallbackResult === "budget_exhausted" };
  };
}

/** An upstream's answer within UPSTREAM_MS, whatever it does with the signal. */
async function askUpstream(
  { clock }: SearchDeps,
  engine: Engine,
  request: SearchRequest,
  work: WorkContext,
): Promise<EngineAnswer> {
  if (!work.ownsKey())
    throw new Fault("lease_lost", `Cannot search "${engine.name}": another node may hold this query`);
  const timeout = new AbortController();
  const alarm = clock.at(clock.now() + UPSTREAM_MS, () => timeout.abort());
  const signal = AbortSignal.any([work.signal, timeout.signal]);
  const timedOut = new Promise<EngineAnswer>((resolve) => {
    const end = () =>
      resolve({ kind: "failed", reason: "timeout", retry_after_s: null, detail: "no answer in time" });
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
  });
  try {
    return await Promise.race([engine.ask(request, signal), timedOut]);
  } finally {
    alarm[Symbol.dispose]();
  }
}

function countUpstream(
  { metrics, log }: SearchDeps,
  { search_id }: SearchRequest,
  provider: "metasearch" | "fallback",
  name: string,
  answer: EngineAnswer,
): void {
  const reason = answer.kind === "answered" ? "ok" : answer.reason;
  metrics.count("trawl_search_upstream_total", { provider, reason: reasonLabel(reason) });
  if (answer.kind === "answered") return;
  const { detail } = answer;
  log.warn("An upstream of search failed", { ...workFields(search_id), provider, name, reason, detail });
}

/** Failures that the next request may not meet. Not a time-out, which has taken its time, and nothing that asks for rest. */
const MAY_PASS = /^(?:unreachable|invalid_answer|http_5\d\d)$/;

/** The answer of the first instance that gives one, or why none did. */
async function askPrimary(
  deps: SearchDeps,
  engines: ReadonlyMap<string, Engine>,
  ask: ActorClient,
  work: WorkContext,
  request: SearchRequest,
): Promise<Extract<EngineAnswer, { kind: "answered" }> | FallbackReason> {
  // So many results as tell whether its answer is good enough, also for a caller that wants fewer.
  const question = { ...request, max_results: Math.max(request.max_results, RESULTS_ENOUGH) };
  const asked_instances: string[] = [];
  let failure: FallbackReason = "no_metasearch_instance";
  /** The instance that is asked once more when no other is left; null: it has said that it will not answer, or was. */
  let again: Engine | null = null;
  while (asked_instances.length < MAX_INSTANCES) {
    const { instance } = await ask(Instances, INSTANCES_KEY, "next", { except: [...asked_instances] });
    const engine: Engine | null = (instance === null ? undefined : engines.get(instance)) ?? again;
    if (!engine) break;
    asked_instances.push(engine.name);
    const answer = await askUpstream(deps, engine, question, work);
    countUpstream(deps, request, "metasearch", engine.name, answer);
    const failed = answer.kind === "failed";
    await ask(Instances, INSTANCES_KEY, "report", {
      instance: engine.name,
      failure: failed ? answer.reason : null,
      retry_after_s: failed ? answer.retry_after_s : null,
    });
    if (!failed) return answer;
    again = asked_instances.length === 1 && MAY_PASS.test(answer.reason) ? engine : null;
    failure = answer.reason === "timeout" ? "metasearch_timeout" : "metasearch_error";
  }
  return failure;
}

/** The fallback's results and cost, or its error. */
async function askFallback(
  deps: SearchDeps,
  ask: ActorClient,
  work: WorkContext,
  request: SearchRequest,
  { engine, price_micros, spending }: Fallback,
): Promise<{ results: readonly RawResult[]; cost_micros: number } | SearchError> {
  const id = `${request.search_id}.search.${work.epoch}`;
  const most_micros = price_micros * requestsFor(request);
  const hasCost = most_micros > 0;
  if (hasCost && !(await spending.reserve(ask, request, id, most_micros))) return "budget_exhausted";
  let cost_micros = 0;
  try {
    const answer = await askUpstream(deps, engine, request, work);
    countUpstream(deps, request, "fallback", engine.name, answer);
    if (answer.kind === "failed")
      return `fallback_${answer.reason === "captcha" ? "invalid_answer" : answer.reason}`;
    cost_micros = price_micros * answer.billed;
    return { results: answer.results, cost_micros };
  } finally {
    if (hasCost) await spending.settle(ask, request, id, cost_micros);
  }
}

/** A cache fault makes a search slower, not wrong. */
async function withCache<T>(
  { metrics, log }: SearchDeps,
  what: string,
  otherwise: T,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (problem) {
    if (!(problem instanceof Fault)) throw problem;
    metrics.count("trawl_faults_total", { code: problem.code });
    log.warn(`Cannot ${what} the search cache`, { problem: problem.message });
    return otherwise;
  }
}

const stored = (deps: SearchDeps, digest: string) =>
  withCache(deps, "read", null, async () => asCachedSearch(await SEARCHES.get(deps.documents, digest)));

async function store(
  deps: SearchDeps,
  digest: string,
  request: SearchRequest,
  answer: SearchAnswer,
  results: SearchResult[],
  revisionBefore: string | null,
) {
  const { clock, documents } = deps;
  const { provider, fallback_reason, unresponsive_engines } = answer;
  const ttl_ms = ttlOf(answer);
  if (provider === null || ttl_ms === 0) return;
  const searched_ms = clock.now();
  const entry: CachedSearch = {
    results: results,
    provider,
    fallback_reason,
    unresponsive_engines,
    depth: request.max_results,
    revision: provider === "metasearch" ? revisionBefore : null,
    searched_ms,
    ttl_ms,
  };
  await withCache(deps, "write", false, async () => {
    const old = await SEARCHES.read(documents, digest);
    // If another search has written meanwhile, its answer is as good.
    return SEARCHES.put(documents, digest, entry, old?.version ?? 0, {
      expires_at_ms: searched_ms + ttl_ms,
    });
  });
}

/**
 * The error of a search. It has one only when there are no results and an upstream failed: no instance answered, engines
 * failed, or the fallback failed. A search that honestly found nothing has no error.
 */
function errorOf(
  reason: FallbackReason | null,
  results: number,
  fallback_error: SearchError | null,
): SearchError | null {
  if (results > 0 || reason === null) return null;
  if (fallback_error !== null) return fallback_error;
  return reason === "too_few_results" ? null : reason;
}

/** The fallback gives 20 at once. */
export const FALLBACK_PAGE = 20;
export const requestsFor = ({ max_results }: { readonly max_results: number }): number =>
  Math.ceil(max_results / FALLBACK_PAGE);

/** The reason as a metric label: a closed set of values. */
function reasonLabel(reason: string): string {
  const status = /^http_(\d)\d\d$/.exec(reason);
  return status ? `http_${status[1]}xx` : reason;
}

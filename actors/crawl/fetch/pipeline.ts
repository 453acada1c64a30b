/**
 * The fetch pipeline: one run from its first slot to its answer. It takes the routes that the ladder names, one after
 * another, until there is an answer, and reports the outcome to the Domain actor. Which route comes next is
 * ladder.ts; what happens before each request admission.ts; what a page is worth assess.ts; where it goes
 * page-store.ts; what a stored page may answer freshness.ts.
 */
import type { ActorClient, WorkContext } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import { attemptReasonClass } from "../../../schemas/attempt-reasons.ts";
import { Domain } from "../../../schemas/domain.ts";
import { type FetchError, meaningOf } from "../../../schemas/errors.ts";
import {
  type Attempt,
  EMPTY_RECORD,
  type FetchAnswer,
  HostProfile,
  type PageRecord,
} from "../../../schemas/fetch.ts";
import type { StoredSession } from "../../../schemas/sessions.ts";
import { exposedHeaders } from "../../lib/web/http.ts";
import type { HopRefusal, TransportRequest } from "../../lib/web/transport.ts";
import { siteOf } from "../../lib/web/url.ts";
import { workFields } from "../../lib/work-fields.ts";
import { admit, DELEGATED, withinScope } from "./admission.ts";
import { draftOfArchive, recordExchanges } from "./archived.ts";
import { admitPost } from "./post-once.ts";
import { alternateFinder } from "./alternates/find-alternate.ts";
import { assess } from "./assess.ts";
import { delegate } from "./delegate.ts";
import { observe, segmentOf } from "./host-profile.ts";
import { sharingOf } from "./freshness.ts";
import { needsBrowser, nextStep, NO_HINTS, type Outcome, type Tried } from "./ladder.ts";
import { draftOfCopy, type FindAlternate, findOpenCopy, primarySourcesOf } from "./open-copy.ts";
import { type PageDraft, type PageStore, pageStore, type PageStored } from "./page-store.ts";
import {
  answerOf,
  applyLimits,
  assertOwned,
  type Candidate,
  type FetchRun,
  isOfOneCaller,
  isSold,
  newRun,
  noRoom,
  openRoom,
  type PipelineDeps,
  recordAttempt,
  type RouteEnd,
  MAX_RUN_MS,
  routeEnd,
  type RunState,
} from "./run.ts";
import { answeredAt, siteOutcome, type SiteOutcome } from "./site-outcome.ts";
import { isPremium, type Tier, PREMIUM_TIERS, tierFailureOf } from "../../../schemas/tier-table.ts";

/** Failures between this crawler and the host: of a proxy, a rendering service or a browser. */
const THIRD_PARTY_FAILURE = /^(?:proxy|provider|browser)_/;

/** A route's failure that no other route can change. */
const FINAL_REASONS: Readonly<Record<string, FetchError>> = {
  too_large: "too_large",
  pdf_not_accepted: "pdf_not_accepted",
  blocked_destination: "blocked_destination",
  invalid_url: "invalid_url",
  pdf_download_timeout: "timeout",
};

/** A transport's reason when there was no room for a body. */
const NO_ROOM_REASON = "no_room";

/** Parts that every run of this process uses. */
interface Pipeline {
  readonly deps: PipelineDeps;
  readonly store: PageStore;
  /** Null when no source of open copies is configured. */
  readonly findAlternate: FindAlternate | null;
  /** Tiers come and go with the nodes that have them. */
  readonly hasPremium: () => boolean;
}

export function fetchPipeline(
  deps: PipelineDeps,
): (ask: ActorClient, work: WorkContext, run: FetchRun) => Promise<FetchAnswer> {
  const { clock, routes, sources, extract, joined, caches } = deps;
  const { direct } = routes;
  const pipeline: Pipeline = {
    deps,
    store: pageStore(deps),
    findAlternate:
      direct && sources
        ? alternateFinder({
            ...sources,
            read: direct,
            extract,
            clock,
            ...(joined && { joined }),
            ...(caches && { caches }),
          })
        : null,
    hasPremium: () => PREMIUM_TIERS.some((tier) => routes[tier] !== undefined),
  };

  return async (ask, work, { cancelled, ...started }) => {
    const { limits } = started;
    const began_ms = clock.now();
    const endsAt = (): number => limits.deadline_ms ?? began_ms + MAX_RUN_MS;
    const stop = new AbortController();
    const { signal } = stop;
    let isOver = false;
    const onOver = (): void => {
      isOver = true;
      stop.abort();
    };
    const timer = callAt(clock, endsAt, onOver);
    cancelled?.addEventListener("abort", onOver, { once: true });
    // AbortSignal.any of both signals costs a run 6 µs more, most of it garbage.
    const onWorkEnd = (): void => stop.abort(work.signal.reason);
    work.signal.addEventListener("abort", onWorkEnd);
    if (work.signal.aborted) onWorkEnd();
    const room = deps.memory ? openRoom(deps.memory, signal) : null;
    const allowed = await deps.networksOf?.(started.request.project);
    const reach = { networks: allowed?.networks, owns_networks: allowed?.is_everyones === false };
    const run = newRun(started, { ask, work, signal, ...reach, began_ms, endsAt, room }, deps);
    try {
      const answer = await runFetch(pipeline, run, () => isOver);
      deps.log.debug("A fetch has ended", {
        ...workFields(run.request.fetch_id),
        domain: run.site,
        tier: answer.record.tier,
        error: answer.error,
        ms: Math.round(clock.now() - began_ms),
      });
      return answer;
    } finally {
      run.leaveBacklog?.();
      room?.release();
      timer[Symbol.dispose]();
      work.signal.removeEventListener("abort", onWorkEnd);
    }
  };
}

/** Calls at a time that may move to later while it is waited for. */
function callAt(clock: Clock, endsAt: () => number, call: () => void): Disposable {
  let timer: Disposable;
  const arm = (): void => {
    timer = clock.at(endsAt(), () => (clock.now() < endsAt() ? arm() : call()));
  };
  arm();
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

/** `isOver`: its time has passed, or no caller waits for it any more. */
async function runFetch(pipeline: Pipeline, run: RunState, isOver: () => boolean): Promise<FetchAnswer> {
  const { deps, store } = pipeline;
  const hasPremium = pipeline.hasPremium();
  const { ask, request, tried, site, host } = run;
  if (deps.reservedHosts?.isReserved(request.url)) return delegate(deps, store, run, request.url, []);
  if (hasPremium) {
    const segment = segmentOf(request.url);
    run.hints = { ...NO_HINTS, ...(await ask(HostProfile, `${site} ${host}`, "recall", { segment })) };
  }
  const options = { ...request, has_exit: (await sessionOf(deps, run))?.country !== undefined };
  for (;;) {
    const step = nextStep(options, run.hints, tried satisfies readonly Tried[]);
    if (step.kind === "answer") {
      const best = step.best === null ? null : tried[step.best]!;
      const isMissing = tried.some(({ outcome }) => outcome.kind === "no_host");
      const isLater = hasPremium && request.premium_later === true;
      // The domain hears of it while the page is stored, and before a caller has the answer.
      const outcome = siteOutcome({ url: request.url, error: step.error, tried }, isSiteOf(deps, run));
      const isTold = !isMissing && !(isLater && outcome.result === "every_route_failed");
      const recorded = isTold ? recordOutcome(run, outcome) : null;
      const [answer] = await Promise.all([finish(pipeline, run, step.error, best), recorded]);
      if (hasPremium) recordObservation(deps, run);
      return answer;
    }
    const routeResult = await takeRoute(pipeline, run, step.tier);
    if ("record" in routeResult) {
      const { final_url } = routeResult.record;
      const urls = final_url !== null && isSiteOf(deps, run)(final_url) ? [final_url] : [];
      await recordOutcome(run, { result: "answered", urls: answeredAt(request.url, urls) });
      return routeResult;
    }
    tried.push(routeResult);
    deps.metrics.count("trawl_fetch_attempts_total", {
      tier: step.tier,
      reason: attemptReasonClass(run.attempts.at(-1)?.reason ?? ""),
    });
    if (isOver()) return timedOut(pipeline, run);
  }
}

/** The time is over: the page with the most text that a route brought, if any. */
async function timedOut(pipeline: Pipeline, run: RunState): Promise<FetchAnswer> {
  const { clock, log } = pipeline.deps;
  recordAttempt(run, "request_timeout", null, "timeout", clock.now() - run.began_ms, null);
  // A document that was not read before the deadline is no page: its text would be missing without an error.
  const pages = run.tried.filter(
    ({ outcome, extracted }) => outcome.kind === "page" && !(extracted && run.unread.has(extracted)),
  );
  const best = pages.toSorted((a, b) => textChars(b) - textChars(a))[0] ?? null;
  const answer = await finish(pipeline, run, best ? null : "timeout", best);
  // No caller has time left to wait for it.
  const ended = { url: run.request.url, error: best ? null : ("timeout" as const), tried: run.tried };
  const outcome = siteOutcome(ended, isSiteOf(pipeline.deps, run));
  recordOutcome(run, outcome).catch((problem: unknown) => {
    log.warn("Cannot record the outcome of a fetch", {
      ...workFields(run.request.fetch_id),
      domain: run.site,
      problem: String(problem),
    });
  });
  return answer;
}

/** Takes one route. Returns its outcome for the ladder, or the answer if the route ends the run. */
async function takeRoute(pipeline: Pipeline, run: RunState, tier: Tier): Promise<Candidate | FetchAnswer> {
  const { deps, store } = pipeline;
  const { request, stale, signal, limits } = run;
  const route = deps.routes[tier];
  const unavailable = (reason: Unavailable, attempt_reason: string): Candidate => {
    recordAttempt(run, tier, null, attempt_reason, 0, null);
    return candidate(tier, { kind: "unavailable", reason });
  };
  if (!route) return unavailable("not_configured", "not_configured");
  // A paid article is not fetched around its paywall: not from an archive, and not from a paid provider.
  if (run.tried.some(isSold)) {
    if (tier === "archive") return unavailable("refused", "archive_blocked_paywall");
    if (isPremium(tier)) return unavailable("refused", "paywall_skip_paid");
  }
  if (isPremium(tier)) {
    if (run.hints.premium === "refused") return unavailable("refused", "premium_skipped_domain_refuses");
    if (deps.costs && !(await deps.costs.reserve(run, tier)))
      return unavailable("budget_exhausted", "budget_exhausted");
  }
  const mayRevalidate = request.own?.is_post !== true && request.archive !== true;
  const validators = tier === "direct" && stale !== null && mayRevalidate ? stale.record : null;
  const session = await sessionOf(deps, run);
  if (session === undefined) return candidate(tier, { kind: "final", error: "session_not_found" });
  const result = await route({
    ...request,
    ...(session && {
      session_jar: session.jar,
      ...(session.secrets !== undefined && request.own?.has_actions && { session_secrets: session.secrets }),
      country: session.country ?? request.country,
      user_agent: request.user_agent ?? session.user_agent,
      accept_language: request.accept_language ?? session.accept_language,
    }),
    ...applyLimits(limits),
    currentLimits: async () => applyLimits(limits),
    deadline_ms: run.endsAt(),
    validators,
    signal,
    project: request.project,
    ...(run.networks && { networks: [...run.networks] }),
    ...(run.room && { room: run.room }),
    // An archive has copies of the page at another site.
    admit: tier === "archive" ? admitFor(deps, run) : withinScope(run, deps, admitFor(deps, run)),
  });
  // First: the money was spent, even if another node owns the key by now.
  if (isPremium(tier)) await deps.costs?.settle(run, tier, result);
  // Before the answer: its caller's next request finds the cookies that this one was given.
  if (session) await deps.sessions!.used(session.project, session.id, result.session_changes ?? null);
  assertOwned(run);
  recordExchanges(run, tier, result, deps.metrics);
  deps.metrics.observe("trawl_fetch_duration_seconds", { tier }, result.ms / 1_000);
  switch (result.kind) {
    case "refused":
      run.refusal = result.refusal;
      if (result.refusal.error === DELEGATED)
        return delegate(deps, store, run, run.delegated_url, result.redirects);
      return candidate(tier, afterRefusal(run, result.refusal, result.ms), routeEnd(request.url, result));
    case "failed": {
      recordAttempt(run, tier, result.status, result.reason, result.ms, result.detail);
      const ended = routeEnd(request.url, result);
      return candidate(tier, await afterFailure(run, tier, result.status, ended), ended);
    }
    case "page":
      run.leaveBacklog = deps.backlog?.arrived(request.project) ?? null;
      if (result.status === 304 && stale !== null && validators !== null) {
        recordAttempt(run, tier, 304, "not_modified", result.ms, null);
        return store.revalidate(run, stale, result);
      }
      return assess(deps, store, run, tier, result);
  }
}

/** Null: the request has no session; undefined: it has one that is not there. Read for each route: an earlier one may have changed it. */
async function sessionOf(
  { sessions }: Pick<PipelineDeps, "sessions">,
  { request: { project, session_id } }: RunState,
): Promise<StoredSession | null | undefined> {
  if (session_id === undefined) return null;
  return (await sessions?.get(project, session_id)) ?? undefined;
}

type Unavailable = Extract<Outcome, { kind: "unavailable" }>["reason"];

const candidate = (tier: Tier, outcome: Outcome, ended: RouteEnd | null = null): Candidate => ({
  tier,
  outcome,
  page: null,
  kind: null,
  extracted: null,
  ended,
});

/** Whether an address belongs to the site of the run. */
const isSiteOf =
  ({ joined }: PipelineDeps, { site }: RunState) =>
  (url: string): boolean =>
    siteOf(new URL(url).hostname, joined) === site;

const admitFor =
  (deps: PipelineDeps, run: RunState): TransportRequest["admit"] =>
  (url, options) => {
    // A run that sends another request has read its page, or there was none.
    run.leaveBacklog?.();
    return run.request.own?.is_post ? admitPost(deps, run, url, options) : admit(deps, run, url, options);
  };

function afterRefusal(run: RunState, refusal: HopRefusal, ms: number): Outcome {
  recordAttempt(run, refusal.step, null, refusal.reason, ms, refusal.detail);
  if (refusal.error === "domain_dead") return { kind: "no_host", dead: true };
  // The host blocked a route and then gave no slot: a route that does not ask the host may still help.
  const hasNoSlot = refusal.error === "domain_busy" || refusal.error === "politeness_timeout";
  if (hasNoSlot && run.tried.some(({ outcome }) => outcome.kind === "blocked"))
    return { kind: "unavailable", reason: "failed" };
  return { kind: "final", error: refusal.error as FetchError };
}

async function afterFailure(
  run: RunState,
  tier: Tier,
  status: number | null,
  { reason, final_url }: RouteEnd,
): Promise<Outcome> {
  if (reason === NO_ROOM_REASON) {
    run.refusal = noRoom("The page is there, but this node had no room for its body");
    return { kind: "final", error: "domain_busy" };
  }
  const failure = tierFailureOf(reason);
  // Where the node of the call is gone, something may have been sent.
  if (failure !== null) return { kind: "unavailable", reason: failure === "lost" ? "failed" : "down" };
  const final = FINAL_REASONS[reason];
  if (final) return { kind: "final", error: final };
  // The failure of a third party is not a failure of the host.
  if (tier === "archive" || THIRD_PARTY_FAILURE.test(reason))
    return { kind: "unavailable", reason: reason === "archive_not_found" ? "not_found" : "failed" };
  if (reason !== "dns_nxdomain") return { kind: "blocked", status };
  const missing = final_url === null ? run.host : new URL(final_url).hostname;
  // A redirect to a missing name is not a failure of the requested host.
  if (missing !== run.host) return { kind: "blocked", status: null };
  // The domain counts missing names; the second time within six hours the host is dead.
  const reach = run.networks && { networks: [...run.networks] };
  const message = { fetch_id: run.request.fetch_id, host: run.host, ...reach };
  const { dead } = await run.ask(Domain, run.site, "reportNxdomain", message);
  return { kind: "no_host", dead };
}

/** The stored answer: the best page, or an open copy of it; or the error with the known fields of the page. */
async function finish(
  { deps, store, findAlternate }: Pipeline,
  run: RunState,
  failure: FetchError | null,
  best: Candidate | null,
): Promise<FetchAnswer> {
  const { request } = run;
  const hasLogin = isOfOneCaller(request);
  if (!hasLogin && (failure === "http_404" || failure === "http_410")) deps.onGone?.(request);
  // The title of a page behind a login is sent to no search.
  const copy =
    findAlternate && !needsBrowser(request) && !hasLogin
      ? await findOpenCopy(deps, findAlternate, run, admitFor(deps, run), failure, best)
      : null;
  const error = copy ? null : failure;
  const page = copy?.page ?? best?.page;
  const { record: drafted, contents: ofPage }: PageDraft = copy
    ? draftOfCopy(store, run, copy)
    : best
      ? store.draftOf(run, best)
      : { record: { ...EMPTY_RECORD, ...lastSeen(run.tried) }, contents: [] };
  const archive = draftOfArchive(run);
  const record: PageRecord = {
    ...drafted,
    primary_sources: primarySourcesOf(run, failure, best),
    ...(archive && { archive: archive.ref }),
  };
  const contents = [...ofPage, ...(archive?.contents ?? [])];
  const isWhole = !best?.extracted || !run.unread.has(best.extracted);
  // Found through the project's own search, whose index of pages belongs to it.
  const isFoundByProject = copy !== null && record.alternate_source === "syndication";
  const sharing = page
    ? sharingOf(page.headers, { body: page.body, redirected: page.redirects.length > 0 }, deps.clock.now())
    : null;
  const isOwnNetwork = run.owns_networks && page?.is_private === true;
  const isOwnImport = page?.archived_at !== undefined && page.is_private === true;
  // The name may exist for projects that may reach private networks: they get no archived copy in place of their own host.
  const isOfMissingName = run.tried.some(({ outcome }) => outcome.kind === "no_host");
  const only_project =
    isFoundByProject ||
    isOwnNetwork ||
    isOwnImport ||
    hasLogin ||
    isOfMissingName ||
    request.archive === true ||
    sharing?.is_private === true;
  const mayCache =
    error === null &&
    (copy !== null || isWhole) &&
    sharing?.no_store !== true &&
    request.own?.is_cached !== false;
  let stored: PageStored | null = null;
  if (!page || !mayCache) await store.putBodies(contents);
  else stored = await store.cache(run, { record, contents }, page.headers, { only_project });
  if (page && stored && !copy && !hasLogin) {
    const text = best?.extracted?.text ?? "";
    const { url, project } = request;
    deps.onPageStored?.({ url, project, record, text, headers: page.headers, body: page.body });
  }
  return {
    ...answerOf(run, record),
    ...stored,
    ...((only_project || sharing?.no_store === true) && { only_project: true }),
    error,
    error_detail: error === null ? null : errorDetail(error, run.refusal, run.attempts),
    retry_after_s: error !== null && run.refusal?.error === error ? run.refusal.retry_after_s : null,
  };
}

async function recordOutcome(run: RunState, { result, urls }: SiteOutcome): Promise<void> {
  assertOwned(run);
  if (result === "abandoned") return;
  const { site, caller, tried } = run;
  const lacksBudget = tried.some(
    ({ outcome }) => outcome.kind === "unavailable" && outcome.reason === "budget_exhausted",
  );
  const by = { ...caller, is_open: caller.is_open && !lacksBudget };
  await Promise.all(urls.map((url) => run.ask(Domain, site, "recordOutcome", { caller: by, url, result })));
}

/** Reports the run to the host profile, for later fetches; the answer does not wait for it. */
function recordObservation({ log }: PipelineDeps, run: RunState): void {
  const { ask, request, tried, hints, site, host } = run;
  const observation = observe(tried);
  if (request.own) return;
  // A host that was never blocked has no profile to change.
  const isNews =
    tried.some(({ tier }) => isPremium(tier)) || hints.premium !== "unknown" || hints.is_test === true;
  if (observation === null || !isNews) return;
  const key = `${site} ${host}`;
  const message = { observation, segment: segmentOf(request.url) };
  ask(HostProfile, key, "recordObservation", message).catch((problem: unknown) => {
    const fields = { ...workFields(request.fetch_id), host, problem: String(problem) };
    log.warn("Cannot record what a fetch showed of its host", fields);
  });
}

const textChars = ({ outcome }: Candidate): number => (outcome.kind === "page" ? outcome.text_chars : -1);

/** The last page and the last status seen, for an answer without a page. */
function lastSeen(tried: readonly Candidate[]): Partial<PageRecord> {
  const page = tried.findLast((attempt) => attempt.page !== null)?.page;
  const status = tried
    .map(({ outcome }) => (outcome.kind === "blocked" ? outcome.status : null))
    .findLast((seen) => seen !== null);
  if (!page) {
    const ended = tried.findLast(({ ended: end }) => end !== null && end.final_url !== null)?.ended;
    const place = ended && { final_url: ended.final_url, redirects: [...ended.redirects] };
    return { status: status ?? null, ...place };
  }
  return {
    status: page.status,
    final_url: page.final_url,
    redirects: [...page.redirects],
    origin_content_type: page.headers.get("content-type") ?? null,
    headers: exposedHeaders(page.headers),
  };
}

/** The detail of an error that no attempt explains. */
const ERROR_DETAILS: Readonly<Partial<Record<FetchError, string>>> = {
  post_not_repeated:
    "An earlier run of this request may have sent the POST or taken the steps, and its answer is lost",
  no_tier_allowed:
    "tiers, render, allow_archive and allow_paid together leave no route (actions, device, viewport, wait_for and a screenshot take the route browser only; headers, cookies, sessions and POST direct and browser)",
  domain_dead: "The host name does not exist",
  premium_route_required:
    "This host was served only through premium routes, and allow_paid or tiers leave them out",
  budget_exhausted:
    "This host was served only through premium routes, and the project's budget leaves nothing for them",
};

function errorDetail(error: FetchError, refusal: HopRefusal | null, attempts: readonly Attempt[]): string {
  if (refusal?.error === error && refusal.detail !== null) return refusal.detail;
  const last = attempts.at(-1);
  if (error !== "all_tiers_failed") return ERROR_DETAILS[error] ?? last?.detail ?? meaningOf(error);
  return `Every allowed route failed; the last was ${last?.tier ?? "none"}: ${last?.reason ?? "nothing was tried"}`;
}

/**
 * A request to the profile site: from the cache where it may be, else over the paid routes, the proxy first and then
 * the rendering service. No other route is ever taken. A document is stored only when it was read as what it is.
 */
import { createHash } from "node:crypto";
import type { ActorClient, WorkContext } from "../../../cluster/actor.ts";
import { type BodyRefs, bodyRefs } from "../../../cluster/body-refs.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import { NO_ROOM } from "../../../cluster/ports/workers.ts";
import { Domain } from "../../../schemas/domain.ts";
import type { ProfileError } from "../../../schemas/errors.ts";
import { PREMIUM_TIERS, type PremiumTier } from "../../../schemas/tier-table.ts";
import {
  type ProfilePageAnswer,
  type ProfilePageRequest,
  ProfileRoutes,
  type StoredProfilePage,
} from "../../../schemas/profiles.ts";
import { workFields } from "../../lib/work-fields.ts";
import { exposedHeaders } from "../../lib/web/http.ts";
import type { Admission, TransportPage, TransportResult } from "../../lib/web/transport.ts";
import {
  failureOf,
  type Failure,
  judgeFailure,
  judgeReading,
  judgeRefusal,
  judgeResponse,
  lacksBudget,
  type Outcome,
  siteOutcome,
} from "./judge.ts";
import { PAGE_LIMITS, SLOT_WAIT_MS } from "./limits.ts";
import type { PageReading } from "./read-page.ts";
import { recordAttempt, type SiteRequestDeps, type SiteRun } from "./site-run.ts";
import { PROFILE_PAGES } from "./collections.ts";

/** The cache entry of an address; every caller's, whatever exit the request takes. */
export const pageDigest = ({
  kind,
  url,
  cache_name,
}: Pick<ProfilePageRequest, "kind" | "url" | "cache_name">): string =>
  createHash("sha256")
    .update(`${kind} ${cache_name ?? url}`)
    .digest("hex");

/** A page that a route brought, with what was read of it. */
interface ReadPage {
  readonly tier: PremiumTier;
  readonly page: TransportPage;
  readonly reading: PageReading | null;
}

interface Lookup {
  readonly stored: StoredProfilePage;
  readonly version: number;
  readonly is_fresh: boolean;
}

export type SiteRequest = (
  ask: ActorClient,
  work: WorkContext,
  request: ProfilePageRequest,
  key: { readonly site: string; readonly digest: string; readonly run: number },
) => Promise<ProfilePageAnswer>;

/** Throws Fault. */
export function siteRequests(deps: SiteRequestDeps): SiteRequest {
  const { clock, documents, log } = deps;
  const refs = bodyRefs(documents);
  return async (ask, work, request, { site, digest, run: run_number }) => {
    const began_ms = clock.now();
    const found = await lookUp(deps, request, digest, began_ms);
    if (found?.is_fresh) return fromCache(found.stored, { revalidated: false });
    if (request.routes.length === 0)
      return failedAnswer(request.url, "paid_tier_required", "The site is asked over paid routes only");
    const deadline = new AbortController();
    const timer = clock.at(request.deadline_ms, () => deadline.abort());
    const { fetch_id, project, key, lane } = request;
    const id = `${fetch_id}~${run_number}`;
    const run: SiteRun = {
      ask,
      work,
      signal: AbortSignal.any([work.signal, deadline.signal]),
      site,
      caller: {
        fetch_id: id,
        project,
        is_open: PREMIUM_TIERS.every((tier) => request.routes.includes(tier)),
      },
      began_ms,
      endsAt: () => request.deadline_ms,
      request: { fetch_id: id, lane, project, ...(key !== undefined && { key }) },
      slot_wait_ms: Math.max(0, Math.min(SLOT_WAIT_MS, request.deadline_ms - began_ms)),
      attempts: [],
      hops: 0,
      isLost: false,
      delegated_url: "",
      spent_micros: 0,
    };
    try {
      const answer = await runRequest({ ...deps, refs }, run, request, { digest, found });
      log.debug("A request to the profile site has ended", {
        ...workFields(fetch_id),
        kind: request.kind,
        tier: answer.tier,
        error: answer.error,
        ms: Math.round(clock.now() - began_ms),
      });
      return answer;
    } finally {
      timer[Symbol.dispose]();
    }
  };
}

/** The stored page, if the caller accepts it as it is or it can be confirmed. */
async function lookUp(
  { documents, provider }: SiteRequestDeps,
  { kind, cache_ttl_s }: ProfilePageRequest,
  digest: string,
  now_ms: number,
): Promise<Lookup | null> {
  const { fresh_ms, stored_ms } = PAGE_LIMITS[kind];
  if (stored_ms === 0 || cache_ttl_s === 0) return null;
  const document = await PROFILE_PAGES.read(documents, digest);
  const stored = document?.value;
  if (!document || !stored || stored.parser_version !== `${provider.name} ${provider.parser_version}`)
    return null;
  const age_ms = now_ms - stored.validated_ms;
  if (age_ms >= stored_ms) return null;
  const is_fresh = age_ms < (cache_ttl_s === null ? fresh_ms : cache_ttl_s * 1_000);
  return { stored, version: document.version, is_fresh };
}

type RequestDeps = SiteRequestDeps & { readonly refs: BodyRefs };

async function runRequest(
  deps: RequestDeps,
  run: SiteRun,
  request: ProfilePageRequest,
  { digest, found }: { readonly digest: string; readonly found: Lookup | null },
): Promise<ProfilePageAnswer> {
  const configured = request.routes.filter((tier) => deps.routes[tier] !== undefined);
  const { skip_proxy } = await run.ask(ProfileRoutes, run.site, "plan", null);
  // Where there is nothing else, the proxy is asked all the same.
  const skipped = skip_proxy && configured.length > 1;
  const tried: Outcome[] = [];
  let best: ReadPage | null = null;
  for (const tier of request.routes) {
    if (!configured.includes(tier)) {
      recordAttempt(run, tier, "not_configured");
      continue;
    }
    if (skipped && tier === "proxy") {
      recordAttempt(run, tier, "premium_skipped_domain_refuses");
      continue;
    }
    const taken = await takeRoute(deps, run, request, tier, found?.stored ?? null);
    tried.push(taken.outcome);
    best = taken.read ?? best;
    if (taken.not_modified) {
      await recordOutcome(run, request, "answered");
      return { ...(await revalidated(deps, digest, found!)), ...answerCosts(run) };
    }
    if (taken.outcome.kind === "page" || taken.outcome.kind === "final") break;
    if (run.signal.aborted) break;
  }
  assertOwned(run);
  const last = tried.at(-1);
  await recordOutcome(run, request, siteOutcome(tried), lacksBudget(tried));
  if (last?.kind === "page") return storePage(deps, run, request, { digest, read: best! });
  return {
    ...emptyAnswer(request.url),
    ...(best && placeOf(best.page)),
    ...answerCosts(run),
    ...failed(run, last, tried),
  };
}

/**
 * The session of a caller's key. Dashes separate the parts of a proxy's user name ("name-session-1a2b-country-fr"): a
 * caller's own would end the session's name early or add parts.
 */
const sessionNameOf = (session_key: string): string => session_key.replaceAll("-", "_");

function failed(run: SiteRun, last: Outcome | undefined, tried: readonly Outcome[]): Failure {
  if (last?.kind === "final") {
    const { error, detail, retry_after_s = null } = last;
    return { error, error_detail: detail, retry_after_s };
  }
  if (run.signal.aborted)
    return {
      error: "timeout",
      error_detail: "The time was over before the site answered",
      retry_after_s: null,
    };
  if (last === undefined)
    return {
      error: "all_tiers_failed",
      error_detail: "No route to the site is configured",
      retry_after_s: null,
    };
  return failureOf(tried);
}

async function takeRoute(
  deps: RequestDeps,
  run: SiteRun,
  request: ProfilePageRequest,
  tier: PremiumTier,
  stale: StoredProfilePage | null,
): Promise<{ readonly outcome: Outcome; readonly read: ReadPage | null; readonly not_modified?: true }> {
  const { access, clock } = deps;
  if (!(await access.reserveBudget(run, tier))) {
    recordAttempt(run, tier, "budget_exhausted");
    return { outcome: { kind: "no_budget", reason: "budget_exhausted" }, read: null };
  }
  const admission = heldAdmission(deps, run);
  const { min_text_chars } = PAGE_LIMITS[request.kind];
  // Only an origin's own answer can confirm a page; a rendering service has no header fields.
  const validators =
    tier === "proxy" && stale !== null && stale.body_kind === "origin" ? validatorsOf(stale) : null;
  const result = await deps.routes[tier]!({
    url: request.url,
    max_bytes: request.max_bytes,
    accept_language: null,
    user_agent: null,
    country: request.country,
    ...(request.session_key !== null && { session: sessionNameOf(request.session_key) }),
    validators,
    signal: run.signal,
    deadline_ms: run.endsAt(),
    min_text_chars,
    admit: admission.admit,
  });
  // First: the money was spent, even if another node owns the key by now.
  await access.settleBudget(run, tier, result);
  try {
    assertOwned(run);
    if (result.kind === "page" && result.status === 304 && validators !== null) {
      recordAttempt(run, tier, "not_modified", { status: 304, ms: result.ms });
      return { outcome: { kind: "page", reason: "not_modified" }, read: null, not_modified: true };
    }
    const { outcome, reading } = await judge(deps, run, request, result);
    const isChallenge = outcome.kind === "blocked" && outcome.reason.startsWith("challenge_");
    admission.conclude(isChallenge ? 429 : null);
    const status = result.kind === "page" ? result.status : result.kind === "failed" ? result.status : null;
    const detail = result.kind === "refused" ? result.refusal.detail : (result.detail ?? null);
    recordAttempt(run, tier, outcome.reason, { status, ms: result.ms, detail });
    deps.metrics.count("trawl_profiles_requests_total", { kind: request.kind, tier, outcome: outcome.kind });
    if (tier === "proxy") recordProxy(deps, run, outcome);
    return { outcome, read: result.kind === "page" ? { tier, page: result, reading } : null };
  } finally {
    admission.conclude(null);
    deps.metrics.observe("trawl_fetch_duration_seconds", { tier }, (clock.now() - run.began_ms) / 1_000);
  }
}

async function judge(
  deps: RequestDeps,
  run: SiteRun,
  { kind }: ProfilePageRequest,
  result: TransportResult,
): Promise<{ readonly outcome: Outcome; readonly reading: PageReading | null }> {
  if (result.kind === "refused") return { outcome: judgeRefusal(result.refusal), reading: null };
  if (result.kind === "failed") return { outcome: judgeFailure(result), reading: null };
  const outcome = judgeResponse(result, deps.clock.now());
  if (outcome !== null) return { outcome, reading: null };
  const order = {
    provider: deps.provider.name,
    kind,
    bytes: result.body,
    content_type: result.headers.get("content-type") ?? null,
    url: result.final_url,
  };
  const read = await deps.read(order, run.signal);
  assertOwned(run);
  if (read.kind === "done") return { outcome: judgeReading(read.value), reading: read.value };
  if (NO_ROOM.has(read.reason) || read.reason === "aborted")
    return { outcome: { kind: "failed", reason: "no_room", at_site: false }, reading: null };
  const detail = `The page cannot be read: ${read.reason}`;
  return { outcome: { kind: "final", reason: "parse_failed", error: "parse_failed", detail }, reading: null };
}

/** A success ends the skip of the proxy, and a refusal begins one; another failure says nothing of it. */
function recordProxy({ log }: RequestDeps, { ask, site, request }: SiteRun, { kind }: Outcome): void {
  if (kind === "failed" || kind === "no_budget") return;
  const outcome = kind === "blocked" || kind === "limited" ? "refused" : "ok";
  ask(ProfileRoutes, site, "recordProxy", { outcome }).catch((problem: unknown) => {
    const fields = { ...workFields(request.fetch_id), site, problem: String(problem) };
    log.warn("Cannot record what the proxy came to", fields);
  });
}

interface HeldAdmission {
  readonly admit: (url: string) => Promise<Admission>;
  /** Releases the slot of the last request, with another status than the origin's if there is one. */
  readonly conclude: (status: number | null) => void;
}

/**
 * Holds the slot of the last request until its page was judged: a challenge with status 200 must slow the site down like
 * a 429. A redirect off the site is refused.
 */
function heldAdmission({ access, siteOf }: RequestDeps, run: SiteRun): HeldAdmission {
  let held: ((status: number | null) => void) | null = null;
  let isConcluded = false;
  const conclude = (status: number | null): void => {
    const release = held;
    held = null;
    release?.(status);
  };
  return {
    async admit(url) {
      conclude(null);
      if (siteOf(url) !== run.site)
        return {
          kind: "refused",
          refusal: {
            error: "redirect_not_allowed",
            step: "egress",
            reason: "redirect_not_allowed",
            retry_after_s: null,
            detail: "The page redirects off the site",
          },
        };
      const admission = await access.admit(run, url);
      if (admission.kind === "refused") return admission;
      return {
        ...admission,
        release(answer) {
          if (isConcluded) return admission.release(answer);
          held = (status) => admission.release({ ...answer, status: status ?? answer.status });
        },
      };
    },
    conclude(status) {
      isConcluded = true;
      conclude(status);
    },
  };
}

function validatorsOf({ headers }: StoredProfilePage) {
  const etag = headers["etag"] ?? null;
  const last_modified = headers["last-modified"] ?? null;
  return etag === null && last_modified === null ? null : { etag, last_modified };
}

async function recordOutcome(
  run: SiteRun,
  { url }: ProfilePageRequest,
  result: ReturnType<typeof siteOutcome>,
  lacks_budget = false,
): Promise<void> {
  if (result === "abandoned") return;
  // Another payer has a route that this one could not pay for.
  const caller = { ...run.caller, is_open: run.caller.is_open && !lacks_budget };
  await run.ask(Domain, run.site, "recordOutcome", { caller, url, result });
}

/** Throws when another node may own the site: nothing of the request may be stored or told. */
function assertOwned({ isLost, work, site }: SiteRun): void {
  if (isLost || work.signal.aborted)
    throw new Fault("lease_lost", `Cannot ask "${site}": another node may hold it`);
}

async function storePage(
  { blobs, documents, refs, clock, provider, log }: RequestDeps,
  run: SiteRun,
  request: ProfilePageRequest,
  { digest, read: { tier, page, reading } }: { readonly digest: string; readonly read: ReadPage },
): Promise<ProfilePageAnswer> {
  const now_ms = clock.now();
  const { sha256 } = await blobs.put(page.body);
  const { stored_ms } = PAGE_LIMITS[request.kind];
  const place = { ...placeOf(page), tier, sha256, retrieved_at: new Date(now_ms).toISOString() };
  const answer = { ...emptyAnswer(request.url), ...place, ...answerCosts(run) };
  if (stored_ms === 0 || reading === null) return answer;
  if (reading.kind === "profile" && reading.reading.unknown_sections.length > 0)
    log.debug("A profile has sections that its provider does not know", {
      ...workFields(run.request.fetch_id),
      sections: reading.reading.unknown_sections.slice(0, 10),
    });
  const { sha256: reading_sha256 } = await blobs.put(Buffer.from(JSON.stringify(reading)));
  const { url, final_url, status, content_type, body_kind, retrieved_at, headers } = answer;
  const parser_version = `${provider.name} ${provider.parser_version}`;
  const page_fetch = { url, final_url, status, tier, sha256, content_type, body_kind, retrieved_at };
  const stored: StoredProfilePage = {
    ...page_fetch,
    kind: request.kind,
    headers,
    reading_sha256,
    parser_version,
    validated_ms: now_ms,
  };
  await refs.retain([sha256, reading_sha256], `profiles ${digest}`, now_ms + stored_ms);
  const existing = await PROFILE_PAGES.read(documents, digest);
  // Another writer's page is as good.
  await PROFILE_PAGES.put(documents, digest, stored, existing?.version ?? 0, {
    expires_at_ms: now_ms + stored_ms,
  });
  return { ...answer, reading_sha256, parser_version: provider.parser_version };
}

/** The stored page, which the site confirmed just now. */
async function revalidated(
  { documents, refs, clock }: RequestDeps,
  digest: string,
  { stored, version }: Lookup,
): Promise<ProfilePageAnswer> {
  const now_ms = clock.now();
  const current = { ...stored, validated_ms: now_ms };
  const expires_at_ms = now_ms + PAGE_LIMITS[stored.kind].stored_ms;
  await refs.retain([stored.sha256, stored.reading_sha256], `profiles ${digest}`, expires_at_ms);
  await PROFILE_PAGES.put(documents, digest, current, version, { expires_at_ms });
  return fromCache(current, { revalidated: true });
}

function fromCache(
  stored: StoredProfilePage,
  { revalidated: is }: { readonly revalidated: boolean },
): ProfilePageAnswer {
  const { kind: _kind, validated_ms: _validated_ms, parser_version, ...page } = stored;
  const version = parser_version.slice(parser_version.indexOf(" ") + 1);
  return { ...emptyAnswer(stored.url), ...page, parser_version: version, cached: true, revalidated: is };
}

const placeOf = (page: TransportPage) => ({
  final_url: page.final_url,
  status: page.status,
  redirects: [...page.redirects],
  headers: exposedHeaders(page.headers),
  content_type: page.headers.get("content-type") ?? null,
  body_kind: page.body_kind,
});

const answerCosts = ({ attempts, spent_micros }: SiteRun) => ({ attempts, cost_micros: spent_micros });

/** An answer without a page. */
export const emptyAnswer = (url: string): ProfilePageAnswer => ({
  url,
  final_url: null,
  status: null,
  tier: null,
  sha256: null,
  content_type: null,
  body_kind: null,
  retrieved_at: null,
  cached: false,
  revalidated: false,
  attempts: [],
  redirects: [],
  headers: {},
  reading_sha256: null,
  parser_version: null,
  cost_micros: 0,
  error: null,
  error_detail: null,
  retry_after_s: null,
});

export const failedAnswer = (url: string, error: ProfileError, error_detail: string): ProfilePageAnswer => ({
  ...emptyAnswer(url),
  error,
  error_detail,
});

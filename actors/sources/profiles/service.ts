/**
 * The four operations: suggest, discover, profile and graph. Each asks the pages' actors for what it needs and puts the
 * answer together; it runs where it is called, in a gateway or in a worker. How a page is requested is site-request.ts.
 */
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import { findBody, readBody } from "../../../cluster/read-body.ts";
import { fromMicros } from "../../../schemas/accounts.ts";
import type { ProfileError } from "../../../schemas/errors.ts";
import { PREMIUM_TIERS } from "../../../schemas/tier-table.ts";
import {
  type Connections,
  type DiscoverBody,
  type Discovery,
  type GraphBody,
  MAX_CANDIDATES,
  MIN_SIMILARITY_DEFAULT,
  type ProfileBody,
  type ProfileCandidate,
  type ProfileFetch,
  ProfilePage,
  type ProfilePageAnswer,
  type ProfilePageKind,
  type ProfilePageRequest,
  type StoredProfilesAnswer,
  type SuggestBody,
  type SuggestItem,
} from "../../../schemas/profiles.ts";
import { normaliseUrl, parseUrl } from "../../lib/web/url.ts";
import { countryCode } from "./countries.ts";
import {
  bestCandidates,
  bySearch,
  bySuggestion,
  cityOf,
  EMPTY_DISCOVERY,
  GOOD_SCORE,
  type NameRules,
  RESULTS_PER_QUERY,
  searchQueries,
  suggestCandidates,
  urlScore,
  type WantedCompany,
} from "./discovery.ts";
import { PAGE_LIMITS } from "./limits.ts";
import { profileOf } from "./merge-graph.ts";
import type { Provider } from "./provider.ts";
import type { PageReading } from "./read-page.ts";
import { failedAnswer, pageDigest } from "./site-request.ts";

/** Whose call it is, and how long it may take. */
export interface ProfilesCaller {
  readonly project: string;
  /** The prefix of the key that pays. */
  readonly key: string;
  readonly lane: "sync" | "batch";
  readonly deadline_ms: number;
  /** The id of the call; each of its requests has an id of its own. */
  readonly id: string;
}

/** Runs one search of the service's own. */
export type SearchPages = (
  ask: ActorClient,
  query: string,
  options: {
    readonly country: string | null;
    readonly max_results: number;
    readonly caller: ProfilesCaller;
    readonly id: string;
  },
) => Promise<{
  readonly results: readonly { readonly url: string; readonly title: string | null }[];
  readonly cached: boolean;
  readonly cost_micros: number;
  /** The error of the search; null also where there is no search engine, so that nothing is found. */
  readonly error: string | null;
}>;

export interface ProfilesDeps {
  readonly clock: Clock;
  readonly blobs: Blobs;
  readonly provider: Provider;
  readonly site: ProfileSite;
  readonly names: NameRules;
  /** Null: nothing is searched. */
  readonly search: SearchPages | null;
  /** Whether the operator turned profiles on and some node has a route. */
  readonly isConfigured: () => boolean;
  /** The cost of all attempts of a request, whichever run they were of. Throws Fault. */
  readonly spentBy: (request_id: string) => Promise<number>;
}

export interface ProfileSite {
  /** The name of all its domains together, the key of its Domain actor. */
  readonly name: string;
  /** The canonical one first. */
  readonly hosts: readonly string[];
  /** Where suggestions and graphs are asked, without a slash at the end. */
  readonly origin: string;
  readonly owns: (url: string) => boolean;
}

export type ProfilesCall =
  | { readonly op: "suggest"; readonly fields: SuggestBody }
  | { readonly op: "discover"; readonly fields: DiscoverBody }
  | { readonly op: "profile"; readonly fields: ProfileBody }
  | { readonly op: "graph"; readonly fields: GraphBody };

export interface ProfilesResult {
  readonly answer: StoredProfilesAnswer;
  /** Bodies that the answer names. */
  readonly bodies: readonly NamedBody[];
  readonly cost_micros: number;
}

interface NamedBody {
  readonly sha256: string;
  readonly content_type: string | null;
  readonly body_kind: "origin" | "rendered_dom";
}

/** Throws Fault. */
export type ProfilesService = (
  ask: ActorClient,
  call: ProfilesCall,
  caller: ProfilesCaller,
) => Promise<ProfilesResult>;

/** The progress of a call. */
interface Work {
  readonly ask: ActorClient;
  readonly caller: ProfilesCaller;
  readonly fields: Pick<SuggestBody, "country" | "session_key" | "cache_ttl_s" | "allow_paid">;
  readonly bodies: NamedBody[];
  requests: number;
  uncached: number;
  cost_micros: number;
}

/** An operation answers at its deadline; its answer needs time to arrive. */
const GRACE_MS = 5_000;

export function profilesService(deps: ProfilesDeps): ProfilesService {
  return async (ask, call, caller) => {
    const work: Work = {
      ask,
      caller,
      fields: call.fields,
      bodies: [],
      requests: 0,
      uncached: 0,
      cost_micros: 0,
    };
    const answer = await operate(deps, work, call);
    return { answer, bodies: work.bodies, cost_micros: work.cost_micros };
  };
}

async function operate(deps: ProfilesDeps, work: Work, call: ProfilesCall): Promise<StoredProfilesAnswer> {
  switch (call.op) {
    case "suggest":
      return suggest(deps, work, call.fields);
    case "discover":
      return discover(deps, work, call.fields);
    case "profile":
      return profile(deps, work, call.fields);
    case "graph":
      return graph(deps, work, call.fields);
  }
}

// ---- One page

interface PageResult {
  readonly answer: ProfilePageAnswer;
  readonly fetch: ProfileFetch;
  /** Null where the page has an error. */
  readonly reading: PageReading | null;
}

async function getPage(
  { clock, blobs, site, isConfigured, spentBy }: ProfilesDeps,
  work: Work,
  kind: ProfilePageKind,
  url: string,
  cache_name?: string,
): Promise<PageResult> {
  const { ask, caller, fields } = work;
  const { project, key, lane, deadline_ms, id } = caller;
  const request = {
    kind,
    url,
    ...(cache_name !== undefined && { cache_name }),
    country: countryCode(fields.country),
    session_key: fields.session_key ?? null,
    cache_ttl_s: fields.cache_ttl_s ?? null,
    routes: fields.allow_paid === false ? [] : [...PREMIUM_TIERS],
    max_bytes: PAGE_LIMITS[kind].max_bytes,
    lane,
    project,
    key,
    fetch_id: `${id}.${kind}`,
    deadline_ms: Math.round(deadline_ms),
  };
  work.requests++;
  const timeout_ms = Math.max(0, deadline_ms - clock.now()) + GRACE_MS;
  const get = async (changed: Partial<ProfilePageRequest> = {}): Promise<ProfilePageAnswer> =>
    isConfigured()
      ? ask(
          ProfilePage,
          `${site.name} ${pageDigest(request)}`,
          "get",
          { ...request, ...changed },
          { timeout_ms },
        )
      : failedAnswer(
          url,
          "profiles_not_configured",
          "Profiles are off, or have neither a proxy nor a rendering service",
        );
  let answer = await get();
  let body = answer.reading_sha256 === null ? null : await findBody(blobs, answer.reading_sha256);
  if (answer.cached && answer.reading_sha256 !== null && body === null) {
    // The blob store has lost what the cache names: it is requested anew.
    answer = await get({ cache_ttl_s: 0, fetch_id: `${request.fetch_id}.anew` });
    body = answer.reading_sha256 === null ? null : await readBody(blobs, answer.reading_sha256);
  }
  const { sha256, content_type, body_kind, cost_micros, cached } = answer;
  if (sha256 !== null && body_kind !== null) work.bodies.push({ sha256, content_type, body_kind });
  if (!cached) work.uncached++;
  // A run whose node died after it had paid may have been repeated for nothing.
  work.cost_micros = Math.max(work.cost_micros + cost_micros, isConfigured() ? await spentBy(id) : 0);
  const reading = body === null ? null : (JSON.parse(body.toString()) as PageReading);
  return { answer, fetch: fetchOf(answer), reading };
}

function fetchOf(answer: ProfilePageAnswer): ProfileFetch {
  const { url, final_url, status, tier, sha256, body_kind, retrieved_at, cached, revalidated } = answer;
  const { attempts, cost_micros, parser_version } = answer;
  const body_url = sha256 === null ? null : `/v1/bodies/${sha256}`;
  const cost_usd = dollars(cost_micros);
  const page = {
    url,
    final_url,
    status,
    tier,
    body_url,
    sha256,
    body_kind,
    retrieved_at,
    cached,
    revalidated,
  };
  return { ...page, attempts, cost_usd, parser_version };
}

const dollars = (micros: number): number => Number(fromMicros(micros));

interface Failure {
  readonly error: string;
  readonly error_detail: string | null;
  readonly retry_after_s: number | null;
}

const failure = (error: ProfileError, error_detail: string): Failure => ({
  error,
  error_detail,
  retry_after_s: null,
});
const failureOf = ({ error, error_detail, retry_after_s }: ProfilePageAnswer): Failure | null =>
  error === null ? null : { error, error_detail, retry_after_s };

const outcome = ({ uncached, requests, cost_micros }: Work, failed: Failure | null) => ({
  error: failed?.error ?? null,
  error_detail: failed?.error_detail ?? null,
  retry_after_s: failed?.retry_after_s ?? null,
  cost_usd: dollars(cost_micros),
  billing_category: requests > 0 && uncached === 0 ? ("profiles_cached" as const) : ("profiles" as const),
});

// ---- The operations

interface Suggestions {
  readonly items: readonly SuggestItem[];
  readonly fetch: ProfileFetch;
  readonly failed: Failure | null;
}

async function suggestions(deps: ProfilesDeps, work: Work, query: string): Promise<Suggestions> {
  const { provider, site } = deps;
  const country = countryCode(work.fields.country);
  const { answer, fetch, reading } = await getPage(
    deps,
    work,
    "suggest",
    provider.suggestUrl(site.origin, query, country),
  );
  const items = reading?.kind === "suggest" ? reading.items : [];
  const isWanted = ({ url }: SuggestItem): boolean => {
    const parsed = parseUrl(url);
    if (parsed === null || !site.owns(url)) return false;
    const path_country = provider.pathOf(parsed)?.country ?? null;
    return country === null || path_country === null || path_country === country;
  };
  return { items: items.filter(isWanted), fetch, failed: failureOf(answer) };
}

async function suggest(deps: ProfilesDeps, work: Work, fields: SuggestBody): Promise<StoredProfilesAnswer> {
  const query = fields.query.trim();
  const { items, fetch, failed } = await suggestions(deps, work, query);
  const country = countryCode(fields.country);
  return { op: "suggest", query: fields.query, country, items: [...items], fetch, ...outcome(work, failed) };
}

async function findProfile(
  deps: ProfilesDeps,
  work: Work,
  {
    company_name,
    headquarters,
    country,
    min_similarity = MIN_SIMILARITY_DEFAULT,
    search_fallback = true,
  }: DiscoverBody,
): Promise<{
  readonly discovery: Discovery;
  readonly suggest_fetch: ProfileFetch | null;
  readonly failed: Failure | null;
}> {
  const name = company_name.trim();
  const wanted: WantedCompany = { name, city: cityOf(headquarters), country: countryCode(country) };
  const { items, fetch, failed } = await suggestions(deps, work, name);
  const profiles = items.filter(({ url }) => profileUrl(deps, url) !== null);
  const suggested = suggestCandidates(deps.names, deps.provider, wanted, profiles, name);
  const found = bySuggestion(suggested, min_similarity);
  if (found) return { discovery: found, suggest_fetch: fetch, failed: null };
  // A search does not get around a refusal of the caller or the operator.
  const isFinal = failed !== null && NOT_SEARCHED.has(failed.error);
  const searched = search_fallback && !isFinal ? await searchProfiles(deps, work, wanted) : NOTHING_FOUND;
  const discovery = bySearch(searched.candidates);
  if (discovery) return { discovery, suggest_fetch: fetch, failed: null };
  const candidates = [...bestCandidates(searched.candidates), ...suggested].slice(0, MAX_CANDIDATES);
  const nothing = failure("not_found", `Nothing on the site is similar enough to "${name}"`);
  return {
    discovery: { ...EMPTY_DISCOVERY, candidates },
    suggest_fetch: fetch,
    failed: failed ?? searched.failed ?? nothing,
  };
}

const NOT_SEARCHED: ReadonlySet<string> = new Set([
  "paid_tier_required",
  "budget_exhausted",
  "profiles_not_configured",
  "timeout",
] satisfies ProfileError[]);

interface Searched {
  readonly candidates: readonly ProfileCandidate[];
  /** Why what was not found may exist all the same; null: every query was answered. */
  readonly failed: Failure | null;
}

const NOTHING_FOUND: Searched = { candidates: [], failed: null };

async function searchProfiles(
  { provider, site, names, search, clock }: ProfilesDeps,
  work: Work,
  wanted: WantedCompany,
): Promise<Searched> {
  if (search === null) return NOTHING_FOUND;
  const candidates: ProfileCandidate[] = [];
  let failed: Failure | null = null;
  const { ask, caller } = work;
  const queries = searchQueries(wanted, { site_name: provider.site_name, hosts: site.hosts });
  for (const [number, query] of queries.entries()) {
    if (clock.now() >= caller.deadline_ms) {
      failed ??= failure("timeout", "The time was over before the search had ended");
      break;
    }
    const options = {
      country: wanted.country,
      max_results: RESULTS_PER_QUERY,
      caller,
      id: `${caller.id}.q${number}`,
    };
    const { results, cached, cost_micros, error } = await search(ask, query, options);
    work.requests++;
    if (!cached) work.uncached++;
    work.cost_micros += cost_micros;
    if (error !== null) failed ??= searchFailure(error);
    for (const { url: written, title } of results.slice(0, RESULTS_PER_QUERY)) {
      const url = parseUrl(written);
      const path = url && site.owns(url.href) ? provider.pathOf(url) : null;
      if (url === null || path === null) continue;
      const is_canonical = isOf(url, site.hosts[0]);
      const score = urlScore(names, provider, wanted, { url, title, is_canonical });
      candidates.push({ url: normaliseUrl(url), name: null, score, query, title });
    }
    if (candidates.some(({ score }) => score >= GOOD_SCORE)) break;
  }
  return { candidates, failed };
}

const searchFailure = (error: string): Failure =>
  failure(
    error === "budget_exhausted" ? "budget_exhausted" : "all_tiers_failed",
    `The search for the profile failed: ${error}`,
  );

const isOf = ({ hostname }: URL, host: string | undefined): boolean =>
  host !== undefined && (hostname === host || hostname.endsWith(`.${host}`));

async function discover(deps: ProfilesDeps, work: Work, fields: DiscoverBody): Promise<StoredProfilesAnswer> {
  const { discovery, suggest_fetch, failed } = await findProfile(deps, work, fields);
  return { op: "discover", ...discovery, suggest_fetch, ...outcome(work, failed) };
}

/** The address of a profile page in one spelling; null: it is none. */
export function profileUrl(
  { site, provider }: Pick<ProfilesDeps, "site" | "provider">,
  text: string,
): string | null {
  const url = parseUrl(text.trim());
  if (url === null || !site.owns(url.href) || provider.pathOf(url) === null) return null;
  return normaliseUrl(url);
}

async function profile(deps: ProfilesDeps, work: Work, fields: ProfileBody): Promise<StoredProfilesAnswer> {
  const { provider, names } = deps;
  const empty = { op: "profile", profile: null, fetch: null, graph_fetch: null, graph_error: null } as const;
  const named =
    fields.url == null && fields.company_name != null
      ? { ...fields, company_name: fields.company_name }
      : null;
  const discovered = named && (await findProfile(deps, work, named));
  const discovery = discovered?.discovery ?? null;
  if (discovered?.failed) return { ...empty, discovery, ...outcome(work, discovered.failed) };
  const url = profileUrl(deps, discovery?.url ?? fields.url ?? "");
  if (url === null) {
    const failed = failure(
      "invalid_identifier",
      `The url is no profile page of ${deps.site.hosts.join(" or ")}`,
    );
    return { ...empty, discovery, ...outcome(work, failed) };
  }
  const { answer, fetch, reading } = await getPage(deps, work, "page", url);
  const failed = failureOf(answer);
  if (failed || reading?.kind !== "profile") return { ...empty, discovery, fetch, ...outcome(work, failed) };
  const { profile: page, graph_token } = reading.reading;
  const network =
    fields.include_graph === false ? null : await graphOf(deps, work, page.entity_id, graph_token);
  const source = {
    source_url: answer.final_url ?? url,
    scraped_at: answer.retrieved_at!,
    fetch_tier: answer.tier === "proxy" ? ("proxy" as const) : ("web_render" as const),
    parser_version: provider.parser_version,
    provider: provider.name,
    discovery,
    legal_form: page.name === null ? null : names.legalForm(page.name),
  };
  return {
    op: "profile",
    profile: profileOf(page, network?.connections ?? null, source),
    fetch,
    discovery,
    graph_fetch: network?.fetch ?? null,
    graph_error: network?.error ?? null,
    ...outcome(work, null),
  };
}

async function graphOf(
  deps: ProfilesDeps,
  work: Work,
  entity_id: string | null,
  token: string | null,
): Promise<{
  readonly connections: Connections | null;
  readonly fetch: ProfileFetch | null;
  readonly error: string | null;
  readonly failed: Failure | null;
}> {
  if (entity_id === null) return { connections: null, fetch: null, error: "no_entity_id", failed: null };
  const { provider, site } = deps;
  // The token is of one page load; the graph is the same without it.
  const url = provider.graphUrl(site.origin, entity_id, token);
  const page = await getPage(deps, work, "graph", url, provider.graphUrl(site.origin, entity_id, null));
  const connections = page.reading?.kind === "graph" ? page.reading.connections : null;
  return { connections, fetch: page.fetch, error: page.answer.error, failed: failureOf(page.answer) };
}

const NO_CONNECTIONS: Connections = {
  company_connections: [],
  person_connections: [],
  other_connections: [],
};

async function graph(
  deps: ProfilesDeps,
  work: Work,
  { entity_id }: GraphBody,
): Promise<StoredProfilesAnswer> {
  const empty = { op: "graph", entity_id, ...NO_CONNECTIONS, fetch: null } as const;
  if (!deps.provider.isEntityId(entity_id))
    return { ...empty, ...outcome(work, failure("invalid_identifier", "entity_id is malformed")) };
  const { connections, fetch, failed } = await graphOf(deps, work, entity_id, null);
  return { ...empty, ...connections, fetch, ...outcome(work, failed) };
}

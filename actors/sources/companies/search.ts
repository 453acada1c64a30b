/**
 * Search and resolve: candidates from the index, scored and ranked, with live hits on request. Identifiers come first: they
 * are exact. A page is a window on the ranking, so a cursor stays valid while companies change; the window has 300
 * companies.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { ALL_SCHEMES } from "../../../schemas/identifier-schemes.ts";
import {
  joinHits,
  type LiveLane,
  liveSummary,
  type LiveSearchDeps,
  type LiveSource,
  lookUpLive,
  searchLive,
} from "./live-search.ts";
import {
  byRank,
  type CandidateCompany,
  type CandidateScore,
  decideMatch,
  leadOf,
  MATCH_THRESHOLD,
  matchScore,
  nameQuery,
  type NameQuery,
  REVIEW_THRESHOLD,
  type ScorePart,
  wordParts,
} from "./names/resolve.ts";
import { foldName } from "./names/fold.ts";
import { contradiction } from "./merging.ts";
import type { JsonObject } from "./record.ts";
import { importedRecord } from "./imports/imported-record.ts";
import type { ImportedCompany, Imports } from "./imports/imported-company.ts";
import { type CompanyReference, identifierOf, knownCompanyOf, referenceOf } from "./references.ts";
import {
  type CompanyIndex,
  fitsFilter,
  indexedCompany,
  type CompanyEntry,
  type IndexFilter,
  NO_FILTER,
} from "./search-index.ts";
import type { CompanyIdentifier, SearchHit } from "./source.ts";
import { COMPANIES, countryOf, type StoredCompany, survivorOf } from "./stored-company.ts";
import { summaryView } from "./view.ts";

export interface SearchDeps extends LiveSearchDeps {
  readonly documents: Documents;
  readonly index: CompanyIndex;
  readonly imports: Imports;
}

type SummaryDeps = Pick<SearchDeps, "documents" | "imports" | "sources" | "clock">;

export interface NameSearch {
  readonly name: string;
  readonly city: string | null;
  readonly postcode?: string | null;
  readonly filter: IndexFilter;
}

const WINDOW = 300;
/** Candidates of a resolve: the right company is among the first ones, or further down where nothing near is among these. */
const FIRST_CANDIDATES = 32;
const MORE_CANDIDATES = 150;
/** Worse companies are no results. */
const MIN_SCORE = 0.5;

const rounded = (score: number): number => Math.round(score * 10_000) / 10_000;

/** A company of the index with its score. */
export interface ScoredCompany extends CandidateScore {
  readonly company: CompanyEntry;
}

const candidateOf = ({
  names: [legal = "", ...trading],
  former = [],
  status = "unknown",
  city = null,
  postcode = null,
  country = null,
  legal_form = null,
}: CompanyEntry): CandidateCompany => ({
  legal,
  trading,
  former,
  is_active: status === "active" || status === "unknown",
  cities: city === null ? [] : [city],
  postcode,
  country,
  legal_form_category: legal_form,
});

const rankOf = ({ company: { id, status, completeness = 0 }, score }: ScoredCompany) => ({
  id,
  score,
  is_active: status === "active",
  completeness,
});

/** The place of a company in a ranking, as a cursor has it. */
export type RankPosition = ReturnType<typeof rankOf>;

/** Before every company. */
const START: RankPosition = { id: "", score: 2, is_active: true, completeness: 1 };

export interface SearchPage {
  /** Best first. */
  readonly results: readonly JsonObject[];
  /** The next page begins after it; null: there is none. */
  readonly next: RankPosition | null;
}

/**
 * A page of a ranking, together with live hits. Live hits belong to the first page only, so one that has no room in it is in none;
 * a company of the register that has none is on the next page. Throws Fault.
 */
export async function searchPage(
  deps: SummaryDeps,
  ranked: readonly ScoredCompany[],
  { after, limit }: { readonly after: RankPosition | null; readonly limit: number },
  live: readonly Pick<LiveResults["results"][number], "score" | "summary">[] = [],
): Promise<SearchPage> {
  const rest = after === null ? ranked : ranked.filter((company) => byRank(after, rankOf(company)) < 0);
  const entries = [
    ...rest.slice(0, limit).map((company) => ({ score: company.score, company, summary: null })),
    ...live.map(({ score, summary }) => ({ score, company: null, summary })),
  ]
    .toSorted((a, b) => b.score - a.score)
    .slice(0, limit);
  const own = entries.flatMap(({ company }) => company ?? []);
  const found = await summariesOf(deps, own);
  const summaries = new Map(found.map((summary) => [summary["id"], summary]));
  const last = own.at(-1);
  const position = last ? rankOf(last) : (after ?? START);
  return {
    results: entries.flatMap(({ company, summary }): readonly JsonObject[] => {
      const shown = summary ?? summaries.get(company!.company.id);
      return shown ? [shown] : [];
    }),
    next: rest.length > own.length ? position : null,
  };
}

/** The window's companies, best first. Throws Fault. */
export async function rank(
  { index }: Pick<SearchDeps, "index">,
  search: NameSearch,
): Promise<readonly ScoredCompany[]> {
  const { ranked } = await rankWithin(index, search, [], WINDOW);
  return ranked.filter(({ score }) => score >= MIN_SCORE).toSorted((a, b) => byRank(rankOf(a), rankOf(b)));
}

/**
 * The best `limit` candidates in no order, and the question that they were scored by. `known`: what the same question found before; an entry
 * that the index answers again is not scored again. Throws Fault.
 */
async function rankWithin(
  index: CompanyIndex,
  { name, filter, city, postcode = null }: NameSearch,
  countries: readonly string[],
  limit: number,
  known: readonly ScoredCompany[] = [],
): Promise<{ readonly query: NameQuery; readonly ranked: readonly ScoredCompany[] }> {
  const { entries, ...rarity } = await index.candidates({ names: [name], filter }, limit);
  const query = nameQuery(name, { city, postcode, country: filter.country, countries, rarity });
  const scored = new Map(known.map((each) => [each.company, each]));
  return {
    query,
    ranked: entries.map(
      (company) => scored.get(company) ?? { company, ...matchScore(query, candidateOf(company)) },
    ),
  };
}

const importedCompany = (
  { sources, clock }: Pick<SearchDeps, "sources" | "clock">,
  imported: ImportedCompany | null,
): StoredCompany | null =>
  imported && (importedRecord(imported, { sources, now_ms: clock.now() })?.company ?? null);

/** The results as clients see them; a company that was removed since it was indexed is left out. Throws Fault. */
async function summariesOf(
  deps: SummaryDeps,
  scored: readonly ScoredCompany[],
): Promise<readonly JsonObject[]> {
  if (scored.length === 0) return [];
  const found = await COMPANIES.getMany(
    deps.documents,
    scored.map(({ company }) => company.id),
  );
  const stored = await Promise.all(
    found.map(
      async (company, at) =>
        company ?? importedCompany(deps, await deps.imports.company(scored[at]!.company.id)),
    ),
  );
  return scored.flatMap(({ score, matched_on }, index) => {
    const company = stored[index];
    if (!company || company.merged_into !== null) return [];
    return [summaryView(company, rounded(score), { ...matched_on })];
  });
}

/** A live hit as an entry of the index, to be scored like one. */
const entryOf = (hit: SearchHit): CompanyEntry => ({
  id: referenceOf(hit.identifier),
  names: [hit.name],
  former: hit.former_names,
  status: hit.status,
  country: countryOf(hit.jurisdiction),
  legal_form: hit.legal_form_category,
  city: hit.city,
  identifiers: hit.identifiers.map(referenceOf),
});

/** Each word of the query begins a word of the hit's name: people often type the beginning of a long name. */
function beginsWords(query: string, { name, former_names }: SearchHit): boolean {
  const wanted = foldName(query).split(" ").filter(Boolean);
  return [name, ...former_names].some((each) => {
    const words = foldName(each).split(" ");
    return wanted.every((word) => words.some((other) => other.startsWith(word)));
  });
}

export interface LiveResults {
  /** Hits that the register does not have, best first. */
  readonly results: readonly {
    readonly score: number;
    readonly summary: JsonObject;
    readonly scored: ScoredCompany;
  }[];
  /** Hits that it has, whether or not its own names fit the query. */
  readonly company_ids: readonly string[];
  readonly live_sources: readonly LiveSource[];
  readonly unasked_s: number | null;
}

/** `query`: by which hits are scored. Throws Fault. */
export async function liveResults(
  deps: SearchDeps,
  search: NameSearch,
  project: string,
  query: NameQuery = nameQuery(search.name, { city: search.city }),
  lane: LiveLane = "sync",
): Promise<LiveResults> {
  const { name, filter } = search;
  const answer = await searchLive(deps, { name, country: filter.country }, { project, lane });
  const joined = await joinHits(deps.documents, answer);
  const results = joined
    .filter(({ company_id }) => company_id === null)
    .map(({ hit, source }) => {
      const company = entryOf(hit);
      return { hit, source, scored: { company, ...matchScore(query, candidateOf(company)) } };
    })
    .filter(
      ({ hit, scored }) =>
        (scored.score >= MIN_SCORE || beginsWords(search.name, hit)) && hitFits(hit, search.filter),
    )
    .toSorted((a, b) => b.scored.score - a.scored.score)
    .map(({ hit, source, scored }) => ({
      score: scored.score,
      scored,
      summary: liveSummary(hit, source, rounded(scored.score)),
    }));
  return {
    results,
    company_ids: joined.flatMap(({ company_id }) => company_id ?? []),
    live_sources: answer.live_sources,
    unasked_s: answer.unasked_s,
  };
}

/** A source that does not say where the company is may have found it in the country. */
const hitFits = ({ jurisdiction, status, legal_form_category }: SearchHit, filter: IndexFilter): boolean =>
  (filter.country === null || jurisdiction === null || countryOf(jurisdiction) === filter.country) &&
  (filter.status === null || status === filter.status) &&
  (filter.legal_form === null || legal_form_category === filter.legal_form);

export interface IdentifierResults {
  readonly results: readonly JsonObject[];
  readonly live_sources: readonly LiveSource[];
}

/**
 * The company with this id or identifier, if it fits the filter. `live`: sources are asked about an identifier that the register does not
 * have; what they know is not stored. Throws Fault.
 */
export async function findByIdentifier(
  deps: SearchDeps,
  reference: Exclude<CompanyReference, { readonly kind: "wrong" }>,
  filter: IndexFilter,
  { live, project }: { readonly live: boolean; readonly project: string },
): Promise<IdentifierResults> {
  const { documents } = deps;
  const stored = (company: StoredCompany): readonly JsonObject[] =>
    fitsFilter(indexedCompany(company), filter)
      ? [
          summaryView(company, 1, {
            field: "identifiers",
            value: reference.kind === "id" ? reference.id : reference.reference,
          }),
        ]
      : [];
  const text = reference.kind === "id" ? reference.id : reference.reference;
  const known = await knownCompanyOf(documents, deps.imports, text);
  const company = known.company ?? importedCompany(deps, known.imported);
  if (company) return { results: stored(company), live_sources: [] };
  if (!live || reference.kind === "id") return { results: [], live_sources: [] };
  const answer = await lookUpLive(deps, identifierOf(reference.reference), project);
  const [first] = await joinHits(documents, answer);
  const { live_sources } = answer;
  if (!first) return { results: [], live_sources };
  const owner = first.company_id === null ? null : await survivorOf(documents, first.company_id);
  if (owner) return { results: stored(owner), live_sources };
  const results = hitFits(first.hit, filter) ? [liveSummary(first.hit, first.source, 1)] : [];
  return { results, live_sources };
}

type NoMatchReason = Extract<ReturnType<typeof decideMatch>, { readonly kind: "none" }>["reason"];
export const NO_MATCH_REASONS = [
  "below_threshold",
  "ambiguous",
  "no_candidates",
] as const satisfies readonly NoMatchReason[];

/** Why a candidate has its score. */
export interface Explanation {
  /** The candidate: its id, or `ref` where the register does not have it. */
  readonly candidate: string;
  readonly score: number;
  readonly base: number;
  /** Their effects add up, with `base`, to `score`. */
  readonly parts: readonly ScorePart[];
  readonly matched_on: { readonly field: string; readonly value: string };
  readonly threshold: number;
  /** How far it is ahead of the next one; null: there is none. */
  readonly lead: number | null;
}

export interface Resolved {
  /** Null: no company fits well enough, or several do. */
  readonly match: JsonObject | null;
  readonly reason: NoMatchReason | null;
  readonly candidates: readonly JsonObject[];
  /** Explanations of the candidates, in their order. */
  readonly explanations: readonly Explanation[];
}

export interface ResolvedName extends Resolved {
  /** Results of the sources that were asked by the name. */
  readonly live_sources: readonly LiveSource[];
  /** A source had no slot for the question: in how many seconds it may; null: all that should be asked were. */
  readonly unasked_s: number | null;
}

export interface NameResolve extends Omit<NameSearch, "filter"> {
  readonly country: string | null;
  /** A company with another number of the same scheme is not the one that is meant. */
  readonly identifiers: readonly CompanyIdentifier[];
  /** Whether sources are asked: true and false; null: where the register has nothing near. */
  readonly live?: boolean | null;
  /** Ids and references of companies that a reviewer has said it is not. */
  readonly refused?: readonly string[];
}

/** A company by its name. Throws Fault. */
export async function resolveName(
  deps: SearchDeps,
  search: NameResolve,
  limit: number,
  project: string,
  lane: LiveLane = "sync",
): Promise<ResolvedName> {
  const { live = null } = search;
  const within = { ...search, filter: { ...NO_FILTER, country: search.country } };
  const { query, candidates: own } = await candidatesOf(deps, search);
  const asksSources = live ?? !own.some(({ score }) => score >= REVIEW_THRESHOLD);
  const found = asksSources ? await liveResults(deps, within, project, query, lane) : null;
  const others = (found?.results ?? [])
    .filter(({ scored }) => isPossible(search)(scored))
    .map(({ scored, summary }) => candidateWith(scored, query, summary));
  const all = [...own, ...others].filter(({ score }) => score >= MIN_SCORE).toSorted(byRank);
  const { shown, rest } = await withSummaries(deps, all, Math.max(limit, MIN_COMPARED));
  const decision = decideMatch([...shown, ...rest], () => false);
  return {
    match: decision.kind === "match" ? shown[0]!.summary : null,
    reason: decision.kind === "match" ? null : decision.reason,
    candidates: shown.slice(0, limit).map(({ summary }) => summary),
    explanations: shown
      .slice(0, limit)
      .map((candidate, at) =>
        explain(query, candidate, leadOf(candidate, [...shown.slice(at + 1), ...rest])),
      ),
    live_sources: found?.live_sources ?? [],
    unasked_s: found?.unasked_s ?? null,
  };
}

/** The match and the one that it is ahead of are both there still, however few are answered. */
const MIN_COMPARED = 2;
/** Candidates that are read in place of those that were removed since they were indexed. */
const MAX_REMOVED = 5;

/** The companies of the index that can be meant, in no order. Throws Fault. */
export async function candidatesOf({ index }: Pick<SearchDeps, "index">, search: NameResolve) {
  const { identifiers, country } = search;
  const within = { ...search, filter: { ...NO_FILTER, country } };
  const { query, ranked } = await nearest(index, within, identifiers);
  const possible = ranked.filter(isPossible(search));
  return { query, candidates: possible.map((scored) => candidateWith(scored, query, null)) };
}

/** The companies that are most like the question; further down where none of the first ones is a match. Throws Fault. */
async function nearest(index: CompanyIndex, search: NameSearch, identifiers: readonly CompanyIdentifier[]) {
  const countries = identifiers.flatMap(({ scheme }) => countryOfScheme(scheme) ?? []);
  const first = await rankWithin(index, search, countries, FIRST_CANDIDATES);
  const isNear = first.ranked.some(({ score }) => score >= MATCH_THRESHOLD);
  return isNear || first.ranked.length < FIRST_CANDIDATES
    ? first
    : rankWithin(index, search, countries, MORE_CANDIDATES, first.ranked);
}

const countryOfScheme = (scheme: string): string | null =>
  ALL_SCHEMES.find((each) => each.scheme === scheme)?.country ?? null;

const isPossible =
  ({ identifiers, refused = [] }: NameResolve) =>
  ({ company }: ScoredCompany): boolean =>
    contradiction(identifiers, company.identifiers.map(identifierOf)) === null &&
    ![company.id, ...company.identifiers].some((reference) => refused.includes(reference));

interface NamedCandidate extends ReturnType<typeof candidateWith> {
  readonly summary: JsonObject;
}

/** `summary`: null for a company of the register, until it is read. */
const candidateWith = (scored: ScoredCompany, query: NameQuery, summary: JsonObject | null) => ({
  ...rankOf(scored),
  evidence: scored.evidence,
  is_exact: foldName(scored.company.names[0] ?? "") === query.folded,
  key: scored.key,
  is_contradicted: scored.is_contradicted,
  scored,
  summary,
});

type Candidate = ReturnType<typeof candidateWith>;

/**
 * The first `limit` that are still there, with their summaries: working out one costs as much as finding the company. `rest`: those
 * behind them, which count as rivals without being looked at. Throws Fault.
 */
async function withSummaries(
  deps: SummaryDeps,
  candidates: readonly Candidate[],
  limit: number,
): Promise<{ readonly shown: readonly NamedCandidate[]; readonly rest: readonly Candidate[] }> {
  const shown: NamedCandidate[] = [];
  const end = Math.min(candidates.length, limit + MAX_REMOVED);
  let at = 0;
  while (shown.length < limit && at < end) {
    const next = candidates.slice(at, Math.min(end, at + limit - shown.length));
    at += next.length;
    const own = next.filter(({ summary }) => summary === null).map(({ scored }) => scored);
    const found = await summariesOf(deps, own);
    const summaries = new Map(found.map((summary) => [summary["id"], summary]));
    for (const candidate of next) {
      const summary = candidate.summary ?? summaries.get(candidate.id);
      if (summary) shown.push({ ...candidate, summary });
    }
  }
  return { shown, rest: candidates.slice(at, end) };
}

const explain = (query: NameQuery, { scored, id }: NamedCandidate, lead: number | null): Explanation => ({
  candidate: id,
  score: scored.score,
  base: scored.base,
  parts: [...wordParts(query, scored), ...scored.parts],
  matched_on: scored.matched_on,
  threshold: MATCH_THRESHOLD,
  lead,
});

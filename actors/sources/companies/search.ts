/**
 * Search and resolve: candidates from the index, scored and ranked, with live hits on request. Identifiers come first: they
 * are exact. A page is a window on the ranking, so a cursor stays valid while companies change; the window has 300
 * companies.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import {
  joinHits,
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
  matchScore,
  nameQuery,
} from "./names/resolve.ts";
import { textOf } from "./claim.ts";
import { foldName } from "./names/fold.ts";
import { contradiction } from "./merging.ts";
import type { JsonObject, RecordIdentifier } from "./record.ts";
import { type CompanyReference, identifierOf, referenceOf } from "./references.ts";
import {
  type CompanyIndex,
  fitsFilter,
  indexedCompany,
  type IndexedCompany,
  type IndexFilter,
  NO_FILTER,
} from "./search-index.ts";
import type { CompanyIdentifier, SearchHit } from "./source.ts";
import { COMPANIES, countryOf, ownerOf, type StoredCompany, survivorOf } from "./stored-company.ts";
import { summaryView } from "./view.ts";

export interface SearchDeps extends LiveSearchDeps {
  readonly documents: Documents;
  readonly index: CompanyIndex;
}

export interface NameSearch {
  readonly name: string;
  readonly city: string | null;
  readonly filter: IndexFilter;
}

const WINDOW = 300;
/** Candidates that are looked at beside those that are answered, as some may contradict the identifiers of the request. */
const MAX_CONTRADICTED = 20;
/** Worse companies are no results. */
const MIN_SCORE = 0.5;

const rounded = (score: number): number => Math.round(score * 10_000) / 10_000;

/** A company of the index with its score. */
export interface ScoredCompany {
  readonly company: IndexedCompany;
  /** 0 to 1. */
  readonly score: number;
  readonly matched_on: CandidateScore["matched_on"];
}

const candidateOf = ({
  legal,
  trading,
  former,
  status,
  city,
  legal_form,
}: IndexedCompany): CandidateCompany => ({
  legal,
  trading,
  former,
  is_active: status === "active" || status === "unknown",
  cities: city === null ? [] : [city],
  legal_form_category: legal_form,
});

const rankOf = ({ company: { id, status, completeness }, score }: ScoredCompany) => ({
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
 * One page of a ranking, together with live hits. Live hits belong to the first page only, so one that has no room in it is in none;
 * a company of the register that has none is on the next page. Throws Fault.
 */
export async function searchPage(
  documents: Documents,
  ranked: readonly ScoredCompany[],
  { after, limit }: { readonly after: RankPosition | null; readonly limit: number },
  live: LiveResults["results"] = [],
): Promise<SearchPage> {
  const rest = after === null ? ranked : ranked.filter((company) => byRank(after, rankOf(company)) < 0);
  const entries = [
    ...rest.slice(0, limit).map((company) => ({ score: company.score, company, summary: null })),
    ...live.map(({ score, summary }) => ({ score, company: null, summary })),
  ]
    .toSorted((a, b) => b.score - a.score)
    .slice(0, limit);
  const own = entries.flatMap(({ company }) => company ?? []);
  const found = await summariesOf(documents, own);
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
  const query = nameQuery(search.name, search.city);
  const found = await index.candidates([search.name], search.filter, WINDOW);
  return found
    .map((company): ScoredCompany => ({ company, ...matchScore(query, candidateOf(company)) }))
    .filter(({ score }) => score >= MIN_SCORE)
    .toSorted((a, b) => byRank(rankOf(a), rankOf(b)));
}

/** The results as clients see them; a company that was removed since it was indexed is left out. Throws Fault. */
async function summariesOf(
  documents: Documents,
  scored: readonly ScoredCompany[],
): Promise<readonly JsonObject[]> {
  if (scored.length === 0) return [];
  const stored = await COMPANIES.getMany(
    documents,
    scored.map(({ company }) => company.id),
  );
  return scored.flatMap(({ score, matched_on }, index) => {
    const company = stored[index];
    if (!company || company.merged_into !== null) return [];
    return [summaryView(company, rounded(score), { field: matched_on.field, value: matched_on.value })];
  });
}

/** A live hit as an entry of the index, to be scored like one. */
const entryOf = (hit: SearchHit): IndexedCompany => ({
  id: referenceOf(hit.identifier),
  version: 0,
  legal: hit.name,
  trading: [],
  former: hit.former_names,
  status: hit.status,
  country: countryOf(hit.jurisdiction),
  legal_form: hit.legal_form_category,
  city: hit.city,
  completeness: 0,
});

/** What people type is often the beginning of a long name: each word of the query begins a word of the hit's. */
function beginsWords(query: string, { name, former_names }: SearchHit): boolean {
  const wanted = foldName(query).split(" ").filter(Boolean);
  return [name, ...former_names].some((each) => {
    const words = foldName(each).split(" ");
    return wanted.every((word) => words.some((other) => other.startsWith(word)));
  });
}

export interface LiveResults {
  /** Hits that the register does not have, best first. */
  readonly results: readonly { readonly score: number; readonly summary: JsonObject }[];
  /** Hits that it has, whether or not its own names fit the query. */
  readonly company_ids: readonly string[];
  readonly live_sources: readonly LiveSource[];
}

/** Throws Fault. */
export async function liveResults(
  deps: SearchDeps,
  search: NameSearch,
  project: string,
): Promise<LiveResults> {
  const query = nameQuery(search.name, search.city);
  const answer = await searchLive(deps, { name: search.name, country: search.filter.country, project });
  const joined = await joinHits(deps.documents, answer);
  const results = joined
    .filter(({ company_id }) => company_id === null)
    .map(({ hit, source }) => ({ hit, source, score: matchScore(query, candidateOf(entryOf(hit))).score }))
    .filter(
      ({ hit, score }) =>
        (score >= MIN_SCORE || beginsWords(search.name, hit)) && hitFits(hit, search.filter),
    )
    .toSorted((a, b) => b.score - a.score)
    .map(({ hit, source, score }) => ({ score, summary: liveSummary(hit, source, rounded(score)) }));
  return {
    results,
    company_ids: joined.flatMap(({ company_id }) => company_id ?? []),
    live_sources: answer.live_sources,
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
  const id = reference.kind === "id" ? reference.id : await ownerOf(documents, reference.reference);
  const company = id === null ? null : await survivorOf(documents, id);
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

export type NoMatchReason = Extract<ReturnType<typeof decideMatch>, { readonly kind: "none" }>["reason"];

export interface Resolved {
  /** Null: no company fits well enough, or several do. */
  readonly match: JsonObject | null;
  readonly reason: NoMatchReason | null;
  readonly candidates: readonly JsonObject[];
}

/** A company by its name. Sources are searched when the register has no match. Throws Fault. */
export async function resolveName(
  deps: SearchDeps,
  search: Omit<NameSearch, "filter"> & {
    readonly country: string | null;
    /** A company with another number of the same scheme is not the one that is meant. */
    readonly identifiers: readonly CompanyIdentifier[];
  },
  limit: number,
  project: string,
): Promise<Resolved> {
  const { identifiers, country } = search;
  const isPossible = (summary: JsonObject): boolean =>
    contradiction(identifiers, summary["identifiers"] as unknown as readonly RecordIdentifier[]) === null;
  const within = { ...search, filter: { ...NO_FILTER, country } };
  const ranked = (await rank(deps, within)).slice(0, Math.max(limit, 2) + MAX_CONTRADICTED);
  const folded = foldName(search.name);
  const candidateWith = (summary: JsonObject): NamedCandidate => candidateOfSummary(summary, folded);
  const own = (await summariesOf(deps.documents, ranked)).filter(isPossible).map(candidateWith);
  const isFound = decide(own).kind === "match";
  const live = isFound ? [] : (await liveResults(deps, within, project)).results;
  const others = live.filter(({ summary }) => isPossible(summary));
  const all = [...own, ...others.map(({ summary }) => candidateWith(summary))].toSorted((a, b) =>
    byRank(a, b),
  );
  const decision = decide(all);
  return {
    match: decision.kind === "match" ? all[0]!.summary : null,
    reason: decision.kind === "match" ? null : decision.reason,
    candidates: all.slice(0, limit).map(({ summary }) => summary),
  };
}

const candidateOfSummary = (summary: JsonObject, folded_query: string) => ({
  id: textOf(summary["id"] ?? summary["ref"]),
  score: Number(summary["match_score"]),
  is_active: summary["status"] === "active",
  completeness: 0,
  is_exact: foldName(textOf((summary["names"] as JsonObject)["legal"])) === folded_query,
  summary,
});
type NamedCandidate = ReturnType<typeof candidateOfSummary>;

/** Merged companies are one result already. */
const decide = (candidates: readonly NamedCandidate[]) => decideMatch(candidates, () => false);

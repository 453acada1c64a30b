/**
 * Search and resolve: candidates from the index, scored and ranked, with live hits on request. Identifiers come first: they
 * are exact. A page is a window on the ranking, so a cursor stays valid while companies change; the window has 300
 * companies.
 */
import type { Documents } from "../../cluster/ports/documents.ts";
import {
  joinHits,
  liveSummary,
  type LiveSearchDeps,
  type LiveSource,
  referenceOf,
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
import type { JsonObject } from "./record.ts";
import type { CompanyIndex, IndexedCompany, IndexFilter } from "./search-index.ts";
import type { SearchHit } from "./source.ts";
import { COMPANIES, countryOf, type StoredCompany } from "./stored-company.ts";
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
export async function summariesOf(
  documents: Documents,
  scored: readonly ScoredCompany[],
): Promise<readonly JsonObject[]> {
  if (scored.length === 0) return [];
  const stored = await documents.getMany(
    COMPANIES,
    scored.map(({ company }) => company.id),
  );
  return scored.flatMap(({ score, matched_on }, index) => {
    const company = stored[index]?.value as StoredCompany | undefined;
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
  const { country, status, legal_form } = search.filter;
  const answer = await searchLive(deps, { name: search.name, country, project });
  const joined = await joinHits(deps.documents, answer);
  const results = joined
    .filter(({ company_id }) => company_id === null)
    .map(({ hit, source }) => ({ hit, source, score: matchScore(query, candidateOf(entryOf(hit))).score }))
    .filter(
      ({ hit, score }) =>
        score >= MIN_SCORE &&
        (country === null || hit.jurisdiction === null || countryOf(hit.jurisdiction) === country) &&
        (status === null || hit.status === status) &&
        (legal_form === null || hit.legal_form_category === legal_form),
    )
    .toSorted((a, b) => b.score - a.score)
    .map(({ hit, source, score }) => ({ score, summary: liveSummary(hit, source, rounded(score)) }));
  return {
    results,
    company_ids: joined.flatMap(({ company_id }) => company_id ?? []),
    live_sources: answer.live_sources,
  };
}

export type NoMatchReason = Extract<ReturnType<typeof decideMatch>, { readonly kind: "none" }>["reason"];

export interface Resolved {
  /** Null: no company fits well enough, or several do. */
  readonly match: JsonObject | null;
  readonly reason: NoMatchReason | null;
  readonly candidates: readonly JsonObject[];
}

const NO_FILTER: IndexFilter = { country: null, status: null, legal_form: null };

/** A company by its name. Sources are searched when the register has no match. Throws Fault. */
export async function resolveName(
  deps: SearchDeps,
  search: Omit<NameSearch, "filter"> & { readonly country: string | null },
  limit: number,
  project: string,
): Promise<Resolved> {
  const within = { ...search, filter: { ...NO_FILTER, country: search.country } };
  const ranked = (await rank(deps, within)).slice(0, Math.max(limit, 2));
  const own = (await summariesOf(deps.documents, ranked)).map(candidateWith);
  const isFound = decide(own).kind === "match";
  const live = isFound ? [] : (await liveResults(deps, within, project)).results;
  const all = [...own, ...live.map(({ summary }) => candidateWith(summary))].toSorted((a, b) => byRank(a, b));
  const decision = decide(all);
  return {
    match: decision.kind === "match" ? all[0]!.summary : null,
    reason: decision.kind === "match" ? null : decision.reason,
    candidates: all.slice(0, limit).map(({ summary }) => summary),
  };
}

const candidateWith = (summary: JsonObject) => ({
  id: textOf(summary["id"] ?? summary["ref"]),
  score: Number(summary["match_score"]),
  is_active: summary["status"] === "active",
  completeness: 0,
  summary,
});

/** Merged companies are one result already. */
const decide = (candidates: readonly ReturnType<typeof candidateWith>[]) =>
  decideMatch(candidates, () => false);

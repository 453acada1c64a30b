/**
 * The best profile for a company's name: the most similar suggestion, or the best address that a search found. A name
 * that is not similar enough is no profile; the first result is never taken for being the first. Pure.
 */
import {
  type Discovery,
  MAX_CANDIDATES,
  type ProfileCandidate,
  type SuggestItem,
} from "../../../schemas/profiles.ts";
import type { Provider } from "./provider.ts";

/** How names are compared; from the company register. */
export interface NameRules {
  /** The words of a name, folded, without legal forms. */
  readonly words: (name: string) => readonly string[];
  /** 0 to 100, of two names without their legal forms. */
  readonly similarity: (a: string, b: string) => number;
  /** The legal form as the name writes it; null: it shows none. */
  readonly legalForm: (name: string) => string | null;
  /** Both names show a legal form, and not the same: two companies. */
  readonly formsConflict: (a: string, b: string) => boolean;
}

export interface WantedCompany {
  readonly name: string;
  readonly city: string | null;
  /** ISO 3166-1 alpha-2. */
  readonly country: string | null;
}

/** A search ends with a candidate of this score, and no candidate below the other is taken. */
export const GOOD_SCORE = 0.75;
const MIN_SCORE = 0.35;
export const RESULTS_PER_QUERY = 5;

/** Weights of what an address and its title can show; together 1. */
const WEIGHTS = { path: 0.45, title: 0.25, city: 0.1, country: 0.08, host: 0.05, register: 0.07 } as const;

/** The city is what stands before the first comma: "Hamburg, Germany". */
export const cityOf = (headquarters: string | null | undefined): string | null =>
  headquarters?.split(",")[0]!.trim() || null;

/** Off the similarity of a name with another legal form: "Kranwerk AG" is not Kranwerk GmbH. */
const FORMS_DIFFER = 12;

/** By similarity; among equal names by the city in the address, where the caller named one. */
export function suggestCandidates(
  names: NameRules,
  { pathOf }: Pick<Provider, "pathOf">,
  { name, city }: WantedCompany,
  items: readonly SuggestItem[],
  query: string,
): readonly ProfileCandidate[] {
  const isInCity = (url: string): boolean => {
    const address = URL.parse(url);
    const path = address === null ? null : pathOf(address);
    return city !== null && path !== null && coverage(names.words(city), names.words(path.words)) === 1;
  };
  return items
    .map((item) => {
      const similarity = names.similarity(name, item.name);
      const score = names.formsConflict(name, item.name)
        ? Math.max(0, similarity - FORMS_DIFFER)
        : similarity;
      return { url: item.url, name: item.name, score, query, title: null };
    })
    .toSorted((a, b) => b.score - a.score || Number(isInCity(b.url)) - Number(isInCity(a.url)))
    .slice(0, MAX_CANDIDATES);
}

/** At most four, in the order in which they are asked. */
export function searchQueries(
  { name, city, country }: WantedCompany,
  { site_name, hosts }: { readonly site_name: string; readonly hosts: readonly string[] },
): readonly string[] {
  const plain = name.replaceAll('"', " ").replaceAll(/\s+/g, " ").trim();
  const quoted = `"${plain}"`;
  const queries = [
    [quoted, site_name, city ?? country ?? ""].join(" ").trim(),
    `${quoted} ${hosts.map((host) => `site:${host}`).join(" OR ")}`,
    ...(country === null ? [] : [`${plain} ${country}`]),
    plain,
  ];
  return [...new Set(queries)];
}

/** A search result that is a profile page of the site. */
export interface FoundProfile {
  readonly url: URL;
  readonly title: string | null;
  /** Its host among those of the site. */
  readonly is_canonical: boolean;
}

/** The share of the words of both that they have in common, 0 to 1. */
function overlap(a: readonly string[], b: readonly string[]): number {
  const within = new Set(b);
  const common = new Set(a.filter((word) => within.has(word))).size;
  return a.length + b.length === 0 ? 0 : (2 * common) / (new Set(a).size + within.size);
}

function coverage(words: readonly string[], text: readonly string[]): number {
  const within = new Set(text);
  return words.length === 0 ? 0 : words.filter((word) => within.has(word)).length / words.length;
}

/** 0 to 1. What the caller did not say counts half: it speaks neither for an address nor against it. */
export function urlScore(
  names: NameRules,
  { pathOf }: Pick<Provider, "pathOf">,
  { name, city, country }: WantedCompany,
  { url, title, is_canonical }: FoundProfile,
): number {
  const path = pathOf(url);
  if (path === null) return 0;
  const wanted = names.words(name);
  const comma = path.words.lastIndexOf(",");
  const path_name = names.words(comma < 0 ? path.words : path.words.slice(0, comma));
  const title_words = names.words(title ?? "");
  const everywhere = [...names.words(path.words), ...title_words];
  const parts = {
    path: overlap(wanted, path_name),
    title: coverage(wanted, title_words),
    city: city === null ? 0.5 : coverage(names.words(city), everywhere),
    country: country === null || path.country === null ? 0.5 : Number(country === path.country),
    host: is_canonical ? 1 : 0.5,
    register: Number(path.has_register),
  };
  const score = Object.entries(WEIGHTS).reduce(
    (sum, [part, weight]) => sum + weight * parts[part as keyof typeof parts],
    0,
  );
  // Without the name in its address a page is another company's, whatever else fits.
  return parts.path === 0 ? Math.min(score, MIN_SCORE / 2) : Math.round(score * 1_000) / 1_000;
}

/** The best candidate of each address among those of several queries, best first. */
export function bestCandidates(candidates: readonly ProfileCandidate[]): readonly ProfileCandidate[] {
  const best = new Map<string, ProfileCandidate>();
  for (const candidate of candidates)
    if ((best.get(candidate.url)?.score ?? -1) < candidate.score) best.set(candidate.url, candidate);
  return [...best.values()].toSorted((a, b) => b.score - a.score).slice(0, MAX_CANDIDATES);
}

export const EMPTY_DISCOVERY: Discovery = {
  url: null,
  query: null,
  score: null,
  name_similarity: null,
  discovery_method: null,
  candidates: [],
};

/** Null: no suggestion is similar enough. */
export function bySuggestion(
  candidates: readonly ProfileCandidate[],
  min_similarity: number,
): Discovery | null {
  const [best] = candidates;
  if (best === undefined || best.score < min_similarity) return null;
  return {
    url: best.url,
    query: best.query,
    score: best.score / 100,
    name_similarity: best.score,
    discovery_method: "suggest",
    candidates: [...candidates],
  };
}

/** Null: no address is good enough. */
export function bySearch(candidates: readonly ProfileCandidate[]): Discovery | null {
  const ranked = bestCandidates(candidates);
  const [best] = ranked;
  if (best === undefined || best.score < MIN_SCORE) return null;
  return {
    url: best.url,
    query: best.query,
    score: best.score,
    name_similarity: null,
    discovery_method: "search",
    candidates: [...ranked],
  };
}

/**
 * `match_score` of a candidate company, and whether the best candidate is the company that was meant. Pure. Scores of names
 * come from score.ts, which judges like a screening: two funds of one series are worth a second look. Here two rules more
 * keep such neighbours below the threshold of a match.
 */
import { foldName } from "./fold.ts";
import type { LegalFormCategory } from "./legal-forms.ts";
import {
  areEqual,
  FORM_GROUPS,
  haveDifferentWords,
  type PreparedName,
  prepareName,
  scoreNames,
} from "./score.ts";

/** The best candidate is a match from this score on … */
export const MATCH_THRESHOLD = 0.85;
/** … if the next candidate that is another company is at least so far behind. */
export const MATCH_LEAD = 0.08;

const SCORES = {
  legal: 1,
  trading: 0.98,
  former: 0.93,
  same_city: 0.03,
  not_active: -0.05,
  form_conflict: -0.05,
  /** At most, when the numbers in the names differ. */
  other_numbers: 0.8,
  /** At most, when short names differ in a letter: Glenmore is not Glencore. */
  other_short_name: 0.84,
} as const;
const SHORT_NAME_CHARS = 12;
/** Scores are sums of decimals: 0.93 − 0.85 is a little less than 0.08. */
const TOLERANCE = 1e-9;

export interface NameQuery {
  readonly name: PreparedName;
  /** Folded; null: the caller named none. */
  readonly city: string | null;
}

export const nameQuery = (name: string, city: string | null): NameQuery => ({
  name: prepareName(name),
  city: city === null ? null : foldName(city),
});

export interface CandidateCompany {
  readonly legal: string;
  /** Trading names, translations and other current names. */
  readonly trading: readonly string[];
  readonly former: readonly string[];
  readonly is_active: boolean;
  readonly cities: readonly string[];
  /** A category of company/v1. */
  readonly legal_form_category: string | null;
}

export interface CandidateScore {
  /** 0 to 1. */
  readonly score: number;
  readonly matched_on: {
    readonly field: "names.legal" | "names.trading" | "names.former";
    readonly value: string;
  };
}

export function matchScore({ name, city }: NameQuery, company: CandidateCompany): CandidateScore {
  const names = [
    { field: "names.legal", weight: SCORES.legal, values: [company.legal] },
    { field: "names.trading", weight: SCORES.trading, values: company.trading },
    { field: "names.former", weight: SCORES.former, values: company.former },
  ] as const;
  let best: CandidateScore = { score: 0, matched_on: { field: "names.legal", value: company.legal } };
  for (const { field, weight, values } of names)
    for (const value of values) {
      const score = weight * scoreOfName(name, prepareName(value), company);
      if (score > best.score) best = { score, matched_on: { field, value } };
    }
  const isSameCity = city !== null && company.cities.some((other) => foldName(other) === city);
  const adjusted =
    best.score + (isSameCity ? SCORES.same_city : 0) + (company.is_active ? 0 : SCORES.not_active);
  return { ...best, score: best.score === 0 ? 0 : Math.min(1, Math.max(0, adjusted)) };
}

function scoreOfName(
  query: PreparedName,
  name: PreparedName,
  { legal_form_category }: CandidateCompany,
): number {
  let score = scoreNames(query, name) / 100;
  const form = FORM_GROUPS[legal_form_category as LegalFormCategory];
  // Forms that both names have are in the score of the names already.
  const isFormOpen = name.form_groups.size === 0 && query.form_groups.size > 0 && form !== undefined;
  if (isFormOpen && !query.form_groups.has(form)) score += SCORES.form_conflict;
  if (!areEqual(query.numbers, name.numbers)) score = Math.min(score, SCORES.other_numbers);
  const isShort = Math.max(query.joined.length, name.joined.length) < SHORT_NAME_CHARS;
  if (isShort && haveDifferentWords(query, name)) score = Math.min(score, SCORES.other_short_name);
  return score;
}

export interface RankedCandidate {
  readonly id: string;
  readonly score: number;
  readonly is_active: boolean;
  /** Of the record, 0 to 1. */
  readonly completeness: number;
  /** Its legal name is what the caller wrote, but for case and punctuation. Default false. */
  readonly is_exact?: boolean;
}

/** Best first; equal scores: the name as it was written, active companies, then fuller records, then by id. */
export const byRank = (a: RankedCandidate, b: RankedCandidate): number =>
  b.score - a.score ||
  Number(b.is_exact ?? false) - Number(a.is_exact ?? false) ||
  Number(b.is_active) - Number(a.is_active) ||
  b.completeness - a.completeness ||
  (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

export type MatchDecision =
  | { readonly kind: "match"; readonly id: string }
  | { readonly kind: "none"; readonly reason: "no_candidates" | "below_threshold" | "ambiguous" };

/**
 * Decides over candidates in the order of `byRank`. `areSameCompany`: whether two candidates are one company, for
 * example a branch and its head office: such a one is not ahead of itself. A name that is written as only one company writes it is
 * ahead of other spellings.
 */
export function decideMatch(
  ranked: readonly RankedCandidate[],
  areSameCompany: (a: string, b: string) => boolean,
): MatchDecision {
  const [first, ...others] = ranked;
  if (first === undefined) return { kind: "none", reason: "no_candidates" };
  if (first.score < MATCH_THRESHOLD - TOLERANCE) return { kind: "none", reason: "below_threshold" };
  const rivals = others.filter(({ id }) => !areSameCompany(first.id, id));
  const [next] = rivals;
  const isOnlyExact = first.is_exact === true && !rivals.some(({ is_exact }) => is_exact);
  const isAhead = isOnlyExact || next === undefined || first.score - next.score >= MATCH_LEAD - TOLERANCE;
  return isAhead ? { kind: "match", id: first.id } : { kind: "none", reason: "ambiguous" };
}

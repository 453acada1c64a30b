/**
 * `match_score` of a candidate company with what it is made of, and whether the best candidate is the company that was meant. Pure.
 * How alike names are comes from score.ts, which judges like a screening: two funds of one series are worth a second look. Here
 * the form, the place, the number and the rarity of the words decide which of the candidates is meant, and what keeps one below the
 * threshold of a match whatever else speaks for it.
 */
import { commonAbove } from "../search-keys.ts";
import { foldName } from "./fold.ts";
import { countriesOf, type LegalFormCategory, splitLegalForms } from "./legal-forms.ts";
import {
  areEqual,
  compareNames,
  FORM_GROUPS,
  haveDifferentWords,
  haveOtherForms,
  type PreparedName,
  prepareName,
} from "./score.ts";
import { spellingSimilarity } from "./similarity.ts";

/** The best candidate is a match from this score on … */
export const MATCH_THRESHOLD = 0.85;
/** … if the next candidate that is another company is at least so far behind. */
export const MATCH_LEAD = 0.08;
/** From this score on a candidate that is no match is worth a person's look. */
export const REVIEW_THRESHOLD = 0.7;

const SCORES = {
  legal: 1,
  trading: 0.98,
  former: 0.93,
  same_place: 0.03,
  other_place: -0.05,
  not_active: -0.05,
  same_form: 0.02,
  form_conflict: -0.08,
} as const;

/** The most that a score is, whatever speaks for the candidate. */
const CAPS = {
  /** The numbers in the names differ. */
  other_numbers: 0.8,
  /** The names share only words that many companies have. */
  common_words: 0.8,
  /** A word of the caller's is not the candidate's, and companies have it: it is no typing error. */
  other_word: 0.84,
  /** Neither the name is written so nor is the company there. */
  other_name_and_place: 0.84,
  /** Short names that differ in a character, in no place that the caller names: Glenmore is not Glencore. */
  other_short_name: 0.84,
  /** An AG is not a GmbH. */
  other_form: 0.84,
  /** The form or the numbers that the caller names are of other countries. */
  other_country: 0.84,
} as const;
const SHORT_NAME_CHARS = 12;
/** Words so alike are two spellings of one. */
const MIN_WORD_SIMILARITY = 0.8;
/** Scores are sums of decimals: 0.93 − 0.85 is a little less than 0.08. */
const TOLERANCE = 1e-9;

/** How rare the words of a query are in the index. */
export interface Rarity {
  /** How many companies have the word; at least up to where it is common. */
  readonly frequencies: ReadonlyMap<string, number>;
  readonly companies: number;
}

export interface NameQuery {
  readonly text: string;
  readonly name: PreparedName;
  /** Folded name, for the one that is written as the caller writes it. */
  readonly folded: string;
  readonly city: string | null;
  readonly postcode: string | null;
  /** Where the company can be: the country that the caller names, or those of its identifiers and legal form; empty: not known. */
  readonly countries: ReadonlySet<string>;
  readonly rarity: Rarity | null;
}

export interface QueryDetails {
  readonly city?: string | null;
  readonly postcode?: string | null;
  readonly country?: string | null;
  /** Countries of the identifiers that the caller names. */
  readonly countries?: readonly string[];
  readonly rarity?: Rarity | null;
}

export function nameQuery(text: string, details: QueryDetails = {}): NameQuery {
  const { city = null, postcode = null, country = null, countries = [], rarity = null } = details;
  const folded = foldName(text);
  return {
    text,
    name: prepareName(text),
    folded,
    city: city === null ? null : foldName(city),
    postcode: postcode === null ? null : foldName(postcode),
    countries: new Set(
      country === null ? [...countries, ...countriesOf(splitLegalForms(folded).forms)] : [country],
    ),
    rarity,
  };
}

export interface CandidateCompany {
  readonly legal: string;
  /** Trading names, translations and other current names. */
  readonly trading: readonly string[];
  readonly former: readonly string[];
  readonly is_active: boolean;
  readonly cities: readonly string[];
  readonly postcode: string | null;
  readonly country: string | null;
  /** A category of company/v1. */
  readonly legal_form_category: string | null;
}

export const PART_KINDS = [
  "word",
  "form",
  "number",
  "city",
  "country",
  "identifier",
  "status",
  "limit",
] as const;
type PartKind = (typeof PART_KINDS)[number];

/** A reason for or against a candidate. */
export interface ScorePart {
  readonly kind: PartKind;
  /** The value that the caller names; null: none. */
  readonly query: string | null;
  /** The value that the candidate has; null: none. */
  readonly candidate: string | null;
  /** 0 to 1. */
  readonly similarity: number | null;
  /** The amount that the part adds to the score. */
  readonly effect: number;
}

export interface MatchedName {
  readonly field: "names.legal" | "names.trading" | "names.former";
  readonly value: string;
}

export interface CandidateScore {
  /** 0 to 1. */
  readonly score: number;
  /** The score before it is cut at 0 and 1: of two companies that fit in full, the one with the city is ahead. */
  readonly evidence: number;
  /** How alike the words of the names are, 0 to 1. */
  readonly base: number;
  /** They add up, with `base`, to `score`. */
  readonly parts: readonly ScorePart[];
  readonly matched_on: MatchedName;
  /** The form in which names are equal; with `is_contradicted` false, two companies that have it are not told apart by their names. */
  readonly key: string;
  /** The form, the number, the city or the country of the candidate is another. */
  readonly is_contradicted: boolean;
}

/** The sum of what speaks for and against a candidate, with the reasons. */
class Evidence {
  readonly parts: ScorePart[] = [];
  readonly base: number;
  is_contradicted = false;
  hasPlace = false;
  sum: number;

  constructor(base: number) {
    this.base = base;
    this.sum = base;
  }

  add(kind: PartKind, effect: number, query: string | null = null, candidate: string | null = null): void {
    this.sum += effect;
    this.parts.push({ kind, query, candidate, similarity: null, effect });
  }

  cap(kind: PartKind, most: number, query: string | null = null, candidate: string | null = null): void {
    if (this.sum > most) this.add(kind, most - this.sum, query, candidate);
  }
}

export function matchScore(query: NameQuery, company: CandidateCompany): CandidateScore {
  const named = bestName(query.name, company);
  const { matched_on, name } = named;
  const evidence = new Evidence(named.base);
  for (const { kind, effect } of named.effects)
    evidence.add(
      kind,
      (named.weight * effect) / 100,
      ...(kind === "form" ? [query.text, matched_on.value] : []),
    );
  if (evidence.sum > 0) {
    weighForm(evidence, query, name, company);
    weighPlace(evidence, query, name, company);
    if (!company.is_active) evidence.add("status", SCORES.not_active, null, "not active");
    limit(evidence, query, name, company);
  }
  const { sum, base, parts } = evidence;
  const score = Math.min(1, Math.max(0, sum));
  return {
    score,
    evidence: sum,
    base,
    parts:
      score === sum
        ? parts
        : [...parts, { kind: "limit", query: null, candidate: null, similarity: null, effect: score - sum }],
    matched_on,
    key: name.joined,
    is_contradicted: evidence.is_contradicted,
  };
}

function bestName(query: PreparedName, company: CandidateCompany) {
  const names = [
    { field: "names.legal", weight: SCORES.legal, values: [company.legal] },
    { field: "names.trading", weight: SCORES.trading, values: company.trading },
    { field: "names.former", weight: SCORES.former, values: company.former },
  ] as const;
  const all = names.flatMap(({ field, weight, values }) =>
    values.map((value) => {
      const name = prepareName(value);
      const { base, effects } = compareNames(query, name);
      const score = effects.reduce((sum, { effect }) => sum + effect, base);
      const matched_on: MatchedName = { field, value };
      return { matched_on, name, weight, base: (weight * base) / 100, effects, score: weight * score };
    }),
  );
  return all.reduce((best, each) => (each.score > best.score ? each : best));
}

function weighForm(
  evidence: Evidence,
  { name: query, text }: NameQuery,
  name: PreparedName,
  { legal_form_category: category }: CandidateCompany,
): void {
  const registered = FORM_GROUPS[category as LegalFormCategory];
  const groups = name.form_groups.size > 0 ? name.form_groups : new Set(registered ? [registered] : []);
  if (query.form_groups.size === 0 || groups.size === 0) return;
  if (!query.form_groups.isDisjointFrom(groups)) {
    evidence.add("form", SCORES.same_form, text, category ?? [...groups].join(" "));
    return;
  }
  evidence.is_contradicted = true;
  // Forms that both names have are in the score of the names already.
  if (!haveOtherForms(query, name)) evidence.add("form", SCORES.form_conflict, text, category);
  evidence.cap("form", CAPS.other_form, text, category);
}

/** `Frankfurt` is `Frankfurt am Main`. */
const isSameCity = (a: string, b: string): boolean =>
  a === b || `${a} `.startsWith(`${b} `) || `${b} `.startsWith(`${a} `);

function weighPlace(
  evidence: Evidence,
  { name: query, city, postcode }: NameQuery,
  name: PreparedName,
  { cities, postcode: registered }: CandidateCompany,
): void {
  const own = registered === null ? null : foldName(registered);
  const isSamePostcode = postcode !== null && postcode === own;
  if (!isSamePostcode && (city === null || cities.length === 0)) return;
  if (isSamePostcode || cities.some((each) => isSameCity(city!, foldName(each)))) {
    evidence.hasPlace = true;
    evidence.add(
      "city",
      SCORES.same_place,
      isSamePostcode ? postcode : city,
      isSamePostcode ? own : cities[0],
    );
    return;
  }
  evidence.is_contradicted = true;
  evidence.add("city", SCORES.other_place, city, cities[0]);
  if (query.written !== name.written) evidence.cap("city", CAPS.other_name_and_place, city, cities[0]);
}

function limit(
  evidence: Evidence,
  { name: query, text, countries, folded, rarity }: NameQuery,
  name: PreparedName,
  { country, legal }: CandidateCompany,
): void {
  if (!areEqual(query.numbers, name.numbers)) {
    evidence.is_contradicted = true;
    evidence.cap("number", CAPS.other_numbers, [...query.numbers].join(" "), [...name.numbers].join(" "));
  }
  const isShort = Math.max(query.joined.length, name.joined.length) < SHORT_NAME_CHARS;
  if (
    evidence.sum > CAPS.other_short_name &&
    isShort &&
    !evidence.hasPlace &&
    haveDifferentWords(query, name)
  )
    evidence.cap("word", CAPS.other_short_name);
  // Most candidates are below: what words they share is worked out for the others.
  if (
    evidence.sum > CAPS.common_words &&
    rarity !== null &&
    foldName(legal) !== folded &&
    sharesOnlyCommon(query, name, rarity)
  )
    evidence.cap("word", CAPS.common_words, query.words.join(" "), name.words.join(" "));
  if (evidence.sum > CAPS.other_word && rarity !== null && hasOtherWord(query, name, rarity))
    evidence.cap("word", CAPS.other_word);
  if (country !== null && countries.size > 0 && !countries.has(country)) {
    evidence.is_contradicted = true;
    evidence.cap("country", CAPS.other_country, text, country);
  }
}

/** Names that share no word, as they differ in spelling, are not judged here. */
function sharesOnlyCommon(
  query: PreparedName,
  name: PreparedName,
  { frequencies, companies }: Rarity,
): boolean {
  const isCommon = (word: string): boolean => (frequencies.get(word) ?? 0) > commonAbove(companies);
  const shared = query.words
    .map((word) => nearest(word, name.words))
    .filter(({ similarity }) => similarity >= MIN_WORD_SIMILARITY);
  return shared.length > 0 && shared.every(({ word, other }) => isCommon(word) || isCommon(other));
}

/** The caller names a word that other companies have and this one has not. */
const hasOtherWord = (query: PreparedName, name: PreparedName, { frequencies }: Rarity): boolean =>
  query.joined !== name.joined &&
  query.words.some((word) => {
    const isKnown = (frequencies.get(word) ?? 0) > 0;
    return isKnown && !name.words.includes(word);
  });

function nearest(word: string, others: readonly string[]) {
  let best = { word, other: "", similarity: 0 };
  for (const other of others) {
    const similarity = spellingSimilarity(word, other);
    if (similarity > best.similarity) best = { word, other, similarity };
  }
  return best;
}

/** Each word of the query beside the word of the candidate that is most like it. They are in `base`, so they add nothing. */
export const wordParts = ({ name }: NameQuery, { matched_on }: CandidateScore): readonly ScorePart[] => {
  const { words } = prepareName(matched_on.value);
  return name.words.map((each) => {
    const { other, similarity } = nearest(each, words);
    return { kind: "word", query: each, candidate: other === "" ? null : other, similarity, effect: 0 };
  });
};

export interface RankedCandidate {
  readonly id: string;
  readonly score: number;
  /** Default: the score. */
  readonly evidence?: number;
  readonly is_active: boolean;
  /** The completeness of the record, 0 to 1. */
  readonly completeness: number;
  /** Its legal name is what the caller wrote, but for case and punctuation. Default false. */
  readonly is_exact?: boolean;
  /** As the score has them; absent: names are not compared. */
  readonly key?: string;
  readonly is_contradicted?: boolean;
}

const evidenceOf = ({ evidence, score }: RankedCandidate): number => evidence ?? score;

/** Best first; equal scores: the name as it was written, active companies, then fuller records, then by id. */
export const byRank = (a: RankedCandidate, b: RankedCandidate): number =>
  b.score - a.score ||
  evidenceOf(b) - evidenceOf(a) ||
  Number(b.is_exact ?? false) - Number(a.is_exact ?? false) ||
  Number(b.is_active) - Number(a.is_active) ||
  b.completeness - a.completeness ||
  (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

export type MatchDecision =
  | { readonly kind: "match"; readonly id: string }
  | { readonly kind: "none"; readonly reason: "no_candidates" | "below_threshold" | "ambiguous" };

/** How far the candidate is ahead of the best one that is another company; null: there is none. */
export function leadOf(first: RankedCandidate, others: readonly RankedCandidate[]): number | null {
  const [next] = others;
  return next === undefined ? null : evidenceOf(first) - evidenceOf(next);
}

/**
 * Decides over candidates in the order of `byRank`. `areSameCompany`: whether two candidates are one company, for
 * example a branch and its head office: such a one is not ahead of itself. A name that is written as only one company writes it is
 * ahead of other spellings. Of two companies with one name that nothing else tells apart, none is the match, however they are ranked.
 */
export function decideMatch(
  ranked: readonly RankedCandidate[],
  areSameCompany: (a: string, b: string) => boolean,
): MatchDecision {
  const [first, ...others] = ranked;
  if (first === undefined) return { kind: "none", reason: "no_candidates" };
  if (first.score < MATCH_THRESHOLD - TOLERANCE) return { kind: "none", reason: "below_threshold" };
  const rivals = others.filter(({ id }) => !areSameCompany(first.id, id));
  const isOnlyExact = first.is_exact === true && !rivals.some(({ is_exact }) => is_exact);
  if (isOnlyExact) return { kind: "match", id: first.id };
  const isTwin = ({ key, is_contradicted = false }: RankedCandidate): boolean =>
    key !== undefined && key === first.key && !is_contradicted;
  const lead = leadOf(first, rivals);
  const isAhead = lead === null || lead >= MATCH_LEAD - TOLERANCE;
  return isAhead && !rivals.some(isTwin)
    ? { kind: "match", id: first.id }
    : { kind: "none", reason: "ambiguous" };
}

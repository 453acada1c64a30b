/**
 * Blocking keys: two names that could be the same share at least one of them. Each word, its first and its last four
 * characters, the words in order without blanks, and the words of up to ten characters with one left out, so that a
 * short word with a typo is still found. Keys are numbers of 32 bits: two texts with one number cost a
 * comparison and change no result. Pure.
 */
import { prepareName } from "./names/score.ts";

const EDGE_CHARS = 4;
/** In a long word one of the longer ends is without the typo, and fewer companies share it. */
const LONG_EDGE_CHARS = 5;
const MIN_LONG_CHARS = 9;
const MIN_DELETED_CHARS = 4;
const MAX_DELETED_CHARS = 10;
/** Words with one character left out make many keys: only the first ones of a name get them. */
const MAX_DELETED_WORDS = 2;
const MAX_WORDS = 12;
const MAX_NAMES = 12;

/** FNV-1a, as a signed 32-bit integer: MongoDB stores it in four bytes. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value | 0;
}

/** The keys of one name. */
export function keysOfName(name: string): readonly number[] {
  const words = prepareName(name).words.slice(0, MAX_WORDS);
  const keys = new Set<number>();
  for (const word of words) {
    keys.add(hash(`w${word}`));
    if (word.length <= EDGE_CHARS) continue;
    keys.add(hash(`p${word.slice(0, EDGE_CHARS)}`));
    keys.add(hash(`s${word.slice(-EDGE_CHARS)}`));
    if (word.length < MIN_LONG_CHARS) continue;
    keys.add(hash(`p${word.slice(0, LONG_EDGE_CHARS)}`));
    keys.add(hash(`s${word.slice(-LONG_EDGE_CHARS)}`));
  }
  if (words.length > 1) keys.add(hash(`f${words.toSorted().join("")}`));
  const deleted = words.filter(({ length }) => length >= MIN_DELETED_CHARS && length <= MAX_DELETED_CHARS);
  for (const word of deleted.slice(0, MAX_DELETED_WORDS)) {
    keys.add(hash(`d${word}`));
    for (let at = 0; at < word.length; at++) keys.add(hash(`d${word.slice(0, at)}${word.slice(at + 1)}`));
  }
  return [...keys];
}

/** The keys of all names of a company; a company with more names is found by the first ones. */
export const keysOfNames = (names: readonly string[]): readonly number[] => [
  ...new Set(names.slice(0, MAX_NAMES).flatMap(keysOfName)),
];

/** A key on more companies than this says little; it is used only when no rarer key finds anything. */
export const MAX_POSTINGS = 1_000;
/** Companies that are looked at for one query. */
export const MAX_LOOKED_AT = 4_000;

/**
 * The companies that share the most telling keys first. A key counts the more the fewer companies have it.
 */
export function rankByKeys<Id extends number | string>(
  postings: readonly { readonly key: number; readonly companies: readonly Id[] }[],
  limit: number,
): readonly Id[] {
  const rare = postings.filter(({ companies }) => companies.length <= MAX_POSTINGS);
  const used = rare.some(({ companies }) => companies.length > 0) ? rare : postings;
  const weights = new Map<Id, number>();
  for (const { companies } of used.toSorted((a, b) => a.companies.length - b.companies.length)) {
    if (weights.size + companies.length > MAX_LOOKED_AT && weights.size > 0) continue;
    const weight = 1 / Math.log2(companies.length + 1.5);
    for (const id of companies) weights.set(id, (weights.get(id) ?? 0) + weight);
  }
  return [...weights]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, limit)
    .map(([id]) => id);
}

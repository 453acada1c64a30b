/**
 * Blocking keys: two names that could be the same share at least one of them. Each word, its first and its last characters,
 * the ends of the first word beside the second word, each two of the longest words, the words in order without blanks and the ends of that, the initials, and
 * the words of up to ten characters with one left out, so that a short word with a typo is still found. Two words that are common
 * each may be rare together: of a name with a typo in its rare word the pairs of the others remain. Keys are numbers of 32 bits: two texts with one number
 * cost a comparison and change no result. Pure.
 */
import { type PreparedName, prepareName, skeletonOf } from "./names/score.ts";

/**
 * The ends of a word, by its least length. In a long word one of the longer ends is without the typo, and fewer companies
 * share it.
 */
const EDGES: readonly (readonly [min_chars: number, edge_chars: number])[] = [
  [5, 4],
  [9, 5],
  [10, 6],
];
/** The ends of the first word that are keys together with the second word: rare where the ends alone are not. */
const PAIRED_EDGES: readonly (readonly [max_chars: number, edge_chars: number])[] = [
  [Infinity, 3],
  [5, 2],
];
const MIN_DELETED_CHARS = 4;
/** A word of three characters is what remains of one of four. */
const MIN_REMAINING_CHARS = MIN_DELETED_CHARS - 1;
const MAX_DELETED_CHARS = 10;
/** Words with one character left out make many keys: only the first ones of a name get them. */
const MAX_DELETED_WORDS = 2;
/** Pairs are made of so many words, the longest. */
const MAX_PAIRED_WORDS = 5;
/** The longest words have a key by their consonants, for names that were transliterated in two ways. */
const MAX_SKELETONS = 2;
const MIN_SKELETON_CHARS = 4;
/** Characters at each edge of the whole name without blanks: a name has blanks where a word is written as two. */
const JOINED_EDGE_CHARS = 6;
const MIN_INITIALS = 3;
const MAX_WORDS = 12;
const MAX_NAMES = 12;

/**
 * FNV-1a, as a signed 32-bit integer: MongoDB stores it in four bytes. `before`: the hash of what stands before the text, so that
 * texts are not joined only to be hashed.
 */
function hash(text: string, before: number): number {
  let value = before;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value;
}
const beginning = (kind: string): number => hash(kind, 0x811c9dc5);
const KINDS = {
  word: beginning("w"),
  first: beginning("p"),
  last: beginning("s"),
  words: beginning("f"),
  deleted: beginning("d"),
  pair: beginning("b"),
  skeleton: beginning("c"),
  whole_first: beginning("j"),
  whole_last: beginning("k"),
  initials: beginning("i"),
} as const;

const wordKey = (word: string): number => hash(word, KINDS.word);
const pairKey = (a: string, b: string, kind: number): number => hash(b, hash(" ", hash(a, kind)));
const queryWords = (name: string): readonly string[] => prepareName(name).words.slice(0, MAX_WORDS);

/** The keys of one name. */
export function keysOfName(name: string): readonly number[] {
  const prepared = prepareName(name);
  const words = prepared.words.slice(0, MAX_WORDS);
  const keys = new Set<number>();
  for (const word of words) {
    keys.add(wordKey(word));
    for (const [min_chars, edge_chars] of EDGES) {
      if (word.length < min_chars) break;
      keys.add(hash(word.slice(0, edge_chars), KINDS.first));
      keys.add(hash(word.slice(-edge_chars), KINDS.last));
    }
  }
  const [first, second] = words;
  if (first !== undefined && second !== undefined) {
    keys.add(hash(words.toSorted().join(""), KINDS.words));
    for (const [max_chars, edge_chars] of PAIRED_EDGES) {
      if (first.length > max_chars) break;
      keys.add(pairKey(first.slice(0, edge_chars), second, KINDS.first));
      keys.add(pairKey(first.slice(-edge_chars), second, KINDS.last));
    }
  }
  for (const key of [...longestKeys(words), ...wholeKeys(prepared)]) keys.add(key);
  const deleted = words.filter(({ length }) => length >= MIN_REMAINING_CHARS && length <= MAX_DELETED_CHARS);
  for (const word of deleted.slice(0, MAX_DELETED_WORDS)) {
    keys.add(hash(word, KINDS.deleted));
    if (word.length < MIN_DELETED_CHARS) continue;
    let before: number = KINDS.deleted;
    for (let at = 0; at < word.length; at++) {
      keys.add(hash(word.slice(at + 1), before));
      before = hash(word[at]!, before);
    }
  }
  return [...keys];
}

function longestKeys(words: readonly string[]): readonly number[] {
  const longest = [...new Set(words)].toSorted((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const skeletons = longest
    .slice(0, MAX_SKELETONS)
    .map(skeletonOf)
    .filter(({ length }) => length >= MIN_SKELETON_CHARS);
  const paired = longest.slice(0, MAX_PAIRED_WORDS).toSorted();
  const pairs = paired.flatMap((a, at) => paired.slice(at + 1).map((b) => pairKey(a, b, KINDS.pair)));
  return [...pairs, ...skeletons.map((each) => hash(each, KINDS.skeleton))];
}

function wholeKeys({ words, joined, written, initials }: PreparedName): readonly number[] {
  const ends =
    written.length > JOINED_EDGE_CHARS
      ? [
          hash(written.slice(0, JOINED_EDGE_CHARS), KINDS.whole_first),
          hash(written.slice(-JOINED_EDGE_CHARS), KINDS.whole_last),
        ]
      : [];
  const abbreviations = words.length === 1 ? [joined] : initials;
  return [
    ...ends,
    ...abbreviations.filter(({ length }) => length >= MIN_INITIALS).map((each) => hash(each, KINDS.initials)),
  ];
}

/** The keys of all names of a company; a company with more names is found by the first ones. */
export const keysOfNames = (names: readonly string[]): readonly number[] => [
  ...new Set(names.slice(0, MAX_NAMES).flatMap(keysOfName)),
];

/** A key of more companies than this distinguishes little; it is used only when no rarer key finds anything. */
export const MAX_POSTINGS = 1_000;
/** Companies that are looked at for one query. */
export const MAX_LOOKED_AT = 4_000;

/** The companies of one key of a question. */
export interface KeyPostings<Id> {
  /** How many companies have the key, at least up to MAX_POSTINGS + 1. */
  readonly count: number;
  /** Companies that have the key and fit; read only where the key counts. */
  readonly companies: () => readonly Id[];
}

/**
 * The companies that share the most telling keys first. A key counts the more the fewer companies have it, and common keys only
 * where no other one finds anything.
 */
export function rankByKeys<Id extends number | string>(
  postings: readonly KeyPostings<Id>[],
  limit: number,
): readonly Id[] {
  const weights = new Map<Id, number>();
  function weigh(used: readonly KeyPostings<Id>[]): void {
    for (const { count, companies } of used.toSorted((a, b) => a.count - b.count)) {
      if (weights.size + count > MAX_LOOKED_AT && weights.size > 0) continue;
      const weight = 1 / Math.log2(count + 1.5);
      for (const id of companies()) weights.set(id, (weights.get(id) ?? 0) + weight);
    }
  }
  weigh(postings.filter(({ count }) => count <= MAX_POSTINGS));
  if (weights.size === 0) weigh(postings.filter(({ count }) => count > MAX_POSTINGS));
  return [...weights]
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, limit)
    .map(([id]) => id);
}

/** A word of more companies than this, and than one in a thousand, is common: alone it does not say which company is meant. */
const MIN_COMMON = 100;
export const commonAbove = (companies: number): number => Math.max(MIN_COMMON, companies / 1_000);

/** How many companies have each word of the names. `countOf`: how many have a key. */
export function frequenciesOf(
  names: readonly string[],
  countOf: (key: number) => number,
): ReadonlyMap<string, number> {
  const words = new Set(names.flatMap(queryWords));
  return new Map([...words].map((word) => [word, countOf(wordKey(word))]));
}

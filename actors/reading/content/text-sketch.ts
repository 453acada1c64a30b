/**
 * A sketch of a text by which texts that differ in a few words are found: SimHash (Charikar; Manku, Jain and Das Sarma, WWW 2007) over
 * runs of three words, or of five characters where a script has no spaces. Single words would not do: the frequent ones are in every text.
 */

/** Characters of the text that count; what is behind them changes nothing. */
const MAX_CHARS = 100_000;
const HALF = 32;
/** Binary digits of the number of runs of a text. */
const PLANES = Math.ceil(Math.log2(MAX_CHARS)) + 1;
/** FNV-1a, with its own offset and another. */
const FNV_PRIME = 0x01000193;
const LOW_SEED = 0x811c9dc5;
const HIGH_SEED = 0x9747b28c;
const WORDS = 3;
const CHARS = 5;
/** A shorter text has too few runs: a changed word changes a large part of them. */
const MIN_TOKENS = 50;
const SHORT_TOKENS = 200;
/** The most bits in which sketches of the same text differ. A fifth of a template's text that is its own changes 8 to 18. */
const SHORT_DISTANCE = 4;
const LONG_DISTANCE = 6;
/** The most bits in which any two near sketches differ. */
export const MAX_DISTANCE = Math.max(SHORT_DISTANCE, LONG_DISTANCE);

export interface TextSketch {
  readonly low: number;
  readonly high: number;
  /** The most bits in which the sketch of the same text may differ. */
  readonly distance: number;
}

const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu;
const WORD = /[\p{L}\p{N}]+/gu;

/** Null: the text is too short. */
export function sketchOf(text: string): TextSketch | null {
  const read = text.slice(0, MAX_CHARS).toLowerCase();
  const chars = read.match(WITHOUT_SPACES) ?? [];
  const words = read.match(WORD) ?? [];
  const isOfChars = chars.length > words.length;
  const tokens = isOfChars ? chars : words;
  if (tokens.length < MIN_TOKENS) return null;
  const length = isOfChars ? CHARS : WORDS;
  const joined = tokens.join(" ");
  const [low, high] = [counters(), counters()];
  const runs = tokens.length - length + 1;
  let start = 0;
  let end = -1;
  for (let at = 0; at < length - 1; at++) end += tokens[at]!.length + 1;
  for (let at = 0; at < runs; at++) {
    end += tokens[at + length - 1]!.length + 1;
    let [first, second] = [LOW_SEED, HIGH_SEED];
    for (let char = start; char < end; char++) {
      const code = joined.charCodeAt(char);
      first = Math.imul(first ^ code, FNV_PRIME);
      second = Math.imul(second ^ code, FNV_PRIME);
    }
    count(low, finished(first));
    count(high, finished(second));
    start += tokens[at]!.length + 1;
  }
  return {
    low: majority(low, runs),
    high: majority(high, runs),
    distance: tokens.length < SHORT_TOKENS ? SHORT_DISTANCE : LONG_DISTANCE,
  };
}

/** Bits in which a sketch differs from another, whose halves these are. */
export const distanceOf = (sketch: TextSketch, low: number, high: number): number =>
  bitsIn(sketch.low ^ low) + bitsIn(sketch.high ^ high);

export const isNear = (a: TextSketch, b: TextSketch): boolean =>
  distanceOf(a, b.low, b.high) <= Math.min(a.distance, b.distance);

export const writeSketch = ({ low, high, distance }: TextSketch): string =>
  `${low.toString(16)} ${high.toString(16)} ${distance}`;

export function readSketch(text: string): TextSketch {
  const [low, high, distance] = text.split(" ");
  return { low: Number.parseInt(low!, 16), high: Number.parseInt(high!, 16), distance: Number(distance) };
}

/** How many numbers have each of 32 bits: one plane for each binary digit of these counts, so that a number is added to all in a few steps. */
const counters = (): Int32Array => new Int32Array(PLANES);

function count(planes: Int32Array, bits: number): void {
  let carry = bits;
  for (let plane = 0; carry !== 0; plane++) {
    const both = planes[plane]! & carry;
    planes[plane]! ^= carry;
    carry = both;
  }
}

/** The bits that more than half of the numbers have. */
function majority(planes: Int32Array, numbers: number): number {
  let bits = 0;
  for (let bit = 0; bit < HALF; bit++) {
    let ones = 0;
    for (let digit = 0; digit < PLANES; digit++) ones |= ((planes[digit]! >>> bit) & 1) << digit;
    if (ones * 2 > numbers) bits |= 1 << bit;
  }
  return bits >>> 0;
}

/** The last step of MurmurHash3, without which neighbouring texts have neighbouring numbers. */
function finished(fnv: number): number {
  let hash = Math.imul(fnv ^ (fnv >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** In pairs, then in fours, then in bytes, whose sum is the highest byte of the product. */
function bitsIn(number: number): number {
  const pairs = number - ((number >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

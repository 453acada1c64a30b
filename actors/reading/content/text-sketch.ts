/**
 * A sketch of a text by which texts that differ in a few words are found: SimHash (Charikar; Manku, Jain and Das Sarma, WWW 2007) over
 * runs of three words, or of five characters where a script has no spaces. Single words would not do: the frequent ones are in every text.
 */

/** Of the text; what is behind it changes nothing. */
const MAX_CHARS = 100_000;
const BITS = 64;
const HALF = 32;
const WORDS = 3;
const CHARS = 5;
/** A shorter text has too few runs: a changed word changes a large part of them. */
const MIN_TOKENS = 50;
const SHORT_TOKENS = 200;
/** The most bits in which sketches of the same text differ. A fifth of a template's text that is its own changes 8 to 18. */
const SHORT_DISTANCE = 4;
const LONG_DISTANCE = 6;

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
  const sums = new Int32Array(BITS);
  for (let at = 0; at + length <= tokens.length; at++) {
    const run = tokens.slice(at, at + length).join(" ");
    addBits(sums, 0, mixed(run, 0x811c9dc5));
    addBits(sums, HALF, mixed(run, 0x9747b28c));
  }
  return {
    low: bitsOf(sums, 0),
    high: bitsOf(sums, HALF),
    distance: tokens.length < SHORT_TOKENS ? SHORT_DISTANCE : LONG_DISTANCE,
  };
}

/** Bits in which two sketches differ. */
export const distanceOf = (a: TextSketch, b: TextSketch): number =>
  bitsIn(a.low ^ b.low) + bitsIn(a.high ^ b.high);

export const isNear = (a: TextSketch, b: TextSketch): boolean =>
  distanceOf(a, b) <= Math.min(a.distance, b.distance);

export const writeSketch = ({ low, high, distance }: TextSketch): string =>
  `${low.toString(16)} ${high.toString(16)} ${distance}`;

export function readSketch(text: string): TextSketch {
  const [low, high, distance] = text.split(" ");
  return { low: Number.parseInt(low!, 16), high: Number.parseInt(high!, 16), distance: Number(distance) };
}

function addBits(sums: Int32Array, first: number, bits: number): void {
  for (let bit = 0; bit < HALF; bit++) sums[first + bit]! += (bits >>> bit) & 1 ? 1 : -1;
}

function bitsOf(sums: Int32Array, first: number): number {
  let bits = 0;
  for (let bit = 0; bit < HALF; bit++) if (sums[first + bit]! > 0) bits |= 1 << bit;
  return bits >>> 0;
}

/** FNV-1a, and the last step of MurmurHash3, without which neighbouring texts have neighbouring numbers. */
function mixed(text: string, seed: number): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function bitsIn(number: number): number {
  let bits = 0;
  for (let left = number >>> 0; left !== 0; left &= left - 1) bits++;
  return bits;
}

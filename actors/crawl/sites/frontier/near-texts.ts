/**
 * Which of the texts before is near another, without a look at each: two sketches that differ in at most six bits are equal in one of seven bands, so
 * only the sketches with an equal band are compared (Manku, Jain and Das Sarma, WWW 2007, with one table a band). 41 bytes a text.
 */
import { distanceOf, MAX_DISTANCE, type TextSketch } from "../../../reading/content/text-sketch.ts";

const SEGMENT = 4_096;
const NONE = -1;
const BITS = 64;
const HALF = 32;
const BANDS = MAX_DISTANCE + 1;
/** The places of a sketch where its bands begin, and where the last one ends. */
const PLACES = Array.from({ length: BANDS + 1 }, (_, band) => Math.round((band * BITS) / BANDS));
const VALUES = 2 ** Math.ceil(BITS / BANDS);
/** Words of a text: the halves of its sketch, its ordinal, and for each band the text before it with the same value there. Side by side, for the processor's cache. */
const [LOW, HIGH, ORDINAL, BEFORE] = [0, 1, 2, 3];
const WORDS = BEFORE + BANDS;

export interface NearTexts {
  /** The ordinal of the text that was added first of those near this one; null: there is none. That of `except` is left out. */
  readonly find: (sketch: TextSketch, except: number) => number | null;
  readonly add: (ordinal: number, sketch: TextSketch) => void;
  readonly bytes: () => number;
}

export function nearTexts(): NearTexts {
  // In segments, so that growing copies nothing.
  const texts: Int32Array[] = [];
  const distances: Uint8Array[] = [];
  const last = new Int32Array(BANDS * VALUES).fill(NONE);
  let count = 0;

  return {
    find(sketch, except) {
      let first = NONE;
      let found: number | null = null;
      for (let band = 0; band < BANDS; band++) {
        let at = last[band * VALUES + bandOf(sketch, band)]!;
        while (at !== NONE) {
          const segment = texts[Math.floor(at / SEGMENT)]!;
          const place = at % SEGMENT;
          const word = place * WORDS;
          const isEarlier = first === NONE || at < first;
          const bits = distanceOf(sketch, segment[word + LOW]!, segment[word + HIGH]!);
          if (bits <= sketch.distance && isEarlier && segment[word + ORDINAL] !== except) {
            const isNear = bits <= distances[Math.floor(at / SEGMENT)]![place]!;
            if (isNear) [first, found] = [at, segment[word + ORDINAL]!];
          }
          at = segment[word + BEFORE + band]!;
        }
      }
      return found;
    },
    add(ordinal, sketch) {
      const place = count % SEGMENT;
      if (place === 0) {
        texts.push(new Int32Array(SEGMENT * WORDS));
        distances.push(new Uint8Array(SEGMENT));
      }
      const segment = texts.at(-1)!;
      segment.set([sketch.low, sketch.high, ordinal], place * WORDS);
      distances.at(-1)![place] = sketch.distance;
      for (let band = 0; band < BANDS; band++) {
        const value = band * VALUES + bandOf(sketch, band);
        segment[place * WORDS + BEFORE + band] = last[value]!;
        last[value] = count;
      }
      count++;
    },
    bytes: () =>
      texts.length * SEGMENT * (WORDS * Int32Array.BYTES_PER_ELEMENT + Uint8Array.BYTES_PER_ELEMENT) +
      last.byteLength,
  };
}

/** The bits of a sketch from one place to the next. */
function bandOf({ low, high }: TextSketch, band: number): number {
  const from = PLACES[band]!;
  const mask = 2 ** (PLACES[band + 1]! - from) - 1;
  if (from >= HALF) return (high >>> (from - HALF)) & mask;
  return ((low >>> from) | (from === 0 ? 0 : high << (HALF - from))) & mask;
}

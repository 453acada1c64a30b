/** Counts words: of lines, to compare their sizes, and of the text, as people count them. One loop over the characters each. */
import { codeAt } from "../content/code-at.ts";
import { FIRST_DENSE } from "../content/comparable-chars.ts";

const OTHER = 0;
const WORD = 1;
/** Between two parts of one word: "don't", "state-of-the-art", "3.5". */
const JOINER = 2;
const RIGHT_QUOTE = 0x2019;

/** Letters, digits and the underscore. A table, because a branch that turns at each end of a word is mostly mispredicted. */
const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  return /\w/.test(char) ? WORD : /['.-]/.test(char) ? JOINER : OTHER;
});

/** Beyond ASCII everything except punctuation and spaces, which is exact enough for counting. */
const isForeignWord = (code: number): boolean =>
  code >= 0xaa &&
  code !== 0xab &&
  code !== 0xbb &&
  code !== 0xd7 &&
  (code < 0x2000 || code > 0x206f || code === 0x200c || code === 0x200d) &&
  (code < 0x3000 || code > 0x303f) &&
  code !== 0xfeff;

function kindOf(code: number): number {
  if (code < 128) return ASCII[code]!;
  if (code === RIGHT_QUOTE) return JOINER;
  return isForeignWord(code) ? WORD : OTHER;
}

/** No character of a script without spaces, or of Thai or Korean, is below this. */
const FIRST_UNSPACED = 0x0e00;

/** Runs of letters and digits; in scripts without spaces, each character of Han and kana and every fourth of Thai. */
export function wordsIn(text: string): number {
  let count = 0;
  let inside = 0;
  let unspaced = 0;
  const { length } = text;
  for (let i = 0; i < length; i += 1) {
    const code = codeAt(text, i);
    const word = kindOf(code) & WORD;
    count += word & ~inside;
    inside = word;
    if (code < FIRST_UNSPACED) continue;
    if (code <= 0x0eff || (code >= 0x1000 && code <= 0x109f)) unspaced += 0.25;
    else if (code >= FIRST_DENSE && code <= 0x9fff) unspaced += 1;
  }
  return count + Math.floor(unspaced);
}

const isSegmented = (code: number): boolean =>
  code <= 0x0e7f ||
  (code >= FIRST_DENSE && code <= 0x30ff) ||
  (code >= 0x3400 && code <= 0x9fff) ||
  (code >= 0xac00 && code <= 0xd7af);

/** Words as people count them: "don't" and "state-of-the-art" are one word; scripts without spaces are segmented by their rules. */
export function countWords(text: string, language: string | null): number {
  let count = 0;
  let inside = 0;
  const { length } = text;
  for (let i = 0; i < length; i += 1) {
    const code = codeAt(text, i);
    if (code >= FIRST_UNSPACED && isSegmented(code)) return countSegments(text, language);
    const kind = kindOf(code);
    const word = kind & WORD;
    count += word & ~inside;
    const isJoined = kind === JOINER && inside === 1 && i + 1 < length;
    inside = isJoined ? kindOf(codeAt(text, i + 1)) & WORD : word;
  }
  return count;
}

function countSegments(text: string, language: string | null): number {
  let count = 0;
  const segmenter = new Intl.Segmenter(language ?? undefined, { granularity: "word" });
  for (const { isWordLike } of segmenter.segment(text)) if (isWordLike) count += 1;
  return count;
}

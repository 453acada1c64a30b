/** Lengths of texts that can be compared across scripts: `min_text_chars` means characters of an alphabet. */
import { codeAt } from "./code-at.ts";

/** A translation has about three times as many letters as the Chinese text has characters, and twice as many as a Korean one. */
const IDEOGRAPH_EXTRA = 2;
const SYLLABLE_EXTRA = 1;
/** No character below this is Han, kana or Hangul. */
export const FIRST_DENSE = 0x3040;

/** Characters that a UTF-16 unit counts beyond one: kana and Hangul are syllables, Han characters are words. */
export function extraChars(unit: number): number {
  if (unit < FIRST_DENSE) return 0;
  if (unit <= 0x30ff || (unit >= 0xac00 && unit <= 0xd7af)) return SYLLABLE_EXTRA;
  // The first halves of the pairs of planes 2 and 3.
  const rare = unit >= 0xd840 && unit <= 0xd8bf;
  return (unit >= 0x3400 && unit <= 0x9fff) || (unit >= 0xf900 && unit <= 0xfaff) || rare
    ? IDEOGRAPH_EXTRA
    : 0;
}

/** A longer text is first asked for such characters by a pattern: of texts that V8 keeps in one byte a character it looks at none. */
const SHORT_CHARS = 64;
const HAS_DENSE = new RegExp(`[${String.fromCharCode(FIRST_DENSE)}-\\uffff]`);

/** How many characters of an alphabet say as much as this text. */
export function comparableChars(text: string): number {
  const { length } = text;
  if (length > SHORT_CHARS && !HAS_DENSE.test(text)) return length;
  let chars = length;
  for (let i = 0; i < length; i += 1) {
    const unit = codeAt(text, i);
    if (unit >= FIRST_DENSE) chars += extraChars(unit);
  }
  return chars;
}

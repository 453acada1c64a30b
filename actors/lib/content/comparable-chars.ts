/** Lengths of texts that can be compared across scripts: `min_text_chars` means characters of an alphabet. */

/** Han. */
const IDEOGRAPH = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{323af}]/gu;
/** Kana and Hangul: a character is a syllable. */
const SYLLABLE = /[\u3040-\u30ff\uac00-\ud7af]/g;
/** A translation has about three times as many letters as the Chinese text has characters, and twice as many as a Korean one. */
const IDEOGRAPH_CHARS = 3;
const SYLLABLE_CHARS = 2;

/** How many characters of an alphabet say as much as this text. */
export function comparableChars(text: string): number {
  const of = (pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  return text.length + (IDEOGRAPH_CHARS - 1) * of(IDEOGRAPH) + (SYLLABLE_CHARS - 1) * of(SYLLABLE);
}

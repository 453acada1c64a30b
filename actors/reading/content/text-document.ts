/** Keeps any text fit to be stored and sent: a limit, whole characters, no NUL. */

/** As of a PDF: four times the longest book one would want to read in one answer. */
export const MAX_TEXT_CHARS = 5_000_000;

/** A character of Hebrew, Arabic or a neighbour of theirs, also as a presentation form. */
export const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** NUL (which PostgreSQL and C take for an end) and halves of a surrogate pair become U+FFFD. */
export function soundText(text: string): string {
  return text.includes("\u0000") ? text.replaceAll("\u0000", "\uFFFD").toWellFormed() : text.toWellFormed();
}

/** The first so many UTF-16 units, never half a pair. */
export function cutText(text: string, chars_most: number): { text: string; truncated: boolean } {
  if (text.length <= chars_most) return { text, truncated: false };
  const half = (text.charCodeAt(chars_most - 1) & 0xfc00) === 0xd800;
  return { text: text.slice(0, half ? chars_most - 1 : chars_most), truncated: true };
}

/**
 * Documents whose text is the document: JSON, XML and plain text, decoded and otherwise as they are. Nothing is
 * parsed, so broken JSON is still its text. Also what keeps any text fit to be stored and sent.
 */
import type { ContentKind } from "../../../schemas/fetch.ts";
import { charsetOf } from "./charset.ts";
import { decodeText } from "./decode-text.ts";

/** As of a PDF: four times the longest book one would want to read in one answer. */
export const MAX_TEXT_CHARS = 5_000_000;

export interface Plain {
  /** WHATWG name. */
  readonly charset: string;
  readonly text: string;
  readonly truncated: boolean;
}

export function readPlain(
  bytes: Uint8Array,
  content_type: string | null,
  kind: ContentKind & ("json" | "xml" | "text"),
  chars_most: number = MAX_TEXT_CHARS,
): Plain {
  const charset = charsetOf({ bytes, content_type, kind }) ?? "UTF-8";
  // No encoding spends more than four bytes on a UTF-16 unit, so the rest need not be decoded to be cut.
  const text = soundText(decodeText(bytes.subarray(0, chars_most * 4 + 4), charset));
  const cut = cutText(text, chars_most);
  return { charset, text: cut.text, truncated: cut.truncated || bytes.length > chars_most * 4 + 4 };
}

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

/**
 * Documents whose text is the document: JSON, XML and plain text, decoded and otherwise as they are. Nothing is
 * parsed, so broken JSON is still its text.
 */
import type { ContentKind } from "../../../schemas/fetch.ts";
import { charsetOf } from "./charset.ts";
import { decodeText } from "./decode-text.ts";
import { cutText, MAX_TEXT_CHARS, soundText } from "./text-document.ts";

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

/**
 * The text of bytes whose encoding is known (charset.ts): the same text from the same bytes, anywhere and at any time.
 * A gateway loads this file without the detection of encodings.
 *
 * Not Node's TextDecoder: on 22.23.3 it gets half of valid EUC-KR wrong (8,824 of 17,048 pairs), a quarter of
 * Big5, some of six single-byte encodings, and does not know two (samples in test/lib/charset.test.ts).
 */
import { labelToName, TextDecoder } from "@exodus/bytes/encoding.js";

/** The text without its byte order mark; invalid bytes become U+FFFD; an unknown encoding is read as UTF-8. */
export function decodeText(bytes: Uint8Array, charset: string): string {
  return new TextDecoder(readable(charset) ?? "UTF-8").decode(bytes);
}

/**
 * An encoding that may be used for a label, or null. UTF-7 is no label of the standard; `replacement` stands for
 * encodings that smuggle markup, and would turn the page into one character.
 */
export function readable(label: string | null | undefined): string | null {
  const name = label ? labelToName(label) : null;
  if (name === "replacement") return null;
  return name === "x-user-defined" ? "windows-1252" : name;
}

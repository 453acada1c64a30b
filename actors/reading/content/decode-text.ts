/**
 * The text of bytes whose encoding is known (charset.ts): the same text from the same bytes, anywhere and at any time.
 * A gateway loads this file without the detection of encodings.
 *
 * Not Node's TextDecoder: on 22.23.3 it gets half of valid EUC-KR wrong (8,824 of 17,048 pairs), a quarter of
 * Big5, some of six single-byte encodings, and does not know two (samples in test/actors/reading/content/charset.test.ts).
 */
import { labelToName, TextDecoder } from "@exodus/bytes/encoding.js";

/** Chinese in seven bits (RFC 1843). It is no encoding of the standard, so it has a decoder here. */
export const HZ = "HZ-GB-2312";

/** The text without its byte order mark; invalid bytes become U+FFFD; an unknown encoding is read as UTF-8. */
export function decodeText(bytes: Uint8Array, charset: string): string {
  if (charset === HZ) return new TextDecoder("GBK").decode(gbkOfHz(bytes));
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

const [TILDE, OPEN, CLOSE, LINE_FEED] = [0x7e, 0x7b, 0x7d, 0x0a] as const;

/** `~{` begins pairs of GB 2312 without their high bits, `~}` or the end of the line ends them; `~~` is a tilde. */
function gbkOfHz(bytes: Uint8Array): Uint8Array {
  const gbk = new Uint8Array(bytes.length);
  let size = 0;
  let in_pairs = false;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i]!;
    const next = bytes[i + 1];
    if (byte === LINE_FEED) in_pairs = false;
    if (byte === TILDE && next === (in_pairs ? CLOSE : OPEN)) {
      in_pairs = !in_pairs;
      i += 1;
    } else if (byte === TILDE && !in_pairs && (next === TILDE || next === LINE_FEED)) {
      if (next === TILDE) gbk[size++] = TILDE;
      i += 1;
    } else if (in_pairs && byte > 0x20 && byte < TILDE && next !== undefined && next > 0x20) {
      gbk[size++] = byte | 0x80;
      gbk[size++] = next | 0x80;
      i += 1;
    } else gbk[size++] = byte;
  }
  return gbk.subarray(0, size);
}

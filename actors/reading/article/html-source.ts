/**
 * HTML as its tokens are cut from it (tokens.ts). Markup is ASCII, so the tags of a page in UTF-8 are found in its bytes, and only texts and
 * values with other characters are decoded. Nine of ten pages have some: as one decoded string they would have two bytes for each
 * character, and so would every text that is cut out of it.
 */
import { decodeText } from "../content/decode-text.ts";

export interface HtmlSource {
  /** It has a unit for each byte of UTF-8, or for each UTF-16 unit; those below 128 are ASCII. */
  readonly units: string;
  /** The text between two places in `units`, which do not cut a character; at most its first `chars_max` UTF-16 units. */
  readonly slice: (start: number, stop: number, chars_max?: number) => string;
}

/** Units of a source that make at most one UTF-16 unit of text. */
export const UNITS_A_CHAR_MAX = 3;

const NOT_ASCII = /[\u0080-\u00ff]/;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

export const htmlText = (html: string): HtmlSource => ({
  units: html,
  slice: (start, stop, chars_max = Infinity) => html.slice(start, Math.min(stop, start + chars_max)),
});

/** Its texts are those of the decoded page (content/decode-text.ts): without a byte order mark, with U+FFFD for invalid bytes. */
export function htmlOf(bytes: Uint8Array, charset: string): HtmlSource {
  return charset === "UTF-8" ? utf8Html(bytes) : htmlText(decodeText(bytes, charset));
}

function utf8Html(bytes: Uint8Array): HtmlSource {
  const isMarked = BYTE_ORDER_MARK.every((byte, i) => bytes[i] === byte);
  const page = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const content = isMarked ? page.subarray(BYTE_ORDER_MARK.length) : page;
  const units = content.toString("latin1");
  return {
    units,
    slice(start, stop, chars_max = Infinity) {
      const near = units.slice(start, Math.min(stop, start + chars_max));
      if (!NOT_ASCII.test(near)) return near;
      // A character more, because the last may be cut.
      const end = Math.min(stop, start + UNITS_A_CHAR_MAX * (chars_max + 1));
      return content.toString("utf8", start, end).slice(0, chars_max);
    },
  };
}

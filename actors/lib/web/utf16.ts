/** UTF-16 without a byte order mark, by its zero bytes. */

const LOOKED_AT_BYTES = 4_096;
/** Markup, spaces and digits are one character in ten of any page or file, and each has a zero byte. */
const LEAST_SHARE = 0.1;
/** In binary files zeros stand on both sides of a pair. */
const OTHER_SIDE_SHARE = 0.05;

/** The byte order of text whose characters below U+0100 are two bytes wide, or null: it is none. */
export function utf16Of(bytes: Uint8Array): "UTF-16LE" | "UTF-16BE" | null {
  const pairs = Math.min(bytes.length, LOOKED_AT_BYTES) >> 1;
  const zeros: [first: number, second: number] = [0, 0];
  for (let i = 0; i < pairs; i += 1) {
    if (bytes[2 * i] === 0) zeros[0] += 1;
    if (bytes[2 * i + 1] === 0) zeros[1] += 1;
  }
  const most = Math.max(...zeros);
  if (most === 0 || most < LEAST_SHARE * pairs || Math.min(...zeros) > OTHER_SIDE_SHARE * most) return null;
  return zeros[1] === most ? "UTF-16LE" : "UTF-16BE";
}

/** Names requests: `req_` and the 26 characters of a ULID, the time of day first, then 80 bits of chance. */
import type { Random } from "../cluster/ports/random.ts";

/** Crockford's base 32: no I, L, O or U. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Ten bits as two digits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => DIGITS[bits >> 5]! + DIGITS[bits & 31]!);
/** Random promises 32 good bits at most: 30, 30 and 20 of them. */
const VALUES_30 = 2 ** 30;
const VALUES_20 = 2 ** 20;
export const REQUEST_ID_CHARS = 30;

export function requestIds({ random }: { random: Random }): (now_ms: number) => string {
  let at_ms = -1;
  let front = "";
  const draw = (values: number): number => Math.floor(random.next() * values);
  const six = (bits: number): string =>
    PAIRS[bits >> 20]! + PAIRS[(bits >> 10) & 1023]! + PAIRS[bits & 1023]!;
  const four = (bits: number): string => PAIRS[bits >> 10]! + PAIRS[bits & 1023]!;
  return (now_ms) => {
    if (now_ms !== at_ms) {
      at_ms = now_ms;
      front = `req_${timeDigits(now_ms)}`;
    }
    return front + six(draw(VALUES_30)) + six(draw(VALUES_30)) + four(draw(VALUES_20));
  };
}

/** 48 bits of milliseconds in ten digits, the first of them never above 7. */
function timeDigits(now_ms: number): string {
  let text = "";
  for (let left = now_ms, pair = 0; pair < 5; pair++) {
    text = PAIRS[left % 1024]! + text;
    left = Math.floor(left / 1024);
  }
  return text;
}

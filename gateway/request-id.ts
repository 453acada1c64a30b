/** Names requests: `req_` and the 26 characters of a ULID, the time of day first, then 80 bits of chance. */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Random } from "../cluster/ports/random.ts";

/** Crockford's base 32: no I, L, O or U. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
export const REQUEST_ID_CHARS = 30;

export function ulids({ clock, random }: { clock: Clock; random: Random }): () => string {
  let at_ms = -1;
  let time = "";
  return () => {
    const now_ms = clock.now();
    if (now_ms !== at_ms) {
      at_ms = now_ms;
      time = base32(now_ms, 10);
    }
    let id = time;
    // Four draws of 20 bits: Random promises no more than 32 good ones.
    for (let draw = 0; draw < 4; draw++) id += base32(Math.floor(random.next() * 2 ** 20), 4);
    return id;
  };
}

function base32(value: number, digits: number): string {
  let text = "";
  for (let left = value, digit = 0; digit < digits; digit++) {
    text = DIGITS[left % 32]! + text;
    left = Math.floor(left / 32);
  }
  return text;
}

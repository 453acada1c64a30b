import { randomFillSync } from "node:crypto";
import type { Random } from "../../ports/random.ts";

/** The system's own chance, drawn a page at a time because each draw costs a call into OpenSSL. */
export function systemRandom(): Random {
  const drawn = new Uint32Array(1_024);
  let next = drawn.length;
  return {
    next() {
      if (next === drawn.length) {
        randomFillSync(drawn);
        next = 0;
      }
      return drawn[next++]! / 2 ** 32;
    },
  };
}

import { randomFillSync } from "node:crypto";
import type { Random } from "../../ports/random.ts";

/** The system's random numbers, 1,024 at a time because each call into OpenSSL is expensive. */
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

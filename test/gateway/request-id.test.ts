import fc from "fast-check";
import { expect, test } from "vitest";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { REQUEST_ID_CHARS, requestIds } from "../../gateway/request-id.ts";

const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

test("a request id contains its time, sorts by it, and is unique within a millisecond", () => {
  fc.assert(
    fc.property(fc.nat(2 ** 48 - 2), fc.nat(), (now_ms, seed) => {
      const next = requestIds({ random: seededRandom(seed) });
      const [first, twin, later] = [next(now_ms), next(now_ms), next(now_ms + 1)] as const;
      expect(first).toMatch(/^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
      expect(first).toHaveLength(REQUEST_ID_CHARS);
      const time = first.slice(4, 14);
      const decoded = Array.from(time).reduce((sum, digit) => sum * 32 + DIGITS.indexOf(digit), 0);
      expect(decoded).toBe(now_ms);
      expect(twin.startsWith(`req_${time}`) && twin !== first).toBe(true);
      expect(later > first && later > twin).toBe(true);
    }),
  );
});

test("every digit behind the time is drawn, from all thirty-two", () => {
  const next = requestIds({ random: seededRandom(1) });
  const seen = Array.from({ length: 16 }, () => new Set<string>());
  for (let n = 0; n < 2_000; n++)
    for (const [at, digit] of Array.from(next(0).slice(14)).entries()) seen[at]!.add(digit);
  expect(seen.map(({ size }) => size)).toEqual(seen.map(() => 32));
});

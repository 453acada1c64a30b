/** Packed lists of numbers: what is appended in parts is read as a whole. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { packAfter, unpack } from "../../../../actors/sources/companies/packed-list.ts";

test("a list that is appended to in parts is the numbers in their order", () => {
  const ascending = fc
    .uniqueArray(fc.integer({ min: 1, max: 2 ** 40 }), { maxLength: 200 })
    .map((numbers) => numbers.toSorted((a, b) => a - b));
  fc.assert(
    fc.property(ascending, fc.nat({ max: 200 }), (numbers, cut) => {
      const [head, tail] = [numbers.slice(0, cut), numbers.slice(cut)];
      const bytes = Buffer.concat([packAfter(0, head), packAfter(head.at(-1) ?? 0, tail)]);
      expect(unpack(bytes)).toEqual(numbers);
    }),
  );
});

test("neighbours take a byte each", () => {
  expect(packAfter(1_000_000, [1_000_001, 1_000_128, 1_000_300])).toHaveLength(4);
  expect(unpack(new Uint8Array())).toEqual([]);
});

/** The decision trees that weigh the lines of a page. */
import { expect, test } from "vitest";
import { readTrees, sumTrees, treesOfPage } from "../../../../actors/reading/article/score.ts";

const TREES = readTrees([
  "0<2 1<5 -10 20 2<1 300 -400",
  "1<3 7 8",
  "1<4 2<2 1<1 50 60 70 1<9 2<3 80 90 100",
  "11",
]);

/** Rows whose columns 1 and, on request, 2 are the same. */
const rowsOf = (one: number, two: readonly number[]): Float32Array =>
  Float32Array.from([0, 1, 2, 3, 4].flatMap((first, i) => [first, one, two[i % two.length]!]));

test("the trees of a page reach the leaves that the whole trees reach", () => {
  for (const one of [0, 1, 2.5, 3, 4, 6, 9, 11])
    for (const two of [0, 1, 2, 3.5]) {
      const rows = rowsOf(one, [two]);
      for (const shared of [
        { from: 1, to: 3 },
        { from: 1, to: 2 },
        { from: 2, to: 3 },
        { from: 0, to: 0 },
      ]) {
        const own = treesOfPage(TREES, rows, shared);
        for (let start = 0; start < rows.length; start += 3)
          expect(sumTrees(own, rows, start)).toBe(sumTrees(TREES, rows, start));
      }
    }
});

test("a comparison of a shared column is no longer made", () => {
  const rows = rowsOf(6, [0, 1, 2]);
  const own = treesOfPage(TREES, rows, { from: 1, to: 2 });
  const compared = own.column.filter((column) => column >= 0);
  expect(compared).not.toContain(1);
  expect(compared.length).toBeGreaterThan(0);
});

/** The parts of a frontier: which addresses are known, which is next, which come first. */
import { describe, expect, test } from "vitest";
import { priorityOf } from "../../actors/crawl/sites/address/priority.ts";
import { addresses } from "../../actors/crawl/sites/frontier/addresses.ts";
import { waiting } from "../../actors/crawl/sites/frontier/waiting.ts";

describe("known addresses", () => {
  test("are found by their ordinals, others are not, and a crawl's digests are its own", () => {
    const known = addresses("job");
    const count = 50_000;
    for (let n = 0; n < count; n++) expect(known.add(`http://a.example/${n}`, n % 3)).toBe(n);
    for (let n = 0; n < count; n += 7) {
      expect(known.find(`http://a.example/${n}`)).toBe(n);
      expect(known.statusOf(n)).toBe(n % 3);
      expect(known.find(`http://a.example/x${n}`)).toBe(-1);
    }
    known.setStatus(40_000, 2);
    expect([known.statusOf(39_999), known.statusOf(40_000)]).toEqual([0, 2]);
    expect(known.count()).toBe(count);
  });

  // The table has just doubled.
  test.each([104_900, 209_800, 419_500])(
    "take at most 24 bytes each, of %i with those that wait",
    (count) => {
      const known = addresses("job");
      const next = waiting();
      for (let n = 0; n < count; n++) next.add(known.add(`${n}`, 0), n % 5, n % 8);
      expect((known.bytes() + next.bytes()) / count).toBeLessThanOrEqual(24);
    },
  );
});

test("the lowest depth is next, then the priority, then what was found first", () => {
  const next = waiting();
  const added = [
    [0, 1, 3],
    [1, 0, 7],
    [2, 1, 0],
    [3, 0, 2],
    [4, 1, 3],
    [5, 0, 2],
  ] as const;
  const take = (most_depth = Infinity): number | null =>
    next.take(most_depth, (n) => n !== 8)?.ordinal ?? null;
  for (const [ordinal, depth, priority] of added) next.add(ordinal, depth, priority);
  expect(next.count()).toBe(6);
  expect([take(), take()]).toEqual([3, 5]);
  next.add(6, 0, 0);
  expect([take(0), take(0), take(0)]).toEqual([6, 1, null]);
  expect([1, 2, 3, 4].map(() => take())).toEqual([2, 0, 4, null]);
  next.add(8, 0, 0);
  next.add(7, 0, 0);
  next.drop();
  expect(next.count()).toBe(1);
  expect([take(), take(), next.count()]).toEqual([7, null, 0]);
});

test.each([
  ["/", "/a/b"],
  ["/news/the-lighthouse-is-lit", "/news/3"],
  ["/news/3", "/news/3?view=1"],
  ["/a/b?x=1", "/a/b?x=1&y=2"],
  ["/news/3", "/tag/3"],
  ["/about", "/search?q=1"],
])("%s comes before %s", (first, second) => {
  const of = (path: string): number => priorityOf(new URL(path, "http://a.example"));
  expect(of(first)).toBeLessThan(of(second));
});

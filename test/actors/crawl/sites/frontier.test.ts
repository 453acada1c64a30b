/** The parts of a frontier: which addresses are known, which is next, which come first. */
import { describe, expect, test } from "vitest";
import { priorityOf } from "../../../../actors/crawl/sites/address/priority.ts";
import { addresses } from "../../../../actors/crawl/sites/frontier/addresses.ts";
import { FRONTIER_ROWS } from "../../../../actors/crawl/sites/frontier/collections.ts";
import { keptRows } from "../../../../actors/crawl/sites/frontier/load.ts";
import { sitemapCount } from "../../../../actors/crawl/sites/frontier/sitemap-count.ts";
import { partKey } from "../../../../actors/crawl/sites/frontier/record.ts";
import { waiting } from "../../../../actors/crawl/sites/frontier/waiting.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";

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

describe("rows of full chunks", () => {
  const plain = { url: "https://a.example/0", depth: 1, found_on: null, priority: 0 };
  const refused = { ...plain, url: "https://a.example/1", depth: 3, reason: "nofollow" as const };

  test("are read once, but those that had a reason again: it may have been taken back", async () => {
    const documents = memoryDocuments();
    let reads = 0;
    const rows = keptRows({
      getMany(...words) {
        reads++;
        return documents.getMany(...words);
      },
    });
    const key = partKey("job", 0);
    await FRONTIER_ROWS.put(documents, key, { rows: [plain, refused] }, 0);
    expect(await rows.of("job", [0, 1])).toEqual(
      new Map([
        [0, plain],
        [1, refused],
      ]),
    );
    expect(await rows.of("job", [0])).toEqual(new Map([[0, plain]]));
    expect(reads).toBe(1);
    const { reason: _, ...revoked } = { ...refused, depth: 2 };
    await FRONTIER_ROWS.update(documents, key, () => ({ value: { rows: [plain, revoked] } }));
    expect(await rows.of("job", [0, 1])).toEqual(
      new Map([
        [0, plain],
        [1, revoked],
      ]),
    );
    expect(reads).toBe(2);
  });

  test("that are not stored are told, and those of another crawl are its own", async () => {
    const documents = memoryDocuments();
    const rows = keptRows(documents);
    await FRONTIER_ROWS.put(documents, partKey("job", 0), { rows: [plain] }, 0);
    await rows.of("job", [0]);
    await expect(rows.of("job", [1])).rejects.toThrow('Cannot read address 1 of crawl "job"');
    await expect(rows.of("other", [0])).rejects.toThrow('Cannot read address 0 of crawl "other"');
  });
});

describe("sitemaps of a crawl", () => {
  const taken = (seeds: readonly string[], limit: number, hosts: readonly string[]): number => {
    const count = sitemapCount(seeds, limit);
    let admitted = 0;
    for (let n = 0; n < limit; n++)
      for (const host of hosts) {
        const url = `https://${host}/${n}.xml`;
        if (!count.hasRoomFor(new URL(url))) continue;
        count.add({ url, sitemap: true });
        admitted++;
      }
    return admitted;
  };

  test.each([
    ["half of the limit", ["https://a.test/"], 100, ["a.test"], 50],
    ["for each host its part", ["https://a.test/", "https://b.test/"], 100, ["a.test"], 25],
    [
      "robots.txt and one file where the part is less",
      ["https://a.test/", "https://b.test/"],
      4,
      ["a.test"],
      2,
    ],
    [
      "no more in all, however many hosts there are",
      ["https://a.test/"],
      10,
      ["a.test", "b.test", "c.test"],
      5,
    ],
    ["ten thousand of one host", ["https://a.test/"], 30_000, ["a.test"], 10_000],
  ] as const)("are %s", (_, seeds, limit, hosts, most) => expect(taken(seeds, limit, hosts)).toBe(most));

  test("that are not read take no room", () => {
    const count = sitemapCount(["https://a.test/"], 2);
    count.add({ url: "https://a.test/1.xml", sitemap: true, reason: "too_deep" });
    expect(count.hasRoomFor(new URL("https://a.test/2.xml"))).toBe(true);
  });
});

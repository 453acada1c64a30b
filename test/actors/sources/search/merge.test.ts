/** Merges many engines' lists into one result list. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RawResult } from "../../../../actors/sources/search/engine.ts";
import { merge, fallbackReason } from "../../../../actors/sources/search/merge.ts";
import { MAX_ENVELOPE_BYTES } from "../../../../cluster/ports/bus.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const ANY_TIME = { freshness: null, now_ms: NOW_MS };

const raw = (url: string, more: Partial<RawResult> = {}): RawResult => ({
  url,
  title: `Title of ${url}`,
  snippets: [],
  engines: ["e"],
  published: null,
  ...more,
});

describe("addresses that are one result", () => {
  test.each([
    ["http://example.org/a", "HTTP://EXAMPLE.org:80/a", true],
    ["http://example.org/a", "http://example.org/a#part", true],
    ["http://example.org/%7Ea", "http://example.org/~a", true],
    ["http://example.org/a?", "http://example.org/a", true],
    ["http://example.org/a", "http://example.org./a", true],
    ["http://example.org/a", "https://example.org/a", false],
    ["http://example.org/a", "http://example.org/A", false],
    ["http://example.org/a?q=1", "http://example.org/a?q=2", false],
    ["http://example.org/a?q=1", "http://example.org/a?utm_source=x&q=1&utm_medium=y", true],
    ["http://example.org/a", "http://example.org/a?gclid=Cj0K&fbclid=IwAR", true],
    ["http://example.org/a", "http://example.org/a?utm=1", false],
    ["http://example.org/a?q=1&gclid=1", "http://example.org/a?q=2&gclid=1", false],
  ])("%s and %s: %s", (a, b, one) => {
    expect(merge([[raw(a)], [raw(b)]], ANY_TIME)).toHaveLength(one ? 1 : 2);
  });
});

describe("what a merged result holds", () => {
  test("every distinct snippet and engine, the first title, the first date", () => {
    const lists = [
      [
        raw("http://a.example/", {
          title: " One\n title ",
          snippets: ["First  words."],
          engines: ["x", "y"],
        }),
      ],
      [
        raw("http://a.example/#b", {
          title: "Another",
          snippets: ["first words.", "Second words."],
          engines: ["y", "z"],
          published: "2026-05-01T10:00:00",
        }),
      ],
    ];
    expect(merge(lists, ANY_TIME)).toEqual([
      {
        url: "http://a.example/",
        title: "One title",
        snippets: ["First words.", "Second words."],
        engines: ["x", "y", "z"],
        published_at: "2026-05-01T10:00:00",
        rank: 1,
      },
    ]);
  });

  test.each([
    ["2026-10-29 17:45:00+0000", "2026-10-29T17:45:00Z"],
    ["2026-10-29 17:45:00+0200", "2026-10-29T15:45:00Z"],
    ["2026-10-29T17:45:00", "2026-10-29T17:45:00"],
    ["2026-10-29", "2026-10-29"],
    ["Oct 29, 2026", "2026-10-29"],
    ["2 hour(s), 5 minute(s) ago", null],
    ["yesterday", null],
    ["", null],
    ["1", null],
  ])("published %j is %j", (published, published_at) => {
    expect(merge([[raw("http://a.example/", { published })]], ANY_TIME)[0]).toMatchObject({ published_at });
  });

  test.each([
    ["no address at all", { url: "javascript:alert(1)" }],
    ["an address of another scheme", { url: "ftp://example.org/" }],
    ["half an address", { url: "/search" }],
    ["neither title nor snippet", { title: " ", snippets: ["\n"] }],
  ])("%s is no result", (_, more) => {
    expect(merge([[raw("http://a.example/", more)]], ANY_TIME)).toEqual([]);
  });

  test("a title may be missing when there is a snippet", () => {
    expect(merge([[raw("http://a.example/", { title: null, snippets: ["words"] })]], ANY_TIME)).toMatchObject(
      [{ title: null, snippets: ["words"] }],
    );
  });

  test("long texts are cut, with an ellipsis", () => {
    const [result] = merge(
      [[raw("http://a.example/", { title: "t".repeat(9_999), snippets: ["s".repeat(9_999)] })]],
      ANY_TIME,
    );
    expect(result!.title).toMatch(/^t{499}…$/);
    expect(result!.snippets[0]).toMatch(/^s{999}…$/);
  });
});

describe("the order", () => {
  test("of one list is that list's", () => {
    const list = ["a", "b", "c", "d"].map((name) => raw(`http://${name}.example/`));
    expect(merge([list], ANY_TIME).map(({ url, rank }) => `${rank} ${url}`)).toEqual([
      "1 http://a.example/",
      "2 http://b.example/",
      "3 http://c.example/",
      "4 http://d.example/",
    ]);
  });

  test("puts what two lists agree on before what one of them has first", () => {
    const list = (...names: string[]) => names.map((name) => raw(`http://${name}.example/`));
    const merged = merge([list("a", "b", "c"), list("d", "c", "e")], ANY_TIME);
    expect(merged[0]!.url).toBe("http://c.example/");
  });

  test("counts the same page twice in one list once", () => {
    const list = [raw("http://a.example/"), raw("http://b.example/"), raw("http://b.example/#2")];
    expect(merge([list], ANY_TIME).map(({ url }) => url)).toEqual(["http://a.example/", "http://b.example/"]);
  });
});

describe("a recent period", () => {
  test.each([
    ["day", "2026-11-21T01:00:00Z", true],
    // A date alone may be of the whole day before.
    ["day", "2026-11-20", true],
    ["day", "2026-11-18", false],
    ["week", "2026-11-15", true],
    ["week", "2026-11-10", false],
    ["month", "2026-10-22", true],
    ["month", "2026-10-01", false],
    ["year", "2025-11-22", true],
    ["year", "2025-10-01", false],
    ["day", null, true],
  ] as const)("of a %s: %s stays %s", (freshness, published, stays) => {
    const merged = merge([[raw("http://a.example/", { published })]], { freshness, now_ms: NOW_MS });
    expect(merged).toHaveLength(stays ? 1 : 0);
  });
});

test("whatever engines say: ranks run from 1, addresses are web addresses, and the list fits into an envelope", () => {
  const anything = fc.record({
    url: fc.oneof(fc.webUrl(), fc.string(), fc.constantFrom("http://a.example/", "http://a.example/?q")),
    title: fc.option(fc.string({ maxLength: 2_000, unit: "grapheme" })),
    snippets: fc.array(fc.string({ maxLength: 3_000, unit: "grapheme" }), { maxLength: 4 }),
    engines: fc.array(fc.string({ maxLength: 200 }), { maxLength: 4 }),
    published: fc.option(fc.string({ maxLength: 40 })),
  });
  fc.assert(
    fc.property(fc.array(fc.array(anything, { maxLength: 30 }), { maxLength: 3 }), (lists) => {
      const merged = merge(lists, ANY_TIME);
      expect(merged.map(({ rank }) => rank)).toEqual(merged.map((_, at) => at + 1));
      for (const { url } of merged) expect(url).toMatch(/^https?:\/\//);
      expect(new Set(merged.map(({ url }) => url)).size).toBe(merged.length);
    }),
    { numRuns: 200 },
  );
  const heavy = Array.from({ length: 300 }, (_, at) =>
    raw(`http://a.example/${at}`, {
      snippets: Array.from({ length: 20 }, (__, n) => `${n}${"ü".repeat(999)}`),
    }),
  );
  const merged = merge([heavy], ANY_TIME);
  expect(merged.length).toBeGreaterThan(3);
  expect(Buffer.byteLength(JSON.stringify(merged))).toBeLessThan(MAX_ENVELOPE_BYTES);
});

describe("whether an answer is good enough", () => {
  const engine = (name: string, captcha: boolean) => ({ engine: name, captcha });
  test.each([
    [[], 3, null],
    [[], 2, "too_few_results"],
    [[], 0, "too_few_results"],
    [[engine("a", false)], 0, "unresponsive_engines"],
    [[engine("a", false)], 30, "unresponsive_engines"],
    [[engine("a", true)], 30, "captcha_engines"],
    [[engine("a", false), engine("b", true)], 1, "captcha_engines"],
  ])("engines that failed %j and %i results: %s", (unresponsive, usable, reason) => {
    expect(fallbackReason({ kind: "answered", results: [], unresponsive, billed: 0 }, usable)).toBe(reason);
  });
});

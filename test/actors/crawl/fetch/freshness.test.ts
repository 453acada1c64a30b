import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  asCachedPage,
  cacheKey,
  type CachedPage,
  freshness,
  mayReplace,
  ttlOf,
  variantOf,
} from "../../../../actors/crawl/fetch/freshness.ts";
import { EMPTY_RECORD, type FetchRequest, PAGE_OPTIONS, type PageRecord } from "../../../../schemas/fetch.ts";
import { DEFAULT_REQUEST as DEFAULTS } from "../../../harness/fetch-request.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 21);

const DEFAULT_REQUEST: FetchRequest = {
  ...DEFAULTS,
  fetch_id: "req_1",
  url: "https://example.org/",
  deadline_ms: NOW_MS + 150_000,
};
const RECORD: PageRecord = {
  ...EMPTY_RECORD,
  tier: "direct",
  status: 200,
  content_kind: "html",
  text: "long",
  text_chars: 4_000,
  bytes: 9_000,
  sha256: "0".repeat(64),
};
const MINUTE_H = 1 / 60;
const THIN = { text_chars: 9, tier: "browser" } as const;
const page = (
  age_h: number,
  record: Partial<PageRecord> = {},
  rest: Partial<CachedPage> = {},
): CachedPage => ({
  url: DEFAULT_REQUEST.url,
  record: { ...RECORD, ...record },
  tried: ["direct"],
  validated_ms: NOW_MS - age_h * HOUR_MS,
  ttl_ms: 24 * HOUR_MS,
  is_private: false,
  ...rest,
});

describe("whether a stored page answers (cache_ttl_s, tiers)", () => {
  test.each<[string, CachedPage | null, Partial<FetchRequest>, string]>([
    ["nothing stored is a miss", null, {}, "miss"],
    ["a page of 23 hours is a hit", page(23), {}, "hit"],
    ["a page of 25 hours is asked about", page(25, { etag: '"a"' }), {}, "stale"],
    ["a page of 25 hours without validators is a miss", page(25), {}, "miss"],
    ["a rendered page is not asked about", page(25, { etag: '"a"', tier: "browser" }), {}, "miss"],
    ["cache_ttl_s shortens", page(2), { cache_ttl_s: 3_600 }, "miss"],
    ["cache_ttl_s lengthens", page(25), { cache_ttl_s: 7 * 86_400 }, "hit"],
    ["cache_ttl_s 0 bypasses", page(0), { cache_ttl_s: 0 }, "miss"],
    ["the origin's shorter life counts", page(1, {}, { ttl_ms: HOUR_MS / 2 }), {}, "miss"],
    ["another route's page is not used", page(1, { tier: "archive" }), { tiers: ["direct"] }, "miss"],
    [
      "an archived page is not used without the archive",
      page(1, { tier: "archive" }),
      { allow_archive: false },
      "miss",
    ],
    ["a premium page is not used without premium", page(1, { tier: "proxy" }), { allow_paid: false }, "miss"],
    [
      "a rendered page is not used when nothing may render",
      page(1, { tier: "browser" }),
      { render: "never" },
      "miss",
    ],
    [
      "a thin page does not answer a request that would try the browser",
      page(1, { text_chars: 9 }),
      {},
      "miss",
    ],
    [
      "a thin page is used when the browser was tried",
      page(MINUTE_H, { text_chars: 9 }, { tried: ["direct", "browser"] }),
      {},
      "hit",
    ],
    ["a thin page is used for five minutes", page(5 * MINUTE_H, THIN), {}, "hit"],
    ["a thin page of six minutes is fetched again", page(6 * MINUTE_H, THIN), {}, "miss"],
    ["cache_ttl_s makes a thin page no older", page(6 * MINUTE_H, THIN), { cache_ttl_s: 86_400 }, "miss"],
    [
      "a thin page of six minutes is asked about where the origin can be",
      page(6 * MINUTE_H, { text_chars: 9, etag: '"a"' }),
      { render: "never" },
      "stale",
    ],
    [
      "a thin page answers a request without the browser",
      page(MINUTE_H, { text_chars: 9 }),
      { render: "never" },
      "hit",
    ],
    ["a thin page answers a request for less text", page(1, { text_chars: 9 }), { min_text_chars: 9 }, "hit"],
    [
      "a short text in Chinese is not thin",
      page(1, { text: "渡".repeat(200), text_chars: 200, tier: "browser" }),
      {},
      "hit",
    ],
    ["a short file is never thin", page(1, { text_chars: 0, content_kind: "pdf" }), {}, "hit"],
  ])("%s", (_, stored, overrides, kind) => {
    expect(freshness(stored, { ...DEFAULT_REQUEST, ...overrides }, NOW_MS).kind).toBe(kind);
  });

  test.each<[string, Partial<PageRecord>, Partial<FetchRequest>, string]>([
    ["a PDF that is not accepted", { content_kind: "pdf" }, { accept_pdf: false }, "pdf_not_accepted"],
    ["a page beyond max_bytes", { bytes: 9_000 }, { max_bytes: 8_999 }, "too_large"],
  ])(
    "refuses %s without asking the origin again, and hands out nothing of it",
    (_, record, overrides, error) => {
      const found = freshness(page(1, record), { ...DEFAULT_REQUEST, ...overrides }, NOW_MS);
      expect(found).toMatchObject({ kind: "hit", answer: { error, record: { sha256: null, text: "" } } });
    },
  );
});

describe("the cache key", () => {
  test.each<[string, Partial<FetchRequest>, boolean]>([
    ["render", { render: "always" }, true],
    ["user_agent", { user_agent: "x" }, true],
    ["accept_language", { accept_language: "de" }, true],
    ["country", { country: "CH" }, true],
    ["tiers", { tiers: ["direct"] }, false],
    ["max_bytes", { max_bytes: 1 }, false],
    ["the project", { project: "other" }, false],
  ])("changes with %s: %o", (_, overrides, changes) => {
    const same =
      cacheKey("https://example.org/", DEFAULT_REQUEST) ===
      cacheKey("https://example.org/", { ...DEFAULT_REQUEST, ...overrides });
    expect(same).toBe(!changes);
  });

  test("of a page without options is that of pages stored before", () => {
    expect(cacheKey("https://example.org/", DEFAULT_REQUEST)).toBe(
      "ee582d5cbb5bc1581083a274e0c8e7a22524da4fbf9345c02aaf3063eca5a8cb",
    );
  });

  const options = fc.uniqueArray(
    fc.record({
      name: fc.stringMatching(/^new_[a-z]{1,5}$/),
      default: fc.oneof(fc.boolean(), fc.jsonValue({ maxDepth: 2 })),
    }),
    { selector: ({ name }) => name, minLength: 1, maxLength: 4 },
  );

  test("stays as it is when there is a new option, given with its default or not at all", () => {
    fc.assert(
      fc.property(options, fc.infiniteStream(fc.boolean()), (added, isGiven) => {
        const given = added
          .filter(() => isGiven.next().value)
          .map(({ name, default: value }) => [name, value]);
        // Another object with the same value: options are read from JSON.
        const request = { ...DEFAULT_REQUEST, ...structuredClone(Object.fromEntries(given)) } as FetchRequest;
        expect(cacheKey("u", request, [...PAGE_OPTIONS, ...added])).toBe(cacheKey("u", DEFAULT_REQUEST));
      }),
    );
  });

  test("changes with a value of a new option that is not its default", () => {
    fc.assert(
      fc.property(options, fc.integer(), (added, value) => {
        fc.pre(added[0]!.default !== value && value !== 0);
        const request = { ...DEFAULT_REQUEST, [added[0]!.name]: value } as FetchRequest;
        expect(cacheKey("u", request, [...PAGE_OPTIONS, ...added])).not.toBe(cacheKey("u", DEFAULT_REQUEST));
      }),
    );
  });

  test("treats ch and CH alike", () => {
    expect(cacheKey("u", { ...DEFAULT_REQUEST, country: "ch" })).toBe(
      cacheKey("u", { ...DEFAULT_REQUEST, country: "CH" }),
    );
  });
});

test("requests that differ only in caller, deadline and limits have one variant", () => {
  const other = {
    ...DEFAULT_REQUEST,
    fetch_id: "req_2",
    project: "p",
    deadline_ms: 1,
    hard_deadline: true,
    lane: "batch",
  } as const;
  expect(variantOf(other)).toBe(variantOf(DEFAULT_REQUEST));
  const limits = { max_bytes: 5, max_pdf_bytes: 5, accept_pdf: false };
  expect(variantOf({ ...DEFAULT_REQUEST, ...limits })).toBe(variantOf(DEFAULT_REQUEST));
  expect(variantOf({ ...DEFAULT_REQUEST, render: "never" })).not.toBe(variantOf(DEFAULT_REQUEST));
});

test.each<[string, boolean, number | null, number | null]>([
  ["24 hours by itself", false, null, 24 * HOUR_MS],
  ["nothing after no-store", true, 600, null],
  ["the origin's hour", false, 3_600, HOUR_MS],
  ["five minutes at least", false, 0, 300_000],
  ["24 hours at most", false, 31_536_000, 24 * HOUR_MS],
])("a page lives %s", (_, no_store, max_age_s, ttl_ms) => {
  expect(ttlOf({ no_store, max_age_s })).toBe(ttl_ms);
});

describe("what replaces a stored page", () => {
  const thin = { ...RECORD, text_chars: 3 };
  const copy: PageRecord = { ...RECORD, tier: "archive" };
  test.each<[string, CachedPage | null, PageRecord, boolean]>([
    ["anything where nothing is", null, thin, true],
    ["anything over what is no longer fresh", page(30), thin, true],
    ["a good page over a fresh one", page(1), RECORD, true],
    ["no thin page over a fresh good one", page(1), thin, false],
    ["a thin page over a thin one", page(1, { text_chars: 3 }), thin, true],
    ["no archived copy over a fresh page", page(1), copy, false],
    ["an archived copy over an archived copy", page(1, { tier: "archive" }), copy, true],
    ["the page itself over a copy", page(1, { tier: "archive" }), RECORD, true],
  ])("%s", (_, old, fresh, replaces) => {
    expect(mayReplace(old, fresh, DEFAULT_REQUEST, NOW_MS)).toBe(replaces);
  });
});

test("an entry of another form is as good as none", () => {
  expect(asCachedPage({ ...page(1), record: { tier: "direct" } })).toBeNull();
  expect(asCachedPage(null)).toBeNull();
  expect(asCachedPage(page(1))).toEqual(page(1));
});

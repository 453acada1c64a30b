import { describe, expect, test } from "vitest";
import { KIND_RULES } from "../../../../actors/sources/filings/upstream/limits.ts";
import { type CachedDocument, digestOf, lookup } from "../../../../actors/sources/upstream/document-cache.ts";
import type { SourceKind } from "../../../../schemas/filing-source.ts";
import type { SourceAnswer } from "../../../../schemas/upstream.ts";

describe("a stored answer, with the filing system's rules", () => {
  const HOUR_MS = 3_600_000;
  const NOW = Date.UTC(2026, 0, 1);
  const got: SourceAnswer = {
    kind: "got",
    url: "u",
    final_url: "u",
    redirects: [],
    status: 200,
    headers: {},
    content_type: null,
    sha256: digestOf("x"),
    bytes: 1_000,
    retrieved_at: new Date(NOW).toISOString(),
    cached: false,
    revalidated: false,
    requests: 1,
  };
  const missing: SourceAnswer = { kind: "missing", url: "u", status: 404, requests: 0 };
  const cachedDocument = (answer: CachedDocument["answer"], age_ms: number): CachedDocument => ({
    answer,
    last_modified: null,
    validated_ms: NOW - age_ms,
  });

  test.each<[SourceKind, number, number | null, string]>([
    ["document", 364 * 24 * HOUR_MS, null, "hit"],
    ["document", 366 * 24 * HOUR_MS, null, "stale"],
    ["document", 10_000, 9, "stale"],
    ["document", 10_000, 11, "hit"],
    ["document", 0, 0, "miss"],
    ["index", 364 * 24 * HOUR_MS, null, "hit"],
    ["submissions", 11 * HOUR_MS, null, "hit"],
    ["submissions", 12 * HOUR_MS, null, "stale"],
    ["submissions", 13 * HOUR_MS, 14 * 3_600, "hit"],
    ["facts", 13 * HOUR_MS, null, "stale"],
    ["tickers", 13 * HOUR_MS, null, "stale"],
    ["search", HOUR_MS - 1, null, "hit"],
    ["search", HOUR_MS, null, "stale"],
    ["robots", 23 * HOUR_MS, null, "hit"],
  ])("a stored %s, %d ms old, is for cache_ttl_s %s a %s", (kind, age_ms, cache_ttl_s, expected) => {
    expect(
      lookup(cachedDocument(got, age_ms), KIND_RULES[kind], { cache_ttl_s, max_bytes: 5_000 }, NOW).kind,
    ).toBe(expected);
  });

  test.each<[SourceKind, number, number | null, string]>([
    ["document", 59_000, null, "hit"],
    ["document", 60_000, null, "miss"],
    ["document", 60_000, 3_600, "miss"],
    ["document", 10_000, 5, "miss"],
    ["document", 0, 0, "miss"],
    ["robots", 23 * HOUR_MS, null, "hit"],
  ])(
    "that there is no %s is believed after %d ms, for cache_ttl_s %s: %s",
    (kind, age_ms, cache_ttl_s, expected) => {
      expect(
        lookup(cachedDocument(missing, age_ms), KIND_RULES[kind], { cache_ttl_s, max_bytes: 5_000 }, NOW)
          .kind,
      ).toBe(expected);
    },
  );

  test("a stored document larger than the caller accepts is too_large", () => {
    const result = lookup(
      cachedDocument(got, 0),
      KIND_RULES.document,
      { cache_ttl_s: null, max_bytes: 999 },
      NOW,
    );
    expect(result).toMatchObject({ kind: "hit", answer: { error: "too_large" } });
  });
});

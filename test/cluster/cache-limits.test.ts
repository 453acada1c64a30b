import { expect, test } from "vitest";
import { cacheLimits, DEFAULT_CACHE_MB, heapBytes } from "../../cluster/cache-limits.ts";
import { CACHES } from "../../ops/caches.ts";
import { readConfig } from "../../ops/config.ts";

test("all caches together may hold what the limit says, and each has a part", () => {
  const parts = Object.values(cacheLimits(CACHES, 64));
  expect(parts.reduce((sum, part) => sum + part, 0)).toBe(64 * 2 ** 20);
  expect(Math.min(...parts)).toBeGreaterThanOrEqual(4 * 2 ** 20);
});

test("caches that are told nothing have what the setting says by default", () => {
  expect(readConfig({}).memory.cache_mb).toBe(DEFAULT_CACHE_MB);
});

test.each([
  ["of ASCII", "a".repeat(1_000), 1_000],
  ["with one quotation mark beyond it", `${"a".repeat(999)}’`, 2_000],
  ["in Chinese", "港".repeat(1_000), 2_000],
  ["without a character", "", 0],
])("a text %s takes as many bytes as V8 may need for it", (_, text, bytes) => {
  expect(heapBytes(text)).toBe(bytes);
});

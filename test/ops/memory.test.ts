import { expect, test } from "vitest";
import { defaultLimitBytes } from "../../ops/memory.ts";

const MB = 2 ** 20;

test.each([
  ["a small heap", 560, 16_384, 140],
  ["a small machine", 2_048, 1_024, 128],
  ["a large machine", 4_144, 24_576, 1_036],
  ["one that is too small for anything else", 64, 256, 64],
])("the default for bodies on %s", (_, heap_mb, machine_mb, limit_mb) => {
  expect(defaultLimitBytes(heap_mb * MB, machine_mb * MB)).toBe(limit_mb * MB);
});

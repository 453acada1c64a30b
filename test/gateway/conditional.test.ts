import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matches, readOf } from "../../gateway/conditional.ts";

interface Tagged {
  readonly id: string;
  readonly status: number;
}
interface IfNoneMatch extends Tagged {
  readonly value: string | null;
  readonly range?: string;
}
interface Range extends Tagged {
  readonly value: string;
  readonly if_range?: string;
  readonly content_range?: string;
}
interface Own {
  readonly tag: string;
  readonly length: number;
  readonly if_none_match: readonly IfNoneMatch[];
  readonly range: readonly Range[];
}
interface Shared {
  readonly etag: string;
  readonly cases: readonly (Tagged & { readonly if_none_match: string | null })[];
}

const read = (url: URL) => JSON.parse(readFileSync(url, "utf8"));
const own: Own = read(new URL("../fixtures/http/conditional.json", import.meta.url));
const SHARED = new URL("../../../shared/fixtures/gateway/conditional.json", import.meta.url);
const { tag, length } = own;
const fields = (pairs: Record<string, string | null | undefined>) =>
  new Map(Object.entries(pairs).filter((pair): pair is [string, string] => typeof pair[1] === "string"));

test.each(own.if_none_match)("If-None-Match: $id", ({ value, range, status }) => {
  expect(readOf(fields({ "if-none-match": value, range }), { tag, length }).status).toBe(status);
});

test.each(own.range)("Range: $id", ({ value, if_range, status, content_range }) => {
  const found = readOf(fields({ range: value, "if-range": if_range }), { tag, length });
  expect({
    status: found.status,
    content_range: "content_range" in found ? found.content_range : undefined,
  }).toEqual({
    status,
    content_range,
  });
});

test("nothing can be a part of nothing", () => {
  expect(readOf(fields({ range: "bytes=0-" }), { tag, length: 0 }).status).toBe(416);
  expect(readOf(fields({ range: "bytes=-5" }), { tag, length: 0 }).status).toBe(416);
});

test("a part lies inside the whole and begins before it ends, whatever is asked", () => {
  const end = fc.oneof(fc.constant(""), fc.nat().map(String), fc.bigInt({ min: 0n }).map(String));
  fc.assert(
    fc.property(end, end, fc.nat(), (from, to, bytes) => {
      const found = readOf(fields({ range: `bytes=${from}-${to}` }), { tag, length: bytes });
      const inside =
        found.status !== 206 || (0 <= found.first && found.first <= found.last && found.last < bytes);
      expect(inside).toBe(true);
    }),
  );
});

test("a long list of almost-tags takes no longer than its length", () => {
  expect(matches(`${'W/"a" '.repeat(50_000)}"`, tag)).toBe(false);
  expect(matches(`${'"a",'.repeat(4_000)}${tag}`, tag)).toBe(true);
});

describe.skipIf(!existsSync(SHARED))("conditional.json of ../shared/fixtures, when it is there", () => {
  const { etag, cases }: Shared = existsSync(SHARED) ? read(SHARED) : { etag: "", cases: [] };
  test.each(cases)("$id", ({ if_none_match, status }) => {
    expect(readOf(fields({ "if-none-match": if_none_match }), { tag: etag, length: 0 }).status).toBe(status);
  });
});

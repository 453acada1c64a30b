/** Duplicates: pages are one by their texts, and by the addresses that they name as their own. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalOf } from "../../../../actors/crawl/sites/feature/seen-page.ts";
import { nearTexts } from "../../../../actors/crawl/sites/frontier/near-texts.ts";
import { rulesOf } from "../../../../actors/crawl/sites/frontier/rules.ts";
import {
  isNear,
  readSketch,
  sketchOf,
  type TextSketch,
  writeSketch,
} from "../../../../actors/reading/content/text-sketch.ts";

/** Words of a language with 2,000, of which some are frequent. */
function textOf(count: number, seed: number): string {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return `w${Math.floor(2_000 ** (state / 2 ** 32))}`;
  }).join(" ");
}

describe("the sketch of a text", () => {
  const text = textOf(600, 1);
  const words = text.split(" ");
  const sketch = sketchOf(text)!;

  test.each<[what: string, other: string, isNear: boolean]>([
    ["is near itself", text, true],
    ["is near itself in capitals and other spaces", text.toUpperCase().replaceAll(" ", "  \n"), true],
    ["is near the text with another word", words.with(30, "quintessential").join(" "), true],
    [
      "is far from a text whose last third is another",
      `${words.slice(0, (words.length * 2) / 3).join(" ")} ${textOf(200, 2)}`,
      false,
    ],
    ["is far from another text", textOf(600, 3), false],
  ])("%s", (_what, other, expected) => {
    expect(isNear(sketch, sketchOf(other)!)).toBe(expected);
  });

  test("is the same when it is read again, and there is none of a short text", () => {
    expect(readSketch(writeSketch(sketch))).toEqual(sketch);
    expect(sketchOf(words.slice(0, 49).join(" "))).toBeNull();
    expect(sketchOf("")).toBeNull();
  });

  test("stays what earlier versions stored", () => {
    const han = Array.from({ length: 300 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7_919) % 3_000)));
    expect([text, textOf(60, 1), han.join("")].map((each) => writeSketch(sketchOf(each)!))).toEqual([
      "c9045ee7 70015513 6",
      "8984ba37 4a08d906 4",
      "bb2c5686 7ffd4b6e 6",
    ]);
  });

  test("reads a text without spaces by its characters", () => {
    const han = Array.from({ length: 300 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7_919) % 3_000)));
    const near = sketchOf(han.with(100, "爨").join(""))!;
    const far = sketchOf(han.toReversed().join(""))!;
    expect([isNear(sketchOf(han.join(""))!, near), isNear(sketchOf(han.join(""))!, far)]).toEqual([
      true,
      false,
    ]);
  });
});

describe("near texts", () => {
  const bits = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const sketches = fc.record({ low: bits, high: bits, distance: fc.constantFrom(4, 6) });
  /** Sketches of which many are near: one with up to eight other bits. */
  const neighbours = fc
    .tuple(
      fc.array(sketches, { minLength: 1, maxLength: 4 }),
      fc.array(fc.tuple(fc.nat(3), fc.array(fc.nat(63), { maxLength: 8 }))),
    )
    .map(([centres, others]) =>
      others.map(([centre, flipped]) => {
        const { low, high, distance } = centres[centre % centres.length]!;
        const of = (half: number): number =>
          flipped.reduce((all, bit) => (Math.floor(bit / 32) === half ? all ^ (1 << (bit % 32)) : all), 0);
        return { low: (low ^ of(0)) >>> 0, high: (high ^ of(1)) >>> 0, distance };
      }),
    );

  test("are those that a look at each finds, the first of them", () => {
    fc.assert(
      fc.property(neighbours, fc.nat(20), (all, except) => {
        const index = nearTexts();
        const added: TextSketch[] = [];
        for (const [ordinal, sketch] of all.entries()) {
          const first = added.findIndex((each, at) => at !== except && isNear(each, sketch));
          expect(index.find(sketch, except)).toBe(first < 0 ? null : first);
          index.add(ordinal, sketch);
          added.push(sketch);
        }
      }),
    );
  });

  test("take at most 48 bytes each", () => {
    const index = nearTexts();
    let state = 1;
    const next = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
    for (let ordinal = 0; ordinal < 20_480; ordinal++)
      index.add(ordinal, { low: next(), high: next(), distance: 6 });
    expect(index.bytes() / 20_480).toBeLessThan(48);
  });
});

const rules = rulesOf({ seeds: ["https://site.example/"], limit: 10, rules: {}, fetch: {} });
const meta = (canonical_url: string | null) => ({ canonical_url }) as never;

test.each<[what: string, page: Parameters<typeof canonicalOf>[0], canonical: string | null]>([
  ["the element", { meta: meta("https://site.example/b#top"), headers: {} }, "https://site.example/b"],
  [
    "the field",
    { meta: null, headers: { link: '</x>; rel=next, </b>; rel="canonical"' } },
    "https://site.example/b",
  ],
  [
    "the field, with commas in a title",
    { meta: null, headers: { link: '<b>; title="a, <b>; c"; rel=canonical' } },
    "https://site.example/b",
  ],
  ["another relation", { meta: null, headers: { link: '</b>; rel="canonical-ish"' } }, null],
  ["itself, by another spelling", { meta: meta("https://site.example/a?utm_source=x"), headers: {} }, null],
  ["another site", { meta: meta("https://other.example/b"), headers: {} }, null],
  ["no web page", { meta: meta("javascript:alert(1)"), headers: {} }, null],
  ["a long address", { meta: meta(`https://site.example/${"b".repeat(3_000)}`), headers: {} }, null],
  ["nothing", { meta: null, headers: {} }, null],
])("the address that a page names as its own: %s", (_what, page, expected) => {
  expect(canonicalOf(page, new URL("https://site.example/a"), rules)).toBe(expected);
});

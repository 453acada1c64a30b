/**
 * The floors extraction may not fall below, over gold pages that are not part of the project (one line says so when they
 * are absent): the 1,497 pages of WCXB's development split, from nine tenths of which the weights have learned. So this catches what
 * breaks; what to expect of other pages is measured crosswise by bench/extraction.train.ts and told in bench/results.
 */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  articlePages,
  mean,
  sameAuthors,
  sameDay,
  sameTitle,
  shingleF1,
  shingleScore,
  wcxbPages,
  wordScore,
} from "../../../../bench/extraction.score.ts";
import { readHtml } from "../../../../actors/reading/article/article.ts";
import { loadDetector } from "../../../../actors/reading/article/language.ts";

await loadDetector();

const ROOT = "../shared/fixtures/pages";
const NOW_MS = Date.UTC(2026, 10, 21);

const FLOORS: readonly (readonly [kind: string, f1: number])[] = [
  ["all", 0.89],
  ["article", 0.955],
  ["documentation", 0.935],
  ["service", 0.87],
  ["forum", 0.81],
  ["product", 0.75],
  ["collection", 0.755],
  ["listing", 0.795],
];
const META_FLOORS = { title: 0.8, author: 0.6, date: 0.78 } as const;

describe.skipIf(!existsSync(ROOT))("gold pages", () => {
  test("word F1 by kind, and title, author and date", { timeout: 300_000 }, () => {
    const scores = new Map<string, number[]>();
    const no_pages: string[] = [];
    const exact = { title: [] as boolean[], author: [] as boolean[], date: [] as boolean[] };
    for (const page of wcxbPages(ROOT)) {
      const { text, title, meta, page_verdict } = readHtml(page.html, page.url, NOW_MS);
      // A page whose text its scripts would bring is rightly no page.
      if (page_verdict !== "page" && text !== "") no_pages.push(`${page.id} ${page_verdict}`);
      const { f1 } = wordScore(page.text, text);
      for (const kind of ["all", page.kind]) scores.set(kind, [...(scores.get(kind) ?? []), f1]);
      if (page.title) exact.title.push(sameTitle(page.title, title));
      if (page.author) exact.author.push(sameAuthors(page.author, meta.author));
      if (page.date) exact.date.push(sameDay(page.date, meta.published_at));
    }
    expect(no_pages).toEqual([]);
    const low = FLOORS.filter(([kind, floor]) => mean(scores.get(kind)!) < floor);
    expect(low.map(([kind, floor]) => `${kind}: ${mean(scores.get(kind)!).toFixed(3)} < ${floor}`)).toEqual(
      [],
    );
    for (const [field, floor] of Object.entries(META_FLOORS)) {
      const answers = exact[field as keyof typeof exact];
      expect({ field, exact: answers.filter(Boolean).length / answers.length >= floor }).toEqual({
        field,
        exact: true,
      });
    }
  });

  test("articles, F1 over shingles", { timeout: 120_000 }, () => {
    const scores = [...articlePages(ROOT)].map((page) =>
      shingleScore(page.text, readHtml(page.html, page.url, NOW_MS).text),
    );
    expect(shingleF1(scores).f1).toBeGreaterThanOrEqual(0.97);
  });
});

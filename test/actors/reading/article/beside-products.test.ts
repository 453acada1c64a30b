/** Customers' reviews and shelves of other products are doubted on a product's page, and nowhere else. */
import { describe, expect, test } from "vitest";
import { readHtml, surveyOf } from "../../../../actors/reading/article/article.ts";
import { besideProducts } from "../../../../actors/reading/article/beside-products.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

const NOW_MS = Date.UTC(2026, 10, 28);
const ABOUT =
  "The kettle holds a litre and a half, boils in four minutes, and switches itself off when it is lifted from its base of brushed steel. Its handle stays cool, its lid opens wide enough to clean it by hand, and its filter is taken out without tools. The cord is wound below the base.";
const SAID = [
  "I have had this kettle for two years now and it has never let me down, although the lid is a little stiff when it is new.",
  "It was a present for my parents, who drink more tea than anybody else I know, and they would not give it back for anything.",
];
const SOLD = `<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Kettle","offers":{"@type":"Offer","price":"39.00","priceCurrency":"EUR"}}</script><meta property="og:type" content="product">`;

const reviews = (name: string): string =>
  `<div class="${name}"><h3>What customers say</h3>${SAID.map((said) => `<div><p>${said}</p></div>`).join("")}</div>`;
const page = (beside: string, head = SOLD): string =>
  `<html lang="en"><head><title>Kettle</title>${head}</head><body><main><h1>Kettle</h1><p>€39.00</p><div class="description"><p>${ABOUT}</p></div>${beside}</main></body></html>`;
const read = (html: string, include_comments = false, url = "https://shop.example/product/kettle"): string =>
  readHtml(html, url, NOW_MS, { include_comments }).text;

describe("a product's page", () => {
  test("has its description and none of its reviews", () => {
    for (const name of ["reviews", "yotpo-main", "product-reviewsList", "bazaarvoice"]) {
      const text = read(page(reviews(name)));
      expect(text).toContain(ABOUT);
      for (const said of SAID) expect(text).not.toContain(said);
    }
  });

  test("has the same paragraphs under another name, and with readers' comments wanted", () => {
    for (const said of SAID) {
      expect(read(page(reviews("more-about-it")))).toContain(said);
      expect(read(page(reviews("reviews")), true)).toContain(said);
    }
  });
});

test("an article's reviews are left to the model", () => {
  const html = page(reviews("reviews"), `<meta property="og:type" content="article">`);
  const text = read(html, false, "https://news.example/2026/11/28/kettles-of-the-year");
  for (const said of SAID) expect(text).toContain(said);
});

describe("the factors", () => {
  function factorsOf(html: string, include_reviews = false): Record<string, number> {
    const tree = buildTree(html);
    const { page: marked, lines } = surveyOf(tree, readLinkedData(tree.jsonLd), "https://shop.example/p/1");
    const factors = besideProducts(marked, lines, include_reviews);
    return Object.fromEntries(lines.map(({ text }, i) => [text, factors[i]!]));
  }
  const shelf = `<div class="related-products"><ul><li><a href="/p/2">Teapot</a></li><li><a href="/p/3">Cup</a></li></ul></div>`;

  test("are one for all lines of a part, and 1 outside", () => {
    const factors = factorsOf(page(`${reviews("reviews")}${shelf}`));
    expect(factors[ABOUT]).toBe(1);
    const doubted = ["What customers say", ...SAID, "Teapot", "Cup"].map((text) => factors[text]);
    expect(new Set(doubted).size).toBe(1);
    expect(doubted[0]).toBeLessThan(1);
  });

  test("doubt shelves, and not reviews, where reviews are wanted", () => {
    const factors = factorsOf(page(`${reviews("reviews")}${shelf}`), true);
    expect(SAID.map((said) => factors[said])).toEqual([1, 1]);
    expect(factors["Teapot"]).toBeLessThan(1);
  });

  test("are 1 where most of the page has such a name", () => {
    const factors = factorsOf(page("").replace("<main>", `<main class="reviews">`));
    expect(Object.values(factors)).toEqual(Object.values(factors).map(() => 1));
  });

  test("doubt what microdata call a review", () => {
    const factors = factorsOf(page(`<div itemprop="review"><p>${SAID[0]}</p></div>`));
    expect(factors[SAID[0]!]).toBeLessThan(1);
  });
});

/** A page as one caller wants it read: what is left out, what alone is kept, and what counts as content. */
import { expect, test } from "vitest";
import { NOTHING } from "../../../../actors/reading/extraction-result.ts";
import { readHtml } from "../../../../actors/reading/article/article.ts";
import { readWanted } from "../../../../actors/reading/dom/read-wanted.ts";
import { type ContentChoice } from "../../../../schemas/content.ts";
import { SENTENCES } from "./sentences.ts";

const PAGE = `<!doctype html><html lang="en"><head><title>Harbour</title><base href="/base/"></head><body>
<nav><a href="/home">Home</a> <a href="/boats">Boats</a></nav>
<main><article><h1>The harbour</h1><p>${SENTENCES[0]}</p><p class="body">${SENTENCES[1]} <a href="map">map</a></p>
<img src="tower.jpg" alt="Tower"><p>${SENTENCES[2]}</p>
<div class="related"><p>Related: <a href="/dawn">a much longer walk along the harbour wall at dawn</a></p></div></article></main>
<table class="fares"><tr><td>Adult</td><td>4.20</td></tr></table>
<footer><p>Imprint of the harbour office</p><a href="/legal">Legal</a><img src="/logo.png" alt="Logo"></footer>
</body></html>`;

const read = (wishes: Partial<ContentChoice>, html = PAGE) => {
  const reading = { only_main_content: null, include: [], exclude: [], ...wishes };
  const task = {
    bytes: Buffer.from(html),
    url: "https://a.example/",
    content_type: "text/html; charset=utf-8",
    kind: "html",
    now_ms: 0,
    with_formats: true,
  } as const;
  return readWanted(task, reading, readHtml);
};
const linksOf = ({ formats }: ReturnType<typeof read>) =>
  formats!.links.map(({ url }) => new URL(url).pathname);
const imagesOf = ({ formats }: ReturnType<typeof read>) => formats!.images.map(({ alt }) => alt);

test("excluded elements are gone from text, Markdown, links and images", () => {
  const page = read({ exclude: ["nav", ".related, footer"] });
  expect(page.text).toContain(SENTENCES[2]);
  expect(`${page.text}${page.formats!.markdown}`).not.toContain("Related");
  expect(linksOf(page)).toEqual(["/base/map"]);
  expect(imagesOf(page)).toEqual(["Tower"]);
});

test("included elements alone are the content, in the page's order, each once, with the page's base address", () => {
  const page = read({ include: ["table.fares", ".body", "article p.body a"] });
  expect(page.text).toBe(`${SENTENCES[1]} map\nAdult 4.20`);
  expect(page.formats!.markdown).toContain("[map](https://a.example/base/map)");
  expect(linksOf(page)).toEqual(["/base/map"]);
  expect(imagesOf(page)).toEqual([]);
});

test("what is excluded is taken out of what is included", () => {
  const page = read({ include: ["article"], exclude: [".related", "img"] });
  expect(page.text).toContain(SENTENCES[0]);
  expect(page.text).not.toContain("Related");
  expect(imagesOf(page)).toEqual([]);
});

test("selectors that match nothing leave nothing to include, and take nothing away", () => {
  expect(read({ include: [".absent"] })).toMatchObject({ text: "", formats: { markdown: null, links: [] } });
  expect(linksOf(read({ exclude: [".absent"] }))).toEqual(linksOf(read({})));
});

test("without only_main_content everything that is shown is text, but nothing that is hidden", () => {
  const hidden = PAGE.replace(
    "<nav>",
    '<p hidden>Hidden line</p><p style="display:none">Unseen line</p><nav>',
  );
  const page = read({ only_main_content: false }, hidden);
  for (const part of ["Home", "Imprint of the harbour office", SENTENCES[0]!, "Adult 4.20"])
    expect(page.text).toContain(part);
  expect(page.text).not.toMatch(/Hidden line|Unseen line/);
  expect(page.formats!.markdown).toContain("[Legal](https://a.example/legal)");
  expect(imagesOf(page)).toEqual(["Tower", "Logo"]);
});

test("with only_main_content links and images are of the text alone; unsaid, of the whole page", () => {
  const main = read({ only_main_content: true });
  expect(main.text).toBe(read({}).text);
  expect(linksOf(main)).toContain("/base/map");
  expect(linksOf(main)).not.toContain("/home");
  expect(linksOf(main)).not.toContain("/legal");
  expect(imagesOf(main)).toEqual(["Tower"]);
  expect(linksOf(read({}))).toEqual(expect.arrayContaining(["/home", "/base/map", "/legal"]));
});

test("the hidden text of a page that is declared closed is not content, also when its element is included", () => {
  const ld = `{"@type": "NewsArticle", "isAccessibleForFree": false}`;
  const closed = PAGE.replace("</head>", `<script type="application/ld+json">${ld}</script></head>`).replace(
    `<p class="body">`,
    `<p class="body" style="display:none">`,
  );
  expect(read({ include: ["article"] }, closed).text).toContain(SENTENCES[0]);
  expect(read({ include: ["article"] }, closed).text).not.toContain(SENTENCES[1]);
  expect(read({ only_main_content: false }, closed).text).not.toContain(SENTENCES[1]);
});

test("selectors see the page as a browser does, and text as it stands in the page", () => {
  const page = `<table><tr><td>Ferry &amp; sons &lt;b&gt;<td>4</table><p>x <b>y<p>z`;
  expect(read({ include: ["table > tbody > tr > td:has(+ td)"] }, page).text).toBe("Ferry & sons <b>");
  expect(read({ include: ["body"] }, page).text).toBe("Ferry & sons <b> 4\n\nx y\n\nz");
});

test("elements nested as deep as a page likes are read", () => {
  const deep = `${"<div>".repeat(5_000)}<p class=low>${SENTENCES[0]}</p>`;
  const page = read({ include: [".low"], exclude: [".absent"] }, deep);
  expect(page).toMatchObject({ ...NOTHING, charset: "UTF-8", text: SENTENCES[0], meta: {}, formats: {} });
});

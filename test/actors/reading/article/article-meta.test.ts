/** ArticleMeta from what pages declare, as tables of small pages. */
import { expect, test } from "vitest";
import { readHtml } from "../../../../actors/reading/article/article.ts";
import { loadDetector } from "../../../../actors/reading/article/language.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";

await loadDetector();

const NOW_MS = Date.UTC(2026, 10, 21);
const URL_HERE = "https://www.harbour.example/town/ferry";
const BODY = `<p>${"The old ferry of Lindholm left its berth for the last time on Tuesday. ".repeat(8)}</p>`;
const page = (head: string, body = "", html = '<html lang="en">') =>
  readHtml(`${html}<head>${head}</head><body>${body}${BODY}</body></html>`, URL_HERE, NOW_MS);
const ld = (value: unknown): string => `<script type="application/ld+json">${JSON.stringify(value)}</script>`;

test.each([
  ["an object", { author: { "@type": "Person", name: "Jonna Wikander" } }, "Jonna Wikander"],
  ["a string", { author: "Jonna Wikander" }, "Jonna Wikander"],
  ["several", { author: [{ name: "Jonna Wikander" }, { name: "Olof Berg" }] }, "Jonna Wikander; Olof Berg"],
  ["two in one", { author: "Jonna Wikander and Olof Berg" }, "Jonna Wikander; Olof Berg"],
  ["twice the same", { author: ["Jonna Wikander", "JONNA WIKANDER"] }, "Jonna Wikander"],
  ["given and family name", { author: { givenName: "Jonna", familyName: "Wikander" } }, "Jonna Wikander"],
  ["with a lead-in", { author: "By Jonna Wikander" }, "Jonna Wikander"],
  ["with an agency", { author: "Jonna Wikander, Reuters" }, "Jonna Wikander"],
  ["with degrees", { author: "Jonna Wikander, MS, RD, FAND" }, "Jonna Wikander, MS, RD, FAND"],
  [
    "several with degrees",
    { author: "Jonna Wikander, PhD, Olof Berg, M.D." },
    "Jonna Wikander, PhD; Olof Berg, M.D.",
  ],
  ["with a desk in capitals", { author: "Jonna Wikander, BBC" }, "Jonna Wikander"],
  ["with a second name", { author: "Jonna Wikander (Harbourly)" }, "Jonna Wikander (Harbourly)"],
  ["with a name between", { author: "Jonna (Berg) Wikander" }, "Jonna (Berg) Wikander"],
  ["with a remark", { author: "Jonna Wikander (on leave)" }, "Jonna Wikander"],
  ["an address", { author: "https://www.facebook.com/harbour" }, null],
  ["nobody", { author: "admin" }, null],
  ["the desk", { author: { name: "Editorial Team" } }, null],
  ["entities", { author: "Jonna Wikander &amp; Olof Berg" }, "Jonna Wikander; Olof Berg"],
])("author in JSON-LD: %s", (_, fields, author) => {
  expect(page(ld({ "@type": "NewsArticle", headline: "Ferry", ...fields })).meta.author).toBe(author);
});

test("an author that is a reference is looked up", () => {
  const graph = {
    "@graph": [
      { "@type": "Article", headline: "Ferry", author: { "@id": "#jw" } },
      { "@type": "Person", "@id": "#jw", name: "Jonna Wikander" },
    ],
  };
  expect(page(ld(graph)).meta.author).toBe("Jonna Wikander");
});

test("at most twelve authors", () => {
  const author = Array.from({ length: 20 }, (_, i) => `Person ${String.fromCodePoint(65 + i)}nders`);
  expect(page(ld({ "@type": "Article", author })).meta.author?.split("; ")).toHaveLength(12);
});

test.each([
  ['<meta name="author" content="Jonna Wikander">', "", "Jonna Wikander"],
  ['<meta name="author" content="https://harbour.example/jw">', "", null],
  ['<meta content="Jonna Wikander" property="article:author">', "", "Jonna Wikander"],
  [
    '<meta name="citation_author" content="Jonna Wikander"><meta name="citation_author" content="Olof Berg">',
    "",
    "Jonna Wikander; Olof Berg",
  ],
  [
    '<meta name="twitter:label1" content="Written by"><meta name="twitter:data1" content="Jonna Wikander">',
    "",
    "Jonna Wikander",
  ],
  [
    '<meta name="twitter:label1" content="Reading time"><meta name="twitter:data1" content="Five minutes">',
    "",
    null,
  ],
  ["", '<p>By <a rel="author" href="/jw">Jonna Wikander</a></p>', "Jonna Wikander"],
  ["", '<div itemprop="author"><span itemprop="name">Jonna Wikander</span></div>', "Jonna Wikander"],
  [
    "",
    '<div itemprop="author"><meta itemprop="name" content="Jonna Wikander">Harbour</div>',
    "Jonna Wikander",
  ],
  ["", '<div class="byline">Written by Jonna Wikander</div>', "Jonna Wikander"],
  ["", '<div class="ArticleByline">By JONNA WIKANDER | 4 March 2025</div>', "JONNA WIKANDER"],
  ["", "<p>Von Jonna Wikander</p>", "Jonna Wikander"],
  ["", '<div class="byline">By Jonna Wikander, Home and Harbour Safety Expert</div>', "Jonna Wikander"],
  ["", "<p>By Jonna Wikander ⋅ Founder and Editor-in-Chief</p>", "Jonna Wikander"],
  ["", '<div class="blog__meta">by Jonna Wikander ● 3 comments</div>', "Jonna Wikander"],
  ["", '<section id="comments"><div class="author">Olof Berg</div></section>', null],
])("author from %s %s", (head, body, author) => {
  expect(page(head, body).meta.author).toBe(author);
});

const ARTICLE = '<meta property="og:type" content="article">';
const JONNA_LINK = '<a href="/authors/jonna-wikander/">Jonna Wikander</a>';

test.each([
  ["a link to the author's page", `<p>${JONNA_LINK}</p>`, "Jonna Wikander"],
  [
    "two of them",
    `<p>${JONNA_LINK}, <a href="/authors/oberg">Olof Berg</a></p>`,
    "Jonna Wikander; Olof Berg",
  ],
  ["one word that is the whole address", '<p>by <a href="/author/jonna/">Jonna</a></p>', "Jonna"],
  ["one word of a longer address", '<p><a href="/author/jonna-wikander/">Jonna</a></p>', null],
  [
    "a link around a card",
    '<div><a href="/team/jonna-wikander"><p>Jonna Wikander</p><p>Writes about old ferries</p></a></div>',
    "Jonna Wikander",
  ],
  ["a link with another text", '<p><a href="/authors/jonna-wikander/">Harbour News</a></p>', null],
  ["the reviewer", `<p>Reviewed by ${JONNA_LINK}</p>`, null],
  [
    "a person of whom the text speaks",
    `<p>The last ferry left at noon, and the harbour was as quiet as in winter, says ${JONNA_LINK}, with forty years on the quay behind her and no plan to leave.</p>`,
    null,
  ],
  [
    "users of a forum",
    ["Jonna Wikander", "Olof Berg", "Siv Dahl", "Ulf Lind", "Tea Holm"]
      .map((name) => `<p><a href="/profile/${name.replace(" ", "-")}">${name}</a></p>`)
      .join(""),
    null,
  ],
])("author from %s", (_, body, author) => {
  expect(page(ARTICLE, `<h1>A ferry</h1>${body}`).meta.author).toBe(author);
});

const ACCOUNT = '<meta name="author" content="jwik.harbour">';

test.each([
  ["the person in the byline", '<p class="author">Jonna Wikander</p>', "Jonna Wikander"],
  ["the person in a line", "<p>By Jonna Wikander</p>", "Jonna Wikander"],
  [
    "the account when the page shows it",
    '<p class="author">jwik.harbour</p><p>By Jonna Wikander</p>',
    "jwik.harbour",
  ],
  ["the account when nobody is shown", "", "jwik.harbour"],
])("of a declared account: %s", (_, body, author) => {
  expect(page(ARTICLE + ACCOUNT, `<h1>A ferry</h1>${body}`).meta.author).toBe(author);
});

test("the user whose page has a number in its address", () => {
  const poster = `<div class="poster"><h4><a href="/index.php?action=profile;u=26">Harbour Lamps</a></h4><li class="poster_ip">Logged</li></div>`;
  expect(page("", `<h1>Which lamp</h1>${poster}`).meta.author).toBe("Harbour Lamps");
});

test("a shop's page has only the author that it declares", () => {
  const product = ld({ "@type": "Product", name: "Lamp", offers: { "@type": "Offer", price: "9.50" } });
  const review = '<p class="review-author">Olof Berg</p>';
  expect(page(product, `<h1>Lamp</h1>${review}`)).toMatchObject({ kind: "product", meta: { author: null } });
  expect(page(product + '<meta name="author" content="Jonna Wikander">', review).meta.author).toBe(
    "Jonna Wikander",
  );
});

test.each([
  [ld({ "@type": "NewsArticle", datePublished: "2025-03-04T18:20:00+01:00" }), "", "2025-03-04T17:20:00Z"],
  [ld({ "@type": "NewsArticle", dateModified: "2025-03-04" }), "", null],
  ['<meta property="article:published_time" content="2025-03-04">', "", "2025-03-04"],
  ['<meta property="article:modified_time" content="2025-03-04">', "", null],
  ['<meta name="parsely-pub-date" content="2025-03-04T10:00:00Z">', "", "2025-03-04T10:00:00Z"],
  ["", '<span itemprop="datePublished" content="2025-03-04">4 March</span>', "2025-03-04"],
  ["", '<time pubdate datetime="2025-03-04T10:00:00">4 March</time>', "2025-03-04T10:00:00"],
  ["", '<p class="entry-date">March 4, 2025</p>', "2025-03-04"],
  ["", '<p>Updated <time datetime="2025-03-04">4 March 2025</time></p>', null],
  ["", "<p>4 March 2025</p>", "2025-03-04"],
  ["", '<aside class="related"><time datetime="2020-01-01">1 January 2020</time></aside>', null],
])("published_at from %s %s", (head, body, date) => {
  expect(page(head, body).meta.published_at).toBe(date);
});

const SHOWN = `<h1>A ferry</h1><time datetime="2025-03-04">4 March 2025</time>`;

test.each([
  ["a declaration that may be of a change", `<meta name="date" content="2025-03-09">`, SHOWN, "2025-03-04"],
  ["an earlier one", `<meta name="dc.date" content="2024-01-02">`, SHOWN, "2025-03-04"],
  ["one that agrees", `<meta name="date" content="2025-03-04T10:00:00">`, SHOWN, "2025-03-04T10:00:00"],
  [
    "an instant whose local day is shown",
    `<meta property="article:published_time" content="2025-03-03T22:04:00Z">`,
    SHOWN,
    "2025-03-03T22:04:00Z",
  ],
  [
    "of two declared publications the one that is shown",
    `<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2025-03-01"}</script><meta property="article:published_time" content="2025-03-04T08:00:00">`,
    SHOWN,
    "2025-03-04T08:00:00",
  ],
  [
    "a declared publication when something else is shown",
    `<meta property="article:published_time" content="2025-02-01">`,
    SHOWN,
    "2025-02-01",
  ],
  [
    "what is shown when a declared publication is later, and nowhere on the page",
    `<meta property="article:published_time" content="2025-06-01"><meta property="article:modified_time" content="2025-06-01">`,
    SHOWN,
    "2025-03-04",
  ],
  [
    "a later declared publication that a line shows, too",
    `<meta property="article:published_time" content="2025-06-01">`,
    `${SHOWN}<p>The harbour office, 1 June 2025</p>`,
    "2025-06-01",
  ],
  [
    "a declared publication above an offer's last day",
    `<meta name="parsely-pub-date" content="2025-03-04">`,
    `<p>Tickets at half price until 12 May 2026</p><h1>A ferry</h1>`,
    "2025-03-04",
  ],
  ["a day in ISO 8601, alone in its line", "", `<h1>A ferry</h1><h5>2025-03-04</h5>`, "2025-03-04"],
  ["no other number alone in its line", "", `<h1>A ferry</h1><h5>2025-0304</h5>`, null],
  [
    "a declaration when nothing is shown",
    `<meta name="date" content="2025-03-09">`,
    "<h1>A ferry</h1>",
    "2025-03-09",
  ],
  [
    "publication and change in one line",
    "",
    `<h1>A ferry</h1><p class="date">March 4, 2025. Updated: March 7, 2025</p>`,
    "2025-03-04",
  ],
  ["a change alone", "", `<h1>A ferry</h1><p class="date">Updated: March 7, 2025</p>`, null],
  [
    "a line with both, in elements without names",
    "",
    `<h1>A ferry</h1><p>Published on March 4, 2025 <span>Updated on March 7, 2025</span></p>`,
    "2025-03-04",
  ],
  [
    "today's date above a declaration that a longer line shows",
    `<meta name="date" content="2025-03-04">`,
    `<p class="date">Tuesday, March 11, 2025</p><h1>A ferry</h1><p>Start › Harbour news of the town › The last ferry to Lindholm leaves at noon › March 4, 2025</p>`,
    "2025-03-04",
  ],
  [
    "a declaration above a list of events",
    `<meta name="date" content="2025-03-04">`,
    `<h1>A ferry</h1>${BODY}${"<p>Harbour walk</p>".repeat(8)}${["1", "8", "15"].map((day) => `<div class="date">May ${day}, 2025</div>`).join("")}`,
    "2025-03-04",
  ],
  [
    "a teaser's microdata before what is shown twice",
    "",
    `<span itemprop="datePublished" content="2025-03-20"></span>${SHOWN}`,
    "2025-03-04",
  ],
])("the date that a page declares and shows: %s", (_, head, body, date) => {
  expect(page(head, body).meta.published_at).toBe(date);
});

test.each([
  [
    "a declaration",
    ld({ "@type": "Article", datePublished: "2025-03-04", dateModified: "2025-03-05T10:00:00Z" }),
    "<p>Last updated: 7 March 2025</p>",
    "2025-03-05T10:00:00Z",
  ],
  ["a line alone", "", "<p>Last updated: 7 March 2025</p>", "2025-03-07"],
  ["a line at the foot", "", `${BODY}<p>This page was last modified on March 7, 2025.</p>`, "2025-03-07"],
  ["an element named after dates", "", `<p class="date">Updated: March 7, 2025</p>`, "2025-03-07"],
  [
    "the second part of such an element's line",
    "",
    `<p class="date">March 4, 2025. Updated: March 7, 2025</p>`,
    "2025-03-07",
  ],
  [
    "no line from before the publication",
    ld({ "@type": "Article", datePublished: "2025-03-04" }),
    "<p>Last updated: 7 March 2020</p>",
    null,
  ],
  ["no post's edit", "", "<p>Edited: 7 March 2025</p>", null],
  [
    "no entries of a list",
    "",
    ["5", "6", "7"].map((day) => `<h3>Lantern ${day}</h3><p>Updated March ${day}, 2025</p>`).join(""),
    null,
  ],
])("modified_at from %s", (_, head, body, date) => {
  expect(page(head, body).meta.modified_at).toBe(date);
});

test.each([
  [
    "the heading that the title contains",
    "<title>The last crossing | The Harbour Post</title>",
    "<h1>The last crossing</h1>",
    "The last crossing",
  ],
  [
    "not the site's heading",
    '<title>The last crossing - Harbour Post</title><meta property="og:site_name" content="Harbour Post">',
    "<h1>Harbour Post</h1>",
    "The last crossing",
  ],
  [
    "og:title less the site",
    '<meta property="og:title" content="The last crossing | Harbour Post"><meta property="og:site_name" content="Harbour Post">',
    "",
    "The last crossing",
  ],
  ["the site by its host", "<title>The last crossing - Harbour</title>", "", "The last crossing"],
  ["the headline", ld({ "@type": "NewsArticle", headline: "The last crossing" }), "", "The last crossing"],
  [
    "without the heading's link mark",
    "<title>Retrying - docs</title>",
    '<h1>Retrying<a class="headerlink" href="#r">¶</a></h1>',
    "Retrying",
  ],
  [
    "without what only screen readers read",
    "<title>Lamps and lanterns</title>",
    '<h1><span class="visually-hidden">Collection: </span>Lamps and lanterns</h1>',
    "Lamps and lanterns",
  ],
  [
    "an apostrophe of either form",
    "<title>The keeper's last day</title>",
    "<h1>The keeper’s last day</h1>",
    "The keeper’s last day",
  ],
  [
    "not a masthead that leads home",
    "<title>The last crossing</title>",
    '<h1><a href="/">Keeper &amp; Sons</a></h1><h1>The last crossing</h1>',
    "The last crossing",
  ],
  [
    "a topic less its forum behind a slash",
    "<title>Which lamp for a small boat / Harbour Forums</title>",
    "",
    "Which lamp for a small boat",
  ],
  [
    "without a heading's buttons",
    "<title>Module lamps</title>",
    "<h1>Module lamps <button>Copy path</button></h1>",
    "Module lamps",
  ],
  ["without the number of things", "", "<h1>Lanterns (24 items)</h1>", "Lanterns"],
  ["with a year", "", "<h1>Choosing a lantern (2026 guide)</h1>", "Choosing a lantern (2026 guide)"],
  ["UTF-8 taken for Windows-1252", "", "<h1>The keeperâ€™s last day</h1>", "The keeper’s last day"],
  ["UTF-8 taken for Latin-1", "", "<h1>The keeper\u00e2\u0080\u0099s last day</h1>", "The keeper’s last day"],
  ["letters that only look like it", "", "<h1>Les âmes du château</h1>", "Les âmes du château"],
  [
    "without the label of a thread",
    `<title>Which lamp for a small boat | Harbour Forums</title>`,
    "<h1>Thread: Which lamp for a small boat</h1>",
    "Which lamp for a small boat",
  ],
  [
    "with a word that only looks like the label of a thread",
    "<title>Topic: sentences and their order</title>",
    "<h1>Topic: sentences and their order</h1>",
    "Topic: sentences and their order",
  ],
  [
    "without the label before a thread's heading",
    "<title>Question - Which lamp for a small boat | Harbour Forums</title>",
    '<h1><span class="label label--accent">Question</span> Which lamp for a small boat</h1>',
    "Which lamp for a small boat",
  ],
  [
    "with a marked word at its end",
    "<title>Which lamp for a small boat new | Harbour Forums</title>",
    '<h1>Which lamp for a small boat <span class="label">new</span></h1>',
    "Which lamp for a small boat new",
  ],
  ["without written emphasis", "<title>*The last crossing* (1792)</title>", "", "The last crossing (1792)"],
  ["nothing", "", "", null],
  ...["Go", "Up", "It", "IT", "R", "5G", "A", "Q"].flatMap((short): [string, string, string, string][] => [
    [`the short "${short}"`, `<title>${short}</title>`, `<h1>${short}</h1>`, short],
    [`the short "${short}" alone`, `<title>${short}</title>`, "", short],
    [
      `the short "${short}" beside its site`,
      `<title>${short} | The Harbour Post</title>`,
      `<h1>${short}</h1>`,
      short,
    ],
  ]),
  ["no sign of one letter", "<title>The last crossing</title>", "<h1>#</h1><h1>R</h1>", "The last crossing"],
])("title: %s", (_, head, body, title) => {
  expect(page(head, body).title).toBe(title);
});

test.each([
  ['<html lang="de-at">', "", "de-AT"],
  ["<html>", '<meta property="og:locale" content="pt_BR">', "pt-BR"],
  ["<html>", '<meta http-equiv="content-language" content="fr">', "fr"],
  ['<html lang="english!!">', "", "en"],
  ["<html>", "", "en"],
])("language from %s %s", (html, head, language) => {
  expect(page(head, "", html).meta.language).toBe(language);
});

test.each([
  ['<link rel="canonical" href="/town/other">', "https://www.harbour.example/town/other"],
  ['<base href="https://cdn.example/x/"><link rel="canonical" href="y">', "https://cdn.example/x/y"],
  ['<link rel="canonical" href="javascript:alert(1)">', null],
  ['<meta property="og:url" content="https://else.example/">', "https://else.example/"],
  ["", null],
])("canonical_url from %s", (head, url) => {
  expect(page(head).meta.canonical_url).toBe(url);
});

test("publisher, site, section and description, each from its own place", () => {
  const { meta } = page(
    `${ld({ "@type": "NewsArticle", headline: "Ferry", articleSection: ["Town", "Sea"], publisher: { "@type": "Organization", name: "Harbour Media" } })}
     <meta property="og:site_name" content="The Harbour Post"><meta name="description" content="Ninety-one &amp;amp; years">`,
  );
  expect(meta).toMatchObject({
    publisher: "Harbour Media",
    site_name: "The Harbour Post",
    section: "Town",
    description: "Ninety-one & years",
  });
});

test("references that a page encodes twice are decoded, whatever their name", () => {
  const { meta } = page(
    `<meta name="description" content="H&amp;auml;fen &amp;amp; F&amp;#228;hren&amp;trade; &amp;nothing;">`,
  );
  expect(meta.description).toBe("Häfen & Fähren™ &nothing;");
});

test("a description is cut at a word, at 2,000 characters", () => {
  const { meta } = page(`<meta name="description" content="${"ferry ".repeat(1_000)}">`);
  expect(meta.description!.length).toBeLessThanOrEqual(2_000);
  expect(meta.description).toMatch(/ferry$/);
});

test("a page without metadata has nulls and a word count", () => {
  const { meta } = readHtml("<p>Ikke et ord</p>", "https://a.example/", NOW_MS);
  expect(meta).toEqual({
    author: null,
    published_at: null,
    modified_at: null,
    language: null,
    canonical_url: null,
    publisher: null,
    site_name: null,
    description: null,
    section: null,
    word_count: expect.any(Number),
  });
});

test.each([
  ["comments and CDATA", '<!-- //<![CDATA[\n{"@type":"Article","headline":"A"}\n//]]> -->'],
  ["trailing commas", '{"@type":"Article","headline":"A",}'],
  ["a closing semicolon", '{"@type":"Article","headline":"A"};'],
  ["line breaks in strings", '{"@type":"Article","headline":"A","text":"one\ntwo"}'],
  ["an array", '[{"@type":"Article","headline":"A"}]'],
  ["a graph", '{"@graph":[{"@type":"WebSite"},{"@type":"Article","headline":"A"}]}'],
  ["a type with its vocabulary", '{"@type":"http://schema.org/Article","headline":"A"}'],
])("JSON-LD with %s is read", (_, block) => {
  const { nodes } = readLinkedData([block.replaceAll("<![CDATA[", "<![cdata[")]);
  expect(nodes.some((node) => node["headline"] === "A")).toBe(true);
});

test("invalid JSON-LD is ignored", () => {
  expect(readLinkedData(["{", "", "null", "12", '"text"', "undefined"]).nodes).toEqual([]);
});

test("of two articles the one about this page is believed", () => {
  const head = ld([
    { "@type": "NewsArticle", url: "https://www.harbour.example/town/other", author: "Olof Berg" },
    { "@type": "NewsArticle", url: `${URL_HERE}?x=1`, author: "Jonna Wikander" },
  ]);
  expect(page(head).meta.author).toBe("Jonna Wikander");
});

const dated = (body: string, language = "de") =>
  readHtml(
    `<html lang="${language}"><head><title>Die Fähre</title></head><body><main><h1>Die Fähre</h1>${body}</main></body></html>`,
    "https://www.harbour.example/town/ferry",
    NOW_MS,
  ).meta.published_at;

test.each([
  ["a class in German", `<p class="newsdatum">05.01.2023</p>${BODY}`, "2023-01-05"],
  [
    "RDFa",
    `<span property="schema:dateCreated" content="2023-01-05T09:00:00Z"></span>${BODY}`,
    "2023-01-05T09:00:00Z",
  ],
  ["a line with a short year", `<p>5.1.23, 12:30 Uhr</p>${BODY}`, "2023-01-05T12:30:00"],
  ["the line of the text itself", BODY.replace("<p>", "<p>LINDHOLM, 5. Januar 2023 – "), "2023-01-05"],
  [
    "a sentence below the text",
    `${BODY}<p>Dieser Artikel wurde am 5. Januar 2023 um 14:48 von Jonna veröffentlicht.</p>`,
    "2023-01-05T14:48:00",
  ],
  ["two names of the month", `<div class="published">الخميس 5 نيسان / أبريل 2023</div>${BODY}`, "2023-04-05"],
  [
    "a footer above the text",
    `<footer class="meta"><span class="post-created">05.01.23</span></footer>${BODY}`,
    "2023-01-05",
  ],
  [
    "the line of the author below the text",
    `${BODY}${"<p>Fähre</p>".repeat(9)}<p>Author: Jonna Wikander am 05.01.2023, 13:36 Uhr</p>`,
    "2023-01-05T13:36:00",
  ],
  [
    "a thread without prose",
    `${"<p>Fähre</p>".repeat(20)}${'<div class="comment"><span>05.01.23</span><span>12:30</span><div class="comment-text">Wann fährt die Fähre nach Lindholm, wenn am Sonntag das Fest im Hafen ist?</div></div>'.repeat(3)}`,
    "2023-01-05T12:30:00",
  ],
  [
    "a post's card",
    `<div class="MessageCard"><time datetime="2023-01-05T10:00:00">5. Januar</time></div>${BODY}`,
    "2023-01-05T10:00:00",
  ],
  [
    "a whole date before a month alone",
    `<p class="date">Januar 2023</p><time datetime="2023-01-05">5.</time>${BODY}`,
    "2023-01-05",
  ],
])("a date is found in %s", (_, body, date) => {
  expect(dated(body)).toBe(date);
});

test.each([
  ["a change", `${BODY}<p>Letzte Änderung: 5. Januar 2023</p>`],
  ["a period", `<p>Wochenbericht 14. - 20. Januar 2023</p><p>31. Dezember 2022-06. Januar 2023</p>${BODY}`],
  ["a telephone number", `<p>0123 456 78 90</p>${BODY}`],
  [
    "an event",
    `<p>${"Am 5. Januar 2023 fährt die alte Fähre zum letzten Mal über den Sund nach Lindholm. ".repeat(6)}</p>`,
  ],
])("%s is no date of publication", (_, body) => {
  expect(dated(body)).toBeNull();
});

test.each([
  [
    "a book's chapter",
    "<title>Mooring - The Harbour Book</title>",
    '<h1 class="menu-title">The Harbour Book</h1><main><h1 id="mooring">Mooring</h1>',
    "Mooring",
  ],
  [
    "a chapter without a heading of its own",
    "<title>Mooring - The Harbour Book</title>",
    '<h1 class="menu-title">The Harbour Book</h1><main>',
    "Mooring",
  ],
  [
    "a page below its site's name",
    "<title>The last ferry | Sound Weekly</title>",
    "<h1>Sound Weekly</h1><main>",
    "The last ferry",
  ],
  [
    "a title behind the site's",
    "<title>Harbour – The last ferry</title>",
    "<h1>The last ferry</h1><main>",
    "The last ferry",
  ],
  [
    "a page whose title element begins with words around the site's name",
    "<title>News of Harbour :: The last ferry to Lindholm leaves its berth on Tuesday night</title>",
    "<h1>The last ferry to Lindholm leaves its berth on Tuesday night</h1><main>",
    "The last ferry to Lindholm leaves its berth on Tuesday night",
  ],
  [
    "a page whose heading is declared as its title",
    '<title>Sound Weekly - The last ferry</title><meta property="og:title" content="The last ferry">',
    "<h1>The last ferry</h1><main>",
    "The last ferry",
  ],
  ["a page of one Han character", "<title>港</title>", "", "港"],
  [
    "a title behind a colon",
    "<title>Ferries: The last of them</title>",
    "<h1>The last of them</h1><main>",
    "The last of them",
  ],
])("the title of %s", (_, head, body, title) => {
  expect(page(head, body).title).toBe(title);
});

test.each([
  [
    "elements beside each other",
    '<ul class="authors"><li class="author">Jonna Wikander</li><li class="author">Olof Berg</li></ul>',
    "Jonna Wikander; Olof Berg",
  ],
  [
    "one element twice",
    '<p class="byline">By <span class="author">Jonna Wikander</span></p>',
    "Jonna Wikander",
  ],
  ["Russian", "<p>Автор: Иван Петров</p>", "Иван Петров"],
  ["Polish", "<p>Autorzy: Jan Kowalski i Anna Nowak</p>", "Jan Kowalski; Anna Nowak"],
  ["Chinese", "<p>作者：张三</p>", "张三"],
  ["Japanese", '<p class="author">著者：山田太郎</p>', "山田太郎"],
  ["Korean", '<p class="byline">홍길동 기자</p>', "홍길동"],
  ["a subject", '<p class="byline"><a href="/blog/tag/harbour-life">Harbour life</a></p>', null],
  [
    "a name beside a subject",
    '<p class="byline">By Jonna Wikander <a href="/category/harbour-life/">Harbour Life</a></p>',
    "Jonna Wikander",
  ],
  ["Hungarian", "<p>Szerző: Kovács János</p>", "Kovács János"],
  [
    "beside the heading, far above the text",
    `<h1>A ferry</h1><p>By Jonna Wikander</p>${"<p>Lindholm</p>".repeat(20)}`,
    "Jonna Wikander",
  ],
  [
    "below the text",
    `${BODY}${"<p>Lindholm</p>".repeat(9)}<p>Written by Jonna Wikander</p>`,
    "Jonna Wikander",
  ],
  [
    "the line below its label",
    `${BODY}${"<p>Lindholm</p>".repeat(9)}<h3>Author</h3><p>Jonna Wikander</p>`,
    "Jonna Wikander",
  ],
  ["before a date", "<p>By Jonna Wikander April 12, 2024</p>", "Jonna Wikander"],
  [
    "the margin of an article",
    `<div class="sidebar"><a rel="author" href="/people/jonna">Jonna Wikander</a></div>${BODY.repeat(3)}`,
    "Jonna Wikander",
  ],
  [
    "two names in the margin",
    `<div class="sidebar"><a rel="author" href="/a">Jonna Wikander</a><a rel="author" href="/b">Olof Berg</a></div>${BODY.repeat(3)}`,
    null,
  ],
  ["a sentence", `${BODY}${"<p>Lindholm</p>".repeat(9)}<p>Written by hand and on paper</p>`, null],
])("authors on the page: %s", (_, body, author) => {
  expect(page("", body, '<html lang="x-default">').meta.author).toBe(author);
});

const named = (name: string, content: string): string => `<meta name="${name}" content="${content}">`;
const HARBOUR_POST = '<meta property="og:site_name" content="Harbour Post">';
test.each([
  ["a person before a desk", named("author", "Harbour Staff"), "<p>By Jonna Wikander</p>", "Jonna Wikander"],
  ["a desk alone", named("author", "Harbour Staff"), "", "Harbour Staff"],
  ["not a phrase", "", '<p class="author">Learn about our editorial policies</p>', null],
  [
    "a desk above a link to its page",
    named("author", "Harbour Staff"),
    '<p class="author"><a rel="author" href="/staff">Full Bio</a></p>',
    "Harbour Staff",
  ],
  [
    "a person beside a desk",
    `${named("author", "Jonna Wikander")}${named("twitter:label1", "Written by")}${named("twitter:data1", "Harbour Staff")}`,
    "",
    "Jonna Wikander",
  ],
  [
    "the site with a label behind it",
    HARBOUR_POST + named("author", "Harbour Post"),
    '<p class="author">Harbour Post Sponsored</p>',
    "Harbour Post",
  ],
  [
    "the site, where a name is part of a control",
    HARBOUR_POST + named("author", "Harbour Post"),
    '<a rel="author" href="#reply">Reply to Olof Berg</a>',
    "Harbour Post",
  ],
  [
    "a site whose name ends like a byline",
    '<meta property="og:site_name" content="Harbour On">' + named("author", "Harbour On"),
    "",
    "Harbour On",
  ],
  [
    "the user's link in microdata",
    "",
    '<div itemprop="author"><a href="/users/12/jw81" itemprop="url">jw81</a> <b>193</b> <b>3 silver badges</b></div>',
    "jw81",
  ],
  [
    "the user's link in a byline",
    "",
    '<p>by <span class="PostsAuthors-authorName"><a href="/users/jw81?from=post">jw81</a></span></p>',
    "jw81",
  ],
  ["the address of a user's page", '<link rel="author" href="/user/jw81">', "", "jw81"],
  [
    "the address of a home page",
    '<meta property="article:author" content="https://www.harbour.example/~jw81">',
    "",
    "jw81",
  ],
  [
    "not the address of a page elsewhere",
    '<meta property="article:author" content="https://www.sound.example/@jw81">',
    "",
    null,
  ],
])("authors by name and by address: %s", (_, head, body, author) => {
  expect(page(head, body).meta.author).toBe(author);
});

test.each([
  ["All times are GMT -6. The time now is 11:40 PM.", "2023-01-05T23:30:00Z"],
  ["Alle Zeiten sind <span>UTC+02:00</span>", "2023-01-05T15:30:00Z"],
  ["The ferry is on time.", "2023-01-05T17:30:00"],
])("the time of a post is in the zone that the page states: %s", (stated, date) => {
  expect(dated(`<p class="date">05.01.2023, 17:30</p>${BODY}<p>${stated}</p>`)).toBe(date);
});

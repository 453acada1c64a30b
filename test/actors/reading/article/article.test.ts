/** Main text: golden files for each quirk, properties that hold for any page, and hostile pages. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readHtml } from "../../../../actors/reading/article/article.ts";
import { loadDetector } from "../../../../actors/reading/article/language.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

const FOLDER = "test/fixtures/article";
await loadDetector();

const NOW_MS = Date.UTC(2026, 10, 21);
const fixture = (name: string): string => readFileSync(join(FOLDER, `${name}.html`), "utf8");
const read = (name: string) => readHtml(fixture(name), `https://www.harbour.example/town/${name}`, NOW_MS);
const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".html"))
  .map((file) => file.replace(".html", ""));

test.each(names)("reads %s as it did", (name) => {
  const file = join(FOLDER, "expected", `${name}.json`);
  const got = `${JSON.stringify(read(name), null, 2)}\n`;
  if (process.env["UPDATE"] === "1") writeFileSync(file, got);
  expect(got).toBe(readFileSync(file, "utf8"));
});

// Texts that a reader would miss, and texts that would be in the way.
const RULES: readonly (readonly [name: string, has: readonly string[], lacks: readonly string[]])[] = [
  [
    "article-plain",
    ["ninety-one years", "A tunnel instead", "Two kilometres long", "the crossing took nine"],
    [
      "Share on Facebook",
      "Photo: A. Lind",
      "herring came late",
      "seagull77",
      "Privacy policy",
      "color: red",
      "count.js",
    ],
  ],
  ["article-in-form", ["ninety-one years", "the crossing took nine"], ["Archive"]],
  ["article-hashed-classes", ["ninety-one years", "the crossing took nine"], ["herring came late"]],
  ["article-unclosed", ["ninety-one years", "thinner than a dinner plate", "the crossing took nine"], []],
  ["article-cdata", ["ninety-one years", "the crossing took nine"], ["CDATA"]],
  [
    "service-accordion",
    ["When do you roast the coffee?", "twelve kilograms", "nothing to sign"],
    ["Imprint"],
  ],
  ["service-builder", ["finishes on Friday", "three numbers", "drink a coffee"], ["Privacy"]],
  ["service-clones", ["worth the walk", "recipe for the bread"], []],
  [
    "forum-thread",
    ["without ruining the seasoning", "Coarse salt works", "smells of nothing at all"],
    ["Joined", "Quote"],
  ],
  [
    "forum-noscript",
    ["without ruining the seasoning", "Coarse salt works", "smells of nothing at all"],
    ["start()"],
  ],
  [
    "docs-code",
    [
      "    for attempt in retry(times=3):\n        with attempt:",
      "how often the block is entered",
      "asynchronous form",
    ],
    ["¶", "Built with Sphinx"],
  ],
  ["product-specs", ["waxed canvas", "set without tools", "1,280 grams"], ["Wren pouch"]],
  [
    "news-chinese",
    ["东港渡轮公司昨天宣布", "公司负责人说"],
    ["凡注明", "传真", "热点排行", "跨海大桥", "版权所有"],
  ],
  ["product-data-only", ["forty metres ahead", "changed with a coin", "Weight: 96 g"], ["<p>"]],
  [
    "collection-cards",
    ["fell by themselves", "Pear spoon", "storm-felled oak", "nine layers"],
    ["Filter by price"],
  ],
  [
    "listing-jobs",
    ["Keeper of the seed library", "two thousand jars", "the path goes around"],
    ["Next page"],
  ],
  ["paywall-teaser", ["einundneunzig Jahren"], ["verborgene Rest", "two kilometres"]],
  ["shell", [], ["Please wait"]],
];

test("every fixture has its rules", () => {
  const ruled = RULES.map(([name]) => name);
  expect(names.filter((name) => !ruled.includes(name))).toEqual(["paywall-metered"]);
});

test.each(RULES)("%s keeps what a reader wants and nothing else", (name, has, lacks) => {
  const { text } = read(name);
  for (const words of has) expect(text).toContain(words);
  for (const words of lacks) expect(text).not.toContain(words);
});

test("has a repeated slide of a carousel once", () => {
  expect(read("service-clones").text.split("worth the walk")).toHaveLength(2);
});

test("keeps the order of the page: heading, list and paragraph are lines", () => {
  const { text } = read("article-plain");
  const lines = text.split("\n").filter((line) => line !== "");
  const heading = lines.indexOf("A tunnel instead");
  expect(heading).toBeGreaterThan(0);
  expect(lines[heading + 1]).toMatch(/^The council decided/);
  expect(lines).toContain("Open to cars, bicycles and, after midnight, to sheep.");
});

test("notes that the text is from JSON-LD when the page shows none", () => {
  expect(read("product-data-only").note).toBe("Text from JSON-LD");
  expect(read("product-specs").note).toBeNull();
});

const words = (text: string): string[] => text.match(/[\p{L}\p{N}_]+/gu) ?? [];

function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0;
  for (const word of part) {
    while (at < whole.length && whole[at] !== word) at += 1;
    if (at === whole.length) return false;
    at += 1;
  }
  return true;
}

/** Every word of the page that is text at all, in its order: pieces are joined as lines are, so none is glued. */
const pageWords = (html: string): string[] => {
  const tree = buildTree(html);
  return words(tree.text.map((text) => text.replace(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, "")).join(""))
    .concat()
    .filter((word) => word !== "");
};

describe("laws", () => {
  const word = fc.stringMatching(/^[a-z]{2,9}$/);
  const sentence = fc.array(word, { minLength: 3, maxLength: 25 }).map((list) => `${list.join(" ")}.`);
  const block: fc.Arbitrary<string> = fc.letrec<{ block: string }>((tie) => ({
    block: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      sentence.map((text) => ` <p>${text}</p> `),
      sentence.map((text) => ` <h2>${text}</h2> `),
      sentence.map((text) => ` <div class="related-posts"><a href="/x">${text}</a></div> `),
      sentence.map((text) => ` <li>${text} `),
      sentence.map((text) => ` <table><tr><td>${text}</td> <td>x</td></tr></table> `),
      fc.array(tie("block"), { maxLength: 4 }).map((list) => ` <div>${list.join(" ")}</div> `),
      fc.array(tie("block"), { maxLength: 4 }).map((list) => ` <section id="comments">${list.join(" ")} `),
      fc.constant(" <b><i><span> "),
      fc.constant(" </div></p></a> "),
    ),
  })).block;
  const page = fc
    .array(block, { maxLength: 12 })
    .map((list) => `<html><body>${list.join(" ")}</body></html>`);

  test("text is a subsequence of the page's words", () => {
    fc.assert(
      fc.property(page, (html) => {
        const { text } = readHtml(html, "https://a.example/b", NOW_MS);
        expect(isSubsequence(words(text), pageWords(html))).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test("a page cut off anywhere is read without a fault", () => {
    const whole = fixture("article-plain") + fixture("paywall-teaser");
    fc.assert(
      fc.property(fc.integer({ min: 0, max: whole.length }), (length) => {
        expect(typeof readHtml(whole.slice(0, length), "https://a.example/b", NOW_MS).text).toBe("string");
      }),
      { numRuns: 60 },
    );
  });

  test("bytes that are no page are read without a fault, and the same twice", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 400 }),
        fc.string({ maxLength: 40 }),
        (html, url) => {
          expect(readHtml(html, url, NOW_MS)).toEqual(readHtml(html, url, NOW_MS));
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe("hostile pages end in time", () => {
  const HOSTILE: readonly (readonly [name: string, page: () => string, capped: string | null])[] = [
    ["5,000 nested div", () => `${"<div>".repeat(5_000)}text${"</div>".repeat(5_000)}`, "depth"],
    ["50,000 nested div, closed", () => `${"<div>".repeat(50_000)}text${"</div>".repeat(50_000)}`, "depth"],
    ["12,000 unclosed b, i, a", () => "<b><i><a href=x>word ".repeat(12_000), null],
    ["12,000 unclosed spans with names", () => '<span class="related author">word '.repeat(12_000), "depth"],
    ["200,000 attributes", () => `<p ${"a=b class=x ".repeat(100_000)}>text</p>`, "attributes"],
    ["100,000 paragraphs", () => "<p>some words in a paragraph of no importance</p>".repeat(100_000), null],
    ["one paragraph of 14 MB", () => `<p>${"word and word, ".repeat(930_000)}</p>`, "text"],
    [
      "one paragraph of 14 MB in pieces",
      () => `<p>${"<span>Word</span><a href=x>And</a>".repeat(400_000)}</p>`,
      "nodes",
    ],
    ["50 MB of nested tags", () => "<div><ul><li>".repeat(3_800_000), "depth"],
    ["50 MB of end tags", () => `<p>text${"</div></span>".repeat(3_800_000)}`, null],
    ["one list of 100,000 open items", () => `<ul>${"<li>item".repeat(100_000)}`, null],
    [
      "named gates within gates",
      () => '<div class="paywall author date-published">x'.repeat(20_000),
      "depth",
    ],
    [
      "a JSON-LD of nested arrays",
      () => `<script type="application/ld+json">${"[".repeat(100_000)}</script><p>text</p>`,
      null,
    ],
    ["an open comment", () => `<p>text<!--${"-".repeat(5_000_000)}`, null],
    ["one tag without an end", () => `<p>text<a ${"x".repeat(5_000_000)}`, null],
    ["a class of a megabyte", () => `<div class="${"related ".repeat(130_000)}">text</div>`, null],
  ];
  test.each(HOSTILE)("%s", { timeout: 60_000 }, (_, page, capped) => {
    const html = page();
    const before = process.cpuUsage();
    const { note } = readHtml(html, "https://a.example/b", NOW_MS);
    const used = process.cpuUsage(before);
    // The child that reads pages is killed after 5 s of wall time; machines differ, so the bound is on CPU.
    expect((used.user + used.system) / 1_000_000).toBeLessThan(5);
    expect(note ?? "").toContain(capped ?? "");
  });
});

const textOf = (body: string): string => {
  const filler = "The old ferry of Lindholm left its berth for the last time on Tuesday. ".repeat(8);
  const page = `<html><body><main><h1>A page</h1><p>${filler}</p><p>${body} ${filler}</p></main></body></html>`;
  return readHtml(page, "https://www.harbour.example/page", NOW_MS).text;
};

test.each([
  ["Persian", "می\u200cخواهم کتاب\u200cها", "می\u200cخواهم کتاب\u200cها"],
  ["Hindi", "क्\u200dष और श्री", "क्\u200dष और श्री"],
  ["emoji", "👩\u200d💻 ❤️\u200d🔥 🏳️\u200d🌈", "👩\u200d💻 ❤️\u200d🔥 🏳️\u200d🌈"],
  ["Latin letters, where they are noise", "Auf\u200clage un\u200dseen", "Auflage unseen"],
])("joiners are kept in %s", (_, written, expected) => {
  expect(textOf(written)).toContain(expected);
});

test.each([
  ["<ruby>東京<rt>とうきょう</rt></ruby>へ行く", "東京 とうきょう へ行く"],
  ["<ruby>東京<rt>とうきょう</rt></ruby>。", "東京 とうきょう。"],
  ["<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>へ", "東京(とうきょう)へ"],
  ["<ruby>漢<rt>かん字<rt>じ</ruby>を", "漢 かん字 じ を"],
])("a reading in ruby is a word of its own: %s", (written, expected) => {
  expect(textOf(written)).toContain(expected);
});

test.each(["{{ post.title }}", "{{title}} – {{ date }}", '[vc_row][vc_column width="1/2"]', "[/vc_row]"])(
  "a template that was never filled in is no text: %s",
  (template) => {
    expect(textOf(`Two words.</p><p>${template}</p><p>`)).not.toContain(template);
  },
);

test("in code it is", () => {
  expect(textOf("As follows:</p><pre>{{ post.title }}</pre><p>")).toContain("{{ post.title }}");
});

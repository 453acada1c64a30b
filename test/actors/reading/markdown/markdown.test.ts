/** A page's text as Markdown: a table of quirks, and laws that mdast, which parses Markdown by the standard, judges. */
import fc from "fast-check";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readHtml } from "../../../../actors/reading/article/article.ts";
import { pdfMarkdown } from "../../../../actors/reading/markdown/pdf.ts";
import { wcxbPages } from "../../../../bench/extraction.score.ts";

const NOW_MS = Date.UTC(2026, 10, 21);
const URL_HERE = "https://harbour.example/town/ferry?day=1";
const PROSE =
  "The boats come in at dawn, and everybody in the harbour knows what each of them has brought from the sea.";
const AROUND = `<p>${PROSE} One.</p><p>${PROSE} Two.</p><p>${PROSE} Three.</p>`;

const read = (body: string) =>
  readHtml(`<html><body><article>${body}</article></body></html>`, URL_HERE, NOW_MS, {
    formats: true,
    titled: false,
  });

/** The Markdown of a fragment that stands within an article. */
function markdownOf(fragment: string): string {
  const { markdown } = read(
    `${AROUND}${fragment}${AROUND.replaceAll("Two", "Four").replaceAll("One", "Five")}`,
  ).formats!;
  const from = markdown!.indexOf("Three.\n\n") + 8;
  return markdown!.slice(from, markdown!.indexOf(`\n\n${PROSE} Five.`));
}

interface MarkdownNode {
  readonly type: string;
  readonly value?: string;
  readonly url?: string;
  readonly children?: readonly MarkdownNode[];
}

const parse = (markdown: string): MarkdownNode =>
  fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });

const INLINE = new Set(["strong", "emphasis", "link", "delete"]);

function visible(node: MarkdownNode): string {
  if (node.type === "image") return "";
  if (node.type === "break") return " ";
  const own = (node.value ?? "") + (node.children ?? []).map(visible).join("");
  return INLINE.has(node.type) || node.type === "text" || node.type === "inlineCode" ? own : `${own} `;
}

const nodesOf = (node: MarkdownNode): MarkdownNode[] => [node, ...(node.children ?? []).flatMap(nodesOf)];
/** Words only: superscripts stand between carets, which mdast does not know. */
const words = (text: string): string => (text.replaceAll("^", "").match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");

const LONG = "a sentence that is long enough to be read as prose by everybody who reads it here today";

const WORDS_BELOW = "The pier is open, and the boats wait there.";

const QUIRKS: readonly (readonly [name: string, html: string, markdown: string])[] = [
  ["headings", `<h2>The <b>new</b> ferry #</h2><p>${LONG}</p>`, `## The new ferry \\#\n\n${LONG}`],
  [
    "emphasis",
    `<p>${LONG} <b>bold</b> and <i>slanted</i> and <s>gone</s></p>`,
    `${LONG} **bold** and *slanted* and ~~gone~~`,
  ],
  ["spaces inside marks", `<p>${LONG}<b> bold </b>end</p>`, `${LONG} **bold** end`],
  ["marks that CommonMark would not close", `<p>${LONG}:<b>bold:</b>end</p>`, `${LONG}:bold:end`],
  [
    "an element that is never closed",
    `<p>${LONG} <b>bold</p><p>${LONG} plain</p>`,
    `${LONG} **bold**\n\n${LONG} plain`,
  ],
  ["a superscript", `<p>${LONG} 10<sup>2</sup></p>`, `${LONG} 10^2^`],
  ["code", `<p>${LONG} <code>a\`b</code> and <kbd>x</kbd></p>`, `${LONG} \`\`a\`b\`\` and \`x\``],
  [
    "a link",
    `<p>${LONG} <a href="../map (1).html">the <i>map</i></a></p>`,
    `${LONG} [the *map*](https://harbour.example/map%20%281%29.html)`,
  ],
  ["a link to run a script", `<p>${LONG} <a href="javascript:alert(1)">press</a></p>`, `${LONG} press`],
  [
    "an address for mail",
    `<p>${LONG} <a href="mailto:quay@harbour.example">the quay</a></p>`,
    `${LONG} [the quay](mailto:quay@harbour.example)`,
  ],
  ["a button for mail to nobody", `<p>${LONG} <a href="mailto:?subject=Ferry">send</a></p>`, `${LONG} send`],
  ["a link within the page", `<p>${LONG} <a href="#note">note</a></p>`, `${LONG} note`],
  [
    "a link with a password",
    `<p>${LONG} <a href="https://me:secret@x.example/">there</a></p>`,
    `${LONG} [there](https://x.example/)`,
  ],
  [
    "an exclamation before a link",
    `<p>${LONG} Go!<a href="/a">now</a></p>`,
    `${LONG} Go\\![now](https://harbour.example/a)`,
  ],
  ["an address in the text", `<p>${LONG} https://x.example/a_b_c</p>`, `${LONG} <https://x.example/a_b_c>`],
  [
    "an address behind a digit",
    `<p>${LONG} <b>0<b>https://x.example/*&lt;i></b></b></p>`,
    `${LONG} **0https\\://x.example/\\*\\<i>**`,
  ],
  [
    "an address of which a part is bold",
    `<p>${LONG} http<b>://x.example/*&lt;i></b> www<b>.x.example/*&lt;i></b></p>`,
    `${LONG} http\\://x.example/\\*\\<i> www\\.x.example/\\*\\<i>`,
  ],
  [
    "a row of one cell",
    `<p>${LONG}</p><table><tr><th>Day</th><th>Fare</th></tr><tr><td colspan="2">Winter</td></tr><tr><td>Monday</td><td>4.50</td></tr></table><p>${LONG} again</p>`,
    `${LONG}\n\n| Day | Fare |\n| --- | --- |\n| Winter |  |\n| Monday | 4.50 |\n\n${LONG} again`,
  ],
  [
    "a table of lists",
    `<p>${LONG}</p><table><tr><th>For</th><th>Against</th></tr><tr><td><ul><li>cheap</li><li>quick</li></ul></td><td><ul><li>wet</li><li>loud</li></ul></td></tr></table><p>${LONG} again</p>`,
    `${LONG}\n\nFor Against\n\n- cheap\n- quick\n\n* wet\n* loud\n\n${LONG} again`,
  ],
  [
    "titles of cards",
    `<h3><a href="/north">North</a></h3><p>${WORDS_BELOW}</p><h3><a href="/south">South</a></h3><p>${WORDS_BELOW} too</p><h2>Fares</h2><p>${LONG}</p>`,
    `[North](https://harbour.example/north)\n\n${WORDS_BELOW}\n\n[South](https://harbour.example/south)\n\n${WORDS_BELOW} too\n\n## Fares\n\n${LONG}`,
  ],
  [
    "headings that are links to a part of the page",
    `<h3><a href="#north">North</a></h3><p>${WORDS_BELOW}</p><h3><a href="/town/ferry?day=1#south">South</a></h3><p>${WORDS_BELOW} too</p>`,
    `### North\n\n${WORDS_BELOW}\n\n### [South](https://harbour.example/town/ferry?day=1#south)\n\n${WORDS_BELOW} too`,
  ],
  [
    "headings that are links, above a section",
    `<h3><a href="/north">North</a></h3><p>${LONG}</p><h3><a href="/south">South</a></h3><p>${LONG} too</p>`,
    `### [North](https://harbour.example/north)\n\n${LONG}\n\n### [South](https://harbour.example/south)\n\n${LONG} too`,
  ],
  [
    "an image",
    `<p>${LONG}</p><figure><img alt="The quay" src="quay.jpg"></figure><p>${LONG} again</p>`,
    `${LONG}\n\n![The quay](https://harbour.example/town/quay.jpg)\n\n${LONG} again`,
  ],
  [
    "characters of Markdown",
    `<p>*not* _not_ \`not\` [not](not) # &lt;b&gt; &amp;amp; ${LONG}</p>`,
    `\\*not\\* \\_not\\_ \\\`not\\\` \\[not\\](not) # \\<b> \\&amp; ${LONG}`,
  ],
  [
    "starts of blocks",
    `<p>1. ${LONG}</p><p>- ${LONG}</p><p># ${LONG}</p><p>&gt; ${LONG}</p>`,
    `1\\. ${LONG}\n\n\\- ${LONG}\n\n\\# ${LONG}\n\n\\> ${LONG}`,
  ],
  [
    "code with a block for each line",
    '<pre><code class="language-js"><div class="line">let a = 1;</div><div class="line">  let b;</div></code></pre>',
    "```js\nlet a = 1;\n  let b;\n```",
  ],
  [
    "code with a cell for each line",
    '<table><tr><td class="blob-num">1</td><td class="blob-code blob-code-inner">if (boats) {</td></tr>\n<tr><td class="blob-num">2</td><td class="blob-code">\n</td></tr>\n<tr><td class="blob-num">3</td><td class="blob-code">  <span>land</span>(boats);</td></tr></table>',
    "```\nif (boats) {\n\n  land(boats);\n```",
  ],
  [
    "a table with a cell of code",
    '<table><tr><td>Land</td><td class="blob-code">land(boats)</td></tr><tr><td>Sail</td><td class="blob-code">sail(boats)</td></tr></table>',
    "| Land | land(boats) |\n| --- | --- |\n| Sail | sail(boats) |",
  ],
  [
    "text behind a table in the block that contains it",
    `<div><table><tr><td>Draught</td><td>2 m</td></tr><tr><td>Beam</td><td>4 m</td></tr></table>${LONG}</div>`,
    `| Draught | 2 m |\n| --- | --- |\n| Beam | 4 m |\n\n${LONG}`,
  ],
  [
    "code whose style keeps its white space",
    `<p>${LONG}</p><div><code style="color: red; white-space: pre"><span>if (boats) {</span>\n  land(boats);\n}</code></div><p>${LONG} again</p>`,
    `${LONG}\n\n\`\`\`\nif (boats) {\n  land(boats);\n}\n\`\`\`\n\n${LONG} again`,
  ],
  [
    "code in a sentence whose style keeps its white space",
    `<p>${LONG} <code style="white-space:pre">a  b</code></p>`,
    `${LONG} \`a b\``,
  ],
  [
    "code whose figure names its language",
    '<figure data-language="Rust"><div><div><div><pre><code>let a = 1;</code></pre></div></div></div></figure>',
    "```rust\nlet a = 1;\n```",
  ],
  [
    "code that names its language itself",
    '<pre data-lang="toml"><code>a = 1</code></pre>',
    "```toml\na = 1\n```",
  ],
  [
    "paragraphs behind an empty block of code",
    `<pre></pre><p>${LONG}   one</p><div>${LONG}   two</div>`,
    `${LONG} one\n\n${LONG} two`,
  ],
  [
    "code with an item for each line",
    "<pre><ol><li>let a = 1;</li><li>let b;</li></ol></pre>",
    "```\nlet a = 1;\nlet b;\n```",
  ],
  [
    "numbers of lines beside code",
    '<pre><span class="lineno">1</span>let a = 1;\n<span class="lineno">2</span>let b;\n</pre>',
    "```\nlet a = 1;\nlet b;\n```",
  ],
  [
    "a column with the numbers of lines",
    '<figure class="highlight js"><table><tr><td class="gutter"><pre>1\n2</pre></td><td class="code"><pre>let a = 1;\nlet b;</pre></td></tr></table></figure>',
    "```\nlet a = 1;\nlet b;\n```",
  ],
  [
    "lines as shiki marks them",
    '<pre class="shiki"><code><span class="line"><span>let a = 1;</span></span>\n<span class="line"><span>let b;</span></span></code></pre>',
    "```\nlet a = 1;\nlet b;\n```",
  ],
  [
    "code whose class speaks of numbers",
    '<pre><code class="language-js line-numbers lineno">let a = 1;\nlet b;</code></pre>',
    "```js\nlet a = 1;\nlet b;\n```",
  ],
  [
    "a heading in a header of a table",
    `<p>${LONG}</p><table><tr><th colspan="2"><h3>Sizes</h3></th></tr><tr><td>Draught</td><td>2 m</td></tr></table><p>${LONG} again</p>`,
    `${LONG}\n\n| Sizes |  |\n| --- | --- |\n| Draught | 2 m |\n\n${LONG} again`,
  ],
  [
    "remarks of 1,200 characters in a table with headers",
    `<p>${LONG}</p><table><tr><th>Day</th><th>Remarks</th></tr><tr><td>Monday</td><td>${"Tide ".repeat(240)}</td></tr></table><p>${LONG} again</p>`,
    `${LONG}\n\n| Day | Remarks |\n| --- | --- |\n| Monday | ${"Tide ".repeat(240).trim()} |\n\n${LONG} again`,
  ],
  [
    "posts that a table lays out",
    `<p>${LONG}</p><table>${["Ann", "Ben", "Cy"].map((name) => `<tr><td>1.</td><td>by</td><td>${name}</td></tr><tr><td>${name} writes of boats</td></tr>`).join("")}</table><p>${LONG} again</p>`,
    `${LONG}\n\n${["Ann", "Ben", "Cy"].map((name) => `1\\. by ${name}\n\n${name} writes of boats`).join("\n\n")}\n\n${LONG} again`,
  ],
  ["line breaks", `<p>${LONG}<br>${LONG} again</p>`, `${LONG}\\\n${LONG} again`],
  [
    "nested lists",
    `<ul><li>${LONG}<ol start="3"><li>${LONG} three</li><li>${LONG} four</li></ol></li><li>${LONG} last</li></ul>`,
    `- ${LONG}\n\n  3. ${LONG} three\n  4. ${LONG} four\n- ${LONG} last`,
  ],
  [
    "a numbered list that begins an item",
    `<ul><li>${LONG}<ul><li><ol start="8"><li>${LONG} eight</li></ol></li></ul></li></ul>`,
    `- ${LONG}\n\n  - 8. ${LONG} eight`,
  ],
  [
    "an item of two paragraphs",
    `<ol><li><p>${LONG}</p><p>${LONG} more</p></li><li><p>${LONG} two</p></li></ol>`,
    `1. ${LONG}\n\n   ${LONG} more\n\n2. ${LONG} two`.replace("more\n\n2.", "more\n2."),
  ],
  [
    "two lists beside each other",
    `<ul><li>${LONG}</li></ul><ul><li>${LONG} b</li></ul>`,
    `- ${LONG}\n\n* ${LONG} b`,
  ],
  [
    "a quote",
    `<blockquote><p>${LONG}</p><ul><li>${LONG} b</li></ul></blockquote>`,
    `> ${LONG}\n>\n> - ${LONG} b`,
  ],
  [
    "a block of code",
    `<pre><code class="hljs language-js">let a = "\`\`\`";\n  if (a &lt; b) {}\n</code></pre>`,
    `\`\`\`\`js\nlet a = "\`\`\`";\n  if (a < b) {}\n\`\`\`\``,
  ],
  [
    "a table with spans",
    `<table><tr><th>Ferry</th><th>Days</th><th>Fare</th></tr><tr><td rowspan="2">North | South</td><td colspan="2">every day of the week</td></tr><tr><td>Sunday</td><td><b>4</b></td></tr></table>`,
    `| Ferry | Days | Fare |\n| --- | --- | --- |\n| North \\| South | every day of the week | every day of the week |\n| North \\| South | Sunday | **4** |`,
  ],
  [
    "a table that lays a page out",
    `<table role="presentation"><tr><td>${LONG}</td><td>${LONG} b</td></tr></table>`,
    `${LONG} ${LONG} b`,
  ],
];

test.each(QUIRKS)("%s", (_, html, markdown) => {
  expect(markdownOf(html)).toBe(markdown);
});

// Parts of pages, in any order and depth.
const TEXT = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      "tide",
      "quay ",
      " boat",
      "a_b",
      "2.",
      "x * y",
      "`tick`",
      "[ref]",
      "#",
      "&lt;i>",
      "!",
      "|",
      "~",
      "\\",
      "https://x.example/a_b*",
      "www.x.example",
      "café",
      "港",
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }).map((text) => text.replace(/[<&\p{Cc}]/gu, "")) },
);
const { block } = fc.letrec<{ inline: string; block: string }>((tie) => ({
  inline: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    TEXT,
    fc
      .tuple(
        fc.constantFrom("b", "i", "em", "s", "code", "sup", "span", 'a href="/x"'),
        fc.array(tie("inline"), { maxLength: 3 }),
      )
      .map(([tag, inside]) => `<${tag}>${inside.join("")}</${tag.split(" ")[0]}>`),
    fc.constant("<br>"),
    fc.constant("<b>"),
  ),
  block: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc
      .tuple(fc.constantFrom("p", "h2", "h3", "div"), fc.array(tie("inline"), { maxLength: 5 }))
      .map(([tag, inside]) => `<${tag}>${inside.join("")} ${LONG}</${tag}>`),
    fc.array(tie("inline"), { maxLength: 3 }).map((inside) => `<pre>${LONG}\n${inside.join("\n")}</pre>`),
    fc
      .tuple(
        fc.constantFrom("ul", "ol", 'ol start="7"'),
        fc.array(fc.array(tie("block"), { maxLength: 2 }), { maxLength: 3 }),
      )
      .map(
        ([tag, items]) =>
          `<${tag}>${items.map((item) => `<li>${LONG} ${item.join("")}</li>`).join("")}</${tag.split(" ")[0]}>`,
      ),
    fc.array(tie("block"), { maxLength: 2 }).map((inside) => `<blockquote>${inside.join("")}</blockquote>`),
    fc
      .array(fc.array(tie("inline"), { minLength: 2, maxLength: 2 }), { minLength: 2, maxLength: 3 })
      .map(
        (rows) =>
          `<table>${rows.map((row) => `<tr>${row.map((cell) => `<td>cell ${cell}</td>`).join("")}</tr>`).join("")}</table>`,
      ),
  ),
}));

test("read by the standard it has the words of the text in their order, and no HTML", () => {
  fc.assert(
    fc.property(fc.array(block, { minLength: 1, maxLength: 4 }), (blocks) => {
      const { text, formats } = read(AROUND + blocks.join("") + AROUND);
      const parsed = parse(formats!.markdown!);
      expect(words(visible(parsed))).toBe(words(text));
      expect(nodesOf(parsed).filter(({ type }) => type === "html")).toEqual([]);
    }),
    { numRuns: 150 },
  );
});

test("the text and the metadata are the same with formats and without", () => {
  fc.assert(
    fc.property(fc.array(block, { maxLength: 4 }), (blocks) => {
      const html = `<body><article>${AROUND}${blocks.join("")}</article></body>`;
      const { formats: _, ...with_formats } = readHtml(html, URL_HERE, NOW_MS, { formats: true });
      expect(with_formats).toEqual(readHtml(html, URL_HERE, NOW_MS));
    }),
    { numRuns: 50 },
  );
});

/** Whether all words stand in the other text in their order. */
function isWithin(some: string, all: string): boolean {
  const wanted = some.split(" ");
  let next = 0;
  for (const word of all.split(" ")) if (word === wanted[next]) next += 1;
  return some === "" || next === wanted.length;
}

describe("the title of the page", () => {
  const markdownOfPage = (head: string, body: string, options = {}) =>
    readHtml(`<html><head>${head}</head><body>${body}</body></html>`, URL_HERE, NOW_MS, {
      formats: true,
      ...options,
    }).formats!.markdown;
  const TITLE = "<title>A ferry for Oskerry # | Harbour News</title>";
  const FERRY = "# A ferry for Oskerry";
  const timesIn = (markdown: string | null): number => markdown!.split("A ferry for Oskerry").length - 1;

  test.each([
    ["as the heading of the article", `<article><h1>A ferry for Oskerry</h1>${AROUND}</article>`],
    ["as a smaller heading", `<article><h2>A ferry for <b>Oskerry</b></h2>${AROUND}</article>`],
    [
      "above the article, behind its date",
      `<h1>A ferry for Oskerry</h1><article><p>4 May 2026</p>${AROUND}</article>`,
    ],
    ["in a link", `<article><h1><a href="/ferry">A ferry for Oskerry</a></h1>${AROUND}</article>`],
  ])("stands above the text once: %s", (_, body) => {
    const markdown = markdownOfPage(TITLE, body);
    expect({ start: markdown!.split("\n\n")[0], times: timesIn(markdown) }).toEqual({
      start: FERRY,
      times: 1,
    });
  });

  test("a sentence of the text that says it stays", () => {
    const body = `<h1>A ferry for Oskerry</h1><article>${AROUND}<p>A ferry for Oskerry</p>${AROUND.replaceAll("One", "Six")}</article>`;
    expect(timesIn(markdownOfPage(TITLE, body))).toBe(2);
  });

  test("is escaped, and stands above a text that comes from data", () => {
    const story = { "@type": "NewsArticle", headline: "* One [two]", articleBody: `${PROSE} `.repeat(4) };
    const head = `<script type="application/ld+json">${JSON.stringify(story)}</script>`;
    expect(markdownOfPage(head, "")).toMatch(/^# \\\* One \\\[two\\\]\n\nThe boats/);
  });

  test("is not there for a page without text", () => {
    expect(markdownOfPage(TITLE, "")).toBeNull();
  });
});

describe("formulas", () => {
  const SUM = "\\sum_{i=1}^n x_i * y^*";
  const MATHML = "<mrow><mi>x</mi><mo>=</mo><mn>2</mn></mrow>";
  const annotated = `<math><semantics>${MATHML}<annotation encoding="application/x-tex">${SUM}</annotation></semantics></math>`;
  test.each([
    ["by its alternative text", `<math alttext="{\\displaystyle ${SUM}}">${MATHML}</math>`],
    ["by its annotation", annotated],
    [
      "whose picture is shown",
      `<span class="mwe-math-element"><span style="display: none;">${annotated}</span><img src="/x.svg" aria-hidden="true" alt="${SUM}"></span>`,
    ],
    [
      "whose letters are drawn beside it",
      `<span class="katex"><span class="katex-mathml">${annotated}</span><span class="katex-html" aria-hidden="true">xy2</span></span>`,
    ],
  ])("a formula %s is TeX in text and Markdown", (_, html) => {
    const fragment = `<p>${LONG} where ${html} holds.</p>`;
    expect(markdownOf(fragment)).toBe(`${LONG} where $${SUM}$ holds.`);
    expect(read(AROUND + fragment + AROUND).text).toContain(`where $${SUM}$ holds.`);
  });
  test("a pipe in a cell's formula ends no cell", () => {
    const table = `<table><tr><th>Name</th><th>Formula</th></tr><tr><td>Size</td><td><math alttext="|x|"></math></td></tr></table>`;
    expect(markdownOf(table)).toContain("| Size | $\\vert x\\vert $ |");
  });
  test.each([
    ["without TeX", `<math>${MATHML}</math>`],
    ["that would end before its end", '<math alttext="a $ b"></math>'],
    [
      "longer than 2,048 characters",
      `<math><annotation encoding="application/x-tex">${"x+".repeat(2_000)}</annotation></math>`,
    ],
  ])("a formula %s is left out", (_, html) => {
    expect(markdownOf(`<p>${LONG} where ${html} holds.</p>`)).toBe(`${LONG} where holds.`);
  });
});

test("captions of pictures and tables stay", () => {
  const picture = `<figure><img alt="The quay" src="quay.jpg"><figcaption>The quay at <b>dawn</b></figcaption></figure>`;
  expect(markdownOf(`${picture}<p>${LONG}</p>`)).toBe(
    `![The quay](https://harbour.example/town/quay.jpg)\n\nThe quay at **dawn**\n\n${LONG}`,
  );
  const table = `<table><caption>Fares by day</caption><tr><th>Day</th><th>Fare</th></tr><tr><td>Sunday</td><td>4</td></tr></table>`;
  expect(markdownOf(`<p>${LONG}</p>${table}`)).toBe(
    `${LONG}\n\nFares by day\n\n| Day | Fare |\n| --- | --- |\n| Sunday | 4 |`,
  );
});

describe("headings in a table", () => {
  const FARES = "<tr><td>Sunday</td><td>4</td></tr><tr><td>Monday</td><td>3</td></tr>";
  test("that are alone in their cells are headers", () => {
    const table = `<table><tr><td><h3>Day</h3></td><td> <h3>Fare</h3> </td></tr>${FARES}</table>`;
    expect(markdownOf(table)).toBe("| Day | Fare |\n| --- | --- |\n| Sunday | 4 |\n| Monday | 3 |");
  });
  test("in its caption stand above it", () => {
    const table = `<table><caption><h2>Fares</h2></caption><tr><th>Day</th><th>Fare</th></tr>${FARES}</table>`;
    expect(markdownOf(table)).toMatch(/^## Fares\n\n\| Day \| Fare \|/);
  });
  test("beside other text are headings of a layout", () => {
    const table = `<table><tr><td><h3>Ferry</h3><p>${LONG}</p></td><td><h3>Pier</h3><p>${LONG}</p></td></tr>${FARES}</table>`;
    expect(markdownOf(table)).toMatch(/^### Ferry\n\n/);
  });
});

test("a table without headers whose rows alternate lays a list out, also where every second row is no text", () => {
  const stories = Array.from(
    { length: 12 },
    (_, i) =>
      `<tr><td>${i + 1}.</td><td></td><td><a href="https://x.example/${i}">The boats come in at dawn, number ${i}</a> and everybody knows it, as they say here</td></tr><tr><td colspan="2"></td><td hidden>9 hours ago</td></tr><tr></tr>`,
  );
  expect(markdownOf(`<table>${stories.join("")}</table>`)).not.toContain("|");
});

describe("a text area", () => {
  const SAMPLE = "let low = 1;\nlet high = 8;\nwhile (low &lt; high) low += step;";
  test("outside of forms is a block of code, in the text too", () => {
    const area = `<textarea rows="3" readonly>\n${SAMPLE}\n</textarea>`;
    expect(markdownOf(area)).toBe(`\`\`\`\n${SAMPLE.replace("&lt;", "<")}\n\`\`\``);
    expect(read(AROUND + area + AROUND).text).toContain("while (low < high) low += step;");
  });
  test.each([
    ["in a form", `<form><textarea name="comment">${SAMPLE}</textarea></form>`],
    ["that is hidden", `<textarea hidden>${SAMPLE}</textarea>`],
    ["that a style hides", `<textarea style="display: none">${SAMPLE}</textarea>`],
    ["of one line", "<textarea>https://harbour.example/town/ferry</textarea>"],
    [
      "to be copied into a page",
      `<textarea readonly>&lt;iframe src="/v">\n${SAMPLE}\n&lt;/iframe></textarea>`,
    ],
    ["of a template", `<textarea>{{#each ships}}\n${SAMPLE}\n{{/each}}</textarea>`],
    ["of more than 20,000 characters", `<textarea>${`${SAMPLE}\n`.repeat(400)}</textarea>`],
  ])("%s is not there", (_, area) => {
    const { text, formats } = read(AROUND + area + AROUND);
    expect({ text: text.includes("low"), markdown: formats!.markdown!.includes("low") }).toEqual({
      text: false,
      markdown: false,
    });
  });
});

describe("pictures in cells without text", () => {
  const cellOf = (cell: string): string => {
    const row = (name: string, inside: string): string => `<tr><td>${name}</td><td>${inside}</td></tr>`;
    const table = `<table><tr><th>Feature</th><th>Basic</th></tr>${row("Chat", cell)}${row("Video", "later")}</table>`;
    return /^\| Chat \| ?(.*?) ?\|$/m.exec(markdownOf(table))?.[1] ?? "no such row";
  };
  test.each([
    ["its alternative text", '<img src="/a.png" alt="Partly | soon">', "Partly \\| soon"],
    ["a tick by its alternative text", '<img src="/a.png" alt="Check mark">', "Yes"],
    ["a tick by its file", '<img alt="" src="/uploads/2018/tick.png">', "Yes"],
    ["a cross by its file", '<img alt="" src="/uploads/cross-32.png?v=2">', "No"],
    ["a tick of an icon font", '<i class="fa-solid fa-check text-primary"></i>', "Yes"],
    ["a cross of an icon font", '<i class="fas fa-times" aria-hidden="true"></i>', "No"],
    ["a tick in a square of an icon font", '<i class="fa-duotone fa-2xl fa-square-check"></i>', "Yes"],
    ["a tick by the class of an element", '<div class="checkmark"></div>', "Yes"],
    ["the label of an element", '<span role="img" aria-label="Limited"></span>', "Limited"],
    ["the label of an svg", '<svg aria-label="Included"><path d="M0"/></svg>', "Included"],
    ["the title in an svg", "<svg><title>Not &amp; never</title><path d='M0'/></svg>", "Not & never"],
    ["a tick by the class of an svg", '<svg class="icon icon-x"><path d="M0"/></svg>', "No"],
    ["two of them", '<img src="/v.png" alt="Visa"> <img src="/m.png" alt="Maestro">', "Visa, Maestro"],
    ["nothing for a spacer", '<img src="/clear.gif" alt="" width="1">', ""],
    ["nothing for an icon without a meaning", '<i class="fa fa-anchor"></i>', ""],
    ["the text of a cell that has one", '<i class="fa fa-check"></i> in June', "in June"],
  ])("%s", (_, cell, written) => {
    expect(cellOf(cell)).toBe(written);
  });

  test("stand in no cell beside theirs", () => {
    const cells = '<td><i class="fa fa-check"></i></td><td></td><td><svg aria-label="Soon"></svg></td>';
    const table = `<table><tr><th>Name</th><th>A</th><th>B</th><th>C</th></tr><tr><td>Chat</td>${cells}</tr></table>`;
    expect(markdownOf(table)).toContain("| Chat | Yes |  | Soon |");
  });
});

const ROOT = "../shared/fixtures/pages";
if (!existsSync(ROOT)) console.log("SKIPPED Markdown of real pages: ../shared/fixtures is not there");
const SAMPLED = Number(process.env["MARKDOWN_SAMPLE"] ?? 24);
test.skipIf(!existsSync(ROOT))("real pages keep their words", { timeout: 300_000 }, () => {
  const changed: string[] = [];
  for (const [i, page] of [...wcxbPages(ROOT)].entries()) {
    // The parser takes far longer than what it judges.
    if (i % SAMPLED !== 0 || /(?:col|row)span/i.test(page.html)) continue;
    const { text, formats } = readHtml(page.html, page.url, NOW_MS, { formats: true, titled: false });
    // Captions of pictures are in Markdown only.
    if (!isWithin(words(text), words(visible(parse(formats!.markdown ?? ""))))) changed.push(page.id);
  }
  expect(changed).toEqual([]);
});

describe("hostile pages", () => {
  const CASES: readonly (readonly [name: string, html: string])[] = [
    ["lists nested 100,000 deep", "<ul><li>deep ".repeat(100_000)],
    ["a million formatting elements", `<p>${"<b>x".repeat(1_000_000)}`],
    ["a table of 10^6 cells", `<table>${`<tr>${"<td>x".repeat(1_000)}`.repeat(1_000)}</table>`],
    ["spans without end", `<table>${`<tr><td colspan="99999" rowspan="99999">x<td>y`.repeat(2_000)}</table>`],
    ["backticks, brackets and pipes", `<p>${"`[|".repeat(500_000)}</p>`],
    ["a fence of a million backticks", `<pre>${"`".repeat(1_000_000)}</pre>`],
    ["quotes in quotes", "<blockquote><p>word ".repeat(50_000)],
    ["links of one paragraph", `<p>${'<a href="/a">a</a> '.repeat(60_000)}</p>`],
  ];
  test.each(CASES)("%s", { timeout: 60_000 }, (_, html) => {
    const { formats } = read(AROUND + html);
    expect(formats!.markdown!.length).toBeLessThanOrEqual(10_000_000);
  });
});

describe("links and images", () => {
  const HTML = `<base href="/docs/"><a href="a.html" rel="Next nofollow"> The <b>next</b>
    page</a><a href="mailto:a@b.example">mail</a><a href="javascript:0">no</a><a name="x">no</a>
    <img src="data:image/gif;base64,R0" data-src="late.png" alt="Late" width="640" height="480px">
    <img src="x.png" width="50%"><img src="file:///etc/passwd">`;
  const { formats } = readHtml(HTML, URL_HERE, NOW_MS, { formats: true });
  test("links: absolute http addresses in order", () => {
    expect(formats!.links).toEqual([
      { url: "https://harbour.example/docs/a.html", text: "The next page", rel: "next nofollow" },
    ]);
  });
  test("links: parts of an image map, by the words that stand for them", () => {
    const map = `<img src="quay.png" usemap="#quay"><map name="quay"><area shape="rect" href="/north" alt="North quay">
      <area href="/south" rel="nofollow"><area nohref alt="none"></map><p>Behind the map.</p>`;
    const page = readHtml(map, URL_HERE, NOW_MS, { formats: true, followed: true });
    expect(page.formats!.links).toEqual([
      { url: "https://harbour.example/north", text: "North quay", rel: null },
      { url: "https://harbour.example/south", text: "", rel: "nofollow" },
    ]);
    expect(page.followed!.links.map(({ url }) => url)).toEqual([
      "https://harbour.example/north",
      "https://harbour.example/south",
    ]);
    expect(page.text).toContain("Behind the map.");
  });
  test("images: the address that is loaded, and the size in pixels", () => {
    expect(formats!.images).toEqual([
      { url: "https://harbour.example/docs/late.png", alt: "Late", width: 640, height: 480 },
      { url: "https://harbour.example/docs/x.png", alt: null, width: null, height: null },
    ]);
  });
  const relationsOf = (html: string) =>
    readHtml(html, URL_HERE, NOW_MS, { formats: true }).formats!.relations!;
  test("relations: the alternates and the next page that elements of the head name", () => {
    const head = `<base href="/docs/"><link rel="alternate" hreflang="de" href="de.html">
      <link rel="Alternate" type="application/rss+xml" title="News" href="https://feeds.example/news">
      <link rel="alternate stylesheet" href="dark.css"><link rel="alternate" href="android-app://harbour">
      <link rel="prev" href="1.html"><link rel="next" href="3.html">`;
    expect(relationsOf(`${head}<a rel="next" href="other.html">Next</a>`)).toEqual({
      next_url: "https://harbour.example/docs/3.html",
      alternates: [
        { url: "https://harbour.example/docs/de.html", language: "de", type: null },
        { url: "https://feeds.example/news", language: null, type: "application/rss+xml" },
      ],
      robots: [],
    });
  });
  test("relations: what robots elements ask, also those for one robot", () => {
    const head = `<meta name="Robots" content="noindex, max-snippet:20"><meta name="googlebot" content="NoFollow">
      <meta name="description" content="how to use noindex"><meta name="keywords" content="">`;
    expect(relationsOf(`${head}<p>Text</p>`).robots).toEqual([
      "noindex, max-snippet:20",
      "googlebot: NoFollow",
    ]);
  });
  test("relations: without such an element a link says what is next, and nothing is null and empty", () => {
    expect(formats!.relations).toEqual({
      next_url: "https://harbour.example/docs/a.html",
      alternates: [],
      robots: [],
    });
    expect(relationsOf("<p>Alone</p>")).toEqual({ next_url: null, alternates: [], robots: [] });
  });
  test("relations: at most 200 alternates", () => {
    const many = '<link rel="alternate" hreflang="de" href="/de">'.repeat(300);
    expect(relationsOf(many).alternates).toHaveLength(200);
  });
  test("at most 5,000 and 1,000", () => {
    const many = readHtml(
      `${'<a href="/x">x</a>'.repeat(6_000)}${'<img src="/y">'.repeat(2_000)}`,
      URL_HERE,
      NOW_MS,
      {
        formats: true,
      },
    );
    expect([many.formats!.links.length, many.formats!.images.length]).toEqual([5_000, 1_000]);
  });
});

test("a PDF: larger fonts are headings, pages are apart", () => {
  const line = (text: string, size = 10) => ({ text, size, open: false });
  const pages = [
    [
      line("Annual Report", 24),
      line("Results", 14),
      line("- We sold more"),
      line("than before."),
      line(""),
      line("Next."),
    ],
    [line("Outlook", 14), line("It will be fine.")],
  ];
  expect(pdfMarkdown(pages)).toBe(
    "# Annual Report\n\n## Results\n\n\\- We sold more\nthan before.\n\nNext.\n\n---\n\n## Outlook\n\nIt will be fine.",
  );
  expect(pdfMarkdown([[], []])).toBeNull();
});

describe("a PDF whose lines have places", () => {
  const at = (y: number, text: string, { left = 50, right = 300, size = 10 } = {}) => ({
    text, size, open: false, left, right, y,
  }); // prettier-ignore

  test.each([
    [
      "lines of a paragraph are joined, and a hyphen at their end goes",
      [
        at(700, "The harbour office is respon-"),
        at(688, "sible for the cranes, and for"),
        at(676, "the ferries.", { right: 120 }),
      ],
      "The harbour office is responsible for the cranes, and for the ferries.",
    ],
    [
      "a hyphen stays in a word that the document has with it, or both parts of",
      [
        at(700, "The well-known line, a north-"),
        at(688, "south line, is well-"),
        at(676, "known; north winds and south winds."),
      ],
      "The well-known line, a north-south line, is well-known; north winds and south winds.",
    ],
    [
      "a gap, an indented line and an item begin a paragraph",
      [
        at(700, "One line"),
        at(670, "Another line"),
        at(658, "An indented one", { left: 62 }),
        at(646, "• an item"),
      ],
      "One line\n\nAnother line\n\nAn indented one\n\n• an item",
    ],
    [
      "short lines of an address stay apart",
      [
        at(700, "Luca Berg", { right: 90 }),
        at(688, "Harbour Street 4", { right: 120 }),
        at(650, "Dear Sir, this line is as wide as the page"),
      ],
      "Luca Berg\nHarbour Street 4\n\nDear Sir, this line is as wide as the page",
    ],
  ])("%s", (_, lines, markdown) => {
    expect(pdfMarkdown([lines])).toBe(markdown);
  });

  test("rows of columns are a table", () => {
    const row = (y: number, ...texts: string[]) => ({
      ...at(y, texts.join(" ")),
      cells: texts.map((text, i) => ({ text, left: 50 + 100 * i, right: 90 + 100 * i })),
    });
    expect(
      pdfMarkdown([
        [row(700, "Lamp", "Price"), row(688, "Storm | lamp", "24.50"), at(676, "Sold in spring.")],
      ]),
    ).toBe("| Lamp | Price |\n| --- | --- |\n| Storm \\| lamp | 24.50 |\n\nSold in spring.");
    expect(pdfMarkdown([[row(700, "A line", "with a gap"), at(688, "is no table.")]])).toBe(
      "A line with a gap is no table.",
    );
  });
});

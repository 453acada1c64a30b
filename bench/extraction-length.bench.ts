/**
 * node bench/extraction-length.bench.ts [--root folder] [--pages n] [--seed n]: whether a long document keeps its tail. The
 * blocks of a gold page's main part are repeated in a drawn order, each with its words drawn anew and a mark of its own, until
 * the document has 10 to 20,000 of them; a block counts where the page as it was served kept its original. Prints the share of
 * counted marks that the text has, for the first half of the document and the second, by kind of page and length.
 */
import { load } from "cheerio";
import type { AnyNode, Element, Text } from "domhandler";
import { parseArgs } from "node:util";
import { readHtml } from "../actors/reading/article/article.ts";
import { type GoldPage, mean, wcxbPages } from "./extraction.score.ts";

const { values: options } = parseArgs({
  options: {
    root: { type: "string", default: "../shared/fixtures/pages" },
    pages: { type: "string", default: "12" },
    seed: { type: "string", default: "1" },
    lengths: { type: "string", default: "10,100,300,1000,5000,20000" },
    kinds: { type: "string", default: "article,documentation,forum,service" },
  },
});
const NOW_MS = Date.UTC(2026, 10, 22);
const MAIN_SHARE = 0.8;

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
const textOf = (node: AnyNode): string =>
  node.nodeType === 3 ? node.data : "children" in node ? node.children.map(textOf).join(" ") : "";

/** A document of `length` blocks made of the page's main part, and the marks that its text should have, in order. */
function lengthened(
  page: GoldPage,
  length: number,
  random: () => number,
): { html: string; marks: string[] } | null {
  const $ = load(page.html, { xml: { xmlMode: false, decodeEntities: true } });
  const served = new Set(
    readHtml(page.html, page.url, NOW_MS)
      .text.split("\n")
      .flatMap((line) => (line.length > 40 ? [words(line).slice(0, 6).join(" ")] : [])),
  );
  const gold = new Set(words(page.text));
  const body = $("body").get(0);
  if (!body || gold.size < 80) return null;
  const share = (element: Element): number => {
    const own = new Set(words(textOf(element)));
    let had = 0;
    for (const word of gold) if (own.has(word)) had += 1;
    return had / gold.size;
  };
  let main: Element = body;
  for (;;) {
    const inner: Element | undefined = main.children.find(
      (child): child is Element => "attribs" in child && share(child) >= MAIN_SHARE,
    );
    if (!inner) break;
    main = inner;
  }
  const blocks = main.children.filter(
    (child): child is Element => "attribs" in child && words(textOf(child)).length > 3,
  );
  if (blocks.length < 4) return null;
  const vocabulary = words(page.text);
  const marks: string[] = [];
  let made = 0;
  const copies: Element[] = [];
  while (copies.length < length) {
    const block = blocks[Math.floor(random() * blocks.length)]!;
    const copy = $(block).clone().get(0) as Element;
    const walk = (node: AnyNode): void => {
      if (node.nodeType === 3) {
        const text: Text = node;
        if (text.data.trim().length < 20) return;
        const counted =
          served.has(words(text.data).slice(0, 6).join(" ")) &&
          !["script", "style"].includes((text.parent as Element).name);
        const mark = `zq${made++}x`;
        if (counted) marks.push(mark);
        text.data = text.data.replaceAll(/[\p{L}\p{N}_]+/gu, (word) => {
          const drawn = vocabulary[Math.floor(random() * vocabulary.length)]!;
          return /^\p{Lu}/u.test(word) ? drawn[0]!.toUpperCase() + drawn.slice(1) : drawn;
        });
        text.data = text.data.replace(/[\p{L}\p{N}_]+/u, (word) => `${word} ${mark}`);
      } else if ("children" in node) for (const child of node.children) walk(child);
    };
    walk(copy);
    if (copy.attribs["id"]) copy.attribs["id"] += `-${copies.length}`;
    copies.push(copy);
  }
  const rest = main.children.filter((child) => !("attribs" in child) || !blocks.includes(child));
  $(main).empty();
  $(main).append(copies as never[]);
  $(main).append(rest as never[]);
  return { html: $.html(), marks };
}

const kinds = options.kinds.split(",");
const pages = [...wcxbPages(options.root)];
console.log(
  "| kind | blocks | pages | cut by a limit, and said so | first half | second half | least difference |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
);
for (const kind of kinds)
  for (const length of options.lengths.split(",").map(Number)) {
    const random = generator(Number(options.seed));
    let cut = 0;
    const rows: { first: number; second: number }[] = [];
    for (const page of pages.filter((one) => one.kind === kind)) {
      if (rows.length + cut >= Number(options.pages)) break;
      const long = lengthened(page, length, random);
      if (!long || long.marks.length < Math.min(10, length / 3)) continue;
      const { text, truncated } = readHtml(long.html, page.url, NOW_MS);
      if (truncated) {
        cut += 1;
        continue;
      }
      const had = new Set(text.match(/zq\d+x/g));
      const half = Math.floor(long.marks.length / 2);
      const recall = (marks: readonly string[]): number =>
        marks.filter((mark) => had.has(mark)).length / marks.length;
      rows.push({ first: recall(long.marks.slice(0, half)), second: recall(long.marks.slice(half)) });
    }
    const first = mean(rows.map((row) => row.first));
    const second = mean(rows.map((row) => row.second));
    const worst = Math.min(...rows.map((row) => row.second - row.first));
    console.log(
      `| ${kind} | ${length} | ${rows.length} | ${cut} | ${first.toFixed(3)} | ${second.toFixed(3)} | ${worst.toFixed(3)} |`,
    );
  }

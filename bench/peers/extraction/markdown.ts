/**
 * The structure of our Markdown beside that of defuddle, trafilatura, turndown and node-html-markdown: headings, list items, table rows,
 * links and lines of code of the gold Markdown that are found again, and what is found beside them.
 *
 *   (cd bench/peers/extraction && npm ci)
 *   python3 -m venv /tmp/trafilatura && /tmp/trafilatura/bin/pip install -r bench/peers/extraction/requirements.txt
 *   node bench/peers/extraction/markdown.ts --python /tmp/trafilatura/bin/python [--root folder] [--sample n] [--out file]
 *
 * All Markdown is parsed by mdast with GFM. Turndown and node-html-markdown choose nothing: they convert the whole page, and beside
 * that what readability chose. Our weights have learned from the texts of these pages, not from their Markdown; the peers' rules were
 * made with other pages.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { gfm as turndownGfm } from "@joplin/turndown-plugin-gfm";
import { Readability } from "@mozilla/readability";
import { Defuddle } from "defuddle/node";
import { parseHTML } from "linkedom";
import { NodeHtmlMarkdown } from "node-html-markdown";
import TurndownService from "turndown";
import { readHtml } from "../../../actors/reading/article/article.ts";
import { wcxbPages } from "../../extraction.score.ts";
import { goldMarkdownOf, shared, STRUCTURES, type Structures, structuresOf } from "../../markdown.score.ts";

const { values: options } = parseArgs({
  options: {
    root: { type: "string", default: "../shared/fixtures/pages" },
    python: { type: "string", default: "python3" },
    sample: { type: "string", default: "1" },
    out: { type: "string" },
  },
});

const NOW_MS = Date.UTC(2026, 10, 21);

interface Page {
  readonly id: string;
  readonly url: string;
  readonly html: string;
}
interface Got {
  readonly markdown: string;
  readonly cpu_ms: number;
}
type Peer = (page: Page) => Got | Promise<Got>;

const cpu = (): number => {
  const used = process.cpuUsage();
  return (used.user + used.system) / 1_000;
};
function timed(work: () => string): Got {
  const before = cpu();
  const markdown = work();
  return { markdown, cpu_ms: cpu() - before };
}

const turndown = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced" });
turndown.use(turndownGfm);
turndown.remove(["script", "style", "noscript", "template"]);
const chosen = ({ html }: Page): string => {
  const { document } = parseHTML(html);
  return new Readability(document as unknown as Document).parse()?.content ?? "";
};

const PEERS: Record<string, Peer> = {
  "trawl (weights learned from these pages' texts)": ({ html, url }) =>
    timed(() => readHtml(html, url, NOW_MS, { formats: true }).formats?.markdown ?? ""),
  "defuddle 0.19.4": async ({ html, url }) => {
    const before = cpu();
    const { document } = parseHTML(html);
    // Without useAsync: a page's content must not decide which addresses are called.
    const read = await Defuddle(document as unknown as Document, url || "https://example.com/", { useAsync: false, markdown: true });
    return { markdown: read.content ?? "", cpu_ms: cpu() - before };
  },
  "readability 0.6.0, turndown 7.2.5": (page) => timed(() => turndown.turndown(chosen(page))),
  "readability 0.6.0, node-html-markdown 2.0.0": (page) => timed(() => NodeHtmlMarkdown.translate(chosen(page))),
  "turndown 7.2.5, the whole page": ({ html }) => timed(() => turndown.turndown(html)),
  "node-html-markdown 2.0.0, the whole page": ({ html }) => timed(() => NodeHtmlMarkdown.translate(html)),
};

const child = spawn(options.python, [new URL("peer.py", import.meta.url).pathname, "--markdown"], { stdio: ["pipe", "pipe", "inherit"] });
const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
PEERS["trafilatura 2.3.1"] = async ({ id, url, html }) => {
  child.stdin.write(`${JSON.stringify({ id, url, html })}\n`);
  const { value, done } = await answers.next();
  if (done) throw new Error("trafilatura ended before its pages did");
  const { text, cpu_ms } = JSON.parse(value) as { text: string; cpu_ms: number };
  return { markdown: text, cpu_ms };
};

const pages = [...wcxbPages(options.root)]
  .filter((_, at) => at % Number(options.sample) === 0)
  .flatMap((page) => {
    const gold = goldMarkdownOf(options.root, page.id);
    return gold ? [{ ...page, gold: structuresOf(gold, page.url) }] : [];
  });
const total = (kind: keyof Structures): number => pages.reduce((sum, { gold }) => sum + gold[kind].length, 0);

const percent = (part: number, whole: number): string => (whole === 0 ? "–" : (part / whole).toFixed(3));
const lines = [
  `| recall / precision | ${STRUCTURES.map((kind) => `${kind} (${total(kind)})`).join(" | ")} | CPU ms, median / p99 | failed |`,
  `| --- |${" ---: |".repeat(STRUCTURES.length + 2)}`,
];
for (const [name, peer] of Object.entries(PEERS)) {
  const sums = Object.fromEntries(STRUCTURES.map((kind) => [kind, { hit: 0, got: 0 }])) as Record<keyof Structures, { hit: number; got: number }>;
  const times: number[] = [];
  let failed = 0;
  for (const page of pages) {
    let got: Got = { markdown: "", cpu_ms: Number.NaN };
    try {
      got = await peer(page);
      times.push(got.cpu_ms);
    } catch {
      failed += 1;
    }
    const found = structuresOf(got.markdown, page.url);
    for (const kind of STRUCTURES) {
      sums[kind].hit += shared(page.gold[kind], found[kind]);
      sums[kind].got += found[kind].length;
    }
  }
  times.sort((a, b) => a - b);
  const at = (part: number): string => times[Math.min(times.length - 1, Math.floor(part * times.length))]!.toFixed(1);
  const cells = STRUCTURES.map((kind) => `${percent(sums[kind].hit, total(kind))} / ${percent(sums[kind].hit, sums[kind].got)}`);
  lines.push(`| ${name} | ${cells.join(" | ")} | ${at(0.5)} / ${at(0.99)} | ${failed} |`);
  console.log(lines.at(-1));
}
child.stdin.end();
const report = lines.join("\n");
console.log(`\n${report}`);
if (options.out)
  writeFileSync(
    options.out,
    `# Structure of Markdown\n\n${pages.length} pages of WCXB's shared half; ${cpus()[0]?.model ?? "unknown CPU"}, Node ${process.versions.node}. ` +
      "`bench/peers/extraction/markdown.ts` says how it is measured.\n\n" +
      `${report}\n`,
  );

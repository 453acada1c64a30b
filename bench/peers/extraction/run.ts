/**
 * Our extraction beside @mozilla/readability, defuddle and trafilatura: the same pages, the same scoring, one run.
 *
 *   (cd bench/peers/extraction && npm ci)
 *   python3 -m venv /tmp/trafilatura && /tmp/trafilatura/bin/pip install -r bench/peers/extraction/requirements.txt
 *   node bench/peers/extraction/run.ts --python /tmp/trafilatura/bin/python [--root folder] [--out bench/results/name]
 *
 * Ours stands there twice: "crossed" has weights that were learned on four fifths of the pages and is judged on the other
 * fifth, five times over, which is what to expect of pages never seen; "shipped" has learned from these very pages.
 */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Readability } from "@mozilla/readability";
import { Defuddle } from "defuddle/node";
import { parseHTML } from "linkedom";
import { readHtml } from "../../../actors/reading/article/article.ts";
import { buildTree } from "../../../actors/reading/article/tree.ts";
import {
  articlePages,
  type GoldPage,
  mean,
  sameAuthors,
  sameDay,
  sameTitle,
  shingleF1,
  shingleScore,
  wcxbPages,
  wordScore,
} from "../../extraction.score.ts";

const { values: options } = parseArgs({
  options: {
    root: { type: "string", default: "../shared/fixtures/pages" },
    python: { type: "string", default: "python3" },
    out: { type: "string", default: "bench/results/2026-11-21-extraction" },
  },
});

const NOW_MS = Date.UTC(2026, 10, 21);

interface Got {
  text: string;
  title: string | null;
  author: string | null;
  date: string | null;
  cpu_ms: number;
}
type Peer = (page: GoldPage) => Got | Promise<Got>;

const cpu = (): number => {
  const used = process.cpuUsage();
  return (used.user + used.system) / 1_000;
};

const BLOCK = /^(?:p|div|section|article|h[1-6]|li|ul|ol|tr|table|blockquote|pre|br|hr|dt|dd|figure|figcaption|td|th)$/;
/** The peers answer with HTML: blocks become lines, the same way for both, or neighbours would be glued together. */
function plain(html: string): string {
  const tree = buildTree(html);
  let text = "";
  for (let i = 1; i < tree.tag.length; i += 1) text += tree.tag[i] === "#text" ? tree.text[i]! : BLOCK.test(tree.tag[i]!) ? "\n" : "";
  return text;
}

const none = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

const crossed: Record<string, string> = {};
const PEERS: Record<string, Peer> = {
  "trawl, crossed": (page) => ({ text: crossed[`${page.set} ${page.id}`] ?? "", title: null, author: null, date: null, cpu_ms: Number.NaN }),
  "trawl, shipped": (page) => {
    const before = cpu();
    const { text, title, meta } = readHtml(page.html, page.url, NOW_MS);
    return { text, title, author: meta.author, date: meta.published_at, cpu_ms: cpu() - before };
  },
  "readability 0.6.0 + linkedom": (page) => {
    const before = cpu();
    const { document } = parseHTML(page.html);
    const read = new Readability(document as unknown as Document).parse();
    return {
      text: plain(read?.content ?? ""),
      title: none(read?.title),
      author: none(read?.byline),
      date: none(read?.publishedTime),
      cpu_ms: cpu() - before,
    };
  },
  "defuddle 0.19.4 + linkedom": async (page) => {
    const before = cpu();
    const { document } = parseHTML(page.html);
    // Without useAsync: a page's content must not decide which addresses are called.
    const read = await Defuddle(document as unknown as Document, page.url || "https://example.com/", { useAsync: false });
    return {
      text: plain(read.content ?? ""),
      title: none(read.title),
      author: none(read.author),
      date: none(read.published),
      cpu_ms: cpu() - before,
    };
  },
};

function trafilatura(): { ask: Peer; end(): void } {
  const child = spawn(options.python, [new URL("peer.py", import.meta.url).pathname], { stdio: ["pipe", "pipe", "inherit"] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    ask: async (page) => {
      child.stdin.write(`${JSON.stringify({ id: page.id, url: page.url, html: page.html })}\n`);
      const { value, done } = await answers.next();
      if (done) throw new Error("trafilatura ended before its pages did");
      return JSON.parse(value) as Got;
    },
    end: () => child.stdin.end(),
  };
}

console.log("learning on four fifths, five times …");
const file = join(tmpdir(), "trawl-crossed.json");
const learned = spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", "bench/extraction.train.ts", "--root", options.root, "--folds", "5", "--texts", file], { stdio: ["ignore", "inherit", "inherit"] });
if (learned.status !== 0) throw new Error("Cannot learn the crossed weights");
Object.assign(crossed, JSON.parse(readFileSync(file, "utf8")));

const python = trafilatura();
PEERS["trafilatura 2.3.1"] = python.ask;

const pages = [...wcxbPages(options.root), ...articlePages(options.root)];
const rows: Record<string, Record<string, number | string>> = {};
for (const [name, peer] of Object.entries(PEERS)) {
  const f1: Record<string, number[]> = {};
  const shingles: ReturnType<typeof shingleScore>[] = [];
  const exact = { title: [] as boolean[], author: [] as boolean[], date: [] as boolean[] };
  const times: number[] = [];
  let [empty, failed] = [0, 0];
  for (const page of pages) {
    let got: Got = { text: "", title: null, author: null, date: null, cpu_ms: Number.NaN };
    try {
      got = await peer(page);
    } catch (error) {
      failed += 1;
      console.log(`${name} ${page.id}: ${String(error).slice(0, 120)}`);
    }
    if (!Number.isNaN(got.cpu_ms)) times.push(got.cpu_ms);
    if (page.set === "articles") {
      shingles.push(shingleScore(page.text, got.text));
      continue;
    }
    const score = wordScore(page.text, got.text).f1;
    (f1[page.kind] ??= []).push(score);
    (f1["all"] ??= []).push(score);
    if (got.text.trim() === "") empty += 1;
    if (page.title) exact.title.push(sameTitle(page.title, got.title));
    if (page.author) exact.author.push(sameAuthors(page.author, got.author));
    if (page.date) exact.date.push(sameDay(page.date, got.date));
  }
  const three = (value: number): number => Math.round(value * 1_000) / 1_000;
  const share = (answers: readonly boolean[]): number => three(answers.filter(Boolean).length / answers.length);
  times.sort((a, b) => a - b);
  rows[name] = {
    ...Object.fromEntries(Object.entries(f1).map(([kind, scores]) => [kind, three(mean(scores))])),
    "articles set": three(shingleF1(shingles).f1),
    ...(name === "trawl, crossed" ? {} : { title: share(exact.title), author: share(exact.author), date: share(exact.date) }),
    empty,
    failed,
    ...(times.length > 0
      ? { "CPU ms mean": Math.round(mean(times) * 10) / 10, "CPU ms p95": Math.round(times[Math.floor(times.length * 0.95)]! * 10) / 10 }
      : {}),
  };
  console.log(name, rows[name]);
}
python.end();

const COLUMNS = ["all", "article", "documentation", "service", "forum", "product", "collection", "listing", "articles set", "title", "author", "date", "empty", "failed", "CPU ms mean", "CPU ms p95"];
const machine = `${cpus().length} × ${cpus()[0]?.model ?? "?"}, Node ${process.versions.node}`;
const table = [
  `| | ${COLUMNS.join(" | ")} |`,
  `| --- |${COLUMNS.map(() => " ---: |").join("")}`,
  ...Object.entries(rows).map(([name, row]) => `| ${name} | ${COLUMNS.map((column) => row[column] ?? "–").join(" | ")} |`),
].join("\n");
const command = "node bench/peers/extraction/run.ts --python <venv>/bin/python";
writeFileSync(`${options.out}.json`, `${JSON.stringify({ command, machine, pages: pages.length, rows }, null, 2)}\n`);
writeFileSync(
  `${options.out}.md`,
  `# Extraction beside readability, defuddle and trafilatura

Command: \`${command}\`, over the shared pages (600 of WCXB's development split by kind, 94 articles).
Machine: ${machine}; other work ran on it, so CPU times are upper bounds and comparable only with each other.

${table}

- Kinds and "all": mean word F1, as WCXB's evaluate.py computes it (ten pages have an empty gold text: only an empty answer scores there).
  "articles set": F1 over shingles of four, as article-extraction-benchmark computes it. title, author, date: exact, case, quotes and white space
  apart, over the pages whose gold has one; dates by their day.
- **crossed** is the figure to believe for pages never seen: weights learned on four fifths of the pages, judged on the fifth left out, five times.
  **shipped** has learned from these pages and shows only that nothing broke.
- readability and defuddle answer with HTML; both are turned to lines by the same step, which favours them over their plain \`textContent\`.
  defuddle without \`useAsync\`. trafilatura with comments and tables, as it is by default. CPU includes metadata for all.
- Not measured: memory, hostile pages (test/actors/reading/article/article.test.ts has ours), languages other than those on the pages (nearly all English), wall time.
`,
);

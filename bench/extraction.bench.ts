/**
 * Our extraction on the shared gold pages: word F1 by kind, shingle F1 on articles, exact titles, authors and dates, CPU a page.
 *
 *   node bench/extraction.bench.ts [--only kind] [--half dev|held] [--sample n] [--worst n] [--root folder]
 */
import { parseArgs } from "node:util";
import { readHtml } from "../actors/reading/article/article.ts";
import {
  articlePages,
  isHeldOut,
  mean,
  sameAuthors,
  sameDay,
  sameTitle,
  shingleF1,
  shingleScore,
  wcxbPages,
  wordScore,
} from "./extraction.score.ts";
import { languagePages } from "./extraction.languages.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    half: { type: "string" },
    sample: { type: "string" },
    worst: { type: "string" },
    root: { type: "string", default: "../shared/fixtures/pages" },
    meta: { type: "boolean", default: false },
  },
});

// Dates in the future are refused: the pages were saved before this day.
const NOW_MS = Date.UTC(2026, 10, 21);

interface Row {
  id: string;
  url: string;
  kind: string;
  held: boolean;
  got: string;
  f1: number;
  precision: number;
  recall: number;
  words: number;
  cpu_ms: number;
  title: boolean | null;
  author: boolean | null;
  date: boolean | null;
}

const cpu = (): number => {
  const used = process.cpuUsage();
  return (used.user + used.system) / 1_000;
};

const rows: Row[] = [];
const misses: string[] = [];
const spurious = { author: 0, date: 0, none: 0 };
const step = values.sample ? Number(values.sample) : 1;
let index = 0;
for (const page of wcxbPages(values.root)) {
  index += 1;
  if (index % step !== 0 || (values.only && values.only !== page.kind)) continue;
  const held = isHeldOut(page.id);
  if (values.half && (values.half === "held") !== held) continue;
  const before = cpu();
  const read = readHtml(page.html, page.url, NOW_MS);
  const cpu_ms = cpu() - before;
  const score = wordScore(page.text, read.text);
  const title = page.title ? sameTitle(page.title, read.title) : null;
  const author = page.author ? sameAuthors(page.author, read.meta.author) : null;
  const date = page.date ? sameDay(page.date, read.meta.published_at) : null;
  if (!page.author && read.meta.author) spurious.author += 1;
  if (!page.date && read.meta.published_at) spurious.date += 1;
  if (values.meta && !held) {
    if (title === false) misses.push(`${page.id} title  ${page.title}  |  ${read.title}`);
    if (author === false) misses.push(`${page.id} author ${page.author}  |  ${read.meta.author}`);
    if (date === false) misses.push(`${page.id} date   ${page.date}  |  ${read.meta.published_at}`);
    if (!page.author && read.meta.author) misses.push(`${page.id} spurious author | ${read.meta.author}`);
  }
  rows.push({
    id: page.id,
    url: page.url,
    kind: page.kind,
    held,
    got: read.kind,
    ...score,
    words: read.meta.word_count ?? 0,
    cpu_ms,
    title,
    author,
    date,
  });
}

const three = (value: number): string => (Number.isNaN(value) ? "    –" : value.toFixed(3));
const rate = (answers: readonly (boolean | null)[]): string => {
  const known = answers.filter((value) => value !== null);
  return `${three(known.filter(Boolean).length / known.length)} of ${known.length}`;
};

const kinds = [...new Set(rows.map((row) => row.kind))].toSorted();
console.log("kind            pages    F1     P      R     dev   held   kind ok");
for (const kind of [...kinds, "all"]) {
  const of = kind === "all" ? rows : rows.filter((row) => row.kind === kind);
  console.log(
    [
      kind.padEnd(15),
      String(of.length).padStart(4),
      three(mean(of.map((row) => row.f1))),
      three(mean(of.map((row) => row.precision))),
      three(mean(of.map((row) => row.recall))),
      three(mean(of.filter((row) => !row.held).map((row) => row.f1))),
      three(mean(of.filter((row) => row.held).map((row) => row.f1))),
      three(mean(of.map((row) => (row.got === row.kind ? 1 : 0)))),
    ].join("  "),
  );
}

if (!values.only || values.only === "articles") {
  type Scores = ReturnType<typeof shingleScore>[];
  const halves: Record<"all" | "dev" | "held", Scores> = { all: [], dev: [], held: [] };
  for (const page of articlePages(values.root)) {
    const held = isHeldOut(page.id);
    if (values.half && (values.half === "held") !== held) continue;
    const read = readHtml(page.html, page.url, NOW_MS);
    const score = shingleScore(page.text, read.text);
    halves.all.push(score);
    halves[held ? "held" : "dev"].push(score);
    if (values.only === "articles" && !held)
      rows.push({
        id: page.id.slice(0, 8),
        url: page.url,
        kind: "articles",
        held,
        got: read.kind,
        precision: score.precision ?? 0,
        recall: score.recall ?? 0,
        f1: ((score.precision ?? 0) + (score.recall ?? 0)) / 2,
        words: 0,
        cpu_ms: 0,
        title: null,
        author: null,
        date: null,
      });
  }
  const all = shingleF1(halves.all);
  console.log(
    `articles (shingles) ${halves.all.length}  F1 ${three(all.f1)}  P ${three(all.precision)}  R ${three(all.recall)}  dev ${three(shingleF1(halves.dev).f1)}  held ${three(shingleF1(halves.held).f1)}`,
  );
}

for (const [name, of] of [
  ["all", rows],
  ["dev", rows.filter((row) => !row.held)],
  ["held", rows.filter((row) => row.held)],
] as const)
  console.log(
    `${name.padEnd(5)} title ${rate(of.map((row) => row.title))}  author ${rate(of.map((row) => row.author))}  date ${rate(of.map((row) => row.date))}`,
  );
console.log(`spurious authors ${spurious.author}, dates ${spurious.date}`);

/** On the pages of htmldate's tests, none of which is English. */
const dates = { right: 0, none: 0, wrong: 0 };
if (!values.only)
  for (const page of languagePages(values.root)) {
    if (page.set !== "htmldate" || page.date === null) continue;
    const { published_at } = readHtml(page.html, page.url, NOW_MS).meta;
    if (published_at === null) dates.none += 1;
    else dates[sameDay(page.date, published_at) ? "right" : "wrong"] += 1;
  }
console.log(`dates in other languages: right ${dates.right}, none ${dates.none}, wrong ${dates.wrong}`);

const times = rows.map((row) => row.cpu_ms).toSorted((a, b) => a - b);
console.log(
  `CPU ms a page: mean ${mean(times).toFixed(1)}  median ${(times[Math.floor(times.length / 2)] ?? 0).toFixed(1)}  p95 ${(times[Math.floor(times.length * 0.95)] ?? 0).toFixed(1)}  most ${(times.at(-1) ?? 0).toFixed(1)}`,
);

if (values.worst)
  for (const row of rows
    .filter((each) => !each.held)
    .toSorted((a, b) => a.f1 - b.f1)
    .slice(0, Number(values.worst)))
    console.log(
      `${row.id} ${row.kind.padEnd(13)} as ${row.got.padEnd(13)} F1 ${three(row.f1)} P ${three(row.precision)} R ${three(row.recall)} ${row.url.slice(0, 90)}`,
    );
for (const miss of misses) console.log(miss);

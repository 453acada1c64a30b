/**
 * Learns the weights in actors/reading/article/model.json from the gold pages: boosted trees over the features of
 * actors/reading/article/features.ts, a line of a page being one example. The same pages give the same weights. It prints what trees
 * learned without a site are worth on that site's pages (sites are dealt into folds; with 95 % intervals), then learns on all but the
 * sites that stay out of training (extraction.score.ts), and writes weights and provenance. Five folds and the weights take twelve
 * minutes on one core.
 *
 *   node bench/extraction.train.ts [--root folder] [--trees n] [--leaves n] [--rate x] [--folds n] [--deal n] [--no-languages]
 *     [--first n] [--judged n] [--kinds a,b] [--sample n] [--models folder] [--scores file] [--against file] [--texts file] [--markdown]
 *     [--write]
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readHtml, type Survey, surveyOf, type Weigh } from "../actors/reading/article/article.ts";
import { readLinkedData } from "../actors/reading/article/jsonld.ts";
import { buildTree } from "../actors/reading/article/tree.ts";
import { binned, chancesBy, learn, type Model, preorder, randomOf } from "./boosted-trees.ts";
import {
  articleF1,
  countSegments,
  type LanguagePage,
  languagePages,
  segmentF1,
  segmentLabels,
  type Segments,
} from "./extraction.languages.ts";
import {
  articlePages,
  type GoldPage,
  isOutOfTraining,
  mean,
  shingleF1,
  shingleScore,
  siteOfPage,
  wcxbPages,
  wordScore,
} from "./extraction.score.ts";
import { goldMarkdownOf, shared, STRUCTURES, type Structures, structuresOf } from "./markdown.score.ts";

const { values: options } = parseArgs({
  allowNegative: true,
  options: {
    root: { type: "string", default: "../shared/fixtures/pages" },
    trees: { type: "string", default: "220" },
    leaves: { type: "string", default: "20" },
    rate: { type: "string", default: "0.08" },
    folds: { type: "string", default: "5" },
    /** Another deal of the sites into folds. */
    deal: { type: "string", default: "0" },
    /** How many of the folds are judged. */
    judged: { type: "string" },
    /** The first of them. */
    first: { type: "string", default: "0" },
    /** Where to write F1 by kind, set and id. */
    scores: { type: "string" },
    /** Such a file of another run: differences are printed with their 95 % intervals, pages drawn 2,000 times. */
    against: { type: "string" },
    languages: { type: "boolean", default: true },
    /** Only pages of these kinds are judged: "forum,daniel zh". */
    kinds: { type: "string" },
    /** The number of WCXB pages that are learned from, drawn by their ids; all without it. */
    sample: { type: "string" },
    /**
     * Where trees of each fold are kept. Trees that are there are judged and not learned, which is quick, and right as long as neither
     * features nor labels have changed.
     */
    models: { type: "string" },
    write: { type: "boolean", default: false },
    /** The structure of the crossed Markdown is compared with gold Markdown, too. */
    markdown: { type: "boolean", default: false },
    /** Where to write the crossed texts: set and id to text. */
    texts: { type: "string" },
  },
});
const NOW_MS = Date.UTC(2026, 10, 21);
const FOLDS = Number(options.folds);

/** Han and kana character by character, so that a line is found in gold that was split elsewhere. */
const words = (text: string): string[] =>
  text
    .toLowerCase()
    .match(/[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff])[\p{L}\p{N}_])+/gu) ?? [];

/** How much of each line the gold text has: by runs of three words across lines, each run as often as gold has it. */
function labelLines(lines: readonly string[], gold: string): Float32Array {
  const wanted = words(gold);
  const grams = new Map<string, number>();
  for (let i = 0; i + 2 < wanted.length; i += 1) {
    const gram = `${wanted[i]} ${wanted[i + 1]} ${wanted[i + 2]}`;
    grams.set(gram, (grams.get(gram) ?? 0) + 1);
  }
  const goldLines = new Set(gold.split("\n").map((line) => words(line).join(" ")));
  const tokens: string[] = [];
  const from: number[] = [];
  const tokenized = lines.map((line) => words(line));
  for (const line of tokenized) {
    from.push(tokens.length);
    tokens.push(...line);
  }
  from.push(tokens.length);
  const covered = new Uint8Array(tokens.length);
  for (let i = 0; i + 2 < tokens.length; i += 1)
    if (grams.has(`${tokens[i]} ${tokens[i + 1]} ${tokens[i + 2]}`))
      covered[i] = covered[i + 1] = covered[i + 2] = 1;
  const labels = new Float32Array(lines.length);
  for (let i = 0; i < lines.length; i += 1) {
    const size = from[i + 1]! - from[i]!;
    if (size === 0) continue;
    let sum = 0;
    for (let j = from[i]!; j < from[i + 1]!; j += 1) sum += covered[j]!;
    labels[i] = sum / size;
  }
  const near = (i: number): number => {
    let sum = 0;
    let size = 0;
    for (let j = Math.max(0, i - 4); j <= Math.min(lines.length - 1, i + 4); j += 1)
      if (j !== i) {
        sum += labels[j]! * tokenized[j]!.length;
        size += tokenized[j]!.length;
      }
    return size === 0 ? 0 : sum / size;
  };
  const result = Float32Array.from(labels);
  const places = new Map<string, number[]>();
  for (let i = 0; i < lines.length; i += 1) {
    const key = tokenized[i]!.join(" ");
    if (key === "") continue;
    const size = tokenized[i]!.length;
    if (size < 3 && labels[i]! < 0.99 && goldLines.has(key)) result[i] = near(i) > 0.5 ? 1 : 0.3;
    if (size < 3 && labels[i]! > 0 && !goldLines.has(key) && near(i) < 0.3) result[i] = 0.2;
    if (result[i]! > 0) places.set(key, [...(places.get(key) ?? []), i]);
  }
  // A line that stands more often on the page than in gold: the occurrences among covered neighbours are meant.
  for (const [key, at] of places) {
    if (at.length < 2) continue;
    const parts = key.split(" ");
    let times = Number.POSITIVE_INFINITY;
    if (parts.length < 3)
      times = gold.split("\n").filter((line) => words(line).join(" ") === key).length || at.length;
    for (let i = 0; i + 2 < parts.length; i += 1)
      times = Math.min(times, grams.get(`${parts[i]} ${parts[i + 1]} ${parts[i + 2]}`) ?? 0);
    if (times >= at.length) continue;
    const ranked = at.toSorted((a, b) => near(b) - near(a) || a - b);
    for (const place of ranked.slice(Math.max(1, times))) result[place] = 0;
  }
  return result;
}

type Page =
  | { readonly of: "gold"; readonly gold: GoldPage }
  | { readonly of: "language"; readonly gold: LanguagePage };

/** A page with the labels and weights of its lines. */
interface Example {
  readonly page: Page;
  readonly fold: number;
  readonly labels: Float32Array;
  readonly weights: Float32Array;
  readonly rows: Float32Array;
}

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Pages of one site, and pages whose bytes are equal, are in one fold. */
function foldOf(url: string, id: string): number {
  return Number.parseInt(hash(`${options.deal} ${siteOfPage(url, id)}`).slice(0, 8), 16) % FOLDS;
}

const KINDS = options.kinds?.split(",");
const kindOfPage = ({ of, gold }: Page): string =>
  of === "gold" ? gold.kind : `${gold.set} ${gold.language}`;
const isJudged = (page: Page): boolean => KINDS === undefined || KINDS.includes(kindOfPage(page));

const first = Number(options.first);
const after_last = Math.min(FOLDS, first + Number(options.judged ?? FOLDS));
const modelFile = (fold: number): string => join(options.models ?? "", `fold-${fold}.json`);
const isLearned = (fold: number): boolean => options.models !== undefined && existsSync(modelFile(fold));
let needs_learning = options.write;
for (let fold = first; fold < after_last; fold += 1) needs_learning ||= !isLearned(fold);

/** The WCXB pages that are learned from, if not all. */
function sampled(size: number): ReadonlySet<string> {
  const ids = [...wcxbPages(options.root)].map(({ id }) => ({ id, at: hash(`sample ${id}`) }));
  return new Set(
    ids
      .toSorted((a, b) => (a.at < b.at ? -1 : 1))
      .slice(0, size)
      .map(({ id }) => id),
  );
}
const sample = options.sample === undefined ? null : sampled(Number(options.sample));

function* allPages(): Generator<Page> {
  for (const gold of wcxbPages(options.root)) yield { of: "gold", gold };
  for (const gold of articlePages(options.root)) yield { of: "gold", gold };
  if (options.languages)
    for (const gold of languagePages(options.root))
      if (gold.set !== "htmldate") yield { of: "language", gold };
}

/** A page as a whole counts at most this much: its long lines most of it. */
const PAGE_WEIGHT = 30;
const LINE_SHARE_MAX = 0.3;
/** Weight of a line that a segment is in: these pages have labels for a few of their lines. */
const SEGMENT_WEIGHT = 0.5;
/** News articles in four languages would otherwise be nearly half of what is learned. */
const LANGUAGE_WEIGHT = 0.375;
const GOLD_WORDS_MIN = 40;

function exampleOf(page: Page, fold: number, { lines, rows }: Survey): Example {
  const texts = lines.map(({ text }) => text);
  if (page.of === "language" && page.gold.set === "traf") {
    const segments = segmentLabels(texts, page.gold);
    const labels = Float32Array.from(segments, (label) => label ?? 0);
    const weights = Float32Array.from(segments, (label) => (label === null ? 0 : SEGMENT_WEIGHT));
    return { page, fold, labels, weights, rows };
  }
  const gold = page.of === "gold" ? page.gold.text : page.gold.paragraphs.join("\n");
  const size = Math.max(GOLD_WORDS_MIN, words(gold).length);
  const page_weight = PAGE_WEIGHT * (page.of === "language" ? LANGUAGE_WEIGHT : 1);
  const weights = Float32Array.from(
    texts,
    (text) => Math.min(LINE_SHARE_MAX, (words(text).length + 0.5) / size) * page_weight,
  );
  return { page, fold, labels: labelLines(texts, gold), weights, rows };
}

const examples: Example[] = [];
const pages: { page: Page; fold: number }[] = [];
const foldsByBytes = new Map<string, number>();
let duplicates = 0;
let width = 0;
for (const page of allPages()) {
  const { id, url, html } = page.gold;
  const digest = hash(html);
  const known = foldsByBytes.get(digest);
  if (known !== undefined) duplicates += 1;
  const fold = known ?? foldOf(url, id);
  foldsByBytes.set(digest, fold);
  pages.push({ page, fold });
  if (!needs_learning || (sample && page.gold.set === "wcxb" && !sample.has(id))) continue;
  const tree = buildTree(html);
  const survey = surveyOf(tree, readLinkedData(tree.jsonLd), url);
  const isEmpty = page.of === "gold" && page.gold.text === "";
  if (survey.lines.length === 0 || isEmpty) continue;
  width = survey.width;
  examples.push(exampleOf(page, fold, survey));
}
const table = binned(
  examples.map(({ rows }) => rows),
  width,
);
const labels = new Float32Array(table.count);
const weights = new Float32Array(table.count);
const folds = new Uint8Array(table.count);
/** 1: of a site that stays out of training. */
const outside = new Uint8Array(table.count);
{
  let at = 0;
  for (const example of examples) {
    labels.set(example.labels, at);
    weights.set(example.weights, at);
    folds.fill(example.fold, at, at + example.labels.length);
    const { url, id } = example.page.gold;
    outside.fill(isOutOfTraining(siteOfPage(url, id)) ? 1 : 0, at, at + example.labels.length);
    at += example.labels.length;
  }
}
console.log(
  `${pages.length} pages, ${duplicates} byte-identical to another, ${table.count} lines, ${width} features`,
);

const rounds = {
  trees: Number(options.trees),
  leaves: Number(options.leaves),
  rate: Number(options.rate),
};
function learnFrom(isMember: (row: number) => boolean): Model {
  const members: number[] = [];
  for (let row = 0; row < table.count; row += 1) if (weights[row]! > 0 && isMember(row)) members.push(row);
  return learn(table, labels, weights, Uint32Array.from(members), rounds);
}

const texts: Record<string, string> = {};
const scores = new Map<string, number[]>();
const f1s_by_page: Record<string, number> = {};
const shingles: ReturnType<typeof shingleScore>[] = [];
const segments = new Map<string, Segments>();

/** Whole pages as they would be read with these weights, so that what is judged is what is served. */
function judge(page: Page, weigh: Weigh): void {
  const { gold } = page;
  const { text, formats } = readHtml(gold.html, gold.url, NOW_MS, { weigh, formats: options.markdown });
  if (formats && gold.set === "wcxb") judgeStructures(gold.id, gold.url, formats.markdown ?? "");
  texts[`${gold.set} ${gold.id}`] = text;
  const put = (group: string, f1: number): void => {
    f1s_by_page[`${group} ${gold.set} ${gold.id}`] = f1;
    const known = scores.get(group);
    if (known) known.push(f1);
    else scores.set(group, [f1]);
  };
  if (page.of === "language") {
    if (page.gold.set === "daniel") put(`daniel ${page.gold.language}`, articleF1(page.gold, text));
    else
      for (const group of ["all", page.gold.language]) {
        const sums = segments.get(group) ?? { hits: 0, wrong: 0, missed: 0 };
        segments.set(group, sums);
        countSegments(sums, page.gold, text);
      }
    return;
  }
  if (page.gold.set === "articles") {
    shingles.push(shingleScore(page.gold.text, text));
    return;
  }
  const { f1 } = wordScore(page.gold.text, text);
  put(page.gold.kind, f1);
  put("all", f1);
}

type Counts = Record<keyof Structures, { hits: number; gold: number; got: number }>;
/** Counts of each page with gold Markdown. */
const structures: Counts[] = [];

function judgeStructures(id: string, url: string, markdown: string): void {
  const gold = goldMarkdownOf(options.root, id);
  if (!gold) return;
  const wanted = structuresOf(gold, url);
  const found = structuresOf(markdown, url);
  const count = (kind: keyof Structures) =>
    [
      kind,
      { hits: shared(wanted[kind], found[kind]), gold: wanted[kind].length, got: found[kind].length },
    ] as const;
  structures.push(Object.fromEntries(STRUCTURES.map(count)) as Counts);
}

/** F1, recall and precision over all such parts of the pages. */
function structureScore(
  kind: keyof Structures,
  of: readonly Counts[],
): [f1: number, recall: number, precision: number] {
  let [hits, gold, got] = [0, 0, 0];
  for (const counts of of) {
    hits += counts[kind].hits;
    gold += counts[kind].gold;
    got += counts[kind].got;
  }
  return [(2 * hits) / (gold + got), hits / gold, hits / got];
}

function printStructures(): void {
  const random = randomOf(1);
  const draws = Array.from({ length: 2_000 }, () =>
    structures.map(() => structures[Math.floor(random() * structures.length)]!),
  );
  for (const kind of STRUCTURES) {
    const [f1, recall, precision] = structureScore(kind, structures);
    const f1s = draws.map((drawn) => structureScore(kind, drawn)[0]).toSorted((a, b) => a - b);
    console.log(
      `crossed markdown ${kind.padEnd(8)} F1 ${f1.toFixed(3)} [${f1s[50]!.toFixed(3)}, ${f1s[1_949]!.toFixed(3)}] ` +
        `R ${recall.toFixed(3)} P ${precision.toFixed(3)} of ${structures.length} pages`,
    );
  }
}

/** 95 %, of the mean of values drawn 2,000 times. */
function interval(values: readonly number[]): [low: number, high: number] {
  const random = randomOf(1);
  const means = Array.from({ length: 2_000 }, () =>
    mean(values.map(() => values[Math.floor(random() * values.length)]!)),
  ).toSorted((a, b) => a - b);
  return [means[50]!, means[1_949]!];
}

/** Differences page by page, for pages that both runs have judged. */
function compareWith(others: Readonly<Record<string, number>>): void {
  const gains = new Map<string, number[]>();
  for (const [key, f1] of Object.entries(f1s_by_page)) {
    const other = others[key];
    if (other === undefined) continue;
    const group = key.replace(/ \S+ \S+$/, "");
    gains.set(group, [...(gains.get(group) ?? []), f1 - other]);
  }
  for (const [group, of] of [...gains].toSorted(([a], [b]) => a.localeCompare(b))) {
    const [low, high] = interval(of);
    const signed = (value: number): string => `${value < 0 ? "" : "+"}${value.toFixed(4)}`;
    console.log(
      `against ${group.padEnd(14)} ${signed(mean(of))} [${signed(low)}, ${signed(high)}] of ${of.length}`,
    );
  }
}

function treesWithout(left: number): Model {
  if (isLearned(left)) return JSON.parse(readFileSync(modelFile(left), "utf8"));
  const model = learnFrom((row) => folds[row] !== left);
  if (options.models === undefined) return model;
  mkdirSync(options.models, { recursive: true });
  writeFileSync(modelFile(left), JSON.stringify(model));
  return model;
}

for (let left = first; left < after_last; left += 1) {
  const model = treesWithout(left);
  const weigh: Weigh = (survey) => chancesBy(model, survey.rows, survey.width);
  for (const { page, fold } of pages) if (fold === left && isJudged(page)) judge(page, weigh);
}
for (const [group, f1s] of [...scores].toSorted(([a], [b]) => a.localeCompare(b)))
  if (f1s.length > 3) {
    const [low, high] = interval(f1s);
    console.log(
      `crossed ${group.padEnd(14)} ${mean(f1s).toFixed(4)} [${low.toFixed(4)}, ${high.toFixed(4)}] of ${f1s.length}`,
    );
  }
for (const [language, sums] of segments)
  if (sums.hits > 20) console.log(`crossed segments ${language.padEnd(5)} ${segmentF1(sums).toFixed(3)}`);
{
  const { f1, precision, recall } = shingleF1(shingles);
  console.log(
    `crossed articles (shingles) F1 ${f1.toFixed(3)} P ${precision.toFixed(3)} R ${recall.toFixed(3)}`,
  );
}

if (structures.length > 0) printStructures();
if (options.against) compareWith(JSON.parse(readFileSync(options.against, "utf8")));
if (options.scores) writeFileSync(options.scores, JSON.stringify(f1s_by_page));
if (options.texts) writeFileSync(options.texts, JSON.stringify(texts));
if (options.write) {
  const taken = examples.filter(({ page }) => !isOutOfTraining(siteOfPage(page.gold.url, page.gold.id)));
  const model = learnFrom((row) => outside[row] === 0);
  const weights_of_model = { bias: Number(model.bias.toFixed(4)), trees: model.trees.map(preorder) };
  const digestOf = (parts: readonly Float32Array[]): string => {
    const digest = createHash("sha256");
    for (const { buffer, byteOffset, byteLength } of parts)
      digest.update(new Uint8Array(buffer, byteOffset, byteLength));
    return digest.digest("hex");
  };
  const written = {
    about:
      "Weights, learned and not written: boosted trees over the features of features.ts, read by score.ts; from gold pages (WCXB by M. Foley, CC-BY-4.0; " +
      "article-extraction-benchmark, MIT; the DAnIEL corpus; trafilatura's evaluation pages, Apache-2.0) of which no text is in here.",
    command: "node bench/extraction.train.ts --write",
    /** The commit whose features were read. */
    commit: spawnSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).stdout.trim(),
    pages: taken.length,
    lines: taken.reduce((sum, example) => sum + example.labels.length, 0),
    features: width,
    rows_sha256: digestOf(taken.map(({ rows }) => rows)),
    labels_sha256: digestOf(taken.map((example) => example.labels)),
    line_weights_sha256: digestOf(taken.map((example) => example.weights)),
    weights_sha256: hash(JSON.stringify(weights_of_model)),
    ...weights_of_model,
  };
  writeFileSync(
    new URL("../actors/reading/article/model.json", import.meta.url),
    `${JSON.stringify(written, null, 2)}\n`,
  );
}

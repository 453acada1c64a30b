/**
 * Learns the weights in actors/lib/article/model.ts from the gold pages: boosted trees over the numbers of
 * actors/lib/article/features.ts, a line of a page being one example. Seeded and without dependencies, so that the same pages give
 * the same weights. It prints what trees learned on one half are worth on the other, then learns on all and writes.
 *
 *   node bench/extraction.train.ts [--root folder] [--trees n] [--leaves n] [--rate x] [--folds n] [--articles] [--texts file] [--write]
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { readHtml, surveyOf, type Weigh } from "../actors/lib/article/article.ts";
import { buildTree } from "../actors/lib/article/tree.ts";
import { readLinkedData } from "../actors/lib/article/jsonld.ts";
import {
  articlePages,
  type GoldPage,
  isHeldOut,
  mean,
  shingleF1,
  shingleScore,
  wcxbPages,
  wordScore,
} from "./extraction.score.ts";

const { values: options } = parseArgs({
  options: {
    root: { type: "string", default: "../shared/fixtures/pages" },
    trees: { type: "string", default: "100" },
    leaves: { type: "string", default: "20" },
    rate: { type: "string", default: "0.1" },
    folds: { type: "string", default: "2" },
    write: { type: "boolean", default: false },
    /** Where to write the crossed texts: id to text. */
    texts: { type: "string" },
    articles: { type: "boolean", default: false },
  },
});

const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

/** How much of each line the gold text has: by runs of three words across lines, each run as often as gold has it. */
export function labelLines(lines: readonly string[], gold: string): Float32Array {
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
  // What stands more often on the page than in gold: the occurrences among covered neighbours are meant.
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

interface Example {
  readonly page: GoldPage;
  readonly lines: readonly string[];
  readonly sizes: readonly number[];
  readonly first: number;
  readonly labels: Float32Array;
}

// Mulberry32: rows and features are drawn, and drawn again the same.
let state = 20261121;
const random = (): number => {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
};

const BINS = 48;
/** Borders between bins, from a sample of each column. */
function bordersOf(rows: readonly Float32Array[], width: number): Float32Array[] {
  const sampled: Float32Array[] = [];
  let total = 0;
  for (const part of rows) total += part.length / width;
  const step = Math.max(1, Math.floor(total / 20_000));
  for (let column = 0; column < width; column += 1) {
    const found: number[] = [];
    for (const part of rows)
      for (let at = column; at < part.length; at += width * step) found.push(part[at]!);
    const distinct = [...new Set(Float32Array.from(found).toSorted())];
    if (distinct.length <= BINS)
      sampled.push(Float32Array.from(distinct.slice(1).map((value, i) => (value + distinct[i]!) / 2)));
    else {
      found.sort((a, b) => a - b);
      const cuts = new Set<number>();
      for (let i = 1; i < BINS; i += 1) cuts.add(found[Math.floor((i * found.length) / BINS)]!);
      sampled.push(Float32Array.from(cuts));
    }
  }
  return sampled;
}

function binned(
  rows: readonly Float32Array[],
  width: number,
  borders: readonly Float32Array[],
): Uint8Array[] {
  const total = rows.reduce((sum, part) => sum + part.length / width, 0);
  const columns = borders.map(() => new Uint8Array(total));
  let at = 0;
  for (const part of rows)
    for (let start = 0; start < part.length; start += width, at += 1)
      for (let column = 0; column < width; column += 1) {
        const value = part[start + column]!;
        const cuts = borders[column]!;
        let low = 0;
        let high = cuts.length;
        while (low < high) {
          const middle = (low + high) >> 1;
          if (value < cuts[middle]!) high = middle;
          else low = middle + 1;
        }
        columns[column]![at] = low;
      }
  return columns;
}

export interface Grown {
  /** Nodes in order; a leaf has column -1. */
  column: number[];
  border: number[];
  left: number[];
  right: number[];
  value: number[];
}

function grow(
  columns: readonly Uint8Array[],
  borders: readonly Float32Array[],
  indexes: Uint32Array,
  gradient: Float32Array,
  hessian: Float32Array,
  leaves: number,
  rate: number,
): Grown {
  const tree: Grown = { column: [], border: [], left: [], right: [], value: [] };
  const used = columns.map((_, column) => column).filter(() => random() < 0.4);
  const add = (): number => {
    tree.column.push(-1);
    tree.border.push(0);
    tree.left.push(0);
    tree.right.push(0);
    tree.value.push(0);
    return tree.column.length - 1;
  };
  const REGULAR = 2;
  const MIN = 1.5;
  type Leaf = {
    node: number;
    from: number;
    to: number;
    gain: number;
    column: number;
    bin: number;
    depth: number;
  };
  const g = new Float64Array(BINS + 1);
  const h = new Float64Array(BINS + 1);
  const best = (node: number, from: number, to: number, depth: number): Leaf => {
    const leaf: Leaf = { node, from, to, gain: 0, column: -1, bin: 0, depth };
    let [G, H] = [0, 0];
    for (let i = from; i < to; i += 1) {
      G += gradient[indexes[i]!]!;
      H += hessian[indexes[i]!]!;
    }
    tree.value[node] = (-rate * G) / (H + REGULAR);
    if (depth >= 8 || to - from < 40) return leaf;
    for (const column of used) {
      const bins = columns[column]!;
      g.fill(0);
      h.fill(0);
      for (let i = from; i < to; i += 1) {
        const row = indexes[i]!;
        const bin = bins[row]!;
        g[bin]! += gradient[row]!;
        h[bin]! += hessian[row]!;
      }
      let [gl, hl] = [0, 0];
      for (let bin = 0; bin < borders[column]!.length; bin += 1) {
        gl += g[bin]!;
        hl += h[bin]!;
        if (hl < MIN || H - hl < MIN) continue;
        const gain =
          (gl * gl) / (hl + REGULAR) + ((G - gl) * (G - gl)) / (H - hl + REGULAR) - (G * G) / (H + REGULAR);
        if (gain > leaf.gain) {
          leaf.gain = gain;
          leaf.column = column;
          leaf.bin = bin;
        }
      }
    }
    return leaf;
  };
  const open = [best(add(), 0, indexes.length, 0)];
  for (let count = 1; count < leaves; count += 1) {
    let at = -1;
    for (let i = 0; i < open.length; i += 1)
      if (open[i]!.gain > 1e-3 && (at < 0 || open[i]!.gain > open[at]!.gain)) at = i;
    if (at < 0) break;
    const leaf = open.splice(at, 1)[0]!;
    const bins = columns[leaf.column]!;
    let middle = leaf.from;
    for (let i = leaf.from; i < leaf.to; i += 1) {
      const row = indexes[i]!;
      if (bins[row]! > leaf.bin) continue;
      indexes[i] = indexes[middle]!;
      indexes[middle] = row;
      middle += 1;
    }
    const [left, right] = [add(), add()];
    tree.column[leaf.node] = leaf.column;
    tree.border[leaf.node] = borders[leaf.column]![leaf.bin]!;
    tree.left[leaf.node] = left;
    tree.right[leaf.node] = right;
    open.push(best(left, leaf.from, middle, leaf.depth + 1), best(right, middle, leaf.to, leaf.depth + 1));
  }
  return tree;
}

/** Rows fall left below the border. */
export function treeScore(tree: Grown, rows: Float32Array, start: number): number {
  let node = 0;
  while (tree.column[node]! >= 0)
    node = rows[start + tree.column[node]!]! < tree.border[node]! ? tree.left[node]! : tree.right[node]!;
  return tree.value[node]!;
}

const pages: GoldPage[] = [];
const examples: Example[] = [];
const parts: Float32Array[] = [];
let width = 0;
let first = 0;
const sources = options.articles ? [wcxbPages, articlePages] : [wcxbPages];
for (const source of sources)
  for (const page of source(options.root)) {
    const tree = buildTree(page.html);
    pages.push(page);
    const survey = surveyOf(tree, readLinkedData(tree.jsonLd), page.url);
    if (survey.lines.length === 0 || page.text === "") continue;
    const lines = survey.lines.map((line) => line.text);
    width = survey.width;
    parts.push(survey.rows);
    examples.push({
      page,
      lines,
      sizes: lines.map((line) => words(line).length),
      first,
      labels: labelLines(lines, page.text),
    });
    first += lines.length;
  }
console.log(`${examples.length} pages, ${first} lines, ${width} numbers a line`);
{
  const kinds = [...new Set(examples.map((example) => example.page.kind))];
  for (const kind of kinds) {
    const of = examples.filter((example) => example.page.kind === kind);
    const at = mean(
      of.map(
        (example) =>
          wordScore(example.page.text, example.lines.filter((_, i) => example.labels[i]! >= 0.5).join("\n"))
            .f1,
      ),
    );
    console.log(`labels alone, ${kind}: ${at.toFixed(3)}`);
  }
}

const borders = bordersOf(parts, width);
const columns = binned(parts, width, borders);
const labels = new Float32Array(first);
const weights = new Float32Array(first);
const owner = new Uint16Array(first);
for (const [which, example] of examples.entries()) {
  const gold = Math.max(40, words(example.page.text).length);
  for (let i = 0; i < example.lines.length; i += 1) {
    labels[example.first + i] = example.labels[i]!;
    weights[example.first + i] = Math.min(0.3, (example.sizes[i]! + 0.5) / gold) * 30;
    owner[example.first + i] = which;
  }
}
const flatRow = (at: number): { part: Float32Array; start: number } => {
  const which = owner[at]!;
  return { part: parts[which]!, start: (at - examples[which]!.first) * width };
};

function learn(of: (example: Example) => boolean): { trees: Grown[]; bias: number } {
  const members: number[] = [];
  for (let at = 0; at < first; at += 1) if (of(examples[owner[at]!]!)) members.push(at);
  const scores = new Float32Array(first);
  const gradient = new Float32Array(first);
  const hessian = new Float32Array(first);
  let [positive, all] = [0, 0];
  for (const at of members) {
    positive += weights[at]! * labels[at]!;
    all += weights[at]!;
  }
  const bias = Math.log(positive / (all - positive));
  for (const at of members) scores[at] = bias;
  const trees: Grown[] = [];
  for (let round = 0; round < Number(options.trees); round += 1) {
    for (const at of members) {
      const chance = 1 / (1 + Math.exp(-scores[at]!));
      gradient[at] = weights[at]! * (chance - labels[at]!);
      hessian[at] = weights[at]! * Math.max(1e-4, chance * (1 - chance));
    }
    const drawn = Uint32Array.from(members.filter(() => random() < 0.6));
    const tree = grow(
      columns,
      borders,
      drawn,
      gradient,
      hessian,
      Number(options.leaves),
      Number(options.rate),
    );
    trees.push(tree);
    for (const at of members) {
      const { part, start } = flatRow(at);
      scores[at]! += treeScore(tree, part, start);
    }
  }
  return { trees, bias };
}

const NOW_MS = Date.UTC(2026, 10, 21);
const texts: Record<string, string> = {};
const shingled: ReturnType<typeof shingleScore>[] = [];
/** Whole pages as they would be read with these weights, so that what is judged is what is served. */
function judge(
  model: { trees: Grown[]; bias: number },
  of: (page: GoldPage) => boolean,
): Map<string, number[]> {
  const result = new Map<string, number[]>();
  const put = (kind: string, f1: number): void => {
    result.set(kind, [...(result.get(kind) ?? []), f1]);
  };
  const weigh: Weigh = (rows, of_width) => {
    const chances: number[] = [];
    for (let start = 0; start < rows.length; start += of_width) {
      let score = model.bias;
      for (const tree of model.trees) score += treeScore(tree, rows, start);
      chances.push(1 / (1 + Math.exp(-score)));
    }
    return chances;
  };
  for (const page of pages) {
    if (!of(page)) continue;
    const { text } = readHtml(page.html, page.url, NOW_MS, { weigh });
    texts[`${page.set} ${page.id}`] = text;
    if (page.set === "articles") {
      shingled.push(shingleScore(page.text, text));
      continue;
    }
    const { f1 } = wordScore(page.text, text);
    put(page.kind, f1);
    put("all", f1);
  }
  return result;
}

// Dev and held are judged crosswise by default; more folds leave more pages to learn from.
const folds = Number(options.folds);
const fold = ({ id }: GoldPage): number => {
  if (folds === 2) return isHeldOut(id) ? 1 : 0;
  let hash = 7;
  for (const char of id) hash = (Math.imul(hash, 33) + char.codePointAt(0)!) >>> 0;
  return (hash >>> 3) % folds;
};
const crossed = new Map<string, number[]>();
for (let left = 0; left < folds; left += 1) {
  const result = judge(
    learn((example) => fold(example.page) !== left),
    (page) => fold(page) === left,
  );
  for (const [kind, scores] of result) {
    if (folds === 2)
      console.log(
        `judged on ${left === 0 ? "dev " : "held"}: ${kind.padEnd(14)} ${mean(scores).toFixed(3)} of ${scores.length}`,
      );
    crossed.set(kind, [...(crossed.get(kind) ?? []), ...scores]);
  }
}
for (const [kind, scores] of [...crossed].toSorted(([a], [b]) => a.localeCompare(b)))
  console.log(`crossed ${kind.padEnd(14)} ${mean(scores).toFixed(3)} of ${scores.length}`);

if (options.articles) {
  const { f1, precision, recall } = shingleF1(shingled);
  console.log(
    `crossed articles (shingles) F1 ${f1.toFixed(3)} P ${precision.toFixed(3)} R ${recall.toFixed(3)}`,
  );
}

/** Preorder, as actors/lib/article/score.ts reads it. */
function preorder(tree: Grown): string {
  const tokens: string[] = [];
  const open = [0];
  while (open.length > 0) {
    const node = open.pop()!;
    const column = tree.column[node]!;
    if (column < 0) tokens.push(String(Math.round(tree.value[node]! * 1_000)));
    else {
      tokens.push(`${column}<${Number(tree.border[node]!.toPrecision(4))}`);
      open.push(tree.right[node]!, tree.left[node]!);
    }
  }
  return tokens.join(" ");
}

if (options.texts) writeFileSync(options.texts, JSON.stringify(texts));
if (options.write) {
  const model = learn(() => true);
  writeFileSync(
    new URL("../actors/lib/article/model.ts", import.meta.url),
    `/**
 * Weights, learned and not written: boosted trees over the numbers of actors/lib/article/features.ts, read by actors/lib/article/score.ts.
 * Made by \`node bench/extraction.train.ts --write\` from gold pages (WCXB by M. Foley, CC-BY-4.0; article-extraction-benchmark,
 * MIT) of which no text is in here. Changing a feature means learning again.
 */
export const BIAS = ${model.bias.toFixed(4)};
export const TREES = \`
${model.trees.map(preorder).join("\n")}
\`;
`,
  );
}

/**
 * Boosted regression trees over rows of numbers, with logistic loss: binned columns, leaves grown best first, the histogram of
 * a leaf's larger half taken from its parent's. Seeded and without dependencies: the same rows give the same trees.
 */

const BINS = 48;
const SAMPLED_ROWS = 20_000;
/** Share of rows and of columns that a tree sees. */
const ROW_SHARE = 0.6;
const COLUMN_SHARE = 0.4;
const REGULAR = 2;
const LEAF_HESSIAN_MIN = 1.5;
const LEAF_ROWS_MIN = 40;
const DEPTH_MAX = 8;

interface Tree {
  /** Nodes in order; a leaf has column -1. */
  readonly column: number[];
  /** Rows below it fall left. */
  readonly border: number[];
  readonly bin: number[];
  readonly left: number[];
  readonly right: number[];
  readonly value: number[];
}

export interface Model {
  readonly trees: readonly Tree[];
  readonly bias: number;
}

interface LearnOptions {
  readonly trees: number;
  readonly leaves: number;
  readonly rate: number;
}

/** Rows of numbers, each number replaced by its bin. */
interface Binned {
  readonly width: number;
  readonly count: number;
  readonly borders: readonly Float32Array[];
  /** Row after row. */
  readonly bins: Uint8Array;
}

/** Mulberry32: rows and columns are drawn, and drawn again the same. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Borders between bins, from a sample of each column. */
function bordersOf(parts: readonly Float32Array[], width: number, count: number): Float32Array[] {
  const step = Math.max(1, Math.floor(count / SAMPLED_ROWS));
  return Array.from({ length: width }, (_, column) => {
    const found: number[] = [];
    let row = 0;
    for (const part of parts)
      for (let at = column; at < part.length; at += width, row += 1)
        if (row % step === 0) found.push(part[at]!);
    const sorted = Float32Array.from(found).toSorted();
    const distinct = [...new Set(sorted)];
    if (distinct.length <= BINS)
      return Float32Array.from(distinct.slice(1).map((value, i) => (value + distinct[i]!) / 2));
    const cuts = new Set<number>();
    for (let i = 1; i < BINS; i += 1) cuts.add(sorted[Math.floor((i * sorted.length) / BINS)]!);
    return Float32Array.from(cuts);
  });
}

export function binned(parts: readonly Float32Array[], width: number): Binned {
  const count = parts.reduce((sum, part) => sum + part.length / width, 0);
  const borders = bordersOf(parts, width, count);
  const bins = new Uint8Array(count * width);
  let at = 0;
  for (const part of parts)
    for (let i = 0; i < part.length; i += 1, at += 1) {
      const cuts = borders[i % width]!;
      const value = part[i]!;
      let low = 0;
      let high = cuts.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (value < cuts[middle]!) high = middle;
        else low = middle + 1;
      }
      bins[at] = low;
    }
  return { width, count, borders, bins };
}

interface Leaf {
  readonly node: number;
  readonly from: number;
  readonly to: number;
  readonly depth: number;
  /** Gradient and hessian by used column and bin. */
  readonly sums: Float64Array;
  gain: number;
  column: number;
  bin: number;
}

/** Grows a tree; one algorithm, so it is one function. */
function grow(
  { width, borders, bins }: Binned,
  rows: Uint32Array,
  gradient: Float32Array,
  hessian: Float32Array,
  used: readonly number[],
  { leaves, rate }: LearnOptions,
): Tree {
  const tree: Tree = { column: [], border: [], bin: [], left: [], right: [], value: [] };
  const SLOT = 2 * (BINS + 1);
  const addNode = (): number => {
    for (const field of ["border", "bin", "left", "right", "value"] as const) tree[field].push(0);
    return tree.column.push(-1) - 1;
  };
  const sumsOf = (from: number, to: number): Float64Array => {
    const sums = new Float64Array(used.length * SLOT);
    for (let i = from; i < to; i += 1) {
      const row = rows[i]!;
      const start = row * width;
      const [g, h] = [gradient[row]!, hessian[row]!];
      for (let k = 0, slot = 0; k < used.length; k += 1, slot += SLOT) {
        const at = slot + 2 * bins[start + used[k]!]!;
        sums[at]! += g;
        sums[at + 1]! += h;
      }
    }
    return sums;
  };
  const leafOf = (node: number, from: number, to: number, depth: number, sums: Float64Array): Leaf => {
    const leaf: Leaf = { node, from, to, depth, sums, gain: 0, column: -1, bin: 0 };
    let [G, H] = [0, 0];
    for (let at = 0; at < SLOT; at += 2) {
      G += sums[at]!;
      H += sums[at + 1]!;
    }
    tree.value[node] = (-rate * G) / (H + REGULAR);
    if (depth >= DEPTH_MAX || to - from < LEAF_ROWS_MIN) return leaf;
    const whole = (G * G) / (H + REGULAR);
    for (const [k, column] of used.entries()) {
      let [g, h] = [0, 0];
      const cuts = borders[column]!.length;
      for (let bin = 0; bin < cuts; bin += 1) {
        g += sums[k * SLOT + 2 * bin]!;
        h += sums[k * SLOT + 2 * bin + 1]!;
        if (h < LEAF_HESSIAN_MIN || H - h < LEAF_HESSIAN_MIN) continue;
        const gain = (g * g) / (h + REGULAR) + ((G - g) * (G - g)) / (H - h + REGULAR) - whole;
        if (gain > leaf.gain) Object.assign(leaf, { gain, column, bin });
      }
    }
    return leaf;
  };
  const open = [leafOf(addNode(), 0, rows.length, 0, sumsOf(0, rows.length))];
  for (let count = 1; count < leaves; count += 1) {
    let at = -1;
    for (let i = 0; i < open.length; i += 1)
      if (open[i]!.gain > 1e-3 && (at < 0 || open[i]!.gain > open[at]!.gain)) at = i;
    if (at < 0) break;
    const leaf = open.splice(at, 1)[0]!;
    let middle = leaf.from;
    for (let i = leaf.from; i < leaf.to; i += 1) {
      const row = rows[i]!;
      if (bins[row * width + leaf.column]! > leaf.bin) continue;
      rows[i] = rows[middle]!;
      rows[middle] = row;
      middle += 1;
    }
    const isLeftSmaller = middle - leaf.from <= leaf.to - middle;
    const smaller = isLeftSmaller ? sumsOf(leaf.from, middle) : sumsOf(middle, leaf.to);
    const larger = leaf.sums;
    for (let i = 0; i < larger.length; i += 1) larger[i]! -= smaller[i]!;
    const [left, right] = [addNode(), addNode()];
    tree.column[leaf.node] = leaf.column;
    tree.bin[leaf.node] = leaf.bin;
    tree.border[leaf.node] = borders[leaf.column]![leaf.bin]!;
    tree.left[leaf.node] = left;
    tree.right[leaf.node] = right;
    open.push(
      leafOf(left, leaf.from, middle, leaf.depth + 1, isLeftSmaller ? smaller : larger),
      leafOf(right, middle, leaf.to, leaf.depth + 1, isLeftSmaller ? larger : smaller),
    );
  }
  return tree;
}

/** Trees for the chance that a row's label is 1; labels lie between 0 and 1. Only `members` are learned from. */
export function learn(
  rows: Binned,
  labels: Float32Array,
  weights: Float32Array,
  members: Uint32Array,
  options: LearnOptions,
): Model {
  const random = randomOf(20261121);
  const scores = new Float32Array(rows.count);
  const gradient = new Float32Array(rows.count);
  const hessian = new Float32Array(rows.count);
  let [positive, all] = [0, 0];
  for (const row of members) {
    positive += weights[row]! * labels[row]!;
    all += weights[row]!;
  }
  const bias = Math.log(positive / (all - positive));
  scores.fill(bias);
  const trees: Tree[] = [];
  for (let round = 0; round < options.trees; round += 1) {
    for (const row of members) {
      const chance = 1 / (1 + Math.exp(-scores[row]!));
      gradient[row] = weights[row]! * (chance - labels[row]!);
      hessian[row] = weights[row]! * Math.max(1e-4, chance * (1 - chance));
    }
    const drawn = members.filter(() => random() < ROW_SHARE);
    const used = rows.borders.flatMap((_, column) => (random() < COLUMN_SHARE ? [column] : []));
    const tree = grow(rows, drawn, gradient, hessian, used, options);
    trees.push(tree);
    for (const row of members) scores[row]! += binnedValue(tree, rows, row);
  }
  return { trees, bias };
}

function binnedValue(tree: Tree, { bins, width }: Binned, row: number): number {
  const start = row * width;
  let node = 0;
  while (tree.column[node]! >= 0)
    node = bins[start + tree.column[node]!]! <= tree.bin[node]! ? tree.left[node]! : tree.right[node]!;
  return tree.value[node]!;
}

const chance = (score: number): number => 1 / (1 + Math.exp(-score));

/** The chance of each row of `width` numbers. */
export function chancesBy({ trees, bias }: Model, rows: Float32Array, width: number): number[] {
  const chances: number[] = [];
  for (let start = 0; start < rows.length; start += width) {
    let score = bias;
    for (const tree of trees) {
      let node = 0;
      while (tree.column[node]! >= 0)
        node = rows[start + tree.column[node]!]! < tree.border[node]! ? tree.left[node]! : tree.right[node]!;
      score += tree.value[node]!;
    }
    chances.push(chance(score));
  }
  return chances;
}

/** The tree in preorder, as actors/reading/article/score.ts reads it. */
export function preorder(tree: Tree): string {
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

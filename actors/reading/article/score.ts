/**
 * The chance that each line of a page is text, by the decision trees of model.json, and the choice of lines with the best
 * expected F1 over words. It works on numbers only.
 */
import model from "./model.json" with { type: "json" };

export interface Trees {
  /** The feature that a node compares, -1 at a leaf. */
  readonly column: Int16Array;
  /** The threshold below which a row goes left; at a leaf its value. */
  readonly border: Float32Array;
  /** The index of the right child. Nodes are in preorder, so the left child is the next node. */
  readonly right: Int32Array;
  readonly roots: readonly number[];
}

/** Nodes in preorder: `column<border` is a comparison, a bare number (in thousandths) a leaf. */
export function readTrees(texts: readonly string[]): Trees {
  const column: number[] = [];
  const border: number[] = [];
  const right: number[] = [];
  const roots: number[] = [];
  for (const text of texts) {
    roots.push(column.length);
    // Inner nodes whose left side is being read.
    const open: number[] = [];
    for (const token of text.split(" ")) {
      const at = token.indexOf("<");
      const node = column.length;
      if (at >= 0) {
        column.push(Number(token.slice(0, at)));
        border.push(Number(token.slice(at + 1)));
        right.push(0);
        open.push(node);
        continue;
      }
      column.push(-1);
      border.push(Number(token) / 1_000);
      right.push(0);
      const parent = open.pop();
      if (parent !== undefined) right[parent] = node + 1;
    }
  }
  return {
    column: Int16Array.from(column),
    border: Float32Array.from(border),
    right: Int32Array.from(right),
    roots,
  };
}

export function sumTrees({ column, border, right, roots }: Trees, rows: Float32Array, start: number): number {
  let sum = 0;
  for (const root of roots) {
    let node = root;
    let feature = column[node]!;
    while (feature >= 0) {
      node = rows[start + feature]! < border[node]! ? node + 1 : right[node]!;
      feature = column[node]!;
    }
    sum += border[node]!;
  }
  return sum;
}

/** Columns that have the same value in every row of a page: from the first to behind the last. */
export interface SharedColumns {
  readonly from: number;
  readonly to: number;
}

/**
 * The trees for the rows of one page: what compares a shared column is decided, and the side that no row takes is left out. A third of
 * the comparisons are of shared columns, and the leaves that the rows reach are the same.
 */
export function treesOfPage(trees: Trees, row: Float32Array, { from, to }: SharedColumns): Trees {
  const column = new Int16Array(trees.column.length);
  const border = new Float32Array(column.length);
  const right = new Int32Array(column.length);
  let count = 0;
  /** Nodes whose left side is being copied: the right child of each, and its own place among the copies. */
  const open: number[] = [];
  /** Copies a subtree down to its leftmost leaf. */
  const copyDown = (top: number): void => {
    let node = top;
    for (;;) {
      const feature = trees.column[node]!;
      if (feature >= from && feature < to) {
        node = row[feature]! < trees.border[node]! ? node + 1 : trees.right[node]!;
        continue;
      }
      column[count] = feature;
      border[count] = trees.border[node]!;
      count += 1;
      if (feature < 0) return;
      open.push(trees.right[node]!, count - 1);
      node += 1;
    }
  };
  const roots = trees.roots.map((root) => {
    const copied = count;
    copyDown(root);
    while (open.length > 0) {
      right[open.pop()!] = count;
      copyDown(open.pop()!);
    }
    return copied;
  });
  return { column, border, right, roots };
}

let trees: Trees | undefined;

/** For each row of features the chance that the line is text. */
export function chancesOf(rows: Float32Array, width: number, shared: SharedColumns): number[] {
  if (rows.length === 0) return [];
  trees ??= readTrees(model.trees);
  const own = treesOfPage(trees, rows, shared);
  const chances: number[] = [];
  for (let start = 0; start < rows.length; start += width)
    chances.push(1 / (1 + Math.exp(-model.bias - sumTrees(own, rows, start))));
  return chances;
}

/**
 * The lines with the best expected F1 over words, and that F1. Adding a line improves it while the line's chance is above
 * half of the F1 so far; a `share` above one half prefers missing lines to wrong ones.
 */
export function selectLines(
  chances: readonly number[],
  sizes: readonly number[],
  share: number,
): { picked: boolean[]; expected: number } {
  const order = chances.map((_, i) => i).toSorted((a, b) => chances[b]! - chances[a]!);
  let wanted = 0;
  for (const [i, chance] of chances.entries()) wanted += chance * sizes[i]!;
  let [hit, taken_size, expected] = [0, 0, 0];
  for (const i of order) {
    hit += chances[i]! * sizes[i]!;
    taken_size += sizes[i]!;
    if (taken_size > 0) expected = Math.max(expected, (2 * hit) / (taken_size + wanted));
  }
  return { picked: chances.map((chance) => chance >= share * expected), expected };
}

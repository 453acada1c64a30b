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

let trees: Trees | undefined;

/** For each row of features the chance that the line is text. */
export function chancesOf(rows: Float32Array, width: number): number[] {
  trees ??= readTrees(model.trees);
  const chances: number[] = [];
  for (let start = 0; start < rows.length; start += width)
    chances.push(1 / (1 + Math.exp(-model.bias - sumTrees(trees, rows, start))));
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

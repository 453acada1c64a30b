/**
 * Lines that label something: short lines of a structure that the page repeats, as the place of each job in a list, the price on each card,
 * the author and the date of each post. A single one is judged by its words and neighbours, so some of a list are taken and others are not;
 * here they are decided together.
 */
import type { Line } from "./lines.ts";
import type { Peers } from "./peers.ts";

/** A structure with so many lines, none longer, is one of labels. */
const LABELS_MIN = 3;
const LABEL_CHARS_MAX = 60;

/** 1 for each line of a structure of labels. */
export function labelsAmong(lines: readonly Line[], structure: Int32Array): Uint8Array {
  const counts = new Map<number, number>();
  for (const [i, { chars }] of lines.entries())
    counts.set(structure[i]!, chars > LABEL_CHARS_MAX ? -Infinity : (counts.get(structure[i]!) ?? 0) + 1);
  return Uint8Array.from(lines, (_, i) => (counts.get(structure[i]!)! >= LABELS_MIN ? 1 : 0));
}

/** The chances of all lines, where labels of one structure in one group of siblings have their mean. */
export function withEvenLabels(
  { structure, group }: Peers,
  labels: Uint8Array,
  chances: readonly number[],
): number[] {
  const sums = new Map<string, { count: number; chance: number }>();
  const keyOf = (i: number): string | null =>
    labels[i] && group[i]! >= 0 ? `${group[i]} ${structure[i]}` : null;
  for (const [i, chance] of chances.entries()) {
    const key = keyOf(i);
    if (key === null) continue;
    const known = sums.get(key) ?? { count: 0, chance: 0 };
    known.count += 1;
    known.chance += chance;
    sums.set(key, known);
  }
  return chances.map((chance, i) => {
    const sum = sums.get(keyOf(i) ?? "");
    return sum === undefined || sum.count < LABELS_MIN ? chance : sum.chance / sum.count;
  });
}

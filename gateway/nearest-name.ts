/** For "did you mean": the known name nearest to one that is not known. */

/** A third of the name may differ; below that every short name would be near every other. */
const isNear = (name: string, far: number): boolean => far <= Math.max(2, Math.floor(name.length / 3));

/** The known name at the smallest edit distance, if it is small enough; else one that continues the given name, or null. */
export function nearestName(name: string, known: readonly string[]): string | null {
  let nearest: { readonly other: string; readonly far: number } | null = null;
  for (const other of known) {
    const far = editDistance(name, other);
    if (!nearest || far < nearest.far) nearest = { other, far };
  }
  if (nearest && isNear(name, nearest.far)) return nearest.other;
  return known.find((other) => other.startsWith(`${name}_`)) ?? null;
}

/** Levenshtein distance: insertions, deletions and replacements. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}

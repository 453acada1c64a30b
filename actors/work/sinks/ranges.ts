/** Sets of item numbers as ascending ranges, first and last included. Pure. */
export type Ranges = readonly (readonly [first: number, last: number])[];

/** `indexes` ascend. */
export function rangesOf(indexes: Iterable<number>): Ranges {
  const ranges: [number, number][] = [];
  for (const index of indexes) {
    const last = ranges.at(-1);
    if (last?.[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges;
}

export function* indexesOf(ranges: Ranges): Generator<number> {
  for (const [first, last] of ranges) for (let index = first; index <= last; index++) yield index;
}

/** The union. */
export function withRanges(a: Ranges, b: Ranges): Ranges {
  const merged: [number, number][] = [];
  for (const [first, last] of [...a, ...b].toSorted((x, y) => x[0] - y[0])) {
    const open = merged.at(-1);
    if (open && first <= open[1] + 1) open[1] = Math.max(open[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

/** The numbers from 0 to below `total` that `ranges` do not have. */
export function* missingFrom(ranges: Ranges, total: number): Generator<number> {
  let next = 0;
  for (const [first, last] of ranges) {
    for (; next < Math.min(first, total); next++) yield next;
    next = last + 1;
  }
  for (; next < total; next++) yield next;
}

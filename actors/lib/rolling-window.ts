/**
 * Counts and latencies of the last 600 s, in slices of 30 s: what it tells is up to 30 s older than the window. Latencies are
 * counted by bound, so that those of several nodes can be added.
 */
const SLICE_MS = 30_000;
export const WINDOW_MS = 600_000;
/** Upper bounds of latencies in milliseconds; one above the last counts as the last. */
export const BOUNDS_MS = [
  5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000,
] as const;

interface Slice<Name extends string> {
  readonly begins_ms: number;
  readonly counts: Partial<Record<Name, number>>;
  readonly latencies: number[];
}

export class RollingWindow<Name extends string> {
  readonly #names: readonly Name[];
  readonly #slices: Slice<Name>[] = [];

  constructor(names: readonly Name[]) {
    this.#names = names;
  }

  add(name: Name, now_ms: number, by = 1): void {
    const { counts } = this.#sliceAt(now_ms);
    counts[name] = (counts[name] ?? 0) + by;
  }

  observe(ms: number, now_ms: number): void {
    const bound = BOUNDS_MS.findIndex((limit) => ms <= limit);
    this.#sliceAt(now_ms).latencies[bound === -1 ? BOUNDS_MS.length - 1 : bound]!++;
  }

  /** Every name, 0 where nothing was counted. */
  sums(now_ms: number): Readonly<Record<Name, number>> {
    this.#forget(now_ms);
    const total = (name: Name): number =>
      this.#slices.reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0);
    return Object.fromEntries(this.#names.map((name) => [name, total(name)])) as Record<Name, number>;
  }

  /** By the bounds of BOUNDS_MS. */
  latencies(now_ms: number): readonly number[] {
    this.#forget(now_ms);
    return BOUNDS_MS.map((_, bound) =>
      this.#slices.reduce((sum, { latencies }) => sum + latencies[bound]!, 0),
    );
  }

  #sliceAt(now_ms: number): Slice<Name> {
    const last = this.#slices.at(-1);
    if (last && now_ms < last.begins_ms + SLICE_MS) return last;
    this.#forget(now_ms);
    const slice: Slice<Name> = { begins_ms: now_ms, counts: {}, latencies: BOUNDS_MS.map(() => 0) };
    this.#slices.push(slice);
    return slice;
  }

  #forget(now_ms: number): void {
    while (this.#slices[0] && now_ms - this.#slices[0].begins_ms >= WINDOW_MS) this.#slices.shift();
  }
}

/** The bound that 95 of 100 latencies do not exceed, in milliseconds; null: there are none. */
export function percentile95(latencies: readonly number[]): number | null {
  const count = latencies.reduce((sum, calls) => sum + calls, 0);
  if (count === 0) return null;
  let below = 0;
  const bound = latencies.findIndex((calls) => (below += calls) >= 0.95 * count);
  return BOUNDS_MS[bound]!;
}

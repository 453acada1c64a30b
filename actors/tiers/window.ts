/** What a tier did in the last 600 s: calls by outcome, and how long the successful ones took. */
import type { RoleFigures } from "../../cluster/role-actor.ts";
import type { CallOutcome } from "./infrastructure.ts";

const SLICE_MS = 30_000;
export const WINDOW_MS = 600_000;
/** Upper bounds of latencies in milliseconds; one above the last counts as the last. */
const BOUNDS_MS = [
  5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000,
] as const;

interface Slice {
  readonly begins_ms: number;
  attempts: number;
  successes: number;
  infrastructure_failures: number;
  /** Successful calls by bound. */
  readonly latencies: number[];
}

export class CallWindow {
  readonly #slices: Slice[] = [];

  record(outcome: CallOutcome, ms: number, now_ms: number): void {
    const slice = this.#sliceAt(now_ms);
    slice.attempts++;
    if (outcome === "infrastructure") slice.infrastructure_failures++;
    if (outcome !== "success") return;
    slice.successes++;
    const bound = BOUNDS_MS.findIndex((limit) => ms <= limit);
    slice.latencies[bound === -1 ? BOUNDS_MS.length - 1 : bound]!++;
  }

  figures(now_ms: number): RoleFigures {
    this.#forget(now_ms);
    let [attempts, successes, infrastructure_failures] = [0, 0, 0];
    const latencies = BOUNDS_MS.map(() => 0);
    for (const slice of this.#slices) {
      attempts += slice.attempts;
      successes += slice.successes;
      infrastructure_failures += slice.infrastructure_failures;
      slice.latencies.forEach((count, bound) => (latencies[bound]! += count));
    }
    return { attempts, successes, infrastructure_failures, p95_ms: percentile(latencies, successes) };
  }

  #sliceAt(now_ms: number): Slice {
    const last = this.#slices.at(-1);
    if (last && now_ms < last.begins_ms + SLICE_MS) return last;
    this.#forget(now_ms);
    const slice: Slice = {
      begins_ms: now_ms,
      attempts: 0,
      successes: 0,
      infrastructure_failures: 0,
      latencies: BOUNDS_MS.map(() => 0),
    };
    this.#slices.push(slice);
    return slice;
  }

  #forget(now_ms: number): void {
    while (this.#slices[0] && now_ms - this.#slices[0].begins_ms >= WINDOW_MS) this.#slices.shift();
  }
}

function percentile(latencies: readonly number[], count: number): number | null {
  if (count === 0) return null;
  let below = 0;
  const bound = latencies.findIndex((calls) => (below += calls) >= 0.95 * count);
  return BOUNDS_MS[bound]!;
}

/**
 * How far this node's clock is from the cluster's. Every two seconds each node stores what its clock says in the lease store,
 * which stamps it with a clock of its own, and reads what the others have stored. So clocks are compared through one
 * stamp, without a message between nodes, and the stamp's own error is the same for all.
 *
 * The cluster's time is the median of the nodes' clocks and the store's. A node that is too far from it owns no partition,
 * because delays and pauses that it stores would be wrong for the next owner.
 */
import type { Clock } from "./ports/clock.ts";
import type { ClockReading, Leases } from "./ports/leases.ts";
import type { Log } from "./ports/log.ts";
import type { Metrics } from "./ports/metrics.ts";

const MEASURE_MS = 2_000;
/** A reading is late by the time it was on its way, never early: of the last ones of a node the largest is the best. */
const SAMPLES = 4;
export const WARN_SKEW_MS = 250;
/** Beyond it a node owns nothing, and is not ready. Stored times are off by less (actors/crawl/domain/politeness.ts). */
export const MAX_SKEW_MS = 2_000;
/** A refused node is taken back below it, so that it does not come and go. */
const READMIT_SKEW_MS = 1_000;

export interface ClockSkew {
  /** Resolves after the first measurement, or the first that failed. */
  readonly first: Promise<void>;
  /** Ahead of the cluster, negative: behind; null: not measured, or there is no other node. */
  readonly skew_ms: () => number | null;
  readonly isTooLarge: () => boolean;
  /**
   * How long ago the bus stored something, by its own clock, in milliseconds: never too short, and too long by the time of a
   * message to the bus. 0: the clocks were not compared yet.
   */
  readonly timeOnBus: (sent_ms: number) => number;
  readonly stop: () => void;
}

interface SkewDeps {
  readonly clock: Clock;
  readonly leases: Leases;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly nodeName: string;
  /** A refused node takes its wall clock over once it owns nothing. */
  readonly ownsNothing: () => boolean;
}

interface State {
  readonly samples: Map<string, readonly ClockReading[]>;
  skew_ms: number | null;
  level: "ok" | "warned" | "refused";
  isStopped: boolean;
  timer: Disposable | null;
}

export function clockSkew(deps: SkewDeps): ClockSkew {
  const state: State = {
    samples: new Map(),
    skew_ms: null,
    level: "ok",
    isStopped: false,
    timer: null,
  };

  async function measureRegularly(): Promise<void> {
    try {
      await measure(deps, state);
    } catch (problem) {
      deps.log.debug("The clocks of the nodes could not be compared", { problem });
    }
    if (state.isStopped) return;
    state.timer = deps.clock.at(deps.clock.now() + MEASURE_MS, () => void measureRegularly());
  }

  return {
    first: measureRegularly(),
    skew_ms: () => state.skew_ms,
    isTooLarge: () => state.level === "refused",
    timeOnBus(sent_ms) {
      const ahead_ms = aheadOf(state.samples.get(deps.nodeName));
      return ahead_ms === null ? 0 : Math.max(0, deps.clock.now() - ahead_ms - sent_ms);
    },
    stop() {
      state.isStopped = true;
      state.timer?.[Symbol.dispose]();
    },
  };
}

async function measure({ clock, leases, metrics, nodeName, ...deps }: SkewDeps, state: State): Promise<void> {
  const { samples } = state;
  if (state.level === "refused" && deps.ownsNothing()) {
    clock.resync();
    samples.delete(nodeName);
  }
  const readings = await leases.compareClocks(nodeName, clock.now());
  const present = new Set(readings.map(({ node }) => node));
  for (const node of samples.keys()) if (!present.has(node)) samples.delete(node);
  for (const reading of readings) {
    const known = samples.get(reading.node) ?? [];
    if (known.some(({ id }) => id === reading.id)) continue;
    samples.set(reading.node, [...known, reading].slice(-SAMPLES));
  }
  const ahead = new Map([...samples].map(([node, known]) => [node, aheadOf(known)!]));
  state.skew_ms = skewOf(ahead, nodeName);
  metrics.gauge("trawl_clock_skew_seconds", {}, (state.skew_ms ?? 0) / 1_000);
  judge(deps, state, Math.abs(state.skew_ms ?? 0));
}

/** By the best of the last readings. null: there is none. */
const aheadOf = (known: readonly ClockReading[] | undefined): number | null =>
  known ? Math.max(...known.map(({ ahead_ms }) => ahead_ms)) : null;

/** null: this node is alone, or has no reading of its own. */
export function skewOf(ahead: ReadonlyMap<string, number>, nodeName: string): number | null {
  const own_ms = ahead.get(nodeName);
  if (own_ms === undefined || ahead.size < 2) return null;
  return own_ms - medianOf([...ahead.values(), 0]);
}

/** The median. Of an even number it is the middle one nearer to 0, the store's own clock: half of the nodes must not move the other half. */
function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)]!, sorted[Math.floor(sorted.length / 2)]!];
  return Math.abs(low) <= Math.abs(high) ? low : high;
}

function judge({ log }: Pick<SkewDeps, "log">, state: State, skew_ms: number): void {
  const refused_from_ms = state.level === "refused" ? READMIT_SKEW_MS : MAX_SKEW_MS;
  const level = skew_ms >= refused_from_ms ? "refused" : skew_ms >= WARN_SKEW_MS ? "warned" : "ok";
  if (level === state.level) return;
  state.level = level;
  const fields = { skew_ms: Math.round(state.skew_ms ?? 0) };
  switch (level) {
    case "refused":
      return log.error(
        "This node's clock is too far from the cluster's: it owns no partition until it is set",
        fields,
      );
    case "warned":
      return log.warn("This node's clock is away from the cluster's", fields);
    case "ok":
      return log.info("This node's clock is the cluster's again", fields);
  }
}

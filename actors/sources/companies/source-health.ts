/**
 * How well each source answers: the outcomes of the last quarter of an hour, its canaries, and the shape of its documents, of
 * all nodes. A node collects outcomes and shapes in memory and stores them every few seconds, so that a refresh writes
 * nothing for it.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import { driftedPaths, type EndpointShapes, endpointOf, NO_SHAPES, observeShape, shapeOf } from "./drift.ts";
import { collection } from "../../../cluster/collection.ts";

export interface SourceOutcome {
  readonly at_ms: number;
  /** Null: the source answered, also that it does not know the company. */
  readonly error: string | null;
}

export interface CanaryOutcome {
  readonly at_ms: number;
  /** Null: the source gave what it must. */
  readonly problem: string | null;
  /** In a row. */
  readonly failures: number;
}

/** As stored, by source. */
export interface HealthRecord {
  /** Oldest first. */
  readonly recent: readonly SourceOutcome[];
  readonly last_success_ms: number | null;
  readonly last_error: SourceOutcome | null;
  readonly canary?: CanaryOutcome;
  /** Paths that went away, by endpoint. */
  readonly drift?: Readonly<Record<string, readonly string[]>>;
}

export const SOURCE_HEALTH = collection<HealthRecord>("company_source_health", { rebuildable: true });
/** By source and endpoint. */
export const SOURCE_SHAPES = collection<EndpointShapes>("company_source_shapes", { rebuildable: true });

export type HealthState = "operational" | "degraded" | "partial" | "major";

export interface Health {
  readonly state: HealthState;
  /** Null: the source was not asked lately. */
  readonly success_rate: number | null;
  readonly requests: number;
  readonly last_success_at: string | null;
  readonly last_error: string | null;
  readonly last_error_at: string | null;
  readonly canary: { readonly at: string; readonly problem: string | null } | null;
  /** Endpoint and path of each field that its documents have no more. */
  readonly drift: readonly string[];
}

const WINDOW_MS = 15 * 60_000;
const MAX_RECENT = 200;
/** A rate of fewer outcomes means nothing. */
const MIN_OUTCOMES = 5;
const EMPTY: HealthRecord = { recent: [], last_success_ms: null, last_error: null };
/** A canary that failed once may have met a short fault. */
const CANARY_FAILURES = 2;
/** A larger part of unreadable documents is a fault of its own. */
const MAX_UNREADABLE_SHARE = 0.1;
const UNREADABLE: ReadonlySet<string | null> = new Set(["unreadable", "schema_drift"]);
/** Paths that are shown of one source. */
const MAX_DRIFT = 20;
/** The least success rate of each state. */
const STATES: readonly (readonly [state: HealthState, at_least: number])[] = [
  ["operational", 0.85],
  ["degraded", 0.5],
  ["partial", 0.2],
  ["major", 0],
];

export function recordOutcomes(
  previous: HealthRecord | null,
  outcomes: readonly SourceOutcome[],
  now_ms: number,
): HealthRecord {
  const { recent, last_success_ms, last_error, ...rest } = previous ?? EMPTY;
  const all = [...recent, ...outcomes].toSorted((a, b) => a.at_ms - b.at_ms);
  return {
    ...rest,
    recent: all.filter(({ at_ms }) => now_ms - at_ms < WINDOW_MS).slice(-MAX_RECENT),
    last_success_ms: all.findLast(({ error }) => error === null)?.at_ms ?? last_success_ms,
    last_error: all.findLast(({ error }) => error !== null) ?? last_error,
  };
}

export function healthOf(record: HealthRecord | null, now_ms: number): Health {
  const { recent, last_success_ms, last_error, canary, drift } = record ?? EMPTY;
  const counted = recent.filter(({ at_ms }) => now_ms - at_ms < WINDOW_MS);
  const ok = counted.filter(({ error }) => error === null).length;
  const rate = counted.length === 0 ? null : ok / counted.length;
  const isTelling = rate !== null && counted.length >= MIN_OUTCOMES;
  const iso = (at_ms: number | null): string | null =>
    at_ms === null ? null : new Date(at_ms).toISOString();
  const unreadable = counted.filter(({ error }) => UNREADABLE.has(error)).length;
  const drifted = Object.entries(drift ?? {}).flatMap(([endpoint, paths]) =>
    paths.map((path) => `${endpoint} ${path}`),
  );
  const hasDrifted = drifted.length > 0 || (isTelling && unreadable / counted.length > MAX_UNREADABLE_SHARE);
  return {
    state: worst([
      isTelling ? STATES.find(([, at_least]) => rate >= at_least)![0] : "operational",
      hasDrifted ? "degraded" : "operational",
      (canary?.failures ?? 0) >= CANARY_FAILURES ? "partial" : "operational",
    ]),
    success_rate: rate === null ? null : Math.round(rate * 1_000) / 1_000,
    requests: counted.length,
    last_success_at: iso(last_success_ms),
    last_error: last_error?.error ?? null,
    last_error_at: iso(last_error?.at_ms ?? null),
    canary: canary ? { at: iso(canary.at_ms)!, problem: canary.problem } : null,
    drift: drifted.slice(0, MAX_DRIFT),
  };
}

const ORDER = STATES.map(([state]) => state);
const worst = (states: readonly HealthState[]): HealthState =>
  states.reduce((a, b) => (ORDER.indexOf(a) < ORDER.indexOf(b) ? b : a));

/** Figures for the status of the service: outcomes of the last 600 s. */
export interface SourceFigures {
  readonly requests: number;
  readonly successes: number;
  readonly unreadable: number;
  readonly hasDrift: boolean;
  /** Null: the source was never checked. */
  readonly canaryFailed: boolean | null;
}

const STATUS_WINDOW_MS = 600_000;

export function figuresOf(record: HealthRecord | null, now_ms: number): SourceFigures {
  const { recent, canary, drift } = record ?? EMPTY;
  const counted = recent.filter(({ at_ms }) => now_ms - at_ms < STATUS_WINDOW_MS);
  return {
    requests: counted.length,
    successes: counted.filter(({ error }) => error === null).length,
    unreadable: counted.filter(({ error }) => UNREADABLE.has(error)).length,
    hasDrift: Object.values(drift ?? {}).some((paths) => paths.length > 0),
    canaryFailed: canary ? canary.failures >= CANARY_FAILURES : null,
  };
}

export interface HealthBook {
  /** `is_check`: the service itself asked, for a canary. */
  readonly record: (source: string, error: string | null, is_check?: boolean) => void;
  /** A document that the source answered with; what is no JSON or too large is not looked at. */
  readonly observe: (source: string, url: string, body: Buffer) => void;
  /** Throws Fault. */
  readonly recordCanary: (source: string, problem: string | null) => Promise<void>;
  /** Throws Fault. */
  readonly read: (sources: readonly string[]) => Promise<ReadonlyMap<string, Health>>;
  /** Throws Fault. */
  readonly figures: (sources: readonly string[]) => Promise<ReadonlyMap<string, SourceFigures>>;
  readonly close: () => Promise<void>;
}

const STORE_AFTER_MS = 5_000;
/** Outcomes of a source that a node collects, at most, while the store does not answer. */
const MAX_WAITING = 1_000;
/** Longer than for outcomes: the record of an endpoint is some 25 KB. When too long, a changed document is noticed late. */
const STORE_SHAPES_AFTER_MS = 10_000;
const MAX_SHAPES_WAITING = 200;
/** Reading a larger document again costs too much. */
const MAX_OBSERVED_BYTES = 256 * 1_024;
const MAX_ENDPOINTS = 20;

export function openHealth({
  documents,
  clock,
  log,
  onUsed = () => {},
  onCompared = () => {},
}: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Log;
  /** The source was asked; called every few seconds while it is. */
  readonly onUsed?: (source: string) => void;
  /** The shapes of so many documents were compared with those before. */
  readonly onCompared?: (source: string, documents: number) => void;
}): HealthBook {
  const waiting = new Map<string, SourceOutcome[]>();
  const used = new Set<string>();
  /** By source, then by endpoint. */
  const shapes = new Map<string, Map<string, ReadonlySet<string>[]>>();
  let timer: Disposable | null = null;
  let shapesTimer: Disposable | null = null;

  async function storeShapes(): Promise<void> {
    shapesTimer = null;
    for (const [source, endpoints] of shapes) {
      shapes.delete(source);
      try {
        const drift: Record<string, readonly string[]> = {};
        for (const [endpoint, observed] of endpoints) {
          await SOURCE_SHAPES.update(documents, `${source} ${endpoint}`, (previous) => {
            const value = observed.reduce(observeShape, previous ?? NO_SHAPES);
            drift[endpoint] = driftedPaths(value);
            return { value };
          });
        }
        await SOURCE_HEALTH.update(documents, source, (previous) => ({
          value: {
            ...(previous ?? EMPTY),
            drift: Object.fromEntries(
              Object.entries({ ...previous?.drift, ...drift }).filter(([, paths]) => paths.length > 0),
            ),
          },
        }));
        for (const observed of endpoints.values()) onCompared(source, observed.length);
      } catch (problem) {
        log.warn("Cannot store the shapes of a company source", { source, problem: String(problem) });
      }
    }
  }

  /** Reads the stored record of each source, with the outcomes that this node has not stored yet. */
  async function readEach<T>(
    sources: readonly string[],
    view: (record: HealthRecord, now_ms: number) => T,
  ): Promise<ReadonlyMap<string, T>> {
    const now_ms = clock.now();
    const found = await SOURCE_HEALTH.getMany(documents, sources);
    return new Map(
      sources.map((source, index) => {
        const stored = found[index] ?? null;
        return [source, view(recordOutcomes(stored, waiting.get(source) ?? [], now_ms), now_ms)];
      }),
    );
  }

  async function store(): Promise<void> {
    timer = null;
    for (const [source, outcomes] of waiting) {
      waiting.delete(source);
      if (used.delete(source)) onUsed(source);
      try {
        await SOURCE_HEALTH.update(documents, source, (previous) => ({
          value: recordOutcomes(previous, outcomes, clock.now()),
        }));
      } catch (problem) {
        log.warn("Cannot store the health of a company source", { source, problem: String(problem) });
      }
    }
  }

  return {
    record(source, error, is_check = false) {
      if (!is_check) used.add(source);
      const outcomes = waiting.get(source) ?? [];
      if (outcomes.length < MAX_WAITING) outcomes.push({ at_ms: clock.now(), error });
      waiting.set(source, outcomes);
      timer ??= clock.at(clock.now() + STORE_AFTER_MS, () => void store());
    },
    observe(source, url, body) {
      if (body.length > MAX_OBSERVED_BYTES) return;
      const endpoint = endpointOf(url);
      const endpoints = shapes.get(source) ?? new Map<string, ReadonlySet<string>[]>();
      const observed = endpoints.get(endpoint) ?? [];
      if (observed.length >= MAX_SHAPES_WAITING || endpoints.size > MAX_ENDPOINTS) return;
      try {
        observed.push(shapeOf(JSON.parse(body.toString("utf8"))));
      } catch {
        return;
      }
      endpoints.set(endpoint, observed);
      shapes.set(source, endpoints);
      shapesTimer ??= clock.at(clock.now() + STORE_SHAPES_AFTER_MS, () => void storeShapes());
    },
    async recordCanary(source, problem) {
      await SOURCE_HEALTH.update(documents, source, (previous) => {
        const failures = problem === null ? 0 : (previous?.canary?.failures ?? 0) + 1;
        const canary = { at_ms: clock.now(), problem, failures };
        return { value: { ...(previous ?? EMPTY), canary } };
      });
    },
    read: (sources) => readEach(sources, healthOf),
    figures: (sources) => readEach(sources, figuresOf),
    async close() {
      timer?.[Symbol.dispose]();
      shapesTimer?.[Symbol.dispose]();
      await store();
      await storeShapes();
    },
  };
}

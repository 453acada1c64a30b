/**
 * How well each source answers: the outcomes of the last quarter of an hour, of all nodes. A node collects outcomes in memory
 * and stores them every few seconds, so that a refresh writes nothing for it.
 */
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Log } from "../../cluster/ports/log.ts";
import { overwrite } from "./stored-company.ts";

export const SOURCE_HEALTH = "company_source_health";

export interface SourceOutcome {
  readonly at_ms: number;
  /** Null: the source answered, also that it does not know the company. */
  readonly error: string | null;
}

/** As stored, by source. */
export interface HealthRecord {
  /** Oldest first. */
  readonly recent: readonly SourceOutcome[];
  readonly last_success_ms: number | null;
  readonly last_error: SourceOutcome | null;
}

export type HealthState = "operational" | "degraded" | "partial" | "major";

export interface Health {
  readonly state: HealthState;
  /** Null: the source was not asked lately. */
  readonly success_rate: number | null;
  readonly requests: number;
  readonly last_success_at: string | null;
  readonly last_error: string | null;
  readonly last_error_at: string | null;
}

const WINDOW_MS = 15 * 60_000;
const MAX_RECENT = 200;
/** Fewer outcomes say nothing. */
const MIN_OUTCOMES = 5;
const EMPTY: HealthRecord = { recent: [], last_success_ms: null, last_error: null };
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
  const { recent, last_success_ms, last_error } = previous ?? EMPTY;
  const all = [...recent, ...outcomes].toSorted((a, b) => a.at_ms - b.at_ms);
  return {
    recent: all.filter(({ at_ms }) => now_ms - at_ms < WINDOW_MS).slice(-MAX_RECENT),
    last_success_ms: all.findLast(({ error }) => error === null)?.at_ms ?? last_success_ms,
    last_error: all.findLast(({ error }) => error !== null) ?? last_error,
  };
}

export function healthOf(record: HealthRecord | null, now_ms: number): Health {
  const { recent, last_success_ms, last_error } = record ?? EMPTY;
  const counted = recent.filter(({ at_ms }) => now_ms - at_ms < WINDOW_MS);
  const ok = counted.filter(({ error }) => error === null).length;
  const rate = counted.length === 0 ? null : ok / counted.length;
  const isTelling = rate !== null && counted.length >= MIN_OUTCOMES;
  const iso = (at_ms: number | null): string | null =>
    at_ms === null ? null : new Date(at_ms).toISOString();
  return {
    state: isTelling ? STATES.find(([, at_least]) => rate >= at_least)![0] : "operational",
    success_rate: rate === null ? null : Math.round(rate * 1_000) / 1_000,
    requests: counted.length,
    last_success_at: iso(last_success_ms),
    last_error: last_error?.error ?? null,
    last_error_at: iso(last_error?.at_ms ?? null),
  };
}

export interface HealthBook {
  readonly record: (source: string, error: string | null) => void;
  /** Throws Fault. */
  readonly read: (sources: readonly string[]) => Promise<ReadonlyMap<string, Health>>;
  readonly close: () => Promise<void>;
}

const STORE_AFTER_MS = 5_000;
/** What a node collects while the store does not answer. */
const MAX_WAITING = 1_000;

export function openHealth({
  documents,
  clock,
  log,
}: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Log;
}): HealthBook {
  const waiting = new Map<string, SourceOutcome[]>();
  let timer: Disposable | null = null;

  async function store(): Promise<void> {
    timer = null;
    for (const [source, outcomes] of waiting) {
      waiting.delete(source);
      try {
        await overwrite<HealthRecord>(documents, SOURCE_HEALTH, source, (previous) => ({
          value: recordOutcomes(previous, outcomes, clock.now()),
        }));
      } catch (problem) {
        log.warn("Cannot store the health of a company source", { source, problem: String(problem) });
      }
    }
  }

  return {
    record(source, error) {
      const outcomes = waiting.get(source) ?? [];
      if (outcomes.length < MAX_WAITING) outcomes.push({ at_ms: clock.now(), error });
      waiting.set(source, outcomes);
      timer ??= clock.at(clock.now() + STORE_AFTER_MS, () => void store());
    },
    async read(sources) {
      const now_ms = clock.now();
      const found = await documents.getMany(SOURCE_HEALTH, sources);
      return new Map(
        sources.map((source, index) => {
          const stored = (found[index]?.value as HealthRecord | undefined) ?? null;
          return [source, healthOf(recordOutcomes(stored, waiting.get(source) ?? [], now_ms), now_ms)];
        }),
      );
    },
    async close() {
      timer?.[Symbol.dispose]();
      await store();
    },
  };
}

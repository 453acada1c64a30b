/**
 * Records in the history what a gateway saw, and reads the history. What cannot be recorded, because the database or every
 * worker is away, is kept in memory and recorded afterwards.
 */
import type { Node } from "../../../cluster/node-record.ts";
import {
  HISTORIAN_KEY,
  type HistoryRows,
  type Observation,
  type ServiceStatus,
  StatusHistorian,
  type StatusHistory,
} from "../../../schemas/status.ts";
import { bucketOf, codesOf, historyView, NO_HISTORY, recordObservations, worstCodes } from "./history.ts";

export interface StatusRecorder {
  readonly observe: (status: ServiceStatus) => void;
  /** Never rejects: what could not be recorded is tried again with the next call. */
  readonly record: () => Promise<void>;
  /** The history of the components with these ids. Never rejects: what cannot be read is missing. */
  readonly history: (ids: readonly string[], hours: number) => Promise<StatusHistory>;
}

const TIMEOUT_MS = 5_000;
/** How long a history that was read is shown. */
const READ_EVERY_MS = 15_000;
/** Unrecorded buckets: a day. The oldest are dropped. */
const MAX_UNRECORDED = 288;

export function statusRecorder({ clock, log, ask }: Pick<Node, "clock" | "log" | "ask">): StatusRecorder {
  const unrecorded = new Map<number, Observation["codes"]>();
  /** The last buckets that were recorded, as this gateway saw them. */
  const recorded = new Map<number, Observation["codes"]>();
  let stored: { readonly rows: HistoryRows; readonly read_ms: number } = {
    rows: NO_HISTORY,
    read_ms: -Infinity,
  };
  let reading: Promise<void> | null = null;
  let isRecording = false;

  async function read(): Promise<void> {
    try {
      const rows = await ask(StatusHistorian, HISTORIAN_KEY, "read", null, { timeout_ms: TIMEOUT_MS });
      stored = { rows, read_ms: clock.mono() };
    } catch (problem) {
      log.debug("Cannot read the history of the status", { problem: String(problem) });
      stored = { rows: stored.rows, read_ms: clock.mono() };
    }
  }

  return {
    observe(status) {
      const bucket = bucketOf(clock.now());
      const known = unrecorded.get(bucket) ?? recorded.get(bucket) ?? {};
      const codes = worstCodes(known, codesOf(status));
      if (codes !== known) unrecorded.set(bucket, codes);
      if (unrecorded.size > MAX_UNRECORDED) unrecorded.delete(unrecorded.keys().next().value!);
    },

    async record() {
      if (isRecording || unrecorded.size === 0) return;
      isRecording = true;
      try {
        const observations = [...unrecorded].map(([bucket, codes]) => ({ bucket, codes }));
        await ask(StatusHistorian, HISTORIAN_KEY, "record", { observations }, { timeout_ms: TIMEOUT_MS });
        recorded.clear();
        for (const { bucket, codes } of observations) {
          recorded.set(bucket, codes);
          if (unrecorded.get(bucket) === codes) unrecorded.delete(bucket);
        }
      } catch (problem) {
        log.debug("The history of the status is recorded later", { problem: String(problem) });
      } finally {
        isRecording = false;
      }
    },

    async history(ids, hours) {
      if (clock.mono() - stored.read_ms >= READ_EVERY_MS) {
        reading ??= read().finally(() => void (reading = null));
        await reading;
      }
      const now_ms = clock.now();
      const own = [...recorded, ...unrecorded].map(([bucket, codes]) => ({ bucket, codes }));
      return historyView(recordObservations(stored.rows, own, now_ms), ids, hours, now_ms);
    },
  };
}

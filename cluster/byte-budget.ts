/**
 * How many bytes of bodies a node holds in memory at once: bodies that arrive, are read and are stored, and answers that
 * are written from them. Work reserves its bytes before it needs them, waits in line when there is no room, and is
 * refused after a while, so that load ends in refusals and not in an exhausted heap.
 *
 * There are two lines, each with half of the limit: small reservations never wait for large ones, and work that holds a small
 * one may wait for a large one without blocking others. A reservation above its half counts as the half, so that a
 * single large body is always possible.
 */
import type { Clock } from "./ports/clock.ts";
import type { Metrics } from "./ports/metrics.ts";

/** Reservations up to this size are small. Most pages are, with room to spare. */
export const SMALL_BYTES = 2 * 2 ** 20;
/** How long a reservation waits in line at most. */
export const MAX_ROOM_WAIT_MS = 20_000;
/** Fewer bytes would leave less room than a single page of the default size takes. */
export const MIN_LIMIT_BYTES = 64 * 2 ** 20;

export interface Reservation {
  /** Gives back what is above this many bytes. */
  readonly shrink: (bytes: number) => void;
  /** Gives everything back. Harmless when repeated. */
  readonly release: () => void;
}

export interface BudgetFigures {
  readonly limit_bytes: number;
  readonly reserved_bytes: number;
  /** Reservations that wait in line. */
  readonly waiting: number;
}

export interface ByteBudget {
  /** Null: there was no room within MAX_ROOM_WAIT_MS, or before the signal. */
  readonly reserve: (bytes: number, signal?: AbortSignal) => Promise<Reservation | null>;
  readonly figures: () => BudgetFigures;
}

interface Line {
  readonly capacity_bytes: number;
  reserved_bytes: number;
  /** First come, first served. */
  readonly waiting: Set<{ readonly bytes: number; readonly admit: () => void }>;
}

export interface ByteBudgetDeps {
  readonly limit_bytes: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

export function byteBudget({ limit_bytes, clock, metrics }: ByteBudgetDeps): ByteBudget {
  const line = (): Line => ({
    capacity_bytes: Math.floor(limit_bytes / 2),
    reserved_bytes: 0,
    waiting: new Set(),
  });
  const lines = { small: line(), large: line() };

  const figures = (): BudgetFigures => ({
    limit_bytes,
    reserved_bytes: lines.small.reserved_bytes + lines.large.reserved_bytes,
    waiting: lines.small.waiting.size + lines.large.waiting.size,
  });

  function report(): void {
    const { reserved_bytes, waiting } = figures();
    metrics.gauge("trawl_memory_reserved_bytes", {}, reserved_bytes);
    metrics.gauge("trawl_memory_waiting", {}, waiting);
  }

  function admitWaiting(of: Line): void {
    for (const waiter of of.waiting) {
      if (of.reserved_bytes + waiter.bytes > of.capacity_bytes) return;
      of.waiting.delete(waiter);
      of.reserved_bytes += waiter.bytes;
      waiter.admit();
    }
  }

  function reservation(of: Line, bytes: number): Reservation {
    let held = bytes;
    const shrink = (to: number): void => {
      const returned = Math.max(0, held - Math.max(0, to));
      if (returned === 0) return;
      held -= returned;
      of.reserved_bytes -= returned;
      admitWaiting(of);
      report();
    };
    return { shrink, release: () => shrink(0) };
  }

  async function wait(of: Line, bytes: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { bytes, admit: () => resolve(true) };
    const giveUp = (): void => resolve(false);
    const timer = clock.at(clock.now() + MAX_ROOM_WAIT_MS, giveUp);
    signal?.addEventListener("abort", giveUp, { once: true });
    of.waiting.add(waiter);
    report();
    const admitted = await promise;
    timer[Symbol.dispose]();
    signal?.removeEventListener("abort", giveUp);
    // One that gave up may have stood before others that fit.
    if (of.waiting.delete(waiter)) admitWaiting(of);
    return admitted;
  }

  metrics.gauge("trawl_memory_limit_bytes", {}, limit_bytes);
  report();
  return {
    async reserve(requested_bytes, signal) {
      const of = requested_bytes <= SMALL_BYTES ? lines.small : lines.large;
      const bytes = Math.min(requested_bytes, of.capacity_bytes);
      if (signal?.aborted) return null;
      const hasRoom = of.waiting.size === 0 && of.reserved_bytes + bytes <= of.capacity_bytes;
      if (hasRoom) of.reserved_bytes += bytes;
      else if (!(await wait(of, bytes, signal))) {
        metrics.count("trawl_memory_refusals_total", {});
        report();
        return null;
      }
      report();
      return reservation(of, bytes);
    },
    figures,
  };
}

/**
 * How many bytes a node holds in memory at once: bodies that arrive, are read and are stored, answers that are written from
 * them, bodies of requests to the API, and messages of the bus until they are acknowledged. Work reserves its bytes before
 * it needs them, waits in line when there is no room, and is refused after a while, so that load ends in refusals and
 * not in an exhausted heap.
 *
 * Each line has its part of the limit, so that none waits for another: small reservations never wait for large ones, work
 * that holds a small one may wait for a large one, and a message that frees bytes of bodies is read while these are
 * all reserved. A reservation above its line's part counts as the whole part, so that a single large one is always possible.
 * Bodies of requests to the API do not wait: their projects share their part (fair-room.ts).
 */
import { type FairRoom, fairRoom } from "./fair-room.ts";
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

/** A line whose callers need not wait. */
export interface Room {
  /** Null: there is no room now, or others wait for it. */
  readonly tryReserve: (bytes: number) => Reservation | null;
  /** Waits until there is room. Null: the signal was aborted before. */
  readonly reserve: (bytes: number, signal: AbortSignal) => Promise<Reservation | null>;
}

export interface ByteBudget {
  /** For bodies. Null: there was no room within MAX_ROOM_WAIT_MS, or before the signal. */
  readonly reserve: (bytes: number, signal?: AbortSignal) => Promise<Reservation | null>;
  /** For bodies of requests to the API, owned by projects. */
  readonly requests: FairRoom;
  /** For messages of the bus that are not acknowledged: those that are answered, and those that are not. */
  readonly messages: { readonly asks: Room; readonly tells: Room };
  readonly figures: () => BudgetFigures;
}

/** The parts of the limit. Messages are small, and bodies of requests are parsed and dropped within moments. */
const PARTS = { small: 3 / 8, large: 1 / 2, requests: 1 / 16, asks: 1 / 32, tells: 1 / 32 } as const;

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
  const line = (part: number): Line => ({
    capacity_bytes: Math.floor(limit_bytes * part),
    reserved_bytes: 0,
    waiting: new Set(),
  });
  const lines = {
    small: line(PARTS.small),
    large: line(PARTS.large),
    asks: line(PARTS.asks),
    tells: line(PARTS.tells),
  };

  const requests = fairRoom(Math.floor(limit_bytes * PARTS.requests), report);

  const figures = (): BudgetFigures => ({
    limit_bytes,
    reserved_bytes: Object.values(lines).reduce(
      (sum, { reserved_bytes }) => sum + reserved_bytes,
      requests.reserved_bytes(),
    ),
    waiting: Object.values(lines).reduce((sum, { waiting }) => sum + waiting.size, 0),
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

  async function wait(
    of: Line,
    bytes: number,
    signal: AbortSignal | undefined,
    max_ms: number | null,
  ): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { bytes, admit: () => resolve(true) };
    // At once, or bytes that come back in the same moment would be given to it.
    const giveUp = (): void => {
      if (!of.waiting.delete(waiter)) return;
      resolve(false);
      // It may have stood before others that fit.
      admitWaiting(of);
    };
    const timer = max_ms === null ? null : clock.at(clock.now() + max_ms, giveUp);
    signal?.addEventListener("abort", giveUp, { once: true });
    of.waiting.add(waiter);
    report();
    const admitted = await promise;
    timer?.[Symbol.dispose]();
    signal?.removeEventListener("abort", giveUp);
    return admitted;
  }

  /** Null: there is no room now, or others wait for it. */
  function tryReserve(of: Line, requested_bytes: number): Reservation | null {
    const bytes = Math.min(requested_bytes, of.capacity_bytes);
    if (of.waiting.size > 0 || of.reserved_bytes + bytes > of.capacity_bytes) return null;
    of.reserved_bytes += bytes;
    report();
    return reservation(of, bytes);
  }

  function refuse(): null {
    metrics.count("trawl_memory_refusals_total", {});
    report();
    return null;
  }

  async function reserve(
    of: Line,
    requested_bytes: number,
    signal: AbortSignal | undefined,
    max_ms: number | null,
  ): Promise<Reservation | null> {
    if (signal?.aborted) return null;
    const reserved = tryReserve(of, requested_bytes);
    if (reserved) return reserved;
    const bytes = Math.min(requested_bytes, of.capacity_bytes);
    if (!(await wait(of, bytes, signal, max_ms))) return refuse();
    report();
    return reservation(of, bytes);
  }

  const room = (of: Line): Room => ({
    tryReserve: (bytes) => tryReserve(of, bytes),
    reserve: (bytes, signal) => reserve(of, bytes, signal, null),
  });

  metrics.gauge("trawl_memory_limit_bytes", {}, limit_bytes);
  report();
  return {
    reserve: (bytes, signal) =>
      reserve(bytes <= SMALL_BYTES ? lines.small : lines.large, bytes, signal, MAX_ROOM_WAIT_MS),
    requests,
    messages: { asks: room(lines.asks), tells: room(lines.tells) },
    figures,
  };
}

/**
 * Figures of the domains of this node over the last ten minutes, what they were asked and how long they took, for operators. Bounded: of more
 * domains those that were idle longest are forgotten. Not stored; a domain that moves begins anew on its next node.
 */
import { LRUCache } from "lru-cache";

export interface DomainFigures {
  readonly domain: string;
  /** Slots that were given back. */
  readonly requests: number;
  /** How many of these requests had no answer, 429 or 5xx. */
  readonly failures: number;
  /** From the grant of a slot to its release; null: there was none. */
  readonly mean_ms: number | null;
  /** Callers that wait for a slot, and slots in use. */
  readonly waiting: number;
  readonly in_flight: number;
  /** By the operator. */
  readonly is_paused: boolean;
  /**
   * Origins of the domain that asked for a pause or a longer delay, at most three of them; "*": all that it does not know. Absent in
   * reports of older versions.
   */
  readonly slowed?: readonly string[];
}

declare module "../../../cluster/ports/node-directory.ts" {
  interface NodeFigures {
    /** The busiest, the slowest and the most waited for of the last ten minutes. */
    readonly domains?: readonly DomainFigures[];
  }
}

const MAX_DOMAINS = 2_000;
const MAX_SLOWED_SHOWN = 3;
const HALF_MS = 300_000;

interface Half {
  readonly index: number;
  requests: number;
  failures: number;
  slot_ms: number;
}

interface Entry {
  halves: Half[];
  waiting: number;
  in_flight: number;
  isPaused: boolean;
  slowed: readonly string[];
  seen_ms: number;
}

export interface DomainRecorder {
  /** A slot was given back. `status`: the origin's, null without an answer. */
  readonly onRelease: (
    domain: string,
    now_ms: number,
    slot: { readonly slot_ms: number; readonly status: number | null },
  ) => void;
  readonly onQueue: (
    domain: string,
    now_ms: number,
    queue: Pick<Entry, "waiting" | "in_flight" | "isPaused" | "slowed">,
  ) => void;
  /** The busiest, the slowest and those with the most waiting callers: at most `limit` of each. */
  readonly top: (now_ms: number, limit: number) => readonly DomainFigures[];
}

const newHalf = (index: number): Half => ({ index, requests: 0, failures: 0, slot_ms: 0 });

export function domainRecorder(): DomainRecorder {
  const entries = new LRUCache<string, Entry>({ max: MAX_DOMAINS });

  function entryOf(domain: string, now_ms: number): Entry {
    const entry = entries.get(domain) ?? {
      halves: [],
      waiting: 0,
      in_flight: 0,
      isPaused: false,
      slowed: [],
      seen_ms: now_ms,
    };
    entry.seen_ms = now_ms;
    entries.set(domain, entry);
    return entry;
  }

  function figuresOf(
    domain: string,
    { halves, waiting, in_flight, isPaused, slowed }: Entry,
    now_ms: number,
  ): DomainFigures {
    const index = Math.floor(now_ms / HALF_MS);
    const recent = halves.filter((half) => half.index >= index - 1);
    const sum = (field: "requests" | "failures" | "slot_ms"): number =>
      recent.reduce((total, half) => total + half[field], 0);
    const requests = sum("requests");
    return {
      domain,
      requests,
      failures: sum("failures"),
      mean_ms: requests === 0 ? null : Math.round(sum("slot_ms") / requests),
      waiting,
      in_flight,
      is_paused: isPaused,
      slowed: slowed.slice(0, MAX_SLOWED_SHOWN),
    };
  }

  return {
    onRelease(domain, now_ms, { slot_ms, status }) {
      const entry = entryOf(domain, now_ms);
      const index = Math.floor(now_ms / HALF_MS);
      if (entry.halves.at(-1)?.index !== index) entry.halves = [...entry.halves.slice(-1), newHalf(index)];
      const half = entry.halves.at(-1)!;
      half.requests++;
      half.slot_ms += slot_ms;
      if (status === null || status === 429 || status >= 500) half.failures++;
    },
    onQueue(domain, now_ms, queue) {
      // A domain that was never asked and is not waited for is nothing to show.
      if (!entries.has(domain) && queue.waiting === 0 && !queue.isPaused) return;
      Object.assign(entryOf(domain, now_ms), queue);
    },
    top(now_ms, limit) {
      const all: DomainFigures[] = [];
      for (const [domain, entry] of entries.entries())
        if (entry.seen_ms > now_ms - 2 * HALF_MS) all.push(figuresOf(domain, entry, now_ms));
      const by = (value: (figures: DomainFigures) => number): readonly DomainFigures[] =>
        all
          .filter((figures) => value(figures) > 0)
          .toSorted((a, b) => value(b) - value(a))
          .slice(0, limit);
      return [
        ...new Set([
          ...by(({ requests }) => requests),
          ...by(({ mean_ms }) => mean_ms ?? 0),
          ...by(({ waiting }) => waiting),
          ...by(({ is_paused }) => Number(is_paused)),
        ]),
      ];
    },
  };
}

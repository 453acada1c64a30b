/**
 * The start ledger: when this node sent which request to which domain, robots.txt included, for `trawl audit
 * politeness`. Batched once a second into the collection `starts`, forgotten after seven days; off unless
 * TRAWL_START_LEDGER is on. It is told, it never decides: who may start is the domain actor's business, and what could
 * not be written is missing here, nothing else. A killed node takes the last second's rows with it.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Meters } from "../cluster/ports/meters.ts";
import type { Started } from "../schemas/domain.ts";

export interface Start extends Started {
  /** Unix milliseconds by its node's clock, when the request left. */
  readonly at_ms: number;
  readonly node: string;
}

type Row = readonly [domain: string, at_ms: number, fetch_id: string, epoch: number];

/** One document: what a node started within a second or so. */
interface Batch {
  readonly node: string;
  readonly rows: readonly Row[];
}

const COLLECTION = "starts";
const FLUSH_MS = 1_000;
const KEPT_MS = 7 * 24 * 60 * 60_000;
/** Rows that wait for the store; more are counted and left out. */
const MAX_ROWS = 10_000;

export interface StartLedger {
  /** Called as a request leaves; writes a little later. */
  readonly note: (started: Started) => void;
  /** Writes what is still to be written. */
  readonly close: () => Promise<void>;
}

interface Needs {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly node: () => string;
}

/** Sorts by time as text. */
const keyOf = (at_ms: number, rest = ""): string => `${String(at_ms).padStart(15, "0")} ${rest}`;

export function startLedger({ documents, clock, meters, node }: Needs): StartLedger {
  let rows: Row[] = [];
  let alarm: Disposable | null = null;
  let writing: Promise<void> = Promise.resolve();
  let batches = 0;

  function note({ domain, fetch_id, epoch }: Started): void {
    if (rows.length >= MAX_ROWS) return;
    rows.push([domain, clock.now(), fetch_id, epoch]);
    alarm ??= clock.at(clock.now() + FLUSH_MS, () => {
      alarm = null;
      writing = flush();
    });
  }

  async function flush(): Promise<void> {
    if (rows.length === 0) return;
    const batch: Batch = { node: node(), rows };
    rows = [];
    const first_ms = Math.min(...batch.rows.map(([, at_ms]) => at_ms));
    try {
      await documents.put(COLLECTION, keyOf(first_ms, `${batch.node} ${batches++}`), batch, 0, {
        expires_at_ms: clock.now() + KEPT_MS,
      });
    } catch (problem) {
      meters.say("warn", "The start ledger lacks some starts", { starts: batch.rows.length, problem });
    }
  }

  return {
    note,
    async close() {
      alarm?.[Symbol.dispose]();
      await writing;
      await flush();
    },
  };
}

/** A request may take this long before it is written down, under the time it left. */
const LATE_MS = 10 * 60_000;
const MAX_READ = 500;

/** Every start of a time, in order. */
export async function readStarts(documents: Documents, since_ms: number, until_ms: number): Promise<Start[]> {
  const starts: Start[] = [];
  for (let from = keyOf(Math.max(0, since_ms - LATE_MS)); ;) {
    const found = await documents.list(COLLECTION, { from, to: keyOf(until_ms), limit: MAX_READ });
    for (const { value } of found) {
      const { node, rows } = value as Batch;
      for (const [domain, at_ms, fetch_id, epoch] of rows)
        if (at_ms >= since_ms && at_ms < until_ms) starts.push({ domain, at_ms, fetch_id, epoch, node });
    }
    if (found.length < MAX_READ) break;
    from = `${found.at(-1)!.key}\0`;
  }
  return starts.toSorted((a, b) => a.at_ms - b.at_ms);
}

/** How one domain was treated. */
export interface Treated {
  readonly domain: string;
  readonly starts: number;
  /** Null: it was asked once. */
  readonly smallest_gap_ms: number | null;
  readonly least_ms: number;
  /** Pairs that were closer than allowed. */
  readonly violations: readonly { readonly gap_ms: number; readonly before: Start; readonly after: Start }[];
}

/** What a timer and the way to the socket may take off a gap. */
const TOLERANCE_MS = 5;

/** Domains by their smallest gap, the worst first; `leastOf` is what a domain is owed. */
export function audit(starts: readonly Start[], leastOf: (domain: string) => number): Treated[] {
  return [...Map.groupBy(starts, ({ domain }) => domain)]
    .map(([domain, all]) => {
      const least_ms = leastOf(domain);
      const pairs = all
        .slice(1)
        .map((after, n) => ({ gap_ms: after.at_ms - all[n]!.at_ms, before: all[n]!, after }));
      return {
        domain,
        starts: all.length,
        smallest_gap_ms: pairs.length === 0 ? null : Math.min(...pairs.map(({ gap_ms }) => gap_ms)),
        least_ms,
        violations: pairs.filter(({ gap_ms }) => gap_ms < least_ms - TOLERANCE_MS),
      };
    })
    .toSorted(
      (a, b) => (a.smallest_gap_ms ?? Infinity) - a.least_ms - ((b.smallest_gap_ms ?? Infinity) - b.least_ms),
    );
}

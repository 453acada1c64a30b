/**
 * The request audit: when this node sent a request to which domain, robots.txt included, for `trawl audit politeness`.
 * Written once a second in batches to the collection `request_audit` and kept for seven days; off unless
 * TRAWL_REQUEST_AUDIT is on. It only records: permits are the domain actor's decision, and after a failed write
 * the audit lacks some requests. A killed node loses the last second.
 */
import type { Node } from "../cluster/node-record.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { RequestSent } from "../schemas/domain.ts";
import { collection } from "../cluster/collection.ts";

export interface AuditedRequest extends RequestSent {
  /** Unix milliseconds by the node's clock, when the request was sent. */
  readonly at_ms: number;
  readonly node: string;
}

type Row = readonly [domain: string, at_ms: number, fetch_id: string, epoch: number];

/** A document: a node's requests of about a second. */
interface Batch {
  readonly node: string;
  readonly rows: readonly Row[];
}

/** By time and node. */
export const REQUEST_AUDIT = collection<Batch>("request_audit", { expires: true });
const FLUSH_MS = 1_000;
const TTL_MS = 7 * 24 * 60 * 60_000;
/** Maximum number of rows that wait for the store; more are dropped. */
const MAX_ROWS = 10_000;

export interface RequestAudit {
  /** Called when a request is sent; the row is written a little later. */
  readonly record: (started: RequestSent) => void;
  /** Writes the remaining rows. */
  readonly close: () => Promise<void>;
}

/** Sorts by time as text does. */
const keyOf = (at_ms: number, rest = ""): string => `${String(at_ms).padStart(15, "0")} ${rest}`;

export function openRequestAudit({
  documents,
  clock,
  log,
  node,
}: Pick<Node, "documents" | "clock" | "log"> & {
  readonly node: string;
}): RequestAudit {
  let rows: Row[] = [];
  let alarm: Disposable | null = null;
  let writing: Promise<void> = Promise.resolve();
  let batches = 0;

  function record({ domain, fetch_id, epoch }: RequestSent): void {
    if (rows.length >= MAX_ROWS) return;
    rows.push([domain, clock.now(), fetch_id, epoch]);
    alarm ??= clock.at(clock.now() + FLUSH_MS, () => {
      alarm = null;
      writing = flush();
    });
  }

  async function flush(): Promise<void> {
    if (rows.length === 0) return;
    const batch: Batch = { node: node, rows };
    rows = [];
    const first_ms = Math.min(...batch.rows.map(([, at_ms]) => at_ms));
    try {
      await REQUEST_AUDIT.put(documents, keyOf(first_ms, `${batch.node} ${batches++}`), batch, 0, {
        expires_at_ms: clock.now() + TTL_MS,
      });
    } catch (problem) {
      log.warn("Some requests are missing from the request audit", {
        requests: batch.rows.length,
        problem,
      });
    }
  }

  return {
    record,
    async close() {
      alarm?.[Symbol.dispose]();
      await writing;
      await flush();
    },
  };
}

/** A row may be stored this much later than its request. */
const MAX_WRITE_DELAY_MS = 10 * 60_000;
const MAX_READ = 500;

/** All requests in a span of time, in order. */
export async function readRequests(
  documents: Documents,
  since_ms: number,
  until_ms: number,
): Promise<AuditedRequest[]> {
  const requests: AuditedRequest[] = [];
  for (let from = keyOf(Math.max(0, since_ms - MAX_WRITE_DELAY_MS)); ;) {
    const page = await REQUEST_AUDIT.list(documents, { from, to: keyOf(until_ms), limit: MAX_READ });
    for (const {
      value: { node, rows },
    } of page) {
      for (const [domain, at_ms, fetch_id, epoch] of rows)
        if (at_ms >= since_ms && at_ms < until_ms) requests.push({ domain, at_ms, fetch_id, epoch, node });
    }
    if (page.length < MAX_READ) break;
    from = `${page.at(-1)!.key}\0`;
  }
  return requests.toSorted((a, b) => a.at_ms - b.at_ms);
}

/** The delays between the requests to one domain. */
export interface DomainAudit {
  readonly domain: string;
  readonly requests: number;
  /** Null: there was one request. */
  readonly smallest_delay_ms: number | null;
  readonly required_delay_ms: number;
  /** Pairs of requests that were too close. */
  readonly violations: readonly {
    readonly delay_ms: number;
    readonly previous: AuditedRequest;
    readonly next: AuditedRequest;
  }[];
}

/** By how much timers and the write to the socket may shorten a delay. */
const TOLERANCE_MS = 5;

/** Domains by their shortest delay in relation to the required one, worst first. */
export function audit(
  requests: readonly AuditedRequest[],
  requiredDelayOf: (domain: string) => number,
): DomainAudit[] {
  return [...Map.groupBy(requests, ({ domain }) => domain)]
    .map(([domain, all]) => {
      const required_delay_ms = requiredDelayOf(domain);
      const pairs = all
        .slice(1)
        .map((next, n) => ({ delay_ms: next.at_ms - all[n]!.at_ms, previous: all[n]!, next }));
      return {
        domain,
        requests: all.length,
        smallest_delay_ms: pairs.length === 0 ? null : Math.min(...pairs.map(({ delay_ms }) => delay_ms)),
        required_delay_ms,
        violations: pairs.filter(({ delay_ms }) => delay_ms < required_delay_ms - TOLERANCE_MS),
      };
    })
    .toSorted(
      (a, b) =>
        (a.smallest_delay_ms ?? Infinity) -
        a.required_delay_ms -
        ((b.smallest_delay_ms ?? Infinity) - b.required_delay_ms),
    );
}

/**
 * Adds the ledger's batches up: by customer, day and project; by key and day; by key and month. A batch carries a tag until
 * all its sums are stored, and each sum remembers which tagged batches it includes: after a crash at any point the next run
 * goes on, and no row counts twice.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import { NO_USAGE, type Usage } from "../../../schemas/accounts.ts";
import { LEDGER_RETENTION_MS, newBatchTag, type UsageSums } from "../../../schemas/ledger.ts";
import { addUsage } from "./read-usage.ts";
import { type BatchTotal, totalsOf } from "../../../schemas/ledger-batch.ts";
import { type Collection } from "../../../cluster/collection.ts";
import { LEDGER } from "../../../records/collections.ts";
import { USAGE_DAYS, USAGE_KEY_DAYS, USAGE_KEY_MONTHS } from "./collections.ts";

/** Batches in one round, and so the most that a sum remembers. */
const ROUND = 100;
const WRITES_AT_ONCE = 64;
export const SUMS_RETENTION_DAYS = 760;
const SUMS_RETENTION_MS = SUMS_RETENTION_DAYS * 24 * 3_600_000;

/** The documents that include a total, as collection and key. */
export function sumsOf(
  customer: string,
  { day, project, key }: Pick<BatchTotal, "day" | "project" | "key">,
): readonly [Collection<UsageSums>, string][] {
  return [
    [USAGE_DAYS, `${customer}:${day}:${project}`],
    [USAGE_KEY_DAYS, `${customer}:${project}:${key}:${day}`],
    [USAGE_KEY_MONTHS, `${customer}:${day.slice(0, 7)}:${project}:${key}`],
  ];
}

/** Adds every new batch of a customer up. Throws Fault. */
export async function foldLedger(documents: Documents, customer: string): Promise<void> {
  for (;;) {
    const batches = await LEDGER.list(documents, { tag: newBatchTag(customer), limit: ROUND });
    if (batches.length === 0) return;
    const sums = new Map<
      string,
      { collection: Collection<UsageSums>; key: string; totals: Map<string, BatchTotal[]> }
    >();
    for (const { key: batch, value } of batches)
      for (const total of totalsOf(value))
        for (const [collection, key] of sumsOf(customer, total)) {
          const name = `${collection.name}/${key}`;
          let sum = sums.get(name);
          if (!sum) sums.set(name, (sum = { collection, key, totals: new Map() }));
          const totals = sum.totals.get(batch);
          if (totals) totals.push(total);
          else sum.totals.set(batch, [total]);
        }
    const tagged = new Set(batches.map(({ key }) => key));
    await inGroups([...sums.values()], ({ collection, key, totals }) =>
      addTo(documents, collection, key, totals, tagged),
    );
    await inGroups(batches, async ({ key, value, version }) => {
      const expires_at_ms = timeOf(key) + LEDGER_RETENTION_MS;
      await LEDGER.put(documents, key, value, version, { expires_at_ms });
    });
  }
}

async function addTo(
  documents: Documents,
  collection: Collection<UsageSums>,
  key: string,
  totals: ReadonlyMap<string, readonly BatchTotal[]>,
  tagged: ReadonlySet<string>,
): Promise<void> {
  const stored = await collection.read(documents, key);
  const before: UsageSums = stored?.value ?? { usage: {}, folded: [] };
  const counted = new Set(before.folded);
  const sums: Record<string, Usage> = { ...before.usage };
  let at_ms = 0;
  for (const [batch, added] of totals) {
    at_ms = Math.max(at_ms, timeOf(batch));
    if (counted.has(batch)) continue;
    counted.add(batch);
    for (const { category, usage } of added)
      sums[category] = addUsage(sums[category] ?? (NO_USAGE as Usage), usage);
  }
  const folded = [...counted].filter((batch) => tagged.has(batch));
  const options = { expires_at_ms: at_ms + SUMS_RETENTION_MS };
  if (await collection.put(documents, key, { usage: sums, folded }, stored?.version ?? 0, options)) return;
  throw new Fault("lease_lost", `Cannot add up "${collection.name}/${key}": another node does`);
}

/** When a batch was written, by its key. */
const timeOf = (batch: string): number => Number(batch.split(":")[1]);

async function inGroups<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += WRITES_AT_ONCE)
    await Promise.all(all.slice(at, at + WRITES_AT_ONCE).map(work));
}

/** Usage, read from the sums that fold.ts stores. Reads documents and changes nothing. Throws Fault. */
import type { DocumentEntry, Documents } from "../../../cluster/ports/documents.ts";
import { NO_USAGE, type Usage } from "../../../schemas/accounts.ts";
import type { UsageSums } from "../../../schemas/ledger.ts";
import { type Collection } from "../../../cluster/collection.ts";
import { USAGE_DAYS, USAGE_KEY_DAYS, USAGE_KEY_MONTHS } from "./collections.ts";

/**
 * Adds up what was written. What was written before the time that it answers, in Unix milliseconds, is in the sums; null: unknown,
 * because nothing could be added up. Throws Fault.
 */
export type Refresh = (customer: string) => Promise<number | null>;

/** Usage of one day, project, key and category; day and key as far as the question needs them. */
export interface UsageCell {
  readonly project: string;
  readonly key: string | null;
  readonly day: string | null;
  readonly category: string;
  readonly usage: Usage;
}

const PAGE = 1_000;
/** Documents read for one answer. */
export const MAX_DOCUMENTS = 50_000;

export class TooMuchUsage extends Error {}

async function* documentsIn(
  documents: Documents,
  collection: Collection<UsageSums>,
  from: string,
  to: string,
): AsyncGenerator<DocumentEntry<UsageSums>> {
  let read = 0;
  for (let next = from; ;) {
    const page = await collection.list(documents, { from: next, to, limit: PAGE });
    yield* page;
    read += page.length;
    if (page.length < PAGE) return;
    if (read >= MAX_DOCUMENTS) throw new TooMuchUsage(`More than ${MAX_DOCUMENTS} sums`);
    next = `${page.at(-1)!.key}\0`;
  }
}

function cellsOf(value: UsageSums, of: Omit<UsageCell, "category" | "usage">): UsageCell[] {
  return Object.entries(value.usage).map(([category, usage]) => ({ ...of, category, usage }));
}

export interface UsageQuestion {
  readonly customer: string;
  /** First day, and the day after the last. */
  readonly since: string;
  readonly until: string;
  /** Only this key's; null: the whole customer's. */
  readonly key: { readonly project: string; readonly prefix: string } | null;
  /** Whether cells tell keys apart. */
  readonly by_key: boolean;
}

/** By day and project, or by day, project and key. */
export async function readUsage(
  documents: Documents,
  { customer, since, until, key, by_key }: UsageQuestion,
): Promise<readonly UsageCell[]> {
  const cells: UsageCell[] = [];
  if (key === null && !by_key) {
    const [from, to] = [`${customer}:${since}`, `${customer}:${until}`];
    for await (const { key: id, value } of documentsIn(documents, USAGE_DAYS, from, to)) {
      const [, day, project] = id.split(":");
      cells.push(...cellsOf(value, { project: project!, key: null, day: day! }));
    }
    return cells;
  }
  const own = key === null ? `${customer}:` : `${customer}:${key.project}:${key.prefix}:`;
  const [from, to] = key === null ? [own, `${customer};`] : [`${own}${since}`, `${own}${until}`];
  for await (const { key: id, value } of documentsIn(documents, USAGE_KEY_DAYS, from, to)) {
    const [, project, prefix, day] = id.split(":");
    if (day! < since || day! >= until) continue;
    cells.push(...cellsOf(value, { project: project!, key: prefix!, day: day! }));
  }
  return cells;
}

/** A month of each key of a customer that was used. */
export async function readMonth(
  documents: Documents,
  customer: string,
  month: string,
  key: { readonly project: string; readonly prefix: string } | null,
): Promise<readonly UsageCell[]> {
  const all = `${customer}:${month}:`;
  if (key !== null) {
    const stored = await USAGE_KEY_MONTHS.get(documents, `${all}${key.project}:${key.prefix}`);
    return stored ? cellsOf(stored, { project: key.project, key: key.prefix, day: null }) : [];
  }
  const cells: UsageCell[] = [];
  const to = `${customer}:${month};`;
  for await (const { key: id, value } of documentsIn(documents, USAGE_KEY_MONTHS, all, to)) {
    const [, , project, prefix] = id.split(":");
    cells.push(...cellsOf(value, { project: project!, key: prefix!, day: null }));
  }
  return cells;
}

export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Record<string, number> = { ...NO_USAGE };
  for (const name of Object.keys(NO_USAGE) as (keyof Usage)[]) sum[name] = a[name] + b[name];
  return sum as Usage;
}

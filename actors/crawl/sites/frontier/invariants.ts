/**
 * Invariants of a stored crawl, true at any time: every address is known once and is in one state, the job has exactly the addresses that
 * it was given, in their order, and none of them is against the rules. Tests check this after every step, and `trawl job verify`
 * in a store.
 */
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { AddressRow } from "../../../../schemas/crawl.ts";
import { JOB_ITEMS } from "../../../../records/collections.ts";
import { CHUNK_ITEMS, chunkKey, ITEM_STATUSES, type JobRecord } from "../../../../schemas/jobs.ts";
import type { JoinedSites } from "../../../lib/web/url.ts";
import { CRAWLS, FRONTIERS } from "./collections.ts";
import { keyOf } from "./discover.ts";
import { storedOrder, storedRows } from "./load.ts";
import { type CrawlRules, refusalOfRow, rulesOf } from "./rules.ts";

interface StoredCrawl {
  readonly rules: CrawlRules;
  readonly rows: readonly AddressRow[];
  /** The ordinal of each item. */
  readonly order: readonly number[];
}

/** Throws Fault, and Error where a part is missing. Null: nothing is stored of its addresses yet. */
async function readCrawl(
  documents: Documents,
  job_id: string,
  joined?: JoinedSites,
): Promise<StoredCrawl | null> {
  const [crawl, stored] = await Promise.all([
    CRAWLS.get(documents, job_id),
    FRONTIERS.get(documents, job_id),
  ]);
  if (crawl === null || stored === null) return null;
  const rows: AddressRow[] = [];
  const order: number[] = [];
  for await (const part of storedRows(documents, job_id, stored)) rows.push(...part);
  for await (const part of storedOrder(documents, job_id, stored)) order.push(...part);
  return { rules: rulesOf(crawl, joined), rows, order };
}

/** Violations, as sentences; `job` was read before. `joined`: as the nodes have them. Throws Fault. */
export async function crawlProblems(
  documents: Documents,
  job_id: string,
  job: JobRecord,
  joined?: JoinedSites,
): Promise<readonly string[]> {
  const crawl = await readCrawl(documents, job_id, joined);
  if (crawl === null) return job.counts.total === 0 ? [] : ["The job has items, and its crawl is not stored"];
  const urls: (string | null)[] = [];
  for (let from = 0; from < job.counts.total; from += CHUNK_ITEMS) {
    const chunk = await JOB_ITEMS.get(documents, chunkKey(job_id, from));
    for (const { url } of chunk?.items ?? []) urls.push(typeof url === "string" ? url : null);
  }
  return checkCrawl(job, crawl, urls);
}

/** Violations, as sentences. `urls`: of the job's items, in their order, null where one is sealed; `job` was read before the crawl. */
function checkCrawl(
  { counts, spec, finished_ms, phase }: Pick<JobRecord, "counts" | "spec" | "finished_ms" | "phase">,
  { rules, rows, order }: StoredCrawl,
  urls: readonly (string | null)[],
): readonly string[] {
  const problems: string[] = [];
  const keys = new Set<string>();
  for (const row of rows) {
    const key = keyOf(row, { rules });
    if (keys.has(key)) problems.push(`"${row.url}" is known twice`);
    keys.add(key);
  }
  const given_to_job = new Set(order);
  if (given_to_job.size < order.length) problems.push("An address was given to the job twice");
  if (order.length > spec.total)
    problems.push(`${order.length} addresses were given, the limit is ${spec.total}`);
  if (counts.total > order.length)
    problems.push(`The job has ${counts.total} items, ${order.length} addresses were given`);
  for (const [index, ordinal] of order.entries()) {
    const row = rows[ordinal];
    if (row === undefined || row.reason !== undefined) {
      problems.push(`Item ${index} is address ${ordinal}, which is ${row?.reason ?? "not there"}`);
      continue;
    }
    const against = refusalOfRow(new URL(row.url), row, rules);
    if (against !== null) problems.push(`"${row.url}" was given to the job, and is ${against}`);
    if (index < counts.total && urls[index] !== null && urls[index] !== row.url)
      problems.push(`Item ${index} is "${urls[index]}", the address is "${row.url}"`);
  }
  for (const [ordinal, { url, duplicate_of }] of rows.entries()) {
    if (duplicate_of === undefined) continue;
    if (!given_to_job.has(ordinal)) problems.push(`"${url}" is a duplicate, and was not fetched`);
    if (!given_to_job.has(duplicate_of) || rows[duplicate_of]!.duplicate_of !== undefined)
      problems.push(`"${url}" repeats address ${duplicate_of}, which is no page that stands for itself`);
  }
  const excluded = rows.filter(({ reason }) => reason !== undefined).length;
  const waiting = rows.length - excluded - order.length;
  const items = ITEM_STATUSES.reduce((sum, status) => sum + counts[status], 0);
  const given = order.length - counts.total;
  if (items + given + waiting + excluded !== rows.length)
    problems.push(
      `${items} items, ${waiting + given} waiting and ${excluded} excluded are not ${rows.length}`,
    );
  const isOver = finished_ms !== null && phase === "completed";
  if (isOver && (given > 0 || (waiting > 0 && order.length < spec.total)))
    problems.push(`The crawl is finished, but ${waiting + given} addresses wait`);
  return problems;
}

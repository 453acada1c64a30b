/**
 * Pages that are gone since the earlier crawl, which a crawl with `since_job` tells as a whole, once it has ended. A page is gone where the site
 * answered 404 or 410 for it, or where no page names it any more. Of a page that was left out by a limit, or that a page named
 * which could not be read now, nothing is said.
 */
import { LRUCache } from "lru-cache";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { AddressRow } from "../../../../schemas/crawl.ts";
import { FAILED, type States } from "../../../../schemas/job-states.ts";
import type { JobRecord } from "../../../../schemas/jobs.ts";
import { type JoinedSites, parseUrl } from "../../../lib/web/url.ts";
import { storedResults } from "../../../work/jobs/results.ts";
import { keyOfText } from "../address/key.ts";
import { type Addresses, addresses } from "../frontier/addresses.ts";
import { CRAWLS, FRONTIERS } from "../frontier/collections.ts";
import { rowsOfRecord, storedRows } from "../frontier/load.ts";
import { type CrawlRecord, type FrontierRecord, orderOf } from "../frontier/record.ts";
import { refusalOfRow, rulesOf } from "../frontier/rules.ts";

/** Errors that say that there is no such page. */
const NO_PAGE: ReadonlySet<string> = new Set(["http_404", "http_410"]);
/** Crawls in memory: some bytes a page. */
const MAX_CRAWLS = 10;

/** A crawl as it is stored. `indexes`: the item of each address; -1: it is none. */
interface ReadCrawl {
  readonly job_id: string;
  readonly job: JobRecord;
  readonly record: FrontierRecord;
  readonly states: States;
  readonly indexes: Int32Array;
}

export interface GonePages {
  /** Ordinals of addresses that are failed items of the later crawl. */
  readonly refused: ReadonlySet<number>;
  /** Pages of the earlier crawl that the later one has not found. */
  readonly missing: number;
  readonly missingRows: (from: number, count: number) => Promise<readonly AddressRow[]>;
}

const NOTHING: GonePages = { refused: new Set(), missing: 0, missingRows: async () => [] };

/** Reads what is gone, once for each crawl. The reader throws Fault. */
export function gonePages(documents: Documents, joined: JoinedSites) {
  const known = new LRUCache<string, Promise<GonePages>>({ max: MAX_CRAWLS });
  return async (crawl: ReadCrawl): Promise<GonePages> => {
    if (crawl.job.phase !== "completed") return NOTHING;
    const before = known.get(crawl.job_id);
    if (before) return before;
    const reading = readGone(documents, joined, crawl);
    known.set(crawl.job_id, reading);
    reading.catch(() => known.delete(crawl.job_id));
    return reading;
  };
}

async function readGone(documents: Documents, joined: JoinedSites, later: ReadCrawl): Promise<GonePages> {
  const asked = await CRAWLS.get(documents, later.job_id);
  const earlier = asked?.since_job === undefined ? null : await FRONTIERS.get(documents, asked.since_job);
  if (asked === null || earlier === null) return NOTHING;
  const known = await addressesOf(documents, later, asked);
  const isLimited = later.record.unlisted > 0 || orderOf(later.record) >= later.job.spec.total;
  const rules = rulesOf(asked, joined);
  const isMissing = ({ url, found_on, depth }: AddressRow, key: string): boolean => {
    const at = parseUrl(url);
    // A seed that the later crawl did not begin with is not looked for.
    if (isLimited || found_on === null || at === null || known.found.find(key) >= 0) return false;
    return (
      known.unread.find(keyOfText(found_on, rules)) < 0 &&
      refusalOfRow(at, { depth, found_on }, rules) === null
    );
  };
  const refused = new Set<number>();
  const missing: number[] = [];
  let ordinal = 0;
  for await (const rows of storedRows(documents, asked.since_job!, earlier))
    for (const row of rows) {
      const key = row.seen && keyOfText(row.url, rules);
      const answered = key === undefined ? undefined : known.refused.get(key);
      if (answered !== undefined) refused.add(answered);
      else if (key !== undefined && isMissing(row, key)) missing.push(ordinal);
      ordinal++;
    }
  return {
    refused,
    missing: missing.length,
    async missingRows(from, count) {
      const wanted = missing.slice(from, from + count);
      const rows = await rowsOfRecord(documents, asked.since_job!, earlier, wanted);
      return wanted.map((each) => rows.get(each)!);
    },
  };
}

interface KnownAddresses {
  /** All of them, and those that others led to. */
  readonly found: Addresses;
  /** Whose page could not be read, so that what it names is not known. */
  readonly unread: Addresses;
  /** The ordinals of those that have no page, by their keys. */
  readonly refused: ReadonlyMap<string, number>;
}

async function addressesOf(
  documents: Documents,
  { job_id, record, states, indexes }: ReadCrawl,
  { rules: { ignore_query = false } }: CrawlRecord,
): Promise<KnownAddresses> {
  const failed = [...states.keys()].filter((index) => states[index] === FAILED);
  const without_page = new Set<number>();
  for await (const [index, { error }] of storedResults(documents, job_id, failed))
    if (error !== null && NO_PAGE.has(error)) without_page.add(index);
  const [found, unread] = [addresses(job_id), addresses(job_id)];
  const refused = new Map<string, number>();
  const keyOf = (url: string): string => keyOfText(url, { ignore_query });
  const add = (list: Addresses, key: string): void => {
    if (list.find(key) < 0) list.add(key, 0);
  };
  let ordinal = 0;
  for await (const rows of storedRows(documents, job_id, record))
    for (const { url, redirected_to } of rows) {
      const index = indexes[ordinal]!;
      add(found, keyOf(url));
      if (redirected_to !== undefined) add(found, keyOf(redirected_to));
      if (without_page.has(index)) refused.set(keyOf(url), ordinal);
      else if (states[index] === FAILED) add(unread, keyOf(url));
      ordinal++;
    }
  return { found, unread, refused };
}

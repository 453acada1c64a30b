/**
 * Stored form of a crawl's addresses. Two logs only ever grow: the addresses in the order in which they were found (their
 * place is their ordinal), and the ordinals in the order in which the job was given them (their place is the item's index). Full chunks
 * are documents of their own; the rest of each log, and what has changed of rows (`changes.ts`), is in the record, so that one
 * write stores what a turn changed.
 */
import type { AddressRow, CrawlBody, Exclusion } from "../../../../schemas/crawl.ts";

export const ROWS_IN_CHUNK = 256;
export const ORDER_IN_CHUNK = 512;

export interface RowChunk {
  readonly rows: readonly AddressRow[];
}
export interface OrderChunk {
  readonly ordinals: readonly number[];
}

interface Log<T> {
  /** Full ones, in documents of their own. */
  readonly chunks: number;
  readonly tail: readonly T[];
}

/** `reason`: null: it is to be fetched after all. */
export interface RowChange extends Partial<Omit<AddressRow, "reason">> {
  readonly reason?: Exclusion | null;
}

export interface FrontierRecord {
  readonly rows: Log<AddressRow>;
  readonly order: Log<number>;
  /** By ordinals. Absent: none. */
  readonly changes?: Readonly<Record<number, RowChange>>;
  /** Links that were not looked at, because the crawl has as many addresses as it lists. */
  readonly unlisted: number;
}

type Rule = "scope" | "include" | "exclude" | "max_depth" | "sitemap" | "ignore_query" | "follow_nofollow";

/** Request for a crawl. Its fetch options, which may hold a login, are in the inputs of its items only where they are sealed. */
export interface CrawlRecord {
  readonly seeds: readonly string[];
  readonly limit: number;
  readonly rules: {
    readonly [Name in Rule]?: CrawlBody[Name] | undefined;
  };
  /** Options that each item is stored with beside its address; sealed where they hold a login. */
  readonly fetch: Readonly<Record<string, unknown>>;
  /** The earlier crawl that its pages are compared with. */
  readonly since_job?: string;
}

export const NEW_RECORD: FrontierRecord = {
  rows: { chunks: 0, tail: [] },
  order: { chunks: 0, tail: [] },
  unlisted: 0,
};

export const partKey = (job_id: string, chunk: number): string =>
  `${job_id}:${String(chunk).padStart(5, "0")}`;

export const rowsOf = ({ rows }: FrontierRecord): number => rows.chunks * ROWS_IN_CHUNK + rows.tail.length;
export const orderOf = ({ order }: FrontierRecord): number =>
  order.chunks * ORDER_IN_CHUNK + order.tail.length;

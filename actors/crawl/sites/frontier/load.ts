/** Reads what is stored of a crawl into memory, and writes full chunks of it. */
import { LRUCache } from "lru-cache";
import { yieldToEventLoop } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { AddressRow } from "../../../../schemas/crawl.ts";
import { newTrapBook } from "../address/traps.ts";
import { ADMITTED, addresses } from "./addresses.ts";
import { changed, current, withoutChanges } from "./changes.ts";
import { CRAWLS, FRONTIER_ORDER, FRONTIER_ROWS } from "./collections.ts";
import { add, countTraps, keyOf, turnOf } from "./discover.ts";
import { namesOf, originals } from "./originals.ts";
import { type FrontierRecord, ORDER_IN_CHUNK, partKey, ROWS_IN_CHUNK, type RowChange } from "./record.ts";
import { rulesOf } from "./rules.ts";
import { sitemapCount } from "./sitemap-count.ts";
import type { FrontierServices, Loaded } from "./state.ts";
import { waiting } from "./waiting.ts";

const CHUNKS_AT_ONCE = 50;

/** Throws Fault, and Error where the crawl is not there. */
export async function load(
  { documents, clock, joined }: FrontierServices,
  job_id: string,
  record: FrontierRecord,
): Promise<Loaded> {
  const crawl = await CRAWLS.get(documents, job_id);
  if (crawl === null) throw new Error("the crawl is not stored");
  const known = addresses(job_id);
  const loaded: Loaded = {
    rules: rulesOf(crawl, joined),
    seeds: crawl.seeds,
    addresses: known,
    waiting: waiting(),
    traps: newTrapBook(),
    originals: originals(job_id),
    sitemaps: sitemapCount(crawl.seeds, crawl.limit),
    excluded: 0,
    deepest: 0,
  };
  const admitted = new Set<number>();
  for await (const ordinals of storedOrder(documents, job_id, record))
    for (const each of ordinals) admitted.add(each);
  for await (const rows of storedRows(documents, job_id, record)) {
    for (const row of rows) {
      countTraps(row, loaded, clock.now());
      const { seen, url, redirected_to, duplicate_of } = row;
      const ordinal = known.count();
      if (seen) {
        const names = namesOf(seen, redirected_to ?? url, loaded.rules);
        loaded.originals.add(ordinal, names, duplicate_of ?? ordinal);
      }
      if (admitted.has(ordinal)) {
        known.add(keyOf(row, loaded), ADMITTED);
        loaded.sitemaps.add(row);
        loaded.deepest = Math.max(loaded.deepest, turnOf(row));
      } else add(loaded, keyOf(row, loaded), row);
    }
    await yieldToEventLoop(clock);
  }
  return loaded;
}

/** All rows in their order, chunk by chunk. Throws Fault, and Error where a chunk is missing. */
export async function* storedRows(
  documents: Pick<Documents, "getMany">,
  job_id: string,
  record: FrontierRecord,
  first_chunk = 0,
): AsyncGenerator<readonly AddressRow[]> {
  const { rows } = record;
  for (let first = first_chunk; first < rows.chunks; first += CHUNKS_AT_ONCE) {
    const keys = keysOf(job_id, first, rows.chunks);
    const chunks = await FRONTIER_ROWS.getMany(documents, keys);
    for (const [at, chunk] of chunks.entries()) {
      if (chunk === null) throw new Error(`Cannot read "${keys[at]}": it is missing`);
      yield current(record, chunk.rows, (first + at) * ROWS_IN_CHUNK);
    }
  }
  yield current(record, rows.tail, rows.chunks * ROWS_IN_CHUNK);
}

/** The ordinals that the job was given, in their order. Throws Fault, and Error where a chunk is missing. */
export async function* storedOrder(
  documents: Pick<Documents, "getMany">,
  job_id: string,
  { order }: FrontierRecord,
): AsyncGenerator<readonly number[]> {
  for (let first = 0; first < order.chunks; first += CHUNKS_AT_ONCE) {
    const keys = keysOf(job_id, first, order.chunks);
    const chunks = await FRONTIER_ORDER.getMany(documents, keys);
    for (const [at, chunk] of chunks.entries()) {
      if (chunk === null) throw new Error(`Cannot read "${keys[at]}": it is missing`);
      yield chunk.ordinals;
    }
  }
  yield order.tail;
}

const keysOf = (job_id: string, first: number, end: number): readonly string[] =>
  Array.from({ length: Math.min(CHUNKS_AT_ONCE, end - first) }, (_, at) => partKey(job_id, first + at));

/** Chunks that stay in memory: 32 of 256 rows, of at most 2,048 characters and usually below 300. */
const KEPT_CHUNKS = 32;

/**
 * Rows of full chunks; the chunks that were read last stay in memory, as a crawl asks for the rows of one chunk a few at a time. What
 * a kept row says besides `url`, `depth`, `found_on` and `sitemap` may be of an earlier time. A row that had a reason is read again:
 * it may have been taken back since, with another depth. `of` throws Fault, and Error where a row is missing.
 */
export function keptRows(documents: Pick<Documents, "getMany">) {
  const kept = new LRUCache<string, readonly AddressRow[]>({ max: KEPT_CHUNKS });
  return {
    async of(job_id: string, ordinals: readonly number[]): Promise<ReadonlyMap<number, AddressRow>> {
      const keyOfChunk = (ordinal: number): string => partKey(job_id, Math.floor(ordinal / ROWS_IN_CHUNK));
      const found = new Map<number, AddressRow>();
      for (const ordinal of ordinals) {
        const row = kept.get(keyOfChunk(ordinal))?.[ordinal % ROWS_IN_CHUNK];
        if (row && row.reason === undefined) found.set(ordinal, row);
      }
      const missing = ordinals.filter((ordinal) => !found.has(ordinal));
      if (missing.length === 0) return found;
      const keys = [...new Set(missing.map(keyOfChunk))];
      const stored = await FRONTIER_ROWS.getMany(documents, keys);
      const chunks = new Map(keys.map((key, at) => [key, stored[at]?.rows]));
      for (const [key, chunk] of chunks) if (chunk) kept.set(key, chunk);
      for (const ordinal of missing) {
        const row = chunks.get(keyOfChunk(ordinal))?.[ordinal % ROWS_IN_CHUNK];
        if (!row) throw new Error(`Cannot read address ${ordinal} of crawl "${job_id}": it is missing`);
        found.set(ordinal, row);
      }
      return found;
    },
  };
}

/** The rows with these ordinals, of full chunks and of the record. Throws Fault, and Error where one is missing. */
export async function rowsOfRecord(
  documents: Pick<Documents, "getMany">,
  job_id: string,
  { rows }: Pick<FrontierRecord, "rows">,
  ordinals: readonly number[],
): Promise<ReadonlyMap<number, AddressRow>> {
  const first = rows.chunks * ROWS_IN_CHUNK;
  const full = ordinals.filter((ordinal) => ordinal < first);
  const found = new Map(await keptRows(documents).of(job_id, full));
  for (const ordinal of ordinals) if (ordinal >= first) found.set(ordinal, rows.tail[ordinal - first]!);
  return found;
}

/** How many full chunks each log has beyond those that are stored. */
export const fullChunks = ({ rows, order }: FrontierRecord, acknowledged: number) => ({
  rows: Math.floor(rows.tail.length / ROWS_IN_CHUNK),
  // Ordinals that the job may ask for again stay in the record.
  order: Math.max(0, Math.floor(acknowledged / ORDER_IN_CHUNK) - order.chunks),
});

/** Changes of rows in full chunks that wait for a write of them; further ones are written with the next full chunk. */
const MAX_CHANGES = 32;

export const hasToFlush = (
  { changes, rows }: FrontierRecord,
  full: ReturnType<typeof fullChunks>,
): boolean => {
  if (full.rows + full.order > 0) return true;
  const end = rows.chunks * ROWS_IN_CHUNK;
  return Object.keys(changes ?? {}).filter((ordinal) => Number(ordinal) < end).length > MAX_CHANGES;
};

/** Stores full chunks, and the changes of those that were stored before. Writing it again changes nothing. Throws Fault. */
export async function storeChunks(
  documents: Pick<Documents, "get" | "put" | "remove">,
  job_id: string,
  record: FrontierRecord,
  full: ReturnType<typeof fullChunks>,
): Promise<void> {
  const { rows, order } = record;
  for (let at = 0; at < full.rows; at++) {
    const chunk = current(
      record,
      rows.tail.slice(at * ROWS_IN_CHUNK, (at + 1) * ROWS_IN_CHUNK),
      (rows.chunks + at) * ROWS_IN_CHUNK,
    );
    await FRONTIER_ROWS.update(documents, partKey(job_id, rows.chunks + at), () => ({
      value: { rows: chunk },
    }));
  }
  for (const [number, changes] of changesByChunk(record))
    await FRONTIER_ROWS.update(documents, partKey(job_id, number), (stored) =>
      stored === null
        ? null
        : { value: { rows: stored.rows.map((row, at) => changed(row, changes.get(at))) } },
    );
  for (let at = 0; at < full.order; at++) {
    const ordinals = order.tail.slice(at * ORDER_IN_CHUNK, (at + 1) * ORDER_IN_CHUNK);
    await FRONTIER_ORDER.put(documents, partKey(job_id, order.chunks + at), { ordinals }, 0);
  }
}

/** Changes of the full chunks: those of each by their places in it. */
function changesByChunk({ rows, changes }: FrontierRecord): ReadonlyMap<number, Map<number, RowChange>> {
  const by_chunk = new Map<number, Map<number, RowChange>>();
  for (const [name, change] of Object.entries(changes ?? {})) {
    const ordinal = Number(name);
    const number = Math.floor(ordinal / ROWS_IN_CHUNK);
    if (number >= rows.chunks) continue;
    const of_chunk = by_chunk.get(number) ?? new Map<number, RowChange>();
    by_chunk.set(number, of_chunk.set(ordinal % ROWS_IN_CHUNK, change));
  }
  return by_chunk;
}

/** The record once those chunks are stored; `written`: the record that they were made of. */
export function withoutChunks(
  record: FrontierRecord,
  written: FrontierRecord,
  full: ReturnType<typeof fullChunks>,
): FrontierRecord {
  const end = (written.rows.chunks + full.rows) * ROWS_IN_CHUNK;
  const { rows, order, ...rest } = withoutChanges(record, written, end);
  return {
    ...rest,
    rows: { chunks: rows.chunks + full.rows, tail: rows.tail.slice(full.rows * ROWS_IN_CHUNK) },
    order: { chunks: order.chunks + full.order, tail: order.tail.slice(full.order * ORDER_IN_CHUNK) },
  };
}

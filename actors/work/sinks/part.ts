/** The items of a part: which of them come next, and the bytes that they become. */
import { createHash } from "node:crypto";
import type { JobItem } from "../../../schemas/jobs.ts";
import type { JobResultsEvent, SinkManifest, SinkPart } from "../../../schemas/sinks.ts";
import { missingFrom, type Ranges, rangesOf } from "./ranges.ts";
import { type Cell, rowOf } from "./result-table.ts";
import type { StoredSink } from "./stored-sink.ts";

/** A job as its sinks see it, read once for a part. */
export interface JobProgress {
  readonly total: number;
  readonly isFinal: (index: number) => boolean;
  /** It has ended: no item is added or changed. */
  readonly is_over: boolean;
  /** Results come in groups, in the order of the indexes. */
  readonly readItems: (
    external: boolean,
    indexes: readonly number[],
    signal: AbortSignal,
  ) => AsyncIterable<readonly JobItem[]>;
}

const FLUSH_MS = 30_000;
const MAX_OBJECT_BYTES = 16 * 2 ** 20;
const MAX_EVENT_BYTES = 8 * 2 ** 20;
const PART_NUMBER_DIGITS = 6;

/** The items that the next part may have. Empty: it is not time for one. */
export function nextIndexes(sink: StoredSink, job: JobProgress, now_ms: number): readonly number[] {
  const indexes: number[] = [];
  for (const index of missingFrom(sink.delivered, job.total)) {
    if (!job.isFinal(index)) continue;
    indexes.push(index);
    if (indexes.length === sink.rows_per_part) return indexes;
  }
  return job.is_over || now_ms - sink.flushed_ms >= FLUSH_MS ? indexes : [];
}

export interface Part {
  readonly items: readonly JobItem[];
  readonly ranges: Ranges;
  /** Some of its results could not be read now. */
  readonly is_unreadable: boolean;
}

/** Reads items until they are as many bytes as a part may have. Of a plan all are read: it was made so. Throws Fault. */
export async function readPart(
  sink: StoredSink,
  indexes: readonly number[],
  { readItems }: Pick<JobProgress, "readItems">,
  signal: AbortSignal,
): Promise<Part> {
  const max_bytes = sink.target.type === "s3" ? MAX_OBJECT_BYTES : MAX_EVENT_BYTES;
  const items: JobItem[] = [];
  let bytes = 0;
  reading: for await (const group of readItems(sink.external, indexes, signal))
    for (const item of group) {
      const length = Buffer.byteLength(JSON.stringify(item));
      if (sink.plan === null && items.length > 0 && bytes + length > max_bytes) break reading;
      bytes += length;
      items.push(item);
    }
  const is_unreadable = items.some(({ error }) => error === "result_unavailable");
  return { items, ranges: rangesOf(items.map(({ index }) => index)), is_unreadable };
}

/** Rows of the result table as a whole file. */
export type EncodeParquet = (rows: readonly (readonly Cell[])[]) => Buffer;

/** Identical items give identical bytes under the same name. */
export function objectOf(
  { parts, format }: Pick<StoredSink, "parts" | "format">,
  items: readonly JobItem[],
  encodeParquet: EncodeParquet,
): SinkPart & { readonly content: Buffer; readonly content_type: string } {
  const number = String(parts.length + 1).padStart(PART_NUMBER_DIGITS, "0");
  const content =
    format === "parquet"
      ? encodeParquet(items.map(rowOf))
      : Buffer.from(items.map((item) => `${JSON.stringify(item)}\n`).join(""));
  return {
    name: `part-${number}.${format}`,
    rows: items.length,
    bytes: content.length,
    sha256: createHash("sha256").update(content).digest("hex"),
    content,
    content_type: format === "parquet" ? "application/vnd.apache.parquet" : "application/x-ndjson",
  };
}

/** Without items: the event after the last one. */
export function eventOf({ id, job_id, parts }: StoredSink, items: readonly JobItem[]): JobResultsEvent {
  const part = parts.length + 1;
  return {
    id: `${id}:${part}`,
    type: items.length === 0 ? "job.results.complete" : "job.results",
    job_id,
    sink_id: id,
    part,
    items: [...items],
  };
}

export const rowsOf = (parts: readonly SinkPart[]): number => parts.reduce((sum, { rows }) => sum + rows, 0);

export function manifestOf(
  { job_id, id, format, parts }: StoredSink,
  state: SinkManifest["state"],
): SinkManifest {
  return { job_id, sink_id: id, format, state, rows: rowsOf(parts), parts };
}

/** The folder of a sink in its bucket; ends with a slash. */
export const folderOf = ({ id, job_id }: Pick<StoredSink, "id" | "job_id">, prefix: string): string =>
  `${prefix}${job_id}/${id}/`;

/**
 * Cost of writing a part of job results: NDJSON, and Parquet by hyparquet-writer, of the same items, in turns.
 *   node bench/parquet.bench.ts [--rows 20000] [--rounds 5]
 * Prints JSON: CPU-seconds of each round, and bytes.
 */
import { parseArgs } from "node:util";
import { parquetOf } from "../actors/work/sinks/adapters/rows.parquet.ts";
import { objectOf } from "../actors/work/sinks/part.ts";
import type { StoredSink } from "../actors/work/sinks/stored-sink.ts";
import type { JobItem } from "../schemas/jobs.ts";
import { prose } from "../test/harness/web.ts";

const { values } = parseArgs({
  options: { rows: { type: "string", default: "20000" }, rounds: { type: "string", default: "5" } },
});
const rows = Number(values.rows);
const A_PART = 1_000;

const items = Array.from({ length: rows }, (_, index): JobItem => {
  const url = `https://site-${index % 97}.example/page-${index}`;
  const text = prose(12, `page ${index}`);
  const result = {
    url,
    final_url: url,
    status: 200,
    title: `Page ${index}`,
    content_type: "text/html",
    text,
  };
  return { index, kind: "fetch", status: "done", input: { url }, result, error: null } as JobItem;
});

function write(format: StoredSink["format"]): { readonly cpu_s: number; readonly bytes: number } {
  const before = process.cpuUsage();
  let bytes = 0;
  for (let from = 0; from < items.length; from += A_PART)
    bytes += objectOf({ parts: [], format }, items.slice(from, from + A_PART), parquetOf).bytes;
  const { user, system } = process.cpuUsage(before);
  return { cpu_s: (user + system) / 1e6, bytes };
}

const rounds = Array.from({ length: Number(values.rounds) }, () => ({
  ndjson: write("ndjson"),
  parquet: write("parquet"),
}));
process.stdout.write(`${JSON.stringify({ rows, rounds }, null, 2)}\n`);

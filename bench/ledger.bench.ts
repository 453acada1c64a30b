/**
 * node bench/ledger.bench.ts [--rows 1000000] [--mongo address]: a month of ledger rows, written in batches as gateways write them and
 * added up by the Usage actor's code, then GET /v1/usage's question of the whole month by day and project, the newest page of
 * requests, and a page for a filter that no row fits. Twenty projects with five keys each. SQLite in a folder of its own, or
 * MongoDB at the address.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MongoClient } from "mongodb";
import { foldLedger } from "../actors/business/accounts/fold.ts";
import { readRows } from "../actors/business/accounts/read-requests.ts";
import { readUsage } from "../actors/business/accounts/read-usage.ts";
import { mongoDocuments } from "../cluster/adapters/documents/documents.mongo.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import { seededRandom } from "../cluster/adapters/time/random.seeded.ts";
import { batchKey, type LedgerRow, newBatchTag } from "../schemas/ledger.ts";
import { packRows } from "../schemas/ledger-batch.ts";
import { ledgerRow } from "../test/harness/ledger-row.ts";
import { machine, median } from "./harness.ts";

const { values } = parseArgs({
  options: { rows: { type: "string", default: "1000000" }, mongo: { type: "string" } },
});

const COUNT = Number(values.rows);
const BATCH_ROWS = 500;
const BATCHES_AT_ONCE = 8;
const PROJECTS = 20;
const KEYS = 5;
const QUESTIONS = 50;
const MONTH = { since: "2026-11-01", until: "2026-12-01" } as const;
const STARTS_MS = Date.UTC(2026, 10, 1);
const MONTH_MS = 30 * 24 * 3_600_000;
const CATEGORIES = ["fetch_own", "fetch_cached", "fetch_paid", "search", "search_cached"] as const;

const folder = mkdtempSync(join(tmpdir(), "trawl-ledger-"));
const documents = values.mongo
  ? mongoDocuments(values.mongo)
  : sqliteDocuments(join(folder, "documents.sqlite"));
const random = seededRandom(1);
const below = (count: number): number => Math.floor(random.next() * count);

function rowAt(n: number): LedgerRow {
  const project = below(PROJECTS);
  return ledgerRow({
    request_id: `req_${String(n).padStart(10, "0")}${random.next().toString(36).slice(2, 10)}`,
    at_ms: STARTS_MS + Math.floor((n / COUNT) * MONTH_MS),
    project: `project-${project}`,
    key: `sk_${String(project).padStart(4, "0")}${below(KEYS)}aa`,
    category: CATEGORIES[below(CATEGORIES.length)]!,
    ok: below(10) > 0,
    latency_ms: below(2_000),
    bytes: below(100_000),
    cost_micros: below(5) === 0 ? 2_000 : 0,
  });
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};
const times = async (work: () => Promise<unknown>) => {
  const all: number[] = [];
  for (let n = 0; n < QUESTIONS; n++) all.push(await timed(work));
  return { p50_ms: Number(median(all).toFixed(1)), most_ms: Number(Math.max(...all).toFixed(1)) };
};

const written_ms = await timed(async () => {
  for (let at = 0; at < COUNT; at += BATCH_ROWS * BATCHES_AT_ONCE)
    await Promise.all(
      Array.from({ length: BATCHES_AT_ONCE }, async (_, batch) => {
        const from = at + batch * BATCH_ROWS;
        const rows = Array.from({ length: Math.min(BATCH_ROWS, COUNT - from) }, (_each, n) =>
          rowAt(from + n),
        );
        if (rows.length === 0) return;
        const key = batchKey("bench", rows.at(-1)!.at_ms, `g${batch}`);
        await documents.put("ledger", key, packRows(rows), 0, { tag: newBatchTag("bench") });
      }),
    );
});
const folded_ms = await timed(() => foldLedger(documents, "bench"));
const question = { customer: "bench", ...MONTH, key: null, by_key: false };
const cells = await readUsage(documents, question);
const counted = cells.reduce((sum, { usage }) => sum + usage.requests, 0);
if (counted !== COUNT) throw new Error(`${counted} of ${COUNT} rows are in the sums`);
const by_day_and_project = await times(() => readUsage(documents, question));
const newest_batches = await times(() =>
  documents.list("ledger", { from: "bench:", to: "bench;", limit: 10, reverse: true }),
);
/** A key without requests: each batch that a page may read is passed over. */
const RARE = { since_ms: 0, until_ms: Infinity, own: null, key: "sk_unused0", ok: null, category: null };
const rare_filter = await times(() => readRows(documents, "bench", RARE, { cursor: null, limit: 100 }));
await documents.close();
const bytes = values.mongo ? await mongoBytes(values.mongo) : folderBytes();
rmSync(folder, { recursive: true });
process.stdout.write(
  `${JSON.stringify({
    engine: values.mongo ? "mongodb" : "sqlite",
    machine: machine(),
    rows: COUNT,
    by_day_and_project: { rows: cells.length, ...by_day_and_project },
    newest_batches,
    rare_filter,
    written_s: Math.round(written_ms / 1_000),
    folded_s: Math.round(folded_ms / 1_000),
    bytes_per_row: Math.round(bytes / COUNT),
  })}\n`,
);

function folderBytes(): number {
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

/** And removes the database. */
async function mongoBytes(address: string): Promise<number> {
  const client = new MongoClient(address);
  try {
    const stats = await client.db().command({ collStats: "ledger" });
    await client.db().dropDatabase();
    return Number(stats["storageSize"]) + Number(stats["totalIndexSize"]);
  } finally {
    await client.close();
  }
}

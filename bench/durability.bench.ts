/**
 * node bench/durability.bench.ts: what it costs to survive a power cut (TRAWL_DURABILITY=power) beside surviving only the end
 * of the process, on SQLite and on files, in one run; and SQLite syncing by itself (`synchronous = FULL`) instead.
 *
 * Each figure is the median of three rounds. `stall_ms` is the longest time the event loop stood still. The folder
 * must be on a disk: on a file system in memory a sync costs nothing.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { fileBlobs } from "../cluster/adapters/blobs/blobs.file.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import type { Durability } from "../cluster/adapters/files/durable-files.ts";
import { machine, median } from "./harness.ts";

const ROUNDS = 3;
const DURABILITIES: readonly Durability[] = ["process", "power"];
const folder = mkdtempSync(join(process.env["BENCH_FOLDER"] ?? tmpdir(), "trawl-durability-"));

/** `many` calls, `wide` at a time. */
async function measure(many: number, wide: number, call: (n: number) => Promise<unknown>) {
  let next = 0;
  const worker = async () => {
    while (next < many) await call(next++);
  };
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const [began_ms, cpu] = [performance.now(), process.cpuUsage()];
  await Promise.all(Array.from({ length: wide }, worker));
  const { user, system } = process.cpuUsage(cpu);
  const ms = performance.now() - began_ms;
  delays.disable();
  return { per_s: (many / ms) * 1_000, cpu_us: (user + system) / many, stall_ms: delays.max / 1e6 };
}

async function rounds(
  what: Record<string, string>,
  round: (n: number) => ReturnType<typeof measure>,
): Promise<void> {
  const figures: Awaited<ReturnType<typeof measure>>[] = [];
  for (let n = 0; n < ROUNDS; n++) figures.push(await round(n));
  const middle = (of: "per_s" | "cpu_us" | "stall_ms") => Math.round(median(figures.map((one) => one[of])));
  console.log(
    JSON.stringify({
      ...what,
      per_s: middle("per_s"),
      cpu_us: middle("cpu_us"),
      stall_ms: middle("stall_ms"),
    }),
  );
}

const WIDTHS: readonly [string, number, number][] = [
  ["64 at a time", 64, 3_000],
  ["one at a time", 1, 150],
];
const value = { leases: [{ fetch_id: "req_01M7Z569C8W85K4XAE27K65VJB", lapses_ms: 1_763_700_000_000 }] };

async function documentsBench(durability: Durability): Promise<void> {
  const documents = sqliteDocuments(join(folder, `${durability}.sqlite`), { durability });
  for (const [title, wide, many] of WIDTHS)
    await rounds({ store: "sqlite", durability, put: title }, (round) =>
      measure(many, wide, (n) => documents.put(`${title} ${round}`, `k${n}`, value, 0)),
    );
  await documents.close();
}

/** Makes the transactions of the adapter, one for the writes of a tick, each synced by SQLite. */
async function fullBench(): Promise<void> {
  const database = new DatabaseSync(join(folder, "full.sqlite"));
  database.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE d (c TEXT, k TEXT, v TEXT, PRIMARY KEY (c, k))",
  );
  const insert = database.prepare("INSERT INTO d VALUES (?, ?, ?)");
  let waiting: { run: () => void; done: () => void }[] = [];
  const flush = () => {
    const writes = waiting;
    waiting = [];
    database.exec("BEGIN IMMEDIATE");
    for (const { run } of writes) run();
    database.exec("COMMIT");
    for (const { done } of writes) done();
  };
  const put = (collection: string, key: string) =>
    new Promise<void>((done) => {
      const run = () => void insert.run(collection, key, JSON.stringify(value));
      if (waiting.push({ run, done }) === 1) setImmediate(flush);
    });
  for (const [title, wide, many] of WIDTHS)
    await rounds({ store: "sqlite", durability: "synchronous = FULL", put: title }, (round) =>
      measure(many, wide, (n) => put(`${title} ${round}`, `k${n}`)),
    );
  database.close();
}

async function bodiesBench(durability: Durability): Promise<void> {
  const blobs = fileBlobs(join(folder, durability), { durability });
  // Its 256 folders are made once in the life of a store.
  await Promise.all(Array.from({ length: 1_000 }, () => blobs.put(randomBytes(20))));
  for (const [name, make, many] of [
    ["page of 22 KB", () => Buffer.from(`<p>${randomBytes(11_000).toString("hex")}`), 200],
    ["1 MB of noise", () => randomBytes(2 ** 20), 24],
  ] as const)
    for (const wide of [16, 1]) {
      const sets = Array.from({ length: ROUNDS }, () =>
        Array.from({ length: wide === 1 ? many / 4 : many }, make),
      );
      const what = { store: "file", durability, body: name, put: `${wide} at a time` };
      await rounds(what, (round) => measure(sets[round]!.length, wide, (n) => blobs.put(sets[round]![n]!)));
      if (wide === 16)
        await rounds({ ...what, put: "again, 16 at a time" }, (round) =>
          measure(sets[round]!.length, wide, (n) => blobs.put(sets[round]![n]!)),
        );
    }
  await blobs.close();
}

console.log(JSON.stringify({ machine: machine() }));
try {
  for (const durability of DURABILITIES) await documentsBench(durability);
  await fullBench();
  for (const durability of DURABILITIES) await bodiesBench(durability);
} finally {
  rmSync(folder, { recursive: true });
}

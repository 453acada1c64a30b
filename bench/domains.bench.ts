/**
 * node --expose-gc bench/domains.bench.ts [--known 1000000] [--active 10000] [--file PATH]: what it costs to know a million domains. Domain actors on
 * the embedded runtime and SQLite: the time to the first slot of a domain that was known before, in turn with a new one of an
 * empty store, and the memory of domains that are active. No HTTP and no fetch: the rest of a node has its own benches.
 *
 * The known domains are written as the actor stores them, into PATH, which is kept; without it into a file that is removed.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { domainActor } from "../actors/crawl/domain/actor.ts";
import { grantSlot, releaseSlot, UNTOUCHED } from "../actors/crawl/domain/politeness.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { systemRandom } from "../cluster/adapters/time/random.system.ts";
import { embedded } from "../cluster/embedded.ts";
import { Domain } from "../schemas/domain.ts";
import { machine, median } from "./harness.ts";

const { values } = parseArgs({
  options: {
    known: { type: "string", default: "1000000" },
    active: { type: "string", default: "10000" },
    file: { type: "string" },
  },
});
const KNOWN = Number(values.known);
const ACTIVE = Number(values.active);
const ROUNDS = 500;
const AT_ONCE = 64;
const LIMITS = { min_delay_ms: 500, max_concurrency: 2, lease_ms: 600_000 };

const folder = mkdtempSync(join(tmpdir(), "trawl-bench-"));
const path = values.file ?? join(folder, "known.sqlite");
const name = (n: number): string => `known-${n.toString(36)}.example`;

/** Document that a domain stores after one request, an hour ago. */
function stored(host: string): string {
  const [at_ms, run_id] = [Date.now() - 3_600_000, "0.1"];
  const slot = { fetch_id: "req_0.1", origin: `http://${host}`, run_id, process: "bench" };
  const granted = grantSlot(UNTOUCHED, LIMITS, at_ms, slot);
  const answer = { fetch_id: slot.fetch_id, run_id, origin: slot.origin, status: 200, retry_after_s: null };
  return JSON.stringify(releaseSlot(granted, LIMITS, at_ms + 50, answer));
}

if (!existsSync(path)) {
  await sqliteDocuments(path).close();
  const database = new DatabaseSync(path);
  const insert = database.prepare("INSERT INTO documents VALUES ('domain', ?, 1, ?, NULL, NULL)");
  database.exec("BEGIN");
  for (let n = 0; n < KNOWN; n++) insert.run(name(n), stored(name(n)));
  database.exec("COMMIT");
  database.close();
}

function node(file: string) {
  const documents = sqliteDocuments(file);
  const { ask, stop, stats } = embedded([domainActor(LIMITS)], {
    clock: systemClock(),
    random: systemRandom(),
    documents,
  });
  const run_id = "0.1";
  return {
    stats,
    acquire: async (site: string): Promise<void> => {
      const request = {
        fetch_id: site,
        run_id,
        origin: `http://${site}`,
        lane: "sync",
        wait_max_ms: 15_000,
      } as const;
      const { kind } = await ask(Domain, site, "acquire", request);
      if (kind !== "granted") throw new Error(`No slot of "${site}"`);
    },
    async end(site: string): Promise<void> {
      const slot = { fetch_id: site, run_id, origin: `http://${site}` };
      await ask(Domain, site, "recordSent", slot);
      await ask(Domain, site, "release", { ...slot, status: 200, retry_after_s: null });
    },
    async close(): Promise<void> {
      await stop();
      await documents.close();
    },
  };
}

const known = node(path);
const empty = node(join(folder, "empty.sqlite"));
const spent: Record<"known" | "empty", number[]> = { known: [], empty: [] };
for (let n = 0; n < ROUNDS; n++)
  for (const [which, on] of Object.entries({ known, empty }) as ["known" | "empty", typeof known][]) {
    const began = performance.now();
    await on.acquire(name(n));
    spent[which].push(performance.now() - began);
    await on.end(name(n));
  }
await empty.close();

const memory = (): { readonly rss_mb: number; readonly heap_mb: number } => {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss_mb: Math.round(rss / 2 ** 20), heap_mb: Number((heapUsed / 2 ** 20).toFixed(1)) };
};
const before = memory();
const cpu = process.cpuUsage();
let next = ROUNDS;
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let n = next++; n < ROUNDS + ACTIVE; n = next++) {
      await known.acquire(name(n));
      await known.end(name(n));
    }
  }),
);
const { user, system } = process.cpuUsage(cpu);
const p50 = (numbers: readonly number[]): number => Number(median(numbers).toFixed(2));
const report = {
  machine: machine(),
  known: KNOWN,
  active: known.stats().activations["domain"],
  first_slot_p50_ms: { known: p50(spent.known), empty: p50(spent.empty) },
  before,
  after: memory(),
  cpu_ms_a_domain: Number(((user + system) / 1_000 / ACTIVE).toFixed(3)),
};
console.log(JSON.stringify(report, null, 1));
await known.close();
rmSync(folder, { recursive: true });

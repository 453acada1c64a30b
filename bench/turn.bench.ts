/**
 * node bench/turn.bench.ts [memory|sqlite] [FILE]: how many turns a core computes, stores and sends, and what an idle
 * actor weighs. A visit acquires a slot and releases it, both stored; 64 visitors, 1,000 sites.
 *
 * The actor is a stand-in for a domain with a delay of 0, so that the runtime is measured and not its rules.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type } from "typebox";
import { actor } from "../cluster/actor.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { memoryDocuments } from "../cluster/adapters/documents/documents.memory.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import { systemRandom } from "../cluster/adapters/time/random.system.ts";
import { embedded } from "../cluster/embedded.ts";
import { ask, contract, tell } from "../cluster/contracts/contract.ts";

const Gate = contract("gate", {
  acquire: ask(
    Type.Object({ fetch_id: Type.String(), wait_max_ms: Type.Integer() }),
    Type.Union([
      Type.Object({ kind: Type.Literal("granted"), waited_ms: Type.Integer() }),
      Type.Object({ kind: Type.Literal("refused"), retry_after_s: Type.Integer() }),
    ]),
  ),
  release: tell(Type.Object({ fetch_id: Type.String() })),
});

interface Snapshot {
  readonly leases: readonly { readonly fetch_id: string; readonly lapses_ms: number }[];
  readonly next_start_ms: number;
  readonly failures: number;
  readonly skip_until_ms: number;
}

const gate = actor(Gate)<{ snapshot: Snapshot }, Snapshot>({
  persist: (state) => state.snapshot,
  activate: (snapshot) => ({
    snapshot: snapshot ?? { leases: [], next_start_ms: 0, failures: 0, skip_until_ms: 0 },
  }),
  passivate_after_ms: 600_000,
  on: {
    acquire(turn, { fetch_id }) {
      const { snapshot } = turn.state;
      const leases = [...snapshot.leases, { fetch_id, lapses_ms: turn.now_ms + 60_000 }];
      turn.state.snapshot = { ...snapshot, leases, next_start_ms: turn.now_ms };
      return { kind: "granted", waited_ms: 0 };
    },
    release(turn, { fetch_id }) {
      const { snapshot } = turn.state;
      turn.state.snapshot = {
        ...snapshot,
        leases: snapshot.leases.filter((lease) => lease.fetch_id !== fetch_id),
      };
    },
  },
});

const VISITS = 50_000;
const AT_ONCE = 64;
const SITES = 1_000;
const IDLE = 100_000;

const [store = "memory", file = join(mkdtempSync(join(tmpdir(), "trawl-bench-")), "documents.sqlite")] =
  process.argv.slice(2);
const documents = store === "sqlite" ? sqliteDocuments(file) : memoryDocuments();
const node = embedded([gate], { clock: systemClock(), random: systemRandom(), documents });
await node.recovered;

async function visits(count: number): Promise<void> {
  let next = 0;
  async function visitor(): Promise<void> {
    while (next < count) {
      const n = next++;
      const site = `d${n % SITES}.example`;
      await node.ask(Gate, site, "acquire", { fetch_id: `f${n}`, wait_max_ms: 15_000 });
      await node.ask(Gate, site, "release", { fetch_id: `f${n}` });
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, visitor));
}

await visits(5_000);
const began_ms = performance.now();
const cpu = process.cpuUsage();
await visits(VISITS);
const { user, system } = process.cpuUsage(cpu);
const wall_s = (performance.now() - began_ms) / 1_000;
const cpu_s = (user + system) / 1e6;

/** Heap of what is reachable, which is what counts; run with --expose-gc, else null. */
async function heapBytes(): Promise<number | null> {
  const collect = (globalThis as { gc?: () => void }).gc;
  if (!collect) return null;
  for (let round = 0; round < 3; round++) {
    await new Promise(setImmediate);
    collect();
  }
  return process.memoryUsage().heapUsed;
}

let idle: { bytes_each: number | null; awake: number } = { bytes_each: null, awake: 0 };
if (store === "memory") {
  // In a node of its own over a store that keeps nothing, so that only the actors are weighed.
  const forgetful = { ...memoryDocuments(), get: async () => null, put: async () => true };
  const full = embedded([gate], { clock: systemClock(), random: systemRandom(), documents: forgetful });
  const before = await heapBytes();
  for (let from = 0; from < IDLE; from += 1_000)
    await Promise.all(
      Array.from({ length: 1_000 }, async (_, n) => {
        const site = `idle-${from + n}.example`;
        await full.ask(Gate, site, "acquire", { fetch_id: "f", wait_max_ms: 1 });
        await full.ask(Gate, site, "release", { fetch_id: "f" });
      }),
    );
  const after = await heapBytes();
  const bytes_each = before === null || after === null ? null : Math.round((after - before) / IDLE);
  idle = { bytes_each, awake: full.stats().activations["gate"]! };
  await full.stop();
}
await node.stop();
await documents.close();

console.log(
  JSON.stringify({
    store,
    turns: VISITS * 2,
    wall_s: Number(wall_s.toFixed(3)),
    cpu_s: Number(cpu_s.toFixed(3)),
    turns_per_cpu_s: Math.round((VISITS * 2) / cpu_s),
    turns_per_s: Math.round((VISITS * 2) / wall_s),
    idle_actors: idle.awake,
    bytes_per_idle_actor: idle.bytes_each,
    rss_mb: Math.round(process.memoryUsage.rss() / 2 ** 20),
    node: process.version,
  }),
);

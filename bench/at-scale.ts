/**
 * node bench/at-scale.ts [--nodes 2,8,32] [--pages 4000] [--minutes 5]: what clusters of some numbers of workers ask of their stores and
 * of the bus, by the simulator: the real runtime and Domain actor on one virtual clock, in-memory engines, no faults. Visits
 * take a slot, send after 30 ms, are answered after 300 ms, and give the slot back; ten to a domain, asked by two gateways. Reading,
 * bodies, pages and bills are not in it. Counts of operations, so the machine and its load do not matter.
 */
import { parseArgs } from "node:util";
import { domainActor } from "../actors/crawl/domain/actor.ts";
import { LEASE_MS } from "../actors/crawl/domain/politeness.ts";
import { memoryBlobs } from "../cluster/adapters/blobs/blobs.memory.ts";
import { memoryRoleBuses } from "../cluster/adapters/nodes/role-bus.memory.ts";
import { byteBudget } from "../cluster/byte-budget.ts";
import { distributed, type DistributedCluster } from "../cluster/distributed.ts";
import { SILENT_METRICS } from "../cluster/ports/metrics.ts";
import { Domain } from "../schemas/domain.ts";
import { DELAY_MS } from "../test/sim/scenario.ts";
import { visitor, Visits } from "../test/sim/visitor.ts";
import { newWorld, type World } from "../test/sim/world.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "2,8,32" },
    pages: { type: "string", default: "4000" },
    minutes: { type: "string", default: "5" },
  },
});
const PAGES = Number(values.pages);
const DURATION_MS = Number(values.minutes) * 60_000;
const PAGES_A_DOMAIN = 10;
const GATEWAYS = 2;
/** Leases are taken and clocks compared. */
const SETTLED_MS = 20_000;

type Counts = Map<string, number>;

/** Wraps a port so that its calls are counted by method. */
const counted = <Port extends object>(port: Port, name: string, counts: Counts): Port =>
  new Proxy(port, {
    get(target, method) {
      const found: unknown = Reflect.get(target, method);
      if (typeof found !== "function") return found;
      return (...args: unknown[]) => {
        const key = `${name} ${String(method)}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
        return Reflect.apply(found, target, args) as unknown;
      };
    },
  });

const visits = ({ clock, sleep }: World) =>
  visitor(async (site, item, client, work) => {
    const run = { fetch_id: item, run_id: `${work.epoch}.${clock.now()}` };
    const slot = { ...run, origin: `http://${site}`, lane: "sync", wait_max_ms: 60_000 } as const;
    const answer = await client(Domain, site, "acquire", slot);
    if (answer.kind === "refused") return null;
    await sleep(30);
    client(Domain, site, "recordSent", { ...run, origin: slot.origin }).catch(() => {});
    await sleep(300);
    await client(Domain, site, "release", { ...run, origin: slot.origin, status: 200, retry_after_s: null });
    return item;
  });

async function measured(workers: number) {
  const world = newWorld(1, Date.UTC(2026, 0, 1));
  const { clock, random, bus, leases, documents, chance, sleep, coming } = world;
  const counts: Counts = new Map();
  const [roleBuses, blobs] = [memoryRoleBuses(clock), memoryBlobs()];
  const pass = (ms: number) => clock.advance(ms);
  const join = (n: number, owns: boolean): Promise<DistributedCluster> =>
    coming(
      distributed(
        owns
          ? [domainActor({ min_delay_ms: DELAY_MS, max_concurrency: 2, lease_ms: LEASE_MS }), visits(world)]
          : [],
        {
          clock: world.nodeClock(),
          random,
          documents: counted(documents, "documents", counts),
          bus: counted(bus, "bus", counts),
          leases: counted(leases, "leases", counts),
          roleActors: [],
          roleNetwork: { bus: roleBuses.open(() => true), blobs },
          memory: byteBudget({ limit_bytes: 2 ** 27, clock, metrics: SILENT_METRICS }),
        },
        { name: `node-${n}`, owns },
      ),
      pass,
    );
  const nodes: DistributedCluster[] = [];
  for (let n = 0; n < workers + GATEWAYS; n++) nodes.push(await join(n, n < workers));
  await pass(SETTLED_MS);
  counts.clear();
  await pass(DURATION_MS);
  const atRest = new Map(counts);
  counts.clear();

  let answered = 0;
  const pages = Array.from({ length: PAGES }, async (_, n) => {
    await sleep(chance(DURATION_MS - 30_000));
    const site = `s${n % Math.ceil(PAGES / PAGES_A_DOMAIN)}.example`;
    const gateway = nodes[workers + (n % GATEWAYS)]!;
    const { result } = await gateway.ask(
      Visits,
      `${site} i${n}`,
      "make",
      { item: `i${n}` },
      { timeout_ms: 60_000 },
    );
    if (result !== null) answered++;
  });
  await pass(DURATION_MS);
  await Promise.all(pages);
  if (answered < PAGES) throw new Error(`${answered} of ${PAGES} pages were answered`);
  const each = (of: Counts, total: number): Record<string, number> =>
    Object.fromEntries(
      [...of]
        .map(([name, count]): [string, number] => [name, Number((count / total).toFixed(2))])
        .filter(([, count]) => count > 0)
        .toSorted(([a], [b]) => a.localeCompare(b)),
    );
  const more = new Map([...counts].map(([name, count]) => [name, count - (atRest.get(name) ?? 0)]));
  await Promise.all([...nodes.map((node) => node.stop(100)), pass(5_000)]);
  return {
    workers,
    at_rest_a_second: each(atRest, DURATION_MS / 1_000),
    a_page: each(more, PAGES),
  };
}

const runs: Awaited<ReturnType<typeof measured>>[] = [];
for (const workers of values.nodes.split(",").map(Number)) runs.push(await measured(workers));
console.log(JSON.stringify({ pages: PAGES, minutes: Number(values.minutes), runs }, null, 1));

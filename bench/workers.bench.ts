/**
 * node bench/workers.bench.ts [--only light]: CPU time of a page by 4 workers beside 1, at equal load a worker and at equal load in all, beside a control
 * row of services that share nothing: what 4 of them cost beside 1 is lost by having 4 processes, and by nothing of the cluster's. A gateway with 1 worker
 * beside one process, too. All live at once on core 1 and fetch blocks of pages in turn; the engines, the web and the driver are on core 0 and are not counted.
 * Options: --pages 400 a block, --rounds 12, --warm 4200 pages for each worker before.
 */
import { parseArgs } from "node:util";
import { clusterWithout, joinedOn, keyOf } from "./cluster-nodes.ts";
import { answering, machine, pinned, type Service, service } from "./harness.ts";
import { closeAgent, compared, pathOf, type PageVariant } from "./page-pairs.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "light" },
    pages: { type: "string", default: "400" },
    rounds: { type: "string", default: "12" },
    warm: { type: "string", default: "4200" },
  },
});
const WEB_PORT = 18_320;
const CORE = 1;
const WORKERS = 4;
/** Requests at once for each worker. */
const AT_ONCE = 32;

/** Services that get the requests, and the processes whose CPU time counts. */
type Subject = Pick<PageVariant, "services" | "pids">;

interface Cluster extends Subject {
  readonly close: () => Promise<void>;
}

/** A gateway and so many workers, over engines of their own. */
async function clusterWith(workers: number): Promise<Cluster> {
  const cluster = await clusterWithout();
  for (const role of ["gateway", ...Array.from({ length: workers }, () => "worker")])
    await joinedOn(CORE, cluster, role);
  const key = await keyOf(cluster);
  await cluster.settled(60_000);
  const pids = cluster.nodes.map(({ pid }) => pid);
  return { services: [{ url: cluster.url, key }], pids, close: () => cluster.close() };
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const kinds = values.only.split(",");
kinds.forEach(pathOf);
const independent: Service[] = [];
for (let n = 0; n < 1 + WORKERS; n++) independent.push(await service(CORE, 18_321 + n));
const [single, ...several] = independent;
const clusters = [await clusterWith(1), await clusterWith(WORKERS)] as const;
const subjects: Readonly<Record<string, Subject>> = {
  "1 process": { services: [single!], pids: [single!.pid] },
  "4 processes": { services: several, pids: several.map(({ pid }) => pid) },
  "gateway and 1 worker": clusters[0],
  "gateway and 4 workers": clusters[1],
};
const rows: readonly (readonly [name: string, at_once: number])[] = [
  ["1 process", AT_ONCE],
  ["4 processes", AT_ONCE * WORKERS],
  ["4 processes", AT_ONCE],
  ["gateway and 1 worker", AT_ONCE],
  ["gateway and 4 workers", AT_ONCE * WORKERS],
  ["gateway and 4 workers", AT_ONCE],
];
const blocks = {
  web_port: WEB_PORT,
  pages: Number(values.pages),
  rounds: Number(values.rounds),
  warm: Number(values.warm),
};
const report: Record<string, object> = {};
for (const kind of kinds)
  report[kind] = await compared(
    rows.map(([name, at_once]) => ({
      name: `${name}, ${at_once} at once`,
      ...subjects[name]!,
      path: pathOf(kind),
      at_once,
      a_host: 5,
    })),
    blocks,
  );
console.log(JSON.stringify({ machine: machine(), report }, null, 1));
for (const { close } of clusters) await close();
await Promise.all(independent.map(({ stop }) => stop()));
await web.stop();
await closeAgent();

/**
 * node bench/cluster.bench.ts [--write] [--pages 600]: what many processes cost beside one, in one run: cached and
 * uncached synchronous fetches of small pages on the embedded service and on two nodes that do everything, over real
 * engines; the same by 1, 2 and 4 workers behind one gateway, with the same number of requests at once and with as many for
 * each worker; and how long a killed node's sites are without an owner.
 *
 * Figures are CPU seconds of the service's process trees (engines apart), and latencies one at a time. All service
 * processes share one core, so that one of them is no better off than four; the web, the engines and the driver have
 * the other. A figure of one run on a shared machine: compare only what stands in the same file.
 */
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import type { ClusterOf } from "../test/harness/cluster-of.ts";
import { clusterWithout, joinedOn, keyOf, UNLIMITED } from "./cluster-nodes.ts";
import { answering, cpuSeconds, machine, median, pinned, service } from "./harness.ts";

const { values } = parseArgs({
  options: { pages: { type: "string", default: "600" }, write: { type: "boolean", default: false } },
});
const PAGES = Number(values.pages);
const CACHED = 6_000;
const ONE_BY_ONE = 200;
/** Requests at once for each worker. */
const AT_ONCE = 32;
/** For each node, before it is measured: a new process compiles its code and takes up to three times as long for a page. */
const WARMING = 1_500;
const HOSTS = 50;
const WEB_PORT = 18_400;
const CORE = 1;
const TAKEOVERS = 5;
const address = (n: number): string => `http://127.0.2.${1 + (n % HOSTS)}:${WEB_PORT}/k/${n}`;

/** The service that is measured: its address, and the processes whose CPU counts. */
interface Subject {
  readonly url: string;
  readonly key: string;
  readonly pids: readonly number[];
}

async function ask({ url, key }: Subject, dispatcher: Agent, n: number, cache_ttl_s?: number): Promise<void> {
  const reply = await request(`${url}/v1/fetch`, {
    method: "POST",
    dispatcher,
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({
      url: address(n),
      include_html: false,
      tiers: ["direct"],
      ...(cache_ttl_s !== undefined && { cache_ttl_s }),
    }),
  });
  const answer = (await reply.body.json()) as { error?: string | null };
  if (answer.error !== null) throw new Error(`Cannot fetch "${address(n)}": ${JSON.stringify(answer)}`);
}

const cpuOf = ({ pids }: Subject): number => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);

async function many(
  subject: Subject,
  count: number,
  one: (agent: Agent, n: number) => Promise<void>,
  at_once = AT_ONCE,
) {
  const agent = new Agent({ connections: at_once });
  const [before_s, engines_s, began] = [cpuOf(subject), otherCpu(subject), performance.now()];
  let next = 0;
  await Promise.all(
    Array.from({ length: at_once }, async () => {
      while (next < count) await one(agent, next++);
    }),
  );
  const cpu_s = cpuOf(subject) - before_s;
  const result = {
    pages: count,
    cpu_ms_per_page: rounded((1_000 * cpu_s) / count),
    pages_per_cpu_s: Math.round(count / cpu_s),
    engines_and_driver_cpu_ms_per_page: rounded((1_000 * (otherCpu(subject) - engines_s)) / count),
    wall_s: rounded((performance.now() - began) / 1_000),
  };
  await agent.destroy();
  return result;
}

type Load = Awaited<ReturnType<typeof many>>;

/** CPU seconds of this process and everything it started, less the subject: engines, web and driver. */
const otherCpu = (subject: Subject): number => cpuSeconds(process.pid) - cpuOf(subject);

async function latency(one: (agent: Agent, n: number) => Promise<void>): Promise<number> {
  const agent = new Agent({ connections: 1 });
  const took: number[] = [];
  for (let n = 0; n < ONE_BY_ONE; n++) {
    const began = performance.now();
    await one(agent, n);
    took.push(performance.now() - began);
  }
  await agent.destroy();
  return rounded(median(took));
}

const rounded = (number: number): number => Math.round(number * 100) / 100;

async function measured(subject: Subject) {
  const cached = (agent: Agent, n: number) => ask(subject, agent, n % HOSTS);
  const uncached = (agent: Agent, n: number) => ask(subject, agent, n, 0);
  await many(subject, WARMING * subject.pids.length, uncached);
  return {
    uncached: await many(subject, PAGES, uncached),
    cached: await many(subject, CACHED, cached),
    uncached_p50_ms: await latency(uncached),
    cached_p50_ms: await latency(cached),
  };
}

async function withCluster<T>(
  roles: readonly string[],
  use: (subject: Subject, cluster: ClusterOf) => Promise<T>,
) {
  const cluster = await clusterWithout({ ...UNLIMITED, TRAWL_LOG_LEVEL: "info" });
  try {
    const pids: number[] = [];
    for (const role of roles) pids.push(await joinedOn(CORE, cluster, role));
    const key = await keyOf(cluster);
    await cluster.settled(60_000);
    return await use({ url: cluster.url, key, pids }, cluster);
  } finally {
    await cluster.close();
  }
}

async function takeovers(cluster: ClusterOf): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < TAKEOVERS; n++) {
    await cluster.settled();
    const victim = cluster.nodes.filter((node) => node.isRunning())[0]!;
    const began = performance.now();
    await victim.kill();
    for (;;) {
      const reports = await cluster.nodeDirectory.nodes(40);
      const owned = new Set(
        reports.flatMap(({ partitions }) => partitions.map(({ partition }) => partition)),
      );
      if (!reports.some(({ node }) => node === victim.name) && owned.size === 64) break;
    }
    took.push(Math.round(performance.now() - began));
    await joinedOn(CORE, cluster, "gateway,worker");
    await sleep(500);
  }
  return took;
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const one = await service(CORE, 18_401);
const embedded = await measured({ ...one, pids: [one.pid] });
await one.stop();
console.log(JSON.stringify({ embedded }));
const two = await withCluster(["gateway,worker", "gateway,worker"], measured);
console.log(JSON.stringify({ two }));
const workers: Record<string, { readonly same_load: Load; readonly load_by_workers: Load }> = {};
for (const count of [1, 2, 4]) {
  const roles = ["gateway", ...Array.from({ length: count }, () => "worker")];
  workers[count] = await withCluster(roles, async (subject) => {
    const uncached = (agent: Agent, n: number) => ask(subject, agent, n, 0);
    await many(subject, WARMING * count, uncached);
    return {
      same_load: await many(subject, PAGES, uncached),
      load_by_workers: await many(subject, PAGES, uncached, AT_ONCE * count),
    };
  });
  console.log(JSON.stringify({ workers: count, ...workers[count] }));
}
const takeover_ms = await withCluster(["gateway,worker", "gateway,worker", "gateway,worker"], (_, cluster) =>
  takeovers(cluster),
);
await web.stop();

const report = {
  command: `node bench/cluster.bench.ts --pages ${PAGES}`,
  machine: machine(),
  embedded,
  two_nodes: two,
  ratios: {
    uncached_pages_per_cpu_s: rounded(two.uncached.pages_per_cpu_s / embedded.uncached.pages_per_cpu_s),
    cached_pages_per_cpu_s: rounded(two.cached.pages_per_cpu_s / embedded.cached.pages_per_cpu_s),
    uncached_p50_added_ms: rounded(two.uncached_p50_ms - embedded.uncached_p50_ms),
    cached_p50_added_ms: rounded(two.cached_p50_ms - embedded.cached_p50_ms),
    four_workers_to_one_cpu_per_page: rounded(
      workers[4]!.same_load.cpu_ms_per_page / workers[1]!.same_load.cpu_ms_per_page,
    ),
    four_workers_to_one_cpu_per_page_by_load: rounded(
      workers[4]!.load_by_workers.cpu_ms_per_page / workers[1]!.load_by_workers.cpu_ms_per_page,
    ),
  },
  workers,
  takeover_ms,
};
console.log(JSON.stringify(report, null, 1));
if (values.write) writeFileSync("bench/results/cluster.json", `${JSON.stringify(report, null, 1)}\n`);

/**
 * node bench/politeness.bench.ts [--delay 500] [--pages 20] [--hosts 20] [--workers 1,2,4] [--kill]: how exactly a site's
 * delay is kept by some numbers of workers behind a gateway, on engines of their own. Each host gets a page at every turn,
 * all pages are one batch; the request audit has when each request left. Wanted: no gap below the delay less 2 ms, and
 * 0.97 of the ideal rate.
 *
 * The ideal is hosts ÷ delay requests a second, whatever that costs. 20 hosts of 500 ms take about half of two cores with
 * four workers, the engines and the web; with 50 hosts two cores have nothing left and are what is measured
 * (`machine_busy`, the share of all cores that was in use, by other programs too). A figure of waits needs a machine that is half idle.
 *
 * `--kill`: a worker is killed with SIGKILL after a quarter of the time, and its hosts and the others are told apart. It takes
 * the last second of its audit with it, so that gaps of arrivals at the web are told, too: shorter than the sent ones by what
 * the earlier request of a pair was on its way for longer.
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { readConfig } from "../ops/config.ts";
import { type AuditedRequest, readRequests } from "../ops/request-audit.ts";
import { openDocuments } from "../ops/stores.ts";
import { type ClusterOf, clusterOf, type NodeOf } from "../test/harness/cluster-of.ts";
import { answering, cpuSeconds, machine, machineCpu, pinned, politenessOf, unlinked } from "./harness.ts";

const { values } = parseArgs({
  options: {
    delay: { type: "string", default: "500" },
    pages: { type: "string", default: "20" },
    hosts: { type: "string", default: "20" },
    workers: { type: "string", default: "1,2,4" },
    kill: { type: "boolean", default: false },
  },
});
const DELAY_MS = Number(values.delay);
const PAGES = Number(values.pages);
const HOSTS = Number(values.hosts);
const WEB_PORT = 18_420;
const WEB = `http://127.0.0.1:${WEB_PORT}`;
/** The request audit is written once a second. */
const AUDITED_MS = 2_500;

interface Arrival {
  readonly domain: string;
  readonly at_ms: number;
}

const item = (n: number) => ({
  url: `http://127.0.2.${1 + (n % HOSTS)}:${WEB_PORT}/k/${n}`,
  tiers: ["direct"],
});

async function batch(cluster: ClusterOf, name: string, first: number, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, n) => item(first + n));
  const { json } = await cluster.insist("POST", "/v1/batch/fetch", { idempotency_key: name, items });
  for (;;) {
    const job = (await cluster.insist("GET", `/v1/jobs/${json.job_id}`)).json;
    if (job.finished_at === null) {
      await sleep(200);
      continue;
    }
    if (job.counts.done !== count) throw new Error(`A batch did not finish: ${JSON.stringify(job.counts)}`);
    return;
  }
}

const arrivals = async (since_ms: number): Promise<Arrival[]> =>
  ((await (await fetch(`${WEB}/seen`)).json()) as [string, number][])
    .map(([domain, at_ms]) => ({ domain, at_ms }))
    .filter(({ at_ms }) => at_ms >= since_ms);

async function measured(workers: number) {
  const cluster = await clusterOf([], {
    own: ["documents", "blobs"],
    environment: {
      TRAWL_POLITE_DELAY_MS: String(DELAY_MS),
      TRAWL_POLITE_CONCURRENCY: "2",
      TRAWL_REQUEST_AUDIT: "on",
    },
  });
  if (!cluster) throw new Error("Cannot run: engines are missing; npm run engines -- --install-only");
  try {
    await cluster.add("gateway", unlinked(cluster));
    for (let n = 0; n < workers; n++) await cluster.add("worker", unlinked(cluster));
    await cluster.settled(60_000);
    // robots.txt takes a slot of its own, once a day.
    await batch(cluster, "first", 0, HOSTS);
    const began_ms = Date.now();
    const [cpu, cpu_s] = [machineCpu(), cpuSeconds(process.pid)];
    const killing = values.kill ? killLater(cluster.nodes.at(-1)!) : null;
    await batch(cluster, "measured", HOSTS, PAGES * HOSTS);
    const [ended, used_s] = [machineCpu(), cpuSeconds(process.pid) - cpu_s];
    const load = loadavg()[0];
    await sleep(AUDITED_MS);
    const documents = await openDocuments(readConfig(cluster.environment));
    const sent = await readRequests(documents, began_ms, Date.now());
    await documents.close();
    const common = {
      workers,
      load,
      machine_busy: rounded((ended.busy_s - cpu.busy_s) / (ended.all_s - cpu.all_s)),
      // A killed node's is missing.
      cpu_ms_per_page: rounded((1_000 * used_s) / (PAGES * HOSTS)),
    };
    const killed = await killing;
    if (!killed) return { ...common, ...politenessOf(sent, DELAY_MS) };
    return { ...common, ...afterKill(sent, await arrivals(began_ms), killed) };
  } finally {
    await cluster.close();
  }
}

async function killLater(node: NodeOf): Promise<{ readonly node: string; readonly at_ms: number }> {
  await sleep((PAGES * DELAY_MS) / 4);
  const at_ms = Date.now();
  await node.kill();
  return { node: node.name, at_ms };
}

/** Effect of a node's death on its hosts and on the others. */
function afterKill(
  sent: readonly AuditedRequest[],
  seen: readonly Arrival[],
  { node, at_ms }: { readonly node: string; readonly at_ms: number },
) {
  const own = new Set(sent.filter((request) => request.node === node).map(({ domain }) => domain));
  if (own.size === 0) throw new Error("The killed node had sent nothing: raise --pages");
  const others = sent.filter(({ domain }) => !own.has(domain));
  const first_ms = [...own].map(
    (domain) =>
      Math.min(
        ...sent.filter((one) => one.domain === domain && one.node !== node).map((each) => each.at_ms),
      ) - at_ms,
  );
  return {
    all_hosts: {
      smallest_gap_ms: politenessOf(sent, DELAY_MS).smallest_gap_ms,
      arrived: seen.length,
      smallest_gap_of_arrivals_ms: politenessOf(seen, DELAY_MS).smallest_gap_ms,
    },
    killed_hosts: {
      hosts: own.size,
      smallest_gap_of_arrivals_ms: politenessOf(
        seen.filter(({ domain }) => own.has(domain)),
        DELAY_MS,
      ).smallest_gap_ms,
      without_requests_ms: { least: Math.min(...first_ms), most: Math.max(...first_ms) },
    },
    other_hosts: politenessOf(others, DELAY_MS),
  };
}

const rounded = (number: number): number => Math.round(number * 100) / 100;

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`${WEB}/count`);
const runs: Awaited<ReturnType<typeof measured>>[] = [];
for (const workers of values.workers.split(",").map(Number)) runs.push(await measured(workers));
await web.stop();
console.log(
  JSON.stringify(
    { machine: machine(), delay_ms: DELAY_MS, pages_a_host: PAGES, hosts: HOSTS, runs },
    null,
    1,
  ),
);

/**
 * node bench/politeness.bench.ts [--delay 500] [--pages 20]: how exactly a site's delay is kept by 1, 2 and 4 workers
 * behind a gateway, on engines of their own. 50 hosts get a page each at every turn, as one batch; the request audit has when
 * each request left. Wanted: no gap below the delay less 2 ms, and 0.97 of the ideal rate.
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { readConfig } from "../ops/config.ts";
import { readRequests } from "../ops/request-audit.ts";
import { openDocuments } from "../ops/stores.ts";
import { type ClusterOf, clusterOf } from "../test/harness/cluster-of.ts";
import { answering, machine, pinned, politenessOf } from "./harness.ts";

const { values } = parseArgs({
  options: { delay: { type: "string", default: "500" }, pages: { type: "string", default: "20" } },
});
const DELAY_MS = Number(values.delay);
const PAGES = Number(values.pages);
const HOSTS = 50;
const WEB_PORT = 18_420;
/** The request audit is written once a second. */
const AUDITED_MS = 2_500;

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

async function measured(workers: number) {
  const cluster = await clusterOf(["gateway", ...Array.from({ length: workers }, () => "worker")], {
    own: ["documents", "blobs"],
    environment: {
      TRAWL_POLITE_DELAY_MS: String(DELAY_MS),
      TRAWL_POLITE_CONCURRENCY: "2",
      TRAWL_REQUEST_AUDIT: "on",
    },
  });
  if (!cluster) throw new Error("Cannot run: engines are missing; npm run engines -- --install-only");
  try {
    await cluster.settled(60_000);
    // robots.txt takes a slot of its own, once a day.
    await batch(cluster, "first", 0, HOSTS);
    const began_ms = Date.now();
    await batch(cluster, "measured", HOSTS, PAGES * HOSTS);
    const load = loadavg()[0];
    await sleep(AUDITED_MS);
    const documents = await openDocuments(readConfig(cluster.environment));
    const sent = await readRequests(documents, began_ms, Date.now());
    await documents.close();
    return { workers, load, ...politenessOf(sent, DELAY_MS) };
  } finally {
    await cluster.close();
  }
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const runs: Awaited<ReturnType<typeof measured>>[] = [];
for (const workers of [1, 2, 4]) runs.push(await measured(workers));
await web.stop();
console.log(JSON.stringify({ machine: machine(), delay_ms: DELAY_MS, pages_a_host: PAGES, runs }, null, 1));

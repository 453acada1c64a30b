/**
 * node bench/jobs.bench.ts [--items 50000] [--write]: batch jobs of the whole service as `npm start` runs it, on one core.
 * Measured: what it costs to accept and to hold a batch (time from the last byte to the answer, memory above that before),
 * pages drained per CPU second with politeness off, how close the rate comes to the ideal with politeness on, and how much
 * a large job delays small ones. crawlee and scrapy drain the same URLs; they read no robots.txt and store nothing. `--only pace`: a batch beside single calls.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import { readRequests } from "../ops/request-audit.ts";
import {
  answering,
  cpuSeconds,
  machine,
  median,
  pinned,
  politenessOf,
  type Service,
  service,
} from "./harness.ts";
import { npmPeer, type Peer, pythonPeer } from "./peers.ts";

const { values } = parseArgs({
  options: {
    items: { type: "string", default: "50000" },
    drain: { type: "string", default: "20000" },
    only: { type: "string", default: "holding,draining,pace,politely,fairly" },
    write: { type: "boolean", default: false },
  },
});
const ITEMS = Number(values.items);
const DRAIN = Number(values.drain);
const WEB_PORT = 18_310;
const SMALL_JOBS = 100;
const SMALL_ITEMS = 10;
const PACED = 3_000;
const PACE_RUNS = 3;

interface Paced {
  readonly pages_per_s: number;
  readonly pages_per_cpu_s: number;
}

/** On hosts 127.b.x.y: each address is a domain of its own. */
const address = (n: number, hosts: number, block = 2, kind = "k"): string => {
  const host = n % hosts;
  return `http://127.${block}.${Math.floor(host / 250)}.${1 + (host % 250)}:${WEB_PORT}/${kind}/${n}`;
};
const items = (count: number, hosts: number, block?: number) =>
  Array.from({ length: count }, (_, n) => ({ url: address(n, hosts, block), tiers: ["direct"] }));

/** Memory in MB of the main process alone: worker processes hold no jobs. */
const memory = (pid: number, what: "VmRSS" | "VmHWM"): number => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)![1]) / 1024;
};

let keys = 0;
async function create({ url, key }: Service, body: readonly object[]) {
  const bytes = JSON.stringify({ items: body, idempotency_key: `bench-${keys++}` });
  const began = performance.now();
  const reply = await fetch(`${url}/v1/batch/fetch`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: bytes,
  });
  const { job_id } = (await reply.json()) as { job_id: string };
  if (reply.status !== 202) throw new Error(`Cannot create a job: ${reply.status}`);
  return { job_id, ms: performance.now() - began, bytes: bytes.length };
}

interface JobReply {
  readonly status: string;
  readonly counts: Record<string, number>;
  readonly created_at: string;
  readonly finished_at: string | null;
}

async function read({ url, key }: Service, job_id: string): Promise<JobReply> {
  const reply = await fetch(`${url}/v1/jobs/${job_id}`, { headers: { authorization: `Bearer ${key}` } });
  return (await reply.json()) as JobReply;
}

async function finished(serving: Service, job_id: string): Promise<JobReply> {
  for (;;) {
    const job = await read(serving, job_id);
    if (job.finished_at !== null) return job;
    await sleep(200);
  }
}

async function cancel({ url, key }: Service, job_id: string): Promise<void> {
  await fetch(`${url}/v1/jobs/${job_id}`, { method: "DELETE", headers: { authorization: `Bearer ${key}` } });
}

const silent = (count: number, block: number) =>
  Array.from({ length: count }, (_, n) => ({ url: address(n, 2_500, block, "never"), tiers: ["direct"] }));

/**
 * Sites that accept a connection and never answer, so that all items wait. An item in flight costs a connection, however
 * many wait behind it; so a job of 1,000 items fills the cluster's capacity before the large jobs are created.
 */
async function holding() {
  const served = await service(1, 18_311);
  await finished(served, (await create(served, items(100, 10))).job_id);
  const busy = await create(served, silent(1_000, 5));
  await sleep(4_000);
  const before_mb = memory(served.pid, "VmRSS");
  writeFileSync(`/proc/${served.pid}/clear_refs`, "5");
  const cpu = cpuSeconds(served.pid);
  const first = await create(served, silent(ITEMS, 3));
  const accepted_cpu_s = cpuSeconds(served.pid) - cpu;
  const accepted_mb = memory(served.pid, "VmHWM") - before_mb;
  const second = await create(served, silent(ITEMS, 4));
  await sleep(10_000);
  const held_mb = memory(served.pid, "VmRSS") - before_mb;
  const ids = [busy, first, second].map(({ job_id }) => job_id);
  const counts = await Promise.all(ids.map(async (job_id) => (await read(served, job_id)).counts));
  for (const job_id of ids) await cancel(served, job_id);
  await served.stop();
  return {
    items: ITEMS,
    body_mb: Number((first.bytes / 2 ** 20).toFixed(1)),
    accepted_cpu_s: Number(accepted_cpu_s.toFixed(2)),
    accepted_ms: [Math.round(first.ms), Math.round(second.ms)],
    extra_mb_while_accepting: Math.round(accepted_mb),
    mb_per_100_000_queued: Math.round((held_mb * 100_000) / (2 * ITEMS)),
    in_flight: counts.map(({ queued }) => queued),
  };
}

async function draining() {
  const served = await service(1, 18_312);
  const before = cpuSeconds(served.pid);
  const began = performance.now();
  const { job_id } = await create(served, items(DRAIN, 1_000));
  const { counts } = await finished(served, job_id);
  const cpu_s = cpuSeconds(served.pid) - before;
  const wall_s = (performance.now() - began) / 1_000;
  await served.stop();
  const addresses = Array.from({ length: DRAIN }, (_, n) => address(n, 1_000));
  const beside = (peer: Peer) => {
    const result = peer(addresses);
    return result && { pages: result.pages, pages_per_cpu_s: Math.round(result.pages / result.cpu_s) };
  };
  return {
    items: DRAIN,
    hosts: 1_000,
    crawlee: beside(npmPeer("crawlee")),
    scrapy: beside(pythonPeer("scrapy")),
    counts,
    wall_s: Math.round(wall_s),
    cpu_s: Math.round(cpu_s),
    pages_per_cpu_s: Math.round(DRAIN / cpu_s),
  };
}

/** Makes the same number of new pages in turn as a batch and as single calls, 64 at once as a client makes them; CPU of the service alone. */
async function pace() {
  const served = await service(1, 18_315);
  const addresses = (round: number) =>
    Array.from({ length: PACED }, (_, n) => ({
      url: address(n + round * PACED, 500, 2, "l"),
      tiers: ["direct"],
    }));
  const batch = async (round: number): Promise<void> => {
    const { counts } = await finished(served, (await create(served, addresses(round))).job_id);
    if (counts["done"] !== PACED) throw new Error(`A batch did not finish: ${JSON.stringify(counts)}`);
  };
  const single = async (round: number): Promise<void> => {
    const left = addresses(round);
    await Promise.all(
      Array.from({ length: 64 }, async () => {
        for (let next = left.pop(); next; next = left.pop()) {
          const reply = await fetch(`${served.url}/v1/fetch`, {
            method: "POST",
            headers: { authorization: `Bearer ${served.key}` },
            body: JSON.stringify({ ...next, include_html: false }),
          });
          const { error } = (await reply.json()) as { error: string | null };
          if (error !== null) throw new Error(`Cannot fetch "${next.url}": ${error}`);
        }
      }),
    );
  };
  const timed = async (run: (round: number) => Promise<void>, round: number) => {
    const [cpu, began] = [cpuSeconds(served.pid), performance.now()];
    await run(round);
    const wall_s = (performance.now() - began) / 1_000;
    return { pages_per_s: PACED / wall_s, pages_per_cpu_s: PACED / (cpuSeconds(served.pid) - cpu) };
  };
  await batch(0); // robots.txt read, readers started
  const rounds = { batch: [] as Paced[], single: [] as Paced[] };
  for (let round = 1; round <= 2 * PACE_RUNS; round += 2) {
    rounds.batch.push(await timed(batch, round));
    rounds.single.push(await timed(single, round + 1));
  }
  await served.stop();
  const of = (what: keyof Paced) => {
    const [batched, singly] = [rounds.batch, rounds.single].map((all) =>
      median(all.map((each) => each[what])),
    );
    return {
      batch: Math.round(batched!),
      single: Math.round(singly!),
      ratio: Number((batched! / singly!).toFixed(2)),
    };
  };
  return {
    pages: PACED,
    runs: PACE_RUNS,
    pages_per_s: of("pages_per_s"),
    pages_per_cpu_s: of("pages_per_cpu_s"),
  };
}

/** 50 hosts with 20 pages each, a request every 0.5 s on each host: 9.5 s, and the time of the last page. */
async function politely() {
  const served = await service(1, 18_313, {
    TRAWL_POLITE_DELAY_MS: "500",
    TRAWL_POLITE_CONCURRENCY: "2",
    TRAWL_REQUEST_AUDIT: "on",
  });
  // robots.txt takes a slot of its own, once a day.
  await finished(served, (await create(served, items(50, 50))).job_id);
  await sleep(1_000);
  const paged = Array.from({ length: 1_000 }, (_, n) => ({ url: address(n + 1_000, 50), tiers: ["direct"] }));
  const began_ms = Date.now();
  const { job_id } = await create(served, paged);
  await finished(served, job_id);
  const wall_s = (Date.now() - began_ms) / 1_000;
  // The request audit is written once a second.
  await sleep(2_500);
  const documents = sqliteDocuments(`${served.folder}/documents.sqlite`);
  const starts = await readRequests(documents, began_ms, Date.now());
  await documents.close();
  await served.stop();
  const { ideal_ms, ...kept } = politenessOf(starts, 500);
  return {
    ...kept,
    min_delay_ms: 500,
    wall_s,
    of_ideal_from_order_to_answer: Number((ideal_ms / 1_000 / wall_s).toFixed(3)),
  };
}

async function fairly() {
  const served = await service(1, 18_314, { TRAWL_POLITE_DELAY_MS: "100", TRAWL_POLITE_CONCURRENCY: "2" });
  const small = async (block: number): Promise<number> => {
    const took: number[] = [];
    const jobs = await Promise.all(
      Array.from({ length: SMALL_JOBS }, (_, n) =>
        create(served, items(SMALL_ITEMS, SMALL_ITEMS, block + n)),
      ),
    );
    for (const { job_id } of jobs) {
      const { created_at, finished_at } = await finished(served, job_id);
      took.push(Date.parse(finished_at!) - Date.parse(created_at));
    }
    return median(took);
  };
  const alone_ms = await small(10);
  const { job_id } = await create(served, items(ITEMS, 2_500, 2));
  await sleep(3_000);
  const beside_ms = await small(120);
  const { counts } = await read(served, job_id);
  await cancel(served, job_id);
  await served.stop();
  return {
    small_jobs: SMALL_JOBS,
    items_each: SMALL_ITEMS,
    alone_ms,
    beside_ms,
    ratio: Number((beside_ms / alone_ms).toFixed(2)),
    large: counts,
  };
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const BENCHES = { holding, draining, pace, politely, fairly };
const report: Record<string, unknown> = {
  command: process.argv.slice(1).join(" "),
  machine: machine(),
};
for (const [name, bench] of Object.entries(BENCHES))
  if (values.only.split(",").includes(name)) report[name] = { load: loadavg()[0], ...(await bench()) };
await web.stop();
console.log(JSON.stringify(report, null, 1));
if (values.write) writeFileSync("bench/results/jobs.json", `${JSON.stringify(report, null, 1)}\n`);

/**
 * node bench/large-crawl.bench.ts [--pages 60000] [--batch 5000] [--minutes 60] [--profile FOLDER] [--checkout FOLDER] [--port 18351]: one crawl of more pages than a batch has items, by the whole
 * service as `npm start` runs it on embedded engines, on one core without a delay, and then as many of the same pages as `--batch` says as items of a batch, in another service.
 * Measured: pages, CPU of a page of all processes, resident memory of all processes at its highest (what they share counted once) and, with that of the main process alone, at each tenth of the crawl. Progress is on standard error every 15 s. After
 * `--minutes` the crawl is cancelled, and what it had done until then is told.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  answering,
  cpuSeconds,
  machine,
  ownCpuSeconds,
  ownProportionalMb,
  pinned,
  proportionalMb,
  type Service,
  service,
} from "./harness.ts";
import { type ProfiledWork, profileTable } from "./profile.ts";

const { values } = parseArgs({
  options: {
    pages: { type: "string", default: "60000" },
    batch: { type: "string", default: "5000" },
    minutes: { type: "string", default: "60" },
    profile: { type: "string" },
    /** Folder of another state of the program. */
    checkout: { type: "string" },
    /** Port of the site; the service has the next one. */
    port: { type: "string", default: "18351" },
  },
});
const PAGES = Number(values.pages);
const WEB_PORT = Number(values.port);
const SITE = `http://127.9.0.1:${WEB_PORT}/site/${PAGES}`;
const FETCH = { tiers: ["direct"] };
const LOOK_MS = 1_000;
const TELL_MS = 15_000;

interface JobReply {
  readonly job_id: string;
  readonly finished_at: string | null;
  readonly counts: Readonly<Record<string, number>>;
}

async function call(
  { url, key }: Service,
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: object,
): Promise<JobReply> {
  const headers = { authorization: `Bearer ${key}` };
  const reply = await fetch(`${url}${path}`, {
    headers,
    method,
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!reply.ok) throw new Error(`Cannot ask "${path}": ${reply.status} ${await reply.text()}`);
  return (await reply.json()) as JobReply;
}

/** A job of a service of its own, so that nothing is in its cache. */
async function measured(path: string, body: object, pages: number, until_ms = Infinity) {
  const flags = values.profile ? ["--cpu-prof", `--cpu-prof-dir=${values.profile}`] : [];
  // As `npm start` sets it (ops/node.mjs).
  const env = { TRAWL_CRAWL_MAX_PAGES: "1000000", MALLOC_ARENA_MAX: "2" };
  const served = await service(1, WEB_PORT + 1, env, flags, values.checkout);
  let work: ProfiledWork | null = null;
  try {
    const began = performance.now();
    const from_us = Number(process.hrtime.bigint() / 1_000n);
    const [cpu, own] = [cpuSeconds(served.pid), ownCpuSeconds(served.pid)];
    const { job_id } = await call(served, "POST", path, body);
    const memory_mb: Record<number, { all: number; main: number; cpu_ms_a_page: number }> = {};
    let [peak_mb, told_ms] = [0, 0];
    let job: JobReply;
    for (;;) {
      job = await call(served, "GET", `/v1/jobs/${job_id}`);
      const done = job.counts["done"] ?? 0;
      const cpu_ms_a_page = ((cpuSeconds(served.pid) - cpu) * 1_000) / done;
      const mb = proportionalMb(served.pid);
      peak_mb = Math.max(peak_mb, mb);
      memory_mb[Math.floor((done * 10) / pages) * (pages / 10)] ??= {
        all: Math.round(mb),
        main: Math.round(ownProportionalMb(served.pid)),
        cpu_ms_a_page,
      };
      if (performance.now() >= told_ms + TELL_MS) {
        told_ms = performance.now();
        const told = [done, cpu_ms_a_page.toFixed(2), mb.toFixed(0), peak_mb.toFixed(0)];
        console.error(`${path} done ${told[0]}, CPU ms a page ${told[1]}, MB ${told[2]}, peak ${told[3]}`);
      }
      if (job.finished_at !== null) break;
      if (performance.now() > until_ms) {
        // Pages in flight then end within seconds.
        await call(served, "DELETE", `/v1/jobs/${job_id}`);
        until_ms = Infinity;
      }
      await sleep(LOOK_MS);
    }
    const { done = 0, failed = 0, cancelled = 0 } = job.counts;
    work = { from_us, to_us: Number(process.hrtime.bigint() / 1_000n), pages: done };
    return {
      done,
      failed,
      cancelled,
      cpu_ms_a_page: ((cpuSeconds(served.pid) - cpu) * 1_000) / done,
      main_cpu_ms_a_page: ((ownCpuSeconds(served.pid) - own) * 1_000) / done,
      wall_s: (performance.now() - began) / 1_000,
      peak_mb,
      memory_mb,
    };
  } finally {
    await served.stop();
    if (values.profile && work) console.error(`${path}\n${profileTable(values.profile, work)}\n`);
  }
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const until_ms = performance.now() + Number(values.minutes) * 60_000;
const asked = { url: `${SITE}/0`, scope: "path", limit: PAGES, fetch: FETCH };
const crawl = await measured("/v1/crawl", asked, PAGES, until_ms);
console.error(JSON.stringify(crawl));
const BATCH = Number(values.batch);
const items = Array.from({ length: BATCH }, (_, n) => ({ url: `${SITE}/${n}`, ...FETCH }));
const batch = await measured("/v1/batch/fetch", { items, idempotency_key: "bench" }, BATCH);
await web.stop();
const crawl_to_batch = crawl.cpu_ms_a_page / batch.cpu_ms_a_page;
console.log(JSON.stringify({ machine: machine(), pages: PAGES, crawl, batch, crawl_to_batch }, null, 2));

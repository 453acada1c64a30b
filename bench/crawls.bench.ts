/**
 * node bench/crawls.bench.ts [--pages 5000] [--scrapy PYTHON] [--profile FOLDER]: a crawl of a synthetic site by the whole service as `npm start` runs it, on one
 * core without a delay, beside the same pages as items of a batch, and beside Scrapy with a rule for links (`--scrapy`: a Python
 * that has it). Measured: pages found, CPU of a page and how much of it the main process uses, memory of the main process at its
 * highest. `--profile`: where the time of the main process goes in both, on standard error; the CPU is higher then.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { answering, cpuSeconds, machine, ownCpuSeconds, pinned, type Service, service } from "./harness.ts";
import { type ProfiledWork, profileTable } from "./profile.ts";

const { values } = parseArgs({
  options: {
    pages: { type: "string", default: "5000" },
    scrapy: { type: "string" },
    profile: { type: "string" },
  },
});
const PAGES = Number(values.pages);
const WEB_PORT = 18_341;
const SITE = `http://127.9.0.1:${WEB_PORT}/site/${PAGES}`;
const FETCH = { tiers: ["direct"] };

interface JobReply {
  readonly job_id: string;
  readonly finished_at: string | null;
  readonly counts: Readonly<Record<string, number>>;
}

async function call({ url, key }: Service, path: string, body?: object): Promise<JobReply> {
  const headers = { authorization: `Bearer ${key}` };
  const reply = await fetch(`${url}${path}`, {
    headers,
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  if (!reply.ok) throw new Error(`Cannot ask "${path}": ${reply.status} ${await reply.text()}`);
  return (await reply.json()) as JobReply;
}

/** A job of a service of its own, so that nothing is in its cache. */
async function measured(path: string, body: object) {
  const flags = values.profile ? ["--cpu-prof", `--cpu-prof-dir=${values.profile}`] : [];
  const served = await service(1, 18_342, {}, flags);
  let work: ProfiledWork | null = null;
  try {
    const began = performance.now();
    const from_us = Number(process.hrtime.bigint() / 1_000n);
    const [cpu, own] = [cpuSeconds(served.pid), ownCpuSeconds(served.pid)];
    const { job_id } = await call(served, path, body);
    let job = await call(served, `/v1/jobs/${job_id}`);
    for (; job.finished_at === null; job = await call(served, `/v1/jobs/${job_id}`)) await sleep(500);
    const cpu_s = cpuSeconds(served.pid) - cpu;
    const own_s = ownCpuSeconds(served.pid) - own;
    work = { from_us, to_us: Number(process.hrtime.bigint() / 1_000n), pages: job.counts["done"] ?? 1 };
    const status = readFileSync(`/proc/${served.pid}/status`, "utf8");
    const { done = 0, failed = 0 } = job.counts;
    return {
      done,
      failed,
      recall: done / PAGES,
      cpu_ms_a_page: (cpu_s * 1_000) / done,
      main_cpu_ms_a_page: (own_s * 1_000) / done,
      wall_s: (performance.now() - began) / 1_000,
      peak_rss_mb: Number(/VmHWM:\s+(\d+)/.exec(status)![1]) / 1_024,
    };
  } finally {
    await served.stop();
    if (values.profile && work) console.error(`${path}\n${profileTable(values.profile, work)}\n`);
  }
}

const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const crawl = await measured("/v1/crawl", { url: `${SITE}/0`, scope: "path", limit: PAGES, fetch: FETCH });
const items = Array.from({ length: PAGES }, (_, n) => ({ url: `${SITE}/${n}`, ...FETCH }));
const batch = await measured("/v1/batch/fetch", { items, idempotency_key: "bench" });
const words = ["-c", "1", values.scrapy ?? "", "bench/peers/scrapy/crawl.py", `${SITE}/0`, "64"];
const scrapy =
  values.scrapy === undefined ? null : (JSON.parse(execFileSync("taskset", words).toString()) as object);
await web.stop();
const crawl_to_batch = crawl.cpu_ms_a_page / batch.cpu_ms_a_page;
console.log(
  JSON.stringify({ machine: machine(), pages: PAGES, crawl, batch, crawl_to_batch, scrapy }, null, 2),
);

/**
 * node --disable-warning=ExperimentalWarning bench/soak.ts [--minutes 30] [--fault-every 3]: mixed load on one process with embedded engines, a fault
 * every few minutes, and a line for each interval. Ends with 1 when a law is broken: memory is flat, p99 is steady, and no error is unexplained. 30
 * minutes are for CI's time, `--minutes 120` for a run by hand.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { freePort } from "../test/harness/free-port.ts";
import { article, type Page, web } from "../test/harness/web.ts";
import { answering, machine, residentMb } from "./harness.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    "fault-every": { type: "string", default: "3" },
    callers: { type: "string", default: "8" },
  },
});
const MINUTE_MS = 60_000;
const ends_ms = performance.now() + Number(values.minutes) * MINUTE_MS;
const fault_every_ms = Number(values["fault-every"]) * MINUTE_MS;
const INTERVAL_MS = Math.min(30_000, fault_every_ms / 2);
/** An error so long after a fault is the fault's. */
const EXPLAINED_MS = 45_000;
const SITES = 40;

let isOriginDown = false;
const sites = await web();
const page =
  (n: number): (() => Page) =>
  () =>
    isOriginDown ? { status: 503, body: "down" } : { body: article(`Page of site ${n}`) };
const origins = Array.from({ length: SITES }, (_, n) => sites.site({ "*": page(n) }).origin);
const KEY = "ak_soak_0123456789abcdef";
const port = await freePort();
const base = `http://127.0.0.1:${port}`;
const folder = mkdtempSync(join(tmpdir(), "trawl-soak-"));
const environment = {
  PATH: process.env["PATH"],
  PORT: String(port),
  TRAWL_DATA_DIR: folder,
  TRAWL_ADMIN_KEY: KEY,
  TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
  TRAWL_DNS_SERVERS: sites.dns,
  TRAWL_ARCHIVE_URL: "none",
  TRAWL_CHROMIUM_PATH: "none",
  TRAWL_POLITE_DELAY_MS: "20",
  TRAWL_LOG_LEVEL: "error",
};
let program: ChildProcess;

async function start(): Promise<void> {
  const words = ["--disable-warning=ExperimentalWarning", "ops/main.ts", "start"];
  program = spawn(process.execPath, words, { env: environment, stdio: ["ignore", "ignore", "inherit"] });
  await answering(`${base}/ready`);
}

async function end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const ended = once(program, "exit");
  program.kill(signal);
  await ended;
}

/** The status of an answer, and its JSON. */
async function call(method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
  const reply = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await reply.text();
  const isJson = reply.headers.get("content-type")?.startsWith("application/json") ?? false;
  return { status: reply.status, json: (isJson ? JSON.parse(text) : {}) as Record<string, unknown> };
}
await start();

/** Of the current interval. */
let latencies: number[] = [];
const unexplained: string[] = [];
let fault_ms = -Infinity;
let requests = 0;
let failed = 0;
const isExplained = (): boolean => performance.now() - fault_ms < EXPLAINED_MS;

function note(what: string): void {
  failed++;
  if (!isExplained()) unexplained.push(what);
}

/** One request of the mix: six fetches, half of them of known pages, to one search, one job and one body. */
async function oneRequest(n: number): Promise<void> {
  const began = performance.now();
  const origin = origins[n % SITES]!;
  try {
    const kind = n % 9;
    if (kind < 6) {
      const { status, json } = await call("POST", "/v1/fetch", { url: `${origin}/${kind < 3 ? n % 50 : n}` });
      const { error, body_url } = json;
      if (status >= 500 || (error != null && error !== "domain_busy"))
        note(`fetch: ${status} ${String(error)}`);
      if (typeof body_url === "string" && kind === 0) await call("GET", body_url);
    } else if (kind < 8) {
      const { status } = await call("POST", "/v1/search", { query: `page of site ${n % SITES}` });
      if (status >= 500) note(`search: ${status}`);
    } else if (n % 90 === 8) {
      const items = Array.from({ length: 50 }, (_, item) => ({
        url: `${origins[item % SITES]}/job/${n}/${item}`,
      }));
      const { status } = await call("POST", "/v1/batch/fetch", { idempotency_key: `k${n}`, items });
      if (status >= 500) note(`batch: ${status}`);
    }
  } catch (problem) {
    note(String(problem).slice(0, 120));
    await sleep(200);
  }
  requests++;
  latencies.push(performance.now() - began);
}

const FAULTS: readonly (readonly [name: string, inject: () => Promise<void>])[] = [
  ["kill -9 and restart", async () => (await end("SIGKILL"), start())],
  [
    "origins answer 503 for 20 s",
    async () => {
      isOriginDown = true;
      await sleep(20_000);
      isOriginDown = false;
    },
  ],
  ["drain and restart", async () => (await end("SIGTERM"), start())],
];

let isOver = false;
let next = 0;
const callers = Array.from({ length: Number(values.callers) }, async () => {
  while (!isOver) await oneRequest(next++);
});

interface Interval {
  readonly rss_mb: number;
  readonly p99_ms: number;
  readonly hadFault: boolean;
}
const intervals: Interval[] = [];
const quantile = (numbers: readonly number[], q: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(q * numbers.length))] ?? 0;

let faults = 0;
let next_fault_ms = performance.now() + fault_every_ms;
console.log(
  `${values.minutes} min, a fault every ${values["fault-every"]} min, ${JSON.stringify(machine())}`,
);
while (performance.now() < ends_ms) {
  await sleep(Math.min(INTERVAL_MS, Math.max(0, ends_ms - performance.now())));
  const rss_mb = residentMb(program!.pid!);
  const measured = latencies;
  latencies = [];
  const interval = {
    rss_mb: Math.round(rss_mb),
    p99_ms: Math.round(quantile(measured, 0.99)),
    hadFault: isExplained(),
  };
  intervals.push(interval);
  console.log(JSON.stringify({ ...interval, requests, failed, unexplained: unexplained.length }));
  if (performance.now() >= next_fault_ms && ends_ms - performance.now() > EXPLAINED_MS) {
    const [name, inject] = FAULTS[faults++ % FAULTS.length]!;
    console.log(`fault: ${name}`);
    fault_ms = performance.now();
    await inject();
    fault_ms = performance.now();
    next_fault_ms = fault_ms + fault_every_ms;
  }
}
isOver = true;
await Promise.all(callers);
await end("SIGTERM");
await sites.close();
rmSync(folder, { recursive: true });

/** The first half is warm-up: caches fill. Intervals with a fault say nothing. */
const calm = intervals.filter(({ hadFault }) => !hadFault);
const quarter = (from: number, to: number): readonly Interval[] =>
  calm.slice(Math.floor(calm.length * from), Math.ceil(calm.length * to));
const rssOf = (part: readonly Interval[]): number =>
  quantile(
    part.map((interval) => interval.rss_mb),
    0.5,
  );
const p99Of = (part: readonly Interval[]): number =>
  quantile(
    part.map(({ p99_ms }) => p99_ms),
    0.5,
  );
const [middle, last] = [quarter(0.4, 0.7), quarter(0.7, 1)];
const broken = [
  ...(rssOf(last) > rssOf(middle) * 1.15 + 30
    ? [`memory grows: ${rssOf(middle)} MB, then ${rssOf(last)} MB`]
    : []),
  ...(p99Of(last) > p99Of(middle) * 2 + 50 ? [`p99 grows: ${p99Of(middle)} ms, then ${p99Of(last)} ms`] : []),
  ...(unexplained.length > 0
    ? [`${unexplained.length} unexplained errors: ${[...new Set(unexplained)].slice(0, 5).join("; ")}`]
    : []),
];
console.log(
  `${requests} requests, ${faults} faults, memory ${rssOf(middle)} then ${rssOf(last)} MB, p99 ${p99Of(middle)} then ${p99Of(last)} ms: ` +
    (broken.length === 0 ? "held" : `BROKEN ${broken.join("; ")}`),
);
process.exit(broken.length === 0 ? 0 : 1);

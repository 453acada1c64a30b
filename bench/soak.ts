/**
 * node --disable-warning=ExperimentalWarning bench/soak.ts [--minutes 30] [--fault-every 3] [--setup embedded|cluster]: mixed load on the real program with a fault
 * every few minutes, and a line for each interval. Ends with 1 when a law is broken: memory is flat, p99 is steady, and no error is unexplained. 30 minutes are for CI's
 * time, `--minutes 120` for a run by hand. Needs the engines for `cluster` (npm run engines -- --install-only).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { SETUPS } from "../test/harness/service.ts";
import { article, type Page, web } from "../test/harness/web.ts";
import { machine } from "./harness.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    "fault-every": { type: "string", default: "3" },
    setup: { type: "string", default: "embedded" },
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

const setup = SETUPS.find(({ setup: name }) => name.includes(values.setup));
if (!setup)
  throw new TypeError(`Cannot run on "${values.setup}": there is no such setup, or its engines are missing`);

let isOriginDown = false;
const sites = await web();
const page =
  (n: number): (() => Page) =>
  () =>
    isOriginDown ? { status: 503, body: "down" } : { body: article(`Page of site ${n}`) };
const origins = Array.from({ length: SITES }, (_, n) => sites.site({ "*": page(n) }).origin);
const service = await setup.start({ TRAWL_DNS_SERVERS: sites.dns, TRAWL_POLITE_DELAY_MS: "20" });

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
async function once(n: number): Promise<void> {
  const began = performance.now();
  const origin = origins[n % SITES]!;
  try {
    const kind = n % 9;
    if (kind < 6) {
      const { error, body_url, http } = await service.fetch({ url: `${origin}/${kind < 3 ? n % 50 : n}` });
      if (http >= 500 || (error !== null && error !== "domain_busy")) note(`fetch: ${http} ${error}`);
      if (body_url && kind === 0) await service.call("GET", body_url);
    } else if (kind < 8) {
      const { status } = await service.call("POST", "/v1/search", {
        body: { query: `page of site ${n % SITES}` },
      });
      if (status >= 500) note(`search: ${status}`);
    } else if (n % 90 === 8) {
      const items = Array.from({ length: 50 }, (_, item) => ({
        url: `${origins[item % SITES]}/job/${n}/${item}`,
      }));
      const { status } = await service.call("POST", "/v1/batch/fetch", {
        body: { idempotency_key: `k${n}`, items },
      });
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
  ["kill -9 and restart", async () => (await service.kill(), service.restart())],
  [
    "origins answer 503 for 20 s",
    async () => {
      isOriginDown = true;
      await sleep(20_000);
      isOriginDown = false;
    },
  ],
  ["drain and restart", async () => (await service.stop(), service.restart())],
];

let isOver = false;
let next = 0;
const callers = Array.from({ length: Number(values.callers) }, async () => {
  while (!isOver) await once(next++);
});

interface Interval {
  readonly rss_mb: number | null;
  readonly p99_ms: number;
  readonly hadFault: boolean;
}
const intervals: Interval[] = [];
const quantile = (numbers: readonly number[], q: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(q * numbers.length))] ?? 0;

let faults = 0;
let next_fault_ms = performance.now() + fault_every_ms;
console.log(
  `${setup.setup}, ${values.minutes} min, a fault every ${values["fault-every"]} min, ${JSON.stringify(machine())}`,
);
while (performance.now() < ends_ms) {
  await sleep(Math.min(INTERVAL_MS, Math.max(0, ends_ms - performance.now())));
  const rss = await service.meter("process_resident_memory_bytes").catch(() => null);
  const measured = latencies;
  latencies = [];
  const interval = {
    rss_mb: rss === null ? null : Math.round(rss / 2 ** 20),
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
await service.close();
await sites.close();

/** The first half is warm-up: caches fill. Intervals with a fault say nothing. */
const calm = intervals.filter(({ hadFault }) => !hadFault);
const quarter = (from: number, to: number): readonly Interval[] =>
  calm.slice(Math.floor(calm.length * from), Math.ceil(calm.length * to));
const rssOf = (part: readonly Interval[]): number =>
  quantile(
    part.flatMap(({ rss_mb }) => rss_mb ?? []),
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

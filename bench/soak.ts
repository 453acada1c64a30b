/**
 * node --disable-warning=ExperimentalWarning bench/soak.ts [--minutes 30] [--fault-every 3] [--rate 10] [--cluster]: mixed load and a fault every few
 * minutes, with a line for each interval; on one process with embedded engines, or on a cluster of its own engines with a gateway, two workers and a
 * browser node (soak-service.ts). Fetches, searches, stored bodies, batch jobs, filings and company records, on the cluster pages that need a browser as
 * well; origins, a metasearch instance, a filing system and a company source on loopback. It ends with exit code 1 when a law is broken: memory is flat, p99
 * is steady, few requests are put off, no error is unexplained, no item of a job is lost. 30 minutes are for CI's time, `--minutes 120` for a run by hand. The main
 * process under load and without faults: `--minutes 10 --rate 180 --fault-every 60`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { edgar } from "../test/harness/edgar.ts";
import { gleif, leiOf } from "../test/harness/gleif.ts";
import { article, type Page, prose, web } from "../test/harness/web.ts";
import { machine } from "./harness.ts";
import { clusterService, singleService } from "./soak-service.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    "fault-every": { type: "string", default: "3" },
    rate: { type: "string", default: "10" },
    cluster: { type: "boolean", default: false },
  },
});
const MINUTE_MS = 60_000;
const duration_ms = Number(values.minutes) * MINUTE_MS;
const fault_every_ms = Number(values["fault-every"]) * MINUTE_MS;
const INTERVAL_MS = Math.min(30_000, fault_every_ms / 2);
/** An error so long after the end of a fault is the fault's. */
const EXPLAINED_MS = 45_000;
/** How long something on loopback stays away. */
const AWAY_MS = 20_000;
/** A domain that failed is skipped for ten minutes (actors/crawl/domain/README.md). */
const SKIPPED_MS = 10 * MINUTE_MS + EXPLAINED_MS;
/** Share of all requests that are told to come back later and say when. */
const MAX_PUT_OFF_SHARE = 0.01;
const MAX_JOB_MS = 15 * MINUTE_MS;
const SITES = 40;
/** Sites of a cluster whose pages are empty until their script has run. */
const SCRIPTED_SITES = 4;
const COMPANIES = 20;
const JOB_ITEMS = 50;

// Sites and engines that the service asks, all on loopback.
const away = { origins: false, engine: false };
const sites = await web();
const origins = Array.from({ length: SITES }, (_, n) => {
  // A quarter of the sites fails in an outage.
  const page = (): Page =>
    away.origins && n % 4 === 0 ? { status: 503, body: "down" } : { body: article(`Page of site ${n}`) };
  return sites.site({ "*": page }).origin;
});
const scripted = `<!doctype html><html><head><title>Scripted</title></head><body><div id="app"></div><script>
  document.getElementById("app").innerHTML = ${JSON.stringify(`<article><h1>Scripted</h1><p>${prose(30)}</p></article>`)};
</script></body></html>`;
const scriptedOrigins = Array.from(
  { length: SCRIPTED_SITES },
  () => sites.site({ "*": { body: scripted } }).origin,
);
const engine = sites.site({
  "*": ({ path }) =>
    away.engine
      ? { status: 500, body: "down" }
      : {
          type: "application/json",
          body: JSON.stringify({
            results: Array.from({ length: 5 }, (_, n) => ({
              url: `https://results.example/${n}${path}`,
              title: `Result ${n}`,
              content: "About it",
              engines: ["one"],
            })),
            unresponsive_engines: [],
          }),
        },
});
const filings = await edgar();
const source = await gleif();
const leis = Array.from({ length: COMPANIES }, (_, n) => leiOf(`529900${String(n).padStart(12, "0")}`));
for (const [n, lei] of leis.entries()) source.companies.set(lei, { lei, name: `Company ${n} AG` });

// The service.
const service = await (values.cluster ? clusterService : singleService)({
  TRAWL_DNS_SERVERS: sites.dns,
  TRAWL_POLITE_DELAY_MS: "20",
  TRAWL_LOG_LEVEL: "error",
  TRAWL_SEARXNG_URLS: `${engine.origin}/`,
  TRAWL_GLEIF_URL: source.url,
  ...filings.environment,
});

/** The status of an answer, and its JSON. */
async function call(method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${service.key}`, "content-type": "application/json" };
  const reply = await fetch(service.url + path, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  const isJson = reply.headers.get("content-type")?.startsWith("application/json") ?? false;
  const json = (isJson ? JSON.parse(text) : {}) as Record<string, any>;
  return {
    status: reply.status,
    again_s: reply.headers.get("retry-after") ?? json["retry_after_s"] ?? null,
    json,
  };
}

// The load.
const began_ms = performance.now();
const ends_ms = began_ms + duration_ms;
let fault = { name: "none", ended_ms: -Infinity };
let origins_ended_ms = -Infinity;
/** Latencies of the current interval. */
let latencies: number[] = [];
let requests = 0;
const unexplained: string[] = [];
/** How often each error was seen after each fault. */
const explained = new Map<string, number>();
/** Answers that say when to come back, without a fault: a busy machine gives no slot or no room in time. */
const putOff = new Map<string, number>();
const PUT_OFF: ReadonlySet<string> = new Set([
  "fetch 200 domain_busy",
  "fetch 503 domain_busy",
  "fetch 200 politeness_timeout",
  "filings 200 rate_limited",
  "company 503",
  "batch 429",
]);
const jobs: string[] = [];

/** `again_s`: when the answer tells the client to ask again. */
function note(problem: string, again_s: unknown = null): void {
  const now_ms = performance.now();
  if (now_ms - fault.ended_ms >= EXPLAINED_MS && again_s !== null && PUT_OFF.has(problem))
    return void putOff.set(problem, (putOff.get(problem) ?? 0) + 1);
  const isSkip = problem.includes("domain_unavailable") && now_ms - origins_ended_ms < SKIPPED_MS;
  if (!isSkip && now_ms - fault.ended_ms >= EXPLAINED_MS) return void unexplained.push(problem);
  const name = `${isSkip ? "origins answer 503" : fault.name}: ${problem}`;
  explained.set(name, (explained.get(name) ?? 0) + 1);
}

type Ask = (n: number) => Promise<void>;

const fetchPage =
  (isNew: boolean): Ask =>
  async (n) => {
    const url = `${origins[n % SITES]}/${isNew ? n : n % 50}`;
    const { status, json, again_s } = await call("POST", "/v1/fetch", { url });
    if (status !== 200 || json["error"] !== null)
      note(`fetch ${status} ${json["error"] ?? json["detail"]}`, again_s);
    if (isNew || typeof json["body_url"] !== "string") return;
    const body = await call("GET", json["body_url"]);
    if (body.status !== 200) note(`body ${body.status}`);
  };

let rendered = 0;
const fetchScripted: Ask = async (n) => {
  const url = `${scriptedOrigins[n % SCRIPTED_SITES]}/${n}`;
  const { status, json, again_s } = await call("POST", "/v1/fetch", { url });
  if (json["tier"] === "browser") rendered++;
  if (status !== 200 || json["error"] !== null)
    note(`fetch ${status} ${json["error"] ?? json["detail"]}`, again_s);
};

const search: Ask = async (n) => {
  const { status, json } = await call("POST", "/v1/search", { query: `page of site ${n % 500}` });
  if (status !== 200 || json["error"] !== null) note(`search ${status} ${json["error"] ?? json["detail"]}`);
};

const filing: Ask = async (n) => {
  const paths = [
    "companies/resolve?ticker=HLI",
    "companies/9000001/submissions?limit=5",
    "companies/9000001/facts",
  ];
  const { status, json, again_s } = await call("GET", `/v1/filings/${paths[n % paths.length]}`);
  if (status !== 200 || json["error"]) note(`filings ${status} ${json["error"] ?? json["detail"]}`, again_s);
};

const company: Ask = async (n) => {
  const { status, again_s } = await call(
    "GET",
    `/v1/companies/lei:${leis[n % COMPANIES]}${n % 5 === 0 ? "?refresh=true" : ""}`,
  );
  if (status !== 200) note(`company ${status}`, again_s);
};

const job: Ask = async (n) => {
  const items = Array.from({ length: JOB_ITEMS }, (_, item) => ({
    url: `${origins[item % SITES]}/job/${n}/${item}`,
  }));
  const { status, json, again_s } = await call("POST", "/v1/batch/fetch", {
    idempotency_key: `k${n}`,
    items,
  });
  if (status === 202) jobs.push(json["job_id"]);
  else note(`batch ${status}`, again_s);
};

/**
 * A hundred requests of the mix: 60 fetches, half of them of known pages whose body is downloaded, 20 searches, 10 filings, 9 companies and one job. On a
 * cluster two of the fetches need a browser.
 */
const pickAsk = (n: number): Ask => {
  const kind = n % 10;
  if (values.cluster && n % 50 === 0) return fetchScripted;
  if (kind < 6) return fetchPage(kind < 3);
  if (kind < 8) return search;
  return kind === 8 ? filing : n % 100 === 99 ? job : company;
};

async function oneRequest(n: number): Promise<void> {
  const from_ms = performance.now();
  await pickAsk(n)(n).catch((problem: unknown) => note(String(problem).slice(0, 120)));
  requests++;
  latencies.push(performance.now() - from_ms);
}

/** Requests begin at the rate, whether or not those before them have ended. */
async function load(): Promise<void> {
  const open = new Set<Promise<void>>();
  for (let n = 0; performance.now() < ends_ms; n++) {
    const asked = oneRequest(n).finally(() => open.delete(asked));
    open.add(asked);
    await sleep(Math.max(0, began_ms + ((n + 1) * 1_000) / Number(values.rate) - performance.now()));
  }
  await Promise.all(open);
}

// The faults.
const forAWhile = async (begin: () => void, recover: () => void): Promise<void> => {
  begin();
  await sleep(AWAY_MS);
  recover();
};
const FAULTS: readonly (readonly [name: string, inject: () => Promise<void>])[] = [
  ["kill -9", service.kill],
  [
    "origins answer 503",
    async () => {
      await forAWhile(
        () => void (away.origins = true),
        () => void (away.origins = false),
      );
      origins_ended_ms = performance.now();
    },
  ],
  [
    "the metasearch instance answers 500",
    () =>
      forAWhile(
        () => void (away.engine = true),
        () => void (away.engine = false),
      ),
  ],
  ["the filing system answers 503", () => forAWhile(() => filings.fail("bare_503"), filings.well)],
  [
    "the company source answers 500",
    () =>
      forAWhile(
        () => void (source.fault = "500"),
        () => void (source.fault = "none"),
      ),
  ],
  ["drain", service.drain],
  ...service.faults(AWAY_MS),
];

// The laws.
interface Interval {
  readonly rss_mb: number;
  /** Memory of the main processes alone. */
  readonly main_mb: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly start: number;
  readonly hadFault: boolean;
}
const quantile = (numbers: readonly number[], q: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(q * numbers.length))] ?? 0;
const median = (numbers: readonly number[]): number => quantile(numbers, 0.5);

/** The middle and the last third of the longest time that one process ran, and of the intervals without a fault. */
function summary(intervals: readonly Interval[]) {
  const lives = Map.groupBy(intervals, ({ start }) => start);
  const longest = [...lives.values()].toSorted((a, b) => b.length - a.length)[0] ?? [];
  const calm = intervals.filter(({ hadFault }) => !hadFault);
  const thirds = (all: readonly Interval[], value: (interval: Interval) => number) => {
    const third = Math.floor(all.length / 3);
    return [median(all.slice(third, 2 * third).map(value)), median(all.slice(2 * third).map(value))] as const;
  };
  return {
    rss_mb: thirds(longest, ({ rss_mb }) => rss_mb),
    main_mb: thirds(longest, ({ main_mb }) => main_mb),
    p99_ms: thirds(calm, ({ p99_ms }) => p99_ms),
    p50_ms: median(calm.map(({ p50_ms }) => p50_ms)),
  };
}

/** Jobs that did not end, and items whose failure no fault explains. */
async function lostItems(): Promise<readonly string[]> {
  const lost: string[] = [];
  const waits_until_ms = performance.now() + MAX_JOB_MS;
  for (const job_id of jobs) {
    let state = (await call("GET", `/v1/jobs/${job_id}?include=items`)).json;
    for (; state["status"] !== "completed" && performance.now() < waits_until_ms; await sleep(1_000))
      state = (await call("GET", `/v1/jobs/${job_id}?include=items`)).json;
    const { status, counts, items } = state;
    if (status !== "completed" || counts.done + counts.failed !== JOB_ITEMS)
      lost.push(`job ${job_id}: ${JSON.stringify(counts)}`);
    for (const { error } of items ?? [])
      if (error !== null) {
        const name = `item of a job: ${error}`;
        explained.set(name, (explained.get(name) ?? 0) + 1);
        if (error !== "http_503" && error !== "domain_unavailable" && error !== "all_tiers_failed")
          lost.push(name);
      }
  }
  return lost;
}

console.log(
  `${values.minutes} min, ${values.rate} requests/s, a fault every ${values["fault-every"]} min, ${JSON.stringify(machine())}`,
);
const loading = load();
const intervals: Interval[] = [];
let faults = 0;
let next_fault_ms = performance.now() + fault_every_ms;
while (performance.now() < ends_ms) {
  await sleep(Math.min(INTERVAL_MS, Math.max(0, ends_ms - performance.now())));
  const measured = latencies;
  latencies = [];
  const interval = {
    rss_mb: Math.round(service.residentMb()),
    main_mb: Math.round(service.mainMb()),
    p50_ms: Math.round(median(measured)),
    p99_ms: Math.round(quantile(measured, 0.99)),
    start: service.starts(),
    hadFault: performance.now() - fault.ended_ms < EXPLAINED_MS,
  };
  intervals.push(interval);
  console.log(JSON.stringify({ ...interval, requests, unexplained: unexplained.length }));
  if (performance.now() < next_fault_ms || ends_ms - performance.now() < AWAY_MS + EXPLAINED_MS) continue;
  const [name, inject] = FAULTS[faults++ % FAULTS.length]!;
  console.log(`fault: ${name}`);
  fault = { name, ended_ms: Infinity };
  await inject();
  fault = { name, ended_ms: performance.now() };
  next_fault_ms = fault.ended_ms + fault_every_ms;
}
await loading;
const lost = await lostItems();
const cpu_s = await service.close();
await Promise.all([sites.close(), filings.close(), source.close()]);

const sum = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((total, count) => total + count, 0);
const { rss_mb, main_mb, p99_ms, p50_ms } = summary(intervals);
const broken = [
  ...(rss_mb[1] > rss_mb[0] * 1.15 + 30 ? [`memory grows: ${rss_mb[0]} MB, then ${rss_mb[1]} MB`] : []),
  ...(p99_ms[1] > p99_ms[0] * 2 + 50 ? [`p99 grows: ${p99_ms[0]} ms, then ${p99_ms[1]} ms`] : []),
  ...(unexplained.length > 0
    ? [`${unexplained.length} unexplained errors: ${[...new Set(unexplained)].slice(0, 5).join("; ")}`]
    : []),
  ...(sum(putOff) > MAX_PUT_OFF_SHARE * requests ? [`${sum(putOff)} requests were put off`] : []),
  ...(values.cluster && rendered === 0 ? ["No page was rendered"] : []),
  ...lost.slice(0, 5),
];
for (const [name, count] of putOff) console.log(`${count} × put off: ${name}`);
for (const [name, count] of [...explained].toSorted(([a], [b]) => a.localeCompare(b)))
  console.log(`${count} × ${name}`);
console.log(
  `${requests} requests, ${sum(putOff)} put off, ${rendered} pages rendered, ${jobs.length} jobs of ${JOB_ITEMS}, ${faults} faults, ${Math.round(cpu_s)} s of CPU, memory ${rss_mb.join(" then ")} MB (main process ${main_mb.join(" then ")}), ` +
    `p50 ${p50_ms} ms, p99 ${p99_ms.join(" then ")} ms: ${broken.length === 0 ? "held" : `BROKEN ${broken.join("; ")}`}`,
);
process.exit(broken.length === 0 ? 0 : 1);

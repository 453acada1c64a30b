/**
 * node bench/filings-job.bench.ts [tickers]: a job that asks for the latest annual report of every listed filer, and
 * a client that asks for one filer at a time meanwhile. The upstream is a server on loopback that counts.
 *
 * The figures: requests upstream for each distinct filer, the worst sliding second as the upstream saw it, how near to
 * the limiter's rate the job came, and how long the other caller waited. Tickers are 1.28 to a filer, as on the real list.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { edgar } from "../test/harness/edgar.ts";
import { freePort } from "../test/harness/free-port.ts";
import { machine, service } from "./harness.ts";

const TICKERS = Number(process.argv[2] ?? 640);
const FILERS = Math.round(TICKERS / 1.283);
const RPS = 8;

const upstream = await edgar();
const padded = (cik: number): string => String(cik).padStart(10, "0");
const serveFiler = (cik: number): void => {
  const recent = {
    accessionNumber: Array.from(
      { length: 1_000 },
      (_, n) => `${padded(cik)}-24-${String(n).padStart(6, "0")}`,
    ),
    filingDate: Array.from({ length: 1_000 }, () => "2024-01-02"),
    form: Array.from({ length: 1_000 }, (_, n) => (n === 700 ? "10-K" : "4")),
  };
  const submissions = { cik: padded(cik), name: `Filer ${cik}`, filings: { recent, files: [] } };
  upstream.serve("data", `/submissions/CIK${padded(cik)}.json`, JSON.stringify(submissions));
};
const list = Array.from({ length: TICKERS }, (_, n) => [
  1 + (n % FILERS),
  `Filer ${1 + (n % FILERS)}`,
  `T${n}`,
  "NYSE",
]);
upstream.serve(
  "www",
  "/files/company_tickers_exchange.json",
  JSON.stringify({ fields: ["cik", "name", "ticker", "exchange"], data: list }),
);
for (let cik = 1; cik <= FILERS; cik++) serveFiler(cik);
const OTHERS = 1_000_000;
for (let n = 0; n < 200; n++) serveFiler(OTHERS + n);

const { url, key, stop } = await service(0, await freePort(), upstream.environment);
const headers = { authorization: `Bearer ${key}` };
const call = async (method: string, path: string, body?: unknown): Promise<any> => {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return answer.json();
};

const began = performance.now();
const items = list.map(([, , ticker]) => ({ op: "latest", ticker }));
const { job_id } = await call("POST", "/v1/batch/filings", { items, idempotency_key: "bench" });
let job: any;
let over = false;
const waits: number[] = [];
const errors = new Map<string, number>();
const other = (async () => {
  for (let n = 0; n < 200 && !over; n++) {
    const asked = performance.now();
    const { error } = await call("GET", `/v1/filings/companies/${OTHERS + n}/filings/latest`);
    if (error === null) waits.push(performance.now() - asked);
    else errors.set(error, (errors.get(error) ?? 0) + 1);
    await sleep(1_500);
  }
})();
do {
  await sleep(500);
  job = await call("GET", `/v1/jobs/${job_id}`);
} while (job.finished_at === null);
const took_s = (performance.now() - began) / 1_000;
over = true;
await other;

const sorted = waits.toSorted((a, b) => a - b);
const of = (share: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
const asked = upstream.hits("submissions/CIK") - waits.length;
console.log(
  JSON.stringify(
    {
      machine: machine(),
      tickers: TICKERS,
      filers: FILERS,
      counts: job.counts,
      took_s: Math.round(took_s),
      upstream_per_filer: Math.round(((asked + upstream.hits("tickers")) / FILERS) * 10_000) / 10_000,
      worst_second: upstream.worstSecond(),
      share_of_the_rate: Math.round((upstream.hits() / took_s / RPS) * 1_000) / 1_000,
      others: {
        n: waits.length,
        p50_ms: of(0.5),
        p95_ms: of(0.95),
        most_ms: of(1),
        errors: Object.fromEntries(errors),
      },
    },
    null,
    2,
  ),
);
await stop();
await upstream.close();

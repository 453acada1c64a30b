/**
 * node bench/accounts.bench.ts [--runs 5] [--seconds 3]: what accounts cost a gateway. Two gateways answer the same fetches by the same
 * routes and HTTP server: `metered` looks keys up, counts rates, takes a unit of the key's quota for each request and writes the ledger,
 * on SQLite; `open` takes each request for one caller and counts nothing. Requests per second of the server's CPU, run by run in
 * turns; needs wrk. Cached pages, and pages that take 500 ms to fetch, 640 at once, for which the writes of the ledger are counted.
 */
import { archiveKeeper } from "../actors/crawl/archive/keep.ts";
import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { openAccounts } from "../actors/business/accounts/feature/open.ts";
import { destination } from "../actors/lib/web/destination.ts";
import {
  createKey,
  createProject,
  findGrant,
  prepareAccounts,
  setRate,
} from "../actors/business/accounts/keys.ts";
import { fetchRoutes } from "../actors/crawl/fetch/feature/routes.ts";
import { memoryBlobs } from "../cluster/adapters/blobs/blobs.memory.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import { fakeEgress } from "../cluster/adapters/egress/egress.fake.ts";
import { METRICS } from "../ops/metrics.ts";
import { prometheusMetrics } from "../cluster/adapters/telemetry/metrics.prometheus.ts";
import { silentTelemetry } from "../cluster/adapters/telemetry/telemetry.silent.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { systemRandom } from "../cluster/adapters/time/random.system.ts";
import { embedded } from "../cluster/embedded.ts";
import type { ActorClient } from "../cluster/actor.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { chooseHttp } from "../gateway/adapters/choose-http.ts";
import { authenticator, type Caller } from "../gateway/authenticate.ts";
import { openBodyGrants } from "../gateway/body-access.ts";
import { SAME_SECRETS } from "../test/harness/secrets.ts";
import { openDebugRecords } from "../gateway/debug-records.ts";
import { freshWindow } from "../gateway/limits.ts";
import { openLedger } from "../gateway/ledger.ts";
import { type Metering, metering } from "../gateway/metering.ts";
import { pendingRequests } from "../gateway/pending-requests.ts";
import { keyQuotas, UNLIMITED } from "../gateway/quotas.ts";
import { openRoute } from "../gateway/route.ts";
import { json } from "../gateway/http-errors.ts";
import { server } from "../gateway/server.ts";
import { EMPTY_ANSWER, type FetchAnswer } from "../schemas/fetch.ts";
import { answering, type Load, loadByWrk, machine, median, pinned } from "./harness.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    serve: { type: "string" },
    port: { type: "string" },
  },
});

const FETCH_MS = 500;
/** Pages that are fetched take long: so many are asked for at once. */
const FETCHES_AT_ONCE = 640;
const PROJECT = "bench";
const KEY = { project: PROJECT, role: "standard", quotas: { fetch: 100_000_000 } } as const;
const SENTENCE = "A sentence of a page that is answered from the cache. ";
/** By the path: pages of a paragraph and of 8 KiB of text. */
const TEXTS: Readonly<Record<string, string>> = { short: SENTENCE.repeat(10), long: SENTENCE.repeat(150) };
const SOURCE = { digest: "", validated_ms: 0, fresh_until_ms: Infinity };
const answerOf = (url: string): FetchAnswer => ({
  ...EMPTY_ANSWER,
  record: {
    ...EMPTY_ANSWER.record,
    final_url: url,
    status: 200,
    content_type: "text/html; charset=utf-8",
    origin_content_type: "text/html; charset=utf-8",
    tier: "direct",
    content_kind: "html",
    text: TEXTS[url.split("/").at(-1)!] ?? SENTENCE,
    sha256: hash("sha256", url),
    bytes: 20_000,
    body_kind: "origin",
  },
  attempts: [{ tier: "direct", status: 200, reason: "ok", ms: 12, detail: null }],
  cached: true,
});

/** Metering for gateways where all requests have the same caller; it writes no rows. */
const OPEN_METERING: Omit<Metering, "open"> = {
  turn: () => {},
  readSpend: async () => {},
  record: () => {},
  store: async () => {},
  begin: async () => {},
  reserveCharge: async () => "free",
  settleCharge: async () => {},
  spentBy: async () => 0,
  end: () => {},
  drain: async () => {},
};

async function serve(kind: string, port: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-accounts-"));
  const stored = sqliteDocuments(join(folder, "documents.sqlite"));
  const writes: Record<string, number> = {};
  const counted = (collection: string): void => void (writes[collection] = (writes[collection] ?? 0) + 1);
  const documents: Documents = {
    ...stored,
    put: (...named) => (counted(named[0]), stored.put(...named)),
    remove: (...named) => (counted(named[0]), stored.remove(...named)),
  };
  const { log } = silentTelemetry();
  const [clock, random, metrics, blobs] = [
    systemClock(),
    systemRandom(),
    prometheusMetrics(METRICS),
    memoryBlobs(),
  ];
  const ask: ActorClient = (...named) => cluster.ask(...named);
  const ledger = openLedger({ documents, ask, clock, log, writer: () => "bench" });
  const egress = fakeEgress({}, clock);
  const debugRecords = openDebugRecords({ documents, clock, secrets: SAME_SECRETS });
  const context = { documents, blobs, clock, random, metrics, log, secrets: SAME_SECRETS };
  const accounts = openAccounts({
    ...context,
    ask,
    ledger,
    egress,
    debugRecords,
    destination: destination(),
    roles: { call: async () => ({ kind: "no_node" }) },
  });
  const cluster = embedded(accounts.actors ?? [], context);
  await prepareAccounts(documents, null, clock.now());
  await createProject(documents, { name: PROJECT, customer: "default" }, clock.now());
  await setRate(documents, PROJECT, 10_000_000);
  const { key } = await createKey(documents, KEY, clock.now());
  const usage = metering({
    ask,
    clock,
    ledger,
    quotas: keyQuotas({ ask, clock, log, gateway: "bench" }),
    pending: pendingRequests({ documents, clock, log, gateway: () => "bench" }),
    spending: { spentBy: async () => 0, reserveCharge: async () => "free", settleCharge: async () => {} },
  });
  const find = (sha256: string) => findGrant(documents, sha256, 0);
  const grant = (await find(hash("sha256", key)))!;
  const opened = await usage.open(grant);
  const everybody: Caller = {
    grant,
    meter: { ...opened, quota: { ...opened.quota, claim: () => UNLIMITED } },
    project_window: freshWindow(),
    key_window: null,
    policy: "",
    limited: false,
  };
  const isMetered = kind === "metered";
  const { admit, failed } = server({
    routes: [
      ...fetchRoutes({
        fetch: async ({ url }, _signal, beginWork) => {
          if (!url.endsWith("uncached")) return answerOf(url);
          await beginWork();
          await sleep(FETCH_MS);
          return { ...answerOf(url), cached: false };
        },
        cache: { sourceOf: ({ cached }) => (cached ? SOURCE : null), isCurrent: () => true },
        decode: (bytes) => bytes.toString(),
        blobs,
        bodyGrants: openBodyGrants({ documents, clock }),
        archives: archiveKeeper({ blobs, documents, clock }),
        clock,
        metrics,
        log,
      }),
      openRoute({
        method: "GET",
        path: "/writes",
        operationId: "writes",
        summary: "The key, and writes by collection",
        tags: ["bench"],
        replies: {},
        handle: async () => json(200, { key, writes }),
      }),
    ],
    identify: isMetered ? authenticator({ find, metering: usage, clock }) : () => everybody,
    metering: isMetered ? usage : { ...OPEN_METERING, open: async () => opened },
    ...(!isMetered && { rates: { count: () => ({ passed: null, limit: "" }) } }),
    clock,
    random,
    metrics,
    log,
  });
  const { listen } = await chooseHttp();
  const listening = await listen(admit, { host: "127.0.0.1", port, shared: false, failed });
  process.once("SIGTERM", () => {
    void (async () => {
      await listening.close(1_000);
      await usage.drain();
      await documents.close();
      rmSync(folder, { recursive: true });
      process.exit(0);
    })();
  });
}

const PORTS = { metered: 18_321, open: 18_322 } as const;
type Kind = keyof typeof PORTS;
const KINDS = Object.keys(PORTS) as Kind[];
const urlOf = (kind: Kind, path: string): string => `http://127.0.0.1:${PORTS[kind]}${path}`;

async function compare(): Promise<void> {
  const servers = KINDS.map((kind) => {
    const started = pinned(1, ["bench/accounts.bench.ts", "--serve", kind, "--port", String(PORTS[kind])]);
    return [kind, started] as const;
  });
  for (const kind of KINDS) await answering(urlOf(kind, "/writes"));
  const stateOf = async (kind: Kind) =>
    (await (await fetch(urlOf(kind, "/writes"))).json()) as { key: string; writes: Record<string, number> };
  const run = async (pages: string, options: object, connections = 64) => {
    const body = JSON.stringify({ url: `https://example.org/${pages}`, include_html: false, ...options });
    const loads: Record<Kind, Load[]> = { metered: [], open: [] };
    const before = (await stateOf("metered")).writes;
    for (let n = 0; n < Number(values.runs); n++)
      for (const [kind, { pid }] of servers) {
        const headers = { Authorization: `Bearer ${(await stateOf(kind)).key}` };
        const seconds = Number(values.seconds);
        const load = { url: urlOf(kind, "/v1/fetch"), headers, body, seconds, connections };
        loads[kind].push(loadByWrk(pid, load));
      }
    const { writes } = await stateOf("metered");
    const requests = loads.metered.reduce((sum, load) => sum + load.requests, 0);
    const requestsPerWrite = (names: readonly string[]): number =>
      Math.round(
        (requests / names.reduce((sum, name) => sum + (writes[name] ?? 0) - (before[name] ?? 0), 0)) * 10,
      ) / 10;
    const of = (kind: Kind) => Math.round(median(loads[kind].map(({ per_cpu_s }) => per_cpu_s)));
    return {
      pages,
      metered_per_cpu_s: of("metered"),
      open_per_cpu_s: of("open"),
      metered_of_open: Number((of("metered") / of("open")).toFixed(3)),
      metered_per_s: Math.round(median(loads.metered.map(({ per_s }) => per_s))),
      requests_for_each_write: {
        ledger: requestsPerWrite(["ledger"]),
        ledger_and_pending: requestsPerWrite(["ledger", "pending_requests"]),
        with_sums: requestsPerWrite([
          "ledger",
          "pending_requests",
          "usage_days",
          "usage_key_days",
          "usage_key_months",
        ]),
        quota: requestsPerWrite(["account"]),
      },
    };
  };
  const rows = [
    await run("short", {}),
    await run("long", {}),
    await run("uncached", { cache_ttl_s: 0 }, FETCHES_AT_ONCE),
  ];
  await Promise.all(servers.map(([, { stop }]) => stop()));
  const command = process.argv.slice(1).join(" ");
  process.stdout.write(`${JSON.stringify({ command, machine: machine(), rows }, null, 1)}\n`);
}

await (values.serve === undefined ? compare() : serve(values.serve, Number(values.port)));

/** A gateway without a socket: real accounts, real metering, memory stores, a virtual clock. */
import type { ByteBudget } from "../../cluster/byte-budget.ts";
import { archiveKeeper } from "../../actors/crawl/archive/keep.ts";
import { openAccounts } from "../../actors/business/accounts/feature/open.ts";
import {
  createKey,
  findGrant,
  type KeyOptions,
  prepareAccounts,
} from "../../actors/business/accounts/keys.ts";
import { findPayer } from "../../actors/business/accounts/payer.ts";
import { destination } from "../../actors/lib/web/destination.ts";
import { spending } from "../../actors/business/accounts/spend.ts";
import type { SpendingFor } from "../../records/charges.ts";
import { fakeEgress, type FakeWeb } from "../../cluster/adapters/egress/egress.fake.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { type VirtualClock, virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../cluster/embedded.ts";
import { nextEpoch } from "../../cluster/process-epoch.ts";
import type { Actor, ActorClient } from "../../cluster/actor.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Random } from "../../cluster/ports/random.ts";
import { authenticator } from "../../gateway/authenticate.ts";
import type { Admission, Pending, Body, ClientAbort, Head, Reply } from "../../gateway/http.ts";
import { type DebugRecords, openDebugRecords } from "../../gateway/debug-records.ts";
import { pendingRequests } from "../../gateway/pending-requests.ts";
import { openLedger } from "../../gateway/ledger.ts";
import { metering } from "../../gateway/metering.ts";
import { keyQuotas } from "../../gateway/quotas.ts";
import { openapi } from "../../gateway/openapi/document.ts";
import { openBodyGrants } from "../../gateway/body-access.ts";
import { bodyRoutes } from "../../gateway/routes/bodies.ts";
import { fetchRoutes, type FetchServices } from "../../actors/crawl/fetch/feature/routes.ts";
import { pageRoutes } from "../../gateway/routes/pages.ts";
import type { Check } from "../../gateway/checks.ts";
import { statusRoutes } from "../../gateway/routes/status.ts";
import type { Route } from "../../gateway/route.ts";
import type { EndedRequest } from "../../gateway/request-end.ts";
import { server } from "../../gateway/server.ts";
import { pageFiles } from "../../ops/page-files.ts";
import { EMPTY_RECORD, type FetchAnswer, type PageRecord } from "../../schemas/fetch.ts";
import type { HttpResponse, RequestOptions } from "./http-response.ts";
import type { Metrics } from "../../cluster/ports/metrics.ts";
import type { Log } from "../../cluster/ports/log.ts";
import type { Secrets } from "../../cluster/ports/secrets.ts";
import { SAME_SECRETS } from "./secrets.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

/** 2026-11-21T12:00:00Z, on a full second: windows of one second begin with it. */
export const NOON_MS = Date.UTC(2026, 10, 21, 12);

/** Request fields that only a gateway without a socket can be given. */
export interface HeadOptions extends RequestOptions {
  readonly authorization?: string;
  readonly address?: string;
  /** The body was larger than the route's limit. */
  readonly too_large?: boolean;
}

/** A client that disconnects when the signal is aborted; without a signal it stays. */
export const clientAbort = (signal: AbortSignal = new AbortController().signal): ClientAbort => ({
  signal,
  get aborted() {
    return signal.aborted;
  },
});

/** Parts that routes and actors of a test may be made of. */
interface HarnessContext {
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly ask: ActorClient;
  readonly debugRecords: DebugRecords;
}

export interface HarnessOptions {
  readonly at_ms?: number;
  /** Identity of a process among others: its clock, its chance and its name. Rows gather as the clock moves. */
  readonly process?: { readonly clock: VirtualClock; readonly random: Random; readonly name: string };
  readonly fetch?: FetchServices["fetch"];
  readonly cache?: FetchServices["cache"];
  readonly checks?: Record<string, Check>;
  readonly draining?: () => boolean;
  readonly warnings?: () => readonly string[];
  readonly more?: readonly Route[] | ((context: HarnessContext) => readonly Route[]);
  /** Beside the accounts. */
  readonly actors?: (context: Omit<HarnessContext, "ask" | "debugRecords">) => readonly Actor[];
  readonly documents?: Documents;
  readonly blobs?: Blobs;
  /** Default: only the number of large bodies is limited. */
  readonly memory?: ByteBudget;
  readonly caches?: FetchServices["caches"];
  readonly onEnd?: (ended: EndedRequest) => void;
  /** Web that webhooks are delivered to. */
  readonly web?: FakeWeb;
}

export async function gatewayHarness(options: HarnessOptions = {}) {
  const { process } = options;
  const clock = process?.clock ?? virtualClock(options.at_ms ?? NOON_MS);
  const documents = options.documents ?? memoryDocuments();
  const blobs = options.blobs ?? memoryBlobs();
  const random = process?.random ?? seededRandom(1);
  const name = process?.name ?? "g1";
  const telemetry = silentTelemetry();
  const { metrics, log } = telemetry;
  const context = { documents, blobs, clock, random, metrics, log, secrets: SAME_SECRETS };
  const ask: ActorClient = (...named) => cluster.ask(...named);
  const quotas = keyQuotas({ ask, clock, log, gateway: name });
  const ledger = openLedger({ documents, ask, clock, log, writer: () => name });
  const money = spending({
    findPayer: (project, prefix) => findPayer(documents, project, prefix),
    documents,
    clock,
    log,
  });
  const usageMetering = metering({
    spending: money,
    ask,
    clock,
    quotas,
    ledger,
    pending: pendingRequests({
      documents,
      clock,
      log,
      gateway: () => name,
      // Where the clock stands still nothing gathers.
      ...(process === undefined && { max_gather_ms: 0 }),
    }),
  });
  const debugRecords = openDebugRecords({ documents, clock, secrets: SAME_SECRETS });
  debugRecords.onAddress("https://trawl.example");
  const egress = fakeEgress(options.web ?? {}, clock);
  const accounts = openAccounts({
    ...context,
    ask,
    ledger,
    egress,
    debugRecords,
    destination: destination(),
    roles: { call: async () => ({ kind: "no_node" }) },
  });
  const epoch = process ? await nextEpoch(documents) : 0;
  const cluster = embedded(
    [...(accounts.actors ?? []), ...(options.actors?.(context) ?? [])],
    context,
    epoch,
  );
  const { key: first } = await prepareAccounts(documents, null, clock.now());
  const operator = await createKey(documents, { project: "default", role: "operator" }, clock.now());
  const identify = authenticator({
    find: (sha256) => findGrant(documents, sha256, clock.now()),
    metering: usageMetering,
    clock,
  });
  const bodyGrants = openBodyGrants({ documents, clock });
  const services: FetchServices = {
    fetch: options.fetch ?? (async () => fetchAnswer({})),
    ...(options.cache && { cache: options.cache }),
    ...(options.caches && { caches: options.caches }),
    decode: (bytes, charset) => new TextDecoder(charset).decode(bytes),
    blobs,
    bodyGrants: bodyGrants,
    archives: archiveKeeper({ blobs, documents, clock }),
    debugRecords,
    clock,
    metrics,
    log,
  };
  const routes: Route[] = [
    ...fetchRoutes(services),
    ...bodyRoutes({ blobs, bodyGrants: bodyGrants }),
    ...(accounts.routes ?? []),
    ...statusRoutes({
      checks: options.checks ?? {},
      draining: options.draining ?? (() => false),
      ...(options.warnings && { warnings: options.warnings }),
      version: "0.0.0",
      http_server: "HTTP by the test",
      clock,
      metrics: { content_type: "text/plain", render: async () => "trawl_up 1\n" },
    }),
    ...pageRoutes({
      document: (audience) =>
        openapi({
          routes,
          public_url: "http://127.0.0.1:8080",
          audience,
          references: [],
        }),
      file: pageFiles("Trawl 0.0.0"),
    }),
    ...(typeof options.more === "function"
      ? options.more({ ...context, ask, debugRecords })
      : (options.more ?? [])),
  ];
  const { admit, failed } = server({
    routes,
    identify,
    metering: usageMetering,
    ...(options.memory && { memory: options.memory }),
    ...(options.onEnd && { onEnd: options.onEnd }),
    clock,
    random,
    metrics,
    log,
  });

  async function call(method: string, target: string, request: HeadOptions = {}): Promise<HttpResponse> {
    const [path, query = ""] = target.split("?") as [string, string?];
    const key = request.key === undefined ? first! : request.key;
    const authorization = request.authorization ?? (key === null ? undefined : `Bearer ${key}`);
    const headers = new Map(Object.entries(request.headers ?? {}));
    if (authorization !== undefined) headers.set("authorization", authorization);
    const head: Head = { method, path, query, headers, address: () => request.address ?? "192.0.2.1" };
    const bytes = bytesOf(request.body);
    const body: Body = request.too_large ? { kind: "too_large" } : { kind: "whole", bytes };
    const admission = await admissionOf(admit(head, clientAbort(request.signal)));
    return responseOf("status" in admission ? admission : await admission.answer(body));
  }

  return {
    /** Reserves and settles, as a premium route does around its attempt. */
    spend: async (payer: SpendingFor & { readonly fetch_id: string }, micros: number) => {
      const attempt_id = `${payer.fetch_id}.proxy.0`;
      if (!(await money.reserve(ask, payer, attempt_id, micros))) return false;
      await money.settle(ask, payer, attempt_id, micros);
      return true;
    },
    /** The two steps of it, and what a request has spent. */
    money,
    call,
    admit,
    failed,
    routes,
    clock,
    documents,
    blobs,
    telemetry,
    ask,
    egress,
    /** Tells webhooks what the operator announced. */
    announceNotices: accounts.provides.announceNotices,
    /** Work of each node every minute. */
    everyMinute: () => accounts.every_minute!.work(() => false),
    ledger,
    first: first!,
    operator: operator.key,
    key: async (key: Partial<KeyOptions> = {}) =>
      (await createKey(documents, { project: "default", role: "standard", ...key }, clock.now())).key,
    fetch: (body: object, request: HeadOptions = {}) => call("POST", "/v1/fetch", { ...request, body }),
  };
}

/** The admission, where it is pending, too. */
export const admissionOf = async (admission: Admission | Pending): Promise<Admission> =>
  "admission" in admission ? admission.admission : admission;

/** JSON; bytes and text as they are. */
const bytesOf = (body: unknown): Buffer =>
  Buffer.isBuffer(body)
    ? body
    : Buffer.from(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body));

async function read(body: Reply["body"]): Promise<Buffer> {
  if (body === undefined || Buffer.isBuffer(body)) return body ?? Buffer.alloc(0);
  return "take" in body ? Buffer.from(body.take()) : Buffer.concat(await Array.fromAsync(body.chunks));
}

async function responseOf({
  status,
  headers = {},
  repeated_headers = [],
  body,
}: Reply): Promise<HttpResponse> {
  const bytes = await read(body);
  const low = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  // As fetch and undici join them.
  for (const [name, value] of repeated_headers)
    low[name.toLowerCase()] = [low[name.toLowerCase()], value].filter(Boolean).join(", ");
  const json: unknown =
    low["content-type"]?.startsWith("application/json") && low["content-encoding"] === undefined
      ? JSON.parse(bytes.toString())
      : null;
  return { status, headers: low, bytes, json };
}

export const PAGE: PageRecord = {
  ...EMPTY_RECORD,
  final_url: "https://example.org/",
  status: 200,
  content_type: "text/html",
  origin_content_type: "text/html; charset=utf-8",
  headers: { "content-type": "text/html; charset=utf-8" },
  tier: "direct",
  content_kind: "html",
  charset: "utf-8",
  title: "Example",
  text: "An example.",
  text_chars: 11,
  retrieved_at: "2026-11-21T12:00:00Z",
  paywall: "none",
  text_complete: true,
};

/** A cache whose answers are current as long as this says so. */
export const cacheThat = (isCurrent: () => boolean): NonNullable<FetchServices["cache"]> => ({
  sourceOf: ({ cached }) => (cached ? { digest: "", validated_ms: 0, fresh_until_ms: 0 } : null),
  isCurrent,
});

export const fetchAnswer = (
  record: Partial<PageRecord>,
  answer: Partial<Omit<FetchAnswer, "record">> = {},
): FetchAnswer => ({
  record: { ...PAGE, ...record },
  attempts: [{ tier: "direct", status: 200, reason: "ok", ms: 12, detail: null }],
  cached: false,
  revalidated: false,
  cost_usd: "0.000000",
  error: null,
  error_detail: null,
  retry_after_s: null,
  premium_routes_tried: false,
  ...answer,
});

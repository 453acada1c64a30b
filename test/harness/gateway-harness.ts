/** A gateway without a socket: real accounts, real metering, memory stores, a clock that stands still. */
import { account } from "../../actors/accounts/actor.ts";
import {
  createKey,
  findGrant,
  type KeyWishes,
  listKeys,
  prepareAccounts,
  projectsOf,
} from "../../actors/accounts/keys.ts";
import { memoryBodies } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { type VirtualClock, virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { silentMeters } from "../../cluster/adapters/telemetry/meters.silent.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../cluster/embedded.ts";
import type { Actor, Say } from "../../cluster/actor.ts";
import type { Bodies } from "../../cluster/ports/blobs.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Meters } from "../../cluster/ports/meters.ts";
import type { Random } from "../../cluster/ports/random.ts";
import { authenticator } from "../../gateway/authenticate.ts";
import type { Body, Gone, Head, Reply } from "../../gateway/http.ts";
import { metering } from "../../gateway/metering.ts";
import { openapi } from "../../gateway/openapi.ts";
import { retrievals } from "../../gateway/body-access.ts";
import { accountRoutes } from "../../gateway/routes/accounts.ts";
import { bodyRoutes } from "../../gateway/routes/bodies.ts";
import { fetchRoutes, type FetchServices } from "../../gateway/routes/fetch.ts";
import { pageRoutes } from "../../gateway/routes/pages.ts";
import { type Check, statusRoutes } from "../../gateway/routes/status.ts";
import type { Route } from "../../gateway/route.ts";
import { server } from "../../gateway/server.ts";
import { Quota } from "../../schemas/accounts.ts";
import {
  EMPTY_RECORD,
  type FetchAnswer,
  FetchBody,
  FetchResponse,
  type PageRecord,
} from "../../schemas/fetch.ts";

/** 2026-11-21T12:00:00Z, on a full second: windows of one second begin with it. */
export const NOON_MS = Date.UTC(2026, 10, 21, 12);

export interface Asked {
  readonly key?: string | null;
  readonly authorization?: string;
  readonly body?: unknown;
  readonly raw?: Buffer;
  readonly headers?: Record<string, string>;
  readonly address?: string;
  readonly gone?: AbortSignal;
  readonly too_large?: boolean;
}

/** A client that leaves when the signal says so; without one it stays. */
export const leaving = (signal: AbortSignal = new AbortController().signal): Gone => ({
  signal,
  get aborted() {
    return signal.aborted;
  },
});

/** A reply with its body read to the end. */
export interface Said {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly json: any;
}

/** What routes and actors of a test may be made of. */
interface Around {
  readonly documents: Documents;
  readonly bodies: Bodies;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly meters: Meters;
  readonly ask: Say;
}

interface Wishes {
  readonly at_ms?: number;
  readonly fetch?: FetchServices["fetch"];
  readonly current?: FetchServices["current"];
  readonly checks?: Record<string, Check>;
  readonly draining?: () => boolean;
  readonly more?: readonly Route[] | ((around: Around) => readonly Route[]);
  /** Beside the accounts. */
  readonly actors?: (around: Omit<Around, "ask">) => readonly Actor[];
  readonly documents?: Documents;
  readonly bodies?: Bodies;
}

export async function desk(wishes: Wishes = {}) {
  const clock = virtualClock(wishes.at_ms ?? NOON_MS);
  const documents = wishes.documents ?? memoryDocuments();
  const bodies = wishes.bodies ?? memoryBodies();
  const random = seededRandom(1);
  const meters = silentMeters();
  const around = { documents, bodies, clock, random, meters };
  const { ask } = embedded([account(), ...(wishes.actors?.(around) ?? [])], around);
  const { key: first } = await prepareAccounts(documents, null, clock.now());
  const book = metering({ ask, clock, meters, gateway: "g1" });
  const identify = authenticator({ find: (sha256) => findGrant(documents, sha256), metering: book, clock });
  const noted = retrievals({ documents, clock });
  const services: FetchServices = {
    fetch: wishes.fetch ?? (async () => answered({})),
    ...(wishes.current && { current: wishes.current }),
    decode: (bytes, charset) => new TextDecoder(charset).decode(bytes),
    bodies,
    retrievals: noted,
    clock,
    meters,
  };
  const routes: Route[] = [
    ...fetchRoutes(services),
    ...bodyRoutes({ bodies, retrievals: noted }),
    ...accountRoutes({
      ask,
      metering: book,
      clock,
      projectsOf: (customer) => projectsOf(documents, customer),
      keysOf: (project) => listKeys(documents, project),
    }),
    ...statusRoutes({
      checks: wishes.checks ?? {},
      draining: wishes.draining ?? (() => false),
      version: "0.0.0",
      clock,
      metrics: { content_type: "text/plain", render: async () => "trawl_up 1\n" },
    }),
    ...pageRoutes({
      document: () =>
        openapi({ routes, public_url: "http://127.0.0.1:8080", named: { FetchBody, FetchResponse, Quota } }),
      public_url: () => "http://127.0.0.1:8080",
      version: "0.0.0",
    }),
    ...(typeof wishes.more === "function" ? wishes.more({ ...around, ask }) : (wishes.more ?? [])),
  ];
  const { admit, failed } = server({ routes, identify, metering: book, clock, random, meters });

  async function call(method: string, target: string, asked: Asked = {}): Promise<Said> {
    const [path, query = ""] = target.split("?") as [string, string?];
    const key = asked.key === undefined ? first! : asked.key;
    const authorization = asked.authorization ?? (key === null ? undefined : `Bearer ${key}`);
    const headers = new Map(Object.entries(asked.headers ?? {}));
    if (authorization !== undefined) headers.set("authorization", authorization);
    const head: Head = { method, path, query, headers, address: () => asked.address ?? "192.0.2.1" };
    const bytes = asked.raw ?? Buffer.from(asked.body === undefined ? "" : JSON.stringify(asked.body));
    const body: Body = asked.too_large ? { kind: "too_large" } : { kind: "whole", bytes };
    const admission = admit(head, leaving(asked.gone));
    return said("status" in admission ? admission : await admission.answer(body));
  }

  return {
    call,
    admit,
    failed,
    routes,
    clock,
    documents,
    bodies,
    meters,
    ask,
    metering: book,
    first: first!,
    key: async (key: Partial<KeyWishes> = {}) =>
      (await createKey(documents, { project: "default", role: "standard", ...key }, clock.now())).key,
    fetch: (body: object, asked: Asked = {}) => call("POST", "/v1/fetch", { ...asked, body }),
  };
}

async function read(body: Reply["body"]): Promise<Buffer> {
  if (body === undefined || Buffer.isBuffer(body)) return body ?? Buffer.alloc(0);
  return "take" in body ? Buffer.from(body.take()) : Buffer.concat(await Array.fromAsync(body.chunks));
}

async function said({ status, headers = {}, body }: Reply): Promise<Said> {
  const bytes = await read(body);
  const low = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const json: unknown = low["content-type"]?.startsWith("application/json")
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

export const answered = (
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

/**
 * A simulated filing system on loopback: three hosts, each on a port of its own, that serve a folder in the layout of the
 * real addresses. On command they misbehave as the real hosts were seen to. It records when each request arrived.
 * `test/fixtures/edgar` has small made-up documents; recorded ones are used where a folder with them exists.
 *
 *   const upstream = await edgar();
 *   start({ ...upstream.environment });
 *   upstream.fail("throttled_429", { times: 1 });
 *   upstream.serve("data", "/submissions/CIK0009000002.json", JSON.stringify(submissions));
 */
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";

export type EdgarHost = "data" | "www" | "search";

/** A request, and when its head arrived. */
export interface Start {
  readonly host: EdgarHost;
  /** With the query, as it was sent. */
  readonly path: string;
  /** Unix milliseconds. */
  readonly at_ms: number;
  /** On performance.now()'s clock. */
  readonly mono_ms: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A document instead of the folder's. Defaults: status 200, type by the file name, no Last-Modified. */
export interface Served {
  readonly status?: number;
  readonly type?: string;
  readonly last_modified?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds before the answer. */
  readonly after_ms?: number;
}

/** A misbehaviour of the upstream. */
export type Wrong =
  /** Page A: the throttle page, with the status it has today, had in 2021, and has behind proxies. */
  | "throttled_429"
  | "throttled_403"
  | "throttled_200"
  /** Page B: 403, undeclared automated tool. */
  | "undeclared"
  /** Page E: 503, maintenance. */
  | "maintenance"
  /** 429 and 503 without a page. */
  | "bare_429"
  | "bare_503"
  /** A 403 of no known form. */
  | "odd_403"
  /** Class C: 403 with S3's AccessDenied. Class D: 404 with NoSuchKey. */
  | "s3_403"
  | "s3_404"
  /** Class F. */
  | "error_500"
  /** 200 with nothing in it. */
  | "empty"
  /** 200, meaningless bytes. */
  | "garbage"
  /** 200, HTML of the size of a real page. */
  | "html"
  /** Status 200 with the first half of the body, framed as a whole one. */
  | "cut"
  /** 200, twenty megabytes that never become a document. */
  | "large"
  /** A Content-Length that promises more than comes. */
  | "short"
  /** The connection breaks in mid-body. */
  | "reset"
  /** The gzip stream ends early. */
  | "gzip_cut"
  /** The connection breaks before a head. */
  | "hung_up"
  /** No answer until the client closes the connection. */
  | "hang"
  /** A head and half a body, then nothing. */
  | "hang_body";

export interface When {
  /** How many requests misbehave; default all until `well`. */
  readonly times?: number;
  /** Only where this is part of "host path"; default everywhere. */
  readonly where?: string;
  /** Retry-After of throttling answers. */
  readonly retry_after?: string;
}

export interface Edgar {
  readonly urls: Readonly<Record<EdgarHost, string>>;
  /** TRAWL_… settings: the base addresses and an identity. */
  readonly environment: Readonly<Record<string, string>>;
  /** All requests, robots.txt included, in the order of arrival. */
  readonly starts: readonly Start[];
  /** The number of requests whose "host path" contains this text; robots.txt counts only when it is named. */
  readonly hits: (where?: string) => number;
  /** The most requests that arrived within any second. */
  readonly worstSecond: () => number;
  readonly fail: (wrong: Wrong, when?: When) => void;
  /** Ends all misbehaviour. */
  readonly well: () => void;
  readonly serve: (host: EdgarHost, path: string, body: string | Buffer | null, how?: Served) => void;
  readonly close: () => Promise<void>;
}

const HERE = new URL("../fixtures/edgar", import.meta.url).pathname;
/** Recorded answers, if the folder exists. */
export const SHARED_EDGAR = new URL("../../../shared/fixtures/edgar", import.meta.url).pathname;
export const hasSharedEdgar = existsSync(SHARED_EDGAR);

const HOSTS = { data: "data.sec.gov", www: "www.sec.gov", search: "efts.sec.gov" } as const;
const TYPES: Readonly<Record<string, string>> = {
  json: "application/json",
  htm: "text/html",
  html: "text/html",
  txt: "text/plain",
  xml: "application/xml",
  xsd: "application/xml",
  pdf: "application/pdf",
  jpg: "image/jpeg",
  idx: "text/plain",
};
const PAGE_NAMES = {
  throttled: "throttled.html",
  undeclared: "undeclared.html",
  maintenance: "maintenance.html",
  access_denied: "access-denied.xml",
  no_such_key: "no-such-key.xml",
} as const;
const page = (name: keyof typeof PAGE_NAMES): Buffer => readFileSync(join(HERE, "_errors", PAGE_NAMES[name]));
/** The Last-Modified of archived documents, for conditional requests. */
const ARCHIVED = "Fri, 01 Nov 2024 06:01:36 GMT";

interface Document extends Served {
  readonly body: Buffer;
}

/** `folders`: searched in order; default the made-up documents. */
export async function edgar({
  folders = [HERE],
}: { readonly folders?: readonly string[] } = {}): Promise<Edgar> {
  const starts: Start[] = [];
  const served = new Map<string, Document | null>();
  let wrongs: { readonly wrong: Wrong; readonly when: When; remaining: number }[] = [];

  function wrongFor(place: string): { readonly wrong: Wrong; readonly when: When } | null {
    const found = wrongs.find(({ when, remaining: left }) => left > 0 && place.includes(when.where ?? ""));
    if (!found) return null;
    found.remaining -= 1;
    return found;
  }

  function find(host: EdgarHost, path: string): Document | null {
    const known = served.get(`${host} ${path}`);
    if (known !== undefined) return known;
    const [before, query] = path.split("?", 2) as [string, string?];
    if (/\.\.|%2e/i.test(before)) return null;
    const name = query === undefined ? before : `${before}__${query.replaceAll("&", "_")}`;
    for (const folder of folders) {
      const file = join(folder, HOSTS[host], name);
      if (!existsSync(file) || !statSync(file).isFile()) continue;
      const archived = before.startsWith("/Archives/") ? { last_modified: ARCHIVED } : {};
      return { body: readFileSync(file), ...archived };
    }
    return null;
  }

  async function answer(host: EdgarHost, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!;
    const place = `${host} ${path}`;
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(", ")]),
    );
    starts.push({ host, path, at_ms: Date.now(), mono_ms: performance.now(), headers });
    const document = find(host, path);
    const wrong = path === "/robots.txt" && served.get(place) === undefined ? null : wrongFor(place);
    if (wrong) return misbehave(wrong.wrong, wrong.when, document, response);
    if (!document) {
      const [status, body] = host === "www" ? [403, page("access_denied")] : [404, page("no_such_key")];
      return send(response, request, path, { status, body, type: "application/xml" });
    }
    if (document.after_ms) await sleep(document.after_ms);
    const since = request.headers["if-modified-since"];
    if (document.last_modified && since && Date.parse(since) >= Date.parse(document.last_modified)) {
      response.writeHead(304, { "Last-Modified": document.last_modified }).end();
      return undefined;
    }
    return send(response, request, path, document);
  }

  const servers = new Map<EdgarHost, Server>();
  const urls = {} as Record<EdgarHost, string>;
  for (const host of Object.keys(HOSTS) as EdgarHost[]) {
    const server = createServer((request, response) => void answer(host, request, response));
    server.keepAliveTimeout = 60_000;
    servers.set(host, server);
    urls[host] = `http://127.0.0.1:${await listenOnUnusedPort(server)}`;
  }

  return {
    urls,
    environment: {
      TRAWL_FILINGS_IDENTITY: "Trawl tests tests@trawl.test",
      TRAWL_FILINGS_DATA_URL: urls.data,
      TRAWL_FILINGS_WWW_URL: urls.www,
      TRAWL_FILINGS_SEARCH_URL: urls.search,
    },
    starts,
    hits: (where) =>
      starts.filter(({ host, path }) =>
        where === undefined ? path !== "/robots.txt" : `${host} ${path}`.includes(where),
      ).length,
    worstSecond: () => worstSecond(starts.map(({ mono_ms }) => mono_ms)),
    fail(wrong, when = {}) {
      wrongs.push({ wrong, when, remaining: when.times ?? Infinity });
    },
    well() {
      wrongs = [];
    },
    serve(host, path, body, how = {}) {
      served.set(`${host} ${path}`, body === null ? null : { ...how, body: Buffer.from(body) });
    },
    async close() {
      for (const server of servers.values()) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

const usedPorts = new Set<number>();

/** A port that no server of this process had before: stored answers of an earlier server would count as this one's. */
async function listenOnUnusedPort(server: Server): Promise<number> {
  for (;;) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    if (!usedPorts.has(port)) {
      usedPorts.add(port);
      return port;
    }
    server.close();
    await once(server, "close");
  }
}

/** The most of these moments that lie within any half-open second. */
export function worstSecond(moments_ms: readonly number[]): number {
  const sorted = moments_ms.toSorted((a, b) => a - b);
  let worst = 0;
  for (let first = 0, last = 0; last < sorted.length; last++) {
    while (sorted[last]! - sorted[first]! >= 1_000) first++;
    worst = Math.max(worst, last - first + 1);
  }
  return worst;
}

function send(response: ServerResponse, request: IncomingMessage, path: string, document: Document): void {
  const { status = 200, headers = {}, last_modified, body } = document;
  const ending = /\.(\w+)$/.exec(path.split("?", 1)[0]!)?.[1] ?? "json";
  const isZipped = status === 200 && /gzip/.test(request.headers["accept-encoding"] ?? "");
  const sent = isZipped ? gzipSync(body) : body;
  response.writeHead(status, {
    "Content-Type": document.type ?? TYPES[ending] ?? "application/octet-stream",
    ...(isZipped && { "Content-Encoding": "gzip" }),
    ...(last_modified && { "Last-Modified": last_modified }),
    "Content-Length": sent.length,
    ...headers,
  });
  response.end(sent);
}

async function misbehave(
  wrong: Wrong,
  { retry_after }: When,
  document: Document | null,
  response: ServerResponse,
): Promise<void> {
  const body = document?.body ?? Buffer.from('{"hits":{"total":{"value":0,"relation":"eq"},"hits":[]}}');
  const half = body.subarray(0, Math.ceil(body.length / 2));
  const after = retry_after === undefined ? {} : { "Retry-After": retry_after };
  const whole = (status: number, type: string, content: string | Buffer): void => {
    response.writeHead(status, { "Content-Type": type, ...after }).end(content);
  };
  switch (wrong) {
    case "throttled_429":
      return whole(429, "text/html", page("throttled"));
    case "throttled_403":
      return whole(403, "text/html", page("throttled"));
    case "throttled_200":
      return whole(200, "text/html", page("throttled"));
    case "undeclared":
      return whole(403, "text/html", page("undeclared"));
    case "maintenance":
      return whole(503, "text/html", page("maintenance"));
    case "bare_429":
      return whole(429, "text/plain", "");
    case "bare_503":
      return whole(503, "text/plain", "");
    case "odd_403":
      return whole(403, "text/plain", "Forbidden");
    case "s3_403":
      return whole(403, "application/xml", page("access_denied"));
    case "s3_404":
      return whole(404, "application/xml", page("no_such_key"));
    case "error_500":
      return whole(500, "application/json", '{"message":"Internal server error"}');
    case "empty":
      return whole(200, "application/json", "");
    case "garbage":
      return whole(
        200,
        "application/json",
        Buffer.from(Array.from({ length: 4_096 }, (_, n) => (n * 37) % 256)),
      );
    case "html":
      return whole(
        200,
        "text/html",
        `<!doctype html><title>Welcome</title>${"<p>Not what was asked for.</p>".repeat(2_000)}`,
      );
    case "cut":
      return whole(200, "application/json", half);
    case "large":
      response.writeHead(200, { "Content-Type": "application/json" });
      await pipeline(Readable.from(endless()), response).catch(() => {});
      return undefined;
    case "short":
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length + 100 });
      response.write(body, () => response.destroy());
      return undefined;
    case "reset":
      response.writeHead(200, { "Content-Type": "application/json" });
      response.write(half, () => response.socket?.resetAndDestroy());
      return undefined;
    case "gzip_cut": {
      const zipped = gzipSync(body);
      response.writeHead(200, { "Content-Type": "application/json", "Content-Encoding": "gzip" });
      response.end(zipped.subarray(0, Math.ceil(zipped.length / 2)));
      return undefined;
    }
    case "hung_up":
      response.socket?.resetAndDestroy();
      return undefined;
    case "hang":
      return undefined;
    case "hang_body":
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length + 1 });
      response.write(half);
      return undefined;
  }
}

function* endless(): Generator<Buffer> {
  yield Buffer.from("[");
  for (let megabytes = 0; megabytes < 20; megabytes++) yield Buffer.alloc(2 ** 20, "1,");
}

/**
 * A web on loopback: as many sites as a test wants, each a registrable domain of its own below
 * `.test`, all on one port, with a name server that knows them and nothing else. A site says when each request
 * arrived and how many it had in hand at most. What sites do wrong on purpose is in hostile-site.ts.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { dnsServer, type Zone } from "./dns-server.ts";

/** A request as a site saw it. */
export interface Arrival {
  /** On performance.now()'s clock, when its head was read. */
  readonly at_ms: number;
  readonly method: string;
  /** With the query, as it was sent. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Body of a POST; it is there when the site answers. */
  readonly body: string;
}

/** Answer of a site. Left out: 200, text/html in UTF-8, nothing. */
export interface Page {
  readonly status?: number;
  /** Content-Type; null sends none. */
  readonly type?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A page, or what to do when it is requested; a promise keeps the client waiting. */
export type Pages = Readonly<Record<string, Page | ((arrival: Arrival) => Page | Promise<Page>)>>;

export interface Site {
  readonly host: string;
  /** http://name.test:port */
  readonly origin: string;
  /** Everything asked for, robots.txt included, in order. */
  readonly arrivals: readonly Arrival[];
  /** How often this path was asked for, with whatever query. */
  readonly hits: (path: string) => number;
  /** The most requests it had in hand at once. */
  readonly most: () => number;
  /** Resolves when this path was asked for so often. */
  readonly reached: (path: string, hits?: number) => Promise<void>;
}

export interface Web {
  readonly port: number;
  /** ip:port, as TRAWL_DNS_SERVERS has it. */
  readonly dns: string;
  /** A new site, `name.test`; a name with a final dot is the whole one. Other paths, and robots.txt, are answered by "*", else with 404. */
  readonly site: (pages: Pages, name?: string) => Site;
  /** Every site there is. */
  readonly known: () => readonly Site[];
  /** Names `name.test` for an origin outside of this web, by its address. */
  readonly name: (name: string, addresses: Zone[string]) => string;
  readonly close: () => Promise<void>;
}

interface Known extends Site {
  readonly pages: Pages;
  readonly arrivals: Arrival[];
  readonly waiting: Set<() => void>;
  in_hand: number;
  most_in_hand: number;
}

export async function web(): Promise<Web> {
  const zone: Record<string, Zone[string]> = {};
  const sites = new Map<string, Known>();
  const names = await dnsServer(zone);

  const server = createServer((request, response) => {
    const at_ms = performance.now();
    const site = sites.get(request.headers.host?.replace(/:\d+$/, "") ?? "");
    if (!site) return void response.writeHead(421).end();
    const arrival = arrivalOf(request, at_ms);
    site.arrivals.push(arrival);
    site.in_hand += 1;
    site.most_in_hand = Math.max(site.most_in_hand, site.in_hand);
    response.once("close", () => (site.in_hand -= 1));
    for (const look of site.waiting) look();
    const path = pathOf(arrival.path);
    const known = site.pages[path] ?? (path === "/robots.txt" ? null : site.pages["*"]) ?? NOT_FOUND;
    void bodyOf(request)
      .then((body) => void (arrival.body = body))
      .then(() => (typeof known === "function" ? known(arrival) : known))
      .then((page) => send(response, page))
      // A client that went away in the middle of its body is answered nothing.
      .catch((problem: unknown) => {
        if (!request.destroyed) throw problem;
      });
    return undefined;
  });
  // The crawler closes its idle connections itself; which side is faster is not tested.
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  return {
    port,
    dns: names.address,
    site(pages, name = `site-${sites.size + 1}`) {
      const host = name.endsWith(".") ? name.slice(0, -1) : `${name}.test`;
      zone[host] = ["127.0.0.1"];
      const hits = (path: string) => site.arrivals.filter((arrival) => pathOf(arrival.path) === path).length;
      const site: Known = {
        host,
        origin: `http://${host}:${port}`,
        pages,
        arrivals: [],
        waiting: new Set(),
        in_hand: 0,
        most_in_hand: 0,
        hits,
        most: () => site.most_in_hand,
        reached: (path, wanted = 1) =>
          new Promise((resolve) => {
            const look = () => {
              if (hits(path) < wanted) return;
              site.waiting.delete(look);
              resolve();
            };
            site.waiting.add(look);
            look();
          }),
      };
      sites.set(host, site);
      return site;
    },
    known: () => [...sites.values()],
    name(name, addresses) {
      const host = `${name}.test`;
      zone[host] = addresses;
      return host;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await names.close();
    },
  };
}

const NOT_FOUND: Page = { status: 404, body: "<title>Not here</title><p>There is no such page." };

const pathOf = (path: string): string => path.split("?", 1)[0]!;

/** Nothing is waited for where there is no body. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  if (request.method !== "POST") return "";
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

function arrivalOf({ method, url, headers }: IncomingMessage, at_ms: number): Arrival & { body: string } {
  const fields = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(", ")] as const);
  // A forward proxy sends the whole address.
  const path = url!.replace(/^http:\/\/[^/]+/, "");
  return { at_ms, method: method!, path, headers: Object.fromEntries(fields), body: "" };
}

function send(response: ServerResponse, { status = 200, type, headers = {}, body = "" }: Page): void {
  const hasNoBody = status === 204 || status === 304;
  if (type !== null && !hasNoBody) response.setHeader("Content-Type", type ?? "text/html; charset=utf-8");
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.statusCode = status;
  response.end(hasNoBody ? undefined : body);
}

const CODERS = {
  gzip: gzipSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
  deflate: deflateSync,
} as const;

/** The page with its body coded for the wire. */
export const coded = (coding: keyof typeof CODERS, page: Page): Page => ({
  ...page,
  headers: { ...page.headers, "Content-Encoding": coding },
  body: CODERS[coding](Buffer.from(page.body ?? "")),
});

export const redirect = (location: string, status = 302): Page => ({
  status,
  headers: { Location: location },
  body: "",
});

/** Distinct sentences, as many as asked for; long enough for a main text from eight on. */
export const prose = (sentences: number, about = "the harbour"): string =>
  Array.from(
    { length: sentences },
    (_, n) => `In the ${n + 1}. year the keepers of ${about} wrote down what the tide had brought ashore.`,
  ).join(" ");

/** A plain article of more than 500 characters of main text. */
export const article = (title: string, text = prose(12)): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>` +
  `<body><nav><a href="/">Home</a> <a href="/about">About</a></nav>` +
  `<article><h1>${title}</h1><p>${text}</p></article><footer>Imprint</footer></body></html>`;

/** Page that Cloudflare shows instead of the wanted one while it makes up its mind. */
export const CHALLENGE: Page = {
  status: 403,
  headers: { Server: "cloudflare", "CF-Mitigated": "challenge" },
  body: "<!doctype html><title>Just a moment...</title><p>Verifying you are human.",
};

/** A promise with its handle outside: keeps a client waiting until `open` is called. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: () => resolve() };
}

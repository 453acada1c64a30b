/**
 * SSRF protection as a corpus: every way to make this service connect somewhere, at every way to write an address of this
 * machine, over real sockets, a real resolver and a real browser. A canary listens at all of these addresses and counts.
 */
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { postJson } from "../../../../actors/work/callbacks/post-json.ts";
import { domainActor } from "../../../../actors/crawl/domain/actor.ts";
import { robotsActor } from "../../../../actors/crawl/domain/robots.actor.ts";
import { fetchActor } from "../../../../actors/crawl/fetch/actor.ts";
import { hostProfileActor } from "../../../../actors/crawl/fetch/host-profile.actor.ts";
import { loadPages } from "../../../../actors/crawl/fetch/page-store.ts";
import { fetchPipeline } from "../../../../actors/crawl/fetch/pipeline.ts";
import { fetchService } from "../../../../actors/crawl/fetch/service.ts";
import { taskOf } from "../../../../actors/reading/document-task.ts";
import { tasks } from "../../../../actors/reading/extract.ts";
import { destination, type Destination } from "../../../../actors/lib/web/destination.ts";
import { metasearchEngine } from "../../../../actors/sources/search/adapters/engine.metasearch.ts";
import { archiveTransport } from "../../../../actors/crawl/tiers/adapters/transport.archive.ts";
import { directTransport } from "../../../../actors/crawl/tiers/adapters/transport.direct.ts";
import { proxyTransport } from "../../../../actors/crawl/tiers/adapters/transport.proxy.ts";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { type UndiciEgress, undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import type { FetchRequest } from "../../../../schemas/fetch.ts";
import { describeOneBrowser } from "../../../harness/browser-harness.ts";
import { DEFAULT_REQUEST } from "../../../harness/fetch-request.ts";
import { article, prose, type Web, web } from "../../../harness/web.ts";
import { SAME_SECRETS } from "../../../harness/secrets.ts";

/** Hosts that are this machine, in the ways the URL standard reads and in ways it refuses. */
const HOSTS: readonly string[] = [
  "127.0.0.1",
  "127.0.0.2",
  "127.1",
  "127.0.1",
  "127.2",
  "2130706433",
  "2130706434",
  "0x7f000001",
  "0x7f.1",
  "0x7F.0x0.0x0.0x2",
  "017700000001",
  "0177.0.0.2",
  "00000177.1",
  "127.0.0.1.",
  "127.255.255.254",
  "0",
  "0.0.0.0",
  "①②⑦.⓪.⓪.①",
  "127。0。0。2",
  "127.0.0%2e1",
  "%31%32%37.0.0.1",
  "user:password@127.0.0.1",
  "example.org@127.0.0.2",
  "[::1]",
  "[::]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:2]",
  "[::127.0.0.1]",
  "[::7f00:1]",
  "[0000:0000:0000:0000:0000:ffff:7f00:0001]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b::7f00:2]",
  "[64:ff9b:1::7f00:1]",
  "[2002:7f00:1::]",
  "[::ffff:0:127.0.0.1]",
  "[fe80::1]",
  "[fe80::1%25lo]",
  "[fd00::1]",
  "[::ffff:10.0.0.1]",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "a.localhost",
  "localhost.localdomain",
  "ip6-localhost",
  "host.docker.internal",
  "10.0.0.1",
  "172.17.0.1",
  "192.168.0.1",
  "169.254.169.254",
  "100.64.0.1",
  "metadata.google.internal",
  "192.0.0.192",
  // Names of the corpus's own resolver.
  "private.test",
  "loopback6.test",
  "mapped.test",
  "mixed.test",
  "zero.test",
  "linklocal.test",
  "rebind.test",
  ...Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address, family }) =>
      family === "IPv6" ? `[${address.replace(/%.*/, "")}]` : address,
    ),
  ),
];
const SECRET = "secret of the canary";

interface Canary {
  readonly port: number;
  readonly hits: string[];
  readonly close: () => void;
}

/** On every address of this machine. */
async function canary(): Promise<Canary> {
  const hits: string[] = [];
  const servers: Server[] = [];
  const listen = async (host: string, port: number): Promise<number> => {
    const server = createServer((socket) => {
      hits.push(`${socket.localAddress} from ${socket.remotePort}`);
      socket.on("error", () => {});
      const head = "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nConnection: close\r\n";
      socket.on("data", () => socket.end(`${head}Content-Length: ${SECRET.length}\r\n\r\n${SECRET}`));
    });
    servers.push(server);
    await once(server.listen({ port, host, ipv6Only: true }), "listening");
    return (server.address() as AddressInfo).port;
  };
  const port = await listen("0.0.0.0", 0);
  // A machine without IPv6 has one canary less.
  await listen("::", port).catch(() => {});
  return { port, hits, close: () => servers.forEach((server) => server.close()) };
}

const clock = systemClock();
const open: { close: () => unknown }[] = [];
let sites: Web;
let bird: Canary;
let egress: UndiciEgress;
let judge: Destination;
/** Requests to the forward proxy. */
const proxied: string[] = [];
let fetchPage: (overrides: Partial<FetchRequest>) => Promise<{ error: string | null; text: string }>;
/** Where each public site of this file leads. */
let leads_to = "";
let attempts = 0;

const targets = (): string[] => HOSTS.map((host) => `http://${host}:${bird.port}/`);

beforeAll(async () => {
  sites = await web();
  bird = await canary();
  for (const [name, addresses] of Object.entries({
    private: ["127.0.0.2"],
    loopback6: ["::1"],
    mapped: ["::ffff:127.0.0.1"],
    mixed: ["127.0.0.1", "127.0.0.2"],
    zero: ["0.0.0.0"],
    linklocal: ["169.254.169.254"],
  }))
    sites.name(name, addresses);
  sites.name("rebind", [["8.8.8.8"], ["127.0.0.2"]]);

  const forward = (request: IncomingMessage, response: ServerResponse) => {
    proxied.push(request.url!);
    response.writeHead(502).end();
  };
  const proxy = createHttpServer(forward).on("connect", ({ url }, socket) => {
    proxied.push(url!);
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const proxy_port = (proxy.address() as AddressInfo).port;

  // As in production, but that the sites of this file are public.
  const production = destination();
  judge = {
    url: production.url,
    address: (address, port) =>
      address === "127.0.0.1" && port === sites.port ? "allowed" : production.address(address, port),
  };
  egress = undiciEgress({ judge, dns_servers: [sites.dns] });
  open.push(sites, bird, egress, proxy);
  const lead = () => ({ status: 302, headers: { Location: leads_to }, body: "" });
  const archive = sites.site({
    "/cdx/search/cdx": ({ path }) => {
      const original = new URL(path, "http://any.example").searchParams.get("url");
      const header = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];
      const taken = new Date(Date.now() - 86_400_000).toISOString().replace(/\D/g, "").slice(0, 14);
      const rows = [["k", taken, original, "text/html", "200", "-", "1"]];
      return { type: "application/json", body: JSON.stringify([header, ...rows]) };
    },
    "*": lead,
  });

  const documents = memoryDocuments();
  const { metrics, log } = silentTelemetry();
  const page = await tasks.page();
  const read = { page, large_page: page, pdf: await tasks.pdf(), office: await tasks.office() };
  const common = { egress, clock, destination: judge };
  const { ask, stop } = embedded(
    [
      domainActor({ min_delay_ms: 0, max_concurrency: 100, lease_ms: 60_000 }),
      hostProfileActor(),
      robotsActor({ egress, clock, crawler_name: "trawl", user_agent: "trawl" }),
      fetchActor({
        runFetch: fetchPipeline({
          clock,
          documents,
          blobs: memoryBlobs(),
          metrics,
          log,
          routes: {
            direct: directTransport(common),
            archive: archiveTransport({ egress, clock, archive_url: archive.origin, user_agent: "trawl" }),
            proxy: proxyTransport({ ...common, proxy_url: `http://127.0.0.1:${proxy_port}` }),
          },
          extract: async (task) => ({ kind: "done", value: await read[taskOf(task)](task, () => 0) }),
          sources: {
            user_agent: "trawl",
            search: async () => ({ urls: [leads_to], cost_micros: 0 }),
          },
        }),
        deriveFormats: async () => null,
        reread: async (answer) => answer,
        loadStored: (digest, project) => loadPages(documents, digest, project),
        now: () => clock.now(),
      }),
    ],
    { clock, random: seededRandom(1), documents },
  );
  open.push({ close: () => stop(0) });
  const pages = fetchService({ secrets: SAME_SECRETS, documents, ask, clock, metrics, log });
  fetchPage = async (overrides) => {
    const { error, record } = await pages.fetch({
      ...DEFAULT_REQUEST,
      fetch_id: `f${attempts++}`,
      deadline_ms: clock.now() + 20_000,
      min_text_chars: 0,
      cache_ttl_s: 0,
      allow_alternates: false,
      ...overrides,
    });
    return { error, text: JSON.stringify(record) };
  };
}, 60_000);
afterAll(async () => {
  for (const one of open.toReversed()) await one.close();
});
beforeEach(() => {
  bird.hits.length = 0;
  proxied.length = 0;
});

/** Answers that show the canary's secret, and what the canary was asked. */
async function reached(work: readonly Promise<{ error: string | null; text: string }>[]): Promise<string[]> {
  const answers = await Promise.all(work);
  return [...answers.map(({ text }) => text).filter((text) => text.includes(SECRET)), ...bird.hits];
}

test("the canary is there: without the guard its addresses answer", async () => {
  for (const host of ["127.0.0.1", "127.0.0.2"]) {
    const socket = connect(bird.port, host);
    await once(socket, "connect");
    socket.destroy();
  }
  await expect.poll(() => bird.hits.length).toBe(2);
});

test("direct: pages at every address, over http and https, are refused", async () => {
  const urls = targets().flatMap((url) => [url, url.replace("http:", "https:")]);
  const answers = await Promise.all(urls.map((url) => fetchPage({ url, tiers: ["direct"] })));
  expect(answers.filter(({ error }) => error === null)).toEqual([]);
  expect(await reached([])).toEqual([]);
});

test.each([301, 303, 307, 308])("direct: a redirect %i of a public page leads nowhere", async (status) => {
  const hops = targets().filter((_, at) => status === 301 || at % 4 === 0);
  const site = sites.site({
    "*": ({ path }) => ({ status, headers: { Location: decodeURIComponent(path.slice(1)) } }),
  });
  const work = hops.map((to) =>
    fetchPage({ url: `${site.origin}/${encodeURIComponent(encodeURI(to))}`, tiers: ["direct"] }),
  );
  expect(await reached(work)).toEqual([]);
});

test("robots.txt: a redirect of it leads nowhere", async () => {
  const work = targets().map((to) => {
    const site = sites.site({
      "/robots.txt": { status: 302, headers: { Location: encodeURI(to) } },
      "/": { body: article("Open") },
    });
    return fetchPage({ url: `${site.origin}/`, tiers: ["direct"] });
  });
  expect(await reached(work)).toEqual([]);
});

test("archive: a copy that leads to an address, and a copy of the address, are not followed", async () => {
  for (const to of targets()) {
    leads_to = encodeURI(to);
    expect(await reached([fetchPage({ url: "http://archived.test/", tiers: ["archive"] })])).toEqual([]);
  }
  expect(await reached(targets().map((url) => fetchPage({ url, tiers: ["archive"] })))).toEqual([]);
});

test("proxy: it is asked for no address, only for names, which it resolves itself", async () => {
  expect(await reached(targets().map((url) => fetchPage({ url, tiers: ["proxy"] })))).toEqual([]);
  const hosts = proxied.map((asked) => new URL(asked.includes("://") ? asked : `http://${asked}`).hostname);
  expect(
    hosts.filter(
      (host) => !host.endsWith(".test") && host !== "localhost.localdomain" && host !== "ip6-localhost",
    ),
  ).toEqual([]);
});

test("alternates: neither a page's feed nor a search result leads there", async () => {
  for (const to of targets()) {
    leads_to = encodeURI(to);
    const feed = `<link rel="alternate" type="application/rss+xml" href="${leads_to}">`;
    const wall = '<div class="paywall"><p>Subscribe to continue reading this article.</p></div>';
    const site = sites.site({
      "/": {
        body: `<html><head><title>Teaser</title>${feed}</head><body><article><p>${prose(3)}</p>${wall}</article>`,
      },
    });
    expect(
      await reached([
        fetchPage({
          url: `${site.origin}/`,
          tiers: null,
          allow_paid: false,
          allow_archive: false,
          allow_alternates: true,
        }),
      ]),
    ).toEqual([]);
  }
});

test("callbacks: no address is called", async () => {
  const headers = [["X-Service-Delivery", "j"]] as const;
  const calls = targets().map((url) => {
    attempts++;
    return postJson({ egress, clock }, { project: null, url, body: "{}", headers, timeout_ms: 5_000 });
  });
  const results = await Promise.all(calls);
  expect(results.filter(({ status }) => status.startsWith("delivered"))).toEqual([]);
  expect(await reached([])).toEqual([]);
});

test("search: an instance that leads to an address is not followed", async () => {
  for (const to of targets()) {
    attempts++;
    const instance = sites.site({ "*": { status: 302, headers: { Location: encodeURI(to) } } });
    const engine = metasearchEngine({ egress, clock, url: instance.origin });
    const question = {
      query: "tide",
      project: null,
      language: null,
      country: null,
      freshness: null,
      max_results: 5,
    };
    expect(await engine.ask(question, AbortSignal.timeout(5_000))).toMatchObject({ kind: "failed" });
  }
  expect(await reached([])).toEqual([]);
});

test("the corpus has at least 350 attempts without the browser's", () => {
  expect(attempts).toBeGreaterThanOrEqual(350);
});

describeOneBrowser("a browser", (openSetup) => {
  test("reaches no address: by navigation, as a subresource, in a worker, over a WebSocket", async () => {
    const it = await openSetup({
      judge: {
        url: judge.url,
        address: (address, port) =>
          address === "127.0.0.1" && port === it.web.port ? "allowed" : destination().address(address, port),
      },
      page: { requests: 5_000, settle_ms: 1_500 },
    });
    for (const [name, address] of [
      ["private", "127.0.0.2"],
      ["loopback6", "::1"],
      ["mapped", "::ffff:127.0.0.1"],
      ["zero", "0.0.0.0"],
    ] as const)
      it.web.name(name, [address]);
    it.web.name("mixed", ["127.0.0.1", "127.0.0.2"]);
    it.web.name("rebind", [["127.0.0.1"], ["127.0.0.2"]]);
    const list = JSON.stringify(targets());
    const tryAll = `for (const u of ${list}) try { fetch(u, { mode: "no-cors" }).catch(() => {}); new WebSocket(u.replace("http", "ws")) } catch {}`;
    const site = it.web.site({
      "/": {
        body: `<!doctype html>${targets()
          .map(
            (url, at) =>
              `<script async src="${url}s.js"></script><link rel=stylesheet href="${url}c.css">${at % 4 === 0 ? `<iframe src="${url}f"></iframe>` : ""}`,
          )
          .join(
            "",
          )}<script>${tryAll}; new Worker(URL.createObjectURL(new Blob([${JSON.stringify(tryAll)}])))</script>`,
      },
      "*": ({ path }) => ({ status: 302, headers: { Location: decodeURIComponent(path.slice(1)) } }),
    });
    const page = await it.fetch(`${site.origin}/`);
    expect([page.kind, it.refused.length > 50]).toEqual(["page", true]);
    const led = targets().filter((_, at) => at % 12 === 0);
    const navigations = await Promise.all([
      ...targets().map((url) => it.fetch(url)),
      ...led.map((to) => it.fetch(`${site.origin}/${encodeURIComponent(encodeURI(to))}`)),
    ]);
    expect(navigations.filter(({ kind }) => kind === "page")).toEqual([]);
    expect(bird.hits).toEqual([]);
    await it.close();
  }, 60_000);
});

/** The route `proxy`: real forward proxies, faulty ones, sessions and countries (TRAWL_PROXY_URL). */
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { destination } from "../../../../actors/lib/web/destination.ts";
import type { HopRefusal } from "../../../../actors/lib/web/transport.ts";
import { proxyTransport } from "../../../../actors/crawl/tiers/adapters/transport.proxy.ts";
import { anotherSession, proxyUrl, sessionOf } from "../../../../actors/crawl/tiers/proxy-url.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { fakeEgress } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { type UndiciEgress, undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import type { Egress, Exchange, ExchangeRequest } from "../../../../cluster/ports/egress.ts";
import { answer, type HostileSite, hostileSite, pem } from "../../../harness/hostile-site.ts";
import { permitLog } from "../../../harness/fake-permit.ts";
import { freePort } from "../../../harness/free-port.ts";
import { findProgram, type Program, program } from "../../../harness/programs.ts";

const clock = systemClock();
const rule = destination({ allow: ["127.0.0.0/8"] });
const ca = [pem("site.cert.pem")];

let site: HostileSite;
let secure: HostileSite;
let egress: UndiciEgress;
const open: { close: () => unknown }[] = [];

beforeAll(async () => {
  site = await hostileSite({
    plays: {
      "/to-secure": (socket) => void socket.write(answer("302 Found", [`Location: ${secure.origin}/fine`])),
      "/forbidden": (socket) => void socket.write(answer("403 Forbidden", [], "no")),
    },
  });
  secure = await hostileSite({ tls: true });
  egress = undiciEgress({ judge: rule, ca });
  open.push(site, secure, egress);
});
afterAll(async () => {
  for (const one of open) await one.close();
});

const through = (proxy_url: string, way = egress, judge = rule) =>
  proxyTransport({ egress: way, clock, destination: judge, proxy_url });

interface Proxy {
  readonly name: string;
  readonly path: string | null;
  readonly words: (folder: string, port: number) => readonly string[];
  /** The result of wrong credentials over http when the proxy answers as if it were the page's host: the two cannot be told apart. */
  readonly as_host?: object;
}

/** Each wants the user "name" and the password "password". */
const PROXIES: readonly Proxy[] = [
  {
    name: "tinyproxy",
    path: findProgram("tinyproxy"),
    as_host: { kind: "page", status: 401 },
    words(folder, port) {
      const settings = [`Port ${port}`, "Listen 127.0.0.1", "LogLevel Critical", "BasicAuth name password"];
      writeFileSync(join(folder, "tinyproxy.conf"), `${settings.join("\n")}\n`);
      return ["-d", "-c", join(folder, "tinyproxy.conf")];
    },
  },
  {
    name: "squid",
    path: findProgram("squid"),
    words(folder, port) {
      const settings = [
        `http_port 127.0.0.1:${port}`,
        "pid_filename none",
        "access_log none",
        "cache_log /dev/null",
        "cache deny all",
        `auth_param basic program /usr/lib/squid/basic_ncsa_auth ${join(folder, "users")}`,
        "acl known proxy_auth REQUIRED",
        "http_access allow known",
        "http_access deny all",
      ];
      // openssl passwd -apr1 -salt abcdefgh password
      writeFileSync(join(folder, "users"), "name:$apr1$abcdefgh$FBwExRW4dCc8aL.OvjpIE1\n");
      // Squid gives up being root before it reads them.
      chmodSync(folder, 0o755);
      writeFileSync(join(folder, "squid.conf"), `${settings.join("\n")}\n`);
      return ["-N", "-f", join(folder, "squid.conf")];
    },
  },
];

describe.each(PROXIES.filter(({ path }) => path === null))("through $name", ({ name }) => {
  // oxlint-disable-next-line vitest/no-disabled-tests
  test.skip(`is not tried: apt-get install ${name}`, () => {});
});

describe.each(PROXIES.filter(({ path }) => path !== null))("through $name", ({ path, words, as_host }) => {
  let running: Program;
  let port = 0;
  const folder = mkdtempSync(join(tmpdir(), "trawl-proxy-"));
  const address = (user = "name:p%61ssword@") => `http://${user}127.0.0.1:${port}`;
  beforeAll(async () => {
    port = await freePort();
    running = await program(path!, words(folder, port), port);
  });
  afterAll(async () => {
    await running?.close();
    rmSync(folder, { recursive: true });
  });

  test("a page over http and one over https come as from the host itself", async () => {
    const { go, released } = permitLog();
    for (const { origin } of [site, secure]) {
      expect(await go(through(address()), `${origin}/fine`)).toMatchObject({
        kind: "page",
        status: 200,
        final_url: `${origin}/fine`,
        redirects: [],
        body_kind: "origin",
        body: Buffer.from("<title>/fine</title>"),
      });
    }
    expect(released.map(({ status }) => status)).toEqual([200, 200]);
  });

  test("the host sees the same fields as from the route direct, and nothing of the proxy's credentials", async () => {
    const before = secure.requests.length;
    await permitLog().go(through(address()), `${secure.origin}/fine`, { user_agent: "Somebody/1.0" });
    await permitLog().go(through(address()), `${site.origin}/plain`);
    const [tunnelled] = secure.requests.slice(before);
    expect(tunnelled!.headers.get("user-agent")).toBe("Somebody/1.0");
    expect(tunnelled!.raw.filter((_, at) => at % 2 === 0)).not.toContain("Via");
    const plain = site.requests.findLast((one) => one.path === "/plain")!;
    expect(plain.headers.get("host")).toBe(`127.0.0.1:${site.port}`);
    expect(JSON.stringify([tunnelled!.raw, plain.raw])).not.toMatch(/proxy-authorization|bmFtZTp/i);
  });

  test("redirects are followed hop by hop, each with its own permit", async () => {
    const { go, admitted } = permitLog();
    const page = await go(through(address()), `${site.origin}/to-secure`);
    expect(page).toMatchObject({ kind: "page", final_url: `${secure.origin}/fine` });
    expect(admitted).toEqual([`${site.origin}/to-secure`, `${secure.origin}/fine`]);
  });

  test.each(["http", "https"])("wrong credentials are proxy_refused, over %s", async (scheme) => {
    const { origin } = scheme === "http" ? site : secure;
    const { go, released } = permitLog();
    const refused = await go(through(address("nobody:wrong@")), `${origin}/fine`);
    expect(JSON.stringify(refused)).not.toContain("wrong");
    const expected = { kind: "failed", reason: "proxy_refused", status: null };
    expect(refused).toMatchObject(scheme === "http" ? (as_host ?? expected) : expected);
    expect(released).toHaveLength(1);
  });

  test("a missing host behind it is the proxy's refusal and no missing name", async () => {
    const closedPort = await freePort();
    const failed = await permitLog().go(through(address()), `https://127.0.0.1:${closedPort}/`);
    expect(failed).toMatchObject({ kind: "failed", reason: "proxy_connect_failed" });
  });
});

describe("a proxy that", () => {
  /** The answer to CONNECT. */
  async function faulty(play: (socket: Socket, head: string) => void): Promise<string> {
    const server: Server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (head) => play(socket, head.toString("latin1")));
      open.push({ close: () => socket.destroy() });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    open.unshift({ close: () => server.close() });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const shortTimeouts = () => undiciEgress({ judge: rule, ca });

  test.each<[string, string, (socket: Socket) => void]>([
    [
      "refuses this host",
      "proxy_connect_failed",
      (socket) => void socket.write("HTTP/1.1 403 Forbidden\r\n\r\n"),
    ],
    ["wants credentials", "proxy_refused", (socket) => void socket.write("HTTP/1.1 407 No\r\n\r\n")],
    ["wants money", "proxy_refused", (socket) => void socket.write("HTTP/1.1 402 No\r\n\r\n")],
    ["wants fewer requests", "proxy_refused", (socket) => void socket.write("HTTP/1.1 429 No\r\n\r\n")],
    [
      "has no exit",
      "proxy_connect_failed",
      (socket) => void socket.write("HTTP/1.1 502 Bad Gateway\r\n\r\n"),
    ],
    ["hangs up", "proxy_unreachable", (socket) => void socket.destroy()],
    ["ends without a word", "proxy_unreachable", (socket) => void socket.end()],
    ["speaks something else", "proxy_unreachable", (socket) => void socket.write("SSH-2.0-x\r\n\r\n")],
    [
      "talks without end",
      "proxy_unreachable",
      (socket) => void socket.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(20_000)}`),
    ],
    [
      "speaks into the tunnel",
      "proxy_unreachable",
      (socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nforged"),
    ],
    ["breaks the tunnel", "network_reset", (socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\n")],
  ])("%s is %s, and the permit is released", async (_, reason, play) => {
    const { go, admitted, released } = permitLog();
    const failed = await go(through(await faulty(play)), `${secure.origin}/fine`);
    expect(failed).toMatchObject({ kind: "failed", reason, status: null, final_url: null });
    expect(released).toHaveLength(admitted.length);
  });

  test("puts itself in the middle of https is found out", async () => {
    const forger = await hostileSite({ tls: true });
    open.push(forger);
    const proxy = await faulty((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const onto = connect(forger.port, "127.0.0.1");
      onto.on("error", () => {});
      socket.pipe(onto).pipe(socket);
    });
    // The page's host does not trust the forger's certificate.
    const way = undiciEgress({ judge: rule });
    open.push(way);
    const failed = await permitLog().go(through(proxy, way), `${secure.origin}/fine`);
    expect(failed).toMatchObject({ kind: "failed", reason: "tls_error" });
    expect(forger.requests).toEqual([]);
  });

  test.each(["https", "http"])("hangs ends with the caller's deadline, over %s", async (scheme) => {
    const way = shortTimeouts();
    open.push(way);
    const { go, released } = permitLog();
    const { origin } = scheme === "http" ? site : secure;
    const proxy = await faulty(() => {});
    const failed = await go(through(proxy, way), `${origin}/fine`, { signal: AbortSignal.timeout(300) });
    expect(failed).toMatchObject({ kind: "failed", reason: "timeout" });
    expect(released).toHaveLength(1);
    expect(way.open()).toMatchObject({ exchanges: 0, connections: 0 });
  });

  test("does not answer a CONNECT within the time for connections is no time-out of the page's host", async () => {
    const { go, released } = permitLog();
    const proxy = await faulty(() => {});
    const hasty: Egress = {
      exchange: (request) => egress.exchange({ ...request, connect_timeout_ms: 200 }),
      close: async () => {},
    };
    const failed = await go(
      proxyTransport({ egress: hasty, clock, destination: rule, proxy_url: proxy }),
      `${secure.origin}/fine`,
    );
    expect(failed).toMatchObject({ kind: "failed", reason: "proxy_connect_failed", status: null });
    expect(released).toHaveLength(1);
  });

  test("is not there is proxy_unreachable, which is no failure of the page's host", async () => {
    const closedPort = await freePort();
    for (const address of [
      `http://127.0.0.1:${closedPort}`,
      "http://no-such-proxy.invalid:1",
      "https://127.0.0.1:1",
    ]) {
      expect(await permitLog().go(through(address), `${site.origin}/fine`)).toMatchObject({
        kind: "failed",
        reason: "proxy_unreachable",
        final_url: null,
      });
    }
  });

  test.each(["http", "https"])("reads no credentials of the page's address, over %s", async (scheme) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const proxy = await faulty((socket, head) => {
      resolve(head);
      socket.destroy();
    });
    const { origin } = scheme === "http" ? site : secure;
    await permitLog().go(through(proxy), `${origin}/fine`, { authorization: "Basic YTpi" });
    const head = await promise;
    expect(head).toContain(scheme === "http" ? "GET " : "CONNECT ");
    expect(head).not.toContain("YTpi");
  });

  test("wants a name and a password gets them decoded, and the page's host never does", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const proxy = await faulty((socket, head) => {
      resolve(head);
      socket.destroy();
    });
    await permitLog().go(through(proxy.replace("//", "//n%40me:p%3Ass%@")), `${secure.origin}/fine`);
    const credentials = Buffer.from("n@me:p:ss%").toString("base64");
    expect((await promise).split("\r\n")).toEqual([
      `CONNECT 127.0.0.1:${secure.port} HTTP/1.1`,
      `Host: 127.0.0.1:${secure.port}`,
      `Proxy-Authorization: Basic ${credentials}`,
      "",
      "",
    ]);
  });

  test("has TLS itself carries a tunnel within it", async () => {
    // The test certificate is for loopback: the proxy's end of TLS is the site's own key.
    const { createServer: tlsServer } = await import("node:tls");
    const server = tlsServer({ key: pem("site.key.pem"), cert: pem("site.cert.pem") }, (socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        const onto = connect(secure.port, "127.0.0.1");
        onto.on("error", () => {});
        socket.write("HTTP/1.1 200 Fine\r\n\r\n");
        socket.pipe(onto).pipe(socket);
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    open.unshift({ close: () => server.close() });
    const { port } = server.address() as AddressInfo;
    const page = await permitLog().go(through(`https://127.0.0.1:${port}`), `${secure.origin}/fine`);
    expect(page).toMatchObject({ kind: "page", status: 200 });
  });
});

describe("what may be asked for behind a proxy", () => {
  const strict = destination();
  test.each([
    "http://127.0.0.1/",
    "https://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "https://[::1]/",
    "http://localhost/",
    "http://metadata.internal/",
  ])("not %s, though the proxy itself is on loopback", async (url) => {
    const { go, admitted } = permitLog();
    const way = undiciEgress({ judge: strict });
    open.push(way);
    const proxy = await hostileSite({});
    open.push(proxy);
    const refused = await go(through(proxy.origin, way, strict), url);
    expect(refused).toMatchObject({ kind: "refused", refusal: { error: "blocked_destination" } });
    // The egress reports the same when no request came before.
    const request = { url, method: "GET", headers: [], signal: AbortSignal.timeout(5_000) } as const;
    expect(await way.exchange({ ...request, via: { proxy_url: proxy.origin } })).toMatchObject({
      kind: "failed",
      problem: "blocked_destination",
    });
    expect(admitted).toEqual([]);
    expect(proxy.requests).toEqual([]);
  });

  test("a public name, which only the proxy resolves", async () => {
    const proxy = await hostileSite({});
    open.push(proxy);
    const way = undiciEgress({ judge: strict });
    open.push(way);
    const page = await permitLog().go(through(proxy.origin, way, strict), "http://page.example/a?b");
    expect(page).toMatchObject({ kind: "page", status: 200, final_url: "http://page.example/a?b" });
    expect(proxy.requests).toMatchObject([{ method: "GET", path: "http://page.example/a?b" }]);
    expect(proxy.requests[0]!.headers.get("host")).toBe("page.example");
  });
});

describe("sessions and countries", () => {
  test.each<[string, string | null, string]>([
    ["http://u-{session}:p@h:1", null, "http://u-S:p@h:1"],
    ["http://u-country-{country}-session-{session}:p@h:1", "DE", "http://u-country-de-session-S:p@h:1"],
    ["http://u-country-{country}-session-{session}:p@h:1", null, "http://u-session-S:p@h:1"],
    ["http://u-session-{session}-cc-{country}:p@h:1", null, "http://u-session-S:p@h:1"],
    ["http://u:p_country-{country}_session-{session}@h:1", null, "http://u:p_session-S@h:1"],
    ["http://{country}.h:1", "FR", "http://fr.h:1"],
    ["http://u:p@h:1", "FR", "http://u:p@h:1"],
  ])("%s with country %s is %s", (template, country, url) => {
    expect(proxyUrl(template, "S", country)).toBe(url);
  });

  test("a site has one session, another site or country another", () => {
    expect(sessionOf("example.org", "DE")).toBe(sessionOf("example.org", "de"));
    const names = [
      sessionOf("example.org", null),
      sessionOf("example.org", "DE"),
      sessionOf("example.com", null),
      anotherSession(sessionOf("example.org", null)),
    ];
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^[0-9a-f]{16}(-[0-9a-f]{8})?$/);
  });

  const TEMPLATE = "http://user-{session}:pass@proxy.example:8000";
  const exits = (requests: readonly ExchangeRequest[]) =>
    new Set(requests.map(({ via }) => new URL(via!.proxy_url).username));

  test("two hundred fetches of one site use one exit, whatever the site answers", async () => {
    const web = fakeEgress({
      "https://a.example.org/": { status: 403 },
      "https://b.example.org/": { status: 200, body: "b" },
      "https://c.example.org/": { problem: "timeout" },
    });
    const { go } = permitLog();
    const urls = ["https://a.example.org/", "https://b.example.org/", "https://c.example.org/"];
    for (let at = 0; at < 200; at++) await go(through(TEMPLATE, web as never), urls[at % 3]!);
    expect(web.hits).toHaveLength(200);
    expect(exits(web.hits.map(({ request }) => request))).toEqual(
      new Set([`user-${sessionOf("example.org", null)}`]),
    );
  });

  /** Breaks the first exit that is asked for. */
  function broken(problem: "proxy_unreachable" | "proxy_refused") {
    const asked: ExchangeRequest[] = [];
    const web = fakeEgress({ "https://example.org/": { status: 200, body: "page" } });
    const way = {
      ...web,
      exchange: async (request: ExchangeRequest): Promise<Exchange> => {
        asked.push(request);
        if (asked.length > 1) return web.exchange(request);
        return { kind: "failed", problem, detail: "broken", ms: 5 };
      },
    };
    return { asked, way: way as never };
  }

  test("an exit that fails is changed once, with another permit", async () => {
    const { asked, way } = broken("proxy_unreachable");
    const { go, admitted, released } = permitLog();
    expect(await go(through(TEMPLATE, way), "https://example.org/")).toMatchObject({ kind: "page" });
    expect(exits(asked)).toEqual(
      new Set([
        `user-${sessionOf("example.org", null)}`,
        `user-${anotherSession(sessionOf("example.org", null))}`,
      ]),
    );
    expect([admitted.length, released.length]).toEqual([2, 2]);
  });

  test("a request that names its exit gets it, and one more with a dash and eight digits of hex", async () => {
    const { asked, way } = broken("proxy_unreachable");
    const named = await permitLog().go(through(TEMPLATE, way), "https://example.org/", { session: "batch7" });
    expect(named).toMatchObject({ kind: "page" });
    expect(asked.map(({ via }) => new URL(via!.proxy_url).username)).toEqual([
      "user-batch7",
      expect.stringMatching(/^user-batch7-[0-9a-f]{8}$/),
    ]);
  });

  test("a refusal is not asked twice, nor an address without sessions", async () => {
    const refusing = broken("proxy_refused");
    expect(await permitLog().go(through(TEMPLATE, refusing.way), "https://example.org/")).toMatchObject({
      reason: "proxy_refused",
    });
    const single = broken("proxy_unreachable");
    await permitLog().go(through("http://proxy.example:8000", single.way), "https://example.org/");
    expect([refusing.asked.length, single.asked.length]).toEqual([1, 1]);
  });
});

test("a refused permit ends the request before it reaches the proxy", async () => {
  const refusal: HopRefusal = {
    error: "robots_disallowed",
    step: "robots",
    reason: "rules",
    retry_after_s: null,
    detail: "Disallow: /",
  };
  const web = fakeEgress({});
  const { go } = permitLog(() => refusal);
  expect(await go(through("http://proxy.example:1", web as never), "https://example.org/")).toMatchObject({
    kind: "refused",
    refusal,
  });
  expect(web.hits).toEqual([]);
});

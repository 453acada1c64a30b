/** Properties of egress.undici.ts that only real sockets show: names, pinning, TLS, kept connections, limits. */
import { createSecureServer } from "node:http2";
import { Session } from "node:inspector/promises";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { destination } from "../../../../actors/lib/web/destination.ts";
import type { Judge } from "../../../../cluster/adapters/egress/pinned-connect.ts";
import {
  type UndiciEgress,
  undiciEgress,
  type UndiciEgressOptions,
} from "../../../../cluster/adapters/egress/egress.undici.ts";
import type { ExchangeRequest } from "../../../../cluster/ports/egress.ts";
import { type DnsServer, dnsServer } from "../../../harness/dns-server.ts";
import { answer, type HostileSite, hostileSite, pem } from "../../../harness/hostile-site.ts";

const LOOPBACK = destination({ allow: ["127.0.0.0/8"] });
/** Lets 127.0.0.1 through as if it were public, and nothing else that is private: what a public origin looks like. */
const PUBLIC: Judge = {
  url: (url) => (destination().url(url) === "resolve" ? "resolve" : LOOPBACK.url(url)),
  address: (address, port) => (address === "127.0.0.1" ? "allowed" : destination().address(address, port)),
};

const open: { close: () => Promise<void> }[] = [];
afterAll(() => Promise.all(open.map((one) => one.close())));

function way(options: Partial<UndiciEgressOptions> = {}): UndiciEgress {
  const egress = undiciEgress({ judge: LOOPBACK, ca: [pem("site.cert.pem")], ...options });
  open.push(egress);
  return egress;
}

const get = (egress: UndiciEgress, url: string, more: Partial<ExchangeRequest> = {}) =>
  egress.exchange({ url, method: "GET", headers: [], signal: AbortSignal.timeout(10_000), ...more });

async function read(egress: UndiciEgress, url: string, more: Partial<ExchangeRequest> = {}) {
  const exchange = await get(egress, url, more);
  if (exchange.kind === "failed") throw new Error(`${exchange.problem}: ${exchange.detail}`);
  return { ...exchange, text: Buffer.concat(await Array.fromAsync(exchange.body)).toString() };
}

let site: HostileSite;
beforeAll(async () => {
  site = await hostileSite({
    plays: {
      "/utf8": (socket) =>
        void socket.write(answer("302 Found", []).toString().replace("\r\n\r\n", "\r\nLocation: /ü\r\n\r\n")),
      "/latin1": (socket) =>
        void socket.write(
          Buffer.from("HTTP/1.1 302 Found\r\nLocation: /\xfc\r\nContent-Length: 0\r\n\r\n", "latin1"),
        ),
      "/twice": (socket) => void socket.write(answer("200 OK", ["X-Two: a", "X-Two: b"])),
      "/closing": (socket) => void socket.end(answer("200 OK", ["Connection: close"], "bye")),
      "/then-gone": (socket) => {
        socket.write(answer("200 OK", [], "last"));
        // Without a word, and after the client has put the connection away.
        setTimeout(() => socket.destroy(), 50);
      },
    },
  });
  open.push(site);
});

describe("names", () => {
  let dns: DnsServer;
  beforeAll(async () => {
    dns = await dnsServer({
      "one.test": ["127.0.0.1"],
      "mixed.test": ["93.184.215.14", "10.0.0.1"],
      "mixed6.test": ["127.0.0.1", "fd00::1"],
      "inside.test": ["10.0.0.1"],
      "mapped.test": ["::ffff:169.254.169.254"],
      "nat64.test": ["64:ff9b::a9fe:a9fe"],
      "zero.test": ["0.0.0.0"],
      "rebind.test": [["127.0.0.1"], ["127.0.0.2"]],
      "dead-first.test": ["127.0.0.9", "127.0.0.1"],
      "nothing.test": [],
      "broken.test": "SERVFAIL",
      "silent.test": "silent",
    });
    open.push(dns);
  });
  const out = (options: Partial<UndiciEgressOptions> = {}) =>
    way({ judge: PUBLIC, dns_servers: [dns.address], ...options });

  test("are asked of the servers given, and the judged address is connected to", async () => {
    const { text, address } = await read(out(), `http://one.test:${site.port}/page`);
    expect([text, address]).toEqual(["<title>/page</title>", "127.0.0.1"]);
    expect(dns.asked("one.test")).toBe(1);
    expect(site.requests.at(-1)!.headers.get("host")).toBe(`one.test:${site.port}`);
  });

  test.each([
    ["mixed.test", "blocked_destination"],
    ["mixed6.test", "blocked_destination"],
    ["inside.test", "dns_nxdomain"],
    ["mapped.test", "dns_nxdomain"],
    ["nat64.test", "dns_nxdomain"],
    ["zero.test", "dns_nxdomain"],
    ["nothing.test", "dns_error"],
    ["broken.test", "dns_error"],
    ["nowhere.test", "dns_nxdomain"],
  ])("%s ends as %s", async (name, problem) => {
    const before = site.requests.length;
    const exchange = await get(out(), `http://${name}:${site.port}/`);
    expect(exchange).toMatchObject({ kind: "failed", problem, connected: false });
    // The caller is not told where the name leads.
    expect((exchange as { detail: string }).detail).not.toMatch(/\d+\.\d+\.\d+\.\d+|fd00|64:ff9b/);
    expect(site.requests.length).toBe(before);
  });

  test("that lead inside only are answered as names that do not exist; the operator hears of them", async () => {
    const hidden: string[] = [];
    const egress = out({ onHiddenName: (name) => hidden.push(name) });
    const answerOf = async (name: string) => {
      const { ms: _, ...ended } = (await get(egress, `http://${name}:${site.port}/`)) as { ms: number };
      return JSON.stringify(ended).replaceAll(name, "NAME");
    };
    expect(await answerOf("inside.test")).toBe(await answerOf("nowhere.test"));
    expect(hidden).toEqual(["inside.test"]);
  });

  test("of this machine are no secret: localhost is refused as its addresses are", async () => {
    const judge: Judge = { url: () => "resolve", address: () => "blocked_destination" };
    const local = out({ judge, dns_servers: [] });
    expect(await get(local, `http://localhost:${site.port}/`)).toMatchObject({
      problem: "blocked_destination",
    });
  });

  test("without an answer end with the time to connect", async () => {
    const exchange = await get(out(), "http://silent.test/", { connect_timeout_ms: 200 });
    expect(exchange).toMatchObject({ problem: "timeout", connected: false });
    expect((exchange as { ms: number }).ms).toBeLessThan(1_500);
  });

  test("are resolved once for each connection; a later answer is checked for the next connection", async () => {
    const egress = out();
    const url = `http://rebind.test:${site.port}/`;
    await read(egress, url);
    await read(egress, url);
    expect(dns.asked("rebind.test")).toBe(1);
    // A POST opens a connection of its own.
    expect(await get(egress, url, { method: "POST" })).toMatchObject({ problem: "dns_nxdomain" });
    expect(dns.asked("rebind.test")).toBe(2);
  });

  test("with an address that refuses are reached by the next one", async () => {
    const judge: Judge = { url: PUBLIC.url, address: LOOPBACK.address };
    const { address } = await read(out({ judge }), `http://dead-first.test:${site.port}/`);
    expect(address).toBe("127.0.0.1");
  });

  test("a socket that is not where it should be is closed before a byte is written", async () => {
    // The second look: the rule changes its mind between the resolver and the socket.
    let looks = 0;
    const judge: Judge = {
      url: PUBLIC.url,
      address: () => (++looks === 1 ? "allowed" : "blocked_destination"),
    };
    const before = site.requests.length;
    expect(await get(out({ judge }), `http://one.test:${site.port}/`)).toMatchObject({
      problem: "blocked_destination",
    });
    expect([looks, site.requests.length]).toEqual([2, before]);
  });

  test("resolvers that are no addresses are refused at the start", () => {
    expect(() => undiciEgress({ judge: PUBLIC, dns_servers: ["resolver.example"] })).toThrow(
      /Invalid IP address/,
    );
  });
});

describe("addresses", () => {
  test.each([
    "http://127.0.0.1",
    "http://[::ffff:127.0.0.1]",
    "http://2130706433",
    "http://user:secret@127.1",
  ])("%s is judged though nothing is resolved", async (origin) => {
    const strict = way({ judge: destination() });
    const before = site.requests.length;
    expect(await get(strict, `${origin}:${site.port}/`)).toMatchObject({ problem: "blocked_destination" });
    expect(site.requests.length).toBe(before);
    // The address is reached when it is allowed: it was the rule that stopped it.
    expect((await read(way(), `${origin}:${site.port}/`)).status).toBe(200);
  });

  test("without a listener are refused", async () => {
    expect(await get(way(), "http://127.0.0.1:9/")).toMatchObject({ problem: "blocked_destination" });
    const closed = await hostileSite();
    await closed.close();
    expect(await get(way(), `${closed.origin}/`)).toMatchObject({
      problem: "network_refused",
      connected: false,
    });
  });
});

describe("requests", () => {
  test("carry the caller's fields in their order, with the connection's own", async () => {
    await read(way(), `${site.origin}/fields#fragment`, {
      headers: [
        ["User-Agent", "x"],
        ["Host", "evil.example"],
        ["Accept-Language", "de"],
        ["X-Last", "1"],
      ],
    });
    const { raw, path } = site.requests.at(-1)!;
    expect(path).toBe("/fields");
    expect(raw).toEqual([
      "host",
      `127.0.0.1:${site.port}`,
      "connection",
      "keep-alive",
      "User-Agent",
      "x",
      "Accept-Encoding",
      "gzip, deflate, br, zstd",
      "Accept-Language",
      "de",
      "X-Last",
      "1",
    ]);
  });

  test("never carry the user part of a URL", async () => {
    await read(way(), `http://user:secret@127.0.0.1:${site.port}/`);
    expect(JSON.stringify(site.requests.at(-1))).not.toContain("secret");
  });

  test("with a body are sent with it, once, on a connection of their own", async () => {
    const egress = way();
    await read(egress, `${site.origin}/`);
    const before = site.requests.length;
    await read(egress, `${site.origin}/hook`, { method: "POST", body: Buffer.from("{}\r\n\r\n") });
    expect(site.requests[before]).toMatchObject({ method: "POST", path: "/hook" });
    expect(site.requests[before]!.headers.get("content-length")).toBe("6");
    expect(await get(egress, `${site.origin}/reset-at-once`, { method: "POST" })).toMatchObject({
      problem: "network_reset",
    });
    expect(site.requests.filter(({ path }) => path === "/reset-at-once")).toHaveLength(1);
  });

  test("that cannot be sent are their author's mistake", async () => {
    const egress = way();
    await expect(get(egress, `${site.origin}/`, { headers: [["X-Bad", "a\nb"]] })).rejects.toThrow(TypeError);
    expect(egress.open()).toMatchObject({ exchanges: 0, connections: 0 });
  });

  test("after closing are not made", async () => {
    const egress = way();
    await egress.close();
    expect(await get(egress, `${site.origin}/`)).toMatchObject({ problem: "aborted" });
  });
});

describe("answers", () => {
  test.each(["/utf8", "/latin1"])("have their fields read as what they are (%s)", async (path) => {
    expect((await read(way(), `${site.origin}${path}`)).headers.get("location")).toEqual(["/ü"]);
  });

  test("keep repeated fields apart and in order", async () => {
    expect((await read(way(), `${site.origin}/twice`)).headers.get("x-two")).toEqual(["a", "b"]);
  });

  test.each([
    ["headers", "/silent", { headers_timeout_ms: 100 }],
    ["the next piece", "/stalled-body", { idle_timeout_ms: 100 }],
  ])("that let one wait for %s end as timeout", async (_, path, limits) => {
    const egress = way();
    await expect(read(egress, `${site.origin}${path}`, limits)).rejects.toThrow(/time|stopped/);
    expect(egress.open()).toEqual({ exchanges: 0, connections: 0, idle: 0 });
  });

  test("come no faster than they are read", async () => {
    const exchange = await get(way(), `${site.origin}/endless-chunks`);
    if (exchange.kind === "failed") throw new Error(exchange.detail);
    const pieces = exchange.body[Symbol.asyncIterator]();
    const rss = process.memoryUsage.rss();
    // The origin sends as fast as it can for all this time; what is not asked for stays with it.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(process.memoryUsage.rss() - rss).toBeLessThan(16 * 2 ** 20);
    expect((await pieces.next()).value!.length).toBeGreaterThan(0);
    exchange.cancel();
    await expect(pieces.next()).rejects.toMatchObject({ problem: "aborted" });
  });
});

describe("connections", () => {
  test("are kept for the next exchange with the same origin, and closed when idle", async () => {
    const egress = way({ limits: { idle_ms: 100 } });
    const own = await hostileSite();
    open.push(own);
    const first = await read(egress, `${own.origin}/`);
    const second = await read(egress, `${own.origin}/`);
    expect(own.sockets()).toBe(1);
    expect(second.timings).toMatchObject({ dns_ms: 0, connect_ms: 0, tls_ms: 0 });
    expect(first.status).toBe(200);
    await own.emptied();
    expect(egress.open()).toEqual({ exchanges: 0, connections: 0, idle: 0 });
  });

  test("that are idle keep nothing of the exchange that opened them", async () => {
    const egress = way();
    const secured = await hostileSite({ tls: true });
    open.push(secured);
    const signalOf = async (origin: string): Promise<WeakRef<AbortSignal>> => {
      const { signal } = new AbortController();
      await read(egress, `${origin}/`, { signal });
      return new WeakRef(signal);
    };
    const signals = [await signalOf(site.origin), await signalOf(secured.origin)];
    const inspector = new Session();
    inspector.connect();
    const left = async () => {
      await inspector.post("HeapProfiler.collectGarbage");
      return signals.map((signal) => signal.deref());
    };
    await expect.poll(left).toEqual([undefined, undefined]);
    inspector.disconnect();
    expect(egress.open().idle).toBe(2);
  });

  test("that died unseen are replaced without an error", async () => {
    const egress = way();
    for (let round = 0; round < 5; round++) {
      expect((await read(egress, `${site.origin}/then-gone`)).text).toBe("last");
      await new Promise((resolve) => setTimeout(resolve, 20 * round));
      expect((await read(egress, `${site.origin}/`)).status).toBe(200);
    }
  });

  test("the origin closes are not kept", async () => {
    const egress = way();
    expect((await read(egress, `${site.origin}/closing`)).text).toBe("bye");
    expect(egress.open().idle).toBe(0);
  });

  test("are not used again when they are old, or when their address is not allowed any more", async () => {
    const own = await hostileSite();
    open.push(own);
    const brief = way({ limits: { reuse_ms: 0 } });
    await read(brief, `${own.origin}/`);
    expect(brief.open()).toEqual({ exchanges: 0, connections: 0, idle: 0 });
    let address: ReturnType<Judge["address"]> = "allowed";
    const strict = way({ judge: { ...LOOPBACK, url: () => "resolve", address: () => address } });
    await read(strict, `${own.origin}/`);
    expect(strict.open().idle).toBe(1);
    address = "blocked_destination";
    expect(await get(strict, `${own.origin}/`)).toMatchObject({ problem: "blocked_destination" });
    expect(strict.open()).toEqual({ exchanges: 0, connections: 0, idle: 0 });
  });

  test("are bounded for one origin and altogether", async () => {
    const egress = way({ limits: { idle: 3, idle_per_origin: 2 } });
    const others = await Promise.all([hostileSite(), hostileSite()]);
    open.push(...others);
    for (const { origin } of [site, ...others]) {
      await Promise.all(Array.from({ length: 4 }, () => read(egress, `${origin}/`)));
      expect(egress.open().idle).toBeLessThanOrEqual(3);
      expect(egress.open().connections).toBe(egress.open().idle);
    }
    expect(egress.open().idle).toBe(3);
  });

  test("beyond the number of exchanges wait their turn, and no longer than connecting may take", async () => {
    const egress = way({ limits: { exchanges: 1 } });
    const first = await get(egress, `${site.origin}/stalled-body`);
    const waiting = get(egress, `${site.origin}/`);
    expect(await get(egress, `${site.origin}/`, { connect_timeout_ms: 50 })).toMatchObject({
      problem: "timeout",
    });
    if (first.kind === "answered") first.cancel();
    const second = await waiting;
    expect(second).toMatchObject({ kind: "answered", status: 200 });
    if (second.kind === "answered") await Array.fromAsync(second.body);
    expect(egress.open().exchanges).toBe(0);
  });
});

describe("TLS", () => {
  let secure: HostileSite;
  beforeAll(async () => {
    secure = await hostileSite({ tls: true });
    open.push(secure);
  });

  test("is used when the certificate names the host", async () => {
    expect((await read(way(), `${secure.origin}/`)).status).toBe(200);
    expect((await read(way(), `https://localhost:${secure.port}/`)).status).toBe(200);
  });

  test("is refused when the certificate names another host", async () => {
    const dns = await dnsServer({ "other.test": ["127.0.0.1"] });
    open.push(dns);
    const egress = way({ dns_servers: [dns.address] });
    expect(await get(egress, `https://other.test:${secure.port}/`)).toMatchObject({
      problem: "tls_error",
      detail: expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
    });
  });

  test("is refused when no trusted root signed the certificate", async () => {
    expect(await get(way({ ca: [] }), `${secure.origin}/`)).toMatchObject({
      problem: "tls_error",
      detail: expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT"),
    });
  });

  test("is a tls_error with a server that has none", async () => {
    const plain = createServer(
      (socket) => void socket.on("error", () => {}).end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    );
    await new Promise<void>((resolve) => void plain.listen(0, "127.0.0.1", resolve));
    const { port } = plain.address() as AddressInfo;
    expect(await get(way(), `https://127.0.0.1:${port}/`)).toMatchObject({
      problem: "tls_error",
      connected: true,
    });
    plain.close();
  });

  test("is given up when the handshake stalls", async () => {
    const mute = await hostileSite({ plays: {} });
    open.push(mute);
    // The plain site reads the greeting for a head that never ends.
    expect(await get(way(), `https://127.0.0.1:${mute.port}/`, { connect_timeout_ms: 200 })).toMatchObject({
      problem: "timeout",
      connected: true,
    });
    await mute.emptied();
  });

  test.each([
    [true, "h2"],
    [undefined, "h2"],
    [false, "http/1.1"],
  ])("offers HTTP/2 with the option %s", async (http2, expected) => {
    const server = createSecureServer({
      key: pem("site.key.pem"),
      cert: pem("site.cert.pem"),
      allowHTTP1: true,
    });
    server.on("request", (request, response) => {
      response.end(request.httpVersionMajor === 2 ? "h2" : "http/1.1");
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const egress = way(http2 === undefined ? {} : { http2 });
    const { port } = server.address() as AddressInfo;
    expect((await read(egress, `https://127.0.0.1:${port}/`)).text).toBe(expected);
    await egress.close();
    server.close();
  });

  test("carries too many fields over HTTP/2 no further", async () => {
    const server = createSecureServer({ key: pem("site.key.pem"), cert: pem("site.cert.pem") });
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      stream.respond({
        ":status": 200,
        ...Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`x-${n}`, "1"])),
      });
      stream.end("x");
    });
    server.on("sessionError", () => {});
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const egress = way();
    const { port } = server.address() as AddressInfo;
    expect(await get(egress, `https://127.0.0.1:${port}/`)).toMatchObject({ kind: "failed" });
    expect(egress.open()).toEqual({ exchanges: 0, connections: 0, idle: 0 });
    server.close();
  });
});

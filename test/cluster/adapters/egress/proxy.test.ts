/** The browser's way out: a proxy that lets through what egress would, and nothing else. */
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { destination } from "../../../../actors/lib/web/destination.ts";
import type { Judge } from "../../../../cluster/adapters/egress/pinned-connect.ts";
import {
  type EgressProxyServer,
  egressProxy,
  type EgressProxyOptions,
} from "../../../../cluster/adapters/egress/egress.proxy.ts";
import type { ProxySession } from "../../../../cluster/ports/egress-proxy.ts";
import { type DnsServer, dnsServer } from "../../../harness/dns-server.ts";
import { answer, type HostileSite, hostileSite, pem } from "../../../harness/hostile-site.ts";

const loopback = destination({ allow: ["127.0.0.0/8"] });
/** 127.0.0.1 stands for a public address. */
const judge: Judge = {
  url: loopback.url,
  address: (address, port) => (address === "127.0.0.1" ? "allowed" : destination().address(address, port)),
};

const open: { close: () => Promise<void> }[] = [];
afterAll(() => Promise.all(open.map((one) => one.close())));

let site: HostileSite;
let secure: HostileSite;
let dns: DnsServer;
let refused: string[];
beforeEach(() => {
  refused = [];
});
beforeAll(async () => {
  site = await hostileSite({
    plays: {
      "/connection": (socket, { raw }) =>
        void socket.write(answer("200 OK", ["X-Hop: 1", "Connection: X-Hop"], raw.join("|"))),
      // An echo, as a WebSocket is to a tunnel: bytes both ways, for as long as both like.
      "/echo": (socket) => {
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        socket.removeAllListeners("data");
        socket.on("data", (bytes) => void socket.write(bytes));
      },
    },
  });
  secure = await hostileSite({ tls: true });
  dns = await dnsServer({
    "one.test": ["127.0.0.1"],
    "mixed.test": ["127.0.0.1", "10.0.0.1"],
    "rebind.test": [["127.0.0.1"], ["127.0.0.2"]],
  });
  open.push(site, secure, dns);
});

async function proxied(options: Partial<EgressProxyOptions> = {}): Promise<EgressProxyServer> {
  const proxy = await egressProxy({
    judge,
    dns_servers: [dns.address],
    onRefused: (host, problem) => void refused.push(`${host} ${problem}`),
    ...options,
  });
  open.push(proxy);
  return proxy;
}

/** All bytes that arrive until they match, or until the other side closes. */
async function until(socket: Socket, enough: RegExp): Promise<string> {
  let text = "";
  const closed = once(socket, "close");
  while (!enough.test(text)) {
    const piece = await Promise.race([once(socket, "data"), closed.then(() => null)]);
    if (piece === null) break;
    text += String(piece[0]);
  }
  return text;
}

async function say({ url }: EgressProxyServer, text: string): Promise<{ socket: Socket; reply: string }> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write(text);
  return { socket, reply: await until(socket, /\r\n\r\n[^]*/) };
}

/** The field a browser shows its pass in. */
const shown = ({ username, password }: Pick<ProxySession, "username" | "password">): string =>
  `Proxy-Authorization: Basic ${Buffer.from(`${username}:${password}`).toString("base64")}\r\n`;
const tunnel = (proxy: EgressProxyServer, to: string, pass = shown(proxy.openSession())) =>
  say(proxy, `CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n${pass}\r\n`);
const plain = (proxy: EgressProxyServer, url: string, fields = "", pass = shown(proxy.openSession())) =>
  say(proxy, `GET ${url} HTTP/1.1\r\nHost: x\r\n${pass}${fields}Connection: close\r\n\r\n`);

describe("a tunnel", () => {
  test("leads to the judged address, and carries TLS that the proxy does not see into", async () => {
    const { socket, reply } = await tunnel(await proxied(), `one.test:${secure.port}`);
    expect(reply).toMatch(/^HTTP\/1.1 200 /);
    const tls = connectTls({ socket, servername: "site.test", ca: pem("site.cert.pem") });
    tls.write("GET /inside HTTP/1.1\r\nHost: site.test\r\n\r\n");
    expect(await until(tls, /<\/title>/)).toContain("<title>/inside</title>");
    tls.destroy();
  });

  test("carries WebSockets", async () => {
    const proxy = await proxied();
    const { socket } = await tunnel(proxy, `one.test:${site.port}`);
    socket.write("GET /echo HTTP/1.1\r\nHost: one.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    expect(await until(socket, /\r\n\r\n/)).toContain("101");
    socket.write("ping");
    expect(await until(socket, /ping/)).toBe("ping");
    socket.destroy();
  });

  test.each([
    ["127.0.0.2:80", 403],
    ["10.0.0.1:443", 403],
    ["169.254.169.254:80", 403],
    ["[::1]:443", 403],
    ["[::ffff:10.0.0.1]:443", 403],
    ["2852039166:80", 403],
    ["mixed.test:443", 403],
    ["one.test:27017", 403],
    ["nowhere.test:443", 502],
    ["one.test", 400],
    ["user@one.test:443", 400],
    ["/etc/passwd:1", 400],
  ])("to %s is answered %i", async (to, status) => {
    const strict: Judge = { url: destination().url, address: judge.address };
    const { reply } = await tunnel(await proxied({ judge: strict }), to);
    expect(reply.split("\r\n")[0]).toContain(` ${status} `);
  });

  test("is reported when it fails", async () => {
    await tunnel(await proxied(), "mixed.test:443");
    expect(refused).toEqual(["mixed.test blocked_destination"]);
  });

  test("is judged anew each time: a name that moved inside leads nowhere", async () => {
    const proxy = await proxied();
    expect((await tunnel(proxy, `rebind.test:${site.port}`)).reply).toContain(" 200 ");
    expect((await tunnel(proxy, `rebind.test:${site.port}`)).reply).toContain(" 502 ");
  });

  test("is cut when it brings in too much, or nothing for too long", async () => {
    const small = await proxied({ limits: { received_bytes: 100_000 } });
    const { socket } = await tunnel(small, `one.test:${site.port}`);
    socket.write("GET /endless-chunks HTTP/1.1\r\nHost: one.test\r\n\r\n");
    expect((await until(socket, /^$/)).length).toBeLessThan(1_000_000);
    const hasty = await proxied({ limits: { idle_ms: 50 } });
    const silent = await tunnel(hasty, `one.test:${site.port}`);
    await once(silent.socket, "close");
    await expect.poll(hasty.open).toEqual({ from_browser: 0, to_origins: 0 });
  });
});

describe("plain http", () => {
  test("is passed on without what is the connection's", async () => {
    const { socket, reply } = await plain(
      await proxied(),
      `http://one.test:${site.port}/connection?x=1`,
      "X-Kept: 1\r\nProxy-Connection: keep-alive\r\n",
    );
    const all = reply + (await until(socket, /^$/));
    expect(all).toMatch(/^HTTP\/1.1 200 /);
    expect(all).toContain(`one.test:${site.port}`);
    expect(all).toContain("x-kept|1");
    expect(all.toLowerCase()).not.toMatch(/proxy-|x-hop/);
    expect(site.requests.at(-1)!.path).toBe("/connection?x=1");
  });

  test.each([
    ["http://10.0.0.1/", 403],
    ["http://mixed.test/", 403],
    ["http://127.0.0.2/", 403],
    ["http://nowhere.test/", 502],
    ["/", 400],
    ["https://one.test/", 400],
    ["ftp://one.test/", 400],
  ])("to %s is answered %i", async (url, status) => {
    const strict: Judge = { url: destination().url, address: judge.address };
    const { reply } = await plain(await proxied({ judge: strict }), url);
    expect(reply.split("\r\n")[0]).toContain(` ${status} `);
  });

  test.each(["/reset-in-body", "/close-in-fields", "/garbage", "/fields-300k"])(
    "that breaks (%s) ends the browser's connection, and the next one works",
    async (path) => {
      const proxy = await proxied();
      const { socket } = await plain(proxy, `http://one.test:${site.port}${path}`);
      if (!socket.closed) await once(socket, "close");
      expect((await plain(proxy, `http://one.test:${site.port}/next`)).reply).toContain(" 200 ");
    },
  );
});

describe("a pass", () => {
  test.each([
    ["none", ""],
    ["a wrong one", shown({ username: "a", password: "b" })],
    ["a password without its name", shown({ username: "", password: "b" })],
  ])("is asked for, and %s opens nothing", async (_, pass) => {
    const proxy = await proxied();
    expect((await tunnel(proxy, `one.test:${site.port}`, pass)).reply).toMatch(
      / 407 [^]*Proxy-Authenticate: Basic/,
    );
    expect((await plain(proxy, `http://one.test:${site.port}/`, "", pass)).reply).toContain(" 407 ");
    expect(proxy.open().to_origins).toBe(0);
  });

  test("is refused after it was closed, and its open connections are cut", async () => {
    const proxy = await proxied();
    const pass = proxy.openSession();
    const other = await tunnel(proxy, `one.test:${site.port}`);
    const { socket, reply } = await tunnel(proxy, `one.test:${site.port}`, shown(pass));
    expect(reply).toContain(" 200 ");
    pass.close();
    await once(socket, "close");
    expect((await tunnel(proxy, `one.test:${site.port}`, shown(pass))).reply).toContain(" 407 ");
    expect(other.socket.closed).toBe(false);
    other.socket.destroy();
  });

  test("counts what it brought in, and ends at its limit", async () => {
    const proxy = await proxied();
    const pass = proxy.openSession({ received_bytes: 100_000 });
    await plain(proxy, `http://one.test:${site.port}/small`, "", shown(pass));
    await expect.poll(pass.received_bytes).toBeGreaterThan(50);
    const { socket } = await plain(proxy, `http://one.test:${site.port}/endless-chunks`, "", shown(pass));
    expect((await until(socket, /^$/)).length).toBeLessThan(1_000_000);
    expect((await plain(proxy, `http://one.test:${site.port}/small`, "", shown(pass))).reply).toContain(
      " 502 ",
    );
  });

  test("has only so many connections at once", async () => {
    const proxy = await proxied();
    const pass = proxy.openSession({ connections: 1 });
    const first = await tunnel(proxy, `one.test:${site.port}`, shown(pass));
    expect((await tunnel(proxy, `one.test:${site.port}`, shown(pass))).reply).toContain(" 502 ");
    first.socket.destroy();
  });

  test("knows why a host was not reached, until it is", async () => {
    const proxy = await proxied();
    const pass = proxy.openSession();
    await tunnel(proxy, "nowhere.test:443", shown(pass));
    await plain(proxy, "http://mixed.test/", "", shown(pass));
    await tunnel(proxy, `one.test:${site.port}`, shown(pass));
    expect(["nowhere.test", "mixed.test", `one.test:${site.port}`].map(pass.failureFor)).toEqual([
      "dns_nxdomain",
      "blocked_destination",
      null,
    ]);
  });
});

describe("an allowed private network", () => {
  /** 127.0.0.1 is public, 127.0.0.7 and 127.0.0.8 are private and allowed. */
  const ALLOWED = ["127.0.0.7", "127.0.0.8"];
  const intranet: Judge = {
    url: loopback.url,
    address: (address, port, networks = ALLOWED) =>
      networks.includes(address) ? "private" : judge.address(address, port),
  };
  let zone: Record<string, string[]>;
  async function started() {
    zone = {
      "public.test": ["127.0.0.1"],
      "wiki.test": ["127.0.0.7"],
      "other.test": ["127.0.0.8"],
      "both.test": ["127.0.0.1", "127.0.0.7"],
      "moving.test": ["127.0.0.1"],
    };
    const names = await dnsServer(zone);
    const inside = createServer((_, response) => response.end("inside")).listen(0, "0.0.0.0");
    await once(inside, "listening");
    open.push(names, { close: async () => void inside.close() });
    const { port } = inside.address() as AddressInfo;
    const proxy = await proxied({ judge: intranet, dns_servers: [names.address] });
    return { proxy, at: (host: string) => `${host}:${port}` };
  }
  /** As a name that does not exist. */
  const UNKNOWN = [502, 502];
  const statusOf = ({ reply }: { reply: string }): number => Number(/^HTTP\/1.1 (\d+)/.exec(reply)?.[1]);

  test("is reached by requests to the document's own origin only", async () => {
    const { proxy, at } = await started();
    const pass = proxy.openSession();
    const ask = async (host: string) => [
      statusOf(await plain(proxy, `http://${at(host)}/`, "", shown(pass))),
      statusOf(await tunnel(proxy, at(host), shown(pass))),
    ];
    expect(await ask("wiki.test")).toEqual(UNKNOWN);
    pass.enterDocument(`http://${at("wiki.test")}/`);
    expect(await ask("wiki.test")).toEqual([200, 200]);
    expect(await ask("other.test")).toEqual(UNKNOWN);
    expect(await ask("public.test")).toEqual([200, 200]);
    expect(pass.documentNetwork()).toBe("private");
    // The next document is another intranet page: the first one is closed, and what led to it is cut.
    const before = await tunnel(proxy, at("wiki.test"), shown(pass));
    pass.enterDocument(`http://${at("other.test")}/`);
    await once(before.socket, "close");
    expect(await ask("other.test")).toEqual([200, 200]);
    expect(await ask("wiki.test")).toEqual(UNKNOWN);
  });

  test("is closed to a session of which one document was public", async () => {
    const { proxy, at } = await started();
    const pass = proxy.openSession();
    pass.enterDocument(`http://${at("public.test")}/`);
    await plain(proxy, `http://${at("public.test")}/`, "", shown(pass));
    expect(pass.documentNetwork()).toBe("public");
    pass.enterDocument(`http://${at("wiki.test")}/`);
    expect(statusOf(await plain(proxy, `http://${at("wiki.test")}/`, "", shown(pass)))).toBe(502);
    expect(statusOf(await tunnel(proxy, at("127.0.0.7"), shown(pass)))).toBe(403);
  });

  test("is closed also when the public document came over a connection that was there before", async () => {
    const { proxy, at } = await started();
    const pass = proxy.openSession();
    pass.enterDocument(`http://${at("wiki.test")}/`);
    await plain(proxy, `http://${at("wiki.test")}/`, "", shown(pass));
    await plain(proxy, `http://${at("public.test")}/`, "", shown(pass));
    pass.enterDocument(`http://${at("public.test")}/`);
    expect(pass.documentNetwork()).toBe("public");
    pass.enterDocument(`http://${at("wiki.test")}/`);
    expect(statusOf(await plain(proxy, `http://${at("wiki.test")}/`, "", shown(pass)))).toBe(502);
  });

  test("is not for a session without networks", async () => {
    const { proxy, at } = await started();
    const pass = proxy.openSession({ networks: [] });
    pass.enterDocument(`http://${at("wiki.test")}/`);
    expect(statusOf(await plain(proxy, `http://${at("wiki.test")}/`, "", shown(pass)))).toBe(502);
    expect(pass.failureFor(at("wiki.test"))).toBe("dns_nxdomain");
  });

  test("a name keeps its addresses for the session, whatever its server says later", async () => {
    const { proxy, at } = await started();
    const pass = proxy.openSession();
    pass.enterDocument(`http://${at("moving.test")}/`);
    const ask = () => plain(proxy, `http://${at("moving.test")}/`, "", shown(pass));
    expect((await ask()).reply).toContain("inside");
    zone["moving.test"] = ["127.0.0.7"];
    // Closes the connection that is kept.
    await plain(proxy, `http://${at("moving.test")}/`, "", shown(pass));
    const { socket } = await tunnel(proxy, at("moving.test"), shown(pass));
    socket.write("GET / HTTP/1.1\r\nHost: moving.test\r\n\r\n");
    expect(await until(socket, /inside/)).toContain("inside");
    expect(pass.documentNetwork()).toBe("public");
    const next = proxy.openSession();
    next.enterDocument(`http://${at("moving.test")}/`);
    await tunnel(proxy, at("moving.test"), shown(next));
    expect(next.documentNetwork()).toBe("private");
  });

  test("a name with addresses of both kinds is a private one", async () => {
    const { proxy, at } = await started();
    const pass = proxy.openSession();
    pass.enterDocument(`http://${at("both.test")}/`);
    expect(statusOf(await tunnel(proxy, at("both.test"), shown(pass)))).toBe(200);
    expect(pass.documentNetwork()).toBe("private");
    const other = proxy.openSession();
    expect(statusOf(await tunnel(proxy, at("both.test"), shown(other)))).toBe(403);
  });
});

test("a session ends with its limit of requests, and its owner hears which", async () => {
  const proxy = await proxied();
  const heard: string[] = [];
  const pass = proxy.openSession({ requests: 2, onLimit: (limit) => void heard.push(limit) });
  const url = `http://one.test:${site.port}/small`;
  for (let n = 0; n < 2; n++) expect((await plain(proxy, url, "", shown(pass))).reply).toContain(" 200 ");
  expect([(await plain(proxy, url, "", shown(pass))).reply, heard]).toEqual(["", ["requests"]]);
  expect((await tunnel(proxy, `one.test:${site.port}`, shown(pass))).reply).toBe("");
  expect((await plain(proxy, url)).reply).toContain(" 200 ");
});

test("the last bytes of an origin arrive although it has closed and the browser is slow", async () => {
  const big = "x".repeat(4 * 2 ** 20);
  const own = await hostileSite({
    plays: { "/big": (socket) => void socket.end(answer("200 OK", [], big)) },
  });
  open.push(own);
  const { socket } = await tunnel(await proxied(), `one.test:${own.port}`);
  socket.pause();
  socket.write("GET /big HTTP/1.1\r\nHost: one.test\r\n\r\n");
  await expect.poll(() => own.requests.length).toBe(1);
  let bytes = 0;
  socket.on("data", (piece: Buffer) => {
    bytes += piece.length;
    socket.pause();
    setImmediate(() => socket.resume());
  });
  socket.resume();
  await once(socket, "close");
  expect(bytes).toBeGreaterThan(big.length);
});

test("a connection over the limit is answered 503", async () => {
  const proxy = await proxied({ limits: { connections: 1 } });
  const { socket } = await tunnel(proxy, `one.test:${site.port}`);
  expect((await tunnel(proxy, `one.test:${site.port}`)).reply).toContain(" 503 ");
  socket.destroy();
});

test("nothing is left when it closes", async () => {
  const own = await hostileSite();
  open.push(own);
  const proxy = await proxied();
  const { socket } = await tunnel(proxy, `one.test:${own.port}`);
  expect(proxy.open()).toEqual({ from_browser: 1, to_origins: 1 });
  await Promise.all([proxy.close(), once(socket, "close"), own.emptied()]);
  expect(proxy.open()).toEqual({ from_browser: 0, to_origins: 0 });
});

test("a browser that leaves while its connection is made leaves nothing behind", async () => {
  const slow = await dnsServer({ "slow.test": "silent" });
  open.push(slow);
  const proxy = await proxied({ dns_servers: [slow.address] });
  const socket = connect(Number(new URL(proxy.url).port), "127.0.0.1");
  socket.write(`CONNECT slow.test:443 HTTP/1.1\r\nHost: slow.test\r\n${shown(proxy.openSession())}\r\n`);
  await once(socket, "connect");
  socket.destroy();
  await once(socket, "close");
  await proxy.close();
  expect([proxy.open(), refused]).toEqual([{ from_browser: 0, to_origins: 0 }, []]);
});

describe("connections of plain http", () => {
  /** An origin that tells on which of its connections it was asked, and closes a connection after so many answers. */
  async function counting(answers_each = Infinity) {
    let connections = 0;
    const numbers = new WeakMap<object, { number: number; answers: number }>();
    const server = createServer((request, response) => {
      const here = numbers.get(request.socket)!;
      response.setHeader("Content-Length", "1");
      response.end(String(here.number));
      // Without a word beforehand, as origins do whose timeout ends.
      if (++here.answers >= answers_each) response.once("finish", () => request.socket.destroySoon());
    });
    server.on("connection", (socket) => numbers.set(socket, { number: ++connections, answers: 0 }));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    open.push({ close: async () => void server.close() });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }
  const bodyOf = async (proxy: EgressProxyServer, url: string, pass: string): Promise<string> =>
    (await plain(proxy, url, "", pass)).reply.split("\r\n\r\n")[1]!;

  test("are kept for the next request of the same session only", async () => {
    const [proxy, url] = [await proxied(), await counting()];
    const [mine, theirs] = [shown(proxy.openSession()), shown(proxy.openSession())];
    expect([await bodyOf(proxy, url, mine), await bodyOf(proxy, url, mine)]).toEqual(["1", "1"]);
    expect(await bodyOf(proxy, url, theirs)).toBe("2");
  });

  test("end with their page", async () => {
    const [proxy, url] = [await proxied(), await counting()];
    const pass = proxy.openSession();
    await bodyOf(proxy, url, shown(pass));
    expect(proxy.open().to_origins).toBe(1);
    pass.close();
    await expect.poll(() => proxy.open().to_origins).toBe(0);
  });

  test("that an origin closes between two requests are made anew", async () => {
    const [proxy, url] = [await proxied(), await counting(1)];
    const pass = shown(proxy.openSession());
    for (const number of ["1", "2", "3"]) expect(await bodyOf(proxy, url, pass)).toBe(number);
  });
});

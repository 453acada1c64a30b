/**
 * Everything that is sent or served in bad faith, through the whole service: URLs of private addresses, and a
 * site that does everything wrong. Each ends in the specified error within its deadline, the next request works, and
 * nothing is left behind. Malformed request bodies are in access.test.ts.
 */
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answer, HOSTILE, hostileSite, type HostileSite } from "../harness/hostile-site.ts";
import { scenario } from "../harness/scenario.ts";
import { type FetchResult, SETUPS } from "../harness/service.ts";
import { article, redirect } from "../harness/web.ts";

const BLOCKED = "blocked_destination";
const INVALID = "invalid_url";
/** As a name that does not exist. */
const UNKNOWN = "all_tiers_failed";

/** `PORT` stands for a listener on loopback that must never hear anything. */
const URLS: readonly (readonly [url: string, error: string])[] = [
  // Loopback, as it may be spelled.
  ["http://127.0.0.1:PORT/", BLOCKED],
  ["http://127.0.0.1:PORT/a?b#c", BLOCKED],
  ["http://127.1:PORT/", BLOCKED],
  ["http://127.0.1:PORT/", BLOCKED],
  ["http://2130706433:PORT/", BLOCKED],
  ["http://0x7f000001:PORT/", BLOCKED],
  ["http://0x7f.1:PORT/", BLOCKED],
  ["http://0177.0.0.1:PORT/", BLOCKED],
  ["http://017700000001:PORT/", BLOCKED],
  ["http://127.0.0.1.:PORT/", BLOCKED],
  ["http://①②⑦.⓪.⓪.①:PORT/", BLOCKED],
  ["http://127。0。0。1:PORT/", BLOCKED],
  ["http://%31%32%37.0.0.1:PORT/", BLOCKED],
  ["http:\\\\127.0.0.1:PORT\\", BLOCKED],
  ["http:127.0.0.1:PORT/", BLOCKED],
  ["  http://127.0.0.1:PORT/\n", BLOCKED],
  ["ht\ttp://127.0.0.1:PORT/", BLOCKED],
  ["HTTP://127.0.0.1:PORT/", BLOCKED],
  ["http://user:pass@127.0.0.1:PORT/", BLOCKED],
  ["http://example.org@127.0.0.1:PORT/", BLOCKED],
  ["https://127.0.0.1:PORT/", BLOCKED],
  ["http://localhost:PORT/", BLOCKED],
  ["http://LOCALHOST:PORT/", BLOCKED],
  ["http://localhost.:PORT/", BLOCKED],
  ["http://a.localhost:PORT/", BLOCKED],
  ["http://127.255.255.254:PORT/", BLOCKED],
  ["http://0:PORT/", BLOCKED],
  ["http://0.0.0.0:PORT/", BLOCKED],
  ["http://[::]:PORT/", BLOCKED],
  ["http://[::1]:PORT/", BLOCKED],
  ["http://[0:0:0:0:0:0:0:1]:PORT/", BLOCKED],
  ["http://[::ffff:127.0.0.1]:PORT/", BLOCKED],
  ["http://[::ffff:7f00:1]:PORT/", BLOCKED],
  ["http://[::127.0.0.1]:PORT/", BLOCKED],
  ["http://[64:ff9b::7f00:1]:PORT/", BLOCKED],
  ["http://[2002:7f00:1::]:PORT/", BLOCKED],
  // Private, shared, reserved.
  ["http://10.0.0.1/", BLOCKED],
  ["http://172.16.0.1/", BLOCKED],
  ["http://172.31.255.255/", BLOCKED],
  ["http://192.168.1.1/", BLOCKED],
  ["http://100.64.0.1/", BLOCKED],
  ["http://198.18.0.1/", BLOCKED],
  ["http://192.0.2.1/", BLOCKED],
  ["http://224.0.0.1/", BLOCKED],
  ["http://255.255.255.255/", BLOCKED],
  ["http://[fc00::1]/", BLOCKED],
  ["http://[fe80::1]/", BLOCKED],
  ["http://[ff02::1]/", BLOCKED],
  ["http://[2001:db8::1]/", BLOCKED],
  // Where clouds keep their secrets.
  ["http://169.254.169.254/latest/meta-data/", BLOCKED],
  ["http://2852039166/latest/meta-data/", BLOCKED],
  ["http://169.254.170.2/v2/credentials", BLOCKED],
  ["http://100.100.100.200/", BLOCKED],
  ["http://168.63.129.16/", BLOCKED],
  ["http://[fd00:ec2::254]/", BLOCKED],
  ["http://metadata.google.internal/computeMetadata/v1/", BLOCKED],
  ["http://metadata/", BLOCKED],
  ["http://printer.local/", BLOCKED],
  ["http://wiki.intranet/", BLOCKED],
  // Names that lead there, and one answer among good ones.
  ["http://private.test/", UNKNOWN],
  ["http://loopback.test:PORT/", UNKNOWN],
  ["http://loopback6.test:PORT/", UNKNOWN],
  ["http://mixed.test:PORT/", BLOCKED],
  ["http://mapped.test:PORT/", UNKNOWN],
  // Ports that read HTTP as commands.
  ["http://public.test:25/", BLOCKED],
  ["http://public.test:6379/", BLOCKED],
  ["http://public.test:27017/", BLOCKED],
  ["http://8.8.8.8:22/", BLOCKED],
  // No http(s) URL.
  ["//private.test/", INVALID],
  ["private.test", INVALID],
  ["/etc/passwd", INVALID],
  [" ", INVALID],
  ["http://", INVALID],
  ["http:///", INVALID],
  ["http://:80/", INVALID],
  ["https://?", INVALID],
  ["ftp://example.org/", INVALID],
  ["file:///etc/passwd", INVALID],
  ["gopher://127.0.0.1:6379/_INFO", INVALID],
  ["javascript:alert(1)", INVALID],
  ["data:text/html,hello", INVALID],
  ["blob:http://example.org/1", INVALID],
  ["ws://example.org/", INVALID],
  ["view-source:http://example.org/", INVALID],
  ["mailto:a@example.org", INVALID],
  ["http://256.1.1.1/", INVALID],
  ["http://1.2.3.4.5/", INVALID],
  ["http://[::1", INVALID],
  ["http://[fe80::1%25eth0]/", INVALID],
  ["http://[1:2:3]/", INVALID],
  ["http://exa mple.org/", INVALID],
  ["http://exam\u0000ple.org/", INVALID],
  ["http://example.org:99999/", INVALID],
  ["http://example.org:port/", INVALID],
  ["http://a..test/", INVALID],
  ["http://.test/", INVALID],
  [`http://${"a".repeat(64)}.test/`, INVALID],
  [`http://${"a.".repeat(150)}test/`, INVALID],
  ["http://%/", INVALID],
  ["http://xn--/", INVALID],
  // Short enough as it is written, too long as it would be sent.
  [`http://public.test/${"é".repeat(4_000)}`, INVALID],
];

/** An answer without its times and ids, and with one word for the name that was asked. */
const timeless = (told: unknown, name: string): object =>
  JSON.parse(
    JSON.stringify(told, (key, value: unknown) =>
      /(?:_ms|_at|_id|^ms|^retry_after_s)$/.test(key) ? null : value,
    ).replaceAll(name, "NAME"),
  ) as object;

describe.each(SETUPS)("hostile URLs, $setup", ({ start }) => {
  let trap: Server;
  let port: number;
  let connections = 0;
  const { sites, service } = scenario(start, async (web) => {
    web.name("private", ["10.1.2.3"]);
    web.name("loopback", ["127.0.0.1"]);
    web.name("loopback6", ["::1"]);
    web.name("mixed", ["8.8.8.8", "127.0.0.1"]);
    web.name("mapped", ["::ffff:127.0.0.1"]);
    web.name("public", ["8.8.8.8"]);
    trap = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    trap.listen(0);
    await once(trap, "listening");
    ({ port } = trap.address() as AddressInfo);
    // As an operator would run it: nothing private is allowed.
    return { TRAWL_EGRESS_ALLOW: "" };
  });
  afterAll(() => void trap.close());

  test("are at least sixty", () => {
    expect(URLS.length).toBeGreaterThanOrEqual(60);
  });

  test.each(URLS)("%j is %s", async (written, error) => {
    const url = written.replace("PORT", String(port));
    const began = performance.now();
    const fetched = await service.fetch({ url });
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(fetched).toMatchObject({
      http: 200,
      // A user name and a password are masked.
      url: url.replace(/\/\/[^/@]*@/, "//***@"),
      error,
      status: null,
      tier: null,
      text: "",
      html: null,
      sha256: null,
      body_url: null,
    });
    expect(connections).toBe(0);
  });

  test("with a name that leads inside only are answered as those with a name that does not exist", async () => {
    const names = [sites.name("wiki", ["10.1.2.4"]), "absent.test"] as const;
    const answersFor = async (name: string): Promise<unknown[]> => {
      const answers: unknown[] = [];
      // The second time within six hours the host is taken for dead; then it is not asked.
      for (const tiers of [["direct"], ["direct", "archive"], ["direct"]]) {
        const body = { url: `http://${name}:${port}/page`, tiers };
        const { status, json } = await service.call("POST", "/v1/fetch", { body });
        answers.push({ status, ...timeless(json, name) });
      }
      return answers;
    };
    const [inside, absent] = [await answersFor(names[0]), await answersFor(names[1])];
    expect(inside).toEqual(absent);
    expect(inside).toMatchObject([{ error: UNKNOWN }, { error: "domain_dead" }, { error: "domain_dead" }]);
    expect(connections).toBe(0);
  });

  test("are refused by every other route as well", async () => {
    const { attempts } = await service.fetch({ url: `http://127.0.0.1:${port}/` });
    expect(attempts).toMatchObject([{ tier: "egress", reason: BLOCKED }]);
  });
});

describe.each(SETUPS)("ways around the rules, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test.each([
    ["http://169.254.169.254/latest/", BLOCKED],
    ["//10.0.0.1/", BLOCKED],
    ["http://[::1]/", BLOCKED],
    ["http://2852039166/", BLOCKED],
    ["http:\\\\192.168.0.1\\", BLOCKED],
    ["file:///etc/passwd", INVALID],
    ["javascript:alert(1)", INVALID],
    ["http://[::1", INVALID],
    ["http://a..test/", INVALID],
    [`/?${"x".repeat(8_192)}`, INVALID],
  ])("a redirect to %s is %s, with the redirect in the answer", async (location, error) => {
    const site = sites.site({ "/": redirect(location) });
    const fetched = await service.fetch({ url: `${site.origin}/` });
    expect(fetched).toMatchObject({ http: 200, error, status: null, tier: null, text: "" });
  });

  test("the service itself is refused by address, by name and by redirect", async () => {
    const own = new URL(service.url).port;
    const name = sites.name("ourselves", ["127.0.0.1"]);
    const site = sites.site({ "/": redirect(`http://${name}:${own}/metrics`) });
    const ends = [
      [`http://127.0.0.1:${own}/metrics`, BLOCKED],
      [`http://${name}:${own}/metrics`, UNKNOWN],
      [`${site.origin}/`, UNKNOWN],
    ] as const;
    for (const [url, error] of ends) expect(await service.fetch({ url })).toMatchObject({ error, text: "" });
  });

  test("a name that changes its address between two lookups is checked each time", async () => {
    const site = sites.site({ "/": { body: article("Never seen") } }, "changing");
    sites.name("changing", [["127.0.0.1"], ["169.254.169.254"]]);
    const robots = await service.fetch({ url: `${site.origin}/` });
    // The rules came over a connection that may still be open; a new one is judged anew.
    expect([null, UNKNOWN]).toContain(robots.error);
    sites.name("changing", ["10.0.0.1"]);
    const other = `${site.origin.replace(/:\d+$/, "")}:${sites.port + 1}/`;
    expect(await service.fetch({ url: other })).toMatchObject({ error: UNKNOWN });
  });
});

/** Log lines of the service that no test should cause. */
const wrongs = (log: string): string[] => log.split("\n").filter((line) => line.includes('"level":"error"'));

const MAX_BYTES = 2 ** 20;
const TIMEOUT_S = 15;
/** Milliseconds that a machine with other work may take on top of a deadline. */
const LATE_MS = 5_000;
const AT_ONCE = 12;
const MEBIBYTE = 2 ** 20;

interface Played {
  readonly fetched: FetchResult;
  readonly took_ms: number;
  /** Two at once afterwards: both slots of the site are free again. */
  readonly next: readonly FetchResult[];
}

/** The specification's error for an exchange that ends so, when `direct` is the only route. */
function errorOf(ends: number | string): string | null {
  if (typeof ends === "number") {
    if (ends === 403 || ends === 429 || ends === 451 || ends >= 500) return "all_tiers_failed";
    const hasNoPage = (ends >= 204 && ends <= 206) || ends >= 300;
    return hasNoPage ? `http_${ends}` : null;
  }
  return [INVALID, BLOCKED, "too_large", "timeout"].includes(ends) ? ends : "all_tiers_failed";
}

describe.each(SETUPS)("a hostile site, $setup", ({ start }) => {
  const { sites, service } = scenario(start);
  let site: HostileSite;
  let before: { fds: number; rss: number };
  const played = new Map<string, Played>();

  /** Answers two requests that arrive at the same time, never one alone. */
  const pairs = new Map<string, Socket>();
  const both = (socket: Socket, { headers }: { headers: ReadonlyMap<string, string> }) => {
    const host = headers.get("host")!;
    const other = pairs.get(host);
    if (!other) return void pairs.set(host, socket);
    pairs.delete(host);
    for (const one of [other, socket])
      one.write(
        answer("200 OK", ["Content-Type: text/html"], `<title>Together</title>${article("Together")}`),
      );
    return undefined;
  };

  const resources = async () => ({
    fds: await service.meter("process_open_fds"),
    rss: await service.meter("process_resident_memory_bytes"),
  });

  async function play(path: string, ends: number | string, name = path): Promise<Played> {
    const host = sites.name(`hostile-${name.replaceAll(/[^a-z0-9]+/g, "-").slice(1)}`, ["127.0.0.1"]);
    const origin = `http://${host}:${site.port}`;
    const began = performance.now();
    const fetched = await service.fetch({
      url: `${origin}${path}`,
      tiers: ["direct"],
      max_bytes: MAX_BYTES,
      // An exchange that ends by itself gets the time it needs on a busy machine.
      timeout_s: ends === "timeout" ? TIMEOUT_S : 30,
    });
    const took_ms = performance.now() - began;
    const next = await Promise.all(
      [1, 2].map((n) => service.fetch({ url: `${origin}/both?${n}`, tiers: ["direct"], timeout_s: 30 })),
    );
    return { fetched, took_ms, next };
  }

  beforeAll(async () => {
    site = await hostileSite({ plays: { "/both": both } });
    // As many at once as later: the connections that engines keep open are there before anything is counted.
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => play("/fine", 200, `/fine-${n}`)));
    before = await resources();
    const waiting = Object.entries(HOSTILE);
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let next = waiting.shift(); next; next = waiting.shift()) {
          played.set(next[0], await play(next[0], next[1].ends));
        }
      }),
    );
  });
  afterAll(() => site.close());

  test.each(Object.entries(HOSTILE).map(([path, { does, ends }]) => ({ path, does, ends })))(
    "that $does: $ends",
    ({ path, ends }) => {
      const { fetched, took_ms, next } = played.get(path)!;
      const error = errorOf(ends);
      expect(fetched).toMatchObject({ http: 200, error, ...(typeof ends === "number" && { status: ends }) });
      const reason = typeof ends === "number" ? (ends >= 400 ? `http_${ends}` : null) : ends;
      expect(fetched.attempts[0]!.reason).toBe(reason ?? fetched.attempts[0]!.reason);
      expect(fetched.attempts.map(({ tier }) => tier)).toEqual(
        ends === "timeout"
          ? ["direct", "request_timeout"]
          : [ends === BLOCKED || ends === INVALID ? "egress" : "direct"],
      );
      expect(took_ms).toBeLessThan((ends === "timeout" ? TIMEOUT_S : 20) * 1_000 + LATE_MS);
      expect(next.map(({ error: wrong, title }) => ({ wrong, title }))).toEqual([
        { wrong: null, title: "Together" },
        { wrong: null, title: "Together" },
      ]);
    },
  );

  test("leaves no socket, no descriptor and no heap behind", async () => {
    // Idle connections are kept for a minute.
    await site.emptied();
    expect(site.sockets()).toBe(0);
    await expect
      .poll(async () => (await resources()).fds - before.fds, { timeout: 10_000, interval: 200 })
      .toBeLessThanOrEqual(8);
    // Bombs and endless bodies went by, each a mebibyte at most.
    expect((await resources()).rss - before.rss).toBeLessThan(250 * MEBIBYTE);
    expect({
      failures: await service.meter("trawl_actor_failures_total"),
      log: wrongs(service.stderr()),
    }).toEqual({
      failures: 0,
      log: [],
    });
    expect(await service.meter("trawl_http_requests_total", 'status="5xx"')).toBe(0);
  });

  test("with 50 MB of nested tags is read within its limits, and does not block other fetches", async () => {
    const nested = Buffer.alloc(50_000_000, "<div>");
    const quiet = sites.site({ "/": { body: article("Meanwhile") } });
    const loud = sites.site({ "/": { body: nested } });
    const large = service.fetch({
      url: `${loud.origin}/`,
      max_bytes: 52_428_800,
      tiers: ["direct"],
      include_html: false,
    });
    await loud.reached("/");
    expect(await service.fetch({ url: `${quiet.origin}/` })).toMatchObject({
      error: null,
      title: "Meanwhile",
    });
    const fetched = await large;
    expect(fetched).toMatchObject({ http: 200, error: null, status: 200, bytes: nested.length });
    const body = await service.call("GET", fetched.body_url!);
    expect(body.bytes.equals(nested)).toBe(true);
    expect(await service.fetch({ url: `${quiet.origin}/`, cache_ttl_s: 0 })).toMatchObject({ error: null });
  });
});

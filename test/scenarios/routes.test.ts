/** The upper routes through the whole service: an archive, a residential network, a rendering service, and their price. */
import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { freePort } from "../harness/free-port.ts";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { type Arrival, article, type Page, prose, type Site } from "../harness/web.ts";

const DAY_MS = 24 * 3_600_000;
const stamp = (days_ago: number): string =>
  new Date(Date.now() - days_ago * DAY_MS).toISOString().replaceAll(/\D/g, "").slice(0, 14);
const COPY = stamp(40);
const OLD = stamp(400);
const TEXT = prose(12);
const HEADER = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];

/** Forwards to the web on loopback and says by which exit it came: the user name it was given. */
async function residential(port: number): Promise<Server> {
  const server = createServer((asked, answer) => {
    const url = new URL(asked.url!);
    const user = Buffer.from((asked.headers["proxy-authorization"] ?? "").slice(6), "base64").toString();
    const headers = { ...asked.headers, "x-exit": user.split(":")[0]! };
    delete (headers as Record<string, unknown>)["proxy-authorization"];
    const onward = httpRequest(
      { port, host: "127.0.0.1", method: asked.method!, path: url.pathname + url.search, headers },
      (response) => {
        answer.writeHead(response.statusCode!, response.headers);
        response.pipe(answer);
      },
    );
    asked.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** 402 for addresses with "broke" in them, else a rendering. */
async function renderer(): Promise<Server> {
  const server = createServer((asked, answer) => {
    let body = "";
    asked.on("data", (piece: Buffer) => (body += piece.toString()));
    asked.on("end", () => {
      const { url } = JSON.parse(body) as { url: string };
      const isKnown = asked.headers.authorization === "Bearer render-key";
      answer.statusCode = isKnown ? (url.includes("broke") ? 402 : 200) : 401;
      const html = `<title>Rendered</title><article><p>${TEXT}</p></article>`;
      answer.end(JSON.stringify({ status: 200, html, headers: {}, final_url: url, difficulty: "medium" }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

describe.each(SETUPS)("the routes archive, proxy and proxy_render, $setup", ({ start }) => {
  let archive: Site;
  let servers: Server[] = [];
  const { sites, service } = scenario(start, async (web) => {
    const listing = ({ path }: Arrival): Page => {
      const url = new URL(path, "http://any.example").searchParams.get("url")!;
      const rows = url.includes("unarchived") ? [] : [["k", COPY, url, "text/html", "200", "-", "1"]];
      if (url.includes("ancient")) rows.splice(0, 1, ["k", OLD, url, "text/html", "200", "-", "1"]);
      if (url.includes("throttled")) return { status: 429, headers: { "retry-after": "1" } };
      if (url.includes("notice")) return { body: "<title>Internet Archive</title>Too many requests" };
      return { type: "application/json", body: JSON.stringify([HEADER, ...rows]) };
    };
    const copy = { headers: { "memento-datetime": new Date().toUTCString() }, body: article("Kept", TEXT) };
    // Every path the archive is asked for: the listing, its robots.txt, and copies.
    archive = web.site(
      new Proxy({} as Record<string, Page | ((arrival: Arrival) => Page)>, {
        get: (_, path: string) =>
          path === "/cdx/search/cdx"
            ? listing
            : path.startsWith(`/web/${COPY}id_/http://`)
              ? { ...copy, headers: { ...copy.headers, "x-archive-orig-etag": '"kept"' } }
              : { status: 404 },
      }),
      "archive",
    );
    servers = [await residential(web.port), await renderer()];
    return {
      TRAWL_ARCHIVE_URL: archive.origin,
      TRAWL_PROXY_URL: `http://user-{session}-country-{country}:secret@127.0.0.1:${portOf(servers[0]!)}`,
      TRAWL_RENDER_URL: `http://127.0.0.1:${portOf(servers[1]!)}/render`,
      TRAWL_RENDER_KEY: "render-key",
      TRAWL_PRICES: "proxy=0.01,proxy_render=0.05",
      TRAWL_CHROMIUM_PATH: "/nonexistent",
    };
  });
  afterAll(() => {
    for (const server of servers) server.close(() => server.closeAllConnections());
  });

  const served = (exit: boolean, body: string) => (arrival: Arrival) =>
    (arrival.headers["x-exit"] !== undefined) === exit ? { body } : { status: 403 };

  test("a page that is gone comes from the archive, with the time of the capture", async () => {
    const site = sites.site({});
    const url = `${site.origin}/page`;
    const found = await service.fetch({ url });
    expect(found).toMatchObject({
      error: null,
      tier: "archive",
      status: 200,
      final_url: `${archive.origin}/web/${COPY}id_/${url}`,
      served_from_archive_because: "not_found",
      body_kind: "origin",
      billing_category: "fetch_own",
      cost_usd: 0,
      etag: '"kept"',
      headers: { etag: '"kept"' },
    });
    expect(Date.now() - Date.parse(found.archived_at!)).toBeLessThan(DAY_MS);
    expect(found.attempts.map(({ reason }) => reason)).toEqual(["http_404", "ok"]);
  });

  test("a page of a host that does not exist comes from the archive, too", async () => {
    const url = `http://nobody.test:${sites.port}/page`;
    expect(await service.fetch({ url })).toMatchObject({
      tier: "archive",
      served_from_archive_because: "domain_dead",
    });
    expect(await service.fetch({ url, allow_archive: false, cache_ttl_s: 0 })).toMatchObject({
      archived_at: null,
      tier: null,
    });
  });

  test.each([
    ["unarchived", "archive_not_found", null],
    ["ancient", "archive_not_found", null],
    ["notice", "archive_bad_answer", 200],
    ["throttled", "archive_rate_limited", 429],
  ])("a failure of the archive (%s) does not replace the page's own status", async (path, reason, status) => {
    const site = sites.site({});
    const gone = await service.fetch({ url: `${site.origin}/${path}` });
    expect(gone).toMatchObject({ error: "http_404", status: 404, archived_at: null });
    expect(gone.attempts.at(-1)).toMatchObject({ tier: "archive", reason, status });
  });

  test("the archive is requested under its own robots.txt and politeness", () => {
    expect(archive.hits("/robots.txt")).toBe(1);
    expect(archive.most()).toBeLessThanOrEqual(2);
  });

  test("a page of a blocking host comes through the residential proxy, by one exit, for its price", async () => {
    const exits: string[] = [];
    const page = served(true, article("Open", TEXT));
    const site = sites.site({
      "/a": (arrival) => (exits.push(arrival.headers["x-exit"] ?? "none"), page(arrival)),
      "/b": (arrival) => (exits.push(arrival.headers["x-exit"] ?? "none"), page(arrival)),
    });
    const fields = { allow_archive: false, tiers: ["direct", "proxy"] as ("direct" | "proxy")[] };
    const found = await service.fetch({ url: `${site.origin}/a`, country: "DE", ...fields });
    expect(found.warnings).toBeUndefined();
    const own = await service.fetch({ url: `${site.origin}/c`, country: "DE", tiers: ["direct"] });
    expect(own.warnings).toEqual([expect.stringMatching(/^country has no effect: /)]);
    expect(found).toMatchObject({
      error: null,
      tier: "proxy",
      final_url: `${site.origin}/a`,
      billing_category: "fetch_paid",
      cost_usd: 0.01,
      attempts: [
        { tier: "direct", reason: "http_403" },
        { tier: "proxy", status: 200, reason: "ok" },
      ],
    });
    await service.fetch({ url: `${site.origin}/b`, country: "DE", ...fields });
    await service.fetch({ url: `${site.origin}/b`, ...fields });
    expect(exits).toEqual([
      "none",
      expect.stringMatching(/^user-[0-9a-f]{16}-country-de$/),
      "none",
      exits[1],
      "none",
      expect.stringMatching(/^user-[0-9a-f]{16}$/),
    ]);
    expect(JSON.stringify(found) + service.stderr()).not.toContain("secret");
  });

  test("a page of a host that blocks the proxy as well comes from the rendering service", async () => {
    const site = sites.site({ "/": { status: 403 }, "/broke": { status: 403 } });
    const found = await service.fetch({ url: `${site.origin}/`, allow_archive: false });
    expect(found).toMatchObject({
      error: null,
      tier: "proxy_render",
      body_kind: "rendered_dom",
      content_type: "text/html; charset=utf-8",
      origin_content_type: null,
      headers: {},
      title: "Rendered",
      billing_category: "fetch_paid",
      cost_usd: 0.06,
    });
    expect(found.attempts.map(({ tier, reason, detail }) => [tier, reason, detail])).toEqual([
      ["direct", "http_403", null],
      ["browser", "not_configured", null],
      ["proxy", "http_403", null],
      ["proxy_render", "ok", "medium"],
    ]);
    expect(await service.fetch({ url: `${site.origin}/broke`, allow_archive: false })).toMatchObject({
      error: "all_tiers_failed",
      status: 403,
      premium_routes_tried: true,
      cost_usd: 0.01,
      attempts: [{}, {}, {}, { tier: "proxy_render", reason: "provider_over_budget" }],
    });
  });

  test("after three fetches that only premium routes completed, the host requires them", async () => {
    const site = sites.site({ "/": served(true, article("Open", TEXT)) });
    const fields = { url: `${site.origin}/`, allow_archive: false, cache_ttl_s: 0 };
    for (let time = 0; time < 3; time++) expect((await service.fetch(fields)).tier).toBe("proxy");
    const hits = site.hits("/");
    expect(await service.fetch({ ...fields, allow_paid: false })).toMatchObject({
      error: "premium_route_required",
      attempts: [],
      premium_routes_tried: false,
    });
    expect(site.hits("/")).toBe(hits);
    await service.trawl("project", "budget", "default", "0.01");
    expect(await service.fetch(fields)).toMatchObject({
      error: "budget_exhausted",
      cost_usd: 0,
      attempts: [{ reason: "budget_exhausted" }, { reason: "budget_exhausted" }],
    });
    await service.trawl("project", "budget", "default", "none");
    expect(await service.fetch(fields)).toMatchObject({ error: null, tier: "proxy" });
  });

  test("a job with max_cost_usd pays no more than that, and says where it ended", async () => {
    // A site of its own for each: a site that refuses one request after the other is left alone for ten minutes.
    const items = Array.from({ length: 8 }, (_, n) => {
      const { origin } = sites.site({ "/": served(true, article(`Page ${n}`, TEXT)) });
      return { url: `${origin}/`, tiers: ["direct", "proxy"] };
    });
    const jobs = client(service);
    const body = { items, idempotency_key: "capped", max_cost_usd: 0.035 };
    const { job_id } = (await service.call("POST", "/v1/batch/fetch", { body })).json;
    // Blocked items cool down for 30 s before they pay.
    const job = await jobs.finished(job_id, 120_000);
    expect(job).toMatchObject({
      status: "completed",
      counts: { total: 8, done: 3, failed: 5 },
      max_cost_usd: 0.035,
      max_cost_reached: true,
    });
    const results = (await jobs.items(job_id)).map(({ error, result }) => {
      const { cost_usd, attempts } = result as { cost_usd: number; attempts: { reason: string }[] };
      return [error, cost_usd, attempts.at(-1)!.reason] as const;
    });
    expect(results.toSorted(([, a], [, b]) => a - b)).toEqual([
      ...Array.from({ length: 5 }, () => ["all_tiers_failed", 0, "budget_exhausted"]),
      ...Array.from({ length: 3 }, () => [null, 0.01, "ok"]),
    ]);
    expect((await service.trawl("job", "verify", job_id)).problems).toEqual([]);
    const negative = { ...body, idempotency_key: "negative", max_cost_usd: -1 };
    expect((await service.call("POST", "/v1/batch/fetch", { body: negative })).json.detail).toMatchObject([
      { loc: ["body", "max_cost_usd"] },
    ]);
  });

  test("the quota shows the sum of the costs", async () => {
    // Gateways tell it about once a second.
    const spent = async () => (await service.call("GET", "/v1/quota")).json.project.spend.used as string;
    await expect.poll(spent, { timeout: 5_000 }).toBe("0.170000");
  });

  test("a session with a country keeps one exit there on every site, for the price of the proxy", async () => {
    const exits: string[] = [];
    const pages = {
      "/login": ({ headers }: Arrival): Page => {
        exits.push(String(headers["x-exit"]));
        const isRight = headers["x-word"] === "lamp";
        return {
          status: 303,
          headers: { Location: "/", ...(isRight && { "Set-Cookie": "sid=in; Path=/" }) },
        };
      },
      "/": ({ headers }: Arrival): Page => {
        exits.push(String(headers["x-exit"]));
        return { body: article(headers["cookie"]?.includes("sid=in") ? "Account" : "Log in", TEXT) };
      },
    };
    const [site, other] = [sites.site(pages), sites.site(pages)];
    const create = async () => (await service.call("POST", "/v1/sessions", { body: { country: "CH" } })).json;
    const { session_id, ...made } = await create();
    expect(made).toMatchObject({ country: "ch", cookies: 0 });

    const url = `${site.origin}/`;
    // No POST: a run whose node loses the key on a busy machine would not send it again.
    const login = { headers: { "X-Word": "lamp" } };
    const entered = await service.fetch({ url: `${site.origin}/login`, session_id, ...login });
    expect(entered).toMatchObject({
      error: null,
      title: "Account",
      tier: "proxy",
      billing_category: "fetch_paid",
      cost_usd: 0.01,
      attempts: [{ tier: "proxy", reason: "ok" }],
    });
    const again = await service.fetch({ url, session_id, country: "DE" });
    expect(again).toMatchObject({ title: "Account", tier: "proxy", cached: false });
    expect(again.warnings).toEqual(["country has no effect: that of the session holds"]);
    const elsewhere = await service.fetch({ url: `${other.origin}/`, session_id });
    expect(elsewhere).toMatchObject({ title: "Log in", tier: "proxy" });
    const jobs = client(service);
    const { job_id } = (await jobs.create([{ url, session_id }])).json;
    await jobs.finished(job_id);
    expect(await jobs.items(job_id)).toMatchObject([
      { result: { title: "Account", tier: "proxy", cost_usd: 0.01 } },
    ]);
    expect(new Set(exits)).toEqual(new Set([expect.stringMatching(/^user-[0-9a-f]{16}-country-ch$/)]));
    const [exit] = exits.splice(0);

    const second = await create();
    await service.fetch({ url, session_id: second.session_id });
    expect(exits).toEqual([expect.stringMatching(/^user-[0-9a-f]{16}-country-ch$/)]);
    expect(exits).not.toContain(exit);
    for (const more of [{ allow_paid: false }, { tiers: ["direct" as const] }, { render: "always" as const }])
      expect(await service.fetch({ url, session_id, ...more })).toMatchObject({ error: "no_tier_allowed" });
    expect(exits).toHaveLength(1);
  });

  test("an unreachable proxy is reported as proxy_unreachable", async () => {
    const port = await freePort();
    const other = await start({
      TRAWL_DNS_SERVERS: sites.dns,
      TRAWL_PROXY_URL: `http://127.0.0.1:${port}`,
      TRAWL_CHROMIUM_PATH: "/nonexistent",
    });
    const site = sites.site({ "/": { status: 403 } });
    const failed = await other.fetch({ url: `${site.origin}/`, country: "DE" });
    // The proxy of this service has one exit, and the caller would take its country for the one that was asked for.
    expect(failed.warnings).toEqual([expect.stringMatching(/^country has no effect: /)]);
    expect(failed).toMatchObject({ error: "all_tiers_failed", status: 403, cost_usd: 0 });
    expect(failed.attempts.slice(2)).toMatchObject([
      { tier: "archive", reason: "not_configured" },
      { tier: "proxy", reason: "proxy_unreachable", status: null },
      { tier: "proxy_render", reason: "not_configured" },
    ]);
    expect((await other.call("GET", "/health")).status).toBe(200);
    await other.close();
  });
});

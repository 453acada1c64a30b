/** Debug records (Authentication 9): which keys get a debug_url, and what its page shows. */
import { describe, expect, test } from "vitest";
import { createCustomer, createProject, limitKey } from "../../actors/business/accounts/keys.ts";
import { searchRoutes } from "../../actors/sources/search/feature/routes.ts";
import { cacheThat, fetchAnswer, gatewayHarness } from "../harness/gateway-harness.ts";

const PAGE = { url: "https://example.org/<b>" };
const DEBUG = { headers: { "x-service-debug": "1" } };
const STEP = { actor: "domain", key: "example.org", operation: "acquire", at_ms: 0, ms: 812, fault: null };

/** The part of a debug_url that the gateway is asked for. */
function linkOf(debug_url: string): string {
  const { pathname, search } = new URL(debug_url);
  return pathname + search;
}

const traced = (cached = false) =>
  gatewayHarness({
    cache: cacheThat(() => true),
    fetch: async ({ is_traced }) => ({
      ...fetchAnswer({ tier: "proxy" }, { cost_usd: "0.25", cached }),
      ...(is_traced && !cached && { trace: [STEP] }),
    }),
  });

describe("X-Service-Debug: 1", () => {
  test("gets a key that may a page with attempts, waits, actors and cost, for a week", async () => {
    const { fetch, key, call, clock, documents } = await traced();
    const debugging = await key({ debug: true });
    const { json } = await fetch(PAGE, { key: debugging, ...DEBUG });
    expect(json.debug_url).toMatch(
      /^https:\/\/trawl\.example\/debug\/[A-Za-z0-9_-]{32}\?expires=\d+&sig=[A-Za-z0-9_-]{43}$/,
    );
    const path = linkOf(json.debug_url);
    const page = await call("GET", path, { key: null });
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    const text = page.bytes.toString();
    for (const part of [json.request_id, "domain", "acquire", "812", "0.25 USD", debugging.slice(0, 10)])
      expect(text).toContain(part);
    expect(text).toContain("&lt;b&gt;");
    for (const secret of ["<b>", debugging]) expect(text).not.toContain(secret);
    const record = (await call("GET", path, { key: null, headers: { accept: "application/json" } })).json;
    expect(record).toMatchObject({
      request_id: json.request_id,
      request: PAGE,
      cached: false,
      trace: [STEP],
    });
    await clock.advance(6 * 24 * 3_600_000);
    const bare = new URL(json.debug_url).pathname;
    expect((await call("GET", bare, { key: debugging })).bytes.toString()).toContain(json.request_id);
    await clock.advance(2 * 24 * 3_600_000);
    expect(await documents.removeExpired("debug_records", clock.now(), 10)).toBe(1);
    expect((await call("GET", bare, { key: debugging })).status).toBe(404);
  });

  test("gives a link that holds for an hour, and for this record alone", async () => {
    const { fetch, key, call, clock } = await traced();
    const debugging = await key({ debug: true });
    const links = [];
    for (const path of ["a", "b"]) {
      const { json } = await fetch({ url: `https://example.org/${path}` }, { key: debugging, ...DEBUG });
      links.push(new URL(json.debug_url));
    }
    const [link, other] = links as [URL, URL];
    const statusOf = async (target: string) => (await call("GET", target, { key: null })).status;
    const [expires, sig] = [link.searchParams.get("expires")!, link.searchParams.get("sig")!];
    expect(await statusOf(link.pathname + link.search)).toBe(200);
    const changed = [
      link.pathname,
      `${link.pathname}?expires=${expires}`,
      `${link.pathname}?sig=${sig}`,
      `${link.pathname}?expires=${Number(expires) + 1}&sig=${sig}`,
      `${link.pathname}?expires=${expires}&sig=${sig.slice(0, -1)}${sig.endsWith("A") ? "B" : "A"}`,
      other.pathname + link.search,
    ];
    for (const target of changed) expect([target, await statusOf(target)]).toEqual([target, 401]);
    await clock.advance(3_599_000);
    expect(await statusOf(link.pathname + link.search)).toBe(200);
    await clock.advance(1_000);
    expect(await statusOf(link.pathname + link.search)).toBe(401);
    expect((await call("GET", link.pathname + link.search, { key: debugging })).status).toBe(200);
  });

  test("shows its record to keys of its project, not to others", async () => {
    const { fetch, key, call, documents, clock } = await traced();
    await createProject(documents, { name: "other", customer: "default" }, clock.now());
    const { json } = await fetch(PAGE, { key: await key({ debug: true }), ...DEBUG });
    const bare = new URL(json.debug_url).pathname;
    const statusOf = async (given: string | null) => (await call("GET", bare, { key: given })).status;
    expect(await statusOf(await key())).toBe(200);
    expect(await statusOf(await key({ project: "other" }))).toBe(404);
    expect(await statusOf(`sk_${"x".repeat(43)}`)).toBe(401);
    expect(await statusOf("nonsense")).toBe(401);
    expect(await statusOf(null)).toBe(401);
  });

  test("stores and shows passwords and query secrets masked", async () => {
    const { fetch, key, call, documents } = await traced();
    const url = "https://user:hidden-1@example.org/a?page=2&api_key=hidden-2";
    const { json } = await fetch({ url }, { key: await key({ debug: true }), ...DEBUG });
    const page = (await call("GET", linkOf(json.debug_url), { key: null })).bytes.toString();
    expect(page).toContain("https://***@example.org/a?page=2&amp;api_key=***");
    const stored = JSON.stringify(await documents.list("debug_records", { limit: 10 }));
    for (const text of [page, stored]) expect(text).not.toContain("hidden");
  });

  test("gets other keys and other values nothing", async () => {
    const { fetch, key, documents } = await traced();
    const [plain, debugging] = [await key(), await key({ debug: true })];
    expect((await fetch(PAGE, { key: plain, ...DEBUG })).json).not.toHaveProperty("debug_url");
    expect((await fetch(PAGE, { key: debugging })).json).not.toHaveProperty("debug_url");
    await limitKey(documents, debugging.slice(0, 10), { debug: false });
    expect(await documents.list("debug_records", { limit: 10 })).toEqual([]);
  });

  test("is its own story for each of several cached answers", async () => {
    const { fetch, key, call } = await traced(true);
    const debugging = await key({ debug: true });
    const urls = new Set<string>();
    for (let n = 0; n < 3; n++) {
      const { json } = await fetch(PAGE, { key: debugging, ...DEBUG });
      urls.add(json.debug_url);
      const page = (await call("GET", linkOf(json.debug_url), { key: null })).bytes.toString();
      expect(page).toContain(json.request_id);
      expect(page).toContain("the cache");
    }
    expect(urls.size).toBe(3);
    // An answer without it is not the remembered one with it.
    expect((await fetch(PAGE, { key: debugging })).json).not.toHaveProperty("debug_url");
  });

  test("tells an external customer no cost", async () => {
    const { fetch, key, call, documents, clock } = await traced();
    await createCustomer(documents, { name: "acme", external: true, currency: "USD" }, clock.now());
    await createProject(documents, { name: "p", customer: "acme" }, clock.now());
    const { json } = await fetch(PAGE, { key: await key({ project: "p", debug: true }), ...DEBUG });
    const page = (await call("GET", linkOf(json.debug_url), { key: null })).bytes.toString();
    expect(page).not.toContain("0.25");
  });

  test("works for searches", async () => {
    const gateway = await gatewayHarness({
      more: ({ debugRecords, clock, metrics, log }) =>
        searchRoutes({
          debugRecords,
          clock,
          metrics,
          log,
          search: async ({ is_traced }) => ({
            results: [],
            provider: "metasearch",
            fallback_reason: null,
            unresponsive_engines: [],
            cached: false,
            cost_usd: "0",
            error: null,
            ...(is_traced && { trace: [{ ...STEP, actor: "search_instances" }] }),
          }),
        }),
    });
    const debugging = await gateway.key({ debug: true });
    const { json } = await gateway.call("POST", "/v1/search", {
      key: debugging,
      body: { query: "tide" },
      ...DEBUG,
    });
    const page = await gateway.call("GET", linkOf(json.debug_url), { key: null });
    expect(page.bytes.toString()).toContain("search_instances");
  });
});

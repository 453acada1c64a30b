/** Searching as callers see it: on a fresh clone without any network, and with instances and a fallback set up. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import type { SearchBody, SearchResponse } from "../../schemas/search.ts";
import { hasSearx, searx, type Searx } from "../harness/searx.ts";
import { scenario } from "../harness/scenario.ts";
import { type Service, SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const searching =
  (service: Service) =>
  async (body: SearchBody, key?: string): Promise<SearchResponse> => {
    const answered = await service.call("POST", "/v1/search", { body, ...(key !== undefined && { key }) });
    if (answered.status !== 200) throw new Error(`${answered.status}: ${answered.bytes.toString()}`);
    return answered.json as SearchResponse;
  };

// Nodes that share no files have no index of their own: without an instance they say that they are not ready.
const ALONE = SETUPS.filter(({ setup }) => setup === "embedded");

describe.each(ALONE)("a fresh clone, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({ TRAWL_DEMO: "on" }));

  test("is ready, and finds a page at once", async () => {
    const ready = await service.call("GET", "/ready", { key: null });
    expect([ready.status, ready.json.checks.search]).toEqual([200, "ok"]);
    const search = searching(service);
    const answer = await search({ query: "when was the lighthouse lit" });
    expect(answer).toMatchObject({
      error: null,
      provider: "metasearch",
      billing_category: "search",
      cost_usd: 0,
    });
    const [first] = answer.results;
    expect(first).toMatchObject({
      url: `${service.url}/demo/lighthouse`,
      title: "The lighthouse at Skarn Head",
      engines: ["local_index"],
      published_at: "2025-08-17T10:30:00Z",
      rank: 1,
    });
    expect(first!.snippets[0]).toContain("1871");
    expect(await search({ query: "WHEN was the  lighthouse lit" })).toMatchObject({
      cached: true,
      billing_category: "search_cached",
    });
  });

  test("finds words without their diacritics, by language and by period", async () => {
    const search = searching(service);
    const german = await search({ query: "kustenweg", language: "de" });
    expect(german.results.map(({ url }) => url)).toEqual([`${service.url}/demo/inselweg`]);
    expect((await search({ query: "kustenweg", language: "en" })).results).toEqual([]);
    const old = await search({ query: "lighthouse lit", freshness: "pd" });
    expect(old.results).toEqual([]);
  });

  test("answers without an error when there is no result", async () => {
    expect(await searching(service)({ query: "xyzzy plugh" })).toMatchObject({
      results: [],
      error: null,
      provider: "metasearch",
      fallback_reason: "too_few_results",
    });
  });

  test("serves the demo site, and has it in its cache although its own address is forbidden", async () => {
    const url = `${service.url}/demo/lighthouse`;
    const page = await service.call("GET", "/demo/lighthouse", { key: null });
    expect(page.bytes.toString()).toContain("Skarn Head");
    const fetched = await service.fetch({ url });
    expect(fetched).toMatchObject({
      error: null,
      cached: true,
      status: 200,
      title: "The lighthouse at Skarn Head",
    });
    expect(fetched.html).toBe(page.bytes.toString());
    const body = await service.call("GET", fetched.body_url!);
    expect(body.bytes.equals(page.bytes)).toBe(true);
    expect(await service.fetch({ url, cache_ttl_s: 0 })).toMatchObject({ error: "blocked_destination" });
  });

  test("finds the last version of fetched pages, and no pages that are gone or say noindex", async () => {
    const search = searching(service);
    let there = true;
    const site = sites.site({
      "/page": () => (there ? { body: article("Xanthophyll in autumn") } : { status: 404, body: "gone" }),
      "/shy": {
        body: article("Xanthophyll in secret").replace(
          "<head>",
          '<head><meta name="robots" content="noindex">',
        ),
      },
      "/shyer": { body: article("Xanthophyll in private"), headers: { "X-Robots-Tag": "noindex" } },
    });
    expect((await search({ query: "xanthophyll" })).results).toEqual([]);
    for (const path of ["/page", "/shy", "/shyer"])
      expect(await service.fetch({ url: `${site.origin}${path}` })).toMatchObject({ error: null });
    const found = await search({ query: "xanthophyll" });
    expect(found.results.map(({ url }) => url)).toEqual([`${site.origin}/page`]);
    expect(found.cached).toBe(false);
    expect(await search({ query: "xanthophyll" })).toMatchObject({ cached: true });
    there = false;
    await service.fetch({ url: `${site.origin}/page`, cache_ttl_s: 0, allow_archive: false });
    expect((await search({ query: "xanthophyll" })).results).toEqual([]);
  });

  test("is available as a command", async () => {
    expect(await service.trawl("search", "tide", "mill", "--max", "1", "--key", service.key)).toMatchObject({
      query: "tide mill",
      results: [{ url: `${service.url}/demo/tide-mill` }],
    });
  });

  test("finds the same after kill -9", async () => {
    const search = searching(service);
    const before = await search({ query: "puffins fledged chicks" });
    await service.kill();
    await service.restart();
    const after = await search({ query: "puffins fledged chicks" });
    expect(after.results).toEqual(before.results);
    expect(after.results.length).toBeGreaterThan(0);
  });
});

/** A server that answers searches as it is told, and counts. */
async function upstream(answer: (url: URL) => { status?: number; body: unknown }) {
  const asked: URL[] = [];
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url!, "http://localhost");
    asked.push(url);
    const { status = 200, body } = answer(url);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe.each(SETUPS)("with an instance and a fallback, $setup", ({ start }) => {
  let instance: Awaited<ReturnType<typeof upstream>>;
  let fallback: Awaited<ReturnType<typeof upstream>>;
  const { service } = scenario(start, async () => {
    instance = await upstream((url) => {
      const query = url.searchParams.get("q")!;
      const results = Array.from({ length: query.startsWith("rare") ? 1 : 4 }, (_, at) => ({
        url: `https://site-${at}.example/`,
        title: `Site ${at}`,
        content: query,
        engines: ["mojeek"],
      }));
      const unresponsive_engines = query.startsWith("walled") ? [["google", "CAPTCHA"]] : [];
      return query.startsWith("broken")
        ? { status: 500, body: {} }
        : { body: { results, unresponsive_engines } };
    });
    fallback = await upstream(() => ({
      body: {
        type: "search",
        web: { results: [{ url: "https://site-0.example/", title: "Paid", description: "d" }] },
      },
    }));
    // Nothing private is allowed to callers; what the operator named may be asked all the same.
    return {
      TRAWL_EGRESS_ALLOW: "",
      TRAWL_SEARXNG_URLS: instance.url,
      TRAWL_FALLBACK_SEARCH_URL: `${fallback.url}/web/search`,
      TRAWL_FALLBACK_SEARCH_KEY: "secret",
      TRAWL_FALLBACK_SEARCH_PRICE: "0.25",
    };
  });
  afterAll(() => {
    instance.close();
    fallback.close();
  });

  test("the instance answers one request for all callers of the same query", async () => {
    const search = searching(service);
    const answers = await Promise.all(Array.from({ length: 8 }, () => search({ query: "plenty" })));
    for (const answer of answers)
      expect(answer).toMatchObject({ provider: "metasearch", fallback_reason: null, cost_usd: 0 });
    expect(instance.asked).toHaveLength(1);
    expect(fallback.asked).toHaveLength(0);
  });

  test("the instance's address is still forbidden to callers", async () => {
    expect(await service.fetch({ url: `${instance.url}/` })).toMatchObject({ error: "blocked_destination" });
  });

  test("there is no demo site and no built-in index", async () => {
    expect((await service.call("GET", "/demo/lighthouse", { key: null })).status).toBe(404);
  });

  test.each([
    ["rare", "too_few_results"],
    ["walled", "captcha_engines"],
  ])("a search for something %s uses the fallback: %s", async (query, fallback_reason) => {
    const answer = await searching(service)({ query });
    expect(answer).toMatchObject({
      provider: "fallback",
      fallback_reason,
      cost_usd: 0.25,
      billing_category: "search_fallback",
      error: null,
    });
    expect(answer.results[0]!.engines).toEqual(["mojeek", "fallback_api"]);
  });

  test("a project's budget is reserved before a search, settled after it, and used up", async () => {
    const search = searching(service);
    await service.trawl("project", "create", "thrifty");
    await service.trawl("project", "budget", "thrifty", "0.60");
    const { key } = await service.trawl("key", "create", "--project", "thrifty");
    const before = fallback.asked.length;
    // Three at once want 0.25 each of 0.60: two get it.
    const answers = await Promise.all(["rare a", "rare b", "rare c"].map((query) => search({ query }, key)));
    expect(answers.map(({ provider }) => String(provider)).toSorted()).toEqual([
      "fallback",
      "fallback",
      "metasearch",
    ]);
    expect(answers.every(({ error }) => error === null)).toBe(true);
    expect(fallback.asked.length - before).toBe(2);
    expect(await search({ query: "broken d" }, key)).toMatchObject({
      error: "budget_exhausted",
      provider: null,
    });
    // Another project's money is its own, and the instance is spared for a while.
    expect(await search({ query: "broken d" })).toMatchObject({ provider: "fallback" });
  });
});

describe.each(SETUPS)("a search with the pages of its results, $setup", ({ start }) => {
  let instance: Awaited<ReturnType<typeof upstream>>;
  let urls: readonly string[] = [];
  const { sites, service } = scenario(start, async () => {
    instance = await upstream(() => ({
      body: {
        results: urls.map((url, at) => ({ url, title: `Result ${at}`, content: "x" })),
        unresponsive_engines: [],
      },
    }));
    return { TRAWL_SEARXNG_URLS: instance.url };
  });
  afterAll(() => instance.close());

  test("has them or their reasons, keeps to hosts, and goes on by pages", async () => {
    const pages = {
      "/one": { body: article("One") },
      "/gone": { status: 404, body: "gone" },
      "/two": { body: article("Two") },
    };
    const [site, other] = [sites.site(pages), sites.site({ "/": { body: article("Other") } })];
    urls = [`${site.origin}/one`, `${other.origin}/`, `${site.origin}/gone`, `${site.origin}/two`];
    const search = searching(service);
    const fetch = { formats: ["markdown" as const], allow_archive: false };
    const { results } = await search({ query: "read", contents: { results: 3, fetch } });
    expect(results.map(({ content }) => content)).toMatchObject([
      { title: "One", markdown: expect.stringContaining("# One"), billing_category: "fetch_own" },
      { title: "Other", error: null },
      { error: "http_404", status: 404 },
      null,
    ]);
    const host = new URL(site.origin).hostname;
    const kept = await search({ query: "kept", include_domains: [host], max_results: 2, page: 2 });
    expect(kept.results).toMatchObject([{ url: `${site.origin}/two`, rank: 3 }]);
    expect(instance.asked.at(-1)!.searchParams.get("q")).toBe(`kept site:${host}`);
    const { items } = (await service.call("GET", "/v1/requests?category=fetch_own")).json;
    expect(items).toHaveLength(3);
  });
});

const installed = hasSearx();
if (!installed)
  console.warn("Skipped: the service over a real metasearch server. To run it: apt-get install searx");

describe.skipIf(!installed).each(SETUPS)("over a real searx, $setup", ({ start }) => {
  let server: Searx;
  const { service } = scenario(start, async () => {
    server = await searx({
      pages: (query) =>
        [0, 1, 2, 3].map((at) => ({
          url: `https://site-${at}.example/`,
          title: `Site ${at}`,
          content: `About ${query}`,
        })),
    });
    return { TRAWL_SEARXNG_URLS: `${server.url}/` };
  });
  afterAll(() => server.close());

  test("a search is answered, and the next from the cache", async () => {
    const search = searching(service);
    const answer = await search({ query: "Tide mill" });
    expect(answer).toMatchObject({
      provider: "metasearch",
      fallback_reason: null,
      error: null,
      cached: false,
    });
    expect(answer.results.map(({ url, rank }) => [url, rank])).toEqual(
      [0, 1, 2, 3].map((at) => [`https://site-${at}.example/`, at + 1]),
    );
    expect(answer.results[0]).toMatchObject({ snippets: ["About Tide mill"], engines: ["pages"] });
    expect(await search({ query: "tide MILL" })).toMatchObject({ cached: true });
    expect(server.asked).toEqual(["pages Tide mill"]);
  });
});

/** POST /v1/search: its body, its response and its errors. */
import { describe, expect, test } from "vitest";
import { createCustomer, createKey, createProject } from "../../actors/business/accounts/keys.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { demoRoutes } from "../../gateway/routes/demo.ts";
import { searchRoutes } from "../../actors/sources/search/feature/routes.ts";
import { shape } from "../../gateway/validate.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { type SearchAnswer, type SearchRequest, SearchResponse } from "../../schemas/search.ts";
import {
  fetchAnswer,
  type HarnessOptions,
  type HeadOptions,
  gatewayHarness,
} from "../harness/gateway-harness.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const response = shape(SearchResponse);

const answered = (more: Partial<SearchAnswer> = {}): SearchAnswer => ({
  results: [
    {
      url: "http://a.example/",
      title: "A",
      snippets: ["About A"],
      engines: ["e1"],
      published_at: "2026-05-01",
      rank: 1,
    },
  ],
  provider: "metasearch",
  fallback_reason: null,
  unresponsive_engines: [],
  cached: false,
  cost_usd: "0",
  error: null,
  ...more,
});

async function searchHarness(
  search: (ask: SearchRequest) => Promise<SearchAnswer> = async () => answered(),
  around: Pick<HarnessOptions, "fetch"> = {},
) {
  const requests: SearchRequest[] = [];
  let time: Clock | null = null;
  const clock: Clock = {
    now: () => time!.now(),
    wall: () => time!.wall(),
    mono: () => time!.mono(),
    resync: () => time!.resync(),
    at: (at_ms, call) => time!.at(at_ms, call),
  };
  const routes = searchRoutes({
    search: (ask) => {
      requests.push(ask);
      return search(ask);
    },
    clock,
    ...silentTelemetry(),
  });
  const it = await gatewayHarness({
    ...around,
    more: [...routes, ...demoRoutes(new Map([["page", Buffer.from("<p>page</p>")]]))],
  });
  time = it.clock;
  const find = (body: object, options: HeadOptions = {}) =>
    it.call("POST", "/v1/search", { ...options, body });
  return { ...it, requests, find };
}

describe("what is asked", () => {
  test("has every default filled in, and its white space tidied", async () => {
    const { find, requests } = await searchHarness();
    expect((await find({ query: "  Tide \n mill " })).status).toBe(200);
    expect(requests).toEqual([
      {
        search_id: expect.stringMatching(/^req_/),
        query: "Tide mill",
        language: null,
        country: null,
        max_results: 20,
        freshness: null,
        cache_ttl_s: null,
        project: "default",
        key: expect.stringMatching(/^ak_.{7}$/),
      },
    ]);
  });

  test.each([
    ["day", "day"],
    ["week", "week"],
    ["month", "month"],
    ["year", "year"],
    ["pd", "day"],
    ["pw", "week"],
    ["pm", "month"],
    ["py", "year"],
    [null, null],
  ])("freshness %s means %s", async (freshness, period) => {
    const { find, requests } = await searchHarness();
    expect((await find({ query: "x", freshness })).status).toBe(200);
    expect(requests[0]!.freshness).toBe(period);
  });

  test.each([
    [{ query: "x", language: "de" }],
    [{ query: "x", language: "de-CH" }],
    [{ query: "x", language: null, country: null, cache_ttl_s: null, freshness: null, project_ref: null }],
    [{ query: "x", country: "ch" }],
    [{ query: "x", max_results: 1 }],
    [{ query: "x", max_results: 100 }],
    [{ query: "x", cache_ttl_s: 0 }],
    [{ query: "x", project_ref: "thesis, chapter 3" }],
    [{ query: "x", unknown: 1 }],
    [{ query: "x".repeat(2_000) }],
    [{ query: `${" ".repeat(500)}${"x y ".repeat(499)}x${"\n".repeat(500)}` }],
    [{ query: "東".repeat(2_000) }],
  ])("%j may be asked", async (body) => {
    expect((await (await searchHarness()).find(body)).status).toBe(200);
  });

  test.each([
    [{}, "missing"],
    [{ query: "" }, "string_too_short"],
    [{ query: " \n\t " }, "string_pattern_mismatch"],
    [{ query: "x".repeat(2_001) }, "string_pattern_mismatch"],
    [{ query: `x${" ".repeat(2_000)}x` }, "string_pattern_mismatch"],
    [{ query: "x".repeat(8_001) }, "string_too_long"],
    [{ query: 7 }, "string_type"],
    [{ query: "x", language: "deu" }, "string_pattern_mismatch"],
    [{ query: "x", language: "de_CH" }, "string_pattern_mismatch"],
    [{ query: "x", country: "CHE" }, "string_pattern_mismatch"],
    [{ query: "x", max_results: 0 }, "greater_than_equal"],
    [{ query: "x", max_results: 101 }, "less_than_equal"],
    [{ query: "x", max_results: 1.5 }, "int_from_float"],
    [{ query: "x", freshness: "decade" }, "literal_error"],
    [{ query: "x", cache_ttl_s: -1 }, "greater_than_equal"],
  ])("%j may not: %s", async (body, type) => {
    const { find, requests } = await searchHarness();
    const { status, json } = await find(body);
    expect([status, json.detail[0].type]).toEqual([422, type]);
    expect(requests).toEqual([]);
  });

  test("a query made to be slow to check is not", async () => {
    const { find } = await searchHarness();
    const began = process.cpuUsage();
    for (const query of [`x${" ".repeat(7_990)}x`, "x ".repeat(4_000), " ".repeat(8_000)])
      await find({ query });
    expect(process.cpuUsage(began).user).toBeLessThan(500_000);
  });
});

describe("what is answered", () => {
  test("has every field of the specification, the query as sent", async () => {
    const { find } = await searchHarness();
    const { json } = await find({ query: " Tide  mill" });
    expect(response.read("body", json).kind).toBe("read");
    expect(json).toEqual({
      query: " Tide  mill",
      results: answered().results,
      provider: "metasearch",
      fallback_reason: null,
      unresponsive_engines: [],
      cached: false,
      cost_usd: 0,
      billing_category: "search",
      error: null,
      request_id: expect.stringMatching(/^req_/),
    });
  });

  test.each([
    [{}, "search", 0],
    [{ cached: true }, "search_cached", 0],
    [{ provider: "fallback", cost_usd: "0.005000" }, "search_fallback", 0.005],
    [{ provider: "fallback", cached: true }, "search_cached", 0],
    [{ provider: null, results: [], error: "metasearch_timeout" }, "search", 0],
  ] as const)("%j is billed as %s", async (answer, billing_category, cost_usd) => {
    const { find } = await searchHarness(async () => answered(answer as Partial<SearchAnswer>));
    expect((await find({ query: "x" })).json).toMatchObject({ billing_category, cost_usd });
  });

  test("is no HTTP error when no engine could answer", async () => {
    const { find } = await searchHarness(async () =>
      answered({
        provider: null,
        results: [],
        error: "fallback_http_429",
        fallback_reason: "metasearch_error",
      }),
    );
    const { status, json } = await find({ query: "x" });
    expect([status, json.error, json.results, json.provider]).toEqual([200, "fallback_http_429", [], null]);
  });

  test("shows no cost to keys of an external customer", async () => {
    const { find, documents, clock } = await searchHarness(async () =>
      answered({ provider: "fallback", cost_usd: "0.005000" }),
    );
    const customer = { name: "acme", external: true, currency: "CHF" as const };
    await createCustomer(documents, customer, clock.now());
    await createProject(documents, { name: "p", customer: "acme" }, clock.now());
    const { key } = await createKey(documents, { project: "p", role: "standard" }, clock.now());
    expect((await find({ query: "x" }, { key })).json.cost_usd).toBeNull();
  });

  test("is 504 when there is none in 150 s, and 503 when too many wait for the same", async () => {
    const slow = await searchHarness(() => new Promise(() => {}));
    const waiting = slow.find({ query: "x" });
    await slow.clock.advance(150_000);
    expect(await waiting).toMatchObject({ status: 504, json: { detail: { error: "timeout" } } });

    const full = await searchHarness(() => Promise.reject(new Fault("mailbox_full", "full")));
    expect((await full.find({ query: "x" })).status).toBe(503);
  });
});

describe("keys", () => {
  test("for fetch only may not search, and those for search only may", async () => {
    const { find, key } = await searchHarness();
    expect(await find({ query: "x" }, { key: await key({ categories: ["fetch"] }) })).toMatchObject({
      status: 403,
      json: { detail: { error: "key_category_not_allowed" } },
    });
    expect((await find({ query: "x" }, { key: await key({ categories: ["search"] }) })).status).toBe(200);
    expect((await find({ query: "x" }, { key: null })).status).toBe(401);
  });

  test("with a quota have it counted, cached or not, and what it cost", async () => {
    const { find, key, call } = await searchHarness(async () =>
      answered({ provider: "fallback", cost_usd: "0.005000" }),
    );
    const limited = await key({ quotas: { search: 2, fetch: null } });
    expect((await find({ query: "x" }, { key: limited })).status).toBe(200);
    expect((await find({ query: "x" }, { key: limited })).status).toBe(200);
    expect(await find({ query: "x" }, { key: limited })).toMatchObject({
      status: 429,
      json: { detail: { error: "key_quota_exhausted", category: "search", limit: 2 } },
    });
    const { json } = await call("GET", "/v1/quota", { key: limited });
    expect(json.keys[0]).toMatchObject({
      requests: { search: { used: 2, limit: 2, remaining: 0 } },
      spend: { used: "0.010000" },
    });
  });
});

test("demo pages are shown by name and no other way", async () => {
  const { call } = await searchHarness();
  const page = await call("GET", "/demo/page", { key: null });
  expect([page.status, page.bytes.toString()]).toEqual([200, "<p>page</p>"]);
  for (const path of ["/demo/other", "/demo/..%2fpage", "/demo/", "/demo"])
    expect([404, 422]).toContain((await call("GET", path, { key: null })).status);
});

describe("pages of results", () => {
  const found = (count: number): SearchAnswer =>
    answered({
      results: Array.from({ length: count }, (_, n) => ({
        ...answered().results[0]!,
        url: `http://a.example/${n}`,
        rank: n + 1,
      })),
    });

  test("follow each other by `page`, with their ranks", async () => {
    const { find, requests } = await searchHarness(async () => found(25));
    const { json } = await find({ query: "x", max_results: 10, page: 3 });
    expect(json.results.map(({ rank }: { rank: number }) => rank)).toEqual([21, 22, 23, 24, 25]);
    expect(requests).toMatchObject([{ max_results: 30 }]);
    expect((await find({ query: "x", max_results: 10, page: 4 })).json.results).toEqual([]);
  });

  test.each([
    [{ max_results: 100, page: 3 }, "page"],
    [{ include_domains: ["a.example", "http://b.example"] }, "include_domains"],
    [{ exclude_domains: ["a..example%"] }, "exclude_domains"],
  ])("%j is refused", async (fields, field) => {
    const { find, requests } = await searchHarness();
    const { status, json } = await find({ query: "x", ...fields });
    expect([status, json.detail[0].loc.slice(0, 2)]).toEqual([422, ["body", field]]);
    expect(requests).toEqual([]);
  });

  test("are kept to hosts as addresses have them", async () => {
    const { find, requests } = await searchHarness();
    await find({ query: "x", include_domains: ["Zürich.EXAMPLE", "a.example"], exclude_domains: [] });
    expect(requests[0]).toMatchObject({ include_domains: ["xn--zrich-kva.example", "a.example"] });
    expect(requests[0]).not.toHaveProperty("exclude_domains");
  });
});

describe("`contents`", () => {
  const urls = ["http://a.example/1", "http://b.example/", "http://a.example/2", "http://c.example/"];
  const found = (): SearchAnswer =>
    answered({ results: urls.map((url, n) => ({ ...answered().results[0]!, url, rank: n + 1 })) });

  async function contentsOf(
    contents: object,
    options: Partial<Parameters<typeof searchHarness>[1]> = {},
    key: object = {},
  ) {
    const at = await searchHarness(async () => found(), options);
    const answer = await at.find({ query: "x", contents }, { key: await at.key(key) });
    return { ...at, ...answer, content: answer.json.results?.map((result: any) => result.content) };
  }

  test("are the fetches of the first results, and null behind them; one host's follow each other", async () => {
    const running: string[] = [];
    const most: string[] = [];
    const { content, call } = await contentsOf(
      { results: 3, fetch: { render: "never", formats: ["links"] } },
      {
        fetch: async ({ url, render }) => {
          running.push(url);
          most.push(running.toSorted().join(" "));
          await new Promise<void>((resolve) => setImmediate(resolve));
          running.splice(running.indexOf(url), 1);
          expect(render).toBe("never");
          return fetchAnswer({ final_url: url, text: `Text of ${url}` });
        },
      },
    );
    expect(content).toMatchObject([
      { url: urls[0], text: `Text of ${urls[0]}`, links: [], error: null },
      { url: urls[1], text: `Text of ${urls[1]}` },
      { url: urls[2], text: `Text of ${urls[2]}` },
      null,
    ]);
    expect(content[0]).not.toHaveProperty("html");
    expect(most).not.toContainEqual(expect.stringMatching(/a\.example.*a\.example/));
    expect(most).toContain(`${urls[0]} ${urls[1]}`);
    const { items } = (await call("GET", "/v1/requests")).json;
    expect(items.map(({ category }: { category: string }) => category).toSorted()).toEqual([
      "fetch_own",
      "fetch_own",
      "fetch_own",
      "search",
    ]);
  });

  test("that could not be had keep their reason", async () => {
    const { content } = await contentsOf(
      {},
      {
        fetch: async ({ url }) =>
          url.includes("a.example")
            ? fetchAnswer({ status: 404 }, { error: "http_404", error_detail: "The origin answered 404" })
            : fetchAnswer({}, { error: "domain_busy", retry_after_s: 5 }),
      },
    );
    const busy = { error: "domain_busy", retry_after_s: 5, attempts: expect.any(Array) };
    expect(content).toMatchObject([{ error: "http_404" }, busy, { error: "http_404" }, busy]);
    expect(content[1]).not.toHaveProperty("detail");
  });

  test("count towards the key's quota of fetches: what is over it keeps the refusal", async () => {
    const { content, find, status, requests } = await contentsOf(
      { results: 4 },
      {},
      { quotas: { search: null, fetch: 2 } },
    );
    expect(status).toBe(200);
    expect(content.filter(({ error }: { error: string | null }) => error === null)).toHaveLength(2);
    expect(
      content.filter(({ error }: { error: string | null }) => error === "key_quota_exhausted"),
    ).toMatchObject([
      { url: expect.any(String), error_detail: expect.any(String) },
      { url: expect.any(String), error_detail: expect.any(String) },
    ]);
    expect([requests.length, find]).toEqual([1, expect.any(Function)]);
  });

  test("are refused before the search to a key that may fetch nothing", async () => {
    const { status, json, requests } = await contentsOf({}, {}, { categories: ["search"] });
    expect([status, json.detail.error, requests]).toEqual([403, "key_category_not_allowed", []]);
  });

  test.each([
    [{ results: 21 }, ["contents", "results"]],
    [{ fetch: { render: "sometimes" } }, ["contents", "fetch", "render"]],
    [{ fetch: { format: ["links"] } }, ["contents", "fetch", "format"]],
  ])("%j names its field where it is wrong", async (contents, loc) => {
    const { find } = await searchHarness();
    const { status, json } = await find({ query: "x", contents });
    expect([status, json.detail[0].loc]).toEqual([422, ["body", ...loc]]);
  });
});

/** POST /v1/search: its body, its response and its errors. */
import { describe, expect, test } from "vitest";
import { createCustomer, createKey, createProject } from "../../actors/business/accounts/keys.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { demoRoutes } from "../../gateway/routes/demo.ts";
import { searchRoutes } from "../../actors/sources/search/feature/routes.ts";
import { shape } from "../../gateway/validate.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { type SearchAnswer, type SearchRequest, SearchResponse } from "../../schemas/search.ts";
import { type HeadOptions, gatewayHarness } from "../harness/gateway-harness.ts";
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

async function searchHarness(search: (ask: SearchRequest) => Promise<SearchAnswer> = async () => answered()) {
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

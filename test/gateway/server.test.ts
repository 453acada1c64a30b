/** The order of the gateway's checks, and the reply of each refusal. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  allowAgent,
  createKey,
  createProject,
  revokeKey,
  setCustomerStatus,
} from "../../actors/business/accounts/keys.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { byteBudget } from "../../cluster/byte-budget.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { openRoute, route, router } from "../../gateway/route.ts";
import { WAIT_MS } from "../../gateway/with-deadline.ts";
import {
  admissionOf,
  cacheThat,
  fetchAnswer,
  gatewayHarness,
  clientAbort,
  NOON_MS,
} from "../harness/gateway-harness.ts";

const URL_BODY = { url: "https://example.org/" };

const at = (path: string) =>
  openRoute({
    method: "GET",
    path,
    operationId: path,
    summary: "",
    tags: [],
    replies: {},
    handle: () => ({ status: 200 }),
  });

const thrower = (problem: () => Error) =>
  route({
    method: "GET",
    path: "/v1/broken",
    operationId: "broken",
    summary: "",
    tags: [],
    replies: {},
    handle: () => {
      throw problem();
    },
  });

const postHead = (authorization: string) => ({
  method: "POST",
  path: "/v1/fetch",
  query: "",
  headers: new Map([["authorization", authorization]]),
  address: () => "",
});

describe("routing", () => {
  test("an unknown path is 404, before any question of keys", async () => {
    const { call } = await gatewayHarness();
    for (const path of ["/v2/fetch", "/v1/fetch/", "/v1", "//v1/fetch", "/v1/bodies/a/b"])
      expect(await call("GET", path, { key: null })).toMatchObject({
        status: 404,
        json: { detail: "Not Found" },
      });
  });

  test("a known path with another method is 405 with Allow", async () => {
    const { call } = await gatewayHarness();
    expect(await call("DELETE", "/v1/fetch")).toMatchObject({
      status: 405,
      json: { detail: "Method Not Allowed" },
      headers: { allow: "POST, OPTIONS" },
    });
    expect((await call("PUT", "/health")).headers["allow"]).toBe("GET, HEAD, OPTIONS");
  });

  test("a 404 or 405 tells a caller with a key its limits and counts for them; any other key changes nothing", async () => {
    const { call, key } = await gatewayHarness();
    const mine = await key({ rate_limit_rps: 3, quotas: { fetch: 7 } });
    const policy = `"project";q=200;w=1, "key";q=3;w=1`;
    // The first waits for the lookup of its key. None is refused by a rate: it asks for nothing.
    for (const [method, path, status, left] of [
      ["GET", "/v1/fetsch", 404, 2],
      ["DELETE", "/v1/fetch", 405, 1],
      ["POST", "/v1/fetsch", 404, 0],
      ["GET", "/v1/fetsch", 404, 0],
    ] as const) {
      const answer = await call(method, path, { key: mine });
      expect(answer).toMatchObject({
        status,
        headers: {
          "ratelimit-policy": policy,
          "x-service-key-role": "standard",
          "x-service-quota-remaining": "fetch=7",
        },
      });
      expect(answer.headers["ratelimit"]).toContain(`"key";r=${left};`);
    }
    expect((await call("GET", "/v1/quota", { key: mine })).status).toBe(429);
    for (const authorization of ["Bearer nonsense", `Bearer ${mine}x`, "Basic eDp5"]) {
      const { status, headers } = await call("GET", "/v1/fetsch", { authorization });
      expect([status, headers["ratelimit"], headers["www-authenticate"]]).toEqual([
        404,
        undefined,
        undefined,
      ]);
    }
  });

  test("OPTIONS needs no key, and CORS fields are only on routes that allow it", async () => {
    const { call } = await gatewayHarness();
    const asks = {
      key: null,
      headers: { "access-control-request-method": "POST", origin: "https://a.example" },
    };
    const closed = await call("OPTIONS", "/v1/fetch", asks);
    expect(closed).toMatchObject({ status: 204, headers: { allow: "POST, OPTIONS" } });
    expect(closed.headers["access-control-allow-origin"]).toBeUndefined();
    expect((await call("OPTIONS", "/openapi.json", asks)).headers).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-max-age": "600",
    });
    expect((await call("GET", "/openapi.json")).headers).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-expose-headers": "ETag, Retry-After, Deprecation, Sunset, Link",
    });
  });

  test("HEAD is GET where there is no route of its own", async () => {
    const { call } = await gatewayHarness();
    expect((await call("HEAD", "/health")).status).toBe(200);
  });

  const find = router(
    [
      "/c/search",
      "/c/{ref}",
      "/c/{ref}/history",
      "/c/{ref}/{resource}",
      "/c/batch/{job_id}.csv",
      "/c/batch/{job_id}",
    ].map(at),
  );
  test.each([
    ["/c/search", "/c/search", {}],
    ["/c/CHE-1", "/c/{ref}", { ref: "CHE-1" }],
    ["/c/a%2Fb", "/c/{ref}", { ref: "a/b" }],
    ["/c/%E0%A4%A", "/c/{ref}", { ref: "%E0%A4%A" }],
    ["/c/x/history", "/c/{ref}/history", { ref: "x" }],
    ["/c/x/people", "/c/{ref}/{resource}", { ref: "x", resource: "people" }],
    ["/c/search/people", "/c/{ref}/{resource}", { ref: "search", resource: "people" }],
    ["/c/batch/7.csv", "/c/batch/{job_id}.csv", { job_id: "7" }],
    ["/c/batch/7", "/c/batch/{job_id}", { job_id: "7" }],
    ["/c/batch/.csv", "/c/batch/{job_id}", { job_id: ".csv" }],
  ])("%s goes to %s", (path, template, params) => {
    const found = find(path);
    expect(found?.path.template).toBe(template);
    expect(found?.params).toEqual(params);
  });

  test("two routes that differ in names only are a mistake at start", () => {
    expect(() => router([at("/c/{a}"), at("/c/{a}")])).toThrow("twice");
  });
});

describe("keys", () => {
  test("a missing key and a wrong one have different errors (Authentication 5)", async () => {
    const { fetch } = await gatewayHarness();
    for (const [authorization, detail] of [
      ["", "missing bearer token"],
      ["Basic dXNlcjpwYXNz", "missing bearer token"],
      ["Bearer", "missing bearer token"],
      [`Bearer sk_${"x".repeat(43)}`, "invalid API key"],
      ["Bearer nonsense", "invalid API key"],
    ] as const) {
      const { status, json, headers } = await fetch(URL_BODY, { authorization });
      expect([status, json, headers["www-authenticate"]]).toEqual([401, { detail }, "Bearer"]);
      expect(headers["ratelimit"]).toBeUndefined();
    }
  });

  const SHARED = "../shared/fixtures/gateway/auth.json";
  test.skipIf(!existsSync(SHARED))(`the shared vectors (${SHARED})`, async () => {
    const { known_key, cases } = JSON.parse(readFileSync(SHARED, "utf8"));
    const documents = memoryDocuments();
    const { call } = await gatewayHarness({ documents });
    await createKey(documents, { project: "default", role: "account_admin" }, NOON_MS, () => known_key);
    expect(cases.length).toBe(21);
    for (const { id, authorization, status, detail } of cases) {
      const field =
        authorization === null || typeof authorization === "string"
          ? authorization
          : authorization.before + authorization.repeat.repeat(authorization.times);
      const reply = await call("GET", "/v1/quota", field === null ? { key: null } : { authorization: field });
      expect([id, reply.status, reply.json.detail]).toEqual([id, status, detail]);
    }
  });

  test("an answer to a key has its role and its limits (Authentication 3)", async () => {
    const { call, key } = await gatewayHarness();
    expect((await call("GET", "/v1/quota")).headers).toMatchObject({
      "x-service-key-role": "account_admin",
      "ratelimit-policy": '"project";q=200;w=1',
      ratelimit: '"project";r=199;t=1',
    });
    const limited = await key({
      rate_limit_rps: 5,
      quotas: { search: 9, fetch: 7 },
      spend_cap_micros: 12_340_000,
    });
    expect((await call("GET", "/v1/quota", { key: limited })).headers).toMatchObject({
      "x-service-key-role": "standard",
      "ratelimit-policy": '"project";q=200;w=1, "key";q=5;w=1',
      ratelimit: '"project";r=198;t=1, "key";r=4;t=1',
      "x-service-quota-remaining": "search=9, fetch=7",
      "x-service-key-budget-remaining": "12.340000",
    });
  });

  test("a revoked key is refused within 5 seconds, also one that is used all the time", async () => {
    const { call, key, documents, clock } = await gatewayHarness();
    const doomed = await key();
    expect((await call("GET", "/v1/quota", { key: doomed })).status).toBe(200);
    await revokeKey(documents, doomed.slice(0, 10), clock.now());
    const statuses: number[] = [];
    for (let second = 0; second < 5; second++) {
      await clock.advance(1_000);
      statuses.push((await call("GET", "/v1/quota", { key: doomed })).status);
    }
    expect(statuses.at(0)).toBe(200);
    expect(statuses.at(-1)).toBe(401);
  });

  test("a new key counts within 5 seconds, also one that was tried before it was there", async () => {
    const { call, documents, clock } = await gatewayHarness();
    const early = `sk_${"a".repeat(43)}`;
    expect((await call("GET", "/v1/quota", { key: early })).status).toBe(401);
    await createKey(documents, { project: "default", role: "standard" }, clock.now(), () => early);
    await clock.advance(1_000);
    expect((await call("GET", "/v1/quota", { key: early })).status).toBe(200);
  });

  /** How often keys are read from the store. */
  function countedReads() {
    const documents = memoryDocuments();
    const counted = {
      reads: 0,
      documents: {
        ...documents,
        get: (collection: string, id: string) => {
          if (collection === "keys") counted.reads++;
          return documents.get(collection, id);
        },
      },
    };
    return counted;
  }

  test("a revoked key that goes on calling is looked up once a second", async () => {
    const counted = countedReads();
    const { call, key, documents, clock } = await gatewayHarness({ documents: counted.documents });
    const doomed = await key();
    expect((await call("GET", "/v1/quota", { key: doomed })).status).toBe(200);
    await revokeKey(documents, doomed.slice(0, 10), clock.now());
    await clock.advance(5_000);
    counted.reads = 0;
    for (let round = 0; round < 50; round++) {
      expect((await call("GET", "/v1/quota", { key: doomed })).status).toBe(401);
      await clock.advance(100);
    }
    expect(counted.reads).toBeLessThanOrEqual(6);
  });

  test("looks a busy key up about every two seconds in the background", async () => {
    const counted = countedReads();
    const { admit, call, clock, first } = await gatewayHarness({ documents: counted.documents });
    await call("GET", "/v1/quota");
    const head = {
      method: "GET",
      path: "/v1/quota",
      query: "",
      headers: new Map([["authorization", `Bearer ${first}`]]),
      address: () => "",
    };
    for (let round = 0; round < 100; round++) {
      await clock.advance(100);
      expect("answer" in admit(head, clientAbort())).toBe(true);
    }
    expect(counted.reads).toBeGreaterThan(3);
    expect(counted.reads).toBeLessThan(8);
  });

  test("a store that cannot be read is 503 with Retry-After, not 401", async () => {
    const documents = memoryDocuments();
    let broken = false;
    const shaky = {
      ...documents,
      get: async (collection: string, id: string) => {
        if (broken) throw new Fault("documents_unreachable", 'Cannot read "keys" at 10.0.0.7');
        return documents.get(collection, id);
      },
    };
    const { call, clock } = await gatewayHarness({ documents: shaky });
    expect((await call("GET", "/v1/quota")).status).toBe(200);
    broken = true;
    await clock.advance(5_000);
    const refused = await call("GET", "/v1/quota");
    expect(refused).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    expect(refused.bytes.toString()).not.toContain("10.0.0.7");
    broken = false;
    expect((await call("GET", "/v1/quota")).status).toBe(200);
  });

  test("a suspended customer is refused on every path under /v1 (Authentication 6)", async () => {
    const { call, fetch, documents, clock } = await gatewayHarness();
    await setCustomerStatus(documents, "default", "suspended");
    for (const reply of [
      await fetch(URL_BODY),
      await call("GET", "/v1/quota"),
      await call("GET", "/v1/bodies/x"),
    ])
      expect(reply).toMatchObject({ status: 403, json: { detail: { error: "customer_suspended" } } });
    expect((await call("GET", "/health")).status).toBe(200);
    await setCustomerStatus(documents, "default", "active");
    await clock.advance(5_000);
    expect((await fetch(URL_BODY)).status).toBe(200);
  });

  test("a key for search only may not fetch (Authentication 7)", async () => {
    const { fetch, call, key } = await gatewayHarness();
    const searches = await key({ categories: ["search"] });
    expect(await fetch(URL_BODY, { key: searches })).toMatchObject({
      status: 403,
      json: {
        detail: {
          error: "key_category_not_allowed",
          message: "This key cannot be used for fetch, only for search",
        },
      },
    });
    expect((await call("GET", "/v1/quota", { key: searches })).status).toBe(200);
  });
});

describe("rates", () => {
  test("the request after the last of a second is 429, the next second is open again", async () => {
    const { call, clock } = await gatewayHarness();
    const replies = [];
    for (let i = 0; i < 201; i++) replies.push(await call("GET", "/v1/quota"));
    expect(new Set(replies.slice(0, 200).map(({ status }) => status))).toEqual(new Set([200]));
    expect(replies[200]).toMatchObject({
      status: 429,
      json: { detail: "rate limit exceeded" },
      headers: {
        "retry-after": "1",
        ratelimit: '"project";r=0;t=1',
        "ratelimit-policy": '"project";q=200;w=1',
      },
    });
    await clock.advance(1_000);
    expect((await call("GET", "/v1/quota")).status).toBe(200);
  });

  test("a key's own rate is its own", async () => {
    const { call, key } = await gatewayHarness();
    const slow = await key({ rate_limit_rps: 1 });
    expect((await call("GET", "/v1/quota", { key: slow })).status).toBe(200);
    expect(await call("GET", "/v1/quota", { key: slow })).toMatchObject({
      status: 429,
      json: { detail: { error: "key_rate_limited" } },
      headers: { "retry-after": "1", ratelimit: '"project";r=198;t=1, "key";r=0;t=1' },
    });
    expect((await call("GET", "/v1/quota")).status).toBe(200);
  });
});

describe("allowances", () => {
  test("a used-up quota is 429 until the month ends, and only for its category", async () => {
    const { fetch, call, key, clock } = await gatewayHarness({ at_ms: Date.UTC(2026, 10, 30, 23, 59, 30) });
    const scarce = await key({ quotas: { fetch: 2 } });
    expect((await fetch(URL_BODY, { key: scarce })).headers["x-service-quota-remaining"]).toBe("fetch=1");
    expect((await fetch(URL_BODY, { key: scarce })).status).toBe(200);
    expect(await fetch(URL_BODY, { key: scarce })).toMatchObject({
      status: 429,
      json: { detail: { error: "key_quota_exhausted", category: "fetch", limit: 2 } },
      headers: { "retry-after": "30", "x-service-quota-remaining": "fetch=0" },
    });
    expect((await call("GET", "/v1/quota", { key: scarce })).status).toBe(200);
    await clock.advance(30_000);
    expect((await fetch(URL_BODY, { key: scarce })).status).toBe(200);
  });

  test("many at once cannot pass a quota: it is reserved before the work", async () => {
    const open = Promise.withResolvers<void>();
    const { fetch, key } = await gatewayHarness({
      fetch: async () => open.promise.then(() => fetchAnswer({})),
    });
    const scarce = await key({ quotas: { fetch: 3 } });
    const replies = Array.from({ length: 5 }, () => fetch(URL_BODY, { key: scarce }));
    open.resolve();
    expect((await Promise.all(replies)).map(({ status }) => String(status)).toSorted()).toEqual([
      "200",
      "200",
      "200",
      "429",
      "429",
    ]);
  });

  test("what we could not answer is not counted", async () => {
    let broken = true;
    const { fetch, key } = await gatewayHarness({
      fetch: async () => {
        if (broken) throw new Fault("no_workers", "Cannot fetch: there is no worker");
        return fetchAnswer({});
      },
    });
    const scarce = await key({ quotas: { fetch: 1 } });
    expect((await fetch(URL_BODY, { key: scarce })).status).toBe(503);
    expect((await fetch({ url: "" }, { key: scarce })).status).toBe(422);
    broken = false;
    expect((await fetch(URL_BODY, { key: scarce })).status).toBe(200);
    expect((await fetch(URL_BODY, { key: scarce })).status).toBe(429);
  });

  test("a reached spend cap is 429 with its amount", async () => {
    const { fetch, key, spend } = await gatewayHarness({
      fetch: async (request, _signal, beginWork) => {
        await beginWork();
        await spend(request, 750_000);
        return fetchAnswer({}, { cost_usd: "0.75" });
      },
    });
    const capped = await key({ spend_cap_micros: 1_500_000 });
    expect((await fetch(URL_BODY, { key: capped })).headers["x-service-key-budget-remaining"]).toBe(
      "0.750000",
    );
    expect((await fetch(URL_BODY, { key: capped })).headers["x-service-key-budget-remaining"]).toBe(
      "0.000000",
    );
    expect(await fetch(URL_BODY, { key: capped })).toMatchObject({
      status: 429,
      json: { detail: { error: "key_budget_exhausted", limit: "1.500000", currency: "USD" } },
      headers: { "retry-after": "820800" },
    });
  });
});

describe("a key whose spend cap is used up", () => {
  const CACHED = { url: "https://example.org/cached" };

  async function spent() {
    let upstream = 0;
    const gateway = await gatewayHarness({
      cache: cacheThat(() => true),
      fetch: async (request, _signal, beginWork) => {
        if (request.url === CACHED.url) return fetchAnswer({}, { cached: true });
        await beginWork();
        upstream++;
        await gateway.spend(request, 1_000_000);
        return fetchAnswer({}, { cost_usd: "1" });
      },
    });
    const capped = await gateway.key({ spend_cap_micros: 1_000_000, quotas: { fetch: 9 } });
    expect((await gateway.fetch(URL_BODY, { key: capped })).status).toBe(200);
    return { ...gateway, capped, upstream: () => upstream };
  }

  test("gets answers from the cache, which cost nothing, also those sent again from memory", async () => {
    const { fetch, call, capped } = await spent();
    for (let n = 0; n < 3; n++) {
      const answer = await fetch(CACHED, { key: capped });
      expect([answer.status, answer.json.cached]).toEqual([200, true]);
    }
    const rows = (await call("GET", "/v1/requests", { key: capped })).json.items;
    expect(rows.map(({ category }: { category: string }) => category)).toEqual([
      "fetch_cached",
      "fetch_cached",
      "fetch_cached",
      "fetch_paid",
    ]);
  });

  test("is refused all else before anything is asked, which counts for no quota and has no row", async () => {
    const { fetch, call, capped, upstream } = await spent();
    const refused = await fetch(URL_BODY, { key: capped });
    expect([refused.status, refused.json.detail.error]).toEqual([429, "key_budget_exhausted"]);
    expect(refused.headers["retry-after"]).toBe("820800");
    expect(upstream()).toBe(1);
    expect((await call("GET", "/v1/requests", { key: capped })).json.items).toHaveLength(1);
    expect((await fetch(CACHED, { key: capped })).headers["x-service-quota-remaining"]).toBe("fetch=7");
  });
});

describe("the order of checks", () => {
  /** Each request is wrong in its own way and in all later ones: the first wrong thing is what is answered. */
  test("is the order decided", async () => {
    const { call, key, documents, clock } = await gatewayHarness();
    const project = { name: "odd", customer: "default" };
    await createProject(documents, project, clock.now());
    const bad = { url: "", user_agent: "Nobody/1" };
    const good = { url: "https://example.org/", user_agent: "Nobody/1" };
    const search = await key({ project: "odd", categories: ["search"], quotas: { fetch: 0 } });
    const none = await key({ project: "odd", quotas: { fetch: 0 } });
    const seen: [string, number, unknown][] = [];
    const ask = async (what: string, ...[method, path, asked]: Parameters<typeof call>) => {
      const { status, json } = await call(method, path, asked);
      seen.push([what, status, json?.detail?.error ?? json?.detail?.[0]?.type ?? json?.detail]);
    };
    await ask("path", "POST", "/v1/fetsch", { key: null, body: bad });
    await ask("method", "PUT", "/v1/fetch", { key: null, body: bad });
    await ask("key", "POST", "/v1/fetch", { key: null, too_large: true });
    await ask("size", "POST", "/v1/fetch", { key: search, too_large: true });
    await ask("shape", "POST", "/v1/fetch", { key: search, body: bad });
    await ask("category", "POST", "/v1/fetch", { key: search, body: good });
    await ask("user agent", "POST", "/v1/fetch", { key: none, body: good });
    await allowAgent(documents, "odd", "Nobody/1");
    await clock.advance(5_000);
    await ask("quota", "POST", "/v1/fetch", { key: none, body: good });
    const limited = await key({ project: "odd", rate_limit_rps: 1 });
    await call("GET", "/v1/quota", { key: limited });
    await ask("rate", "POST", "/v1/fetch", { key: limited, too_large: true });
    expect(seen).toEqual([
      ["path", 404, "Not Found"],
      ["method", 405, "Method Not Allowed"],
      ["key", 401, "missing bearer token"],
      ["size", 413, "request body over 64 MB"],
      ["shape", 422, "string_too_short"],
      ["category", 403, "key_category_not_allowed"],
      ["user agent", 403, "user_agent_not_allowed"],
      ["quota", 429, "key_quota_exhausted"],
      ["rate", 429, "key_rate_limited"],
    ]);
  });

  test("a body is awaited only after the key was found good enough", async () => {
    const { admit, first, call } = await gatewayHarness();
    await call("GET", "/v1/quota");
    const stays = clientAbort();
    expect(admit(postHead("Bearer nonsense"), stays)).toMatchObject({ status: 401 });
    expect(admit(postHead(`Bearer ${first}`), stays)).toMatchObject({ limit_bytes: 67_108_864 });
  });

  test("a wrong key is answered without waiting for the body and without room for it", async () => {
    const memory = byteBudget({ limit_bytes: 64 * 2 ** 20, clock: virtualClock(0), ...silentTelemetry() });
    const { admit } = await gatewayHarness({ memory });
    const head = {
      method: "POST",
      path: "/v1/fetch",
      query: "",
      headers: new Map([
        ["authorization", `Bearer sk_${"s".repeat(43)}`],
        ["content-length", "67108864"],
      ]),
      address: () => "",
    };
    const lookups = Array.from({ length: 100 }, () => admissionOf(admit(head, clientAbort())));
    expect(new Set((await Promise.all(lookups)).map((each) => "status" in each && each.status))).toEqual(
      new Set([401]),
    );
    expect(memory.figures().reserved_bytes).toBe(0);
  });
});

describe("every answer", () => {
  test("has a request id of its own, refusals too", async () => {
    const { call, fetch } = await gatewayHarness();
    const replies = [
      await fetch(URL_BODY),
      await call("GET", "/nowhere"),
      await call("GET", "/v1/quota", { key: null }),
    ];
    const ids = replies.map(({ headers }) => headers["x-request-id"]);
    for (const id of ids) expect(id).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(new Set(ids).size).toBe(3);
    expect(replies[0]!.json.request_id).toBe(ids[0]);
  });

  test("is counted by route and class, and logged without its query and its key", async () => {
    const { call, telemetry, first } = await gatewayHarness();
    await call("GET", "/v1/quota?secret=1");
    await call("GET", "/nowhere");
    expect(telemetry.counts.get("trawl_http_requests_total /v1/quota GET 2xx")).toBe(1);
    expect(telemetry.counts.get("trawl_http_requests_total none other 4xx")).toBe(1);
    const lines = JSON.stringify(telemetry.lines);
    expect(telemetry.lines[0]).toMatchObject({
      message: "request",
      fields: { route: "/v1/quota", status: 200, project: "default", key: first.slice(0, 10) },
    });
    expect(lines).not.toContain(first);
    expect(lines).not.toContain("secret=1");
  });

  test("to a poll of /health and /ready is logged only at level debug, and when the node is not ready", async () => {
    const state = { draining: false };
    const { call, telemetry } = await gatewayHarness({ draining: () => state.draining });
    for (const path of ["/health", "/ready"]) await call("GET", path, { key: null });
    state.draining = true;
    await call("GET", "/ready", { key: null });
    expect(telemetry.lines).toMatchObject([
      { level: "debug", fields: { route: "/health" } },
      { level: "debug", fields: { route: "/ready", status: 200 } },
      { level: "info", fields: { route: "/ready", status: 503 } },
    ]);
  });

  test("to a bug is 500 with the id to find it by, and nothing of the bug", async () => {
    const { call, telemetry } = await gatewayHarness({
      more: [thrower(() => new RangeError("secret of the house"))],
    });
    const { status, json, bytes, headers } = await call("GET", "/v1/broken");
    expect([status, json]).toEqual([500, { detail: "internal error", request_id: headers["x-request-id"] }]);
    expect(bytes.toString()).not.toContain("secret");
    expect(telemetry.lines.find(({ level }) => level === "error")?.fields).toMatchObject({
      request_id: headers["x-request-id"],
    });
  });

  test.each([
    ["documents_unreachable", 503],
    ["bodies_unreachable", 503],
    ["body_damaged", 503],
    ["bus_unreachable", 503],
    ["mailbox_full", 503],
    ["overloaded", 503],
    ["no_workers", 503],
    ["no_descriptors", 503],
    ["document_damaged", 503],
    ["document_contended", 503],
    ["lease_lost", 503],
    ["no_answer", 503],
    ["message_too_large", 500],
  ] as const)("to the fault %s is %i", async (code, expected) => {
    const { call, telemetry } = await gatewayHarness({
      more: [thrower(() => new Fault(code, "Cannot reach 10.0.0.7"))],
    });
    const { status, json, headers, bytes } = await call("GET", "/v1/broken");
    expect(status).toBe(expected);
    expect(bytes.toString()).not.toContain("10.0.0.7");
    expect([json.detail, Number(headers["retry-after"] ?? 0) > 0]).toEqual(
      {
        500: ["internal error", false],
        503: [expect.any(String), true],
      }[expected],
    );
    expect(telemetry.counts.get(`trawl_faults_total ${code}`)).toBe(1);
  });

  test.each([
    [WAIT_MS - 1, 503, "5"],
    [WAIT_MS, 504, undefined],
  ])(
    "that stayed away for %i ms is %i: 504 only when the caller's time is over",
    async (wait_ms, expected, retry) => {
      const failing = Promise.withResolvers<void>();
      const { call, clock } = await gatewayHarness({
        more: [
          {
            ...thrower(() => new Error("unused")),
            handle: () => failing.promise.then(() => Promise.reject(new Fault("no_answer", "Nobody"))),
          },
        ],
      });
      const answered = call("GET", "/v1/broken");
      await clock.advance(wait_ms);
      failing.resolve();
      const { status, headers } = await answered;
      expect([status, headers["retry-after"]]).toEqual([expected, retry]);
    },
  );

  test("that broke in the adapter is a 500 as well", async () => {
    const { failed } = await gatewayHarness();
    const head = { method: "GET", path: "/", query: "", headers: new Map(), address: () => "" };
    expect(failed(new Error("x"), head)).toMatchObject({ status: 500 });
  });
});

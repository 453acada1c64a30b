/** Access: keys, limits, refusals, and what needs no key. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { monthBefore } from "../../actors/business/accounts/invoices.ts";
import { readConfig } from "../../ops/config.ts";
import { openDocuments } from "../../ops/stores.ts";
import { monthOf } from "../../schemas/accounts.ts";
import { batchKey, newBatchTag } from "../../schemas/ledger.ts";
import { packRows } from "../../schemas/ledger-batch.ts";
import { ledgerRow } from "../harness/ledger-row.ts";
import type { HttpResponse } from "../harness/http-response.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { RECEIVER_CERTIFICATE, webhookReceiver } from "../harness/webhook-receiver.ts";
import { article, gate } from "../harness/web.ts";

/** A body, and what is wrong with it: where and what, in pydantic's words. */
const MALFORMED: readonly (readonly [body: unknown, loc: readonly (string | number)[], type: string])[] = [
  // Not JSON at all.
  ["", ["body"], "missing"],
  ["{", ["body", 1], "json_invalid"],
  ["null", ["body"], "model_attributes_type"],
  ["[]", ["body"], "model_attributes_type"],
  ['"http://a.test/"', ["body"], "model_attributes_type"],
  ["42", ["body"], "model_attributes_type"],
  ["url=http://a.test/", ["body", 0], "json_invalid"],
  ["{'url': 'http://a.test/'}", ["body", 1], "json_invalid"],
  ['{"url": "http://a.test/",}', ["body", 25], "json_invalid"],
  // Where it is V8 does not say.
  ['{"url": NaN}', ["body", 0], "json_invalid"],
  ['{"url": "http://a.test/"} x', ["body", 26], "json_invalid"],
  [Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]), ["body", 0], "json_invalid"],
  [Buffer.from('{"url":"\xff"}', "latin1"), ["body", 0], "json_invalid"],
  [Buffer.alloc(100), ["body", 0], "json_invalid"],
  ["[".repeat(200_000), ["body", 200_000], "json_invalid"],
  // Fields.
  [{}, ["body", "url"], "missing"],
  [{ url: null }, ["body", "url"], "string_type"],
  [{ url: 5 }, ["body", "url"], "string_type"],
  [{ url: ["http://a.test/"] }, ["body", "url"], "string_type"],
  [{ url: "" }, ["body", "url"], "string_too_short"],
  [{ url: `http://a.test/${"a".repeat(8_192)}` }, ["body", "url"], "string_too_long"],
  [{ render: "sometimes" }, ["body", "render"], "literal_error"],
  [{ render: null }, ["body", "render"], "literal_error"],
  [{ max_bytes: 0 }, ["body", "max_bytes"], "greater_than_equal"],
  [{ max_bytes: -1 }, ["body", "max_bytes"], "greater_than_equal"],
  [{ max_bytes: 52_428_801 }, ["body", "max_bytes"], "less_than_equal"],
  [{ max_bytes: 1.5 }, ["body", "max_bytes"], "int_from_float"],
  [{ max_bytes: "1000" }, ["body", "max_bytes"], "int_type"],
  [{ accept_pdf: "yes" }, ["body", "accept_pdf"], "bool_type"],
  [{ cache_ttl_s: -1 }, ["body", "cache_ttl_s"], "greater_than_equal"],
  [{ cache_ttl_s: "0" }, ["body", "cache_ttl_s"], "int_type"],
  [{ min_text_chars: -5 }, ["body", "min_text_chars"], "greater_than_equal"],
  [{ allow_archive: 1 }, ["body", "allow_archive"], "bool_type"],
  [{ allow_alternates: null }, ["body", "allow_alternates"], "bool_type"],
  [{ allow_paid: "false" }, ["body", "allow_paid"], "bool_type"],
  [{ tiers: "direct" }, ["body", "tiers"], "list_type"],
  [{ tiers: ["direct", "pigeon"] }, ["body", "tiers", 1], "literal_error"],
  [{ tiers: [null] }, ["body", "tiers", 0], "literal_error"],
  [{ timeout_s: 4.9 }, ["body", "timeout_s"], "greater_than_equal"],
  [{ timeout_s: 150.5 }, ["body", "timeout_s"], "less_than_equal"],
  [{ timeout_s: "30" }, ["body", "timeout_s"], "float_type"],
  [{ country: "DEU" }, ["body", "country"], "string_pattern_mismatch"],
  [{ country: "" }, ["body", "country"], "string_pattern_mismatch"],
  [{ user_agent: 7 }, ["body", "user_agent"], "string_type"],
  [{ user_agent: "a".repeat(501) }, ["body", "user_agent"], "string_too_long"],
  [{ accept_language: {} }, ["body", "accept_language"], "string_type"],
  [{ include_html: "no" }, ["body", "include_html"], "bool_type"],
  [{ project_ref: "a".repeat(501) }, ["body", "project_ref"], "string_too_long"],
];

/** A change of a key takes effect within 5 s. */
async function becomes(ask: () => Promise<HttpResponse>, status: number): Promise<void> {
  await expect.poll(async () => (await ask()).status, { timeout: 5_000, interval: 50 }).toBe(status);
}

const isRefused = ({ status }: HttpResponse) => status === 429;

describe.each(SETUPS)("access, $setup", ({ start, setup }) => {
  const { sites, service } = scenario(start, (web) => {
    web.name("site", ["127.0.0.1"]);
    return { TRAWL_CA_FILE: RECEIVER_CERTIFICATE };
  });
  let url: string;
  beforeAll(() => {
    url = `${sites.site({ "/": { body: article("Access") } }).origin}/`;
  });

  const fetch = (key: string | null, headers: Readonly<Record<string, string>> = {}): Promise<HttpResponse> =>
    service.call("POST", "/v1/fetch", { key, headers, body: { url } });
  const key = async (...options: string[]): Promise<{ key: string; prefix: string }> =>
    service.trawl("key", "create", "--project", "default", ...options);

  describe("keys", () => {
    test.each([
      [{}, "missing bearer token"],
      [{ authorization: "" }, "missing bearer token"],
      [{ authorization: "Basic dXNlcjpwYXNz" }, "missing bearer token"],
      [{ authorization: "Bearer" }, "missing bearer token"],
      [{ authorization: "Bearer nothing" }, "invalid API key"],
      [{ authorization: "Bearer ak_scenarios_0123456789abcdeX" }, "invalid API key"],
      [{ authorization: "Bearer sk_scenarios_0123456789abcdef" }, "invalid API key"],
    ] as const)("%o is 401", async (headers, detail) => {
      for (const [method, path] of [
        ["POST", "/v1/fetch"],
        ["GET", `/v1/bodies/${"0".repeat(64)}`],
        ["GET", "/v1/quota"],
      ] as const) {
        const answer = await service.call(method, path, { key: null, headers });
        expect(answer.status).toBe(401);
        expect(answer.json).toEqual({ detail });
        expect(answer.headers["www-authenticate"]).toBe("Bearer");
        expect(answer.headers).not.toHaveProperty("ratelimit");
      }
    });

    test("work as soon as they are created, and /v1/quota names their project", async () => {
      const [standard, admin] = await Promise.all([key(), key("--admin")]);
      expect(standard).toMatchObject({ key: expect.stringMatching(/^sk_/), role: "standard" });
      for (const [one, role] of [
        [standard, "standard"],
        [admin, "account_admin"],
      ] as const) {
        const answer = await fetch(one.key);
        expect(answer.status).toBe(200);
        expect(answer.headers).toMatchObject({
          "x-service-key-role": role,
          "ratelimit-policy": '"project";q=200;w=1',
          ratelimit: expect.stringMatching(/^"project";r=\d+;t=1$/),
        });
        const { json } = await service.call("GET", "/v1/quota", { key: one.key });
        expect(json).toMatchObject({ key: one.prefix, role, period: expect.stringMatching(/^\d{4}-\d\d$/) });
      }
    });

    test("stop working within 5 s of trawl key revoke", async () => {
      const { key: secret, prefix } = await key();
      expect((await fetch(secret)).status).toBe(200);
      await service.trawl("key", "revoke", prefix);
      const began = performance.now();
      await becomes(() => fetch(secret), 401);
      expect(performance.now() - began).toBeLessThan(5_500);
    });

    test("of a suspended customer are answered 403 on every endpoint, until the customer is active again", async () => {
      await service.trawl("project", "create", "owing", "--customer", "debtor", "--new-customer");
      const { key: secret } = await service.trawl("key", "create", "--project", "owing");
      expect((await fetch(secret)).status).toBe(200);
      await service.trawl("customer", "suspend", "debtor");
      await becomes(() => fetch(secret), 403);
      for (const path of ["/v1/quota", `/v1/bodies/${"0".repeat(64)}`]) {
        const answer = await service.call("GET", path, { key: secret });
        expect(answer.status).toBe(403);
        expect(answer.json).toEqual({ detail: { error: "customer_suspended" } });
      }
      await service.trawl("customer", "activate", "debtor");
      await becomes(() => fetch(secret), 200);
    });

    test("can be restricted to some categories", async () => {
      const { key: secret } = await key("--category", "search");
      const answer = await fetch(secret);
      expect(answer.status).toBe(403);
      expect(answer.json).toEqual({
        detail: { error: "key_category_not_allowed", message: expect.stringContaining("search") },
      });
      expect((await service.call("GET", "/v1/quota", { key: secret })).status).toBe(200);
    });

    test("are written to no log", () => {
      const output = service.stdout() + service.stderr();
      expect(output).toContain("Listening");
      expect(output).not.toMatch(/[as]k_[A-Za-z0-9_-]{20}/);
    });
  });

  describe("limits", () => {
    test("of a key's own requests per second are enforced with 429 and Retry-After", async () => {
      const { key: secret } = await key("--rps", "2");
      const answers = await Promise.all(Array.from({ length: 8 }, () => fetch(secret)));
      const refused = answers.filter(({ status }) => status === 429);
      // Two for each second begun meanwhile.
      expect(refused.length).toBeGreaterThanOrEqual(4);
      expect(answers.some(({ status }) => status === 200)).toBe(true);
      for (const { json, headers } of refused) {
        expect(json).toEqual({ detail: { error: "key_rate_limited" } });
        expect(headers).toMatchObject({
          "retry-after": "1",
          "ratelimit-policy": '"project";q=200;w=1, "key";q=2;w=1',
          ratelimit: expect.stringMatching(/^"project";r=\d+;t=1, "key";r=0;t=1$/),
        });
      }
    });

    test("of a project are enforced with 429 and Retry-After over all of its keys", async () => {
      await service.trawl("project", "create", "eager");
      // Fewer than a slow machine answers in a second.
      await service.trawl("project", "rate", "eager", "20");
      const [one, two] = await Promise.all([
        service.trawl("key", "create", "--project", "eager"),
        service.trawl("key", "create", "--project", "eager"),
      ]);
      const burst = () => Promise.all(Array.from({ length: 100 }, (_, n) => fetch((n % 2 ? one : two).key)));
      let refused: HttpResponse[] = [];
      await expect
        .poll(async () => (refused = (await burst()).filter(isRefused)).length, { timeout: 15_000 })
        .toBeGreaterThan(0);
      expect(refused[0]!.json).toEqual({ detail: "rate limit exceeded" });
      expect(refused[0]!.headers).toMatchObject({
        "retry-after": "1",
        "ratelimit-policy": '"project";q=20;w=1',
        ratelimit: '"project";r=0;t=1',
      });
    });

    test("of a month are enforced with 429 until the month ends", async () => {
      const { key: secret } = await key("--quota", "fetch=2");
      const answers = [await fetch(secret), await fetch(secret), await fetch(secret)];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(answers[0]!.headers["x-service-quota-remaining"]).toBe("fetch=1");
      expect(answers[2]!.json).toEqual({
        detail: { error: "key_quota_exhausted", category: "fetch", limit: 2 },
      });
      const now = new Date();
      const resets = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
      const wait_s = Number(answers[2]!.headers["retry-after"]);
      expect(Math.abs(wait_s - (resets - Date.now()) / 1_000)).toBeLessThan(30);
    });

    test("count twenty concurrent requests exactly", async () => {
      const { key: secret } = await key("--quota", "fetch=7");
      const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(secret)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(13);
    });
  });

  describe("refusals", () => {
    test("has at least forty malformed bodies", () => {
      expect(MALFORMED.length).toBeGreaterThanOrEqual(40);
    });

    test.each(MALFORMED)("%j is 422", async (given, loc, type) => {
      const isWish =
        typeof given === "object" && given !== null && !Buffer.isBuffer(given) && !Array.isArray(given);
      const needs_url = isWish && !("url" in given) && Object.keys(given).length > 0;
      const answer = await service.call("POST", "/v1/fetch", {
        body: needs_url ? { url, ...given } : given,
      });
      expect(answer.status).toBe(422);
      expect(answer.json.detail).toEqual([{ loc, type, msg: expect.any(String) }]);
      expect(JSON.stringify(answer.json)).not.toContain("a.test");
    });

    test("lists all mistakes of a body at once", async () => {
      const { status, json } = await service.call("POST", "/v1/fetch", {
        body: { max_bytes: "many", render: "no", tiers: ["x", "y"] },
      });
      expect(status).toBe(422);
      const places = json.detail.map(({ loc }: { loc: string[] }) => loc.slice(1).join("."));
      expect(new Set(places)).toEqual(new Set(["url", "max_bytes", "render", "tiers.0", "tiers.1"]));
    });

    test("unknown fields and any Content-Type are accepted", async () => {
      const answer = await service.call("POST", "/v1/fetch", {
        body: JSON.stringify({ url, colour: "blue" }),
        headers: { "content-type": "text/plain" },
      });
      expect(answer.status).toBe(200);
    });

    test("a body over 64 MB is answered 413 before it has arrived", async () => {
      const { host, hostname, port } = new URL(service.url);
      const socket = connect(Number(port), hostname);
      await once(socket, "connect");
      socket.write(
        `POST /v1/fetch HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${service.key}\r\n` +
          `Content-Length: ${64 * 2 ** 20 + 1}\r\n\r\n`,
      );
      const [bytes] = (await once(socket, "data")) as [Buffer];
      expect(bytes.toString()).toMatch(/^HTTP\/1\.1 413 [^]*\{"detail":"request body over 64 MB"\}/);
      socket.destroy();
    });

    test("an unknown path is 404, a method that the path does not have 405", async () => {
      for (const path of ["/", "/v1", "/v1/", "/v1/fetch/", "//v1/fetch", "/v1/nothing", "/health/x"]) {
        const answer = await service.call("POST", path);
        const wrong = path === "/" ? 405 : 404;
        expect({ path, status: answer.status }).toEqual({ path, status: wrong });
      }
      const get = await service.call("GET", "/v1/fetch");
      expect(get.status).toBe(405);
      expect(get.headers["allow"]).toBe("POST, OPTIONS");
      expect(get.json).toEqual({ detail: "Method Not Allowed" });
      expect((await service.call("OPTIONS", "/v1/fetch", { key: null })).status).toBe(204);
    });

    test("every answer has its own request id", async () => {
      const answers = await Promise.all([
        ...Array.from({ length: 30 }, () => fetch(service.key)),
        ...Array.from({ length: 30 }, () => fetch(null)),
        ...Array.from({ length: 30 }, () => service.call("GET", "/nowhere")),
      ]);
      expect(new Set(answers.map(({ headers }) => headers["x-request-id"])).size).toBe(90);
    });
  });

  test("an alert is delivered, signed, when a quota is half used and when it is used up", async () => {
    const hook = await webhookReceiver();
    const mine = await key("--quota", "fetch=2");
    const options = {
      key: mine.key,
      body: { url: `https://site.test:${hook.port}/`, scope: "key", thresholds: [50, 100] },
    };
    for (const [wrong, type] of [
      ["http://site.test/", "url_scheme"],
      ["https://10.0.0.7/", "blocked_destination"],
    ])
      expect(
        await service.call("POST", "/v1/alerts", { ...options, body: { ...options.body, url: wrong } }),
      ).toMatchObject({ status: 422, json: { detail: [{ loc: ["body", "url"], type }] } });
    const { status, json: alert } = await service.call("POST", "/v1/alerts", options);
    expect([status, alert.key]).toEqual([201, mine.prefix]);
    for (const expected of [200, 200, 429]) expect((await fetch(mine.key)).status).toBe(expected);
    await expect.poll(() => hook.received.length, { timeout: 15_000 }).toBe(2);
    const thresholds = hook.received.map(({ body }) => (JSON.parse(body) as { threshold: number }).threshold);
    expect(new Set(thresholds)).toEqual(new Set([50, 100]));
    for (const { headers, body: text } of hook.received) {
      const [t, v1] = String(headers["x-service-signature"])
        .split(",")
        .map((part) => part.split("=")[1]!);
      expect(createHmac("sha256", alert.secret).update(`${t}.${text}`).digest("hex")).toBe(v1);
    }
    const list = async () => (await service.call("GET", "/v1/alerts", { key: mine.key })).json.alerts;
    await expect.poll(async () => (await list())[0].last_status, { timeout: 10_000 }).toBe("delivered_204");
    expect(await list()).toEqual([
      { ...alert, secret: undefined, last_delivery_at: expect.any(String), last_status: "delivered_204" },
    ]);
    const stranger = await key();
    const path = `/v1/alerts/${alert.id}`;
    expect((await service.call("DELETE", path, { key: stranger.key })).status).toBe(404);
    expect((await service.call("DELETE", path, { key: mine.key })).status).toBe(204);
    expect(await list()).toEqual([]);
    hook.close();
  });

  describe("a customer with prices", () => {
    let origin: string;
    let created = 0;
    const paths = ["/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"];
    /** A key of a customer in CHF that pays 0.001 for a fetch by the service's own routes. */
    const pricedKey = async (...limits: string[]): Promise<{ key: string; prefix: string }> => {
      const name = `priced${++created}`;
      await service.trawl("customer", "create", name, "--external", "--currency", "CHF");
      await service.trawl("customer", "price", name, "fetch_own=0.001");
      await service.trawl("project", "create", name, "--customer", name);
      return service.trawl("key", "create", "--project", name, "--admin", ...limits);
    };
    const fetchPath = (secret: string, path: string): Promise<HttpResponse> =>
      service.call("POST", "/v1/fetch", { key: secret, body: { url: `${origin}${path}` } });
    const spendOf = async (secret: string) =>
      (await service.call("GET", "/v1/quota", { key: secret })).json.keys[0].spend;
    beforeEach(() => {
      const bodies = paths.map((path) => [path, { body: article(`Charged ${path}`) }]);
      ({ origin } = sites.site(Object.fromEntries(bodies)));
    });

    test("a key's cap counts what the customer is charged, and refuses what no longer fits", async () => {
      const { key: mine } = await pricedKey("--spend-cap", "0.0025");
      const first = await fetchPath(mine, "/a");
      expect([first.status, first.json.billing_category]).toEqual([200, "fetch_own"]);
      expect(first.headers["x-service-key-budget-remaining"]).toBe("0.001500");
      expect((await fetchPath(mine, "/b")).status).toBe(200);
      const third = await fetchPath(mine, "/c");
      expect([third.status, third.json]).toEqual([
        429,
        { detail: { error: "key_budget_exhausted", limit: "0.002500", currency: "CHF" } },
      ]);
      expect(Number(third.headers["retry-after"])).toBeGreaterThan(1);
      // An answer from the cache has no price.
      const again = await fetchPath(mine, "/a");
      expect([again.status, again.json.billing_category]).toEqual([200, "fetch_cached"]);
      expect(await spendOf(mine)).toEqual({
        used: "0.002000",
        limit: "0.002500",
        remaining: "0.000500",
        currency: "CHF",
        basis: "charge",
      });
    });

    test("requests at once never pass a cap, and a failed one is not charged", async () => {
      const { key: mine } = await pricedKey("--spend-cap", "0.0035");
      expect((await fetchPath(mine, "/missing")).json.error).toBe("http_404");
      const answers = await Promise.all(paths.map((path) => fetchPath(mine, path)));
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      expect(statuses).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
      expect(await spendOf(mine)).toMatchObject({ used: "0.003000", remaining: "0.000500" });
    });

    test("items of a job end with key_budget_exhausted where the cap ends", async () => {
      const { key: mine } = await pricedKey("--spend-cap", "0.0025");
      const items = paths.map((path) => ({ url: `${origin}${path}` }));
      const body = { idempotency_key: `charged-${created}`, items };
      const { json: job } = await service.call("POST", "/v1/batch/fetch", { key: mine, body });
      const read = async () =>
        (await service.call("GET", `/v1/jobs/${job.job_id}?include=items`, { key: mine })).json;
      await expect.poll(async () => (await read()).status, { timeout: 60_000 }).toBe("completed");
      const errors = Map.groupBy((await read()).items, ({ error }: { error: string | null }) => error);
      expect(errors.get(null)).toHaveLength(2);
      expect(errors.get("key_budget_exhausted")).toHaveLength(6);
      expect(await spendOf(mine)).toMatchObject({ used: "0.002000", remaining: "0.000500" });
    });

    test("kill -9 between reserve and settle neither loses nor doubles a charge", async () => {
      const { key: mine } = await pricedKey("--spend-cap", "0.0065");
      const hold = gate();
      const slow = sites.site({ "*": async () => (await hold.opened, { body: article("Slow") }) });
      // A node of a cluster settles what other gateways have left after ten minutes: those calls are tested with less time.
      const calls = setup === "embedded" ? ["/call-1", "/call-2"] : [];
      for (const path of calls)
        void service
          .call("POST", "/v1/fetch", { key: mine, body: { url: `${slow.origin}${path}` } })
          .catch(() => {});
      const items = ["/item-1", "/item-2", "/item-3"].map((path) => ({ url: `${slow.origin}${path}` }));
      const body = { idempotency_key: `killed-${created}`, items };
      const { json: job } = await service.call("POST", "/v1/batch/fetch", { key: mine, body });
      // Calls and items have reserved when one of them is at the site.
      const reserved = `${(0.0065 - (calls.length + items.length) * 0.001).toFixed(4)}00`;
      await expect.poll(async () => (await spendOf(mine)).remaining, { timeout: 20_000 }).toBe(reserved);
      await service.kill();
      hold.open();
      await service.restart();
      const read = async () => (await service.call("GET", `/v1/jobs/${job.job_id}`, { key: mine })).json;
      await expect.poll(async () => (await read()).status, { timeout: 60_000 }).toBe("completed");
      const left = { used: "0.003000", remaining: "0.003500" };
      await expect.poll(() => spendOf(mine), { timeout: 20_000 }).toMatchObject(left);
    });

    test("budgets of the project and the customer count it, too, and /v1/account says so", async () => {
      const { key: mine } = await pricedKey();
      const name = `priced${created}`;
      await service.trawl("project", "budget", name, "0.002");
      await service.trawl("customer", "budget", name, "0.001");
      expect((await fetchPath(mine, "/a")).status).toBe(200);
      const refused = await fetchPath(mine, "/b");
      expect([refused.status, refused.json]).toEqual([
        429,
        { detail: { error: "key_budget_exhausted", currency: "CHF" } },
      ]);
      const { plan } = (await service.call("GET", "/v1/account", { key: mine })).json;
      expect(plan).toMatchObject({
        basis: "charge",
        budget: "0.001000",
        remaining: "0.000000",
        prices: { fetch_own: "0.001000" },
      });
      await service.trawl("customer", "budget", name, "none");
      expect((await fetchPath(mine, "/b")).status).toBe(200);
      expect((await fetchPath(mine, "/c")).status).toBe(429);
    });
  });

  test("an invoice of last month is drawn up, shown as JSON and as a page, and paid", async () => {
    await service.trawl("rate", "set", "CHF", "0.885312");
    await service.trawl("customer", "create", "billed", "--currency", "CHF");
    await service.trawl("project", "create", "billing", "--customer", "billed");
    const { key: admin } = await service.trawl("key", "create", "--project", "billing", "--admin");
    const month = monthBefore(monthOf(Date.now()));
    const at_ms = Date.parse(`${month}-15T12:00:00Z`);
    const rows = Array.from({ length: 30 }, (_, n) =>
      ledgerRow({
        request_id: `req_billed_${n}`,
        at_ms,
        project: "billing",
        category: "fetch_paid",
        cost_micros: 1_237,
      }),
    );
    const documents = await openDocuments(readConfig(service.environment));
    await documents.put("ledger", batchKey("billed", at_ms, "test"), packRows(rows), 0, {
      tag: newBatchTag("billed"),
    });
    await documents.close();
    const drawn = await service.trawl("invoice", "draw", "billed", "--month", month);
    // 30 x 0.001237 x 0.885312 = 0.03285392832
    expect(drawn).toMatchObject({ status: "issued", currency: "CHF", total: "0.032854" });
    const { json } = await service.call("GET", "/v1/invoices", { key: admin });
    expect(json.invoices.map(({ id }: { id: string }) => id)).toEqual([drawn.id]);
    const page = await service.call("GET", `/v1/invoices/${drawn.id}`, {
      key: admin,
      headers: { accept: "text/html" },
    });
    expect(page.headers["content-type"]).toMatch(/^text\/html/);
    expect(page.bytes.toString()).toContain("0.032854");
    expect(await service.call("GET", `/v1/invoices/${drawn.id}?format=pdf`, { key: admin })).toMatchObject({
      status: 503,
      json: { detail: expect.stringContaining("no browser") },
    });
    await service.trawl("invoice", "paid", drawn.id);
    expect((await service.call("GET", `/v1/invoices/${drawn.id}`, { key: admin })).json.status).toBe("paid");
    expect((await service.call("GET", `/v1/invoices/${drawn.id}`)).status).toBe(404);
    const usage = await service.call("GET", `/v1/usage?since=${month}-01&group_by=day,project`, {
      key: admin,
    });
    expect(usage.json.rows).toMatchObject([{ day: `${month}-15`, project: "billing", requests: 30 }]);
  });

  describe("without a key", () => {
    test("/health and /ready report the state of the service", async () => {
      const health = await service.call("GET", "/health", { key: null });
      expect(health).toMatchObject({ status: 200, json: { status: "ok" } });
      const ready = await service.call("GET", "/ready", { key: null });
      expect(ready).toMatchObject({ status: 200, json: { status: "ready", version: expect.any(String) } });
      expect(new Set(Object.values(ready.json.checks))).toEqual(new Set(["ok"]));
      expect((await service.call("HEAD", "/health", { key: null })).bytes).toHaveLength(0);
    });

    test("/openapi.json is a valid OpenAPI 3.1 document with the specification's operations", async () => {
      const { json } = await service.call("GET", "/openapi.json", { key: null });
      expect(json.openapi).toBe("3.1.0");
      expect(json.info.version).toBe("1.0.0");
      expect(json.servers).toEqual([{ url: service.url }]);
      expect(await new Validator().validate(structuredClone(json))).toMatchObject({ valid: true });
      const ids = Object.values<Record<string, { operationId: string }>>(json.paths).flatMap((methods) =>
        Object.values(methods).map(({ operationId }) => operationId),
      );
      expect(ids).toEqual(expect.arrayContaining(["fetch", "getBody", "headBody", "health", "ready"]));
      expect(new Set(ids).size).toBe(ids.length);
    });

    test("/metrics answers this machine only, not clients behind a proxy on it", async () => {
      expect(await service.meter("trawl_fetch_requests_total")).toBeGreaterThan(0);
      const passed_on = await service.call("GET", "/metrics", { headers: { "x-forwarded-for": "8.8.8.8" } });
      expect(passed_on.status).toBe(404);
    });
  });
});

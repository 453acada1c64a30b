/** POST /v1/fetch: its body, its response and its errors. */
import { describe, expect, test } from "vitest";
import { allowAgent, createCustomer, createProject, revokeKey } from "../../actors/business/accounts/keys.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { shape } from "../../gateway/validate.ts";
import type { FetchAnswer, FetchRequest } from "../../schemas/fetch.ts";
import { FetchResponse } from "../../schemas/fetch.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import type { FetchServices } from "../../actors/crawl/fetch/feature/routes.ts";
import { thisProcess } from "../../ops/memory-at-rest.ts";
import { DEFAULT_REQUEST } from "../harness/fetch-request.ts";
import { cacheThat, fetchAnswer, gatewayHarness, NOON_MS } from "../harness/gateway-harness.ts";

const response = shape(FetchResponse);
const never = () => new Promise<FetchAnswer>(() => {});

async function requestFor(body: object): Promise<FetchRequest> {
  const requests: FetchRequest[] = [];
  const { fetch } = await gatewayHarness({
    fetch: async (ask) => {
      requests.push(ask);
      return fetchAnswer({});
    },
  });
  expect((await fetch(body)).status).toBe(200);
  return requests[0]!;
}

async function cached(caches?: FetchServices["caches"]) {
  const blobs = memoryBlobs();
  const { sha256, bytes } = await blobs.put(Buffer.from("<p>page</p>"));
  const records: WeakRef<object>[] = [];
  const world = { asked: 0, current: true, text: "first", records };
  const it = await gatewayHarness({
    blobs,
    fetch: async () => {
      world.asked++;
      const page = { sha256, bytes, body_kind: "origin", text: world.text } as const;
      const answer = fetchAnswer(page, { cached: true });
      records.push(new WeakRef(answer.record));
      return answer;
    },
    cache: cacheThat(() => world.current),
    ...(caches && { caches }),
  });
  return { ...it, world, sha256 };
}

describe("what is asked", () => {
  test("has every default filled in", async () => {
    expect(await requestFor({ url: "https://example.org/" })).toEqual({
      ...DEFAULT_REQUEST,
      fetch_id: expect.stringMatching(/^req_/),
      key: expect.stringMatching(/^ak_.{7}$/),
      url: "https://example.org/",
      deadline_ms: NOON_MS + 150_000,
    });
  });

  test("carries what was given, and timeout_s as a deadline that ends the work", async () => {
    const given = { render: "always", max_bytes: 1, tiers: ["direct"], country: "CH", cache_ttl_s: 0 };
    expect(await requestFor({ url: "http://x.example/", ...given, timeout_s: 7.5 })).toMatchObject({
      ...given,
      deadline_ms: NOON_MS + 7_500,
      hard_deadline: true,
    });
  });

  test.each([
    [{ allow_paid: false }, false],
    [{ allow_premium: false }, false],
    [{ allow_premium: false, allow_paid: true }, false],
    [{ allow_premium: true }, true],
  ])("%j allows premium routes: %s", async (switches, allow_paid) => {
    expect((await requestFor({ url: "http://x.example/", ...switches })).allow_paid).toBe(allow_paid);
  });

  test.each([
    "example.org",
    "ftp://example.org/",
    "javascript:alert(1)",
    "http://",
    "http://a b/",
    "file:///etc/passwd",
  ])("%s is answered as invalid_url, without a fetch", async (url) => {
    const { fetch } = await gatewayHarness({ fetch: () => Promise.reject(new Error("asked")) });
    const { status, json } = await fetch({ url });
    expect([status, json.error, json.url, response.fits(json)]).toEqual([200, "invalid_url", url, true]);
  });

  test("a user agent must be on the project's list, letter by letter (Authentication 8)", async () => {
    const { fetch, documents, clock } = await gatewayHarness();
    const body = { url: "https://example.org/", user_agent: "Research/1.0" };
    expect(await fetch(body)).toMatchObject({
      status: 403,
      json: { detail: { error: "user_agent_not_allowed", hint: expect.stringContaining("Research/1.0") } },
    });
    await allowAgent(documents, "default", "Research/1.0");
    await clock.advance(5_000);
    expect((await fetch(body)).status).toBe(200);
    expect((await fetch({ ...body, user_agent: "research/1.0" })).status).toBe(403);
  });
});

describe("what is answered", () => {
  test("has every field of the public API", async () => {
    const { fetch } = await gatewayHarness();
    const { json } = await fetch({ url: "https://example.org/" });
    expect(response.read("body", json).kind).toBe("read");
    expect(json).toMatchObject({
      text: "An example.",
      billing_category: "fetch_own",
      cost_usd: 0,
      body_url: null,
    });
    expect(Object.keys(json).at(-1)).toBe("request_id");
  });

  test("holds the page decoded as it was extracted, and long texts from where they are stored", async () => {
    const blobs = memoryBlobs();
    const page = await blobs.put(Buffer.from("<p>Z\xfcrich</p>", "latin1"));
    const text = await blobs.put(Buffer.from("Zürich ".repeat(20_000)));
    const { fetch } = await gatewayHarness({
      blobs,
      fetch: async () =>
        fetchAnswer({
          sha256: page.sha256,
          bytes: page.bytes,
          body_kind: "origin",
          charset: "windows-1252",
          text: null,
          text_sha256: text.sha256,
        }),
    });
    const { json } = await fetch({ url: "https://example.org/" });
    expect(json.html).toBe("<p>Zürich</p>");
    expect(json.text).toBe("Zürich ".repeat(20_000));
    expect(json.body_url).toBe(`/v1/bodies/${page.sha256}`);
    const without = await fetch({ url: "https://example.org/", include_html: false });
    expect("html" in without.json).toBe(false);
  });

  test("holds a PDF's pages and no html", async () => {
    const blobs = memoryBlobs();
    const pages = await blobs.put(Buffer.from('[{"page":1,"text":"one"}]'));
    const { fetch } = await gatewayHarness({
      blobs,
      fetch: async () =>
        fetchAnswer({
          content_kind: "pdf",
          charset: null,
          pdf_pages_sha256: pages.sha256,
          pdf_page_count: 1,
        }),
    });
    const { json } = await fetch({ url: "https://example.org/a.pdf" });
    expect(json).toMatchObject({ html: null, pdf_text_pages: [{ page: 1, text: "one" }], pdf_page_count: 1 });
  });

  test("a body the store has lost is 503, not a page without its text", async () => {
    const { fetch } = await gatewayHarness({
      fetch: async () => fetchAnswer({ text: null, text_sha256: "0".repeat(64) }),
    });
    expect((await fetch({ url: "https://example.org/" })).status).toBe(503);
  });

  test.each([
    [{}, {}, "fetch_own"],
    [{ tier: "proxy" }, { cost_usd: "0.004" }, "fetch_paid"],
    [{ tier: "proxy_render" }, {}, "fetch_paid"],
    [{ tier: "proxy" }, { cached: true }, "fetch_cached"],
    [{}, { cached: true, revalidated: true }, "fetch_cached"],
    [{ tier: "archive" }, {}, "fetch_own"],
    [{ tier: "archive" }, { cost_usd: "0.004" }, "fetch_paid"],
    [{ tier: null }, { cost_usd: "0.004", error: "all_tiers_failed" }, "fetch_paid"],
    [{ tier: null }, { error: "all_tiers_failed" }, "fetch_own"],
    [{}, { cached: true, cost_usd: "0.004" }, "fetch_cached"],
  ] as const)("record %j, answer %j is billed %s", async (record, answer, category) => {
    const { fetch } = await gatewayHarness({ fetch: async () => fetchAnswer(record, answer) });
    expect((await fetch({ url: "https://example.org/" })).json.billing_category).toBe(category);
  });

  test("spend on a premium route that failed is a paid request in ledger and usage, with what the site said", async () => {
    const attempt = (tier: "direct" | "proxy" | "proxy_render", reason: string, status: number | null) => ({
      tier,
      status,
      reason,
      ms: 3,
      detail: null,
    });
    const { fetch, call } = await gatewayHarness({
      fetch: async () =>
        fetchAnswer(
          { tier: null, status: 403 },
          {
            cost_usd: "0.002000",
            error: "all_tiers_failed",
            error_detail: "Every route failed",
            premium_routes_tried: true,
            attempts: [
              attempt("direct", "http_403", 403),
              attempt("proxy", "http_403", 403),
              attempt("proxy_render", "not_configured", null),
            ],
          },
        ),
    });
    expect((await fetch({ url: "https://example.org/" })).json.billing_category).toBe("fetch_paid");
    expect((await call("GET", "/v1/requests")).json.items).toMatchObject([
      { category: "fetch_paid", paid: true, ok: false, reason: "http_403", cost_usd: "0.002000" },
    ]);
    expect((await call("GET", "/v1/usage?group_by=category")).json.rows).toMatchObject([
      { category: "fetch_paid", requests: 1, succeeded: 0, cost_usd: "0.002000" },
    ]);
  });

  test("an external customer never sees what it cost", async () => {
    const { fetch, key, documents, clock } = await gatewayHarness({
      fetch: async () => fetchAnswer({ tier: "proxy" }, { cost_usd: "0.004000" }),
    });
    await createCustomer(documents, { name: "acme", external: true, currency: "EUR" }, clock.now());
    await createProject(documents, { name: "acme-research", customer: "acme" }, clock.now());
    const theirs = await key({ project: "acme-research" });
    expect((await fetch({ url: "https://example.org/" })).json.cost_usd).toBe(0.004);
    expect((await fetch({ url: "https://example.org/" }, { key: theirs })).json.cost_usd).toBeNull();
  });

  test("a failed fetch is 200 with its error, domain_busy alone is 503 with Retry-After", async () => {
    let error = "all_tiers_failed";
    const { fetch } = await gatewayHarness({
      fetch: async () => fetchAnswer({}, { error, retry_after_s: 17 }),
    });
    expect(await fetch({ url: "https://example.org/" })).toMatchObject({ status: 200, json: { error } });
    error = "domain_busy";
    const busy = await fetch({ url: "https://example.org/" });
    expect(busy).toMatchObject({
      status: 503,
      headers: { "retry-after": "17" },
      json: { retry_after_s: 17, error, detail: { error, message: expect.any(String) } },
    });
    expect(response.fits(busy.json)).toBe(true);
  });

  test("a full mailbox is domain_busy", async () => {
    const full = new Fault("mailbox_full", "Cannot ask: 1,000 wait");
    const { fetch } = await gatewayHarness({ fetch: () => Promise.reject(full) });
    expect(await fetch({ url: "https://example.org/" })).toMatchObject({
      status: 503,
      json: { error: "domain_busy" },
    });
  });
});

describe("the deadline of a call", () => {
  test.each([
    [{}, 150_000],
    [{ timeout_s: 5 }, 20_000],
    [{ timeout_s: 150 }, 165_000],
  ])("with %j it ends after %i ms with 504, and the work's signal aborts", async (more, wait_ms) => {
    let signal: AbortSignal | null = null;
    const { fetch, clock } = await gatewayHarness({
      fetch: (_, given) => {
        signal = given;
        return never();
      },
    });
    const reply = fetch({ url: "https://example.org/", ...more });
    await clock.advance(wait_ms - 1);
    expect(signal!.aborted).toBe(false);
    await clock.advance(1);
    const { status, json, headers } = await reply;
    expect([status, json]).toEqual([
      504,
      { detail: { error: "timeout", request_id: headers["x-request-id"] } },
    ]);
    expect(signal!.aborted).toBe(true);
  });

  test("a client that leaves is waited for no longer", async () => {
    let signal: AbortSignal | null = null;
    const { fetch, clock, telemetry } = await gatewayHarness({
      fetch: (_, given) => {
        signal = given;
        return never();
      },
    });
    const client = new AbortController();
    const reply = fetch({ url: "https://example.org/" }, { signal: client.signal });
    await clock.advance(1_000);
    expect(signal!.aborted).toBe(false);
    client.abort();
    await reply;
    expect(signal!.aborted).toBe(true);
    expect(telemetry.counts.get("trawl_http_aborted_total")).toBe(1);
    expect(telemetry.lines.at(-1)).toMatchObject({ fields: { status: 499 } });
  });

  test("work that fails after the client has gone breaks nothing else", async () => {
    const work = Promise.withResolvers<FetchAnswer>();
    const { fetch, clock } = await gatewayHarness({ fetch: () => work.promise });
    const reply = fetch({ url: "https://example.org/", timeout_s: 5 });
    await clock.advance(20_000);
    expect((await reply).status).toBe(504);
    work.reject(new Error("late"));
    await clock.advance(1);
  });
});

describe("the short way", () => {
  const PAGE = { url: "https://example.org/" };

  test("answers the same bytes from memory, with a new request id", async () => {
    const { fetch, world } = await cached();
    const first = await fetch(PAGE);
    const second = await fetch(PAGE);
    expect(world.asked).toBe(1);
    expect(second.json).toEqual({ ...first.json, request_id: second.headers["x-request-id"] });
    expect(second.json.request_id).not.toBe(first.json.request_id);
    await fetch({ ...PAGE, include_html: false });
    expect(world.asked).toBe(2);
  });

  test.each([10, 60_000, 70_000, 700_000])(
    "answers many at once, %i characters each, every one with its id",
    async (chars) => {
      const { fetch, world } = await cached();
      world.text = "ö".repeat(chars / 2);
      const first = await fetch(PAGE);
      const others = await Promise.all(Array.from({ length: 10 }, () => fetch(PAGE)));
      expect(world.asked).toBe(1);
      for (const { json, headers, bytes } of others) {
        expect(json).toEqual({ ...first.json, request_id: headers["x-request-id"] });
        expect(bytes.length).toBe(first.bytes.length);
      }
      expect(new Set(others.map(({ json }) => json.request_id)).size).toBe(10);
    },
  );

  test("is for as many pages as there is room for, the last ones", async () => {
    const { fetch, world } = await cached({ responses: 3_000 });
    const page = (n: number) => ({ url: `https://example.org/${n}` });
    const { bytes } = await fetch(page(0));
    const room = Math.floor(3_000 / (bytes.length + JSON.stringify(page(0)).length + 1));
    expect(room).toBeGreaterThan(1);
    for (let n = 1; n <= room; n++) await fetch(page(n));
    expect(world.asked).toBe(room + 1);
    for (let n = 1; n <= room; n++) await fetch(page(n));
    expect(world.asked).toBe(room + 1);
    await fetch(page(0));
    expect(world.asked).toBe(room + 2);
  });

  test("leaves the page to the cache, whose limit does not count what a response would keep", async () => {
    const { fetch, world, clock } = await cached();
    await fetch(PAGE);
    // The timers of the request have gone, which refer to its answer.
    await clock.advance(200_000);
    await thisProcess.collect();
    expect(world.records.map((record) => record.deref())).toEqual([undefined]);
    await fetch(PAGE);
    expect(world.asked).toBe(1);
  });

  test("ends when the cache has another page", async () => {
    const { fetch, world } = await cached();
    await fetch(PAGE);
    world.current = false;
    world.text = "second";
    expect((await fetch(PAGE)).json.text).toBe("second");
    expect(world.asked).toBe(2);
  });

  test("counts, limits and restricts as the long way does", async () => {
    const { fetch, key } = await cached();
    await fetch(PAGE);
    const scarce = await key({ quotas: { fetch: 2 } });
    const searches = await key({ categories: ["search"] });
    await fetch(PAGE, { key: scarce });
    expect((await fetch(PAGE, { key: scarce })).headers["x-service-quota-remaining"]).toBe("fetch=0");
    expect((await fetch(PAGE, { key: scarce })).status).toBe(429);
    expect((await fetch(PAGE, { key: searches })).status).toBe(403);
  });

  test("another project goes the long way once, so that it may download the body", async () => {
    const { fetch, call, key, documents, clock, world, sha256 } = await cached();
    await fetch(PAGE);
    await fetch(PAGE);
    await createProject(documents, { name: "other", customer: "default" }, clock.now());
    const theirs = await key({ project: "other" });
    expect((await call("GET", `/v1/bodies/${sha256}`, { key: theirs })).status).toBe(404);
    await fetch(PAGE, { key: theirs });
    expect(world.asked).toBe(2);
    expect((await call("GET", `/v1/bodies/${sha256}`, { key: theirs })).status).toBe(200);
    await fetch(PAGE, { key: theirs });
    expect(world.asked).toBe(2);
  });

  test("an external customer gets a response of its own, without what it cost", async () => {
    const { fetch, key, documents, clock, world } = await cached();
    await createCustomer(documents, { name: "acme", external: true, currency: "EUR" }, clock.now());
    await createProject(documents, { name: "acme-research", customer: "acme" }, clock.now());
    const theirs = await key({ project: "acme-research" });
    for (let round = 0; round < 2; round++) {
      expect((await fetch(PAGE)).json.cost_usd).toBe(0);
      expect((await fetch(PAGE, { key: theirs })).json.cost_usd).toBeNull();
      expect(world.asked).toBe(2);
    }
  });

  test.each([["Āx"], ["x"], ["i"]])(
    "bytes that only look like a remembered key are refused: %s",
    async (front) => {
      const { fetch, call } = await cached();
      await fetch(PAGE);
      await fetch(PAGE);
      const bytes = Buffer.from(front + JSON.stringify(PAGE));
      expect((await call("POST", "/v1/fetch", { body: bytes })).status).toBe(422);
    },
  );

  test("ends with the key: five seconds after it was revoked at most", async () => {
    const { fetch, key, documents, clock, world } = await cached();
    const theirs = await key();
    await fetch(PAGE, { key: theirs });
    await revokeKey(documents, theirs.slice(0, 10), clock.now());
    await clock.advance(5_000);
    expect((await fetch(PAGE, { key: theirs })).status).toBe(401);
    expect(world.asked).toBe(1);
  });

  test("the body's grant is renewed after a day", async () => {
    const { fetch, documents, clock, world, sha256 } = await cached();
    const granted = async () => (await documents.get("body_grants", `${sha256}:default`))!.value;
    await fetch(PAGE);
    const first = await granted();
    await clock.advance(86_399_000);
    await fetch(PAGE);
    expect([world.asked, await granted()]).toEqual([1, first]);
    await clock.advance(1_000);
    await fetch(PAGE);
    expect(world.asked).toBe(2);
    expect(await granted()).toEqual({ ...(first as object), retrieved_at_ms: clock.now() });
  });

  test("is not for fresh pages, failures or user agents", async () => {
    const world = { asked: 0, answer: fetchAnswer({}) };
    const { fetch, documents, clock } = await gatewayHarness({
      fetch: async () => (world.asked++, world.answer),
      cache: cacheThat(() => true),
    });
    await allowAgent(documents, "default", "Research/1.0");
    await clock.advance(5_000);
    for (const [answer, body] of [
      [fetchAnswer({}), PAGE],
      [fetchAnswer({}, { cached: true, error: "pdf_not_accepted" }), PAGE],
      [fetchAnswer({}, { cached: true }), { ...PAGE, user_agent: "Research/1.0" }],
    ] as const) {
      world.asked = 0;
      world.answer = answer;
      await fetch(body);
      await fetch(body);
      expect(world.asked).toBe(2);
    }
  });
});

test("the project's grant is stored before the body's address is answered", async () => {
  const blobs = memoryBlobs();
  const { sha256, bytes } = await blobs.put(Buffer.from("x"));
  const store = memoryDocuments();
  const slow = Promise.withResolvers<void>();
  const documents: typeof store = {
    ...store,
    put: async (...given) => {
      if (given[0] === "body_grants") await slow.promise;
      return store.put(...given);
    },
  };
  const { fetch, clock } = await gatewayHarness({
    blobs,
    documents,
    fetch: async () => fetchAnswer({ sha256, bytes, body_kind: "origin" }),
  });
  let isStored = false;
  const reply = fetch({ url: "https://example.org/" }).finally(() => (isStored = true));
  await clock.advance(1_000);
  expect(isStored).toBe(false);
  slow.resolve();
  expect((await reply).status).toBe(200);
});

describe("when a store is slow or away at the end of a fetch", () => {
  /** A page whose body is stored, over documents whose writes to a collection first do what `before` says. */
  async function fetched(before: (collection: string) => Promise<void>, answer: Partial<FetchAnswer> = {}) {
    const blobs = memoryBlobs();
    const { sha256, bytes } = await blobs.put(Buffer.from("x"));
    const store = memoryDocuments();
    return gatewayHarness({
      blobs,
      documents: {
        ...store,
        put: async (...given) => {
          await before(given[0]);
          return store.put(...given);
        },
      },
      fetch: async (_request, _signal, beginWork) => {
        if (!answer.cached) await beginWork();
        return fetchAnswer({ sha256, bytes, body_kind: "origin" }, answer);
      },
    });
  }
  const PAGE = { url: "https://example.org/" };

  test("the grant and the row are written beside each other, and the answer waits for both", async () => {
    const writes = new Map(
      ["body_grants", "ledger"].map((name) => [name, Promise.withResolvers<void>()] as const),
    );
    const begun: string[] = [];
    const { fetch, clock } = await fetched(async (collection) => {
      if (!writes.has(collection)) return;
      begun.push(collection);
      await writes.get(collection)!.promise;
    });
    let status: number | null = null;
    const reply = fetch(PAGE).then((answered) => (status = answered.status));
    await clock.advance(1_000);
    expect(begun.toSorted()).toEqual(["body_grants", "ledger"]);
    writes.get("ledger")!.resolve();
    await clock.advance(1_000);
    expect(status).toBeNull();
    writes.get("body_grants")!.resolve();
    expect(await reply).toBe(200);
  });

  test.each([
    ["a fetched page is 503 and has its row", false, 1],
    ["a cached page is 503 and has none", true, 0],
  ])("without its grant %s", async (_name, isCached, rows) => {
    let isAway = true;
    const gateway = await fetched(
      async (collection) => {
        if (isAway && collection === "body_grants") throw new Fault("documents_unreachable", "away");
      },
      { cached: isCached },
    );
    const mine = await gateway.key();
    expect((await gateway.fetch(PAGE, { key: mine })).status).toBe(503);
    isAway = false;
    await gateway.clock.advance(1_000);
    const { items } = (await gateway.call("GET", "/v1/requests", { key: mine })).json;
    expect(items).toHaveLength(rows);
    expect(items.every(({ ok }: { ok: boolean }) => ok)).toBe(true);
    expect((await gateway.fetch(PAGE, { key: mine })).status).toBe(200);
  });
});

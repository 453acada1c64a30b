/** POST /v1/batch/…, GET and DELETE /v1/jobs/{job_id} without a socket: real actors, items that end as the test says. */
import { describe, expect, test } from "vitest";
import type { Caller } from "../../gateway/authenticate.ts";
import { withoutDefaults } from "../../gateway/batch.ts";
import { fetchBatch } from "../../actors/crawl/fetch/feature/routes.ts";
import { pageOf } from "../../actors/work/jobs/feature/routes.ts";
import { FetchBody } from "../../schemas/fetch.ts";
import { decodeStates } from "../../schemas/job-states.ts";
import { batches } from "../harness/batch-harness.ts";
import { PAGE } from "../harness/gateway-harness.ts";

const urls = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ url: `https://example.org/${n}` }));

describe("a batch", () => {
  test("is created, and created again it is the same", async () => {
    const { fetchAll, finished, call } = await batches();
    const first = await fetchAll(urls(3));
    expect([first.status, first.json.created]).toEqual([202, true]);
    expect(first.json.job_id).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    const again = await fetchAll(urls(3));
    expect([again.status, again.json]).toEqual([200, { job_id: first.json.job_id, created: false }]);
    expect(await finished(first.json.job_id)).toEqual({
      job_id: first.json.job_id,
      kind: "fetch",
      status: "completed",
      paused: null,
      counts: { total: 3, pending: 0, queued: 0, done: 3, failed: 0, cancelled: 0 },
      created_at: expect.stringMatching(/^2026-11-21T12:00:/),
      updated_at: expect.any(String),
      finished_at: expect.any(String),
      callback_url: null,
      callback_status: null,
      items_url: `/v1/jobs/${first.json.job_id}?include=items`,
    });
    const search = await call("POST", "/v1/batch/search", {
      body: { items: [{ query: "a" }], idempotency_key: "other" },
    });
    expect(search.status).toBe(202);
  });

  test("is created anew when the record of its key is all that is left of the job", async () => {
    const { fetchAll, finished, documents } = await batches();
    const first = await fetchAll(urls(3));
    const [claim] = await documents.list("job_idempotency_keys", { limit: 1 });
    const gone = { job_id: "01a1fed4-907e-7b74-91d6-4c82af9314ba", kind: "fetch", total: 3 };
    await documents.put("job_idempotency_keys", claim!.key, gone, claim!.version);
    const again = await fetchAll(urls(3));
    expect([again.status, again.json.created]).toEqual([202, true]);
    expect([first.json.job_id, gone.job_id]).not.toContain(again.json.job_id);
    expect(await finished(again.json.job_id)).toMatchObject({ status: "completed" });
    expect(await fetchAll(urls(3))).toMatchObject({ status: 200, json: { created: false } });
  });

  test("of another kind or length under the same key is refused", async () => {
    const { fetchAll, call } = await batches();
    await fetchAll(urls(3));
    expect(await fetchAll(urls(4))).toMatchObject({
      status: 409,
      json: { detail: "idempotency_key already used for a different job" },
    });
    const search = { items: [{ query: "a" }, { query: "b" }, { query: "c" }], idempotency_key: "k" };
    expect((await call("POST", "/v1/batch/search", { body: search })).status).toBe(409);
  });

  test("sent twice at the same moment is one job", async () => {
    const { fetchAll, documents } = await batches();
    const both = await Promise.all([fetchAll(urls(250)), fetchAll(urls(250)), fetchAll(urls(250))]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 202]);
    expect(new Set(both.map(({ json }) => json.job_id)).size).toBe(1);
    expect((await documents.list("job_idempotency_keys", { limit: 10 })).length).toBe(1);
    // The requests that came second remove what they had written.
    await expect.poll(async () => (await documents.list("job_items", { limit: 100 })).length).toBe(3);
    expect((await documents.list("job", { limit: 10 })).filter(({ value }) => value !== null).length).toBe(1);
  });

  test.each([
    [[], ["items"], "too_short"],
    [[{ url: "https://a.example/" }, { url: 5 }], ["items", 1, "url"], "string_type"],
    [[{ url: "https://a.example/" }, {}], ["items", 1, "url"], "missing"],
    [["https://a.example/"], ["items", 0], "model_attributes_type"],
    [[{ url: "u", max_bytes: 0 }], ["items", 0, "max_bytes"], "greater_than_equal"],
    [[{ url: "u", tiers: ["direct", "teleport"] }], ["items", 0, "tiers", 1], "literal_error"],
  ])("%j is refused, and the item is named", async (items, place, type) => {
    const { fetchAll, documents } = await batches();
    const { status, json } = await fetchAll(items);
    expect([status, json.detail[0].loc, json.detail[0].type]).toEqual([422, ["body", ...place], type]);
    expect(await documents.list("job", { limit: 10 })).toEqual([]);
  });

  test.each([
    [{ idempotency_key: undefined }, ["body", "idempotency_key"], "missing"],
    [{ idempotency_key: "" }, ["body", "idempotency_key"], "string_too_short"],
    [{ callback_url: "ftp://a.example/" }, ["body", "callback_url"], "string_pattern_mismatch"],
    [{ callback_url: "http://:80/" }, ["body", "callback_url"], "url_parsing"],
    [{ items: "all" }, ["body", "items"], "list_type"],
  ])("with %j is refused", async (more, loc, type) => {
    const { fetchAll } = await batches();
    const { status, json } = await fetchAll(urls(1), more);
    expect([status, json.detail[0].loc, json.detail[0].type]).toEqual([422, loc, type]);
  });

  test("lists the mistakes around the items and those of the items together", async () => {
    const { call } = await batches();
    const placesOf = async (body: object, headers: Record<string, string> = {}) => {
      const { status, json } = await call("POST", "/v1/batch/fetch", { body, headers });
      return [status, ...json.detail.map(({ loc }: { loc: unknown[] }) => loc.join("."))];
    };
    const items = [{}, { url: "https://a.example/", tiers: 5 }];
    const around = ["body.idempotency_key", "body.callback_url"];
    const inside = ["body.items.0.url", "body.items.1.tiers"];
    expect(await placesOf({ items, callback_url: "x" })).toEqual([422, ...around, ...inside]);
    expect(await placesOf({ items, idempotency_key: "k", callback_url: "http://:80/" })).toEqual([
      422,
      "body.callback_url",
      ...inside,
    ]);
    expect(await placesOf({ items: [] })).toEqual([422, "body.idempotency_key", "body.items"]);
    expect(await placesOf({ items: "all" })).toEqual([422, "body.items", "body.idempotency_key"]);
    const header = { "idempotency-key": "a".repeat(501) };
    expect(await placesOf({ items }, header)).toEqual([422, "header.Idempotency-Key", ...inside]);
  });

  test("lists many mistakes and not all of them", async () => {
    const { fetchAll } = await batches();
    const { json } = await fetchAll(Array.from({ length: 500 }, () => ({})));
    expect(json.detail.length).toBe(100);
    expect(json.detail[99].loc).toEqual(["body", "items", 99, "url"]);
  });

  test("of too many items, or too many bytes, is 413", async () => {
    const { fetchAll, call } = await batches();
    const expected = { detail: "at most 50000 items per job" };
    const items = Array.from({ length: 50_001 }, () => 0);
    expect(await fetchAll(items)).toMatchObject({ status: 413, json: expected });
    expect(await call("POST", "/v1/batch/fetch", { too_large: true })).toMatchObject({
      status: 413,
      json: expected,
    });
  });

  test("is refused for a user agent that its project may not use, and for a key of another category", async () => {
    const { fetchAll, call, key } = await batches();
    const refused = await fetchAll([...urls(2), { url: "https://a.example/", user_agent: "Spy/1" }]);
    expect([refused.status, refused.json.detail.error]).toEqual([403, "user_agent_not_allowed"]);
    const body = { items: urls(1), idempotency_key: "k" };
    const other = await call("POST", "/v1/batch/fetch", { body, key: await key({ categories: ["search"] }) });
    expect(other.json.detail.error).toBe("key_category_not_allowed");
  });

  test("runs as many items as the month's quota has left; after that a new one is refused, a replay answered", async () => {
    const { call, key, finished, clock } = await batches();
    const limited = await key({ quotas: { search: null, fetch: 5 }, role: "account_admin" });
    const create = (count: number, idempotency_key: string) =>
      call("POST", "/v1/batch/fetch", { body: { items: urls(count), idempotency_key }, key: limited });
    const created = await create(8, "a");
    expect(created.status).toBe(202);
    expect((await finished(created.json.job_id)).counts).toMatchObject({ done: 5, failed: 3 });
    const { json } = await call("GET", `/v1/jobs/${created.json.job_id}?include=items&status=failed`);
    expect(json.items.map(({ error }: { error: string }) => error)).toEqual(
      Array.from({ length: 3 }, () => "key_quota_exhausted"),
    );
    await clock.advance(5_000);
    expect((await create(1, "b")).json.detail).toMatchObject({ error: "key_quota_exhausted", limit: 5 });
    expect(await create(8, "a")).toMatchObject({ status: 200, json: { created: false } });
    const single = await call("POST", "/v1/fetch", { body: urls(1)[0], key: limited });
    expect(single.json.detail).toMatchObject({ error: "key_quota_exhausted" });
  });

  test("stores the given fields of an item, without defaults and unknown fields", () => {
    const input = { url: "u", render: "auto", max_bytes: 5, tiers: null, allow_paid: false, colour: "red" };
    expect(withoutDefaults(FetchBody, input)).toEqual({ url: "u", max_bytes: 5, allow_paid: false });
    const { normalize } = fetchBatch({ blobs: null as never, decode: String });
    const caller = { grant: { key: {}, project: {} } } as Caller;
    expect(normalize!({ url: "u", include_html: false, allow_premium: false }, caller)).toEqual({
      url: "u",
      allow_paid: false,
    });
    expect(normalize!({ url: "u", allow_premium: true }, caller)).toEqual({ url: "u" });
  });
});

describe("a job", () => {
  test("shows its items in pages, in the order they were submitted", async () => {
    const { fetchAll, finished, call } = await batches();
    const { job_id } = (await fetchAll(urls(25))).json;
    await finished(job_id);
    const page = (more: string) => call("GET", `/v1/jobs/${job_id}?include=items&${more}`);
    const first = await page("limit=10");
    expect(first.json.items.map(({ index }: { index: number }) => index)).toEqual([...Array(10).keys()]);
    expect(first.json.items[3]).toMatchObject({
      index: 3,
      status: "done",
      input: { url: "https://example.org/3" },
      error: null,
      result: {
        url: "https://example.org/3",
        final_url: "https://example.org/x",
        text: PAGE.text,
        request_id: `${job_id}:3`,
      },
    });
    expect(first.json.items[3].result).not.toHaveProperty("html");
    expect((await page("limit=10&offset=20")).json.items.length).toBe(5);
    expect((await page("offset=25")).json.items).toEqual([]);
    expect((await page("status=failed")).json.items).toEqual([]);
    expect((await page("status=done&limit=2&offset=4")).json.items[0].index).toBe(4);
    expect((await page("limit=0")).status).toBe(422);
    expect((await page("limit=1001")).status).toBe(422);
    expect((await page("status=lost")).status).toBe(422);
  });

  test("does not move its items while it runs", async () => {
    const { fetchAll, call, clock } = await batches({ ms: 300 });
    const { job_id } = (await fetchAll(urls(60))).json;
    const seen = new Map<number, string>();
    for (let offset = 0; offset < 60; offset += 20) {
      const { json } = await call("GET", `/v1/jobs/${job_id}?include=items&limit=20&offset=${offset}`);
      for (const { index, input } of json.items) seen.set(index, input.url);
      const { counts } = json;
      expect(counts.pending + counts.queued + counts.done + counts.failed + counts.cancelled).toBe(60);
      await clock.advance(400);
    }
    expect([...seen]).toEqual(urls(60).map(({ url }, index) => [index, url]));
  });

  test("keeps result and error of what failed", async () => {
    const { fetchAll, finished, call } = await batches({ error: "http_404" });
    const { job_id } = (await fetchAll(urls(1))).json;
    expect((await finished(job_id)).counts).toMatchObject({ failed: 1, done: 0 });
    const { json } = await call("GET", `/v1/jobs/${job_id}?include=items`);
    expect(json.items[0]).toMatchObject({
      status: "failed",
      error: "http_404",
      result: { error: "http_404" },
    });
  });

  test("shows result_unavailable for a result that cannot be read", async () => {
    const { fetchAll, finished, call, unreadable, documents } = await batches();
    const { job_id } = (await fetchAll(urls(2))).json;
    await finished(job_id);
    const items = async () => (await call("GET", `/v1/jobs/${job_id}?include=items`)).json.items;
    unreadable.add("job_results");
    expect(await items()).toMatchObject([
      { status: "done", result: null, error: "result_unavailable" },
      { status: "done", result: null, error: "result_unavailable" },
    ]);
    unreadable.clear();
    expect(await items()).toMatchObject([{ error: null }, { error: null }]);
    await documents.removeRange("job_results", `${job_id}:00001`, `${job_id}:00002`);
    expect(await items()).toMatchObject([{ error: null }, { result: null, error: "result_unavailable" }]);
  });

  test("is 404 for other projects, and for an unknown id", async () => {
    const { fetchAll, call, documents, key } = await batches();
    const { job_id } = (await fetchAll(urls(1))).json;
    const project = { ...((await documents.get("projects", "default"))!.value as object), name: "others" };
    await documents.put("projects", "others", project, 0);
    const theirs = await key({ project: "others" });
    for (const method of ["GET", "DELETE"]) {
      expect(await call(method, `/v1/jobs/${job_id}`, { key: theirs })).toMatchObject({
        status: 404,
        json: { detail: "job not found" },
      });
      expect((await call(method, "/v1/jobs/01890000-0000-7000-8000-000000000000")).status).toBe(404);
      expect((await call(method, "/v1/jobs/none")).status).toBe(422);
    }
  });

  test("is cancelled, and answered when no item is in flight", async () => {
    const { fetchAll, call, clock } = await batches({ ms: 3_600_000 });
    const { job_id } = (await fetchAll(urls(30))).json;
    await clock.advance(1_000);
    const before = (await call("GET", `/v1/jobs/${job_id}`)).json;
    expect([before.status, before.counts.queued]).toEqual(["running", 16]);
    const cancelled = await call("DELETE", `/v1/jobs/${job_id}`);
    expect(cancelled).toMatchObject({
      status: 200,
      json: { status: "cancelled", counts: { pending: 0, queued: 0, cancelled: 30 } },
    });
    expect(cancelled.json.finished_at).not.toBeNull();
    const { json } = await call("GET", `/v1/jobs/${job_id}?include=items&limit=1`);
    expect(json.items).toEqual([
      { index: 0, kind: "fetch", status: "cancelled", input: urls(1)[0], result: null, error: "cancelled" },
    ]);
    expect((await call("DELETE", `/v1/jobs/${job_id}`)).json).toMatchObject({ status: "cancelled" });
  });
});

test("pages of one status that begin behind an item neither skip nor repeat one while items change", () => {
  const before = decodeStates("3+-2a+x", 8);
  const page = pageOf(before, "done", { offset: 0, limit: 2 });
  expect(page).toEqual([0, 1]);
  // Item 0 is run again meanwhile: by count, the next page would skip item 2.
  const later = decodeStates("-2+-2a+x", 8);
  expect(pageOf(later, "done", { offset: 2, limit: 2 })).toEqual([6]);
  expect(pageOf(later, "done", { offset: 0, limit: 2, after: page.at(-1)! })).toEqual([2, 6]);
  expect(pageOf(later, null, { offset: 0, limit: 3, after: 5 })).toEqual([6, 7]);
});

test("pages count what their status leaves", () => {
  const states = decodeStates("3+-2a+x", 8);
  expect(pageOf(states, null, { offset: 2, limit: 3 })).toEqual([2, 3, 4]);
  expect(pageOf(states, "done", { offset: 0, limit: 10 })).toEqual([0, 1, 2, 6]);
  expect(pageOf(states, "done", { offset: 2, limit: 1 })).toEqual([2]);
  expect(pageOf(states, "queued", { offset: 0, limit: 10 })).toEqual([]);
  expect(pageOf(states, "cancelled", { offset: 0, limit: 10 })).toEqual([7]);
});

test("a page of items ends for its size, at least with one item, and says where the next begins", async () => {
  const page_bytes = 5_000;
  const { call, fetchAll, finished } = await batches({ page_bytes });
  const items = Array.from({ length: 60 }, (_, n) => ({
    url: `https://example.org/${n}`,
    project_ref: "r".repeat(100),
  }));
  const { job_id } = (await fetchAll(items)).json;
  await finished(job_id);
  const read: number[] = [];
  const sizes: number[] = [];
  for (let after = ""; ;) {
    const { json, bytes } = await call("GET", `/v1/jobs/${job_id}?include=items&limit=1000${after}`);
    read.push(...json.items.map(({ index }: { index: number }) => index));
    sizes.push(bytes.length);
    if (json.next_after === null) break;
    expect(json.next_after).toBe(read.at(-1));
    after = `&after=${json.next_after}`;
  }
  expect(read).toEqual(items.map((_, index) => index));
  expect(sizes.length).toBeGreaterThan(3);
  // Bytes above the limit are one item and the job around the page.
  expect(Math.max(...sizes)).toBeLessThan(page_bytes + 3_000);
  // A page that its limit ended has nothing to say.
  const { json } = await call("GET", `/v1/jobs/${job_id}?include=items&limit=2`);
  expect([json.items.length, json.next_after]).toEqual([2, null]);
});

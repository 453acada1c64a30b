/** Batch jobs as callers see them: created, run, read, cancelled, called back, killed in the middle. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { JobStatus } from "../../schemas/jobs.ts";
import { client, receiver } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { writePdf } from "../actors/reading/content/pdf-writer.ts";
import { article, gate, type Page } from "../harness/web.ts";

const POLL = { timeout: 30_000, interval: 100 };

describe.each(SETUPS)("batch jobs, $setup", ({ start }) => {
  const { sites, service } = scenario(start);
  const jobs = client(service);

  /** `count` pages on `hosts` sites of their own. */
  function pages(count: number, hosts: number, page: Page = { body: article("A page") }): string[] {
    const made = Array.from({ length: hosts }, () => sites.site({ "*": page }));
    return Array.from({ length: count }, (_, n) => `${made[n % hosts]!.origin}/${n}`);
  }

  test("run items as the single endpoint does, each once, and store the results", async () => {
    const site = sites.site({ "/a": { body: article("Page A") } });
    const { host } = site;
    const response = await jobs.create([
      { url: `${site.origin}/a` },
      { url: `${site.origin}/missing`, allow_archive: false },
      { url: "nonsense" },
      { url: `${site.origin}/a`, include_html: true, project_ref: "ours" },
    ]);
    expect([response.status, response.json.created]).toEqual([202, true]);
    const { job_id } = response.json;
    expect(await jobs.finished(job_id)).toMatchObject({
      kind: "fetch",
      status: "completed",
      counts: { total: 4, pending: 0, queued: 0, done: 2, failed: 2, cancelled: 0 },
      callback_url: null,
      callback_status: null,
      items_url: `/v1/jobs/${job_id}?include=items`,
    });
    const items = await jobs.items(job_id);
    expect(items.map(({ index, status, error }) => [index, status, error])).toEqual([
      [0, "done", null],
      [1, "failed", "http_404"],
      [2, "failed", "invalid_url"],
      [3, "done", null],
    ]);
    const [first, second, , fourth] = items as any[];
    expect(first.result).toMatchObject({ title: "Page A", request_id: `${job_id}:0`, status: 200 });
    expect(first.result).not.toHaveProperty("html");
    expect(fourth.input).toEqual({ url: `${site.origin}/a`, include_html: true, project_ref: "ours" });
    expect(fourth.result.html).toContain(`<h1>Page A</h1>`);
    expect(second.result).toMatchObject({ error: "http_404", status: 404 });
    expect(site.hits("/a")).toBe(1);
    expect(host).toBeTruthy();
    // The project retrieved the body, so it may have it.
    expect((await service.call("GET", first.result.body_url)).status).toBe(200);
    const { phase, problems } = await service.trawl("job", "verify", job_id);
    expect([phase, problems]).toEqual(["completed", []]);
  });

  test("accept larger PDFs than a single fetch, unless items set max_bytes", async () => {
    const picture = Buffer.alloc(18 * 2 ** 20, "a");
    const body = writePdf({ pages: [{ lines: ["The report"] }, { picture }] });
    const site = sites.site({ "*": { body, headers: { "content-type": "application/pdf" } } });
    const single = await service.call("POST", "/v1/fetch", { body: { url: `${site.origin}/single` } });
    expect(single.json).toMatchObject({ error: "too_large", body_url: null });
    const response = await jobs.create([
      { url: `${site.origin}/batch` },
      { url: `${site.origin}/limited`, max_bytes: 15 * 2 ** 20 },
    ]);
    await jobs.finished(response.json.job_id);
    const [whole, limited] = (await jobs.items(response.json.job_id)) as any[];
    expect(limited.error).toBe("too_large");
    expect(whole.result).toMatchObject({ content_kind: "pdf", bytes: body.length, pdf_page_count: 2 });
    expect(whole.result.text).toContain("The report");
    expect((await service.call("GET", whole.result.body_url)).bytes.equals(body)).toBe(true);
  });

  test("sent twice at the same time are one job", async () => {
    const body = { items: pages(300, 5).map((url) => ({ url })), idempotency_key: "the same" };
    const response = await Promise.all(
      [0, 1, 2].map(() => service.call("POST", "/v1/batch/fetch", { body })),
    );
    expect(response.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 202]);
    expect(new Set(response.map(({ json }) => json.job_id)).size).toBe(1);
    expect((await jobs.finished(response[0]!.json.job_id)).counts.done).toBe(300);
  });

  test("finish the items of other sites while one site is slow", async () => {
    const slow = sites.site({
      "*": async () => {
        await sleep(400);
        return { body: article("Slow") };
      },
    });
    const urls = [...Array.from({ length: 60 }, (_, n) => `${slow.origin}/${n}`), ...pages(200, 40)];
    const { job_id } = (await jobs.create(urls.map((url) => ({ url })))).json;
    const quick = async () =>
      (await jobs.items(job_id)).slice(60).filter(({ status }) => status === "done").length;
    await expect.poll(quick, { timeout: 30_000, interval: 200 }).toBe(200);
    // The dominant site drains at its own rate: two at once, 400 ms each.
    expect(slow.most()).toBeLessThanOrEqual(2);
    expect((await jobs.read(job_id)).status).toBe("running");
    expect((await jobs.finished(job_id)).counts.done).toBe(260);
  });

  test("retry items that fail for a transient reason", async () => {
    let asked = 0;
    const site = sites.site({
      "/": () => (asked++ === 0 ? { status: 503, body: "later" } : { body: article("At last") }),
    });
    const { job_id } = (await jobs.create([{ url: `${site.origin}/`, allow_archive: false }])).json;
    expect((await jobs.finished(job_id)).counts.done).toBe(1);
    expect(site.hits("/")).toBe(2);
    const [first, second] = site.arrivals.filter(({ path }) => path === "/");
    expect(second!.at_ms - first!.at_ms).toBeGreaterThanOrEqual(5_000);
  });

  test("that are cancelled send no request after two seconds, and keep finished items", async () => {
    const slow = async (): Promise<Page> => {
      await sleep(300);
      return { body: article("Slow") };
    };
    const made = Array.from({ length: 8 }, () => sites.site({ "*": slow }));
    const items = Array.from({ length: 400 }, (_, n) => ({ url: `${made[n % 8]!.origin}/${n}` }));
    const hook = await receiver();
    const { job_id } = (await jobs.create(items, { callback_url: hook.url })).json;
    await expect
      .poll(async () => (await jobs.read(job_id)).counts.done, { timeout: 20_000 })
      .toBeGreaterThan(5);
    const began = performance.now();
    const response = await service.call("DELETE", `/v1/jobs/${job_id}`);
    expect(performance.now() - began).toBeLessThan(4_000);
    const cancelled = response.json as JobStatus;
    expect(cancelled).toMatchObject({ status: "cancelled", counts: { pending: 0, queued: 0, total: 400 } });
    expect(cancelled.counts.done).toBeGreaterThan(5);
    await sleep(2_500);
    const late = made.flatMap(({ arrivals }) => arrivals.filter(({ at_ms }) => at_ms > began + 2_000));
    expect(late).toEqual([]);
    expect(hook.received).toMatchObject([
      { job_id, status: "cancelled", total: 400, succeeded: cancelled.counts.done, failed: 0 },
    ]);
    const done = await jobs.items(job_id, "&status=done");
    expect(done.every(({ result }) => result !== null)).toBe(true);
    expect((await service.trawl("job", "verify", job_id)).problems).toEqual([]);
    hook.server.close();
  });

  test("that a client pauses start no further item until it resumes them, unless the operator paused them, too", async () => {
    const door = gate();
    const site = sites.site({
      "*": async () => {
        await door.opened;
        return { body: article("A page") };
      },
    });
    const urls = Array.from({ length: 6 }, (_, n) => `${site.origin}/${n}`);
    const { job_id } = (await jobs.create(urls.map((url) => ({ url })))).json;
    const progress = async () => (await jobs.read(job_id, "?include=progress")).progress;
    await expect.poll(async () => (await progress())?.in_flight ?? 0, POLL).toBeGreaterThan(0);
    const set = async (body: object, path = `/v1/jobs/${job_id}`) => service.call("PATCH", path, { body });
    const operate = async (paused: boolean) =>
      service.call("POST", `/v1/ops/jobs/${job_id}`, { key: service.operator_key, body: { paused } });
    const paused = await set({ paused: true });
    expect([paused.status, paused.json]).toMatchObject([
      200,
      { job_id, status: "running", paused: "client" },
    ]);
    expect((await set({ paused: true })).json.paused).toBe("client");
    door.open();
    await expect.poll(progress, POLL).toMatchObject({ in_flight: 0, waits_for: "paused_by_client" });
    // The record is written twice a second.
    await expect.poll(async () => (await jobs.read(job_id)).counts.queued, POLL).toBe(0);
    const held = await jobs.read(job_id);
    expect(held.counts.pending).toBeGreaterThan(0);
    expect(held.finished_at).toBeNull();

    expect((await operate(true)).status).toBe(200);
    expect((await jobs.read(job_id)).paused).toBe("operator");
    const refused = await set({ paused: false });
    expect([refused.status, refused.json.detail.error]).toEqual([409, "paused_by_operator"]);
    // A refused change changes nothing, and a job that the operator resumes is still paused for its client.
    expect((await operate(false)).status).toBe(200);
    expect((await jobs.read(job_id)).paused).toBe("client");
    expect((await jobs.read(job_id)).counts).toEqual(held.counts);

    expect(await service.trawl("job", "resume", job_id)).toEqual({ job_id, paused: false });
    const { counts, paused: rest } = await jobs.finished(job_id);
    expect([counts.done, rest]).toEqual([6, null]);
    // A finished job does not change.
    expect((await set({ paused: true })).json).toMatchObject({ status: "completed", paused: null });
    expect(await progress()).toBeNull();
    expect((await set({ paused: "yes" })).json.detail[0].loc).toEqual(["body", "paused"]);
    expect((await set({ paused: true }, `/v1/jobs/${crypto.randomUUID()}`)).status).toBe(404);
  });

  test("call back when they are finished, with the counts", async () => {
    const hook = await receiver();
    const { job_id } = (await jobs.create([{ url: pages(1, 1)[0]! }], { callback_url: hook.url })).json;
    const { finished_at } = await jobs.finished(job_id);
    await expect
      .poll(async () => (await jobs.read(job_id)).callback_status, { timeout: 15_000 })
      .toBe("delivered_204");
    expect(hook.received).toEqual([
      { job_id, kind: "fetch", status: "completed", total: 1, succeeded: 1, failed: 0, finished_at },
    ]);
    hook.server.close();
  });

  test("do not call back to a forbidden destination", async () => {
    const url = "http://10.1.2.3/hook";
    const { job_id } = (await jobs.create([{ url: pages(1, 1)[0]! }], { callback_url: url })).json;
    await jobs.finished(job_id);
    await expect
      .poll(async () => (await jobs.read(job_id)).callback_status, { timeout: 15_000 })
      .toBe("blocked_destination");
  });

  test("continue where they were after all processes were killed", { timeout: 180_000 }, async () => {
    const urls = pages(400, 10, { body: article("Kept") });
    const hook = await receiver();
    const response = await jobs.create(
      urls.map((url) => ({ url })),
      { callback_url: hook.url },
    );
    const { job_id } = response.json;
    await expect
      .poll(async () => (await jobs.read(job_id)).counts.done, { timeout: 20_000 })
      .toBeGreaterThan(20);
    await service.kill();
    const before = await hits(urls);
    await service.restart();
    expect((await jobs.finished(job_id, 120_000)).counts).toMatchObject({ done: 400, failed: 0 });
    // Only what was in flight was asked for again: four of each of ten sites, at most.
    expect((await hits(urls)) - 400).toBeLessThanOrEqual(40);
    expect(before).toBeLessThan(400);
    const { problems } = await service.trawl("job", "verify", job_id);
    expect(problems).toEqual([]);
    await expect.poll(() => hook.received.length, { timeout: 30_000 }).toBe(1);
    hook.server.close();
  });

  const hits = async (urls: readonly string[]): Promise<number> => {
    const origins = new Set(urls.map((url) => new URL(url).hostname));
    let sum = 0;
    for (const { host, arrivals } of sites.known())
      if (origins.has(host)) sum += arrivals.filter(({ path }) => path !== "/robots.txt").length;
    return sum;
  };
});

// The built-in index is there on the embedded engines only.
describe.each(SETUPS.filter(({ setup }) => setup === "embedded"))(
  "batches of searches, $setup",
  ({ start }) => {
    test("answer every query", async () => {
      const service = await start({ TRAWL_DEMO: "on" });
      const jobs = client(service);
      const items = [{ query: "when was the lighthouse lit" }, { query: "xyzzy plugh", max_results: 3 }];
      const response = await service.call("POST", "/v1/batch/search", {
        body: { items, idempotency_key: "s" },
      });
      expect(response.status).toBe(202);
      expect((await jobs.finished(response.json.job_id)).counts).toMatchObject({ done: 2 });
      const [first, second] = (await jobs.items(response.json.job_id)) as any[];
      expect(first.result).toMatchObject({ query: items[0]!.query, provider: "metasearch", error: null });
      expect(first.result.results[0].title).toBe("The lighthouse at Skarn Head");
      expect(second).toMatchObject({ input: items[1], result: { results: [] } });
      await service.close();
    });
  },
);

/** The webhook of a crawl or a batch is sent each page and the end, signed, in the order of items, whatever becomes of the nodes. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { CrawlBody } from "../../schemas/crawl.ts";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { type Page, prose } from "../harness/web.ts";
import { RECEIVER_CERTIFICATE, type WebhookReceiver, webhookReceiver } from "../harness/webhook-receiver.ts";

const POLL = { timeout: 120_000, interval: 50 };

/** Pages "/0" to "/<count - 1>", each of which links to the next two. */
const chain =
  (count: number) =>
  ({ path }: { readonly path: string }): Page => {
    const n = Number(path.slice(1));
    if (!(n < count)) return { status: 404, body: "no" };
    const links = [n + 1, n + 2].map((next) => `<a href="/${next}">${next}</a>`).join(" ");
    const body = `<!doctype html><title>Page ${n}</title><article><h1>Page ${n}</h1><p>${prose(12, `page ${n}`)}</p>${links}</article>`;
    return { body };
  };

describe.each(SETUPS)("the webhook of a crawl, $setup", ({ start }) => {
  let hook: WebhookReceiver;
  let answer: (n: number) => number = () => 204;
  const { sites, service } = scenario(start, (web) => {
    web.name("site", ["127.0.0.1"]);
    return { TRAWL_CA_FILE: RECEIVER_CERTIFICATE };
  });
  beforeAll(async () => {
    hook = await webhookReceiver((_delivery, n) => answer(n));
  });
  afterAll(() => hook.close());
  beforeEach(() => {
    answer = () => 204;
  });

  const webhook = () => ({ url: `https://site.test:${hook.port}/hook` });
  const begin = async (body: CrawlBody) => (await service.call("POST", "/v1/crawl", { body })).json;
  const eventsOf = (job_id: string) =>
    hook.received
      .map(({ body, headers }) => ({ ...JSON.parse(body), headers, body }))
      .filter((event) => event.job_id === job_id);
  const ended = async (job_id: string): Promise<void> => {
    await expect.poll(() => eventsOf(job_id).some(({ type }) => type === "crawl.completed"), POLL).toBe(true);
  };

  test("is told of each page in the order of items and then of the end, signed with the secret of the answer", async () => {
    const site = sites.site({ "*": chain(5) });
    const body = { url: `${site.origin}/0`, limit: 20, webhook: webhook(), idempotency_key: "told" };
    const made = await begin(body);
    expect(made).toMatchObject({
      created: true,
      webhook_secret: expect.stringMatching(/^whsec_[A-Za-z0-9]{32}$/),
    });
    // The first answer may have been lost.
    expect(await begin(body)).toEqual({ ...made, created: false });
    await ended(made.job_id);
    const events = eventsOf(made.job_id);
    const items = await client(service).items(made.job_id);
    expect(events.slice(0, -1).map(({ index, url, error, status }) => [index, url, error, status])).toEqual(
      items.map(({ index, input, error, result }) => [index, input["url"], error, result!["status"]]),
    );
    expect(events.map(({ error }) => error ?? null).filter((error) => error !== null)).toEqual([
      "http_404",
      "http_404",
    ]);
    expect(events[0]).toMatchObject({
      id: `${made.job_id}:0`,
      type: "crawl.page",
      title: "Page 0",
      depth: 0,
    });
    const item = await service.call("GET", events[2].item_url.replace(/^https?:\/\/[^/]+/, ""));
    expect(item.json.items).toMatchObject([{ index: 2, input: { url: events[2].url } }]);
    expect(events.at(-1)).toMatchObject({
      id: `${made.job_id}:end`,
      status: "completed",
      counts: { total: 7, done: 5, failed: 2 },
      job_url: expect.stringMatching(new RegExp(`^http.*/v1/jobs/${made.job_id}$`)),
    });
    for (const { id, headers, body: text } of events) {
      const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["x-service-signature"]))!;
      expect(createHmac("sha256", made.webhook_secret).update(`${t}.${text}`).digest("hex")).toBe(v1);
      expect(headers["webhook-id"]).toBe(id);
    }
  });

  test("is told in the form of Firecrawl's API, with each page as its Document", async () => {
    const site = sites.site({ "*": chain(2) });
    const metadata = { run: "monday" };
    const crawl = async (body: object) =>
      (await service.call("POST", "/v2/crawl", { body: { crawlEntireDomain: true, ...body } })).json;
    const made = await crawl({ url: `${site.origin}/0`, webhook: { ...webhook(), metadata } });
    expect(made).toMatchObject({ success: true, webhookSecret: expect.stringMatching(/^whsec_/) });
    const told = (id: string) =>
      hook.received
        .map(({ body, headers }) => ({ ...JSON.parse(body), headers, body }))
        .filter((event) => event.id === id);
    await expect.poll(() => told(made.id).at(-1)?.type, POLL).toBe("crawl.completed");
    const events = told(made.id);
    expect(events.map(({ type, success, data }) => [type, success, data[0]?.metadata.sourceURL])).toEqual([
      ["crawl.started", true, undefined],
      ...["0", "1", "2", "3"].map((path) => ["crawl.page", true, `${site.origin}/${path}`]),
      ["crawl.completed", true, undefined],
    ]);
    expect(events[1].data).toEqual([
      {
        markdown: expect.stringContaining("Page 0"),
        metadata: expect.objectContaining({ title: "Page 0", statusCode: 200 }),
      },
    ]);
    expect(events[3].data[0].metadata).toMatchObject({ statusCode: 404, error: expect.any(String) });
    for (const { metadata: back, webhookId, headers, body } of events) {
      expect([back, webhookId]).toEqual([metadata, headers["webhook-id"]]);
      const signature = createHmac("sha256", made.webhookSecret).update(body).digest("hex");
      expect(headers["x-firecrawl-signature"]).toBe(`sha256=${signature}`);
    }
    const ends = await crawl({ url: `${site.origin}/0`, webhook: { ...webhook(), events: ["failed"] } });
    const alone = await crawl({ url: `${site.origin}/0`, webhook: { ...webhook(), events: ["completed"] } });
    await expect.poll(() => told(alone.id), POLL).toMatchObject([{ type: "crawl.completed", data: [] }]);
    expect(told(ends.id)).toEqual([]);
    const wrong = await begin({
      url: "https://example.org/",
      webhook: { ...webhook(), events: ["started"] },
    });
    expect(wrong.detail[0].loc).toEqual(["body", "webhook", "events", 0]);
    const headers = { Authorization: "Bearer x" };
    expect((await crawl({ url: `${site.origin}/0`, webhook: { ...webhook(), headers } })).code).toBe(
      "NOT_SUPPORTED",
    );
  });

  test("of a batch is told of its pages and the end in the same way, and filings take none", async () => {
    const site = sites.site({ "*": chain(2) });
    const items = ["/0", "/5", "/1"].map((path) => ({ url: `${site.origin}${path}` }));
    const batch = async (body: object, kind = "fetch") =>
      (await service.call("POST", `/v1/batch/${kind}`, { body: { items, ...body } })).json;
    const body = { idempotency_key: "told-batch", webhook: webhook() };
    const made = await batch(body);
    expect(made.webhook_secret).toMatch(/^whsec_/);
    expect(await batch(body)).toEqual({ ...made, created: false });
    const { job_id } = made;
    await expect.poll(() => eventsOf(job_id).at(-1)?.type, POLL).toBe("batch.completed");
    const events = eventsOf(job_id);
    expect(events.map(({ id, type, url, error }) => [id, type, url, error])).toEqual([
      ...[null, "http_404", null].map((error, n) => [`${job_id}:${n}`, "batch.page", items[n]!.url, error]),
      [`${job_id}:end`, "batch.completed", undefined, undefined],
    ]);
    expect(events[0]).toMatchObject({ title: "Page 0", item_url: expect.stringContaining(job_id) });
    expect(events[0]).not.toHaveProperty("depth");
    for (const { headers, body: text } of events) {
      const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["x-service-signature"]))!;
      expect(createHmac("sha256", made.webhook_secret).update(`${t}.${text}`).digest("hex")).toBe(v1);
    }
    const view = (await service.call("GET", `/v1/jobs/${job_id}`)).json;
    expect(view.webhook).toEqual({ is_off: false, last_status: "delivered_204" });
    const wrong = await batch({ idempotency_key: "wrong", webhook: { url: "https://10.0.0.7/" } });
    expect(wrong.detail).toMatchObject([{ loc: ["body", "webhook", "url"], type: "blocked_destination" }]);
    const query = { items: [{ query: "lamps" }], idempotency_key: "q", webhook: webhook() };
    expect((await batch(query, "search")).warnings).toEqual([expect.stringContaining("webhook")]);
  });

  test("is told of the end alone where it asks for that, also of a crawl that was cancelled", async () => {
    const site = sites.site({ "*": chain(400) });
    const { job_id } = await begin({
      url: `${site.origin}/0`,
      webhook: { ...webhook(), events: ["completed"] },
    });
    await expect.poll(() => site.hits("/2"), POLL).toBeGreaterThan(0);
    expect((await service.call("DELETE", `/v1/jobs/${job_id}`)).status).toBe(200);
    await ended(job_id);
    expect(eventsOf(job_id)).toMatchObject([{ type: "crawl.completed", status: "cancelled" }]);
  });

  test("gets nothing more once it answers 410, and the crawl goes on", async () => {
    const site = sites.site({ "*": chain(6) });
    answer = () => 410;
    const { job_id } = await begin({ url: `${site.origin}/0`, webhook: webhook() });
    const job = await client(service).finished(job_id);
    expect(job.counts).toMatchObject({ done: 6 });
    await expect.poll(() => eventsOf(job_id), POLL).toHaveLength(1);
    const told = async () => (await service.call("GET", `/v1/jobs/${job_id}`)).json.webhook;
    await expect.poll(told, POLL).toEqual({ is_off: true, last_status: "http_410" });
    answer = () => 204;
    const after = await begin({ url: `${site.origin}/0`, limit: 1, webhook: webhook() });
    await ended(after.job_id);
    expect(eventsOf(job_id)).toHaveLength(1);
    const { items } = (await service.call("GET", "/v1/jobs?kind=crawl&limit=2")).json;
    expect(items.map((each: { webhook?: { is_off: boolean } }) => each.webhook?.is_off)).toEqual([
      false,
      true,
    ]);
  });

  test("that is no https address, or within a private network, is refused", async () => {
    for (const [url, type] of [
      ["http://site.test/", "url_scheme"],
      ["https://10.0.0.7/", "blocked_destination"],
    ] as const)
      expect((await begin({ url: "https://example.org/", webhook: { url } })).detail).toMatchObject([
        { loc: ["body", "webhook", "url"], type },
      ]);
  });

  test("loses no event and changes no order when its nodes are killed", { timeout: 240_000 }, async () => {
    const site = sites.site({ "*": chain(24) });
    const { job_id } = await begin({ url: `${site.origin}/0`, webhook: webhook() });
    for (const many of [4, 14]) {
      await expect.poll(() => eventsOf(job_id).length, POLL).toBeGreaterThanOrEqual(many);
      await service.kill();
      await service.restart();
    }
    await ended(job_id).catch(async (problem: unknown) => {
      const { json } = await service.call("GET", `/v1/jobs/${job_id}?include=items,progress`);
      throw new Error(`The events stopped: ${JSON.stringify(json)}`, { cause: problem });
    });
    const ids = eventsOf(job_id).map(({ id }) => String(id));
    // Again is only what was under way when a node was killed.
    expect(ids.length).toBeLessThanOrEqual(27 + 2);
    expect(ids.filter((id, at) => id !== ids[at - 1])).toEqual([
      ...Array.from({ length: 26 }, (_, n) => `${job_id}:${n}`),
      `${job_id}:end`,
    ]);
  });
});

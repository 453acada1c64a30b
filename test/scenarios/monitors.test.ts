/** Monitors over HTTP: a page that changes, what the client is told of it, and what a kill -9 leaves of both. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Monitor, MonitorBody, MonitorChange } from "../../schemas/monitors.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, gate, type Page } from "../harness/web.ts";
import { RECEIVER_CERTIFICATE, type WebhookReceiver, webhookReceiver } from "../harness/webhook-receiver.ts";

const POLL = { timeout: 60_000, interval: 100 };
const HOURLY = { every_s: 3_600 };

describe.each(SETUPS)("monitors, $setup", ({ start }) => {
  let hook: WebhookReceiver;
  /** How the receiver answers the next delivery. */
  let answer = 204;
  const { sites, service } = scenario(start, (web) => {
    web.name("site", ["127.0.0.1"]);
    return { TRAWL_CA_FILE: RECEIVER_CERTIFICATE };
  });
  beforeAll(async () => {
    hook = await webhookReceiver(() => answer);
  });
  afterAll(() => hook.close());

  const webhook = () => ({ url: `https://site.test:${hook.port}/hook` });
  const create = async (body: MonitorBody, key = service.key): Promise<Monitor> => {
    const made = await service.call("POST", "/v1/monitors", { body, key });
    if (made.status !== 201) throw new Error(`${made.status}: ${made.bytes.toString()}`);
    return made.json as Monitor;
  };
  const read = async (id: string): Promise<Monitor> => (await service.call("GET", `/v1/monitors/${id}`)).json;
  const checked = async (id: string, checks: number): Promise<void> => {
    await expect.poll(async () => (await read(id)).checks, POLL).toBeGreaterThanOrEqual(checks);
  };
  const run = async (id: string): Promise<Monitor> => {
    const { checks } = await read(id);
    expect((await service.call("POST", `/v1/monitors/${id}/run`)).status).toBe(202);
    await checked(id, checks + 1);
    return read(id);
  };
  const changesOf = async (
    id: string,
    cursor = "0",
  ): Promise<{ readonly items: MonitorChange[]; readonly next_cursor: string }> =>
    (await service.call("GET", `/v1/monitors/${id}/changes?cursor=${cursor}`)).json;
  /** The events that the receiver answered with 2xx, of one monitor. */
  const eventsOf = (id: string) =>
    hook.received.map(({ body }) => JSON.parse(body)).filter(({ monitor_id }) => monitor_id === id);

  test("a page that changes is told once, signed, with what has changed", async () => {
    let price = "Two francs";
    const site = sites.site({
      "/": () => ({ body: article("Prices", `${price} for a night. `.repeat(40)) }),
    });
    const url = `${site.origin}/`;
    const made = await create({ url, ...HOURLY, webhook: webhook(), label: "Prices" });
    expect(made).toMatchObject({ label: "Prices", watch: "text", checks: 0, paused: null, every_s: 3_600 });
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9]{32}$/);
    await checked(made.id, 1);
    const first = await read(made.id);
    expect(first).toMatchObject({ secret: null, last_check: { outcome: "first", error: null }, changes: 0 });
    expect(Date.parse(first.next_check_at!) - Date.parse(first.created_at)).toBeGreaterThanOrEqual(3_590_000);
    const second = await run(made.id);
    expect(second).toMatchObject({ last_check: { outcome: "unchanged" }, changes: 0 });
    expect(second.current!.sha256).toBe(first.current!.sha256);
    expect((await changesOf(made.id)).items).toEqual([]);

    price = "Three francs";
    expect(await run(made.id)).toMatchObject({ last_check: { outcome: "changed" }, changes: 1 });
    await expect.poll(() => eventsOf(made.id), POLL).toHaveLength(1);
    const [event] = eventsOf(made.id);
    const { items, next_cursor } = await changesOf(made.id);
    const [{ delivery, ...change }] = items as [MonitorChange];
    expect(event).toEqual({
      ...change,
      type: "page.changed",
      changes_url: expect.stringMatching(`^http.*/v1/monitors/${made.id}/changes$`),
    });
    expect(event).toMatchObject({ url, previous: second.current, diff_truncated: false });
    expect(event.diff).toContain(`--- ${url}\n+++ ${url}\n@@`);
    expect(event.diff).toMatch(/^-.*Two francs/m);
    expect(event.diff).toMatch(/^\+.*Three francs/m);
    expect((await read(made.id)).current).toEqual(event.current);
    await expect
      .poll(async () => (await changesOf(made.id)).items[0]!.delivery, POLL)
      .toMatchObject({ is_over: true, status: "delivered_204", attempts: 1 });
    expect(delivery).not.toBeNull();
    expect((await changesOf(made.id, next_cursor)).items).toEqual([]);
    const delivered = hook.received.find(({ body }) => JSON.parse(body).monitor_id === made.id)!;
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(delivered.headers["x-service-signature"]))!;
    expect(createHmac("sha256", made.secret!).update(`${t}.${delivered.body}`).digest("hex")).toBe(v1);
    expect(delivered.headers["webhook-id"]).toBe(event.id);
  });

  test("a change is told in the form of Firecrawl's API, as its page and as its check", async () => {
    let price = "Two francs";
    const site = sites.site({
      "/": () => ({ body: article("Prices", `${price} for a night. `.repeat(40)) }),
    });
    const told = (check: string, id: string) =>
      hook.received
        .map(({ body, headers }) => ({ ...JSON.parse(body), headers, body }))
        .filter((event) => event.id === check && event.data[0].monitorId === id);
    const targets = [{ type: "scrape", urls: [`${site.origin}/`] }];
    const theirs = (more: object) => ({ name: "Prices", schedule: { cron: "0 7 * * *" }, targets, ...more });
    const post = async (body: object) => (await service.call("POST", "/v2/monitor", { body })).json;
    const metadata = { run: "monday" };
    const made = await post(theirs({ webhook: { ...webhook(), metadata } }));
    expect(made).toMatchObject({ success: true, data: { webhookSecret: expect.stringMatching(/^whsec_/) } });
    const { id, webhookSecret } = made.data;
    const events = ["monitor.check.completed"];
    const { data: alone } = await post(theirs({ webhook: { ...webhook(), events } }));
    const { data: none } = await post(theirs({ webhook: { ...webhook(), events } }));
    const removed = await service.call("PATCH", `/v2/monitor/${none.id}`, { body: { webhook: null } });
    expect(removed.json.data.webhook).toBeNull();
    for (const each of [id, alone.id, none.id]) await checked(each, 1);
    price = "Three francs";
    for (const each of [none.id, id, alone.id])
      expect(await run(each)).toMatchObject({ last_check: { outcome: "changed" } });
    await expect
      .poll(() => told("2", id).map(({ type }) => type), POLL)
      .toEqual(["monitor.page", "monitor.check.completed"]);
    const [page, check] = told("2", id);
    expect(page).toMatchObject({
      success: true,
      data: [{ monitorId: id, checkId: "2", url: `${site.origin}/`, status: "changed", error: null }],
    });
    expect(page.data[0].diff.text).toMatch(/^\+.*Three francs/m);
    const counts = { totalPages: 1, same: 0, changed: 1, new: 0, removed: 0, error: 0 };
    expect(check).toMatchObject({
      success: true,
      data: [{ monitorId: id, checkId: "2", status: "completed", summary: counts }],
    });
    for (const { metadata: back, webhookId, headers, body } of [page, check]) {
      expect([back, webhookId]).toEqual([metadata, headers["webhook-id"]]);
      const signature = createHmac("sha256", webhookSecret).update(body).digest("hex");
      expect(headers["x-firecrawl-signature"]).toBe(`sha256=${signature}`);
    }
    expect(page.webhookId).not.toBe(check.webhookId);
    await expect.poll(() => told("2", alone.id).map(({ type }) => type), POLL).toEqual(events);
    expect(told("2", none.id)).toEqual([]);
    expect((await changesOf(id)).items[0]!.delivery).toMatchObject({ status: "delivered_204" });
    const refusal = await post(theirs({ webhook: { ...webhook(), headers: { Authorization: "Bearer x" } } }));
    expect(refusal).toMatchObject({ success: false, code: "NOT_SUPPORTED" });
    const wrong = await service.call("POST", "/v1/monitors", {
      body: { url: `${site.origin}/`, ...HOURLY, webhook: { ...webhook(), metadata } },
    });
    expect([wrong.status, wrong.json.detail[0].loc]).toEqual([422, ["body", "webhook", "metadata"]]);
  });

  test("a page that fails is no change: the monitor says so, and goes on from what it knew", async () => {
    let page: Page = { body: article("Open") };
    const site = sites.site({ "/": () => page });
    const made = await create({ url: `${site.origin}/`, ...HOURLY, webhook: webhook() });
    await checked(made.id, 1);
    page = { status: 404, body: "gone" };
    expect(await run(made.id)).toMatchObject({
      last_check: { outcome: "failed", error: "http_404" },
      failures: 1,
      changes: 0,
      current: { status: 200 },
    });
    page = { body: article("Open") };
    expect(await run(made.id)).toMatchObject({
      last_check: { outcome: "unchanged" },
      failures: 0,
      checks: 3,
    });
    expect(eventsOf(made.id)).toEqual([]);
  });

  test("a status, or the addresses of a page, can be what counts", async () => {
    let [page, links]: [Page, string] = [{ body: article("There") }, '<a href="/a">A</a>'];
    const site = sites.site({
      "/status": () => page,
      "/list": () => ({ body: article("List").replace("<nav>", `<nav>${links}`) }),
    });
    const status = await create({ url: `${site.origin}/status`, ...HOURLY, watch: "status" });
    const list = await create({ url: `${site.origin}/list`, ...HOURLY, watch: "links" });
    await Promise.all([checked(status.id, 1), checked(list.id, 1)]);
    page = { status: 410, body: "gone" };
    links = '<a href="/a">Another word</a> <a href="/b">B</a>';
    await Promise.all([run(status.id), run(list.id)]);
    expect((await changesOf(status.id)).items).toMatchObject([
      { previous: { status: 200 }, current: { status: 410 }, delivery: null },
    ]);
    const [change] = (await changesOf(list.id)).items;
    expect(change!.diff).toContain(`\n+${site.origin}/b\n`);
    expect(change!.diff).not.toContain(`\n-`);
  });

  test("visits are fetches: in the list of jobs, in the ledger, in the quota; and a cached page is asked anew", async () => {
    await service.trawl("project", "create", "watcher");
    const created = (...words: string[]) => service.trawl("key", "create", "--project", "watcher", ...words);
    const { key, prefix } = await created("--quota", "fetch=3");
    const other = (await created()).key;
    const site = sites.site({ "/": { body: article("Counted") } });
    const url = `${site.origin}/`;
    await service.fetch({ url }, { key });
    const { id } = await create({ url, ...HOURLY }, key);
    const seen = async () => (await service.call("GET", `/v1/monitors/${id}`, { key: other })).json;
    const visited = async (number: number): Promise<void> => {
      await expect.poll(async () => (await seen()).checks, POLL).toBe(number);
    };
    const visit = () => service.call("POST", `/v1/monitors/${id}/run`, { key: other });
    await visited(1);
    expect(site.hits("/")).toBe(2);
    const { items } = (await service.call("GET", "/v1/jobs", { key })).json;
    expect(items).toMatchObject([{ kind: "fetch", monitor_id: id, counts: { total: 1, done: 1 } }]);
    const quota = async () => {
      const { keys } = (await service.call("GET", "/v1/quota", { key })).json;
      return keys.find((each: { prefix: string }) => each.prefix === prefix).requests.fetch.used;
    };
    await expect.poll(quota, POLL).toBe(2);
    const rows = (await service.call("GET", "/v1/requests", { key })).json.items;
    expect(rows.map((each: { request_id: string }) => each.request_id)).toContain(`${items[0].job_id}:0`);
    await visit();
    await visited(2);
    // The key of the monitor pays, also for a visit that another key asks for.
    await visit();
    await visited(3);
    expect(await seen()).toMatchObject({
      last_check: { outcome: "failed", error: "key_quota_exhausted" },
      failures: 1,
    });
    expect(site.hits("/")).toBe(3);
    await service.trawl("key", "revoke", prefix);
    await visit();
    await expect.poll(async () => (await seen()).paused, POLL).toBe("key_revoked");
    expect(site.hits("/")).toBe(3);
    const resumed = await service.call("PATCH", `/v1/monitors/${id}`, {
      body: { paused: false },
      key: other,
    });
    expect(resumed.json).toMatchObject({ paused: null });
    await expect.poll(() => site.hits("/"), POLL).toBe(4);
  });

  test("what is wrong with a monitor is named", async () => {
    const site = sites.site({ "/": { body: article("Open") } });
    const good = { url: `${site.origin}/`, ...HOURLY };
    const wrong: [object, readonly string[], string][] = [
      [{ ...good, url: "ftp://example.org/" }, ["body", "url"], "url_parsing"],
      [{ url: good.url }, ["body", "every_s"], "value_error"],
      [{ ...good, every_s: 299 }, ["body", "every_s"], "greater_than_equal"],
      [{ url: good.url, cron: "* * * * *" }, ["body", "cron"], "value_error"],
      [{ url: good.url, cron: "0 0 * * *", timezone: "Nowhere" }, ["body", "timezone"], "value_error"],
      [{ ...good, watch: "weather" }, ["body", "watch"], "literal_error"],
      [{ ...good, webhook: { url: "http://site.test/" } }, ["body", "webhook", "url"], "url_scheme"],
      [{ ...good, webhook: { url: "https://10.0.0.7/" } }, ["body", "webhook", "url"], "blocked_destination"],
      [{ ...good, fetch: { render: "perhaps" } }, ["body", "fetch", "render"], "literal_error"],
    ];
    for (const [body, loc, type] of wrong)
      expect((await service.call("POST", "/v1/monitors", { body })).json.detail).toMatchObject([
        { loc, type },
      ]);
    const agent = await service.call("POST", "/v1/monitors", {
      body: { ...good, fetch: { user_agent: "someone-else/1.0" } },
    });
    expect(agent.status).toBe(403);
  });

  test("a monitor is paused, changed and ended", async () => {
    const site = sites.site({ "/": { body: article("Open") } });
    const made = await create({ url: `${site.origin}/`, ...HOURLY, webhook: webhook() });
    await checked(made.id, 1);
    const patch = async (body: object) =>
      (await service.call("PATCH", `/v1/monitors/${made.id}`, { body })).json as Monitor;
    expect(await patch({ paused: true })).toMatchObject({ paused: "client", next_check_at: null });
    expect((await service.call("POST", `/v1/monitors/${made.id}/run`)).status).toBe(409);
    const cron = { cron: "0 7 * * *", timezone: "Europe/Zurich" };
    expect(await patch({ paused: false, ...cron })).toMatchObject({ paused: null, every_s: null, ...cron });
    await checked(made.id, 2);
    expect((await read(made.id)).next_check_at).toMatch(/T0[56]:00:00/);
    expect(await patch({ watch: "markdown" })).toMatchObject({ watch: "markdown", current: null });
    await checked(made.id, 3);
    expect(await read(made.id)).toMatchObject({ last_check: { outcome: "first" } });
    expect((await patch({ webhook: webhook() })).secret).toBeNull();
    expect((await patch({ webhook: null })).webhook).toBeNull();
    expect((await patch({ webhook: webhook() })).secret).toMatch(/^whsec_/);
    const hits = site.hits("/");
    expect((await service.call("DELETE", `/v1/monitors/${made.id}`)).status).toBe(204);
    for (const path of ["", "/changes"])
      expect((await service.call("GET", `/v1/monitors/${made.id}${path}`)).status).toBe(404);
    const { monitors } = (await service.call("GET", "/v1/monitors")).json;
    expect(monitors.map(({ id }: Monitor) => id)).not.toContain(made.id);
    expect(site.hits("/")).toBe(hits);
  });

  test("kill -9 during a visit, and between a visit and its delivery, loses and doubles no change", async () => {
    let text = "First";
    let door = gate();
    door.open();
    const site = sites.site({
      "/": async () => {
        const now = text;
        await door.opened;
        return { body: article("Killed", `${now} edition. `.repeat(60)) };
      },
    });
    const made = await create({ url: `${site.origin}/`, ...HOURLY, webhook: webhook() });
    await checked(made.id, 1);

    text = "Second";
    door = gate();
    const asked = site.hits("/");
    await service.call("POST", `/v1/monitors/${made.id}/run`);
    await expect.poll(() => site.hits("/"), POLL).toBeGreaterThan(asked);
    answer = 503;
    await service.kill();
    door.open();
    await service.restart();
    await expect.poll(() => eventsOf(made.id).length, POLL).toBeGreaterThan(0);
    await service.kill();
    answer = 204;
    const refused = eventsOf(made.id).length;
    await service.restart();
    await expect.poll(() => eventsOf(made.id).length, POLL).toBeGreaterThan(refused);
    await expect
      .poll(async () => (await changesOf(made.id)).items, POLL)
      .toMatchObject([{ delivery: { is_over: true, status: "delivered_204" } }]);
    text = "Third";
    await run(made.id);
    await expect.poll(() => new Set(eventsOf(made.id).map(({ id }) => id)).size, POLL).toBe(2);
    // Delivered once each, in order: refused attempts first, then one that was taken, then the next change.
    const ids = eventsOf(made.id).map(({ id }) => id);
    expect(ids).toEqual([...ids.slice(0, refused + 1).map(() => ids[0]), ids.at(-1)]);
    expect(await read(made.id)).toMatchObject({ checks: 3, changes: 2 });
    const { items } = await changesOf(made.id);
    expect(items[1]!.previous).toEqual(items[0]!.current);
  });
});

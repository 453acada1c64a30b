/** Options of a page in a browser as clients see them: the window, what is not loaded, steps; single, as items of a job, from the cache, with mistakes. */
import { describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { chromium_path } from "../harness/installed-browser.ts";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, type Pages, prose } from "../harness/web.ts";

const WIDE = `<title>Window</title><meta name=viewport content="width=device-width"><link rel=stylesheet href=/a.css>
  <p>${prose(12)}</p><script>document.title = innerWidth + " × " + innerHeight</script>`;
const pages = { "/": { body: WIDE }, "/a.css": { type: "text/css", body: "" } };

/** A site behind a form: its page differs with the cookie of a login. */
const login: Pages = {
  "/": ({ headers }) => ({
    body:
      headers["cookie"] === "sid=1"
        ? article("Account", `<a href="/orders">Orders</a> ${prose(12)}`)
        : "<title>Log in</title><form method=post action=/login><input name=word><button>Go</button></form>",
  }),
  "/login": ({ body }) => ({
    status: 303,
    headers: { Location: "/", ...(body === "word=lamp" && { "Set-Cookie": "sid=1; Path=/" }) },
  }),
  "/orders": { body: "<title>Orders</title><form><input name=word><button>Go</button></form>" },
};
const LOG_IN: FetchBody["actions"] = [
  { type: "type", selector: "[name=word]", text: "lamp" },
  { type: "click", selector: "button" },
];

describe.runIf(chromium_path !== null).each(SETUPS)("options of a browser, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({ TRAWL_CHROMIUM_PATH: chromium_path! }));

  test("choose the window, take the browser, and have pages of the cache of their own", async () => {
    const site = sites.site(pages);
    const url = `${site.origin}/`;
    const plain = await service.fetch({ url });
    expect([plain.tier, plain.title]).toEqual(["direct", "Window"]);
    const phone: FetchBody = { url, device: "mobile" };
    expect(await service.fetch(phone)).toMatchObject({ tier: "browser", title: "412 × 915", cached: false });
    expect(await service.fetch(phone)).toMatchObject({ title: "412 × 915", cached: true });
    const wide: FetchBody = { url, viewport: { width: 1920, height: 1080 } };
    expect(await service.fetch(wide)).toMatchObject({ title: "1920 × 1080", cached: false });
    expect(await service.fetch({ ...phone, tiers: ["direct"] })).toMatchObject({ error: "no_tier_allowed" });
  });

  test("block what is loaded, also for an item of a job, and say nothing on a route without a browser", async () => {
    const site = sites.site(pages);
    const url = `${site.origin}/`;
    const blocked = { block_resources: ["stylesheet", "image"] } satisfies Partial<FetchBody>;
    expect(await service.fetch({ url, ...blocked })).toMatchObject({ tier: "direct", error: null });
    const jobs = client(service);
    const items: FetchBody[] = [
      { url, render: "always", ...blocked },
      { url, render: "always" },
    ];
    const { json: job } = await jobs.create(items);
    await jobs.finished(job.job_id);
    const { json } = await service.call("GET", `/v1/jobs/${job.job_id}?include=items`);
    expect(json.items.map(({ result }: { result: { tier: string } }) => result.tier)).toEqual([
      "browser",
      "browser",
    ]);
    expect(site.hits("/a.css")).toBe(1);
  });

  test("an archive says what was blocked", async () => {
    const url = `${sites.site(pages).origin}/`;
    const answer = await service.fetch({
      url,
      render: "always",
      archive: true,
      block_resources: ["stylesheet"],
    });
    expect(answer.warnings).toEqual(["the archive has nothing of what block_resources names: stylesheet"]);
  });

  test.each<[Record<string, unknown>, readonly (string | number)[]]>([
    [{ device: "tablet" }, ["body", "device"]],
    [{ viewport: { width: 100, height: 720 } }, ["body", "viewport", "width"]],
    [{ viewport: { width: 800 } }, ["body", "viewport", "height"]],
    [{ block_resources: ["images"] }, ["body", "block_resources", 0]],
    [{ actions: [{ type: "write" }] }, ["body", "actions", 0, "type"]],
    [{ actions: [{ type: "click", selector: ">>" }] }, ["body", "actions", 0, "selector"]],
    [{ actions: LOG_IN, wait_for: { ms: 5 } }, ["body", "wait_for"]],
  ])("are refused with the name of the field: %j", async (options, loc) => {
    const { status, json } = await service.call("POST", "/v1/fetch", {
      body: { url: "http://www.shop.test/", ...options },
    });
    expect([status, json.detail[0].loc]).toEqual([422, loc]);
  });

  test("steps are taken for one project, once, and are not answered from the cache unless it says so", async () => {
    const site = sites.site(login);
    const body: FetchBody = { url: `${site.origin}/`, actions: LOG_IN };
    const first = await service.fetch(body);
    expect(first).toMatchObject({ tier: "browser", title: "Account", cached: false, error: null });
    expect(first.actions).toMatchObject([
      { index: 0, type: "type", ok: true, error: null },
      { index: 1, type: "click", ok: true, url: `${site.origin}/` },
    ]);
    expect(await service.fetch(body)).toMatchObject({ title: "Account", cached: false });
    expect(site.hits("/login")).toBe(2);
    expect(await service.fetch({ url: `${site.origin}/`, min_text_chars: 0 })).toMatchObject({
      title: "Log in",
    });
    const kept: FetchBody = { ...body, cache_private: true };
    await service.fetch(kept);
    expect(await service.fetch(kept)).toMatchObject({ title: "Account", cached: true, actions: [{}, {}] });
    expect(site.hits("/login")).toBe(3);
  });

  test("a failed step is an answer, whose picture is downloaded", async () => {
    const site = sites.site(login);
    const actions: FetchBody["actions"] = [{ type: "click", selector: "#none", timeout_ms: 200 }];
    const answer = await service.fetch({ url: `${site.origin}/`, actions });
    expect(answer).toMatchObject({
      error: "action_failed",
      error_detail: 'actions[0] (click "#none"): No element matches "#none" within 200 ms',
      title: "Log in",
      actions: [{ ok: false, error: "not_found", page: { title: "Log in", matches: 0 } }],
    });
    const { status, bytes, headers } = await service.call("GET", answer.actions![0]!.screenshot!.body_url);
    expect([status, headers["content-type"]]).toEqual([200, "image/png"]);
    expect(bytes.subarray(1, 4).toString()).toBe("PNG");
  });

  test("steps of an item of a job and of a crawl are taken, and shown without what is typed", async () => {
    const site = sites.site(login);
    const jobs = client(service);
    const { json: job } = await jobs.create([{ url: `${site.origin}/`, actions: LOG_IN }]);
    const crawl = await service.call("POST", "/v1/crawl", {
      body: {
        url: `${site.origin}/`,
        idempotency_key: `steps ${site.origin}`,
        sitemap: "skip",
        exclude: ["/about"],
        fetch: { actions: LOG_IN!.map((step) => ({ ...step, optional: true })) },
      },
    });
    for (const { job_id } of [job, crawl.json]) await jobs.finished(job_id);
    const itemsOf = async (job_id: string) =>
      (await service.call("GET", `/v1/jobs/${job_id}?include=items`)).json.items;
    expect(await itemsOf(job.job_id)).toMatchObject([
      {
        status: "done",
        result: { title: "Account", actions: [{ ok: true }, { ok: true }] },
        input: { actions: [{ selector: "[name=word]", text: "***" }, { selector: "button" }] },
      },
    ]);
    const pagesOf = await itemsOf(crawl.json.job_id);
    const titles = pagesOf.map(({ result }: { result: { title: string } }) => result.title);
    expect(titles).toEqual(["Account", "Orders"]);
  });

  test.each<[NonNullable<FetchBody["actions"]>[number], RegExp]>([
    [{ type: "click" }, /actions\[0\] \(click\) needs "selector"/],
    [{ type: "wait", ms: 5, idle: true }, /actions\[0\] \(wait\) needs one of "selector", "idle", "ms"/],
    [{ type: "pdf", full_page: true }, /actions\[0\] \(pdf\) has no "full_page"/],
    [{ type: "evaluate", script: "return (" }, /actions\[0\] \(evaluate\) has a "script" that is neither/],
  ])("a step with fields of another is refused: %j", async (step, message) => {
    const { status, json } = await service.call("POST", "/v1/fetch", {
      body: { url: "http://www.shop.test/", actions: [step] },
    });
    expect([status, json.detail]).toEqual([
      422,
      [{ loc: ["body", "actions"], msg: expect.stringMatching(message), type: "value_error" }],
    ]);
  });
});

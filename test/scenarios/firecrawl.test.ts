/**
 * Firecrawl's API with Firecrawl's own clients and the loader of LangChain, and what they rely on by plain HTTP. `.ci/run` installs them: the client for
 * JavaScript in /opt/firecrawl-javascript, the one for Python in /opt/firecrawl-python, the loader in /opt/firecrawl-langchain.
 */
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UNSERVED } from "../../gateway/firecrawl/unserved.ts";
import { modelServer, saying } from "../harness/model-server.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { gate, type Page, prose, type Site } from "../harness/web.ts";
import { RECEIVER_CERTIFICATE, type WebhookReceiver, webhookReceiver } from "../harness/webhook-receiver.ts";

const JAVASCRIPT = "/opt/firecrawl-javascript/";
const PYTHON = "/opt/firecrawl-python/bin/python";
const LANGCHAIN = "/opt/firecrawl-langchain/bin/python";
const run = promisify(execFile);

const linked = (title: string, ...links: string[]): Page => ({
  body:
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><article><h1>${title}</h1>` +
    `<p>${prose(12, title)}</p><p>${links.map((href) => `<a href="${href}">${href}</a>`).join(" ")}</p></article></body></html>`,
});

const MANY = 105;

describe.each(SETUPS)("Firecrawl's API, $setup", ({ start }) => {
  let model: Awaited<ReturnType<typeof modelServer>>;
  const { sites, service } = scenario(start, async (web) => {
    model = await modelServer();
    const hit = { url: "https://example.org/lamps", title: "Lamps", content: "Storm lamps and oil" };
    const results = { results: [hit], unresponsive_engines: [] };
    const engine = web.site({ "*": { type: "application/json", body: JSON.stringify(results) } });
    model.says(() =>
      saying(JSON.stringify({ data: { title: "Home" }, evidence: [{ path: "/title", quote: "Home" }] })),
    );
    web.name("site", ["127.0.0.1"]);
    return {
      TRAWL_CA_FILE: RECEIVER_CERTIFICATE,
      TRAWL_SEARXNG_URLS: engine.origin,
      TRAWL_LLM_URL: model.url,
      TRAWL_LLM_MODEL: "small",
      TRAWL_LLM_PRICE_IN: "0",
      TRAWL_LLM_PRICE_OUT: "0",
    };
  });
  const door = gate();
  let site: Site;
  let hook: WebhookReceiver;
  beforeAll(async () => {
    hook = await webhookReceiver();
    site = sites.site({
      "/robots.txt": { type: "text/plain", body: "User-agent: *\nDisallow: /private" },
      "/": linked("Home", "/a", "/b"),
      "/a": linked("A", "/", "/gone"),
      "/b": linked("B", "/private"),
      ...Object.fromEntries(Array.from({ length: MANY }, (_, n) => [`/many/${n}`, linked(`Page ${n}`)])),
      "/slow": async () => {
        await door.opened;
        return linked("Slow");
      },
    });
  });

  afterAll(() => {
    door.open();
    hook.close();
    return model.close();
  });

  const call = async (method: string, path: string, body?: object, options: object = {}) =>
    service.call(method, path, { ...(body && { body }), ...options });
  const finished = async (path: string): Promise<any> => {
    let json: any = null;
    const status = async () => ({ json } = await call("GET", path)).json.status;
    // Status requests count in the key's requests per second.
    await expect.poll(status, { timeout: 60_000, interval: 50 }).not.toBe("scraping");
    return json;
  };

  test("a page has the forms that were asked for, and no other", async () => {
    const { status, json } = await call("POST", "/v2/scrape", {
      url: `${site.origin}/`,
      formats: ["links", { type: "rawHtml" }],
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      success: true,
      scrape_id: expect.stringMatching(/^req_/),
      data: {
        links: [`${site.origin}/a`, `${site.origin}/b`],
        rawHtml: expect.stringContaining("<article>"),
        metadata: {
          title: "Home",
          language: "en",
          url: `${site.origin}/`,
          sourceURL: `${site.origin}/`,
          statusCode: 200,
          contentType: expect.stringContaining("text/html"),
          proxyUsed: "basic",
          cacheState: "miss",
          creditsUsed: 1,
          scrapeId: json.scrape_id,
        },
      },
    });
    const again = await call("POST", "/v2/scrape", { url: `${site.origin}/` });
    expect(Object.keys(again.json.data)).toEqual(["markdown", "metadata"]);
    expect(again.json.data.metadata).toMatchObject({ cacheState: "hit", creditsUsed: 0 });
  });

  test("the options of a page reach the request", async () => {
    const shop = sites.site({ "*": linked("Shop") });
    const { status } = await call("POST", "/v2/scrape", {
      url: `${shop.origin}/`,
      headers: { "X-Basket": "7", "Accept-Language": "de" },
      timeout: 20_000,
      maxAge: 0,
      waitFor: 0,
      proxy: "basic",
      parsers: ["pdf"],
      onlyMainContent: true,
      includeTags: ["article"],
      excludeTags: ["nav"],
      mobile: false,
      skipTlsVerification: false,
      origin: "test",
    });
    expect(status).toBe(200);
    const { headers } = shop.arrivals.find(({ path }) => path === "/")!;
    expect(headers).toMatchObject({ "x-basket": "7", "accept-language": "de" });
  });

  test.each([
    [{ zeroDataRetention: true }, 400, "NOT_SUPPORTED", "Pages and ledger rows are kept"],
    [{ proxy: "stealth" }, 400, "NOT_SUPPORTED", "none of the proxies"],
    [{ formats: ["summary"] }, 400, "NOT_SUPPORTED", "language model"],
    [{ formats: ["sonnet"] }, 400, "BAD_REQUEST", "sonnet"],
    [{ nonsense: 1 }, 400, "BAD_REQUEST", "nonsense"],
    [{ includeTags: ["::first-line"] }, 400, "BAD_REQUEST", "includeTags.0"],
    [{ headers: { Connection: "close" } }, 400, "BAD_REQUEST", "headers"],
    [{ timeout: "soon" }, 400, "BAD_REQUEST", "timeout"],
  ])("%j is refused in their words", async (options, status, code, words) => {
    const answered = await call("POST", "/v2/scrape", { url: `${site.origin}/`, ...options });
    expect(answered.status).toBe(status);
    expect(answered.json).toMatchObject({ success: false, code, error: expect.stringContaining(words) });
  });

  test("refusals of the gateway are in their form, too", async () => {
    const path = "/v2/crawl/01a21339-746c-7970-9300-be2effad19f8";
    const answers = await Promise.all([
      call("POST", "/v2/scrape", { url: "http://10.0.0.1/" }, { key: null }),
      call("POST", "/v2/scrape", undefined, { body: "{" }),
      call("GET", path),
      call("DELETE", path),
      call("GET", "/v2/batch/scrape/none/errors"),
      call("POST", "/v2/scrape", { url: "http://10.0.0.1/" }),
      call("POST", "/v2/scrape", { url: "" }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([401, 400, 404, 404, 404, 403, 400]);
    for (const { json } of answers)
      expect(json).toMatchObject({ success: false, error: expect.stringMatching(/^\S.*$/) });
  });

  test("what is not served says so", async () => {
    for (const [path, methods] of UNSERVED)
      for (const method of methods) {
        const { status, json } = await call(
          method,
          path.replaceAll(/\{\w+\}/g, "x"),
          method.startsWith("P") ? {} : undefined,
        );
        expect([method, path, status, json.success]).toEqual([method, path, 501, false]);
        expect(json.error).toContain("is not served here: ");
      }
  });

  test("a job is read page by page, each document once, under the name that the client used", async () => {
    const urls = Array.from({ length: MANY }, (_, n) => `${site.origin}/many/${n}`);
    const headers = { host: "crawler.example:8443", "x-idempotency-key": "many" };
    const begin = () => call("POST", "/v2/batch/scrape", { urls: [...urls, "nowhere"] }, { headers });
    const { json: begun } = await begin();
    expect(begun).toEqual({
      success: true,
      id: begun.id,
      url: `http://crawler.example:8443/v2/batch/scrape/${begun.id}`,
      invalidURLs: ["nowhere"],
    });
    expect((await begin()).json.id).toBe(begun.id);
    const path = `/v2/batch/scrape/${begun.id}`;
    const first = await finished(path);
    expect(first).toMatchObject({ status: "completed", completed: MANY, total: MANY, creditsUsed: MANY });
    const next = new URL(first.next);
    const second = (await call("GET", `${next.pathname}${next.search}`)).json;
    expect(second).not.toHaveProperty("next");
    const sources = [...first.data, ...second.data].map((document: any) => document.metadata.sourceURL);
    expect(sources).toEqual(urls);
    expect(Object.keys(first.data[0])).toEqual(["markdown", "metadata"]);
  });

  test("values are taken out of a page, and out of many as one object", async () => {
    const schema = {
      $defs: { Title: { type: "string" } },
      type: "object",
      properties: { title: { $ref: "#/$defs/Title", default: "" } },
    };
    const url = `${site.origin}/`;
    const { json: page } = await call("POST", "/v2/scrape", { url, formats: [{ type: "json", schema }] });
    expect(page.data).toMatchObject({ json: { title: "Home" } });
    expect(page.data).not.toHaveProperty("markdown");
    const urls = [url, "nowhere", `${site.origin}/private`];
    const { status, json } = await call("POST", "/v2/extract", { urls, schema, prompt: "The title" });
    expect([status, json]).toEqual([200, { success: true, id: json.id, invalidURLs: ["nowhere"] }]);
    const path = `/v2/extract/${json.id}`;
    const state = async () => (await call("GET", path)).json.status;
    await expect.poll(state, { timeout: 60_000, interval: 50 }).not.toBe("processing");
    expect((await call("GET", path)).json).toMatchObject({
      success: true,
      status: "completed",
      data: { title: "Home" },
      sources: { title: [url] },
      creditsUsed: 1,
      tokensUsed: 1_100,
      warning: expect.stringContaining(`${site.origin}/private: `),
    });
    const { data } = await finished(`/v2/batch/scrape/${json.id}`);
    expect(data).toEqual([expect.objectContaining({ json: { title: "Home" } })]);
    const { json: other } = await call("POST", "/v2/batch/scrape", { urls: [url] });
    expect((await call("GET", `/v2/extract/${other.id}`)).status).toBe(404);
    const refused = await call("POST", "/v2/extract", { urls: [url], prompt: "All names" });
    expect([refused.status, refused.json.code]).toEqual([400, "NOT_SUPPORTED"]);
  });

  test("a search has its results under the name of their source", async () => {
    const { status, json } = await call("POST", "/v2/search", { query: "lamps", sources: ["web", "news"] });
    expect([status, json]).toMatchObject([
      200,
      {
        success: true,
        data: {
          web: [{ url: "https://example.org/lamps", title: "Lamps", description: "Storm lamps and oil" }],
        },
        creditsUsed: 1,
        warning: expect.stringContaining("news"),
      },
    ]);
    const news = await call("POST", "/v2/search", { query: "lamps", sources: [{ type: "news" }] });
    expect([news.status, news.json.code]).toEqual([400, "NOT_SUPPORTED"]);
  });

  test("a crawl stays in its folder unless it is told otherwise, and is cancelled", async () => {
    const books = sites.site({
      "/": linked("Top", "/books/1"),
      "/books/": linked("Books", "/books/1", "/", "/films"),
      "/books/1": linked("One", "/books/2"),
      "/books/2": linked("Two"),
      "/films": linked("Films"),
      "/books/unlinked": linked("Unlinked"),
      "/sitemap.xml": () => ({
        type: "application/xml",
        body: `<urlset><url><loc>${books.origin}/books/unlinked</loc></url></urlset>`,
      }),
    });
    const crawl = async (options: object): Promise<string[]> => {
      const { status, json } = await call("POST", "/v2/crawl", { url: `${books.origin}/books/`, ...options });
      expect([status, json.success]).toEqual([200, true]);
      const { data } = await finished(`/v2/crawl/${json.id}`);
      return data.map(({ metadata }: any) => new URL(metadata.sourceURL).pathname).toSorted();
    };
    expect(await crawl({})).toEqual(["/books/", "/books/1", "/books/2"]);
    expect(await crawl({ crawlEntireDomain: true, excludePaths: ["^/books/\\d"] })).toEqual([
      "/",
      "/books/",
      "/films",
    ]);
    expect(await crawl({ maxDiscoveryDepth: 1 })).toEqual(["/books/", "/books/1"]);
    expect(await crawl({ sitemap: "only" })).toEqual(["/books/unlinked"]);
    const { json: slow } = await call("POST", "/v2/crawl", { url: `${site.origin}/slow` });
    const active = async () => (await call("GET", "/v2/crawl/active")).json;
    // Its address is known from when the crawl has begun.
    await expect.poll(async () => (await active()).crawls[0].url, { interval: 50 }).not.toBe("");
    expect((await active()).crawls).toEqual([
      expect.objectContaining({ id: slow.id, url: `${site.origin}/slow` }),
    ]);
    expect((await call("DELETE", `/v2/crawl/${slow.id}`)).json).toEqual({ status: "cancelled" });
    expect((await call("GET", `/v2/crawl/${slow.id}`)).json).toMatchObject({ status: "cancelled", data: [] });
    // An id of the other kind names nothing.
    expect((await call("GET", `/v2/batch/scrape/${slow.id}`)).status).toBe(404);
  });

  test("a monitor is one of the service, and its checks are its visits", async () => {
    let price = "two francs";
    const shop = sites.site({ "/": () => linked(`Prices: ${price}`) });
    const targets = [{ type: "scrape", urls: [`${shop.origin}/`] }];
    const schedule = { text: "daily at 7:00", timezone: "Europe/Zurich" };
    const made = await call("POST", "/v2/monitor", { name: "Prices", schedule, targets });
    expect([made.status, made.json.success]).toEqual([200, true]);
    const { id } = made.json.data;
    const path = `/v2/monitor/${id}`;
    const check = async (number: number) => (await call("GET", `${path}/checks/${number}`)).json;
    const ended = async (number: number): Promise<void> => {
      const state = async () => (await check(number)).data.status;
      await expect.poll(state, { timeout: 60_000 }).toBe("completed");
    };
    await ended(1);
    expect((await check(1)).data).toMatchObject({
      summary: { totalPages: 1, new: 1 },
      pages: [{ status: "new" }],
    });
    price = "three francs";
    const { json: begun } = await call("POST", `${path}/run`, {});
    expect(begun.data).toMatchObject({ id: "2", monitorId: id, status: "running", trigger: "manual" });
    await ended(2);
    const { data } = await check(2);
    expect(data.pages).toEqual([
      expect.objectContaining({ targetId: id, url: `${shop.origin}/`, status: "changed", statusCode: 200 }),
    ]);
    expect(data.pages[0].diff.text).toContain("+# Prices: three francs");
    const { json: checks } = await call("GET", `${path}/checks`);
    expect(checks.data.map((each: any) => [each.id, each.summary.changed])).toEqual([["2", 1]]);
    expect((await call("GET", `${path}/checks/2?status=same`)).json.data.pages).toEqual([]);
    const { json: paused } = await call("PATCH", path, { status: "paused", targets });
    expect(paused.data).toMatchObject({
      id,
      name: "Prices",
      status: "paused",
      schedule: { cron: "0 7 * * *", timezone: "Europe/Zurich" },
      targets: [{ id, type: "scrape", urls: [`${shop.origin}/`] }],
      nextRunAt: null,
      currentCheckId: null,
      lastCheckSummary: { changed: 1 },
    });
    const moved = [{ type: "scrape", urls: [`${site.origin}/`] }];
    expect((await call("PATCH", path, { targets: moved })).json.error).toContain("stays with its page");
    const { json: listed } = await call("GET", "/v2/monitor?limit=1");
    expect(listed.data).toEqual([paused.data]);
    expect((await call("DELETE", path)).json).toEqual({ success: true });
    const gone = await Promise.all([
      call("GET", path),
      call("GET", `${path}/checks/none`),
      call("POST", "/v2/monitor/none/run", {}),
    ]);
    for (const { status, json } of gone)
      expect([status, json.success, json.code]).toEqual([404, false, "NOT_FOUND"]);
  });

  test.skipIf(!existsSync(JAVASCRIPT))(
    `their client for JavaScript does all of it (needs npm install --prefix ${JAVASCRIPT} firecrawl)`,
    async () => {
      const { default: Firecrawl } = createRequire(`${JAVASCRIPT}x.js`)("firecrawl");
      const client = new Firecrawl({ apiKey: service.key, apiUrl: service.url });
      const page = await client.scrape(`${site.origin}/`, { formats: ["markdown", "links"] });
      expect(page).toMatchObject({
        links: [`${site.origin}/a`, `${site.origin}/b`],
        metadata: { title: "Home" },
      });
      expect(await client.scrape(`${site.origin}/gone`)).toMatchObject({ metadata: { statusCode: 404 } });
      const { links } = await client.map(`${site.origin}/`);
      expect(links.map(({ url }: any) => url)).toContain(`${site.origin}/a`);
      const crawl = await client.crawl(`${site.origin}/`, {
        limit: 20,
        scrapeOptions: { formats: ["markdown"] },
      });
      expect(crawl).toMatchObject({ status: "completed" });
      expect(crawl.data.map(({ metadata }: any) => metadata.sourceURL)).toContain(`${site.origin}/b`);
      expect(await client.getCrawlErrors(crawl.id)).toMatchObject({
        robotsBlocked: [`${site.origin}/private`],
      });
      const urls = Array.from({ length: MANY }, (_, n) => `${site.origin}/many/${n}`);
      const batch = await client.batchScrape(urls, { options: { formats: ["markdown"] } });
      expect(batch.data.map(({ metadata }: any) => metadata.sourceURL)).toEqual(urls);
      const receiver = { url: `https://site.test:${hook.port}/hook`, metadata: { run: "monday" } };
      const pages = [`${site.origin}/a`, `${site.origin}/private`, urls[0]];
      const hooked = await client.startBatchScrape(pages, {
        options: { formats: ["markdown"] },
        webhook: receiver,
        idempotencyKey: "hooked",
      });
      // Their client keeps the key of the signature to itself: the same request again has it.
      const again = { headers: { "x-idempotency-key": "hooked" } };
      const { json } = await call("POST", "/v2/batch/scrape", { urls: pages, webhook: receiver }, again);
      expect(json).toMatchObject({ id: hooked.id, webhookSecret: expect.stringMatching(/^whsec_/) });
      const told = () =>
        hook.received
          .map(({ body, headers }) => ({ ...JSON.parse(body), headers, body }))
          .filter(({ id }) => id === hooked.id);
      await expect.poll(() => told().at(-1)?.type, { timeout: 60_000 }).toBe("batch_scrape.completed");
      expect(
        told().map(({ type, success, data, metadata }) => [
          type,
          success,
          data[0]?.metadata.sourceURL,
          metadata,
        ]),
      ).toEqual(
        [
          ["started", true],
          ["page", true, `${site.origin}/a`],
          ["page", false, `${site.origin}/private`],
          ["page", true, urls[0]],
          ["completed", true],
        ].map(([name, success, source]) => [`batch_scrape.${name}`, success, source, receiver.metadata]),
      );
      expect(told()[1].data[0].markdown).toContain("# A");
      for (const { headers, body } of told()) {
        const signature = createHmac("sha256", json.webhookSecret).update(body).digest("hex");
        expect(headers["x-firecrawl-signature"]).toBe(`sha256=${signature}`);
      }
      const watched = await client.startCrawl(`${site.origin}/`, { limit: 3 });
      const seen: string[] = [];
      const watcher = client.watcher(watched.id, { kind: "crawl", pollInterval: 1 });
      watcher.on("document", ({ metadata }: any) => seen.push(metadata.sourceURL));
      const [done] = await Promise.all([once(watcher, "done"), watcher.start()]);
      expect(done[0]).toMatchObject({ status: "completed", id: watched.id });
      expect(seen.toSorted()).toEqual(["", "a", "b"].map((path) => `${site.origin}/${path}`));
      const slow = await client.startCrawl(`${site.origin}/slow`, { limit: 5 });
      expect((await client.getActiveCrawls()).crawls.map(({ id }: any) => id)).toContain(slow.id);
      expect(await client.cancelCrawl(slow.id)).toBe(true);
      const watch = await client.createMonitor({
        name: "Home",
        schedule: { text: "daily" },
        targets: [{ type: "scrape", urls: [`${site.origin}/`] }],
        webhook: { url: "https://client.example/hook", events: ["monitor.page"], metadata: { run: "1" } },
      });
      expect(watch).toMatchObject({
        name: "Home",
        schedule: { cron: "0 0 * * *" },
        webhook: { url: "https://client.example/hook" },
        webhookSecret: expect.any(String),
      });
      expect(await client.runMonitor(watch.id)).toMatchObject({ monitorId: watch.id });
      expect((await client.listMonitors({ limit: 5 })).map(({ id }: any) => id)).toContain(watch.id);
      expect(await client.updateMonitor(watch.id, { name: "Start" })).toMatchObject({ name: "Start" });
      expect(await client.getMonitor(watch.id)).toMatchObject({ id: watch.id, status: "active" });
      const checks = () => client.listMonitorChecks(watch.id);
      await expect.poll(checks, { timeout: 60_000 }).toMatchObject([{ status: "completed" }]);
      const [{ id: last }] = await checks();
      expect(await client.getMonitorCheck(watch.id, last)).toMatchObject({
        pages: [{ url: `${site.origin}/` }],
      });
      expect(await client.deleteMonitor(watch.id)).toBe(true);
      expect(await client.getQueueStatus()).toMatchObject({ success: true });
      expect(await client.getCreditUsage()).toMatchObject({ remainingCredits: expect.any(Number) });
      expect(await client.getConcurrency()).toEqual({ concurrency: expect.any(Number), maxConcurrency: 200 });
      await expect(client.scrape(`${site.origin}/private`)).rejects.toMatchObject({ status: 403 });
      await expect(client.scrape("http://nowhere.invalid/")).rejects.toMatchObject({
        code: "SCRAPE_DNS_RESOLUTION_ERROR",
      });
      await expect(client.scrape(`${site.origin}/`, { proxy: "stealth" })).rejects.toMatchObject({
        status: 400,
      });
      const schema = { type: "object", properties: { title: { type: "string" } } };
      const extracted = await client.extract({ urls: [`${site.origin}/`], schema, prompt: "The title" });
      expect(extracted).toMatchObject({ status: "completed", data: { title: "Home" } });
    },
    120_000,
  );

  test.skipIf(!existsSync(JAVASCRIPT))(
    `each method of their client for JavaScript is served, or says why not (needs ${JAVASCRIPT})`,
    async () => {
      const { default: Firecrawl } = createRequire(`${JAVASCRIPT}x.js`)("firecrawl");
      const client = new Firecrawl({ apiKey: service.key, apiUrl: service.url });
      const url = `${site.origin}/a`;
      const schema = { type: "object", properties: { title: { type: "string" } } };
      const one = { limit: 1, pollInterval: 1 };
      const [crawl, batch, extract, monitor] = await Promise.all([
        client.startCrawl(url, { limit: 1 }),
        client.startBatchScrape([url]),
        client.startExtract({ urls: [url], schema }),
        client.createMonitor({
          name: "A",
          schedule: { cron: "0 7 * * *" },
          targets: [{ type: "scrape", urls: [url] }],
        }),
      ]);
      const check = await client.runMonitor(monitor.id);
      const served: Readonly<Record<string, readonly unknown[]>> = {
        scrape: [url],
        search: ["home"],
        map: [url],
        startCrawl: [url, { limit: 1 }],
        crawl: [url, one],
        getCrawlStatus: [crawl.id],
        getCrawlErrors: [crawl.id],
        getActiveCrawls: [],
        startBatchScrape: [[url]],
        batchScrape: [[url], one],
        getBatchScrapeStatus: [batch.id],
        getBatchScrapeErrors: [batch.id],
        startExtract: [{ urls: [url], schema }],
        extract: [{ urls: [url], schema, pollInterval: 1 }],
        getExtractStatus: [extract.id],
        createMonitor: [
          { name: "B", schedule: { text: "daily" }, targets: [{ type: "scrape", urls: [url] }] },
        ],
        listMonitors: [],
        getMonitor: [monitor.id],
        updateMonitor: [monitor.id, { name: "C" }],
        runMonitor: [monitor.id],
        listMonitorChecks: [monitor.id],
        getMonitorCheck: [monitor.id, check.id],
        getConcurrency: [],
        getCreditUsage: [],
        getQueueStatus: [],
        scrapeUrl: [url],
        crawlUrl: [url, one],
        asyncCrawlUrl: [url, { limit: 1 }],
        checkCrawlStatus: [crawl.id],
        checkCrawlErrors: [crawl.id],
        mapUrl: [url],
        batchScrapeUrls: [[url], one],
        asyncBatchScrapeUrls: [[url]],
        checkBatchScrapeStatus: [batch.id],
        checkBatchScrapeErrors: [batch.id],
      };
      const last: Readonly<Record<string, readonly unknown[]>> = {
        cancelCrawl: [crawl.id],
        cancelBatchScrape: [batch.id],
        deleteMonitor: [monitor.id],
      };
      const code = { code: "1", prompt: "x", language: "node" };
      const unserved: Readonly<Record<string, readonly unknown[]>> = {
        interact: ["x", code],
        scrapeExecute: ["x", code],
        stopInteraction: ["x"],
        stopInteractiveBrowser: ["x"],
        deleteScrapeBrowser: ["x"],
        parse: [{ data: "<p>Text</p>", filename: "a.html", contentType: "text/html" }],
        developerSearch: ["x"],
        feedback: [{ endpoint: "scrape", jobId: "x", rating: "good" }],
        searchFeedback: ["x", { rating: "good" }],
        crawlParamsPreview: [url, "x"],
        startAgent: [{ prompt: "x" }],
        agent: [{ prompt: "x" }],
        getAgentStatus: ["x"],
        listAgents: [],
        cancelAgent: ["x"],
        getAgentTrace: ["x"],
        getAgentSnapshot: ["x", "y"],
        getAgentThread: ["x"],
        browser: [{}],
        browserExecute: ["x", code],
        deleteBrowser: ["x"],
        listBrowsers: [],
        getTokenUsage: [],
        getCreditUsageHistorical: [],
        getTokenUsageHistorical: [],
      };
      // A catalogue of tools of theirs and a client of the paths below search/research, which are called below, a helper, and what the test above calls.
      const others = ["findTools", "isCloudService", "research", "watcher", "constructor"];
      const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(Object.getPrototypeOf(client)));
      const named = [...Object.keys({ ...served, ...last, ...unserved }), ...others];
      expect(methods.toSorted()).toEqual(named.toSorted());
      const answers = Object.entries(served).map(async ([name, given]) => [
        name,
        await client[name](...given),
      ]);
      expect((await Promise.all(answers)).filter(([, answer]) => answer === undefined)).toEqual([]);
      for (const [name, given] of Object.entries(last))
        expect([name, await client[name](...given)]).toEqual([name, true]);
      const refusals = Object.entries(unserved).map(async ([name, given]) => [
        name,
        await client[name](...given).then(
          () => "answered",
          ({ status }: any) => status,
        ),
      ]);
      expect(await Promise.all(refusals)).toEqual(Object.keys(unserved).map((name) => [name, 501]));
      const papers: Readonly<Record<string, readonly unknown[]>> = {
        searchPapers: ["x"],
        getPaper: ["x"],
        similarPapers: ["x", { intent: "y" }],
        searchGithub: ["x"],
      };
      for (const [name, given] of Object.entries(papers))
        await expect(client.research[name](...given)).rejects.toMatchObject({ status: 501 });
      await expect(client.findTools({})).rejects.toMatchObject({ status: 400, code: "NOT_SUPPORTED" });
    },
    120_000,
  );

  test.skipIf(!existsSync(PYTHON))(
    `their client for Python reads every answer (needs pip install firecrawl-py in ${PYTHON})`,
    async () => {
      const program = new URL("../harness/clients/firecrawl-sdk.py", import.meta.url).pathname;
      const { stdout } = await run(PYTHON, [program, service.url, service.key, site.origin]);
      const urls = Array.from({ length: MANY }, (_, n) => `${site.origin}/many/${n}`);
      expect(JSON.parse(stdout)).toEqual({
        page: {
          markdown: expect.stringContaining("Home"),
          links: [`${site.origin}/a`, `${site.origin}/b`],
          html: expect.stringContaining("<article>"),
          title: "Home",
          source: `${site.origin}/`,
          status: 200,
          error: null,
          proxy: "basic",
        },
        gone: expect.objectContaining({ status: 404, error: expect.stringContaining("404") }),
        json: { title: "Home" },
        extracted: ["completed", { title: "Home" }, { title: [`${site.origin}/`] }, 1],
        map: expect.arrayContaining([`${site.origin}/a`]),
        crawl: expect.objectContaining({ status: "completed", completed: 5, total: 5, next: null }),
        batch: { status: "completed", completed: MANY, total: MANY, next: null, sources: urls.toSorted() },
        active: [true],
        cancelled: true,
        blocked: [`${site.origin}/private`],
        monitor: {
          schedule: "0 0 * * *",
          run: true,
          names: ["Start", "Start"],
          listed: true,
          page: [`${site.origin}/`, 200],
          deleted: true,
        },
        queue: 200,
        usage: ["int", null],
        concurrency: ["int", "int"],
        robots: { type: "WebsiteNotSupportedError", status: 403 },
        nowhere: { type: "DNSResolutionError", status: 500 },
        unserved: { type: "BadRequestError", status: 400 },
        stranger: { type: "UnauthorizedError", status: 401 },
        no_job: { type: "FirecrawlError", status: 404 },
      });
    },
    120_000,
  );

  test.skipIf(!existsSync(LANGCHAIN))(
    `LangChain's loader reads pages in each of its modes (needs pip install langchain-firecrawl in ${LANGCHAIN})`,
    async () => {
      const program = new URL("../harness/clients/firecrawl-langchain.py", import.meta.url).pathname;
      const { stdout } = await run(LANGCHAIN, [program, service.url, service.key, site.origin]);
      expect(JSON.parse(stdout)).toEqual({
        scrape: [true, "A"],
        crawl: ["", "a", "b"].map((path) => `${site.origin}/${path}`),
        map: true,
        extract: [{ title: "Home" }, { title: [`${site.origin}/`] }],
        search: ["Storm lamps and oil", "https://example.org/lamps"],
      });
    },
    120_000,
  );
});

/** POST /v1/fetch of the filing system's hosts: every such request goes through its limiter. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { type Edgar, edgar } from "../harness/edgar.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, redirect } from "../harness/web.ts";

const FOLDER = "/Archives/edgar/data/9000001/000900000124000007/";
const DOCUMENT = `${FOLDER}hliex991.htm`;
const SUBMISSIONS = "/submissions/CIK0009000001.json";

describe.each(SETUPS)("fetches of the filing system, $setup", ({ start }) => {
  let upstream: Edgar;
  const { sites, service } = scenario(start, async () => {
    upstream = await edgar();
    return upstream.environment;
  });
  afterAll(() => upstream?.close());

  test("a document is fetched as the declared operator, whatever user agent the caller names", async () => {
    const url = upstream.urls.www + DOCUMENT;
    const page = await service.fetch({ url, user_agent: "Somebody else/1.0", accept_language: "de" });
    expect(page).toMatchObject({
      http: 200,
      error: null,
      status: 200,
      tier: "direct",
      content_kind: "html",
      body_kind: "origin",
      cached: false,
      billing_category: "fetch_own",
      title: "Harbour Lights reports fourth quarter results",
    });
    expect(page.text).toContain("The company lit four hundred and twelve harbours");
    expect(page.attempts).toMatchObject([{ tier: "direct", status: 200 }]);
    const [asked] = upstream.starts.filter(({ path }) => path === DOCUMENT);
    expect(asked!.headers["user-agent"]).toBe("Trawl tests tests@trawl.test");
    expect(asked!.headers["accept-language"]).toBeUndefined();
    // All callers share one stored page, whatever user agent they name.
    const again = await service.fetch({ url, user_agent: "Somebody else/2.0" });
    expect(again).toMatchObject({ cached: true, billing_category: "fetch_cached", sha256: page.sha256 });
    expect(upstream.hits(DOCUMENT)).toBe(1);
    // The bytes are downloadable as they came, wrapper and all.
    const body = await service.call("GET", page.body_url!);
    expect(body.bytes.toString()).toMatch(/^<DOCUMENT>\n<TYPE>EX-99.1/);
  });

  test("the system's real addresses are requested from the configured bases, and an inline viewer's address from its document", async () => {
    const viewer = `https://www.sec.gov/ix?doc=${DOCUMENT}`;
    for (const url of [`http://sec.gov${DOCUMENT}`, viewer]) {
      const page = await service.fetch({ url });
      expect(page).toMatchObject({ error: null, final_url: upstream.urls.www + DOCUMENT });
    }
  });

  test("a user agent that is not allowed is refused for other pages", async () => {
    const { origin } = sites.site({ "/": { body: article("Elsewhere") } });
    const refused = await service.call("POST", "/v1/fetch", {
      body: { url: origin, user_agent: "Somebody/1.0" },
    });
    expect(refused.status).toBe(403);
  });

  test("a missing document is http_403 or http_404, and starts no pause", async () => {
    expect(await service.fetch({ url: `${upstream.urls.www}${FOLDER}none.htm` })).toMatchObject({
      error: "http_403",
      status: 403,
      retry_after_s: null,
    });
    expect(
      await service.fetch({ url: `${upstream.urls.data}/submissions/CIK0000000002.json` }),
    ).toMatchObject({
      error: "http_404",
      status: 404,
    });
    expect(await service.fetch({ url: upstream.urls.data + SUBMISSIONS })).toMatchObject({
      error: null,
      content_kind: "json",
    });
  });

  test.each([{ render: "always" as const }, { tiers: ["browser" as const, "archive" as const] }])(
    "uses the route direct only: %j",
    async (overrides) => {
      const before = upstream.starts.length;
      expect(
        await service.fetch({ url: upstream.urls.www + DOCUMENT, cache_ttl_s: 0, ...overrides }),
      ).toMatchObject({
        error: "no_tier_allowed",
      });
      expect(upstream.starts.length).toBe(before);
    },
  );

  test("an ordinary page that redirects there is delegated at that redirect", async () => {
    const path = `${FOLDER}led-here.htm`;
    upstream.serve("www", path, "<html><title>Led here</title><p>Found by a redirect.</p></html>", {
      type: "text/html",
    });
    const site = sites.site({ "/out": redirect(upstream.urls.www + path) });
    const page = await service.fetch({ url: `${site.origin}/out` });
    expect(page).toMatchObject({
      error: null,
      title: "Led here",
      final_url: upstream.urls.www + path,
      tier: "direct",
    });
    expect(page.redirects).toEqual([
      { url: `${site.origin}/out`, status: 302, location: upstream.urls.www + path },
    ]);
    const [asked] = upstream.starts.filter(({ path: at }) => at === path);
    expect(asked!.headers["user-agent"]).toBe("Trawl tests tests@trawl.test");
  });

  test("a redirect off its hosts is not followed", async () => {
    const { origin } = sites.site({ "/": { body: article("Elsewhere") } });
    const path = `${FOLDER}off.htm`;
    upstream.serve("www", path, "", { status: 302, headers: { Location: `${origin}/` } });
    const page = await service.fetch({ url: upstream.urls.www + path });
    expect(page).toMatchObject({ error: "redirect_not_allowed" });
    expect(page.redirects).toMatchObject([{ location: `${origin}/` }]);
  });

  test("a user name in the address is refused", async () => {
    const url = upstream.urls.www.replace("://", "://me:secret@") + DOCUMENT;
    expect(await service.fetch({ url, cache_ttl_s: 0 })).toMatchObject({ error: "blocked_destination" });
  });

  test("a document over the caller's max_bytes is too_large", async () => {
    const path = `${FOLDER}large.htm`;
    upstream.serve("www", path, "x".repeat(20_000), { type: "text/plain" });
    expect(await service.fetch({ url: upstream.urls.www + path, max_bytes: 10_000 })).toMatchObject({
      error: "too_large",
    });
  });

  test("at most ten requests are sent in any second, over all nodes", async () => {
    const paths = Array.from({ length: 40 }, (_, n) => `${FOLDER}many-${n}.htm`);
    for (const path of paths) upstream.serve("www", path, `<p>${path}</p>`, { type: "text/html" });
    const before = upstream.starts.length;
    // On a busy machine the queue may be too long for some of the callers: they ask again after `retry_after_s`.
    const fetched = async (path: string): Promise<string | null> => {
      for (;;) {
        const { error, retry_after_s } = await service.fetch({ url: upstream.urls.www + path });
        if (error !== "rate_limited") return error;
        await sleep((retry_after_s ?? 1) * 1_000);
      }
    };
    expect(await Promise.all(paths.map(fetched))).toEqual(paths.map(() => null));
    expect(upstream.starts.length - before).toBe(paths.length);
    expect(upstream.worstSecond()).toBeLessThanOrEqual(10);
    expect(upstream.worstSecond()).toBeGreaterThan(5);
  });

  // The last test: requests after it are refused during the pause.
  test("a throttle page pauses all requests and is never content; the pause outlives the process", async () => {
    upstream.fail("throttled_200", { times: 1, retry_after: "300" });
    const page = await service.fetch({ url: `${upstream.urls.www}${FOLDER}fresh.htm` });
    expect(page).toMatchObject({ error: "filings_unavailable", text: "", body_url: null });
    expect(page.retry_after_s).toBeGreaterThan(280);
    const before = upstream.starts.length;
    await service.kill();
    await service.restart();
    expect(await service.fetch({ url: upstream.urls.data + SUBMISSIONS, cache_ttl_s: 0 })).toMatchObject({
      error: "filings_unavailable",
    });
    expect(upstream.starts.length).toBe(before);
    // Stored documents are answered all the while.
    expect(await service.fetch({ url: upstream.urls.www + DOCUMENT })).toMatchObject({
      error: null,
      cached: true,
    });
  });
});

test("without an identity every address of the system is answered filings_not_configured", async () => {
  const upstream = await edgar();
  const service = await SETUPS[0]!.start({ ...upstream.environment, TRAWL_FILINGS_IDENTITY: "" });
  try {
    for (const url of [upstream.urls.www + DOCUMENT, "https://www.sec.gov/", "https://data.sec.gov/x"])
      expect(await service.fetch({ url })).toMatchObject({ http: 200, error: "filings_not_configured" });
    expect(upstream.starts).toEqual([]);
  } finally {
    await service.close();
    await upstream.close();
  }
});

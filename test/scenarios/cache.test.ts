/** The shared page cache as callers see it: what is answered from it, for how long, and how often the origin is asked. */
import { describe, expect, test } from "vitest";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, gate, type Page } from "../harness/web.ts";

/** A page that counts itself. */
const counting = (headers: Readonly<Record<string, string>> = {}) => {
  let asked = 0;
  return (): Page => ({ body: article(`Edition ${++asked}`), headers });
};

describe.each(SETUPS)("the page cache, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test("answers a repeated request without the origin and without cost (`cached`)", async () => {
    const site = sites.site({ "/a%7eb": counting() });
    const first = await service.fetch({ url: `${site.origin}/a%7eb` });
    const second = await service.fetch({ url: `${site.origin}/a%7eb` });
    const { request_id: one, answer: _a, attempts: tried, ...fresh } = first;
    const { request_id: two, answer: _b, attempts, ...cached } = second;
    expect(tried).toHaveLength(1);
    expect(attempts).toEqual([]);
    expect(two).not.toBe(one);
    expect(cached).toEqual({ ...fresh, cached: true, billing_category: "fetch_cached", cost_usd: 0 });
    expect(site.hits("/a%7eb")).toBe(1);

    // The cache key is the normalised URL.
    for (const url of [
      `${site.origin.toUpperCase().replace("HTTP", "http")}/a%7eb`,
      `${site.origin}/a~b#part`,
      `${site.origin}/a~b?`,
      `${site.origin}/x/../a%7Eb`,
    ]) {
      expect(await service.fetch({ url })).toMatchObject({ url, cached: true, title: "Edition 1" });
    }
    expect(await service.fetch({ url: `${site.origin}/a~b?x` })).toMatchObject({ cached: false });
  });

  test("answers repeated requests with the same bytes except the request id", async () => {
    const site = sites.site({ "/": counting() });
    const body = { url: `${site.origin}/` };
    await service.fetch(body);
    const answers = await Promise.all(Array.from({ length: 10 }, () => service.fetch(body)));
    const texts = answers.map(({ answer, request_id }) =>
      answer.bytes.toString().replace(request_id, "the id"),
    );
    expect(new Set(texts).size).toBe(1);
    expect(new Set(answers.map(({ request_id }) => request_id)).size).toBe(10);
    for (const { answer, request_id } of answers) expect(answer.headers["x-request-id"]).toBe(request_id);
  });

  test("is bypassed by cache_ttl_s 0, and stores the newer page", async () => {
    const site = sites.site({ "/": counting() });
    const url = `${site.origin}/`;
    expect(await service.fetch({ url })).toMatchObject({ title: "Edition 1", cached: false });
    expect(await service.fetch({ url, cache_ttl_s: 0 })).toMatchObject({ title: "Edition 2", cached: false });
    // Another gateway process may take a second to notice.
    await expect
      .poll(async () => (await service.fetch({ url })).title, { timeout: 5_000, interval: 100 })
      .toBe("Edition 2");
    expect(site.hits("/")).toBe(2);
  });

  test("asks the origin of a page older than cache_ttl_s whether it changed (`revalidated`)", async () => {
    let edition = 1;
    const site = sites.site({
      "/": ({ headers }) =>
        headers["if-none-match"] === `"v${edition}"`
          ? { status: 304, headers: { ETag: `"v${edition}"`, "Cache-Control": "max-age=900" } }
          : { body: article(`Edition ${edition}`), headers: { ETag: `"v${edition}"` } },
    });
    const url = `${site.origin}/`;
    const first = await service.fetch({ url });
    /** Until the page is older than a second. */
    const again = async () => {
      let answer = first;
      await expect
        .poll(async () => (answer = await service.fetch({ url, cache_ttl_s: 1 })).attempts.length, {
          timeout: 6_000,
          interval: 100,
        })
        .toBe(1);
      return answer;
    };

    const same = await again();
    expect(same).toMatchObject({
      cached: true,
      revalidated: true,
      error: null,
      status: 200,
      title: "Edition 1",
      html: first.html,
      text: first.text,
      sha256: first.sha256,
      bytes: first.bytes,
      cost_usd: 0,
      billing_category: "fetch_cached",
      headers: { "cache-control": "max-age=900", "content-type": "text/html; charset=utf-8" },
      attempts: [{ tier: "direct", status: 304, reason: "not_modified" }],
    });
    expect(site.arrivals.at(-1)!.headers["if-none-match"]).toBe('"v1"');
    // Its freshness is renewed: the caller accepts a copy of at most one second.
    const hits = site.hits("/");
    expect(await service.fetch({ url, cache_ttl_s: 1 })).toMatchObject({ cached: true, revalidated: false });
    expect(site.hits("/")).toBe(hits);

    edition = 2;
    const changed = await again();
    expect(changed).toMatchObject({
      cached: false,
      revalidated: false,
      title: "Edition 2",
      billing_category: "fetch_own",
      attempts: [{ tier: "direct", status: 200, reason: "ok" }],
    });
  });

  test("revalidates by date when there is no entity tag", async () => {
    const at = "Wed, 04 Mar 2026 05:06:07 GMT";
    const site = sites.site({
      "/": ({ headers }) =>
        headers["if-modified-since"] === at
          ? { status: 304 }
          : { body: article("Dated"), headers: { "Last-Modified": at } },
    });
    const url = `${site.origin}/`;
    await service.fetch({ url });
    await expect
      .poll(async () => (await service.fetch({ url, cache_ttl_s: 1 })).revalidated, {
        timeout: 6_000,
        interval: 100,
      })
      .toBe(true);
  });

  test.each([
    { cache_control: "no-store", isCached: false },
    { cache_control: "private, no-store, max-age=3600", isCached: false },
    { cache_control: "max-age=3600", isCached: true },
    // A page is fresh for at least 5 min.
    { cache_control: "max-age=0", isCached: true },
    { cache_control: "no-cache", isCached: true },
  ])("of Cache-Control $cache_control: cached is $isCached", async ({ cache_control, isCached }) => {
    const site = sites.site({ "/": counting({ "Cache-Control": cache_control }) });
    const url = `${site.origin}/`;
    await service.fetch({ url });
    expect(await service.fetch({ url })).toMatchObject({
      cached: isCached,
      title: isCached ? "Edition 1" : "Edition 2",
    });
  });

  test("stores no failure: a failed page is requested again", async () => {
    let well = false;
    const page = (): Page => (well ? { body: article("Well again") } : { status: 404, body: "gone" });
    const wall = (): Page => (well ? { body: article("Well again") } : { status: 503, body: "busy" });
    const site = sites.site({ "/404": page, "/503": wall });
    for (const path of ["/404", "/503"]) {
      expect((await service.fetch({ url: `${site.origin}${path}` })).error).not.toBeNull();
    }
    well = true;
    for (const path of ["/404", "/503"]) {
      expect(await service.fetch({ url: `${site.origin}${path}` })).toMatchObject({
        error: null,
        cached: false,
        title: "Well again",
      });
    }
  });

  test("does not answer a request whose routes exclude the stored page's route (`tiers`)", async () => {
    const site = sites.site({ "/": counting() });
    const url = `${site.origin}/`;
    await service.fetch({ url });
    expect(await service.fetch({ url, tiers: ["archive"] })).toMatchObject({
      cached: false,
      error: "all_tiers_failed",
    });
    expect(await service.fetch({ url, tiers: ["direct"] })).toMatchObject({ cached: true });
  });

  test.each([{ accept_language: "fr" }, { render: "never" as const }])(
    "stores the variants of %o separately",
    async (overrides) => {
      const site = sites.site({ "/": counting() });
      const url = `${site.origin}/`;
      await service.fetch({ url });
      expect(await service.fetch({ url, ...overrides })).toMatchObject({ cached: false, title: "Edition 2" });
      expect(await service.fetch({ url, ...overrides })).toMatchObject({ cached: true, title: "Edition 2" });
      expect(await service.fetch({ url })).toMatchObject({ cached: true, title: "Edition 1" });
    },
  );

  test("shares one request to the origin among twenty concurrent callers", async () => {
    const door = gate();
    let asked = 0;
    const site = sites.site({
      // Not cached: a caller that came too late to share would ask the origin again.
      "/": async () => {
        const edition = ++asked;
        await door.opened;
        return { body: article(`Edition ${edition}`), headers: { "Cache-Control": "no-store" } };
      },
    });
    const missed = await service.meter("trawl_cache_misses_total");
    const answers = Promise.all(Array.from({ length: 20 }, () => service.fetch({ url: `${site.origin}/` })));
    await expect.poll(() => service.meter("trawl_cache_misses_total"), { timeout: 10_000 }).toBe(missed + 20);
    door.open();
    const titles = (await answers).map(({ title, cached, error }) => ({ title, cached, error }));
    expect(titles).toEqual(
      Array.from({ length: 20 }, () => ({ title: "Edition 1", cached: false, error: null })),
    );
    expect(site.hits("/")).toBe(1);
  });

  test("does not share a request with callers of another variant", async () => {
    const site = sites.site({ "/": { body: article("Variants") } });
    const url = `${site.origin}/`;
    const answers = await Promise.all([
      service.fetch({ url, accept_language: "de" }),
      service.fetch({ url, accept_language: "fr" }),
      service.fetch({ url, accept_language: "de" }),
    ]);
    expect(answers.every(({ error }) => error === null)).toBe(true);
    const asked = site.arrivals.filter(({ path }) => path === "/");
    const languages = new Set(asked.map(({ headers }) => headers["accept-language"]));
    expect({ languages, times: asked.length }).toEqual({ languages: new Set(["de", "fr"]), times: 2 });
  });

  test("gets the page of a client that was answered 504: the work completes", async () => {
    const door = gate();
    const site = sites.site({
      "/": async () => {
        await door.opened;
        return { body: article("Worth it") };
      },
    });
    const url = `${site.origin}/`;
    const leaving = new AbortController();
    const left = service.fetch({ url }, { signal: leaving.signal });
    await site.reached("/");
    leaving.abort();
    await expect(left).rejects.toThrow(/abort/i);
    await expect.poll(() => service.meter("trawl_http_aborted_total"), { timeout: 5_000 }).toBeGreaterThan(0);
    door.open();
    const answer = await service.fetch({ url });
    expect(answer).toMatchObject({ error: null, title: "Worth it" });
    expect(site.hits("/")).toBe(1);
  });
});

/**
 * Open copies, and what is stored of a domain, as clients and operators see them: the real program over a local web with a publisher,
 * a wire, a register of papers and a metasearch instance (`allow_alternates`, `trawl domain`).
 */
import { describe, expect, test } from "vitest";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, type Page, prose, type Site } from "../harness/web.ts";

const STORY = prose(40, "the ferry");
const WALL = '<div class="paywall"><p>Subscribe to continue reading this article.</p></div>';
const teaser = (head = ""): Page => ({
  body:
    `<!doctype html><html lang="en"><head><title>Ferry makes its last crossing</title>${head}</head><body><article>` +
    `<h1>Ferry makes its last crossing</h1><p>${prose(6, "the ferry")}</p>` +
    `<p>The <a href="https://www.supremecourt.gov/opinions/1.pdf">judgment</a> fell on Tuesday.</p>${WALL}</article></body></html>`,
});
const json = (value: unknown): Page => ({ type: "application/json", body: JSON.stringify(value) });

describe.each(SETUPS)("an open copy, $setup", ({ start }) => {
  let engine: Site;
  let found: string[] = [];
  const { sites, service } = scenario(start, (web) => {
    engine = web.site(
      {
        "/search": () =>
          json({
            results: found.map((url) => ({ url, title: "A title", content: "words", engines: ["wire"] })),
            unresponsive_engines: [],
          }),
      },
      "engine",
    );
    const register = web.site(
      {
        "/v2/10.1234/tide.5": () =>
          json({
            doi: "10.1234/tide.5",
            title: "Tides of the northern sea",
            is_oa: true,
            best_oa_location: { url: `http://repository.test:${web.port}/5` },
          }),
      },
      "register",
    );
    return {
      TRAWL_SEARXNG_URLS: engine.origin,
      TRAWL_UNPAYWALL_URL: `${register.origin}/v2/`,
      TRAWL_UNPAYWALL_EMAIL: "ops@trawl.test",
    };
  });

  test("from the publisher's own feed replaces a teaser, with its whole text and its bytes", async () => {
    const site = sites.site(
      {
        "/ferry": teaser('<link rel="alternate" type="application/atom+xml" href="/atom">'),
        "/atom": {
          type: "application/atom+xml",
          body: `<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>Ferry makes its last crossing</title>
          <link href="/ignored" rel="self"/><id>tag:1</id><link href="http://publisher.test:${sites.port}/ferry"/>
          <author><name>Ada Keeper</name></author><published>2026-11-20T08:00:00Z</published>
          <content type="html">&lt;p&gt;${STORY}&lt;/p&gt;</content></entry></feed>`,
        },
      },
      "publisher",
    );
    const page = await service.fetch({ url: `${site.origin}/ferry` });
    expect(page).toMatchObject({
      url: `${site.origin}/ferry`,
      final_url: `${site.origin}/atom`,
      tier: "source",
      status: 200,
      error: null,
      alternate_of: `${site.origin}/ferry`,
      alternate_source: "publisher_feed",
      match_score: 1,
      title: "Ferry makes its last crossing",
      text: STORY,
      html: `<p>${STORY}</p>`,
      content_kind: "html",
      content_type: "text/html; charset=utf-8",
      paywall: "none",
      text_complete: true,
      billing_category: "fetch_own",
      cost_usd: 0,
      meta: { author: "Ada Keeper" },
      primary_sources: [
        { url: "https://www.supremecourt.gov/opinions/1.pdf", kind: "court", text: "judgment" },
      ],
    });
    // Between them stands the browser, where there is one.
    expect(page.attempts[0]).toMatchObject({ tier: "direct", reason: "paywall", detail: null });
    expect(page.attempts.at(-1)).toMatchObject({
      tier: "source",
      reason: "alternate_publisher_feed",
      detail: `${site.origin}/atom`,
    });
    const body = await service.call("GET", page.body_url!);
    expect([body.headers["content-type"], body.bytes.toString()]).toEqual([
      "text/html; charset=utf-8",
      `<p>${STORY}</p>`,
    ]);
    expect(await service.fetch({ url: `${site.origin}/ferry` })).toMatchObject({
      cached: true,
      tier: "source",
      alternate_of: `${site.origin}/ferry`,
      billing_category: "fetch_cached",
    });
    expect(await service.fetch({ url: `${site.origin}/ferry`, allow_alternates: false })).toMatchObject({
      cached: false,
      tier: "direct",
      paywall: "hard",
      text_complete: false,
      alternate_of: null,
      alternate_source: null,
      match_score: null,
    });
  });

  test("of the same story on another site is found by the service's own search", async () => {
    const publisher = sites.site({ "/ferry": teaser() });
    const wire = sites.site({ "/story": { body: article("Last ferry leaves", STORY) } }, "wire");
    const other = sites.site(
      {
        "/robots.txt": { type: "text/plain", body: "User-agent: trawl\nDisallow: /" },
        "/story": { body: article("x", STORY) },
      },
      "closed",
    );
    found = [`${publisher.origin}/other`, `${other.origin}/story`, `${wire.origin}/story`];
    const page = await service.fetch({ url: `${publisher.origin}/ferry` });
    expect(page).toMatchObject({
      tier: "source",
      alternate_source: "syndication",
      final_url: `${wire.origin}/story`,
      match_score: 1,
      title: "Last ferry leaves",
    });
    expect(page.attempts.slice(-3).map(({ reason, detail }) => [reason, detail])).toEqual([
      ["syndication_candidates_2", null],
      ["alternate_syndication_rejected_robots", `${other.origin}/story`],
      ["alternate_syndication", `${wire.origin}/story`],
    ]);
    expect(other.hits("/story")).toBe(0);
    expect(engine.hits("/search")).toBeGreaterThan(0);
  });

  test("by DOI replaces a page that robots.txt disallows", async () => {
    sites.site({ "/5": { body: article("Tides of the northern sea", prose(30, "the sea")) } }, "repository");
    const publisher = sites.site({
      "/robots.txt": { type: "text/plain", body: "User-agent: *\nDisallow: /doi/" },
      "/doi/full/10.1234/tide.5": { body: article("Sold", STORY) },
    });
    const page = await service.fetch({ url: `${publisher.origin}/doi/full/10.1234/tide.5` });
    expect(page).toMatchObject({
      error: null,
      tier: "source",
      alternate_source: "open_access",
      final_url: `http://repository.test:${sites.port}/5`,
      primary_sources: [{ url: "https://doi.org/10.1234/tide.5", kind: "doi", text: null }],
    });
    expect(publisher.hits("/doi/full/10.1234/tide.5")).toBe(0);
    const closed = await service.fetch({
      url: `${publisher.origin}/doi/full/10.1234/tide.5`,
      allow_alternates: false,
    });
    expect(closed).toMatchObject({ error: "robots_disallowed", alternate_of: null });
  });
});

describe.each(SETUPS)("the stored state of a domain, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test("can be shown and cleared by the operator: a skipped domain is then requested again at once", async () => {
    let broken = true;
    const site = sites.site({
      "/": () => (broken ? { status: 503 } : { body: article("Back", prose(12)) }),
    });
    const ask = () => service.fetch({ url: `${site.origin}/`, allow_alternates: false, cache_ttl_s: 0 });
    for (let failures = 0; failures < 3; failures++)
      expect(await ask()).toMatchObject({ error: "all_tiers_failed" });
    broken = false;
    expect(await ask()).toMatchObject({ error: "domain_unavailable" });

    const shown = await service.trawl("domain", site.host);
    expect(shown).toMatchObject({ domain: site.host, dead_hosts: [], hosts: [] });
    expect(shown.skips).toMatchObject([{ origin: site.origin, project: "default", failures: 3 }]);
    expect(Date.parse(shown.skips[0].skip_until) - Date.now()).toBeGreaterThan(500_000);
    expect(await service.trawl("domain", `www.${site.host}`, "--clear")).toMatchObject({
      domain: site.host,
      skips: [],
    });
    expect(await ask()).toMatchObject({ error: null, title: "Back" });
  });

  test("a dead host is listed, and resolved again after it was cleared", async () => {
    const ask = () => service.fetch({ url: "http://www.nowhere.test/", cache_ttl_s: 0 });
    await ask();
    expect(await ask()).toMatchObject({ error: "domain_dead" });
    expect(await service.trawl("domain", "nowhere.test")).toMatchObject({
      dead_hosts: [{ host: "www.nowhere.test" }],
    });
    expect((await service.trawl("domain", "nowhere.test", "--clear")).dead_hosts).toEqual([]);
    expect(await ask()).toMatchObject({ error: "all_tiers_failed" });
  });

  test("cannot be read with other keys than the operator's", async () => {
    const { key } = await service.trawl("key", "create", "--project", "default");
    const answer = await service.call("GET", "/v1/ops/domains/example.org", { key });
    expect([answer.status, answer.json.detail.error]).toEqual([403, "operator_only"]);
    await expect(service.trawl("domain", "example.org", "--key", key)).rejects.toThrow(/operator_only/);
    await expect(service.trawl("domain", "no host")).rejects.toThrow(/422/);
  });
});

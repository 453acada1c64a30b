/** POST /v1/map as callers see it: what is read of a site, in which order, and what it costs. */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { MapBody, MapResponse } from "../../schemas/sites.ts";
import { scenario } from "../harness/scenario.ts";
import { type Service, SETUPS } from "../harness/service.ts";
import { article, type Page, redirect } from "../harness/web.ts";

const XML = { type: "application/xml" } as const;
const urlset = (...urls: string[]): string =>
  `<?xml version="1.0"?><urlset>${urls.map((url) => `<url><loc>${url}</loc><lastmod>2026-03-04</lastmod></url>`).join("")}</urlset>`;
const sitemapIndex = (...urls: string[]): string =>
  `<sitemapindex>${urls.map((url) => `<sitemap><loc>${url}</loc></sitemap>`).join("")}</sitemapindex>`;
const text = (body: string): Page => ({ type: "text/plain", body });

const mapping =
  (service: Service) =>
  async (body: MapBody, key?: string): Promise<MapResponse> => {
    const answered = await service.call("POST", "/v1/map", { body, ...(key !== undefined && { key }) });
    if (answered.status !== 200) throw new Error(`${answered.status}: ${answered.bytes.toString()}`);
    return answered.json as MapResponse;
  };
const pathsOf = ({ links }: MapResponse): string[] =>
  links.map(({ url }) => new URL(url).pathname + new URL(url).search);

describe.each(SETUPS)("a map, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test("has what robots.txt, nested and compressed sitemaps, feeds' times and the home page name, each once", async () => {
    const site = sites.site({
      "/robots.txt": () => text(`User-agent: *\nDisallow: /no\nSITEMAP: ${site.origin}/maps/index.xml`),
      "/maps/index.xml": () => ({
        ...XML,
        body: sitemapIndex("a.xml.gz", "/maps/index.xml", "list.txt", "gone.xml"),
      }),
      "/maps/a.xml.gz": () => ({
        type: "application/gzip",
        body: gzipSync(urlset(`${site.origin}/a`, `${site.origin}/b?y=2&x=1`, "http://elsewhere.test/c")),
      }),
      "/maps/list.txt": () => text(`${site.origin}/b?x=1&y=2&utm_source=list\n${site.origin}/d`),
      "/": {
        body: article("Home").replace("<nav>", '<nav><a href="/a">The tower</a> <a href="/e#top">E</a>'),
      },
    });
    const map = mapping(service);
    const answer = await map({ url: site.origin });
    expect(pathsOf(answer)).toEqual(["/", "/a", "/e", "/about", "/b?y=2&x=1", "/d"]);
    expect(answer).toMatchObject({ total: 6, truncated: false, cached: false, error: null });
    expect(answer.links[1]).toEqual({
      url: `${site.origin}/a`,
      title: "The tower",
      lastmod: "2026-03-04",
      found_in: "page",
    });
    expect(answer.links[4]).toMatchObject({ found_in: "sitemap", lastmod: "2026-03-04" });
    expect(answer.sitemaps.map(({ url, entries, error }) => [new URL(url).pathname, entries, error])).toEqual(
      [
        ["/maps/index.xml", 4, null],
        ["/maps/index.xml", 0, "already_read"],
        ["/maps/a.xml.gz", 3, null],
        ["/maps/list.txt", 2, null],
        ["/maps/gone.xml", 0, "http_404"],
      ],
    );
    expect(site.hits("/maps/index.xml")).toBe(1);

    const again = await map({ url: site.origin });
    expect(again).toMatchObject({ cached: false, total: 6 });
    expect([site.hits("/maps/a.xml.gz"), site.hits("/"), site.hits("/maps/gone.xml")]).toEqual([1, 1, 2]);
  });

  test("looks in the usual places until one has entries, and says what it found there", async () => {
    const site = sites.site({
      "/sitemap.xml": { body: "<!doctype html><title>Oops</title><p>No such page" },
      "/sitemap_index.xml": () => ({
        ...XML,
        body: urlset(`${site.origin}/kept`).replace("</urlset>", "<url><loc>/cut"),
      }),
    });
    const answer = await mapping(service)({ url: site.origin, sitemap: "only" });
    expect(pathsOf(answer)).toEqual(["/kept"]);
    expect(answer).toMatchObject({ truncated: true, error: null });
    expect(answer.sitemaps).toMatchObject([
      { status: 200, entries: 0, error: "not_a_sitemap" },
      { status: 200, entries: 1, error: "malformed", warnings: ['It ends inside "loc"'] },
    ]);
    expect(site.hits("/")).toBe(0);
    expect(site.hits("/wp-sitemap.xml")).toBe(0);
  });

  test("a feed is read, and words put what has them first", async () => {
    const feed = `<rss><channel>${[1, 2, 3, 4]
      .map(
        (n) => `<item><title>${n === 3 ? "Łódź harbour" : `Note ${n}`}</title><link>/note/${n}</link></item>`,
      )
      .join("")}<item><title>x</title><link>/harbour-tour</link></item></channel></rss>`;
    const site = sites.site({ "/feed": { ...XML, body: feed } });
    const answer = await mapping(service)({ url: site.origin, sitemap: "only", search: "HARBOUR", limit: 2 });
    expect(pathsOf(answer)).toEqual(["/note/3", "/harbour-tour"]);
    expect(answer).toMatchObject({ total: 5, truncated: true, links: [{ found_in: "feed" }, {}] });
  });

  test("knows hosts: www is the same, a subdomain only where it is asked for; queries can be ignored", async () => {
    const site = sites.site({
      "/sitemap.xml": () => {
        const { host, port } = new URL(site.origin);
        const www = `http://www.${host}`;
        const sub = `http://blog.${host}`;
        return {
          ...XML,
          body: urlset(
            `${www}/a`,
            `${sub}/b`,
            `${site.origin}/c?1`,
            `${site.origin}/c?2`,
            `http://not${host}/d`,
            `http://x.test:${port}/`,
          ),
        };
      },
    });
    const map = mapping(service);
    const own = await map({ url: site.origin, sitemap: "only" });
    expect(pathsOf(own)).toEqual(["/a", "/c?1", "/c?2"]);
    const all = await map({
      url: site.origin,
      sitemap: "only",
      include_subdomains: true,
      ignore_query: true,
    });
    expect(pathsOf(all)).toEqual(["/a", "/b", "/c"]);
    expect(all.cached).toBe(false);
  });

  test("is cut at its limit, and a chain of indexes at its fifth level", async () => {
    const levels = Object.fromEntries(
      Array.from({ length: 8 }, (_, n) => [`/${n}.xml`, { ...XML, body: sitemapIndex(`${n + 1}.xml`) }]),
    );
    const site = sites.site({
      ...levels,
      "/robots.txt": text("Sitemap: /0.xml\nSitemap: /many.xml\nSitemap: /loop.xml"),
      "/many.xml": () => ({
        ...XML,
        body: urlset(...Array.from({ length: 50 }, (_, n) => `${site.origin}/p${n}`)),
      }),
      "/loop.xml": redirect("/many.xml"),
    });
    const answer = await mapping(service)({ url: site.origin, sitemap: "only" });
    expect(answer.total).toBe(50);
    expect(answer.truncated).toBe(true);
    expect(answer.sitemaps.map(({ url, error }) => [new URL(url).pathname, error])).toEqual([
      ["/0.xml", null],
      ["/many.xml", null],
      ["/loop.xml", "already_read"],
      ["/1.xml", null],
      ["/2.xml", null],
      ["/3.xml", null],
      ["/4.xml", null],
      ["/5.xml", "too_deep"],
    ]);
    const few = await mapping(service)({ url: site.origin, sitemap: "only", limit: 7 });
    expect(few.links.length).toBe(7);
    expect(few.truncated).toBe(true);
  });

  test("says why there is nothing, and refuses what is wrong with the field's name", async () => {
    const map = mapping(service);
    expect(await map({ url: "mailto:a@b.test" })).toMatchObject({
      links: [],
      error: "invalid_url",
      sitemaps: [],
    });
    expect(await map({ url: "http://no-such-host.test/" })).toMatchObject({
      links: [],
      error: "all_tiers_failed",
    });
    const closed = sites.site({ "/robots.txt": text("User-agent: *\nDisallow: /") });
    expect(await map({ url: closed.origin })).toMatchObject({ links: [], error: "robots_disallowed" });
    expect(closed.arrivals.map(({ path }) => path).filter((path) => path !== "/robots.txt")).toEqual([]);
    for (const [field, value] of [
      ["limit", 100_001],
      ["sitemap", "maybe"],
      ["url", ""],
      ["timeout_s", 1],
    ] as const) {
      const refused = await service.call("POST", "/v1/map", { body: { url: closed.origin, [field]: value } });
      expect([refused.status, refused.json.detail[0].loc]).toEqual([422, ["body", field]]);
    }
  });

  test("never leaves the egress guard, also not by a sitemap's address", async () => {
    const site = sites.site({ "/robots.txt": text("Sitemap: http://169.254.169.254/latest/sitemap.xml") });
    const answer = await mapping(service)({ url: site.origin, sitemap: "only" });
    expect(answer.sitemaps[0]).toMatchObject({ error: "blocked_destination", entries: 0 });
  });

  test("each request is a fetch: a row of the ledger, and a unit of the key's quota", async () => {
    const site = sites.site({
      "/robots.txt": text(
        "Sitemap: /1.xml\nSitemap: /2.xml\nSitemap: /3.xml\nSitemap: /4.xml\nSitemap: /5.xml",
      ),
      ...Object.fromEntries(
        [1, 2, 3, 4, 5].map((n) => [`/${n}.xml`, { ...XML, body: urlset(`/page-${n}`) }]),
      ),
    });
    const made = await service.call("POST", "/v1/keys", { body: { label: "maps", quotas: { fetch: 4 } } });
    expect(made.status).toBe(201);
    const { key } = made.json as { key: string };
    const answer = await mapping(service)({ url: site.origin, sitemap: "only" }, key);
    // The quota is spent on robots.txt, one unit, and the first sitemaps, three.
    expect(answer).toMatchObject({ total: 3, truncated: true, error: "quota_exhausted" });
    const refused = await service.call("POST", "/v1/map", { body: { url: site.origin }, key });
    expect(refused.status).toBe(429);
    const rows = (await service.call("GET", "/v1/requests?limit=1000")).json.items as {
      request_id: string;
    }[];
    const { request_id } = answer;
    expect(
      rows
        .map((row) => row.request_id)
        .filter((id) => id.startsWith(request_id))
        .toSorted(),
    ).toEqual([request_id, ...[2, 3, 4].map((n) => `${request_id}.${n}`)]);
  });

  test("follows the address to the host it leads to, and to no other", async () => {
    const site = sites.site({
      "/home": { body: article("Home").replace("<nav>", '<nav><a href="/a">A</a>') },
      "/sitemap.xml": () => ({
        ...XML,
        body: urlset(`${site.origin}/b`, `${old.origin}/c`, "http://third.test/d"),
      }),
    });
    const old = sites.site({
      "/": () => redirect(`${site.origin}/home`, 301),
      "/sitemap.xml": { ...XML, body: urlset("/no") },
    });
    const answer = await mapping(service)({ url: old.origin });
    expect(answer.links.map(({ url }) => url)).toEqual([
      `${site.origin}/home`,
      `${site.origin}/a`,
      `${site.origin}/`,
      `${site.origin}/about`,
      `${site.origin}/b`,
      `${old.origin}/c`,
    ]);
    expect(old.hits("/sitemap.xml")).toBe(0);
  });

  test("limits of spend hold for each request, also where the customer has prices", async () => {
    const site = sites.site({
      "/robots.txt": text("Sitemap: /1.xml\nSitemap: /2.xml\nSitemap: /3.xml"),
      ...Object.fromEntries([1, 2, 3].map((n) => [`/${n}.xml`, { ...XML, body: urlset(`/page-${n}`) }])),
    });
    await service.trawl("customer", "create", "mapper", "--external", "--currency", "CHF");
    await service.trawl("customer", "price", "mapper", "fetch_own=0.001");
    await service.trawl("project", "create", "mapper", "--customer", "mapper");
    const { key } = await service.trawl(
      "key",
      "create",
      "--project",
      "mapper",
      "--admin",
      "--spend-cap",
      "0.0025",
    );
    const answer = await mapping(service)({ url: site.origin, sitemap: "only" }, key);
    expect(answer).toMatchObject({ total: 1, truncated: true, error: "quota_exhausted" });
    const { spend } = (await service.call("GET", "/v1/quota", { key })).json.keys[0];
    expect(spend).toMatchObject({ basis: "charge", used: "0.002000" });
  });

  test("answers with what it found when its time is over", async () => {
    const never = Promise.withResolvers<Page>();
    const site = sites.site({
      "/robots.txt": text(
        "Sitemap: /quick.xml\nSitemap: /slow.xml\nSitemap: /b.xml\nSitemap: /c.xml\nSitemap: /late.xml",
      ),
      "/quick.xml": { ...XML, body: urlset("/a") },
      "/slow.xml": () => never.promise,
    });
    const answer = await mapping(service)({ url: site.origin, sitemap: "only", timeout_s: 5 });
    never.resolve({});
    expect(pathsOf(answer)).toEqual(["/a"]);
    expect(answer).toMatchObject({ truncated: true, error: "timeout" });
    expect(answer.sitemaps.map(({ error }) => error)).toEqual([null, "timeout", "http_404", "http_404"]);
    expect(site.hits("/late.xml")).toBe(0);
  });

  test("is available as a command", async () => {
    const site = sites.site({
      "/sitemap.txt": text("no addresses"),
      "/rss.xml": { ...XML, body: urlset("/a") },
    });
    const answer = await service.trawl("map", site.origin, "--sitemap", "only", "--key", service.key);
    expect(answer).toMatchObject({ total: 1, links: [{ url: `${site.origin}/a`, found_in: "sitemap" }] });
  });
});

// Nodes that share no files have no index of stored pages.
describe.each(SETUPS.filter(({ setup }) => setup === "embedded"))("stored pages, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test("a map has what the project has stored of the site, and nothing of other projects", async () => {
    const site = sites.site({ "/hidden": { body: article("Hidden page") }, "/": { body: article("Home") } });
    await service.fetch({ url: `${site.origin}/hidden` });
    const answer = await mapping(service)({ url: site.origin, sitemap: "skip" });
    expect(answer.links).toContainEqual({
      url: `${site.origin}/hidden`,
      title: "Hidden page",
      lastmod: null,
      found_in: "stored",
    });
    // Files that only tell crawlers of pages are found by no search.
    const listed = sites.site({
      "/robots.txt": text("Sitemap: /sitemap.xml\n# quinquagesimal"),
      "/sitemap.xml": { ...XML, body: urlset("/quinquagesimal") },
    });
    expect((await mapping(service)({ url: listed.origin, sitemap: "only" })).total).toBe(1);
    const search = await service.call("POST", "/v1/search", { body: { query: "quinquagesimal" } });
    expect(search.json.results).toEqual([]);
    await service.trawl("project", "create", "other", "--customer", "default");
    const { key } = (await service.trawl("key", "create", "--project", "other")) as { key: string };
    expect(pathsOf(await mapping(service)({ url: site.origin, sitemap: "skip" }, key))).toEqual([
      "/",
      "/about",
    ]);
  });
});

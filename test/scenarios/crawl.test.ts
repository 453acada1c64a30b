/** POST /v1/crawl as callers see it: which pages of a site are fetched, and what is said of those that are not. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { LINKS_MAX } from "../../actors/reading/markdown/links.ts";
import type { CrawlBody, CrawlUrl } from "../../schemas/crawl.ts";
import type { JobItem } from "../../schemas/jobs.ts";
import { chromium_path } from "../harness/installed-browser.ts";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { type Service, SETUPS } from "../harness/service.ts";
import { type Page, prose, redirect, type Site } from "../harness/web.ts";

/** A page with a text of its own and these links. */
const linked = (title: string, ...links: string[]): Page => ({
  body:
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><article><h1>${title}</h1>` +
    `<p>${prose(12, title)}</p><p>${links.map((href) => `<a href="${href}">${href}</a>`).join(" ")}</p></article></body></html>`,
});

const withHead = ({ body }: Page, head: string): Page => ({
  body: String(body).replace("</head>", `${head}</head>`),
});

const crawling = (service: Service) => ({
  begin: async (body: CrawlBody): Promise<string> => {
    const answered = await service.call("POST", "/v1/crawl", { body });
    if (answered.status !== 202) throw new Error(`${answered.status}: ${answered.bytes.toString()}`);
    return answered.json.job_id as string;
  },
  urls: async (job_id: string, query = ""): Promise<CrawlUrl[]> => {
    const answered = await service.call("GET", `/v1/jobs/${job_id}/urls?limit=1000${query}`);
    if (answered.status !== 200) throw new Error(`${answered.status}: ${answered.bytes.toString()}`);
    expect(answered.json.next_cursor).toBeNull();
    return answered.json.items as CrawlUrl[];
  },
});

const pathOf = (url: string): string => new URL(url).pathname + new URL(url).search;
const byPath = (urls: readonly CrawlUrl[]) =>
  Object.fromEntries(urls.map(({ url, state, reason }) => [pathOf(url), reason ?? state]));
const pageHits = ({ arrivals }: Site): string[] =>
  arrivals.map(({ path }) => path).filter((path) => path !== "/robots.txt");

describe.each(SETUPS)("a crawl, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test("fetches every page of a site once, and says of every other address why not", async () => {
    const elsewhere = sites.site({ "*": linked("Elsewhere") });
    const site = sites.site({
      "/robots.txt": { type: "text/plain", body: "User-agent: *\nDisallow: /private" },
      "/": linked("Home", "/a", "/b?x=1&y=2", "/#top", `${elsewhere.origin}/x`, "mailto:a@example.org"),
      "/a": linked(
        "A",
        "/",
        "/b?y=2&x=1&utm_source=a",
        "/private",
        "/deep",
        "/gone",
        `/${"l".repeat(5_000)}`,
      ),
      "/b": withHead(
        linked("B", "/a", "/moved", "/moved-too"),
        '<link rel="alternate" hreflang="fr" href="/fr"><link rel="alternate" type="application/rss+xml" href="/feed">',
      ),
      "/fr": linked("B en français"),
      "/deep": linked("Deep", "/deeper"),
      "/deeper": linked("Deeper", "/too-deep"),
      "/moved": redirect("/a"),
      "/moved-too": redirect("/target"),
      "/target": linked("Target", "/target", "/deep"),
    });
    const { begin, urls } = crawling(service);
    const jobs = client(service);
    const job_id = await begin({ url: site.origin, max_depth: 3 });
    const job = await jobs.finished(job_id);
    const seen = await urls(job_id);
    const { [Object.keys(byPath(seen)).find((path) => path.startsWith("/lll"))!]: long, ...others } =
      byPath(seen);
    expect(long).toBe("trap_length");
    expect(others).toEqual({
      "/": "done",
      "/a": "done",
      "/b?x=1&y=2": "done",
      "/x": "out_of_scope",
      "/private": "robots_disallowed",
      "/deep": "done",
      "/gone": "http_404",
      "/deeper": "done",
      // Named by hreflang alone.
      "/fr": "done",
      // It led to a page that was fetched for itself.
      "/moved": "duplicate_address",
      "/moved-too": "done",
      "/target": "duplicate_address",
      "/too-deep": "too_deep",
    });
    const leads = seen.flatMap(({ url, redirected_to }) =>
      redirected_to === null ? [] : [[url, redirected_to]],
    );
    expect(leads.map((pair) => pair.map((url) => pathOf(url!)))).toEqual([
      ["/moved", "/a"],
      ["/moved-too", "/target"],
    ]);
    expect(job).toMatchObject({
      kind: "crawl",
      status: "completed",
      counts: { total: 10, done: 8, failed: 2, discovered: 14, excluded: 4 },
    });
    expect(elsewhere.arrivals).toEqual([]);
    // Twice: where another address leads after it was fetched itself.
    expect(pageHits(site).toSorted()).toEqual(
      [
        "/",
        "/a",
        "/a",
        "/b?x=1&y=2",
        "/deep",
        "/deeper",
        "/fr",
        "/gone",
        "/moved",
        "/moved-too",
        "/target",
      ].toSorted(),
    );
    const items = await jobs.items(job_id);
    expect(items.map(({ input }) => [pathOf(String(input["url"])), input["depth"]]).slice(0, 3)).toEqual([
      ["/", 0],
      ["/a", 1],
      ["/b?x=1&y=2", 1],
    ]);
    expect(items[1]!.input["found_on"]).toBe(`${site.origin}/`);
    expect(items[1]!.result).toMatchObject({ title: "A", status: 200 });
    expect((await service.trawl("job", "verify", job_id)).problems).toEqual([]);
    const listed = await service.call("GET", "/v1/jobs?kind=crawl&limit=1");
    expect(listed.json.items).toMatchObject([{ job_id, counts: { discovered: 14 } }]);
  });

  test("keeps to its limit, its patterns and the folder of its seed, and lists addresses as CSV and NDJSON", async () => {
    const site = sites.site({
      "/docs/": linked("Docs", "a", "b", "c", "d", "e", "img/x", "secret/s", "/other"),
      "*": ({ path }) => linked(path),
    });
    const { begin, urls } = crawling(service);
    const job_id = await begin({
      url: `${site.origin}/docs/`,
      scope: "path",
      exclude: ["/docs/secret/**", "/img/"],
      limit: 4,
    });
    const job = await client(service).finished(job_id);
    expect(job.counts).toMatchObject({ total: 4, done: 4, discovered: 9, excluded: 5 });
    expect(byPath(await urls(job_id, "&state=excluded"))).toEqual({
      "/docs/d": "over_limit",
      "/docs/e": "over_limit",
      "/docs/img/x": "excluded_by_pattern",
      "/docs/secret/s": "excluded_by_pattern",
      "/other": "out_of_scope",
    });
    expect(Object.keys(byPath(await urls(job_id, "&reason=over_limit")))).toEqual(["/docs/d", "/docs/e"]);
    expect(pageHits(site)).toHaveLength(4);

    const csv = (await service.call("GET", `/v1/jobs/${job_id}/urls.csv`)).bytes
      .toString()
      .trim()
      .split("\r\n");
    expect(csv[0]).toBe("url,state,depth,found_on,reason,index,redirected_to,duplicate_of,change");
    expect(csv).toHaveLength(10);
    expect(csv[1]).toBe(`${site.origin}/docs/,done,0,,,0,,,`);
    const lines = await service.call("GET", `/v1/jobs/${job_id}/urls?from=8`, {
      headers: { accept: "application/x-ndjson" },
    });
    expect(JSON.parse(lines.bytes.toString())).toMatchObject({
      url: `${site.origin}/other`,
      state: "excluded",
    });
    const paged = await service.call("GET", `/v1/jobs/${job_id}/urls?limit=2&from=1&state=done`);
    expect(paged.json).toMatchObject({ items: [{ index: 1 }, { index: 2 }], next_cursor: 3 });
  });

  test("tells of a page that repeats another which one it is, and fetches nothing for it", async () => {
    const text = Array.from({ length: 90 }, (_, n) => `word${(n * 37) % 89}`).join(" ");
    const named = (title: string, canonical: string, words: string): Page => ({
      body:
        `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><link rel="canonical" href="${canonical}"></head>` +
        `<body><article><h1>${title}</h1><p>${words}</p></article></body></html>`,
    });
    const site = sites.site({
      "/": linked("Home", "/same", "/item", "/item?for=paper", "/version-one", "/version-two"),
      "/same": linked("Home", "/same", "/item", "/item?for=paper", "/version-one", "/version-two"),
      "/item": named("Item", "/item", prose(12, "an item")),
      "/item?for=paper": named("For print", "/item", prose(3, "something else")),
      "/version-one": named("One", "/whole", text),
      "/version-two": {
        body: `<!doctype html><title>One</title><article><h1>One</h1><p>${text} 2</p></article>`,
      },
    });
    const { begin, urls } = crawling(service);
    const jobs = client(service);
    const job_id = await begin({ url: site.origin, max_depth: 1 });
    await jobs.finished(job_id);
    const seen = await urls(job_id);
    const told = seen.map(({ url, state, reason, duplicate_of }) => [
      pathOf(url),
      state,
      reason,
      duplicate_of === null ? null : pathOf(duplicate_of),
    ]);
    expect(told).toEqual([
      ["/", "done", null, null],
      ["/same", "done", "duplicate_address", "/"],
      ["/item", "done", null, null],
      ["/item?for=paper", "done", "duplicate_of_canonical", "/item"],
      ["/version-one", "done", null, null],
      ["/version-two", "done", "near_duplicate", "/version-one"],
      ["/whole", "excluded", "duplicate_of_canonical", null],
    ]);
    const same = (await jobs.items(job_id)).find(({ input }) => pathOf(String(input["url"])) === "/same");
    expect(same!.result!["duplicate_of"]).toEqual({ url: `${site.origin}/`, reason: "duplicate_address" });
    expect(await urls(job_id, "&reason=near_duplicate")).toHaveLength(1);
    expect(pageHits(site)).toHaveLength(6);
    expect((await service.trawl("job", "verify", job_id)).problems).toEqual([]);
  });

  test("says of each page whether it is new, changed, unchanged or gone since an earlier crawl", async () => {
    let words = "as it was";
    const isNew = (): boolean => words !== "as it was";
    const site = sites.site({
      "/": () => linked("Home", "/same", "/other", "/removed", ...(isNew() ? ["/added"] : ["/dropped"])),
      // Its text is what it was, its bytes are not.
      "/same": () => {
        const { body } = linked("Same") as { body: string };
        return { body: body.replace("<article>", `<!-- ${words} --><article>`) };
      },
      "/other": () => linked(`Other ${words}`),
      "/added": linked("Added"),
      "/removed": () => (isNew() ? { status: 404, body: "no" } : linked("Removed", "/below")),
      "/below": linked("Below"),
      "/dropped": linked("Dropped"),
    });
    const { begin, urls } = crawling(service);
    const jobs = client(service);
    const fetch = { cache_ttl_s: 0 };
    const first = await begin({ url: site.origin, fetch });
    await jobs.finished(first);
    expect((await urls(first)).map(({ change }) => change)).toEqual([null, null, null, null, null, null]);
    words = "as it is";
    const body = { url: site.origin, fetch, since_job: first };
    const job_id = await begin(body);
    await jobs.finished(job_id);
    expect((await urls(job_id)).map(({ url, change }) => [pathOf(url), change])).toEqual([
      ["/", "changed"],
      ["/same", "unchanged"],
      ["/other", "changed"],
      ["/removed", "gone"],
      ["/added", "new"],
      ["/dropped", "gone"],
      ["/below", "gone"],
    ]);
    expect((await jobs.items(job_id)).map(({ result }) => result?.["change"])).toEqual([
      "changed",
      "unchanged",
      "changed",
      undefined,
      "new",
    ]);
    expect((await urls(job_id, "&change=gone&from=4")).map(({ url, state }) => [pathOf(url), state])).toEqual(
      [
        ["/dropped", "gone"],
        ["/below", "gone"],
      ],
    );
    const part = (await service.call("GET", `/v1/jobs/${job_id}/urls?state=gone&limit=1`)).json;
    expect(part).toMatchObject({ items: [{ index: null, found_on: `${site.origin}/` }], next_cursor: 6 });
    // Pages that a limit may have left out are not said to be gone.
    const limited = await begin({ ...body, limit: 5 });
    await jobs.finished(limited);
    expect((await urls(limited, "&change=gone")).map(({ url }) => pathOf(url))).toEqual(["/removed"]);
    expect(await urls(job_id, "&change=unchanged")).toHaveLength(1);
    const unknown = { ...body, since_job: "019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41" };
    expect((await service.call("POST", "/v1/crawl", { body: unknown })).json.detail).toMatchObject([
      { loc: ["body", "since_job"], msg: expect.stringContaining("no such crawl") },
    ]);
  });

  test("of several sites fetches each, and follows nofollow where it is told to", async () => {
    const page: Page = {
      body: String(linked("Home", "/plain").body).replace(
        "</article>",
        '<a rel="nofollow" href="/quiet">q</a></article>',
      ),
    };
    const pages = { "/": page, "*": ({ path }: { path: string }) => linked(path) };
    const made = [sites.site(pages), sites.site(pages)];
    const { begin, urls } = crawling(service);
    const jobs = client(service);
    const obeying = await begin({ seeds: made.map(({ origin }) => origin) });
    expect((await jobs.finished(obeying)).counts).toMatchObject({ total: 4, done: 4, discovered: 6 });
    expect((await urls(obeying, "&reason=nofollow")).map(({ url }) => url).toSorted()).toEqual(
      made.map(({ origin }) => `${origin}/quiet`).toSorted(),
    );
    const following = await begin({ url: made[0]!.origin, follow_nofollow: true });
    expect((await jobs.finished(following)).counts).toMatchObject({ total: 3, done: 3, discovered: 3 });
  });

  test("follows no link of a page that says nofollow, in its head or by a header field", async () => {
    const saying = (title: string, meta: string, ...links: string[]): Page => ({
      body: String(linked(title, ...links).body).replace("</head>", `${meta}</head>`),
    });
    const site = sites.site({
      "/": linked("Home", "/quiet", "/silent", "/other-robot", "/shy"),
      "/quiet": saying("Quiet", '<meta name="robots" content="nofollow">', "/a", "/shy"),
      "/silent": { ...linked("Silent", "/b"), headers: { "X-Robots-Tag": "noindex, nofollow" } },
      "/other-robot": saying("Other", '<meta name="otherbot" content="nofollow">', "/c"),
      "/shy": saying("Shy", '<meta name="trawl" content="noindex">', "/d"),
      "*": ({ path }) => linked(path),
    });
    const { begin, urls } = crawling(service);
    const jobs = client(service);
    const job_id = await begin({ url: site.origin, fetch: { formats: ["links"] } });
    expect((await jobs.finished(job_id)).counts).toMatchObject({ done: 7, discovered: 9, excluded: 2 });
    expect(byPath(await urls(job_id, "&state=excluded"))).toEqual({ "/a": "nofollow", "/b": "nofollow" });
    const items = await jobs.items(job_id);
    const shy = items.find(({ input }) => String(input["url"]).endsWith("/shy"));
    expect(shy!.result).toMatchObject({ meta: { robots: ["trawl: noindex"] } });
    const all = await begin({ url: site.origin, follow_nofollow: true });
    expect((await jobs.finished(all)).counts).toMatchObject({ done: 9, excluded: 0 });
  });

  const robots = (site: () => string): Page => ({
    type: "text/plain",
    body: `User-agent: *\nDisallow: /private\nSitemap: ${site()}/maps/index.xml`,
  });
  const xml = (body: string): Page => ({ type: "application/xml", body });
  const urlset = (...urls: string[]): Page =>
    xml(`<urlset>${urls.map((url) => `<url><loc>${url}</loc></url>`).join("")}</urlset>`);

  test("takes pages of sitemaps beside links, or alone", async () => {
    const site: Site = sites.site({
      "/robots.txt": () => robots(() => site.origin),
      "/maps/index.xml": () =>
        xml(
          `<sitemapindex><sitemap><loc>${site.origin}/maps/a.xml</loc></sitemap>` +
            `<sitemap><loc>${site.origin}/maps/index.xml</loc></sitemap><sitemap><loc>http://other.example/m.xml</loc></sitemap></sitemapindex>`,
        ),
      "/maps/a.xml": () =>
        urlset(
          `${site.origin}/orphan`,
          `${site.origin}/d/d/d`,
          "http://other.example/x",
          `${site.origin}/private`,
        ),
      "/": linked("Home", "/linked", "/d/d/d"),
      "*": ({ path }) => linked(path),
    });
    const { begin, urls } = crawling(service);
    const jobs = client(service);
    const files = {
      "/robots.txt": "done",
      "/maps/index.xml": "done",
      "/maps/a.xml": "done",
      "/m.xml": "out_of_scope",
    };
    const listed = {
      "/orphan": "done",
      "/d/d/d": "done",
      "/x": "out_of_scope",
      "/private": "robots_disallowed",
    };
    const include = await begin({ url: site.origin, sitemap: "include", max_depth: 1 });
    await jobs.finished(include);
    const seen = byPath(await urls(include));
    expect(seen).toEqual({ ...files, ...listed, "/": "done", "/linked": "done" });
    expect((await service.trawl("job", "verify", include)).problems).toEqual([]);
    const items = await jobs.items(include);
    expect(
      items.filter(({ input }) => input["sitemap"]).map(({ input }) => pathOf(String(input["url"]))),
    ).toEqual(["/robots.txt", "/maps/index.xml", "/maps/a.xml"]);
    expect(items.find(({ input }) => String(input["url"]).endsWith("/orphan"))!.input).toMatchObject({
      depth: 1,
      found_on: `${site.origin}/maps/a.xml`,
    });
    const only = await begin({ url: `${site.origin}/`, sitemap: "only" });
    await jobs.finished(only);
    expect(byPath(await urls(only))).toEqual({ ...files, ...listed });
  });

  test("says what is wrong with a sitemap, and reads so many that pages have room", async () => {
    const index = (...locs: readonly string[]): Page =>
      xml(
        `<sitemapindex>${locs.map((loc) => `<sitemap><loc>${loc}</loc></sitemap>`).join("")}</sitemapindex>`,
      );
    const broken: Site = sites.site({
      "/robots.txt": () => robots(() => broken.origin),
      "/maps/index.xml": () => index(`${broken.origin}/cut.xml`, `${broken.origin}/page`),
      "/cut.xml": () => xml(`<urlset><url><loc>${broken.origin}/orphan</loc></url><url><lo`),
      "*": ({ path }) => linked(path),
    });
    const nested = (path: string): number => Number(/\d+/.exec(path) ?? 0);
    const chain: Site = sites.site({
      "/robots.txt": () => robots(() => chain.origin),
      "/": linked("Home"),
      "*": ({ path }) => index(`${chain.origin}/${nested(path) + 1}.xml`),
    });
    const tree: Site = sites.site({
      "/robots.txt": () => robots(() => tree.origin),
      "/": linked("Home", "/a", "/b"),
      "/a": linked("A"),
      "/b": linked("B"),
      "*": ({ path }) => index(...[1, 2, 3].map((n) => `${tree.origin}${path.replace(".xml", "")}-${n}.xml`)),
    });
    const { begin, urls } = crawling(service);
    const jobs = client(service);
    const crawl = async (body: CrawlBody) => {
      const job_id = await begin({ sitemap: "include", ...body });
      await jobs.finished(job_id);
      return { job_id, seen: byPath(await urls(job_id)) };
    };
    const [of_broken, of_chain, of_tree] = await Promise.all([
      crawl({ url: broken.origin }),
      crawl({ url: chain.origin }),
      crawl({ url: tree.origin, limit: 6 }),
    ]);
    expect(of_broken.seen).toEqual({
      "/": "done",
      "/robots.txt": "done",
      "/maps/index.xml": "done",
      "/cut.xml": "malformed",
      "/page": "not_a_sitemap",
      "/orphan": "done",
    });
    const items = await jobs.items(of_broken.job_id);
    const cut = items.find(({ input }) => String(input["url"]).endsWith("/cut.xml"))!;
    expect(cut).toMatchObject({ status: "done", input: { depth: 2 } });
    expect((cut.result as { warnings: string[] }).warnings[0]).toMatch(/^malformed: /);
    const deep = Object.entries(of_chain.seen);
    expect(deep.filter(([, state]) => state === "done").map(([path]) => path)).toEqual([
      "/",
      "/robots.txt",
      "/maps/index.xml",
      "/1.xml",
      "/2.xml",
      "/3.xml",
      "/4.xml",
    ]);
    expect(deep.filter(([, state]) => state !== "done")).toEqual([["/5.xml", "too_deep"]]);
    const states = Object.entries(of_tree.seen);
    const fetched = states.filter(([, state]) => state === "done").map(([path]) => path);
    expect(new Set(fetched)).toEqual(
      new Set(["/", "/robots.txt", "/maps/index.xml", "/maps/index-1.xml", "/a", "/b"]),
    );
    expect(states.filter(([, state]) => state !== "done").every(([, state]) => state === "over_limit")).toBe(
      true,
    );
    for (const { job_id } of [of_chain, of_tree])
      expect((await service.trawl("job", "verify", job_id)).problems).toEqual([]);
  });

  test("of a site whose robots.txt names no sitemap reads the usual one, and goes on without", async () => {
    const usual: Site = sites.site({
      "/": linked("Home"),
      "/sitemap.xml": () => urlset(`${usual.origin}/orphan`),
      "/orphan": linked("Orphan"),
    });
    const { begin, urls } = crawling(service);
    const job_id = await begin({ url: usual.origin, sitemap: "include" });
    await client(service).finished(job_id);
    const seen = { "/": "done", "/robots.txt": "http_404", "/sitemap.xml": "done", "/orphan": "done" };
    expect(byPath(await urls(job_id))).toEqual(seen);
    const bare = sites.site({ "/": linked("Home") });
    const other = await begin({ url: bare.origin, sitemap: "include" });
    expect((await client(service).finished(other)).counts).toMatchObject({ done: 1, failed: 2 });
  });

  test("of sites without end, or that lead elsewhere, ends and says why", async () => {
    const { begin, urls } = crawling(service);
    const jobs = client(service);
    const other = sites.site({ "*": linked("Other", "/next") });
    const away = sites.site({ "/": redirect(`${other.origin}/home`) });
    const mapped: Site = sites.site({
      "/robots.txt": () => robots(() => mapped.origin),
      "/maps/index.xml": redirect(`${other.origin}/map.xml`),
      "/": linked("Home", "/around"),
      "/around": redirect(`${other.origin}/back`),
    });
    const endless = sites.site({
      "*": ({ path }) => linked(path, ...["a", "b"].map((way) => `${path.replace(/\/$/, "")}-${way}`)),
    });
    const everywhere = sites.site({ "*": ({ path }) => linked(path, `${path}x/`) });
    const many = sites.site({
      "/": linked("Many", ...Array.from({ length: LINKS_MAX + 200 }, (_, n) => `/${n}`)),
      "*": linked("One of many"),
    });
    const long_path = "l".repeat(100_000);
    const long: Site = sites.site({
      "/": () => linked("Long", `/${long_path}`, `${long.origin}/a/${long_path}`),
    });
    const itself: Site = sites.site({
      "/robots.txt": () => robots(() => itself.origin),
      "/maps/index.xml": () => {
        const locs = ["index.xml", "index.xml#again", "./index.xml?utm_source=a", `${other.origin}/map.xml`];
        return xml(
          `<sitemapindex>${locs.map((loc) => `<sitemap><loc>${loc}</loc></sitemap>`).join("")}</sitemapindex>`,
        );
      },
      "/": linked("Home"),
    });
    const crawl = async (body: CrawlBody, query = "") => {
      const job_id = await begin(body);
      const { status, counts } = await jobs.finished(job_id);
      expect([status, (await service.trawl("job", "verify", job_id)).problems]).toEqual(["completed", []]);
      return { counts, urls: query === "" ? byPath(await urls(job_id)) : await urls(job_id, query) };
    };
    const [of_away, of_mapped, of_endless, of_everywhere, of_many, of_long, of_itself] = await Promise.all([
      crawl({ url: away.origin }),
      crawl({ url: mapped.origin, sitemap: "include" }),
      crawl({ url: endless.origin, limit: 4 }),
      crawl({ url: everywhere.origin, limit: 9 }),
      crawl({ url: many.origin, limit: 2 }, "&state=done"),
      crawl({ url: long.origin }),
      crawl({ url: itself.origin, sitemap: "include" }),
    ]);
    expect(of_away.urls).toEqual({ "/": "out_of_scope", "/home": "out_of_scope" });
    expect(of_away.counts).toMatchObject({ total: 1, failed: 1, discovered: 2, excluded: 1 });
    expect(of_mapped.urls).toEqual({
      "/": "done",
      "/robots.txt": "done",
      "/maps/index.xml": "out_of_scope",
      "/map.xml": "out_of_scope",
      "/around": "out_of_scope",
      "/back": "out_of_scope",
    });
    expect(other.arrivals).toEqual([]);
    expect(of_endless.counts).toMatchObject({ total: 4, done: 4, discovered: 9, excluded: 5 });
    expect(Object.values(of_endless.urls).filter((each) => each === "over_limit")).toHaveLength(5);
    expect(of_everywhere.urls).toEqual({
      "/": "done",
      "/x/": "done",
      "/x/x/": "done",
      "/x/x/x/": "trap_path",
    });
    expect(of_many.counts).toMatchObject({ total: 2, done: 2, discovered: LINKS_MAX + 1 });
    expect(of_many.urls).toHaveLength(2);
    expect(Object.values(of_long.urls)).toEqual(["done", "trap_length", "trap_length"]);
    expect(pageHits(long)).toEqual(["/"]);
    expect(of_itself.urls).toEqual({
      "/": "done",
      "/robots.txt": "done",
      "/maps/index.xml": "done",
      "/map.xml": "out_of_scope",
    });
    expect(itself.hits("/maps/index.xml")).toBe(1);
  });

  test("is begun and gone on with by one command", async () => {
    const site = sites.site({ "/": linked("Home", "/a", "/b"), "*": ({ path }) => linked(path) });
    const command = ["crawl", site.origin, "--limit", "2", "--exclude", "/b", "--formats", "markdown"];
    const first = await service.trawl(...command, "--detach");
    await client(service).finished(first.job_id);
    expect(await service.trawl(...command, "--detach")).toEqual({ job_id: first.job_id, created: false });
    expect(pageHits(site).toSorted()).toEqual(["/", "/a"]);
    const again = await service.trawl(...command, "--detach", "--new");
    expect(again).toEqual({ job_id: expect.not.stringMatching(first.job_id), created: true });
    const printed = await service.trawl("crawl", site.origin, "--limit", "1", "--max-depth", "0");
    expect(printed).toMatchObject({ index: 0, status: "done", input: { url: `${site.origin}/` } });
  });

  test("sends what the caller gives to the origin of the seeds alone, and shows none of it", async () => {
    const other = sites.site({ "*": linked("Other") });
    const site = sites.site({ "/": linked("Home", "/a", `${other.origin}/x`), "*": linked("A") });
    const { begin } = crawling(service);
    const key = "kept-between-us";
    const job_id = await begin({
      seeds: [`${site.origin}/`],
      include: ["/a", "/x"],
      scope: "domain",
      fetch: { headers: { "X-Api-Key": key }, cookies: [{ name: "basket", value: key }] },
    });
    await client(service).finished(job_id);
    const sent = site.arrivals.filter(({ path }) => path !== "/robots.txt");
    expect(sent.map(({ headers: { cookie, "x-api-key": own } }) => [cookie, own])).toEqual([
      [`basket=${key}`, key],
      [`basket=${key}`, key],
    ]);
    expect(other.arrivals.filter(({ headers }) => JSON.stringify(headers).includes(key))).toEqual([]);
    const shown = await service.call("GET", `/v1/jobs/${job_id}?include=items`);
    expect(shown.bytes.toString()).not.toContain(key);
  });

  test("streams its pages while it runs, and is cancelled like any job", async () => {
    const site = sites.site({
      "*": async ({ path }) => {
        const n = Number(path.slice(1));
        if (n > 3) await sleep(100);
        return linked(`Page ${n}`, `/${n + 1}`);
      },
    });
    const { begin, urls } = crawling(service);
    const job_id = await begin({ url: `${site.origin}/1` });
    const following = service.call("GET", `/v1/jobs/${job_id}/results?follow=true`);
    await expect.poll(() => site.hits("/6"), { timeout: 30_000 }).toBe(1);
    const cancelled = await service.call("DELETE", `/v1/jobs/${job_id}`);
    expect(cancelled.json.status).toBe("cancelled");
    const lines = (await following).bytes.toString().trim().split("\n");
    const items = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as JobItem);
    expect(items.length).toBeGreaterThanOrEqual(5);
    expect(items.map(({ index }) => index)).toEqual(items.map((_, at) => at));
    expect(items[1]).toMatchObject({
      kind: "crawl",
      status: "done",
      input: { url: `${site.origin}/2`, depth: 1 },
    });
    const states = new Set((await urls(job_id)).map(({ state }) => state));
    expect([...states].filter((state) => state === "waiting" || state === "in_flight")).toEqual([]);
    expect((await service.trawl("job", "verify", job_id)).problems).toEqual([]);
  });

  test("is refused with the field that is wrong, and is the same crawl under the same key", async () => {
    const refused = async (body: object): Promise<unknown> => {
      const answered = await service.call("POST", "/v1/crawl", { body });
      return [answered.status, answered.json.detail[0].loc];
    };
    const url = "https://example.org/";
    expect(await refused({})).toEqual([422, ["body", "url"]]);
    expect(await refused({ url, seeds: [url] })).toEqual([422, ["body", "seeds"]]);
    expect(await refused({ url: "ftp://example.org/" })).toEqual([422, ["body", "url"]]);
    expect(await refused({ url: "https://example.org../" })).toEqual([422, ["body", "url"]]);
    expect(await refused({ seeds: [url, "https://a..example.org/"] })).toEqual([422, ["body", "seeds", 1]]);
    expect(await refused({ seeds: [url, "http://a:b@example.org/"] })).toEqual([422, ["body", "seeds", 1]]);
    expect(await refused({ url, exclude: ["/ok/**", "/(?=x)/"] })).toEqual([422, ["body", "exclude", 1]]);
    expect(await refused({ url, include: ["/(a{1000}){1000}/"] })).toEqual([422, ["body", "include", 0]]);
    expect(await refused({ url, limit: 100_001 })).toEqual([422, ["body", "limit"]]);
    expect(await refused({ url, max_depth: -1 })).toEqual([422, ["body", "max_depth"]]);
    expect(await refused({ url, fetch: { render: "maybe" } })).toEqual([422, ["body", "fetch", "render"]]);
    expect(await refused({ url, fetch: { method: "POST" } })).toEqual([422, ["body", "fetch", "method"]]);
    expect(await refused({ url, fetch: { headers: { Host: "x" } } })).toEqual([
      422,
      ["body", "fetch", "headers"],
    ]);
    const headers = { "X-Api-Key": "3f9a" };
    expect(await refused({ seeds: [url, "https://example.com/"], fetch: { headers } })).toEqual([
      422,
      ["body", "fetch", "headers"],
    ]);

    const site = sites.site({ "/": linked("Home") });
    const body = { url: site.origin, idempotency_key: `again ${site.host}` };
    const first = await service.call("POST", "/v1/crawl", { body });
    const second = await service.call("POST", "/v1/crawl", { body });
    expect([first.status, second.status, second.json]).toEqual([
      202,
      200,
      { job_id: first.json.job_id, created: false },
    ]);
    const other = await service.call("POST", "/v1/crawl", { body: { ...body, limit: 7 } });
    expect(other.status).toBe(409);
  });
});

describe.each(SETUPS)("a crawl that is killed in the middle, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test("loses no page and doubles none", { timeout: 240_000 }, async () => {
    const PAGES = 40;
    const site = sites.site({
      "*": async ({ path }) => {
        await sleep(60);
        const n = Number(path.slice(1));
        return linked(`Page ${n}`, ...[1, 2, 3].map((step) => `/${Math.min(PAGES - 1, n + step)}`), "/0");
      },
    });
    const { begin, urls } = crawling(service);
    const jobs = client(service);
    const job_id = await begin({ url: `${site.origin}/0` });
    const settled = new Map<string, number>();
    for (const many of [6, 18]) {
      const done = async () => (await jobs.read(job_id)).counts.done;
      await expect.poll(done, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(many);
      for (const { url } of await urls(job_id, "&state=done")) {
        const path = new URL(url).pathname;
        settled.set(path, site.hits(path));
      }
      await service.kill();
      await service.restart();
      expect((await service.trawl("job", "verify", job_id)).problems).toEqual([]);
    }
    const job = await jobs.finished(job_id, 120_000);
    expect(job.counts).toMatchObject({
      total: PAGES,
      done: PAGES,
      failed: 0,
      discovered: PAGES,
      excluded: 0,
    });
    const seen = (await urls(job_id)).map(({ url }) => new URL(url).pathname);
    expect(new Set(seen).size).toBe(PAGES);
    for (const path of seen) {
      expect(site.hits(path)).toBeGreaterThanOrEqual(1);
      // In flight when the nodes were killed, at most; what had ended is not fetched again.
      expect(site.hits(path)).toBeLessThanOrEqual(settled.get(path) ?? 3);
    }
    expect((await service.trawl("job", "verify", job_id)).problems).toEqual([]);
  });
});

describe.runIf(chromium_path !== null).each(SETUPS)("a crawl by a browser, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({ TRAWL_CHROMIUM_PATH: chromium_path! }));

  test("asks nothing of a place out of its scope to which a redirect or a script leads", async () => {
    const other = sites.site({ "*": linked("Other", "/next") });
    const byScript = (to: string): Page => ({
      body: `<!doctype html><title>Away</title><script>location.replace(${JSON.stringify(to)})</script>`,
    });
    const site: Site = sites.site({
      "/": linked("Home", "/by-http", "/by-script", "/in-two", "/within", "/within-by-script"),
      "/by-http": redirect(`${other.origin}/by-http`),
      "/by-script": byScript(`${other.origin}/by-script`),
      "/in-two": byScript("/by-http"),
      "/within": redirect("/page"),
      "/within-by-script": byScript("/page-by-script"),
      "/page": linked("Page"),
      "/page-by-script": linked("Page by script", "/behind"),
      "/behind": linked("Behind"),
    });
    const { begin, urls } = crawling(service);
    const jobs = client(service);
    const job_id = await begin({ url: site.origin, fetch: { tiers: ["browser"] } });
    const { status, counts } = await jobs.finished(job_id);
    expect([status, (await service.trawl("job", "verify", job_id)).problems]).toEqual(["completed", []]);
    expect(other.arrivals).toEqual([]);
    const seen = await urls(job_id);
    expect(byPath(seen.filter(({ url }) => url.startsWith(site.origin)))).toEqual({
      "/": "done",
      "/by-http": "out_of_scope",
      "/by-script": "out_of_scope",
      "/in-two": "out_of_scope",
      "/within": "done",
      "/within-by-script": "done",
      "/page": "duplicate_address",
      "/page-by-script": "duplicate_address",
      "/behind": "done",
    });
    expect(counts).toMatchObject({ total: 7, done: 4, failed: 3 });
    const items = await jobs.items(job_id);
    const shown = items.map(({ input, result }) => {
      const { tier = null, title = null } = (result ?? {}) as { tier?: string; title?: string };
      return [pathOf(String(input["url"])), [tier, title]];
    });
    expect(Object.fromEntries(shown)).toEqual({
      "/": ["browser", "Home"],
      "/by-http": [null, null],
      "/by-script": [null, null],
      "/in-two": [null, null],
      "/within": ["browser", "Page"],
      "/within-by-script": ["browser", "Page by script"],
      "/behind": ["browser", "Behind"],
    });
  });
});

describe("the crawler", () => {
  const url = "https://crawler.example/about";
  const { sites, service } = scenario(SETUPS[0]!.start, () => ({
    TRAWL_CRAWLER_URL: url,
    TRAWL_CRAWLER_CONTACT: "<crawler@example.org>",
    TRAWL_PAGE_ROBOTS: "ignore",
  }));

  test("says who it is where the operator explains it, and follows what pages say only where it is told to", async () => {
    const nofollow = { "X-Robots-Tag": "nofollow" };
    const site = sites.site({ "/": { ...linked("Home", "/a"), headers: nofollow }, "/a": linked("A") });
    const job_id = await crawling(service).begin({ url: site.origin });
    expect((await client(service).finished(job_id)).counts).toMatchObject({ done: 2, excluded: 0 });
    const agents = new Set(site.arrivals.map(({ headers }) => headers["user-agent"]));
    expect([...agents]).toEqual([
      expect.stringMatching(
        /^Mozilla\/5\.0 \(compatible; trawl\/\S+; \+https:\/\/crawler\.example\/about\)$/,
      ),
    ]);

    const page = await service.call("GET", "/crawler", { key: null });
    const html = page.bytes.toString();
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    for (const part of [
      [...agents][0]!,
      "User-agent: trawl",
      "Crawl-delay: 10",
      "&lt;crawler@example.org&gt;",
      "not obeyed",
    ])
      expect(html).toContain(part);
  });
});

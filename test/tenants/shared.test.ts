/**
 * Resources that two projects share, by two projects over HTTP: each row of the table in README.md beside this that another suite proves on the rule
 * only. A rendering service and a metasearch instance are sites of this web, and premium attempts cost money.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, gate, type Page, type Site } from "../harness/web.ts";

const DELAY_MS = 100;
const SECRET = "reference-of-the-first";
const json = (value: unknown): Page => ({ type: "application/json", body: JSON.stringify(value) });

describe.each(SETUPS)("two projects share, $setup", ({ start }) => {
  let engine: Site;
  let renderer: Site;
  let rendering = Promise.resolve();
  const { sites, service } = scenario(start, (web) => {
    engine = web.site({
      "/search": () =>
        json({
          results: [
            { url: "https://lighthouse.example/", title: "Lighthouse", content: "", engines: ["one"] },
          ],
          unresponsive_engines: [],
        }),
    });
    renderer = web.site({
      "/render": async () => {
        await rendering;
        return json({ status: 200, html: article("Rendered"), headers: {}, final_url: null });
      },
    });
    return {
      TRAWL_SEARXNG_URLS: engine.origin,
      TRAWL_RENDER_URL: `${renderer.origin}/render`,
      TRAWL_PRICES: "proxy_render=0.05",
      TRAWL_POLITE_DELAY_MS: String(DELAY_MS),
    };
  });
  const keys = { first: "", second: "" };
  beforeAll(async () => {
    await createKeys(service, keys);
  });
  const fetch = (project: keyof typeof keys, body: FetchBody) => service.fetch(body, { key: keys[project] });

  test("the answer of a metasearch instance, without what the first said of its query", async () => {
    const search = async (project: keyof typeof keys, body: object) =>
      (await service.call("POST", "/v1/search", { key: keys[project], body })).json;
    const query = "when was the lighthouse lit";
    const first = await search("first", { query, project_ref: SECRET });
    const second = await search("second", { query });
    expect([first.cached, second.cached]).toEqual([false, true]);
    expect(second.results).toEqual(first.results);
    expect(JSON.stringify(second)).not.toContain(SECRET);
    expect(JSON.stringify(second)).not.toContain(first.request_id);
    expect(engine.hits("/search")).toBe(1);
  });

  test("what a host showed of premium routes: blocked paths are paid for, open ones are not", async () => {
    const site = sites.site({
      "*": ({ path }) => (path.startsWith("/members/") ? { status: 403 } : { body: article("Open") }),
      "/robots.txt": { status: 404 },
    });
    for (const name of ["a", "b", "c"])
      expect(await fetch("first", { url: `${site.origin}/members/${name}` })).toMatchObject({
        cost_usd: 0.05,
      });
    const blocked = await fetch("second", { url: `${site.origin}/members/d` });
    expect(blocked).toMatchObject({ error: null, tier: "proxy_render", cost_usd: 0.05 });
    expect(site.hits("/members/d")).toBe(0);
    const open = await fetch("second", { url: `${site.origin}/news/today` });
    expect(open).toMatchObject({ error: null, tier: "direct", cost_usd: 0 });
  });

  test("a paid request for one page at the same time: one of them pays, and sees its own reference only", async () => {
    const site = sites.site({ "/robots.txt": { status: 404 } });
    const door = gate();
    rendering = door.opened;
    const before = renderer.hits("/render");
    const body: FetchBody = { url: `${site.origin}/page`, tiers: ["proxy_render"] };
    const first = fetch("first", { ...body, project_ref: SECRET });
    await renderer.reached("/render", before + 1);
    const second = fetch("second", body);
    door.open();
    expect([(await first).cost_usd, (await second).cost_usd]).toEqual([0.05, 0]);
    expect(JSON.stringify((await second).answer.json)).not.toContain(SECRET);
    expect(renderer.hits("/render")).toBe(before + 1);
  });

  test("the delay of a site", async () => {
    const site = sites.site({ "*": ({ path }) => ({ body: article(path) }), "/robots.txt": { status: 404 } });
    const began_ms = performance.now();
    const pages = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        fetch(n % 2 === 0 ? "first" : "second", { url: `${site.origin}/${n}` }),
      ),
    );
    expect(pages.map(({ error }) => error)).toEqual(Array.from({ length: 6 }, () => null));
    const last_ms = Math.max(...site.arrivals.map(({ at_ms }) => at_ms));
    expect(last_ms - began_ms).toBeGreaterThan(5 * DELAY_MS);
    expect(site.most()).toBeLessThanOrEqual(2);
  });

  test("robots.txt", async () => {
    const site = sites.site({
      "*": { body: article("Open") },
      "/robots.txt": { type: "text/plain", body: "User-agent: *\nDisallow: /closed" },
    });
    for (const project of ["first", "second"] as const) {
      expect(await fetch(project, { url: `${site.origin}/closed?${project}` })).toMatchObject({
        error: "robots_disallowed",
      });
      expect(await fetch(project, { url: `${site.origin}/${project}` })).toMatchObject({ error: null });
    }
    expect([site.hits("/robots.txt"), site.hits("/closed")]).toEqual([1, 0]);
  });

  test("that a name does not exist, which says nothing of its site", async () => {
    const site = sites.site({ "*": { body: article("Here") }, "/robots.txt": { status: 404 } });
    const url = `${site.origin.replace("//", "//nowhere.")}/`;
    const ask = (project: keyof typeof keys) => fetch(project, { url, tiers: ["direct"], cache_ttl_s: 0 });
    for (let n = 0; n < 2; n++) await ask("first");
    expect((await ask("second")).attempts.map(({ reason }) => reason)).toEqual(["domain_dead"]);
    expect(await fetch("second", { url: `${site.origin}/` })).toMatchObject({ error: null });
  });

  test("stored bytes, which only who retrieved them may download", async () => {
    const site = sites.site({ "*": { body: article("Bytes") }, "/robots.txt": { status: 404 } });
    const { body_url } = await fetch("first", { url: `${site.origin}/` });
    const key = keys.second;
    const statuses = async () =>
      Promise.all([
        service.call("GET", body_url!, { key }).then(({ status }) => status),
        service.call("HEAD", body_url!, { key }).then(({ status }) => status),
        service.call("GET", body_url!, { key, headers: { range: "bytes=0-9" } }).then(({ status }) => status),
      ]);
    expect(await statuses()).toEqual([404, 404, 404]);
    expect(await fetch("second", { url: `${site.origin}/` })).toMatchObject({ cached: true });
    expect(await statuses()).toEqual([200, 200, 206]);
    expect(site.hits("/")).toBe(1);
  });
});

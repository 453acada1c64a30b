/** Effects of one project, one path or one host of a site on the other projects and hosts of that site, over HTTP. */
import { beforeAll, describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, type Page } from "../harness/web.ts";

const DELAY_MS = 100;
const TOLERANCE_MS = 2;
type Project = "hostile" | "accomplice" | "victim";

const OPEN: Page = { body: article("Open") };
const SHUT: Page = { status: 403, body: "no" };

describe.concurrent.each(SETUPS)("one site for all projects, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({ TRAWL_POLITE_DELAY_MS: String(DELAY_MS) }));
  const keys: Record<Project, string> = { hostile: "", accomplice: "", victim: "" };
  beforeAll(async () => {
    await createKeys(service, keys);
  });
  const fetch = (project: Project, url: string, more: Partial<FetchBody> = {}) =>
    service.fetch({ url, cache_ttl_s: 0, ...more }, { key: keys[project] });
  const shown = (host: string) => service.trawl("domain", host);

  test("three paths that always answer 403, fetched by one project, close the origin for that project only", async () => {
    const site = sites.site({ "*": SHUT, "/": OPEN }, "www.bigsite");
    const other = sites.site({ "/": OPEN }, "other.bigsite");
    for (const path of ["/a", "/b", "/c"])
      expect(await fetch("hostile", site.origin + path)).toMatchObject({ error: "all_tiers_failed" });
    const refused = await fetch("hostile", `${site.origin}/`);
    expect(refused).toMatchObject({ error: "domain_unavailable" });
    expect(refused.retry_after_s).toBeGreaterThan(590);
    expect((await shown("bigsite.test")).skips).toMatchObject([
      { origin: site.origin, project: "hostile", failures: 3 },
    ]);
    expect(await fetch("hostile", `${other.origin}/`)).toMatchObject({ error: null });
    expect(await fetch("victim", `${other.origin}/`)).toMatchObject({ error: null });
    expect(await fetch("victim", `${site.origin}/`)).toMatchObject({ error: null });
    // That success ended the skip of the first.
    expect(await fetch("hostile", `${site.origin}/`)).toMatchObject({ error: null });
  });

  test("three each of two projects close the origin for all, and no other host", async () => {
    const site = sites.site({ "*": SHUT, "/": OPEN }, "www.downsite");
    const other = sites.site({ "/": OPEN }, "other.downsite");
    for (const project of ["hostile", "accomplice"] as const)
      for (const path of ["/a", "/b", "/c"]) await fetch(project, site.origin + path);
    expect(await fetch("victim", `${site.origin}/`)).toMatchObject({ error: "domain_unavailable" });
    expect(await fetch("victim", `${other.origin}/`)).toMatchObject({ error: null });
    expect(site.hits("/")).toBe(0);
  });

  test("the address that last succeeded, failing three times, closes the origin for all", async () => {
    let isDown = false;
    const site = sites.site(
      { "/robots.txt": { status: 404 }, "*": () => (isDown ? { status: 502 } : OPEN) },
      "www.fallen",
    );
    expect(await fetch("victim", `${site.origin}/page`)).toMatchObject({ error: null });
    isDown = true;
    for (let n = 0; n < 3; n++)
      expect(await fetch("hostile", `${site.origin}/page`)).toMatchObject({ error: "all_tiers_failed" });
    expect(await fetch("victim", `${site.origin}/page`)).toMatchObject({ error: "domain_unavailable" });
  });

  test("one 503 with Retry-After: 100000 of one host closes that host for 15 min, and no other of its domain", async () => {
    const evil = sites.site(
      { "/robots.txt": { status: 404 }, "*": { status: 503, headers: { "Retry-After": "100000" } } },
      "evil.shared",
    );
    const good = sites.site({ "*": OPEN, "/robots.txt": { status: 404 } }, "good.shared");
    await fetch("hostile", `${evil.origin}/`);
    const busy = await fetch("victim", `${evil.origin}/other`);
    expect(busy).toMatchObject({ http: 503, error: "domain_busy" });
    expect(busy.retry_after_s).toBeGreaterThan(890);
    expect(busy.retry_after_s).toBeLessThanOrEqual(901);
    for (const path of ["/a", "/b"])
      expect(await fetch("victim", good.origin + path)).toMatchObject({ http: 200, error: null });
    expect(evil.arrivals.map(({ path }) => path)).toEqual(["/robots.txt", "/"]);
    expect((await shown("shared.test")).slowed).toMatchObject([
      { origin: evil.origin, delay_ms: 0, paused_until: expect.any(String) },
    ]);
  });

  test("Crawl-delay: 30 of one host keeps requests to that host apart, and to no other of its domain", async () => {
    const robots: Page = { type: "text/plain", body: "User-agent: *\nCrawl-delay: 30" };
    const evil = sites.site({ "*": OPEN, "/robots.txt": robots }, "evil.slow");
    const good = sites.site({ "*": OPEN, "/robots.txt": { status: 404 } }, "good.slow");
    expect(await fetch("hostile", `${evil.origin}/`)).toMatchObject({ error: "domain_busy" });
    const pages = await Promise.all(
      Array.from({ length: 6 }, (_, n) => fetch("victim", `${good.origin}/${n}`)),
    );
    expect(pages.map(({ error }) => error)).toEqual(Array.from({ length: 6 }, () => null));
    expect(await fetch("victim", `${evil.origin}/`)).toMatchObject({ http: 503, error: "domain_busy" });
    expect(evil.hits("/")).toBe(0);
    // The delay of the domain holds for both hosts together.
    const starts = [...evil.arrivals, ...good.arrivals].map(({ at_ms }) => at_ms).toSorted((a, b) => a - b);
    expect(starts.at(-1)! - starts[0]!).toBeGreaterThan((starts.length - 1) * (DELAY_MS - 10));
  });

  test("items of a job for a closed host delay no items for another host of its domain", async () => {
    const evil = sites.site(
      { "/robots.txt": { status: 404 }, "*": { status: 503, headers: { "Retry-After": "100000" } } },
      "evil.items",
    );
    const paths = Array.from({ length: 6 }, (_, n) => `/${n}`);
    const good = sites.site({ "*": OPEN, "/robots.txt": { status: 404 } }, "good.items");
    await fetch("hostile", `${evil.origin}/`);
    const urls = paths.flatMap((path) => [evil.origin + path, good.origin + path]);
    const created = await service.call("POST", "/v1/batch/fetch", {
      key: keys.victim,
      body: { items: urls.map((url) => ({ url })), idempotency_key: `items ${sites.port}` },
    });
    expect(created.status).toBe(202);
    await Promise.all(paths.map((path) => good.reached(path)));
    expect(evil.arrivals.map(({ path }) => path)).toEqual(["/robots.txt", "/"]);
    await service.call("DELETE", `/v1/jobs/${created.json.job_id}`, { key: keys.victim });
  });

  test("callers that wait for a host which asked for a pause hold up nobody who asks for another", async () => {
    const slow = sites.site(
      {
        "*": OPEN,
        "/robots.txt": { status: 404 },
        "/wall": { status: 429, headers: { "Retry-After": "5" } },
      },
      "slow.queue",
    );
    const good = sites.site({ "*": OPEN, "/robots.txt": { status: 404 } }, "good.queue");
    await fetch("victim", `${good.origin}/first`);
    await fetch("hostile", `${slow.origin}/wall`, { tiers: ["direct"] });
    const held = Array.from({ length: 3 }, (_, n) => fetch("hostile", `${slow.origin}/held/${n}`));
    const page = await fetch("victim", `${good.origin}/page`);
    expect(page).toMatchObject({ error: null });
    expect(slow.arrivals.filter(({ path }) => path.startsWith("/held"))).toEqual([]);
    expect((await Promise.all(held)).map(({ error }) => error)).toEqual([null, null, null]);
    const [wall, first] = [slow.arrivals[1]!, slow.arrivals[2]!];
    expect(first.at_ms - wall.at_ms).toBeGreaterThanOrEqual(5_000 - TOLERANCE_MS);
  }, 40_000);
});

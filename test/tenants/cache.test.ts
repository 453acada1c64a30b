/**
 * The page cache keeps nothing of one project's request for another, where the origin's answer was no page for every caller:
 * a refusal with status 200, an answer that varies by what no cache key has, a part, a redirect to nowhere. Over HTTP.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, type Page } from "../harness/web.ts";

const DENIED: Page = {
  body: "<!doctype html><title>Access denied</title><h1>Access denied</h1><p>You have been blocked because of unusual traffic from your network.</p>",
};

describe.each(SETUPS)("the page cache between projects, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({ TRAWL_POLITE_DELAY_MS: "20" }));
  const keys = { first: "", second: "" };
  beforeAll(async () => {
    await createKeys(service, keys);
  });
  const fetch = (project: keyof typeof keys, body: FetchBody) =>
    service.fetch({ render: "never", allow_archive: false, ...body }, { key: keys[project] });

  test("a refusal with status 200 is a block, and the page is there for the next project", async () => {
    let isDenied = true;
    const site = sites.site({ "/": () => (isDenied ? DENIED : { body: article("Open") }) });
    const url = `${site.origin}/`;
    expect(await fetch("first", { url })).toMatchObject({
      error: "all_tiers_failed",
      status: 200,
      attempts: [{ tier: "direct", reason: "challenge_access_denied" }, { reason: "not_configured" }],
    });
    isDenied = false;
    expect(await fetch("second", { url })).toMatchObject({ error: null, cached: false, title: "Open" });
    expect(await fetch("first", { url })).toMatchObject({ error: null, cached: true, title: "Open" });
  });

  test("an article about refusals is a page", async () => {
    const body = article(
      "Access denied: what it means when you have been blocked because of unusual traffic",
    );
    const site = sites.site({ "/": { body } });
    expect(await fetch("first", { url: `${site.origin}/` })).toMatchObject({ error: null });
  });

  test("an answer with `Vary: *` matches no other request (RFC 9111, 4.1)", async () => {
    const site = sites.site({ "/": { body: article("For this request"), headers: { Vary: "Accept, *" } } });
    const url = `${site.origin}/`;
    for (const project of ["first", "second", "first"] as const)
      expect(await fetch(project, { url })).toMatchObject({ error: null, cached: false });
    expect(site.hits("/")).toBe(3);
  });

  const visitor = "v-4d1f0c9a7be2";
  const TOKEN = `<form><input type="hidden" name="csrf_token" value="77"></form>`;
  test.each<[string, Page, boolean]>([
    [
      "sets a cookie and varies by it",
      { headers: { "Set-Cookie": "a=1; Path=/", Vary: "Accept-Encoding, Cookie" } },
      false,
    ],
    ["sets a cookie that its text repeats", { headers: { "Set-Cookie": `id=${visitor}; Path=/` } }, false],
    [
      "sets a cookie beside a form token",
      { headers: { "Set-Cookie": "a=1" }, body: article("Mine") + TOKEN },
      false,
    ],
    [
      "sets a cookie that the page does not depend on",
      { headers: { "Set-Cookie": "lang=en; Expires=Wed, 21 Oct 2037 07:28:00 GMT" } },
      true,
    ],
    ["varies by a cookie that nobody has", { headers: { Vary: "Cookie" } }, true],
  ])("a page that %s", async (_, page, isShared) => {
    const site = sites.site({ "/": { body: article(`Mine ${visitor}`), ...page } });
    const url = `${site.origin}/`;
    expect(await fetch("first", { url })).toMatchObject({ error: null, cached: false });
    expect(await fetch("second", { url })).toMatchObject({ error: null, cached: isShared });
    // Each of the two has its own.
    for (const project of ["first", "second"] as const)
      expect(await fetch(project, { url })).toMatchObject({ error: null, cached: true });
    expect(site.hits("/")).toBe(isShared ? 1 : 2);
  });

  test("a page behind a redirect that varies by the cookie of the way is not shared", async () => {
    const site = sites.site({
      "/": { status: 302, headers: { Location: "/in", "Set-Cookie": "sid=0a1b2c3d4e5f; Path=/" } },
      "/in": ({ headers }) => ({ body: article(`For ${headers["cookie"]}`), headers: { Vary: "Cookie" } }),
    });
    const url = `${site.origin}/`;
    expect(await fetch("first", { url })).toMatchObject({ error: null, cached: false });
    expect(await fetch("second", { url })).toMatchObject({ error: null, cached: false });
  });

  test.each<[string, Page, string]>([
    [
      "a part that nobody asked for",
      { status: 206, headers: { "Content-Range": "bytes 0-100/99999" } },
      "http_206",
    ],
    ["a redirect without Location", { status: 302 }, "http_302"],
    ["a choice of pages", { status: 300 }, "http_300"],
  ])("%s is no success, and stays for nobody", async (_, page, error) => {
    const site = sites.site({ "/": { body: article("A part"), ...page } });
    const url = `${site.origin}/`;
    for (const project of ["first", "second"] as const)
      expect(await fetch(project, { url })).toMatchObject({ error, cached: false, status: page.status });
  });

  test("a refused port is named as what was refused", async () => {
    expect(await fetch("first", { url: "http://public.test:6379/" })).toMatchObject({
      error: "blocked_destination",
      error_detail: "Port 6379 is refused on every host: it belongs to another protocol than HTTP",
    });
  });
});

/** Archived pages as people see them: in a browser, without scripts, from this service alone, and of their project only. */
import { type Browser, chromium, type Page } from "playwright";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browsers } from "../harness/browser-harness.ts";
import { chromium_path } from "../harness/installed-browser.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const [, found] = browsers[0] ?? [];
const PIXEL = Buffer.from("R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=", "base64");

describe.each(SETUPS)("archived pages, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () =>
    chromium_path === null ? {} : { TRAWL_CHROMIUM_PATH: chromium_path },
  );

  const view = (url: string, more: { readonly key?: string; readonly timestamp?: string } = {}) =>
    service.call(
      "GET",
      `/v1/archive/view?${new URLSearchParams({ url, ...(more.timestamp && { timestamp: more.timestamp }) }).toString()}`,
      more.key === undefined ? {} : { key: more.key },
    );
  const open = (path: string) => service.call("GET", path, { key: null });

  test("are shown by a path that needs no key and is signed for an hour", async () => {
    const site = sites.site({
      "/": {
        type: "text/html; charset=iso-8859-1",
        body: Buffer.from(
          `<title>Home</title><script>document.title = "run"</script><p>Z\u00fcrich</p><a href="/next?a=1&amp;b=2">next</a> <a href="/never">x</a>`,
          "latin1",
        ),
      },
      "/next": { body: article("Next") },
      "/old": { status: 301, headers: { Location: "/next?a=1&b=2" } },
    });
    for (const path of ["/", "/old"])
      await service.fetch({ url: site.origin + path, archive: true, tiers: ["direct"] });
    const { status, json } = await view(`${site.origin}/`);
    expect([status, json.url]).toEqual([200, `${site.origin}/`]);
    expect(Date.parse(json.expires_at) - Date.now()).toBeLessThanOrEqual(3_600_000);
    const shown = await open(json.view_url);
    expect(shown.status).toBe(200);
    expect(shown.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(shown.headers["content-security-policy"]).toMatch(/^sandbox; default-src 'none';/);
    const html = shown.bytes.toString();
    expect(html).toContain("Z\u00fcrich");
    expect(html).not.toContain("script");
    // A link leads to another fetch's capture, through a redirect to its path.
    const link = /href="([^"]*next[^"]*)"/.exec(html)![1]!.replaceAll("&amp;", "&");
    const turned = await open(link);
    expect(turned.status).toBe(302);
    expect((await open(turned.headers["location"]!)).bytes.toString()).toContain("<h1>Next</h1>");
    const missing = await open(/href="([^"]*never)"/.exec(html)![1]!);
    expect([missing.status, site.hits("/never")]).toEqual([404, 0]);
    // A redirect of the same fetch.
    const old = await view(`${site.origin}/old`);
    const moved = await open(old.json.view_url);
    expect(moved.headers["location"]).toMatch(/\/next\?a=1&b=2$/);

    const [, , token, ...rest] = json.view_url.split("/") as string[];
    const forged = Buffer.from(JSON.stringify(["others", "a".repeat(64), 9_999_999_999])).toString(
      "base64url",
    );
    for (const wrong of [`${token}x`, `${forged}.${token!.split(".")[1]}`, "x", forged])
      expect((await open(["/replay", wrong, ...rest].join("/"))).status).toBe(404);
    expect((await open("/v1/archive/view?url=x")).status).toBe(401);
    expect(json.view_url).not.toContain(service.key);
  });

  test("of another project are not found", async () => {
    const site = sites.site({ "/": { body: article("Mine") } });
    await service.fetch({ url: `${site.origin}/`, archive: true, tiers: ["direct"] });
    await service.trawl("project", "create", "readers");
    const { key } = await service.trawl("key", "create", "--project", "readers");
    expect((await view(`${site.origin}/`, { key })).status).toBe(404);
    expect((await view(`${site.origin}/`)).status).toBe(200);
    expect((await view(`${site.origin}/`, { timestamp: "x" })).status).toBe(422);
  });

  describe.skipIf(!found || chromium_path === null)("in a browser (needs one)", () => {
    let browser: Browser | null = null;
    beforeAll(async () => {
      const { path, env } = await found!.ready();
      browser = await chromium.launch({ executablePath: path, env, args: ["--no-sandbox"] });
    });
    afterAll(async () => browser?.close());

    /** For looking at: SCREENSHOTS=<folder>. */
    async function look(page: Page): Promise<void> {
      const folder = process.env["SCREENSHOTS"];
      if (!folder) return;
      for (const [width, height] of [
        [375, 812],
        [1_440, 900],
      ] as const)
        for (const colorScheme of ["light", "dark"] as const) {
          await page.setViewportSize({ width, height });
          await page.emulateMedia({ colorScheme });
          await page.screenshot({ path: `${folder}/replay-${width}-${colorScheme}.png`, fullPage: true });
        }
    }

    test("are listed and shown as scripts had left them, with their files, and nothing leaves the service", async () => {
      const site = sites.site({
        "/": {
          body: `<title>Light</title><link rel="stylesheet" href="/s.css"><h1 id="h">raw</h1><img src="/i.gif" width="80" height="40"><p class="font">Harbour</p>
            <script>document.getElementById("h").textContent = "rendered"; fetch("/later")</script>`,
        },
        "/s.css": {
          type: "text/css",
          body: 'h1{color:rgb(1, 2, 3)}body{background:url("/bg.gif");font-family:sans-serif}',
        },
        "/i.gif": { type: "image/gif", body: PIXEL },
        "/bg.gif": { type: "image/gif", body: PIXEL },
        "/later": { body: "later" },
      });
      const fetched = await service.fetch({
        url: `${site.origin}/`,
        archive: true,
        tiers: ["browser"],
        formats: ["screenshot"],
      });
      expect(fetched.error).toBeNull();
      const before = site.arrivals.length;
      const page = await browser!.newPage();
      const left: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error") left.push(message.text());
      });
      page.on("request", (request) => {
        if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(service.url))
          left.push(request.url());
      });
      await page.goto(`${service.url}/replay`);
      await page.fill("#key", service.key);
      await page.fill("#find input", `${site.origin}/*`);
      await page.click("#find button");
      await page.getByRole("button", { name: "Show" }).first().click();
      const frame = page.frameLocator("#frame");
      await frame.locator("h1").waitFor();
      expect(await frame.locator("h1").textContent()).toBe("rendered");
      // Scripts are off in the frame, so that its state is read from outside.
      const shown = page.frames().find((each) => each.url().includes("/replay/"))!;
      expect(new URL(shown.url()).origin).toBe(service.url);
      const width = (): Promise<number | undefined> =>
        frame.locator("img").evaluate((image) => (image as { naturalWidth?: number }).naturalWidth);
      await expect.poll(width, { timeout: 10_000 }).toBe(1);
      const colour = await frame
        .locator("h1")
        .evaluate((heading) => (globalThis as any).getComputedStyle(heading).color);
      expect(colour).toBe("rgb(1, 2, 3)");
      await look(page);
      expect(left).toEqual([]);
      expect(site.arrivals.length).toBe(before);
      // No key stands in an address.
      expect(
        page
          .frames()
          .map((each) => each.url())
          .join(" "),
      ).not.toContain(service.key);
      await page.close();
    });
  });
});

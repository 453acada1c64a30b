/** The two pages of docs/api/fetch.md that direct does not get: one that a browser must run, one that only the archive has. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { browsers } from "../harness/browser-harness.ts";
import { scenario } from "../harness/scenario.ts";
import { client } from "../harness/jobs-client.ts";
import { SETUPS } from "../harness/service.ts";
import { type Arrival, article, type Page, prose, type Site } from "../harness/web.ts";

const TAKEN_MS = Date.now() - 40 * 24 * 3_600_000;
const COPY = new Date(TAKEN_MS).toISOString().replaceAll(/\D/g, "").slice(0, 14);
const SCRIPTED = `<!doctype html><title>Tides</title><div id="app"></div><script>
  document.getElementById("app").innerHTML = "<article><h1>Tides</h1><p>" + ${JSON.stringify(prose(12))} + "</p></article>";
</script>`;

// The service prefers the system's Chromium. Where there is one, npm's is tried too, by its path.
const npm = browsers.length > 1 ? browsers.find(([, { from }]) => from === "npm") : undefined;
const CASES = [
  ...SETUPS.map((shape) => ({ ...shape, browser: "a browser", chromium_path: "" })),
  ...(npm ? [{ ...SETUPS[0]!, browser: "npm's browser", chromium_path: (await npm[1].ready()).path }] : []),
];

describe.each(CASES)(
  "the ladder with $browser and an archive, $setup",
  ({ start, browser, chromium_path }) => {
    let archive: Site;
    const { sites, service } = scenario(start, (web) => {
      const listing = ({ path }: Arrival): Page => {
        const url = new URL(path, "http://any.example").searchParams.get("url")!;
        const header = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];
        const rows = url.includes("/page") ? [["k", COPY, url, "text/html", "200", "-", "1"]] : [];
        return { type: "application/json", body: JSON.stringify([header, ...rows]) };
      };
      const copy: Page = {
        headers: { "memento-datetime": new Date(TAKEN_MS).toUTCString() },
        body: article("Kept"),
      };
      archive = web.site({ "/cdx/search/cdx": listing, "*": copy }, "archive");
      const sandbox = { TRAWL_CHROMIUM_SANDBOX: browser.startsWith("npm") ? "off" : "auto" };
      return { TRAWL_ARCHIVE_URL: archive.origin, TRAWL_CHROMIUM_PATH: chromium_path, ...sandbox };
    });

    test("a page without text until its script has run comes from the browser", async () => {
      const site = sites.site({ "/": { body: SCRIPTED } });
      const fetched = await service.fetch({ url: `${site.origin}/`, timeout_s: 60 });
      expect(fetched).toMatchObject({
        error: null,
        status: 200,
        tier: "browser",
        title: "Tides",
        body_kind: "rendered_dom",
        attempts: [
          { tier: "direct", status: 200, reason: "thin_content" },
          { tier: "browser", status: 200, reason: "ok" },
        ],
      });
      expect(fetched.text).toContain("In the 12. year");
      const dom = await service.call("GET", fetched.body_url!);
      expect(dom.bytes.toString()).toContain("In the 12. year");
    }, 90_000);

    // Off for npm's browser; with the others it depends on the kernel.
    test("a browser without its sandbox is a warning of /ready, and no warning is about anything else", async () => {
      const { json } = await service.call("GET", "/ready", { key: null });
      const warnings: string[] = json.warnings ?? [];
      expect(warnings.filter((text) => !text.startsWith("The browser runs without its sandbox: "))).toEqual(
        [],
      );
      expect(warnings.some((text) => text.endsWith("TRAWL_CHROMIUM_SANDBOX is off"))).toBe(
        browser.startsWith("npm"),
      );
    });

    test("a page whose script needs two seconds is waited for", async () => {
      const late = SCRIPTED.replace("<script>", "<script>setTimeout(() => {").replace(
        "</script>",
        "}, 2_000)</script>",
      );
      const site = sites.site({ "/": { body: late } });
      const fetched = await service.fetch({ url: `${site.origin}/`, timeout_s: 60 });
      expect(fetched).toMatchObject({ error: null, tier: "browser", title: "Tides" });
      expect(fetched.text).toContain("In the 12. year");
    }, 90_000);

    test("a screenshot is stored as a body, also of a batch and from the cache", async () => {
      const site = sites.site({ "/": { body: SCRIPTED.replace('id="app"', 'id="app" class="late"') } });
      const request: FetchBody = {
        url: `${site.origin}/`,
        formats: ["screenshot", "markdown"],
        wait_for: { selector: ".late article" },
        timeout_s: 60,
      };
      const fetched = await service.fetch(request);
      expect(fetched).toMatchObject({
        error: null,
        cached: false,
        attempts: [{ tier: "browser", status: 200, reason: "ok" }],
        screenshot: { content_type: "image/png", width: 1280, height: 720, truncated: false },
      });
      expect(fetched.markdown).toContain("In the 12. year");
      const { body_url, sha256 } = fetched.screenshot!;
      const picture = await service.call("GET", body_url);
      const { "content-type": type, "x-body-kind": kind } = picture.headers;
      expect([picture.status, type, kind]).toEqual([200, "image/png", "screenshot"]);
      expect(createHash("sha256").update(picture.bytes).digest("hex")).toBe(sha256);
      expect(picture.bytes.subarray(1, 4).toString()).toBe("PNG");
      const again = await service.fetch(request);
      expect([again.cached, again.screenshot]).toEqual([true, fetched.screenshot]);
      const jobs = client(service);
      const { job_id } = (await jobs.create([request])).json;
      await jobs.finished(job_id);
      const [item] = await jobs.items(job_id);
      expect(item!.result).toMatchObject({ cached: true, screenshot: fetched.screenshot });
      expect(site.hits("/")).toBe(1);
    }, 90_000);

    test("a selector that is none is refused with its place, single and in a batch", async () => {
      const request: FetchBody = { url: "http://any.test/", wait_for: { selector: "div[" } };
      const mistake = { type: "value_error", msg: expect.stringContaining("should be a CSS selector") };
      for (const [path, body, loc] of [
        ["/v1/fetch", request, ["body"]],
        ["/v1/batch/fetch", { items: [request], idempotency_key: "s" }, ["body", "items", 0]],
      ] as const) {
        const { status, json } = await service.call("POST", path, { body });
        expect([status, json.detail]).toEqual([422, [{ ...mistake, loc: [...loc, "wait_for", "selector"] }]]);
      }
    });

    test("a page that answers 403, to the browser as well, comes from the archive", async () => {
      const site = sites.site({ "/page": { status: 403, body: article("No") } });
      const fetched = await service.fetch({ url: `${site.origin}/page`, timeout_s: 60 });
      expect(fetched).toMatchObject({
        error: null,
        status: 200,
        tier: "archive",
        title: "Kept",
        archived_at: new Date(Math.floor(TAKEN_MS / 1_000) * 1_000).toISOString(),
        served_from_archive_because: null,
        attempts: [
          { tier: "direct", status: 403, reason: "http_403" },
          { tier: "browser", status: 403, reason: "http_403" },
          { tier: "archive", status: 200, reason: "ok" },
        ],
      });
    }, 90_000);
  },
);

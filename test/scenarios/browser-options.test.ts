/** Options of a page in a browser as clients see them: the window, what is not loaded; single, as items of a job, from the cache, with mistakes. */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { browsers } from "../harness/browser-harness.ts";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { prose } from "../harness/web.ts";

const [, chromium] = browsers[0] ?? [];
const { path } = (await chromium?.ready()) ?? { path: null };
const hasBrowser = path !== null && existsSync(path);

const WIDE = `<title>Window</title><meta name=viewport content="width=device-width"><link rel=stylesheet href=/a.css>
  <p>${prose(12)}</p><script>document.title = innerWidth + " × " + innerHeight</script>`;
const pages = { "/": { body: WIDE }, "/a.css": { type: "text/css", body: "" } };

describe.runIf(hasBrowser).each(SETUPS)("options of a browser, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({ TRAWL_CHROMIUM_PATH: path! }));

  test("choose the window, take the browser, and have pages of the cache of their own", async () => {
    const site = sites.site(pages);
    const url = `${site.origin}/`;
    const plain = await service.fetch({ url });
    expect([plain.tier, plain.title]).toEqual(["direct", "Window"]);
    const phone: FetchBody = { url, device: "mobile" };
    expect(await service.fetch(phone)).toMatchObject({ tier: "browser", title: "412 × 915", cached: false });
    expect(await service.fetch(phone)).toMatchObject({ title: "412 × 915", cached: true });
    const wide: FetchBody = { url, viewport: { width: 1920, height: 1080 } };
    expect(await service.fetch(wide)).toMatchObject({ title: "1920 × 1080", cached: false });
    expect(await service.fetch({ ...phone, tiers: ["direct"] })).toMatchObject({ error: "no_tier_allowed" });
  });

  test("block what is loaded, also for an item of a job, and say nothing on a route without a browser", async () => {
    const site = sites.site(pages);
    const url = `${site.origin}/`;
    const blocked = { block_resources: ["stylesheet", "image"] } satisfies Partial<FetchBody>;
    expect(await service.fetch({ url, ...blocked })).toMatchObject({ tier: "direct", error: null });
    const jobs = client(service);
    const items: FetchBody[] = [
      { url, render: "always", ...blocked },
      { url, render: "always" },
    ];
    const { json: job } = await jobs.create(items);
    await jobs.finished(job.job_id);
    const { json } = await service.call("GET", `/v1/jobs/${job.job_id}?include=items`);
    expect(json.items.map(({ result }: { result: { tier: string } }) => result.tier)).toEqual([
      "browser",
      "browser",
    ]);
    expect(site.hits("/a.css")).toBe(1);
  });

  test.each<[Record<string, unknown>, readonly (string | number)[]]>([
    [{ device: "tablet" }, ["body", "device"]],
    [{ viewport: { width: 100, height: 720 } }, ["body", "viewport", "width"]],
    [{ viewport: { width: 800 } }, ["body", "viewport", "height"]],
    [{ block_resources: ["images"] }, ["body", "block_resources", 0]],
  ])("are refused with the name of the field: %j", async (options, loc) => {
    const { status, json } = await service.call("POST", "/v1/fetch", {
      body: { url: "http://www.shop.test/", ...options },
    });
    expect([status, json.detail[0].loc]).toEqual([422, loc]);
  });
});

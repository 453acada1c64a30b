/** Nodes that only send for workers: one that renders (TRAWL_ROLES=browser), one with other addresses (TRAWL_ROLES=proxy). */
import { MAX_INLINE_BYTES } from "../../cluster/role-wire.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findChromium } from "../../actors/crawl/tiers/adapters/chromium.ts";
import type { FetchBody, FetchResponse } from "../../schemas/fetch.ts";
import { type ClusterOf, clusterOf } from "../harness/cluster-of.ts";
import { engines } from "../harness/engines.ts";
import { prose, type Web, web } from "../harness/web.ts";

const found = await engines("bus", "documents", "blobs");
// A Chromium of the system only: each node would unpack one of its own.
const missing =
  Object.values(found).includes(null) || findChromium({ path: null, folder: "" })?.from === "npm";

/** A page that is empty until its script has run. */
const scripted = (sentences: number): string =>
  `<!doctype html><html><head><title>Scripted</title></head><body><div id="app"></div><script>
    document.getElementById("app").innerHTML = "<article><h1>Scripted</h1><p>" + ${JSON.stringify(prose(sentences))} + "</p></article>";
  </script></body></html>`;

describe.skipIf(missing)("a node with the role browser or proxy", () => {
  let sites: Web;
  let cluster: ClusterOf;
  beforeAll(async () => {
    sites = await web();
    cluster = (await clusterOf(["gateway", "worker", "browser", "proxy"], {
      environment: {
        TRAWL_DNS_SERVERS: sites.dns,
        TRAWL_POLITE_DELAY_MS: "20",
        TRAWL_STATUS_PERIOD_S: "2",
        TRAWL_CHROMIUM_PATH: "",
      },
    }))!;
    await cluster.settled();
  });
  afterAll(async () => {
    await cluster?.close();
    await sites?.close();
  });

  /** Resolves when the other nodes know that this one drains. */
  async function draining(name: string): Promise<void> {
    const report = async () =>
      (await cluster.nodeDirectory.nodes(300)).find(({ node }) => node === name)?.draining;
    await expect.poll(report).toBe(true);
  }

  const fetch = async (body: FetchBody): Promise<FetchResponse> =>
    (await cluster.call("POST", "/v1/fetch", body)).json;

  /** The public status of browsers. */
  const shown = async (): Promise<string> => {
    const { components } = (await cluster.call("GET", "/v1/status")).json;
    const browsers = components.find(({ id }: { id: string }) => id === "browser_rendering");
    return browsers ? [browsers.status, ...browsers.reasons].join(" ") : "absent";
  };
  // A report counts for four rounds.
  const drawn = { timeout: 110_000, interval: 500 };

  test.each([
    ["a page", 20],
    ["a page of more than a message", 4_000],
  ])(
    "renders %s for a worker without a browser, under the worker's rules",
    async (_, sentences) => {
      const site = sites.site({ "*": { body: scripted(sentences) } });
      const answer = await fetch({ url: `${site.origin}/` });
      expect(answer).toMatchObject({ error: null, tier: "browser", body_kind: "rendered_dom" });
      expect(answer.text).toContain(`In the ${sentences}. year`);
      expect(site.hits("/robots.txt")).toBe(1);
      // Once by each route, one delay apart.
      const visits = site.arrivals.filter(({ path }) => path === "/");
      expect(visits).toHaveLength(2);
      expect(visits[1]!.at_ms - visits[0]!.at_ms).toBeGreaterThan(15);
    },
    90_000,
  );

  test("takes a screenshot of more than a message for a worker without a browser", async () => {
    const noise = '<filter id="noise"><feTurbulence baseFrequency="0.9"/></filter>';
    const svg = `<svg width="1200" height="600">${noise}<rect width="1200" height="600" filter="url(#noise)"/></svg>`;
    const site = sites.site({ "*": { body: svg } });
    const request: FetchBody = { url: `${site.origin}/`, formats: ["screenshot"] };
    const { error, screenshot } = await fetch({ ...request, screenshot_options: { full_page: true } });
    expect([error, screenshot]).toMatchObject([null, { width: 1280, truncated: false }]);
    const body = await globalThis.fetch(`${cluster.url}${screenshot!.body_url}`, {
      headers: { authorization: `Bearer ${cluster.key}` },
    });
    expect((await body.arrayBuffer()).byteLength).toBeGreaterThan(MAX_INLINE_BYTES);
  });

  test("gets no task for a page that robots.txt disallows", async () => {
    const forbidden = { type: "text/plain", body: "User-agent: *\nDisallow: /" };
    const site = sites.site({ "*": { body: scripted(20) }, "/robots.txt": forbidden });
    expect(await fetch({ url: `${site.origin}/`, tiers: ["browser"] })).toMatchObject({
      error: "robots_disallowed",
    });
    expect(site.hits("/")).toBe(0);
  });

  test("that only sends is asked under the worker's rules", async () => {
    const site = sites.site({ "*": { body: `<p>${prose(30)}</p>` } });
    const answer = await fetch({ url: `${site.origin}/`, tiers: ["proxy"] });
    expect(answer).toMatchObject({ error: null, tier: "proxy" });
    expect(site.arrivals.map(({ path }) => path)).toEqual(["/robots.txt", "/"]);
  });

  test("goes on when the gateway that asked is killed: the site is asked once, and no place stays taken", async () => {
    const answered = Promise.withResolvers<{ body: string }>();
    const site = sites.site({ "*": () => answered.promise, "/robots.txt": { status: 404 } });
    const body: FetchBody = { url: `${site.origin}/`, tiers: ["proxy"] };
    const broken = fetch(body).then(
      () => "answered",
      () => "broken",
    );
    await site.reached("/");
    await cluster.nodes[0]!.kill();
    expect(await broken).toBe("broken");
    await cluster.add("gateway");
    answered.resolve({ body: `<p>${prose(30)}</p>` });
    const { json } = await cluster.insist("POST", "/v1/fetch", body);
    expect(json).toMatchObject({ error: null, tier: "proxy" });
    expect(site.hits("/")).toBe(1);
    const inUse = async () =>
      (await cluster.nodeDirectory.nodes(300)).flatMap(({ tiers }) => tiers.map(({ in_use }) => in_use));
    await expect.poll(inUse).toSatisfy((calls: number[]) => calls.every((count) => count === 0));
  });

  test("that is killed in the middle of a render leaves the page to the other routes", async () => {
    const [, , browser] = cluster.nodes;
    await expect.poll(shown, drawn).toBe("operational");
    let visits = 0;
    const site = sites.site({
      "*": () => (visits++ === 0 ? { body: scripted(20) } : new Promise(() => {})),
      "/robots.txt": { status: 404 },
    });
    const answer = fetch({ url: `${site.origin}/` });
    await site.reached("/", 2);
    await browser!.kill();
    expect(await answer).toMatchObject({ error: null, tier: "direct" });
    expect((await answer).attempts.map(({ tier, reason }) => [tier, reason])).toEqual([
      ["direct", "thin_content"],
      ["browser", "browser_lost"],
    ]);
  });

  test("that is the only proxy and drains ends its request, and then the route is not there, without a wait", async () => {
    const answered = Promise.withResolvers<{ body: string }>();
    const site = sites.site({ "*": () => answered.promise, "/robots.txt": { status: 404 } });
    const body: FetchBody = { url: `${site.origin}/`, tiers: ["proxy"] };
    const answer = fetch(body);
    await site.reached("/");
    const stopped = cluster.nodes[3]!.stop();
    await draining(cluster.nodes[3]!.name);
    answered.resolve({ body: `<p>${prose(30)}</p>` });
    expect(await answer).toMatchObject({ error: null, tier: "proxy" });
    expect(await stopped).toBe(0);
    const other = sites.site({ "*": { body: `<p>${prose(30)}</p>` } });
    const began = performance.now();
    expect(await fetch({ url: `${other.origin}/`, tiers: ["proxy"] })).toMatchObject({
      error: "all_tiers_failed",
      cost_usd: 0,
      attempts: [{ tier: "proxy", reason: "not_configured" }],
    });
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test("that is killed in the middle of a request fails it at once, for nothing, and the ladder goes on", async () => {
    const proxy = await cluster.add("proxy");
    const site = sites.site({ "*": () => new Promise(() => {}), "/robots.txt": { status: 404 } });
    const began = performance.now();
    const answer = fetch({ url: `${site.origin}/`, tiers: ["proxy"], timeout_s: 60 });
    await site.reached("/");
    await proxy.kill();
    expect(await answer).toMatchObject({ error: "all_tiers_failed", cost_usd: 0 });
    expect((await answer).attempts.map(({ tier, reason }) => [tier, reason])).toEqual([
      ["proxy", "proxy_lost"],
    ]);
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(site.hits("/")).toBe(1);
  });

  test("that was killed is an outage of the public status until the next one joins, where it was the only one", async () => {
    await expect.poll(shown, drawn).toBe("major_outage no_workers");
    await cluster.add("browser");
    await expect.poll(shown, drawn).toBe("operational");
  }, 240_000);

  test("that drains ends the page it renders, and then the route is browser_unavailable without a wait", async () => {
    const browser = cluster.nodes.find((node) => node.roles === "browser" && node.isRunning())!;
    const answered = Promise.withResolvers<{ body: string }>();
    const slow = sites.site({ "*": () => answered.promise, "/robots.txt": { status: 404 } });
    const rendered = fetch({ url: `${slow.origin}/`, tiers: ["browser"] });
    await slow.reached("/");
    const stopped = browser.stop();
    await draining(browser.name);
    answered.resolve({ body: scripted(20) });
    expect(await rendered).toMatchObject({ error: null, tier: "browser" });
    expect(await stopped).toBe(0);
    const site = sites.site({ "*": { body: scripted(20) } });
    const began = performance.now();
    const answer = await fetch({ url: `${site.origin}/` });
    expect(answer.attempts.map(({ tier, reason }) => [tier, reason])).toContainEqual([
      "browser",
      "browser_unavailable",
    ]);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test("is done with when the gateway that asked drains: it answers, and then it stops", async () => {
    const gateway = cluster.nodes.find((node) => node.roles === "gateway" && node.isRunning())!;
    const answered = Promise.withResolvers<{ body: string }>();
    const site = sites.site({ "*": () => answered.promise, "/robots.txt": { status: 404 } });
    const answer = fetch({ url: `${site.origin}/`, tiers: ["direct"] });
    await site.reached("/");
    const stopped = gateway.stop();
    await draining(gateway.name);
    answered.resolve({ body: `<p>${prose(30)}</p>` });
    expect(await answer).toMatchObject({ error: null, tier: "direct" });
    expect(await stopped).toBe(0);
  });
});

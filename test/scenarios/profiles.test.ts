/** Company profiles over a local site on two domains, through a real forward proxy and a small rendering service. */
import { afterAll, describe, expect, test } from "vitest";
import { findProgram } from "../harness/programs.ts";
import { profileSite, type ProfileSite } from "../harness/profile-site.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";

const NAME = "Kranwerk Muster GmbH";
const PATH = "/Kranwerk+Muster+GmbH,+Musterstadt/HRB+12345";

describe.skipIf(findProgram("tinyproxy") === null).each(SETUPS)("profiles, $setup", ({ start }) => {
  let site: ProfileSite | null = null;
  const { service } = scenario(start, async (web) => ({
    ...(site = await profileSite(web))!.environment,
    TRAWL_REQUEST_AUDIT: "on",
  }));
  afterAll(() => site?.close());
  const post = async (path: string, body: object) => (await service.call("POST", path, { body })).json;
  const arrivals = () => site!.sites.flatMap((one) => one.arrivals).toSorted((a, b) => a.at_ms - b.at_ms);

  test("a profile is discovered by name, cached, and was asked for through the proxy only", async () => {
    const answer = await post("/v1/profiles/profile", {
      company_name: NAME,
      country: "Germany",
      session_key: "s1",
    });
    expect(answer).toMatchObject({
      op: "profile",
      error: null,
      graph_error: null,
      cost_usd: 0.006,
      billing_category: "profiles",
      discovery: {
        url: `${site!.sites[0].origin}${PATH}`,
        discovery_method: "suggest",
        name_similarity: 100,
      },
      fetch: {
        tier: "proxy",
        cached: false,
        body_kind: "origin",
        parser_version: "4",
        attempts: [{ reason: "ok" }],
      },
      profile: {
        name: NAME,
        legal_form: "GmbH",
        register_id: "HRB 12345",
        court: "Amtsgericht Musterstadt",
        status: "Active",
        officers: [
          { name: "Ada Erfunden", current: false },
          { name: "Wilma Erfunden", role: "person" },
        ],
        related: [
          { name: "Nordkran AG", relation: "control" },
          { name: "Polarstern Beteiligungs AG", relation: "related" },
        ],
        network_graph: { source: "data.json" },
      },
    });
    const seen = arrivals();
    expect(seen.map(({ path }) => path.split("?")[0])).toEqual([
      "/robots.txt",
      "/suggest.json",
      PATH,
      "/data.json",
    ]);
    expect(seen.every(({ headers }) => headers["via"]?.includes("tinyproxy"))).toBe(true);
    expect(new Set(seen.slice(1).map(({ headers }) => headers["user-agent"])).size).toBe(1);

    const again = await post("/v1/profiles/profile", { company_name: NAME, country: "DE" });
    expect(again).toMatchObject({
      error: null,
      cost_usd: 0,
      billing_category: "profiles_cached",
      fetch: { cached: true },
    });
    expect(again.profile).toEqual(answer.profile);
    const { bytes } = await service.call("GET", answer.fetch.body_url);
    expect(bytes.toString()).toContain("<!doctype html>");
    expect(arrivals().length).toBe(seen.length);
  }, 60_000);

  test("what the proxy is refused comes from the rendering service, on the other domain under the same limit", async () => {
    const url = `${site!.sites[1].origin}/Klippe+Probe+AG,+Zug/CHE-123.456.789`;
    expect(await post("/v1/profiles/profile", { url })).toMatchObject({
      error: null,
      graph_error: "no_entity_id",
      fetch: {
        tier: "proxy_render",
        body_kind: "rendered_dom",
        attempts: [
          { tier: "proxy", reason: "challenge_cloudflare" },
          { tier: "proxy_render", reason: "ok", detail: "low" },
        ],
      },
      profile: { status: "Liquidation", path_country: "CH", fetch_tier: "web_render" },
    });
  }, 60_000);

  test("POST /v1/fetch of the site takes the same routes", async () => {
    const url = `${site!.sites[0].origin}${PATH}`;
    expect(await service.fetch({ url, allow_paid: false })).toMatchObject({
      error: "premium_route_required",
      tier: null,
    });
    expect(await service.fetch({ url, tiers: ["direct", "browser"] })).toMatchObject({
      error: "premium_route_required",
    });
    const fetched = await service.fetch({ url, tiers: ["proxy_render"] });
    expect(fetched).toMatchObject({
      error: null,
      tier: "proxy_render",
      billing_category: "fetch_paid",
      cost_usd: 0.005,
    });
    expect(fetched.text).toContain("Kranen");
    expect(await service.fetch({ url: `${site!.sites[0].origin}/Verboten` })).toMatchObject({
      error: "robots_disallowed",
    });
  }, 60_000);

  test("a batch takes every operation, and refuses an item that lacks a field", async () => {
    const items = [
      { company_name: NAME, country: "DE" },
      { op: "suggest", query: "Klippe" },
      { op: "graph", entity_id: "9000000001" },
      { op: "profile", url: "https://elsewhere.example/x" },
    ];
    const wrong = await service.call("POST", "/v1/batch/profiles", {
      body: { idempotency_key: "wrong", items: [...items, { op: "graph" }] },
    });
    expect(wrong.status).toBe(422);
    expect(wrong.json.detail[0].loc).toEqual(["body", "items", 4, "entity_id"]);
    const { job_id } = await post("/v1/batch/profiles", { idempotency_key: "right", items });
    await expect
      .poll(async () => (await service.call("GET", `/v1/jobs/${job_id}`)).json.status, { timeout: 40_000 })
      .toBe("completed");
    const job = (await service.call("GET", `/v1/jobs/${job_id}?include=items`)).json;
    expect(job.items.map(({ error, result }: any) => [error, result.op, result.billing_category])).toEqual([
      [null, "profile", "profiles_cached"],
      [null, "suggest", "profiles"],
      [null, "graph", "profiles_cached"],
      ["invalid_identifier", "profile", "profiles"],
    ]);
  }, 60_000);

  test("all of it at most two at once and a second apart, nothing from the service's own addresses", async () => {
    const seen = arrivals();
    expect(site!.in_hand.most).toBeLessThanOrEqual(2);
    expect(
      seen.every(({ headers }) => headers["via"] !== undefined || headers["x-rendered-by"] !== undefined),
    ).toBe(true);
    // When they left: on the way to the site a busy machine may bring two of them closer.
    const audited = async () => (await service.trawl("audit", "politeness")).domains[0];
    await expect
      .poll(async () => (await audited()).requests, { timeout: 30_000 })
      .toBeGreaterThanOrEqual(seen.length);
    expect(await audited()).toMatchObject({
      domain: site!.sites[0].host,
      required_delay_ms: 1_000,
      violations: [],
    });
  }, 60_000);
});

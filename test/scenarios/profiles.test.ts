/** Company profiles over a local site on two domains, through a real forward proxy and a small rendering service. */
import { afterAll, describe, expect, test } from "vitest";
import { findProgram } from "../harness/programs.ts";
import { type Gleif, gleif, leiOf } from "../harness/gleif.ts";
import { client } from "../harness/jobs-client.ts";
import { COMPANIES, profileSite, type ProfileSite } from "../harness/profile-site.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";

const NAME = "Kranwerk Muster GmbH";
const PATH = "/Kranwerk+Muster+GmbH,+Musterstadt/HRB+12345";
/** A company that GLEIF and the profile site know. */
const LEI = leiOf("9999000STADTWERK01");
const REGISTERED = {
  "/Stadtwerk+Muster+GmbH,+Hamburg/Amtsgericht+Hamburg+HRB+12345": {
    name: "Stadtwerk Muster GmbH",
    city: "Hamburg",
    register: "Amtsgericht Hamburg HRB 12345",
    entity_id: "9000000077",
    identifiers: [["Lei", "Global Legal Entity Identifier Foundation", LEI]],
    people: [{ type: "p", desc: "01.04.2019 Geschäftsführer Wilma Erfunden" }],
  },
} as const;

describe.skipIf(findProgram("tinyproxy") === null).each(SETUPS)("profiles, $setup", ({ start }) => {
  let site: ProfileSite | null = null;
  let leis: Gleif | null = null;
  const { service } = scenario(start, async (web) => ({
    ...(site = await profileSite(web, { ...COMPANIES, ...REGISTERED }))!.environment,
    TRAWL_GLEIF_URL: (leis = await gleif()).url,
    TRAWL_COMPANY_PROFILES: "named",
    TRAWL_REQUEST_AUDIT: "on",
  }));
  afterAll(async () => {
    await site?.close();
    await leis?.close();
  });
  const post = async (path: string, body: object) => (await service.call("POST", path, { body })).json;
  const arrivals = () => site!.sites.flatMap((one) => one.arrivals).toSorted((a, b) => a.at_ms - b.at_ms);

  test("a profile is discovered by name, cached, and was asked for through the proxy only", async () => {
    const answer = await post("/v1/profiles/profile", {
      company_name: NAME,
      country: "Germany",
      session_key: "3f2a9c04-7d51-4e0b-8a66-0c5d1e2f3a4b",
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
  });

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
  });

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
  });

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
  });

  test("batch items of a fetch take the same routes", async () => {
    const jobs = client(service);
    const url = `${site!.sites[0].origin}${PATH}`;
    const { json } = await jobs.create([
      { url, cache_ttl_s: 0 },
      { url, cache_ttl_s: 0, allow_paid: false },
      { url: `${site!.sites[1].origin}/Verboten` },
    ]);
    await jobs.finished(json.job_id);
    const items = await jobs.items(json.job_id);
    // Whether the proxy is left out at the moment depends on how many requests there were.
    expect(items.map(({ error, result }: any) => [error, result.tier, result.cost_usd])).toEqual([
      [null, expect.stringMatching(/^proxy/), expect.toSatisfy((cost: number) => cost > 0)],
      ["premium_route_required", null, 0],
      ["robots_disallowed", null, 0],
    ]);
  });

  test("a key without paid fetches is answered from the cache only", async () => {
    const { key } = await service.trawl("key", "create", "--project", "default", "--no-paid");
    const ask = async (path: string, body: object) => (await service.call("POST", path, { body, key })).json;
    const [{ arrivals: com }, url] = [site!.sites[0], `${site!.sites[0].origin}${PATH}`];
    const before = com.length;
    expect(await ask("/v1/profiles/profile", { url, include_graph: false })).toMatchObject({
      error: null,
      billing_category: "profiles_cached",
    });
    expect(await ask("/v1/profiles/profile", { url, cache_ttl_s: 0 })).toMatchObject({
      error: "paid_tier_required",
      cost_usd: 0,
    });
    expect(await ask("/v1/fetch", { url, cache_ttl_s: 0 })).toMatchObject({
      error: "premium_route_required",
    });
    for (const [path, error] of [
      ["profiles", "paid_tier_required"],
      ["fetch", "premium_route_required"],
    ] as const) {
      const items = [{ url, cache_ttl_s: 0 }];
      const { job_id } = await ask(`/v1/batch/${path}`, { idempotency_key: `unpaid ${path}`, items });
      const jobs = client(service);
      await jobs.finished(job_id);
      expect((await jobs.items(job_id)).map((item) => item.error)).toEqual([error]);
    }
    expect(com.length).toBe(before);
  });

  test("nothing is asked once the budget is used up, by a fetch neither", async () => {
    const before = arrivals().length;
    await service.trawl("project", "budget", "default", "0.001");
    const url = `${site!.sites[0].origin}${PATH}`;
    const exhausted = { error: "budget_exhausted", cost_usd: 0 };
    await expect
      .poll(() => service.fetch({ url, cache_ttl_s: 0 }), { timeout: 20_000 })
      .toMatchObject(exhausted);
    expect(await post("/v1/profiles/profile", { url, cache_ttl_s: 0 })).toMatchObject(exhausted);
    const spent = arrivals().length;
    expect(await post("/v1/profiles/suggest", { query: "Nobody has asked this" })).toMatchObject(exhausted);
    expect(arrivals().length).toBe(spent);
    await service.trawl("project", "budget", "default", "none");
    await expect
      .poll(() => service.fetch({ url, cache_ttl_s: 0 }), { timeout: 20_000 })
      .toMatchObject({ error: null });
    expect(arrivals().length).toBeGreaterThan(before);
  });

  test("the site is a source of the company register, which the caller names and pays for", async () => {
    leis!.companies.set(LEI, { lei: LEI, name: "Stadtwerk Muster GmbH", city: "Hamburg", country: "DE" });
    const get = async (query: string) => (await service.call("GET", `/v1/companies/lei:${LEI}${query}`)).json;
    const before = arrivals().length;
    const plain = await get("");
    expect(plain.refresh.map(({ source }: { source: string }) => source)).not.toContain("northdata");
    expect(arrivals().length).toBe(before);
    const named = await get("?sources=northdata&include=people");
    expect(named).toMatchObject({
      id: plain.id,
      names: { legal: "Stadtwerk Muster GmbH" },
      people: [{ party: { name: "Wilma Erfunden" }, role: { group: "management" } }],
      web: { profiles: [{ site: "northdata" }] },
      provenance: { "names.legal": { source: "gleif" } },
    });
    expect(named.identifiers).toContainEqual(
      expect.objectContaining({ scheme: "de_hrb", value: "K1101R.HRB12345" }),
    );
    const rows = (await service.call("GET", "/v1/requests?category=company&limit=2")).json.items;
    expect(rows.map(({ cost_usd, paid }: any) => [Number(cost_usd) > 0, paid])).toEqual([
      [true, true],
      [false, false],
    ]);
    const { components } = (await service.call("GET", "/v1/status")).json;
    expect(components).toContainEqual(
      expect.objectContaining({ id: "company_northdata", status: "operational" }),
    );
  });

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
  });
});

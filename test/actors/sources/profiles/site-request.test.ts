/** How the profile site is asked: paid routes, their skips, robots.txt, the cache and politeness. */
import { describe, expect, test } from "vitest";
import type { Spending } from "../../../../actors/crawl/fetch/premium.ts";
import { pageDigest } from "../../../../actors/sources/profiles/site-request.ts";
import {
  ProfilePage,
  type ProfilePageRequest,
  type StoredProfilePage,
} from "../../../../schemas/profiles.ts";
import { inventedGraph, profilePage } from "../../../harness/profile-pages.ts";
import { broken, HOSTS, page, type Play, profilesWorld, SITE } from "../../../harness/profiles-harness.ts";
import { CHALLENGE } from "../../../harness/web.ts";

const PATH = "/Kranwerk+Muster+GmbH,+Musterstadt/HRB+12345";
const PROFILE_URL = `${SITE}${PATH}`;
const BODY = profilePage({ name: "Kranwerk Muster GmbH", city: "Musterstadt", token: "t1" });
const WALL = '<form action="/_login"><input type="password"></form>';
const DAY_MS = 86_400_000;

/** A site that has the one company. */
const site: Play = ({ url }) => {
  const { pathname } = new URL(url);
  if (pathname === "/suggest.json")
    return page({ results: [{ name: "Kranwerk Muster GmbH", url: PATH, type: "company" }] });
  if (pathname === "/data.json") return page(inventedGraph("Kranwerk Muster GmbH"));
  return page(BODY, { url });
};
const profile = { url: PROFILE_URL, include_graph: false };
const refused: Play = () => page(CHALLENGE.body!, { status: 403, headers: { "cf-mitigated": "challenge" } });
const reasons = (
  fetch: { readonly attempts: readonly { readonly tier: string; readonly reason: string }[] } | null,
) => fetch?.attempts.map(({ tier, reason }) => `${tier} ${reason}`);

describe("routes", () => {
  test("the proxy is asked first, and one with the caller's exit and country", async () => {
    const { run, sent } = profilesWorld({ proxy: site, proxy_render: site });
    const answer = await run("profile", { ...profile, session_key: "batch7", country: "Deutschland" });
    expect(answer).toMatchObject({ error: null, cost_usd: 0.002, billing_category: "profiles" });
    expect(reasons(answer.fetch)).toEqual(["proxy ok"]);
    expect(sent.map(({ request }) => [request.session, request.country])).toEqual([["batch7", "DE"]]);
    expect(answer.profile).toMatchObject({
      name: "Kranwerk Muster GmbH",
      legal_form: "GmbH",
      fetch_tier: "proxy",
    });
  });

  test("a session key with dashes names an exit, and adds nothing to the proxy's user name", async () => {
    const { run, sent } = profilesWorld({ proxy: site, proxy_render: site });
    const session_key = "3f2a9c04-7d51-4e0b-8a66-0c5d1e2f3a4b";
    await run("profile", { ...profile, session_key });
    expect(sent.map(({ request }) => request.session)).toEqual(["3f2a9c04_7d51_4e0b_8a66_0c5d1e2f3a4b"]);
  });

  test.each([
    ["a challenge", refused, "challenge_cloudflare"],
    ["403", () => page("No", { status: 403 }), "http_403"],
    ["451", () => page("No", { status: 451 }), "http_451"],
    ["503", () => page("Later", { status: 503 }), "http_503"],
    ["a thin page", () => page("<main>Wait</main>"), "thin_content"],
    ["a broken proxy", () => broken("proxy_unreachable"), "proxy_unreachable"],
  ] as [string, Play, string][])("the rendering service is asked after %s", async (_, proxy, reason) => {
    const { run } = profilesWorld({ proxy, proxy_render: site });
    const answer = await run("profile", profile);
    expect(answer).toMatchObject({ error: null, profile: { fetch_tier: "web_render" } });
    expect(reasons(answer.fetch)).toEqual([`proxy ${reason}`, "proxy_render ok"]);
  });

  test.each([
    ["404", () => page("No", { status: 404 }), "not_found"],
    ["410", () => page("No", { status: 410 }), "not_found"],
    ["a list of results", () => page(`<title>Suche nach "x"</title><p>${"x ".repeat(300)}`), "not_found"],
    ["a page that is no profile", () => page(`<h1>Cranes</h1><p>${"x ".repeat(300)}`), "parse_failed"],
    ["a log-in", () => page(WALL), "blocked"],
  ] as [string, Play, string][])("%s over the proxy is the site's last word", async (_, proxy, error) => {
    const { run, sent, documents } = profilesWorld({ proxy, proxy_render: site });
    const answer = await run("profile", profile);
    expect(answer).toMatchObject({ error, profile: null });
    expect(sent.length).toBe(1);
    expect(await documents.list("profile_pages", { limit: 9 })).toEqual([]);
  });

  test.each([
    [[refused, refused], "blocked"],
    [[refused, () => page("", { status: 429, headers: { "retry-after": "40" } })], "rate_limited"],
    [[refused, () => broken("timeout")], "all_tiers_failed"],
    [[() => page("<main>Wait</main>"), () => page("<main>Wait</main>")], "all_tiers_failed"],
  ] as [[Play, Play], string][])(
    "when both fail the error says how, %#",
    async ([proxy, proxy_render], error) => {
      const { run, documents } = profilesWorld({ proxy, proxy_render });
      const answer = await run("profile", profile);
      expect(answer).toMatchObject({
        error,
        profile: null,
        retry_after_s: error === "rate_limited" ? 40 : null,
      });
      expect(await documents.list("profile_pages", { limit: 9 })).toEqual([]);
    },
  );

  test("data that is no JSON is a failure of its route", async () => {
    const { run } = profilesWorld({ proxy: () => page("<html>no data</html>"), proxy_render: site });
    const answer = await run("graph", { entity_id: "9000000001" });
    expect(reasons(answer.fetch)).toEqual(["proxy not_json", "proxy_render ok"]);
    expect(answer).toMatchObject({
      error: null,
      company_connections: [{ name: "Polarstern Beteiligungs AG" }],
    });
  });

  test("after a refusal the proxy is left out for an hour; every tenth request tries it, and a success ends it", async () => {
    let isRefused = true;
    const { run, sent, clock } = profilesWorld({
      proxy: (one) => (isRefused ? refused(one) : site(one)),
      proxy_render: site,
    });
    const uncached = { ...profile, cache_ttl_s: 0 };
    await run("profile", uncached);
    const tiers = async (times: number) => {
      const before = sent.length;
      for (let time = 0; time < times; time++) await run("profile", uncached);
      return sent.slice(before).map(({ tier }) => tier);
    };
    expect(await tiers(9)).toEqual(Array.from({ length: 9 }, () => "proxy_render"));
    expect(await tiers(1)).toEqual(["proxy", "proxy_render"]);
    const skipped = await run("profile", uncached);
    expect(reasons(skipped.fetch)).toEqual(["proxy premium_skipped_domain_refuses", "proxy_render ok"]);
    isRefused = false;
    expect(await tiers(9)).toEqual([...Array.from({ length: 8 }, () => "proxy_render"), "proxy"]);
    expect(await tiers(1)).toEqual(["proxy"]);
    isRefused = true;
    expect(await tiers(1)).toEqual(["proxy", "proxy_render"]);
    await clock.advance(3_600_000);
    expect(await tiers(1)).toEqual(["proxy", "proxy_render"]);
  });

  test("without a rendering service a refused proxy is asked all the same", async () => {
    const { run, sent } = profilesWorld({ proxy: refused });
    await run("profile", profile);
    await run("profile", profile);
    expect(sent.length).toBe(2);
  });

  test("after three failures of every route the site is left alone", async () => {
    const { run, sent, clock } = profilesWorld({ proxy: refused, proxy_render: refused });
    for (let time = 0; time < 3; time++)
      expect(await run("profile", profile)).toMatchObject({ error: "blocked", retry_after_s: null });
    const before = sent.length;
    const answer = await run("graph", { entity_id: "1" });
    expect(answer.error).toBe("blocked");
    expect(answer.retry_after_s).toBeGreaterThan(0);
    expect(sent.length).toBe(before);
    await clock.advance(700_000);
    await run("graph", { entity_id: "1" });
    expect(sent.length).toBeGreaterThan(before);
  });

  test("without routes, without paid routes and without money nothing is requested", async () => {
    expect(await profilesWorld({}).run("profile", profile)).toMatchObject({
      error: "profiles_not_configured",
    });
    const paid = profilesWorld({ proxy: site });
    expect(await paid.run("profile", { ...profile, allow_paid: false })).toMatchObject({
      error: "paid_tier_required",
    });
    const spending: Spending = { reserve: async () => false, settle: async () => {} };
    const poor = profilesWorld({ proxy: site, proxy_render: site }, { spending });
    expect(await poor.run("profile", profile)).toMatchObject({ error: "budget_exhausted", cost_usd: 0 });
    expect([...paid.sent, ...poor.sent]).toEqual([]);
    // A cached profile costs nothing.
    await paid.run("profile", profile);
    expect(await paid.run("profile", { ...profile, allow_paid: false })).toMatchObject({
      error: null,
      billing_category: "profiles_cached",
    });
  });

  describe("a payer who has no room for the rendering service", () => {
    const spending: Spending = {
      reserve: async (_ask, { project }, _id, micros) => project !== "poor" || micros < 5_000,
      settle: async () => {},
    };

    test("is told so where the proxy was refused", async () => {
      const { run } = profilesWorld({ proxy: refused, proxy_render: site }, { spending });
      const answer = await run("profile", profile, { project: "poor" });
      expect(answer).toMatchObject({ error: "budget_exhausted", retry_after_s: null, cost_usd: 0.002 });
      expect(reasons(answer.fetch)).toEqual(["proxy challenge_cloudflare", "proxy_render budget_exhausted"]);
    });

    test("closes the site for its own project only", async () => {
      const { run, sent } = profilesWorld(
        { proxy: () => page("Later", { status: 503 }), proxy_render: site },
        { spending },
      );
      for (let time = 0; time < 3; time++)
        expect(await run("profile", profile, { project: "poor" })).toMatchObject({
          error: "all_tiers_failed",
        });
      expect(await run("profile", profile, { project: "poor" })).toMatchObject({ error: "blocked" });
      expect(await run("profile", profile, { project: "rich" })).toMatchObject({ error: null });
      expect(sent.map(({ tier }) => tier)).toEqual(["proxy", "proxy", "proxy", "proxy", "proxy_render"]);
    });
  });

  test.each(["https://other.example/Kranwerk/HRB+1", `${SITE}/?id=9000000001`, `${SITE}/_login`, "no url"])(
    "%s is no profile",
    async (url) => {
      const { run, sent } = profilesWorld({ proxy: site });
      expect(await run("profile", { url })).toMatchObject({ error: "invalid_identifier", fetch: null });
      expect(await run("graph", { entity_id: "x-1" })).toMatchObject({ error: "invalid_identifier" });
      expect(sent).toEqual([]);
    },
  );

  test("a redirect off the site is not followed", async () => {
    const { run, sent } = profilesWorld({
      proxy: async ({ request }) => {
        const admission = await request.admit("https://elsewhere.example/");
        if (admission.kind !== "refused") throw new Error("The redirect was admitted");
        return { kind: "refused", refusal: admission.refusal, redirects: [], final_url: null, ms: 1 };
      },
    });
    expect(await run("profile", profile)).toMatchObject({ error: "all_tiers_failed" });
    expect(sent.length).toBe(1);
  });
});

describe("robots.txt", () => {
  const FORBIDDEN = "User-agent: *\nDisallow: /data.json\n";

  test("is checked before suggestions, pages and graphs", async () => {
    const { run, sent } = profilesWorld({ proxy: site }, { robots: "User-agent: *\nDisallow: /\n" });
    for (const [op, fields] of [
      ["profile", profile],
      ["suggest", { query: "kran" }],
      ["graph", { entity_id: "1" }],
    ] as const)
      expect(await run(op, fields as never)).toMatchObject({ error: "robots_disallowed", cost_usd: 0 });
    expect(sent).toEqual([]);
  });

  test("a profile whose graph is forbidden is answered without it", async () => {
    const { run } = profilesWorld({ proxy: site }, { robots: FORBIDDEN });
    const answer = await run("profile", { url: PROFILE_URL });
    expect(answer).toMatchObject({
      error: null,
      graph_error: "robots_disallowed",
      profile: { name: "Kranwerk Muster GmbH", network_graph: { source: "page" } },
    });
  });
});

describe("the cache", () => {
  test("answers for 24 hours, is confirmed by a conditional request, and is gone after 7 days", async () => {
    const validated: (string | null)[] = [];
    const { run, sent, clock } = profilesWorld({
      proxy: ({ request, url }) => {
        validated.push(request.validators?.etag ?? null);
        return request.validators?.etag === '"v1"'
          ? page("", { status: 304, url })
          : page(BODY, { url, headers: { etag: '"v1"' } });
      },
    });
    expect((await run("profile", profile)).fetch).toMatchObject({ cached: false, revalidated: false });
    const hit = await run("profile", profile, { project: "another" });
    expect(hit).toMatchObject({
      billing_category: "profiles_cached",
      cost_usd: 0,
      fetch: { cached: true, parser_version: "4" },
    });
    expect(hit.profile).toMatchObject({
      name: "Kranwerk Muster GmbH",
      scraped_at: hit.fetch!.retrieved_at,
    });
    await clock.advance(DAY_MS);
    expect((await run("profile", profile)).fetch).toMatchObject({
      cached: true,
      revalidated: true,
      attempts: [{ reason: "not_modified", status: 304 }],
    });
    expect((await run("profile", profile)).fetch).toMatchObject({ cached: true, revalidated: false });
    await clock.advance(7 * DAY_MS);
    expect((await run("profile", profile)).fetch).toMatchObject({ cached: false });
    expect(validated).toEqual([null, '"v1"', null]);
    expect(sent.length).toBe(3);
  });

  test("cache_ttl_s is the greatest age, and 0 asks anew", async () => {
    const { run, sent, clock } = profilesWorld({ proxy: site });
    const graph = { entity_id: "9000000001" };
    await run("graph", graph);
    await clock.advance(10_000);
    await run("graph", { ...graph, cache_ttl_s: 60 });
    expect(sent.length).toBe(1);
    await run("graph", { ...graph, cache_ttl_s: 5 });
    await run("graph", { ...graph, cache_ttl_s: 0 });
    expect(sent.length).toBe(3);
    await clock.advance(DAY_MS);
    await run("graph", graph);
    expect(sent.length).toBe(4);
  });

  test("a page whose reading the blob store has lost is requested anew", async () => {
    const { run, sent, documents, blobs } = profilesWorld({ proxy: site });
    await run("profile", profile);
    const [stored] = await documents.list("profile_pages", { limit: 9 });
    await blobs.remove((stored!.value as StoredProfilePage).reading_sha256);
    expect(await run("profile", profile)).toMatchObject({
      error: null,
      fetch: { cached: false },
      billing_category: "profiles",
    });
    expect(await run("profile", profile)).toMatchObject({ error: null, fetch: { cached: true } });
    expect(sent.length).toBe(2);
  });

  test("a graph is the same one with and without the page's token", async () => {
    const { run, sent } = profilesWorld({ proxy: site });
    const { graph_fetch } = await run("profile", { url: PROFILE_URL });
    expect(graph_fetch?.url).toBe(`${SITE}/data.json?id=9000000001&type=graph&token=t1`);
    const answer = await run("graph", { entity_id: "9000000001" });
    expect(answer.fetch?.cached).toBe(true);
    expect(sent.length).toBe(2);
  });

  test("callers of one page at the same time share a request, and one pays for it", async () => {
    const { run, sent } = profilesWorld({ proxy: site }, { takes_ms: 500 });
    const answers = await Promise.all([
      run("profile", profile),
      run("profile", profile, { project: "another" }),
    ]);
    expect(sent.length).toBe(1);
    expect(answers.map(({ cost_usd }) => cost_usd)).toEqual([0.002, 0]);
  });

  test("a call that was repeated after its node had paid, and finds the page stored, tells what all of it cost", async () => {
    const spentBy = async (id: string) => (id === "call-1" ? 2_000 : 0);
    const { run } = profilesWorld({ proxy: site }, { spentBy });
    await run("profile", profile);
    const repeated = await run("profile", profile);
    expect([repeated.fetch?.cached, repeated.cost_usd]).toEqual([true, 0.002]);
    expect(await run("profile", profile)).toMatchObject({ cost_usd: 0 });
  });

  test("a caller that moved to another node and asked again is told what the request cost", async () => {
    const { ask, clock, sent, finished } = profilesWorld({ proxy: site }, { takes_ms: 500 });
    const request: ProfilePageRequest = {
      kind: "page",
      url: PROFILE_URL,
      country: null,
      session_key: null,
      cache_ttl_s: null,
      routes: ["proxy"],
      max_bytes: 1_000_000,
      lane: "batch",
      project: "one",
      key: "sk_abcdefg",
      fetch_id: "job:7.0",
      deadline_ms: clock.now() + 60_000,
    };
    const another = { ...request, fetch_id: "job:8.0" };
    const key = `${HOSTS[0]} ${pageDigest(request)}`;
    const asks = [request, request, another].map((each) => ask(ProfilePage, key, "get", each));
    const answers = await finished(Promise.all(asks));
    expect(sent.length).toBe(1);
    expect(answers.map(({ error, cost_micros }) => [error, cost_micros])).toEqual([
      [null, 0],
      [null, 2_000],
      [null, 0],
    ]);
  });
});

describe("politeness", () => {
  test("never more than two in flight and never closer than a second, whatever is asked", async () => {
    const { run, sent, in_flight } = profilesWorld({ proxy: site }, { takes_ms: 3_500 });
    const calls = Array.from({ length: 12 }, (_, n) => [
      run("graph", { entity_id: String(n) }, { lane: n % 2 === 0 ? "batch" : "sync" }),
      run("suggest", { query: `kran ${n}` }),
      run("profile", { url: `https://profiles.example/Kran+${n}/HRB+${n}`, include_graph: false }),
    ]).flat();
    await Promise.all(calls as Promise<unknown>[]);
    expect(sent.length).toBeGreaterThan(12);
    const times = sent.map(({ at_ms }) => at_ms).toSorted((a, b) => a - b);
    expect(Math.min(...times.slice(1).map((at_ms, n) => at_ms - times[n]!))).toBeGreaterThanOrEqual(1_000);
    expect(in_flight.most).toBe(2);
  });

  test("a call that gets no slot within a minute ends with politeness_timeout", async () => {
    const { run } = profilesWorld({ proxy: site }, { takes_ms: 3_500 });
    const calls = Array.from({ length: 60 }, (_, n) => run("graph", { entity_id: String(n) }));
    const errors = (await Promise.all(calls)).map(({ error }) => error);
    expect(new Set(errors)).toEqual(new Set([null, "politeness_timeout"]));
  });

  test.each([
    ["a challenge with status 200", page("<title>Just a moment...</title><script>_cf_chl_opt={}</script>")],
    ["429", page("", { status: 429 })],
  ])("%s slows the site down", async (_, first) => {
    let isFirst = true;
    const { run, sent } = profilesWorld({
      proxy_render: (one) => (isFirst ? ((isFirst = false), first) : site(one)),
    });
    for (const entity_id of ["1", "2", "3"]) await run("graph", { entity_id });
    const times = sent.map(({ at_ms }) => at_ms);
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(2_000);
  });
});

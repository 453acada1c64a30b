/** Finding a profile by a company's name, and putting it together with its graph. */
import { describe, expect, test } from "vitest";
import { countryCode } from "../../../../actors/sources/profiles/countries.ts";
import { searchQueries, urlScore } from "../../../../actors/sources/profiles/discovery.ts";
import { nameRules } from "../../../../actors/sources/profiles/feature/name-rules.ts";
import { CALL_MS } from "../../../../actors/sources/profiles/limits.ts";
import { northdata } from "../../../../actors/sources/profiles/providers/northdata.ts";
import type { SearchPages } from "../../../../actors/sources/profiles/service.ts";
import { inventedGraph, profilePage } from "../../../harness/profile-pages.ts";
import { page, type Play, profilesWorld, SITE } from "../../../harness/profiles-harness.ts";

const NAME = "Kranwerk Muster GmbH";
const PATH = "/Kranwerk+Muster+GmbH,+Musterstadt/HRB+12345";

function siteWith(names: readonly (readonly [name: string, path: string])[]): Play {
  return ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === "/suggest.json")
      return page({ results: names.map(([name, path]) => ({ name, url: path, type: "company" })) });
    if (pathname === "/data.json") return page(inventedGraph(NAME));
    const people = [{ type: "p", desc: "01.04.2019 Geschäftsführer Wilma Erfunden" }] as const;
    const control = [{ type: "c", desc: "03.03.2021 Beherrschung: Nordkran AG, Zug" }] as const;
    return page(profilePage({ name: NAME, city: "Musterstadt", people, control }), { url });
  };
}

/** A search that has these results for each query, in turn. */
function searching(...rounds: readonly (readonly (readonly [url: string, title: string])[])[]) {
  const queries: string[] = [];
  const search: SearchPages = async (_ask, query) => {
    const results = (rounds[queries.push(query) - 1] ?? []).map(([url, title]) => ({ url, title }));
    return { results, cached: false, cost_micros: 5_000, error: null };
  };
  return { queries, search };
}

describe("by suggestion", () => {
  test("the most similar name wins, and not the first", async () => {
    const { run, sent } = profilesWorld({
      proxy: siteWith([
        ["Kranwerk Alt KG", "/Kranwerk+Alt+KG/HRA+2"],
        ["Kranwerk Muster AG", PATH],
        ["Zander", "/Zander/HRB+3"],
      ]),
    });
    const answer = await run("discover", { company_name: NAME });
    expect(answer).toMatchObject({
      error: null,
      url: `${SITE}${PATH}`,
      query: NAME,
      // The other form keeps it from being the same company for certain.
      score: 0.88,
      name_similarity: 88,
      discovery_method: "suggest",
      suggest_fetch: { cached: false, tier: "proxy" },
    });
    expect(answer.candidates.map(({ name }) => name)).toEqual([
      "Kranwerk Muster AG",
      "Kranwerk Alt KG",
      "Zander",
    ]);
    expect(sent.length).toBe(1);
  });

  const HAMBURG = ["Kranwerk GmbH", "/Kranwerk+GmbH,+Hamburg/HRB+1"] as const;
  const BREMEN = ["Kranwerk AG", "/Kranwerk+AG,+Bremen/HRB+2"] as const;

  test.each([
    [{ company_name: "Kranwerk AG" }, [HAMBURG, BREMEN], BREMEN, 1],
    [{ company_name: "Kranwerk Aktiengesellschaft" }, [HAMBURG, BREMEN], BREMEN, 1],
    [{ company_name: "Kranwerk GmbH" }, [BREMEN, HAMBURG], HAMBURG, 1],
    [{ company_name: "Kranwerk AG" }, [HAMBURG], HAMBURG, 0.88],
    [{ company_name: "Kranwerk", headquarters: "Bremen, Germany" }, [HAMBURG, BREMEN], BREMEN, 1],
    [{ company_name: "Kranwerk", headquarters: "Hamburg" }, [BREMEN, HAMBURG], HAMBURG, 1],
    [{ company_name: "Kranwerk GmbH", headquarters: "Bremen" }, [BREMEN, HAMBURG], HAMBURG, 1],
  ] as const)(
    "among equal names legal form and headquarters decide: %j",
    async (wanted, listed, [, path], score) => {
      const { run } = profilesWorld({ proxy: siteWith(listed) });
      expect(await run("discover", wanted)).toMatchObject({ url: `${SITE}${path}`, score });
    },
  );

  test("one below min_similarity is no profile, and nothing is searched where the caller says so", async () => {
    const { queries, search } = searching([[`${SITE}${PATH}`, NAME]]);
    const { run } = profilesWorld({ proxy: siteWith([["Zander Fisch AG", "/Zander/HRB+3"]]) }, { search });
    const answer = await run("discover", { company_name: NAME, search_fallback: false });
    expect(answer).toMatchObject({
      error: "not_found",
      url: null,
      discovery_method: null,
      candidates: [{ name: "Zander Fisch AG" }],
    });
    expect(queries).toEqual([]);
    expect(
      await run("discover", { company_name: NAME, search_fallback: false, min_similarity: 0 }),
    ).toMatchObject({ error: null });
  });

  test("the country filters suggestions and is sent to the site", async () => {
    const { run, sent } = profilesWorld({
      proxy: siteWith([
        [NAME, "/Kranwerk,+Wien/FN+12345+x"],
        [NAME, PATH],
      ]),
    });
    const { items, country } = await run("suggest", { query: "kranwerk", country: "Austria" });
    expect([country, items.map(({ url }) => url)]).toEqual(["AT", [`${SITE}/Kranwerk,+Wien/FN+12345+x`]]);
    expect(new URL(sent[0]!.url).searchParams.get("countries")).toBe("AT");
  });
});

test("a suggestion that is no profile page is suggested, and is not discovered", async () => {
  const { run } = profilesWorld({
    proxy: siteWith([
      [NAME, "/?id=9000000001"],
      ["Kranwerk Muster AG", PATH],
    ]),
  });
  expect((await run("suggest", { query: NAME })).items.length).toBe(2);
  const answer = await run("profile", { company_name: NAME });
  expect(answer).toMatchObject({ error: null, discovery: { url: `${SITE}${PATH}` } });
  expect(answer.discovery!.candidates.map(({ name }) => name)).toEqual(["Kranwerk Muster AG"]);
});

describe("by search", () => {
  const FOUND = [`${SITE}${PATH}`, "Kranwerk Muster GmbH, Musterstadt"] as const;

  test("it ends with the first query whose best address is good", async () => {
    const { queries, search } = searching(
      [
        ["https://elsewhere.example/Kranwerk/HRB+1", NAME],
        [`${SITE}/?id=1`, NAME],
      ],
      [FOUND],
    );
    const { run } = profilesWorld({ proxy: siteWith([]) }, { search });
    const answer = await run("discover", {
      company_name: NAME,
      headquarters: "Musterstadt, Germany",
      country: "DE",
    });
    expect(answer).toMatchObject({
      error: null,
      url: `${SITE}${PATH}`,
      discovery_method: "search",
      name_similarity: null,
      query: queries[1],
    });
    expect(answer.score).toBeGreaterThanOrEqual(0.75);
    expect(queries.length).toBe(2);
    expect(answer.cost_usd).toBe(0.012);
  });

  test("an address that does not have the name is rejected after all queries", async () => {
    const { queries, search } = searching([[`${SITE}/Zander+Fisch+AG,+Kiel/HRB+1`, "Zander"]]);
    const { run } = profilesWorld({ proxy: siteWith([]) }, { search });
    const answer = await run("discover", { company_name: NAME, country: "DE" });
    expect(answer).toMatchObject({
      error: "not_found",
      url: null,
      candidates: [{ name: null, title: "Zander" }],
    });
    expect(queries.length).toBe(4);
  });

  test.each([
    ["metasearch_timeout", "all_tiers_failed"],
    ["budget_exhausted", "budget_exhausted"],
  ])("a search that ended with %s does not say that there is no profile", async (error, expected) => {
    const search: SearchPages = async () => ({ results: [], cached: false, cost_micros: 0, error });
    const { run } = profilesWorld({ proxy: siteWith([]) }, { search });
    expect(await run("discover", { company_name: NAME })).toMatchObject({
      error: expected,
      error_detail: `The search for the profile failed: ${error}`,
      url: null,
    });
  });

  test("a profile that one query finds is found, whatever became of the others", async () => {
    let queries = 0;
    const search: SearchPages = async () =>
      queries++ === 0
        ? { results: [], cached: false, cost_micros: 0, error: "metasearch_timeout" }
        : { results: [{ url: FOUND[0], title: FOUND[1] }], cached: false, cost_micros: 0, error: null };
    const { run } = profilesWorld({ proxy: siteWith([]) }, { search });
    expect(await run("discover", { company_name: NAME })).toMatchObject({
      error: null,
      url: `${SITE}${PATH}`,
    });
  });

  test("queries that the time did not allow are a timeout", async () => {
    let wait = async (): Promise<void> => {};
    const search: SearchPages = async () => {
      await wait();
      return { results: [], cached: false, cost_micros: 0, error: null };
    };
    const { run, clock } = profilesWorld({ proxy: siteWith([]) }, { search });
    wait = () => new Promise((resolve) => void clock.at(clock.now() + CALL_MS, resolve));
    expect(await run("discover", { company_name: NAME })).toMatchObject({ error: "timeout", url: null });
  });

  test("it goes on where suggestions failed, and their error is told where it finds nothing", async () => {
    const { search } = searching([FOUND]);
    const site = siteWith([]);
    const proxy: Play = (sent) => (sent.url.includes("suggest") ? page("No", { status: 403 }) : site(sent));
    expect(await profilesWorld({ proxy }, { search }).run("profile", { company_name: NAME })).toMatchObject({
      error: null,
      discovery: { discovery_method: "search" },
    });
    expect(await profilesWorld({ proxy }).run("discover", { company_name: NAME })).toMatchObject({
      error: "blocked",
    });
  });
});

test("queries name the site, its domains, and the country", () => {
  const site = { site_name: "North Data", hosts: ["northdata.com", "northdata.de"] };
  expect(searchQueries({ name: 'Kran "Muster" GmbH', city: "Kiel", country: "DE" }, site)).toEqual([
    '"Kran Muster GmbH" North Data Kiel',
    '"Kran Muster GmbH" site:northdata.com OR site:northdata.de',
    "Kran Muster GmbH DE",
    "Kran Muster GmbH",
  ]);
  expect(searchQueries({ name: "Kran", city: null, country: null }, site).length).toBe(3);
});

describe("an address scores by what it shows", () => {
  const wanted = { name: NAME, city: "Musterstadt", country: "DE" };
  const score = (path: string, title: string | null, is_canonical = true) =>
    urlScore(nameRules, northdata, wanted, { url: new URL(path, SITE), title, is_canonical });
  const best = score(PATH, "Kranwerk Muster GmbH, Musterstadt");
  test("between 0 and 1", () => expect(best).toBe(1));
  test.each([
    ["without a title", score(PATH, null)],
    ["on the other domain", score(PATH, NAME, false)],
    ["of another city", score("/Kranwerk+Muster+GmbH,+Kiel/HRB+1", NAME)],
    ["of another country", score("/Kranwerk+Muster+GmbH,+Musterstadt/FN+12345+x", NAME)],
    ["of a longer name", score("/Kranwerk+Muster+Nord+Holding+GmbH,+Musterstadt/HRB+1", NAME)],
  ])("%s it is worse", (_, worse) => {
    expect(worse).toBeLessThan(best);
    expect(worse).toBeGreaterThanOrEqual(0.35);
  });
  test("without the name it is rejected, whatever else fits", () => {
    expect(score("/Zander,+Musterstadt/HRB+1", NAME)).toBeLessThan(0.35);
  });
});

test("a discovered profile has what found it, and its graph's companies and persons that the page does not list", async () => {
  const { run, sent } = profilesWorld({ proxy: siteWith([[NAME, PATH]]) });
  const answer = await run("profile", { company_name: NAME, country: "DE" });
  expect(answer).toMatchObject({
    error: null,
    graph_error: null,
    cost_usd: 0.006,
    discovery: { discovery_method: "suggest" },
  });
  expect(sent.length).toBe(3);
  const { profile } = answer;
  expect(profile).toMatchObject({
    discovery_query: NAME,
    discovery_score: 1,
    discovery_method: "suggest",
    name_similarity: 100,
    legal_form: "GmbH",
    source_url: `${SITE}${PATH}`,
    provider: "northdata",
    parser_version: "4",
    financials: null,
    shareholders: [],
    subsidiaries: [],
    parent_companies: [],
    network_graph: { source: "data.json" },
  });
  expect(profile!.related.map(({ name, relation }) => [name, relation])).toEqual([
    ["Nordkran AG", "control"],
    ["Polarstern Beteiligungs AG", "related"],
  ]);
  // The graph's person is on the page already.
  expect(profile!.officers.map(({ name, role }) => [name, role])).toEqual([
    ["Wilma Erfunden", "Geschäftsführer"],
  ]);
});

test("a profile whose graph failed has a network of its page", async () => {
  const site = siteWith([]);
  const { run } = profilesWorld({
    proxy: (sent) => (sent.url.includes("data.json") ? page("{") : site(sent)),
  });
  const answer = await run("profile", { url: `${SITE}${PATH}` });
  expect(answer).toMatchObject({ error: null, graph_error: "all_tiers_failed" });
  expect(answer.profile!.network_graph).toMatchObject({
    source: "page",
    company_connections: [{ name: "Nordkran AG", relation: "control" }],
    person_connections: [{ name: "Wilma Erfunden", relation: "Geschäftsführer", since: "2019-04-01" }],
  });
});

test.each([
  ["DE", "DE"],
  ["de", "DE"],
  ["Germany", "DE"],
  ["Deutschland", "DE"],
  [" schweiz ", "CH"],
  ["Österreich", "AT"],
  ["United Kingdom", "GB"],
  ["UK", "GB"],
  ["England", "GB"],
  ["Turkey", "TR"],
  ["Elfenbeinküste", "CI"],
  ["Côte d'Ivoire", "CI"],
  ["The Netherlands", "NL"],
  ["Hongkong", "HK"],
  ["Kosovo", "XK"],
  ["EU", null],
  ["European Union", null],
  ["Vereinte Nationen", null],
  ["Atlantis", null],
  ["", null],
  [null, null],
])("the country %j is %j", (name, code) => expect(countryCode(name)).toBe(code));

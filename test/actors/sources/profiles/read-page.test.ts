/** Data read from the profile site's pages, by the provider's words and markup. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { northdata } from "../../../../actors/sources/profiles/providers/northdata.ts";
import { type PageReading, readPage } from "../../../../actors/sources/profiles/read-page.ts";
import type { PageProfile } from "../../../../schemas/profiles.ts";
import { type InventedCompany, inventedGraph, profilePage } from "../../../harness/profile-pages.ts";

const SITE = "https://www.northdata.com";
const URL_OF_ONE = `${SITE}/Kranwerk+Muster+GmbH,+Musterstadt/HRB+12345`;

const read = (text: string, url = URL_OF_ONE): PageReading =>
  readPage(northdata, { kind: "page", text, url });
function profileOf(company: Partial<InventedCompany> = {}, url = URL_OF_ONE): PageProfile {
  const reading = read(profilePage({ name: "Kranwerk Muster GmbH", city: "Musterstadt", ...company }), url);
  if (reading.kind !== "profile") throw new Error(`The page is read as "${reading.kind}"`);
  return reading.reading.profile;
}

describe("a profile", () => {
  test("has every field that its page has, and nothing else", () => {
    expect(
      profileOf({
        former_names: ["Kranbau Muster GmbH", "KM Vorrat 7 GmbH"],
        former_registers: ["Amtsgericht Altdorf HRB 77"],
        identifiers: [
          ["Lei", "Global Legal Entity Identifier Foundation", "9999000SYNTHETIC0113"],
          ["USt.-Id.", "", "DE000000000"],
        ],
        address: "Kranweg 7, D-99999 Musterstadt",
        former_addresses: ["Altdorf, Deutschland"],
        purpose: "Bau & Wartung von Kranen.",
        industry: ["28.22.0", "Herstellung von Hebezeugen"],
        more: ["Tel. 0900 1", "Website www.example.org"],
        history: [
          {
            type: "e",
            date: "2010-06-01",
            desc: "01.06.2010 Name: Kranwerk",
            text: "Namensänderung",
            url: "/?id=102",
          },
          { type: "e", date: "2003-02-11", desc: "11.02.2003 Eintragung", text: "Eintragung" },
        ],
        people: [
          {
            type: "p",
            desc: "01.04.2019 Geschäftsführer Wilma Erfunden",
            text: "GF W. Erfunden",
            url: "/?id=33",
          },
        ],
        control: [
          { type: "m", desc: "20.08.2018 Verschmolzen: Südkran GmbH, Musterstadt", url: "/?id=301" },
          { type: "c", desc: "03.03.2021 Beherrschung: Polarstern, Zug AG", text: "Kontrolle" },
          { type: "a", desc: "10.10.2022 Übernahme: Hebezeug Service GmbH" },
        ],
        publications: [["03.05.2024", "Jahresabschluss zum 31.12.2022"]],
        mentions: [["15.02.2023", "Verschmelzung", "Südkran GmbH, Musterstadt"]],
      }),
    ).toEqual({
      name: "Kranwerk Muster GmbH",
      register_id: "HRB 12345",
      court: "Amtsgericht Musterstadt",
      status: "Active",
      identifiers: [
        {
          label: "Ut",
          source: "Unternehmensträger im Handelsregister",
          value: "Amtsgericht Musterstadt HRB 12345",
          current: true,
        },
        {
          label: "Ut",
          source: "Unternehmensträger im Handelsregister",
          value: "Amtsgericht Altdorf HRB 77",
          current: false,
        },
        {
          label: "Lei",
          source: "Global Legal Entity Identifier Foundation",
          value: "9999000SYNTHETIC0113",
          current: true,
        },
        { label: "USt.-Id.", source: null, value: "DE000000000", current: true },
      ],
      address: "Kranweg 7, D-99999 Musterstadt",
      city: "Musterstadt",
      country: null,
      path_country: "DE",
      entity_id: "9000000001",
      lei: "9999000SYNTHETIC0113",
      industry: "28.22.0 Herstellung von Hebezeugen",
      former_names: ["Kranbau Muster GmbH", "KM Vorrat 7 GmbH"],
      former_addresses: ["Altdorf, Deutschland"],
      corporate_purpose: "Bau & Wartung von Kranen.",
      additional_info: "Tel. 0900 1\nWebsite www.example.org",
      history: [
        {
          category: "event",
          date: "2003-02-11",
          description: "11.02.2003 Eintragung",
          text: "Eintragung",
          url: null,
        },
        {
          category: "event",
          date: "2010-06-01",
          description: "01.06.2010 Name: Kranwerk",
          text: "Namensänderung",
          url: `${SITE}/?id=102`,
        },
      ],
      publications: [{ date: "2024-05-03", summary: "Jahresabschluss zum 31.12.2022", company_name: null }],
      mentions: [{ date: "2023-02-15", summary: "Verschmelzung", company_name: "Südkran GmbH, Musterstadt" }],
      officers: [
        {
          name: "Wilma Erfunden",
          role: "Geschäftsführer",
          since: "2019-04-01",
          until: null,
          url: "/?id=33",
          absolute_url: `${SITE}/?id=33`,
          current: true,
        },
      ],
      related: [
        { name: "Südkran GmbH", relation: "merger", url: "/?id=301", absolute_url: `${SITE}/?id=301` },
        { name: "Polarstern, Zug AG", relation: "control", url: null, absolute_url: null },
        { name: "Hebezeug Service GmbH", relation: "acquisition", url: null, absolute_url: null },
      ],
    });
  });

  test("has null and empty lists where its page has nothing", () => {
    const { officers, related, history, lei, address, corporate_purpose, industry, former_names } =
      profileOf();
    expect({ officers, related, history, lei, address, corporate_purpose, industry, former_names }).toEqual({
      officers: [],
      related: [],
      history: [],
      lei: null,
      address: null,
      corporate_purpose: null,
      industry: null,
      former_names: [],
    });
  });

  test.each([
    ["de", "Geschäftsführer Wilma Erfunden"],
    ["en", "Managing Director Wilma Erfunden"],
    ["fr", "Gérante Wilma Erfunden"],
  ] as const)("is read by the titles of its language: %s", (language, words) => {
    const profile = profileOf({
      language,
      address: "Kranweg 7, 99999 Musterstadt",
      purpose: "Krane",
      people: [{ type: "p", date: "2019-04-01", desc: words }],
    });
    expect(profile).toMatchObject({
      register_id: "HRB 12345",
      city: "Musterstadt",
      corporate_purpose: "Krane",
    });
    expect(profile.officers).toMatchObject([
      { name: "Wilma Erfunden", role: words.slice(0, -15), since: "2019-04-01" },
    ]);
  });

  test.each([
    ["terminated", {}, "Terminated"],
    ["gelöscht", {}, "Terminated"],
    ["in Liquidation", {}, "Liquidation"],
    ["Dissolved", {}, "Dissolved"],
    [undefined, { name: "Kranwerk Muster GmbH i.L." }, "Liquidation"],
    [undefined, { name: "Liquidation Partners GmbH" }, "Active"],
    [undefined, { register: "" }, null],
  ] as const)("with the mark %j has the status %j %s", (mark, company, status) => {
    expect(profileOf({ ...company, ...(mark !== undefined && { mark }) }).status).toBe(status);
  });

  test.each([
    [
      "/Kranwerk+Muster+AG,+Zug/CHE-123.456.789",
      "CHE-123.456.789",
      { register_id: "CHE-123.456.789", court: null, path_country: "CH" },
    ],
    [
      "/Kranwerk+GmbH,+Wien/FN+12345+x",
      "FN 12345 x",
      { register_id: "FN 12345 x", court: null, path_country: "AT" },
    ],
    [
      "/Kranwerk+Ltd·,+Leeds/00123456",
      "Companies House 00123456",
      { register_id: "Companies House 00123456", court: null, path_country: null },
    ],
  ])("of %s with the register %j", (path, register, expected) => {
    expect(profileOf({ register }, `${SITE}${path}`)).toMatchObject(expected);
  });

  test.each([
    [{ name: "Meyer, Schulz & Co. KG", city: "Altdorf" }, "Meyer, Schulz & Co. KG", "Altdorf"],
    [{ name: 'Zum „Grünen Anker" GmbH', city: "Köln" }, 'Zum „Grünen Anker" GmbH', "Köln"],
    [{ name: "Nurname GmbH", city: undefined }, "Nurname GmbH", null],
  ] as const)("of the heading %j", (company, name, city) => {
    const { city: place, ...named } = company;
    const page = profilePage({ ...named, ...(place !== undefined && { city: place }) });
    const reading = read(page);
    expect(
      reading.kind === "profile" && [reading.reading.profile.name, reading.reading.profile.city],
    ).toEqual([name, city]);
  });

  test("lists a person with two roles twice, and two persons of one name", () => {
    const { officers } = profileOf({
      people: [
        { type: "p", desc: "05.05.2020 Prokura Jo Erfunden" },
        { type: "p", desc: "01.01.2012 - 31.03.2019 Geschäftsführer Jo Erfunden" },
        { type: "p", desc: "01.02.2012 Geschäftsführer Jo Erfunden", old: true },
      ],
    });
    expect(officers.map(({ role, since, until, current }) => [role, since, until, current])).toEqual([
      ["Geschäftsführer", "2012-01-01", "2019-03-31", false],
      ["Geschäftsführer", "2012-02-01", null, false],
      ["Prokura", "2020-05-05", null, true],
    ]);
  });

  test("takes the longest role that begins the text, and the managers of a section without a timeline", () => {
    const { officers } = profileOf({
      people: [{ type: "p", desc: "01.01.2020 Geschäftsführender Gesellschafter Ada Erfunden" }],
      managers: ["Geschäftsführer: Bo Erfunden", "Cy Erfunden"],
    });
    expect(officers.map(({ name, role }) => [name, role])).toEqual([
      ["Ada Erfunden", "Geschäftsführender Gesellschafter"],
      ["Bo Erfunden", "Geschäftsführer"],
      ["Cy Erfunden", null],
    ]);
  });

  test("leaves out an unknown section and names it, and a timeline that is no JSON", () => {
    const extra =
      '<h3 class="ribbon label">Sterne</h3><div class="general-information"><div class="item">fünf</div></div>' +
      '<h3 class="ribbon label">Historie</h3><figure class="bizq" data-data="{&quot;event&quot;: [" data-id="1"></figure>';
    const reading = read(profilePage({ name: "Kranwerk Muster GmbH", city: "Musterstadt", extra }));
    expect(reading).toMatchObject({
      kind: "profile",
      reading: { unknown_sections: ["Sterne"], profile: { history: [] } },
    });
    expect(JSON.stringify(reading)).not.toContain("fünf");
  });

  test("has no entity id where no figure has one, and the page's token for the graph", () => {
    expect(profileOf({ entity_id: null }).entity_id).toBeNull();
    const reading = read(profilePage({ name: "Kranwerk Muster GmbH", token: "t-1" }));
    expect(reading).toMatchObject({ reading: { graph_token: "t-1" } });
  });
});

describe("a page that is no profile", () => {
  const filler = `<p>${"Words of a page about cranes and harbours. ".repeat(10)}</p>`;
  const whole = profilePage({ name: "Kranwerk Muster GmbH" });
  test.each([
    [
      "a form for an account inside a profile",
      whole.replace("</main>", '<form action="/_login?targetUrl=%2FX"><input type="password"></form></main>'),
      "login",
    ],
    [
      "a check for humans, rendered",
      `<html><head><title>Just a moment...</title></head><body>${filler}</body></html>`,
      "challenge",
    ],
    ["a captcha", `<html><body><div class="cf-turnstile"></div>${filler}</body></html>`, "challenge"],
    [
      "a list of results",
      `<html><head><title>Suche nach "Kran"</title></head><body>${filler}</body></html>`,
      "results",
    ],
    ["a page with hardly any text", "<title>North</title><main><div>Bitte warten</div></main>", "thin"],
    ["an article", `<html><body><h1>Cranes</h1>${filler}</body></html>`, "no_profile"],
    [
      "a heading without a known section",
      `<h1 class="ui header qualified"><span class="heading">X GmbH</span></h1>${filler}`,
      "no_profile",
    ],
  ])("%s is %s", (_, text, kind) => expect(read(text).kind).toBe(kind));

  test("is a login by its address, whatever it shows", () => {
    expect(read(whole, `${SITE}/_login?targetUrl=%2FX`).kind).toBe("login");
  });
});

test.each([
  [
    "/Kranwerk+Muster+GmbH,+Musterstadt/HRB+12345",
    { words: "Kranwerk Muster GmbH, Musterstadt", country: "DE" },
  ],
  ["/Kranwerk,+Altdorf/Amtsgericht+Altdorf+HRA+1", { words: "Kranwerk, Altdorf", country: "DE" }],
  ["/Kranwerk+e·K·,+Altdorf/HRA+22", { words: "Kranwerk e.K., Altdorf", country: "DE" }],
  ["/Kranwerk/FN+12345+x", { country: "AT" }],
  ["/?id=9000000001", null],
  ["/Erfunden,+Wilma,+Altdorf/abc", null],
  ["/_login/HRB+12345", null],
  ["/a/b/HRB+12345", null],
  ["/", null],
  ["/%ZZ/HRB+12345", { words: "%ZZ" }],
])("the address %s", (path, expected) => {
  const result = northdata.pathOf(new URL(path, SITE));
  expect(result && { ...result, ...expected }).toEqual(expected && result);
});

describe("data", () => {
  const suggest = {
    results: [
      { name: "Kranwerk Muster GmbH", url: "/Kranwerk/HRB+1", type: "company" },
      { title: "Kranwerk Alt KG", url: "https://www.northdata.de/Kranwerk+Alt/HRA+2", type: "company" },
      { name: "Wilma Kranwerk", url: "/p/1", type: "person" },
      { name: "No address", type: "company" },
      null,
    ],
  };
  const readData = (kind: "suggest" | "graph", text: string) =>
    readPage(northdata, { kind, text, url: `${SITE}/suggest.json?query=k` });

  test("suggestions are companies with whole addresses", () => {
    const items = [
      { name: "Kranwerk Muster GmbH", url: `${SITE}/Kranwerk/HRB+1`, type: "company" },
      { name: "Kranwerk Alt KG", url: "https://www.northdata.de/Kranwerk+Alt/HRA+2", type: "company" },
    ];
    expect(readData("suggest", JSON.stringify(suggest))).toEqual({ kind: "suggest", items });
    // As a browser shows JSON.
    const shown = `<html><body><pre>${JSON.stringify(suggest).replaceAll("<", "&lt;")}</pre></body></html>`;
    expect(readData("suggest", shown)).toEqual({ kind: "suggest", items });
  });

  test("a graph's nodes are connections, by kind and by their link to the company", () => {
    expect(readData("graph", JSON.stringify(inventedGraph("Kranwerk Muster GmbH")))).toMatchObject({
      kind: "graph",
      connections: {
        company_connections: [
          {
            id: "c2",
            name: "Polarstern Beteiligungs AG",
            kind: "company",
            relation: "Beherrschung",
            direction: "in",
            current: true,
            absolute_url: `${SITE}/?id=9000000010`,
          },
        ],
        person_connections: [
          { name: "Wilma Erfunden", relation: "Geschäftsführer", since: "2019-04-01", until: null },
        ],
        other_connections: [
          { name: "Kranweg 7, Musterstadt", kind: "other", relation: null, direction: null },
        ],
      },
    });
  });

  test.each([
    ["a page", "<html><body>no data</body></html>", "not_json"],
    ["broken JSON", '{"results": [', "not_json"],
    ["another shape", '{"items": []}', "not_json"],
    ["a login", '<form action="/_login"><input type="password"></form>', "login"],
  ])("%s instead of data is %s", (_, text, kind) => {
    expect(readData("suggest", text).kind).toBe(kind);
    expect(readData("graph", text).kind).toBe(kind);
  });
});

const SHARED = new URL("../../../../../shared/fixtures/companies/profiles/", import.meta.url);
describe.skipIf(!existsSync(SHARED))("recorded shapes", () => {
  const file = (name: string): string => readFileSync(new URL(name, SHARED), "utf8");
  test("a page with all sections", () => {
    const reading = read(file("profile_full_de.html"));
    expect(reading).toMatchObject({ kind: "profile", reading: { unknown_sections: [] } });
    if (reading.kind !== "profile") return;
    const { officers, related, history, publications, mentions, identifiers } = reading.reading.profile;
    const counts = [officers, related, history, publications, mentions, identifiers].map(
      ({ length }) => length,
    );
    expect(counts).toEqual([3, 3, 3, 3, 1, 5]);
  });
  test.each([
    ["thin.html", "thin"],
    ["login_wall.html", "login"],
    ["challenge.html", "challenge"],
  ])("%s is %s", (name, kind) => expect(read(file(name)).kind).toBe(kind));
  test("suggestions and a graph", () => {
    const readData = (kind: "suggest" | "graph", name: string) =>
      readPage(northdata, { kind, text: file(name), url: SITE });
    expect(readData("suggest", "suggest.json")).toMatchObject({ items: [{}, {}] });
    expect(readData("graph", "data_graph.json")).toMatchObject({
      connections: { company_connections: [{ direction: "in" }] },
    });
  });
});

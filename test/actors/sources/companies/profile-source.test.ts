/** The profile site as a source of companies: the claims of a profile, the identifiers that confirm it, and its payer. */
import Schema from "typebox/schema";
import { afterEach, describe, expect, test } from "vitest";
import { companyItems } from "../../../../actors/sources/companies/feature/item-kind.ts";
import { profileHttp } from "../../../../actors/sources/companies/feature/profile-http.ts";
import type { KnownCompany, SourceRequest } from "../../../../actors/sources/companies/source.ts";
import {
  identifierClaims,
  openProfileSite,
} from "../../../../actors/sources/companies/sources/profile-site.ts";
import { INCLUDES, recordView } from "../../../../actors/sources/companies/view.ts";
import { readPage } from "../../../../actors/sources/profiles/read-page.ts";
import { profileOf } from "../../../../actors/sources/profiles/merge-graph.ts";
import { northdata } from "../../../../actors/sources/profiles/providers/northdata.ts";
import type { ProfilesResult } from "../../../../actors/sources/profiles/service.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { openBodyGrants } from "../../../../gateway/body-access.ts";
import { COMPANY_JSON_SCHEMA } from "../../../../schemas/company-record.ts";
import type { AttemptContext } from "../../../../schemas/jobs.ts";
import type { Profile, ProfileBody } from "../../../../schemas/profiles.ts";
import { identifier, oneRegister, scriptedSource, UNPAID_KEY } from "../../../harness/companies-harness.ts";
import { leiOf } from "../../../harness/gleif.ts";
import { type InventedCompany, profilePage } from "../../../harness/profile-pages.ts";
import { NOTHING_KNOWN, recordedHttp } from "../../../harness/recorded-http.ts";

const LEI = leiOf("9999000KRANWERK001");
const OTHER_LEI = leiOf("9999000NORDKRAN001");
const NUMBER = "K1101R.HRB12345";
const URL_OF_PAGE = "https://www.northdata.com/Kranwerk+Muster+GmbH,+Hamburg/Amtsgericht+Hamburg+HRB+12345";
const COMPANY: InventedCompany = {
  name: "Kranwerk Muster GmbH",
  city: "Hamburg",
  register: "Amtsgericht Hamburg HRB 12345",
  former_names: ["Kranbau Muster GmbH"],
  identifiers: [["Lei", "Global Legal Entity Identifier Foundation", LEI]],
  address: "Kranweg 7, D-20457 Hamburg, Deutschland",
  purpose: "Bau und Wartung von Kranen.",
  industry: ["28.22.0", "Herstellung von Hebezeugen"],
  people: [
    { type: "p", desc: "15.01.2012 - 31.03.2019 Geschäftsführer Ada Erfunden", old: true },
    { type: "p", desc: "01.04.2019 Prokura Wilma Erfunden" },
  ],
  control: [{ type: "c", desc: "03.03.2021 Beherrschung: Nordkran AG, Zug" }],
};

/** The answer of POST /v1/profiles/profile for a page of the site. */
function answerOf(company: InventedCompany, cost_micros = 2_000, url = URL_OF_PAGE): ProfilesResult {
  const read = readPage(northdata, { kind: "page", url, text: profilePage(company) });
  if (read.kind !== "profile") throw new Error(`The page is ${read.kind}`);
  const profile = profileOf(read.reading.profile, null, {
    source_url: URL_OF_PAGE,
    scraped_at: "2026-11-23T00:00:00.000Z",
    fetch_tier: "proxy",
    parser_version: "4",
    provider: "northdata",
    discovery: null,
    legal_form: "GmbH",
  });
  const fetch = {
    url: URL_OF_PAGE,
    final_url: URL_OF_PAGE,
    status: 200,
    tier: "proxy" as const,
    body_url: null,
    sha256: "b".repeat(64),
    body_kind: "origin" as const,
    retrieved_at: "2026-11-23T00:00:00.000Z",
    cached: false,
    revalidated: false,
    attempts: [],
    cost_usd: cost_micros / 1e6,
    parser_version: "4",
  };
  return {
    answer: { ...ANSWER, profile, fetch },
    bodies: [],
    cost_micros,
  };
}
const ANSWER = {
  op: "profile",
  profile: null,
  fetch: null,
  discovery: null,
  graph_fetch: null,
  graph_error: null,
  error: null,
  error_detail: null,
  retry_after_s: null,
  cost_usd: 0,
  billing_category: "profiles",
} as const;
const failedWith = (error: string, cost_micros = 0): ProfilesResult => ({
  answer: { ...ANSWER, error, error_detail: error, retry_after_s: 9 },
  bodies: [],
  cost_micros,
});

interface Asked {
  readonly fields: ProfileBody;
  readonly key: string;
  readonly id: string;
}

/** A register with GLEIF and the profile site; `site` answers what is asked of profiles. */
function registerWith(
  site: (fields: ProfileBody) => ProfilesResult,
  { is_opt_in = false, name = "Kranwerk Muster GmbH" } = {},
) {
  const asked: Asked[] = [];
  const clock = virtualClock(0);
  const read = async (fields: ProfileBody, { key, id }: { readonly key: string; readonly id: string }) => {
    asked.push({ fields, key, id });
    return site(fields);
  };
  const register = oneRegister(
    (now) => [
      scriptedSource(
        "gleif",
        "lei",
        ({ value }) => ({
          core: [
            ["names.legal", name],
            identifier("lei", value),
            ["jurisdiction", "DE"],
            [
              "addresses",
              { type: "registered", formatted: "Hamburg", city: "Hamburg", current: true },
              "registered",
            ],
          ],
        }),
        {},
        now,
      ),
      openProfileSite({ base_url: "service:", credentials: null, is_opt_in }),
    ],
    undefined,
    (_, caller) => profileHttp({ read, blobs: { head: async () => ({ bytes: 4_321 }) }, clock }, caller),
  );
  return { register, asked };
}

const payer = { key: "sk_abcdefg", request_id: "req_1" };
const UNKNOWN = { company: null, refresh: [] } as const;
let running: ReturnType<typeof oneRegister> | null = null;
afterEach(() => running?.stop());

describe("a profile", () => {
  test("becomes claims with provenance, beside those of other sources, in a record", async () => {
    const { register } = registerWith(() => answerOf(COMPANY));
    running = register;
    const found = (await register.get(`lei:${LEI}`, { groups: ["people"] }, payer))!;
    const record = recordView(found, new Set(INCLUDES), {
      sources: register.sources,
      now_ms: register.clock.now(),
    }) as any;
    expect(record).toMatchObject({
      names: { legal: "Kranwerk Muster GmbH", former: [{ name: "Kranbau Muster GmbH", type: "former" }] },
      legal_form: { abbreviation: "GmbH", category: "private_limited" },
      status: "active",
      jurisdiction: "DE",
      purpose: { und: "Bau und Wartung von Kranen." },
      activities: [{ scheme: "wz2008", code: "28.22.0", label: "Herstellung von Hebezeugen" }],
      relationships: [{ type: "control", direction: "out", party: { kind: "entity", name: "Nordkran AG" } }],
      web: { profiles: [{ site: "northdata", url: URL_OF_PAGE }] },
      // The former manager is not among the people of today.
      people: [
        {
          party: { kind: "person", name: "Wilma Erfunden" },
          role: { group: "signatory", label: "Prokura" },
          appointed_on: "2019-04-01",
        },
      ],
      provenance: {
        "names.legal": { source: "gleif" },
        legal_form: { source: "northdata" },
        [`identifiers[de_hrb:${NUMBER}]`]: { source: "northdata" },
      },
    });
    expect(record.identifiers.map(({ scheme, value }: any) => `${scheme}:${value}`)).toEqual(
      expect.arrayContaining([`lei:${LEI}`, `de_hrb:${NUMBER}`, "northdata:9000000001"]),
    );
    // The page names persons, so the API gives no link to it.
    expect(
      record.sources.filter(({ source }: any) => source === "northdata").map(({ body_url }: any) => body_url),
    ).toEqual(expect.arrayContaining([null]));
    expect(
      record.sources.every(({ source, body_url }: any) => source !== "northdata" || body_url === null),
    ).toBe(true);
    expect(found.cost_micros).toBe(2_000);
    expect(Schema.Errors(COMPANY_JSON_SCHEMA, record)[1]).toEqual([]);
  });

  test("tells persons only a caller who asks for them", async () => {
    const { register } = registerWith(() => answerOf(COMPANY));
    running = register;
    const found = (await register.get(`lei:${LEI}`, {}, payer))!;
    expect(found.people).toEqual([]);
    expect(JSON.stringify(await register.documents.list("company_people", { limit: 9 }))).not.toContain(
      "Erfunden",
    );
  });

  test("of a company with another LEI is not believed, however alike the names are", async () => {
    const other: InventedCompany = { ...COMPANY, identifiers: [["Lei", "GLEIF", OTHER_LEI]] };
    const { register } = registerWith(() => answerOf(other));
    running = register;
    const found = (await register.get(`lei:${LEI}`, {}, payer))!;
    expect(found.groups.map(({ source }) => source)).not.toContain("northdata");
    expect(found.refresh.find(({ source }) => source === "northdata")).toMatchObject({ error: "not_found" });
  });

  test("without an identifier of the company is not believed", async () => {
    const { register } = registerWith(() => answerOf({ ...COMPANY, identifiers: [] }));
    running = register;
    const found = (await register.get(`lei:${LEI}`, {}, payer))!;
    expect(found.groups.map(({ source }) => source)).not.toContain("northdata");
  });

  test.each([
    ["Terminated", "gelöscht", "dissolved"],
    ["Liquidation", "in Liquidation", "liquidation"],
  ])("that the site marks as %s has the status of the register", async (_, mark, status) => {
    const { register } = registerWith(() => answerOf({ ...COMPANY, mark }));
    running = register;
    expect((await register.get(`lei:${LEI}`, {}, payer))!.company.record.status).toBe(status);
  });
});

test.each([
  ["Klippe Probe AG", "/Klippe+Probe+AG,+Zug/CHE-101.602.521", "CHE-101.602.521", "ch_uid:CHE101602521"],
  [
    "Donau Muster GmbH",
    "/Donau+Muster+GmbH,+Wien/FN+12345+x",
    "Handelsgericht Wien FN 12345 x",
    "at_fn:12345x",
  ],
  ["Kranwerk Muster GmbH", "/Kranwerk,+Hamburg/HRB+12345", "HRB 12345", null],
])("the register number of %s is read by its country", (name, path, register, reference) => {
  const company: InventedCompany = { name, register, identifiers: [] };
  const { answer } = answerOf(company, 0, `https://www.northdata.com${path}`);
  const { profile } = answer as { readonly profile: Profile };
  const claims = identifierClaims({ sha256: "a".repeat(64) }, { ...profile, country_code: null });
  const keys = claims.map(({ key }) => key).filter((key) => !key!.startsWith("northdata:"));
  expect(keys).toEqual(reference === null ? [] : [reference]);
});

describe("what is asked", () => {
  test("is found by name first, then by the address where it was found", async () => {
    const { register, asked } = registerWith(() => answerOf(COMPANY));
    running = register;
    await register.get(`lei:${LEI}`, {}, payer);
    expect(asked.map(({ fields }) => fields)).toEqual([
      {
        company_name: "Kranwerk Muster GmbH",
        headquarters: "Hamburg",
        country: "DE",
        include_graph: false,
        search_fallback: false,
      },
    ]);
    await register.get(`lei:${LEI}`, { refresh: true }, payer);
    expect(asked.at(-1)!.fields).toEqual({
      url: URL_OF_PAGE,
      include_graph: false,
      search_fallback: false,
      cache_ttl_s: 0,
    });
    expect(new Set(asked.map(({ id }) => id.slice(0, 6)))).toEqual(new Set(["req_1."]));
  });

  test("is asked by name again when there is no profile at the address any more", async () => {
    const asked: SourceRequest[] = [];
    const known: KnownCompany = {
      ...NOTHING_KNOWN,
      names: ["Kranwerk Muster GmbH"],
      profiles: [{ site: "northdata", url: URL_OF_PAGE }],
    };
    const { http } = recordedHttp({});
    const source = openProfileSite({ base_url: "service:", credentials: null });
    const answer = await source.lookup(
      { scheme: "lei", value: LEI },
      [],
      async (request) => (asked.push(request), http(request)),
      new AbortController().signal,
      known,
    );
    expect(answer.kind).toBe("not_found");
    expect(asked.map(({ body }) => Object.keys(JSON.parse(body!))[0])).toEqual(["url", "company_name"]);
  });

  test("is nothing where no name is known", async () => {
    const { register, asked } = registerWith(() => answerOf(COMPANY));
    running = register;
    expect(await register.get("de_hrb:K1101R.HRB12345", {}, payer)).toBeNull();
    expect(asked).toEqual([]);
  });

  test("is nothing for callers who do not name it, when the operator wants that", async () => {
    const { register, asked } = registerWith(() => answerOf(COMPANY), { is_opt_in: true });
    running = register;
    await register.get(`lei:${LEI}`, { refresh: true }, payer);
    expect(asked).toEqual([]);
    await register.get(`lei:${LEI}`, { sources: ["northdata"] }, payer);
    expect(asked.length).toBe(1);
  });
});

test("an item of a batch waits for its turn when the site has no slot, and the source is well all the same", async () => {
  let isBusy = true;
  const { register } = registerWith(() => (isBusy ? failedWith("politeness_timeout") : answerOf(COMPANY)));
  running = register;
  const { documents, clock, sources, index, imports, failures } = register;
  const { worker } = companyItems({
    documents,
    clock,
    sources,
    index,
    imports,
    service: {
      get: async (_, options, { payer: by }) => (await register.get(`lei:${LEI}`, options, by)) ?? UNKNOWN,
    },
    bodyGrants: openBodyGrants({ documents, clock }),
    openHttp: () => recordedHttp({}).http,
  });
  const attempt = { project: "default", key: payer.key, attempt_id: "j:0.0" } as AttemptContext;
  const run = () => worker.run(register.ask(), { ref: `lei:${LEI}` }, attempt);
  expect(await run()).toMatchObject({ error: null, retry: { reason: "busy", retry_after_s: 9 } });
  expect(failures).toEqual([]);
  isBusy = false;
  await clock.advance(10_000);
  expect(await run()).toMatchObject({ error: null, retry: null, bill: { paid: true, cost_micros: 2_000 } });
});

describe("the payer", () => {
  test("is the caller's key; a caller without one is answered without the site", async () => {
    const { register, asked } = registerWith(() => answerOf(COMPANY));
    running = register;
    const found = (await register.get(`lei:${LEI}`))!;
    expect(found.refresh.map(({ source }) => source)).not.toContain("northdata");
    expect(asked).toEqual([]);
    expect((await register.get(`lei:${LEI}`, {}, payer))!.cost_micros).toBe(2_000);
    expect(asked.map(({ key }) => key)).toEqual(["sk_abcdefg"]);
  });

  test("whose key is without paid fetches is answered without the site", async () => {
    const { register, asked } = registerWith(() => answerOf(COMPANY));
    running = register;
    expect((await register.get(`lei:${LEI}`, {}, { ...payer, key: UNPAID_KEY }))!.cost_micros).toBe(0);
    expect(asked).toEqual([]);
  });

  test("of a request that two callers share pays once", async () => {
    const { register, asked } = registerWith(() => answerOf(COMPANY));
    running = register;
    await register.get(`lei:${LEI}`);
    const costs = await Promise.all(
      [1, 2, 3].map(async () => (await register.get(`lei:${LEI}`, { refresh: true }, payer))!.cost_micros),
    );
    expect(costs.reduce((sum, cost) => sum + cost)).toBe(2_000 * asked.length);
  });

  test("whose node died after it had paid is told what the repeated request cost before", async () => {
    const { register } = registerWith(() => answerOf(COMPANY, 0));
    running = register;
    register.spent_micros.set(payer.request_id, 2_000);
    expect((await register.get(`lei:${LEI}`, {}, payer))!.cost_micros).toBe(2_000);
    expect(
      (await register.get(`lei:${LEI}`, { refresh: true }, { ...payer, request_id: "other" }))!.cost_micros,
    ).toBe(0);
  });

  test("that moved to another node and asked again is told the cost of its one request", async () => {
    const { register, asked } = registerWith(() => answerOf(COMPANY));
    running = register;
    await register.get(`lei:${LEI}`);
    const costs = await Promise.all(
      [1, 2].map(async () => (await register.get(`lei:${LEI}`, { refresh: true }, payer))!.cost_micros),
    );
    expect(asked.length).toBe(1);
    expect(costs).toEqual([0, 2_000]);
  });

  test.each(["budget_exhausted", "paid_tier_required"])(
    "who cannot pay (%s) is told so, and keeps nobody else from asking",
    async (error) => {
      let isBroke = true;
      const { register, asked } = registerWith(() => (isBroke ? failedWith(error) : answerOf(COMPANY)));
      running = register;
      const found = (await register.get(`lei:${LEI}`, {}, payer))!;
      expect(found.refresh.find(({ source }) => source === "northdata")).toMatchObject({
        result: "failed",
        error,
      });
      isBroke = false;
      const other = { ...payer, key: "sk_another" };
      expect((await register.get(`lei:${LEI}`, {}, other))!.cost_micros).toBe(2_000);
      expect(asked.length).toBe(2);
    },
  );

  test("pays also for a request that came to nothing", async () => {
    const { register } = registerWith(() => failedWith("blocked", 7_000));
    running = register;
    const found = (await register.get(`lei:${LEI}`, {}, payer))!;
    expect(found.cost_micros).toBe(7_000);
    expect(found.refresh.find(({ source }) => source === "northdata")).toMatchObject({
      result: "failed",
      error: "blocked",
      retry_after_s: 9,
    });
    // The site is left alone for as long as it said.
    expect((await register.get(`lei:${LEI}`, {}, payer))!.cost_micros).toBe(0);
  });
});

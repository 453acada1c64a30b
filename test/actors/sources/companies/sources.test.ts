/** The sources of companies: what each says about itself, and what its answers become. One test for each peculiarity. */
import { describe, expect, test } from "vitest";
import { FIELDS } from "../../../../actors/sources/companies/claim.ts";
import { type FieldGroup } from "../../../../schemas/companies.ts";
import type { LookupAnswer, OpenSource, SourceFailure } from "../../../../actors/sources/companies/source.ts";
import { openBrreg } from "../../../../actors/sources/companies/sources/brreg.ts";
import {
  interestOf,
  openCompaniesHouse,
} from "../../../../actors/sources/companies/sources/companies-house.ts";
import { dateFrom, dayOf, openGleif } from "../../../../actors/sources/companies/sources/gleif.ts";
import { openKrs } from "../../../../actors/sources/companies/sources/krs.ts";
import { openOpenFigi } from "../../../../actors/sources/companies/sources/openfigi.ts";
import { openPrh } from "../../../../actors/sources/companies/sources/prh.ts";
import { openRechercheEntreprises } from "../../../../actors/sources/companies/sources/recherche-entreprises.ts";
import { openSecEdgar } from "../../../../actors/sources/companies/sources/sec-edgar.ts";
import { assertFits, openSources } from "../../../../actors/sources/companies/sources/open-sources.ts";
import { SOURCE_NAMES, SOURCES } from "../../../../actors/sources/companies/sources/sources.ts";
import { openZefix } from "../../../../actors/sources/companies/sources/zefix.ts";
import { contradiction } from "../../../../actors/sources/companies/merging.ts";
import { listingOnMarket } from "../../../../actors/sources/companies/schemes/listings.ts";
import { parseIdentifier } from "../../../../actors/sources/companies/schemes/identifier.ts";
import { NOTHING_KNOWN, type Recorded, recordedHttp } from "../../../harness/recorded-http.ts";

const BASE = "http://source.test";
const ALL: readonly FieldGroup[] = ["core", "people", "ownership", "relationships", "filings", "securities"];
const signal = new AbortController().signal;

async function look(
  open: OpenSource,
  reference: string,
  answers: Readonly<Record<string, Recorded>>,
  groups: readonly FieldGroup[] = ALL,
): Promise<LookupAnswer> {
  const [scheme = "", value = ""] = reference.split(":");
  const { http } = recordedHttp(
    Object.fromEntries(Object.entries(answers).map(([path, answer]) => [`${BASE}${path}`, answer])),
  );
  return open({ base_url: BASE, credentials: "key" }).lookup(
    { scheme, value },
    groups,
    http,
    signal,
    NOTHING_KNOWN,
  );
}

/** The claims by field, or field and key: `names.legal`, `addresses registered`. Fails when the company was not found. */
function claimsOf(answer: LookupAnswer): Record<string, unknown> {
  if (answer.kind !== "found") throw new Error(`Not found: ${JSON.stringify(answer)}`);
  return Object.fromEntries(
    answer.groups.flatMap((group) =>
      group.kind === "claims"
        ? group.claims.map(({ field, key, value }) => [key === null ? field : `${field} ${key}`, value])
        : [],
    ),
  );
}
const groupOf = (answer: LookupAnswer, name: FieldGroup) =>
  answer.kind === "found" ? answer.groups.find(({ group }) => group === name) : undefined;

const openers = await Promise.all(
  SOURCE_NAMES.map(async (name) => [name, (await SOURCES[name].load()) as OpenSource] as const),
);

describe.each(openers)("%s", (name, open) => {
  const source = open({ base_url: BASE, credentials: null });
  const { description } = source;

  test("describes itself completely", () => {
    expect(description.name).toBe(name);
    // A canary of a source that is paid would cost money every quarter of an hour.
    expect(description.canaries.length > 0).toBe(!description.is_paid);
    expect(description.capabilities).toContain("lookup");
    expect(description.capabilities.includes("search")).toBe(source.search !== undefined);
    // A source that never makes a company has no core: it adds to one whose name another source knows.
    const core = source.nameOf ? [] : ["core"];
    expect(Object.keys(description.groups)).toEqual(expect.arrayContaining([...core, "identifiers"]));
    for (const { identifier, expect: expected } of description.canaries) {
      expect(description.schemes.lookup).toContain(identifier.scheme);
      const parsed = parseIdentifier(identifier.scheme, identifier.value);
      expect(parsed).toMatchObject({ identifier: { value: identifier.value } });
      expect(parsed).not.toMatchObject({ identifier: { valid: false } });
      expect(expected.every(({ field }) => field in FIELDS)).toBe(true);
    }
  });

  const reference = description.canaries[0]?.identifier ?? {
    scheme: description.schemes.lookup[0]!,
    value: "1",
  };
  const asked = (answer: Recorded): Promise<LookupAnswer> => {
    const { http } = recordedHttp({});
    return source.lookup(
      reference,
      ALL,
      async (request) => {
        const one = recordedHttp({ [request.url]: answer });
        await http(request);
        return one.http(request);
      },
      signal,
      { ...NOTHING_KNOWN, names: ["Acme Ltd"] },
    );
  };

  test("a page instead of JSON is unreadable", async () => {
    expect(await asked({ body: "<!DOCTYPE html><title>Maintenance</title>" })).toMatchObject({
      kind: "failed",
      error: "unreadable",
      message: expect.stringContaining("a page instead of JSON"),
    });
  });

  test("a body that was cut short is unreadable, not a missing company", async () => {
    expect(await asked({ body: '{"results": [{"siren": "7801' })).toMatchObject({ error: "unreadable" });
  });

  test("JSON of another shape is schema_drift", async () => {
    expect(await asked({ body: { data: { id: 1 }, results: {}, odpis: [], companies: 7 } })).toMatchObject({
      kind: "failed",
      error: "schema_drift",
    });
  });

  test("another status is a failure that names it, and a failed request is passed on", async () => {
    expect(await asked({ status: 500, body: "" })).toMatchObject({ kind: "failed", error: "http_500" });
    const refused: SourceFailure = {
      kind: "failed",
      error: "rate_limited",
      message: "No slot",
      retry_after_s: 7,
    };
    expect(await asked(refused)).toEqual(refused);
  });
});

test("an entry that does not fit its source keeps the service from starting, and names it", async () => {
  const [source] = await openSources(() => ({ base_url: BASE, credentials: null }));
  const { description } = source!;
  expect(() => assertFits("gleif", { description })).not.toThrow();
  expect(() => assertFits("glief", { description })).toThrow(
    'Cannot start with the company source "glief": its description names it "gleif"',
  );
  const schemes = { ...description.schemes, lookup: ["lei", "moon_no"] };
  expect(() => assertFits("gleif", { description: { ...description, schemes } })).toThrow(
    'Cannot start with the company source "gleif": it looks up "moon_no", which is no identifier scheme',
  );
});

test("a source without its credentials says what is missing", async () => {
  const sources = await openSources(() => ({ base_url: BASE, credentials: null }));
  const inactive = sources.flatMap(({ description, inactive_because }) =>
    inactive_because === null ? [] : [`${description.name}: ${inactive_because}`],
  );
  expect(inactive).toEqual([
    "zefix: TRAWL_ZEFIX_KEY is not set",
    "companies_house: TRAWL_COMPANIES_HOUSE_KEY is not set",
  ]);
});

describe("GLEIF", () => {
  const LEI = "5493001KJTIIGC8Y1R12";
  const record = (entity: object = {}, more: object = {}, relationships: object = {}) => ({
    body: {
      data: {
        id: LEI,
        attributes: {
          lei: LEI,
          entity: {
            legalName: { name: "Acme Ltd", language: "en" },
            legalAddress: {
              addressLines: ["1 High Street"],
              city: "London",
              country: "GB",
              postalCode: "N1",
            },
            jurisdiction: "GB",
            status: "ACTIVE",
            ...entity,
          },
          registration: { status: "ISSUED", corroborationLevel: "FULLY_CORROBORATED" },
          ...more,
        },
        relationships,
      },
    },
  });
  const path = `/lei-records/${LEI}`;

  test.each([
    ["2011-07-24T22:00:00Z", "DE", "2011-07-25"],
    ["2016-05-20T00:00:00Z", "US-DE", "2016-05-20"],
    ["2016-05-20T05:00:00Z", "US-NY", "2016-05-20"],
    ["2016-05-20T11:00:00Z", "NZ", "2016-05-21"],
    ["2016-05-20T10:00:00Z", "US-HI", "2016-05-20"],
    [null, "DE", null],
    ["soon", "DE", null],
  ])("%s in %s is the day %s", (timestamp, jurisdiction, day) =>
    expect(dateFrom(timestamp, jurisdiction)).toBe(day),
  );

  test("numbers of a register go to its scheme; a number without one is none", async () => {
    const swiss = record({ registeredAt: { id: "RA000548" }, registeredAs: "CHE-101.602.521" });
    expect(claimsOf(await look(openGleif, `lei:${LEI}`, { [path]: swiss }))).toMatchObject({
      "identifiers ch_uid:CHE101602521": {
        valid: true,
        display: "CHE-101.602.521",
        issuer: { ra_code: "RA000548" },
      },
    });
    const none = record({ registeredAt: { id: "RA999999" }, registeredAs: null });
    const numbers = Object.keys(claimsOf(await look(openGleif, `lei:${LEI}`, { [path]: none })));
    expect(numbers.filter((key) => key.startsWith("identifiers"))).toEqual([`identifiers lei:${LEI}`]);
  });

  test("a German number gets its court from the OpenCorporates id", async () => {
    const german = record(
      { registeredAt: { id: "RA000242" }, registeredAs: "HRA 15378", jurisdiction: "DE" },
      { ocid: "de/M1201_HRA15378" },
    );
    expect(claimsOf(await look(openGleif, `lei:${LEI}`, { [path]: german }))).toMatchObject({
      "identifiers de_hrb:M1201.HRA15378": { display: "Amtsgericht Frankfurt am Main HRA 15378" },
      "identifiers ocid:de/M1201_HRA15378": { kind: "open" },
    });
  });

  test("a wrong check digit is a claim that is never chosen", async () => {
    const answer = await look(openGleif, `lei:${LEI}`, {
      [path]: record({}, { lei: "SPARSE00000000000001" }),
    });
    expect(groupOf(answer, "identifiers")).toMatchObject({
      claims: [{ value: { valid: false }, rejected_because: "check_digit" }],
    });
  });

  test("a lapsed LEI is an active company of less precedence", async () => {
    const lapsed = record(
      {},
      { registration: { status: "LAPSED", corroborationLevel: "FULLY_CORROBORATED" } },
    );
    const answer = await look(openGleif, `lei:${LEI}`, { [path]: lapsed });
    expect(claimsOf(answer)).toMatchObject({ status: "active" });
    expect(groupOf(answer, "core")).toMatchObject({ precedence: 60 });
    expect(groupOf(await look(openGleif, `lei:${LEI}`, { [path]: record() }), "core")).toMatchObject({
      precedence: 80,
    });
  });

  test("legal form 8888 has a label and no code", async () => {
    const unlisted = record({ legalForm: { id: "8888", other: "Sociedad Anónima" } });
    expect(claimsOf(await look(openGleif, `lei:${LEI}`, { [path]: unlisted }))).toMatchObject({
      legal_form: { elf: null, label: "Sociedad Anónima", category: "private_limited" },
    });
  });

  test("a record with little in it is read", async () => {
    const sparse = {
      body: {
        data: {
          id: LEI,
          attributes: {
            lei: LEI,
            entity: { legalName: { name: "Sparse AB" }, legalAddress: { country: "SE" }, status: "ACTIVE" },
            registration: { status: "ISSUED" },
          },
        },
      },
    };
    expect(claimsOf(await look(openGleif, `lei:${LEI}`, { [path]: sparse }))).toMatchObject({
      "names.legal": "Sparse AB",
      jurisdiction: "SE",
      legal_form: { category: "private_limited" },
    });
  });

  const links = {
    "direct-parent": {
      links: { "relationship-record": "https://elsewhere.test/1", "lei-record": "https://elsewhere.test/2" },
    },
    "ultimate-parent": { links: { "reporting-exception": "https://elsewhere.test/3" } },
    isins: { links: { related: "https://elsewhere.test/4" } },
  };
  const parent = "HWUPKR0MPOU8FGXBT394";
  const relationship = {
    body: {
      data: {
        attributes: {
          relationship: {
            endNode: { id: parent },
            type: "IS_DIRECTLY_CONSOLIDATED_BY",
            status: "ACTIVE",
            periods: [{ type: "RELATIONSHIP_PERIOD", startDate: "2018-04-10T00:00:00Z" }],
          },
          registration: { corroborationLevel: "ENTITY_SUPPLIED_ONLY" },
        },
      },
    },
  };
  const exception = {
    body: {
      data: {
        attributes: {
          category: "ULTIMATE_ACCOUNTING_CONSOLIDATION_PARENT",
          reason: "NATURAL_PERSONS",
          reference: null,
        },
      },
    },
  };
  const isins = (page: number, lastPage: number, ...codes: string[]) => ({
    body: {
      meta: { pagination: { currentPage: page, lastPage, total: lastPage } },
      data: codes.map((isin) => ({ attributes: { isin } })),
    },
  });
  const answers = {
    [path]: record({}, {}, links),
    [`${path}/direct-parent-relationship`]: relationship,
    [`${path}/direct-parent`]: record(),
    [`${path}/ultimate-parent-reporting-exception`]: exception,
    [`${path}/isins?page%5Bnumber%5D=1&page%5Bsize%5D=200`]: isins(1, 2, "US0378331005"),
    [`${path}/isins?page%5Bnumber%5D=2&page%5Bsize%5D=200`]: isins(2, 2, "DE000A2SH128"),
  };

  test("follows what the links say there is, on its own host: a parent, an exception, all ISINs", async () => {
    const answer = await look(openGleif, `lei:${LEI}`, answers);
    expect(claimsOf(answer)).toMatchObject({
      "ownership.direct_parent": { kind: "entity", ref: `lei:${parent}`, name: "Acme Ltd" },
      "ownership.exceptions ULTIMATE_ACCOUNTING_CONSOLIDATION_PARENT": { reason: "NATURAL_PERSONS" },
      [`relationships is_directly_consolidated_by|out|lei:${parent}`]: {
        periods: [{ start: "2018-04-10", end: null }],
      },
      "securities US0378331005": { isin: "US0378331005" },
      "securities DE000A2SH128": {},
    });
  });

  test("a failed parent fails its groups only", async () => {
    const answer = await look(openGleif, `lei:${LEI}`, {
      ...answers,
      [`${path}/direct-parent-relationship`]: {
        kind: "failed",
        error: "timeout",
        message: "",
        retry_after_s: null,
      },
    });
    expect(groupOf(answer, "core")).toMatchObject({ kind: "claims" });
    expect(groupOf(answer, "ownership")).toMatchObject({ kind: "failed", error: "timeout" });
    expect(groupOf(answer, "relationships")).toMatchObject({ kind: "failed" });
  });

  test.each([
    // Mumbai's midnight, and a moment of half past six in the evening elsewhere.
    ["2025-03-31T18:30:00Z", "IN", "2025-04-01"],
    ["2025-03-31T18:30:00Z", "DE", "2025-03-31"],
    ["2025-03-31T18:15:00Z", "NP", "2025-04-01"],
    ["2025-03-31T18:15:27Z", "NP", "2025-03-31"],
    ["2025-03-31T03:30:00Z", "CA-NL", "2025-03-31"],
    ["2025-03-31T13:30:00Z", "AU", "2025-04-01"],
    ["2025-03-31T22:00:00Z", "DE", "2025-04-01"],
    ["2025-03-31T22:14:09Z", "DE", "2025-03-31"],
  ])("%s of an LEI in %s is the day %s", (timestamp, jurisdiction, day) =>
    expect(dayOf(timestamp, jurisdiction)).toBe(day),
  );

  const ofStatus = async (status: string) =>
    claimsOf(
      await look(openGleif, `lei:${LEI}`, {
        [path]: record({}, { registration: { status, nextRenewalDate: "2024-05-01T00:00:00Z" } }),
      }),
    )[`identifiers lei:${LEI}`];

  test("an LEI that was not renewed ended on its date; one that was withdrawn has no date", async () => {
    expect(await ofStatus("ISSUED")).toMatchObject({ status: "active", valid_to: "2024-05-01" });
    expect(await ofStatus("LAPSED")).toMatchObject({ status: "inactive", valid_to: "2024-05-01" });
    const duplicate = await ofStatus("DUPLICATE");
    expect(duplicate).toMatchObject({ status: "inactive" });
    expect(duplicate).not.toHaveProperty("valid_to");
  });

  test("two LEIs contradict, also a lapsed one; a duplicate that was withdrawn does not", async () => {
    type Stated = Parameters<typeof contradiction>[0][number];
    const other: Stated = { scheme: "lei", value: "HWUPKR0MPOU8FGXBT394", status: "active" };
    const against = async (status: string) => contradiction([(await ofStatus(status)) as Stated], [other]);
    expect(await against("ISSUED")).toBe("lei");
    expect(await against("LAPSED")).toBe("lei");
    expect(await against("DUPLICATE")).toBeNull();
    expect(await against("RETIRED")).toBeNull();
  });

  const listOf = (total: number, publishDate: string, data: readonly object[]) => ({
    body: { meta: { goldenCopy: { publishDate }, pagination: { total } }, data },
  });
  const query = (page: number): string => `page%5Bnumber%5D=${page}&page%5Bsize%5D=200`;
  const changes = (...values: readonly (readonly [string, string])[]) =>
    values.map(([valueOld, valueNew]) => ({
      attributes: {
        field: "/lei:LEIData/lei:LEIRecords/lei:LEIRecord/lei:Entity/lei:LegalName",
        date: "2024-08-29T08:00:00Z",
        modificationType: "UPDATE",
        valueOld,
        valueNew,
      },
    }));

  test("an element that changed twice on one day is two events", async () => {
    const answer = await look(
      openGleif,
      `lei:${LEI}`,
      {
        [path]: record({}, {}, { "field-modifications": {} }),
        [`${path}/field-modifications?${query(1)}`]: listOf(
          2,
          "2025-05-15T00:00:00Z",
          changes(["Acme", "Acne Ltd"], ["Acne Ltd", "Acme Ltd"]),
        ),
      },
      ["events"],
    );
    const events = Object.values(claimsOf(answer)).filter(
      (value) => (value as { type?: string } | null)?.type === "name_change",
    );
    expect(events.map((event) => (event as { text: string }).text)).toEqual([
      "Acme → Acne Ltd",
      "Acne Ltd → Acme Ltd",
    ]);
  });

  test("a list that is published anew while it is read is read again from its start", async () => {
    const first = listOf(2, "2025-05-15T00:00:00Z", [{ attributes: { isin: "US0378331005" } }]);
    const anew = listOf(2, "2025-05-15T08:00:00Z", [{ attributes: { isin: "NL0000009165" } }]);
    const second = listOf(2, "2025-05-15T08:00:00Z", [{ attributes: { isin: "DE000A2SH128" } }]);
    /** `editions` of the first page, in the order in which they are asked for. */
    const walk = async (editions: readonly object[]) => {
      const [...left] = editions;
      const others: Record<string, Recorded> = {
        [path]: record({}, {}, { isins: {} }),
        [`${path}/isins?${query(2)}`]: second,
      };
      return openGleif({ base_url: BASE, credentials: null }).lookup(
        { scheme: "lei", value: LEI },
        ["securities"],
        (request) => {
          const asked = request.url.slice(BASE.length);
          const answer = asked.endsWith(query(1)) ? (left.shift() as Recorded) : others[asked]!;
          return recordedHttp({ [request.url]: answer }).http(request);
        },
        signal,
        NOTHING_KNOWN,
      );
    };
    const mended = claimsOf(await walk([first, anew]));
    expect(Object.keys(mended).filter((key) => key.startsWith("securities"))).toEqual([
      "securities NL0000009165",
      "securities DE000A2SH128",
    ]);
    expect(groupOf(await walk([first, first, first]), "securities")).toMatchObject({
      kind: "failed",
      error: "inconsistent",
    });
  });

  test("a failed page of children leaves the parents standing, and the group counts as failed", async () => {
    const refused = { kind: "failed", error: "timeout", message: "", retry_after_s: null } as const;
    const answer = await look(openGleif, `lei:${LEI}`, {
      ...answers,
      [path]: record({}, {}, { ...links, "direct-children": {} }),
      [`${path}/direct-children?${query(1)}`]: listOf(2, "2025-05-15T00:00:00Z", [
        record({}, { lei: "549300B56MD0ZC402L06" }).body.data,
      ]),
      [`${path}/direct-children?${query(2)}`]: refused,
    });
    const claims = claimsOf(answer);
    expect(claims).toHaveProperty([`relationships is_directly_consolidated_by|out|lei:${parent}`]);
    expect(groupOf(answer, "relationships")).toMatchObject({
      kind: "claims",
      is_complete: false,
      problem: { error: "timeout" },
    });
    expect(groupOf(answer, "ownership")).toMatchObject({ kind: "claims", is_complete: true });
  });

  test("asks for parents and ISINs only when the caller needs them", async () => {
    const { http, requests } = recordedHttp({ [`${BASE}${path}`]: record({}, {}, links) });
    await openGleif({ base_url: BASE, credentials: null }).lookup(
      { scheme: "lei", value: LEI },
      ["core"],
      http,
      signal,
      NOTHING_KNOWN,
    );
    expect(requests.map(({ url }) => url)).toEqual([`${BASE}${path}`]);
  });
});

describe("GLEIF by an ISIN or a BIC", () => {
  const LEI = "529900GRZ2BQY5ZM9N49";
  const record = (lei: string, bic: string | null = null) => ({
    id: lei,
    attributes: {
      lei,
      entity: { legalName: { name: "PUMA SE" }, legalAddress: { country: "DE" }, status: "ACTIVE" },
      registration: { status: "ISSUED" },
      bic: bic === null ? null : [bic],
    },
  });
  const by = (filter: string, ...data: object[]) => ({
    [`/lei-records?filter%5B${filter}&page%5Bsize%5D=2`]: { body: { data } },
  });

  test("finds the company whose record has it", async () => {
    const isin = by("isin%5D=DE0006969603", record(LEI));
    expect(await look(openGleif, "isin:DE0006969603", isin, ["core"])).toMatchObject({ native_id: LEI });
    const bic = by("bic%5D=PUMADE77XXX", record(LEI, "PUMADE77XXX"));
    expect(await look(openGleif, "bic:PUMADE77XXX", bic, ["core"])).toMatchObject({ native_id: LEI });
  });

  test("finds none where there is none, where two have it, and where the record lacks the BIC", async () => {
    for (const [reference, answers] of [
      ["isin:DE0006969603", by("isin%5D=DE0006969603")],
      ["isin:DE0006969603", by("isin%5D=DE0006969603", record(LEI), record("5493001KJTIIGC8Y1R12"))],
      ["bic:PUMADE77XXX", by("bic%5D=PUMADE77XXX", record(LEI))],
    ] as const)
      expect(await look(openGleif, reference, answers, ["core"])).toMatchObject({ kind: "not_found" });
  });

  test("a BIC of eight characters is that of the head office", () =>
    expect(parseIdentifier("bic", "pumade77")).toMatchObject({ identifier: { value: "PUMADE77XXX" } }));
});

describe("OpenFIGI", () => {
  const figi = (exchCode: string, ticker: string, more: object = {}) => ({
    figi: "BBG000BLNNH6",
    name: "INTL BUSINESS MACHINES CORP",
    ticker,
    exchCode,
    shareClassFIGI: "BBG001S5S399",
    securityType2: "Common Stock",
    ...more,
  });
  const known = { ...NOTHING_KNOWN, names: ["International Business Machines Corporation"], country: "US" };
  async function mapped(reference: string, lines: readonly object[] | object, company = known) {
    const colon = reference.indexOf(":");
    const body = [Array.isArray(lines) ? { data: lines } : lines];
    const { http, requests } = recordedHttp({ [`${BASE}/mapping`]: { body } });
    const answer = await openOpenFigi({ base_url: BASE, credentials: "key" }).lookup(
      { scheme: reference.slice(0, colon), value: reference.slice(colon + 1) },
      ["securities"],
      http,
      signal,
      company,
    );
    return { answer, jobs: requests.map(({ body: job }) => JSON.parse(job!)), requests };
  }

  test("of the lines of an ISIN those of shares on a market with a MIC are listings", async () => {
    const { answer, jobs, requests } = await mapped("isin:US4592001014", [
      figi("US", "IBM"),
      figi("UN", "IBM"),
      figi("GY", "IBM"),
      figi("EO", "IBMEUR"),
      figi("LN", "IBM/"),
      figi("UW", "IBM 10/25 C100", { securityType2: "Option" }),
    ]);
    expect(jobs).toEqual([[{ idType: "ID_ISIN", idValue: "US4592001014" }]]);
    expect(requests[0]!.headers).toEqual([["X-OPENFIGI-APIKEY", "key"]]);
    expect(Object.keys(claimsOf(answer))).toEqual([
      "identifiers figi:BBG001S5S399",
      "securities ticker:XNYS:IBM",
      "securities ticker:XETR:IBM",
      "securities ticker:XLON:IBM",
    ]);
    expect(groupOf(answer, "securities")).toMatchObject({ is_complete: false });
  });

  test.each([
    ["7203.T", "XTKS:7203", { idValue: "7203", exchCode: "JT" }],
    ["NESN.SW", "XSWX:NESN", { idValue: "NESN", exchCode: "SE" }],
    ["600519.SS", "XSHG:600519", { idValue: "600519", exchCode: "CG" }],
    ["ERIC-B.ST", "XSTO:ERIC-B", { idValue: "ERICB", exchCode: "SS" }],
    ["TECK-B.TO", "XTSE:TECK-B", { idValue: "TECK/B", exchCode: "CT" }],
  ])("%s is asked for as a ticker on its market", async (listing, value, job) => {
    expect(listingOnMarket(listing)).toBe(`ticker:${value}`);
    const { jobs } = await mapped(`ticker:${value}`, { warning: "No identifier found." });
    expect(jobs).toEqual([[{ idType: "TICKER", ...job }]]);
  });

  test("a ticker is the company's only in its country and under its name, or with its share class", async () => {
    const lines = [figi("GY", "IBM")];
    expect((await mapped("ticker:XETR:IBM", lines)).answer).toMatchObject({ kind: "not_found" });
    const german = { ...known, country: "DE" };
    expect((await mapped("ticker:XETR:IBM", lines, german)).answer).toMatchObject({ kind: "found" });
    const other = { ...german, names: ["Deutsche Lufthansa AG"] };
    expect((await mapped("ticker:XETR:IBM", lines, other)).answer).toMatchObject({ kind: "not_found" });
    const same = { ...known, identifiers: [{ scheme: "figi", value: "BBG001S5S399" }] };
    expect((await mapped("ticker:XETR:IBM", lines, same)).answer).toMatchObject({ kind: "found" });
  });

  test("what it does not find or understand is not there, and a market without a code is not asked for", async () => {
    for (const answer of [{ warning: "No identifier found." }, { error: "Invalid idValue format." }, []])
      expect((await mapped("isin:US4592001014", answer)).answer).toMatchObject({ kind: "not_found" });
    const { answer, requests } = await mapped("ticker:XNAS:AAPL", []);
    expect([answer.kind, requests]).toEqual(["not_found", []]);
  });

  test("takes 25 requests a minute, and ten times as many with a key", () => {
    const rate = (credentials: string | null) =>
      openOpenFigi({ base_url: BASE, credentials }).description.limits.requests_per_second * 60;
    expect([rate(null), rate("key")].map(Math.round)).toEqual([25, 250]);
  });
});

describe("Companies House", () => {
  const profile = (more: object = {}) => ({
    body: {
      company_name: "ACME LTD",
      company_number: "12345",
      company_status: "active",
      type: "ltd",
      ...more,
    },
  });
  const path = "/company/00012345";
  const open = (answers: Readonly<Record<string, Recorded>>, groups: readonly FieldGroup[] = ["core"]) =>
    look(openCompaniesHouse, "gb_coh:00012345", { [path]: profile(), ...answers }, groups);

  test("pads its number, and reads addresses whose country is a word", async () => {
    const answer = await open({
      [path]: profile({
        registered_office_address: { address_line_1: "1 High St", locality: "Leeds", country: "England" },
      }),
    });
    expect(answer).toMatchObject({ native_id: "00012345" });
    expect(claimsOf(answer)).toMatchObject({
      "identifiers gb_coh:00012345": { value: "00012345" },
      "addresses registered": { country: "GB", city: "Leeds" },
      legal_form: { category: "private_limited" },
    });
    const abroad = await open({
      [path]: profile({
        registered_office_address: { address_line_1: "1 High St", country: "Not specified" },
      }),
    });
    expect(claimsOf(abroad)).toMatchObject({ "addresses registered": { country: null } });
  });

  test.each([
    ["administration", "insolvency"],
    ["converted-closed", "dissolved"],
    ["something-new", "unknown"],
  ])("status %s is %s", async (company_status, status) => {
    expect(claimsOf(await open({ [path]: profile({ company_status }) }))).toMatchObject({ status });
  });

  const officer = (name: string, more: object = {}) => ({
    name,
    officer_role: "director",
    appointed_on: "2020-01-02",
    ...more,
  });
  const page = (start: number) => `${path}/officers?items_per_page=100&start_index=${start}`;

  test("reads officers to the last page, and of their birth the year and month", async () => {
    const answer = await open(
      {
        [page(0)]: {
          body: {
            total_results: 2,
            items: [
              officer("DOE, Jane", {
                date_of_birth: { year: 1970, month: 3 },
                nationality: "South African",
                country_of_residence: "England",
              }),
            ],
          },
        },
        [page(1)]: {
          body: {
            total_results: 2,
            items: [
              officer("OLD, Joe", {
                resigned_on: "2021-01-01",
                nationality: "Not stated",
                country_of_residence: "France",
              }),
            ],
          },
        },
      },
      ["people"],
    );
    expect(claimsOf(answer)).toMatchObject({
      "people doe jane|management|2020-01-02": {
        given_name: "Jane",
        family_name: "DOE",
        birth: { year: 1970, month: 3 },
        nationalities: ["ZA"],
        residence: { country: "GB" },
        current: true,
      },
      "people old joe|management|2020-01-02": {
        current: false,
        resigned_on: "2021-01-01",
        nationalities: [],
        residence: { country: "FR" },
      },
    });
  });

  test("a list that ends early is a failure of the group", async () => {
    const answer = await open(
      {
        [page(0)]: { body: { total_results: 5, items: [officer("DOE, Jane")] } },
        [page(1)]: { body: { total_results: 5, items: [] } },
      },
      ["people"],
    );
    expect(groupOf(answer, "people")).toMatchObject({ kind: "failed", error: "incomplete" });
    expect(groupOf(answer, "core")).toMatchObject({ kind: "claims" });
  });

  test("officers of a dissolved company are not current", async () => {
    const answer = await open(
      {
        [path]: profile({ company_status: "dissolved" }),
        [page(0)]: { body: { total_results: 1, items: [officer("DOE, Jane")] } },
      },
      ["people"],
    );
    expect(claimsOf(answer)).toMatchObject({ "people doe jane|management|2020-01-02": { current: false } });
  });

  test("reads controllers of all kinds; a statement is none, a protected person has no name", async () => {
    const kinds = [
      {
        kind: "legal-person-person-with-significant-control",
        name: "Foo Bar Limited",
        identification: { country_registered: "England", registration_number: "56099" },
        natures_of_control: ["ownership-of-shares-75-to-100-percent"],
      },
      { kind: "super-secure-person-with-significant-control", notified_on: "2020-01-01" },
      {
        kind: "persons-with-significant-control-statement",
        statement: "no-individual-or-entity-with-signficant-control",
      },
    ];
    const answer = await open(
      {
        [`${path}/persons-with-significant-control?items_per_page=100&start_index=0`]: {
          body: { total_results: 3, items: kinds },
        },
      },
      ["ownership"],
    );
    expect(claimsOf(answer)).toMatchObject({
      "ownership.interested_parties gb_coh:00056099": {
        party: { kind: "entity" },
        interests: [{ share: { minimum: 75, maximum: 100 } }],
      },
      "ownership.interested_parties super-secure-person-with-significant-control": {
        party: { kind: "anonymous" },
      },
    });
    expect(groupOf(answer, "ownership")).toMatchObject({ claims: { length: 2 } });
  });

  test.each([
    [
      "ownership-of-shares-25-to-50-percent",
      { type: "shareholding", share: { exclusive_minimum: 25, maximum: 50 } },
    ],
    [
      "voting-rights-50-to-75-percent-as-trust",
      { type: "votingRights", share: { exclusive_minimum: 50, exclusive_maximum: 75 }, details: "as trust" },
    ],
    ["right-to-appoint-and-remove-directors", { type: "appointmentOfBoard" }],
    ["significant-influence-or-control", { type: "otherInfluenceOrControl" }],
  ])("%s", (nature, interest) =>
    expect(interestOf(nature)).toEqual({ ...interest, direct_or_indirect: "unknown" }),
  );

  test("a search hit keeps the name that matched", async () => {
    const { http } = recordedHttp({
      [`${BASE}/search/companies?q=Tesco&items_per_page=5`]: {
        body: {
          items: [
            {
              company_number: "15680114",
              title: "15680114 LTD",
              snippet: "TESCO STORES LTD",
              company_status: "dissolved",
            },
          ],
        },
      },
    });
    const source = openCompaniesHouse({ base_url: BASE, credentials: "key" });
    expect(await source.search!({ name: "Tesco", country: "GB", limit: 5 }, http, signal)).toMatchObject({
      hits: [{ name: "15680114 LTD", former_names: ["TESCO STORES LTD"], status: "dissolved" }],
    });
  });

  test("sends the key as the user of Basic authentication", async () => {
    const { http, requests } = recordedHttp({});
    await openCompaniesHouse({ base_url: BASE, credentials: "secret" }).lookup(
      { scheme: "gb_coh", value: "1" },
      [],
      http,
      signal,
      NOTHING_KNOWN,
    );
    expect(requests[0]!.headers).toContainEqual([
      "Authorization",
      `Basic ${Buffer.from("secret:").toString("base64")}`,
    ]);
  });
});

describe("Brønnøysund", () => {
  const entity = (more: object = {}) => ({
    body: {
      organisasjonsnummer: "923609016",
      navn: "ACME ASA",
      organisasjonsform: { kode: "ASA", beskrivelse: "Allmennaksjeselskap" },
      ...more,
    },
  });
  const path = "/enheter/923609016";
  const open = (answers: Readonly<Record<string, Recorded>>, groups: readonly FieldGroup[] = ["core"]) =>
    look(openBrreg, "no_orgnr:923609016", answers, groups);

  test.each([
    [{}, "active"],
    [{ konkurs: true }, "insolvency"],
    [{ underAvvikling: true }, "liquidation"],
    [{ slettedato: "2024-02-03" }, "dissolved"],
  ])("%j is %s", async (more, status) => {
    expect(claimsOf(await open({ [path]: entity(more) }))).toMatchObject({ status });
  });

  test("a number that is no entity may be a sub-entity", async () => {
    const unit = entity({ overordnetEnhet: "923609016", organisasjonsform: { kode: "BEDR" } });
    expect(claimsOf(await open({ "/underenheter/923609016": unit }))).toMatchObject({
      legal_form: { category: "branch" },
      "relationships branch_of|out|no_orgnr:923609016": { type: "branch_of" },
    });
    expect(await open({})).toMatchObject({ kind: "not_found" });
  });

  test("410 withdraws the company", async () => {
    expect(await open({ [path]: { status: 410, body: "{}" } })).toMatchObject({ kind: "withdrawn" });
  });

  test("of a full date of birth the day is dropped", async () => {
    const roles = {
      body: {
        rollegrupper: [
          {
            roller: [
              {
                type: { kode: "DAGL", beskrivelse: "Daglig leder" },
                person: { navn: { fornavn: "Kari", etternavn: "Nordmann" }, fodselsdato: "1970-05-17" },
                fratraadt: false,
              },
              { type: { kode: "REVI" }, enhet: { organisasjonsnummer: "923609016", navn: ["REVISOR AS"] } },
            ],
          },
        ],
      },
    };
    const answer = await open({ [path]: entity(), [`${path}/roller`]: roles }, ["people"]);
    expect(claimsOf(answer)).toMatchObject({
      "people kari nordmann|management|": { birth: { year: 1970, month: 5 }, current: true },
      "people revisor as|auditor|": { party: { kind: "entity", ref: "no_orgnr:923609016" } },
    });
    const people = groupOf(answer, "people");
    expect(JSON.stringify(people)).not.toContain("05-17");
  });
});

describe("PRH", () => {
  const name = (text: string, type: string, more: object = {}) => ({ name: text, type, ...more });
  const company = (more: object = {}) => ({
    body: {
      totalResults: 1,
      companies: [
        {
          businessId: { value: "0112038-9", registrationDate: "1978-03-15" },
          names: [name("Acme Oy", "1")],
          ...more,
        },
      ],
    },
  });
  const path = "/companies?businessId=0112038-9";
  const open = (answer: Recorded) => look(openPrh, "fi_ytunnus:0112038-9", { [path]: answer });

  test("an unknown id is a 200 without a company", async () => {
    expect(await open({ body: { totalResults: 0, companies: [] } })).toMatchObject({ kind: "not_found" });
  });

  test("names by type and end, the trade register's date, addresses by language", async () => {
    const answer = await open(
      company({
        names: [
          name("Oy Acme Ab", "1", { endDate: "1997-08-31" }),
          name("Acme Oyj", "1"),
          name("Acme Corporation", "2"),
          name("Acme Mobile", "3"),
        ],
        registeredEntries: [
          { register: "4", registrationDate: "1978-03-15" },
          { register: "1", registrationDate: "1896-12-19" },
        ],
        addresses: [
          {
            type: 1,
            street: "Katu",
            buildingNumber: "7",
            postCode: "02610",
            postOffices: [
              { city: "ESBO", languageCode: "2" },
              { city: "ESPOO", languageCode: 1 },
            ],
          },
        ],
        euId: { value: "FIFPRO.0112038-9" },
      }),
    );
    expect(claimsOf(answer)).toMatchObject({
      "names.legal": "Acme Oyj",
      "names.former oy acme ab": { valid_to: "1997-08-31" },
      "names.translations acme corporation": {},
      "names.trading acme mobile": {},
      "dates.registration": "1896-12-19",
      "addresses registered": { formatted: "Katu 7, 02610 ESPOO, FI" },
      "identifiers euid:FIFPRO.0112038-9": {},
    });
  });

  test.each([
    [{ companySituations: [{ type: "KONK" }] }, "insolvency"],
    [{ companySituations: [{ type: "SELTILA" }] }, "liquidation"],
    [{ companySituations: [{ type: "KONK", endDate: "2001-01-01" }] }, "active"],
    [{ status: 3 }, "dissolved"],
  ])("%j is %s", async (more, status) => {
    expect(claimsOf(await open(company(more)))).toMatchObject({ status });
  });
});

describe("Recherche d'entreprises", () => {
  const siege = {
    siret: "55212022200013",
    libelle_commune: "PARIS",
    code_postal: "75001",
    latitude: "48.8",
    longitude: "2.2",
  };
  const result = (more: object = {}) => ({
    siren: "552120222",
    nom_raison_sociale: "ACME SA",
    etat_administratif: "A",
    siege,
    ...more,
  });
  const open = (reference: string, ...results: object[]) =>
    look(openRechercheEntreprises, reference, {
      [`/search?q=${reference.split(":")[1]}&per_page=25`]: { body: { results } },
    });

  test("only a result with exactly this number counts", async () => {
    expect(await open("fr_siren:552120222", { ...result(), siren: "780129987" })).toMatchObject({
      kind: "not_found",
    });
    expect(await open("fr_siren:552120222", { ...result(), siren: "780129987" }, result())).toMatchObject({
      kind: "found",
      native_id: "552120222",
    });
  });

  test("a SIRET needs its establishment in the result", async () => {
    expect(await open("fr_siret:55212022200021", result())).toMatchObject({ kind: "not_found" });
    const listed = result({ matching_etablissements: [{ siret: "55212022200021" }] });
    expect(await open("fr_siret:55212022200021", listed)).toMatchObject({ kind: "found" });
  });

  test("the placeholder of a date is no date; bands, coordinates and people are read", async () => {
    const answer = await open(
      "fr_siren:552120222",
      result({
        date_creation: "1900-01-01",
        tranche_effectif_salarie: "53",
        nature_juridique: "5710",
        dirigeants: [
          {
            nom: "EXEMPLE",
            prenoms: "JEANNE",
            date_de_naissance: "1970-01",
            qualite: "Administrateur",
            type_dirigeant: "personne physique",
          },
          {
            siren: "775726417",
            denomination: "AUDIT SA",
            qualite: "Commissaire aux comptes titulaire",
            type_dirigeant: "personne morale",
          },
        ],
        finances: { "2024": { ca: 5_000, resultat_net: null } },
      }),
    );
    const claims = claimsOf(answer);
    expect(claims).not.toHaveProperty(["dates.incorporation"]);
    expect(claims).toMatchObject({
      "size.employees": { minimum: 10_000, maximum: null, basis: "band" },
      "addresses registered": { geo: { lat: 48.8, lon: 2.2 } },
      legal_form: { category: "private_limited" },
      "people jeanne exemple|board|": { birth: { year: 1970, month: 1 } },
      "people audit sa|auditor|": { party: { kind: "entity", ref: "fr_siren:775726417" } },
      "financials annual|2024|": { items: [{ concept: "ca", value: "5000", unit: "EUR" }] },
    });
  });
});

describe("KRS", () => {
  const extract = (parts: object = {}, sections: object = {}) => ({
    body: {
      odpis: {
        naglowekA: { numerKRS: "0000006865", dataRejestracjiWKRS: "06.04.2001" },
        dane: {
          dzial1: {
            danePodmiotu: {
              nazwa: "ACME SPÓŁKA AKCYJNA",
              formaPrawna: "SPÓŁKA AKCYJNA",
              identyfikatory: { nip: "7342867148" },
            },
            ...parts,
          },
          ...sections,
        },
      },
    },
  });
  const path = (register: string) => `/OdpisAktualny/0000006865?rejestr=${register}&format=json`;
  const open = (answers: Readonly<Record<string, Recorded>>) => look(openKrs, "pl_krs:0000006865", answers);

  test("dates, amounts and web addresses as the register writes them", async () => {
    const answer = await open({
      [path("P")]: extract({
        kapital: { wysokoscKapitaluZakladowego: { wartosc: "99 910 510,00", waluta: "PLN" } },
        siedzibaIAdres: {
          adres: {
            ulica: "PROSTA",
            nrDomu: "74",
            nrLokalu: "5",
            miejscowosc: "WARSZAWA",
            kodPocztowy: "03-301",
          },
          adresStronyInternetowej: "WWW.ACME.PL",
        },
      }),
    });
    expect(claimsOf(answer)).toMatchObject({
      "dates.registration": "2001-04-06",
      "capital share:PLN": { amount: "99910510.00" },
      legal_form: { category: "public_limited" },
      "addresses registered": { formatted: "PROSTA 74/5, 03-301 WARSZAWA, PL" },
      "identifiers pl_nip:7342867148": { valid: true },
      "web.homepage": "https://www.acme.pl",
    });
  });

  test("a number of the other register is found there; one of neither is not found", async () => {
    expect(await open({ [path("S")]: extract() })).toMatchObject({ kind: "found" });
    expect(await open({})).toMatchObject({ kind: "not_found", documents: { length: 2 } });
  });

  test("merged companies lose the register's filler dashes, and have their number where it is given", async () => {
    const merged = {
      dzial6: {
        polaczeniePodzialPrzeksztalcenie: [
          {
            podmiotyPrzejmowane: [
              { nazwa: "OLD SPÓŁKA AKCYJNA,------" },
              { nazwa: "NEW SPÓŁKA AKCYJNA", krs: { krs: "0000477046" } },
            ],
          },
        ],
      },
    };
    expect(claimsOf(await open({ [path("P")]: extract({}, merged) }))).toMatchObject({
      "relationships took_over|out|old spolka akcyjna": { party: { name: "OLD SPÓŁKA AKCYJNA" } },
      "relationships took_over|out|pl_krs:0000477046": { party: { name: "NEW SPÓŁKA AKCYJNA" } },
    });
  });
});

describe("Zefix", () => {
  const company = (more: object = {}) => ({
    name: "Acme AG",
    ehraid: 154673,
    uid: "CHE101602521",
    chid: "CH27030051590",
    status: "ACTIVE",
    canton: "ZH",
    ...more,
  });
  const path = "/api/v1/company/uid/CHE101602521";
  const open = (...companies: object[]) =>
    look(openZefix, "ch_uid:CHE101602521", { [path]: { body: companies } });

  test("of one UID's companies the head office is the company", async () => {
    const head = company({
      branchOffices: [{ name: "Acme AG, Zweigniederlassung Basel", ehraid: 7, uid: "CHE101602521" }],
    });
    const branch = company({
      name: "Acme AG, Zweigniederlassung Basel",
      ehraid: 7,
      headOffices: [{ name: "Acme AG", uid: "CHE101602521" }],
    });
    const answer = await open(branch, head);
    expect(answer).toMatchObject({ native_id: "154673" });
    expect(claimsOf(answer)).toMatchObject({
      "names.legal": "Acme AG",
      "identifiers ch_uid:CHE101602521": {},
      "relationships head_office_of|out|ch_ehraid:7": {},
    });
  });

  test.each([
    [{ status: "BEING_CANCELLED" }, "liquidation"],
    [{ status: "CANCELLED" }, "dissolved"],
    [{ status: "CANCELLED", wasTakenOverBy: [{ name: "Big AG" }] }, "merged"],
    [{ status: "EXISTIEREND" }, "unknown"],
  ])("%j is %s", async (more, status) => {
    expect(claimsOf(await open(company(more)))).toMatchObject({ status });
  });

  test("purpose by the canton's language, old names, capital, events without people", async () => {
    const answer = await open(
      company({
        canton: "GE",
        purpose: "Le commerce",
        oldNames: [{ name: "Acme SA", sequenceNr: 2 }],
        capitalNominal: "100'000.00",
        capitalCurrency: "CHF",
        sogcPub: [
          {
            sogcId: 1,
            sogcDate: "2024-03-20",
            message: 'Acme SA, siège à <FT TYPE="S">Genève</FT>.',
            mutationTypes: [{ key: "adressaenderung" }],
          },
          {
            sogcId: 2,
            sogcDate: "2024-04-20",
            message: "Muster, Max, von Zürich, in Genf",
            mutationTypes: [{ key: "aenderungorgane" }],
          },
        ],
      }),
    );
    expect(claimsOf(answer)).toMatchObject({
      "purpose fr": "Le commerce",
      "names.former acme sa": {},
      "capital nominal:CHF": { amount: "100000.00" },
      "events zefix:1": { type: "address_change", date: "2024-03-20", text: "Acme SA, siège à Genève." },
      "events zefix:2": { type: "management_change" },
    });
    expect(JSON.stringify(answer)).not.toContain("Muster");
  });

  test("a name that too many companies have is no hit", async () => {
    const { http } = recordedHttp({
      [`${BASE}/api/v1/company/search`]: { status: 400, body: { error: { type: "RESULTLIST_TO_LARGE" } } },
    });
    const source = openZefix({ base_url: BASE, credentials: "a:b" });
    expect(await source.search!({ name: "AG", country: "CH", limit: 5 }, http, signal)).toEqual({
      kind: "found",
      hits: [],
    });
  });
});

describe("SEC EDGAR", () => {
  const filer = (more: object = {}) => ({
    body: { cik: 320193, name: "Acme, Inc.", stateOfIncorporation: "DE", ...more },
  });
  const open = (answer: Recorded) =>
    look(openSecEdgar, "us_cik:0000320193", { "/submissions/CIK0000320193.json": answer });

  test("an unknown CIK is a 404 with XML", async () => {
    expect(await open({ status: 404, body: "<?xml version='1.0'?><Error/>" })).toMatchObject({
      kind: "not_found",
    });
  });

  test("codes of places, empty fields and listings as the filing system writes them", async () => {
    const answer = await open(
      filer({
        tickers: ["ACME", "ACMEW"],
        exchanges: ["Nasdaq", null],
        website: "",
        ein: "000000000",
        addresses: {
          business: {
            street1: "1 MAIN ST",
            street2: "None",
            city: "LONDON",
            stateOrCountry: "X0",
            zipCode: "N1",
          },
          mailing: { street1: "", stateOrCountry: "CA" },
        },
        formerNames: [
          { name: "ACME MOTORS INC", from: "2005-02-17T00:00:00.000Z", to: "2017-01-27T00:00:00.000Z" },
        ],
      }),
    );
    const claims = claimsOf(answer);
    expect(claims).toMatchObject({
      jurisdiction: "US-DE",
      "addresses business": { formatted: "1 MAIN ST, N1 LONDON, GB", country: "GB" },
      "names.former acme motors inc": { valid_from: "2005-02-17", valid_to: "2017-01-27" },
      "identifiers us_cik:0000320193": {},
      "identifiers ticker:XNAS:ACME": {},
      "securities ticker::ACMEW": { mic: null, primary: false },
    });
    expect(Object.keys(claims).filter((key) => /us_ein|addresses mailing|web/.test(key))).toEqual([]);
  });

  test("an amendment is told by its form", async () => {
    const recent = {
      accessionNumber: ["0000320193-24-000001"],
      form: ["10-K/A"],
      filingDate: ["2024-01-02"],
      reportDate: [""],
    };
    expect(claimsOf(await open(filer({ filings: { recent } })))).toMatchObject({
      "filings 0000320193-24-000001": { amendment: true, date: "2024-01-02", period_end: null },
    });
  });

  test("a filing has the address of its main document, or of its folder", async () => {
    const urlWith = async (primaryDocument: string) => {
      const recent = {
        accessionNumber: ["0000320193-24-000123"],
        form: ["10-K"],
        filingDate: ["2024-11-01"],
        primaryDocument: [primaryDocument],
      };
      return claimsOf(await open(filer({ filings: { recent } })))["filings 0000320193-24-000123"];
    };
    const folder = "https://www.sec.gov/Archives/edgar/data/320193/000032019324000123/";
    expect(await urlWith("aapl-20240928.htm")).toMatchObject({ url: `${folder}aapl-20240928.htm` });
    expect(await urlWith("")).toMatchObject({ url: folder });
  });
});

/** Files of national registers from a file to rows and back to claims: what each publishes, with its peculiarities. */
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { indexChanges } from "../../../../../actors/sources/companies/imports/index-imported.ts";
import { textOf } from "../../../../../actors/sources/companies/claim.ts";
import { importKindOf } from "../../../../../actors/sources/companies/imports/imported-sources.ts";
import { NO_FILTER } from "../../../../../actors/sources/companies/search-index.ts";
import { DAY_MS, oneRegister, scriptedSource } from "../../../../harness/companies-harness.ts";
import { begunFor, importOf, PUBLISHED_MS } from "../../../../harness/company-imports.ts";
import { csvOf, goldenCopy, goldenLei, goldenRow, zipped } from "../../../../harness/golden-copy.ts";

const RULE = { precedence: 100, freshness: "registry_core" } as const;
const GROUPS = { core: RULE, identifiers: RULE, web: RULE, relationships: RULE, ownership: RULE };
const SCHEMES = {
  gleif: "lei",
  companies_house: "gb_coh",
  brreg: "no_orgnr",
  prh: "fi_ytunnus",
  recherche_entreprises: "fr_siren",
  opensanctions: "wikidata",
} as const;
const register = () =>
  oneRegister(() =>
    Object.entries(SCHEMES).map(([name, scheme]) =>
      scriptedSource(name, scheme, () => ({ core: [] }), { groups: GROUPS }),
    ),
  );
type Register = ReturnType<typeof register>;
type Row = Readonly<Record<string, string>>;

const csv = (rows: readonly Row[]): Buffer =>
  Buffer.from(csvOf([...new Set(rows.flatMap((row) => Object.keys(row)))], rows));
const lines = (records: readonly object[]): Buffer =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
const array = (records: readonly object[]): Buffer =>
  Buffer.from(`[${records.map((record) => JSON.stringify(record)).join(",\n")}]`);

const imported = (one: Register, kind: string, bytes: Buffer, days = 0) =>
  importOf(one.import_store, `${kind}-${days}.file`, bytes, {
    ...begunFor(kind),
    publish_ms: PUBLISHED_MS + days * DAY_MS,
  });

const basic = (number: string, values: Row = {}): Row => ({
  CompanyName: `KRANWERK ${number} LTD`,
  " CompanyNumber": number,
  "RegAddress.AddressLine1": "1 CRANE STREET",
  " RegAddress.AddressLine2": "",
  "RegAddress.PostTown": "LEEDS",
  "RegAddress.Country": "ENGLAND",
  "RegAddress.PostCode": "LS10 2RU",
  CompanyCategory: "Private Limited Company",
  CompanyStatus: "Active",
  IncorporationDate: "11/09/2012",
  "SICCode.SicText_1": "28220 - Manufacture of lifting and handling equipment",
  "PreviousName_1.CONDATE": "02/03/2019",
  " PreviousName_1.CompanyName": "KRANBAU LTD",
  ...values,
});

test("Companies House's basic data are records as its API gives them", async () => {
  const one = register();
  const rows = [
    basic("1234567"),
    basic("SC123456", {
      CompanyStatus: "Active - Proposal to Strike off",
      "SICCode.SicText_1": "None Supplied",
    }),
    basic("OC300001", {
      CompanyStatus: "ADMINISTRATION ORDER",
      CompanyCategory: "Limited Liability Partnership",
    }),
    basic("IP10067R", { CompanyCategory: "Registered Society" }),
    basic("no number"),
  ];
  const done = await imported(one, "companies_house", zipped("BasicCompanyData.csv", csv(rows)));
  expect(done).toMatchObject({ counts: { records: 5, created: 4, bad: 1 }, bad_reasons: { gb_coh: 1 } });
  const first = (await one.get("gb_coh:01234567"))!;
  expect(first.is_cached).toBe(true);
  expect(first.company.record).toMatchObject({
    names: { legal: "KRANWERK 1234567 LTD", former: [{ name: "KRANBAU LTD", valid_to: "2019-03-02" }] },
    status: "active",
    jurisdiction: "GB",
    legal_form: { category: "private_limited" },
    dates: { incorporation: "2012-09-11" },
    addresses: [{ city: "LEEDS", postal_code: "LS10 2RU", country: "GB" }],
    activities: [{ scheme: "uksic2007", code: "28220" }],
  });
  expect((await one.get("gb_coh:IP10067R"))!.company.record.names.legal).toBe("KRANWERK IP10067R LTD");
  const scottish = (await one.get("gb_coh:SC123456"))!.company.record;
  expect(scottish).toMatchObject({ status: "active", jurisdiction: "GB-SCT", activities: [] });
  expect((await one.get("gb_coh:OC300001"))!.company.record).toMatchObject({
    status: "insolvency",
    legal_form: { category: "limited_partnership" },
  });
});

test("accounts and confirmation statements of the basic data are events, and a company that files is not another", async () => {
  const one = register();
  const filed = (year: number): Row => ({
    "Accounts.AccountRefDay": "30",
    "Accounts.AccountRefMonth": "9",
    "Accounts.NextDueDate": `30/06/${year + 2}`,
    "Accounts.LastMadeUpDate": `30/09/${year}`,
    "Accounts.AccountCategory": "TOTAL EXEMPTION FULL",
    ConfStmtNextDueDate: `25/09/${year + 1}`,
    " ConfStmtLastMadeUpDate": `11/09/${year}`,
  });
  const file = (days: number, row: Row) => imported(one, "companies_house", csv([row]), days);
  const events = async () =>
    (await one.get("gb_coh:01234567"))!.company.record.events
      .map(({ date, title, text }) => [date, title, text].map(textOf).join(" | "))
      .toSorted();
  await file(0, basic("1234567", filed(2025)));
  expect(await events()).toEqual([
    "2025-09-11 | Last confirmation statement made up to this day | ",
    "2025-09-30 | Last accounts made up to this day | total-exemption-full; 2025-09-30; accounting reference date 09-30",
    "2026-09-25 | Next confirmation statement due | ",
    "2027-06-30 | Next accounts due | ",
  ]);
  expect((await file(1, basic("1234567", filed(2026)))).counts).toMatchObject({ renewed: 1, changed: 0 });
  expect((await events())[3]).toBe("2028-06-30 | Next accounts due | ");
  expect(await one.import_store.earlier("companies_house", "01234567")).toEqual([]);
  const renamed = basic("1234567", { ...filed(2026), CompanyName: "KRANWERK NORD LTD" });
  expect((await file(2, renamed)).counts).toMatchObject({ renewed: 0, changed: 1 });
});

test("a company that the next file of live companies does not have was dissolved then", async () => {
  const one = register();
  const listed = (number: string): Row => basic(number, { "Accounts.NextDueDate": "30/06/2027" });
  const events = async () => (await one.get("gb_coh:10000000"))!.company.record.events.length;
  const numbers = Array.from({ length: 300 }, (_, at) => String(10_000_000 + at));
  await imported(one, "companies_house", csv(numbers.map(listed)));
  expect(await events()).toBe(1);
  const later = await imported(one, "companies_house", csv(numbers.slice(1).map(listed)), 1);
  expect(later.counts).toMatchObject({ unchanged: 299, closed: 1 });
  const gone = (await one.get("gb_coh:10000000"))!.company.record;
  expect(gone).toMatchObject({ names: { legal: "KRANWERK 10000000 LTD" }, status: "dissolved" });
  expect(await events()).toBe(0);
  const again = await imported(one, "companies_house", csv(numbers.map(listed)), 2);
  expect(again.counts).toMatchObject({ changed: 1 });
  expect((await one.get("gb_coh:10000000"))!.company.record.status).toBe("active");
});

const controller = (id: string, data: object = {}, company_number = "1234567") => ({
  company_number,
  data: {
    etag: "36c9",
    kind: "corporate-entity-person-with-significant-control",
    name: "Kran Holding Limited",
    natures_of_control: ["ownership-of-shares-75-to-100-percent"],
    notified_on: "2020-01-01",
    identification: { country_registered: "England", registration_number: "89101112" },
    links: { self: `/company/01234567/persons-with-significant-control/corporate-entity/${id}` },
    ...data,
  },
});
const totals = (persons: number) => ({
  data: {
    kind: "totals#persons-of-significant-control-snapshot",
    persons_of_significant_control_count: persons,
    statements_count: 1,
    exemptions_count: 0,
  },
});
const others = [
  controller("p", { kind: "individual-person-with-significant-control", name: "Erika Beispiel" }),
  controller("s", { kind: "persons-with-significant-control-statement" }),
];

test("of Companies House's snapshot companies that control others are imported, and no natural person", async () => {
  const one = register();
  await imported(one, "companies_house", csv([basic("1234567")]));
  const records = [controller("a"), ...others, controller("b", { kind: "unknown" }), totals(3)];
  const done = await imported(one, "companies_house_psc", lines(records));
  expect(done).toMatchObject({
    counts: { records: 5, created: 1, skipped: 3, bad: 1 },
    bad_reasons: { kind: 1 },
  });
  const rows = await one.import_store.scan("companies_house_psc", "", 10);
  expect(JSON.stringify(rows)).not.toContain("Erika");
  // The source has persons beside them, so it is asked.
  const company = (await one.get("gb_coh:01234567"))!;
  expect(company.company.record.ownership?.interested_parties).toMatchObject([
    { party: { kind: "entity", name: "Kran Holding Limited", ref: "gb_coh:89101112" }, current: true },
  ]);
  expect(company.is_cached).toBe(true);
  expect((await one.get("gb_coh:01234567", { groups: ["ownership"] }))!.is_cached).toBe(false);
});

test.each([
  ["the number of its records", 4, 1, []],
  ["another number", 40, 0, ["incomplete_file"]],
])("a snapshot whose last line says %s closes rows accordingly", async (_, persons, closed, warnings) => {
  const one = register();
  const records = ["a", "b", "c", "d", "e"].map((id) => controller(id));
  await imported(one, "companies_house_psc", lines([...records, totals(4)]));
  const next = await imported(
    one,
    "companies_house_psc",
    lines([...records.slice(1), totals(persons - 1)]),
    1,
  );
  expect(next).toMatchObject({ counts: { closed }, warnings });
});

const entity = (organisasjonsnummer: string, more: object = {}) => ({
  organisasjonsnummer,
  navn: `KRANVERK ${organisasjonsnummer} AS`,
  organisasjonsform: { kode: "AS", beskrivelse: "Aksjeselskap", _links: { self: { href: "…" } } },
  forretningsadresse: {
    adresse: ["Havnegata 1", null],
    postnummer: "0150",
    poststed: "OSLO",
    landkode: "NO",
  },
  hjemmeside: "www.kranverk.example",
  antallAnsatte: 12,
  maalform: "Bokmål",
  ...more,
});

test("Brønnøysundregistrene's array, gzipped, is records as its API gives them", async () => {
  const one = register();
  const records = [
    entity("923609016"),
    { ...entity("x"), navn: 7 },
    entity("12"),
    entity("974760673", { konkurs: true }),
  ];
  const done = await imported(one, "brreg", gzipSync(array(records)));
  expect(done).toMatchObject({
    counts: { records: 4, created: 2, bad: 2 },
    bad_reasons: { shape: 1, no_orgnr: 1 },
  });
  const { record } = (await one.get("no_orgnr:923609016"))!.company;
  expect(record).toMatchObject({
    names: { legal: "KRANVERK 923609016 AS" },
    legal_form: { abbreviation: "AS", category: "private_limited" },
    addresses: [{ city: "OSLO", lines: ["Havnegata 1"] }],
    web: { homepage: "https://www.kranverk.example" },
  });
  expect((await one.get("no_orgnr:974760673"))!.company.record.status).toBe("insolvency");
  const [row] = await one.import_store.rows("brreg", ["923609016"]);
  expect(row!.tuple).not.toMatch(/_links|Bokmål/);
});

const finnish = (value: string, name: string, more: object = {}) => ({
  businessId: { value, registrationDate: "1978-03-15", source: "3" },
  names: [{ name, type: "1", registrationDate: "1997-09-01" }],
  ...more,
});

test("PRH's array is records as its API gives them", async () => {
  const one = register();
  const company = {
    businessId: { value: "0112038-9", registrationDate: "1978-03-15", source: "3" },
    names: [
      { name: "Nosturi Oyj", type: "1", registrationDate: "1997-09-01" },
      { name: "Nosturi Oy", type: 1, registrationDate: "1976-04-23", endDate: "1997-08-31" },
    ],
    addresses: [
      {
        type: 1,
        street: "Satamakatu",
        buildingNumber: "1",
        postCode: "00160",
        postOffices: [{ city: "HELSINKI", languageCode: "1" }],
      },
    ],
  };
  const done = await imported(one, "prh", zipped("all.json", array([company])));
  expect(done).toMatchObject({ counts: { created: 1, bad: 0 } });
  expect((await one.get("fi_ytunnus:0112038-9"))!.company.record).toMatchObject({
    names: { legal: "Nosturi Oyj", former: [{ name: "Nosturi Oy", valid_to: "1997-08-31" }] },
    addresses: [{ city: "HELSINKI" }],
  });
});

test("INSEE's legal units have the address of their seat, and natural persons are not imported", async () => {
  const one = register();
  const unit = (siren: string, values: Row = {}): Row => ({
    siren,
    statutDiffusionUniteLegale: "O",
    etatAdministratifUniteLegale: "A",
    denominationUniteLegale: "GRUE SA",
    sigleUniteLegale: "[ND]",
    categorieJuridiqueUniteLegale: "5599",
    activitePrincipaleUniteLegale: "28.22Z",
    nomenclatureActivitePrincipaleUniteLegale: "NAFRev2",
    dateCreationUniteLegale: "1955-01-01",
    dateDebut: "2008-01-01",
    nicSiegeUniteLegale: "01234",
    trancheEffectifsUniteLegale: "NN",
    nomUniteLegale: "",
    ...values,
  });
  const person = {
    denominationUniteLegale: "",
    categorieJuridiqueUniteLegale: "1000",
    nomUniteLegale: "BEISPIEL",
  };
  const seat = {
    siren: "780129987",
    nic: "01234",
    etablissementSiege: "true",
    numeroVoieEtablissement: "122",
    indiceRepetitionEtablissement: "B",
    typeVoieEtablissement: "AVENUE",
    libelleVoieEtablissement: "DU GENERAL LECLERC",
    codePostalEtablissement: "92100",
    libelleCommuneEtablissement: "BOULOGNE-BILLANCOURT",
  };
  const units = csv([
    unit("780129987"),
    unit("552100554", { etatAdministratifUniteLegale: "C" }),
    unit("542065479", person),
  ]);
  const done = await imported(one, "recherche_entreprises", units);
  expect(done.counts).toMatchObject({ created: 2, skipped: 1, bad: 0 });
  const seats = csv([seat, { ...seat, nic: "00099", etablissementSiege: "false" }]);
  expect((await imported(one, "recherche_entreprises_seats", seats)).counts).toMatchObject({
    created: 1,
    skipped: 1,
  });
  const { record } = (await one.get("fr_siren:780129987"))!.company;
  expect(record).toMatchObject({
    names: { legal: "GRUE SA", other: [] },
    status: "active",
    legal_form: { category: "public_limited" },
    addresses: [{ city: "BOULOGNE-BILLANCOURT", lines: ["122 B AVENUE DU GENERAL LECLERC"] }],
    activities: [{ scheme: "naf2", code: "28.22Z" }],
  });
  expect((await one.get("fr_siren:552100554"))!.company.record).toMatchObject({
    status: "dissolved",
    dates: { deregistration: "2008-01-01" },
  });
});

test("of FollowTheMoney entities companies are imported, and joined to other files by their numbers", async () => {
  const one = register();
  const ftm = (id: string, properties: object, schema = "Company") => ({
    id,
    caption: `Kran ${id} LLC`,
    schema,
    properties,
    datasets: ["us_ofac_sdn"],
    referents: [],
    target: true,
  });
  const british = {
    jurisdiction: ["gb"],
    registrationNumber: ["1234567"],
    alias: ["Kranich"],
    topics: ["sanction"],
  };
  const records = [
    ftm("NK-a", british),
    ftm("NK-b", { country: ["ru"], previousName: ["Kranbau"], dissolutionDate: ["2020-05-01"] }),
    ftm("NK-p", { name: ["Erika Beispiel"] }, "Person"),
    ftm("NK-o", { owner: ["NK-a"], asset: ["NK-b"] }, "Ownership"),
    { id: "NK-c", schema: "Company", properties: { name: "no list" } },
  ];
  const done = await imported(one, "ftm", lines(records));
  expect(done).toMatchObject({ counts: { created: 2, skipped: 2, bad: 1 }, licence: "CC-BY-NC-4.0" });
  expect((await one.get("gb_coh:01234567"))!.company.record).toMatchObject({
    names: { legal: "Kran NK-a LLC", other: [{ name: "Kranich" }] },
    jurisdiction: "GB",
  });
  const [row] = await one.import_store.rows("ftm", ["NK-b"]);
  const { entries } = await one.imports.entriesOfRows(importKindOf("ftm")!, [row!]);
  const known = (await one.get(entries[0]!.id))!;
  expect(known.company.record).toMatchObject({ names: { legal: "Kran NK-b LLC" }, status: "dissolved" });
  await imported(one, "companies_house", csv([basic("1234567")]));
  expect((await one.get("gb_coh:01234567"))!.company.record.names).toMatchObject({
    legal: "KRANWERK 1234567 LTD",
    other: [{ name: "Kranich" }],
  });
  const delta = lines([
    { op: "DEL", entity: { id: "NK-b" } },
    { op: "MOD", entity: ftm("NK-a", { ...british, alias: [] }) },
  ]);
  const publish_ms = PUBLISHED_MS + DAY_MS;
  const next = await importOf(one.import_store, "delta.json", delta, {
    ...begunFor("ftm"),
    publish_ms,
    is_full: false,
  });
  expect(next.counts).toMatchObject({ changed: 1, closed: 1 });
  expect(await one.get(known.company.id)).toBe(null);
});

test("a company of a file that is months old is answered from it, and asked for where an age is named", async () => {
  const one = register();
  await imported(one, "companies_house", csv([basic("1234567")]), -90);
  expect(await one.get("gb_coh:01234567")).toMatchObject({
    is_cached: true,
    refresh: [
      { group: "core", result: "fresh", confirmed_at: new Date(PUBLISHED_MS - 90 * DAY_MS).toISOString() },
      { group: "identifiers" },
    ],
  });
  expect((await one.get("gb_coh:01234567", { max_age_s: 3_600 }))?.is_cached).toBe(false);
});

test("an LEI that was given twice, and a company that a whole file has no more, leave the index", async () => {
  const one = register();
  const deps = { documents: one.documents, index: one.index };
  const isFound = async (name: string) => {
    const { entries } = await one.index.candidates({ names: [name], filter: NO_FILTER }, 10);
    return entries.some(({ names }) => names.includes(name));
  };
  const indexed = async (name: string) => {
    const rows = await one.import_store.scan(name, "", 1_000);
    await indexChanges(deps, await one.imports.entriesOfRows(importKindOf(name)!, rows));
  };
  await imported(one, "gleif_lei2", goldenCopy([goldenRow(1)]));
  await imported(one, "brreg", array([entity("923609016"), entity("974760673")]));
  await imported(
    one,
    "prh",
    array([finnish("0112038-9", "Nosturi Oyj"), finnish("0201256-6", "Laituri Oy")]),
  );
  for (const name of ["gleif_lei2", "brreg", "prh"]) await indexed(name);
  for (const name of ["Kranwerk 1 GmbH", "KRANVERK 974760673 AS", "Nosturi Oyj"])
    expect(await isFound(name)).toBe(true);

  const duplicate = { "Registration.RegistrationStatus": "DUPLICATE" };
  await imported(one, "gleif_lei2", goldenCopy([goldenRow(1, duplicate)]), 1);
  await imported(one, "brreg", array([entity("923609016")]), 1);
  await imported(one, "prh", array([finnish("0201256-6", "Laituri Oy")]), 1);
  for (const name of ["gleif_lei2", "brreg", "prh"]) await indexed(name);
  expect(await isFound("Kranwerk 1 GmbH")).toBe(false);
  expect(await isFound("Nosturi Oyj")).toBe(false);
  expect(await isFound("Laituri Oy")).toBe(true);
  expect((await one.get(`lei:${goldenLei(1)}`))?.company.record.names.legal).toBe("Kranwerk 1 GmbH");
  // Dissolved, and still known.
  const filter = { ...NO_FILTER, status: "dissolved" };
  const { entries } = await one.index.candidates({ names: ["Kranverk 974760673"], filter }, 10);
  expect(entries).toMatchObject([{ identifiers: ["no_orgnr:974760673"] }]);
});

test("two sources with one register number are one company, with one entry of the index", async () => {
  const one = register();
  await imported(one, "companies_house", csv([basic("1234567")]));
  const british = (await one.get("gb_coh:01234567"))!.company;
  const row = goldenRow(1, {
    "Entity.RegistrationAuthority.RegistrationAuthorityID": "RA000585",
    "Entity.RegistrationAuthority.RegistrationAuthorityEntityID": "01234567",
    "Entity.LegalJurisdiction": "GB",
  });
  await imported(one, "gleif_lei2", goldenCopy([row]), 1);
  const rows = await one.import_store.scan("gleif_lei2", "", 10);
  const { entries, removed } = await one.imports.entriesOfRows(importKindOf("gleif_lei2")!, rows);
  const company = (await one.get(`lei:${goldenLei(1)}`))!.company;
  expect(entries).toMatchObject([
    { id: company.id, names: ["Kranwerk 1 GmbH", "KRANWERK 1234567 LTD", "KRANBAU LTD"] },
  ]);
  expect(removed).toEqual([british.id]);
  expect((await one.get(british.id))!.company.id).toBe(company.id);
});

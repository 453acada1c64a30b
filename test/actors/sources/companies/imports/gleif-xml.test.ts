/** GLEIF's files as XML: what they say is what the CSV says, however the bytes come, and a broken record is one bad record. */
import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sqliteImports } from "../../../../../actors/sources/companies/imports/adapters/imports.sqlite.ts";
import { readXml } from "../../../../../actors/sources/companies/imports/read-xml.ts";
import type { RunContext } from "../../../../../actors/sources/companies/imports/run-import.ts";
import { oneRegister, scriptedSource } from "../../../../harness/companies-harness.ts";
import {
  beginFile,
  IMPORT_OWNER,
  importOf,
  PUBLISHED_MS,
  runFile,
} from "../../../../harness/company-imports.ts";
import {
  type GoldenRow,
  goldenCopy,
  goldenLei,
  goldenRow,
  goldenXml,
  zipped,
} from "../../../../harness/golden-copy.ts";

const open = () => sqliteImports(":memory:");
const tuples = async (store: ReturnType<typeof open>, kind = "gleif_lei2") =>
  (await store.scan(kind, "", 1_000)).map(({ key, tuple, digest }) => ({ key, tuple, digest }));

const others = (count: number): GoldenRow =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => at + 1).flatMap((number) => [
      [`Entity.OtherEntityNames.OtherEntityName.${number}`, `Kran & Söhne <${number}>`],
      [`Entity.OtherEntityNames.OtherEntityName.${number}.xmllang`, "de"],
      [`Entity.OtherEntityNames.OtherEntityName.${number}.type`, "TRADING_OR_OPERATING_NAME"],
    ]),
  );
/** A row with something in every place of the tuple. */
const rich = (number: number, names = 2): GoldenRow =>
  goldenRow(number, {
    ...others(names),
    "Entity.TransliteratedOtherEntityNames.TransliteratedOtherEntityName.1": "Kran und Soehne",
    "Entity.TransliteratedOtherEntityNames.TransliteratedOtherEntityName.1.type":
      "AUTO_ASCII_TRANSLITERATED_LEGAL_NAME",
    "Entity.LegalAddress.AddressNumber": "7",
    "Entity.LegalAddress.MailRouting": "Gate 3",
    "Entity.LegalAddress.AdditionalAddressLine.1": "Shed 2",
    "Entity.LegalAddress.AdditionalAddressLine.2": "Level 4",
    "Entity.OtherAddresses.OtherAddress.1.type": "ALTERNATIVE_LANGUAGE_LEGAL_ADDRESS",
    "Entity.OtherAddresses.OtherAddress.1.FirstAddressLine": "At the quay",
    "Entity.OtherAddresses.OtherAddress.1.Country": "DE",
    "Entity.EntityStatus": "INACTIVE",
    "Entity.EntityExpirationDate": "2024-05-06T00:00:00+02:00",
    "Entity.EntityExpirationReason": "CORPORATE_ACTION",
    "Entity.SuccessorEntity.1.SuccessorLEI": goldenLei(900),
    "Entity.LegalEntityEvents.LegalEntityEvent.1.event_status": "COMPLETED",
    "Entity.LegalEntityEvents.LegalEntityEvent.1.group_type": "STANDALONE",
    "Entity.LegalEntityEvents.LegalEntityEvent.1.LegalEntityEventType": "DISSOLUTION",
    "Entity.LegalEntityEvents.LegalEntityEvent.1.LegalEntityEventEffectiveDate": "2024-05-06T00:00:00+02:00",
    "Entity.LegalEntityEvents.LegalEntityEvent.1.LegalEntityEventRecordedDate": "2024-06-01T00:00:00+02:00",
  });

test("a record in both forms is the same row, the same company, and no change of it", async () => {
  const rule = { precedence: 60, freshness: "lei_core" } as const;
  const groups = { core: rule, identifiers: rule, events: rule, relationships: rule };
  const register = () =>
    oneRegister(() => [scriptedSource("gleif", "lei", () => ({ core: [] }), { groups })]);
  const rows = [goldenRow(1), rich(2), goldenRow(3, { "Entity.LegalName": 'Kran\n"Süd" & <Nord>' })];
  const [csv, xml] = [register(), register()];
  await importOf(csv.import_store, "lei2.csv.zip", zipped("lei2.csv", goldenCopy(rows)));
  const done = await importOf(xml.import_store, "lei2.xml.zip", zipped("lei2.xml", goldenXml(rows)));
  expect(done).toMatchObject({ counts: { records: 3, created: 3, bad: 0 }, records_expected: 3 });
  expect(await tuples(xml.import_store)).toEqual(await tuples(csv.import_store));
  const recordIn = async ({ get }: typeof csv, number: number) => {
    const { record } = (await get(`lei:${goldenLei(number)}`))!.company;
    const { provenance: _provenance, ...said } = record;
    return JSON.parse(JSON.stringify(said, (key, value) => (key === "claim" ? undefined : value)));
  };
  for (const number of [1, 2, 3]) expect(await recordIn(xml, number)).toEqual(await recordIn(csv, number));
  expect(await recordIn(xml, 2)).toMatchObject({ status: "merged" });
  const again = await importOf(csv.import_store, "again.xml", goldenXml(rows), {
    publish_ms: PUBLISHED_MS + 1,
  });
  expect(again.counts).toMatchObject({ unchanged: 3, changed: 0, renewed: 0 });
});

test("the XML has the names beyond the five of the CSV", async () => {
  const store = open();
  await importOf(store, "names.xml", goldenXml([rich(1, 9)]));
  const [row] = await tuples(store);
  const names = (JSON.parse(row!.tuple) as string[][][])[2]!;
  expect(names.map(([name]) => name)).toEqual(
    Array.from({ length: 9 }, (_, at) => `Kran & Söhne <${at + 1}>`),
  );
});

async function* pieces(bytes: Buffer, sizes: readonly number[]): AsyncIterable<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

test("records are the same wherever the bytes are cut, and reading goes on behind any of them", async () => {
  const bytes = goldenXml([goldenRow(1), rich(2), goldenRow(3)], 3);
  const all = async (sizes: readonly number[], after: { line: number; offset: number } | null = null) => {
    const { records, expected } = readXml(pieces(bytes, sizes), after, "LEIRecord");
    const found = [];
    for await (const batch of records) found.push(...batch);
    return { found, expected: expected() };
  };
  const whole = await all([bytes.length]);
  expect(whole.expected).toBe(3);
  expect(whole.found.map(({ line, record }) => [line, record?.name])).toEqual([
    [1, "LEIRecord"],
    [2, "LEIRecord"],
    [3, "LEIRecord"],
  ]);
  for (const { offset, end } of whole.found)
    expect(bytes.subarray(offset, end).toString()).toMatch(/^<lei:LEIRecord>[^]*<\/lei:LEIRecord>$/);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 0, max: 2 }),
      async (sizes, read) => {
        const last = whole.found[read - 1];
        const after = last === undefined ? null : { line: last.line, offset: last.end };
        expect((await all(sizes, after)).found).toEqual(whole.found.slice(read));
      },
    ),
    { numRuns: 40 },
  );
});

test("a broken record is bad, the next one is read, and no entity of the file is resolved", async () => {
  const store = open();
  const text = goldenXml([goldenRow(1), goldenRow(2), goldenRow(3), goldenRow(4)], 5)
    .toString()
    .replace("<lei:LEIData", '<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]>\n<lei:LEIData')
    .replace("Kranwerk 2 GmbH</lei:LegalName>", "Kranwerk 2 GmbH")
    .replace("Kranwerk 3 GmbH", "Kran &e; GmbH");
  const cut = text.slice(0, text.indexOf("</lei:LEIRecords>") - 40);
  const done = await importOf(store, "broken.xml", Buffer.from(cut));
  expect(done).toMatchObject({ counts: { records: 4, created: 2, bad: 2 }, bad_reasons: { xml: 2 } });
  expect((await store.badRows(done.run, 10)).map(({ line }) => line)).toEqual([2, 4]);
  const [, third] = await tuples(store);
  expect(third!.tuple).toContain("Kran &e; GmbH");
});

test("a run goes on behind its checkpoint in the XML, too", async () => {
  const rows = Array.from({ length: 2_200 }, (_, number) => goldenRow(number));
  const bytes = zipped("lei2.xml", goldenXml(rows));
  const whole = open();
  await importOf(whole, "whole.xml.zip", bytes);
  const store = open();
  const first = await beginFile(store, "whole.xml.zip", bytes);
  let batches = 0;
  const dies: RunContext = { ...IMPORT_OWNER, ownsKey: () => ++batches < 2 };
  await expect(runFile(store, first, dies)).rejects.toMatchObject({ code: "lease_lost" });
  const stopped = (await store.run(first.run))!;
  expect(stopped.counts.records).toBe(1_000);
  const done = await runFile(store, stopped, { ...IMPORT_OWNER, epoch: 2 });
  expect(done).toMatchObject({ counts: { records: 2_200, created: 2_200 }, records_expected: 2_200 });
  const all = (each: ReturnType<typeof open>) => each.scan("gleif_lei2", "", 3_000);
  expect(await all(store)).toEqual(await all(whole));
});

const relationship = (number: number, extension = ""): string => `<rr:RelationshipRecord xmlns:rr="x">
  <rr:Relationship>
    <rr:StartNode><rr:NodeID>${goldenLei(number)}</rr:NodeID><rr:NodeIDType>LEI</rr:NodeIDType></rr:StartNode>
    <rr:EndNode><rr:NodeID>${goldenLei(500)}</rr:NodeID><rr:NodeIDType>LEI</rr:NodeIDType></rr:EndNode>
    <rr:RelationshipType>IS_FUND-MANAGED_BY</rr:RelationshipType>
    <rr:RelationshipPeriods>
      <rr:RelationshipPeriod>
        <rr:StartDate>2005-03-23T08:00:00+01:00</rr:StartDate>
        <rr:PeriodType>RELATIONSHIP_PERIOD</rr:PeriodType>
      </rr:RelationshipPeriod>
    </rr:RelationshipPeriods>
    <rr:RelationshipStatus>ACTIVE</rr:RelationshipStatus>
  </rr:Relationship>
  <rr:Registration>
    <rr:RegistrationStatus>PUBLISHED</rr:RegistrationStatus>
    <rr:ValidationSources>FULLY_CORROBORATED</rr:ValidationSources>
  </rr:Registration>${extension}
</rr:RelationshipRecord>`;
const relationships = (records: readonly string[], count = records.length): Buffer =>
  Buffer.from(
    `<rr:RelationshipData><rr:Header><rr:RecordCount>${count}</rr:RecordCount></rr:Header><rr:RelationshipRecords>${records.join("\n")}</rr:RelationshipRecords></rr:RelationshipData>`,
  );

test("relationships are those of the CSV; a file with another count than its header closes none; a deletion closes one", async () => {
  const store = open();
  const kind = { kind: "gleif_rr" };
  const later = (days: number) => ({ ...kind, publish_ms: PUBLISHED_MS + days });
  const numbers = [1, 2, 3, 4];
  await importOf(store, "rr.xml", relationships(numbers.map((number) => relationship(number))), kind);
  const [row] = await tuples(store, "gleif_rr");
  expect(JSON.parse(row!.tuple)).toEqual([
    "is_fund_managed_by",
    "ACTIVE",
    "1",
    "FULLY_CORROBORATED",
    ["RELATIONSHIP_PERIOD", "2005-03-23"],
  ]);
  const fewer = relationships([relationship(1), relationship(2)], 4);
  const cut = await importOf(store, "cut.xml", fewer, later(1));
  expect(cut).toMatchObject({ counts: { closed: 0 }, warnings: ["incomplete_file"] });
  const whole = relationships([relationship(1), relationship(2), relationship(3)]);
  expect((await importOf(store, "whole.xml", whole, later(2))).counts).toMatchObject({ closed: 1 });
  const deletion =
    "<rr:Extension><gleif:Deletion><gleif:DeletedAt>2023-11-01T01:39:19Z</gleif:DeletedAt></gleif:Deletion></rr:Extension>";
  const delta = relationships([relationship(1, deletion)]);
  const done = await importOf(store, "delta.xml", delta, { ...later(3), is_full: false });
  expect(done.counts).toMatchObject({ closed: 1 });
});

test("exceptions are those of the CSV, with a reason and a reference", async () => {
  const store = open();
  const xml = `<repex:ReportingExceptionData><repex:ReportingExceptions><repex:Exception>
    <repex:LEI>${goldenLei(1)}</repex:LEI><repex:ExceptionCategory>ULTIMATE_ACCOUNTING_CONSOLIDATION_PARENT</repex:ExceptionCategory>
    <repex:ExceptionReason>NON_PUBLIC</repex:ExceptionReason><repex:ExceptionReference>https://register.example</repex:ExceptionReference>
  </repex:Exception></repex:ReportingExceptions></repex:ReportingExceptionData>`;
  await importOf(store, "repex.xml", Buffer.from(xml), { kind: "gleif_repex" });
  const [row] = await tuples(store, "gleif_repex");
  expect(row!.key).toBe(`${goldenLei(1)} ULTIMATE_ACCOUNTING_CONSOLIDATION_PARENT`);
  expect(JSON.parse(row!.tuple)).toEqual(["NON_PUBLIC", "https://register.example"]);
});

test("a kind that its source does not publish as XML refuses it", async () => {
  const refused = importOf(open(), "isin.xml", Buffer.from("<isins/>"), { kind: "gleif_isin" });
  await expect(refused).rejects.toThrow(/not read as XML/);
});

const folder = "../shared/fixtures/companies/bulk/gleif/xml";
describe.skipIf(!existsSync(folder))("files of GLEIF as it published them", () => {
  test.each([
    ["lei-data.xml", "gleif_lei2", 13, 0],
    ["lei-updates-data2-new.xml", "gleif_lei2", 12, 0],
    ["20180901-gleif-concatenated-file-lei2-Top10.xml", "gleif_lei2", 10, 0],
    ["rr-data.xml", "gleif_rr", 10, 0],
    ["rr-updates-data2-new.xml", "gleif_rr", 10, 0],
    ["repex-data.xml", "gleif_repex", 10, 0],
    ["repex-updates-data2-new.xml", "gleif_repex", 7, 0],
  ])("%s", async (name, kind, records, bad) => {
    const done = await importOf(open(), name, readFileSync(`${folder}/${name}`), { kind, is_full: false });
    expect(done.counts).toMatchObject({ records, bad });
  });
});

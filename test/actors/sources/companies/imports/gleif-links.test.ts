/** GLEIF's other files beside level 1: relationships, exceptions, ISINs and BICs become one company with it. */
import { expect, test } from "vitest";
import { DAY_MS, oneRegister, scriptedSource } from "../../../../harness/companies-harness.ts";
import { csvOf, type GoldenRow, goldenCopy, goldenLei, goldenRow } from "../../../../harness/golden-copy.ts";
import { importOf, PUBLISHED_MS } from "../../../../harness/company-imports.ts";

const [CHILD, PARENT] = [goldenLei(1), goldenLei(2)];
const REGISTER = () => {
  const rule = { precedence: 60, freshness: "lei_core" } as const;
  const groups = {
    core: rule,
    identifiers: rule,
    relationships: rule,
    ownership: rule,
    securities: rule,
  };
  return oneRegister(() => [scriptedSource("gleif", "lei", () => ({ core: [] }), { groups })]);
};

const relationship = (values: GoldenRow = {}): GoldenRow => ({
  "Relationship.StartNode.NodeID": CHILD,
  "Relationship.StartNode.NodeIDType": "LEI",
  "Relationship.EndNode.NodeID": PARENT,
  "Relationship.EndNode.NodeIDType": "LEI",
  "Relationship.RelationshipType": "IS_DIRECTLY_CONSOLIDATED_BY",
  "Relationship.RelationshipStatus": "ACTIVE",
  "Relationship.Period.1.startDate": "2021-01-01T00:00:00+01:00",
  "Relationship.Period.1.endDate": "2021-12-31T00:00:00+01:00",
  "Relationship.Period.1.periodType": "ACCOUNTING_PERIOD",
  "Registration.RegistrationStatus": "PUBLISHED",
  "Registration.ValidationSources": "FULLY_CORROBORATED",
  ...values,
});
const csv = (rows: readonly GoldenRow[]): Buffer =>
  Buffer.from(csvOf([...new Set(rows.flatMap((row) => Object.keys(row)))], rows));

async function whole() {
  const one = REGISTER();
  const { import_store: store } = one;
  await importOf(store, "lei2.csv", goldenCopy([goldenRow(1), goldenRow(2), goldenRow(3)]));
  await importOf(store, "rr.csv", csv([relationship()]), { kind: "gleif_rr" });
  const exception = {
    LEI: PARENT,
    "Exception.Category": "DIRECT_ACCOUNTING_CONSOLIDATION_PARENT",
    "Exception.Reason.1": "NATURAL_PERSONS",
    "Exception.Reference.1": "",
  };
  await importOf(store, "repex.csv", csv([exception]), { kind: "gleif_repex" });
  const isins = ["US0378331005", "US88160R1014"].map((ISIN) => ({ LEI: CHILD, ISIN }));
  await importOf(store, "isin.csv", csv([...isins, { LEI: CHILD, ISIN: "NONE" }]), { kind: "gleif_isin" });
  await importOf(store, "bic.csv", csv([{ LEI: CHILD, BIC: "KRANDEHHXXX" }]), { kind: "gleif_bic" });
  return one;
}

test("the files of one publication are one record, each claim with its own file", async () => {
  const { get, import_store } = await whole();
  const child = (await get(`lei:${CHILD}`, { groups: ["ownership"] }))!;
  expect(child.is_cached).toBe(true);
  const party = { kind: "entity", name: "Kranwerk 2 GmbH", ref: `lei:${PARENT}`, country: "DE" };
  expect(child.company.record).toMatchObject({
    relationships: [
      {
        type: "is_directly_consolidated_by",
        direction: "out",
        party,
        periods: [{ type: "ACCOUNTING_PERIOD", start: "2021-01-01", end: "2021-12-31" }],
        current: true,
      },
    ],
    ownership: { direct_parent: party },
    securities: [{ isin: "US0378331005" }, { isin: "US88160R1014" }],
  });
  const parent = (await get(`lei:${PARENT}`, { groups: ["ownership"] }))!;
  expect(parent.company.record).toMatchObject({
    relationships: [{ direction: "in", party: { name: "Kranwerk 1 GmbH", ref: `lei:${CHILD}` } }],
    ownership: { exceptions: [{ reason: "NATURAL_PERSONS" }] },
  });
  for (const reference of ["isin:US88160R1014", "bic:KRANDEHHXXX"])
    expect((await get(reference))?.company.id).toBe(child.company.id);
  const files = new Map((await import_store.runs(10)).map(({ sha256, origin }) => [sha256, origin]));
  const origins = child.groups.map(({ group, documents }) => [
    group,
    documents.map(({ sha256 }) => files.get(sha256)),
  ]);
  expect(Object.fromEntries(origins)).toEqual({
    core: ["lei2.csv"],
    identifiers: ["lei2.csv", "bic.csv"],
    relationships: ["rr.csv"],
    ownership: ["rr.csv"],
    securities: ["isin.csv"],
  });
});

test("a relationship that a delta deletes is gone, and its parent has no such child", async () => {
  const { get, import_store } = await whole();
  const deleted = csv([relationship({ DeletedAt: "2026-11-22T08:00:00Z" })]);
  const publish_ms = PUBLISHED_MS + DAY_MS / 4;
  const delta = { kind: "gleif_rr", publish_ms, is_full: false };
  expect((await importOf(import_store, "delta.csv", deleted, delta)).counts).toMatchObject({ closed: 1 });
  for (const lei of [CHILD, PARENT])
    expect((await get(`lei:${lei}`))?.company.record.relationships).toEqual([]);
});

test("what a whole file does not have any more is closed, and a cut file closes nothing", async () => {
  const { import_store: store } = await whole();
  const many = Array.from({ length: 2_000 }, (_, at) => ({
    LEI: CHILD,
    ISIN: `DE${String(at).padStart(9, "0")}1`,
  }));
  const later = (days: number) => ({ kind: "gleif_isin", publish_ms: PUBLISHED_MS + days });
  await importOf(store, "a.csv", csv(many), later(1));
  expect((await importOf(store, "b.csv", csv(many.slice(5)), later(2))).counts).toMatchObject({ closed: 5 });
  expect(await store.find(["isin:DE0000000041", "isin:DE0000000051"])).toMatchObject([
    { reference: "isin:DE0000000051" },
  ]);
  const cut = await importOf(store, "cut.csv", csv(many.slice(0, 900)), later(3));
  expect(cut).toMatchObject({ counts: { closed: 0 }, warnings: ["fewer_records_than_before"] });
  const other = many.map((row, at) => (at < 500 ? { ...row, ISIN: row.ISIN.replace("DE", "FR") } : row));
  const swapped = await importOf(store, "swapped.csv", csv(other), later(4));
  expect(swapped).toMatchObject({ counts: { closed: 0 }, warnings: ["many_rows_absent"] });
});

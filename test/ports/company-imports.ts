/** Promises of every store of imported rows. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { NO_COUNTS } from "../../actors/sources/companies/imports/run-import.ts";
import { BEGUN } from "../harness/company-imports.ts";
import type {
  ImportedRow,
  ImportRun,
  ImportStore,
  RowWrite,
} from "../../actors/sources/companies/imports/store.ts";

const RUN: Omit<ImportRun, "run"> = {
  ...BEGUN,
  path: "/imports/a.csv",
  origin: "a.csv",
  sha256: "a".repeat(64),
  bytes: 100,
};

const rowOf = (run: number, key: string, tuple: string, more: Partial<RowWrite> = {}): RowWrite => ({
  key,
  digest: randomUUID().replaceAll("-", "").slice(0, 24),
  run,
  line: 1,
  offset: 10,
  tuple,
  closed_ms: null,
  references: [],
  dropped: [],
  before: null,
  ...more,
});

const stored = ({
  references: _references,
  dropped: _dropped,
  before: _before,
  ...row
}: RowWrite): ImportedRow => row;

export function companyImportsSuite(open: () => Promise<ImportStore>): void {
  async function begun() {
    const store = await open();
    const run = await store.begin(RUN);
    return { store, run, put: (...rows: RowWrite[]) => store.commit({ run, rows, bad: [] }) };
  }

  test("rows are read by key, below a prefix, and one after the other in the order of their keys", async () => {
    const { store, run, put } = await begun();
    const rows = ["B", "A x", "A y", "C"].map((key) => rowOf(run.run, key, `["${key}"]`));
    await put(...rows);
    const keys = (found: readonly ImportedRow[]) => found.map(({ key }) => key);
    expect(await store.rows("gleif_lei2", ["B", "D"])).toEqual([stored(rows[0]!)]);
    expect(keys(await store.rowsBelow("gleif_lei2", "A ", 10))).toEqual(["A x", "A y"]);
    expect(keys(await store.rowsBelow("gleif_lei2", "A ", 1))).toEqual(["A x"]);
    expect(keys(await store.scan("gleif_lei2", "", 3))).toEqual(["A x", "A y", "B"]);
    expect(keys(await store.scan("gleif_lei2", "B", 3))).toEqual(["C"]);
    expect(await store.count("gleif_lei2")).toBe(4);
    expect(await store.scan("gleif_rr", "", 3)).toEqual([]);
    const other = await store.begin({ ...RUN, kind: "gleif_rr" });
    await store.commit({ run: other, rows: [rowOf(other.run, "A", "[]")], bad: [] });
    expect(keys(await store.scan("gleif_rr", "", 3))).toEqual(["A"]);
    await store.close();
  });

  test("what a row replaces is there as an earlier version, and a renewal leaves none", async () => {
    const { store, run, put } = await begun();
    const [first, second, third] = ["one", "two", "three"].map((name) => rowOf(run.run, "A", `["${name}"]`));
    await put(first!);
    const next = await store.begin({ ...RUN, publish_ms: 2_000 });
    const changed = { ...second!, run: next.run, before: stored(first!) };
    await store.commit({ run: next, rows: [changed], bad: [] });
    const renewed = { ...third!, run: next.run, changed_run: run.run };
    await store.commit({ run: next, rows: [renewed], bad: [] });
    expect(await store.rows("gleif_lei2", ["A"])).toEqual([stored(renewed)]);
    await store.commit({ run: next, rows: [{ ...third!, run: next.run }], bad: [] });
    expect(await store.rows("gleif_lei2", ["A"])).toEqual([stored({ ...third!, run: next.run })]);
    expect(await store.earlier("gleif_lei2", "A")).toEqual([stored(first!)]);
    expect(await store.earlier("gleif_lei2", "B")).toEqual([]);
    await store.close();
  });

  test("identifiers lead to rows until a row drops them", async () => {
    const { store, run, put } = await begun();
    const shared = rowOf(run.run, "B", "[]", { references: ["gb_coh:1", "isin:X"] });
    await put(rowOf(run.run, "A", "[]", { references: ["gb_coh:1"] }), shared);
    const found = await store.find(["gb_coh:1", "isin:X", "isin:Y"]);
    expect(
      found.toSorted((a, b) => `${a.reference}${a.key}`.localeCompare(`${b.reference}${b.key}`)),
    ).toEqual([
      { reference: "gb_coh:1", kind: "gleif_lei2", key: "A" },
      { reference: "gb_coh:1", kind: "gleif_lei2", key: "B" },
      { reference: "isin:X", kind: "gleif_lei2", key: "B" },
    ]);
    await put({ ...shared, references: ["isin:Y"], dropped: ["gb_coh:1", "isin:X"] });
    expect(await store.find(["isin:X", "isin:Y"])).toEqual([
      { reference: "isin:Y", kind: "gleif_lei2", key: "B" },
    ]);
    await store.close();
  });

  test("a run is numbered, and its checkpoint, its rows and its bad rows are written together", async () => {
    const { store, run } = await begun();
    const other = await store.begin({ ...RUN, source: "companies_house" });
    expect(other.run).toBeGreaterThan(run.run);
    const counts = { ...NO_COUNTS, records: 2, created: 1, bad: 1 };
    const bad = [{ line: 2, offset: 20, reason: "lei", text: "oh, no" }];
    await store.commit({ run: { ...run, counts }, rows: [rowOf(run.run, "A", "[]")], bad });
    expect(await store.run(run.run)).toEqual({ ...run, counts });
    expect(await store.run(999)).toBeNull();
    expect((await store.runs(10)).map((each) => each.run)).toEqual([other.run, run.run]);
    expect((await store.runs(10, other.run)).map((each) => each.run)).toEqual([run.run]);
    expect(await store.badRows(run.run, 10)).toEqual(bad);
    // The batch again, as after a crash, leaves one of each.
    await store.commit({ run: { ...run, counts }, rows: [rowOf(run.run, "A", "[]")], bad });
    expect(await store.badRows(run.run, 10)).toEqual(bad);
    expect(await store.count("gleif_lei2")).toBe(1);
    await store.close();
  });

  test("a run that has not ended is found behind those that have", async () => {
    const { store, run } = await begun();
    const origin = 'a "state":"running" file';
    for (const state of ["done", "failed"] as const) await store.begin({ ...RUN, origin, state });
    const other = await store.begin({ ...RUN, source: "companies_house" });
    expect(await store.running()).toEqual([other, run]);
    await store.commit({ run: { ...other, state: "done" }, rows: [], bad: [] });
    await store.commit({ run: { ...run, epoch: 2 }, rows: [], bad: [] });
    expect(await store.running()).toEqual([{ ...run, epoch: 2 }]);
    await store.close();
  });

  test("a writer whose key another node took writes nothing", async () => {
    const { store, run } = await begun();
    await store.commit({ run: { ...run, epoch: 2 }, rows: [], bad: [] });
    const late = store.commit({ run, rows: [rowOf(run.run, "A", "[]")], bad: [] });
    await expect(late).rejects.toMatchObject({ code: "lease_lost" });
    expect(await store.count("gleif_lei2")).toBe(0);
    await store.close();
  });

  test("a closed row is not counted", async () => {
    const { store, run, put } = await begun();
    await put(rowOf(run.run, "A", "[]", { closed_ms: 1_000 }), rowOf(run.run, "B", "[]"));
    expect(await store.count("gleif_lei2")).toBe(1);
    expect(await store.rows("gleif_lei2", ["A"])).toMatchObject([{ closed_ms: 1_000 }]);
    await store.close();
  });
}

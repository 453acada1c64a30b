/**
 * Imports in the change feed: the first whole file of a kind is one entry, later files are changes of their companies, each once; a
 * stored company has its changes from its own outbox; and the state of the register can be read before the feed.
 */
import { expect, test } from "vitest";
import { readBaseline, START } from "../../../../../actors/sources/companies/feed/baseline.ts";
import { readChanges } from "../../../../../actors/sources/companies/feed/changes.ts";
import { sequence } from "../../../../../actors/sources/companies/feed/sequencer.ts";
import { importedChanges } from "../../../../../actors/sources/companies/imports/imported-changes.ts";
import { sqliteImports } from "../../../../../actors/sources/companies/imports/adapters/imports.sqlite.ts";
import { openImports } from "../../../../../actors/sources/companies/imports/imported.ts";
import type { ImportStore } from "../../../../../actors/sources/companies/imports/store.ts";
import { indexChanges } from "../../../../../actors/sources/companies/imports/index-imported.ts";
import {
  IMPORT_KINDS,
  IMPORTED_SOURCES,
  importKindOf,
} from "../../../../../actors/sources/companies/imports/imported-sources.ts";
import { takeImported } from "../../../../../actors/sources/companies/imports/take-imported.ts";
import { virtualClock } from "../../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../../cluster/adapters/time/random.seeded.ts";
import type { Documents } from "../../../../../cluster/ports/documents.ts";
import { identifier, oneRegister, scriptedSource } from "../../../../harness/companies-harness.ts";
import { importOf, PUBLISHED_MS } from "../../../../harness/company-imports.ts";
import { csvOf, type GoldenRow, goldenCopy, goldenLei, goldenRow } from "../../../../harness/golden-copy.ts";

const RULE = { precedence: 60, freshness: "lei_core" } as const;
const register = () =>
  oneRegister((now) => [
    scriptedSource(
      "gleif",
      "lei",
      ({ value }) => ({
        core: [["names.legal", "Kranwerk 1 GmbH"]],
        identifiers: [identifier("lei", value)],
      }),
      { groups: { core: RULE, identifiers: RULE } },
      now,
    ),
  ]);
type Register = ReturnType<typeof register>;

const rowsOf = (count: number): GoldenRow[] => Array.from({ length: count }, (_, at) => goldenRow(at));
const named = (number: number, name: string): GoldenRow => goldenRow(number, { "Entity.LegalName": name });
const first = (store: Register["import_store"], rows: readonly GoldenRow[]) =>
  importOf(store, "first.csv", goldenCopy(rows), { is_baseline: true });
const delta = (store: Register["import_store"], rows: readonly GoldenRow[], hours = 1) =>
  importOf(store, `delta-${hours}.csv`, goldenCopy(rows), {
    is_full: false,
    is_baseline: false,
    publish_ms: PUBLISHED_MS + hours * 3_600_000,
  });

async function all(documents: Documents) {
  const page = await readChanges(documents, 0, 10_000, null);
  if (page === "expired") throw new Error("expired");
  return page;
}

test("a first whole file is one entry of the feed, and a later file is the changes of its companies", async () => {
  const one = register();
  const { import_store: store, documents } = one;
  await first(store, rowsOf(1_200));
  await one.feed();
  expect(await all(documents)).toMatchObject({
    changes: [],
    baselines: [{ type: "baseline", source: "gleif", kind: "gleif_lei2", rows: 1_200, seq: 1 }],
    through_seq: 1,
  });
  const renewed = goldenRow(2, { "Registration.NextRenewalDate": "2028-03-04" });
  await delta(store, [goldenRow(0), named(1, "Kranwerk Nord GmbH"), renewed, goldenRow(5_000)]);
  await one.feed();
  const changes = (await all(documents)).changes.toSorted((a, b) => a.version - b.version);
  const id = async (number: number) => (await one.imports.company(`lei:${goldenLei(number)}`))!.id;
  expect(changes).toMatchObject([
    { company_id: await id(5_000), type: "created", version: 1, countries: ["DE"], is_imported: true },
    { company_id: await id(1), type: "updated", version: 2, fields: ["names"], merged_into: null },
  ]);
  expect(changes).toHaveLength(2);
  // The dispatcher leaves companies that are not stored to the import: it tells no watch.
  expect(one.notified).toEqual([]);
});

test("companies that a whole file has no more are dissolved, and a number that was given twice is deleted", async () => {
  const one = register();
  const { import_store: store, documents } = one;
  const file = (rows: readonly number[], kind: string) =>
    kind === "brreg"
      ? Buffer.from(
          rows
            .map((at) =>
              JSON.stringify({ organisasjonsnummer: String(923_609_000 + at), navn: `KRAN ${at} AS` }),
            )
            .join("\n"),
        )
      : Buffer.from(
          csvOf(
            ["CompanyName", "CompanyNumber", "CompanyStatus", "CompanyCategory"],
            rows.map((at) => ({
              CompanyName: `KRAN ${at} LTD`,
              CompanyNumber: String(10_000_000 + at),
              CompanyStatus: "Active",
              CompanyCategory: "Private Limited Company",
            })),
          ),
        );
  for (const kind of ["brreg", "companies_house"]) {
    const { source, licence } = importKindOf(kind)!;
    const of = { kind, source, licence: licence.id };
    const numbers = Array.from({ length: 40 }, (_, at) => at);
    await importOf(store, `${kind}-1`, file(numbers, kind), { ...of, is_baseline: true });
    const later = { ...of, is_baseline: false, publish_ms: PUBLISHED_MS + 1 };
    await importOf(store, `${kind}-2`, file(numbers.slice(1), kind), later);
  }
  await one.feed();
  const { changes, baselines } = await all(documents);
  expect(baselines.map(({ kind }) => kind)).toEqual(["brreg", "companies_house"]);
  expect(changes.map(({ type }) => type)).toEqual(["updated", "updated"]);
  for (const { fields } of changes) expect(fields).toContain("status");
  await first(store, rowsOf(2));
  await delta(store, [goldenRow(1, { "Registration.RegistrationStatus": "DUPLICATE" })]);
  await one.feed();
  expect((await all(documents)).changes.at(-1)).toMatchObject({ type: "deleted", version: 2 });
});

test("of more than a thousand imports that ended before the feed was read, each is in it once", async () => {
  const one = register();
  const { import_store: store, documents } = one;
  await delta(store, [named(1, "Kranwerk Nord GmbH")]);
  const failed = { ...(await store.run(1))!, state: "failed" } as const;
  const count = 1_050;
  for (let at = 2; at < count; at++) await store.begin(failed);
  await delta(store, [named(2, "Kranwerk Süd GmbH")], 2);
  await one.feed();
  const { changes } = await all(documents);
  const names = await Promise.all(
    changes.map(async ({ company_id }) => (await one.imports.company(company_id))?.id),
  );
  const id = async (number: number) => (await one.imports.company(`lei:${goldenLei(number)}`))!.id;
  expect(names).toEqual([await id(1), await id(2)]);
});

test("a company of an old import is read without reading the imports behind it", async () => {
  const store = sqliteImports(":memory:");
  await first(store, rowsOf(1));
  await delta(store, [named(0, "Kranwerk Nord GmbH")]);
  const failed = { ...(await store.run(2))!, state: "failed" } as const;
  for (let at = 0; at < 1_050; at++) await store.begin(failed);
  const reads: string[] = [];
  const counted: ImportStore = {
    ...store,
    run: (number) => (reads.push(`run ${number}`), store.run(number)),
    runs: (limit, before) => (reads.push(`runs ${limit}`), store.runs(limit, before)),
  };
  const clock = virtualClock(PUBLISHED_MS);
  const imports = openImports({ store: counted, sources: IMPORTED_SOURCES, clock });
  const read = async () => (await imports.company(`lei:${goldenLei(0)}`))!.groups.map(({ at_ms }) => at_ms);
  const at_ms = await read();
  expect(new Set(at_ms)).toEqual(new Set([PUBLISHED_MS, PUBLISHED_MS + 3_600_000]));
  // Once for a while: when the last whole file of the kind was published.
  expect(reads.filter((each) => each === "runs 1000")).toHaveLength(2);
  expect(reads.toSorted()).toEqual(["run 1", "run 2", "runs 1", "runs 1000", "runs 1000"]);
  reads.length = 0;
  expect(await read()).toEqual(at_ms);
  expect(reads).toEqual([]);
  await store.close();
});

class Crash extends Error {}

test("each change of an import is in the feed once, whichever writes of the sequencer were its last", async () => {
  const one = register();
  const { import_store: store, documents, imports, clock } = one;
  await first(store, rowsOf(1_500));
  await delta(
    store,
    rowsOf(1_500).map((row) => ({ ...row, "Entity.LegalName": `${row["Entity.LegalName"]} Nord` })),
  );
  const random = seededRandom(7);
  const imported = importedChanges({ documents, store, imports, kinds: IMPORT_KINDS });
  let crashes = 0;
  const mortal: Documents = {
    ...documents,
    async put(...args) {
      if (random.next() < 0.001) throw new Crash();
      const done = await documents.put(...args);
      if (random.next() < 0.001) throw new Crash();
      return done;
    },
  };
  for (let is_done = false; !is_done;)
    try {
      ({ is_done } = await sequence({ documents: mortal, clock, imported, ownsKey: () => true }, null));
    } catch (problem) {
      if (!(problem instanceof Crash)) throw problem;
      crashes++;
    }
  await sequence({ documents, clock, imported, ownsKey: () => true }, null);
  const { changes, baselines, through_seq } = await all(documents);
  expect(crashes).toBeGreaterThan(0);
  expect(baselines).toHaveLength(1);
  expect(through_seq).toBe(1_501);
  expect(new Set(changes.map(({ company_id }) => company_id)).size).toBe(1_500);
  expect(changes.every(({ type, version }) => type === "updated" && version === 2)).toBe(true);
});

test("a stored company takes what a file says of it, and its change is in the feed once", async () => {
  const one = register();
  const { import_store: store, documents, imports, index } = one;
  const live = (await one.get(`lei:${goldenLei(1)}`))!;
  const done = await delta(store, [named(1, "Kranwerk Nord GmbH"), goldenRow(2)], 48);
  await one.clock.advance(0);
  const kind = importKindOf("gleif_lei2")!;
  const rows = (await store.scan(kind.name, "", 10)).filter(({ run }) => run === done.run);
  const onStored = (id: string) => takeImported(one.ask(), id);
  await indexChanges({ documents, index, onStored }, await imports.entriesOfRows(kind, rows));
  await one.feed();
  const { changes } = await all(documents);
  const own = changes.filter(({ company_id }) => company_id === live.company.id);
  expect(own.map(({ type, version }) => [type, version])).toEqual([
    ["created", 1],
    ["updated", 2],
  ]);
  expect(own[1]!.fields).toContain("names");
  expect(one.notified.map(({ version }) => version)).toEqual([1, 2]);
  expect(changes.filter(({ is_imported }) => is_imported)).toMatchObject([{ type: "created" }]);
  expect((await one.get(`lei:${goldenLei(1)}`))!.company.record.names.legal).toBe("Kranwerk Nord GmbH");
});

test("a company that only imports knew goes on with its version when it is stored", async () => {
  const one = register();
  const { import_store: store, documents } = one;
  await first(store, [named(1, "Kranwerk Nord GmbH")]);
  await delta(store, [named(1, "Kranwerk Süd GmbH")]);
  await one.feed();
  await one.get(`lei:${goldenLei(1)}`, { refresh: true });
  await one.feed();
  const { changes } = await all(documents);
  expect(changes.map(({ type, version }) => [type, version])).toEqual([
    ["updated", 2],
    ["updated", 3],
  ]);
  expect(new Set(changes.map(({ company_id }) => company_id)).size).toBe(1);
});

test("the state and then the changes behind it are the whole register", async () => {
  const one = register();
  const { import_store: store, documents, imports } = one;
  await first(store, rowsOf(250));
  await one.get(`lei:${goldenLei(3)}`, { refresh: true });
  await one.get(`lei:${goldenLei(9_999)}`);
  await one.feed();
  const begin = await all(documents);
  const copy = new Set<string>();
  const listed: string[] = [];
  for (let place: typeof START | null = START; place !== null;) {
    const page: Awaited<ReturnType<typeof readBaseline>> = await readBaseline(
      { documents, imports },
      place,
      100,
    );
    expect(page.companies.length).toBeLessThanOrEqual(100);
    for (const { id } of page.companies) listed.push(id);
    place = page.next;
  }
  for (const id of listed) copy.add(id);
  expect(listed).toHaveLength(251);
  expect(copy.size).toBe(251);
  await delta(store, [goldenRow(7_777)]);
  await one.feed();
  const behind = await readChanges(documents, begin.through_seq, 100, null);
  if (behind === "expired") throw new Error("expired");
  const added = behind.changes.map(({ company_id }) => company_id);
  expect(added).toEqual([(await imports.company(`lei:${goldenLei(7_777)}`))!.id]);
  expect(copy.has(added[0]!)).toBe(false);
});

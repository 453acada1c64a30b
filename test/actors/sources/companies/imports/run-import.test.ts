/** Imports of GLEIF's level 1 from a file to rows and back to claims, on stores in memory. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { zipSync } from "fflate";
import { expect, onTestFinished, test } from "vitest";
import { sqliteImports } from "../../../../../actors/sources/companies/imports/adapters/imports.sqlite.ts";
import { readCsv } from "../../../../../actors/sources/companies/imports/read-csv.ts";
import type { RunContext } from "../../../../../actors/sources/companies/imports/run-import.ts";
import type { ImportStore } from "../../../../../actors/sources/companies/imports/store.ts";
import { DAY_MS, oneRegister, scriptedSource } from "../../../../harness/companies-harness.ts";
import {
  beginFile,
  begunFor,
  IMPORT_OWNER,
  importOf,
  PUBLISHED_MS,
  runFile,
} from "../../../../harness/company-imports.ts";
import { goldenCopy, goldenLei, goldenRow, LEI_COLUMNS, zipped } from "../../../../harness/golden-copy.ts";

const register = () => oneRegister(() => [scriptedSource("gleif", "lei", () => ({ core: [] }))]);

test("a zipped golden copy with a BOM, shuffled columns and a line break in a field becomes companies", async () => {
  const { get, import_store } = register();
  const shuffled = LEI_COLUMNS.toReversed();
  const rows = [
    goldenRow(1),
    goldenRow(2, { "Entity.LegalName": 'Kranwerk\n"Süd", GmbH', "Entity.EntityStatus": "INACTIVE" }),
    goldenRow(3),
  ];
  const bytes = Buffer.concat([Buffer.from("\ufeff"), goldenCopy(rows, shuffled)]);
  const done = await importOf(import_store, "lei2.csv.zip", zipped("lei2.csv", bytes));
  expect(done).toMatchObject({ state: "done", counts: { records: 3, created: 3, bad: 0 } });

  const second = (await get(`lei:${goldenLei(2)}`))!;
  expect(second).toMatchObject({
    is_cached: true,
    company: {
      record: { names: { legal: 'Kranwerk\n"Süd", GmbH' }, status: "dissolved", jurisdiction: "DE" },
    },
  });
  const [first] = await import_store.rows("gleif_lei2", [goldenLei(2)]);
  expect(bytes.subarray(first!.offset).toString()).toMatch(/^,{19}FULLY_CORROBORATED.*\n""Süd/);
  expect(first!.line).toBe(2);
  const { documents, claims } = second.groups[0]!;
  expect(documents).toEqual([
    expect.objectContaining({
      sha256: done.sha256,
      url: `lei2.csv.zip#row=2&offset=${first!.offset}`,
      is_import: true,
    }),
  ]);
  expect(claims.every(({ observed_ms }) => observed_ms === PUBLISHED_MS)).toBe(true);
  // By its number at the court and by its id, too.
  expect((await get("de_hrb:M1201.HRB10002"))?.company.id).toBe(second.company.id);
  expect((await get(second.company.id))?.company.record).toEqual(second.company.record);
});

test("a bad record is counted and kept, and ends nothing", async () => {
  const { import_store } = register();
  const lines = goldenCopy([
    goldenRow(1),
    goldenRow(2, { LEI: "TOO SHORT" }),
    goldenRow(3, { "Entity.LegalName": " " }),
    goldenRow(4),
  ])
    .toString()
    .split("\n");
  const bytes = Buffer.from([...lines.slice(0, 2), "one,two", ...lines.slice(2)].join("\n"));
  const done = await importOf(import_store, "bad.csv", bytes);
  expect(done).toMatchObject({
    state: "done",
    counts: { records: 5, created: 2, bad: 3 },
    bad_reasons: { columns: 1, lei: 1, legal_name: 1 },
    warnings: ["many_bad_rows"],
  });
  const bad = await import_store.badRows(done.run, 10);
  expect(bad.map(({ line, reason }) => [line, reason])).toEqual([
    [2, "columns"],
    [3, "lei"],
    [4, "legal_name"],
  ]);
  expect(bytes.subarray(bad[0]!.offset).toString()).toMatch(/^one,two\n/);
  expect(bad[0]!.text).toBe("one,two");
});

test("quoted fields, empty lines and a quote that is not closed are read as CSV has them", async () => {
  const { import_store } = register();
  const text = goldenCopy([goldenRow(1), goldenRow(2), goldenRow(3)]).toString();
  const [header, first, second, third] = text.trimEnd().split("\n");
  const quoted = first!
    .split(",")
    .map((field) => `"${field}"`)
    .join(",");
  const name = second!.replace("Kranwerk 2 GmbH", '"Kranwerk ""2"", GmbH"');
  const open = third!.replace("Kranwerk 3 GmbH", '"Kranwerk 3 GmbH');
  const bytes = Buffer.from(`${header}\r\n${quoted}\r\n\r\n${name}\n${open}\n`);
  const done = await importOf(import_store, "quoted.csv", bytes);
  expect(done).toMatchObject({
    counts: { records: 3, created: 2, bad: 1 },
    bad_reasons: { csv_quote_not_closed: 1 },
  });
  const rows = await import_store.rows("gleif_lei2", [goldenLei(1), goldenLei(2)]);
  expect(rows.map(({ tuple }) => (JSON.parse(tuple) as string[])[0])).toEqual([
    "Kranwerk 1 GmbH",
    'Kranwerk "2", GmbH',
  ]);
  expect(rows.map(({ offset }) => bytes.subarray(offset).toString().slice(0, 9))).toEqual([
    quoted.slice(0, 9),
    name.slice(0, 9),
  ]);
});

test("records end at a carriage return alone, where the header does, wherever the file is cut", async () => {
  const text = 'a,"b\rc"\r1,2\r"3\r\n4",5\r\r6,7';
  for (let cut = 0; cut <= text.length; cut++) {
    const chunks = [text.slice(0, cut), text.slice(cut)].map((part) => Buffer.from(part));
    const { columns, records } = await readCsv(Readable.from(chunks), null);
    const found = (await Array.fromAsync(records)).flat();
    expect([cut, columns, found.map(({ record }) => record)]).toEqual([
      cut,
      ["a", "b\rc"],
      [
        ["1", "2"],
        ["3\r\n4", "5"],
        ["6", "7"],
      ],
    ]);
  }
});

test("a carriage return in a file of line feeds is part of its field", async () => {
  const { records } = await readCsv(Readable.from([Buffer.from("a,b\r\n1\r2,3\n")]), null);
  const found = (await Array.fromAsync(records)).flat();
  expect(found.map(({ record }) => record)).toEqual([["1\r2", "3"]]);
});

test("the same file again changes nothing, and a renewal is no change", async () => {
  const { import_store } = register();
  const rows = [goldenRow(1), goldenRow(2)];
  await importOf(import_store, "a.csv", goldenCopy(rows));
  const before = await import_store.scan("gleif_lei2", "", 10);
  expect((await importOf(import_store, "a.csv", goldenCopy(rows))).counts).toMatchObject({
    unchanged: 2,
    created: 0,
    changed: 0,
  });
  expect(await import_store.scan("gleif_lei2", "", 10)).toEqual(before);
  const renewed = {
    "Registration.NextRenewalDate": "2028-03-04",
    "Registration.LastUpdateDate": "2026-11-20",
  };
  const later = [goldenRow(1, renewed), goldenRow(2, { "Entity.LegalName": "Kranwerk Nord GmbH" })];
  expect((await importOf(import_store, "b.csv", goldenCopy(later))).counts).toMatchObject({
    renewed: 1,
    changed: 1,
  });
});

test("an older file takes nothing back, and the history has both files", async () => {
  const { get, import_store } = register();
  await importOf(import_store, "first.csv", goldenCopy([goldenRow(1)]));
  const renamed = goldenRow(1, { "Entity.LegalName": "Kranwerk Nord GmbH" });
  const publish_ms = PUBLISHED_MS + DAY_MS / 2;
  const newer = await importOf(import_store, "newer.csv", goldenCopy([renamed]), { publish_ms });
  const older = await importOf(import_store, "older.csv", goldenCopy([goldenRow(1), goldenRow(2)]), {
    publish_ms: PUBLISHED_MS + 1,
  });
  expect(older.counts).toMatchObject({ older: 1, created: 1 });
  const company = (await get(`lei:${goldenLei(1)}`))!;
  expect(company.company.record.names.legal).toBe("Kranwerk Nord GmbH");
  const names = company.groups
    .flatMap(({ claims, documents }) =>
      claims.map((claim) => ({ ...claim, of: documents[claim.document]!.sha256 })),
    )
    .filter(({ field }) => field === "names.legal");
  expect(names.map(({ value, closed, of }) => [value, closed?.at_ms ?? null, of === newer.sha256])).toEqual([
    ["Kranwerk 1 GmbH", publish_ms, false],
    ["Kranwerk Nord GmbH", null, true],
  ]);
});

test("an older delta takes nothing back after a thousand imports of other files", async () => {
  const { import_store } = register();
  await importOf(import_store, "whole.csv", goldenCopy([goldenRow(1), goldenRow(2)]));
  const renamed = goldenRow(2, { "Entity.LegalName": "Kranwerk Nord GmbH" });
  const publish_ms = PUBLISHED_MS + 2;
  await importOf(import_store, "newer.csv", goldenCopy([renamed]), { publish_ms, is_full: false });
  const others = { ...begunFor("gleif_rr"), state: "done" } as const;
  for (let at = 0; at < 1_001; at++) {
    const { run: _, ...begun } = (await import_store.runs(1))[0]!;
    await import_store.begin({ ...begun, ...others });
  }
  const before_whole = { publish_ms: PUBLISHED_MS - 1, is_full: false };
  const changed = goldenRow(1, { "Entity.LegalName": "Kranwerk Alt GmbH" });
  expect((await importOf(import_store, "1.csv", goldenCopy([changed]), before_whole)).counts).toMatchObject({
    older: 1,
  });
  // Later than the whole file, before the delta.
  const between = { publish_ms: PUBLISHED_MS + 1, is_full: false };
  expect((await importOf(import_store, "2.csv", goldenCopy([goldenRow(2)]), between)).counts).toMatchObject({
    older: 1,
  });
});

test("what a source answered later is not replaced by a file, and what it answered before is", async () => {
  const one = oneRegister((now) => [
    scriptedSource(
      "gleif",
      "lei",
      ({ value }) => ({
        core: [["names.legal", "Kranwerk Live GmbH"]],
        identifiers: [
          ["identifiers", { scheme: "lei", value, kind: "lei", status: "active" }, `lei:${value}`],
        ],
      }),
      { groups: { core: RULE, identifiers: RULE } },
      now,
    ),
  ]);
  const lei = goldenLei(1);
  expect((await one.get(`lei:${lei}`))?.company.record.names.legal).toBe("Kranwerk Live GmbH");
  await importOf(one.import_store, "older.csv", goldenCopy([goldenRow(1)]));
  expect((await one.get(`lei:${lei}`))?.company.record.names.legal).toBe("Kranwerk Live GmbH");
  const publish_ms = one.clock.now() + 1_000;
  const file = goldenCopy([goldenRow(1, { "Entity.LegalName": "Kranwerk File GmbH" })]);
  await importOf(one.import_store, "newer.csv", file, { publish_ms });
  await one.clock.advance(10_000);
  const now = (await one.get(`lei:${lei}`))!;
  expect(now.company.record.names.legal).toBe("Kranwerk File GmbH");
  // The next answer of the source is stored behind the file's.
  const live = (await one.get(`lei:${lei}`, { refresh: true }))!;
  expect(live.company.id).toBe(now.company.id);
  const names = live.groups.flatMap(({ claims }) => claims).filter(({ field }) => field === "names.legal");
  expect(names.map(({ value }) => value)).toEqual([
    "Kranwerk Live GmbH",
    "Kranwerk File GmbH",
    "Kranwerk Live GmbH",
  ]);
});

const RULE = { precedence: 60, freshness: "lei_core" } as const;

test("a run goes on behind its checkpoint, with the same rows as one that was never stopped", async () => {
  const rows = Array.from({ length: 2_500 }, (_, number) => goldenRow(number));
  const bytes = zipped("lei2.csv", goldenCopy(rows));
  const whole = register().import_store;
  await importOf(whole, "whole.csv.zip", bytes);
  const { import_store: store } = register();
  const first = await beginFile(store, "whole.csv.zip", bytes);
  let batches = 0;
  const dies: RunContext = { ...IMPORT_OWNER, ownsKey: () => ++batches < 3 };
  await expect(runFile(store, first, dies)).rejects.toMatchObject({ code: "lease_lost" });
  const stopped = (await store.run(first.run))!;
  expect(stopped).toMatchObject({ state: "running", counts: { records: 2_000, created: 2_000 } });
  const given: string[] = [];
  const done = await runFile(store, stopped, { ...IMPORT_OWNER, epoch: 2 }, given);
  expect(done.counts).toMatchObject({ records: 2_500, created: 2_500, unchanged: 0 });
  expect(given).toHaveLength(2_500);
  const all = (each: ImportStore) => each.scan("gleif_lei2", "", 3_000);
  expect(await all(store)).toEqual(await all(whole));
  // The writer that died comes back.
  await expect(runFile(store, stopped, IMPORT_OWNER)).rejects.toMatchObject({ code: "lease_lost" });
});

test.each([
  [
    "a column is missing",
    goldenCopy(
      [goldenRow(1)],
      LEI_COLUMNS.filter((name) => name !== "Entity.EntityStatus"),
    ),
    /no column "Entity.EntityStatus"/,
  ],
  ["its checksum is wrong", damaged(zipped("lei2.csv", goldenCopy([goldenRow(1)]))), /checksum|unpack/],
  ["it is a zip of two files", twoFiles(), /2 files/],
])("a file is refused whole when %s", async (_, bytes, message) => {
  const { import_store } = register();
  await expect(importOf(import_store, "refused.csv", bytes)).rejects.toThrow(message);
});

function damaged(zip: Buffer): Buffer {
  const at = zip.indexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]));
  // The checksum in the central directory.
  zip.writeUInt32LE((zip.readUInt32LE(at + 16) ^ 1) >>> 0, at + 16);
  return zip;
}

function twoFiles(): Buffer {
  return Buffer.from(zipSync({ "a.csv": goldenCopy([goldenRow(1)]), "b.csv": goldenCopy([goldenRow(2)]) }));
}

test("a company that only an import knows costs at most 1.5 KB on disk, its identifiers included", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-import-bytes-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "imports.sqlite");
  const store = sqliteImports(path);
  const COMPANIES = 3_000;
  const others = [1, 2, 3].map((number) => [
    `Entity.OtherEntityNames.OtherEntityName.${number}`,
    `Kranwerk und Hebezeuge der Hansestadt Hamburg, Niederlassung ${number}`,
  ]);
  const rows = Array.from({ length: COMPANIES }, (_, number) =>
    goldenRow(number, Object.fromEntries(others)),
  );
  await importOf(store, "bytes.csv", goldenCopy(rows));
  await store.close();
  expect(readdirSync(folder)).toEqual(["imports.sqlite"]);
  expect(statSync(path).size / COMPANIES).toBeLessThan(1_500);
});

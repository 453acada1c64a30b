/** Indexes that are made from other stores: a damaged file is named, set aside and made again. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { memoryCompanyIndex } from "../../actors/sources/companies/adapters/index.memory.ts";
import { sqliteCompanyIndex } from "../../actors/sources/companies/adapters/index.sqlite.ts";
import { INDEX_LAYOUT } from "../../actors/sources/companies/search-index.ts";
import { rebuildIndex } from "../../actors/sources/companies/rebuild-index.ts";
import { localIndex } from "../../actors/sources/search/adapters/engine.local.sqlite.ts";
import { openOrSetAside } from "../../cluster/adapters/files/set-aside.sqlite.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-damaged-"));
afterAll(() => rmSync(folder, { recursive: true }));
const clock = virtualClock(Date.UTC(2026, 10, 24));

describe.each([
  ["search", (path: string) => localIndex({ path, isShared: true, clock, ...silentTelemetry() })],
  ["companies", (path: string) => sqliteCompanyIndex(path)],
])("a %s index", (name, open) => {
  test.each([
    [
      "with a bad header",
      (path: string) =>
        writeFileSync(path, Buffer.concat([Buffer.alloc(100, 1), readFileSync(path).subarray(100)])),
    ],
    ["cut in half", (path: string) => truncateSync(path, Math.floor(readFileSync(path).length / 2))],
  ])("%s is set aside", async (damage, doDamage) => {
    const path = join(folder, `${name} ${damage}.sqlite`);
    await open(path).close();
    doDamage(path);
    expect(() => open(path)).toThrow(/not a database|malformed/);
    const { log, lines } = silentTelemetry();
    const { opened, isNew } = openOrSetAside(path, () => open(path), { clock, log, store_id: "mine" });
    expect(isNew).toBe(true);
    await opened.close();
    expect(readdirSync(folder)).toContain(`${name} ${damage}.sqlite.damaged-2026-11-24T00-00-00-000Z`);
    expect(lines).toMatchObject([{ level: "error", fields: { path } }]);
    const again = openOrSetAside(path, () => open(path), { clock, log, store_id: "mine" });
    expect(again.isNew).toBe(false);
    await again.opened.close();
  });

  test("made from other stores is set aside, and one without an id is taken over", async () => {
    const path = join(folder, `${name} foreign.sqlite`);
    // As an earlier version left it.
    await open(path).close();
    const { log, lines } = silentTelemetry();
    const start = async (store_id: string) => {
      const { opened, isNew } = openOrSetAside(path, () => open(path), { clock, log, store_id });
      await opened.close();
      return isNew;
    };
    expect([await start("mine"), await start("mine")]).toEqual([false, false]);
    expect(lines).toEqual([]);
    expect([await start("theirs"), await start("theirs")]).toEqual([true, false]);
    expect(readdirSync(folder)).toContain(`${name} foreign.sqlite.of-other-stores-2026-11-24T00-00-00-000Z`);
    expect(lines).toMatchObject([{ level: "error", fields: { path } }]);
  });
});

test("the search index of a version with other tables is set aside", () => {
  const path = join(folder, "search of 0.1.0.sqlite");
  const earlier = new DatabaseSync(path);
  earlier.exec(
    "CREATE TABLE pages (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, url TEXT NOT NULL) STRICT",
  );
  earlier.close();
  const { log } = silentTelemetry();
  const open = () => localIndex({ path, isShared: true, clock, ...silentTelemetry() });
  const { opened, isNew } = openOrSetAside(path, open, { clock, log, store_id: "mine" });
  expect([isNew, opened.pages()]).toEqual([true, 0]);
  opened.close();
  expect(readdirSync(folder)).toContain("search of 0.1.0.sqlite.of-another-version-2026-11-24T00-00-00-000Z");
});

test("a file that cannot be opened for another reason stays, and the reason is told", () => {
  const { log } = silentTelemetry();
  const open = (): never => {
    throw Object.assign(new Error("disk I/O error"), { errcode: 10 });
  };
  expect(() => openOrSetAside(join(folder, "x"), open, { clock, log, store_id: "mine" })).toThrow(
    "disk I/O error",
  );
});

describe("the index of companies", () => {
  async function storedCompanies() {
    const documents = memoryDocuments();
    const company = (id: string, merged_into: string | null) => ({
      id,
      version: 1,
      merged_into,
      record: {
        names: { legal: `Seilbahn ${id}`, trading: [], translations: [], other: [], former: [] },
        addresses: [],
        identifiers: [],
        legal_form: null,
        status: "active",
        jurisdiction: "CH",
        completeness: 0.5,
      },
    });
    for (let n = 0; n < 230; n++)
      await documents.put("companies", `c${n}`, company(`c${n}`, n % 2 === 0 ? null : "c0"), 0);
    return documents;
  }

  test("is made again from the documents where it is empty, without those that were merged away", async () => {
    const documents = await storedCompanies();
    const index = memoryCompanyIndex();
    expect(await rebuildIndex(documents, index)).toBe(115);
    expect(await index.count()).toBe(115);
    expect(await rebuildIndex(documents, index)).toBe(0);
  });

  test("is made on from where a failure left it, and anew when its keys are of an earlier version", async () => {
    const documents = await storedCompanies();
    const index = memoryCompanyIndex();
    let pages = 0;
    const failing = {
      ...index,
      put: async (entries: Parameters<typeof index.put>[0]) => {
        if (++pages === 2) throw new Error("disk full");
        await index.put(entries);
      },
    };
    await expect(rebuildIndex(documents, failing)).rejects.toThrow("disk full");
    const half = await index.count();
    expect([half > 0, half < 115]).toEqual([true, true]);
    expect((await index.readState())?.through).not.toBeNull();
    expect(await rebuildIndex(documents, index)).toBe(115 - half);
    expect(await index.count()).toBe(115);
    await index.writeState({ layout: INDEX_LAYOUT - 1, through: null });
    expect(await rebuildIndex(documents, index)).toBe(115);
  });

  test("of an earlier version's file is emptied, and made again", async () => {
    const path = join(folder, "earlier.sqlite");
    const file = new DatabaseSync(path);
    file.exec(`CREATE TABLE companies (number INTEGER PRIMARY KEY, id TEXT, version INTEGER, entry TEXT);
      CREATE TABLE postings (key INTEGER, number INTEGER, PRIMARY KEY (key, number)) WITHOUT ROWID;
      INSERT INTO companies VALUES (1, 'c0', 1, '{"id":"c0","legal":"Seilbahn","trading":[],"former":[]}')`);
    file.close();
    const index = sqliteCompanyIndex(path);
    expect([await index.count(), await index.readState()]).toEqual([0, null]);
    expect(await rebuildIndex(await storedCompanies(), index)).toBe(115);
    await index.close();
    const again = sqliteCompanyIndex(path);
    expect([await again.count(), await again.readState()]).toEqual([
      115,
      { layout: INDEX_LAYOUT, through: null },
    ]);
    await again.close();
  });
});

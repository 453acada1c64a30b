import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { memoryCompanyIndex } from "../../actors/sources/companies/adapters/index.memory.ts";
import { mongoCompanyIndex } from "../../actors/sources/companies/adapters/index.mongo.ts";
import { sqliteCompanyIndex } from "../../actors/sources/companies/adapters/index.sqlite.ts";
import { NO_FILTER } from "../../actors/sources/companies/search-index.ts";
import { engines } from "../harness/engines.ts";
import { mongoDatabases } from "../harness/mongo-databases.ts";
import { companyIndexSuite } from "./company-index.ts";

const { documents: mongo } = await engines("documents");
const folder = mkdtempSync(join(tmpdir(), "trawl-company-index-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("companies in memory", () => {
  companyIndexSuite(async () => memoryCompanyIndex());
});

describe("companies in SQLite", () => {
  const path = (): string => join(folder, `${randomUUID()}.sqlite`);
  companyIndexSuite(async () => sqliteCompanyIndex(path()));

  test("are there when the file is opened again", async () => {
    const place = path();
    const first = sqliteCompanyIndex(place);
    const entry = {
      id: "cmp_0000000000000000",
      version: 1,
      names: ["Seilbahn Rigi AG"],
      identifiers: ["lei:1"],
      status: "active",
      country: "CH",
      legal_form: null,
      city: null,
      completeness: 0.5,
    };
    const written = first.put([entry]);
    await first.close();
    await written;
    const second = sqliteCompanyIndex(place);
    expect(await second.candidates({ names: ["rigi"], filter: NO_FILTER }, 5)).toEqual({
      entries: [entry],
      frequencies: new Map([["rigi", 1]]),
      companies: 1,
    });
    await second.close();
    await expect(second.count()).rejects.toMatchObject({ code: "documents_unreachable" });
  });
});

describe.skipIf(mongo === null)("companies in MongoDB", () => {
  const nextDatabase = mongoDatabases(mongo);
  companyIndexSuite(async () => mongoCompanyIndex(nextDatabase()));
});

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { mongoImports } from "../../actors/sources/companies/imports/adapters/imports.mongo.ts";
import { sqliteImports } from "../../actors/sources/companies/imports/adapters/imports.sqlite.ts";
import { engines } from "../harness/engines.ts";
import { mongoDatabases } from "../harness/mongo-databases.ts";
import { companyImportsSuite } from "./company-imports.ts";

const { documents: mongo } = await engines("documents");
const folder = mkdtempSync(join(tmpdir(), "trawl-company-imports-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("imported companies in SQLite", () => {
  companyImportsSuite(async () => sqliteImports(join(folder, `${randomUUID()}.sqlite`)));
});

describe.skipIf(mongo === null)("imported companies in MongoDB", () => {
  const nextDatabase = mongoDatabases(mongo);
  companyImportsSuite(async () => mongoImports(nextDatabase()));
});

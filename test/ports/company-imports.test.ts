import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { afterAll, describe } from "vitest";
import { mongoImports } from "../../actors/sources/companies/imports/adapters/imports.mongo.ts";
import { sqliteImports } from "../../actors/sources/companies/imports/adapters/imports.sqlite.ts";
import { engines } from "../harness/engines.ts";
import { companyImportsSuite } from "./company-imports.ts";

const { documents: mongo } = await engines("documents");
const folder = mkdtempSync(join(tmpdir(), "trawl-company-imports-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("imported companies in SQLite", () => {
  companyImportsSuite(async () => sqliteImports(join(folder, `${randomUUID()}.sqlite`)));
});

describe.skipIf(mongo === null)("imported companies in MongoDB", () => {
  const addresses: string[] = [];
  afterAll(async () => {
    for (const address of addresses) {
      const client = new MongoClient(address);
      await client.db().dropDatabase();
      await client.close();
    }
  });
  companyImportsSuite(async () => {
    const address = mongo!["TRAWL_DOCUMENTS"]!.replace(
      /^(\w+:\/\/[^/]+)[^?]*/,
      `$1/t${randomUUID().replaceAll("-", "")}`,
    );
    addresses.push(address);
    return mongoImports(address);
  });
});

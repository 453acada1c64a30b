/** The format number of stored data, on a file and on a database. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { mongoDocuments } from "../../cluster/adapters/documents/documents.mongo.ts";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { readConfig } from "../../ops/config.ts";
import { DATA_FORMAT } from "../../ops/data-format.ts";
import { openDocuments } from "../../ops/stores.ts";
import { engines } from "../harness/engines.ts";

const { documents: mongo } = await engines("documents");
const folder = mkdtempSync(join(tmpdir(), "trawl-format-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A setting for a store of its own, and a way to it past the check. */
type Store = () => { readonly setting: string; readonly open: () => Documents };

const inFile: Store = () => {
  const path = join(folder, `${randomUUID()}.sqlite`);
  return { setting: `sqlite:${path}`, open: () => sqliteDocuments(path) };
};
const inDatabase: Store = () => {
  const name = `t${randomUUID().replaceAll("-", "")}`;
  const setting = mongo!["TRAWL_DOCUMENTS"]!.replace(/^(\w+:\/\/[^/]+)[^?]*/, `$1/${name}`);
  return { setting, open: () => mongoDocuments(setting) };
};

function formatSuite(store: Store): void {
  const prepared = async (write: (documents: Documents) => Promise<unknown>) => {
    const { setting, open } = store();
    const documents = open();
    await write(documents);
    await documents.close();
    return readConfig({ TRAWL_DOCUMENTS: setting });
  };

  test("is written to an empty store, and read at the next start", async () => {
    const config = await prepared(async () => {});
    const first = await openDocuments(config);
    expect(await first.get("format", "data")).toMatchObject({ value: { format: DATA_FORMAT } });
    await first.put("pages", "a", 1, 0);
    await first.close();
    const second = await openDocuments(config);
    expect(await second.get("pages", "a")).toMatchObject({ value: 1 });
    await second.close();
  });

  test("is the same for two nodes that start at once", async () => {
    const config = await prepared(async () => {});
    const nodes = await Promise.all([openDocuments(config), openDocuments(config)]);
    const formats = await Promise.all(nodes.map((documents) => documents.get("format", "data")));
    expect(formats).toEqual([formats[0], { value: { format: DATA_FORMAT }, version: 1 }]);
    await Promise.all(nodes.map((documents) => documents.close()));
  });

  test("must be there where there is data", async () => {
    const config = await prepared((documents) => documents.put("keys", "a", 1, 0));
    await expect(openDocuments(config)).rejects.toThrow(/no format number.*start with an empty store/);
  });

  test("must be this version's", async () => {
    const config = await prepared((documents) => documents.put("format", "data", { format: 99 }, 0));
    await expect(openDocuments(config)).rejects.toThrow(/format 99, and this version reads format \d+/);
  });
}

describe("the data format of a file", () => {
  formatSuite(inFile);
});

describe.skipIf(mongo === null)("the data format of a database", () => {
  formatSuite(inDatabase);
});

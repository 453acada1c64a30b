import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents.memory.ts";
import { sqliteDocuments } from "../../cluster/adapters/documents.sqlite.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { documentsSuite } from "./documents.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-documents-"));
afterAll(() => rmSync(folder, { recursive: true }));

const STORES: Record<string, () => Promise<Documents>> = {
  memory: async () => memoryDocuments(),
  sqlite: async () => sqliteDocuments(join(folder, "new", "documents.sqlite")),
};

describe.each(Object.entries(STORES))("documents in %s", (_, open) => {
  documentsSuite(open);
});

describe("documents in a file", () => {
  test("are there when it is opened again", async () => {
    const path = join(folder, "again.sqlite");
    const first = sqliteDocuments(path);
    await first.put("a", "b", 1, 0);
    await first.close();
    const second = sqliteDocuments(path);
    expect(await second.get("a", "b")).toEqual({ value: 1, version: 1 });
    await second.close();
  });

  test("stores what was asked for before it was closed", async () => {
    const path = join(folder, "closing.sqlite");
    const first = sqliteDocuments(path);
    const put = first.put("a", "b", 1, 0);
    await first.close();
    expect(await put).toBe(true);
    const second = sqliteDocuments(path);
    expect(await second.get("a", "b")).toEqual({ value: 1, version: 1 });
    await second.close();
  });

  test("tells of a store that is gone by a fault", async () => {
    const documents = sqliteDocuments(join(folder, "closed.sqlite"));
    await documents.close();
    const fault = { code: "documents_unreachable" };
    await expect(documents.get("a", "b")).rejects.toMatchObject(fault);
    await expect(documents.put("a", "b", 1, 0)).rejects.toMatchObject(fault);
    await expect(documents.ping()).rejects.toMatchObject(fault);
  });
});

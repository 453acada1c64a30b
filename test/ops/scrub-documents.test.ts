/** The look through the stored documents, on a file whose rows are changed beneath the store. */
import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { scrubDocuments, withoutDamagedCaches } from "../../ops/scrub-documents.ts";

test("finds a damaged document before it is asked for, 500 a minute, removes that of a cache, and goes on after a restart", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-scrub-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "documents.sqlite");
  const documents = sqliteDocuments(path, { durability: "process" });
  onTestFinished(() => documents.close());
  const keys = Array.from({ length: 1_200 }, (_, n) => String(n).padStart(4, "0"));
  await Promise.all(keys.map((key) => documents.put("accounts", key, { units: 100 }, 0)));
  await documents.put("searches", "cached", { answer: "this" }, 0);
  const raw = new DatabaseSync(path);
  raw.exec(`UPDATE documents SET value = '{"units":900}' WHERE key = '0700'`);
  raw.exec(`UPDATE documents SET value = '{"answer":"that"}' WHERE key = 'cached'`);
  raw.close();

  const clock = virtualClock(0);
  const telemetry = silentTelemetry();
  const start = () => scrubDocuments({ documents, clock, ...telemetry, rebuildable: ["searches"] });
  const placeAfter = async (minutes: number) => {
    for (let n = 0; n < minutes; n++) await clock.advance(60_000);
    return documents.get("stores", "scrub").then((stored) => stored?.value ?? null);
  };
  const found = () =>
    telemetry.lines.map(({ level, fields }) => [level, fields?.["key"], fields?.["removed"]]);
  const first = start();
  await expect
    .poll(() =>
      placeAfter(0)
        .then(() => clock.advance(60_000))
        .then(() => placeAfter(0)),
    )
    .not.toBeNull();
  first[Symbol.dispose]();
  expect(await placeAfter(0)).toEqual({ after: { collection: "accounts", key: "0499" } });
  expect(found()).toEqual([]);

  const second = start();
  await expect.poll(() => placeAfter(1), { timeout: 20_000 }).toEqual({ after: null });
  second[Symbol.dispose]();
  expect(found()).toEqual([
    ["error", "0700", false],
    ["error", "cached", true],
  ]);
  await expect(documents.get("accounts", "0700")).rejects.toMatchObject({ code: "document_damaged" });
  expect(await documents.get("searches", "cached")).toBeNull();
});

test("a damaged document of a cache is not there when it is read, and can be stored again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-scrub-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "documents.sqlite");
  const file = sqliteDocuments(path, { durability: "process" });
  onTestFinished(() => file.close());
  const { log, lines } = silentTelemetry();
  const documents = withoutDamagedCaches(file, { log, rebuildable: ["searches"] });
  for (const collection of ["searches", "accounts"]) await documents.put(collection, "a", { units: 100 }, 0);
  const raw = new DatabaseSync(path);
  raw.exec(`UPDATE documents SET value = '{"units":900}'`);
  raw.close();
  expect(await documents.get("searches", "a")).toBeNull();
  expect(await documents.put("searches", "a", { units: 100 }, 0)).toBe(true);
  expect(lines).toMatchObject([{ level: "error", fields: { collection: "searches", key: "a" } }]);
  await expect(documents.get("accounts", "a")).rejects.toMatchObject({ code: "document_damaged" });
});

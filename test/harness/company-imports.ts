/** Imports of files that a test writes, without a service. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importFiles } from "../../actors/sources/companies/imports/adapters/unpack-file.ts";
import { storedReferences } from "../../actors/sources/companies/imports/imported.ts";
import { IMPORTED_SOURCES, importKindOf } from "../../actors/sources/companies/imports/imported-sources.ts";
import { NO_COUNTS, type RunContext, runImport } from "../../actors/sources/companies/imports/run-import.ts";
import type { ImportRun, ImportStore } from "../../actors/sources/companies/imports/store.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-imports-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

export const PUBLISHED_MS = Date.UTC(2026, 10, 21);
export const IMPORT_OWNER: RunContext = {
  signal: new AbortController().signal,
  ownsKey: () => true,
  epoch: 1,
};

/** A run of a whole golden copy of which nothing was read yet. */
export const BEGUN = {
  source: "gleif",
  kind: "gleif_lei2",
  layout: 1,
  publish_ms: PUBLISHED_MS,
  is_full: true,
  licence: "CC0-1.0",
  state: "running",
  phase: "rows",
  counts: NO_COUNTS,
  place: 0,
  bytes_read: 0,
  resumed: { at_ms: 0, records: 0, bytes: 0 },
  bad_reasons: {},
  indexed_to: "",
  epoch: 1,
  started_ms: PUBLISHED_MS,
  ended_ms: null,
  problem: null,
  warnings: [],
} satisfies Partial<ImportRun>;

/** Fields of a file that a test may set; the rest is that of a whole golden copy. */
type File = Partial<
  Pick<ImportRun, "kind" | "source" | "licence" | "publish_ms" | "is_full" | "is_baseline">
>;

export async function beginFile(
  store: ImportStore,
  name: string,
  bytes: Buffer,
  file: File = {},
): Promise<ImportRun> {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return store.begin({
    path,
    origin: name,
    ...(await importFiles.digestOf(path, IMPORT_OWNER.signal)),
    ...BEGUN,
    ...file,
  });
}

const clock = systemClock();

export const runFile = (
  store: ImportStore,
  begun_run: ImportRun,
  context = IMPORT_OWNER,
  given: string[] = [],
) =>
  runImport(
    {
      store,
      files: importFiles,
      clock,
      referencesOf: storedReferences(IMPORTED_SOURCES),
      onRows: async (_, rows) => given.push(...rows.map(({ key }) => key)),
      onProgress: () => {},
    },
    importKindOf(begun_run.kind)!,
    begun_run,
    context,
  );

export const begunFor = (kind: string): Pick<ImportRun, "kind" | "source" | "licence"> => ({
  kind,
  source: importKindOf(kind)!.source,
  licence: importKindOf(kind)!.licence.id,
});

export async function importOf(
  store: ImportStore,
  name: string,
  bytes: Buffer,
  file: File = {},
): Promise<ImportRun> {
  return runFile(store, await beginFile(store, name, bytes, file));
}

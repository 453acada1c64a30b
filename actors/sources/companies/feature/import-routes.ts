/** Imports of whole sources for the operator: start one, and see how far they are. */
import { mkdir, stat } from "node:fs/promises";
import { basename, relative, resolve } from "node:path";
import { Type } from "typebox";
import type { Node } from "../../../../cluster/node-record.ts";
import { invalid, json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Component, Field, Nullable, Timestamp } from "../../../../schemas/common.ts";
import { CompanyImport } from "../../../../schemas/companies.ts";
import { iso } from "../../../lib/iso.ts";
import type { ImportKind } from "../imports/import-kind.ts";
import { publishedInName } from "../imports/schedule.ts";
import type { ImportRun, ImportStore } from "../imports/store.ts";

const Counts = Component("CompanyImportCounts", {
  records: Field(Type.Integer(), "Records of the file that were read", 3435980),
  created: Field(Type.Integer(), "Rows that were not there", 3400000),
  changed: Field(Type.Integer(), "Rows that say something else of the company", 2100),
  renewed: Field(Type.Integer(), "Rows that differ in the renewal of a number only", 9000),
  unchanged: Field(Type.Integer(), "Rows that were there", 20000),
  older: Field(Type.Integer(), "Rows of which a newer file was imported", 0),
  closed: Field(Type.Integer(), "Rows that the source withdrew", 12),
  skipped: Field(Type.Integer(), "Records that are nothing of the register's", 0),
  bad: Field(Type.Integer(), "Records that cannot be read", 3),
});

const Run = Component("CompanyImport", {
  run: Field(Type.Integer(), "The number of the import", 7),
  source: Field(Type.String(), "The source of the file", "gleif"),
  kind: Field(Type.String(), "The kind of the file", "gleif_lei2"),
  origin: Field(Type.String(), "The address of the file", "file:///lei2-golden-copy.csv.zip"),
  sha256: Field(
    Type.String(),
    "SHA-256 of the file",
    "feae7c0e494ab188012d995868ba21b35e100d814cea7f13cf7403bcb63b6c7a",
  ),
  published_at: Field(Timestamp, "When the source published the file"),
  licence: Field(Type.String(), "Under which the source gives it", "CC0-1.0"),
  state: Field(Type.Enum(["running", "done", "failed"]), "How it is"),
  phase: Field(Type.Enum(["rows", "absent", "index"]), "What it does, or did last"),
  counts: Field(Counts, "What became of its records"),
  claims: Field(Type.Integer(), "Claims that the rows which it wrote state; known when it is done", 52000),
  bad_reasons: Field(Type.Record(Type.String(), Type.Integer()), "Bad records by reason", { lei: 3 }),
  bytes: Field(Type.Integer(), "Bytes of the file", 504405368),
  bytes_read: Field(Type.Integer(), "Of these, up to the last checkpoint", 252202684),
  records_per_s: Field(Nullable(Type.Number()), "Since it began or went on; null: not known", 11850.5),
  eta_s: Field(
    Nullable(Type.Number()),
    "Seconds until the rows are read, by its bytes; null: not known",
    145,
  ),
  warnings: Field(Type.Array(Type.String()), "What the operator should look at", ["many_bad_rows"]),
  problem: Field(Nullable(Type.String()), "Why it failed; null: it did not", null),
  started_at: Field(Timestamp, "When it began"),
  ended_at: Field(Nullable(Timestamp), "When it ended; null: it did not"),
});

const StartBody = Component("StartCompanyImportBody", {
  kind: Field(Type.String({ maxLength: 64 }), "The kind of the file", "gleif_lei2"),
  file: Field(
    Type.String({ minLength: 1, maxLength: 500 }),
    "Its name in the folder of imports (TRAWL_COMPANY_IMPORTS_DIR)",
    "20260920-0000-gleif-goldencopy-lei2-golden-copy.csv.zip",
  ),
  published_at: Type.Optional(
    Field(
      Nullable(Timestamp),
      "When the source published it. Default: the date in its name, else when it was last written",
      "2026-09-20T00:00:00Z",
    ),
  ),
  licence: Type.Optional(
    Field(
      Nullable(Type.String({ maxLength: 64 })),
      "That you may use the file under this licence; needed for kinds that not everyone may use",
      "CC-BY-NC-4.0",
    ),
  ),
  delta: Type.Optional(
    Field(Type.Boolean({ default: false }), "The file has only what changed. Default: false", true),
  ),
});

const MAX_RUNS_LISTED = 100;
/** A file of 500 MB is read once before its import begins. */
const BEGIN_TIMEOUT_MS = 120_000;

interface ImportRouteDeps extends Pick<Node, "ask" | "clock"> {
  readonly store: ImportStore;
  readonly kinds: readonly ImportKind[];
  readonly folder: string;
}

export function importRoutes({ ask, clock, store, kinds, folder }: ImportRouteDeps): readonly Route[] {
  const names = kinds.map(({ name }) => name);
  return [
    route({
      method: "POST",
      path: "/v1/ops/companies/imports",
      operationId: "startCompanyImport",
      summary: "Imports a whole file of a company source; for the operator",
      tags: ["internal"],
      body: StartBody,
      body_example: { kind: "gleif_lei2", file: "20260920-0000-gleif-goldencopy-lei2-golden-copy.csv.zip" },
      replies: {
        202: { description: "The import began", schema: Run },
        404: {
          description: "The folder of imports has no such file",
          schema: Type.Object({ detail: Type.String() }),
        },
        409: {
          description: "An import of this source is not done yet",
          schema: Type.Object({ detail: Type.String() }),
        },
      },
      async handle({ body: { kind: name, file, published_at = null, licence = null, delta = false } }) {
        const kind = kinds.find((each) => each.name === name);
        if (kind === undefined) return mistake("kind", `Input should be of: ${names.join(", ")}`, "enum");
        if (kind.needs_consent && licence !== kind.licence.id)
          return mistake(
            "licence",
            `Input should be "${kind.licence.id}" (${kind.licence.url}): ${kind.licence.attribution}`,
            "value_error",
          );
        await mkdir(folder, { recursive: true });
        const path = resolve(folder, file);
        if (relative(folder, path).startsWith("..") || path === folder)
          return mistake("file", "Input should be a name in the folder of imports", "value_error");
        const written = await stat(path).catch(() => null);
        if (!written?.isFile())
          return json(404, { detail: `there is no file "${file}" in the folder of imports` });
        const publish_ms =
          published_at === null
            ? (publishedInName(basename(file)) ?? Math.floor(written.mtimeMs))
            : Date.parse(published_at);
        const order = {
          kind: name,
          path,
          origin: `file:///${encodeURIComponent(basename(file))}`,
          publish_ms,
          is_full: !delta,
        };
        const options = { timeout_ms: BEGIN_TIMEOUT_MS };
        const begun = await ask(CompanyImport, kind.source, "start", order, options);
        if (begun.kind === "unreadable") return mistake("file", begun.problem!, "value_error");
        if (begun.kind === "busy") {
          const which = begun.run === null ? "" : ` (${begun.run})`;
          return json(409, { detail: `an import of "${kind.source}" is not done yet${which}` });
        }
        return json(202, viewOf((await store.run(begun.run!))!, clock.now()));
      },
    }),
    route({
      method: "GET",
      path: "/v1/ops/companies/imports",
      operationId: "listCompanyImports",
      summary: "Imports of whole files of company sources, newest first; for the operator",
      tags: ["internal"],
      replies: {
        200: {
          description: "At most 100",
          schema: Type.Object({ imports: Field(Type.Array(Run), "Newest first") }),
        },
      },
      async handle() {
        const now_ms = clock.now();
        return json(200, { imports: (await store.runs(MAX_RUNS_LISTED)).map((run) => viewOf(run, now_ms)) });
      },
    }),
  ];
}

const mistake = (field: string, msg: string, type: string) => invalid([{ loc: ["body", field], msg, type }]);

function viewOf(run: ImportRun, now_ms: number) {
  const { publish_ms, started_ms, ended_ms, bytes, bytes_read, counts, resumed } = run;
  const {
    path: _path,
    place: _place,
    indexed_to: _indexed,
    epoch: _epoch,
    resumed: _resumed,
    records_expected: _expected,
    ...shown
  } = run;
  const {
    layout: _layout,
    is_full: _full,
    publish_ms: _publish,
    started_ms: _started,
    ended_ms: _ended,
    ...rest
  } = shown;
  const seconds = ((ended_ms ?? now_ms) - resumed.at_ms) / 1_000;
  const bytes_per_s = seconds > 0 ? (bytes_read - resumed.bytes) / seconds : 0;
  const isReading = run.state === "running" && run.phase === "rows";
  return {
    ...rest,
    claims: run.claims ?? 0,
    published_at: iso(publish_ms),
    started_at: iso(started_ms),
    ended_at: ended_ms === null ? null : iso(ended_ms),
    records_per_s: seconds > 0 ? Math.round(((counts.records - resumed.records) / seconds) * 10) / 10 : null,
    eta_s: isReading && bytes_per_s > 0 ? Math.round((bytes - bytes_read) / bytes_per_s) : null,
  };
}

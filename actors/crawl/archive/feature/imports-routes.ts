/**
 * /v1/archives: WARC and WACZ files that a client has. A file is announced, arrives in parts, and is read by the import's actor when all of it
 * is there.
 */
import { Type } from "typebox";
import type { BodyRefs } from "../../../../cluster/body-refs.ts";
import type { ActorClient } from "../../../../cluster/actor.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Caller } from "../../../../gateway/authenticate.ts";
import { invalid, json, OPERATOR_ONLY } from "../../../../gateway/http-errors.ts";
import { type Answer, type Route, route } from "../../../../gateway/route.ts";
import { isOperatorKey } from "../../../../schemas/accounts.ts";
import { ArchiveImport, ArchiveImportView } from "../../../../schemas/archives.ts";
import { Field, Nullable, Sha256 } from "../../../../schemas/common.ts";
import { EMPTY_RECORD } from "../../../../schemas/fetch.ts";
import { importedCaptures, SERVICE } from "../captures.ts";
import { ARCHIVE_IMPORTS, type StoredImport } from "../collections.ts";
import {
  findImport,
  importId,
  importKey,
  MAX_FILE_BYTES,
  MAX_PART_BYTES,
  MAX_PARTS,
  ownerOf,
  partsHolder,
  receivedBytes,
  UPLOAD_TTL_MS,
} from "../import/stored-import.ts";
import type { ArchiveSource } from "../warc/file.ts";
import { type ArchiveFiles, fileReplies, WARC_TYPE } from "./archive-files.ts";

export interface ImportRouteDeps {
  readonly blobs: Blobs;
  readonly documents: Documents;
  readonly refs: BodyRefs;
  readonly clock: Clock;
  readonly ask: ActorClient;
  readonly files: ArchiveFiles;
  readonly software: string;
}

const MAX_IMPORTS = 1_000;
/** From a part to the last one. What lasts longer has another SHA-256 than was said. */
const MAX_UPLOAD_MS = 4 * UPLOAD_TTL_MS;
const Detail = Type.Object({ detail: Type.String() });
const Params = Type.Object({
  import_id: Field(
    Type.String({ pattern: "^arc_[0-9a-f]{16}$" }),
    "The id of the import",
    "arc_5d41402abc4b2a76",
  ),
});
const NOT_FOUND = json(404, { detail: "import not found" });
const MISSING = { description: "The project has no such import", schema: Detail };
const TOO_MANY = json(409, { detail: `more than ${MAX_IMPORTS} imports: delete one first` });
const NOT_DONE = json(409, { detail: "the file is there when the import is done" });
const IS_REMOVED = json(409, { detail: "the import of this file is being removed, try again" });
const common = { tags: ["fetch"] } as const;

const ImportBody = Type.Object({
  name: Field(
    Type.String({ minLength: 1, maxLength: 200, pattern: "^[^\\u0000-\\u001f]+$" }),
    "The name of the file: attempts that it serves say it",
    "intranet-2019.warc.gz",
  ),
  bytes: Field(Type.Integer({ minimum: 1, maximum: MAX_FILE_BYTES }), "Bytes of the file", 48_213),
  sha256: Field(Sha256, "Of the file"),
  shared: Type.Optional(
    Field(
      Nullable(Type.Boolean()),
      "It serves every project; for operator keys only. Default: this project alone",
    ),
  ),
});

const BODY_EXAMPLE = {
  name: "intranet-2019.warc.gz",
  bytes: 48_213,
  sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
};

export function importsRoutes(deps: ImportRouteDeps): readonly Route[] {
  return [...uploadRoutes(deps), ...readingRoutes(deps)];
}

function uploadRoutes(deps: ImportRouteDeps): readonly Route[] {
  return [
    route({
      ...common,
      method: "POST",
      path: "/v1/archives",
      operationId: "createArchiveImport",
      summary: "Announce an archive file",
      description:
        "A WARC file (1.0 or 1.1, plain or with gzip members) or a WACZ file, of at most 4 GiB. Its bytes follow by `appendArchiveImport`. The same file of " +
        "the same owner is the same import: a repeated call answers with it, and `received_bytes` says where its upload goes on. " +
        `At most ${MAX_IMPORTS} imports a project.`,
      body: ImportBody,
      body_example: BODY_EXAMPLE,
      replies: {
        200: { description: "The file is known", schema: ArchiveImportView },
        201: { description: "The import, which waits for its bytes", schema: ArchiveImportView },
        409: {
          description: "The project has too many imports, or this one is being removed",
          schema: Detail,
        },
      },
      authorize: ({ body, caller }) =>
        body.shared === true && !isOperatorKey(caller.grant.key) ? OPERATOR_ONLY : null,
      authorize_errors: ["operator_only"],
      handle: ({ body, caller }) => announce(deps, caller, { ...body, is_shared: body.shared === true }),
    }),
    route({
      ...common,
      method: "PATCH",
      path: "/v1/archives/{import_id}",
      operationId: "appendArchiveImport",
      summary: "Send the next bytes of an archive file",
      description:
        "The bytes from `offset` on, at most 8 MiB a request. An offset other than `received_bytes` is answered with 409 and the import: go on from there. " +
        "When the last byte has arrived, the file is compared with its digest and read.",
      params: Params,
      query: Type.Object({
        offset: Field(
          Type.Integer({ minimum: 0, maximum: MAX_FILE_BYTES }),
          "Where the bytes stand in the file",
          0,
        ),
      }),
      body: Type.String(),
      body_example: "WARC/1.1\r\nWARC-Type: warcinfo\r\n",
      body_content: { "application/octet-stream": Type.String({ format: "binary" }) },
      raw: true,
      limit_bytes: MAX_PART_BYTES,
      too_large: "a part over 8 MiB",
      replies: {
        200: { description: "The bytes are stored", schema: ArchiveImportView },
        404: MISSING,
        409: { description: "The upload goes on elsewhere", schema: ArchiveImportView },
      },
      handle: ({ params, query, bytes, caller }) =>
        append(deps, caller, params.import_id, query.offset, bytes),
    }),
    route({
      ...common,
      method: "DELETE",
      path: "/v1/archives/{import_id}",
      operationId: "deleteArchiveImport",
      summary: "Remove an import and its captures",
      description: "One that serves every project is removed with an operator key only.",
      params: Params,
      replies: { 204: { description: "It is gone; its captures follow" }, 404: MISSING },
      authorize_errors: ["operator_only"],
      handle: ({ params, caller }) => remove(deps, caller, params.import_id),
    }),
  ];
}

function readingRoutes(deps: ImportRouteDeps): readonly Route[] {
  const { documents, files } = deps;
  return [
    route({
      ...common,
      method: "GET",
      path: "/v1/archives",
      operationId: "listArchiveImports",
      summary: "List the imported archive files",
      description: "Those of the project, then those that serve every project.",
      replies: {
        200: {
          description: "The imports",
          schema: Type.Object({ archives: Field(Type.Array(ArchiveImportView), "Sorted by id") }),
        },
      },
      async handle({ caller }) {
        const listed = await Promise.all(
          [caller.grant.project.name, SERVICE].map((owner) => importsOf(documents, owner)),
        );
        return json(200, { archives: listed.flat().map(viewOf) });
      },
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/archives/{import_id}.warc.gz",
      operationId: "getArchiveImportWarc",
      summary: "The captures of an import as a WARC file",
      description: "WARC 1.1, one gzip member a record, as the archive of a job.",
      params: Params,
      replies: {
        ...fileReplies(WARC_TYPE, "The project has no such import"),
        409: { description: "The import is not done", schema: Detail },
      },
      verbatim: true,
      async handle({ params, caller, head }) {
        const found = await findImport(documents, caller.grant.project.name, params.import_id);
        if (found === null) return NOT_FOUND;
        if (found.stored.state !== "done") return NOT_DONE;
        return files.answerWarc(caller.grant.project.name, importSource(deps, found.stored), head);
      },
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/archives/{import_id}",
      operationId: "getArchiveImport",
      summary: "Show an import",
      description: "How far it is, and what could not be read.",
      params: Params,
      replies: { 200: { description: "The import", schema: ArchiveImportView }, 404: MISSING },
      async handle({ params, caller }) {
        const found = await findImport(documents, caller.grant.project.name, params.import_id);
        if (found === null) return NOT_FOUND;
        // A process that was killed may have left it without a word to its actor.
        if (found.stored.state === "importing") await wake(deps, found.key);
        return json(200, viewOf(found.stored));
      },
    }),
  ];
}

const wake = ({ ask }: ImportRouteDeps, key: string): Promise<unknown> =>
  ask(ArchiveImport, key, "wake", null);

async function importsOf(documents: Documents, owner: string): Promise<readonly StoredImport[]> {
  const listed = await ARCHIVE_IMPORTS.list(documents, {
    from: `${owner} `,
    to: `${owner}!`,
    limit: MAX_IMPORTS,
  });
  return listed.map(({ value }) => value).filter(({ state }) => state !== "deleted");
}

async function announce(
  deps: ImportRouteDeps,
  caller: Caller,
  {
    name,
    bytes,
    sha256,
    is_shared,
  }: { readonly name: string; readonly bytes: number; readonly sha256: string; readonly is_shared: boolean },
): Promise<Answer> {
  const { documents, clock } = deps;
  const project = caller.grant.project.name;
  const owner = ownerOf({ project, is_shared });
  const id = importId(owner, sha256);
  const key = importKey(owner, id);
  const now_ms = clock.now();
  const known = await ARCHIVE_IMPORTS.read(documents, key);
  if (known?.value.state === "deleted") {
    await wake(deps, key);
    return IS_REMOVED;
  }
  if (known !== null && known.value.state !== "failed" && known.value.bytes === bytes)
    return json(200, viewOf(known.value));
  if (known === null && (await importsOf(documents, owner)).length >= MAX_IMPORTS) return TOO_MANY;
  const fresh: StoredImport = {
    id,
    project,
    is_shared,
    name,
    bytes,
    sha256,
    state: "uploading",
    problem: null,
    parts: [],
    place: { entry: 0, offset: 0 },
    is_verified: false,
    counts: { records: 0, captures: 0, known: 0, indexed: 0, bytes: 0 },
    skipped: {},
    bad: {},
    created_ms: now_ms,
    ended_ms: null,
  };
  const expires_at_ms = now_ms + UPLOAD_TTL_MS;
  if (await ARCHIVE_IMPORTS.put(documents, key, fresh, known?.version ?? 0, { expires_at_ms }))
    return json(201, viewOf(fresh));
  const first = await ARCHIVE_IMPORTS.get(documents, key);
  return first === null ? IS_REMOVED : json(200, viewOf(first));
}

async function append(
  deps: ImportRouteDeps,
  caller: Caller,
  id: string,
  offset: number,
  bytes: Buffer,
): Promise<Answer> {
  const { documents, blobs, refs, clock } = deps;
  const found = await findImport(documents, caller.grant.project.name, id);
  if (found === null) return NOT_FOUND;
  const { key, stored } = found;
  if (stored.is_shared && !isOperatorKey(caller.grant.key)) return OPERATOR_ONLY;
  if (stored.state !== "uploading") {
    if (stored.state === "importing") await wake(deps, key);
    return json(200, viewOf(stored));
  }
  if (offset !== receivedBytes(stored)) return json(409, viewOf(stored));
  const msg =
    bytes.length === 0
      ? "The body has no bytes"
      : offset + bytes.length > stored.bytes
        ? `The file has ${stored.bytes} bytes: these are more`
        : stored.parts.length >= MAX_PARTS
          ? `The file has ${MAX_PARTS} parts: send larger ones`
          : null;
  if (msg !== null) return invalid([{ loc: ["body"], msg, type: "value_error" }]);
  const until_ms = clock.now() + UPLOAD_TTL_MS;
  const part = await blobs.put(bytes);
  // An upload that is abandoned leaves nothing; one that is whole keeps its parts until it is read.
  await refs.retain([part.sha256], partsHolder(key), clock.now() + MAX_UPLOAD_MS);
  const isLast = offset + bytes.length === stored.bytes;
  const digests = [...stored.parts, part].map(({ sha256 }) => sha256);
  if (isLast) await refs.retain(digests, partsHolder(key), Infinity);
  let isTaken = false;
  const next = await ARCHIVE_IMPORTS.update(documents, key, (current) => {
    isTaken = current?.state === "uploading" && receivedBytes(current) === offset;
    if (!isTaken) return null;
    const value: StoredImport = {
      ...current!,
      parts: [...current!.parts, part],
      state: isLast ? "importing" : "uploading",
    };
    return { value, options: isLast ? {} : { expires_at_ms: until_ms } };
  });
  if (next === null) return NOT_FOUND;
  if (next.value.state === "importing") await wake(deps, key);
  return json(isTaken ? 200 : 409, viewOf(next.value));
}

async function remove(deps: ImportRouteDeps, caller: Caller, id: string): Promise<Answer> {
  const { documents } = deps;
  const found = await findImport(documents, caller.grant.project.name, id);
  if (found === null) return NOT_FOUND;
  if (found.stored.is_shared && !isOperatorKey(caller.grant.key)) return OPERATOR_ONLY;
  await ARCHIVE_IMPORTS.update(documents, found.key, (stored) =>
    stored === null ? null : { value: { ...stored, state: "deleted" } },
  );
  await wake(deps, found.key);
  return { status: 204 };
}

function importSource({ documents, software }: ImportRouteDeps, stored: StoredImport): ArchiveSource {
  return {
    id: stored.id,
    title: stored.name,
    date_ms: stored.created_ms,
    software,
    async *pages(from) {
      let index = from;
      for await (const { value } of importedCaptures(documents, ownerOf(stored), stored.id, from)) {
        const { url, archive_sha256, digest } = value;
        const bodies = digest.startsWith("sha256:") ? [digest.slice(7)] : [];
        const record = { ...EMPTY_RECORD, final_url: url, archive: { sha256: archive_sha256, bodies } };
        yield { index: index++, record };
      }
    },
  };
}

const viewOf = (stored: StoredImport): ArchiveImportView => {
  const { id, name, is_shared, state, problem, bytes, sha256, counts, skipped, bad } = stored;
  return {
    id,
    name,
    shared: is_shared,
    state: state === "deleted" ? "failed" : state,
    problem,
    bytes,
    received_bytes: state === "uploading" ? receivedBytes(stored) : bytes,
    sha256,
    records: counts.records,
    captures: counts.captures,
    known: counts.known,
    indexed: counts.indexed,
    skipped,
    bad,
    created_at: new Date(stored.created_ms).toISOString(),
    ended_at: stored.ended_ms === null ? null : new Date(stored.ended_ms).toISOString(),
  };
};

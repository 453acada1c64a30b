/**
 * Exchanges with origins as they were, kept for a caller that asked for it (`archive: true`). All exchanges of one fetch are one
 * body in the body store, the ArchivedFetch as JSON, which a page's record names with every body that it refers to.
 */
import { type Static, Type } from "typebox";
import { ask, contract, tell } from "../cluster/contracts/contract.ts";
import { Component, Field, Nullable, Sha256 } from "./common.ts";

/** In the order and the case in which they were sent; the bytes of a value as Latin-1. */
const WireFields = Type.Array(Type.Tuple([Type.String(), Type.String()]));

/** Bytes without transfer and content coding: in the body store, or as base64 where there are few. */
const KeptBody = Type.Union([
  Type.Object({ sha256: Sha256, bytes: Type.Integer() }),
  Type.Object({ base64: Type.String() }),
]);

/** Why a body is not whole, in the words of WARC 1.1, section 5.13. */
export const TRUNCATIONS = ["length", "time", "disconnect", "unspecified"] as const;
export type Truncation = (typeof TRUNCATIONS)[number];

/** A request and its response. */
export const KeptExchange = Type.Object({
  url: Type.String(),
  /** When the request was sent. */
  started_at: Type.String(),
  /** The IP address that answered; null: a proxy was between. */
  address: Nullable(Type.String()),
  protocol: Type.Enum(["http/1.1", "h2"]),
  tls: Nullable(
    Type.Object({
      version: Type.String(),
      cipher: Type.String(),
      /** Null: a browser says nothing of it. */
      certificate_sha256: Nullable(Type.String()),
    }),
  ),
  request: Type.Object({
    method: Type.String(),
    fields: WireFields,
    /** Names of fields that were sent and are the caller's own secrets: they are not kept. */
    omitted: Type.Array(Type.String()),
    /** Bytes of a body that was sent and is not kept, being the caller's own. */
    omitted_bytes: Type.Integer(),
  }),
  response: Type.Object({
    status: Type.Integer(),
    reason: Type.String(),
    fields: WireFields,
    /** Names of fields that came and are secrets of the caller's session. Absent: all are kept. */
    omitted: Type.Optional(Type.Array(Type.String())),
    /** Null: nothing of it is kept. */
    body: Nullable(KeptBody),
    truncated: Nullable(Type.Enum([...TRUNCATIONS])),
  }),
  /** It was made for all fetches of the origin (robots.txt), and is written once in a file. Absent: it is the fetch's own. */
  is_shared: Type.Optional(Type.Boolean()),
});
export type KeptExchange = Static<typeof KeptExchange>;

export interface ArchivedFetch {
  readonly version: 1;
  /** The address that was asked for. */
  readonly url: string;
  readonly exchanges: readonly KeptExchange[];
  /** Every route that was tried. */
  readonly attempts: readonly unknown[];
  /** Kinds of resources that the caller blocked. Absent: none. */
  readonly blocked?: readonly string[];
}

/** How a page's record names it. */
export const ArchiveRef = Type.Object({
  /** Digest of the ArchivedFetch. */
  sha256: Sha256,
  /** Digests of the bodies in it. */
  bodies: Type.Array(Sha256),
});
export type ArchiveRef = Static<typeof ArchiveRef>;

/** Reads the file of an import, or removes the import; its key is `<project or *> <id>`. */
export const ArchiveImport = contract(
  "archive_import",
  { wake: ask(Type.Null(), Type.Null()) },
  { look: tell(Type.Null()), finished: tell(Type.Object({ is_done: Type.Boolean() })) },
);

export const IMPORT_STATES = ["uploading", "importing", "done", "failed"] as const;
const Count = (description: string, example: number) =>
  Field(Type.Integer({ minimum: 0 }), description, example);
const Counts = (description: string, example: Readonly<Record<string, number>>) =>
  Field(Type.Record(Type.String(), Type.Integer()), description, example);

/** An import as a client sees it. */
export const ArchiveImportView = Component("ArchiveImport", {
  id: Field(Type.String(), "The id of the import: the same for the same file", "arc_5d41402abc4b2a76"),
  name: Field(Type.String(), "The name that the client gave", "intranet-2019.warc.gz"),
  shared: Field(Type.Boolean(), "Whether it serves every project"),
  state: Field(
    Type.Enum([...IMPORT_STATES]),
    "`uploading` until every byte has arrived, then `importing`; at the end `done`, or `failed` with a `problem`",
  ),
  problem: Field(
    Nullable(Type.String()),
    "Why the import has failed; captures that were read before stay",
    null,
  ),
  bytes: Count("Bytes of the file", 52428800),
  received_bytes: Count("Bytes that have arrived: where the upload goes on", 52428800),
  sha256: Field(Sha256, "Of the file"),
  records: Count("Records that were read", 1412),
  captures: Count("Captures that the import has brought", 684),
  known: Count("Captures that another file of the same owner has brought before", 12),
  indexed: Count("Pages that were put into the search index", 203),
  skipped: Counts(
    "Records that bring no capture, by kind: their type (`warcinfo`, `metadata`, `conversion`, `request` …), `not_http`, `too_large`, " +
      "`revisit_without_original`, `revisit_not_modified`",
    { warcinfo: 1, request: 696, metadata: 31 },
  ),
  bad: Counts(
    "What could not be read, or only in part: `broken_gzip`, `gzip_checksum`, `bad_record`, `wrong_length`, `truncated_record`, " +
      "`no_http_response`, `broken_coding`, `digest_mismatch`, `broken_zip_entry`",
    { truncated_record: 1 },
  ),
  created_at: Field(
    Type.String({ format: "date-time" }),
    "When the upload began",
    "2026-11-26T10:00:00.000Z",
  ),
  ended_at: Field(
    Nullable(Type.String({ format: "date-time" })),
    "When the file was read",
    "2026-11-26T10:04:31.000Z",
  ),
});
export type ArchiveImportView = Static<typeof ArchiveImportView>;

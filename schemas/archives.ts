/**
 * Exchanges with origins as they were, kept for a caller that asked for it (`archive: true`). All exchanges of one fetch are one
 * body in the body store, the ArchivedFetch as JSON, which a page's record names with every body that it refers to.
 */
import { type Static, Type } from "typebox";
import { Nullable, Sha256 } from "./common.ts";

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

/** One request and its response. */
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

/** What is kept of one fetch. */
export interface ArchivedFetch {
  readonly version: 1;
  /** The address that was asked for. */
  readonly url: string;
  readonly exchanges: readonly KeptExchange[];
  /** Every route that was tried. */
  readonly attempts: readonly unknown[];
}

/** How a page's record names it. */
export const ArchiveRef = Type.Object({
  /** Of the ArchivedFetch. */
  sha256: Sha256,
  /** Of the bodies in it. */
  bodies: Type.Array(Sha256),
});
export type ArchiveRef = Static<typeof ArchiveRef>;

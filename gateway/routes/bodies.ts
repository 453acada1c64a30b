/**
 * GET and HEAD /v1/bodies/{sha256}: the exact bytes of a fetch, whole or one range, streamed at the client's pace. Only
 * projects that retrieved the body get it; all other requests get the same 404.
 */
import { Type } from "typebox";
import { MIMEType } from "whatwg-mimetype";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import { Field, Sha256 } from "../../schemas/common.ts";
import { readOf } from "../conditional.ts";
import type { Reply } from "../http.ts";
import { BODY_NOT_FOUND } from "../http-errors.ts";
import type { BodyGrants } from "../body-access.ts";
import { type Call, type ReplyShape, type Route, route } from "../route.ts";

export interface BodyRouteDeps {
  readonly blobs: Blobs;
  readonly bodyGrants: BodyGrants;
  /** The store has lost a body that the project retrieved. Default: nothing is done about it. */
  readonly onVanished?: (sha256: string) => Promise<void>;
}

const Params = Type.Object({ sha256: Field(Sha256, "The digest of the body, `sha256` of a fetch") });
type BodyCall = Call<{ sha256: string }, null, null>;

/** The bytes of a digest never change. Private, because access depends on the project. */
const CACHE_CONTROL = "private, max-age=31536000, immutable";

/** Header fields of the answers, for the document: of all, of those that are not 304, and of those with bytes. */
const FIELDS = { ETag: "The SHA-256 in quotes", "Cache-Control": CACHE_CONTROL };
const BODY_FIELDS = {
  ...FIELDS,
  "X-Body-Kind": "origin, rendered_dom or screenshot",
  "X-Content-SHA256": "The SHA-256",
  "Accept-Ranges": "bytes: a request may ask for one range",
};
const CONTENT_FIELDS = {
  ...BODY_FIELDS,
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "sandbox",
  "Content-Disposition": "attachment, for types that a browser would show as a page of this server",
};

export function bodyRoutes({
  blobs,
  bodyGrants,
  onVanished = async () => {},
}: BodyRouteDeps): readonly Route[] {
  async function handle({ params: { sha256 }, caller, head }: BodyCall): Promise<Reply> {
    const grant = await bodyGrants.find(caller.grant.project.name, sha256);
    const stored = grant && (await blobs.head(sha256));
    if (grant && !stored) await onVanished(sha256);
    if (!grant || !stored) return BODY_NOT_FOUND;
    const tag = `"${sha256}"`;
    const read = readOf(head.headers, { tag, length: stored.bytes });
    const always = { ETag: tag, "Cache-Control": CACHE_CONTROL };
    if (read.status === 304) return { status: 304, headers: always };
    const headers: Record<string, string> = {
      ...always,
      "Accept-Ranges": "bytes",
      "X-Content-SHA256": sha256,
      "X-Body-Kind": grant.body_kind,
    };
    if (read.status === 416)
      return { status: 416, headers: { ...headers, "Content-Range": read.content_range } };
    Object.assign(headers, safeHeaders(grant.content_type, sha256));
    const partial = read.status === 206;
    if (partial) headers["Content-Range"] = read.content_range;
    const length = partial ? read.last - read.first + 1 : stored.bytes;
    if (head.method === "HEAD") return { status: read.status, headers, body: { length, chunks: noChunks() } };
    const chunks = await blobs.get(sha256, partial ? { first: read.first, last: read.last } : undefined);
    return chunks === null ? BODY_NOT_FOUND : { status: read.status, headers, body: { length, chunks } };
  }

  const replies: Record<number, ReplyShape> = {
    200: {
      description: "The bytes, under the origin's Content-Type",
      content_type: "application/octet-stream",
      also: ["*/*"],
      schema: Type.String({ format: "binary" }),
      headers: CONTENT_FIELDS,
    },
    206: {
      description: "One range of the bytes",
      content_type: "application/octet-stream",
      also: ["*/*"],
      schema: Type.String({ format: "binary" }),
      headers: {
        ...CONTENT_FIELDS,
        "Content-Range": "The range, and the length of the whole: bytes 0-1023/1742",
      },
    },
    304: {
      description: "The client has the bytes already: If-None-Match names their digest",
      headers: FIELDS,
    },
    404: {
      description: "The project did not retrieve these bytes within the last 30 days",
      schema: Type.Object({ detail: Type.String() }),
    },
    416: {
      description: "The range is outside the body",
      headers: { ...BODY_FIELDS, "Content-Range": "The length of the whole: bytes */1742" },
    },
  };
  const shared = {
    path: "/v1/bodies/{sha256}",
    tags: ["fetch"],
    params: Params,
    request_headers: {
      "If-None-Match":
        "Digests in quotes, which the client has: answered with 304 when this one is among them",
      Range: "One range of bytes, as bytes=0-1023; several are answered with the whole",
      "If-Range": "The digest in quotes: with another one Range is ignored",
    },
    replies,
    handle,
    verbatim: true,
  };
  return [
    route({
      ...shared,
      method: "GET",
      operationId: "getBody",
      summary: "Download the exact bytes of a fetch",
    }),
    route({
      ...shared,
      method: "HEAD",
      operationId: "headBody",
      summary: "The header fields of a download, without its bytes",
    }),
  ];
}

async function* noChunks(): AsyncGenerator<Buffer> {}

/** Types that a browser would render or execute as a page of this server. */
const ACTIVE_TYPES = /^(text\/html|application\/xhtml\+xml|image\/svg\+xml|text\/xml|application\/xml)$/;

/**
 * The origin's media type, if it is valid plain text, since an origin may send anything, and the fields that keep a
 * browser from treating the body as a page of this server.
 */
export function safeHeaders(content_type: string | null, sha256: string): Record<string, string> {
  const type = content_type === null ? null : MIMEType.parse(content_type);
  const plain = content_type !== null && /^[\x20-\x7e]*$/.test(content_type);
  const headers: Record<string, string> = {
    "Content-Type": type === null ? "application/octet-stream" : plain ? content_type : type.essence,
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox",
  };
  if (type === null || ACTIVE_TYPES.test(type.essence) || type.essence.endsWith("+xml"))
    headers["Content-Disposition"] = `attachment; filename="${sha256.slice(0, 16)}"`;
  return headers;
}

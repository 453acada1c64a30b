/**
 * Archives as downloads: a WARC file is written while it is sent the first time, and has from then on a length, an entity tag and
 * ranges; a WACZ file is made of a WARC file that was written before. The same fetches give the same bytes.
 */
import { hash } from "node:crypto";
import { Type } from "typebox";
import { bodyRefs } from "../../../../cluster/body-refs.ts";
import type { Blobs, ByteRange } from "../../../../cluster/ports/blobs.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import { readBody } from "../../../../cluster/read-body.ts";
import { readOf } from "../../../../gateway/conditional.ts";
import type { Head, Reply } from "../../../../gateway/http.ts";
import { json, unavailable } from "../../../../gateway/http-errors.ts";
import type { ReplyShape } from "../../../../gateway/route.ts";
import { ARCHIVE_LAYOUTS } from "../collections.ts";
import { ARCHIVE_TTL_MS } from "../keep.ts";
import { type Layout, LAYOUT_VERSION, type StoredLayout, type WaczEntry } from "../layout.ts";
import { type ArchiveSource, writeFile, writeRange } from "../warc/file.ts";
import { COMPRESSED_BY } from "../warc/members.ts";
import { makeEntries, MAX_CAPTURES } from "../wacz/wacz.ts";
import type { SigningProblem, WaczSigner } from "../wacz/signer.ts";
import { lengthOf, type Segment, zipSegments } from "../wacz/zip.ts";

export interface ArchiveFileDeps {
  readonly blobs: Blobs;
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Pick<Log, "warn">;
  readonly signer: WaczSigner;
}

/** Files that a node writes at once: each compresses as fast as its client reads. */
const MAX_FILES = 8;
const TOO_MANY = unavailable("too many archives are written at once, try again", 10);
const TOO_LARGE = json(409, {
  detail: `more than ${MAX_CAPTURES} captures: this archive is there as WARC only`,
});
/** Authorities of time stamps allow few requests a minute. */
const UNSIGNED_AGAIN_S = 60;
const SENTENCES: Readonly<Record<SigningProblem, string>> = {
  signing_certificate_unusable: "the operator's certificate cannot be used",
  time_stamp_unreachable: "the time stamp authority cannot be reached",
  time_stamp_timeout: "the time stamp authority did not answer in time",
  time_stamp_refused: "the time stamp authority gave no time stamp",
  time_stamp_invalid: "the time stamp authority gave no time stamp that is right",
};
const notSigned = (reason: SigningProblem): Reply =>
  json(
    503,
    { detail: { error: reason, message: `The archive cannot be signed now: ${SENTENCES[reason]}` } },
    { "Retry-After": String(UNSIGNED_AGAIN_S) },
  );
const FIELDS = {
  "Cache-Control": "private, no-cache",
  "X-Content-Type-Options": "nosniff",
  "Accept-Ranges": "bytes",
} as const;
export const WARC_TYPE = "application/warc";
export const WACZ_TYPE = "application/wacz";

type AnswerFile = (project: string, source: ArchiveSource, head: Head) => Promise<Reply>;

export interface ArchiveFiles {
  readonly answerWarc: AnswerFile;
  readonly answerWacz: AnswerFile;
}

/** A file whose bytes are known without writing it. */
interface KnownFile {
  readonly type: string;
  readonly name: string;
  readonly tag: string;
  readonly length: number;
  readonly range: (range: ByteRange) => AsyncIterable<Buffer>;
}

export function archiveFiles({ blobs, documents, clock, log, signer }: ArchiveFileDeps): ArchiveFiles {
  const layouts = layoutStore({ blobs, documents, clock });
  let writing = 0;

  async function* counted(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    writing++;
    try {
      yield* pieces;
    } finally {
      writing--;
    }
  }

  /** Writes the file for its layout alone where there is none yet. */
  async function layoutOf(key: string, source: ArchiveSource): Promise<Layout> {
    let layout = await layouts.find(key);
    const pieces = layout ?? writeFile(blobs, source, async (made) => layouts.store(key, (layout = made)));
    if (Symbol.asyncIterator in pieces) for await (const _ of counted(pieces));
    return layout!;
  }

  function answerKnown({ type, name, tag, length, range }: KnownFile, head: Head): Reply {
    const read = readOf(head.headers, { tag, length });
    const headers = { ...fileFields(type, name), ETag: tag };
    if (read.status === 304) return { status: 304, headers };
    if (read.status === 416)
      return { status: 416, headers: { ...headers, "Content-Range": read.content_range } };
    const [first, last] = read.status === 206 ? [read.first, read.last] : [0, length - 1];
    return {
      status: read.status,
      headers: { ...headers, ...(read.status === 206 && { "Content-Range": read.content_range }) },
      body: { length: last - first + 1, chunks: counted(range({ first, last })) },
    };
  }

  return {
    async answerWarc(project, source, head) {
      if (writing >= MAX_FILES) return TOO_MANY;
      const key = layoutKey(project, source);
      const name = `${source.id}.warc.gz`;
      const needsLayout = head.headers.has("range") || head.method === "HEAD";
      const layout = needsLayout ? await layoutOf(key, source) : await layouts.find(key);
      if (layout === null) {
        const chunks = counted(writeFile(blobs, source, (made) => layouts.store(key, made)));
        return { status: 200, headers: fileFields(WARC_TYPE, name), body: { length: null, chunks } };
      }
      const range = (bytes: ByteRange) => writeRange(blobs, source, layout, bytes);
      return answerKnown(
        { type: WARC_TYPE, name, tag: `"${layout.sha256}"`, length: layout.bytes, range },
        head,
      );
    },

    async answerWacz(project, source, head) {
      if (writing >= MAX_FILES) return TOO_MANY;
      const key = layoutKey(project, source);
      const layout = await layoutOf(key, source);
      let entries = await layouts.entries(key, signer);
      if (entries === null) {
        const made = await makeEntries({ blobs, signer }, source, layout);
        if (made.kind === "too_large") return TOO_LARGE;
        if (made.kind === "unsigned") {
          log.warn("Cannot sign a WACZ file", { reason: made.reason, detail: made.detail });
          return notSigned(made.reason);
        }
        entries = await layouts.storeEntries(key, made.entries, signer);
      }
      const segments = zipSegments(entries);
      const directory = segments.at(-1)!;
      const tag = `"${hash("sha256", directory.kind === "bytes" ? directory.bytes : "", "hex")}"`;
      const length = segments.reduce((sum, segment) => sum + lengthOf(segment), 0);
      const sha256s = new Map(entries.map(({ name, sha256 }) => [name, sha256]));
      const entry = (name: string, range: ByteRange): AsyncIterable<Buffer> => {
        const sha256 = sha256s.get(name);
        return sha256 === undefined
          ? writeRange(blobs, source, layout, range)
          : rangeOf(blobs, sha256, range);
      };
      const range = (bytes: ByteRange) => rangeOfSegments(segments, entry, bytes);
      return answerKnown({ type: WACZ_TYPE, name: `${source.id}.wacz`, tag, length, range }, head);
    },
  };
}

const layoutKey = (project: string, { id }: ArchiveSource): string => `${project} ${id}`;

const fileFields = (type: string, name: string) => ({
  ...FIELDS,
  "Content-Type": type,
  "Content-Disposition": `attachment; filename="${name.replace(":", "-")}"`,
});

async function* rangeOf(blobs: Blobs, sha256: string, range: ByteRange): AsyncGenerator<Buffer> {
  const pieces = await blobs.get(sha256, range);
  if (pieces === null)
    throw new Fault("body_damaged", `Cannot read "${sha256}" of an archive: it is not there`);
  yield* pieces;
}

/** These bytes of all segments together. */
async function* rangeOfSegments(
  segments: readonly Segment[],
  entry: (name: string, range: ByteRange) => AsyncIterable<Buffer>,
  { first, last }: ByteRange,
): AsyncGenerator<Buffer> {
  let at = 0;
  for (const segment of segments) {
    const length = lengthOf(segment);
    const [from, to] = [Math.max(0, first - at), Math.min(length, last + 1 - at)];
    if (from < to) {
      if (segment.kind === "bytes") yield segment.bytes.subarray(from, to);
      else yield* entry(segment.name, { first: from, last: to - 1 });
    }
    at += length;
  }
}

type Signer = Pick<WaczSigner, "form">;

/** Null: they are not made yet, or anonymously where this node signs for a domain. */
const keptEntries = (layout: StoredLayout | null, { form }: Signer): readonly WaczEntry[] | null =>
  form === "anonymous" || layout?.wacz_form === form ? (layout?.wacz ?? null) : null;

function layoutStore({ blobs, documents, clock }: Pick<ArchiveFileDeps, "blobs" | "documents" | "clock">) {
  const refs = bodyRefs(documents);

  const isCurrent = (layout: StoredLayout | null): layout is StoredLayout =>
    layout?.version === LAYOUT_VERSION && layout.compressed_by === COMPRESSED_BY;

  async function stored(key: string): Promise<StoredLayout | null> {
    const layout = await ARCHIVE_LAYOUTS.get(documents, key);
    return isCurrent(layout) ? layout : null;
  }

  const expiryMs = (): number => clock.now() + ARCHIVE_TTL_MS;

  return {
    async find(key: string): Promise<Layout | null> {
      const layout = await stored(key);
      if (layout === null) return null;
      const { bytes, sha256, crc32, groups_sha256 } = layout;
      const groups = JSON.parse((await readBody(blobs, groups_sha256)).toString()) as Layout["groups"];
      return { bytes, sha256, crc32, groups };
    },

    async store(key: string, { groups, ...file }: Layout): Promise<void> {
      const { sha256: groups_sha256 } = await blobs.put(Buffer.from(JSON.stringify(groups)));
      const expires_at_ms = expiryMs();
      await refs.retain([groups_sha256], `layout ${key}`, expires_at_ms);
      const layout = { ...file, groups_sha256, compressed_by: COMPRESSED_BY, version: LAYOUT_VERSION };
      // Another request may have stored the same one and signed its entries.
      await ARCHIVE_LAYOUTS.update(documents, key, (other) =>
        isCurrent(other) && other.sha256 === layout.sha256
          ? null
          : { value: layout, options: { expires_at_ms } },
      );
    },

    async entries(key: string, signer: Signer): Promise<readonly WaczEntry[] | null> {
      return keptEntries(await stored(key), signer);
    },

    /** The entries that are kept: those of a request that was first, for each signature has other bytes. */
    async storeEntries(
      key: string,
      wacz: readonly WaczEntry[],
      { form }: Signer,
    ): Promise<readonly WaczEntry[]> {
      const expires_at_ms = expiryMs();
      const sha256s = wacz.flatMap(({ sha256 }) => sha256 ?? []);
      await refs.retain(sha256s, `layout ${key}`, expires_at_ms);
      const kept = await ARCHIVE_LAYOUTS.update(documents, key, (layout) =>
        layout && keptEntries(layout, { form }) === null
          ? {
              value: { ...layout, wacz, ...(form === "domain" && { wacz_form: form }) },
              options: { expires_at_ms },
            }
          : null,
      );
      return kept?.value.wacz ?? wacz;
    },
  };
}

const FILE_FIELDS = { ETag: "Of the whole file", "Accept-Ranges": "bytes: a request may ask for one range" };

/** Replies of the routes of files, for the document. */
export const fileReplies = (type: string, not_found: string): Record<number, ReplyShape> => ({
  200: {
    description: "The file; a WARC file has a length once it was written before",
    content_type: type,
    schema: Type.String({ format: "binary" }),
    headers: FILE_FIELDS,
  },
  206: {
    description: "One range of the file",
    content_type: type,
    schema: Type.String({ format: "binary" }),
    headers: { ...FILE_FIELDS, "Content-Range": "The range, and the length of the whole" },
  },
  304: { description: "The client has the file already", headers: FILE_FIELDS },
  404: { description: not_found, schema: Type.Object({ detail: Type.String() }) },
  416: {
    description: "The range is outside the file",
    headers: { "Content-Range": "The length of the whole: bytes */1742" },
  },
});

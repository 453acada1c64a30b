/**
 * Blobs in an S3 bucket: `<prefix>/<digest>` holds the bytes, plain or compressed with zstd; the object's metadata says
 * which, and the original size. All keys are on one level, because servers that keep objects as files cannot have a key
 * that is also another key's folder.
 *
 * The digest must be known before the upload, so content that does not fit into memory goes through an unlinked
 * temporary file. An upload is one request with a checksum that the server verifies: there are no partial objects and
 * nothing to clean up after a crash. An object has at most 5 GB that way.
 *
 * Removing takes two calls. S3 cannot delete an object on the condition that it is old, so a delete that follows a look at
 * the object's time may hit a body that was stored again in between. The first call therefore copies the object to
 * `<prefix>/aside-<digest>` and deletes it; the copy is read where the object is missing. A later call deletes the
 * copy, which no upload writes, when it is old enough itself and nothing was stored under the digest since.
 *
 * An object that is wrong is never served whole: a read of all of it proves the digest. Storing the body again replaces
 * it, also where an upload is otherwise left out because the object is there.
 *
 * The account needs s3:ListBucket beside reading, writing and deleting: without it S3 answers 403 instead of 404 for a
 * missing object.
 */
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchBucket,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { LRUCache } from "lru-cache";
import {
  type Blobs,
  type ByteRange,
  type ListedBlob,
  sha256Of,
  type StoredBlob,
  type StoreMark,
  TOUCH_AFTER_MS,
} from "../../ports/blobs.ts";
import { Fault } from "../../ports/fault.ts";
import {
  SAMPLE_BYTES,
  isCompressible,
  compressWhole,
  compressStream,
  readPieces,
  slices,
  contentSource,
  type ContentSource,
  decompressWhole,
  decompressRange,
} from "./compression.ts";
import { quickUploads } from "./quick-uploads.s3.ts";
import { isContentProblem, verified } from "./verify.ts";

/** Time-out until the response head, including the SDK's retries. Uploads get more, by size. */
const ANSWER_MS = 5_000;
const CONNECT_MS = 2_000;
const UPLOAD_MS_PER_MB = 1_000;
/** Maximum silence between two pieces of a response body. */
const PIECE_MS = 10_000;
/**
 * A response body that the caller does not start to read within this time is destroyed, so that its connection is not
 * lost.
 */
const UNREAD_MS = 30_000;
/** Content up to this size is stored from memory, without a temporary file. */
const MAX_IN_MEMORY_BYTES = 2 ** 20;
/** Each slow reader occupies one connection. */
const MAX_CONNECTIONS = 256;
/** How many wrong objects are remembered. */
const MAX_DAMAGED = 1_000;

/** Errors reach the caller as exceptions; without this the SDK also prints to the terminal. */
const ignore = (): void => {};
const SILENT_LOGGER = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

export interface S3Options {
  readonly bucket: string;
  /** Prefix of all keys; empty: none. */
  readonly prefix: string;
  /** An S3 server other than Amazon's; the bucket is then part of the path, not of the host name. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Default: the SDK's own search (environment, profile, the machine's role). */
  readonly credentials?:
    | { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string }
    | undefined;
  /** Folder for temporary files of content that does not fit into memory. */
  readonly spool: string;
}

/** The content of one upload, in memory or in a file. */
interface Upload {
  readonly body: StoredBlob;
  readonly coding: "zstd" | "none";
  readonly content: Buffer | FileHandle;
  readonly bytes: number;
  readonly sha256_base64: string;
}

type Answer = Pick<GetObjectCommandOutput, "Body" | "Metadata" | "ContentLength">;

/** Objects that another program stored have no metadata; they are plain. */
const metadataOf = ({ Metadata, ContentLength = 0 }: Answer) => ({
  packed: Metadata?.["coding"] === "zstd",
  bytes: Number(Metadata?.["bytes"] ?? ContentLength),
});

/** Before the digest of an object that is to be removed. No digest begins like this. */
const ASIDE = "aside-";

/** The object of the mark. No digest begins like this. */
const MARK = "store.json";
const DIGEST = /^[0-9a-f]{64}$/;
const HEX_DIGITS = "0123456789abcdef".split("");

/** In whole seconds. Servers that do not send it count as stored now. */
const storedMs = (last_modified: Date | undefined): number => last_modified?.getTime() ?? Date.now();

/** A missing bucket is a fault and not a missing blob. Responses to HEAD cannot tell them apart: they have no body. */
const isMissing = (problem: unknown): boolean =>
  problem instanceof S3ServiceException &&
  problem.$metadata.httpStatusCode === 404 &&
  !(problem instanceof NoSuchBucket) &&
  problem.name !== "NoSuchBucket";

/** Retrying would not change this response. */
const isFinal = (problem: unknown): boolean =>
  problem instanceof S3ServiceException && (problem.$metadata.httpStatusCode ?? 500) < 500;

/** A response body, piece by piece. Only the server's silence is a fault; the reader may take any time. */
async function* readWithTimeout(answer: Readable): AsyncGenerator<Buffer> {
  const pieces = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    while (true) {
      const timer = setTimeout(
        () => answer.destroy(new Error(`The server fell silent for ${PIECE_MS / 1_000} s`)),
        PIECE_MS,
      );
      const next = await pieces.next().finally(() => clearTimeout(timer));
      if (next.done) return;
      yield next.value;
    }
  } finally {
    answer.destroy();
  }
}

/** `packed_bytes`: the size of what is to be decompressed; null: the bytes are plain. */
async function* slice(
  stored: Buffer,
  packed_bytes: number | null,
  { first, last }: ByteRange,
): AsyncGenerator<Buffer> {
  const whole = packed_bytes === null ? stored : await decompressWhole(stored, packed_bytes);
  yield* slices(whole.subarray(first, last + 1));
}

/** One algorithm: a content-addressed store in a bucket. */
export function s3Blobs({ bucket, prefix, endpoint, region, credentials, spool }: S3Options): Blobs {
  const client = new S3Client({
    region: region ?? "us-east-1",
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(credentials === undefined ? {} : { credentials }),
    maxAttempts: 3,
    logger: SILENT_LOGGER,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      httpAgent: { maxSockets: MAX_CONNECTIONS },
      httpsAgent: { maxSockets: MAX_CONNECTIONS },
    },
    // Uploads carry a SHA-256 checksum already; the SDK would compute another one.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  // The logger middleware costs a tenth of an upload even when nothing is logged.
  client.middlewareStack.remove("loggerMiddleware");
  const quick = quickUploads(client, { connections: MAX_CONNECTIONS, connect_ms: CONNECT_MS });
  /** Digests whose objects were wrong when they were read; stored again, they are uploaded whatever the server says. */
  const damaged = new LRUCache<string, true>({ max: MAX_DAMAGED });
  const location = `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`;
  const at = (name: string) => ({ Bucket: bucket, Key: prefix === "" ? name : `${prefix}/${name}` });

  function fault(what: string, cause: unknown): Fault {
    if (cause instanceof Fault) return cause;
    const status = cause instanceof S3ServiceException ? cause.$metadata.httpStatusCode : undefined;
    const answered = status === undefined ? "" : `: it answered ${status}`;
    return new Fault("bodies_unreachable", `Cannot ${what} in "${location}"${answered}`, { cause });
  }

  async function reach<T>(
    what: string,
    command: (signal: AbortSignal) => Promise<T>,
    within_ms = ANSWER_MS,
  ): Promise<T> {
    const deadline = new AbortController();
    const timer = setTimeout(
      () => deadline.abort(new Error(`There was no answer within ${within_ms / 1_000} s`)),
      within_ms,
    );
    try {
      return await command(deadline.signal);
    } catch (cause) {
      throw fault(what, deadline.signal.aborted ? deadline.signal.reason : cause);
    } finally {
      // The time-out ends with the response head.
      clearTimeout(timer);
    }
  }

  /** Null: there is no such object. */
  async function find<T>(what: string, command: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    return reach(what, (signal) =>
      command(signal).catch((problem: unknown) => {
        if (isMissing(problem)) return null;
        throw problem;
      }),
    );
  }

  const headObject = (name: string) =>
    find(`find body "${name}"`, (abortSignal) =>
      client.send(new HeadObjectCommand({ ...at(name), ChecksumMode: "ENABLED" }), { abortSignal }),
    );

  /** The object of a body, or what was set aside of it. */
  async function headBody(sha256: string) {
    for (const name of [sha256, ASIDE + sha256]) {
      const head = await headObject(name);
      if (head) return { name, head };
    }
    return null;
  }

  const getObject = (name: string, Range?: string): Promise<Answer | null> =>
    find(`read body "${name}"`, (abortSignal) =>
      client.send(new GetObjectCommand({ ...at(name), ...(Range === undefined ? {} : { Range }) }), {
        abortSignal,
      }),
    );

  const deleteObject = (name: string): Promise<unknown> =>
    find(`remove body "${name}"`, (abortSignal) =>
      client.send(new DeleteObjectCommand(at(name)), { abortSignal }),
    );

  async function upload(upload_request: Upload): Promise<StoredBlob> {
    const within_ms = ANSWER_MS + (upload_request.bytes / 2 ** 20) * UPLOAD_MS_PER_MB;
    await reach(
      "store a body",
      async (signal) => {
        if (await sendQuickly(upload_request, signal)) return;
        try {
          await send(upload_request, signal);
        } catch (problem) {
          // The SDK retries content in memory by itself, but it cannot rewind a stream.
          if (Buffer.isBuffer(upload_request.content) || signal.aborted || isFinal(problem)) throw problem;
          await send(upload_request, signal);
        }
      },
      within_ms,
    );
    damaged.delete(upload_request.body.sha256);
    return upload_request.body;
  }

  /** Whether it was stored. */
  async function sendQuickly(
    { body, coding, content, sha256_base64 }: Upload,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (!Buffer.isBuffer(content)) return false;
    const headers = {
      "content-type": "application/octet-stream",
      "x-amz-checksum-sha256": sha256_base64,
      "x-amz-meta-coding": coding,
      "x-amz-meta-bytes": String(body.bytes),
    };
    const { Key } = at(body.sha256);
    return quick.send({ key: Key, content, sha256: sha256Of(content), headers }, signal);
  }

  async function send(
    { body, coding, content, bytes, sha256_base64 }: Upload,
    abortSignal: AbortSignal,
  ): Promise<void> {
    const Body = Buffer.isBuffer(content)
      ? content
      : Readable.from(readPieces(content, { first: 0, last: bytes - 1 }), { objectMode: false });
    const command = new PutObjectCommand({
      ...at(body.sha256),
      Body,
      ContentLength: bytes,
      ContentType: "application/octet-stream",
      ChecksumSHA256: sha256_base64,
      Metadata: { coding, bytes: String(body.bytes) },
    });
    try {
      await client.send(command, { abortSignal });
    } finally {
      if (Body instanceof Readable) Body.destroy();
    }
  }

  async function setAside(sha256: string): Promise<void> {
    const { Bucket, Key } = at(sha256);
    await find(`set body "${sha256}" aside`, (abortSignal) =>
      client.send(
        new CopyObjectCommand({ ...at(ASIDE + sha256), CopySource: `${Bucket}/${encodeURI(Key)}` }),
        {
          abortSignal,
        },
      ),
    );
    await deleteObject(sha256);
  }

  async function putWhole(content: Buffer): Promise<StoredBlob> {
    const body = { sha256: sha256Of(content), bytes: content.length };
    const packed = await compressWhole(content);
    const stored = packed ?? content;
    return upload({
      body,
      coding: packed ? "zstd" : "none",
      content: stored,
      bytes: stored.length,
      sha256_base64: Buffer.from(sha256Of(stored), "hex").toString("base64"),
    });
  }

  async function putSpooled(first: Buffer, source: ContentSource): Promise<StoredBlob> {
    const path = join(spool, `trawl-${randomBytes(12).toString("hex")}`);
    const handle = await open(path, "wx+");
    try {
      // Unlinked while open: the file disappears with the process.
      await rm(path);
      const spooled = await writeSpool(handle, first, source);
      const existing = await headObject(spooled.body.sha256);
      const isRecent =
        existing &&
        !damaged.has(spooled.body.sha256) &&
        Date.now() - storedMs(existing.LastModified) < TOUCH_AFTER_MS;
      // Where the server keeps no checksum, it is uploaded again: equal sizes prove nothing.
      return isRecent && existing.ChecksumSHA256 === spooled.sha256_base64
        ? spooled.body
        : await upload(spooled);
    } finally {
      await handle.close();
    }
  }

  async function writeSpool(handle: FileHandle, first: Buffer, source: ContentSource): Promise<Upload> {
    const [plain, stored] = [createHash("sha256"), createHash("sha256")];
    let [bytes, stored_bytes] = [0, 0];
    async function* content(): AsyncGenerator<Buffer> {
      for await (const piece of source.from(first)) {
        plain.update(piece);
        bytes += piece.length;
        yield piece;
      }
    }
    const compressed = isCompressible(first);
    for await (const piece of compressed ? compressStream(content()) : content()) {
      if (compressed) stored.update(piece);
      stored_bytes += piece.length;
      await handle.writeFile(piece);
    }
    const digest = plain.digest();
    return {
      body: { sha256: digest.toString("hex"), bytes },
      coding: compressed ? "zstd" : "none",
      content: handle,
      bytes: stored_bytes,
      sha256_base64: (compressed ? stored.digest() : digest).toString("base64"),
    };
  }

  async function* read(sha256: string, pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* pieces;
    } catch (cause) {
      if (!isContentProblem(cause)) throw fault(`read body "${sha256}"`, cause);
      damaged.set(sha256, true);
      throw new Fault("body_damaged", `Cannot read body "${sha256}" in "${location}"`, { cause });
    }
  }

  /** The bytes of a response that holds the whole object; `range_wanted` selects a part of them. */
  async function openBody(
    sha256: string,
    answer: Answer,
    range_wanted?: ByteRange,
  ): Promise<AsyncGenerator<Buffer>> {
    const { packed, bytes } = metadataOf(answer);
    const stream = answer.Body as Readable;
    const range = range_wanted ?? { first: 0, last: bytes - 1 };
    if ((answer.ContentLength ?? Infinity) <= SAMPLE_BYTES && bytes <= MAX_IN_MEMORY_BYTES) {
      const stored = await reach(`read body "${sha256}"`, async () =>
        Buffer.concat(await Array.fromAsync(readWithTimeout(stream))),
      );
      return slice(stored, packed ? bytes : null, range);
    }
    // The reader gets stream errors from the iterator. An error before it reads must not be unhandled.
    stream.on("error", () => {});
    const unread = setTimeout(() => stream.destroy(), UNREAD_MS);
    unread.unref();
    async function* started(): AsyncGenerator<Buffer> {
      clearTimeout(unread);
      const pieces = readWithTimeout(stream);
      yield* packed ? decompressRange(Readable.from(pieces, { objectMode: false }), range) : pieces;
    }
    return started();
  }

  async function* listObjects(mark: string, digits: string): AsyncGenerator<ListedBlob> {
    const folder = at(mark).Key;
    let from: string | undefined;
    do {
      const token = from;
      const page = await reach("list bodies", (abortSignal) =>
        client.send(
          new ListObjectsV2Command({
            Bucket: bucket,
            Prefix: `${folder}${digits}`,
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
          { abortSignal },
        ),
      );
      for (const { Key, LastModified } of page.Contents ?? [])
        yield { sha256: Key!.slice(folder.length), stored_ms: storedMs(LastModified) };
      from = page.NextContinuationToken;
    } while (from !== undefined);
  }

  return {
    async put(content) {
      if (Buffer.isBuffer(content) && content.length <= MAX_IN_MEMORY_BYTES) return putWhole(content);
      const source = contentSource(Buffer.isBuffer(content) ? slices(content) : content);
      try {
        const { first, ended } = await source.readFirst(MAX_IN_MEMORY_BYTES);
        return await (ended ? putWhole(first) : putSpooled(first, source));
      } catch (cause) {
        await source.release();
        throw source.isOwnError(cause) ? cause : fault("store a body", cause);
      }
    },
    async head(sha256) {
      const existing = await headBody(sha256);
      return existing && { bytes: metadataOf(existing.head).bytes };
    },
    async get(sha256, range) {
      if (range === undefined) {
        const answer = (await getObject(sha256)) ?? (await getObject(ASIDE + sha256));
        return answer && read(sha256, verified(sha256, await openBody(sha256, answer)));
      }
      const existing = await headBody(sha256);
      if (!existing) return null;
      const is_partial = !metadataOf(existing.head).packed;
      const answer = await getObject(
        existing.name,
        is_partial ? `bytes=${range.first}-${range.last}` : undefined,
      );
      return answer && read(sha256, await openBody(sha256, answer, is_partial ? undefined : range));
    },
    async remove(sha256, stored_before_ms = Infinity) {
      const isOld = (last_modified: Date | undefined): boolean => storedMs(last_modified) < stored_before_ms;
      const existing = await headObject(sha256);
      if (existing) {
        if (!isOld(existing.LastModified)) return false;
        await setAside(sha256);
        return false;
      }
      const aside = await headObject(ASIDE + sha256);
      if (!aside || !isOld(aside.LastModified)) return false;
      await deleteObject(ASIDE + sha256);
      return true;
    },
    async *list(digits) {
      const aside = new Map<string, ListedBlob>();
      for await (const one of listObjects(ASIDE, digits)) aside.set(one.sha256, one);
      for await (const one of listObjects("", digits)) {
        aside.delete(one.sha256);
        yield one;
      }
      for (const one of aside.values()) yield { ...one, is_set_aside: true };
    },
    async readMark() {
      const answer = await getObject(MARK);
      if (answer === null) return null;
      return reach("read the mark", async () => {
        const text = Buffer.concat(await Array.fromAsync(readWithTimeout(answer.Body as Readable)));
        return JSON.parse(text.toString()) as StoreMark;
      });
    },
    writeMark: async (mark) =>
      void (await reach("write the mark", (abortSignal) =>
        client.send(
          new PutObjectCommand({ ...at(MARK), Body: JSON.stringify(mark), ContentType: "application/json" }),
          { abortSignal },
        ),
      )),
    async isEmpty() {
      // By the first digit: the bucket may have objects of other programs beside ours.
      for (const mark of ["", ASIDE])
        for (const digit of HEX_DIGITS)
          for await (const { sha256 } of listObjects(mark, digit)) if (DIGEST.test(sha256)) return false;
      return true;
    },
    ping: async () =>
      void (await reach("find anything", (abortSignal) =>
        client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal }),
      )),
    async close() {
      client.destroy();
      await quick.close();
    },
  };
}

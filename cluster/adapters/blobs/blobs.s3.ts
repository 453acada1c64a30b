/**
 * Blobs in an S3 bucket: `<prefix>/<digest>` holds the bytes, plain or compressed with zstd; the object's metadata says
 * which, and the original size. All keys are on one level, because servers that keep objects as files cannot have a key
 * that is also another key's folder.
 *
 * The digest must be known before the upload, so content that does not fit into memory goes through an unlinked
 * temporary file. An upload is one request with a checksum that the server verifies: there are no partial objects and
 * nothing to clean up after a crash. An object has at most 5 GB that way.
 *
 * The account needs s3:ListBucket beside reading, writing and deleting: without it S3 answers 403 instead of 404 for a
 * missing object.
 */
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import {
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
import { TOUCH_AFTER_MS, type Blobs, type ByteRange, type StoredBlob } from "../../ports/blobs.ts";
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

const digestOf = (content: Buffer) => createHash("sha256").update(content).digest();

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

async function* slice(whole: Buffer, { first, last }: ByteRange): AsyncGenerator<Buffer> {
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
  const location = `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`;
  const at = (sha256: string) => ({ Bucket: bucket, Key: prefix === "" ? sha256 : `${prefix}/${sha256}` });

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

  const headObject = (sha256: string) =>
    find(`find body "${sha256}"`, (abortSignal) =>
      client.send(new HeadObjectCommand(at(sha256)), { abortSignal }),
    );

  const getObject = (sha256: string, Range?: string): Promise<Answer | null> =>
    find(`read body "${sha256}"`, (abortSignal) =>
      client.send(new GetObjectCommand({ ...at(sha256), ...(Range === undefined ? {} : { Range }) }), {
        abortSignal,
      }),
    );

  async function upload(upload_request: Upload): Promise<StoredBlob> {
    const within_ms = ANSWER_MS + (upload_request.bytes / 2 ** 20) * UPLOAD_MS_PER_MB;
    await reach(
      "store a body",
      async (signal) => {
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
    return upload_request.body;
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

  async function putWhole(content: Buffer): Promise<StoredBlob> {
    const digest = digestOf(content);
    const body = { sha256: digest.toString("hex"), bytes: content.length };
    const packed = await compressWhole(content);
    const stored = packed ?? content;
    return upload({
      body,
      coding: packed ? "zstd" : "none",
      content: stored,
      bytes: stored.length,
      sha256_base64: (packed ? digestOf(packed) : digest).toString("base64"),
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
      return existing && Date.now() - storedMs(existing.LastModified) < TOUCH_AFTER_MS
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
      throw fault(`read body "${sha256}"`, cause);
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
      const content = await reach(`read body "${sha256}"`, async () => {
        const stored = Buffer.concat(await Array.fromAsync(readWithTimeout(stream)));
        return packed ? decompressWhole(stored, bytes) : stored;
      });
      return slice(content, range);
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
    return read(sha256, started());
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
      const existing = await headObject(sha256);
      return existing && { bytes: metadataOf(existing).bytes };
    },
    async get(sha256, range) {
      const existing = range === undefined ? null : await headObject(sha256);
      if (range !== undefined && !existing) return null;
      const is_partial = existing !== null && !metadataOf(existing).packed;
      const answer = await getObject(sha256, is_partial ? `bytes=${range!.first}-${range!.last}` : undefined);
      return answer && openBody(sha256, answer, is_partial ? undefined : range);
    },
    async remove(sha256, stored_before_ms = Infinity) {
      const existing = await headObject(sha256);
      if (!existing || storedMs(existing.LastModified) >= stored_before_ms) return false;
      await find(`remove body "${sha256}"`, (abortSignal) =>
        client.send(new DeleteObjectCommand(at(sha256)), { abortSignal }),
      );
      return true;
    },
    async *list(digits) {
      const folder = at("").Key;
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
    },
    ping: async () =>
      void (await reach("find anything", (abortSignal) =>
        client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal }),
      )),
    close: async () => client.destroy(),
  };
}

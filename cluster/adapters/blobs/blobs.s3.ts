/**
 * Bodies in a bucket: `<prefix>/<digest>` holds them as they are or through zstd, and its metadata says which and how
 * many bytes come out. One flat level, because servers over plain files cannot have a key that is another's folder.
 *
 * A body's name is its digest, so a stream goes through a nameless file first when it does not fit into memory. What is
 * uploaded is one request with the digest of its bytes, which the server checks: there is no half a body, and nothing
 * to clear away after a crash. An object has at most 5 GB that way.
 *
 * The account needs s3:ListBucket beside reading, writing and deleting: without it S3 answers 403 for what is not there.
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
} from "../documents/compression.ts";

/** Until the server answers, second and third tries of the SDK included; what is uploaded has more. */
const ANSWER_MS = 5_000;
const CONNECT_MS = 2_000;
const UPLOAD_MS_PER_MB = 1_000;
/** Between two pieces of an answer that is being read. */
const PIECE_MS = 10_000;
/** An answer that nobody begins to read within this time is let go, or its connection would be lost. */
const UNREAD_MS = 30_000;
/** Bodies up to this size are held in memory on their way in. */
const MAX_IN_MEMORY_BYTES = 2 ** 20;
/** Slow readers hold one each. */
const MAX_CONNECTIONS = 256;

/** What the SDK has to say comes as an error, or on the terminal if it is not told otherwise. */
const ignore = (): void => {};
const SILENT_LOGGER = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

export interface S3Options {
  readonly bucket: string;
  /** Keys are below it; empty: none. */
  readonly prefix: string;
  /** An S3 that is not Amazon's: then buckets are paths of it, not hosts. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Left out, the SDK looks where it always does: environment, profile, the machine's role. */
  readonly credentials?:
    | { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string }
    | undefined;
  /** Where bodies that do not fit into memory wait for their digest. */
  readonly spool: string;
}

/** What is uploaded, in memory or in a file. */
interface Upload {
  readonly body: StoredBlob;
  readonly coding: "zstd" | "none";
  readonly content: Buffer | FileHandle;
  readonly bytes: number;
  readonly sha256_base64: string;
}

type Answer = Pick<GetObjectCommandOutput, "Body" | "Metadata" | "ContentLength">;

/** What was put there by someone else is what it is. */
const metadataOf = ({ Metadata, ContentLength = 0 }: Answer) => ({
  packed: Metadata?.["coding"] === "zstd",
  bytes: Number(Metadata?.["bytes"] ?? ContentLength),
});

/** In whole seconds; of a server that says nothing, now. */
const storedMs = (last_modified: Date | undefined): number => last_modified?.getTime() ?? Date.now();

/** A missing bucket is no missing body, as far as the server says so: not in answers to HEAD, which have no words. */
const isMissing = (problem: unknown): boolean =>
  problem instanceof S3ServiceException &&
  problem.$metadata.httpStatusCode === 404 &&
  !(problem instanceof NoSuchBucket) &&
  problem.name !== "NoSuchBucket";

/** An answer that will not change. */
const isFinal = (problem: unknown): boolean =>
  problem instanceof S3ServiceException && (problem.$metadata.httpStatusCode ?? 500) < 500;

const digestOf = (content: Buffer) => createHash("sha256").update(content).digest();

/** An answer piece by piece; a server that falls silent is a fault of its own, a reader who takes his time is not. */
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
    // Uploads carry the digest of their bytes; another checksum would only be computed beside it.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  // What it would tell nobody it works out anyway, at a tenth of an upload's cost.
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
      // The answer may go on for longer.
      clearTimeout(timer);
    }
  }

  /** Null where there is none. */
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
          // The SDK tries by itself what is in memory; a stream it cannot begin again.
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
      // From here on it has no name, so that nobody need clear it away.
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

  /** What an answer comes to, `wanted` being a part of the whole body, which `answer` holds. */
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
    // Whoever reads hears what went wrong; before that nobody does, and nobody need.
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

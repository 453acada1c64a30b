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
import { AGAIN_MS, type Bodies, type ByteRange, type StoredBody } from "../../ports/blobs.ts";
import { Fault } from "../../ports/fault.ts";
import {
  FIRST_BYTES,
  helps,
  pack,
  packing,
  readPieces,
  slices,
  sourceOf,
  type Source,
  unpack,
  unpacking,
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
const HELD_BYTES = 2 ** 20;
/** Slow readers hold one each. */
const MAX_CONNECTIONS = 256;

/** What the SDK has to say comes as an error, or on the terminal if it is not told otherwise. */
const quiet = (): void => {};
const SILENT = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet };

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
interface Parcel {
  readonly body: StoredBody;
  readonly coding: "zstd" | "none";
  readonly content: Buffer | FileHandle;
  readonly bytes: number;
  readonly sha256_base64: string;
}

type Answer = Pick<GetObjectCommandOutput, "Body" | "Metadata" | "ContentLength">;

/** What was put there by someone else is what it is. */
const describe = ({ Metadata, ContentLength = 0 }: Answer) => ({
  packed: Metadata?.["coding"] === "zstd",
  bytes: Number(Metadata?.["bytes"] ?? ContentLength),
});

/** In whole seconds; of a server that says nothing, now. */
const storedMs = (last_modified: Date | undefined): number => last_modified?.getTime() ?? Date.now();

/** A missing bucket is no missing body, as far as the server says so: not in answers to HEAD, which have no words. */
const missing = (problem: unknown): boolean =>
  problem instanceof S3ServiceException &&
  problem.$metadata.httpStatusCode === 404 &&
  !(problem instanceof NoSuchBucket) &&
  problem.name !== "NoSuchBucket";

/** An answer that will not change. */
const isFinal = (problem: unknown): boolean =>
  problem instanceof S3ServiceException && (problem.$metadata.httpStatusCode ?? 500) < 500;

const digestOf = (content: Buffer) => createHash("sha256").update(content).digest();

/** An answer piece by piece; a server that falls silent is a fault of its own, a reader who takes his time is not. */
async function* steadily(answer: Readable): AsyncGenerator<Buffer> {
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

export function s3Bodies({ bucket, prefix, endpoint, region, credentials, spool }: S3Options): Bodies {
  const client = new S3Client({
    region: region ?? "us-east-1",
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(credentials === undefined ? {} : { credentials }),
    maxAttempts: 3,
    logger: SILENT,
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
  const place = `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`;
  const at = (sha256: string) => ({ Bucket: bucket, Key: prefix === "" ? sha256 : `${prefix}/${sha256}` });

  function fault(what: string, cause: unknown): Fault {
    if (cause instanceof Fault) return cause;
    const status = cause instanceof S3ServiceException ? cause.$metadata.httpStatusCode : undefined;
    const told = status === undefined ? "" : `: it answered ${status}`;
    return new Fault("bodies_unreachable", `Cannot ${what} in "${place}"${told}`, { cause });
  }

  async function reach<T>(
    what: string,
    ask: (signal: AbortSignal) => Promise<T>,
    within_ms = ANSWER_MS,
  ): Promise<T> {
    const patience = new AbortController();
    const timer = setTimeout(
      () => patience.abort(new Error(`There was no answer within ${within_ms / 1_000} s`)),
      within_ms,
    );
    try {
      return await ask(patience.signal);
    } catch (cause) {
      throw fault(what, patience.signal.aborted ? patience.signal.reason : cause);
    } finally {
      // The answer may go on for longer.
      clearTimeout(timer);
    }
  }

  /** Null where there is none. */
  async function find<T>(what: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    return reach(what, (signal) =>
      ask(signal).catch((problem: unknown) => {
        if (missing(problem)) return null;
        throw problem;
      }),
    );
  }

  const look = (sha256: string) =>
    find(`find body "${sha256}"`, (abortSignal) =>
      client.send(new HeadObjectCommand(at(sha256)), { abortSignal }),
    );

  const load = (sha256: string, Range?: string): Promise<Answer | null> =>
    find(`read body "${sha256}"`, (abortSignal) =>
      client.send(new GetObjectCommand({ ...at(sha256), ...(Range === undefined ? {} : { Range }) }), {
        abortSignal,
      }),
    );

  async function upload(parcel: Parcel): Promise<StoredBody> {
    const within_ms = ANSWER_MS + (parcel.bytes / 2 ** 20) * UPLOAD_MS_PER_MB;
    await reach(
      "store a body",
      async (signal) => {
        try {
          await send(parcel, signal);
        } catch (problem) {
          // The SDK tries by itself what is in memory; a stream it cannot begin again.
          if (Buffer.isBuffer(parcel.content) || signal.aborted || isFinal(problem)) throw problem;
          await send(parcel, signal);
        }
      },
      within_ms,
    );
    return parcel.body;
  }

  async function send(
    { body, coding, content, bytes, sha256_base64 }: Parcel,
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

  async function putWhole(content: Buffer): Promise<StoredBody> {
    const digest = digestOf(content);
    const body = { sha256: digest.toString("hex"), bytes: content.length };
    const packed = await pack(content);
    const stored = packed ?? content;
    return upload({
      body,
      coding: packed ? "zstd" : "none",
      content: stored,
      bytes: stored.length,
      sha256_base64: (packed ? digestOf(packed) : digest).toString("base64"),
    });
  }

  async function putSpooled(first: Buffer, source: Source): Promise<StoredBody> {
    const path = join(spool, `trawl-${randomBytes(12).toString("hex")}`);
    const handle = await open(path, "wx+");
    try {
      // From here on it has no name, so that nobody need clear it away.
      await rm(path);
      const parcel = await writeSpool(handle, first, source);
      const there = await look(parcel.body.sha256);
      return there && Date.now() - storedMs(there.LastModified) < AGAIN_MS
        ? parcel.body
        : await upload(parcel);
    } finally {
      await handle.close();
    }
  }

  async function writeSpool(handle: FileHandle, first: Buffer, source: Source): Promise<Parcel> {
    const [plain, stored] = [createHash("sha256"), createHash("sha256")];
    let [bytes, stored_bytes] = [0, 0];
    async function* content(): AsyncGenerator<Buffer> {
      for await (const piece of source.from(first)) {
        plain.update(piece);
        bytes += piece.length;
        yield piece;
      }
    }
    const helped = helps(first);
    for await (const piece of helped ? packing(content()) : content()) {
      if (helped) stored.update(piece);
      stored_bytes += piece.length;
      await handle.writeFile(piece);
    }
    const digest = plain.digest();
    return {
      body: { sha256: digest.toString("hex"), bytes },
      coding: helped ? "zstd" : "none",
      content: handle,
      bytes: stored_bytes,
      sha256_base64: (helped ? stored.digest() : digest).toString("base64"),
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
  async function openWhole(
    sha256: string,
    answer: Answer,
    wanted?: ByteRange,
  ): Promise<AsyncGenerator<Buffer>> {
    const { packed, bytes } = describe(answer);
    const stream = answer.Body as Readable;
    const range = wanted ?? { first: 0, last: bytes - 1 };
    if ((answer.ContentLength ?? Infinity) <= FIRST_BYTES && bytes <= HELD_BYTES) {
      const content = await reach(`read body "${sha256}"`, async () => {
        const stored = Buffer.concat(await Array.fromAsync(steadily(stream)));
        return packed ? unpack(stored, bytes) : stored;
      });
      return slice(content, range);
    }
    // Whoever reads hears what went wrong; before that nobody does, and nobody need.
    stream.on("error", () => {});
    const unread = setTimeout(() => stream.destroy(), UNREAD_MS);
    unread.unref();
    async function* begun(): AsyncGenerator<Buffer> {
      clearTimeout(unread);
      const pieces = steadily(stream);
      yield* packed ? unpacking(Readable.from(pieces, { objectMode: false }), range) : pieces;
    }
    return read(sha256, begun());
  }

  return {
    async put(content) {
      if (Buffer.isBuffer(content) && content.length <= HELD_BYTES) return putWhole(content);
      const source = sourceOf(Buffer.isBuffer(content) ? slices(content) : content);
      try {
        const { first, ended } = await source.readFirst(HELD_BYTES);
        return await (ended ? putWhole(first) : putSpooled(first, source));
      } catch (cause) {
        await source.leave();
        throw source.threw(cause) ? cause : fault("store a body", cause);
      }
    },
    async head(sha256) {
      const there = await look(sha256);
      return there && { bytes: describe(there).bytes };
    },
    async get(sha256, range) {
      const there = range === undefined ? null : await look(sha256);
      if (range !== undefined && !there) return null;
      const parted = there !== null && !describe(there).packed;
      const answer = await load(sha256, parted ? `bytes=${range!.first}-${range!.last}` : undefined);
      return answer && openWhole(sha256, answer, parted ? undefined : range);
    },
    async remove(sha256, stored_before_ms = Infinity) {
      const there = await look(sha256);
      if (!there || storedMs(there.LastModified) >= stored_before_ms) return false;
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

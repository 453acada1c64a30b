/**
 * Blobs in an S3 bucket: `<prefix>/<digest>` holds the bytes, plain or compressed with zstd; the object's metadata says
 * which, and the original size. All keys are on one level, because servers that keep objects as files cannot have a key
 * that is also another key's folder.
 *
 * An upload is one request with a checksum that the server verifies: there are no partial objects and
 * nothing to clean up after a crash. An object has at most 5 GB that way.
 *
 * Removing takes two calls. S3 cannot delete an object on the condition that it is old, so a delete that follows a look at
 * the object's time may hit a body that was stored again in between. The first call therefore copies the object to
 * `<prefix>/aside-<digest>` and deletes it; the copy is read where the object is missing. A later call deletes the
 * copy, which no upload writes, when it is old enough itself and nothing was stored under the digest since.
 *
 * Small bodies that are stored at the same time may share an object (shared-objects.s3.ts). A read asks for the body's place in such an
 * object first while bodies are stored that way, and for an object of its own first while they are not: then it is one request.
 *
 * An object that is wrong is never served whole: a read of all of it proves the digest, of a small one before its first byte, so
 * that another object can be read instead. Storing the body again replaces it, also where an upload is otherwise left out
 * because the object is there.
 *
 * The account needs s3:ListBucket beside reading, writing and deleting: without it S3 answers 403 instead of 404 for a
 * missing object.
 */
import { Readable } from "node:stream";
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
  type Answer,
  type Bucket,
  type BucketOptions,
  isOutOfRange,
  readWithTimeout,
  s3Bucket,
  storedMs,
} from "./bucket.s3.ts";
import { slices, contentSource, decompressWhole, decompressRange } from "./compression.ts";
import {
  isSharable,
  MAX_SHARED_BYTES,
  SHARED,
  sharedObjects,
  type Sharing,
  type UploadKind,
} from "./shared-objects.s3.ts";
import { packedOf, type Upload, upload, uploadOf, withSpooled } from "./uploads.s3.ts";
import { isContentProblem, verified, WrongContent } from "./verify.ts";

/**
 * A response body that the caller does not start to read within this time is destroyed, so that its connection is not
 * lost.
 */
const UNREAD_MS = 30_000;
/** Content up to this size is stored from memory, without a temporary file. */
const MAX_IN_MEMORY_BYTES = 2 ** 20;
/** How many wrong objects are remembered. */
const MAX_DAMAGED = 1_000;

export interface S3Options extends BucketOptions {
  /** Folder for temporary files of content that does not fit into memory. */
  readonly spool: string;
  /** How small bodies share objects. Default: each body is an object of its own. */
  readonly sharing?: Sharing;
  /** Each object that was uploaded. */
  readonly onUpload?: (kind: UploadKind) => void;
}

/** Objects that another program stored have no metadata; they are plain. */
const metadataOf = ({ Metadata, ContentLength = 0 }: Answer) => ({
  packed: Metadata?.["coding"] === "zstd",
  bytes: Number(Metadata?.["bytes"] ?? ContentLength),
});

/** Before the digest of an object that is to be removed. No digest begins like this. */
const ASIDE = "aside-";

/** The object of the mark. No digest begins like this. */
const MARK = "store.json";
/** The rest of the name of an object of ours. */
const OURS = /^(?:[0-9a-f]{16}-)?[0-9a-f]{64}$/;
const HEX_DIGITS = "0123456789abcdef".split("");

/**
 * Where a body may be. Both methods resolve with null where it is not; `get` throws a content problem (verify.ts) when it sees
 * before the first byte that what is stored is wrong.
 */
interface Source {
  readonly head: (sha256: string) => Promise<{ readonly bytes: number } | null>;
  readonly get: (sha256: string, range?: ByteRange) => Promise<AsyncGenerator<Buffer> | null>;
}

/** Objects of one body each. `mark`: before the digest. */
const ownObjects = (bucket: Bucket, mark: string): Source => ({
  async head(sha256) {
    const head = await bucket.head(mark + sha256);
    return head && { bytes: metadataOf(head).bytes };
  },
  async get(sha256, range) {
    const part = range && (await getPart(bucket, mark + sha256, range));
    if (part === null) return null;
    if (part !== undefined && part !== "unfit") return streamed(part);
    const answer = await bucket.get(mark + sha256);
    return answer && openWhole(bucket, sha256, answer, range);
  },
});

/** The part of a plain object, in one request. `unfit`: the object is compressed, or it ends before. */
async function getPart(
  bucket: Bucket,
  name: string,
  { first, last }: ByteRange,
): Promise<Answer | "unfit" | null> {
  try {
    const answer = await bucket.get(name, `bytes=${first}-${last}`);
    if (answer === null || !metadataOf(answer).packed) return answer;
    (answer.Body as Readable).on("error", () => {}).destroy();
    return "unfit";
  } catch (problem) {
    if (isOutOfRange(problem)) return "unfit";
    throw problem;
  }
}

/** From the response with a whole object. */
async function openWhole(
  { reach }: Bucket,
  sha256: string,
  answer: Answer,
  range?: ByteRange,
): Promise<AsyncGenerator<Buffer>> {
  const { packed, bytes } = metadataOf(answer);
  const wanted = range ?? { first: 0, last: bytes - 1 };
  if ((answer.ContentLength ?? Infinity) <= MAX_SHARED_BYTES && bytes <= MAX_IN_MEMORY_BYTES) {
    const stored = await reach(`read body "${sha256}"`, async () =>
      Buffer.concat(await Array.fromAsync(readWithTimeout(answer.Body as Readable))),
    );
    const content = packed ? await decompressWhole(stored, bytes) : stored;
    if (sha256Of(content) !== sha256) throw new WrongContent("The content has another digest");
    return slices(content.subarray(wanted.first, wanted.last + 1));
  }
  const pieces = streamed(answer, packed ? wanted : undefined);
  if (range === undefined) return verified(sha256, pieces);
  if (packed) return pieces;
  (answer.Body as Readable).destroy();
  throw new WrongContent(`The object ends after ${answer.ContentLength} bytes`);
}

/** `packed_range`: the part of a compressed object. */
function streamed(answer: Answer, packed_range?: ByteRange): AsyncGenerator<Buffer> {
  const stream = answer.Body as Readable;
  // The reader gets stream errors from the iterator. An error before it reads must not be unhandled.
  stream.on("error", () => {});
  const unread = setTimeout(() => stream.destroy(), UNREAD_MS);
  unread.unref();
  async function* started(): AsyncGenerator<Buffer> {
    clearTimeout(unread);
    const pieces = readWithTimeout(stream);
    yield* packed_range === undefined
      ? pieces
      : decompressRange(Readable.from(pieces, { objectMode: false }), packed_range);
  }
  return started();
}

/** Content that was found to be wrong, for its reader. */
// oxlint-disable-next-line require-yield -- it only fails
async function* failing(problem: unknown): AsyncGenerator<Buffer> {
  throw problem;
}

export function s3Blobs({ spool, sharing, onUpload = () => {}, ...options }: S3Options): Blobs {
  const bucket = s3Bucket(options);
  /** Digests whose objects were wrong when they were read; stored again, they are uploaded whatever the server says. */
  const damaged = new LRUCache<string, true>({ max: MAX_DAMAGED });

  const shared =
    sharing && sharedObjects({ ...sharing, bucket, onUpload, isDamaged: (sha256) => damaged.has(sha256) });

  async function store(content: Upload): Promise<StoredBlob> {
    await upload(bucket, content);
    onUpload("single");
    damaged.delete(content.body.sha256);
    return content.body;
  }

  /** At most MAX_IN_MEMORY_BYTES. */
  async function storeWhole(content: Buffer): Promise<StoredBlob> {
    const packed = await packedOf(content);
    if (!shared || !isSharable(packed)) return store(uploadOf(packed));
    await shared.put(packed);
    damaged.delete(packed.body.sha256);
    return packed.body;
  }

  async function storeUnlessRecent(spooled: Upload): Promise<StoredBlob> {
    const { sha256 } = spooled.body;
    const existing = await bucket.head(sha256);
    const isRecent =
      existing && !damaged.has(sha256) && Date.now() - storedMs(existing.LastModified) < TOUCH_AFTER_MS;
    // Where the server keeps no checksum, it is uploaded again: equal sizes prove nothing.
    return isRecent && existing.ChecksumSHA256 === spooled.sha256_base64 ? spooled.body : store(spooled);
  }

  async function* read(sha256: string, pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* pieces;
    } catch (cause) {
      if (!isContentProblem(cause)) throw bucket.fault(`read body "${sha256}"`, cause);
      damaged.set(sha256, true);
      throw new Fault("body_damaged", `Cannot read body "${sha256}" in "${bucket.location}"`, { cause });
    }
  }

  const own = ownObjects(bucket, "");
  const removing = ownObjects(bucket, ASIDE);
  /** In the order in which they are asked. After an object that was found to be wrong the place is asked for first. */
  function sourcesOf(sha256: string): readonly Source[] {
    if (!shared) return [own, removing];
    const isOwnFirst = !shared.isLikely(sha256) && !damaged.has(sha256);
    return isOwnFirst ? [own, shared, removing] : [shared, own, removing];
  }

  return {
    async put(content) {
      if (Buffer.isBuffer(content) && content.length <= MAX_IN_MEMORY_BYTES) return storeWhole(content);
      const source = contentSource(Buffer.isBuffer(content) ? slices(content) : content);
      try {
        const { first, ended } = await source.readFirst(MAX_IN_MEMORY_BYTES);
        if (ended) return await storeWhole(first);
        return await withSpooled(spool, first, source, storeUnlessRecent);
      } catch (cause) {
        await source.release();
        throw source.isOwnError(cause) ? cause : bucket.fault("store a body", cause);
      }
    },
    async head(sha256) {
      for (const source of sourcesOf(sha256)) {
        const head = await source.head(sha256);
        if (head) return head;
      }
      return null;
    },
    async get(sha256, range) {
      let problem: unknown = null;
      for (const source of sourcesOf(sha256)) {
        try {
          const pieces = await source.get(sha256, range);
          if (pieces) return read(sha256, pieces);
        } catch (reason) {
          if (!isContentProblem(reason)) throw reason;
          if (source === own) damaged.set(sha256, true);
          problem = reason;
        }
      }
      return problem === null ? null : read(sha256, failing(problem));
    },
    async remove(sha256, stored_before_ms = Infinity) {
      const isOld = (last_modified: Date | undefined): boolean => storedMs(last_modified) < stored_before_ms;
      const place = await shared?.remove(sha256, stored_before_ms);
      if (place === "kept") return false;
      const existing = await bucket.head(sha256);
      if (existing) {
        if (!isOld(existing.LastModified)) return false;
        await bucket.copy(sha256, ASIDE + sha256);
        await bucket.remove(sha256);
        return false;
      }
      const aside = await bucket.head(ASIDE + sha256);
      if (!aside) return place === "removed";
      if (!isOld(aside.LastModified)) return false;
      await bucket.remove(ASIDE + sha256);
      return true;
    },
    async *list(digits) {
      const placed = new Set<string>();
      for await (const { sha256, place } of shared?.list(digits) ?? []) {
        placed.add(sha256);
        yield { sha256, stored_ms: place.stored_ms };
      }
      const aside = new Map<string, ListedBlob>();
      for await (const { name, stored_ms } of bucket.list(ASIDE, digits))
        if (!placed.has(name)) aside.set(name, { sha256: name, stored_ms });
      for await (const { name, stored_ms } of bucket.list("", digits)) {
        aside.delete(name);
        if (!placed.has(name)) yield { sha256: name, stored_ms };
      }
      for (const one of aside.values()) yield { ...one, is_set_aside: true };
    },
    ...(shared && { sweep: shared.sweep }),
    async readMark() {
      const answer = await bucket.get(MARK);
      if (answer === null) return null;
      return bucket.reach("read the mark", async () => {
        const text = Buffer.concat(await Array.fromAsync(readWithTimeout(answer.Body as Readable)));
        return JSON.parse(text.toString()) as StoreMark;
      });
    },
    writeMark: (mark) =>
      bucket.reach("write the mark", (signal) =>
        bucket.put(MARK, { Body: JSON.stringify(mark), ContentType: "application/json" }, signal),
      ),
    async isEmpty() {
      // By the first digit: the bucket may have objects of other programs beside ours.
      for (const mark of ["", ASIDE, SHARED])
        for (const digit of HEX_DIGITS)
          for await (const { name } of bucket.list(mark, digit)) if (OURS.test(name)) return false;
      return true;
    },
    ping: bucket.ping,
    close: bucket.close,
  };
}

/**
 * Bodies as uploads to a bucket. The digest must be known before an upload, so content that does not fit into memory goes through an
 * unlinked temporary file.
 */
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { sha256Of, type StoredBlob } from "../../ports/blobs.ts";
import { ANSWER_MS, type Bucket, isFinal } from "./bucket.s3.ts";
import {
  compressStream,
  compressWhole,
  type ContentSource,
  isCompressible,
  readPieces,
} from "./compression.ts";

const UPLOAD_MS_PER_MB = 1_000;

/** An object with its content in memory or in a file. */
export interface ObjectUpload {
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly content: Buffer | FileHandle;
  readonly bytes: number;
  readonly sha256_base64: string;
}

/** The object of one body. */
export interface Upload extends ObjectUpload {
  readonly body: StoredBlob;
}

/** A body in memory as it is stored. */
export interface Packed {
  readonly body: StoredBlob;
  readonly stored: Buffer;
  readonly is_packed: boolean;
}

/** Uploads with a checksum that the server verifies; a stream is sent once more when its first try fails. */
export async function upload(bucket: Bucket, request: ObjectUpload): Promise<void> {
  const within_ms = ANSWER_MS + (request.bytes / 2 ** 20) * UPLOAD_MS_PER_MB;
  await bucket.reach(
    "store a body",
    async (signal) => {
      if (await sendQuickly(bucket, request, signal)) return;
      try {
        await send(bucket, request, signal);
      } catch (problem) {
        // The SDK retries content in memory by itself, but it cannot rewind a stream.
        if (Buffer.isBuffer(request.content) || signal.aborted || isFinal(problem)) throw problem;
        await send(bucket, request, signal);
      }
    },
    within_ms,
  );
}

/** Whether it was stored. */
async function sendQuickly(
  bucket: Bucket,
  { name, metadata, content, sha256_base64 }: ObjectUpload,
  signal: AbortSignal,
): Promise<boolean> {
  if (!Buffer.isBuffer(content)) return false;
  const headers: Record<string, string> = {
    "content-type": "application/octet-stream",
    "x-amz-checksum-sha256": sha256_base64,
  };
  for (const [key, value] of Object.entries(metadata)) headers[`x-amz-meta-${key}`] = value;
  return bucket.putQuickly(name, { content, sha256: sha256Of(content), headers }, signal);
}

async function send(
  bucket: Bucket,
  { name, metadata, content, bytes, sha256_base64 }: ObjectUpload,
  signal: AbortSignal,
): Promise<void> {
  const Body = Buffer.isBuffer(content)
    ? content
    : Readable.from(readPieces(content, { first: 0, last: bytes - 1 }), { objectMode: false });
  const object = {
    Body,
    ContentLength: bytes,
    ContentType: "application/octet-stream",
    ChecksumSHA256: sha256_base64,
    Metadata: { ...metadata },
  };
  try {
    await bucket.put(name, object, signal);
  } finally {
    if (Body instanceof Readable) Body.destroy();
  }
}

export async function packedOf(content: Buffer): Promise<Packed> {
  const body = { sha256: sha256Of(content), bytes: content.length };
  const packed = await compressWhole(content);
  return { body, stored: packed ?? content, is_packed: packed !== null };
}

const metadataOf = ({ bytes }: StoredBlob, is_packed: boolean): ObjectUpload["metadata"] => ({
  coding: is_packed ? "zstd" : "none",
  bytes: String(bytes),
});

export const uploadOf = ({ body, stored, is_packed }: Packed): Upload => ({
  body,
  ...uploadOfBuffer(body.sha256, stored, metadataOf(body, is_packed)),
});

export const uploadOfBuffer = (
  name: string,
  content: Buffer,
  metadata: ObjectUpload["metadata"],
): ObjectUpload => ({
  name,
  metadata,
  content,
  bytes: content.length,
  sha256_base64: Buffer.from(sha256Of(content), "hex").toString("base64"),
});

/** `use` has the upload while its temporary file is there. */
export async function withSpooled<T>(
  spool: string,
  first: Buffer,
  source: ContentSource,
  use: (spooled: Upload) => Promise<T>,
): Promise<T> {
  const path = join(spool, `trawl-${randomBytes(12).toString("hex")}`);
  const handle = await open(path, "wx+");
  try {
    // Unlinked while open: the file disappears with the process.
    await rm(path);
    return await use(await writeSpool(handle, first, source));
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
  const body = { sha256: digest.toString("hex"), bytes };
  return {
    body,
    name: body.sha256,
    metadata: metadataOf(body, compressed),
    content: handle,
    bytes: stored_bytes,
    sha256_base64: (compressed ? stored.digest() : digest).toString("base64"),
  };
}

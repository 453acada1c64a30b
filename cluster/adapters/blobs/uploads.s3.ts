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

/** The content of one upload, in memory or in a file. */
export interface Upload {
  readonly body: StoredBlob;
  readonly coding: "zstd" | "none";
  readonly content: Buffer | FileHandle;
  readonly bytes: number;
  readonly sha256_base64: string;
}

/** Uploads with a checksum that the server verifies; a stream is sent once more when its first try fails. */
export async function upload(bucket: Bucket, request: Upload): Promise<StoredBlob> {
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
  return request.body;
}

/** Whether it was stored. */
async function sendQuickly(
  bucket: Bucket,
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
  return bucket.putQuickly(body.sha256, { content, sha256: sha256Of(content), headers }, signal);
}

async function send(
  bucket: Bucket,
  { body, coding, content, bytes, sha256_base64 }: Upload,
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
    Metadata: { coding, bytes: String(body.bytes) },
  };
  try {
    await bucket.put(body.sha256, object, signal);
  } finally {
    if (Body instanceof Readable) Body.destroy();
  }
}

export async function uploadOf(content: Buffer): Promise<Upload> {
  const body = { sha256: sha256Of(content), bytes: content.length };
  const packed = await compressWhole(content);
  const stored = packed ?? content;
  return {
    body,
    coding: packed ? "zstd" : "none",
    content: stored,
    bytes: stored.length,
    sha256_base64: Buffer.from(sha256Of(stored), "hex").toString("base64"),
  };
}

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
  return {
    body: { sha256: digest.toString("hex"), bytes },
    coding: compressed ? "zstd" : "none",
    content: handle,
    bytes: stored_bytes,
    sha256_base64: (compressed ? stored.digest() : digest).toString("base64"),
  };
}

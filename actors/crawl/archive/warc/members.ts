/**
 * Records as gzip members, one each, in constant memory. The input of a member is cut into pieces of one size, so that its bytes
 * depend on the record alone, and not on how the store gives a body.
 */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { WarcRecord } from "./record.ts";

const PIECE_BYTES = 65_536;
const END = Buffer.from("\r\n\r\n");

/** Part of this program that the members depend on beside the records. */
export const COMPRESSED_BY = `zlib ${process.versions["zlib"]}`;

/** Throws Fault, also where a body is lost. */
export async function* memberOf(record: WarcRecord, blobs: Pick<Blobs, "get">): AsyncGenerator<Buffer> {
  const gzip = createGzip();
  const written = pipeline(Readable.from(inPieces(bytesOf(record, blobs))), gzip);
  // The reader below meets the same failure; this promise is awaited after it.
  written.catch(() => {});
  for await (const piece of gzip) yield piece as Buffer;
  await written;
}

async function* bytesOf({ head, block }: WarcRecord, blobs: Pick<Blobs, "get">): AsyncGenerator<Buffer> {
  yield head;
  for (const part of block) {
    if (Buffer.isBuffer(part)) yield part;
    else yield* await storedBody(part.sha256, blobs);
  }
  yield END;
}

async function storedBody(sha256: string, blobs: Pick<Blobs, "get">): Promise<AsyncIterable<Buffer>> {
  const body = await blobs.get(sha256);
  if (body === null)
    throw new Fault("body_damaged", `Cannot write the body "${sha256}" of an archive: it is not there`);
  return body;
}

async function* inPieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let bytes = 0;
  for await (const piece of source) {
    for (let from = 0; from < piece.length;) {
      const taken = piece.subarray(from, from + PIECE_BYTES - bytes);
      held.push(taken);
      bytes += taken.length;
      from += taken.length;
      if (bytes < PIECE_BYTES) continue;
      yield Buffer.concat(held);
      held = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(held);
}

/** A stored body as one buffer, for callers that need all of its bytes at once. Its digest is proved (ports/blobs.ts). */
import type { Blobs } from "./ports/blobs.ts";
import { Fault } from "./ports/fault.ts";

/** Null when there is no such body. Throws Fault "bodies_unreachable", "body_damaged". */
export async function findBody(blobs: Blobs, sha256: string): Promise<Buffer | null> {
  const pieces = await blobs.get(sha256);
  if (pieces === null) return null;
  const read = await Array.fromAsync(pieces);
  return read.length === 1 ? read[0]! : Buffer.concat(read);
}

/** The body that a record names: when it is not there the store has lost it, which is Fault "body_damaged", too. */
export async function readBody(blobs: Blobs, sha256: string): Promise<Buffer> {
  const body = await findBody(blobs, sha256);
  if (body === null) throw new Fault("body_damaged", `Cannot read body "${sha256}": it is not there`);
  return body;
}

/**
 * Calls between nodes as JSON. Bytes in the fields of a reply travel inline up to MAX_INLINE_BYTES, above that through
 * the body store; within a process they are passed by reference and never come here.
 */
import { findBody } from "./read-body.ts";
import type { Blobs } from "./ports/blobs.ts";
import { Fault } from "./ports/fault.ts";

/** In base64 with the other fields of a page, this still fits into a message of 256 KB. */
export const MAX_INLINE_BYTES = 160 * 1024;

/** Bytes of replies that came through the body store. */
const storedBytes = new WeakSet<Buffer>();

/** Whether these bytes of a reply were stored by the node that sent it, and read from the body store just now. */
export const wasReadFromStore = (bytes: Buffer): boolean => storedBytes.has(bytes);

type WireBytes = { readonly $inline: string } | { readonly $stored: string };

export async function encodeReply(reply: unknown, blobs: Blobs): Promise<unknown> {
  if (reply === null || typeof reply !== "object") return reply;
  const entries = Object.entries(reply).map(async ([name, value]) => [
    name,
    Buffer.isBuffer(value) ? await encodeBytes(value, blobs) : value,
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

async function encodeBytes(bytes: Buffer, blobs: Blobs): Promise<WireBytes> {
  if (bytes.length <= MAX_INLINE_BYTES) return { $inline: bytes.toString("base64") };
  return { $stored: (await blobs.put(bytes)).sha256 };
}

/** Throws Fault bodies_unreachable, body_damaged. */
export async function decodeReply(reply: unknown, blobs: Blobs): Promise<unknown> {
  if (reply === null || typeof reply !== "object") return reply;
  const entries = Object.entries(reply).map(async ([name, value]: [string, unknown]) => [
    name,
    isWireBytes(value) ? await decodeBytes(value, blobs) : value,
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

const isWireBytes = (value: unknown): value is WireBytes =>
  typeof value === "object" && value !== null && ("$inline" in value || "$stored" in value);

async function decodeBytes(bytes: WireBytes, blobs: Blobs): Promise<Buffer> {
  if ("$inline" in bytes) return Buffer.from(bytes.$inline, "base64");
  const body = await findBody(blobs, bytes.$stored);
  if (body === null)
    throw new Fault("body_damaged", `Cannot read the body "${bytes.$stored}" of a reply: it is not there`);
  storedBytes.add(body);
  return body;
}

/** Imports as they are stored: whose they are, their names, and the bytes of their files. */
import { hash } from "node:crypto";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { readBody } from "../../../../cluster/read-body.ts";
import { SERVICE } from "../captures.ts";
import { ARCHIVE_IMPORTS, type StoredImport } from "../collections.ts";

export const MAX_FILE_BYTES = 4 * 2 ** 30;
/** A file arrives in parts, each of which is in memory while it arrives. */
export const MAX_PART_BYTES = 8 * 2 ** 20;
export const MAX_PARTS = 10_000;
/** A file whose upload stands still for longer is forgotten. */
export const UPLOAD_TTL_MS = 7 * 24 * 60 * 60_000;

export const ownerOf = ({ project, is_shared }: Pick<StoredImport, "project" | "is_shared">): string =>
  is_shared ? SERVICE : project;
export const importKey = (owner: string, id: string): string => `${owner} ${id}`;
/** Importing the same file for the same owner again is the same import. */
export const importId = (owner: string, sha256: string): string =>
  `arc_${hash("sha256", `${owner} ${sha256}`, "hex").slice(0, 16)}`;

export const receivedBytes = ({ parts }: Pick<StoredImport, "parts">): number =>
  parts.reduce((sum, { bytes }) => sum + bytes, 0);

/** Holder of the parts of the file until it is read; the next one holds the captures. */
export const partsHolder = (key: string): string => `import parts ${key}`;
export const capturesHolder = (key: string): string => `import ${key}`;

/** The import of this id that the project may see: its own, or one that serves every project. Throws Fault. */
export async function findImport(
  documents: Pick<Documents, "get">,
  project: string,
  id: string,
): Promise<{ readonly key: string; readonly stored: StoredImport } | null> {
  for (const owner of [project, SERVICE]) {
    const key = importKey(owner, id);
    const stored = await ARCHIVE_IMPORTS.get(documents, key);
    if (stored !== null && stored.state !== "deleted") return { key, stored };
  }
  return null;
}

/** The bytes of the file from `first` on, `length` of them at most. Throws Fault. */
export async function* fileBytes(
  blobs: Blobs,
  parts: StoredImport["parts"],
  first: number,
  length = Infinity,
): AsyncGenerator<Buffer> {
  let at = 0;
  let left = length;
  for (const { sha256, bytes } of parts) {
    const [from, to] = [Math.max(0, first - at), Math.min(bytes, first - at + length)];
    at += bytes;
    if (from >= to || left <= 0) continue;
    if (from === 0 && to === bytes) yield await readBody(blobs, sha256);
    else {
      const pieces = await blobs.get(sha256, { first: from, last: to - 1 });
      if (pieces === null) throw new Fault("body_damaged", `Cannot read part "${sha256}": it is not there`);
      yield* pieces;
    }
    left -= to - from;
  }
}

/** The checksum that is stored beside a document's JSON and compared when it is read. */
import { crc32 } from "node:zlib";
import type { DocumentPlace, Versioned } from "../../ports/documents.ts";
import { Fault } from "../../ports/fault.ts";

/** CRC-32 of the UTF-8 of a document: it finds bits that flipped on a disk or on the way, not a row that was forged. */
export const checksumOf = (json: string): number => crc32(json);

/** A document of an earlier version has no checksum and is as it is. No document is without a text. */
export const isSound = (json: unknown, checksum: unknown): json is string =>
  typeof json === "string" &&
  (checksum === null || checksum === undefined ? isJson(json) : Number(checksum) === checksumOf(json));

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** As it was stored. Throws Fault "document_damaged". */
export function readVersioned(
  { collection, key }: DocumentPlace,
  json: unknown,
  version: number,
  checksum: unknown,
): Versioned {
  if (!isSound(json, checksum))
    throw new Fault(
      "document_damaged",
      `Cannot read document "${collection}/${key}": it is not what was stored (document_damaged in the runbook)`,
    );
  return { version, value: JSON.parse(json) as unknown };
}

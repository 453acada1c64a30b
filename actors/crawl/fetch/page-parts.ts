/** The stored parts of a page, one at a time: its formats, its text. All parts of an answer together: answer.ts. */
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import { readBody } from "../../../cluster/read-body.ts";
import type { PageFormats, PageRecord } from "../../../schemas/fetch.ts";

/** Null: none were asked for, or the document has none. Throws Fault. */
export async function formatsOf(
  blobs: Blobs,
  { formats_sha256 }: Pick<PageRecord, "formats_sha256">,
): Promise<PageFormats | null> {
  if (!formats_sha256) return null;
  return JSON.parse((await readBody(blobs, formats_sha256)).toString()) as PageFormats;
}

/** Throws Fault. */
export async function textOf(
  blobs: Blobs,
  { text, text_sha256 }: Pick<PageRecord, "text" | "text_sha256">,
): Promise<string> {
  if (text !== null || text_sha256 === null) return text ?? "";
  return (await readBody(blobs, text_sha256)).toString();
}

/**
 * A document seen from the process that has it read: which task reads it, and its record where none did. This process loads
 * nothing that reads.
 */
import { isOfficeKind } from "../../schemas/fetch.ts";
import type { tasks } from "./extract.ts";
import { type Extracted, type ExtractTask, NOTHING } from "./extraction-result.ts";

/** Pages above this size are read apart: at 20 to 70 MB/s smaller ones take a tenth of a second, these up to seconds. */
const LARGE_PAGE_BYTES = 2 ** 20;

/** The worker pool of a document: neither a slow PDF nor a large page delays an ordinary page. */
export function taskOf({
  kind,
  bytes,
}: Pick<ExtractTask, "kind" | "bytes">): Exclude<keyof typeof tasks, "pdf_page"> {
  if (kind === "pdf") return "pdf";
  if (isOfficeKind(kind)) return "office";
  return bytes.length > LARGE_PAGE_BYTES ? "large_page" : "page";
}

/**
 * The record of a document whose task timed out or crashed: made in the service's own process from headers and bytes alone, in
 * at most 0.1 s for 50 MB. The detection of encodings is loaded by the first of them: it takes 5 MB of heap.
 */
export async function cutOff(task: Omit<ExtractTask, "now_ms">, reason: string): Promise<Extracted> {
  const { charsetOf } = await import("./content/charset.ts");
  const note = `Cannot read the document: ${reason}`;
  return { ...NOTHING, charset: charsetOf(task), pdf_pages: task.kind === "pdf" ? [] : null, note };
}

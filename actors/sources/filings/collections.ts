/** Collections of the filing system. */
import { collection } from "../../../cluster/collection.ts";
import type { FilingText } from "../../../schemas/filings.ts";
import type { CachedDocument } from "../upstream/document-cache.ts";
import type { SlotRecord } from "../upstream/slots.ts";
import type { PageEntry } from "./submissions.ts";

/** By egress. */
export const FILING_SLOTS = collection<SlotRecord>("filing_slots");
/** By the digest of the address. */
export const FILING_DOCUMENTS = collection<CachedDocument>("filing_documents", {
  expires: true,
  rebuildable: true,
});
/** By what is read and how (text.actor.ts). */
export const FILING_TEXTS = collection<FilingText>("filing_texts", { expires: true });
/** The entry each page of older filings had when the page was read, by the page's name. */
export const SUBMISSIONS_FILES = collection<PageEntry>("submissions_files", { expires: true });

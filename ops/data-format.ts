/**
 * The format version of stored data: a number in the document `format/data`. A store of another format is refused at
 * start, so that a version never misreads what another one wrote. DATA_FORMAT increases when the names or shapes of
 * stored documents change; there are no migrations yet.
 */
import type { Documents } from "../cluster/ports/documents.ts";

/** 1: the collections and fields since the data of version 0.1.0, which had no format number. */
/** 2: accounts by customer, project and key; a customer's budget; a job's quota. */
/** 3: the failures of a domain by scope. */
export const DATA_FORMAT = 3;

const COLLECTION = "format";
const KEY = "data";

/** Thrown at start with a sentence for the operator. */
export class DataFormatError extends Error {
  override readonly name = "DataFormatError";
}

/** Writes the number to an empty store. Throws DataFormatError when the store has another format, or data without a number. */
export async function assertDataFormat(documents: Documents, place: string): Promise<void> {
  const stored = (await formatOf(documents)) ?? (await writeFormat(documents));
  if (stored === DATA_FORMAT) return;
  throw new DataFormatError(
    `Cannot use the data in ${place}: it has ${stored === null ? "no format number, as version 0.1.0 left it" : `format ${stored}`}, ` +
      `and this version reads format ${DATA_FORMAT}. Start the version that wrote it, or start with an empty store: ` +
      "another TRAWL_DATA_DIR, or another database in TRAWL_DOCUMENTS",
  );
}

async function formatOf(documents: Documents): Promise<number | null> {
  const stored = await documents.get(COLLECTION, KEY);
  return stored === null ? null : (stored.value as { readonly format: number }).format;
}

/** The format that stands there afterwards; null: the store has data and no number. */
async function writeFormat(documents: Documents): Promise<number | null> {
  if (await documents.isEmpty()) await documents.put(COLLECTION, KEY, { format: DATA_FORMAT }, 0);
  // Another node may have written the number and its first documents meanwhile.
  return formatOf(documents);
}

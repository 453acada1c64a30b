/**
 * Makes the search index from the stored companies: where its file was lost or set aside, and where an earlier version made it with other keys. It
 * runs beside requests and notes how far it came, so that a restart goes on there. Companies that change meanwhile are put by the change
 * feed, with a later version.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { type CompanyIndex, INDEX_LAYOUT, indexedCompany } from "./search-index.ts";
import { COMPANIES } from "./stored-company.ts";

const LISTED_AT_ONCE = 100;

/** Answers how many companies were put into it. Throws Fault. */
export async function rebuildIndex(
  documents: Pick<Documents, "list">,
  index: Pick<CompanyIndex, "put" | "readState" | "writeState">,
): Promise<number> {
  const state = await index.readState();
  const isOfLayout = state?.layout === INDEX_LAYOUT;
  if (isOfLayout && state.through === null) return 0;
  let count = 0;
  let through: string | null = isOfLayout ? state.through : "";
  while (through !== null) {
    const page = await COMPANIES.list(documents, { from: `${through}\0`, limit: LISTED_AT_ONCE });
    const companies = page.map(({ value }) => value);
    // A company that was merged into another is found by the other.
    const found = companies.filter(({ merged_into }) => merged_into === null);
    await index.put(found.map(indexedCompany));
    count += found.length;
    through = page.length < LISTED_AT_ONCE ? null : page.at(-1)!.key;
    await index.writeState({ layout: INDEX_LAYOUT, through });
  }
  return count;
}

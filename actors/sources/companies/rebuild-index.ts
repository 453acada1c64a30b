/** Makes the search index again from the stored companies, where it is empty: its file was lost, or damaged and set aside. */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { type CompanyIndex, indexedCompany } from "./search-index.ts";
import { COMPANIES } from "./stored-company.ts";

const LISTED_AT_ONCE = 100;

/** Answers how many companies were put into it. Throws Fault. */
export async function rebuildIndex(
  documents: Pick<Documents, "list">,
  index: Pick<CompanyIndex, "put" | "size">,
): Promise<number> {
  if ((await index.size()) > 0) return 0;
  let count = 0;
  for (let from: string | null = ""; from !== null;) {
    const page = await COMPANIES.list(documents, { from, limit: LISTED_AT_ONCE });
    const companies = page.map(({ value }) => value);
    // One that was merged into another is found by that one.
    const found = companies.filter(({ merged_into }) => merged_into === null);
    await Promise.all(found.map((company) => index.put(indexedCompany(company))));
    count += found.length;
    from = page.length < LISTED_AT_ONCE ? null : `${page.at(-1)!.key}\0`;
  }
  return count;
}

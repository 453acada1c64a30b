/**
 * The state of the register, company by company, for a reader that then goes on with the change feed: first what is stored, then
 * what only imports know, source by source.
 */
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Imports } from "../imports/imported-company.ts";
import { IMPORTED_SOURCES } from "../imports/imported-sources.ts";
import { storedAmong } from "../imports/index-imported.ts";
import { type CompanyEntry, indexedCompany } from "../search-index.ts";
import { COMPANIES } from "../stored-company.ts";

/** `source` null: stored companies. `after`: the last id, or the last number at the source. */
export interface BaselinePlace {
  readonly source: string | null;
  readonly after: string;
}

export const START: BaselinePlace = { source: null, after: "" };

interface BaselineDeps {
  readonly documents: Documents;
  readonly imports: Pick<Imports, "entriesAfter">;
}

const SOURCE_NAMES = IMPORTED_SOURCES.map(({ source }) => source);

/** Reads the companies after a place, at most `limit`; `next` null: there are no more. Throws Fault. */
export async function readBaseline(
  { documents, imports }: BaselineDeps,
  { source, after }: BaselinePlace,
  limit: number,
): Promise<{ readonly companies: readonly CompanyEntry[]; readonly next: BaselinePlace | null }> {
  const behind = (): BaselinePlace | null => {
    const next = SOURCE_NAMES[source === null ? 0 : SOURCE_NAMES.indexOf(source) + 1];
    return next === undefined ? null : { source: next, after: "" };
  };
  if (source === null) {
    const page = await COMPANIES.list(documents, { limit, ...(after !== "" && { from: `${after}\0` }) });
    const companies = page.filter(({ value }) => value.merged_into === null);
    return {
      companies: companies.map(({ value }) => indexedCompany(value)),
      next: page.length < limit ? behind() : { source, after: page.at(-1)!.key },
    };
  }
  const { entries, last } = await imports.entriesAfter(source, after, limit);
  const stored = await storedAmong(documents, entries);
  return {
    companies: entries.filter((entry) => !stored.has(entry)),
    next: last === null ? behind() : { source, after: last },
  };
}

/** Companies of imports in the search index. One that is stored is not among them: the change feed indexes its record. */
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { CompanyIndex } from "../search-index.ts";
import { COMPANIES, ownersOf } from "../stored-company.ts";
import type { CompanyEntry } from "./entry.ts";
import type { EntryChanges, Imports } from "./imported-company.ts";

interface IndexImportedDeps {
  readonly documents: Documents;
  readonly index: Pick<CompanyIndex, "put" | "remove">;
}

/** Throws Fault. */
export async function indexImported(
  { documents, index }: IndexImportedDeps,
  entries: readonly CompanyEntry[],
): Promise<void> {
  const references = entries.flatMap(({ identifiers }) => identifiers);
  const owners = await ownersOf(documents, references);
  const ids = [...new Set(owners.flatMap((id) => id ?? []))];
  const stored = await COMPANIES.getMany(documents, ids);
  const isStored = new Set(ids.filter((_, at) => stored[at] !== null));
  const taken = new Set(references.filter((_, at) => isStored.has(owners[at] ?? "")));
  await index.put(entries.filter(({ identifiers }) => !identifiers.some((each) => taken.has(each))));
}

/** What a file changed. The entry of a company that is stored is its record's. Throws Fault. */
export async function indexChanges(
  deps: IndexImportedDeps,
  { entries, removed }: EntryChanges,
): Promise<void> {
  const stored = await COMPANIES.getMany(deps.documents, removed);
  await deps.index.remove(removed.filter((_, at) => stored[at] === null));
  await indexImported(deps, entries);
}

/** For an index that was lost or has other keys. Throws Fault. */
export async function indexAllImported(
  deps: IndexImportedDeps,
  imports: Imports,
  sources: readonly { readonly source: string }[],
): Promise<void> {
  for (const { source } of sources)
    for await (const entries of imports.entriesOf(source, "")) await indexImported(deps, entries);
}

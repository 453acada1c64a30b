/** Companies of imports in the search index. One that is stored is not among them: the change feed indexes its record. */
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { CompanyIndex } from "../search-index.ts";
import { COMPANIES, ownersOf } from "../stored-company.ts";
import type { CompanyEntry } from "./entry.ts";
import type { EntryChanges, Imports } from "./imported-company.ts";

interface IndexImportedDeps {
  readonly documents: Documents;
  readonly index: Pick<CompanyIndex, "put" | "remove">;
  /** Has a stored company take what imports know of it. Default: its next refresh does. */
  readonly onStored?: (company_id: string) => Promise<void>;
}

/** Which of these companies are stored, each with the id that it is stored under. Throws Fault. */
export async function storedAmong<Entry extends Pick<CompanyEntry, "id" | "identifiers">>(
  documents: Documents,
  entries: readonly Entry[],
): Promise<ReadonlyMap<Entry, string>> {
  const references = [...new Set(entries.flatMap(({ identifiers }) => identifiers))];
  const owners = await ownersOf(documents, references);
  const ids = [...new Set([...owners.flatMap((id) => id ?? []), ...entries.map(({ id }) => id)])];
  const stored = await COMPANIES.getMany(documents, ids);
  const isStored = new Set(ids.filter((_, at) => stored[at] !== null));
  const ownerOf = new Map(references.map((reference, at) => [reference, owners[at] ?? ""]));
  return new Map(
    entries.flatMap((entry): [Entry, string][] => {
      const found = [entry.id, ...entry.identifiers.map((each) => ownerOf.get(each) ?? "")];
      const id = found.find((each) => isStored.has(each));
      return id === undefined ? [] : [[entry, id]];
    }),
  );
}

/** Throws Fault. */
export async function indexImported(
  { documents, index, onStored = async () => {} }: IndexImportedDeps,
  entries: readonly CompanyEntry[],
): Promise<void> {
  const stored = await storedAmong(documents, entries);
  await index.put(entries.filter((entry) => !stored.has(entry)));
  for (const id of new Set(stored.values())) await onStored(id);
}

/** Puts the changes of a file into the index. The entry of a company that is stored is its record's. Throws Fault. */
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

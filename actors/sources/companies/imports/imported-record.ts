/** The record of a company with what imports know of it, made when it is read: only a refresh, a merge or a watch stores it. Pure. */
import { type Knowledge, materialise } from "../apply-answers.ts";
import type { Source } from "../source.ts";
import type { Checks, LoadedCompany, StoredCompany } from "../stored-company.ts";
import type { ImportedCompany, ImportedGroup } from "./imported-company.ts";
import { withImported } from "./imported.ts";

interface RecordDeps {
  readonly sources: readonly Source[];
  readonly now_ms: number;
}

/** The record of a company of which nothing else is stored; null: its rows have no name. */
export function importedRecord(
  { id, groups }: Pick<ImportedCompany, "id" | "groups">,
  { sources, now_ms }: RecordDeps,
): { readonly company: StoredCompany; readonly checks: Checks } | null {
  const known = withImported<Knowledge>(id, { groups: [], people: [], checks: {} }, groups);
  const company = materialise(null, id, known, [], { sources, epoch: 0, now_ms });
  if (company === null) return null;
  const times = groups.map(({ at_ms }) => at_ms);
  const [created_ms, updated_ms] = [Math.min(...times), Math.max(...times)];
  // Each version of a row of its own is one of the company, as in the change feed.
  const version = groups.filter(({ group }) => group === "core").length;
  return {
    company: { ...company, version, created_ms, updated_ms, written_ms: updated_ms, outbox: [] },
    checks: known.checks,
  };
}

/** A stored company as its readers see it. The same object: imports have nothing newer. */
export function withImportedGroups(
  loaded: LoadedCompany,
  aliases: readonly StoredCompany[],
  imported: readonly ImportedGroup[],
  { sources, now_ms }: RecordDeps,
): LoadedCompany {
  const company = loaded.company.value;
  if (company === null || imported.length === 0) return loaded;
  const before: Knowledge = {
    groups: company.groups,
    people: loaded.people.value?.groups ?? [],
    checks: loaded.checks.value ?? {},
  };
  const known = withImported(company.id, before, imported);
  const { version, outbox, updated_ms, written_ms, epoch } = company;
  const seen = materialise(company, company.id, known, aliases, { sources, epoch, now_ms })!;
  return {
    ...loaded,
    company: { ...loaded.company, value: { ...seen, version, outbox, updated_ms, written_ms } },
    checks: { ...loaded.checks, value: known.checks },
  };
}

/**
 * Changes by imports of companies that only imports know, for the change feed. The rows of an import are its outbox: the sequencer goes
 * through them in the order of their keys and stores how far it is with each batch, so that a crash neither loses nor doubles a
 * change. The first whole file of a kind is one entry. Changes of a stored company come from the company's own outbox.
 */
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { ImportPosition, StoredBaseline, StoredChange } from "../feed/changes.ts";
import type { ImportKind } from "./import-kind.ts";
import type { Imports } from "./imported-company.ts";
import { storedAmong } from "./index-imported.ts";
import type { ImportRun, ImportStore } from "./store.ts";

/** The sequencer gives it its number and time. */
type Unnumbered<Entry> = Omit<Entry, "seq" | "changed_ms">;

export interface ImportedBatch {
  readonly entries: readonly (Unnumbered<StoredChange> | Unnumbered<StoredBaseline>)[];
  /** After these entries. */
  readonly position: ImportPosition;
}

/** Answers the batch behind this position; null: every import that has ended is in the feed. Throws Fault. */
export type ImportedChanges = (position: ImportPosition) => Promise<ImportedBatch | null>;

interface ImportedChangesDeps {
  readonly documents: Documents;
  readonly store: ImportStore;
  readonly imports: Pick<Imports, "changesOfRows">;
  readonly kinds: readonly ImportKind[];
}

/** Rows that are looked at for one batch of the feed. */
const ROWS_AT_ONCE = 500;

/** Numbers of runs that are looked at together: each batch of the feed looks again. */
const RUNS_AT_ONCE = 50;

export const isBaseline = ({ is_baseline, is_full }: ImportRun): boolean => is_baseline ?? is_full;

export function importedChanges({ documents, store, imports, kinds }: ImportedChangesDeps): ImportedChanges {
  async function nextRun({ through_run, later_runs, current }: ImportPosition): Promise<ImportRun | null> {
    if (current !== null) return store.run(current.run);
    const [newest] = await store.runs(1);
    const ended = new Set(later_runs);
    // Oldest first; a page is so many numbers.
    for (let through = through_run; newest && through < newest.run; through += RUNS_AT_ONCE) {
      const page = await store.runs(RUNS_AT_ONCE, through + RUNS_AT_ONCE + 1);
      const waiting = page.filter(
        ({ run, state }) => run > through && state !== "running" && !ended.has(run),
      );
      if (waiting.length > 0) return waiting.at(-1)!;
    }
    return null;
  }

  return async (position) => {
    const run = await nextRun(position);
    if (run === null) return null;
    const kind = kinds.find(({ name }) => name === run.kind);
    const ended = withEnded(position, run.run);
    if (isBaseline(run) || kind === undefined)
      return { entries: isBaseline(run) && run.state === "done" ? [baselineOf(run)] : [], position: ended };
    const rows = await store.scan(run.kind, position.current?.after ?? "", ROWS_AT_ONCE);
    const written = rows.filter((row) => (row.changed_run ?? row.run) === run.run);
    const changes = await imports.changesOfRows(kind, written);
    const companies = changes.map((change) => ({ ...change, id: change.company_id }));
    const stored = await storedAmong(documents, companies);
    const entries = companies
      .filter((company) => !stored.has(company))
      .map(({ company_id, type, fields, version, countries }): Unnumbered<StoredChange> => ({
        company_id,
        type,
        fields,
        version,
        countries,
        merged_into: null,
        is_imported: true,
      }));
    const isLast = rows.length < ROWS_AT_ONCE;
    return {
      entries,
      position: isLast ? ended : { ...position, current: { run: run.run, after: rows.at(-1)!.key } },
    };
  };
}

function baselineOf({ source, kind, run, counts, publish_ms }: ImportRun): Unnumbered<StoredBaseline> {
  const { created, changed, unchanged, renewed, older } = counts;
  const rows = created + changed + unchanged + renewed + older;
  return { type: "baseline", source, kind, run, rows, publish_ms };
}

function withEnded({ through_run, later_runs }: ImportPosition, run: number): ImportPosition {
  const ended = new Set([...later_runs, run]);
  let through = through_run;
  while (ended.delete(through + 1)) through++;
  return { through_run: through, later_runs: [...ended], current: null };
}

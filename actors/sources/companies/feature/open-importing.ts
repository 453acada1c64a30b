/** Imports of whole sources as a part of the register: their actor, the operator's routes, and what wakes them. */
import { join, resolve } from "node:path";
import type { Egress } from "../../../../cluster/ports/egress.ts";
import { sleep } from "../../../../cluster/ports/clock.ts";
import type { JoinedNode } from "../../../../node/feature.ts";
import { COMPANY_FEED_KEY, CompanyFeed, CompanyImport } from "../../../../schemas/companies.ts";
import { downloadFile } from "../imports/adapters/download-file.ts";
import { importFiles } from "../imports/adapters/unpack-file.ts";
import { importActor } from "../imports/import.actor.ts";
import type { EntryChanges, Imports } from "../imports/imported-company.ts";
import { storedReferences } from "../imports/imported.ts";
import { IMPORT_KINDS, IMPORTED_SOURCES } from "../imports/imported-sources.ts";
import { scheduleOf } from "../imports/schedule.ts";
import { scheduledImports } from "../imports/scheduled-imports.ts";
import type { ImportRun, ImportStore } from "../imports/store.ts";
import { importRoutes } from "./import-routes.ts";
import type { CompaniesSettings } from "./settings.ts";

export function openImporting(
  { ask, clock, log, metrics, documents, user_agent, dataPath }: JoinedNode,
  { store, imports }: { readonly store: ImportStore; readonly imports: Imports },
  { imports_dir, import_schedule }: CompaniesSettings,
  egress: Egress,
  /** Called with the changes of an import, for the search index and for companies that are stored. */
  onRows: (changes: EntryChanges) => Promise<void>,
) {
  const folder = resolve(imports_dir ?? join(dataPath("imports")));
  const kinds = IMPORT_KINDS;
  const schedule = scheduleOf(import_schedule, kinds);
  for (const { source } of IMPORTED_SOURCES)
    for (const outcome of OUTCOMES) metrics.begin("trawl_company_import_records_total", { source, outcome });
  /** The counts of each run that were counted already. */
  const counted = new Map<number, ImportRun["counts"]>();

  function onProgress({ run, source, counts }: ImportRun): void {
    const before = counted.get(run);
    for (const outcome of OUTCOMES) {
      const more = counts[outcome] - (before?.[outcome] ?? 0);
      if (more > 0) metrics.count("trawl_company_import_records_total", { source, outcome }, more);
    }
    counted.set(run, counts);
  }

  async function wakeRunning(due: readonly string[] = []): Promise<void> {
    const running = await store.running();
    for (const source of new Set([...running.map((run) => run.source), ...due]))
      await ask(CompanyImport, source, "wake", null, { timeout_ms: WAKE_TIMEOUT_MS });
  }

  const wake = () => wakeRunning(schedule.map(({ kind }) => kind.source));

  return {
    actor: importActor({
      store,
      clock,
      log,
      kinds,
      files: importFiles,
      nextFile: scheduledImports({
        documents,
        download: (request) => downloadFile(egress, request),
        store,
        clock,
        log,
        user_agent,
        folder,
        schedule,
      }),
      referencesOf: storedReferences(IMPORTED_SOURCES),
      async onRows(kind, rows) {
        const changes = await imports.entriesOfRows(kind, rows);
        await onRows(changes);
        return changes.claims;
      },
      onProgress,
      // The feed looks by itself, too, when it is not reached.
      onEnded: () => ask(CompanyFeed, COMPANY_FEED_KEY, "wake", null).catch(() => {}),
    }),
    routes: importRoutes({ ask, store, kinds, folder, clock }),
    wake,
    /**
     * Runs that a restart cut go on at once, once their actors are reached: the keys of a node that died have no owner for a while.
     * The schedule begins when partitions have been shared out: an actor that moves cuts its download, and the file is asked for twice.
     */
    async resume(): Promise<void> {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
        try {
          await wakeRunning();
          break;
        } catch {
          await sleep(clock, ATTEMPTS_EVERY_MS);
        }
      await sleep(clock, JOINED_MS);
      await wake().catch(() => undefined); // The next minute wakes it.
    },
  };
}

const WAKE_TIMEOUT_MS = 5_000;
const MAX_ATTEMPTS = 20;
const ATTEMPTS_EVERY_MS = 2_000;
/** By then the partitions of nodes that start together have their owners. */
const JOINED_MS = 10_000;
const OUTCOMES = ["created", "changed", "renewed", "unchanged", "older", "closed", "skipped", "bad"] as const;

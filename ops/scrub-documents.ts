/**
 * Looks through the stored documents for damage, 500 a minute, so that it is found while there is a backup. Nodes share the place up to
 * which they came. Damaged documents of caches are removed, also when they are read: they are made again.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import type { DocumentPlace, Documents } from "../cluster/ports/documents.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import { everyMinute } from "./every-minute.ts";
import { STORES } from "./store-documents.ts";

interface ScrubDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Collections of caches. */
  readonly rebuildable: readonly string[];
}

const KEY = "scrub";
const A_MINUTE = 500;

interface ScrubRecord {
  /** Null: from the beginning. */
  readonly after: DocumentPlace | null;
}

const RECORDS = STORES.of<ScrubRecord>();

/** The store, in which a damaged document of a cache is removed when it is read, and is not there. */
export const withoutDamagedCaches = (
  documents: Documents,
  { log, rebuildable }: Pick<ScrubDeps, "log" | "rebuildable">,
): Documents => ({
  ...documents,
  async get(collection, key) {
    try {
      return await documents.get(collection, key);
    } catch (problem) {
      const isDamaged = problem instanceof Fault && problem.code === "document_damaged";
      if (!isDamaged || !rebuildable.includes(collection)) throw problem;
      log.error("A stored document is damaged", { collection, key, removed: true });
      await documents.removeRange(collection, key, `${key}\0`);
      return null;
    }
  },
});

export function scrubDocuments({ documents, clock, log, metrics, rebuildable }: ScrubDeps): Disposable {
  for (const found of ["read", "scrub"] as const) metrics.begin("trawl_damaged_documents_total", { found });

  async function onDamaged({ collection, key }: DocumentPlace): Promise<void> {
    metrics.count("trawl_damaged_documents_total", { found: "scrub" });
    const isCache = rebuildable.includes(collection);
    log.error("A stored document is damaged", { collection, key, removed: isCache });
    // Its version cannot be read.
    if (isCache) await documents.removeRange(collection, key, `${key}\0`);
  }

  return everyMinute({ clock, log, what: "Cannot look through the stored documents" }, async () => {
    const stored = await RECORDS.read(documents, KEY);
    const after = stored?.value.after ?? null;
    const { damaged, last } = await documents.verify(after, A_MINUTE);
    const record: ScrubRecord = { after: last };
    // Another node looked through the same ones.
    if (!(await RECORDS.put(documents, KEY, record, stored?.version ?? 0))) return;
    for (const place of damaged) await onDamaged(place);
  });
}

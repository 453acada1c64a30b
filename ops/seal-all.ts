/**
 * At the start of a node: seals what an older version stored in clear, or what an interrupted change of the key left. It runs beside
 * requests, on each node that starts meanwhile, and is tried again every second until it is done once.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Log } from "../cluster/ports/log.ts";
import { repeatedly } from "./every-minute.ts";
import { resealAll } from "./reseal.ts";
import { changeKeysRecord, type OpenSecrets } from "./secrets.ts";

interface SealAllDeps {
  readonly documents: Documents;
  readonly secrets: OpenSecrets;
  readonly clock: Clock;
  readonly log: Log;
}

const AGAIN_MS = 1_000;

export function sealAll({ documents, secrets, clock, log }: SealAllDeps): Disposable {
  const work = repeatedly(
    {
      clock,
      every_ms: AGAIN_MS,
      onFailure: (problem) => log.warn("Stored secrets cannot be sealed yet", { problem: String(problem) }),
    },
    async (isStopped) => {
      const { id } = secrets.current();
      const { changed, unreadable } = await resealAll(documents, secrets, { isStopped });
      if (isStopped()) return;
      work[Symbol.dispose]();
      if (changed > 0) log.info("Stored secrets were sealed", { documents: changed, key: id });
      if (unreadable > 0)
        return log.error("Stored secrets cannot be read, and stay as they are", { texts: unreadable });
      await changeKeysRecord(documents, (record) =>
        record.current.id === id ? { ...record, all_sealed_with: id } : record,
      );
    },
  );
  return work;
}

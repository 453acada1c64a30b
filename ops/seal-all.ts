/**
 * At the start of a node: seals what an older version stored in clear, or what an interrupted change of the key left. It runs beside
 * requests, on each node that starts meanwhile, and is tried again every second until it is done once.
 */
import type { Node } from "../cluster/node-record.ts";
import { repeatedly } from "./every-minute.ts";
import { resealAll } from "./reseal.ts";
import { changeKeysRecord, type OpenSecrets } from "./secrets.ts";

const AGAIN_MS = 1_000;

export function sealAll({
  documents,
  secrets,
  clock,
  log,
}: Pick<Node, "documents" | "clock" | "log"> & {
  readonly secrets: OpenSecrets;
}): Disposable {
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

/**
 * SQLite files that are made again from other stores: one that is damaged is renamed, so that the service starts without it and
 * an operator can look at it.
 */
import { existsSync, renameSync } from "node:fs";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
const LOGS = ["", "-wal", "-shm"] as const;

interface SetAsideDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
}

/** What `open` gives for the path. `isNew`: the file was damaged and set aside. */
export function openOrSetAside<T>(
  path: string,
  open: () => T,
  { clock, log }: SetAsideDeps,
): { readonly opened: T; readonly isNew: boolean } {
  try {
    return { opened: open(), isNew: false };
  } catch (problem) {
    if (!isDamage(problem)) throw problem;
    const date = new Date(clock.now()).toISOString().replaceAll(/[:.]/g, "-");
    const aside = `${path}.damaged-${date}`;
    for (const end of LOGS) if (existsSync(path + end)) renameSync(path + end, aside + end);
    log.error("A damaged index was set aside and is made again", { path, aside, problem: String(problem) });
    return { opened: open(), isNew: true };
  }
}

function isDamage(problem: unknown): boolean {
  const { errcode = 0 } = problem as { readonly errcode?: number };
  return [SQLITE_CORRUPT, SQLITE_NOTADB].includes(errcode & 0xff);
}

/**
 * Durability against a power cut: files and folders that were synced (fsync). Shared by the adapters that keep files; what a
 * store syncs, and when, belongs to each store.
 *
 * A sync takes milliseconds of the disk and none of the event loop. Group commit keeps its number down: callers that
 * come while a sync runs share the next one.
 */
import { closeSync, fdatasync, fsync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";

/**
 * The end that a store's acknowledged writes survive. `process`: the end of the process, also kill -9, because the kernel has
 * them. `power`: a power cut as well, because the disk has them.
 */
export type Durability = "power" | "process";

/** The content of an open file and its length, not its times. */
export const syncContent: (descriptor: number) => Promise<void> = promisify(fdatasync);

const syncAll: (descriptor: number) => Promise<void> = promisify(fsync);

/** Each call resolves when a `sync` that began after the call has ended. */
export function groupCommit(sync: () => Promise<void>): () => Promise<void> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | null = null;
  return () => {
    next ??= running.then(() => {
      next = null;
      const begun = sync();
      running = begun.catch(() => {});
      return begun;
    });
    return next;
  };
}

/** The names in a folder: files that were created, renamed or removed there. */
async function syncNames(folder: string): Promise<void> {
  const descriptor = openSync(folder, "r");
  try {
    await syncAll(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Syncs the names in folders, one sync of a folder at a time. Remembers every folder it was asked for. */
export function folderSync(): (folder: string) => Promise<void> {
  const commits = new Map<string, () => Promise<void>>();
  return (folder) => {
    const existing = commits.get(folder);
    if (existing) return existing();
    const created = groupCommit(() => syncNames(folder));
    commits.set(folder, created);
    return created();
  };
}

/**
 * Creates a folder with those above it. With `power` its name survives from then on, also the name that an earlier
 * process created and did not sync. `mode`: the permissions of what is created.
 */
export function makeFolder(folder: string, durability: Durability, mode = 0o777): void {
  const first_created = mkdirSync(folder, { recursive: true, mode });
  if (durability === "process") return;
  const top = dirname(first_created ?? folder);
  for (let at = folder; ; at = dirname(at)) {
    const descriptor = openSync(at, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (at === top || at === dirname(at)) return;
  }
}

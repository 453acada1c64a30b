/**
 * A lock on a folder for one process, which nobody can remove as a lock file: flock(2) on the folder itself. Node has no call for
 * it, so the program `flock` takes the lock on a handle of this process and ends; the kernel keeps the lock for as long as the handle is open.
 */
import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";

/** Exit code of `flock -n` when another process has the lock. */
const CONFLICT = 1;
/** In the child the handle has this number. */
const HANDLE = 3;

/** Null when another process has the lock. Where there is no `flock` or no such lock (macOS, some network drives) nothing is locked. */
export function lockFolder(path: string): Disposable | null {
  const handle = openSync(path, "r");
  const { status } = spawnSync("flock", ["-n", String(HANDLE)], {
    stdio: ["ignore", "ignore", "ignore", handle],
  });
  if (status !== CONFLICT) return { [Symbol.dispose]: () => closeSync(handle) };
  closeSync(handle);
  return null;
}

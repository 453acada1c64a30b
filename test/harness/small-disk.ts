/** A small file system in memory, to be filled to the last page: Linux, with the right to mount. */
import { spawnSync } from "node:child_process";
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  readonly path: string;
  readonly fill: () => void;
  readonly free: () => void;
  readonly unmount: () => void;
}

/** Null where this process may not mount anything. `size` as mount(8) has it: "24m". */
export function smallDisk(size: string): SmallDisk | null {
  const path = mkdtempSync(join(tmpdir(), "trawl-disk-"));
  const mount = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=700`, "tmpfs", path]);
  if (mount.status !== 0) {
    rmSync(path, { recursive: true });
    return null;
  }
  const filler = join(path, "filler");
  return {
    path,
    fill() {
      const file = openSync(filler, "a");
      try {
        for (const page = Buffer.alloc(4_096, "x"); ;) writeSync(file, page);
      } catch (problem) {
        if ((problem as NodeJS.ErrnoException).code !== "ENOSPC") throw problem;
      } finally {
        fsyncSync(file);
        closeSync(file);
      }
    },
    free: () => rmSync(filler),
    unmount() {
      spawnSync("umount", ["-l", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Starts something whose temporary folders are on the disk. */
export async function onDisk<T>({ path }: SmallDisk, start: () => Promise<T>): Promise<T> {
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = path;
  try {
    return await start();
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
}

/** Whether there can be one here. */
export function hasSmallDisks(): boolean {
  const disk = smallDisk("1m");
  disk?.unmount();
  return disk !== null;
}

/**
 * Files of a folder's subfolders that exist completely or not at all, also after kill -9: each is written under a temporary name and
 * renamed. With the durability `power` it is synced before, and its folder after. Two names, `x` and `x.zst`, are forms of one
 * content; the one that is written takes the place of the other.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { access, type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TOUCH_AFTER_MS } from "../../ports/blobs.ts";
import { type Durability, folderSync, makeFolder, syncContent } from "../files/durable-files.ts";
import { readPieces } from "./compression.ts";

/** Temporary files older than this are leftovers of a crash and are removed at start. */
const STALE_MS = 60 * 60_000;
/**
 * A file that was stored longer ago than this was written to the disk by the kernel. A younger one may come from a process
 * that ended between its rename and its sync, or that did not sync.
 */
const WRITTEN_BACK_MS = 60_000;

const isMissing = (problem: unknown): boolean => (problem as NodeJS.ErrnoException).code === "ENOENT";

export async function nullIfMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (problem) {
    if (isMissing(problem)) return null;
    throw problem;
  }
}

/** Updates the time of a file that is stored again. */
export function touch(path: string, mtimeMs: number): void {
  const now = new Date();
  if (now.getTime() - mtimeMs > TOUCH_AFTER_MS) utimesSync(path, now, now);
}

/** Whether two files hold the same bytes. */
async function areSame(written: FileHandle, bytes: number, path: string): Promise<boolean> {
  const handle = await nullIfMissing(open(path));
  if (!handle) return false;
  try {
    if ((await handle.stat()).size !== bytes) return false;
    if (bytes === 0) return true;
    const range = { first: 0, last: bytes - 1 };
    const stored = readPieces(handle, range);
    for await (const piece of readPieces(written, range)) {
      const { value, done } = await stored.next();
      if (done || !piece.equals(value)) return false;
    }
    return true;
  } finally {
    await handle.close();
  }
}

/** Methods throw what the file system throws. */
export interface WholeFiles {
  /** Fills a temporary file and gives it the name `to`; removes it when anything fails, or when that file has the same bytes. */
  readonly write: <T>(
    fill: (handle: FileHandle) => Promise<{ readonly to: string; readonly result: T }>,
  ) => Promise<T>;
  /** Writes the content without durability, synchronously. */
  readonly writeAtOnce: (content: Buffer, to: string) => void;
  /** A file of this name and these bytes is there: makes sure of what its first writer may have left out. */
  readonly confirm: (path: string, mtimeMs: number) => Promise<void>;
  /** A file of the folder itself. */
  readonly writeFixed: (name: string, text: string) => Promise<void>;
  readonly ping: () => Promise<void>;
}

export function wholeFiles(folder: string, durability: Durability): WholeFiles {
  const unfinished = join(folder, "unfinished");
  makeFolder(unfinished, durability);
  for (const name of readdirSync(unfinished)) {
    const path = join(unfinished, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (Date.now() - mtimeMs > STALE_MS) rmSync(path, { force: true });
  }
  const syncFolder = folderSync();
  /** Folders whose own names are synced. */
  const synced = new Set<string>();

  const newPath = (): string => join(unfinished, randomBytes(12).toString("hex"));

  /** Gives a file its name in the store, in place of a wrong file that has it. */
  async function giveName(from: string, to: string): Promise<void> {
    try {
      await rename(from, to);
    } catch (problem) {
      if (!isMissing(problem)) throw problem;
      makeFolder(dirname(to), "process");
      await rename(from, to);
    }
    removeOther(to);
    if (durability === "power") await syncName(to);
  }

  /** Syncs the name of a file, and that of its folder when this process has not done so. */
  async function syncName(path: string): Promise<void> {
    const its = dirname(path);
    await syncFolder(its);
    if (synced.has(its)) return;
    await syncFolder(folder);
    synced.add(its);
  }

  async function confirm(path: string, mtimeMs: number): Promise<void> {
    removeOther(path);
    if (durability === "process" || Date.now() - mtimeMs > WRITTEN_BACK_MS) return;
    const descriptor = openSync(path, "r");
    try {
      await syncContent(descriptor);
    } finally {
      closeSync(descriptor);
    }
    await syncName(path);
  }

  /** A content has one file. Another version may have compressed what this one does not, or the other way round. */
  function removeOther(path: string): void {
    const other = path.endsWith(".zst") ? path.slice(0, -".zst".length) : `${path}.zst`;
    if (statSync(other, { throwIfNoEntry: false })) rmSync(other, { force: true });
  }

  /**
   * Synchronously: into the page cache takes 0.1 ms, through the thread pool 0.7 ms. Not where files are synced: then
   * every change of a name may wait for the journal of the file system.
   */
  function writeAtOnce(content: Buffer, to: string): void {
    const path = newPath();
    try {
      writeFileSync(path, content, { flag: "wx" });
      try {
        renameSync(path, to);
      } catch (problem) {
        if (!isMissing(problem)) throw problem;
        makeFolder(dirname(to), durability);
        renameSync(path, to);
      }
      removeOther(to);
    } catch (problem) {
      rmSync(path, { force: true });
      throw problem;
    }
  }

  async function write<T>(
    fill: (handle: FileHandle) => Promise<{ readonly to: string; readonly result: T }>,
  ): Promise<T> {
    const path = newPath();
    const handle = await open(path, "wx+");
    try {
      const { to, result } = await fill(handle);
      const existing = statSync(to, { throwIfNoEntry: false });
      // Before it is compared, so that it is not removed meanwhile.
      if (existing) touch(to, existing.mtimeMs);
      if (existing && (await areSame(handle, (await handle.stat()).size, to))) {
        await handle.close();
        await rm(path, { force: true });
        await confirm(to, existing.mtimeMs);
        return result;
      }
      if (durability === "power") await handle.datasync();
      await handle.close();
      await giveName(path, to);
      return result;
    } catch (problem) {
      await handle.close().catch(() => {});
      await rm(path, { force: true });
      throw problem;
    }
  }

  async function writeFixed(name: string, text: string): Promise<void> {
    const path = newPath();
    const handle = await open(path, "wx");
    try {
      await handle.writeFile(text);
      if (durability === "power") await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(path, join(folder, name));
    if (durability === "power") await syncFolder(folder);
  }

  return { write, writeAtOnce, confirm, writeFixed, ping: () => access(unfinished) };
}

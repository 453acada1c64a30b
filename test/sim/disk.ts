/**
 * The disk of a simulated machine, and the stores that keep their files on it. What is synced survives a power cut. What was
 * written since then is read like everything else, as in SQLite and MongoDB, and a power cut takes some of it: of a log the last
 * writes, of names of files any. A write is acknowledged when it is synced, as with TRAWL_DURABILITY=power, but for documents of
 * caches. Torn files and failed syncs need a real disk: test/ports/power-cut.test.ts.
 */
import { type DocumentChange, memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { type Durability, groupCommit } from "../../cluster/adapters/files/durable-files.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault, type FaultCode } from "../../cluster/ports/fault.ts";

/** Writes to a file, or to the names of a folder, since the last sync. */
interface Unsynced {
  /** Remembers a write. Returns whether it is synced by now. */
  readonly add: (undo: () => void) => () => boolean;
  /** Resolves when every write from before the call is synced. Throws Fault when the power is cut first. */
  readonly sync: () => Promise<void>;
}

export interface Disk {
  /** How long a sync takes at most; 0: no time. */
  slow_ms: number;
  /** Takes back what a power cut loses. */
  readonly cutPower: () => { readonly unsynced: number; readonly lost: number };
  /** A cut takes the last ones of its writes. */
  readonly openLog: (code: FaultCode) => Unsynced;
  /** A cut takes any of them. */
  readonly openNames: (code: FaultCode) => Unsynced;
}

/** With the durability `process` nothing is ever synced, so that a simulation shows what it would not notice. */
export function newDisk(
  clock: Clock,
  chance: (below: number) => number,
  durability: Durability = "power",
): Disk {
  interface Write {
    readonly undo: () => void;
  }
  const files: { writes: Write[]; readonly lost: (writes: readonly Write[]) => readonly Write[] }[] = [];
  let cuts = 0;

  function open(code: FaultCode, lost: (writes: readonly Write[]) => readonly Write[]): Unsynced {
    const file = { writes: [] as Write[], lost };
    files.push(file);
    const commit = groupCommit(async () => {
      const [begun, { length }] = [cuts, file.writes];
      const { slow_ms } = disk;
      if (slow_ms > 0)
        await new Promise<void>((resolve) => void clock.at(clock.now() + 1 + chance(slow_ms), resolve));
      if (cuts === begun) file.writes = file.writes.slice(length);
    });
    return {
      add(undo) {
        const write = { undo };
        file.writes.push(write);
        return () => !file.writes.includes(write);
      },
      async sync() {
        if (durability === "process") return;
        const begun = cuts;
        await commit();
        if (cuts !== begun) throw new Fault(code, "Cannot sync: the power was cut");
      },
    };
  }

  const disk: Disk = {
    slow_ms: 0,
    openLog: (code) => open(code, (writes) => writes.slice(chance(writes.length + 1))),
    openNames: (code) => open(code, (writes) => writes.filter(() => chance(2) === 0)),
    cutPower() {
      cuts++;
      const counts = { unsynced: 0, lost: 0 };
      for (const file of files) {
        const lost = file.lost(file.writes);
        counts.unsynced += file.writes.length;
        counts.lost += lost.length;
        file.writes = [];
        for (const { undo } of lost.toReversed()) undo();
      }
      return counts;
    },
  };
  return disk;
}

/** Hears of each document as it can be read: its new value, that of before when it is taken back, or null. */
export type OnStored = (collection: string, key: string, value: unknown) => void;

export interface DiskDocumentsOptions {
  /** Collections that are only caches: their writes are acknowledged at once. */
  readonly rebuildable?: readonly string[];
  /**
   * A refused write is answered when the one that was first is synced, and an `ordered` one when it is synced, as MongoDB does.
   * SQLite answers at once.
   */
  readonly refuses_synced?: boolean;
}

export function diskDocuments(
  disk: Disk,
  onStored: OnStored,
  { rebuildable = [], refuses_synced = false }: DiskDocumentsOptions = {},
): Documents {
  const log = disk.openLog("documents_unreachable");
  const memory = memoryDocuments(({ collection, key, value, undo }: DocumentChange) => {
    log.add(() => onStored(collection, key, undo()));
    onStored(collection, key, value);
  });
  async function acknowledged<T extends boolean | number>(
    collection: string,
    changes: Promise<T>,
    isOrdered = false,
  ): Promise<T> {
    const changed = await changes;
    if (isOrdered && !refuses_synced) return changed;
    if (!rebuildable.includes(collection) && (refuses_synced || Number(changed) > 0)) await log.sync();
    return changed;
  }
  return {
    ...memory,
    put: (collection, key, value, version, options) =>
      acknowledged(
        collection,
        memory.put(collection, key, value, version, options),
        options?.ordered === true,
      ),
    synced: () => log.sync(),
    remove: (collection, ...rest) => acknowledged(collection, memory.remove(collection, ...rest)),
    removeRange: (collection, ...rest) => acknowledged(collection, memory.removeRange(collection, ...rest)),
    removeExpired: (collection, ...rest) =>
      acknowledged(collection, memory.removeExpired(collection, ...rest)),
  };
}

export interface DiskBlobs extends Blobs {
  /** Whether the body would be there after a power cut now. */
  readonly isDurable: (sha256: string) => boolean;
}

/** Bodies of at most so many bytes are rows of a log. */
export function diskBlobs(disk: Disk, max_row_bytes: number): DiskBlobs {
  const [rows, names] = [disk.openLog("bodies_unreachable"), disk.openNames("bodies_unreachable")];
  const isSynced = new Map<string, () => boolean>();
  const memory = memoryBlobs(({ sha256, bytes }, undo) => {
    const place = bytes <= max_row_bytes ? rows : names;
    const takeBack = (): void => {
      isSynced.delete(sha256);
      undo();
    };
    isSynced.set(sha256, place.add(takeBack));
  });
  return {
    ...memory,
    isDurable: (sha256) => isSynced.get(sha256)?.() === true,
    async put(content) {
      const whole = Buffer.isBuffer(content) ? content : Buffer.concat(await Array.fromAsync(content));
      const place = whole.length <= max_row_bytes ? rows : names;
      // A file has its name when its content is synced.
      if (place === names) await names.sync();
      const stored = await memory.put(whole);
      await place.sync();
      return stored;
    },
  };
}

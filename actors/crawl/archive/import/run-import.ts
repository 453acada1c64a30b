/**
 * Reads the file of an import from the place where it was left, and removes an import. What was read is stored with its place, so that a run
 * which is broken off goes on; the same record twice is one capture.
 */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { importedCaptures } from "../captures.ts";
import { ARCHIVE_CAPTURES, ARCHIVE_IMPORTS, ARCHIVE_PAYLOADS, type StoredImport } from "../collections.ts";
import { ByteSource } from "./byte-source.ts";
import {
  countOf,
  emptyTally,
  type ImportedPage,
  RecordImporter,
  type RecordsDeps,
  type Tally,
} from "./import-records.ts";
import { isWarc, readWarc } from "./read-warc.ts";
import {
  BadZip,
  contentOffset,
  DEFLATED,
  inflatedEntry,
  STORED,
  zipEntries,
  type ZipEntry,
} from "./read-zip.ts";
import { capturesHolder, fileBytes, ownerOf, partsHolder } from "./stored-import.ts";

export interface RunDeps extends RecordsDeps {
  readonly clock: Clock;
  /** Takes a page of an import that is removed out of the search index. */
  readonly unindex: (
    page: Pick<ImportedPage, "url" | "project" | "is_shared"> & { readonly sha256: string },
  ) => void;
}

/** Records whose outcome is stored together. */
const RECORDS_AT_ONCE = 50;
/** A run of a file with more ends; what was read stays. */
const MAX_RECORDS = 5_000_000;
const LISTED_AT_ONCE = 500;
const ZIP_MAGIC = Buffer.from("PK\x03\x04", "latin1");
const ARC_MAGIC = Buffer.from("filedesc:");

/** The file cannot be imported; the message is for the caller. */
class NoArchive extends Error {}
/** The import was changed or removed meanwhile, or another node owns it. */
class Overtaken extends Error {}

/** False: there is more to do later. Throws Fault. */
export async function runImport(deps: RunDeps, key: string, isStopped: () => boolean): Promise<boolean> {
  const stored = await ARCHIVE_IMPORTS.get(deps.documents, key);
  if (stored?.state === "deleted") {
    await removeImport(deps, key, stored);
    return true;
  }
  if (stored?.state !== "importing") return true;
  try {
    await readFile(deps, key, stored, isStopped);
  } catch (problem) {
    if (problem instanceof Overtaken) return false;
    if (!(problem instanceof NoArchive || problem instanceof BadZip)) throw problem;
    await end(deps, key, { state: "failed", problem: problem.message });
  }
  return true;
}

async function readFile(
  deps: RunDeps,
  key: string,
  stored: StoredImport,
  isStopped: () => boolean,
): Promise<void> {
  const { blobs } = deps;
  const { parts, bytes } = stored;
  if (!stored.is_verified) {
    const digest = createHash("sha256");
    for await (const piece of fileBytes(blobs, parts, 0)) {
      if (isStopped()) throw new Overtaken();
      digest.update(piece);
    }
    if (digest.digest("hex") !== stored.sha256)
      throw new NoArchive("The bytes that arrived have another SHA-256 than was said");
    await change(deps, key, () => ({ is_verified: true }));
  }
  const progress = progressOf(deps, key, stored, isStopped);
  const first = Buffer.concat(await Array.fromAsync(fileBytes(blobs, parts, 0, 10)));
  if (first.subarray(0, 4).equals(ZIP_MAGIC)) await readWacz(deps, stored, progress);
  else if (isWarc(first)) {
    // Behind its only file there is nothing: a run that died before it said so.
    if (stored.place.entry === 0)
      await progress.read(new ByteSource(fileBytes(blobs, parts, stored.place.offset)), stored.place);
  } else if (first.subarray(0, ARC_MAGIC.length).equals(ARC_MAGIC))
    throw new NoArchive("This is an ARC file: warcio recompress makes a WARC file of it");
  else throw new NoArchive(`This is no WARC or WACZ file (${bytes} bytes)`);
  const read = await ARCHIVE_IMPORTS.get(deps.documents, key);
  if (read?.counts.records === 0) throw new NoArchive("The file has no record that can be read");
  await end(deps, key, { state: "done", problem: null });
}

async function readWacz(
  { blobs }: RunDeps,
  { parts, bytes, place }: StoredImport,
  progress: ReturnType<typeof progressOf>,
): Promise<void> {
  const read = async (first: number, length: number): Promise<Buffer> =>
    Buffer.concat(await Array.fromAsync(fileBytes(blobs, parts, first, length)));
  const entries = (await zipEntries(read, bytes)).filter(({ name }) =>
    /^archive\/.+\.warc(?:\.gz)?$/i.test(name),
  );
  if (entries.length === 0)
    throw new NoArchive("This ZIP file has no WARC file in archive/: it is no WACZ file");
  for (const [n, entry] of entries.entries()) {
    if (n < place.entry) continue;
    const offset = n === place.entry ? place.offset : 0;
    await progress.read(await entrySource(blobs, parts, read, entry, offset), { entry: n, offset });
  }
}

/** The WARC file in the entry from this byte on. */
async function entrySource(
  blobs: Blobs,
  parts: StoredImport["parts"],
  read: Parameters<typeof zipEntries>[0],
  entry: ZipEntry,
  offset: number,
): Promise<ByteSource> {
  const begin = await contentOffset(read, entry);
  if (entry.method === STORED)
    return new ByteSource(fileBytes(blobs, parts, begin + offset, entry.packed_bytes - offset));
  if (entry.method !== DEFLATED)
    throw new BadZip(`The entry "${entry.name}" is compressed by an unknown method`);
  const source = new ByteSource(inflatedEntry(fileBytes(blobs, parts, begin, entry.packed_bytes)));
  for (let left = offset; left > 0;) left -= (await source.piece(left))?.length ?? left;
  return source;
}

/** Reads WARC files into captures, and stores what was read with its place. */
function progressOf(deps: RunDeps, key: string, stored: StoredImport, isStopped: () => boolean) {
  let tally = emptyTally();
  let records = stored.counts.records;
  let last = stored.place;

  /** Throws Overtaken: another run has read on from the same place. */
  async function store(place: StoredImport["place"]): Promise<void> {
    const done = tally;
    tally = emptyTally();
    await change(deps, key, (current) => {
      if (!isDeepStrictEqual(current.place, last)) throw new Overtaken();
      return { place, ...added(current, done) };
    });
    last = place;
  }

  return {
    async read(source: ByteSource, { entry, offset: from }: StoredImport["place"]): Promise<void> {
      // An importer is for one file: a record of the next file is no request of this one.
      const live: Tally = emptyTally();
      const importer = new RecordImporter(deps, stored, ownerOf(stored), live);
      const flush = (): void => {
        merge(tally, live);
      };
      try {
        await readWarc(source, from, {
          async onRecord(record) {
            if (isStopped()) throw new Overtaken();
            if (++records > MAX_RECORDS)
              throw new NoArchive(
                `More than ${MAX_RECORDS} records: the records before are there, split the file`,
              );
            await importer.record(record);
          },
          onProblem: (problem) => countOf(live.bad, problem),
          async onPlace(offset) {
            if (live.records < RECORDS_AT_ONCE || !importer.isSettled) return;
            flush();
            await store({ entry, offset });
          },
        });
      } catch (problem) {
        // A WARC file in a WACZ file that is packed wrongly; faults of the store have other names.
        if (!String((problem as NodeJS.ErrnoException).code).startsWith("Z_")) throw problem;
        countOf(live.bad, "broken_zip_entry");
      }
      await importer.settle();
      flush();
      await store({ entry: entry + 1, offset: 0 });
    },
  };
}

/** Moves what was counted. */
function merge(into: Tally, from: Tally): void {
  for (const name of ["records", "captures", "known", "indexed", "bytes"] as const) {
    into[name] += from[name];
    from[name] = 0;
  }
  for (const name of ["skipped", "bad"] as const)
    for (const [kind, n] of Object.entries(from[name])) {
      into[name][kind] = (into[name][kind] ?? 0) + n;
      delete from[name][kind];
    }
}

function added({ counts, skipped, bad }: StoredImport, tally: Tally) {
  const sum: Tally = { ...counts, skipped: { ...skipped }, bad: { ...bad } };
  merge(sum, tally);
  const { skipped: all_skipped, bad: all_bad, ...all } = sum;
  return { counts: all, skipped: all_skipped, bad: all_bad };
}

async function change(
  { documents }: Pick<RunDeps, "documents">,
  key: string,
  fields: (stored: StoredImport) => Partial<StoredImport>,
): Promise<void> {
  let isThere = false;
  await ARCHIVE_IMPORTS.update(documents, key, (stored) => {
    isThere = stored?.state === "importing";
    return isThere ? { value: { ...stored!, ...fields(stored!) } } : null;
  });
  if (!isThere) throw new Overtaken();
}

async function end(
  deps: Pick<RunDeps, "documents" | "refs" | "clock">,
  key: string,
  outcome: Pick<StoredImport, "state" | "problem">,
): Promise<void> {
  let parts: StoredImport["parts"] = [];
  await change(deps, key, (stored) => {
    ({ parts } = stored);
    return { ...outcome, parts: [], ended_ms: deps.clock.now() };
  });
  await deps.refs.release(
    parts.map(({ sha256 }) => sha256),
    partsHolder(key),
  );
}

/** Its captures, what they refer to, and at last the import itself; again from the beginning where it was broken off. */
async function removeImport(deps: RunDeps, key: string, stored: StoredImport): Promise<void> {
  const { documents, refs, unindex } = deps;
  const { id, project, is_shared } = stored;
  for await (const { key: of, value, version } of importedCaptures(documents, ownerOf(stored), id)) {
    const { url, archive_sha256, digest } = value;
    await ARCHIVE_CAPTURES.remove(documents, of, version);
    const sha256 = digest.replace("sha256:", "");
    await refs.release([archive_sha256, sha256], capturesHolder(key));
    unindex({ url, project, is_shared, sha256 });
  }
  const tag = `import ${key}`;
  for (;;) {
    const payloads = await ARCHIVE_PAYLOADS.list(documents, { tag, limit: LISTED_AT_ONCE });
    for (const { key: of, version } of payloads) await ARCHIVE_PAYLOADS.remove(documents, of, version);
    if (payloads.length < LISTED_AT_ONCE) break;
  }
  await refs.release(
    stored.parts.map(({ sha256 }) => sha256),
    partsHolder(key),
  );
  await ARCHIVE_IMPORTS.update(documents, key, (current) => (current?.state === "deleted" ? "remove" : null));
}

/**
 * Backup and restore of the embedded stores: the SQLite files by SQLite's own online backup, the bodies one by one, each
 * proved by its digest. A backup is made while the service runs. `backup.json` is written last: a folder without it is not a
 * whole backup.
 *
 * Bodies are copied before and after the documents: one that the service removes meanwhile is in the first pass, one that it
 * stores meanwhile is in the second, so the backup has every body that its documents name. MongoDB and S3 have tools of
 * their own (docs/operating/backup.md).
 */
import { createHash } from "node:crypto";
import {
  createReadStream,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { copyFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { sqliteBlobs } from "../cluster/adapters/blobs/blobs.sqlite.ts";
import { copySqlite, readSqliteDocument } from "../cluster/adapters/documents/backup.sqlite.ts";
import { type Durability, makeFolder } from "../cluster/adapters/files/durable-files.ts";
import type { Blobs } from "../cluster/ports/blobs.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { BuildInfo } from "./build-info.ts";
import { DATA_FORMAT } from "./data-format.ts";
import { readKeyFile, writeKeyFile } from "./secrets-file.ts";
import { IDENTITY, type IdentityRecord } from "./store-identity.ts";

/** The files of the embedded stores. */
export interface EmbeddedFiles {
  readonly documents: string;
  /** Indexes beside the documents; a file that is not there is left out. */
  readonly indexes: readonly string[];
  /** Null: the bodies are in a store of their own. */
  readonly bodies: string | null;
  readonly durability: Durability;
}

interface CopiedFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface BackupManifest {
  /** Version of this file. */
  readonly manifest: 1;
  readonly data_format: number;
  readonly build: BuildInfo;
  readonly created_at: string;
  /** The first one has the documents. */
  readonly files: readonly CopiedFile[];
  readonly bodies: BodyCount | null;
  /** Whether the keys of stored secrets are in it; absent: there were none. */
  readonly secrets_key?: "included" | "left_out";
}

interface BodyCount {
  readonly count: number;
  readonly bytes: number;
}

export interface BackupResult {
  readonly manifest: BackupManifest;
  /** Digests of bodies that were damaged in the store, and are not in the backup. */
  readonly damaged: readonly string[];
}

/** Ends a backup or a restore with a sentence for the operator. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}

const MANIFEST = "backup.json";
const BODIES = "bodies";
const SECRETS_KEY = "secrets.key";
/** Bodies that are copied at once: they share the syncs of their folders. */
const AT_ONCE = 16;

interface BackupDeps {
  readonly build: BuildInfo;
  /** The file with the keys of stored secrets, to be copied, too. Null: it is left out. */
  readonly secrets_key: string | null;
  readonly now_ms: () => number;
}

/** `folder` must be new or empty. Throws BackupError. */
export async function backup(files: EmbeddedFiles, folder: string, deps: BackupDeps): Promise<BackupResult> {
  if (!existsSync(files.documents))
    throw new BackupError(
      `Cannot back up "${files.documents}": there is no such file. Is TRAWL_DATA_DIR right?`,
    );
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new BackupError(`Cannot back up to "${folder}": the folder is not empty`);
  const created_at = new Date(deps.now_ms()).toISOString();
  makeFolder(folder, files.durability, 0o700);
  const bodies =
    files.bodies === null ? null : openBodies(files.bodies, join(folder, BODIES), files.durability);
  if (bodies) await bodies.copyNew();
  const copied: CopiedFile[] = [];
  for (const file of [files.documents, ...files.indexes.filter((index) => existsSync(index))])
    copied.push(await copyDatabase(file, folder));
  if (bodies) {
    await bodies.copyNew();
    await bodies.close();
  }
  const keys = deps.secrets_key === null ? null : readKeyFile(deps.secrets_key);
  if (keys) writeKeyFile(join(folder, SECRETS_KEY), keys);
  const manifest: BackupManifest = {
    manifest: 1,
    data_format: formatIn(join(folder, copied[0]!.name)),
    build: deps.build,
    created_at,
    files: copied,
    bodies: bodies && bodies.copied(),
    secrets_key: keys ? "included" : "left_out",
  };
  writeWhole(join(folder, MANIFEST), JSON.stringify(manifest, null, 2));
  return { manifest, damaged: bodies?.damaged() ?? [] };
}

/**
 * Into stores without documents; the caller has made sure that no service uses them. The documents come last, so a restore
 * that was interrupted is begun again. Throws BackupError.
 */
export async function restore(
  files: EmbeddedFiles,
  folder: string,
  secrets_key: string,
): Promise<BackupManifest> {
  const manifest = readManifest(folder);
  if (manifest.data_format > DATA_FORMAT)
    throw new BackupError(
      `Cannot restore "${folder}": its data has format ${manifest.data_format}, and this version reads formats up to ` +
        `${DATA_FORMAT}. Use version ${manifest.build.version} or a later one`,
    );
  for (const place of [files.documents, ...files.indexes])
    if (existsSync(place))
      throw new BackupError(
        `Cannot restore to "${place}": there is data. Move it away, or set another TRAWL_DATA_DIR`,
      );
  for (const { name, sha256 } of manifest.files)
    if ((await digestOf(join(folder, name))) !== sha256)
      throw new BackupError(
        `Cannot restore "${join(folder, name)}": the file is damaged, its digest differs`,
      );
  if (manifest.bodies && files.bodies === null)
    throw new BackupError(
      `Cannot restore "${folder}": it has bodies, and TRAWL_BLOBS names a store of their own. Restore with TRAWL_BLOBS=file`,
    );
  if (manifest.bodies) {
    const bodies = openBodies(join(folder, BODIES), files.bodies!, files.durability);
    const identity = identityIn(join(folder, manifest.files[0]!.name));
    const mark = await bodies.target.readMark();
    if (mark !== null && mark.id !== identity?.id) {
      await bodies.close();
      throw new BackupError(
        `Cannot restore "${folder}" beside the bodies in "${files.bodies}": they carry the id "${mark.id}", and the backup ` +
          `"${identity?.id ?? "none"}". Move these bodies away, or set another TRAWL_DATA_DIR`,
      );
    }
    const isNew = mark === null && (await bodies.target.isEmpty());
    await bodies.copyNew();
    // Bodies that were there before may be newer than the backup, so the node that starts judges them itself.
    if (isNew && identity !== null)
      await bodies.target.writeMark({ id: identity.id, turn: identity.next_turn ?? identity.turn });
    await bodies.close();
    const { count } = bodies.copied();
    if (count !== manifest.bodies.count || bodies.damaged().length > 0)
      throw new BackupError(
        `Cannot restore "${folder}": ${count} of ${manifest.bodies.count} bodies are whole` +
          (bodies.damaged().length > 0 ? `; damaged: ${bodies.damaged().slice(0, 5).join(", ")}` : ""),
      );
  }
  const [documents, ...indexes] = manifest.files;
  for (const { name } of indexes) {
    const place = files.indexes.find((index) => basename(index) === name);
    if (place !== undefined) await copyWhole(join(folder, name), place, files.durability);
  }
  const keys = readKeyFile(join(folder, SECRETS_KEY));
  // A key that is there stays: it may be newer than the backup's and hold the former one, too.
  if (keys && !existsSync(secrets_key)) writeKeyFile(secrets_key, keys);
  await copyWhole(join(folder, documents!.name), files.documents, files.durability);
  return manifest;
}

function readManifest(folder: string): BackupManifest {
  const path = join(folder, MANIFEST);
  if (!existsSync(path))
    throw new BackupError(`Cannot restore "${folder}": it has no ${MANIFEST}, so it is no whole backup`);
  const manifest = JSON.parse(readFileSync(path, "utf8")) as BackupManifest;
  if (manifest.manifest !== 1)
    throw new BackupError(
      `Cannot restore "${folder}": its ${MANIFEST} is of a newer version of this program`,
    );
  return manifest;
}

/** Copies bodies that were not copied before; damaged ones are left out and named. */
function openBodies(from: string, to: string, durability: Durability) {
  const source: Blobs = sqliteBlobs(from, { durability });
  const target: Blobs = sqliteBlobs(to, { durability });
  const done = new Set<string>();
  const damaged = new Set<string>();
  let bytes = 0;

  async function copy(sha256: string): Promise<void> {
    try {
      const content = await source.get(sha256);
      // Removed since it was listed.
      if (content === null) return;
      const stored = await target.put(content);
      // The store proves the digest of what it gives; put computes it once more from what was written.
      if (stored.sha256 !== sha256)
        throw new Fault("body_damaged", `Cannot copy body "${sha256}": it became another`);
      done.add(sha256);
      bytes += stored.bytes;
    } catch (problem) {
      if (!(problem instanceof Fault) || problem.code !== "body_damaged") throw problem;
      damaged.add(sha256);
    }
  }

  return {
    async copyNew(): Promise<void> {
      for (let part = 0; part < 256; part++) {
        const wanted: string[] = [];
        for await (const { sha256 } of source.list(part.toString(16).padStart(2, "0")))
          if (!done.has(sha256) && !damaged.has(sha256)) wanted.push(sha256);
        const lane = async (): Promise<void> => {
          for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) await copy(next);
        };
        await Promise.all(Array.from({ length: AT_ONCE }, lane));
      }
    },
    target,
    copied: (): BodyCount => ({ count: done.size, bytes }),
    damaged: (): readonly string[] => [...damaged],
    close: async (): Promise<void> => {
      await source.close();
      await target.close();
    },
  };
}

async function copyDatabase(path: string, folder: string): Promise<CopiedFile> {
  const name = basename(path);
  const target = join(folder, name);
  try {
    await copySqlite(path, target);
  } catch (cause) {
    throw new BackupError(`Cannot back up "${path}": ${(cause as Error).message}`, { cause });
  }
  return { name, ...(await sizeAndDigestOf(target)) };
}

/** The identity of the documents in a file that no service uses; null: a version without one wrote them. */
const identityIn = (path: string): IdentityRecord | null =>
  readSqliteDocument(path, IDENTITY.collection, IDENTITY.key) as IdentityRecord | null;

/** The format of the documents in a file that no service uses. */
function formatIn(path: string): number {
  const stored = readSqliteDocument(path, "format", "data");
  if (stored === null)
    throw new BackupError(`Cannot back up "${path}": it has no format number. Start the service once`);
  return (stored as { readonly format: number }).format;
}

async function sizeAndDigestOf(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const digest = createHash("sha256");
  let bytes = 0;
  await pipeline(createReadStream(path), async (pieces) => {
    for await (const piece of pieces as AsyncIterable<Buffer>) {
      digest.update(piece);
      bytes += piece.length;
    }
  });
  return { bytes, sha256: digest.digest("hex") };
}

const digestOf = async (path: string): Promise<string | null> =>
  existsSync(path) ? (await sizeAndDigestOf(path)).sha256 : null;

function writeWhole(path: string, text: string): void {
  const unfinished = `${path}.unfinished`;
  writeFileSync(unfinished, text, { flush: true });
  renameSync(unfinished, path);
}

async function copyWhole(from: string, to: string, durability: Durability): Promise<void> {
  const unfinished = `${to}.unfinished`;
  rmSync(unfinished, { force: true });
  await copyFile(from, unfinished);
  writeFileSync(unfinished, "", { flag: "a", flush: true });
  renameSync(unfinished, to);
  // Its name, for a power cut.
  makeFolder(join(to, ".."), durability);
}

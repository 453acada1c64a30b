/**
 * Opens the document store and the blob store of a configuration. The drivers of MongoDB and S3 are loaded only when
 * they are configured, so that other starts, and commands like `trawl key`, stay fast.
 */
import { chmodSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileBlobs } from "../cluster/adapters/blobs/blobs.file.ts";
import { sqliteBlobs } from "../cluster/adapters/blobs/blobs.sqlite.ts";
import type { S3Options } from "../cluster/adapters/blobs/blobs.s3.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import { lockFolder } from "../cluster/adapters/documents/process-lock.flock.ts";
import { lockFile } from "../cluster/adapters/documents/process-lock.sqlite.ts";
import { type Durability, makeFolder } from "../cluster/adapters/files/durable-files.ts";
import type { Blobs } from "../cluster/ports/blobs.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { EmbeddedFiles } from "./backup.ts";
import type { Config } from "./config.ts";
import { assertDataFormat, type MigrationPermit } from "./data-format.ts";
import { FEATURES } from "./features.ts";
import type { StorePlaces } from "./store-identity.ts";
import type { AnyFeature } from "../node/feature.ts";

/** Collections that are only caches. */
export const REBUILDABLE = FEATURES.flatMap(({ collections }: Pick<AnyFeature, "collections">) =>
  collections.filter(({ rebuildable }) => rebuildable === true).map(({ name }) => name),
);

/** Caches whose documents a store may lose in a crash. */
const LOSABLE = FEATURES.flatMap(({ collections }: Pick<AnyFeature, "collections">) =>
  collections
    .filter(({ rebuildable, durable }) => rebuildable === true && durable !== true)
    .map(({ name }) => name),
);

/**
 * Also used by commands that run beside the service; a node that starts gives a permit to migrate older data. Throws
 * DataFormatError when the data has another format.
 */
export async function openDocuments(
  config: Config,
  permit: MigrationPermit | null = null,
): Promise<Documents> {
  const documents = await connectDocuments(config, permit !== null);
  try {
    await assertDataFormat(documents, storePlaces(config).documents, permit);
    return documents;
  } catch (problem) {
    await documents.close();
    throw problem;
  }
}

/** `isStart`: for a node that starts. */
async function connectDocuments(config: Config, isStart: boolean): Promise<Documents> {
  const { documents: setting, durability } = config.storage;
  const files = embeddedFiles(config);
  if (files !== null)
    return sqliteDocuments(files.documents, {
      durability,
      rebuildable: LOSABLE,
      checks_unclean_end: isStart,
      adds_checksums: isStart,
    });
  const { mongoDocuments } = await import("../cluster/adapters/documents/documents.mongo.ts");
  return mongoDocuments(setting, { rebuildable: LOSABLE });
}

/** Names that the operator has for the stores. */
export function storePlaces(config: Config): StorePlaces {
  const files = embeddedFiles(config);
  const { blobs, data_dir } = config.storage;
  const bodies = blobs === "file" ? join(resolve(data_dir), "bodies") : blobs.replace(/^file:/, "");
  return {
    // Without the address, which holds a password.
    documents: files === null ? "the database that TRAWL_DOCUMENTS names" : `"${files.documents}"`,
    bodies: `"${bodies}"`,
  };
}

/** The files of the embedded stores; null: the documents are in a database. */
export function embeddedFiles({ storage }: Config): EmbeddedFiles | null {
  const { documents, blobs, data_dir, durability } = storage;
  if (!documents.startsWith("sqlite")) return null;
  const inData = (name: string): string => dataPath(data_dir, name, durability);
  return {
    documents: documents === "sqlite" ? inData("documents.sqlite") : documents.slice("sqlite:".length),
    indexes: INDEXES.map(inData),
    bodies: blobs.startsWith("s3:")
      ? null
      : blobs === "file"
        ? inData("bodies")
        : blobs.slice("file:".length),
    durability,
  };
}

/** The files in the data folder in which features index what the documents have. */
const INDEXES = ["companies.sqlite", "search.sqlite"] as const;

/** `s3`: only of a bucket. Without it small bodies that share an object are not found: for commands that look at the store alone. */
export async function openBlobs(
  { storage, cluster }: Config,
  s3: Pick<S3Options, "sharing" | "onUpload"> = {},
): Promise<Blobs> {
  const { blobs, data_dir, durability, aws_access_key_id, aws_secret_access_key, aws_session_token } =
    storage;
  if (!blobs.startsWith("s3:")) {
    // SQLite's shared log needs one machine; the nodes of a cluster may share a disk over the network.
    const open = cluster.bus === "memory" ? sqliteBlobs : fileBlobs;
    const folder = blobs === "file" ? dataPath(data_dir, "bodies", durability) : blobs.slice("file:".length);
    return open(folder, { durability });
  }
  const [bucket, ...folders] = blobs.slice("s3://".length).split("/");
  const spool = dataPath(data_dir, "spool");
  makeFolder(spool, "process");
  const { s3Blobs } = await import("../cluster/adapters/blobs/blobs.s3.ts");
  return s3Blobs({
    ...s3,
    bucket: bucket!,
    prefix: folders.filter((folder) => folder !== "").join("/"),
    endpoint: storage.s3_endpoint,
    region: storage.aws_region,
    credentials:
      aws_access_key_id === undefined || aws_secret_access_key === undefined
        ? undefined
        : {
            accessKeyId: aws_access_key_id,
            secretAccessKey: aws_secret_access_key,
            ...(aws_session_token === undefined ? {} : { sessionToken: aws_session_token }),
          },
    spool,
  });
}

/** A path in the data folder, which is created if necessary. */
export function dataPath(folder: string, name: string, durability: Durability = "process"): string {
  const path = resolve(folder);
  makeFolder(path, durability, PRIVATE_FOLDER);
  return join(path, name);
}

const PRIVATE_FOLDER = 0o700;

/**
 * Makes this process the only one on its data, and the data folder readable for its owner only. The nodes of a cluster share
 * their stores and keep only temporary files in the folder, so they take no lock. Throws a sentence when another process has
 * the data; the lock ends with the process.
 */
export function claimData({ storage, cluster }: Config): Disposable {
  const { data_dir, documents, blobs, durability } = storage;
  const lock_of_folder = dataPath(data_dir, "process.lock", durability);
  closeToOthers(data_dir);
  const wanted = new Map<string, string>();
  /** Locked themselves as well: a lock file may have been removed. */
  const folders = new Set<string>();
  if (cluster.bus === "memory") {
    wanted.set(lock_of_folder, data_dir);
    folders.add(realpathSync(data_dir));
    if (documents.startsWith("sqlite:")) {
      const path = documents.slice("sqlite:".length);
      wanted.set(`${dataPath(dirname(path), basename(path))}.lock`, path);
    }
    if (blobs.startsWith("file:")) {
      const path = blobs.slice("file:".length);
      wanted.set(dataPath(path, "process.lock"), path);
      folders.add(realpathSync(path));
    }
  }
  const locks: Disposable[] = [];
  const release = (): void => locks.forEach((lock) => lock[Symbol.dispose]());
  const take = (lock: Disposable | null, place: string): void => {
    if (lock !== null) return void locks.push(lock);
    release();
    throw new Error(
      `Cannot use the data in "${place}": another process uses it. Stop that process, or set another TRAWL_DATA_DIR`,
    );
  };
  for (const [file, place] of wanted) take(lockFile(file), place);
  for (const folder of folders) take(lockFolder(folder), folder);
  return { [Symbol.dispose]: release };
}

/** A folder made by an earlier version or by hand may be readable for others. */
function closeToOthers(folder: string): void {
  if ((statSync(folder).mode & 0o077) === 0) return;
  try {
    chmodSync(folder, PRIVATE_FOLDER);
  } catch (problem) {
    // A volume of another user: its permissions are set where it is mounted.
    if ((problem as NodeJS.ErrnoException).code !== "EPERM") throw problem;
  }
}

/**
 * Opens the document store and the blob store of a configuration. The drivers of MongoDB and S3 are loaded only when
 * they are configured, so that other starts, and commands like `trawl key`, stay fast.
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileBlobs } from "../cluster/adapters/blobs/blobs.file.ts";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import type { Blobs } from "../cluster/ports/blobs.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Config } from "./config.ts";
import { assertDataFormat } from "./data-format.ts";
import { FEATURES } from "./features.ts";

/** Collections that are only caches. */
const REBUILDABLE = FEATURES.flatMap(({ collections }) => [...collections.rebuildable]);

/** Also used by commands that run beside the service. Throws DataFormatError when the data has another format. */
export async function openDocuments(config: Config): Promise<Documents> {
  const { documents, place } = await connectDocuments(config);
  try {
    await assertDataFormat(documents, place);
    return documents;
  } catch (problem) {
    await documents.close();
    throw problem;
  }
}

async function connectDocuments({ storage }: Config): Promise<{ documents: Documents; place: string }> {
  const { documents: setting, data_dir } = storage;
  if (setting === "sqlite" || setting.startsWith("sqlite:")) {
    const path =
      setting === "sqlite" ? dataPath(data_dir, "documents.sqlite") : setting.slice("sqlite:".length);
    return { documents: sqliteDocuments(path), place: `"${path}"` };
  }
  const { mongoDocuments } = await import("../cluster/adapters/documents/documents.mongo.ts");
  // Without the address, which holds a password.
  const place = "the database that TRAWL_DOCUMENTS names";
  return { documents: mongoDocuments(setting, { rebuildable: REBUILDABLE }), place };
}

export async function openBlobs({ storage }: Config): Promise<Blobs> {
  const { blobs, data_dir, aws_access_key_id, aws_secret_access_key, aws_session_token } = storage;
  if (blobs === "file") return fileBlobs(dataPath(data_dir, "bodies"));
  if (blobs.startsWith("file:")) return fileBlobs(blobs.slice("file:".length));
  const [bucket, ...folders] = blobs.slice("s3://".length).split("/");
  const spool = dataPath(data_dir, "spool");
  mkdirSync(spool, { recursive: true });
  const { s3Blobs } = await import("../cluster/adapters/blobs/blobs.s3.ts");
  return s3Blobs({
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
export function dataPath(folder: string, name: string): string {
  mkdirSync(folder, { recursive: true });
  return join(resolve(folder), name);
}

/**
 * Objects of an S3 bucket below a prefix, by name: each command has a time-out, and what cannot be done is the Fault
 * bodies_unreachable. What the objects are: blobs.s3.ts.
 */
import { Readable } from "node:stream";
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadBucketCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListObjectsV2Command,
  NoSuchBucket,
  PutObjectCommand,
  type PutObjectCommandInput,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { Fault } from "../../ports/fault.ts";
import { type QuickUploads, quickUploads } from "./quick-uploads.s3.ts";

/** Time-out until the response head, including the SDK's retries. Uploads get more, by size. */
export const ANSWER_MS = 5_000;
const CONNECT_MS = 2_000;
/** Maximum silence between two pieces of a response body. */
const PIECE_MS = 10_000;
/** Each slow reader occupies one connection. */
const MAX_CONNECTIONS = 256;

/** Errors reach the caller as exceptions; without this the SDK also prints to the terminal. */
const ignore = (): void => {};
const SILENT_LOGGER = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

export interface BucketOptions {
  readonly bucket: string;
  /** Prefix of all keys; empty: none. */
  readonly prefix: string;
  /** An S3 server other than Amazon's; the bucket is then part of the path, not of the host name. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Default: the SDK's own search (environment, profile, the machine's role). */
  readonly credentials?:
    | { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string }
    | undefined;
}

export type Answer = Pick<GetObjectCommandOutput, "Body" | "Metadata" | "ContentLength">;
export type Head = HeadObjectCommandOutput;

/** In whole seconds. Servers that do not send it count as stored now. */
export const storedMs = (last_modified: Date | undefined): number => last_modified?.getTime() ?? Date.now();

/** A missing bucket is a fault and not a missing blob. Responses to HEAD cannot tell them apart: they have no body. */
const isMissing = (problem: unknown): boolean =>
  problem instanceof S3ServiceException &&
  problem.$metadata.httpStatusCode === 404 &&
  !(problem instanceof NoSuchBucket) &&
  problem.name !== "NoSuchBucket";

/** The object is shorter than the range that was asked for. */
export const isOutOfRange = (problem: unknown): boolean =>
  problem instanceof Fault &&
  problem.cause instanceof S3ServiceException &&
  problem.cause.$metadata.httpStatusCode === 416;

/** Retrying would not change this response. */
export const isFinal = (problem: unknown): boolean =>
  problem instanceof S3ServiceException && (problem.$metadata.httpStatusCode ?? 500) < 500;

/** A response body, piece by piece. Only the server's silence is a fault; the reader may take any time. */
export async function* readWithTimeout(answer: Readable): AsyncGenerator<Buffer> {
  const pieces = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    while (true) {
      const timer = setTimeout(
        () => answer.destroy(new Error(`The server fell silent for ${PIECE_MS / 1_000} s`)),
        PIECE_MS,
      );
      const next = await pieces.next().finally(() => clearTimeout(timer));
      if (next.done) return;
      yield next.value;
    }
  } finally {
    answer.destroy();
  }
}

export interface ListedObject {
  /** Without the mark. */
  readonly name: string;
  readonly stored_ms: number;
  readonly bytes: number;
}

/** Methods that find nothing resolve with null; `what` and `name` stand in the Fault's sentence. */
export interface Bucket {
  /** For messages. */
  readonly location: string;
  readonly fault: (what: string, cause: unknown) => Fault;
  /** A command until its response head. */
  readonly reach: <T>(
    what: string,
    command: (signal: AbortSignal) => Promise<T>,
    within_ms?: number,
  ) => Promise<T>;
  readonly head: (name: string) => Promise<Head | null>;
  readonly get: (name: string, range?: string) => Promise<Answer | null>;
  readonly put: (
    name: string,
    object: Omit<PutObjectCommandInput, "Bucket" | "Key">,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Content in memory by one signed request of our own. False: it was not stored. */
  readonly putQuickly: (
    name: string,
    object: Omit<Parameters<QuickUploads["send"]>[0], "key">,
    signal: AbortSignal,
  ) => Promise<boolean>;
  readonly copy: (from: string, to: string) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
  /** Objects whose names begin with `mark` and `digits`. */
  readonly list: (mark: string, digits: string) => AsyncGenerator<ListedObject>;
  readonly ping: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export function s3Bucket({ bucket, prefix, endpoint, region, credentials }: BucketOptions): Bucket {
  const client = new S3Client({
    region: region ?? "us-east-1",
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(credentials === undefined ? {} : { credentials }),
    maxAttempts: 3,
    logger: SILENT_LOGGER,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      httpAgent: { maxSockets: MAX_CONNECTIONS },
      httpsAgent: { maxSockets: MAX_CONNECTIONS },
    },
    // Uploads carry a SHA-256 checksum already; the SDK would compute another one.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  // The logger middleware costs a tenth of an upload even when nothing is logged.
  client.middlewareStack.remove("loggerMiddleware");
  const quick = quickUploads(client, { connections: MAX_CONNECTIONS, connect_ms: CONNECT_MS });
  const location = `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`;
  const at = (name: string) => ({ Bucket: bucket, Key: prefix === "" ? name : `${prefix}/${name}` });

  function fault(what: string, cause: unknown): Fault {
    if (cause instanceof Fault) return cause;
    const status = cause instanceof S3ServiceException ? cause.$metadata.httpStatusCode : undefined;
    const answered = status === undefined ? "" : `: it answered ${status}`;
    return new Fault("bodies_unreachable", `Cannot ${what} in "${location}"${answered}`, { cause });
  }

  async function reach<T>(
    what: string,
    command: (signal: AbortSignal) => Promise<T>,
    within_ms = ANSWER_MS,
  ): Promise<T> {
    const deadline = new AbortController();
    const timer = setTimeout(
      () => deadline.abort(new Error(`There was no answer within ${within_ms / 1_000} s`)),
      within_ms,
    );
    try {
      return await command(deadline.signal);
    } catch (cause) {
      throw fault(what, deadline.signal.aborted ? deadline.signal.reason : cause);
    } finally {
      // The time-out ends with the response head.
      clearTimeout(timer);
    }
  }

  /** Null: there is no such object. */
  async function find<T>(what: string, command: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    return reach(what, (signal) =>
      command(signal).catch((problem: unknown) => {
        if (isMissing(problem)) return null;
        throw problem;
      }),
    );
  }

  return {
    location,
    fault,
    reach,
    head: (name) =>
      find(`find body "${name}"`, (abortSignal) =>
        client.send(new HeadObjectCommand({ ...at(name), ChecksumMode: "ENABLED" }), { abortSignal }),
      ),
    get: (name, Range) =>
      find(`read body "${name}"`, (abortSignal) =>
        client.send(new GetObjectCommand({ ...at(name), ...(Range === undefined ? {} : { Range }) }), {
          abortSignal,
        }),
      ),
    async put(name, object, abortSignal) {
      await client.send(new PutObjectCommand({ ...at(name), ...object }), { abortSignal });
    },
    putQuickly: (name, object, signal) => quick.send({ key: at(name).Key, ...object }, signal),
    async copy(from, to) {
      const CopySource = `${bucket}/${encodeURI(at(from).Key)}`;
      await find(`set body "${from}" aside`, (abortSignal) =>
        client.send(new CopyObjectCommand({ ...at(to), CopySource }), { abortSignal }),
      );
    },
    async remove(name) {
      await find(`remove body "${name}"`, (abortSignal) =>
        client.send(new DeleteObjectCommand(at(name)), { abortSignal }),
      );
    },
    list: listObjects,
    async ping() {
      await reach("find anything", (abortSignal) =>
        client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal }),
      );
    },
    async close() {
      client.destroy();
      await quick.close();
    },
  };

  async function* listObjects(mark: string, digits: string): AsyncGenerator<ListedObject> {
    const folder = at(mark).Key;
    let from: string | undefined;
    do {
      const token = from;
      const page = await reach("list bodies", (abortSignal) =>
        client.send(
          new ListObjectsV2Command({
            Bucket: bucket,
            Prefix: `${folder}${digits}`,
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
          { abortSignal },
        ),
      );
      for (const { Key, LastModified, Size = 0 } of page.Contents ?? [])
        yield { name: Key!.slice(folder.length), stored_ms: storedMs(LastModified), bytes: Size };
      from = page.NextContinuationToken;
    } while (from !== undefined);
  }
}

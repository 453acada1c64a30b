/** Collections of archives, beside the exchanges themselves, which are bodies. */
import { collection } from "../../../cluster/collection.ts";
import type { PageRecord } from "../../../schemas/fetch.ts";
import type { StoredLayout } from "./layout.ts";

/** A response at one time. */
export interface StoredCapture {
  readonly url: string;
  /** ISO 8601, with milliseconds. */
  readonly date: string;
  readonly status: number;
  readonly mime: string;
  /** `sha256:` and hexadecimal digits; "-": nothing of the body is kept. */
  readonly digest: string;
  readonly bytes: number;
  /** Digest of the ArchivedFetch; `at`: which exchange of it. */
  readonly archive_sha256: string;
  readonly at: number;
  /** Digest of what scripts have made of the page. Absent: it was not rendered. */
  readonly rendered_sha256?: string;
  /** The import that brought it. Absent: it was fetched by this service. */
  readonly import_id?: string;
  /** The body is not whole, or not what its fields say. */
  readonly is_damaged?: true;
}

/** An archive file that was uploaded: its bytes until they are read, and what came of them. */
export interface StoredImport {
  readonly id: string;
  /** The project whose key uploaded it. */
  readonly project: string;
  readonly is_shared: boolean;
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly state: "uploading" | "importing" | "done" | "failed" | "deleted";
  readonly problem: string | null;
  /** In the body store, in the order of the file; none when it is read. */
  readonly parts: readonly { readonly sha256: string; readonly bytes: number }[];
  /** Where reading goes on: the WARC file within a WACZ file, and a byte of it. */
  readonly place: { readonly entry: number; readonly offset: number };
  /** The digest of the file was compared. */
  readonly is_verified: boolean;
  readonly counts: ImportCounts;
  /** Records that bring no capture, by kind. */
  readonly skipped: Readonly<Record<string, number>>;
  /** Records that could not be read, or only in part, by what is wrong. */
  readonly bad: Readonly<Record<string, number>>;
  readonly created_ms: number;
  readonly ended_ms: number | null;
}

export interface ImportCounts {
  readonly records: number;
  readonly captures: number;
  /** Captures that the owner has of another file. */
  readonly known: number;
  readonly indexed: number;
  readonly bytes: number;
}

/** A payload that later revisits refer to. */
export interface StoredPayload {
  readonly sha256: string;
  readonly bytes: number;
}

/** Fetches by single requests whose exchanges were kept, by `<project> <request id>`. */
export const ARCHIVED_REQUESTS = collection<{ readonly record: PageRecord }>("archived_requests", {
  expires: true,
});
/** Captures by `<project> <key of the address> <time> <exchange>`. */
export const ARCHIVE_CAPTURES = collection<StoredCapture>("archive_captures", { expires: true });
/** Where in a job's WARC file each fetch is, by job id; made again where it is missing. */
export const ARCHIVE_LAYOUTS = collection<StoredLayout>("archive_layouts", {
  expires: true,
  rebuildable: true,
});
/** Imports by `<project or *> <id>`; those whose upload was not finished expire. */
export const ARCHIVE_IMPORTS = collection<StoredImport>("archive_imports", { expires: true });
/** Payloads of imports by `<project or *> <digest as the file has it>`. */
export const ARCHIVE_PAYLOADS = collection<StoredPayload>("archive_payloads");

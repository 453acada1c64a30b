/** What is stored of archives, beside the exchanges themselves, which are bodies. */
import { collection } from "../../../cluster/collection.ts";
import type { PageRecord } from "../../../schemas/fetch.ts";
import type { StoredLayout } from "./layout.ts";

/** One response at one time. */
export interface StoredCapture {
  readonly url: string;
  /** ISO 8601, with milliseconds. */
  readonly date: string;
  readonly status: number;
  readonly mime: string;
  /** `sha256:` and hexadecimal digits; "-": nothing of the body is kept. */
  readonly digest: string;
  readonly bytes: number;
  /** Of the ArchivedFetch, and which exchange of it. */
  readonly archive_sha256: string;
  readonly at: number;
  /** What scripts have made of the page. Absent: it was not rendered. */
  readonly rendered_sha256?: string;
}

/** Fetches by single requests whose exchanges were kept, by `<project> <request id>`. */
export const ARCHIVED_REQUESTS = collection<{ readonly record: PageRecord }>("archived_requests", {
  expires: true,
});
/** What was archived of which address, by `<project> <key of the address> <time> <exchange>`. */
export const ARCHIVE_CAPTURES = collection<StoredCapture>("archive_captures", { expires: true });
/** Where in a job's WARC file each fetch is, by job id; made again where it is missing. */
export const ARCHIVE_LAYOUTS = collection<StoredLayout>("archive_layouts", {
  expires: true,
  rebuildable: true,
});

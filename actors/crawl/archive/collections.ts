/** What is stored of archives, beside the exchanges themselves, which are bodies. */
import { collection } from "../../../cluster/collection.ts";
import type { PageRecord } from "../../../schemas/fetch.ts";
import type { StoredCapture } from "./captures.ts";
import type { StoredLayout } from "./layout.ts";

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

/**
 * Formats of pages that this process has just stored: a page of a crawl is read for its links right after it was fetched, and a read
 * of the store decompresses and proves what was in memory a moment ago.
 */
import { LRUCache } from "lru-cache";
import { sha256Of } from "../../../cluster/ports/blobs.ts";

/** Some hundred pages; larger formats are read from the store. */
const MAX_BYTES = 4 * 2 ** 20;
const MAX_FORMATS_BYTES = 256 * 1024;

export interface RecentFormats {
  readonly keep: (body: Buffer) => void;
  /** Undefined: it has to be read from the store. */
  readonly find: (sha256: string) => Buffer | undefined;
}

export function recentFormats(): RecentFormats {
  const bodies = new LRUCache<string, Buffer>({
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_FORMATS_BYTES,
    sizeCalculation: (body) => body.length + 1,
  });
  return {
    keep: (body) => void bodies.set(sha256Of(body), body),
    find: (sha256) => bodies.get(sha256),
  };
}

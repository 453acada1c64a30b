/**
 * Links of a page that a crawl follows: read with the page and kept in memory for the moment until the crawl asks for them, else read again
 * from the stored body. They are stored only where the page's formats are, which have them, too.
 */
import { LRUCache } from "lru-cache";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import { NO_ROOM, type TaskResult } from "../../../cluster/ports/workers.ts";
import { readBody } from "../../../cluster/read-body.ts";
import type { PageFormats, PageRecord } from "../../../schemas/fetch.ts";
import {
  type ExtractCaller,
  type Extracted,
  type ExtractTask,
  NO_LINKS,
  type PageLinks,
} from "../../reading/extraction-result.ts";
import { formatsOf } from "./page-parts.ts";

/** Characters of the addresses in memory: some hundred pages. */
const MAX_CHARS = 2 ** 21;
/** Limit of each page. */
const MAX_PAGE_CHARS = 2 ** 18;

/** Links of pages that this process has just read. */
export interface RecentLinks {
  readonly keep: (key: string, links: PageLinks) => void;
  /** They are taken once. Undefined: they have to be read. */
  readonly take: (key: string) => PageLinks | undefined;
}

export function recentLinks(): RecentLinks {
  const kept = new LRUCache<string, PageLinks>({
    maxSize: MAX_CHARS,
    maxEntrySize: MAX_PAGE_CHARS,
    sizeCalculation: ({ links, alternates }, key) =>
      [...links, ...alternates].reduce((chars, { url }) => chars + url.length, key.length),
  });
  return {
    keep: (key, links) => void kept.set(key, links),
    take(key) {
      const links = kept.get(key);
      kept.delete(key);
      return links;
    },
  };
}

/** Formats may be those of a part of the page; addresses of links depend on where it is. */
const keyOf = ({
  formats_sha256,
  sha256,
  final_url,
}: Pick<PageRecord, "formats_sha256" | "sha256" | "final_url">): string =>
  formats_sha256 ?? `${sha256} ${final_url}`;

/** Keeps what a page was read with. */
export function keepLinks(
  recent: RecentLinks | undefined,
  record: PageRecord,
  extracted: Pick<Extracted, "formats" | "followed"> | null,
): void {
  recent?.keep(keyOf(record), extracted?.followed ?? linksIn(extracted?.formats ?? null));
}

const linksIn = (formats: PageFormats | null): PageLinks => ({
  ...NO_LINKS,
  ...formats?.relations,
  ...(formats && { links: formats.links }),
});

/** Throws Fault. */
export type LinksOf = (record: PageRecord, caller: ExtractCaller) => Promise<PageLinks>;

export const linksReader =
  ({
    blobs,
    clock,
    extract,
    recent_links,
  }: {
    readonly blobs: Blobs;
    readonly clock: Pick<Clock, "now">;
    readonly extract: (task: ExtractTask, caller: ExtractCaller) => Promise<TaskResult<Extracted>>;
    readonly recent_links: RecentLinks;
  }): LinksOf =>
  async (record, caller) => {
    const { sha256, formats_sha256, final_url, content_type, content_kind } = record;
    const kept = recent_links.take(keyOf(record));
    if (kept) return kept;
    if (formats_sha256 !== undefined) return linksIn(await formatsOf(blobs, record));
    if (sha256 === null) return NO_LINKS;
    const task = {
      bytes: await readBody(blobs, sha256),
      url: final_url ?? "",
      content_type,
      kind: content_kind ?? "binary",
      now_ms: clock.now(),
      followed: "only",
    } as const;
    const result = await extract(task, caller);
    if (result.kind === "done") return result.value.followed ?? NO_LINKS;
    if (NO_ROOM.has(result.reason) || result.reason === "aborted")
      throw new Fault("overloaded", `Cannot read the links of "${final_url}": ${result.reason}`);
    return NO_LINKS;
  };

/** The pages of an earlier crawl, to tell which ones of a later crawl are new, changed or unchanged. */
import { LRUCache } from "lru-cache";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Change, SeenPage } from "../../../../schemas/crawl.ts";
import { keyOfText, type KeyOptions } from "../address/key.ts";
import { addresses } from "../frontier/addresses.ts";
import { FRONTIERS } from "../frontier/collections.ts";
import { storedRows } from "../frontier/load.ts";

interface PreviousCrawl {
  /** Undefined: the earlier crawl is not stored any more. */
  readonly changeOf: (url: string, seen: Pick<SeenPage, "content">) => Change | undefined;
}

/** Crawls in memory, about 100 bytes a page. */
const MAX_PREVIOUS = 10;

/** Reads earlier crawls, each once. Null: there is no earlier one. */
export function previousCrawls(documents: Documents) {
  const known = new LRUCache<string, Promise<PreviousCrawl>>({ max: MAX_PREVIOUS });
  return async (since_job: string | null, rules: KeyOptions): Promise<PreviousCrawl | null> => {
    if (since_job === null) return null;
    const key = `${since_job} ${rules.ignore_query}`;
    const before = known.get(key);
    if (before) return before;
    const reading = previousCrawl(documents, since_job, rules);
    known.set(key, reading);
    reading.catch(() => known.delete(key));
    return reading;
  };
}

/** `rules`: of the later crawl, which says what addresses are one. Throws Fault. */
async function previousCrawl(
  documents: Documents,
  job_id: string,
  rules: KeyOptions,
): Promise<PreviousCrawl> {
  const record = await FRONTIERS.get(documents, job_id);
  if (record === null) return { changeOf: () => undefined };
  const known = addresses(job_id);
  const contents: string[] = [];
  for await (const rows of storedRows(documents, job_id, record))
    for (const { url, seen } of rows) {
      const key = seen && keyOfText(url, rules);
      if (key !== undefined && known.find(key) < 0) contents[known.add(key, 0)] = seen!.content;
    }
  return {
    changeOf(url, { content }) {
      const at = known.find(keyOfText(url, rules));
      if (at < 0) return "new";
      return contents[at] === content ? "unchanged" : "changed";
    },
  };
}

/** Encryption of a crawl in the store: of its fetch options, where they hold a login. */
import type { SealedCollection } from "../../../../cluster/ports/secrets.ts";
import { holdsLogin } from "../../../../schemas/job-inputs.ts";
import type { CrawlRecord } from "./record.ts";

/** Where the fetch options of a crawl are sealed for. */
export const fetchPlace = (job_id: string) => ({ collection: "crawls", key: job_id, field: "fetch" });

/** Options that are given up are empty. */
export const sealedCrawls: SealedCollection = {
  rewrite({ key, value }, reseal) {
    const record = value as CrawlRecord;
    if (!holdsLogin(record.fetch)) return { value: record, options: {} };
    const { sealed } = record.fetch;
    const stored = typeof sealed === "string" ? sealed : JSON.stringify(record.fetch);
    const next = reseal(stored, fetchPlace(key));
    return { value: { ...record, fetch: next === null ? {} : { sealed: next } }, options: {} };
  },
};

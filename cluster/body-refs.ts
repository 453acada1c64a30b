/**
 * References that keep stored bodies alive. A component stores a reference before it stores a record that names the
 * body: a document `body_refs/<sha256> <holder>`, which expires or is released. ops/collect-bodies.ts removes bodies
 * without references. A project's right to download a body is a reference as well (gateway/body-access.ts), and so is the
 * tag of a cached page: a document that is stored for each page needs no second one to keep its body.
 */
import { LRUCache } from "lru-cache";
import type { Documents, KeyRange } from "./ports/documents.ts";
import { collection } from "./collection.ts";

/** By `<sha256> <holder>`. Null: until release. */
export const BODY_REFS = collection<{ readonly until_ms: number | null }>("body_refs", { expires: true });
/** Added to each expiry, so that retaining a body again within a day writes nothing. */
const SLACK_MS = 24 * 60 * 60_000;
const MAX_RECENT = 8_192;
const LISTED_AT_ONCE = 1_000;

export interface BodyRefs {
  /**
   * Keeps these bodies for the holder at least until then; Infinity: until release. Null digests are ignored. Resolves
   * when the references are stored. Throws Fault "documents_unreachable".
   */
  readonly retain: (sha256s: readonly (string | null)[], holder: string, until_ms: number) => Promise<void>;
  /** Removes the holder's references, if there are any. Throws Fault "documents_unreachable". */
  readonly release: (sha256s: readonly string[], holder: string) => Promise<void>;
}

const keyOf = (sha256: string, holder: string): string => `${sha256} ${holder}`;

export function bodyRefs(documents: Documents): BodyRefs {
  /** Until when references are stored, as far as this process knows. */
  // By size: `max` allocates room for all entries at once, and most nodes have few.
  const recent = new LRUCache<string, number>({ maxSize: MAX_RECENT, sizeCalculation: () => 1 });

  async function write(key: string, until_ms: number): Promise<void> {
    if ((recent.get(key) ?? -Infinity) >= until_ms) return;
    const expires_at_ms = until_ms + SLACK_MS;
    const isForEver = expires_at_ms === Infinity;
    const written = {
      value: { until_ms: isForEver ? null : expires_at_ms },
      options: isForEver ? {} : { expires_at_ms },
    };
    // Most references are new, so nothing is read first. One that exists may be of another process, with an earlier expiry.
    const stored = await BODY_REFS.update(
      documents,
      key,
      (existing) => (existing && (existing.until_ms ?? Infinity) >= until_ms ? null : written),
      null,
    );
    recent.set(key, stored!.value.until_ms ?? Infinity);
  }

  return {
    async retain(sha256s, holder, until_ms) {
      const unique = new Set(sha256s.filter((sha256) => sha256 !== null));
      await Promise.all([...unique].map((sha256) => write(keyOf(sha256, holder), until_ms)));
    },
    async release(sha256s, holder) {
      for (const sha256 of new Set(sha256s)) {
        const key = keyOf(sha256, holder);
        recent.delete(key);
        const existing = await BODY_REFS.read(documents, key);
        if (existing) await BODY_REFS.remove(documents, key, existing.version);
      }
    },
  };
}

/**
 * The digests from `from` (included) to `to` (excluded) with which keys of these collections begin. Throws Fault
 * "documents_unreachable".
 */
export async function referencedBetween(
  documents: Documents,
  collections: readonly string[],
  { from, to }: Required<Pick<KeyRange, "from" | "to">>,
): Promise<ReadonlySet<string>> {
  const referenced = new Set<string>();
  for (const name of collections) {
    let next: string | null = from;
    while (next !== null) {
      const page = await documents.list(name, { from: next, to, limit: LISTED_AT_ONCE });
      for (const { key } of page) referenced.add(key.slice(0, 64));
      next = page.length < LISTED_AT_ONCE ? null : `${page.at(-1)!.key}\0`;
    }
  }
  return referenced;
}

/** The tag of a document that keeps this body alive; `project`: and that has this project's right to it. */
export const bodyTag = (sha256: string, project?: string): string =>
  project === undefined ? `body ${sha256}` : `body ${sha256} ${project}`;

/** Whether a document keeps this body alive by its tag. Throws Fault "documents_unreachable". */
export async function isTagged(
  documents: Pick<Documents, "list">,
  collections: readonly string[],
  sha256: string,
): Promise<boolean> {
  for (const name of collections)
    if ((await documents.list(name, { tag_prefix: bodyTag(sha256), limit: 1 })).length > 0) return true;
  return false;
}

/** Removes the documents that keep a body which is gone, so that what they stand for is fetched again. Throws Fault. */
export async function forgetTagged(
  documents: Pick<Documents, "list" | "remove">,
  collections: readonly string[],
  sha256: string,
): Promise<void> {
  for (const name of collections)
    for (const { key, version } of await documents.list(name, { tag_prefix: bodyTag(sha256), limit: 100 }))
      await documents.remove(name, key, version);
}

/** Collections of documents that keep a body by their tag. */
export const BODY_TAG_COLLECTIONS = ["pages"] as const;

/** Collections whose keys begin with the digest of a referenced body. */
export const BODY_REF_COLLECTIONS = [BODY_REFS.name, "body_grants"] as const;

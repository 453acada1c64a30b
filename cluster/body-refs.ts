/**
 * Who still needs a stored body. Whatever names a body writes a hold before it does, `body_refs/<sha256> <holder>`, which
 * ends by itself or is let go; one that nobody holds is removed by ops/collect-bodies.ts. A project's retrieval is a hold of
 * its own (gateway/body-access.ts).
 */
import { LRUCache } from "lru-cache";
import type { Documents, KeyRange } from "./ports/documents.ts";

const COLLECTION = "body_refs";
/** A hold lasts so much longer than was asked for, so that renewing it within a day writes nothing. */
const SLACK_MS = 24 * 60 * 60_000;
const MAX_RECENT = 50_000;
const LISTED_AT_ONCE = 1_000;

export interface BodyRefs {
  /**
   * Keeps these bodies for a holder at least until then; Infinity: until it lets go. Digests that are null are left
   * out. Resolves when it is stored. Throws Fault "documents_unreachable".
   */
  readonly retain: (sha256s: readonly (string | null)[], holder: string, until_ms: number) => Promise<void>;
  /** Lets go; nothing happens where nothing was held. Throws Fault "documents_unreachable". */
  readonly release: (sha256s: readonly string[], holder: string) => Promise<void>;
}

const keyOf = (sha256: string, holder: string): string => `${sha256} ${holder}`;

export function bodyRefs(documents: Documents): BodyRefs {
  /** Until when it is held, as far as it is known here. */
  const recent = new LRUCache<string, number>({ max: MAX_RECENT });

  async function write(key: string, until_ms: number): Promise<void> {
    if ((recent.get(key) ?? -Infinity) >= until_ms) return;
    const expires_at_ms = until_ms + SLACK_MS;
    const extra = expires_at_ms === Infinity ? {} : { expires_at_ms: expires_at_ms };
    const value = { until_ms: expires_at_ms === Infinity ? null : expires_at_ms };
    let [retained_ms, version] = [-Infinity, 0];
    while (retained_ms < until_ms) {
      if (await documents.put(COLLECTION, key, value, version, extra)) {
        retained_ms = expires_at_ms;
        continue;
      }
      // It was there, or another holds it at this moment, perhaps for less long.
      const existing = await documents.get(COLLECTION, key);
      retained_ms = existing
        ? ((existing.value as { until_ms: number | null }).until_ms ?? Infinity)
        : -Infinity;
      version = existing?.version ?? 0;
    }
    recent.set(key, retained_ms);
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
        const existing = await documents.get(COLLECTION, key);
        if (existing) await documents.remove(COLLECTION, key, existing.version);
      }
    },
  };
}

/**
 * The digests from `from` until before `to` that stand at the head of keys of these collections. Throws Fault
 * "documents_unreachable".
 */
export async function referencedBetween(
  documents: Documents,
  collections: readonly string[],
  { from, to }: Required<Pick<KeyRange, "from" | "to">>,
): Promise<ReadonlySet<string>> {
  const referenced = new Set<string>();
  for (const collection of collections) {
    let next: string | null = from;
    while (next !== null) {
      const page = await documents.list(collection, { from: next, to, limit: LISTED_AT_ONCE });
      for (const { key } of page) referenced.add(key.slice(0, 64));
      next = page.length < LISTED_AT_ONCE ? null : `${page.at(-1)!.key}\0`;
    }
  }
  return referenced;
}

/** Collections whose keys begin with the digest of a body that must stay. */
export const BODY_REF_COLLECTIONS = [COLLECTION, "body_grants"] as const;

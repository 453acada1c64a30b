/**
 * Which bodies a project retrieved, and how it saw them (1-core.md, Authentication 10): written before an answer
 * names a body, read before one is handed out. One small document per project and body; it begins with the digest,
 * since it keeps the body, too (cluster/body-refs.ts).
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { BodyGrant } from "../schemas/accounts.ts";

const DAY_MS = 24 * 60 * 60_000;
/** A body can be downloaded for this long after the project retrieved it last. */
export const BODY_GRANT_TTL_MS = 30 * DAY_MS;
/** Retrieving again within a day writes nothing: the document lives that much longer instead. */
const RENEW_AFTER_MS = DAY_MS;
const MAX_RECENT = 100_000;

export interface BodyGrants {
  /** Whether a note of this is recent enough, so that nothing must be written first. */
  readonly isFresh: (project: string, sha256: string, now_ms: number) => boolean;
  /** Resolves when it is stored. Throws Fault. */
  readonly record: (project: string, seen: Omit<BodyGrant, "retrieved_at_ms">) => Promise<void>;
  /** Null: this project never retrieved it, or more than 30 days ago. Throws Fault. */
  readonly find: (project: string, sha256: string) => Promise<BodyGrant | null>;
}

export function openBodyGrants({ documents, clock }: { documents: Documents; clock: Clock }): BodyGrants {
  const recent = new LRUCache<string, number>({ max: MAX_RECENT });

  const keyOf = (project: string, sha256: string): string => `${sha256}:${project}`;

  const isFresh: BodyGrants["isFresh"] = (project, sha256, now_ms) =>
    now_ms - (recent.get(keyOf(project, sha256)) ?? -Infinity) < RENEW_AFTER_MS;

  return {
    isFresh,

    async record(project, seen) {
      const retrieved_at_ms = clock.now();
      if (isFresh(project, seen.sha256, retrieved_at_ms)) return;
      const key = keyOf(project, seen.sha256);
      const value: BodyGrant = { ...seen, retrieved_at_ms };
      const extra = { expires_at_ms: retrieved_at_ms + BODY_GRANT_TTL_MS + RENEW_AFTER_MS };
      if (!(await documents.put("body_grants", key, value, 0, extra))) {
        const existing = await documents.get("body_grants", key);
        // Lost against another gateway that noted the same at the same moment: then it is noted.
        await documents.put("body_grants", key, value, existing?.version ?? 0, extra);
      }
      recent.set(key, retrieved_at_ms);
    },

    async find(project, sha256) {
      const found = (await documents.get("body_grants", keyOf(project, sha256)))?.value as
        | BodyGrant
        | undefined;
      if (!found) return null;
      const age_ms = clock.now() - found.retrieved_at_ms;
      return age_ms < BODY_GRANT_TTL_MS + RENEW_AFTER_MS ? found : null;
    },
  };
}

/**
 * Access to bodies: a project may download the bodies that it retrieved itself, for 30 days. The gateway stores a grant
 * before an answer names a body, and looks it up before it sends one. A grant is one small document per project and
 * body. Its key begins with the digest, because a grant also keeps the body alive (cluster/body-refs.ts).
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { BodyGrant } from "../schemas/accounts.ts";
import { collection } from "../cluster/collection.ts";

/** By `<digest>:<project>`. */
export const BODY_GRANTS = collection<BodyGrant>("body_grants", { expires: true });

const DAY_MS = 24 * 60 * 60_000;
/** How long a project may download a body after it last retrieved it. */
export const BODY_GRANT_TTL_MS = 30 * DAY_MS;
/** Retrieving a body again within a day writes nothing; grants last this much longer instead. */
const RENEW_AFTER_MS = DAY_MS;
const MAX_RECENT = 100_000;

export interface BodyGrants {
  /** Whether a grant for the same bytes with the same content type is recent enough, so that nothing must be stored. */
  readonly isFresh: (project: string, seen: Omit<BodyGrant, "retrieved_at_ms">, now_ms: number) => boolean;
  /** Resolves when the grant is stored. Throws Fault. */
  readonly record: (project: string, seen: Omit<BodyGrant, "retrieved_at_ms">) => Promise<void>;
  /** Null: the project did not retrieve the body within 30 days. Throws Fault. */
  readonly find: (project: string, sha256: string) => Promise<BodyGrant | null>;
}

export function openBodyGrants({ documents, clock }: { documents: Documents; clock: Clock }): BodyGrants {
  /** By digest, then by project: neither lookup makes a text of its own, which each cached fetch would pay for. */
  const recent = new LRUCache<string, ReadonlyMap<string, BodyGrant>>({
    maxSize: MAX_RECENT,
    sizeCalculation: ({ size }) => size,
  });

  const keyOf = (project: string, sha256: string): string => `${sha256}:${project}`;

  const isFresh: BodyGrants["isFresh"] = (project, { sha256, content_type, body_kind }, now_ms) => {
    const grant = recent.get(sha256)?.get(project);
    return (
      grant !== undefined &&
      grant.content_type === content_type &&
      grant.body_kind === body_kind &&
      now_ms - grant.retrieved_at_ms < RENEW_AFTER_MS
    );
  };

  return {
    isFresh,

    async record(project, seen) {
      const retrieved_at_ms = clock.now();
      if (isFresh(project, seen, retrieved_at_ms)) return;
      const key = keyOf(project, seen.sha256);
      const value: BodyGrant = { ...seen, retrieved_at_ms };
      const extra = { expires_at_ms: retrieved_at_ms + BODY_GRANT_TTL_MS + RENEW_AFTER_MS };
      if (!(await BODY_GRANTS.put(documents, key, value, 0, extra))) {
        const existing = await BODY_GRANTS.read(documents, key);
        // If this loses against another gateway, that one stored the same grant.
        await BODY_GRANTS.put(documents, key, value, existing?.version ?? 0, extra);
      }
      recent.set(seen.sha256, new Map(recent.get(seen.sha256)).set(project, value));
    },

    async find(project, sha256) {
      const grant = await BODY_GRANTS.get(documents, keyOf(project, sha256));
      if (!grant) return null;
      const age_ms = clock.now() - grant.retrieved_at_ms;
      return age_ms < BODY_GRANT_TTL_MS + RENEW_AFTER_MS ? grant : null;
    },
  };
}

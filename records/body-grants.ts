/** Grants of bodies as documents of their own: how long each lasts, and how one is stored. Who asks for them is gateway/body-access.ts. */
import type { Documents } from "../cluster/ports/documents.ts";
import { collection } from "../cluster/collection.ts";
import type { BodyGrant } from "../schemas/accounts.ts";

/** By `<digest>:<project>`. */
export const BODY_GRANTS = collection<BodyGrant>("body_grants", { expires: true });

const DAY_MS = 24 * 60 * 60_000;
/** How long a project may download a body after it last retrieved it. */
export const BODY_GRANT_TTL_MS = 30 * DAY_MS;
/** Retrieving a body again within a day writes nothing; grants last this much longer instead. */
export const RENEW_AFTER_MS = DAY_MS;

/** When a grant ends that was stored then. */
export const grantExpiry = (retrieved_at_ms: number): number =>
  retrieved_at_ms + BODY_GRANT_TTL_MS + RENEW_AFTER_MS;

export const grantKey = (project: string, sha256: string): string => `${sha256}:${project}`;

/** Stores a grant as a document of its own, unless a later one of the project is there. Throws Fault. */
export async function storeGrant(documents: Documents, project: string, grant: BodyGrant): Promise<void> {
  const options = { expires_at_ms: grantExpiry(grant.retrieved_at_ms) };
  const isLater = (stored: BodyGrant | null): boolean =>
    stored !== null && stored.retrieved_at_ms > grant.retrieved_at_ms;
  // Most are new, so nothing is read first.
  const change = (stored: BodyGrant | null) => (isLater(stored) ? null : { value: grant, options });
  await BODY_GRANTS.update(documents, grantKey(project, grant.sha256), change, null);
}

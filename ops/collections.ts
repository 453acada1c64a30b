/** All collections that a node uses: those of its features, and those that belong to none. */
import { BODY_PLACES } from "../cluster/body-places.ts";
import { BODY_REFS } from "../cluster/body-refs.ts";
import { CLUSTER } from "../cluster/cluster-documents.ts";
import { type Declared, missingFrom } from "../cluster/collection.ts";
import { DEAD_LETTERS } from "../cluster/dead-letters.ts";
import { DEBUG_RECORDS } from "../gateway/debug-records.ts";
import { OPERATOR_EVENTS } from "../gateway/operator-audit.ts";
import { PENDING_REQUESTS } from "../gateway/pending-requests.ts";
import { BODY_GRANTS } from "../records/body-grants.ts";
import { JOB_IDEMPOTENCY_KEYS, JOB_ITEMS, LEDGER, PROJECT_JOBS } from "../records/collections.ts";
import { FORMATS } from "./data-format.ts";
import type { AnyFeature } from "../node/feature.ts";
import { FEATURES } from "./features.ts";
import { REQUEST_AUDIT } from "./request-audit.ts";
import { SECRETS } from "./secrets.ts";
import { STORES } from "./store-documents.ts";
import { PROBES } from "./store-watch.ts";

const OF_NO_FEATURE: readonly Declared[] = [
  BODY_GRANTS,
  BODY_PLACES,
  BODY_REFS,
  CLUSTER,
  DEAD_LETTERS,
  DEBUG_RECORDS,
  FORMATS,
  JOB_IDEMPOTENCY_KEYS,
  JOB_ITEMS,
  LEDGER,
  OPERATOR_EVENTS,
  PENDING_REQUESTS,
  PROBES,
  PROJECT_JOBS,
  REQUEST_AUDIT,
  SECRETS,
  STORES,
];

export const LISTED: readonly Declared[] = [
  ...OF_NO_FEATURE,
  ...FEATURES.flatMap(({ collections }: Pick<AnyFeature, "collections">) => collections),
];

/** The names of those whose documents expire. */
export const EXPIRING: readonly string[] = [
  ...new Set(LISTED.filter(({ expires }) => expires === true).map(({ name }) => name)),
];

/** When the features are open. Throws what keeps the node from starting. */
export function assertListed(listed: readonly Declared[] = LISTED): void {
  const missing = missingFrom(listed);
  if (missing.length > 0)
    throw new Error(
      `Cannot start: the collections ${missing.map((name) => `"${name}"`).join(", ")} are declared, and no feature lists them. ` +
        "Name each in the collections of the feature that it belongs to",
    );
}

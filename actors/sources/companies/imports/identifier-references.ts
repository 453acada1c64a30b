/** The identifiers of claims as references, in the order in which the source states them. Pure. */
import type { SourceClaim } from "../claim.ts";

export const identifierReferences = (claims: readonly SourceClaim[]): readonly string[] =>
  claims.flatMap(({ field, key, rejected_because }) =>
    field === "identifiers" && key !== null && rejected_because === undefined ? [key] : [],
  );

/**
 * The contracts of the filing system's upstream: the address actors, and the limiter of each egress. Both are placed by
 * the egress, so a slot is granted and used in one process. The messages are those of every upstream (upstream.ts); what
 * the documents say is filings.ts.
 */
import { type Static, Type } from "typebox";
import { addressContract, limiterContract, SourceRequestFields } from "./upstream.ts";

/**
 * The kind of a document decides how long it is fresh, how large it may be and what form it must have. `page`: any other
 * address of these hosts, for POST /v1/fetch; it is not stored. `robots`: robots.txt.
 */
export const SOURCE_KINDS = [
  "tickers",
  "submissions",
  "facts",
  "index",
  "document",
  "search",
  "page",
  "robots",
] as const;
export const SourceKind = Type.Enum([...SOURCE_KINDS]);
export type SourceKind = Static<typeof SourceKind>;

export const SourceHost = Type.Enum(["data", "www", "search"]);
export type SourceHost = Static<typeof SourceHost>;

export const SourceRequest = Type.Object({ host: SourceHost, kind: SourceKind, ...SourceRequestFields });
export type SourceRequest = Static<typeof SourceRequest>;

export const FilingAddress = addressContract<SourceRequest>("filing_address", SourceRequest, "filings");

export const FilingLimiter = limiterContract("filing_limiter", "filings");

/**
 * Hosts that another system reads, within its own limits (the filing system, the profile site): no route of the pipeline sends them a
 * request. A fetch of such an address, or one that is redirected to it, is delegated to that system.
 */
import type { FetchError } from "../../../schemas/errors.ts";
import type { Attempt, FetchRequest } from "../../../schemas/fetch.ts";
import type { TransportPage, TransportResult } from "../../lib/web/transport.ts";
import { type Tier } from "../../../schemas/tier-table.ts";

export interface ReservedRequest {
  readonly url: string;
  readonly max_bytes: number;
  readonly cache_ttl_s: number | null;
  readonly project: string;
  /** The prefix of the caller's key; absent: no key pays. */
  readonly key?: string;
  readonly fetch_id: string;
  /** The routes that the request allows. */
  readonly tiers: readonly Tier[];
  readonly lane: FetchRequest["lane"];
  readonly deadline_ms: number;
}

/** Work of the other system. Absent: by the route direct, for nothing. */
interface ReservedWork {
  /** Attempts before the page came, or all of them where none did. */
  readonly attempts?: readonly Attempt[];
  readonly cost_micros?: number;
}

export type ReservedResult = ReservedWork & (ReservedPage | ReservedFailure);

type ReservedPage = {
  readonly kind: "page";
  readonly page: TransportPage;
  readonly cached: boolean;
  readonly revalidated: boolean;
  /** The longest time the page may count as fresh in the page cache; null: as any page. */
  readonly fresh_ms: number | null;
  readonly retrieved_at: string;
  /** The route that brought it. Default: direct. */
  readonly tier?: Tier;
};

type ReservedFailure = {
  readonly kind: "failed";
  /** A FetchError. */
  readonly error: string;
  readonly status: number | null;
  readonly detail: string;
  readonly retry_after_s: number | null;
  readonly redirects: TransportResult["redirects"];
  readonly ms: number;
};

export interface RouteRefusal {
  readonly error: FetchError;
  readonly error_detail: string;
}

/** Reads the pages of the hosts of one owner. */
export interface PageReader {
  /** Why the routes that a request allows do not read this host; null: they do. Default: the route direct is needed. */
  readonly refusal?: (tiers: readonly Tier[], url: string) => RouteRefusal | null;
  /** Throws Fault and nothing else. */
  readonly fetch: (request: ReservedRequest) => Promise<ReservedResult>;
}

/** The readers of all owners as one. */
export interface ReservedHosts extends PageReader {
  readonly isReserved: (url: string) => boolean;
}

/** Makes the page the same for every caller: nothing that a caller chooses reaches the host. */
export const withoutCallerChoices = (request: FetchRequest): FetchRequest => ({
  ...request,
  user_agent: null,
  accept_language: null,
  country: null,
});

/** The refusal of hosts that are read by the route direct. */
export const needsDirect = (tiers: readonly Tier[]): RouteRefusal | null =>
  tiers.includes("direct")
    ? null
    : { error: "no_tier_allowed", error_detail: "The filing system is read by the route direct only" };

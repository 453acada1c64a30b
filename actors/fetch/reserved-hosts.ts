/**
 * Hosts that another system reads, within its own limits (the filing system): no route of the pipeline sends them a
 * request. A fetch of such an address, or one that is redirected to it, is delegated to that system.
 */
import type { FetchRequest } from "../../schemas/fetch.ts";
import type { TransportResult } from "../lib/web/transport.ts";

export interface ReservedRequest {
  readonly url: string;
  readonly max_bytes: number;
  readonly cache_ttl_s: number | null;
  readonly project: string;
  readonly lane: FetchRequest["lane"];
  readonly deadline_ms: number;
}

export type ReservedResult =
  | {
      readonly kind: "page";
      readonly page: Extract<TransportResult, { kind: "page" }>;
      readonly cached: boolean;
      readonly revalidated: boolean;
      /** The longest time the page may count as fresh in the page cache; null: as any page. */
      readonly fresh_ms: number | null;
      readonly retrieved_at: string;
    }
  | {
      readonly kind: "failed";
      /** A FetchError. */
      readonly error: string;
      readonly status: number | null;
      readonly detail: string;
      readonly retry_after_s: number | null;
      readonly redirects: TransportResult["redirects"];
      readonly ms: number;
    };

export interface ReservedHosts {
  readonly isReserved: (url: string) => boolean;
  /** Throws Fault and nothing else. */
  readonly fetch: (request: ReservedRequest) => Promise<ReservedResult>;
}

/** The same page for every caller: nothing that a caller chooses reaches the host. */
export const withoutCallerChoices = (request: FetchRequest): FetchRequest => ({
  ...request,
  user_agent: null,
  accept_language: null,
  country: null,
});

/** Whether the request allows the one route by which reserved hosts are read. */
export const canDelegate = ({ render, tiers }: FetchRequest): boolean =>
  render !== "always" && (tiers === null || tiers.includes("direct"));

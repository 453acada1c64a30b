/**
 * Pages of a system that has a door of its own (the filing system): no route asks its hosts, whoever reads through the
 * door is handed in. What an ordinary fetch is led to by a redirect is handed over at that hop.
 */
import type { TransportResult } from "../lib/web/transport.ts";
import type { FetchRequest } from "../../schemas/fetch.ts";

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
      /** How long it may be kept here, too; null: as any page. */
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
  readonly owns: (url: string) => boolean;
  /** Throws Fault and nothing else. */
  readonly read: (request: ReservedRequest) => Promise<ReservedResult>;
}

/** What its hosts are asked with does not depend on who wants it: the same page for everybody. */
export const withoutCallerChoices = (request: FetchRequest): FetchRequest => ({
  ...request,
  user_agent: null,
  accept_language: null,
  country: null,
});

/** It is read in one way only. */
export const canDelegate = ({ render, tiers }: FetchRequest): boolean =>
  render !== "always" && (tiers === null || tiers.includes("direct"));

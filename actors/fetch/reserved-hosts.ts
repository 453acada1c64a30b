/**
 * Pages of a system that has a door of its own (the filing system): no route asks its hosts, whoever reads through the
 * door is handed in. What an ordinary fetch is led to by a redirect is handed over at that hop.
 */
import type { Transported } from "../lib/web/transport.ts";
import type { FetchAsk } from "../../schemas/fetch.ts";

export interface HandedAsk {
  readonly url: string;
  readonly max_bytes: number;
  readonly cache_ttl_s: number | null;
  readonly project: string;
  readonly lane: FetchAsk["lane"];
  readonly deadline_ms: number;
}

export type HandedAnswer =
  | {
      readonly kind: "page";
      readonly page: Extract<Transported, { kind: "page" }>;
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
      readonly redirects: Transported["redirects"];
      readonly ms: number;
    };

export interface Handed {
  readonly owns: (url: string) => boolean;
  /** Throws Fault and nothing else. */
  readonly read: (ask: HandedAsk) => Promise<HandedAnswer>;
}

/** What its hosts are asked with does not depend on who wants it: the same page for everybody. */
export const ownedAsk = (ask: FetchAsk): FetchAsk => ({
  ...ask,
  user_agent: null,
  accept_language: null,
  country: null,
});

/** It is read in one way only. */
export const mayRead = ({ render, tiers }: FetchAsk): boolean =>
  render !== "always" && (tiers === null || tiers.includes("direct"));

/** One route's way to a page: a request to raw bytes, or a reason why not. Every route has an adapter of this. */
import type { Redirect } from "../../../schemas/fetch.ts";

export interface TransportRequest {
  readonly url: string;
  /** Decoded bytes; the transport stops reading beyond them. */
  readonly max_bytes: number;
  /** The same for what turns out to be a PDF. Left out: as for everything else. */
  readonly max_pdf_bytes?: number;
  readonly accept_language: string | null;
  readonly user_agent: string | null;
  readonly country: string | null;
  /** For a conditional GET; null for a plain one. */
  readonly validators: { readonly etag: string | null; readonly last_modified: string | null } | null;
  /** Only this part of it, as a Range field says it; the route `direct` knows it. Left out: the whole. */
  readonly range?: string;
  readonly signal: AbortSignal;
  /**
   * Asked before each request to an origin, the first and every redirect hop: robots, slot and fence of that
   * origin. Refusals end the journey. Granted slots are handed back by `left`. `sending` is asked immediately before
   * the request leaves (false, and it must not leave any more), `sent` is told when it has left: gaps count from there.
   */
  readonly admit: (url: string) => Promise<Admission>;
}

export type Admission =
  | {
      readonly kind: "admitted";
      readonly beforeSend: () => boolean | Promise<boolean>;
      readonly onSent: () => void;
      readonly release: (answer: OriginAnswer) => void;
    }
  | { readonly kind: "refused"; readonly refusal: HopRefusal };

/** What the origin said, for the domain's pace. */
export interface OriginAnswer {
  readonly status: number | null;
  readonly retry_after_s: number | null;
}

/** Why a hop may not be taken: a FetchError, the pseudo-step it is recorded under, and a sentence. */
export interface HopRefusal {
  readonly error: string;
  readonly step: "robots" | "politeness" | "dns" | "egress";
  readonly reason: string;
  readonly retry_after_s: number | null;
  readonly detail: string | null;
}

export type TransportResult =
  | {
      readonly kind: "page";
      readonly final_url: string;
      readonly redirects: readonly Redirect[];
      readonly status: number;
      /** Names in lower case, repeated fields joined by ", ", everything the origin sent. */
      readonly headers: ReadonlyMap<string, string>;
      readonly body: Buffer;
      readonly body_kind: "origin" | "rendered_dom";
      /** Of the route archive: when the copy was taken, ISO 8601. */
      readonly archived_at?: string;
      /** For the attempt: how hard rendering was (low, medium, high). */
      readonly detail?: string;
      readonly ms: number;
    }
  | {
      /** `reason` as in Attempt: timeout, tls_error, dns_nxdomain, network_*, too_large, too_many_redirects … */
      readonly kind: "failed";
      readonly reason: string;
      readonly status: number | null;
      readonly redirects: readonly Redirect[];
      readonly final_url: string | null;
      readonly detail: string | null;
      readonly ms: number;
    }
  | {
      readonly kind: "refused";
      readonly refusal: HopRefusal;
      readonly redirects: readonly Redirect[];
      readonly final_url: string | null;
      readonly ms: number;
    };

/** Never throws but for bugs; ends at the latest when its signal does. */
export type Transport = (request: TransportRequest) => Promise<TransportResult>;

/** A transport is one route to a page: a request in; raw bytes, or the reason why there are none, out. Each route has an adapter. */
import type { KeptExchange } from "../../../schemas/archives.ts";
import type { Redirect, StoredScreenshot } from "../../../schemas/fetch.ts";
import type { StoredOutcome } from "../../../schemas/actions.ts";
import type { TierRequest } from "../../../schemas/tiers.ts";

export interface AdmitOptions {
  /** A public address led here: what is asked for it (robots.txt) reaches public addresses only. */
  readonly is_public_only?: boolean;
  /** Only whether robots.txt allows the address: no slot is taken, and nothing may be sent. */
  readonly is_robots_only?: boolean;
}

export interface TransportRequest extends Readonly<Omit<TierRequest, "left_ms">> {
  /**
   * Asked before a body is refused as too large: another caller with larger limits may have joined. Default: the limits do
   * not grow.
   */
  readonly currentLimits?: () => Promise<{ readonly max_bytes: number; readonly max_pdf_bytes: number }>;
  readonly signal: AbortSignal;
  /** When `signal` is aborted for the time's sake (Clock.now()); nothing is waited for beyond it. Default: never. */
  readonly deadline_ms?: number;
  /** Room in memory for the bodies of this request. Default: there is always room. */
  readonly room?: BodyRoom;
  /**
   * Called before each request to an origin, the first and every redirect hop: robots.txt, a slot, and ownership of the
   * key. A refusal ends the route. Of an admitted request `beforeSend` is called immediately before it is sent (false:
   * it must not be sent any more), `onSent` when it has been sent (the delay to the next one counts from there), and
   * `release` once when its exchange is over, which frees the slot.
   */
  readonly admit: (url: string, options?: AdmitOptions) => Promise<Admission>;
}

/** The part of the node's memory that a request may use; what it holds is given back when its run ends. */
export interface BodyRoom {
  /** Before so many more bytes are held. False: there is no room in time. */
  readonly reserve: (bytes: number) => Promise<boolean>;
  /** A body is complete: what was reserved since the last call is this many bytes now. */
  readonly settle: (bytes: number) => void;
}

export type Admission =
  | {
      readonly kind: "admitted";
      readonly beforeSend: () => boolean | Promise<boolean>;
      readonly onSent: () => void;
      readonly release: (answer: OriginAnswer) => void;
    }
  | { readonly kind: "refused"; readonly refusal: HopRefusal };

/** The origin's answer, as the domain learns from it. */
export interface OriginAnswer {
  readonly status: number | null;
  readonly retry_after_s: number | null;
}

/** Why a request is not admitted: a FetchError, the step of the attempt that records it, and a sentence. */
export interface HopRefusal {
  readonly error: string;
  readonly step: "robots" | "politeness" | "dns" | "egress" | "extraction";
  readonly reason: string;
  readonly retry_after_s: number | null;
  readonly detail: string | null;
}

/** Fields of every result, whatever became of the page. */
interface Left {
  /** Changes that it made to its session's cookies, sealed. */
  readonly session_changes?: string;
  /** Exchanges that were answered, of a request with `archive` on a route that keeps exchanges. */
  readonly exchanges?: readonly KeptExchange[];
}

export type TransportResult = Left &
  (
    | {
        readonly kind: "page";
        readonly final_url: string;
        readonly redirects: readonly Redirect[];
        readonly status: number;
        /** Names in lower case, repeated fields joined by ", ", everything the origin sent. */
        readonly headers: ReadonlyMap<string, string>;
        readonly body: Buffer;
        readonly body_kind: "origin" | "rendered_dom";
        /** When an archived copy was taken, ISO 8601. */
        readonly archived_at?: string;
        /** For the attempt: the difficulty of rendering (low, medium, high). */
        readonly detail?: string;
        readonly screenshot?: TakenScreenshot;
        readonly actions?: TakenActions;
        /** It came from an allowed private network, or from an archive that was imported for the project alone. Default: it did not. */
        readonly is_private?: boolean;
        /** The wish of the request that the page did not come to. */
        readonly shortfall?: Shortfall;
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
      }
  );

export type TransportPage = Extract<TransportResult, { kind: "page" }>;

/** A picture of a page, and its bytes. */
export interface TakenScreenshot extends Readonly<Omit<StoredScreenshot, "sha256">> {
  readonly bytes: Buffer;
}

/** Outcomes of a caller's steps, and the bytes of their pictures and PDFs. */
export interface TakenActions {
  readonly outcomes: readonly StoredOutcome[];
  readonly files: readonly {
    readonly sha256: string;
    readonly content_type: string;
    readonly bytes: Buffer;
  }[];
}

export interface Shortfall {
  readonly error: "action_failed" | "selector_not_found" | "screenshot_failed" | "timeout";
  /** A sentence for people. */
  readonly detail: string;
}

/** Throws only when there is a bug; ends with its signal at the latest. */
export type Transport = (request: TransportRequest) => Promise<TransportResult>;

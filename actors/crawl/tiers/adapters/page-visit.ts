/**
 * A visit of a page: what it was given, what it has met so far, and its end, which comes once: a result, a failure, or its
 * time. Its documents are page-documents.ts, what the browser pauses and reports page-requests.ts, when it is read page-rendering.ts.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Action } from "../../../../schemas/actions.ts";
import { MAX_ACTIONS_MS } from "../../../../schemas/actions.ts";
import { MAX_WAIT_FOR_MS, type Redirect } from "../../../../schemas/fetch.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import type {
  HopRefusal,
  TransportPage,
  TransportRequest,
  TransportResult,
} from "../../../lib/web/transport.ts";
import type { TypedSecret } from "../../../lib/web/session-secrets.ts";
import type { PageLease } from "./browser-pool.ts";
import { pausableTimeout } from "./in-time.ts";
import type { OwnDocuments } from "./own-documents.ts";
import type { PageExchanges } from "./page-exchanges.ts";
import type { Hop, RequestSpacing } from "./page-permit.ts";
import type { PageEndReason } from "./running-browsers.ts";
import { CAPTURE_MS, SCROLL_MS, type Screenshots } from "./screenshot.ts";

export interface PageLimits {
  /** For one page, from its first request to its bytes, without waiting for permits. */
  readonly page_ms: number;
  /** Until the document is parsed; after that its current state is taken. */
  readonly parse_ms: number;
  /** After that, until the network is quiet and the text as long as the caller asked for. */
  readonly settle_ms: number;
  /** The network is quiet when no request has been in flight for so long. If it is too short, late scripts are cut off. */
  readonly quiet_ms: number;
  /** `settle_ms` of a challenge, which may pass and load the page. */
  readonly challenge_ms: number;
  /** For an element that the caller waits for, since the document was parsed. */
  readonly wait_for_ms: number;
  /** For reading the document, which a script that does not end prevents. */
  readonly read_ms: number;
  /** Maximum number of subresource requests; after that the browser is offline. */
  readonly requests: number;
  /** Maximum number of dialogs of a page. */
  readonly dialogs: number;
}

export const LIMITS: PageLimits = {
  page_ms: 30_000,
  parse_ms: 15_000,
  settle_ms: 5_000,
  quiet_ms: 500,
  challenge_ms: 12_000,
  wait_for_ms: MAX_WAIT_FOR_MS,
  read_ms: 5_000,
  requests: 500,
  dialogs: 20,
};

/** Beyond `page_ms`, for a page that is pictured. */
export const SCREENSHOT_MS = SCROLL_MS + CAPTURE_MS + 1_000;

const END_DETAILS: Readonly<Record<PageEndReason, string>> = {
  out_of_memory: "The page held too much memory",
  browser_crashed: "The browser ended",
  too_many_requests: "The page made too many requests",
  too_many_bytes: "The page received too many bytes",
};

export interface VisitParts {
  readonly request: TransportRequest;
  readonly own: OwnDocuments;
  readonly lease: PageLease;
  readonly began_ms: number;
  /** Null: they are not archived. */
  readonly exchanges: PageExchanges | null;
  readonly clock: Clock;
  readonly destination: Destination;
  readonly limits: PageLimits;
  readonly spacing: RequestSpacing;
  readonly pictures: Screenshots;
  /** Taken once, in the first page that is worth reading. */
  readonly steps: readonly Action[];
  /** By name, those that steps type. */
  readonly secrets: ReadonlyMap<string, TypedSecret>;
}

/** The origin's answer for a document. */
export interface DocumentHead {
  readonly url: string;
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
}

/** The course of a visit so far. */
export interface Progress {
  hop: Hop;
  /** The id of the main frame, once its first document is requested. */
  main_frame: string | undefined;
  /** Head of the last document that was answered and is no redirect. */
  origin: DocumentHead | null;
  readonly redirects: Redirect[];
  /** Number of requested documents, and of those accepted as pages. */
  documents: number;
  pages: number;
  /** Documents before the last step began. */
  first_document: number;
  /** Documents that wait for a permit or a response now. */
  pending_documents: number;
}

type PageContent = Omit<
  TransportPage,
  "kind" | "status" | "headers" | "redirects" | "final_url" | "ms" | "is_private"
>;

/** The first of these decides the result. */
interface VisitEnd {
  readonly page: (head: DocumentHead, content: PageContent) => void;
  readonly failed: (reason: string, detail: string | null) => void;
  readonly refused: (refusal: HopRefusal) => void;
  /** Ends the visit with a Fault, which is no result of the page. */
  readonly rejected: (problem: unknown) => void;
}

export interface PageVisit extends Omit<VisitParts, "began_ms">, VisitEnd {
  readonly progress: Progress;
  readonly result: Promise<TransportResult>;
  /** Its time without waiting for permits. */
  readonly timer: ReturnType<typeof pausableTimeout>;
  readonly isOver: () => boolean;
  /** It ended for what may be another page's doing. */
  readonly isBystander: () => boolean;
  readonly close: () => void;
}

/** `hop`: the permit for its first document. */
export function openVisit(parts: VisitParts, hop: Hop): PageVisit {
  const { request, lease, limits, steps, clock, began_ms } = parts;
  const progress: Progress = {
    hop,
    main_frame: undefined,
    origin: null,
    redirects: [],
    documents: 0,
    pages: 0,
    first_document: 0,
    pending_documents: 0,
  };
  const end = Promise.withResolvers<TransportResult>();
  let is_over = false;
  let is_bystander = false;

  const common = () => ({
    redirects: progress.redirects,
    final_url: progress.origin?.url ?? null,
    ms: Math.round(clock.mono() - began_ms),
  });
  const failed = (reason: string, detail: string | null): void => {
    const status = progress.hop.answer.status ?? progress.origin?.status ?? null;
    end.resolve({ kind: "failed", reason, status, detail, ...common() });
  };

  const page_ms =
    limits.page_ms +
    (request.wait_for ? limits.wait_for_ms : 0) +
    (request.screenshot ? SCREENSHOT_MS : 0) +
    (steps.length > 0 ? MAX_ACTIONS_MS : 0);
  const timer = pausableTimeout(page_ms, () =>
    failed("timeout", `The page was not done within ${page_ms} ms`),
  );
  const onAbort = () => failed("timeout", "The deadline passed while the page was rendered");
  request.signal.addEventListener("abort", onAbort, { once: true });
  if (request.signal.aborted) onAbort();
  void lease.ended.then((ended) => {
    is_bystander = ended.is_bystander && !is_over;
    failed(ended.reason, END_DETAILS[ended.reason]);
  });

  return {
    ...parts,
    progress,
    result: end.promise,
    timer,
    page({ url, status, headers }, content) {
      const privacy = lease.session.documentNetwork() === "private" && { is_private: true };
      end.resolve({ kind: "page", status, headers, ...content, ...privacy, ...common(), final_url: url });
    },
    failed,
    refused: (refusal) => end.resolve({ kind: "refused", refusal, ...common() }),
    rejected: (problem) => end.reject(problem),
    isOver: () => is_over,
    isBystander: () => is_bystander,
    close() {
      is_over = true;
      timer.stop();
      request.signal.removeEventListener("abort", onAbort);
      progress.hop.release();
    },
  };
}

/** A fetch of a document of the filing system: what it is given, what it has done so far, and how it fails. */
import type { ActorClient, WorkContext } from "../../../../cluster/actor.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import type { Redirect } from "../../../../schemas/fetch.ts";
import type { SourceRequest } from "../../../../schemas/filing-source.ts";
import type { SourceAnswer } from "../../../../schemas/upstream.ts";
import type { CachedDocument } from "../../upstream/document-cache.ts";
import type { SendWithSlot } from "../../upstream/slot-egress.ts";
import type { FilingHosts } from "./hosts.ts";

export interface FetchDocumentDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly hosts: FilingHosts;
  readonly send: SendWithSlot;
  /** The limiter this node asks: the name of the address its requests come from. */
  readonly egress: string;
  /** The declared operator, the User-Agent of every request. */
  readonly identity: string;
  /** The name looked for in robots.txt. */
  readonly crawler_name: string;
}

export interface FetchRun {
  readonly deps: FetchDocumentDeps;
  readonly ask: ActorClient;
  readonly work: WorkContext;
  readonly request: SourceRequest;
  /** The digest of the address. */
  readonly digest: string;
  readonly url: string;
  readonly max_bytes: number;
  /** The stored answer that a conditional request may confirm. */
  readonly stale: CachedDocument | null;
  /** Aborts at the request's deadline, and when the key is lost. */
  readonly signal: AbortSignal;
  /** Redirects of the current attempt. */
  redirects: readonly Redirect[];
  /** Sent so far, over all attempts. */
  requests: number;
  /** Slots asked for so far: each has an id of its own. */
  slots: number;
}

export type FailedAnswer = Extract<SourceAnswer, { kind: "failed" }>;

/** The result of one attempt; `retry_in_ms`: another attempt may help after this time, null: it cannot. */
export interface FetchAttempt {
  readonly answer: SourceAnswer;
  readonly retry_in_ms: number | null;
  /** For the log: why another attempt may help. */
  readonly problem?: string;
}

const BROKEN_RETRY_MS = 1_000;
export const BROKEN_RETRY_S = 30;
const INCOMPLETE_RETRY_S = 60;

interface FailureDetails {
  readonly retry_after_s?: number | null;
  readonly status?: number | null;
}

export const failed = (
  { redirects, requests }: FetchRun,
  error: string,
  message: string,
  { retry_after_s = null, status = null }: FailureDetails = {},
): FailedAnswer => ({
  kind: "failed",
  error,
  message,
  retry_after_s,
  status,
  redirects: [...redirects],
  requests,
});

/** No further attempt can change this answer. */
export const final = (answer: SourceAnswer): FetchAttempt => ({ answer, retry_in_ms: null });

/** The filing system answered with an error, or the connection failed. */
export const broken = (run: FetchRun, problem: string, status: number | null = null): FetchAttempt => ({
  answer: failed(run, "filings_unavailable", `${run.url}: ${problem}`, {
    retry_after_s: BROKEN_RETRY_S,
    status,
  }),
  retry_in_ms: BROKEN_RETRY_MS,
  problem,
});

/** The body is not what was requested, or not all of it. */
export const incomplete = (run: FetchRun, problem: string, status: number): FetchAttempt => ({
  answer: failed(run, "filings_unavailable", `${run.url}: ${problem}`, {
    retry_after_s: INCOMPLETE_RETRY_S,
    status,
  }),
  retry_in_ms: 0,
  problem,
});

export const countOutcome = ({ deps, request }: FetchRun, outcome: string): void =>
  deps.metrics.count("trawl_filings_requests_total", { kind: request.kind, outcome });

/** Resolves after this time, or when the fetch is aborted. */
export function pause({ deps: { clock }, signal }: FetchRun, for_ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.at(clock.now() + for_ms, resolve);
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(() => timer[Symbol.dispose]());
}

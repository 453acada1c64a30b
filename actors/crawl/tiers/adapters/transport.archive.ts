/**
 * The route `archive`: the newest capture of a page that was imported for the project or for all, of any age, and where there is none the newest
 * usable one, at most 365 days old, from a Wayback-compatible archive.
 * The archive is a domain like any other: its robots.txt, slots and delays apply to every request.
 *
 * Failures of the archive are named `archive_…`, never as failures of the page's own host.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import {
  type ExchangeResponse,
  type Egress,
  EgressError,
  type EgressProblem,
} from "../../../../cluster/ports/egress.ts";
import type { Redirect } from "../../../../schemas/fetch.ts";
import { retryAfterSeconds } from "../../../lib/web/http.ts";
import type { Transport, TransportResult, TransportRequest } from "../../../lib/web/transport.ts";
import {
  archivedAt,
  candidates,
  cdxUrl,
  isCopy,
  isRecent,
  originalHeaders,
  readCdx,
  readReplayUrl,
  replayedTimestamp,
  replayUrl,
  type Snapshot,
} from "../cdx.ts";
import type { FindImported } from "../../../lib/web/imported-capture.ts";
import { collectBody, admitted, joinHeaders, sendHooks } from "./one-request.ts";
import { bodyReader, type ReadBody, sizeDetail } from "./large-bodies.ts";

export interface ArchiveOptions {
  readonly egress: Egress;
  readonly clock: Clock;
  /** For example https://web.archive.org; below it /cdx/search/cdx and /web/<timestamp>id_/<url>. Null: there are imports alone. */
  readonly archive_url: string | null;
  /** The user agent: archives block clients that do not identify themselves. */
  readonly user_agent: string;
  /** Looked at first; nothing is sent for it. Default: nothing is imported. */
  readonly findImported?: FindImported;
}

/** Time limit for all requests: a listing and at most three captures of an archive that is often slow. */
const MAX_VISIT_MS = 75_000;
/** Time-out of a response head. Listings of popular pages take long. */
const HEADERS_TIMEOUT_MS = 30_000;
const MAX_LISTING_BYTES = 1_048_576;
/** Redirects within the archive: to the nearest capture it has, and further when that was a redirect itself. */
const MAX_REDIRECTS = 5;

/** The result of one request to the archive; `failed` ends the route. */
type ArchiveAnswer =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly headers: ReadonlyMap<string, string>;
      /** The body, or which limit it exceeds; null: it was not read. */
      readonly body: Awaited<ReturnType<ReadBody>> | null;
    }
  | Failure;
interface Failure {
  readonly kind: "failed";
  readonly reason: string;
  readonly status: number | null;
  readonly detail: string | null;
}

const failure = (reason: string, status: number | null, detail: string | null): Failure => ({
  kind: "failed",
  reason,
  status,
  detail,
});

/** Null: nothing of the page was imported for the project. */
async function imported(findImported: FindImported, request: TransportRequest) {
  const found = await findImported(request.project ?? "", request.url, request.max_bytes);
  if (found === null) return null;
  if (found === "too_large")
    return failure(
      "archive_too_large",
      null,
      `The imported capture has more than ${request.max_bytes} bytes`,
    );
  return {
    kind: "page",
    final_url: found.url,
    redirects: found.redirects,
    status: 200,
    headers: found.headers,
    body: found.body,
    body_kind: "origin",
    archived_at: found.captured_at,
    detail: `Imported from "${found.source}"`,
    ...(!found.is_shared && { is_private: true }),
  } as const;
}

export function archiveTransport({
  egress,
  clock,
  archive_url,
  user_agent,
  findImported = async () => null,
}: ArchiveOptions): Transport {
  const readBody = bodyReader(clock);
  const readListing = async (exchange: ExchangeResponse) =>
    (await collectBody(exchange, MAX_LISTING_BYTES)) ?? "too_large";

  /** Sends a request with a permit. The body of a redirect is not read. */
  async function requestArchive(
    url: string,
    read: (exchange: ExchangeResponse) => ReturnType<ReadBody>,
    caller: Pick<TransportRequest, "admit" | "signal">,
  ): Promise<ArchiveAnswer> {
    const entry = await admitted(caller, url);
    if (entry === null) return failure("timeout", null, "The archive was not reached in time");
    if (entry.kind === "refused") {
      const { error, detail } = entry.refusal;
      return failure(error === "timeout" ? error : `archive_${error}`, null, detail);
    }
    let status: number | null = null;
    let retry_after_s: number | null = null;
    try {
      const exchange = await egress.exchange({
        url,
        method: "GET",
        headers: [
          ["User-Agent", user_agent],
          ["Accept", "*/*"],
        ],
        signal: caller.signal,
        ...sendHooks(entry),
        headers_timeout_ms: HEADERS_TIMEOUT_MS,
      });
      if (exchange.kind === "failed") return failure(reasonOf(exchange.problem), null, exchange.detail);
      ({ status } = exchange);
      const headers = joinHeaders(exchange.headers);
      retry_after_s = retryAfterSeconds(headers.get("retry-after"), clock.now());
      if (status >= 300) {
        exchange.cancel();
        return { kind: "answered", status, headers, body: null };
      }
      return { kind: "answered", status, headers, body: await read(exchange) };
    } catch (problem) {
      if (problem instanceof EgressError) return failure(reasonOf(problem.problem), status, problem.message);
      throw problem;
    } finally {
      entry.release({ status, retry_after_s });
    }
  }

  async function list(archive: string, url: string, caller: Pick<TransportRequest, "admit" | "signal">) {
    const listing = await requestArchive(cdxUrl(archive, url, clock.now()), readListing, caller);
    if (listing.kind === "failed") return listing;
    const { status, body } = listing;
    // For an unknown page archives answer with an empty listing or 404.
    if (status === 404) return { kind: "listed", copies: [] } as const;
    if (status !== 200) return refusedWith(status);
    const rows = Buffer.isBuffer(body) ? readCdx(body.toString()) : null;
    if (!rows) return failure("archive_bad_answer", status, "The archive's listing is invalid");
    return { kind: "listed", copies: candidates(rows, clock.now()) } as const;
  }

  /** Fetches a capture, following redirects within the archive; null: it is unusable, and the next one may be usable. */
  async function replay(archive: string, snapshot: Snapshot, request: TransportRequest, signal: AbortSignal) {
    const redirects: Redirect[] = [];
    let copy: Pick<Snapshot, "timestamp" | "original"> = snapshot;
    for (;;) {
      const url = replayUrl(archive, copy);
      const read = (exchange: ExchangeResponse) => readBody(exchange, copy.original, request);
      const answer = await requestArchive(url, read, { admit: request.admit, signal });
      if (answer.kind === "failed") return answer;
      const { status, headers, body } = answer;
      if (status === 429) return refusedWith(status);
      if (status >= 300 && status < 400) {
        const location = headers.get("location") ?? "";
        const next = readReplayUrl(archive, URL.parse(location, url)?.href ?? "");
        if (!next || !isRecent(next.timestamp, clock.now()) || redirects.length >= MAX_REDIRECTS) return null;
        redirects.push({ url, status, location });
        copy = next;
        continue;
      }
      const timestamp = replayedTimestamp(headers, copy.timestamp);
      if (status !== 200 || !isRecent(timestamp, clock.now())) return null;
      if (body === null) return null;
      if (typeof body === "string") return failure(`archive_${body}`, status, sizeDetail(body, request));
      // The listing does not describe the capture that a redirect led to.
      const listed = redirects.length === 0 ? snapshot : { ...copy, mime: null, digest: null };
      if (!isCopy(headers, body, listed)) return null;
      return {
        kind: "page",
        final_url: url,
        redirects,
        status,
        headers: originalHeaders(headers),
        body,
        body_kind: "origin",
        archived_at: archivedAt(timestamp)!,
      } as const;
    }
  }

  async function visit(request: TransportRequest, signal: AbortSignal) {
    const known = await imported(findImported, request);
    if (known !== null) return known;
    if (archive_url === null) return failure("archive_not_found", null, "No import has the page");
    const listing = await list(archive_url, request.url, { admit: request.admit, signal });
    if (listing.kind === "failed") return listing;
    const { copies } = listing;
    for (const snapshot of copies) {
      const copy = await replay(archive_url, snapshot, request, signal);
      if (copy !== null) return copy;
    }
    const detail =
      copies.length === 0 ? "No copy of the last 365 days" : `No copy of ${copies.length} could be used`;
    return failure("archive_not_found", null, detail);
  }

  return async (request): Promise<TransportResult> => {
    const began_ms = clock.mono();
    const deadline = new AbortController();
    const alarm = clock.at(clock.now() + MAX_VISIT_MS, () => deadline.abort());
    try {
      const result = await visit(request, AbortSignal.any([request.signal, deadline.signal]));
      const ms = Math.round(clock.mono() - began_ms);
      return result.kind === "page" ? { ...result, ms } : { ...result, redirects: [], final_url: null, ms };
    } finally {
      alarm[Symbol.dispose]();
    }
  };
}

const refusedWith = (status: number): Failure =>
  status === 429
    ? failure("archive_rate_limited", status, "The archive asks for a pause")
    : failure(status >= 500 ? "archive_error" : "archive_refused", status, null);

const reasonOf = (problem: EgressProblem): string =>
  problem === "aborted" || problem === "timeout" ? "timeout" : "archive_unreachable";

/** The documents of a page's main frame: each needs a permit before its request, and its response head decides what becomes of it. */
import type { EgressProblem } from "../../../../cluster/ports/egress.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { contentKindOf, retryAfterSeconds } from "../../../lib/web/http.ts";
import type { Admission, Shortfall } from "../../../lib/web/transport.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { admitted, destinationRefusal, withoutUserInfo } from "./one-request.ts";
import type { PausedResponse } from "./page-exchanges.ts";
import { fieldsOf, withOwnFields } from "./page-fields.ts";
import { hopOf } from "./page-permit.ts";
import type { DocumentHead, PageVisit } from "./page-visit.ts";

/** Maximum number of documents in the main frame, by redirect or by script. */
const MAX_DOCUMENTS = 11;
const REDIRECTING: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const OUT_OF_BOUNDS: ReadonlySet<string> = new Set<EgressProblem>(["blocked_destination", "invalid_url"]);
/** Statuses with which the egress proxy answers a plain http request that failed. */
const PROXY_ERROR_STATUSES: ReadonlySet<number> = new Set([400, 403, 502, 504]);
const PIECE_BYTES = 2 ** 20;

const NET_ERRORS: readonly (readonly [RegExp, string])[] = [
  [/ERR_(?:CERT|SSL|BAD_SSL|ECH)_/, "tls_error"],
  [/ERR_NAME_(?:NOT_RESOLVED|RESOLUTION_FAILED)/, "dns_error"],
  [/ERR_(?:CONNECTION_)?TIMED_OUT/, "timeout"],
  [/ERR_CONNECTION_REFUSED/, "network_refused"],
  [
    /ERR_(?:CONNECTION_(?:RESET|CLOSED|ABORTED)|EMPTY_RESPONSE|CONTENT_LENGTH_MISMATCH|INCOMPLETE_CHUNKED)/,
    "network_reset",
  ],
  [/ERR_CONTENT_DECODING/, "network_encoding"],
  [/ERR_(?:INVALID_(?:HTTP_RESPONSE|CHUNKED)|RESPONSE_HEADERS|HTTP2|UNEXPECTED)/, "network_protocol"],
  [/ERR_TOO_MANY_REDIRECTS/, "too_many_redirects"],
  [/ERR_(?:TUNNEL|ADDRESS_UNREACHABLE|INTERNET_DISCONNECTED|CONNECTION_FAILED)/, "network_unreachable"],
  [/ERR_(?:PROXY|NO_SUPPORTED_PROXIES|MANDATORY_PROXY)/, "browser_unavailable"],
];

const NO_STEPS_IN_FILES: Shortfall = {
  error: "action_failed",
  detail: "The address is a file, and the browser shows no page of it",
};
const NO_PICTURE_OF_FILES: Shortfall = {
  error: "screenshot_failed",
  detail: "The address is a file, and the browser shows no page of it",
};

/** The used fields of Fetch.requestPaused: a request before it is sent, or with its response head. */
export interface Paused extends PausedResponse {
  readonly frameId: string;
  readonly responseErrorReason?: string;
}

/** A document before its request: goes on with a permit, or the visit ends. */
export async function onDocumentRequest(visit: PageVisit, event: Paused): Promise<void> {
  const { progress, own, timer, spacing, lease } = visit;
  const isFurther = progress.documents++ > 0;
  if (isFurther && !(await enterNext(visit, event.request.url))) return;
  const { hop } = progress;
  const replaced = await own.ofDocument(event, hop.url);
  if (replaced === null)
    return visit.failed("redirect_with_body", "A redirect would take the body to another origin");
  timer.pause();
  await spacing.wait(hop.url, hop.admitted_ms);
  timer.resume();
  if (!(await hop.beforeSend()))
    return visit.failed(
      "timeout",
      "The permit for the page had expired before a browser could send the request",
    );
  lease.session.enterDocument(hop.url);
  await lease.cdp.send("Fetch.continueRequest", {
    requestId: event.requestId,
    ...withOwnFields(visit.request, event, hop.url, replaced),
  });
  hop.onSent();
}

/** The permit for a document after the first. False: the visit has ended. */
async function enterNext(visit: PageVisit, asked: string): Promise<boolean> {
  const { progress, request, destination, timer, clock } = visit;
  const next = parseUrl(asked)?.href ?? null;
  if (progress.documents > progress.first_document + MAX_DOCUMENTS) {
    visit.failed("too_many_redirects", `More than ${MAX_DOCUMENTS - 1} redirects`);
    return false;
  }
  const is_public_only = visit.lease.session.documentNetwork() === "public";
  const judged =
    next === null ? "invalid_url" : destination.url(next, is_public_only ? [] : request.networks);
  if (judged === "blocked_destination" || judged === "invalid_url") {
    visit.refused(destinationRefusal(judged, asked));
    return false;
  }
  // The former document's slot first: holding it while waiting for another slot of the same domain would never end.
  progress.hop.release();
  timer.pause();
  let entry: Admission | null;
  try {
    entry = await admitted(request, next!, { is_public_only });
  } catch (problem) {
    visit.rejected(problem);
    return false;
  } finally {
    timer.resume();
  }
  if (entry === null) {
    visit.failed("timeout", "The deadline passed before a redirect could be followed");
    return false;
  }
  if (entry.kind === "refused") {
    visit.refused(entry.refusal);
    return false;
  }
  progress.hop = hopOf(next!, entry, clock);
  if (visit.isOver()) progress.hop.release();
  return !visit.isOver();
}

/** A document with its response head: a redirect goes on, a page is loaded, a file is read, anything else ends the visit. */
export async function onDocumentResponse(visit: PageVisit, event: Paused): Promise<void> {
  const { progress, exchanges, clock, lease } = visit;
  const { hop } = progress;
  const { requestId, responseStatusCode: status, responseHeaders = [] } = event;
  const goOn = async (): Promise<void> => void (await lease.cdp.send("Fetch.continueRequest", { requestId }));
  // The navigation throws the reason.
  if (status === undefined) return goOn();
  const problem = PROXY_ERROR_STATUSES.has(status) ? lease.session.failureFor(new URL(hop.url).host) : null;
  if (problem !== null) {
    failWith(visit, problem);
    return stop(visit, event);
  }
  const headers = fieldsOf(responseHeaders);
  const retry_after_s = retryAfterSeconds(headers.get("retry-after"), clock.now());
  hop.answer = { ...hop.answer, status, retry_after_s };
  const location = REDIRECTING.has(status) ? headers.get("location")?.trim() : "";
  if (location) {
    progress.redirects.push({ url: hop.url, status, location: withoutUserInfo(location) });
    hop.release();
    await exchanges?.keep(event);
    return goOn();
  }
  const head = { url: hop.url, status, headers };
  if (isPage(head)) {
    progress.origin = head;
    progress.pages++;
    if (isTooLong(visit, headers)) {
      visit.failed("too_large", `The page is larger than ${visit.request.max_bytes} bytes`);
      return stop(visit, event);
    }
    await exchanges?.keep(event);
    return goOn();
  }
  // A page that starts a download is still the page; the file was not requested.
  if (progress.pages > 0) {
    hop.release();
    return stop(visit, event);
  }
  return onFile(visit, event, head);
}

const mimeOf = (headers: ReadonlyMap<string, string>): string =>
  headers.get("content-type")?.split(";", 1)[0]!.trim().toLowerCase() ?? "";
const isAttachment = (headers: ReadonlyMap<string, string>): boolean =>
  /^\s*attachment/i.test(headers.get("content-disposition") ?? "");

function isPage({ status, headers }: DocumentHead): boolean {
  const mime = mimeOf(headers);
  const isHtml = mime === "text/html" || mime === "application/xhtml+xml";
  return isHtml && !isAttachment(headers) && status !== 204 && status !== 205;
}

/** A first document that says to be no page: its bytes are the result, unless they are a page whose type is not said. */
async function onFile(visit: PageVisit, event: Paused, head: DocumentHead): Promise<void> {
  const { progress, exchanges, request, steps } = visit;
  progress.origin = head;
  const { url, headers } = head;
  const body = isTooLong(visit, headers) ? null : await bodyOf(visit, event.requestId);
  if (body === null) {
    visit.failed("too_large", `The answer is larger than ${request.max_bytes} bytes`);
    return stop(visit, event);
  }
  exchanges?.keepWhole(event, body);
  if (mimeOf(headers) === "" && !isAttachment(headers) && contentKindOf(null, body, url) === "html") {
    progress.pages++;
    return showAsPage(visit, event, body);
  }
  visit.page(head, {
    body,
    body_kind: "origin",
    ...(request.screenshot && { shortfall: NO_PICTURE_OF_FILES }),
    ...(steps.length > 0 && { shortfall: NO_STEPS_IN_FILES }),
  });
  return stop(visit, event);
}

async function showAsPage({ lease }: PageVisit, event: Paused, body: Buffer): Promise<void> {
  const { requestId, responseStatusCode, responseHeaders = [] } = event;
  await lease.cdp.send("Fetch.fulfillRequest", {
    requestId,
    responseCode: responseStatusCode!,
    responseHeaders: [
      ...responseHeaders.filter(({ name }) => !/^content-(?:encoding|length)$/i.test(name)),
      { name: "Content-Type", value: "text/html" },
    ],
    body: body.toString("base64"),
  });
}

async function stop({ lease }: PageVisit, { requestId }: Paused): Promise<void> {
  await lease.cdp.send("Fetch.failRequest", { requestId, errorReason: "Aborted" });
}

/** Whether the declared length of an uncompressed body exceeds the limit. */
const isTooLong = ({ request }: PageVisit, headers: ReadonlyMap<string, string>): boolean =>
  !headers.has("content-encoding") && Number(headers.get("content-length") ?? 0) > request.max_bytes;

/** The decoded bytes; null: more than the limit. */
async function bodyOf(visit: PageVisit, requestId: string): Promise<Buffer | null> {
  const { cdp } = visit.lease;
  const { stream } = await cdp.send("Fetch.takeResponseBodyAsStream", { requestId });
  const pieces: Buffer[] = [];
  let total = 0;
  while (!visit.isOver()) {
    const { data, base64Encoded, eof } = await cdp.send("IO.read", { handle: stream, size: PIECE_BYTES });
    const piece = Buffer.from(data, base64Encoded ? "base64" : "utf8");
    total += piece.length;
    if (total > visit.request.max_bytes) return null;
    pieces.push(piece);
    if (eof) break;
  }
  await cdp.send("IO.close", { handle: stream });
  return Buffer.concat(pieces, total);
}

function failWith(visit: PageVisit, problem: EgressProblem): void {
  const { url } = visit.progress.hop;
  if (problem === "no_descriptors")
    visit.rejected(new Fault("no_descriptors", `Cannot connect to "${new URL(url).host}" for the browser`));
  else if (OUT_OF_BOUNDS.has(problem)) visit.refused(destinationRefusal(problem, url));
  else visit.failed(problem === "aborted" ? "timeout" : problem, null);
}

/** Ends the visit by Chromium's error of a failed navigation. */
export function failNavigation(visit: PageVisit, text: string): void {
  const { hop, origin } = visit.progress;
  const problem = visit.lease.session.failureFor(new URL(hop.url).host);
  if (problem !== null) return failWith(visit, problem);
  const name = /ERR_[A-Z0-9_]+/.exec(text)?.[0] ?? "";
  // An error status without a body: Chromium would show its own error page.
  if (name === "ERR_HTTP_RESPONSE_CODE_FAILURE" && origin !== null)
    return visit.page(origin, { body: Buffer.alloc(0), body_kind: "origin" });
  if (name === "ERR_UNSAFE_PORT") return visit.refused(destinationRefusal("blocked_destination", hop.url));
  visit.failed(NET_ERRORS.find(([pattern]) => pattern.test(name))?.[1] ?? "network_failed", name || null);
}

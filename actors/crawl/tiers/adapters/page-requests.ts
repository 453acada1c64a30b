/**
 * Handles what the browser pauses and reports while a page is visited: documents of the main frame go to page-documents.ts; what the page
 * loads goes on, without the kinds that never contribute to the answer, up to a maximum number; dialogs and other windows are closed.
 */
import { isPictured } from "../../../../schemas/actions.ts";
import { failNavigation, onDocumentRequest, onDocumentResponse, type Paused } from "./page-documents.ts";
import type { PageExchanges } from "./page-exchanges.ts";
import { languagesOf, withFields } from "./page-fields.ts";
import type { PageVisit } from "./page-visit.ts";
import { type SkippedResources, skippedResources } from "./skipped-resources.ts";

/** A page that goes on asking is ended at so many times its limit of requests; galleries of 2,000 pictures are answered. */
const ENDED_AT = 12;

/** Before the first request. */
export async function prepareVisit(visit: PageVisit): Promise<void> {
  const { request, own, exchanges, lease } = visit;
  const skipped = skippedResources({
    use: exchanges ? "archive" : request.screenshot || isPictured(visit.steps) ? "picture" : "text",
    blocked: request.blocked ?? [],
  });
  lease.cdp.on("Fetch.requestPaused", (event) => onPaused(visit, skipped, event));
  answerProxy(visit);
  limitRequests(visit, skipped);
  closeWindows(visit);
  await Promise.all([
    own.putCookies(),
    exchanges?.prepare(),
    lease.cdp.send("Fetch.enable", {
      handleAuthRequests: true,
      patterns: [
        { resourceType: "Document", requestStage: "Request" },
        { resourceType: "Document", requestStage: "Response" },
        { urlPattern: "*/favicon.ico", resourceType: "Other" },
        ...skipped.patterns,
        ...own.patterns,
        ...(exchanges?.patterns ?? []),
      ],
    }),
    // Also removes the client hints, which would contradict the given user agent.
    request.user_agent !== null &&
      lease.cdp.send("Emulation.setUserAgentOverride", {
        userAgent: request.user_agent,
        acceptLanguage: languagesOf(request.accept_language)[0] ?? "en-US",
      }),
  ]);
}

function onPaused(visit: PageVisit, skipped: SkippedResources, event: Paused): void {
  const { progress, exchanges } = visit;
  const { resourceType, frameId } = event;
  const isDocument = resourceType === "Document";
  // The first document is always the main frame's.
  if (isDocument) progress.main_frame ??= frameId;
  const isAsked = event.responseStatusCode === undefined && event.responseErrorReason === undefined;
  if (!isDocument || frameId !== progress.main_frame) {
    if (exchanges && !isAsked) goOnKept(visit, exchanges, event);
    else answerResource(visit, skipped, event);
    return;
  }
  progress.pending_documents++;
  (isAsked ? onDocumentRequest(visit, event) : onDocumentResponse(visit, event))
    // The page may have cancelled the request, or may be gone. Other handlers report that.
    .catch(() => {})
    .finally(() => void progress.pending_documents--);
}

/** A request of what a page loads: it goes on, or is not sent. */
function answerResource(visit: PageVisit, skipped: SkippedResources, event: Paused): void {
  const { own, lease, progress } = visit;
  const { requestId, resourceType, frameId } = event;
  const isOfMainFrame = frameId === progress.main_frame && resourceType !== "Document";
  const replaced = isLoaded(visit, skipped, event) ? own.ofResource(event, isOfMainFrame) : null;
  const answer =
    replaced !== null
      ? lease.cdp.send("Fetch.continueRequest", { requestId, ...withFields(event, replaced.headers ?? []) })
      : lease.cdp.send("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" });
  answer.catch(() => {});
}

/** A response of what a page loads: it waits until its body is kept, or ends without one. */
function goOnKept({ lease }: PageVisit, { keep }: PageExchanges, event: Paused): void {
  const { requestId } = event;
  keep(event)
    .catch(() => true)
    .then((goesOn) =>
      goesOn
        ? lease.cdp.send("Fetch.continueRequest", { requestId })
        : lease.cdp.send("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" }),
    )
    // The page may be gone.
    .catch(() => {});
}

const isLoaded = (visit: PageVisit, skipped: SkippedResources, event: Paused): boolean =>
  event.resourceType === "Document"
    ? !isStrangerInside(visit, event) && !skipped.has("Document", event.request.url)
    : !skipped.has(event.resourceType, event.request.url) && !isIcon(event);

/** A frame of another site in a page of an allowed private network: its scripts would have the page's allowance. */
const isStrangerInside = ({ lease, progress }: PageVisit, { request: { url } }: Paused): boolean =>
  lease.session.documentNetwork() === "private" &&
  URL.parse(url)?.origin !== new URL(progress.hop.url).origin;

const isIcon = ({ resourceType, request: { url } }: Paused): boolean =>
  resourceType === "Other" && URL.parse(url)?.pathname.endsWith("/favicon.ico") === true;

function answerProxy({ lease: { cdp, session } }: PageVisit): void {
  const authenticated = new Set<string>();
  cdp.on("Fetch.authRequired", ({ requestId, authChallenge: { source } }) => {
    // Once per request: credentials that are refused belong to a closed session.
    const isOurs = source === "Proxy" && !authenticated.has(requestId);
    authenticated.add(requestId);
    const authChallengeResponse = isOurs
      ? { response: "ProvideCredentials" as const, username: session.username, password: session.password }
      : { response: "CancelAuth" as const };
    cdp.send("Fetch.continueWithAuth", { requestId, authChallengeResponse }).catch(() => {});
  });
}

function limitRequests(visit: PageVisit, skipped: SkippedResources): void {
  const { page, context } = visit.lease;
  const { limits } = visit;
  const max_requests = ENDED_AT * limits.requests;
  let requests = 0;
  page.on("request", (request) => {
    if (skipped.has(request.resourceType(), request.url())) return;
    requests++;
    if (requests === limits.requests) context.setOffline(true).catch(() => {});
    // Each is held by processes that other pages share, though none is sent any more.
    if (requests === max_requests)
      visit.failed("too_many_requests", `The page made more than ${max_requests - 1} requests`);
  });
  page.on("requestfailed", (request) => {
    if (!request.isNavigationRequest() || isInFrame(request)) return;
    const text = request.failure()?.errorText ?? "";
    // Our own abort, or a navigation that another one replaced.
    if (!/ERR_(?:ABORTED|BLOCKED_BY_CLIENT|HTTP_RESPONSE_CODE_FAILURE)/.test(text))
      failNavigation(visit, text);
  });
}

/** Whether a navigation belongs to an inner frame. A request that was never answered has no frame. */
function isInFrame(request: { frame: () => { parentFrame: () => unknown } }): boolean {
  try {
    return request.frame().parentFrame() !== null;
  } catch {
    return false;
  }
}

function closeWindows(visit: PageVisit): void {
  const { page, context } = visit.lease;
  const max_dialogs = visit.limits.dialogs;
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialog.dismiss().catch(() => {});
    if (++dialogs > max_dialogs) visit.failed("timeout", `The page opened more than ${max_dialogs} dialogs`);
  });
  context.on("page", (opened) => {
    if (opened !== page) opened.close().catch(() => {});
  });
}

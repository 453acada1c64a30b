/**
 * The route `browser`: a page as it stands after its scripts have run, or the bytes of a file.
 *
 * Each document of the main frame needs a permit, as any request to an origin does, including redirect hops and
 * navigations by scripts; the last document's slot is held until the page is done. Subresources take no slots: they go
 * through the egress proxy, without the kinds that never contribute to the answer (images and fonts do to a screenshot),
 * and up to a maximum number.
 *
 * A page is done when it is worth reading (page-readiness.ts) and what the caller waits for is there (wait-for.ts), or when
 * the time for that is over. Nothing is kept: context,
 * cookies and caches end with the request. Dialogs are dismissed, other windows closed, service workers and downloads
 * blocked. browser-pool.ts opens the pages.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { EgressProblem } from "../../../../cluster/ports/egress.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { MAX_WAIT_FOR_MS, type Redirect } from "../../../../schemas/fetch.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import { contentKindOf, retryAfterSeconds } from "../../../lib/web/http.ts";
import type {
  Admission,
  OriginAnswer,
  HopRefusal,
  Shortfall,
  Transport,
  TransportResult,
  TransportRequest,
} from "../../../lib/web/transport.ts";
import { nothingOwn, type OpenOwnRequest, ownHops } from "../../../lib/web/own-request.ts";
import { NO_JARS, type SessionJar, type SessionJars } from "../../../lib/web/session-jar.ts";
import { originOf, parseUrl, siteOf } from "../../../lib/web/url.ts";
import { type Action, isPictured, MAX_ACTIONS_MS } from "../../../../schemas/actions.ts";
import { type ActionsResult, takeActions } from "./page-actions.ts";
import type { BrowserPool, PageEndReason, PageLease } from "./browser-pool.ts";
import { admitted, destinationRefusal, withoutUserInfo } from "./one-request.ts";
import { type OwnDocuments, ownDocuments, type Replaced } from "./own-documents.ts";
import { LATE, pause, within } from "./in-time.ts";
import { frameRules } from "./frame-rules.ts";
import { type PageExchanges, pageExchanges, type PausedResponse } from "./page-exchanges.ts";
import { putStorage, readStorage } from "./page-storage.ts";
import { lookAtDocument, type Readiness, readinessOf, watchNetwork } from "./page-readiness.ts";
import { CAPTURE_MS, SCROLL_MS, type Screenshots, screenshots, type ScreenshotResult } from "./screenshot.ts";
import { describeLeftOut, type Shown, shownDocument } from "./shown-document.ts";
import { skippedResources } from "./skipped-resources.ts";
import { awaitedState } from "./wait-for.ts";

export interface PageLimits {
  /** For one page, from its first request to its bytes, without waiting for permits. */
  readonly page_ms: number;
  /** Until the document is parsed; after that its current state is taken. */
  readonly parse_ms: number;
  /** After that, until the network is quiet and the text as long as the caller asked for. */
  readonly settle_ms: number;
  /** The network is quiet when no request has been in flight for so long. If it is too short, late scripts are cut off. */
  readonly quiet_ms: number;
  /** The same as `settle_ms` for a challenge, which may pass and load the page. */
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

export interface BrowserOptions {
  readonly pool: BrowserPool;
  readonly clock: Clock;
  /** Refuses early what the egress proxy would refuse anyway, without asking for robots.txt and a slot. */
  readonly destination: Destination;
  readonly limits?: Partial<PageLimits>;
  /** Default: requests have no part of their caller's own. */
  readonly openOwn?: OpenOwnRequest;
  /** Where bodies of archived exchanges go. */
  readonly blobs: Pick<Blobs, "put">;
  /** Default: requests have no sessions. */
  readonly jars?: SessionJars;
}

const LIMITS: PageLimits = {
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

/** After a step, for a handler that leads the page away. */
const STEP_SETTLE_MS = 250;
/** Between two looks at a document: once the network is quiet, and before that. */
const LOOK_EVERY_MS = 100;
const LOOK_WHILE_LOADING_MS = 500;
/** Before the caller's deadline the page is read as it stands: so long take reading and judging it. */
const DEADLINE_MARGIN_MS = 1_500;
/** Maximum number of documents in the main frame, by redirect or by script. */
const MAX_DOCUMENTS = 11;
const REDIRECTING: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const OUT_OF_BOUNDS: ReadonlySet<string> = new Set<EgressProblem>(["blocked_destination", "invalid_url"]);
/** A page that goes on asking is ended at so many times its limit of requests; galleries of 2,000 pictures are answered. */
const ENDED_AT = 12;
/** Statuses with which the egress proxy answers a plain http request that failed. */
const PROXY_ERROR_STATUSES: ReadonlySet<number> = new Set([400, 403, 502, 504]);
const PIECE_BYTES = 2 ** 20;

const END_DETAILS: Readonly<Record<PageEndReason, string>> = {
  out_of_memory: "The page held too much memory",
  browser_crashed: "The browser ended",
  too_many_requests: "The page made too many requests",
  too_many_bytes: "The page received too many bytes",
};

/** Beyond `page_ms`, for a page that is pictured. */
const SCREENSHOT_MS = SCROLL_MS + CAPTURE_MS + 1_000;

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

export function browserTransport({
  pool,
  clock,
  destination,
  limits: overrides,
  openOwn = nothingOwn,
  blobs,
  jars = NO_JARS,
}: BrowserOptions): Transport {
  const limits: PageLimits = { ...LIMITS, ...overrides };
  const spacing = requestSpacing(clock);
  const pictures = screenshots();

  /** One try. `is_bystander`: it ended for what may be another page's doing. */
  async function visitOnce(
    request: TransportRequest,
    is_alone: boolean,
  ): Promise<{ readonly result: TransportResult; readonly is_bystander: boolean }> {
    const over = (result: TransportResult) => ({ result, is_bystander: false });
    const began_ms = clock.mono();
    const first = parseUrl(request.url)?.href ?? request.url;
    const bare = () => ({ redirects: [], final_url: null, ms: Math.round(clock.mono() - began_ms) });
    const judged = destination.url(first, request.networks);
    if (judged === "blocked_destination" || judged === "invalid_url") {
      return over({ kind: "refused", refusal: destinationRefusal(judged, first), ...bare() });
    }
    // Before opening a page: a request that waits for a busy domain must not occupy a slot of the pool.
    const entry = await admitted(request, first);
    if (entry === null) {
      const detail = "The deadline passed before the page could be requested";
      return over({ kind: "failed", reason: "timeout", status: null, detail, ...bare() });
    }
    if (entry.kind === "refused") return over({ kind: "refused", refusal: entry.refusal, ...bare() });
    const hop = hopOf(first, entry, clock);
    const languages = languagesOf(request.accept_language);
    const lease = await pool.lease(
      {
        locale: languages[0] ?? "en-US",
        ...windowOf(request.view),
        ...(request.user_agent !== null && { userAgent: request.user_agent }),
      },
      request.signal,
      { networks: request.networks, is_alone, is_mobile: request.view?.device === "mobile" },
    );
    if (lease.kind === "failed") {
      hop.release();
      const { reason, detail, is_bystander } = lease;
      return { result: { kind: "failed", reason, status: null, detail, ...bare() }, is_bystander };
    }
    const jar = jars.open(request);
    if (jar !== null) await putJar(lease, jar);
    const given = openOwn(request);
    const own = ownDocuments(lease.context, given, ownHops(given, first), first);
    const steps = given?.actions ?? [];
    const shared = { clock, destination, limits, spacing, pictures, steps };
    const exchanges = request.archive
      ? pageExchanges(lease.cdp, { blobs, clock, own: given, has_session: jar !== null })
      : null;
    const visit = pageVisit({ request, own, lease, hop, began_ms, exchanges, ...shared });
    try {
      const result = await visit.result();
      const archived = exchanges && { exchanges: await exchanges.finish() };
      if (jar !== null) await readJar(lease, jar);
      return {
        result: { ...result, ...archived, ...jars.result(request, jar) },
        is_bystander: visit.isBystander(),
      };
    } finally {
      visit.close();
      // The answer does not wait for the page to close.
      void lease.release();
    }
  }

  return async (request) => {
    const { result, is_bystander } = await visitOnce(request, false);
    const mayRepeat = is_bystander && request.own?.is_post !== true;
    // In a browser of its own: beside the page that did it, it would happen again.
    return mayRepeat && !request.signal.aborted ? (await visitOnce(request, true)).result : result;
  };
}

/** A context that has ended with its browser has nothing. */
async function readJar({ context, cdp }: PageLease, jar: SessionJar): Promise<void> {
  const cookies = await context.cookies().catch(() => null);
  if (cookies !== null) jar.keepBrowser(cookies);
  const storage = await readStorage(cdp);
  if (storage !== null) jar.keepStorage(storage.origin, storage.items);
}

/** The browser refuses some cookies that a jar has, each by itself. */
async function putJar({ context, cdp }: PageLease, jar: SessionJar): Promise<void> {
  await putStorage(cdp, jar.storage());
  const cookies = jar.forBrowser();
  await context
    .addCookies(cookies)
    .catch(() => Promise.all(cookies.map((cookie) => context.addCookies([cookie]).catch(() => {}))));
}

/** The permit for one document, released once. */
interface Hop {
  readonly url: string;
  readonly admitted_ms: number;
  answer: OriginAnswer;
  readonly beforeSend: () => boolean | Promise<boolean>;
  readonly onSent: () => void;
  readonly release: () => void;
}

function hopOf(
  url: string,
  { beforeSend, onSent, release }: Extract<Admission, { kind: "admitted" }>,
  clock: Clock,
): Hop {
  let is_released = false;
  const hop: Hop = {
    url,
    admitted_ms: clock.mono(),
    answer: { status: null, retry_after_s: null },
    beforeSend,
    onSent,
    release() {
      if (!is_released) release(hop.answer);
      is_released = true;
    },
  };
  return hop;
}

interface PageVisitDeps {
  readonly request: TransportRequest;
  readonly own: OwnDocuments;
  readonly lease: PageLease;
  readonly hop: Hop;
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
}

interface Field {
  readonly name: string;
  readonly value: string;
}

/** The used fields of Fetch.requestPaused: a request before it is sent, or with its response head. */
interface Paused extends PausedResponse {
  readonly frameId: string;
  readonly responseErrorReason?: string;
}

/**
 * One page in one context, from its first request to its result.
 * One algorithm: the events of one page, in the order in which the browser reports them.
 */
function pageVisit({
  request,
  own,
  lease,
  hop: first_hop,
  began_ms,
  exchanges,
  clock,
  destination,
  limits,
  spacing,
  pictures,
  steps,
}: PageVisitDeps) {
  const { page, cdp, context, session } = lease;
  const network = watchNetwork(page, () => clock.mono());
  const awaited = awaitedState(request.wait_for ?? null, limits.wait_for_ms, () => clock.mono());
  const skipped = skippedResources({
    isSeen: request.screenshot !== undefined || isPictured(steps),
    blocked: request.blocked ?? [],
  });
  const frames = frameRules(request, {
    url: () => hop.url,
    isPublic: () => session.documentNetwork() === "public",
    freeSlot: () => hop.release(),
  });
  const redirects: Redirect[] = [];
  const end = Promise.withResolvers<TransportResult>();
  let is_over = false;
  let hop = first_hop;
  let main_frame: string | undefined;
  /** Number of requested documents, and of those accepted as pages. */
  let documents = 0;
  let pages = 0;
  /** Documents before the last step began. */
  let first_document = 0;
  /** Documents that wait for a permit or a response now. */
  let pending_documents = 0;
  let origin: {
    readonly url: string;
    readonly status: number;
    readonly headers: ReadonlyMap<string, string>;
  } | null = null;
  let requests = 0;
  let dialogs = 0;

  const common = () => ({
    redirects,
    final_url: origin?.url ?? null,
    ms: Math.round(clock.mono() - began_ms),
  });
  const privacy = () => (session.documentNetwork() === "private" ? { is_private: true } : {});
  const failed = (reason: string, detail: string | null) => {
    end.resolve({
      kind: "failed",
      reason,
      status: hop.answer.status ?? origin?.status ?? null,
      detail,
      ...common(),
    });
  };
  const refused = (refusal: HopRefusal) => end.resolve({ kind: "refused", refusal, ...common() });

  const page_ms =
    limits.page_ms +
    (request.wait_for ? limits.wait_for_ms : 0) +
    (request.screenshot ? SCREENSHOT_MS : 0) +
    (steps.length > 0 ? MAX_ACTIONS_MS : 0);
  const page_timer = pausableTimeout(page_ms, () =>
    failed("timeout", `The page was not done within ${page_ms} ms`),
  );
  const onAbort = () => failed("timeout", "The deadline passed while the page was rendered");
  request.signal.addEventListener("abort", onAbort, { once: true });
  if (request.signal.aborted) onAbort();
  let is_bystander = false;
  void lease.ended.then((ended) => {
    is_bystander = ended.is_bystander && !is_over;
    failed(ended.reason, END_DETAILS[ended.reason]);
  });

  /** A document of the main frame, before its request. */
  async function onDocumentRequest(event: Paused): Promise<void> {
    if (documents++ > 0) {
      const next = parseUrl(event.request.url)?.href ?? null;
      if (documents > first_document + MAX_DOCUMENTS)
        return failed("too_many_redirects", `More than ${MAX_DOCUMENTS - 1} redirects`);
      const is_public_only = session.documentNetwork() === "public";
      const networks = is_public_only ? [] : request.networks;
      const judged = next === null ? "invalid_url" : destination.url(next, networks);
      if (judged === "blocked_destination" || judged === "invalid_url")
        return refused(destinationRefusal(judged, event.request.url));
      // The former document's slot first: holding it while waiting for another slot of the same domain would never end.
      hop.release();
      page_timer.pause();
      let entry: Admission | null;
      try {
        entry = await admitted(request, next!, { is_public_only });
      } catch (problem) {
        end.reject(problem);
        return;
      } finally {
        page_timer.resume();
      }
      if (entry === null) return failed("timeout", "The deadline passed before a redirect could be followed");
      if (entry.kind === "refused") return refused(entry.refusal);
      hop = hopOf(next!, entry, clock);
      if (is_over) return hop.release();
    }
    const replaced = await own.ofDocument(event, hop.url);
    if (replaced === null)
      return failed("redirect_with_body", "A redirect would take the body to another origin");
    page_timer.pause();
    await spacing.wait(hop.url, hop.admitted_ms);
    page_timer.resume();
    if (!(await hop.beforeSend()))
      return failed("timeout", "The permit for the page had expired before a browser could send the request");
    session.enterDocument(hop.url);
    await cdp.send("Fetch.continueRequest", {
      requestId: event.requestId,
      ...withOwnFields(request, event, hop.url, replaced),
    });
    hop.onSent();
  }

  /** A document of the main frame, with its response head. */
  async function onDocumentResponse(event: Paused): Promise<void> {
    const { requestId, responseStatusCode: status, responseHeaders = [] } = event;
    const continueRequest = () => cdp.send("Fetch.continueRequest", { requestId });
    const failRequest = () => cdp.send("Fetch.failRequest", { requestId, errorReason: "Aborted" });
    // The navigation throws the reason.
    if (status === undefined) return void (await continueRequest());
    const problem = PROXY_ERROR_STATUSES.has(status) ? session.failureFor(new URL(hop.url).host) : null;
    if (problem !== null) {
      failWith(problem);
      return void (await failRequest());
    }
    const headers = fieldsOf(responseHeaders);
    const retry_after_s = retryAfterSeconds(headers.get("retry-after"), clock.now());
    hop.answer = { ...hop.answer, status, retry_after_s };
    const location = REDIRECTING.has(status) ? headers.get("location")?.trim() : "";
    if (location) {
      redirects.push({ url: hop.url, status, location: withoutUserInfo(location) });
      hop.release();
      await exchanges?.keep(event);
      return void (await continueRequest());
    }
    const document = { url: hop.url, status, headers };
    const type = headers.get("content-type")?.split(";", 1)[0]!.trim().toLowerCase() ?? "";
    const isFile = /^\s*attachment/i.test(headers.get("content-disposition") ?? "");
    const isPage = !isFile && (type === "text/html" || type === "application/xhtml+xml");
    if (isPage && status !== 204 && status !== 205) {
      origin = document;
      pages++;
      if (!tooLong(headers)) {
        await exchanges?.keep(event);
        return void (await continueRequest());
      }
      failed("too_large", `The page is larger than ${request.max_bytes} bytes`);
      return void (await failRequest());
    }
    // A page that starts a download is still the page; the file was not requested.
    if (pages > 0) {
      hop.release();
      return void (await failRequest());
    }
    origin = document;
    const body = tooLong(headers) ? null : await bodyOf(requestId);
    if (body) exchanges?.keepWhole(event, body);
    if (body === null) failed("too_large", `The answer is larger than ${request.max_bytes} bytes`);
    else if (type === "" && !isFile && contentKindOf(null, body, document.url) === "html") {
      pages++;
      await cdp.send("Fetch.fulfillRequest", {
        requestId,
        responseCode: status,
        responseHeaders: [
          ...responseHeaders.filter(({ name }) => !/^content-(?:encoding|length)$/i.test(name)),
          { name: "Content-Type", value: "text/html" },
        ],
        body: body.toString("base64"),
      });
      return;
    } else
      end.resolve({
        kind: "page",
        ...document,
        body,
        body_kind: "origin",
        ...privacy(),
        ...(request.screenshot && { shortfall: NO_PICTURE_OF_FILES }),
        ...(steps.length > 0 && { shortfall: NO_STEPS_IN_FILES }),
        ...common(),
        final_url: document.url,
      });
    await failRequest();
  }

  /** Whether the declared length of an uncompressed body exceeds the limit. */
  const tooLong = (headers: ReadonlyMap<string, string>): boolean =>
    !headers.has("content-encoding") && Number(headers.get("content-length") ?? 0) > request.max_bytes;

  /** The decoded bytes; null: more than the limit. */
  async function bodyOf(requestId: string): Promise<Buffer | null> {
    const { stream } = await cdp.send("Fetch.takeResponseBodyAsStream", { requestId });
    const pieces: Buffer[] = [];
    let total = 0;
    while (!is_over) {
      const { data, base64Encoded, eof } = await cdp.send("IO.read", { handle: stream, size: PIECE_BYTES });
      const piece = Buffer.from(data, base64Encoded ? "base64" : "utf8");
      total += piece.length;
      if (total > request.max_bytes) return null;
      pieces.push(piece);
      if (eof) break;
    }
    await cdp.send("IO.close", { handle: stream });
    return Buffer.concat(pieces, total);
  }

  function failWith(problem: EgressProblem): void {
    if (problem === "no_descriptors")
      end.reject(new Fault("no_descriptors", `Cannot connect to "${new URL(hop.url).host}" for the browser`));
    else if (OUT_OF_BOUNDS.has(problem)) refused(destinationRefusal(problem, hop.url));
    else failed(problem === "aborted" ? "timeout" : problem, null);
  }

  /** Maps Chromium's error of a failed navigation. */
  function failNavigation(text: string): void {
    const problem = session.failureFor(new URL(hop.url).host);
    if (problem !== null) return failWith(problem);
    const name = /ERR_[A-Z0-9_]+/.exec(text)?.[0] ?? "";
    // An error status without a body: Chromium would show its own error page.
    if (name === "ERR_HTTP_RESPONSE_CODE_FAILURE" && origin !== null) {
      const { status, headers, url } = origin;
      end.resolve({
        kind: "page",
        status,
        headers,
        body: Buffer.alloc(0),
        body_kind: "origin",
        ...privacy(),
        ...common(),
        final_url: url,
      });
      return;
    }
    if (name === "ERR_UNSAFE_PORT") return refused(destinationRefusal("blocked_destination", hop.url));
    failed(NET_ERRORS.find(([pattern]) => pattern.test(name))?.[1] ?? "network_failed", name || null);
  }

  function onPaused(event: Paused): void {
    const { requestId, resourceType, frameId } = event;
    const isDocument = resourceType === "Document";
    // The first document is always the main frame's.
    if (isDocument) main_frame ??= frameId;
    const isAsked = event.responseStatusCode === undefined && event.responseErrorReason === undefined;
    if (!isDocument || frameId !== main_frame) {
      if (exchanges && !isAsked) return goOnKept(exchanges, event);
      const replaced = isLoaded(event) ? own.ofResource(event, frameId === main_frame && !isDocument) : null;
      const answer =
        replaced !== null
          ? cdp.send("Fetch.continueRequest", { requestId, ...withFields(event, replaced.headers ?? []) })
          : cdp.send("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" });
      answer.catch(() => {});
      return;
    }
    pending_documents++;
    (isAsked ? onDocumentRequest(event) : onDocumentResponse(event))
      // The page may have cancelled the request, or may be gone. Other handlers report that.
      .catch(() => {})
      .finally(() => void pending_documents--);
  }

  /** A response of what a page loads, which waits until its body is kept. */
  function goOnKept({ keep }: PageExchanges, event: Paused): void {
    const goOn = () => cdp.send("Fetch.continueRequest", { requestId: event.requestId });
    // The page may be gone.
    keep(event)
      .then(goOn, goOn)
      .catch(() => {});
  }

  const isLoaded = (event: Paused): boolean =>
    event.resourceType === "Document"
      ? !isStrangerInside(event) && !skipped.has("Document", event.request.url)
      : !skipped.has(event.resourceType, event.request.url) && !isIcon(event);

  /** A frame of another site in a page of an allowed private network: its scripts would have the page's allowance. */
  const isStrangerInside = ({ request: { url } }: Paused): boolean =>
    session.documentNetwork() === "private" && URL.parse(url)?.origin !== new URL(hop.url).origin;

  async function prepare(): Promise<void> {
    cdp.on("Fetch.requestPaused", onPaused);
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
    page.on("request", (resource_request) => {
      if (skipped.has(resource_request.resourceType(), resource_request.url())) return;
      requests++;
      if (requests === limits.requests) context.setOffline(true).catch(() => {});
      // Each is held by processes that other pages share, though none is sent any more.
      if (requests === ENDED_AT * limits.requests)
        failed("too_many_requests", `The page made more than ${ENDED_AT * limits.requests - 1} requests`);
    });
    page.on("requestfailed", (resource_request) => {
      if (!resource_request.isNavigationRequest() || isInFrame(resource_request)) return;
      const text = resource_request.failure()?.errorText ?? "";
      // Our own abort, or a navigation that another one replaced.
      if (!/ERR_(?:ABORTED|BLOCKED_BY_CLIENT|HTTP_RESPONSE_CODE_FAILURE)/.test(text)) failNavigation(text);
    });
    page.on("dialog", (dialog) => {
      dialog.dismiss().catch(() => {});
      if (++dialogs > limits.dialogs)
        failed("timeout", `The page opened more than ${limits.dialogs} dialogs`);
    });
    context.on("page", (opened) => {
      if (opened !== page) opened.close().catch(() => {});
    });
    const sends: Promise<unknown>[] = [
      own.putCookies(),
      ...(exchanges ? [exchanges.prepare()] : []),
      cdp.send("Fetch.enable", {
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
    ];
    if (request.user_agent !== null) {
      // Also removes the client hints, which would contradict the given user agent.
      sends.push(
        cdp.send("Emulation.setUserAgentOverride", {
          userAgent: request.user_agent,
          acceptLanguage: languagesOf(request.accept_language)[0] ?? "en-US",
        }),
      );
    }
    await Promise.all(sends);
  }

  async function render(): Promise<void> {
    await prepare();
    try {
      await page.goto(hop.url, { waitUntil: "commit", timeout: 0 });
    } catch (problem) {
      const text = problem instanceof Error ? problem.message : String(problem);
      if (!text.includes("interrupted by another navigation")) return failNavigation(text);
    }
    let acted: ActionsResult | null = null;
    while (!is_over) {
      const documents_before = documents;
      await untilReady();
      if (steps.length > 0 && acted === null) {
        // An error's page has nothing of what the steps are about.
        const isPage = pending_documents === 0 && origin !== null && origin.status < 400;
        if (isPage) acted = await takeSteps();
        if (isPage || pending_documents > 0) continue;
      }
      const read = pending_documents > 0 || documents !== documents_before ? null : await readDocument();
      if (read === null || pending_documents > 0 || documents !== documents_before) {
        await pause(20);
        continue;
      }
      const body = read.html === null ? null : Buffer.from(read.html);
      if (body === null || body.length > request.max_bytes) {
        return failed("too_large", `The rendered page is larger than ${request.max_bytes} bytes`);
      }
      const picture = request.screenshot ? await takePicture(request.screenshot) : null;
      // A script of the page has left it meanwhile.
      if (pending_documents > 0 || documents !== documents_before) continue;
      const { status, headers, url } = origin!;
      const shortfall =
        actionFailed(acted) ??
        awaited.shortfall() ??
        (picture?.kind === "failed" ? pictureFailed(picture.detail) : null);
      end.resolve({
        kind: "page",
        status,
        headers,
        body,
        body_kind: "rendered_dom",
        ...privacy(),
        ...(picture?.kind === "taken" && { screenshot: picture.screenshot }),
        ...(acted && { actions: acted.taken }),
        ...(shortfall && { shortfall }),
        ...(read.left_out.size > 0 && { detail: describeLeftOut(read.left_out) }),
        ...common(),
        final_url: url,
      });
      return;
    }
  }

  async function takePicture(
    options: NonNullable<TransportRequest["screenshot"]>,
  ): Promise<ScreenshotResult> {
    const { signal } = request;
    return pictures.take({ cdp, frame: main_frame!, network, signal }, options, {
      onWait: () => page_timer.pause(),
      onTurn: () => page_timer.resume(),
    });
  }

  const takeSteps = (): Promise<ActionsResult> => {
    first_document = documents;
    return takeActions(steps, {
      page,
      cdp,
      network,
      frame: main_frame!,
      now: () => clock.mono(),
      left_ms: leftMs,
      isOver: () => is_over,
      settle,
      takePicture: (full_page) => takePicture({ type: "png", full_page }),
    });
  };

  /** Until the document that a step leads to, if it does, is worth reading. A handler may lead away a moment after its event. */
  async function settle(): Promise<void> {
    const until_ms = clock.mono() + STEP_SETTLE_MS;
    while (!is_over && documents === first_document && clock.mono() < until_ms) await pause(20);
    while (!is_over && (pending_documents > 0 || documents !== first_document)) {
      first_document = documents;
      await untilReady();
    }
  }

  /** For reading the page, and for its picture. */
  const reserved_ms = limits.read_ms + (request.screenshot ? SCREENSHOT_MS : 0);
  const leftMs = (): number =>
    Math.min(
      page_timer.remaining_ms() - reserved_ms,
      (request.deadline_ms ?? Infinity) - DEADLINE_MARGIN_MS - clock.now(),
    );

  /** Resolves when the page is worth reading, when the time for that is over, or when it requests another document. */
  async function untilReady(): Promise<void> {
    const documents_before = documents;
    let document_ms = clock.mono();
    let parsed_ms: number | null = null;
    let looked_ms = -Infinity;
    let readiness: Readiness = "parsing";
    /** When a text that was too thin has changed; a text that still grows is not read yet. */
    let changed_ms = -Infinity;
    let text_chars: number | null = null;
    awaited.reset();
    const remainingMs = (): number => {
      const settle_ms = readiness === "challenge" ? limits.challenge_ms : limits.settle_ms;
      const limit_ms =
        parsed_ms === null
          ? document_ms + limits.parse_ms
          : Math.max(parsed_ms + settle_ms, awaited.limit_ms(limits.quiet_ms));
      return Math.min(limit_ms - clock.mono(), leftMs());
    };
    while (!is_over && documents === documents_before) {
      // The time of a document begins when its response head is there.
      if (pending_documents > 0) document_ms = clock.mono();
      else if (remainingMs() <= 0) {
        if (parsed_ms !== null || !request.wait_for) return;
        // It is as parsed as it gets: from now on it is waited for.
        parsed_ms = clock.mono();
        awaited.onParsed(origin?.status ?? 0);
        if (remainingMs() <= 0) return;
      }
      const is_quiet = network.quiet_ms() >= limits.quiet_ms;
      if (pending_documents === 0 && (is_quiet || clock.mono() - looked_ms >= LOOK_WHILE_LOADING_MS)) {
        looked_ms = clock.mono();
        const look = lookAtDocument(cdp, main_frame!, request.wait_for?.selector);
        const state = await Promise.race([look, pause(remainingMs()).then(() => null)]);
        if (state !== null && origin !== null) {
          // A caller that says what it waits for does not wait for text.
          const min_text_chars = request.wait_for || steps.length > 0 ? 0 : (request.min_text_chars ?? 0);
          readiness = readinessOf(state, { ...origin, min_text_chars });
          if (readiness !== "parsing" && parsed_ms === null) {
            parsed_ms = looked_ms;
            awaited.onParsed(origin.status);
          }
          awaited.onLook(state);
          const wasThin = text_chars !== null;
          if ((wasThin || readiness === "thin") && text_chars !== state.text_chars) {
            text_chars = state.text_chars;
            changed_ms = looked_ms;
          }
          const isSettled = is_quiet && looked_ms - changed_ms >= limits.quiet_ms;
          if (readiness === "ready" && isSettled && awaited.isOver()) return;
        }
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  /**
   * The document as text, read in an isolated world that the page's scripts cannot manipulate; null: the document was
   * just replaced.
   */
  async function readDocument(): Promise<Shown | null> {
    const { max_bytes } = request;
    const reading = shownDocument({ cdp, max_bytes, refusalOf: frames.refusalOf });
    const read = await within(
      reading.catch(() => null),
      limits.read_ms,
    );
    if (read !== LATE) return read;
    failed("timeout", "A script of the page did not end");
    return null;
  }

  return {
    result(): Promise<TransportResult> {
      render().catch((problem: unknown) => {
        // If the browser is gone, that reason was reported first and counts.
        failed("browser_crashed", problem instanceof Error ? problem.message.split("\n", 1)[0]! : null);
      });
      return end.promise;
    },
    isBystander: () => is_bystander,
    close() {
      is_over = true;
      page_timer.stop();
      request.signal.removeEventListener("abort", onAbort);
      hop.release();
    },
  };
}

const NO_STEPS_IN_FILES: Shortfall = {
  error: "action_failed",
  detail: "The address is a file, and the browser shows no page of it",
};
const actionFailed = (acted: ActionsResult | null): Shortfall | null =>
  acted?.failure == null ? null : { error: "action_failed", detail: acted.failure };
const pictureFailed = (detail: string): Shortfall => ({ error: "screenshot_failed", detail });
const NO_PICTURE_OF_FILES = pictureFailed("The address is a file, and the browser shows no page of it");

/** Whether a navigation belongs to an inner frame. A request that was never answered has no frame. */
function isInFrame(request: { frame: () => { parentFrame: () => unknown } }): boolean {
  try {
    return request.frame().parentFrame() !== null;
  } catch {
    return false;
  }
}

const isIcon = ({ resourceType, request: { url } }: Paused): boolean =>
  resourceType === "Other" && URL.parse(url)?.pathname.endsWith("/favicon.ico") === true;

/**
 * The caller's Accept-Language, of which Chromium would send the locale only, its credentials for the origin of its address,
 * and what it gives of its own request.
 */
function withOwnFields(
  { accept_language, authorization, url: asked }: TransportRequest,
  paused: Paused,
  url: string,
  { headers = [], ...replaced }: Replaced,
): Omit<Replaced, "headers"> & { headers?: Field[] } {
  const isLoggedIn = authorization !== undefined && originOf(url) === originOf(asked);
  return {
    ...replaced,
    ...withFields(paused, [
      ...(accept_language === null ? [] : [["Accept-Language", fieldValue(accept_language)] as const]),
      ...(isLoggedIn ? [["Authorization", authorization] as const] : []),
      ...headers,
    ]),
  };
}

/** Nothing when no field is added: the request goes on as it is. */
function withFields({ request }: Paused, own: readonly (readonly [string, string])[]): { headers?: Field[] } {
  if (own.length === 0) return {};
  const byName = new Map(own.map(([name, value]) => [name.toLowerCase(), { name, value }]));
  const others = Object.entries(request.headers)
    .filter(([name]) => !byName.has(name.toLowerCase()))
    .map(([name, value]) => ({ name, value }));
  return { headers: [...others, ...byName.values()] };
}

/** The part of a context that a window of the caller's is. One pixel for each CSS pixel: a picture has the size that was asked for. */
const windowOf = (view: TransportRequest["view"]) =>
  view && {
    viewport: { width: view.width, height: view.height },
    screen: { width: view.width, height: view.height },
    ...(view.device === "mobile" && { isMobile: true, hasTouch: true }),
  };

/** A valid field value: a line break must not start another field. */
const fieldValue = (text: string): string => text.replaceAll(/[^\t\u0020-\u007e]+/g, " ").trim();

/** The valid languages of an Accept-Language, in order. */
function languagesOf(accept_language: string | null): string[] {
  return (accept_language ?? "").split(",").flatMap((part) => {
    try {
      return Intl.getCanonicalLocales(part.split(";", 1)[0]!.trim());
    } catch {
      return [];
    }
  });
}

function fieldsOf(fields: readonly Field[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const { name, value } of fields) {
    const existing = headers.get(name.toLowerCase());
    // Chromium joins repeated fields with line breaks.
    const joined = value.replaceAll("\n", ", ");
    headers.set(name.toLowerCase(), existing === undefined ? joined : `${existing}, ${joined}`);
  }
  return headers;
}

/** A time-out that can be paused. */
function pausableTimeout(timeout_ms: number, onTimeout: () => void) {
  let remaining_ms = timeout_ms;
  let since_ms = performance.now();
  let is_stopped = false;
  let timer: NodeJS.Timeout | undefined = setTimeout(onTimeout, remaining_ms);
  return {
    pause() {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      remaining_ms -= performance.now() - since_ms;
    },
    resume() {
      if (is_stopped || timer !== undefined) return;
      since_ms = performance.now();
      timer = setTimeout(onTimeout, Math.max(0, remaining_ms));
    },
    remaining_ms: () => (timer === undefined ? remaining_ms : remaining_ms - (performance.now() - since_ms)),
    stop() {
      is_stopped = true;
      clearTimeout(timer);
    },
  };
}

interface RequestSpacing {
  readonly wait: (url: string, admitted_ms: number) => Promise<void>;
}

/** Maximum number of remembered sites; the least recently used is forgotten first. */
const MAX_SITES = 10_000;
/**
 * Maximum wait for the distance, since a waiting page occupies a slot of the pool. It is the default delay of a domain.
 */
const MAX_SPACING_MS = 500;

/**
 * A page may wait for a browser between its permit and its request, so two pages of one site may be ready at the same
 * moment. Their requests are sent as far apart as their permits were granted, up to half a second. Slots limit how many
 * there can be.
 */
function requestSpacing(clock: Clock): RequestSpacing {
  const last_by_site = new Map<string, { readonly entered_ms: number; readonly sent_ms: number }>();
  return {
    async wait(url, admitted_ms) {
      const site = siteOf(new URL(url).hostname);
      const previous = last_by_site.get(site);
      const now_ms = clock.mono();
      const apart_ms = previous ? previous.sent_ms + Math.abs(admitted_ms - previous.entered_ms) - now_ms : 0;
      const wait_ms = Math.max(0, Math.min(MAX_SPACING_MS, apart_ms));
      last_by_site.delete(site);
      last_by_site.set(site, { entered_ms: admitted_ms, sent_ms: now_ms + wait_ms });
      if (last_by_site.size > MAX_SITES) last_by_site.delete(last_by_site.keys().next().value!);
      if (wait_ms > 0) await pause(wait_ms);
    },
  };
}

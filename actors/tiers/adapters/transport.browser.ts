/**
 * The route `browser`: a page as a browser has it after its scripts have run, or the bytes of what is no page.
 *
 * Every document of the main frame, redirect hops and what scripts navigate to included, is asked leave for like any
 * other request to an origin, and the last one's slot is held until the page is done. What the page loads beside it
 * takes no slots: it goes through the guard, less the kinds that no answer is made of, and ends at a number.
 *
 * A page is done when its document is parsed and the network has been quiet for half a second, or when it has had its
 * time for that. Nothing is kept: the context, its cookies and caches end with the request. Dialogs are dismissed,
 * other windows closed, service workers and downloads not let in. Where the browser comes from is browser-pool.ts.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { EgressProblem } from "../../../cluster/ports/egress.ts";
import type { Redirect } from "../../../schemas/fetch.ts";
import type { Destination } from "../../lib/web/destination.ts";
import { contentKindOf, retryAfterSeconds } from "../../lib/web/http.ts";
import type {
  Entry,
  OriginAnswer,
  Refusal,
  Transport,
  Transported,
  TransportRequest,
} from "../../lib/web/transport.ts";
import { parseUrl, siteOf } from "../../lib/web/url.ts";
import type { BrowserPool, Lease } from "./browser-pool.ts";
import { entered, outOfBounds, shown } from "./one-request.ts";

export interface PageLimits {
  /** For one page, from its first request to its bytes; waiting for leave does not count. */
  readonly page_ms: number;
  /** Until the document is parsed; then what there is of it is taken. */
  readonly parse_ms: number;
  /** For the network to be quiet after that. */
  readonly settle_ms: number;
  /** For the document to be handed over: a script that does not end lets nobody read. */
  readonly read_ms: number;
  /** Requests of one page beside its documents; what comes after finds the browser offline. */
  readonly requests: number;
  /** Dialogs after which a page is given up. */
  readonly dialogs: number;
}

export interface BrowserOptions {
  readonly pool: BrowserPool;
  readonly clock: Clock;
  /** Spares robots.txt and the domain a question about what the guard would refuse anyway. */
  readonly destination: Destination;
  readonly limits?: Partial<PageLimits>;
}

const LIMITS: PageLimits = {
  page_ms: 30_000,
  parse_ms: 15_000,
  settle_ms: 5_000,
  read_ms: 5_000,
  requests: 500,
  dialogs: 20,
};

/** Documents of the main frame one after the other, by redirect or by script. */
const MAX_DOCUMENTS = 11;
const REDIRECTING: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const OUT_OF_BOUNDS: ReadonlySet<string> = new Set<EgressProblem>(["blocked_destination", "invalid_url"]);
/** What the guard says instead of an origin, to who asks it for plain http. */
const GUARD_STATUSES: ReadonlySet<number> = new Set([400, 403, 502, 504]);
const PIECE_BYTES = 2 ** 20;

/** Loaded for the eye only; an origin need not send them. */
const UNSEEN = ["Image", "Media", "Font", "Ping"] as const;
const UNSEEN_KINDS: ReadonlySet<string> = new Set(["image", "media", "font", "ping"]);

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

export function browserTransport({ pool, clock, destination, limits: given }: BrowserOptions): Transport {
  const limits: PageLimits = { ...LIMITS, ...given };
  const spacing = spacer(clock);

  return async (request) => {
    const began_ms = clock.mono();
    const first = parseUrl(request.url)?.href ?? request.url;
    const bare = () => ({ redirects: [], final_url: null, ms: Math.round(clock.mono() - began_ms) });
    const judged = destination.url(first);
    if (judged === "blocked_destination" || judged === "invalid_url") {
      return { kind: "refused", refusal: outOfBounds(judged), ...bare() };
    }
    // Before a browser: whoever waits for a busy domain must not keep a place from the others.
    const entry = await entered(request, first);
    if (entry === null) {
      const detail = "The deadline passed before the page could be asked for";
      return { kind: "failed", reason: "timeout", status: null, detail, ...bare() };
    }
    if (entry.kind === "refused") return { kind: "refused", refusal: entry.refusal, ...bare() };
    const hop = hopOf(first, entry, clock);
    const languages = languagesOf(request.accept_language);
    const lease = await pool.lease(
      {
        locale: languages[0] ?? "en-US",
        ...(request.user_agent !== null && { userAgent: request.user_agent }),
      },
      request.signal,
    );
    if (lease.kind === "failed") {
      hop.leave();
      return { kind: "failed", reason: lease.reason, status: null, detail: lease.detail, ...bare() };
    }
    const visit = visitOf({ request, lease, hop, began_ms, clock, destination, limits, spacing });
    try {
      return await visit.result();
    } finally {
      visit.over();
      // The answer does not wait for the browser to clear up.
      void lease.release();
    }
  };
}

/** Leave to ask for one document, handed back once. */
interface Hop {
  readonly url: string;
  readonly entered_ms: number;
  answer: OriginAnswer;
  readonly sending: () => boolean | Promise<boolean>;
  readonly sent: () => void;
  readonly leave: () => void;
}

function hopOf(url: string, { sending, sent, left }: Extract<Entry, { kind: "entered" }>, clock: Clock): Hop {
  let is_left = false;
  const hop: Hop = {
    url,
    entered_ms: clock.mono(),
    answer: { status: null, retry_after_s: null },
    sending,
    sent,
    leave() {
      if (!is_left) left(hop.answer);
      is_left = true;
    },
  };
  return hop;
}

interface Surroundings {
  readonly request: TransportRequest;
  readonly lease: Lease;
  readonly hop: Hop;
  readonly began_ms: number;
  readonly clock: Clock;
  readonly destination: Destination;
  readonly limits: PageLimits;
  readonly spacing: Spacing;
}

interface Field {
  readonly name: string;
  readonly value: string;
}

/** What is used of Fetch.requestPaused: a request before it leaves, or after its head has come. */
interface Paused {
  readonly requestId: string;
  readonly resourceType: string;
  readonly frameId: string;
  readonly request: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  readonly responseStatusCode?: number;
  readonly responseErrorReason?: string;
  readonly responseHeaders?: readonly Field[];
}

/** One page in one context, from its first request to what came of it. */
function visitOf({
  request,
  lease,
  hop: first,
  began_ms,
  clock,
  destination,
  limits,
  spacing,
}: Surroundings) {
  const { page, cdp, context, pass } = lease;
  const redirects: Redirect[] = [];
  const end = Promise.withResolvers<Transported>();
  let is_over = false;
  let hop = first;
  let main_frame: string | undefined;
  /** Documents asked for, and those that were let in as pages. */
  let asked = 0;
  let pages = 0;
  /** Documents that wait for leave or for their answer just now. */
  let moving = 0;
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
  const failed = (reason: string, detail: string | null) => {
    end.resolve({
      kind: "failed",
      reason,
      status: hop.answer.status ?? origin?.status ?? null,
      detail,
      ...common(),
    });
  };
  const refused = (refusal: Refusal) => end.resolve({ kind: "refused", refusal, ...common() });

  const patience = stopwatch(limits.page_ms, () =>
    failed("timeout", `The page was not done within ${limits.page_ms} ms`),
  );
  const onAbort = () => failed("timeout", "The deadline passed while the page was rendered");
  request.signal.addEventListener("abort", onAbort, { once: true });
  if (request.signal.aborted) onAbort();
  void lease.ended.then((reason) =>
    failed(reason, reason === "out_of_memory" ? "The page held too much memory" : "The browser ended"),
  );

  /** A document of the main frame before it is asked for. */
  async function leaving(event: Paused): Promise<void> {
    if (asked++ > 0) {
      const next = parseUrl(event.request.url)?.href ?? null;
      if (asked > MAX_DOCUMENTS)
        return failed("too_many_redirects", `More than ${MAX_DOCUMENTS - 1} redirects`);
      const judged = next === null ? "invalid_url" : destination.url(next);
      if (judged === "blocked_destination" || judged === "invalid_url") return refused(outOfBounds(judged));
      // The slot of the page before: to hold it and wait for another of the same domain would be to wait for ever.
      hop.leave();
      patience.pause();
      let entry: Entry | null;
      try {
        entry = await entered(request, next!);
      } catch (problem) {
        end.reject(problem);
        return;
      } finally {
        patience.resume();
      }
      if (entry === null) return failed("timeout", "The deadline passed before a redirect could be followed");
      if (entry.kind === "refused") return refused(entry.refusal);
      hop = hopOf(next!, entry, clock);
      if (is_over) return hop.leave();
    }
    patience.pause();
    await spacing.turn(hop.url, hop.entered_ms);
    patience.resume();
    if (!(await hop.sending()))
      return failed("timeout", "The leave to ask for the page had lapsed before a browser asked");
    await cdp.send("Fetch.continueRequest", { requestId: event.requestId, ...asWished(request, event) });
    hop.sent();
  }

  /** A document of the main frame when its head has come. */
  async function arrived({
    requestId,
    responseStatusCode: status,
    responseHeaders = [],
  }: Paused): Promise<void> {
    const go = () => cdp.send("Fetch.continueRequest", { requestId });
    const stop = () => cdp.send("Fetch.failRequest", { requestId, errorReason: "Aborted" });
    // What went wrong is told by what the navigation throws.
    if (status === undefined) return void (await go());
    const problem = GUARD_STATUSES.has(status) ? pass.refusal(new URL(hop.url).host) : null;
    if (problem !== null) {
      broke(problem);
      return void (await stop());
    }
    const headers = fieldsOf(responseHeaders);
    const retry_after_s = retryAfterSeconds(headers.get("retry-after"), clock.now());
    hop.answer = { ...hop.answer, status, retry_after_s };
    const location = REDIRECTING.has(status) ? headers.get("location")?.trim() : "";
    if (location) {
      redirects.push({ url: hop.url, status, location: shown(location) });
      hop.leave();
      return void (await go());
    }
    const here = { url: hop.url, status, headers };
    const type = headers.get("content-type")?.split(";", 1)[0]!.trim().toLowerCase() ?? "";
    const isFile = /^\s*attachment/i.test(headers.get("content-disposition") ?? "");
    const isPage = !isFile && (type === "text/html" || type === "application/xhtml+xml");
    if (isPage && status !== 204 && status !== 205) {
      origin = here;
      pages++;
      if (!tooLong(headers)) return void (await go());
      failed("too_large", `The page is larger than ${request.max_bytes} bytes`);
      return void (await stop());
    }
    // A page that sends a file after itself is still the page; its file was not asked for.
    if (pages > 0) {
      hop.leave();
      return void (await stop());
    }
    origin = here;
    const body = tooLong(headers) ? null : await bodyOf(requestId);
    if (body === null) failed("too_large", `The answer is larger than ${request.max_bytes} bytes`);
    else if (type === "" && !isFile && contentKindOf(null, body, here.url) === "html") {
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
      end.resolve({ kind: "page", ...here, body, body_kind: "origin", ...common(), final_url: here.url });
    await stop();
  }

  /** The length an origin declares, where nothing was compressed. */
  const tooLong = (headers: ReadonlyMap<string, string>): boolean =>
    !headers.has("content-encoding") && Number(headers.get("content-length") ?? 0) > request.max_bytes;

  /** Decoded bytes as they came, or null beyond the limit. */
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

  function broke(problem: EgressProblem): void {
    if (OUT_OF_BOUNDS.has(problem)) refused(outOfBounds(problem));
    else failed(problem === "aborted" ? "timeout" : problem, null);
  }

  /** A navigation that came to nothing, by Chromium's name for it. */
  function failedAs(text: string): void {
    const problem = pass.refusal(new URL(hop.url).host);
    if (problem !== null) return broke(problem);
    const name = /ERR_[A-Z0-9_]+/.exec(text)?.[0] ?? "";
    // An error without a page of its own: Chromium would show one of its making.
    if (name === "ERR_HTTP_RESPONSE_CODE_FAILURE" && origin !== null) {
      const { status, headers, url } = origin;
      end.resolve({
        kind: "page",
        status,
        headers,
        body: Buffer.alloc(0),
        body_kind: "origin",
        ...common(),
        final_url: url,
      });
      return;
    }
    if (name === "ERR_UNSAFE_PORT") return refused(outOfBounds("blocked_destination"));
    failed(NET_ERRORS.find(([pattern]) => pattern.test(name))?.[1] ?? "network_failed", name || null);
  }

  function onPaused(event: Paused): void {
    const { requestId, resourceType, frameId } = event;
    const isDocument = resourceType === "Document";
    // Nothing but the page that was asked for can have been first.
    if (isDocument) main_frame ??= frameId;
    if (!isDocument || frameId !== main_frame) {
      const answer = isDocument
        ? cdp.send("Fetch.continueRequest", { requestId })
        : cdp.send("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" });
      answer.catch(() => {});
      return;
    }
    const isAsked = event.responseStatusCode === undefined && event.responseErrorReason === undefined;
    moving++;
    (isAsked ? leaving(event) : arrived(event))
      // The page may have left the request, or the browser the page; what that comes to is told elsewhere.
      .catch(() => {})
      .finally(() => void moving--);
  }

  async function prepared(): Promise<void> {
    cdp.on("Fetch.requestPaused", onPaused);
    const shownTo = new Set<string>();
    cdp.on("Fetch.authRequired", ({ requestId, authChallenge: { source } }) => {
      // Once: a pass that is not taken has been revoked.
      const isOurs = source === "Proxy" && !shownTo.has(requestId);
      shownTo.add(requestId);
      const authChallengeResponse = isOurs
        ? { response: "ProvideCredentials" as const, username: pass.username, password: pass.password }
        : { response: "CancelAuth" as const };
      cdp.send("Fetch.continueWithAuth", { requestId, authChallengeResponse }).catch(() => {});
    });
    page.on("request", (one) => {
      if (UNSEEN_KINDS.has(one.resourceType()) || ++requests !== limits.requests) return;
      context.setOffline(true).catch(() => {});
    });
    page.on("requestfailed", (one) => {
      if (!one.isNavigationRequest() || isInFrame(one)) return;
      const text = one.failure()?.errorText ?? "";
      // Ours, or a navigation that another has overtaken.
      if (!/ERR_(?:ABORTED|BLOCKED_BY_CLIENT|HTTP_RESPONSE_CODE_FAILURE)/.test(text)) failedAs(text);
    });
    page.on("dialog", (dialog) => {
      dialog.dismiss().catch(() => {});
      if (++dialogs > limits.dialogs)
        failed("timeout", `The page opened more than ${limits.dialogs} dialogs`);
    });
    context.on("page", (other) => {
      if (other !== page) other.close().catch(() => {});
    });
    const sends: Promise<unknown>[] = [
      cdp.send("Fetch.enable", {
        handleAuthRequests: true,
        patterns: [
          { resourceType: "Document", requestStage: "Request" },
          { resourceType: "Document", requestStage: "Response" },
          { urlPattern: "*/favicon.ico", resourceType: "Other" },
          ...UNSEEN.map((resourceType) => ({ resourceType })),
        ],
      }),
    ];
    if (request.user_agent !== null) {
      // Without what it would say of itself beside a name that is not its own.
      sends.push(
        cdp.send("Emulation.setUserAgentOverride", {
          userAgent: request.user_agent,
          acceptLanguage: languagesOf(request.accept_language)[0] ?? "en-US",
        }),
      );
    }
    await Promise.all(sends);
  }

  async function rendered(): Promise<void> {
    await prepared();
    try {
      await page.goto(hop.url, { waitUntil: "commit", timeout: 0 });
    } catch (problem) {
      const text = problem instanceof Error ? problem.message : String(problem);
      if (!text.includes("interrupted by another navigation")) return failedAs(text);
    }
    while (!is_over) {
      const before = asked;
      await page.waitForLoadState("domcontentloaded", { timeout: limits.parse_ms }).catch(() => {});
      await page.waitForLoadState("networkidle", { timeout: limits.settle_ms }).catch(() => {});
      const read = moving > 0 || asked !== before ? null : await serialised();
      if (read === null || moving > 0 || asked !== before) {
        await pause(20);
        continue;
      }
      const body = read.html === null ? null : Buffer.from(read.html);
      if (body === null || body.length > request.max_bytes) {
        return failed("too_large", `The rendered page is larger than ${request.max_bytes} bytes`);
      }
      const { status, headers, url } = origin!;
      end.resolve({
        kind: "page",
        status,
        headers,
        body,
        body_kind: "rendered_dom",
        ...common(),
        final_url: url,
      });
      return;
    }
  }

  /** The document as text, read where no script of the page can have its hands in; null when it has just gone. */
  async function serialised(): Promise<Serialised | null> {
    const reading = (async () => {
      const { executionContextId } = await cdp.send("Page.createIsolatedWorld", { frameId: main_frame! });
      const { result } = await cdp.send("Runtime.evaluate", {
        expression: `(${serialise.toString()})(${request.max_bytes})`,
        contextId: executionContextId,
        returnByValue: true,
      });
      return (result.value as Serialised | undefined) ?? null;
    })().catch(() => null);
    const late = pause(limits.read_ms).then((): typeof LATE => LATE);
    const read = await Promise.race([reading, late]);
    if (read !== LATE) return read;
    failed("timeout", "A script of the page did not end");
    return null;
  }

  return {
    result(): Promise<Transported> {
      rendered().catch((problem: unknown) => {
        // The browser may have gone: then that is what it came to, and it was told first.
        failed("browser_crashed", problem instanceof Error ? problem.message.split("\n", 1)[0]! : null);
      });
      return end.promise;
    },
    over() {
      is_over = true;
      patience.stop();
      request.signal.removeEventListener("abort", onAbort);
      hop.leave();
    },
  };
}

const LATE: unique symbol = Symbol("late");

/** Null: the document has more characters than the answer may have bytes, and was not sent. */
interface Serialised {
  readonly html: string | null;
}

/** Runs in the page, so it knows nothing from here. */
function serialise(max_chars: number): Serialised {
  const { doctype, documentElement } = document;
  const ids = doctype && (doctype.publicId || doctype.systemId);
  const type = doctype
    ? `<!DOCTYPE ${doctype.name}${ids ? ` PUBLIC "${doctype.publicId}" "${doctype.systemId}"` : ""}>`
    : "";
  const html = type + (documentElement?.outerHTML ?? "");
  return { html: html.length > max_chars ? null : html };
}

declare const document: {
  readonly doctype: { readonly name: string; readonly publicId: string; readonly systemId: string } | null;
  readonly documentElement: { readonly outerHTML: string } | null;
};

/** Whether a navigation is some inner frame's. One that was never answered has no frame to be asked for. */
function isInFrame(request: { frame: () => { parentFrame: () => unknown } }): boolean {
  try {
    return request.frame().parentFrame() !== null;
  } catch {
    return false;
  }
}

/** The language fields of the main request as the caller wrote them: Chromium would send the locale alone. */
function asWished({ accept_language }: TransportRequest, { request }: Paused): { headers?: Field[] } {
  if (accept_language === null) return {};
  const others = Object.entries(request.headers).filter(([name]) => name.toLowerCase() !== "accept-language");
  return {
    headers: [...others, ["Accept-Language", fieldValue(accept_language)] as const].map(([name, value]) => ({
      name,
      value,
    })),
  };
}

/** What may stand in a field: a caller's line break must not begin another one. */
const fieldValue = (text: string): string => text.replaceAll(/[^\t\u0020-\u007e]+/g, " ").trim();

/** The languages of an Accept-Language that are any, in order. */
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
    const known = headers.get(name.toLowerCase());
    // Chromium joins repeated fields by line breaks.
    const said = value.replaceAll("\n", ", ");
    headers.set(name.toLowerCase(), known === undefined ? said : `${known}, ${said}`);
  }
  return headers;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A time limit that can be stopped and go on. */
function stopwatch(most_ms: number, late: () => void) {
  let left_ms = most_ms;
  let since_ms = performance.now();
  let is_stopped = false;
  let timer: NodeJS.Timeout | undefined = setTimeout(late, left_ms);
  return {
    pause() {
      clearTimeout(timer);
      timer = undefined;
      left_ms -= performance.now() - since_ms;
    },
    resume() {
      if (is_stopped) return;
      since_ms = performance.now();
      timer = setTimeout(late, Math.max(0, left_ms));
    },
    stop() {
      is_stopped = true;
      clearTimeout(timer);
    },
  };
}

interface Spacing {
  readonly turn: (url: string, entered_ms: number) => Promise<void>;
}

/** Sites remembered at once; those asked last go last. */
const MAX_SITES = 10_000;
/** No page waits longer than this for its distance: it keeps a place meanwhile. The default gap of a domain. */
const SPACE_MS = 500;

/**
 * Between leave and request a page may wait for a browser, and two of one site may come to it at once. They are asked
 * for as far apart as they were let in, up to half a second; their slots bound how many they can be.
 */
function spacer(clock: Clock): Spacing {
  const last = new Map<string, { readonly entered_ms: number; readonly asked_ms: number }>();
  return {
    async turn(url, entered_ms) {
      const site = siteOf(new URL(url).hostname);
      const before = last.get(site);
      const now_ms = clock.mono();
      const apart_ms = before ? before.asked_ms + Math.abs(entered_ms - before.entered_ms) - now_ms : 0;
      const wait_ms = Math.max(0, Math.min(SPACE_MS, apart_ms));
      last.delete(site);
      last.set(site, { entered_ms, asked_ms: now_ms + wait_ms });
      if (last.size > MAX_SITES) last.delete(last.keys().next().value!);
      if (wait_ms > 0) await pause(wait_ms);
    },
  };
}

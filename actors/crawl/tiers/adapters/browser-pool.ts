/**
 * Pages of browsers for the route `browser`. Each page has its own browser context and its own session of the egress proxy, in a
 * browser that serves several at once (running-browsers.ts) and is closed when no page has needed it for a while.
 *
 * The use of a page is transport.browser.ts.
 */
import type { BrowserContext, BrowserContextOptions, CDPSession, Page } from "playwright";
import type { ProxySession } from "../../../../cluster/ports/egress-proxy.ts";
import { LATE, settled, untilAborted } from "./in-time.ts";
import { memoryWatch } from "./memory-watch.ts";
import { type LeaseFailure, leaseFailure, pageSlots } from "./page-slots.ts";
import { limitsFor, MAX_PAGES, type PoolLimits } from "./pool-limits.ts";
import {
  firstLine,
  heldRequests,
  type OpenPage,
  type PageEnd,
  type PooledBrowser,
  type PoolOptions,
  runningBrowsers,
} from "./running-browsers.ts";

/** Within this time a busy browser tells that a page was ended. */
const CRASH_TOLD_MS = 30_000;

export interface PageLease {
  readonly kind: "leased";
  readonly context: BrowserContext;
  readonly page: Page;
  readonly cdp: CDPSession;
  readonly session: ProxySession;
  /** Resolves when the page or its browser ends by itself. */
  readonly ended: Promise<PageEnd>;
  /** Releases the slot. The answer need not wait for it. */
  readonly release: () => Promise<void>;
}

export interface PageNeeds {
  /** Allowed private networks that the page may come from. Default: what the operator allows to the service. */
  readonly networks?: readonly string[] | undefined;
  /** A browser without other pages: what happens to it is then this page's doing. */
  readonly is_alone?: boolean;
  /** The browser says that it is one of a phone. */
  readonly is_mobile?: boolean;
}

export interface BrowserPool {
  readonly lease: (
    options: BrowserContextOptions,
    signal: AbortSignal,
    needs?: PageNeeds,
  ) => Promise<PageLease | LeaseFailure>;
  /** Slots in use, waiting requests, and the process ids of the browsers. */
  readonly stats: () => {
    readonly leased: number;
    readonly waiting: number;
    readonly browsers: readonly number[];
  };
  readonly close: () => Promise<void>;
}

export function browserPool({ limits: overrides, ...parts }: PoolOptions): BrowserPool {
  const { proxy, metrics, log } = parts;
  const limits: PoolLimits = { ...limitsFor(overrides?.pages ?? MAX_PAGES), ...overrides };
  const browsers = runningBrowsers({ ...parts, limits });
  const memory = memoryWatch(browsers, { limits, metrics, log });
  let idle_timer: NodeJS.Timeout | undefined;
  let is_closed = false;

  const slots = pageSlots(limits, (leased) => {
    metrics.gauge("trawl_browser_pages", {}, leased);
    clearTimeout(idle_timer);
    memory.onLeased(leased);
    if (leased > 0 || is_closed) return;
    idle_timer = setTimeout(() => void closeIdle(), limits.idle_ms);
    idle_timer.unref();
  });

  async function closeIdle(): Promise<void> {
    if (slots.leased() === 0) await Promise.all(browsers.all().map((pooled) => browsers.end(pooled, "idle")));
  }

  /** Opens a context and a page in the slot that was taken; releases the slot when that fails. */
  async function openPage(
    options: BrowserContextOptions,
    { networks, is_alone = false, is_mobile = false }: PageNeeds,
  ): Promise<PageLease | LeaseFailure> {
    let pooled: PooledBrowser;
    try {
      pooled = await browsers.forPage(is_alone);
    } catch (problem) {
      slots.release();
      return leaseFailure("browser_unavailable", firstLine(problem));
    }
    const { promise: ended, resolve } = Promise.withResolvers<PageEnd>();
    let is_over = false;
    let is_bystander = false;
    const onEnd = (end: PageEnd): void => {
      is_bystander ||= !is_over && end.is_bystander;
      is_over = true;
      resolve(end);
    };
    const session = proxy.openSession({
      received_bytes: limits.received_bytes,
      networks,
      onLimit: (limit) =>
        onEnd({
          reason: limit === "requests" ? "too_many_requests" : "too_many_bytes",
          is_bystander: false,
        }),
    });
    const open: OpenPage = { onEnd, is_over: () => is_over, session, requests: heldRequests() };
    pooled.open.add(open);
    if (++pooled.pages >= limits.pages_per_browser) browsers.replace(pooled, "pages");
    let context: BrowserContext | undefined;
    const release = async () => {
      is_over = true;
      session.close();
      if (context && (await settled(context.close(), limits.close_ms)) === LATE)
        browsers.replace(pooled, "hung");
      pooled.open.delete(open);
      if (pooled.is_replaced && pooled.open.size === 0) void browsers.end(pooled);
      else void memory.checkBrowser(pooled);
      slots.release();
    };
    const opening = (async () => {
      context = await pooled.browser.newContext({
        serviceWorkers: "block",
        acceptDownloads: false,
        reducedMotion: "reduce",
        userAgent: is_mobile ? onPhone(pooled.user_agent) : pooled.user_agent,
        ...options,
      });
      await context.addInitScript(removeWebRtc);
      const page = await context.newPage();
      page.on("crash", () => {
        const was_ended = performance.now() - pooled.page_ended_ms < CRASH_TOLD_MS;
        onEnd({
          reason: was_ended ? "out_of_memory" : "browser_crashed",
          is_bystander: was_ended && pooled.was_guess,
        });
      });
      open.requests.watch(page);
      const cdp = await context.newCDPSession(page);
      open.cdp = cdp;
      return { context, page, cdp };
    })();
    const opened = await settled(opening, limits.launch_ms);
    if (opened !== LATE && opened !== null) {
      return { kind: "leased", ...opened, session, ended, release: once(release) };
    }
    if (opened === LATE) browsers.replace(pooled, "hung");
    // A call to the browser may fail before its end is told.
    is_bystander ||= !is_over && !pooled.browser.isConnected() && pooled.open.size > 1;
    await release();
    return leaseFailure("browser_crashed", "The browser did not open a page", is_bystander);
  }

  return {
    async lease(options, signal, needs = {}) {
      const failure = await slots.acquire(signal);
      if (failure) return failure;
      const opening = openPage(options, needs);
      const opened = await untilAborted(opening, signal);
      if (opened !== LATE) return opened;
      void opening.then((lease) => (lease.kind === "leased" ? lease.release() : undefined));
      return leaseFailure("timeout", "The caller cancelled before the browser had started");
    },
    stats: () => ({
      leased: slots.leased(),
      waiting: slots.waiting(),
      browsers: browsers.all().map(({ pid }) => pid),
    }),
    async close() {
      is_closed = true;
      clearTimeout(idle_timer);
      memory.stop();
      slots.close();
      await browsers.close();
    },
  };
}

/** The user agent that the same Chromium has on a phone, whose model it no longer tells. */
const onPhone = (user_agent: string): string =>
  user_agent.replace(/\([^()]*\)/, "(Linux; Android 10; K)").replace(" Safari/", " Mobile Safari/");

/**
 * Runs in every frame before its scripts. The headless shell has no policy for WebRTC, whose UDP would bypass the
 * egress proxy, and pages that are only read do not need it. Tested in all kinds of frames (browser-guard.test.ts).
 */
function removeWebRtc(): void {
  for (const name of [
    "RTCPeerConnection",
    "webkitRTCPeerConnection",
    "RTCIceTransport",
    "RTCDtlsTransport",
  ]) {
    Reflect.deleteProperty(globalThis, name);
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}

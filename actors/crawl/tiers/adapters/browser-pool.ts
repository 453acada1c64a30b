/**
 * Browsers for the route `browser`. A browser starts when the first page needs one and serves several pages at once. It
 * is replaced after a number of pages or above a memory limit, killed with its whole process group when it does not
 * close, and closed when no page has needed it for a while. Each page has its own browser context and its own session
 * of the egress proxy.
 *
 * A slot is counted by its lease, not by the browser's state: whatever happens to the browser, the slot is released.
 * What a page is used for: transport.browser.ts.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, totalmem } from "node:os";
import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page, Request } from "playwright";
import type { EgressProxy, ProxySession } from "../../../../cluster/ports/egress-proxy.ts";
import {
  type BrowserUse,
  findWriter,
  type PageTraffic,
  processesOfGroup,
  readProcess,
  sharedMb,
  suspectedWriters,
  tooLarge,
  writerByTraffic,
} from "./browser-memory.ts";
import type { Chromium } from "./chromium.ts";
import { LATE, pause, within } from "./in-time.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import type { Log } from "../../../../cluster/ports/log.ts";

export interface PoolLimits {
  /**
   * Maximum concurrent pages. If it is too large, all pages are slow. Default: three per core, at most one per 512 MB of
   * memory, at most 16.
   */
  readonly pages: number;
  /** Maximum number of waiting requests; one more is browser_busy. */
  readonly waiting: number;
  /** Maximum wait. A waiting request occupies a slot of its domain. */
  readonly wait_ms: number;
  /** Pages after which a browser is replaced, which bounds its memory leaks. */
  readonly pages_per_browser: number;
  /** Resident memory of a browser's processes (shared pages counted once) above which it is replaced (Linux). */
  readonly browser_mb: number;
  /** Memory of a page's process above which the page ends as out_of_memory (Linux). */
  readonly page_mb: number;
  /**
   * Memory of the processes that the pages of a browser share, above which the page that fills it ends as out_of_memory and
   * the browser is replaced (Linux).
   */
  readonly shared_mb: number;
  /** Memory of all browsers above which the largest page ends as out_of_memory (Linux). */
  readonly total_mb: number;
  /** How long a context or a browser may take to close before it is killed. */
  readonly close_ms: number;
  readonly launch_ms: number;
  /** How long an unused browser stays open. */
  readonly idle_ms: number;
  /** Maximum bytes that one page may receive, with all it loads. */
  readonly received_bytes: number;
}

/** Why a page could not be opened. */
export interface LeaseFailure {
  readonly kind: "failed";
  readonly reason: "browser_busy" | "browser_unavailable" | "browser_crashed" | "timeout";
  readonly detail: string;
  /** The browser ended while the page opened, and another page may be the cause: it may be tried again. */
  readonly is_bystander: boolean;
}

/** Why a page ended by itself. */
export type PageEndReason = "browser_crashed" | "out_of_memory" | "too_many_requests" | "too_many_bytes";

export interface PageEnd {
  readonly reason: PageEndReason;
  /** Another page may be the cause: the page may be tried again. */
  readonly is_bystander: boolean;
}

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

export interface PoolOptions {
  readonly chromium: Chromium;
  readonly proxy: EgressProxy;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly limits?: Partial<PoolLimits>;
}

const MB = 2 ** 20;

/** Loaded when a browser is first needed: it takes 0.3 s of CPU time and 30 MB, and most nodes never open a page. */
const playwright = () =>
  (createRequire(import.meta.url)("playwright") as typeof import("playwright")).chromium;

/** Where `npx playwright install chromium` puts its browser, whether it is there or not; null on unsupported systems. */
export function playwrightChromium(): string | null {
  try {
    return playwright().executablePath() || null;
  } catch {
    return null;
  }
}

/** Measured (bench/capacity.bench.ts): a page takes 0.3 s of CPU and, alone, 1 s. Fewer leave cores idle, more only wait. */
const PAGES_PER_CORE = 3;

export function defaultPages(memory_bytes: number, cores: number): number {
  return Math.max(1, Math.min(16, PAGES_PER_CORE * cores, Math.floor(memory_bytes / (512 * MB))));
}

export const MAX_PAGES = defaultPages(
  Math.min(totalmem(), process.constrainedMemory() || Infinity),
  availableParallelism(),
);

/** The limits of a pool of so many pages. */
export const limitsFor = (pages: number): PoolLimits => ({
  pages,
  waiting: 64,
  wait_ms: 15_000,
  pages_per_browser: 100,
  // Measured: 250 MB without a page, and up to 190 MB for a heavy page.
  browser_mb: Math.max(1_024, 256 + 192 * pages),
  page_mb: 1_024,
  shared_mb: 640,
  // One page of the largest size beside usual ones.
  total_mb: Math.max(1_024, 256 + 192 * pages) + 1_024,
  close_ms: 3_000,
  launch_ms: 30_000,
  idle_ms: 30_000,
  received_bytes: 128 * MB,
});

/** Interval of the memory check while pages are open. */
const MEMORY_CHECK_MS = 500;
/**
 * What the shared memory of a browser may grow by after a page was ended for it, until another page ends: it is given back
 * late, and not all of it.
 */
const MORE_SHARED_MB = 128;
/** Minimum interval between measurements of a whole browser, which read one file per process. */
const MEASURE_MS = 5_000;
/** A browser that does not start is retried after 1, 2, 4 … 32 s; until then requests fail at once. */
const MIN_RESTART_DELAY_MS = 1_000;
const DETAIL_CHARS = 300;

/** A page in a browser. */
interface OpenPage {
  /** Tells the lease that its page has ended. */
  readonly onEnd: (end: PageEnd) => void;
  /** It has ended, though its context may not be closed yet. */
  readonly is_over: () => boolean;
  readonly session: ProxySession;
  readonly requests: HeldRequests;
  cdp?: CDPSession;
}

interface PooledBrowser {
  readonly browser: Browser;
  readonly cdp: CDPSession;
  /** The browser process, which leads its process group. */
  readonly pid: number;
  /**
   * Its user agent without "Headless" and minor version numbers, like a normal browser's and like the route `direct`.
   */
  readonly user_agent: string;
  readonly open: Set<OpenPage>;
  /** What its shared processes held before its first page. */
  readonly empty_mb: number;
  pages: number;
  /** It gets no more pages and closes after its last one. */
  is_replaced: boolean;
  /** When one of its pages was killed for its memory, and whether that page was only the likeliest. */
  page_killed_ms: number;
  was_guess: boolean;
  measured_ms: number;
  /** CPU time by process at the last memory check. */
  cpu: ReadonlyMap<number, number>;
  shared_mb: number;
}

interface Waiter {
  readonly resolve: (failure: LeaseFailure | null) => void;
  readonly stopWaiting: () => void;
}

const leaseFailure = (
  reason: LeaseFailure["reason"],
  detail: string,
  is_bystander = false,
): LeaseFailure => ({ kind: "failed", reason, detail, is_bystander });

/** One algorithm: slots, and the browsers that serve them, from start to replacement. */
export function browserPool({
  chromium: executable,
  proxy,
  metrics,
  log,
  limits: overrides,
}: PoolOptions): BrowserPool {
  const limits: PoolLimits = { ...limitsFor(overrides?.pages ?? MAX_PAGES), ...overrides };
  const browsers = new Set<PooledBrowser>();
  const waiting: Waiter[] = [];
  const ending = new Set<Promise<void>>();
  let leased = 0;
  let launching: Promise<PooledBrowser> | undefined;
  const starts = new Set<Promise<PooledBrowser>>();
  let failures = 0;
  let restart_after_ms = 0;
  let last_failure = "";
  let memory_check: NodeJS.Timeout | undefined;
  let idle_timer: NodeJS.Timeout | undefined;
  let is_checking = false;
  let is_closed = false;

  /** Takes a slot: null, or why there is none. Each slot is released by `releaseSlot`. */
  function acquireSlot(signal: AbortSignal): Promise<LeaseFailure | null> {
    if (is_closed) return Promise.resolve(leaseFailure("browser_unavailable", "The service is ending"));
    if (signal.aborted) return Promise.resolve(leaseFailure("timeout", "The caller cancelled"));
    if (leased < limits.pages) {
      leased++;
      onLeasedChanged();
      return Promise.resolve(null);
    }
    if (waiting.length >= limits.waiting) {
      return Promise.resolve(leaseFailure("browser_busy", `${waiting.length} pages wait for a browser`));
    }
    return new Promise((resolve) => {
      const giveUp = (answer: LeaseFailure) => {
        waiting.splice(waiting.indexOf(waiter), 1);
        waiter.stopWaiting();
        resolve(answer);
      };
      const onAbort = () =>
        giveUp(leaseFailure("timeout", "The caller cancelled while it waited for a browser"));
      const timer = setTimeout(
        () => giveUp(leaseFailure("browser_busy", `No browser page was free within ${limits.wait_ms} ms`)),
        limits.wait_ms,
      );
      const waiter: Waiter = {
        resolve,
        stopWaiting() {
          clearTimeout(timer);
          signal.removeEventListener("abort", onAbort);
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      waiting.push(waiter);
    });
  }

  function releaseSlot(): void {
    const next = waiting.shift();
    if (next) {
      next.stopWaiting();
      next.resolve(null);
      return;
    }
    leased--;
    onLeasedChanged();
    if (leased === 0 && !is_closed) {
      idle_timer = setTimeout(() => void closeIdle(), limits.idle_ms);
      idle_timer.unref();
    }
  }

  function onLeasedChanged(): void {
    metrics.gauge("trawl_browser_pages", {}, leased);
    if (leased > 0) clearTimeout(idle_timer);
    if (leased > 0 && !memory_check) {
      memory_check = setInterval(() => void endLargePages(), MEMORY_CHECK_MS);
      memory_check.unref();
    }
    if (leased === 0) {
      metrics.gauge("trawl_browser_memory_bytes", {}, 0);
      clearInterval(memory_check);
      memory_check = undefined;
    }
  }

  /**
   * The browser for the next page: one that is not being replaced, else a new one, started once for all waiting
   * requests. A page that needs one alone gets a new one, which is replaced after it.
   */
  async function browserForPage(is_alone: boolean): Promise<PooledBrowser> {
    const ready = [...browsers].find(
      ({ is_replaced: is_condemned, browser }) => !is_condemned && browser.isConnected(),
    );
    if (ready && !is_alone) return ready;
    if (performance.now() < restart_after_ms) throw new Error(last_failure);
    if (is_alone) return start(true);
    launching ??= start(false).finally(() => (launching = undefined));
    return launching;
  }

  function start(is_alone: boolean): Promise<PooledBrowser> {
    const starting = launch(is_alone)
      .then((started) => {
        failures = 0;
        return started;
      })
      .catch((problem: unknown) => {
        restart_after_ms = performance.now() + MIN_RESTART_DELAY_MS * 2 ** Math.min(failures++, 5);
        last_failure = firstLine(problem);
        log.error("Cannot start a browser", {
          chromium: executable.sentence,
          problem: last_failure,
        });
        throw problem;
      })
      .finally(() => starts.delete(starting));
    starts.add(starting);
    return starting;
  }

  async function launch(is_alone: boolean): Promise<PooledBrowser> {
    const { path, env, sandbox = process.getuid?.() !== 0 } = await executable.ready();
    const browser = await playwright().launch({
      executablePath: path,
      env: { ...env },
      headless: true,
      chromiumSandbox: sandbox,
      args: flags(proxy, sandbox),
      // Keeps Chromium's popup blocker, which Playwright turns off by default.
      ignoreDefaultArgs: ["--disable-popup-blocking"],
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: limits.launch_ms,
    });
    const cdp = await browser.newBrowserCDPSession();
    const { processInfo } = await cdp.send("SystemInfo.getProcessInfo");
    const pid = processInfo.find(({ type }) => type === "browser")!.id;
    const { userAgent } = await cdp.send("Browser.getVersion");
    const launched: PooledBrowser = {
      browser,
      cdp,
      pid,
      user_agent: userAgent.replace(/(?:Headless)?Chrome\/(\d+)[\d.]*/, "Chrome/$1.0.0.0"),
      open: new Set(),
      empty_mb: sharedMb({ processes: processInfo.flatMap(({ type, id }) => readProcess(id, type) ?? []) }),
      pages: 0,
      is_replaced: is_alone,
      page_killed_ms: -Infinity,
      was_guess: false,
      measured_ms: -Infinity,
      cpu: new Map(),
      shared_mb: limits.shared_mb,
    };
    browsers.add(launched);
    browser.on("disconnected", () => {
      if (browsers.delete(launched)) metrics.count("trawl_browser_ends_total", { reason: "crashed" });
      const is_bystander = launched.open.size > 1;
      for (const { onEnd } of launched.open) onEnd({ reason: "browser_crashed", is_bystander });
      killGroup(pid);
    });
    log.info("Started a browser", {
      chromium: executable.sentence,
      version: browser.version(),
      sandbox,
    });
    if (is_closed) await closeBrowser(launched, "closed");
    return launched;
  }

  function markForReplacement(pooled: PooledBrowser, reason: "pages" | "memory" | "hung"): void {
    if (pooled.is_replaced) return;
    pooled.is_replaced = true;
    metrics.count("trawl_browser_ends_total", { reason });
    log.info("A browser is replaced", { reason, pages: pooled.pages });
    if (pooled.open.size === 0) void closeBrowser(pooled);
  }

  /** Closes a browser. If it does not close in time, its whole process group is killed. */
  function closeBrowser(pooled: PooledBrowser, reason?: "idle" | "closed"): Promise<void> {
    if (!browsers.delete(pooled)) return Promise.resolve();
    if (reason) metrics.count("trawl_browser_ends_total", { reason });
    const closing = pooled.browser.close();
    const ended = settled(closing, limits.close_ms)
      .then(async (closed) => {
        if (closed !== LATE) return;
        killGroup(pooled.pid);
        // Playwright notices the end of the process and removes the profile.
        await settled(closing, limits.close_ms);
      })
      .then(() => void ending.delete(ended));
    ending.add(ended);
    return ended;
  }

  async function closeIdle(): Promise<void> {
    if (leased === 0) await Promise.all([...browsers].map((pooled) => closeBrowser(pooled, "idle")));
  }

  /** Ends pages that use too much memory, by themselves or together. */
  async function endLargePages(): Promise<void> {
    if (process.platform !== "linux" || is_checking) return;
    is_checking = true;
    try {
      const uses = await Promise.all(
        [...browsers].map(async (pooled) => {
          const listed = await processesOf(pooled);
          // A browser that is too busy to answer is watched all the same.
          const known = listed.length > 0 ? listed : processesOfGroup(pooled.pid);
          const processes = known.flatMap(({ type, id }) => readProcess(id, type) ?? []);
          await endWriter(pooled, { processes, cpu_before: pooled.cpu, shared_mb: pooled.shared_mb });
          pooled.cpu = new Map(processes.map(({ pid, cpu }) => [pid, cpu]));
          return { pooled, processes };
        }),
      );
      const all = uses.flatMap(({ processes }) => processes);
      metrics.gauge("trawl_browser_memory_bytes", {}, all.reduce((sum, { mb }) => sum + mb, 0) * MB);
      for (const pid of tooLarge(uses, limits)) {
        const { pooled } = uses.find(({ processes }) => processes.some((each) => each.pid === pid))!;
        const isGuess = all.find((each) => each.pid === pid)!.mb <= limits.page_mb;
        endPage(pooled, pid, isGuess);
      }
    } finally {
      is_checking = false;
    }
  }

  /** Ends the page that fills what the pages of a browser share; the browser, when that page is not known. */
  async function endWriter(pooled: PooledBrowser, use: BrowserUse): Promise<void> {
    const suspects = suspectedWriters(use);
    if (suspects.length === 0) return;
    const shared = use.processes.filter(({ type }) => type !== "renderer");
    const shared_mb = () =>
      sharedMb({ processes: shared.flatMap(({ pid, type }) => readProcess(pid, type) ?? []) });
    markForReplacement(pooled, "memory");
    const pages = [...pooled.open].filter(({ is_over }) => !is_over());
    if (pages.length === 0) return;
    const by_traffic = writerByTraffic(pages.map(trafficOf), shared_mb() - pooled.empty_mb);
    const known = pooled.open.size === 1 ? 0 : by_traffic;
    if (known !== null) endOpenPage(pages[known]!);
    else {
      const stop = (pid: number) => sendSignal(pid, "SIGSTOP");
      const run = (pid: number) => sendSignal(pid, "SIGCONT");
      const writer = await findWriter(suspects, { stop, run, shared_mb, pause });
      if (writer === null) return endBrowser(pooled);
      endPage(pooled, writer, false);
    }
    pooled.shared_mb = shared_mb() + MORE_SHARED_MB;
  }

  /** Ends a browser with pages in it, one of which is the cause: each may be tried again. */
  function endBrowser(pooled: PooledBrowser): void {
    log.warn("A browser is ended for the memory that its pages share", { pages: pooled.open.size });
    for (const { onEnd } of pooled.open) onEnd({ reason: "out_of_memory", is_bystander: true });
    void closeBrowser(pooled);
    killGroup(pooled.pid);
  }

  function endPage(pooled: PooledBrowser, pid: number, isGuess: boolean): void {
    pooled.page_killed_ms = performance.now();
    pooled.was_guess = isGuess;
    kill(pid);
  }

  async function checkBrowserMemory(pooled: PooledBrowser): Promise<void> {
    if (process.platform !== "linux" || performance.now() - pooled.measured_ms < MEASURE_MS) return;
    pooled.measured_ms = performance.now();
    const total_mb = (await processesOf(pooled)).reduce((sum, { id }) => sum + proportionalMb(id), 0);
    if (total_mb > limits.browser_mb) markForReplacement(pooled, "memory");
  }

  /** Opens a context and a page in the slot that was taken; releases the slot when that fails. */
  async function openPage(
    options: BrowserContextOptions,
    { networks, is_alone = false, is_mobile = false }: PageNeeds,
  ): Promise<PageLease | LeaseFailure> {
    let pooled: PooledBrowser;
    try {
      pooled = await browserForPage(is_alone);
    } catch (problem) {
      releaseSlot();
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
    if (++pooled.pages >= limits.pages_per_browser) markForReplacement(pooled, "pages");
    let context: BrowserContext | undefined;
    const release = async () => {
      is_over = true;
      session.close();
      if (context && (await settled(context.close(), limits.close_ms)) === LATE)
        markForReplacement(pooled, "hung");
      pooled.open.delete(open);
      if (pooled.is_replaced && pooled.open.size === 0) void closeBrowser(pooled);
      else void checkBrowserMemory(pooled);
      releaseSlot();
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
        const was_ended = performance.now() - pooled.page_killed_ms < 4 * MEMORY_CHECK_MS;
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
    if (opened === LATE) markForReplacement(pooled, "hung");
    // A call to the browser may fail before its end is told.
    is_bystander ||= !is_over && !pooled.browser.isConnected() && pooled.open.size > 1;
    await release();
    return leaseFailure("browser_crashed", "The browser did not open a page", is_bystander);
  }

  return {
    async lease(options, signal, needs = {}) {
      const failure = await acquireSlot(signal);
      if (failure) return failure;
      const opening = openPage(options, needs);
      const opened = await untilAborted(opening, signal);
      if (opened !== LATE) return opened;
      void opening.then((lease) => (lease.kind === "leased" ? lease.release() : undefined));
      return leaseFailure("timeout", "The caller cancelled before the browser had started");
    },
    stats: () => ({ leased, waiting: waiting.length, browsers: [...browsers].map(({ pid }) => pid) }),
    async close() {
      is_closed = true;
      clearTimeout(idle_timer);
      clearInterval(memory_check);
      for (const waiter of waiting.splice(0)) {
        waiter.stopWaiting();
        waiter.resolve(leaseFailure("browser_unavailable", "The service is ending"));
      }
      await Promise.allSettled(starts);
      await Promise.all([...browsers].map((pooled) => closeBrowser(pooled, "closed")));
      await Promise.all(ending);
    },
  };
}

/** The user agent that the same Chromium has on a phone, whose model it no longer tells. */
const onPhone = (user_agent: string): string =>
  user_agent.replace(/\([^()]*\)/, "(Linux; Android 10; K)").replace(" Safari/", " Mobile Safari/");

/** Chromium connects through the egress proxy only, and makes no requests of its own. */
function flags({ url: proxy_url, spki_sha256 }: EgressProxy, has_sandbox: boolean): string[] {
  return [
    `--proxy-server=${new URL(proxy_url).host}`,
    // Otherwise Chromium connects to loopback directly.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    // The proxy's own key, behind which it has verified the origin.
    ...(spki_sha256 === null ? [] : [`--ignore-certificate-errors-spki-list=${spki_sha256}`]),
    "--disable-quic",
    // WebRTC has no proxy for UDP. The former name of this switch, "force-webrtc-…", has no effect any more (Chromium
    // 156).
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-domain-reliability",
    "--no-pings",
    // The headless shell has no popup blocker: a window it opened would run in its opener's process.
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--autoplay-policy=user-gesture-required",
    "--disable-crash-reporter",
    // A page is one process, so that its memory is known and the end of the process is its end (browser-memory.ts). Without
    // a sandbox the process of a frame could read the other frames' sites, so each site has its own there.
    ...(has_sandbox ? ["--disable-site-isolation-trials"] : ["--site-per-process"]),
    `--disable-features=${[...FEATURES_OFF, ...(has_sandbox ? ISOLATION_FEATURES : [])].join(",")}`,
  ];
}

const ISOLATION_FEATURES = ["IsolateOrigins", "site-per-process", "IsolateSandboxedIframes"] as const;

/** Features of Chromium that are useless without a person at the window. */
export const FEATURES_OFF = [
  // One process per window for the suggestions of the address bar: 60 % of a page's CPU time (Chromium 156).
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  // A spare process for a context's next site. Our contexts live for one page.
  "SpareRendererForSitePerProcess",
  // Playwright's own list: of several lists Chromium uses only the last (browser-faults.test.ts).
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "TcpPortRandomizationWin",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "msForceBrowserSignIn",
  "msEdgeUpdateLaunchServicesPreferredVersion",
] as const;

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

/** The requests that a browser holds for a page. */
interface HeldRequests {
  readonly watch: (page: Page) => void;
  readonly count: () => Pick<PageTraffic, "unanswered" | "unsent_bytes">;
}

function heldRequests(): HeldRequests {
  let made = 0;
  let answered = 0;
  let unsent_bytes = 0;
  const bytesOf = (request: Request) => request.postDataBuffer()?.length ?? 0;
  return {
    watch(page) {
      page.on("request", (request) => {
        made++;
        unsent_bytes += bytesOf(request);
      });
      page.on("requestfinished", (request) => {
        answered++;
        unsent_bytes -= bytesOf(request);
      });
      page.on("requestfailed", (request) => void (unsent_bytes -= bytesOf(request)));
    },
    count: () => ({ unanswered: made - answered, unsent_bytes }),
  };
}

const trafficOf = ({ requests, session }: OpenPage): PageTraffic => ({
  ...requests.count(),
  received_bytes: session.received_bytes(),
});

/** A page whose process is not known among the others. */
function endOpenPage({ onEnd, cdp }: OpenPage): void {
  onEnd({ reason: "out_of_memory", is_bystander: false });
  cdp?.send("Page.crash").catch(() => {});
}

/** The result of the work; null: it failed; LATE: it did not end in time. */
const settled = <T>(work: Promise<T>, timeout_ms: number): Promise<T | null | typeof LATE> =>
  within(
    work.catch(() => null),
    timeout_ms,
  );

/** The result of the work; LATE: the signal was aborted first. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | typeof LATE> {
  const { promise, resolve } = Promise.withResolvers<typeof LATE>();
  const onAbort = () => resolve(LATE);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const done = await Promise.race([work, promise]);
  signal.removeEventListener("abort", onAbort);
  return done;
}

async function processesOf({ cdp }: PooledBrowser): Promise<readonly { type: string; id: number }[]> {
  const info = await settled(cdp.send("SystemInfo.getProcessInfo"), MEMORY_CHECK_MS);
  return info === LATE || info === null ? [] : info.processInfo;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}

/** The most informative line of a message of Playwright, which includes the browser's whole log. */
function firstLine(problem: unknown): string {
  const text = problem instanceof Error ? problem.message : String(problem);
  const complaints = [...text.matchAll(/\[err\] (.*\S)/g)].map(([, complaint]) => complaint!);
  const worst =
    complaints.find((line) => /shared libraries|sandbox|FATAL|cannot/i.test(line)) ?? complaints.at(-1);
  return (worst ?? text.split("\n", 1)[0]!).slice(0, DETAIL_CHARS);
}

function killGroup(pid: number): void {
  kill(process.platform === "win32" ? pid : -pid);
}

const kill = (pid: number): void => sendSignal(pid, "SIGKILL");

function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

/** Resident memory with shared pages divided among their users; 0 where it is unknown. */
function proportionalMb(pid: number): number {
  try {
    const kb = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "latin1"))?.[1];
    return Number(kb ?? 0) / 1_024;
  } catch {
    return 0; // It has just ended.
  }
}

/**
 * Browsers that run: started when the first page needs one, replaced after a number of pages or above a memory limit, killed with their
 * whole process group when they do not close.
 */
import { createRequire } from "node:module";
import type { Browser, CDPSession, Page, Request } from "playwright";
import type { EgressProxy, ProxySession } from "../../../../cluster/ports/egress-proxy.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import { type PageTraffic, readProcess, sharedMb } from "./browser-memory.ts";
import type { Chromium } from "./chromium.ts";
import { LATE, settled } from "./in-time.ts";
import type { PoolLimits } from "./pool-limits.ts";

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

/** A browser that does not start is retried after 1, 2, 4 … 32 s; until then requests fail at once. */
const MIN_RESTART_DELAY_MS = 1_000;
const DETAIL_CHARS = 300;

/** Why a page ended by itself. */
export type PageEndReason = "browser_crashed" | "out_of_memory" | "too_many_requests" | "too_many_bytes";

export interface PageEnd {
  readonly reason: PageEndReason;
  /** Another page may be the cause: the page may be tried again. */
  readonly is_bystander: boolean;
}

/** A page in a browser. */
export interface OpenPage {
  /** Tells the lease that its page has ended. */
  readonly onEnd: (end: PageEnd) => void;
  /** It has ended, though its context may not be closed yet. */
  readonly is_over: () => boolean;
  readonly session: ProxySession;
  readonly requests: HeldRequests;
  cdp?: CDPSession;
}

export interface PooledBrowser {
  readonly browser: Browser;
  readonly cdp: CDPSession;
  /** The browser process, which leads its process group. */
  readonly pid: number;
  /**
   * Its user agent without "Headless" and minor version numbers, like a normal browser's and like the route `direct`.
   */
  readonly user_agent: string;
  readonly open: Set<OpenPage>;
  /** Memory of its shared processes before its first page. */
  readonly empty_mb: number;
  pages: number;
  /** It gets no more pages and closes after its last one. */
  is_replaced: boolean;
  /** When one of its pages was ended for its memory, and whether that page was only the likeliest. */
  page_ended_ms: number;
  was_guess: boolean;
  measured_ms: number;
  /** CPU time by process at the last memory check. */
  cpu: ReadonlyMap<number, number>;
  shared_mb: number;
}

export interface PoolOptions {
  readonly chromium: Chromium;
  readonly proxy: EgressProxy;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly limits?: Partial<PoolLimits>;
}

export interface RunningBrowsers {
  readonly all: () => readonly PooledBrowser[];
  /**
   * The browser for the next page: one that is not being replaced, else a new one, started once for all waiting
   * requests. A page that needs one alone gets a new one, which is replaced after it. Throws why none starts.
   */
  readonly forPage: (is_alone: boolean) => Promise<PooledBrowser>;
  /** It gets no more pages. */
  readonly replace: (pooled: PooledBrowser, reason: "pages" | "memory" | "hung") => void;
  /** If it does not close in time, its whole process group is killed. */
  readonly end: (pooled: PooledBrowser, reason?: "idle" | "closed") => Promise<void>;
  /** All of them, and those that are starting. */
  readonly close: () => Promise<void>;
}

export function runningBrowsers({
  chromium: executable,
  proxy,
  metrics,
  log,
  limits,
}: PoolOptions & { readonly limits: PoolLimits }): RunningBrowsers {
  const browsers = new Set<PooledBrowser>();
  const ending = new Set<Promise<void>>();
  let launching: Promise<PooledBrowser> | undefined;
  const starts = new Set<Promise<PooledBrowser>>();
  let failures = 0;
  let restart_after_ms = 0;
  let last_failure = "";
  let is_closed = false;

  async function forPage(is_alone: boolean): Promise<PooledBrowser> {
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
      page_ended_ms: -Infinity,
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
    if (is_closed) await end(launched, "closed");
    return launched;
  }

  function replace(pooled: PooledBrowser, reason: "pages" | "memory" | "hung"): void {
    if (pooled.is_replaced) return;
    pooled.is_replaced = true;
    metrics.count("trawl_browser_ends_total", { reason });
    log.info("A browser is replaced", { reason, pages: pooled.pages });
    if (pooled.open.size === 0) void end(pooled);
  }

  function end(pooled: PooledBrowser, reason?: "idle" | "closed"): Promise<void> {
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

  return {
    all: () => [...browsers],
    forPage,
    replace,
    end,
    async close() {
      is_closed = true;
      await Promise.allSettled(starts);
      await Promise.all([...browsers].map((pooled) => end(pooled, "closed")));
      await Promise.all(ending);
    },
  };
}

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
  // A process per window for the suggestions of the address bar: 60 % of a page's CPU time (Chromium 156).
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

/** The requests that a browser holds for a page. */
export interface HeldRequests {
  readonly watch: (page: Page) => void;
  readonly count: () => Pick<PageTraffic, "unanswered" | "unsent_bytes">;
}

export function heldRequests(): HeldRequests {
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

/** The most informative line of a message of Playwright, which includes the browser's whole log. */
export function firstLine(problem: unknown): string {
  const text = problem instanceof Error ? problem.message : String(problem);
  const complaints = [...text.matchAll(/\[err\] (.*\S)/g)].map(([, complaint]) => complaint!);
  const worst =
    complaints.find((line) => /shared libraries|sandbox|FATAL|cannot/i.test(line)) ?? complaints.at(-1);
  return (worst ?? text.split("\n", 1)[0]!).slice(0, DETAIL_CHARS);
}

export function killGroup(pid: number): void {
  kill(process.platform === "win32" ? pid : -pid);
}

export const kill = (pid: number): void => sendSignal(pid, "SIGKILL");

export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

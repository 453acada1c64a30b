/**
 * Browsers for the route `browser`: started when the first page wants one, shared by a few pages at once, replaced
 * after so many pages or so much memory, killed with their whole process group when they do not end by themselves,
 * and gone when nobody has wanted a page for a while. Each page has a context of its own and a pass of the guard.
 *
 * A place is counted by its lease, not by what the browser says: whatever becomes of the browser, the place comes
 * back. What a page is used for is transport.browser.ts.
 */
import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
  type Page,
} from "playwright-core";
import type { Guard, Pass } from "../../../cluster/ports/egress-proxy.ts";
import type { Meters } from "../../../cluster/ports/meters.ts";
import type { Chromium } from "./chromium.ts";

export interface PoolLimits {
  /** Pages at once. Too many, and all of them are slow; default two a core, one for 512 MB of memory, 16 at most. */
  readonly pages: number;
  /** Requests that may wait for a place; one more is browser_busy. */
  readonly waiting: number;
  /** How long one waits: it holds a slot of its domain meanwhile. */
  readonly wait_ms: number;
  /** Pages after which a browser is replaced: what it leaks ends here. */
  readonly pages_per_browser: number;
  /** Resident memory of a browser's processes, shared pages counted once, above which it is replaced (Linux). */
  readonly browser_mb: number;
  /** Resident memory of one page's process above which the page is ended as out_of_memory (Linux). */
  readonly page_mb: number;
  /** How long a context or a browser may take to close before it is killed. */
  readonly close_ms: number;
  readonly launch_ms: number;
  /** A browser nobody wanted for so long is closed. */
  readonly idle_ms: number;
  /** What one page may bring in through the guard, with all it loads. */
  readonly received_bytes: number;
}

/** A lease that did not come about. */
export interface NoPlace {
  readonly kind: "failed";
  readonly reason: "browser_busy" | "browser_unavailable" | "browser_crashed" | "timeout";
  readonly detail: string;
}

/** Why a page ended without being asked to. */
export type PageEnd = "browser_crashed" | "out_of_memory";

export interface Lease {
  readonly kind: "leased";
  readonly context: BrowserContext;
  readonly page: Page;
  readonly cdp: CDPSession;
  readonly pass: Pass;
  /** Resolves when the page, or the browser under it, is gone before its time. */
  readonly ended: Promise<PageEnd>;
  /** Hands the place back. The answer need not wait for it. */
  readonly release: () => Promise<void>;
}

export interface BrowserPool {
  readonly lease: (options: BrowserContextOptions, signal: AbortSignal) => Promise<Lease | NoPlace>;
  /** Places taken, those who wait, and the browsers by their process. */
  readonly now: () => {
    readonly leased: number;
    readonly waiting: number;
    readonly browsers: readonly number[];
  };
  readonly close: () => Promise<void>;
}

export interface PoolOptions {
  readonly chromium: Chromium;
  readonly guard: Guard;
  readonly meters: Meters;
  readonly limits?: Partial<PoolLimits>;
}

const MB = 2 ** 20;

export function defaultPages(memory_bytes: number, cores: number): number {
  return Math.max(1, Math.min(16, 2 * cores, Math.floor(memory_bytes / (512 * MB))));
}

const pages = defaultPages(
  Math.min(totalmem(), process.constrainedMemory() || Infinity),
  availableParallelism(),
);
export const MAX_PAGES = pages;

const LIMITS: PoolLimits = {
  pages,
  waiting: 64,
  wait_ms: 15_000,
  pages_per_browser: 100,
  // Measured: 250 MB without a page, and up to 190 MB a page of the heavier sort.
  browser_mb: Math.max(1_024, 256 + 192 * pages),
  page_mb: 1_024,
  close_ms: 3_000,
  launch_ms: 30_000,
  idle_ms: 30_000,
  received_bytes: 128 * MB,
};

/** Memory of pages is looked at this often while there are any. */
const LOOK_MS = 500;
/** Measuring a whole browser reads a file of each of its processes, so not after every page. */
const MEASURE_MS = 5_000;
/** A browser that does not start is tried again after 1, 2, 4 … 32 s; until then the answer is at hand. */
const REST_MS = 1_000;
const DETAIL_CHARS = 300;

/** A lease as its browser knows it: how to tell it that it is over. */
type Tenant = (end: PageEnd) => void;

interface Host {
  readonly browser: Browser;
  readonly cdp: CDPSession;
  /** Of the browser process, which leads its process group. */
  readonly pid: number;
  /** What it calls itself, less the "Headless" and the small numbers: as a browser does, and the route `direct`. */
  readonly user_agent: string;
  readonly leases: Set<Tenant>;
  pages: number;
  /** Gets no more pages, and ends with its last one. */
  is_condemned: boolean;
  /** When a page was ended for its memory. */
  starved_ms: number;
  measured_ms: number;
}

interface Waiter {
  readonly resolve: (placed: NoPlace | null) => void;
  readonly forget: () => void;
}

const noPlace = (reason: NoPlace["reason"], detail: string): NoPlace => ({ kind: "failed", reason, detail });

export function browserPool({ chromium: found, guard, meters, limits: given }: PoolOptions): BrowserPool {
  const limits: PoolLimits = { ...LIMITS, ...given };
  const hosts = new Set<Host>();
  const waiting: Waiter[] = [];
  const ending = new Set<Promise<void>>();
  let leased = 0;
  let launching: Promise<Host> | undefined;
  let failures = 0;
  let resting_until_ms = 0;
  let last_failure = "";
  let looking: NodeJS.Timeout | undefined;
  let idle: NodeJS.Timeout | undefined;
  let is_closed = false;

  /** A place, or why there is none. Every place taken is handed back by `leave`. */
  function place(signal: AbortSignal): Promise<NoPlace | null> {
    if (is_closed) return Promise.resolve(noPlace("browser_unavailable", "The service is ending"));
    if (signal.aborted) return Promise.resolve(noPlace("timeout", "The caller left"));
    if (leased < limits.pages) {
      leased++;
      told();
      return Promise.resolve(null);
    }
    if (waiting.length >= limits.waiting) {
      return Promise.resolve(noPlace("browser_busy", `${waiting.length} pages wait for a browser`));
    }
    return new Promise((resolve) => {
      const giveUp = (answer: NoPlace) => {
        waiting.splice(waiting.indexOf(waiter), 1);
        waiter.forget();
        resolve(answer);
      };
      const left = () => giveUp(noPlace("timeout", "The caller left before a browser had a place"));
      const timer = setTimeout(
        () => giveUp(noPlace("browser_busy", `No browser had a place within ${limits.wait_ms} ms`)),
        limits.wait_ms,
      );
      const waiter: Waiter = {
        resolve,
        forget() {
          clearTimeout(timer);
          signal.removeEventListener("abort", left);
        },
      };
      signal.addEventListener("abort", left, { once: true });
      waiting.push(waiter);
    });
  }

  function leave(): void {
    const next = waiting.shift();
    if (next) {
      next.forget();
      next.resolve(null);
      return;
    }
    leased--;
    told();
    if (leased === 0 && !is_closed) {
      idle = setTimeout(() => void retire(), limits.idle_ms);
      idle.unref();
    }
  }

  function told(): void {
    meters.gauge("trawl_browser_pages", {}, leased);
    if (leased > 0) clearTimeout(idle);
    if (leased > 0 && !looking) {
      looking = setInterval(() => void look(), LOOK_MS);
      looking.unref();
    }
    if (leased === 0) {
      clearInterval(looking);
      looking = undefined;
    }
  }

  /** The browser for the next page: one that has not been condemned, else a new one, started once for all who wait. */
  async function host(): Promise<Host> {
    const ready = [...hosts].find(({ is_condemned, browser }) => !is_condemned && browser.isConnected());
    if (ready) return ready;
    if (performance.now() < resting_until_ms) throw new Error(last_failure);
    launching ??= launch()
      .then((started) => {
        failures = 0;
        return started;
      })
      .catch((problem: unknown) => {
        resting_until_ms = performance.now() + REST_MS * 2 ** Math.min(failures++, 5);
        last_failure = firstLine(problem);
        meters.say("error", "Cannot start a browser", { chromium: found.sentence, problem: last_failure });
        throw problem;
      })
      .finally(() => (launching = undefined));
    return launching;
  }

  async function launch(): Promise<Host> {
    const { path, env } = await found.ready();
    const isRoot = process.getuid?.() === 0;
    const browser = await chromium.launch({
      executablePath: path,
      env: { ...env },
      headless: true,
      // Chromium refuses to run sandboxed as root. Everywhere else a sandbox that cannot be had is a failure.
      chromiumSandbox: !isRoot,
      args: flags(guard.url),
      // Windows nobody asked for: Chromium keeps them from opening, unless it is told to let them.
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
    const started: Host = {
      browser,
      cdp,
      pid,
      user_agent: userAgent.replace(/(?:Headless)?Chrome\/(\d+)[\d.]*/, "Chrome/$1.0.0.0"),
      leases: new Set(),
      pages: 0,
      is_condemned: false,
      starved_ms: -Infinity,
      measured_ms: -Infinity,
    };
    hosts.add(started);
    browser.on("disconnected", () => {
      if (hosts.delete(started)) meters.count("trawl_browser_ends_total", { reason: "crashed" });
      for (const ended of started.leases) ended("browser_crashed");
      killGroup(pid);
    });
    meters.say("info", "Started a browser", {
      chromium: found.sentence,
      version: browser.version(),
      sandbox: isRoot ? "none: Chromium has none when it is started as root" : "on",
    });
    if (is_closed) await end(started, "closed");
    return started;
  }

  function condemn(one: Host, reason: "pages" | "memory" | "hung"): void {
    if (one.is_condemned) return;
    one.is_condemned = true;
    meters.count("trawl_browser_ends_total", { reason });
    meters.say("info", "A browser is replaced", { reason, pages: one.pages });
    if (one.leases.size === 0) void end(one);
  }

  /** Closes a browser, by force when it does not go, and its whole process group in any case. */
  function end(one: Host, reason?: "idle" | "closed"): Promise<void> {
    if (!hosts.delete(one)) return Promise.resolve();
    if (reason) meters.count("trawl_browser_ends_total", { reason });
    const closing = one.browser.close();
    const gone = within(closing, limits.close_ms)
      .then(async (closed) => {
        if (closed !== LATE) return;
        killGroup(one.pid);
        // It learns of the process's end, and puts the profile away.
        await within(closing, limits.close_ms);
      })
      .then(() => void ending.delete(gone));
    ending.add(gone);
    return gone;
  }

  async function retire(): Promise<void> {
    if (leased === 0) await Promise.all([...hosts].map((one) => end(one, "idle")));
  }

  /** Pages that hold too much memory end; so does, after its last page, a browser that does. */
  async function look(): Promise<void> {
    if (process.platform !== "linux") return;
    await Promise.all(
      [...hosts].map(async (one) => {
        for (const { type, id } of await processesOf(one)) {
          if (type !== "renderer" || residentMb(id) <= limits.page_mb) continue;
          one.starved_ms = performance.now();
          kill(id);
        }
      }),
    );
  }

  async function measure(one: Host): Promise<void> {
    if (process.platform !== "linux" || performance.now() - one.measured_ms < MEASURE_MS) return;
    one.measured_ms = performance.now();
    const total_mb = (await processesOf(one)).reduce((sum, { id }) => sum + proportionalMb(id), 0);
    if (total_mb > limits.browser_mb) condemn(one, "memory");
  }

  /** A context and a page in a browser, in the place that was taken; the place is handed back when they cannot be had. */
  async function open(options: BrowserContextOptions): Promise<Lease | NoPlace> {
    let one: Host;
    try {
      one = await host();
    } catch (problem) {
      leave();
      return noPlace("browser_unavailable", firstLine(problem));
    }
    const pass = guard.admit({ received_bytes: limits.received_bytes });
    const { promise: ended, resolve: tenant } = Promise.withResolvers<PageEnd>();
    one.leases.add(tenant);
    if (++one.pages >= limits.pages_per_browser) condemn(one, "pages");
    let context: BrowserContext | undefined;
    const release = async () => {
      pass.revoke();
      if (context && (await within(context.close(), limits.close_ms)) === LATE) condemn(one, "hung");
      one.leases.delete(tenant);
      if (one.is_condemned && one.leases.size === 0) void end(one);
      else void measure(one);
      leave();
    };
    const opening = (async () => {
      context = await one.browser.newContext({
        serviceWorkers: "block",
        acceptDownloads: false,
        reducedMotion: "reduce",
        userAgent: one.user_agent,
        ...options,
      });
      await context.addInitScript(withoutPeers);
      const page = await context.newPage();
      page.on("crash", () => {
        const was_ended = performance.now() - one.starved_ms < 4 * LOOK_MS;
        tenant(was_ended ? "out_of_memory" : "browser_crashed");
      });
      return { context, page, cdp: await context.newCDPSession(page) };
    })();
    const opened = await within(opening, limits.launch_ms);
    if (opened !== LATE && opened !== null) {
      return { kind: "leased", ...opened, pass, ended, release: once(release) };
    }
    if (opened === LATE) condemn(one, "hung");
    await release();
    return noPlace("browser_crashed", "The browser did not open a page");
  }

  return {
    async lease(options, signal) {
      const refused = await place(signal);
      if (refused) return refused;
      const opening = open(options);
      const opened = await before(opening, signal);
      if (opened !== LATE) return opened;
      void opening.then((late) => (late.kind === "leased" ? late.release() : undefined));
      return noPlace("timeout", "The caller left before a browser had started");
    },
    now: () => ({ leased, waiting: waiting.length, browsers: [...hosts].map(({ pid }) => pid) }),
    async close() {
      is_closed = true;
      clearTimeout(idle);
      clearInterval(looking);
      for (const waiter of waiting.splice(0)) {
        waiter.forget();
        waiter.resolve(noPlace("browser_unavailable", "The service is ending"));
      }
      await launching?.catch(() => {});
      await Promise.all([...hosts].map((one) => end(one, "closed")));
      await Promise.all(ending);
    },
  };
}

/** Nothing goes out but through the guard, and nothing is asked of anybody but by the page. */
function flags(guard_url: string): string[] {
  return [
    `--proxy-server=${new URL(guard_url).host}`,
    // Without this Chromium goes to loopback by itself.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    // WebRTC knows no proxy for UDP. "force-webrtc-…", as it was called, is no longer heard (Chromium 156).
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-domain-reliability",
    "--no-pings",
    // The headless shell has no popup blocker: a window it opened would run in its opener's process.
    "--block-new-web-contents",
    "--disable-remote-fonts",
    "--deny-permission-prompts",
    "--autoplay-policy=user-gesture-required",
    "--disable-crash-reporter",
    `--disable-features=${FEATURES_OFF.join(",")}`,
  ];
}

/** Features of Chromium that a page without a reader's window has no use for. */
export const FEATURES_OFF = [
  // For every window a process that runs the address bar's list of suggestions: 60 % of a page's CPU seconds (Chromium 156).
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  // A process kept ready for a context's next site: a context that lives for one page throws it away.
  "SpareRendererForSitePerProcess",
  // Playwright's own: of several lists Chromium heeds the last (browser-faults.test.ts).
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
 * Runs in every frame before its own scripts. The headless shell has no policy for WebRTC, and its UDP would go past
 * the guard to any address; no page that is read needs peers. Tested in frames of every making (browser-guard.test.ts).
 */
function withoutPeers(): void {
  for (const name of [
    "RTCPeerConnection",
    "webkitRTCPeerConnection",
    "RTCIceTransport",
    "RTCDtlsTransport",
  ]) {
    Reflect.deleteProperty(globalThis, name);
  }
}

const LATE = Symbol("late");

/** What the work came to, null when it failed, or that it is not done in time. */
async function within<T>(work: Promise<T>, most_ms: number): Promise<T | null | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), most_ms);
  });
  const done = await Promise.race([work.catch(() => null), late]);
  clearTimeout(timer);
  return done;
}

/** What the work came to, or that the signal was first. */
async function before<T>(work: Promise<T>, signal: AbortSignal): Promise<T | typeof LATE> {
  const { promise, resolve } = Promise.withResolvers<typeof LATE>();
  const left = () => resolve(LATE);
  signal.addEventListener("abort", left, { once: true });
  if (signal.aborted) left();
  const done = await Promise.race([work, promise]);
  signal.removeEventListener("abort", left);
  return done;
}

async function processesOf({ cdp }: Host): Promise<readonly { type: string; id: number }[]> {
  const known = await within(cdp.send("SystemInfo.getProcessInfo"), LOOK_MS);
  return known === LATE || known === null ? [] : known.processInfo;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}

/** Playwright's messages go on with the browser's whole log, and its last complaint says more than that it has gone. */
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

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has gone by itself.
  }
}

/** 0 where it cannot be told. */
function residentMb(pid: number): number {
  return fromProc(`/proc/${pid}/status`, /VmRSS:\s+(\d+)/);
}

/** Resident memory with what is shared divided among its users. */
function proportionalMb(pid: number): number {
  return fromProc(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+)/m) || residentMb(pid);
}

function fromProc(path: string, kb: RegExp): number {
  try {
    return Number(kb.exec(readFileSync(path, "latin1"))?.[1] ?? 0) / 1_024;
  } catch {
    return 0; // It has just ended.
  }
}

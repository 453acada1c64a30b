/**
 * Watches the memory of browsers while pages are open (Linux): ends pages that use too much, by themselves or together, and has
 * browsers replaced that hold too much. Which page that is: browser-memory.ts.
 */
import { readFileSync } from "node:fs";
import type { Log } from "../../../../cluster/ports/log.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
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
import { LATE, pause, settled } from "./in-time.ts";
import type { PoolLimits } from "./pool-limits.ts";
import {
  kill,
  killGroup,
  type OpenPage,
  type PooledBrowser,
  type RunningBrowsers,
  sendSignal,
} from "./running-browsers.ts";

const MB = 2 ** 20;
/** Interval of the memory check while pages are open. */
const MEMORY_CHECK_MS = 500;
/**
 * Growth that the shared memory of a browser may have after a page was ended for it, until another page ends: it is given back
 * late, and not all of it.
 */
const MORE_SHARED_MB = 128;
/** Data that an ended page had sent still arrives for so long: that growth is no other page's. */
const ARRIVING_MS = 3_000;
/** Minimum interval between measurements of a whole browser, which read one file per process. */
const MEASURE_MS = 5_000;

export interface MemoryWatch {
  /** Looks every MEMORY_CHECK_MS while pages are open. */
  readonly onLeased: (leased: number) => void;
  /** After a page. */
  readonly checkBrowser: (pooled: PooledBrowser) => Promise<void>;
  readonly stop: () => void;
}

export function memoryWatch(
  browsers: RunningBrowsers,
  { limits, metrics, log }: { readonly limits: PoolLimits; readonly metrics: Metrics; readonly log: Log },
): MemoryWatch {
  let timer: NodeJS.Timeout | undefined;
  let is_checking = false;

  /** Ends pages that use too much memory, by themselves or together. */
  async function endLargePages(): Promise<void> {
    if (process.platform !== "linux" || is_checking) return;
    is_checking = true;
    try {
      const uses = await Promise.all(
        browsers.all().map(async (pooled) => {
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
    if (performance.now() - pooled.page_ended_ms < ARRIVING_MS) {
      pooled.shared_mb = Math.max(pooled.shared_mb, sharedMb(use) + MORE_SHARED_MB);
      return;
    }
    const suspects = suspectedWriters(use);
    if (suspects.length === 0) return;
    const shared = use.processes.filter(({ type }) => type !== "renderer");
    const shared_mb = () =>
      sharedMb({ processes: shared.flatMap(({ pid, type }) => readProcess(pid, type) ?? []) });
    browsers.replace(pooled, "memory");
    const pages = [...pooled.open].filter(({ is_over }) => !is_over());
    if (pages.length === 0) return;
    const by_traffic = writerByTraffic(pages.map(trafficOf), shared_mb() - pooled.empty_mb);
    const known = pooled.open.size === 1 ? 0 : by_traffic;
    if (known !== null) endOpenPage(pooled, pages[known]!);
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
    void browsers.end(pooled);
    killGroup(pooled.pid);
  }

  async function checkBrowser(pooled: PooledBrowser): Promise<void> {
    if (process.platform !== "linux" || performance.now() - pooled.measured_ms < MEASURE_MS) return;
    pooled.measured_ms = performance.now();
    const total_mb = (await processesOf(pooled)).reduce((sum, { id }) => sum + proportionalMb(id), 0);
    if (total_mb > limits.browser_mb) browsers.replace(pooled, "memory");
  }

  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };

  return {
    onLeased(leased) {
      if (leased > 0 && !timer) {
        timer = setInterval(() => void endLargePages(), MEMORY_CHECK_MS);
        timer.unref();
      }
      if (leased > 0) return;
      metrics.gauge("trawl_browser_memory_bytes", {}, 0);
      stop();
    },
    checkBrowser,
    stop,
  };
}

function endPage(pooled: PooledBrowser, pid: number, isGuess: boolean): void {
  pooled.page_ended_ms = performance.now();
  pooled.was_guess = isGuess;
  kill(pid);
}

const trafficOf = ({ requests, session }: OpenPage): PageTraffic => ({
  ...requests.count(),
  received_bytes: session.received_bytes(),
});

/** A page whose process is not known among the others. */
function endOpenPage(pooled: PooledBrowser, { onEnd, cdp }: OpenPage): void {
  pooled.page_ended_ms = performance.now();
  pooled.was_guess = false;
  onEnd({ reason: "out_of_memory", is_bystander: false });
  cdp?.send("Page.crash").catch(() => {});
}

async function processesOf({ cdp }: PooledBrowser): Promise<readonly { type: string; id: number }[]> {
  const info = await settled(cdp.send("SystemInfo.getProcessInfo"), MEMORY_CHECK_MS);
  return info === LATE || info === null ? [] : info.processInfo;
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

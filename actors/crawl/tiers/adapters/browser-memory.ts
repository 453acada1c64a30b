/**
 * Memory of the processes of browsers, and which pages end when that is too much (Linux only; elsewhere nothing is known).
 *
 * All frames of a page share one process (site isolation is off: a context lives for one page and holds no secrets), so the
 * end of a process is the end of its page. What a page stores without a disk (file system, caches, blobs) is in the
 * browser process, which all pages share and which does not say whose it is. There the page ends whose requests explain the
 * memory, else the one under which it grows while the others are stopped. When neither names one, the browser ends, and each of its pages
 * is tried again in a browser of its own (browser-pool.ts).
 */
import { readdirSync, readFileSync } from "node:fs";

export interface BrowserProcess {
  readonly pid: number;
  /** "renderer" for the process of a page; browser, GPU and services otherwise. */
  readonly type: string;
  /** Memory that is not the content of files. */
  readonly mb: number;
  /** CPU time since its start, in clock ticks. */
  readonly cpu: number;
}

export interface MemoryLimits {
  /** Limit of a page's process. */
  readonly page_mb: number;
  /** Limit of the processes of a browser that its pages share. */
  readonly shared_mb: number;
  /** Limit of all processes of all browsers. */
  readonly total_mb: number;
}

/** A browser, and what was seen of it before. */
export interface BrowserUse {
  readonly processes: readonly BrowserProcess[];
  readonly cpu_before: ReadonlyMap<number, number>;
  /** Limit of its shared processes: `shared_mb` at first, more after a page was ended for it. */
  readonly shared_mb: number;
}

const isPage = ({ type }: BrowserProcess): boolean => type === "renderer";
const sum = (processes: readonly BrowserProcess[]): number =>
  processes.reduce((total, { mb }) => total + mb, 0);

export const sharedMb = ({ processes }: Pick<BrowserUse, "processes">): number =>
  sum(processes.filter((each) => !isPage(each)));

/**
 * The processes whose pages may fill what the pages of a browser share, the one that has worked most since the last look first;
 * none while there is room.
 */
export function suspectedWriters(use: BrowserUse): readonly number[] {
  if (sharedMb(use) <= use.shared_mb) return [];
  const work = ({ pid, cpu }: BrowserProcess) => cpu - (use.cpu_before.get(pid) ?? 0);
  const suspects = use.processes.filter(isPage).toSorted((a, b) => work(b) - work(a));
  return suspects.map(({ pid }) => pid);
}

/** Counts of a page that may be in the memory that pages share. */
export interface PageTraffic {
  /** Requests that the browser holds for it: not answered yet, or failed. */
  readonly unanswered: number;
  /** Bodies of the requests that are not answered yet. */
  readonly unsent_bytes: number;
  /** Bytes that the egress guard has received for it. */
  readonly received_bytes: number;
}

const MB = 2 ** 20;
/** Measured: 5,900 requests of a page took 290 MB of the browser's and the network's process (Chromium 156). */
const REQUEST_MB = 0.05;
/** A page whose requests explain at least this part of the growth, and twice as much as any other's, has caused it. */
const EXPLAINED = 0.5;

const trafficMb = ({ unanswered, unsent_bytes, received_bytes }: PageTraffic): number =>
  unanswered * REQUEST_MB + (unsent_bytes + received_bytes) / MB;

/** The index of the page whose requests explain that the shared memory has grown by so much; null: none does. */
export function writerByTraffic(pages: readonly PageTraffic[], grown_mb: number): number | null {
  const [most, next] = pages
    .map((page, index) => ({ index, mb: trafficMb(page) }))
    .toSorted((a, b) => b.mb - a.mb);
  if (!most || most.mb < EXPLAINED * grown_mb || most.mb < 2 * (next?.mb ?? 0)) return null;
  return most.index;
}

/** Means of the search for the writer: it stops and runs processes, and sees their memory. */
export interface Trial {
  readonly stop: (pid: number) => void;
  readonly run: (pid: number) => void;
  /** Memory of the shared processes now. */
  readonly shared_mb: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

/** How long one page runs alone; on a busy machine a process may get no time within the first. */
const ALONE_MS = [100, 300] as const;
/** A page that adds so much while it runs alone is the writer. Other pages add a few MB, of what they load. */
const MIN_GROWTH_MB = 16;
/** It must do so twice: once may be what came for another page meanwhile. */
const SEEN_TIMES = 2;
/** Data that was sent before counts as taken in when the memory grows by less than this in so long; that is waited for so often at most. */
const CALM = { mb: 2, ms: 50, looks: 10 } as const;
/** Pages are stopped for no longer. */
const MAX_TRIAL_MS = 4_000;

/**
 * The suspect under which the shared memory grows, twice; null: under none, so the page that filled it has stopped doing so,
 * or it grows while all are stopped, by what comes from the network.
 */
export async function findWriter(suspects: readonly number[], trial: Trial): Promise<number | null> {
  let stopped_ms = 0;
  const pause = async (ms: number): Promise<void> => {
    stopped_ms += ms;
    await trial.pause(ms);
  };
  /** Null: it does not stop growing. */
  const calmMb = async (): Promise<number | null> => {
    let seen_mb = trial.shared_mb();
    for (let look = 0; look < CALM.looks; look++) {
      await pause(CALM.ms);
      const now_mb = trial.shared_mb();
      if (now_mb - seen_mb < CALM.mb) return now_mb;
      seen_mb = now_mb;
    }
    return null;
  };
  /** By how much it grows while this one runs alone; null: it grows without it. */
  const growthUnder = async (pid: number, alone_ms: number): Promise<number | null> => {
    const before_mb = await calmMb();
    if (before_mb === null) return null;
    trial.run(pid);
    await pause(alone_ms);
    trial.stop(pid);
    const after_mb = await calmMb();
    return after_mb === null ? null : after_mb - before_mb;
  };
  for (const pid of suspects) trial.stop(pid);
  try {
    for (const alone_ms of ALONE_MS)
      for (const pid of suspects) {
        for (let times = 0; ;) {
          if (stopped_ms >= MAX_TRIAL_MS) return null;
          const growth_mb = await growthUnder(pid, alone_ms);
          if (growth_mb === null) return null;
          if (growth_mb < MIN_GROWTH_MB) break;
          if (++times === SEEN_TIMES) return pid;
        }
      }
    return null;
  } finally {
    for (const pid of suspects) trial.run(pid);
  }
}

/** The processes whose pages are too large by themselves, then the largest ones until all browsers are within their limit. */
export function tooLarge(
  browsers: readonly Pick<BrowserUse, "processes">[],
  { page_mb, total_mb }: Pick<MemoryLimits, "page_mb" | "total_mb">,
): readonly number[] {
  const all = browsers.flatMap(({ processes }) => processes);
  const largest_first = all.filter(isPage).toSorted((a, b) => b.mb - a.mb);
  let left_mb = sum(all);
  const ended: number[] = [];
  for (const { pid, mb } of largest_first) {
    if (mb <= page_mb && left_mb <= total_mb) break;
    ended.push(pid);
    left_mb -= mb;
  }
  return ended;
}

/** The processes of a browser, which leads its process group; found without asking it. */
export function processesOfGroup(group: number): readonly { readonly type: string; readonly id: number }[] {
  return readdirSync("/proc").flatMap((name) => {
    const id = Number(name);
    if (!Number.isInteger(id) || statOf(id)?.group !== group) return [];
    const command = read(`/proc/${id}/cmdline`) ?? "";
    return [{ id, type: /--type=(\w+)/.exec(command)?.[1] ?? "browser" }];
  });
}

/** Null when the process has just ended. */
export function readProcess(pid: number, type: string): BrowserProcess | null {
  const status = read(`/proc/${pid}/status`);
  const cpu = statOf(pid)?.cpu;
  if (status === null || cpu === undefined) return null;
  const kb = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
  return { pid, type, mb: (kb("RssAnon") + kb("RssShmem")) / 1_024, cpu };
}

function statOf(pid: number): { readonly group: number; readonly cpu: number } | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // proc(5): after the name in brackets come the state (field 3), parent and group; utime and stime are fields 14 and 15.
  const fields = stat.replace(/^.*\) /s, "").split(" ");
  return { group: Number(fields[2]), cpu: Number(fields[11]) + Number(fields[12]) };
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return null;
  }
}

/** The limits of a pool of browsers. */
import { availableParallelism, totalmem } from "node:os";

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

const MB = 2 ** 20;

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
  // Room for a page of the largest size beside usual ones.
  total_mb: Math.max(1_024, 256 + 192 * pages) + 1_024,
  close_ms: 3_000,
  launch_ms: 30_000,
  idle_ms: 30_000,
  received_bytes: 128 * MB,
});

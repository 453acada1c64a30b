/** Tools of benches in pairs: a control group that counts the CPU time of processes with those that have ended, and the interval of a median. */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { median } from "./harness.ts";

export interface ControlGroup {
  readonly members: () => ReadonlySet<number>;
  readonly add: (pid: number) => void;
  /** Since it was made, in nanoseconds of the scheduler. */
  readonly cpu_ms: () => number;
  /** Its processes have ended. */
  readonly remove: () => void;
}

/** A group of its own of the controller cpuacct (as root); what its processes start is in it as well. */
export function controlGroup(name: string): ControlGroup {
  const folder = `/sys/fs/cgroup/cpuacct/trawl-bench-${process.pid}-${name}`;
  mkdirSync(folder);
  return {
    members: () => new Set(readFileSync(`${folder}/cgroup.procs`, "utf8").split("\n").map(Number)),
    add(pid) {
      try {
        writeFileSync(`${folder}/cgroup.procs`, String(pid));
      } catch (problem) {
        // It has just ended.
        if ((problem as NodeJS.ErrnoException).code !== "ESRCH") throw problem;
      }
    },
    cpu_ms: () => Number(readFileSync(`${folder}/cpuacct.usage`, "utf8")) / 1e6,
    remove: () => rmdirSync(folder),
  };
}

/** The processes below a process, but for one and those below it. */
export function descendants(of: number, but = -1): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // It has just ended.
    }
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid !== but && (pid === of || isBelow(parents.get(pid)));
  return [...parents.keys()].filter((pid) => pid !== of && isBelow(pid));
}

/** CPU milliseconds. */
export interface Spent {
  readonly main: number;
  readonly threads: number;
  readonly processes: number;
}
export const PARTS = ["main", "threads", "processes"] as const;
export const allOf = ({ main, threads, processes }: Spent): number => main + threads + processes;

/** CPU time of the threads of a process: of the first, and of the others. */
function threadsMs(pid: number): readonly [number, number] {
  let [main, others] = [0, 0];
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const ms = Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]) / 1e6;
      if (Number(thread) === pid) main += ms;
      else others += ms;
    }
  } catch {
    // The thread, or the process, has just ended.
  }
  return [main, others];
}

/** CPU time of a process and of those below it, since they began, by the scheduler. */
export function spentBy({ pid }: { readonly pid: number }): Spent {
  const [main, threads] = threadsMs(pid);
  const processes = descendants(pid).map((below) => threadsMs(below).reduce((a, b) => a + b));
  return { main, threads, processes: processes.reduce((a, b) => a + b, 0) };
}

export interface MedianInterval {
  readonly median: number;
  /** Null: fewer than six samples have none. */
  readonly interval: readonly [low: number, high: number] | null;
}

/** The median, and the narrowest pair of order statistics that has the true median between it in at least 95 of 100 samples. */
export function medianInterval(samples: readonly number[], digits = 3): MedianInterval {
  const sorted = samples.toSorted((a, b) => a - b);
  const shown = (value: number): number => Number(value.toFixed(digits));
  let tail = 0.5 ** sorted.length;
  let chance = tail;
  let rank = 0;
  while (rank < sorted.length / 2 && tail <= 0.025) {
    rank++;
    chance = (chance * (sorted.length - rank + 1)) / rank;
    tail += chance;
  }
  return {
    median: shown(median(sorted)),
    interval: rank === 0 ? null : [shown(sorted[rank - 1]!), shown(sorted[sorted.length - rank]!)],
  };
}

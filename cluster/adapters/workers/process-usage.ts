/** CPU time and memory of a process, read from /proc. Null where the system does not say. */
import { readFileSync } from "node:fs";

/** Linux counts CPU time in hundredths of a second for user space, whatever the kernel's own rate. */
const TICK_MS = 10;

/** CPU time of all its threads since it started. */
export function cpuMs(pid: number): number | null {
  const stat = read(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses; utime and stime are the 12th and 13th after it (proc(5)).
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields?.[11]) + Number(fields?.[12]);
  // A process that runs has used some: sandboxes that do not count say zero.
  return ticks > 0 ? ticks * TICK_MS : null;
}

/** Resident memory, buffers included. */
export function rssMb(pid: number): number | null {
  const kb = /VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`) ?? "")?.[1];
  return kb === undefined ? null : Number(kb) / 1_024;
}

function read(path: string): string | null {
  if (process.platform !== "linux") return null;
  try {
    return readFileSync(path, "latin1");
  } catch {
    return null; // It has just ended.
  }
}

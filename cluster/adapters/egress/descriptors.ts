/**
 * Whether this process lacks file descriptors. A socket that cannot be made says so; a resolver without one reports ECONNREFUSED or
 * EAI_AGAIN, as for a name server that is away, so that the cause has to be looked for.
 */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { EgressError } from "../../ports/egress.ts";

/** Codes of system errors: of this process, and of the whole machine. */
export const LACK_OF_DESCRIPTORS = /^(?:EMFILE|ENFILE)$/;
/** The resolution of a name takes sockets to two servers and the files of the system's resolver. */
const NEEDED = 8;
/** A descriptor may be free again when a resolver reports what it did without one. */
const REMEMBERED_MS = 5_000;

let lacked_ms = Number.NEGATIVE_INFINITY;

/** By the code of a system error. */
export function isLackOfDescriptors(code: string): boolean {
  const isLack = LACK_OF_DESCRIPTORS.test(code);
  if (isLack) lacked_ms = performance.now();
  return isLack;
}

/** Whether there are too few now, or there were none a moment ago. */
export const lacksDescriptors = (): boolean =>
  performance.now() - lacked_ms < REMEMBERED_MS || !areThere(NEEDED);

function areThere(count: number): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, "r"));
    return true;
  } catch (problem) {
    return !isLackOfDescriptors((problem as NodeJS.ErrnoException).code ?? "");
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

export const noDescriptors = (host: string): EgressError =>
  new EgressError("no_descriptors", `Cannot connect to "${host}": this process has no file descriptor left`);

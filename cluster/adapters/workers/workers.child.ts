/**
 * The program of one child of workers.processes.ts: loads one task, then runs it on whatever the parent sends, one
 * message at a time. It has no environment, may read the project's files and nothing else, writes none, starts
 * nothing, and has no way to the network. Its limits are kept from outside; it ends when its parent does.
 *
 * Arguments: address of the module with the tasks, name of the task.
 */
import { readSync } from "node:fs";
import type { Task, Tasks } from "../../ports/workers.ts";

/** Long bytes come beside the message, through a pipe that has this number: the parent's half says why. */
const BYTES_FD = 3;

export interface Order {
  readonly message: unknown;
  /** Fields of the message whose bytes follow through the pipe, in this order. */
  readonly piped: readonly { readonly field: string; readonly bytes: number }[];
}

export type Report =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly value: unknown; readonly rss_mb: number }
  | { readonly kind: "threw"; readonly detail: string; readonly rss_mb: number };

// The parent says when to stop, not the terminal or a supervisor that signals the whole group: it drains first.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));
// What a library lets go of after its task was answered must not cost the next task its child.
process.on("unhandledRejection", () => {});
for (const way of ["fetch", "WebSocket", "EventSource"]) Reflect.deleteProperty(globalThis, way);

const [address, name] = process.argv.slice(2) as [string, string];
const { tasks } = (await import(address)) as { tasks: Tasks };
const task = await tasks[name]!();
process.on("message", (order: Order) => void carryOut(task, order));
report({ kind: "ready" });

async function carryOut(run: Task, order: Order): Promise<void> {
  const began = performance.now();
  try {
    const piped = order.piped.map(({ field, bytes }) => [field, readPipe(bytes)]);
    const message = piped.length
      ? { ...(order.message as object), ...Object.fromEntries(piped) }
      : order.message;
    const value = await run(message as never, () => performance.now() - began);
    report({ kind: "done", value, rss_mb: rssMb() });
  } catch (cause) {
    report({ kind: "threw", detail: String(cause).slice(0, 500), rss_mb: rssMb() });
  }
}

function readPipe(bytes: number): Uint8Array {
  // Not from Buffer's pool: whoever gets it owns the whole of it and may hand it on without a copy.
  const whole = new Uint8Array(bytes);
  for (let at = 0; at < bytes;) {
    const got = readSync(BYTES_FD, whole, at, bytes - at, null);
    if (got === 0) process.exit(0);
    at += got;
  }
  return whole;
}

function rssMb(): number {
  return process.memoryUsage.rss() / 2 ** 20;
}

function report(message: Report): void {
  process.send!(message);
}

/**
 * The program of one child of workers.processes.ts. It loads one task and runs it on each message from its parent, one
 * at a time. It has an empty environment, may read the project's files and nothing else, and may not write, start
 * processes or use the network. The parent enforces the limits; the child ends when its parent does.
 *
 * Arguments: URL of the module with the tasks, name of the task.
 */
import { readSync } from "node:fs";
import type { Task, Tasks } from "../../ports/workers.ts";

/** Long byte arrays come through a pipe with this number; workers.processes.ts says why. */
const BYTES_FD = 3;

export interface Order {
  readonly message: unknown;
  /** Fields of the message whose bytes follow through the pipe, in this order. */
  readonly piped: readonly { readonly field: string; readonly bytes: number }[];
}

export type Report =
  | { readonly kind: "ready" }
  | ({ readonly kind: "done"; readonly value: unknown } & Usage)
  | ({ readonly kind: "threw"; readonly detail: string } & Usage);

interface Usage {
  readonly rss_mb: number;
  /** CPU time of the task. */
  readonly cpu_ms: number;
}

// Only the parent ends a child: a signal to the whole process group must not, because the parent drains first.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));
// A rejection that a library leaves unhandled after its task must not end the child during the next task.
process.on("unhandledRejection", () => {});
for (const way of ["fetch", "WebSocket", "EventSource"]) Reflect.deleteProperty(globalThis, way);

const [address, name] = process.argv.slice(2) as [string, string];
const { tasks } = (await import(address)) as { tasks: Tasks };
const task = await tasks[name]!();
process.on("message", (order: Order) => void carryOut(task, order));
report({ kind: "ready" });

async function carryOut(run: Task, order: Order): Promise<void> {
  const before = process.cpuUsage();
  const cpu_ms = (): number => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const usage = (): Usage => ({ rss_mb: rssMb(), cpu_ms: cpu_ms() });
  try {
    const piped = order.piped.map(({ field, bytes }) => [field, readPipe(bytes)]);
    const message = piped.length
      ? { ...(order.message as object), ...Object.fromEntries(piped) }
      : order.message;
    const value = await run(message as never, cpu_ms);
    report({ kind: "done", value, ...usage() });
  } catch (cause) {
    report({ kind: "threw", detail: String(cause).slice(0, 500), ...usage() });
  }
}

function readPipe(bytes: number): Uint8Array {
  // Not from Buffer's pool, so that the receiver owns the whole ArrayBuffer and may transfer it without a copy.
  const whole = new Uint8Array(bytes);
  for (let at = 0; at < bytes;) {
    const bytesRead = readSync(BYTES_FD, whole, at, bytes - at, null);
    if (bytesRead === 0) process.exit(0);
    at += bytesRead;
  }
  return whole;
}

function rssMb(): number {
  return process.memoryUsage.rss() / 2 ** 20;
}

function report(message: Report): void {
  process.send!(message);
}

/**
 * The program of one child of workers.processes.ts. It loads one task and runs it on the messages from its parent, one
 * after another; results that are there within FLUSH_MS leave together. It has an empty environment, may read the project's files and nothing else, and may not write, start
 * processes or use the network. The parent enforces the limits; the child ends when its parent does.
 *
 * Arguments: URL of the module with the tasks, name of the task, ChildSettings as JSON.
 */
import { readSync } from "node:fs";
import { setImmediate as nextRound } from "node:timers/promises";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Task, Tasks, WarmUps } from "../../ports/workers.ts";

/** Long byte arrays come through a pipe with this number; workers.processes.ts says why. */
const BYTES_FD = 3;

export interface ChildSettings {
  /** Whether it does the warm-up. */
  readonly is_warmed: boolean;
  /** See PoolSettings. Null: never. */
  readonly rest_ms: number | null;
  readonly v8_flags: readonly string[];
}

/** Tasks are sent as a list: the child runs them in this order. */
export interface Order {
  readonly message: unknown;
  /** Fields of the message whose bytes follow through the pipe, in this order. */
  readonly piped: readonly { readonly field: string; readonly bytes: number }[];
}

export type Report =
  /** `is_warm`: it has no warm-up, or has done it. */
  | { readonly kind: "ready"; readonly is_warm: boolean }
  | { readonly kind: "warm" }
  | {
      readonly kind: "results";
      /** Results of the next tasks of the list. */
      readonly results: readonly Result[];
      readonly rss_mb: number;
    };

export type Result = { readonly cpu_ms: number } & (
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "threw" | "out_of_memory"; readonly detail: string }
);

/** A result waits no longer than this for the next one, unless the next task does not yield. */
const FLUSH_MS = 10;
/** CPU time after which a warm-up is left as it is. The one of pages takes 1 to 2 s. */
const MAX_WARM_UP_MS = 10_000;
/** A collection is worth its time from here. One of a reader of pages gives 120 MB back, and the next page compiles for 20 ms what V8 has dropped with the garbage. */
const WORTH_BYTES = 32 * 2 ** 20;
/** Between two collections, so that a page now and then does not pay for one each time. */
const COLLECT_EVERY_MS = 60_000;

// Only the parent ends a child: a signal to the whole process group must not, because the parent drains first.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));
// A rejection that a library leaves unhandled after its task must not end the child during the next task.
process.on("unhandledRejection", () => {});
for (const way of ["fetch", "WebSocket", "EventSource"]) Reflect.deleteProperty(globalThis, way);

const [address, name, settings] = process.argv.slice(2) as [string, string, string];
const { is_warmed, rest_ms, v8_flags } = JSON.parse(settings) as ChildSettings;
// Not on the command line: Node ends at an option that its V8 does not know.
for (const flag of v8_flags) setFlagsFromString(flag);
const { tasks, warm_ups } = (await import(address)) as { tasks: Tasks; warm_ups?: WarmUps };
const task = await tasks[name]!();
const warm_up = is_warmed ? ((await warm_ups?.[name]?.()) ?? []) : [];
const collect = rest_ms === null ? null : collector();
let rest_timer: NodeJS.Timeout | undefined;
let left = { at_ms: -Infinity, bytes: 0 };
let unsent: Result[] = [];
let flush_timer: NodeJS.Timeout | undefined;
let carrying: Promise<void> | undefined;
process.on("message", (orders: readonly Order[]) => void (carrying = carryOut(orders)));
report({ kind: "ready", is_warm: warm_up.length === 0 });
if (warm_up.length > 0) {
  await warmUp(warm_up);
  report({ kind: "warm" });
}
restLater();

/** V8's own function, which gives pages back and makes the space for young objects small again. Other ways (the inspector) are closed to a child. */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as (options: object) => void;
  setFlagsFromString("--no-expose-gc");
  return () => gc({ type: "major", execution: "sync", flavor: "last-resort" });
}

/** Collects when no task has come for `rest_ms`. */
function restLater(): void {
  if (collect === null || rest_ms === null) return;
  clearTimeout(rest_timer);
  const wait_ms = Math.max(rest_ms, left.at_ms + COLLECT_EVERY_MS - performance.now());
  rest_timer = setTimeout(() => {
    if (getHeapStatistics().total_physical_size - left.bytes < WORTH_BYTES) return;
    collect();
    left = { at_ms: performance.now(), bytes: getHeapStatistics().total_physical_size };
  }, wait_ms).unref();
}

/** Tasks that come meanwhile, because no child is warm yet, wait for one message of it at most. */
async function warmUp(messages: readonly unknown[]): Promise<void> {
  const before = process.cpuUsage();
  for (const message of messages) {
    await nextRound();
    await carrying;
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1_000 > MAX_WARM_UP_MS) return;
    await resultOf(task, { message, piped: [] });
  }
}

async function carryOut(orders: readonly Order[]): Promise<void> {
  clearTimeout(rest_timer);
  let flushed_ms = performance.now();
  for (const order of orders) {
    // A task with long bytes may take long itself.
    const isLong = order.piped.length > 0;
    if (unsent.length > 0 && (isLong || performance.now() - flushed_ms >= FLUSH_MS)) {
      flush();
      flushed_ms = performance.now();
    }
    flush_timer = unsent.length > 0 ? setTimeout(flush, FLUSH_MS) : undefined;
    const result = await resultOf(task, order);
    clearTimeout(flush_timer);
    unsent.push(result);
  }
  flush();
  restLater();
}

async function resultOf(run: Task, order: Order): Promise<Result> {
  const before = process.cpuUsage();
  const cpu_ms = (): number => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  try {
    const piped = order.piped.map(({ field, bytes }) => [field, readPipe(bytes)]);
    const message = piped.length
      ? { ...(order.message as object), ...Object.fromEntries(piped) }
      : order.message;
    const value = await run(message as never, cpu_ms);
    return { kind: "done", value, cpu_ms: cpu_ms() };
  } catch (cause) {
    return { kind: isMemory(cause) ? "out_of_memory" : "threw", detail: detailOf(cause), cpu_ms: cpu_ms() };
  }
}

/** Errors of V8 and Node when the kernel gives them no memory for a buffer. */
const isMemory = (cause: unknown): boolean =>
  cause instanceof Error &&
  /\b(?:array buffer allocation failed|memory allocation failed)\b/i.test(cause.message);

/** A result that cannot be copied becomes a failure; the others leave as they are. */
function flush(): void {
  const results = unsent;
  unsent = [];
  const rss_mb = process.memoryUsage.rss() / 2 ** 20;
  try {
    report({ kind: "results", results, rss_mb });
  } catch {
    for (const result of results) {
      try {
        report({ kind: "results", results: [result], rss_mb });
      } catch (cause) {
        const threw: Result = { kind: "threw", detail: detailOf(cause), cpu_ms: result.cpu_ms };
        report({ kind: "results", results: [threw], rss_mb });
      }
    }
  }
}

const detailOf = (cause: unknown): string => String(cause).slice(0, 500);

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

function report(message: Report): void {
  process.send!(message);
}

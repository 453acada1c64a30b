/**
 * Tasks in this process, for tests. Exceptions become failures as everywhere; a hang, exhausted memory or an exit
 * affects the caller, so `timeout`, `out_of_memory`, `crashed` and `full` never occur.
 */
import type { Task, TaskCaller, Tasks, TaskResult, Workers } from "../../ports/workers.ts";

export function inlineWorkers(tasks: Tasks): Workers {
  const loaded = new Map<string, Promise<Task>>();
  let closed = false;
  return {
    async run<T>(name: string, message: unknown, { signal }: TaskCaller = {}): Promise<TaskResult<T>> {
      if (closed) return { kind: "failed", reason: "aborted", detail: "The workers are closed" };
      if (signal?.aborted) return { kind: "failed", reason: "aborted", detail: "The caller cancelled" };
      try {
        const load = tasks[name];
        if (!load) throw new Error(`Cannot run "${name}": there is no such task`);
        if (!loaded.has(name)) loaded.set(name, load());
        const task = await loaded.get(name)!;
        const began = performance.now();
        // Other work of this process would count as CPU time of the task.
        const copy = structuredClone(message) as never;
        const value = await task(copy, () => performance.now() - began);
        if (signal?.aborted) return { kind: "failed", reason: "aborted", detail: "The caller cancelled" };
        return { kind: "done", value: structuredClone(value) as T };
      } catch (cause) {
        return { kind: "failed", reason: "threw", detail: String(cause).slice(0, 500) };
      }
    },
    close: async () => void (closed = true),
  };
}

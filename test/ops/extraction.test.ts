/** When a document that was not read is tried again (ops/extraction.ts). */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { TaskFailure, TaskResult } from "../../cluster/ports/workers.ts";
import { MAX_ROOM_WAIT_MS, ROOM_RETRY_MS, runUntilRead } from "../../ops/extraction.ts";

/** Runs tasks that end like this, one after the other; the last one repeats. */
function harness(...ends: readonly (TaskFailure | "done")[]) {
  const clock = virtualClock(Date.UTC(2026, 10, 22));
  const cancel = new AbortController();
  let runs = 0;
  const run = async (): Promise<TaskResult<string>> => {
    const end = ends[Math.min(runs++, ends.length - 1)]!;
    return end === "done" ? { kind: "done", value: "text" } : { kind: "failed", reason: end, detail: "" };
  };
  const result = runUntilRead(clock, cancel.signal, run);
  return { clock, cancel, result, runs: () => runs };
}

describe("a document", () => {
  test.each(["full", "unavailable"] as const)(
    "without room (%s) is tried again until it is read",
    async (reason) => {
      const { clock, result, runs } = harness(reason, reason, "done");
      await clock.advance(2 * ROOM_RETRY_MS);
      expect(await result).toEqual({ kind: "done", value: "text" });
      expect(runs()).toBe(3);
    },
  );

  test("without room is given up after a while", async () => {
    const { clock, result, runs } = harness("full");
    await clock.advance(MAX_ROOM_WAIT_MS + ROOM_RETRY_MS);
    expect(await result).toMatchObject({ kind: "failed", reason: "full" });
    expect(runs()).toBe(MAX_ROOM_WAIT_MS / ROOM_RETRY_MS + 1);
  });

  test("is given up at once where no reader could start several times", async () => {
    const { clock, result, runs } = harness("unavailable", "unavailable", "cannot_start");
    await clock.advance(2 * ROOM_RETRY_MS);
    expect(await result).toMatchObject({ kind: "failed", reason: "cannot_start" });
    expect(runs()).toBe(3);
  });

  test("without room waits no longer than its caller", async () => {
    const { clock, cancel, result, runs } = harness("full");
    await clock.advance(ROOM_RETRY_MS / 2);
    cancel.abort();
    expect(await result).toMatchObject({ kind: "failed", reason: "aborted" });
    await clock.advance(MAX_ROOM_WAIT_MS);
    expect(runs()).toBe(1);
  });

  test.each([
    [["crashed", "done"], "done"],
    [["killed", "done"], "done"],
    [["crashed", "crashed"], "crashed"],
    [["killed", "killed"], "out_of_memory"],
  ] as const)("whose readers end as %j is read once more at most: %s", async (ends, expected) => {
    const { result, runs } = harness(...ends);
    const end = await result;
    expect(end.kind === "done" ? "done" : end.reason).toBe(expected);
    expect(runs()).toBe(2);
  });

  test.each(["timeout", "out_of_memory", "threw"] as const)(
    "that is at fault itself (%s) is not tried again",
    async (reason) => {
      const { result, runs } = harness(reason);
      expect(await result).toMatchObject({ kind: "failed", reason });
      expect(runs()).toBe(1);
    },
  );
});

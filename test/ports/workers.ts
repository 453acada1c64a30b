/** Promises of any Workers to their callers; run on each adapter by workers.test.ts. */
import { afterAll, expect, test } from "vitest";
import type { Workers } from "../../cluster/ports/workers.ts";

export function workersSuite(open: () => Workers): void {
  const workers = open();
  afterAll(() => workers.close());
  const run = (message: unknown, signal?: AbortSignal) => workers.run("plain", message, signal && { signal });

  test("returns the task's result, as a copy", async () => {
    const value = {
      text: "ä\u0000\u{1F600}",
      list: [1, null, undefined],
      map: new Map([["a", new Set([1n])]]),
    };
    const work = await run({ do: "echo", value });
    expect(work).toEqual({ kind: "done", value });
    expect(work.kind === "done" && work.value).not.toBe(value);
  });

  test("hands over bytes of any length whole, and leaves the caller's alone", async () => {
    for (const length of [0, 1, 65_535, 65_536, 15_728_640]) {
      const bytes = Buffer.alloc(length, 7);
      const work = await run({ do: "length", bytes, other: new Uint8Array(100_000) });
      const own = expect.any(Boolean) as boolean;
      expect(work).toEqual({
        kind: "done",
        value: { bytes: length, other: 100_000, last: length ? 7 : undefined, own },
      });
      expect(bytes.length).toBe(length);
    }
  });

  test("hands over a window of a larger buffer, and nothing around it", async () => {
    const bytes = new Uint8Array(300_000).fill(1).subarray(100_000, 200_000).fill(2);
    const work = await run({ do: "length", bytes });
    expect(work).toMatchObject({ kind: "done", value: { bytes: 100_000, last: 2 } });
  });

  test("answers a task that throws, and does the next", async () => {
    expect(await run({ do: "throw" })).toEqual({
      kind: "failed",
      reason: "threw",
      detail: "RangeError: Invalid page",
    });
    expect(await run({ do: "echo", value: 1 })).toEqual({ kind: "done", value: 1 });
  });

  test("answers a result or a message that cannot be copied", async () => {
    expect(await run({ do: "uncloneable" })).toMatchObject({ kind: "failed", reason: "threw" });
    expect(await run({ do: "echo", value: () => 1 })).toMatchObject({ kind: "failed", reason: "threw" });
    expect(await run({ do: "echo", value: 1 })).toEqual({ kind: "done", value: 1 });
  });

  test("fails an unknown task", async () => {
    expect(await workers.run("nothing", {})).toMatchObject({ kind: "failed", reason: "threw" });
  });

  test("does nothing for a caller that has left already", async () => {
    const work = await run({ do: "echo", value: 1 }, AbortSignal.abort());
    expect(work).toMatchObject({ kind: "failed", reason: "aborted" });
  });

  test("lets a task see how much CPU time it has used", async () => {
    const work = await run({ do: "what", of: "cpu" });
    expect(work.kind === "done" && (work.value as number)).toBeLessThan(5_000);
  });

  test("refuses work after it was closed", async () => {
    const closing = open();
    expect(await closing.run("plain", { do: "echo", value: 1 })).toMatchObject({ kind: "done" });
    await closing.close();
    const work = await closing.run("plain", { do: "echo", value: 1 });
    expect(work).toMatchObject({ kind: "failed", reason: "aborted" });
    await closing.close();
  });
}

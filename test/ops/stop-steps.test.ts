/** A stop ends within its limit, whatever its steps do. */
import { expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { stopSteps } from "../../ops/stop-steps.ts";

const hanging = (): Promise<void> => new Promise(() => {});

test("a step that hangs is left behind at its limit, and the next one still runs", async () => {
  const clock = virtualClock();
  const steps = stopSteps({ clock, log: silentTelemetry().log }, 10_000);
  const done: string[] = [];
  const stopped = (async () => {
    await steps.run("one", steps.left_ms(), hanging);
    await steps.run("two", steps.left_ms(), async () => void done.push("two"));
    await steps.run("three", steps.left_ms(), hanging);
    return clock.mono();
  })();
  await clock.advance(10_200);
  expect(done).toEqual([]);
  await clock.advance(300);
  expect(await stopped).toBeLessThanOrEqual(10_500);
  expect([done, steps.left_ms()]).toEqual([["two"], 0]);
  steps.throwFailure();
});

test("a step that fails does not keep the next one from running, and is what the stop ends with", async () => {
  const clock = virtualClock();
  const steps = stopSteps({ clock, log: silentTelemetry().log }, 10_000);
  const done: string[] = [];
  await steps.run("one", 1_000, () => Promise.reject(new Error("broken")));
  await steps.run("two", 1_000, async () => void done.push("two"));
  expect(done).toEqual(["two"]);
  expect(() => steps.throwFailure()).toThrow("broken");
});

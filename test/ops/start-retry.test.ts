/** For how long a node that starts waits for its engines, on a virtual clock. */
import { expect, test } from "vitest";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { startWhenReachable } from "../../ops/start-retry.ts";

const away = (): Fault => new Fault("documents_unreachable", "away");
const refused = (): Fault => new Fault("documents_unreachable", "refused", { cause: { code: 18 } });

/** Problems of the attempts in their order; the attempt after them succeeds. */
async function outcome(problems: readonly Error[], { within_ms = 30_000, runs_ms = 60_000 } = {}) {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const { log, lines } = silentTelemetry();
  const began_ms = clock.now();
  const attempts_ms: number[] = [];
  const starting = startWhenReachable({ clock, log, within_ms }, async () => {
    attempts_ms.push(clock.now() - began_ms);
    const problem = problems[attempts_ms.length - 1];
    if (problem) throw problem;
    return "started";
  }).catch((problem: Error) => problem.message);
  await clock.advance(runs_ms);
  return { said: await starting, attempts_ms, warnings: lines.length };
}

test("an engine that does not answer is tried again, less and less often", async () => {
  expect(await outcome(Array.from({ length: 5 }, away))).toEqual({
    said: "started",
    attempts_ms: [0, 500, 1_500, 3_500, 7_500, 12_500],
    warnings: 5,
  });
});

test.each([
  ["the bus", new Fault("bus_unreachable", "away")],
  ["object storage", new Fault("bodies_unreachable", "away")],
])("%s that does not answer once is tried again", async (_, problem) => {
  expect((await outcome([problem])).said).toBe("started");
});

test("the last attempt begins when the wait ends, and its problem is told", async () => {
  const { said, attempts_ms } = await outcome(Array.from({ length: 50 }, away), { within_ms: 10_000 });
  expect({ said, last_ms: attempts_ms.at(-1) }).toEqual({ said: "away", last_ms: 10_000 });
});

test.each([
  ["an engine that refuses", refused(), 30_000],
  ["a bug", new TypeError("refused"), 30_000],
  ["no time to wait", new Fault("bus_unreachable", "refused"), 0],
])("%s ends the start at once", async (_, problem, within_ms) => {
  expect(await outcome([problem], { within_ms })).toEqual({
    said: "refused",
    attempts_ms: [0],
    warnings: 0,
  });
});

import { describe, expect, test } from "vitest";
import { healthOf, openHealth, recordOutcomes } from "../../../../actors/sources/companies/source-health.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";

const NOW_MS = Date.UTC(2026, 10, 22);

describe("a source", () => {
  const record = (ok: number, failed: number) =>
    recordOutcomes(
      null,
      [
        ...Array.from({ length: failed }, () => ({ at_ms: NOW_MS - 2, error: "timeout" })),
        ...Array.from({ length: ok }, () => ({ at_ms: NOW_MS - 1, error: null })),
      ],
      NOW_MS,
    );

  test.each([
    [20, 0, "operational"],
    [18, 2, "operational"],
    [16, 4, "degraded"],
    [9, 11, "partial"],
    [3, 17, "major"],
    [0, 20, "major"],
    // Too few to tell.
    [0, 4, "operational"],
  ])("with %i answers and %i failures in 15 minutes is %s", (ok, failed, state) => {
    expect(healthOf(record(ok, failed), NOW_MS).state).toBe(state);
  });

  test("is judged by the last 15 minutes, and its last error is remembered", () => {
    const later_ms = NOW_MS + 16 * 60_000;
    expect(healthOf(record(0, 20), later_ms)).toEqual({
      state: "operational",
      success_rate: null,
      requests: 0,
      last_success_at: null,
      last_error: "timeout",
      last_error_at: new Date(NOW_MS - 2).toISOString(),
      canary: null,
      drift: [],
    });
  });
});

test("outcomes of several nodes are stored together, a few seconds after they were recorded", async () => {
  const documents = memoryDocuments();
  const clock = virtualClock(NOW_MS);
  const { log } = silentTelemetry();
  const nodes = [openHealth({ documents, clock, log }), openHealth({ documents, clock, log })];
  for (const node of nodes) for (let each = 0; each < 5; each++) node.record("gleif", "timeout");
  expect((await nodes[0]!.read(["gleif", "zefix"])).get("gleif")).toMatchObject({
    requests: 5,
    state: "major",
  });
  await clock.advance(6_000);
  const health = await nodes[1]!.read(["gleif", "zefix"]);
  expect(health.get("gleif")).toMatchObject({ requests: 10, state: "major", last_error: "timeout" });
  expect(health.get("zefix")).toMatchObject({ requests: 0, state: "operational" });
  await nodes[0]!.close();
});

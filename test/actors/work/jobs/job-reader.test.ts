/** Items of a job are read in groups that the node's memory for bodies has room for (actors/work/jobs/feature/job-reader.ts). */
import { describe, expect, test } from "vitest";
import { groupsOf, jobReader } from "../../../../actors/work/jobs/feature/job-reader.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { byteBudget, MAX_ROOM_WAIT_MS } from "../../../../cluster/byte-budget.ts";
import type { BatchKind } from "../../../../gateway/batch.ts";
import { DONE } from "../../../../schemas/job-states.ts";
import { type JobRecord, resultKey } from "../../../../schemas/jobs.ts";
import { SAME_SECRETS } from "../../../harness/secrets.ts";

const MB = 2 ** 20;
const JOB_ID = "01a1fed4-907e-7b74-91d6-4c82af9314ba";

describe("results", () => {
  test.each([
    ["that are small come together", [0, 1_000, 2_000], [[0, 1, 2]]],
    ["come together up to a megabyte", [MB / 2, MB / 2, 1], [[0, 1], [2]]],
    ["that are large stand alone", [1, 5 * MB, 1, 1, 7 * MB], [[0], [1], [2, 3], [4]]],
    ["of none are none", [], []],
  ])("%s", (_, weights, groups) => {
    expect(groupsOf(weights)).toEqual(groups);
  });

  async function harness() {
    const clock = virtualClock(Date.UTC(2026, 10, 22));
    const documents = memoryDocuments();
    const telemetry = silentTelemetry();
    const memory = byteBudget({ limit_bytes: 100 * MB, clock, ...telemetry });
    for (const index of [0, 1, 2])
      await documents.put(
        "job_results",
        resultKey(JOB_ID, index),
        { status: "done", error: null, answer: { index } },
        0,
      );
    const kind = {
      name: "fetch",
      weigh: () => 40 * MB,
      render: (_input: unknown, answer: unknown) => answer,
    } as unknown as BatchKind;
    const reader = jobReader({
      documents,
      secrets: SAME_SECRETS,
      clock,
      log: telemetry.log,
      kinds: [kind],
      memory,
    });
    const job = { spec: { kind: "fetch" } } as unknown as JobRecord;
    const states = new Uint8Array([DONE, DONE, DONE]);
    const items = reader.items(job, JOB_ID, false, states, [0, 1, 2], new AbortController().signal);
    return { clock, memory, items };
  }

  test("hold their memory until the next group is asked for", async () => {
    const { memory, items } = await harness();
    const shown: unknown[] = [];
    for await (const group of items) {
      expect(memory.figures().reserved_bytes).toBe(40 * MB);
      shown.push(...group.map(({ result, error }) => [result, error]));
    }
    expect(shown).toEqual([0, 1, 2].map((index) => [{ index }, null]));
    expect(memory.figures().reserved_bytes).toBe(0);
  });

  test("for which there is no room in time are unavailable, not empty", async () => {
    const { clock, memory, items } = await harness();
    await memory.reserve(40 * MB);
    const first = items[Symbol.asyncIterator]().next();
    await clock.advance(MAX_ROOM_WAIT_MS);
    expect((await first).value).toMatchObject([{ index: 0, result: null, error: "result_unavailable" }]);
  });
});

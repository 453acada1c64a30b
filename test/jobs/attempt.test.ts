/** One attempt of an item, apart from its job. */
import { expect, test } from "vitest";
import { inputCache, type ItemAttempt, runAttempt } from "../../actors/jobs/attempt.ts";
import type { JobServices } from "../../actors/jobs/state.ts";
import { bodyRefs } from "../../cluster/body-refs.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { resultKey } from "../../schemas/jobs.ts";

test.each([
  ["is stored while the job lives here", true, "final", 1],
  ["is not stored once another node may own the job, and the attempt does not count", false, "retry", 0],
])("the result of an attempt %s", async (_, ownsJob, kind, stored) => {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const documents = memoryDocuments();
  const services = {
    documents,
    bodyRefs: bodyRefs(documents),
    clock,
    random: seededRandom(1),
    inputs: inputCache(),
    kinds: new Map(),
    ...silentTelemetry(),
  } as unknown as JobServices;
  const attempt = {
    job_id: "j1",
    spec: { kind: "fetch", project: "p", key_prefix: "sk_aaaaaaa", created_ms: clock.now() },
    item: { index: 3, attempts: 0, deferrals: 0, has_cooled: false },
    activation: "a",
    is_first_run: true,
    signal: new AbortController().signal,
    carried_micros: 0,
    refusal: "key_quota_exhausted",
    ownsJob: () => ownsJob,
  } as unknown as ItemAttempt;
  const outcome = await runAttempt(services, () => Promise.reject(new Error("Not asked")), attempt);
  expect(outcome).toMatchObject({ kind, index: 3 });
  expect((await documents.get("job_results", resultKey("j1", 3)))?.version ?? 0).toBe(stored);
});

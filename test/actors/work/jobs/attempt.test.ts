/** An attempt of an item, apart from its job. */
import { expect, test } from "vitest";
import {
  bodyHolder,
  inputCache,
  type ItemAttempt,
  runAttempt,
} from "../../../../actors/work/jobs/attempt.ts";
import type { JobServices } from "../../../../actors/work/jobs/state.ts";
import type { Charges } from "../../../../records/charges.ts";
import { bodyRefs } from "../../../../cluster/body-refs.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Bill } from "../../../../schemas/accounts.ts";
import { chunkKey, resultKey } from "../../../../schemas/jobs.ts";
import { SAME_SECRETS } from "../../../harness/secrets.ts";

function attemptOf(documents: Documents) {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const services = {
    documents,
    bodyRefs: bodyRefs(documents),
    clock,
    random: seededRandom(1),
    inputs: inputCache(),
    secrets: SAME_SECRETS,
    kinds: new Map(),
    ...silentTelemetry(),
  } as unknown as JobServices;
  const attempt = {
    job_id: "j1",
    spec: { kind: "fetch", project: "p", key_prefix: "sk_aaaaaaa", created_ms: clock.now() },
    item: { index: 3, attempts: 0, deferrals: 0, has_cooled: false },
    activation: "a",
    holder: "a.0",
    is_first_run: true,
    signal: new AbortController().signal,
    carried_micros: 0,
    refusal: "key_quota_exhausted",
    ownsJob: () => true,
  } as unknown as ItemAttempt;
  const run = (services_: Partial<JobServices>, attempt_: Partial<ItemAttempt>) =>
    runAttempt({ ...services, ...services_ }, () => Promise.reject(new Error("Not asked")), {
      ...attempt,
      ...attempt_,
    });
  return { run };
}

test.each([
  ["is stored while the job lives here", true, "final", 1],
  ["is not stored once another node may own the job, and the attempt does not count", false, "retry", 0],
])("the result of an attempt %s", async (_, ownsJob, kind, stored) => {
  const documents = memoryDocuments();
  const outcome = await attemptOf(documents).run({}, { ownsJob: () => ownsJob });
  expect(outcome).toMatchObject({ kind, index: 3 });
  expect((await documents.get("job_results", resultKey("j1", 3)))?.version ?? 0).toBe(stored);
});

test("the bodies of a result are held before it is stored", async () => {
  const documents = memoryDocuments();
  const sha256 = "a".repeat(64);
  const bill: Bill = { category: "fetch_own", ok: true, bytes: 1, paid: false, cost_micros: 0 };
  const result = { answer: {}, error: null, bill, body_refs: [sha256], retry: null };
  await documents.put("job_items", chunkKey("j1", 3), { items: [{}, {}, {}, {}], chars: 1 }, 0);
  const heldBy = async () => (await documents.list("body_refs", { limit: 10 })).map(({ key }) => key);
  const heldAtResult: string[][] = [];
  const watched: Documents = {
    ...documents,
    async put(collection, ...write) {
      if (collection === "job_results") heldAtResult.push(await heldBy());
      return documents.put(collection, ...write);
    },
  };
  const kinds = new Map([["fetch", { name: "fetch", lane: () => null, run: async () => result }]] as const);
  const outcome = await attemptOf(watched).run({ kinds }, { refusal: null });
  expect(outcome).toMatchObject({ kind: "final", status: "done" });
  expect(heldAtResult).toEqual([[`${sha256} ${bodyHolder("j1")}`]]);
});

test("a try that is repeated frees only what it holds itself: its message may come after the next owner has reserved", async () => {
  const settled: { request_id: string; holder: string | undefined }[] = [];
  const reservedBy: (string | undefined)[] = [];
  const charges: Charges = {
    reserveCharge: async (_ask, _payer, _id, _work, holder) => {
      reservedBy.push(holder);
      return "reserved";
    },
    settleCharge: async (_ask, { request_id }, holder) => void settled.push({ request_id, holder }),
    releaseCharges: async () => {},
  };
  const documents = memoryDocuments();
  const attempt = attemptOf(documents);
  const isOver = { refusal: "key_budget_exhausted", is_charged: true };
  // Its input is missing, so the try ends without a result.
  expect(await attempt.run({ charges }, { refusal: null, is_charged: true })).toMatchObject({
    kind: "retry",
  });
  expect(await attempt.run({ charges }, isOver)).toMatchObject({ kind: "final" });
  expect(reservedBy).toEqual(["a.0"]);
  expect(settled).toEqual([
    { request_id: "j1:3", holder: "a.0" },
    { request_id: "j1:3", holder: undefined },
  ]);
});

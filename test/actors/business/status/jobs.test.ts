/** Batch jobs in the public status, by faults on a virtual clock: a node reports, a gateway judges, and what works again is operational again. */
import { expect, test } from "vitest";
import { jobBoard } from "../../../../actors/work/jobs/job-board.ts";
import { jobsStatus } from "../../../../actors/work/jobs/feature/status.ts";
import { statusBoardActor } from "../../../../actors/business/status/board.actor.ts";
import { BATCH_JOBS } from "../../../../actors/business/status/components.ts";
import { NO_NOTICES } from "../../../../actors/business/status/evaluate.ts";
import { watchStatus } from "../../../../actors/business/status/watch-status.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { oneCluster, pages } from "../../../harness/jobs-harness.ts";

const PERIOD_MS = 15_000;
const MINUTE_MS = 60_000;

/** Jobs on a node whose gateway shows the public status. */
function world() {
  let ownsJobs = true;
  const telemetry = silentTelemetry();
  const board = { of: null as ReturnType<typeof jobBoard> | null };
  const jobs = oneCluster({
    actors: [statusBoardActor(PERIOD_MS)],
    board: (clock: Clock) => (board.of = jobBoard(clock, () => ownsJobs)),
    run: () => ({ ms: 20_000 }),
  });
  const watch = watchStatus({
    ...telemetry,
    clock: jobs.clock,
    ask: jobs.ask,
    period_ms: PERIOD_MS,
    node: "one",
    specs: [BATCH_JOBS],
    isWorker: true,
    isGateway: true,
    figures: jobsStatus(board.of!, telemetry.metrics).figures!,
    clusterFigures: async () => ({}),
    checkStores: async () => ({}),
    readNotices: async () => NO_NOTICES,
  });
  watch.start();
  return {
    ...jobs,
    leaveJobs: () => void (ownsJobs = false),
    /** After this time. */
    async status(ms: number): Promise<string> {
      await jobs.clock.advance(ms + 2 * PERIOD_MS);
      const [component] = watch.current().components;
      return [component!.status, ...component!.reasons].join(" ");
    },
  };
}

test("a job whose key cannot be read waits, and runs when the key can be read again", async () => {
  const jobs = world();
  jobs.payer.isReadable = false;
  await jobs.create("j", pages(3));
  expect(await jobs.status(14 * MINUTE_MS)).toBe("operational");
  expect(await jobs.status(MINUTE_MS)).toBe("degraded jobs_waiting");
  expect(await jobs.status(45 * MINUTE_MS)).toBe("partial_outage jobs_waiting");
  jobs.payer.isReadable = true;
  expect(await jobs.status(MINUTE_MS)).toBe("operational");
  expect(await jobs.counts("j")).toMatchObject({ done: 3 });
});

test("a job whose turns cannot be stored stands still, and goes on when the document store is back", async () => {
  const jobs = world();
  await jobs.create("j", pages(400, 10));
  await jobs.clock.advance(3_000);
  expect(await jobs.status(0)).toBe("operational");
  jobs.cutStore(true);
  expect(await jobs.status(20_000)).toBe("degraded scheduler_stalled");
  expect(await jobs.status(2 * MINUTE_MS)).toBe("partial_outage scheduler_stalled");
  jobs.cutStore(false);
  expect(await jobs.status(0)).toBe("operational");
  await jobs.finished("j");
  expect(await jobs.status(0)).toBe("operational");
});

test("jobs that went to another node are its business", async () => {
  const jobs = world();
  await jobs.create("j", pages(400, 10));
  await jobs.clock.advance(3_000);
  jobs.cutStore(true);
  jobs.leaveJobs();
  expect(await jobs.status(5 * MINUTE_MS)).toBe("operational");
});

test("the jobs of a suspended customer do not wait for the service", async () => {
  const jobs = world();
  jobs.payer.now = {
    key: { status: "active", quotas: { search: null, fetch: null } },
    customer: { status: "suspended" },
    spend_limits: [],
  };
  await jobs.create("j", pages(3));
  expect(await jobs.status(20 * MINUTE_MS)).toBe("operational");
});

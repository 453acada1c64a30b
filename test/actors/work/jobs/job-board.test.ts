import { expect, test } from "vitest";
import { jobBoard } from "../../../../actors/work/jobs/job-board.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";

test("the oldest waiting job and the backlog leave out what an operator paused", () => {
  const clock = virtualClock();
  const board = jobBoard(clock, () => true);
  const job = { kind: "fetch", isRunning: false, isPaused: false, waiting: 10 } as const;
  const created_ms = clock.now();
  board.seen("paused", { ...job, created_ms: created_ms - 600_000, isPaused: true });
  board.seen("queued", { ...job, created_ms: created_ms - 60_000 });
  board.seen("running", { ...job, kind: "search", created_ms: created_ms - 900_000, isRunning: true });
  expect(board.figures()).toMatchObject({
    running_jobs: 1,
    queue_backlog: 20,
    backlogs: { fetch: 10, search: 10, filings: 0 },
    oldest_waiting_job_s: 60,
  });
});

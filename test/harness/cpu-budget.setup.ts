/**
 * Runs before each file of the project `limits`: a test may take so much CPU time and no more, on a busy machine as on a quiet one.
 * The wall time that the project allows only ends a test that waits for ever.
 */
import { afterEach, beforeEach } from "vitest";

/** CPU-seconds of this process for one test; helper threads that compile and collect garbage are counted too. */
const BUDGET_S = 30;
/** CPU-seconds of tests that read a whole collection of pages. */
const COLLECTION_BUDGET_S = 240;
const READS_A_COLLECTION = /^(?:word F1 by kind|real pages keep their words)/;

let before = process.cpuUsage();
beforeEach(() => {
  before = process.cpuUsage();
});
afterEach(({ task }) => {
  const { user, system } = process.cpuUsage(before);
  const budget_s = READS_A_COLLECTION.test(task.name) ? COLLECTION_BUDGET_S : BUDGET_S;
  const taken_s = (user + system) / 1e6;
  if (taken_s > budget_s)
    throw new Error(`"${task.name}" took ${taken_s} s of CPU time, and may take ${budget_s}`);
});

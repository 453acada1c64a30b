/** Bugs of batch jobs. */
import type { Mutant } from "./mutant.ts";

const mutant =
  (file: string, tests: readonly string[] = ["test/actors/work/jobs"]) =>
  (name: string, find: string, replace: string): Mutant => ({
    name,
    file: `actors/work/jobs/${file}`,
    find,
    replace,
    tests,
  });

const attempt = mutant("attempt.ts");
const SIMULATED = ["test/actors/work/jobs", "test/sim/jobs.test.ts"];

export const JOBS: readonly Mutant[] = [
  attempt(
    "stores a result for a job that is another node's",
    "  if (!attempt.ownsJob()) return failedToRun(index);\n",
    "",
  ),
  attempt(
    "runs an item again whose result is stored",
    "const existing = attempt.is_first_run ? null : await storedOutcome(services, attempt);",
    "const existing = null;",
  ),
  attempt(
    "forgets what an attempt had paid whose node died",
    "const spent_micros = attempt.is_first_run ? 0 : await services.spentBy(row.request_id);",
    "const spent_micros = 0;",
  ),
  attempt(
    "holds the bodies of a result after it is stored",
    "  await bodyRefs.retain(result.body_refs, bodyHolder(attempt.job_id), Infinity);\n  if (await JOB_RESULTS.put(documents, resultKey(attempt.job_id, index), result, 0))\n    return",
    "  const isStored = await JOB_RESULTS.put(documents, resultKey(attempt.job_id, index), result, 0);\n  await bodyRefs.retain(result.body_refs, bodyHolder(attempt.job_id), Infinity);\n  if (isStored)\n    return",
  ),
  mutant("attempt.ts", SIMULATED)(
    "does not seal the attempts of a cancelled job",
    "if (await JOB_RESULTS.put(documents, key, CANCELLED_RESULT, 0)) return",
    "if (key) return",
  ),
  mutant("checkpoint.ts", SIMULATED)(
    "writes the rows of a job under a new key each time",
    "`job-${key}-${sequence}`",
    "`job-${key}-${sequence}-${performance.now()}`",
  ),
  mutant("actor.ts")(
    "goes on with a job whose idempotency key is another's",
    "return { is_claimed: claim?.job_id === key };",
    "return { is_claimed: true };",
  ),
  mutant("callback.ts")("makes a fourth attempt of a callback", "MAX_ATTEMPTS = 3", "MAX_ATTEMPTS = 4"),
];

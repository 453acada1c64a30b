/** Bugs of politeness, and of the admission of requests. */
import type { Mutant } from "./mutant.ts";

const TESTS = [
  "test/actors/crawl/domain",
  "test/actors/crawl/fetch/admission.test.ts",
  "test/actors/crawl/fetch/lost.test.ts",
];
const mutant =
  (file: string, tests: readonly string[] = TESTS) =>
  (name: string, find: string, replace: string): Mutant => ({
    name,
    file: `actors/crawl/${file}`,
    find,
    replace,
    tests,
  });

const politeness = mutant("domain/politeness.ts");
const admission = mutant("fetch/admission.ts");

export const DOMAIN: readonly Mutant[] = [
  politeness(
    "frees the slot of another run by a stale release",
    "const keepsSlot = isTakenOver(lease, slot);",
    "const keepsSlot = false;",
  ),
  politeness(
    "forgets the Retry-After of a slot that has lapsed",
    "if (!lease) return paused;",
    "if (!lease) return politeness;",
  ),
  politeness(
    "forgets the Retry-After of an answer",
    "const released: Politeness = {\n    ...paused,",
    "const released: Politeness = {\n    ...politeness,",
  ),
  politeness(
    "gives slots of an owner before their whole time",
    "lease.process === process ? limits.lease_ms : orphanedFor(lease)",
    "limits.lease_ms",
  ),
  politeness(
    "gives the slot of an owner that is gone away at once",
    "const leases = inFlight(snapshot, now_ms).map((lease) => ({",
    "const leases = inFlight(snapshot, now_ms).filter((lease) => lease.process === process).map((lease) => ({",
  ),
  politeness(
    "begins with a site as if nothing had been sent",
    "last_start_ms: isRecent ? now_ms : last_start_ms,",
    "last_start_ms: null,",
  ),
  politeness(
    "stores later what must be stored",
    "MUST_BE_STORED.every((name) => next[name] === stored[name]) &&",
    "",
  ),
  mutant("domain/politeness.ts", [...TESTS, "test/sim/politeness.test.ts"])(
    "counts the delay from the grant",
    ": { ...politeness, last_start_ms: sent_ms };",
    ": politeness;",
  ),
  admission(
    "does not release the slot of a failed acquire",
    "    releaseSlot(deps, run, { site, origin, fetch_id }, { status: null, retry_after_s: null });\n    throw problem;",
    "    throw problem;",
  ),
  admission(
    "sends a request for a key that may be another node's",
    "run.isLost ||= !work.ownsKey();",
    "run.isLost ||= false;",
  ),
  admission("sends a request under a grant that is void", "&& clock.mono() < void_ms;", ";"),
];

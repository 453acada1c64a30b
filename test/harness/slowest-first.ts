/**
 * The order of test files: those that take longest begin first, so that none of them runs alone at the end. Vitest
 * itself knows that only from an earlier run, and a clean checkout has none.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** More than half a minute each on two cores. */
const SLOWEST = [
  "scenarios/jobs-crash",
  "tiers/browser-guard",
  "scenarios/politeness",
  "scenarios/life",
  "scenarios/chaos",
  "tiers/browser-faults",
  "scenarios/access",
  "filings/source",
  "scenarios/jobs",
  "tiers/browser",
  "scenarios/schemathesis",
  "ports/blobs",
  "scenarios/filings-batch",
  "scenarios/jobs-nodes",
  "scenarios/filings-limiter",
  "scenarios/fetch",
  "ports/http",
  "scenarios/nodes",
  "scenarios/status",
  "scenarios/profiles",
  "tenants/shared",
  "scenarios/accounts-nodes",
  "scenarios/refusing-stores",
  "scenarios/failing-disks",
  "sim/tiers",
  "scenarios/filings-fetch",
  "scenarios/filings",
  "sim/redirects",
  "ports/documents",
  "scenarios/companies",
  "lib/article-gold",
  "scenarios/routes",
  "scenarios/alternates",
].map((name) => `/test/${name}.test.ts`);

function rankOf({ moduleId }: TestSpecification): number {
  const rank = SLOWEST.findIndex((name) => moduleId.endsWith(name));
  return rank === -1 ? SLOWEST.length : rank;
}

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- of the sequencer, not of an array
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

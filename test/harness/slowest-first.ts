/**
 * The order of test files: those that take longest begin first, so that none of them runs alone at the end. Vitest
 * itself knows that only from an earlier run, and a clean checkout has none.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** More than 20 s each on two cores, beside others. */
const SLOWEST = [
  "scenarios/jobs-crash",
  "scenarios/hostile",
  "scenarios/status",
  "scenarios/life",
  "scenarios/browser-nodes",
  "tiers/browser-faults",
  "scenarios/jobs",
  "filings/source",
  "scenarios/chaos",
  "scenarios/nodes",
  "scenarios/filings-limiter",
  "scenarios/access",
  "tiers/browser",
  "ports/http",
  "scenarios/refusing-stores",
  "scenarios/filings-batch",
  "scenarios/fetch",
  "ports/blobs",
  "scenarios/filings",
  "scenarios/failing-disks",
  "scenarios/accounts-nodes",
  "tiers/browser-guard",
  "sim/accounts",
  "scenarios/jobs-nodes",
  "scenarios/companies",
  "tiers/screenshot",
  "scenarios/profiles",
  "scenarios/ladder",
  "scenarios/politeness",
  "scenarios/alternates",
  "scenarios/schemathesis",
  "lib/article-gold",
  "scenarios/routes",
  "ports/documents",
  "sim/redirects",
  "lib/extract",
  "sim/tiers",
  "scenarios/openapi",
  "scenarios/filings-fetch",
  "ports/workers",
  "sim/politeness",
  "ports/http-slow",
  "scenarios/search",
  "tenants/tenants",
  "ports/leases",
  "scenarios/power-cut",
  "scenarios/cache",
  "scenarios/robots",
  "sim/cluster",
  "scenarios/pages",
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

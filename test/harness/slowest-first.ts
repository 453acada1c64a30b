/**
 * The order of test files: those that take longest begin first, so that none of them runs alone at the end. Vitest
 * itself knows that only from an earlier run, and a clean checkout has none.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** About 20 s and more each on two cores, beside others: the longest first, those that wait between those that compute. */
const SLOWEST = [
  "scenarios/hostile",
  "ports/nats-cluster",
  "scenarios/nodes",
  "scenarios/jobs-crash",
  "tiers/browser-faults",
  "scenarios/life",
  "scenarios/jobs",
  "sim/redirects",
  "scenarios/status",
  "sim/tiers",
  "filings/source",
  "scenarios/chaos",
  "scenarios/failing-disks",
  "scenarios/access",
  "tiers/browser-bystanders",
  "tiers/browser",
  "sim/accounts",
  "scenarios/refusing-stores",
  "scenarios/accounts-nodes",
  "scenarios/filings-limiter",
  "ports/http",
  "scenarios/companies",
  "scenarios/browser-nodes",
  "ports/documents",
  "scenarios/filings",
  "tiers/screenshot",
  "lib/extract",
  "scenarios/filings-batch",
  "tiers/browser-guard",
  "scenarios/politeness",
  "ports/blobs",
  "scenarios/profiles",
  "sim/cluster",
  "scenarios/pages",
  "scenarios/ladder",
  "ports/http-slow",
  "sim/power",
  "ports/leases",
  "scenarios/schemathesis",
  "scenarios/fetch",
  "lib/article-gold",
  "ports/workers",
  "sim/politeness",
  "scenarios/openapi",
  "scenarios/filings-fetch",
  "scenarios/cache",
  "scenarios/routes",
  "scenarios/search",
  "scenarios/alternates",
  "scenarios/jobs-nodes",
  "sim/jobs",
  "tenants/tenants",
  "tenants/shared",
  "scenarios/robots",
  "scenarios/power-cut",
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

/** The collections of a node: every one is listed, and the lists say what is removed and what may be lost. */
import { glob } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { collection, missingFrom } from "../../cluster/collection.ts";
import { assertListed, EXPIRING, LISTED } from "../../ops/collections.ts";
import { REBUILDABLE } from "../../ops/stores.ts";

const DECLARATION = /\bcollection<[^;]*?>\(\s*"([a-z_]+)"/g;

/** Names in the source, by a reading of its text. */
const written = new Set<string>();
beforeAll(async () => {
  for await (const path of glob(
    ["actors", "cluster", "gateway", "ops", "records"].map((top) => `${top}/**/*.ts`),
  ))
    for (const [, name] of readFileSync(path, "utf8").matchAll(DECLARATION)) written.add(name!);
});

test("every collection that is declared anywhere is listed", () => {
  expect(written.size).toBeGreaterThan(30);
  expect([...written].toSorted()).toEqual([...new Set(LISTED.map(({ name }) => name))].toSorted());
});

test("a node does not start with a collection that no feature lists", () => {
  // Files of tests that ran before in this process have declared collections of their own.
  const of_tests = missingFrom(LISTED)
    .filter((name) => name.startsWith("test_"))
    .map((name) => ({ name }));
  const listed = [...LISTED, ...of_tests];
  expect(() => assertListed(listed)).not.toThrow();
  expect(() => assertListed(listed.filter(({ name }) => name !== "invoices"))).toThrow(
    'Cannot start: the collections "invoices" are declared, and no feature lists them',
  );
  collection("test_unlisted");
  expect(() => assertListed()).toThrow('"test_unlisted"');
});

test("documents that expire are removed, and only caches may be lost", () => {
  expect(EXPIRING.toSorted()).toEqual([
    "alert_deliveries",
    "archive_captures",
    "archive_imports",
    "archive_layouts",
    "archived_requests",
    "body_grants",
    "body_refs",
    "company_changes",
    "company_checks",
    "company_deliveries",
    "company_ids",
    "company_people",
    "dead_letters",
    "debug_records",
    "fetch_posts",
    "filing_documents",
    "filing_texts",
    "job_sinks",
    "key_events",
    "ledger",
    "monitor_changes",
    "operator_events",
    "pages",
    "profile_pages",
    "project_jobs",
    "request_audit",
    "request_spend",
    "searches",
    "sessions",
    "status_incidents",
    "status_maintenance",
    "store_probes",
    "submissions_files",
    "usage_days",
    "usage_key_days",
    "usage_key_months",
  ]);
  expect(REBUILDABLE.toSorted()).toEqual([
    "archive_layouts",
    "company_source_health",
    "company_source_shapes",
    "filing_documents",
    "pages",
    "profile_pages",
    "searches",
  ]);
});

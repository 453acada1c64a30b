/** The change feed on the real stores: four writers and one reader at the same time, with a sequencer that follows them. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { materialise, withChange } from "../../actors/sources/companies/apply-answers.ts";
import { readChanges, type StoredChange } from "../../actors/sources/companies/feed/changes.ts";
import { sequence } from "../../actors/sources/companies/feed/sequencer.ts";
import { afterObservation } from "../../actors/sources/companies/stored-claims.ts";
import { COMPANIES, putCompany, type StoredCompany } from "../../actors/sources/companies/stored-company.ts";
import { mongoDocuments } from "../../cluster/adapters/documents/documents.mongo.ts";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { yieldToEventLoop } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { claimOf, document } from "../harness/companies-harness.ts";
import { engines } from "../harness/engines.ts";
import { mongoDatabases } from "../harness/mongo-databases.ts";

const { documents: mongo } = await engines("documents");
const clock = systemClock();
const WRITERS = 4;
/** Changes of each writer. */
const CHANGES = 250;
const COMPANIES_OF_ALL = 60;

function newCompany(id: string): StoredCompany {
  const at_ms = clock.now();
  const group = afterObservation(
    null,
    {
      company_id: id,
      source: "a",
      group: "core",
      native_id: "1",
      precedence: 60,
      documents: [document(at_ms)],
      claims: [claimOf(["names.legal", id])],
      is_complete: true,
      at_ms,
    },
    at_ms,
  );
  const knowledge = { groups: [group], people: [], checks: {} };
  return materialise(null, id, knowledge, [], { sources: [], epoch: 0, now_ms: at_ms })!;
}

function feedSuite(open: () => Promise<Documents>): void {
  test(
    "1,000 changes of four writers are read once each, in the order of each company",
    { timeout: 120_000 },
    async () => {
      const documents = await open();
      const written = new Map<string, number>();

      async function writer(number: number): Promise<void> {
        for (let change = 0; change < CHANGES; change++) {
          // Each company is written by all four.
          const id = `cmp_${String((number * 17 + change) % COMPANIES_OF_ALL).padStart(16, "0")}`;
          for (;;) {
            const stored = await COMPANIES.read(documents, id);
            const after = stored
              ? withChange(stored.value, stored.value.record, "updated", ["names"], clock.now())
              : newCompany(id);
            if (!(await putCompany(documents, after, stored?.version ?? 0))) continue;
            written.set(id, Math.max(written.get(id) ?? 0, after.version));
            break;
          }
        }
      }

      let isWriting = true;
      async function sequencer(): Promise<void> {
        let from: string | null = null;
        for (let isLast = false; !isLast;) {
          const wasWriting: boolean = isWriting;
          const done: Awaited<ReturnType<typeof sequence>> = await sequence(
            { documents, clock, ownsKey: () => true },
            from,
          );
          from = done.next_from;
          isLast = !wasWriting && done.is_done && done.sequenced === 0;
          await yieldToEventLoop(clock);
        }
      }

      const read: StoredChange[] = [];
      async function reader(): Promise<void> {
        let after = 0;
        while (read.length < WRITERS * CHANGES) {
          const page = await readChanges(documents, after, 37, null);
          if (page === "expired") throw new Error(`the change after ${after} is gone`);
          read.push(...page.changes);
          after = page.through_seq;
          await yieldToEventLoop(clock);
        }
      }

      const writing = Promise.all(Array.from({ length: WRITERS }, (_, number) => writer(number)));
      await Promise.all([writing.then(() => void (isWriting = false)), sequencer(), reader()]);
      expect(read.map(({ seq }) => seq)).toEqual(read.map((_, at) => at + 1));
      const versions = new Map<string, number>();
      for (const { company_id, version } of read) {
        expect(version).toBe((versions.get(company_id) ?? 0) + 1);
        versions.set(company_id, version);
      }
      expect(versions).toEqual(written);
      expect(await readChanges(documents, read.length, 10, null)).toMatchObject({ changes: [] });
      await documents.close();
    },
  );
}

const folder = mkdtempSync(join(tmpdir(), "trawl-company-feed-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("the change feed in SQLite", () => {
  feedSuite(async () => sqliteDocuments(join(folder, `${randomUUID()}.sqlite`)));
});

describe.skipIf(mongo === null)("the change feed in MongoDB", () => {
  const nextDatabase = mongoDatabases(mongo);
  feedSuite(async () => mongoDocuments(nextDatabase()));
});

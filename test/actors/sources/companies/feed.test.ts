/**
 * The change feed under writers that write at the same time, sequencers that die between any two writes, and sequencers
 * that do not know that they are owners no more: what readers read is what was committed, each change once.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  changeKey,
  COMPANY_CHANGES,
  readChanges,
  seqBefore,
  type StoredChange,
} from "../../../../actors/sources/companies/feed/changes.ts";
import { sequence } from "../../../../actors/sources/companies/feed/sequencer.ts";
import { materialise, withChange } from "../../../../actors/sources/companies/apply-answers.ts";
import { afterObservation } from "../../../../actors/sources/companies/stored-claims.ts";
import {
  COMPANIES,
  putCompany,
  type StoredCompany,
} from "../../../../actors/sources/companies/stored-company.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { claimOf, document } from "../../../harness/companies-harness.ts";

const START_MS = Date.UTC(2026, 10, 22);

function newCompany(id: string, jurisdiction = "CH"): StoredCompany {
  const group = afterObservation(
    null,
    {
      company_id: id,
      source: "a",
      group: "core",
      native_id: "1",
      precedence: 60,
      documents: [document(START_MS)],
      claims: [claimOf(["names.legal", id]), claimOf(["jurisdiction", jurisdiction])],
      is_complete: true,
      at_ms: START_MS,
    },
    START_MS,
  );
  const knowledge = { groups: [group], people: [], checks: {} };
  return materialise(null, id, knowledge, [], { sources: [], epoch: 0, now_ms: START_MS })!;
}

class Crash extends Error {}

/** A process whose next writes may be its last: it dies before or after one of them. */
function mortal(documents: Documents, random: () => number, chance: number): Documents {
  const die = (): void => {
    if (random() < chance) throw new Crash();
  };
  return {
    ...documents,
    async put(...args) {
      die();
      const done = await documents.put(...args);
      die();
      return done;
    },
  };
}

async function readAll(documents: Documents, random: () => number): Promise<StoredChange[]> {
  const read: StoredChange[] = [];
  let after = 0;
  for (;;) {
    const page = await readChanges(documents, after, 1 + Math.floor(random() * 50), null);
    if (page === "expired") throw new Error("expired");
    if (page.changes.length === 0) return read;
    read.push(...page.changes);
    after = page.through_seq;
  }
}

describe("the change feed", () => {
  test(
    "loses and doubles nothing of 3,200 changes by 16 writers while sequencers crash and go stale",
    { timeout: 60_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer(), async (seed) => {
          const seeded = seededRandom(seed);
          const random = (): number => seeded.next();
          const documents = memoryDocuments();
          const clock = virtualClock(START_MS);
          const [writers, updates] = [16, 200];
          const committed = new Map<string, number>();

          async function writer(number: number): Promise<void> {
            for (let update = 0; update < updates; update++) {
              const id = `cmp_${String((number * 7 + update) % 40).padStart(16, "0")}`;
              for (;;) {
                const stored = await documents.get(COMPANIES.name, id);
                const before = (stored?.value as StoredCompany | undefined) ?? null;
                const after = before
                  ? withChange(before, before.record, "updated", ["names"], clock.now())
                  : newCompany(id);
                if (await putCompany(documents, after, stored?.version ?? 0)) {
                  committed.set(id, after.version);
                  break;
                }
              }
            }
          }

          let isWriting = true;
          async function sequencer(): Promise<void> {
            while (isWriting) {
              const process = mortal(documents, random, 0.02);
              try {
                let from: string | null = null;
                for (let batch = 0; batch < 10; batch++)
                  from = (await sequence({ documents: process, clock, ownsKey: () => true }, from)).next_from;
              } catch (problem) {
                if (!(problem instanceof Crash)) throw problem;
              }
            }
          }

          const writing = Promise.all(Array.from({ length: writers }, (_, number) => writer(number))).then(
            () => {
              isWriting = false;
            },
          );
          // The second one believes that it owns the key as well.
          await Promise.all([writing, sequencer(), sequencer()]);
          for (let pass = 0; pass < 40; pass++)
            await sequence({ documents, clock, ownsKey: () => true }, null);

          const read = await readAll(documents, random);
          expect(read.map(({ seq }) => seq)).toEqual(read.map((_, index) => index + 1));
          expect(read).toHaveLength(writers * updates);
          const versions = new Map<string, number>();
          for (const { company_id, version } of read) {
            expect(version).toBe((versions.get(company_id) ?? 0) + 1);
            versions.set(company_id, version);
          }
          expect(versions).toEqual(committed);
        }),
        { numRuns: 1 },
      );
    },
  );

  test("keeps a reader before a change that is still being written", async () => {
    const documents = memoryDocuments();
    const clock = virtualClock(START_MS);
    for (let each = 0; each < 3; each++)
      await putCompany(documents, newCompany(`cmp_${String(each).padStart(16, "0")}`), 0);
    const held = Promise.withResolvers<void>();
    const slow: Documents = {
      ...documents,
      async put(collection, key, ...rest) {
        if (collection === COMPANY_CHANGES.name && key === changeKey(2)) await held.promise;
        return documents.put(collection, key, ...rest);
      },
    };
    const sequencing = sequence({ documents: slow, clock, ownsKey: () => true }, null);
    await clock.advance(1);
    expect(await documents.get(COMPANY_CHANGES.name, changeKey(3))).not.toBeNull();
    const before = await readChanges(documents, 0, 10, null);
    expect(before).toMatchObject({ changes: [{ seq: 1 }], through_seq: 1 });
    expect(await readChanges(documents, 1, 10, null)).toEqual({
      changes: [],
      baselines: [],
      through_seq: 1,
    });
    held.resolve();
    await sequencing;
    expect(await readChanges(documents, 1, 10, null)).toMatchObject({ changes: [{ seq: 2 }, { seq: 3 }] });
  });

  test("passes on over changes of other countries, and begins at a time", async () => {
    const documents = memoryDocuments();
    const clock = virtualClock(START_MS);
    const deps = { documents, clock, ownsKey: () => true };
    for (const [index, country] of ["CH", "DE", "CH", "FR"].entries()) {
      await putCompany(documents, newCompany(`cmp_${String(index).padStart(16, "0")}`, country), 0);
      await sequence(deps, null);
      await clock.advance(60_000);
    }
    const german = await readChanges(documents, 0, 10, "DE");
    expect(german).toMatchObject({ changes: [{ seq: 2, countries: ["DE"] }], through_seq: 4 });
    expect(await seqBefore(documents, START_MS)).toBe(0);
    expect(await seqBefore(documents, START_MS + 60_000)).toBe(1);
    expect(await seqBefore(documents, START_MS + 90_000)).toBe(2);
    expect(await seqBefore(documents, START_MS + 900_000)).toBe(4);
  });

  test("tells a reader whose next change has expired", async () => {
    const documents = memoryDocuments();
    const clock = virtualClock(START_MS);
    for (let each = 0; each < 3; each++) {
      await putCompany(documents, newCompany(`cmp_${String(each).padStart(16, "0")}`), 0);
      await sequence({ documents, clock, ownsKey: () => true }, null);
    }
    await documents.remove(COMPANY_CHANGES.name, changeKey(1), 1);
    expect(await readChanges(documents, 0, 10, null)).toBe("expired");
    expect(await readChanges(documents, 1, 10, null)).toMatchObject({ changes: [{ seq: 2 }, { seq: 3 }] });
    // Nothing has changed for so long that the feed is empty.
    for (const seq of [2, 3]) await documents.remove(COMPANY_CHANGES.name, changeKey(seq), 1);
    expect(await readChanges(documents, 1, 10, null)).toBe("expired");
    expect(await readChanges(documents, 3, 10, null)).toEqual({
      changes: [],
      baselines: [],
      through_seq: 3,
    });
  });
});

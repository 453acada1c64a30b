/**
 * Crash points: the node is killed before and after each write of a company's creation, change and merge, and started again
 * on what is stored. The client asks again. No claim and no change is lost or doubled.
 */
import { describe, expect, test } from "vitest";
import { readChanges } from "../../../../actors/sources/companies/feed/changes.ts";
import { COMPANIES, type StoredCompany } from "../../../../actors/sources/companies/stored-company.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { identifier, oneRegister, scriptedSource } from "../../../harness/companies-harness.ts";

const LEI = "5493001KJTIIGC8Y1R12";
const UID = "CHE101602521";

/** Creates two companies, changes one, and finds out that they are one. Kills the node at the n-th write; null: never. */
async function courseWith(at: number | null, when: "before" | "after") {
  const stored = memoryDocuments();
  let writes = 0;
  let kill = (): void => {};
  const documents: Documents = {
    ...stored,
    async put(...args) {
      const isTarget = ++writes === at;
      if (isTarget && when === "before") {
        kill();
        return new Promise(() => {});
      }
      const result = await stored.put(...args);
      if (!isTarget) return result;
      kill();
      return new Promise(() => {});
    },
  };
  let [name, isLinked] = ["Alpina AG", false];
  const register = oneRegister(
    (now) => [
      scriptedSource(
        "gleif",
        "lei",
        () => ({ core: [["names.legal", name], identifier("lei", LEI)] }),
        {},
        now,
      ),
      scriptedSource(
        "zefix",
        "ch_uid",
        () => ({
          core: [
            ["names.legal", "Alpina Maschinenbau AG"],
            identifier("ch_uid", UID),
            ...(isLinked ? [identifier("lei", LEI)] : []),
          ],
        }),
        {},
        now,
      ),
    ],
    documents,
  );
  kill = () => register.kill();
  /** The client asks again when the node died under its request. */
  const ask = async (reference: string): Promise<void> => {
    for (let tries = 0; tries < 3; tries++) {
      let isAnswered = false;
      const asking = register.get(reference, { refresh: true }).then(
        () => (isAnswered = true),
        () => false,
      );
      for (let step = 0; step < 20 && !isAnswered; step++) await register.clock.advance(50);
      if (isAnswered) return void (await asking);
    }
    throw new Error("No answer after three requests");
  };
  await ask(`lei:${LEI}`);
  await ask(`ch_uid:${UID}`);
  name = "Alpina Technik AG";
  await ask(`lei:${LEI}`);
  isLinked = true;
  await ask(`ch_uid:${UID}`);
  // A node that starts wakes the feed; what it finds may lead to more.
  for (let pass = 0; pass < 4; pass++) await register.feed();
  const page = await readChanges(stored, 0, 100, null);
  if (page === "expired") throw new Error("expired");
  const companies = (await stored.list(COMPANIES.name, { limit: 10 })).map(
    ({ value }) => value as StoredCompany,
  );
  await register.stop();
  return { companies, changes: page.changes, writes };
}

/**
 * A client that asks again after the merge may have the survivor observe what the other company observed before, so
 * claims are compared as a set over both; within one company none may stand twice.
 */
function summary({ companies, changes }: Awaited<ReturnType<typeof courseWith>>) {
  const statements = companies.map(({ groups }) =>
    groups.flatMap(({ source, claims }) =>
      claims.map(({ field, value, closed }) => JSON.stringify([source, field, value, closed !== undefined])),
    ),
  );
  return {
    companies: companies
      .map(({ merged_into, record, outbox }) => ({
        isMerged: merged_into !== null,
        identifiers: record.identifiers.map(({ scheme }) => scheme),
        legal: record.names.legal,
        outbox,
      }))
      .toSorted((a, b) => Number(a.isMerged) - Number(b.isMerged)),
    claims: [...new Set(statements.flat())].toSorted(),
    doubled: statements.flatMap((own) => own.filter((statement, index) => own.indexOf(statement) !== index)),
    changes: changes.map(({ type, fields }) => `${type} ${fields.toSorted().join(",")}`).toSorted(),
  };
}

describe("a crash", () => {
  test(
    "before or after any write loses and doubles no claim and no change",
    { timeout: 60_000 },
    async () => {
      const undisturbed = await courseWith(null, "after");
      const expected = summary(undisturbed);
      expect(expected.companies).toMatchObject([
        { isMerged: false, identifiers: ["ch_uid", "lei"], outbox: [] },
        { isMerged: true, outbox: [] },
      ]);
      expect(expected.changes).toHaveLength(6);
      for (let at = 1; at <= undisturbed.writes; at++)
        for (const when of ["before", "after"] as const) {
          const course = await courseWith(at, when);
          expect({ at, when, ...summary(course) }).toEqual({ at, when, ...expected });
          for (const [index, { seq }] of course.changes.entries()) expect(seq).toBe(index + 1);
        }
    },
  );
});

/** Grants of bodies: what is stored again, and what the memory of the last ones says. */
import { expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { openBodyGrants } from "../../gateway/body-access.ts";

const BODY = { sha256: "a".repeat(64), content_type: "text/html", body_kind: "origin" } as const;
const DAY_MS = 86_400_000;

function opened() {
  const clock = virtualClock(0);
  const documents = memoryDocuments();
  const put = documents.put.bind(documents);
  let writes = 0;
  const counted = {
    ...documents,
    put: (...args: Parameters<typeof put>) => {
      writes++;
      return put(...args);
    },
  };
  const grants = openBodyGrants({ documents: counted, clock });
  const writesOf = async (project: string, seen: Parameters<typeof grants.record>[1]): Promise<number> => {
    const before = writes;
    await grants.record(project, seen);
    return writes - before;
  };
  return { clock, grants, writesOf };
}

test("a grant is stored once a day for each project and type of a body", async () => {
  const { clock, grants, writesOf } = opened();
  expect(await writesOf("one", BODY)).toBe(1);
  expect(await writesOf("two", BODY)).toBe(1);
  expect(await writesOf("one", BODY)).toBe(0);
  expect(await writesOf("two", { ...BODY })).toBe(0);
  expect(grants.isFresh("three", BODY, 0)).toBe(false);
  const shown = { ...BODY, body_kind: "rendered_dom" } as const;
  expect(grants.isFresh("one", shown, 0)).toBe(false);
  // It stands in the place of the other one.
  expect(await writesOf("one", shown)).toBe(2);
  expect([grants.isFresh("one", shown, 0), grants.isFresh("two", BODY, 0)]).toEqual([true, true]);
  await clock.advance(DAY_MS);
  expect(await writesOf("two", BODY)).toBe(2);
  expect(await writesOf("two", BODY)).toBe(0);
});

test("of a body that many projects retrieve the last hundred are in memory, and every grant holds", async () => {
  const { grants, writesOf } = opened();
  for (let n = 0; n < 150; n++) expect(await writesOf(`p${n}`, BODY)).toBe(1);
  const fresh = Array.from({ length: 150 }, (_, n) => grants.isFresh(`p${n}`, BODY, 0));
  expect(fresh).toEqual(Array.from({ length: 150 }, (_, n) => n >= 50));
  expect(await grants.find("p0", BODY.sha256)).toMatchObject(BODY);
  expect(await grants.find("p150", BODY.sha256)).toBeNull();
});

/** Grants of bodies: what is stored again, and what the memory of the last ones says. */
import { expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { bodyTag } from "../../cluster/body-refs.ts";
import { openBodyGrants } from "../../gateway/body-access.ts";
import { storeGrant } from "../../records/body-grants.ts";

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
  return { clock, documents, grants, writesOf };
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

test("a right that a page has is found by its project alone, until it ends", async () => {
  const { clock, documents, grants, writesOf } = opened();
  const { sha256, ...seen } = BODY;
  const pageOf = (project: string) => ({ right: { project, ...seen, retrieved_at_ms: 0 } });
  const put = (key: string, project: string) =>
    documents.put("pages", key, pageOf(project), 0, { tag: bodyTag(sha256, project) });
  for (let n = 0; n < 250; n++) await put(`page ${n}`, "many");
  await put("a", "one");
  await documents.put("pages", "b", {}, 0, { tag: bodyTag(sha256) });
  expect(await grants.find("one", sha256)).toEqual({ ...BODY, retrieved_at_ms: 0 });
  for (const project of ["on", "one two", "two", ""]) expect(await grants.find(project, sha256)).toBeNull();
  expect(await grants.find("one", "b".repeat(64))).toBeNull();
  // Nothing is written where the page has the right, and the memory of this process knows it.
  await grants.recorded("one", { ...BODY, retrieved_at_ms: 0 });
  expect(grants.isFresh("one", BODY, 0)).toBe(true);
  expect(await writesOf("one", BODY)).toBe(0);
  await clock.advance(31 * DAY_MS - 1);
  expect(await grants.find("one", sha256)).toMatchObject(BODY);
  await clock.advance(1);
  expect(await grants.find("one", sha256)).toBeNull();
  expect(await grants.find("many", sha256)).toBeNull();
});

test("a grant that takes the place of a page's right does not shorten a later one", async () => {
  const { documents, grants } = opened();
  await storeGrant(documents, "one", { ...BODY, retrieved_at_ms: 2 });
  await storeGrant(documents, "one", { ...BODY, retrieved_at_ms: 1 });
  expect(await grants.find("one", BODY.sha256)).toMatchObject({ retrieved_at_ms: 2 });
  await storeGrant(documents, "one", { ...BODY, retrieved_at_ms: 3 });
  expect(await grants.find("one", BODY.sha256)).toMatchObject({ retrieved_at_ms: 3 });
});

/** Typed collections: what `update` promises to writers of one document. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { collection, MAX_ATTEMPTS, missingFrom } from "../../cluster/collection.ts";
import type { Documents } from "../../cluster/ports/documents.ts";

interface Count {
  readonly count: number;
}

const COUNTS = collection<Count>("test_counts", { expires: true });
const increment = (stored: Count | null) => ({ value: { count: (stored?.count ?? 0) + 1 } });

test("no change of concurrent writers is lost", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: MAX_ATTEMPTS }), async (writers) => {
      const documents = memoryDocuments();
      await Promise.all(Array.from({ length: writers }, () => COUNTS.update(documents, "a", increment)));
      expect(await COUNTS.read(documents, "a")).toEqual({ value: { count: writers }, version: writers });
    }),
    { numRuns: 20 },
  );
});

test("a writer that is never first ends with a fault that names the document", async () => {
  const documents = memoryDocuments();
  let writes = 0;
  const contended: Documents = {
    ...documents,
    async put() {
      writes++;
      return false;
    },
  };
  await expect(COUNTS.update(contended, "a", increment)).rejects.toMatchObject({
    code: "document_contended",
    message: `Cannot change "test_counts/a": other writers were first ${MAX_ATTEMPTS} times`,
  });
  expect(writes).toBe(MAX_ATTEMPTS);
});

test("a change is made again from the newer value when another writer was first", async () => {
  const documents = memoryDocuments();
  await COUNTS.put(documents, "a", { count: 1 }, 0);
  const seen: (Count | null)[] = [];
  const stored = await COUNTS.update(documents, "a", async (value) => {
    seen.push(value);
    if (seen.length === 1) await COUNTS.put(documents, "a", { count: 10 }, 1);
    return increment(value);
  });
  expect([seen, stored]).toEqual([[{ count: 1 }, { count: 10 }], { value: { count: 11 }, version: 3 }]);
});

test("null leaves the document, and the answer is what is stored", async () => {
  const documents = memoryDocuments();
  expect(await COUNTS.update(documents, "a", () => null)).toBeNull();
  await COUNTS.put(documents, "a", { count: 1 }, 0);
  expect(await COUNTS.update(documents, "a", () => null)).toEqual({ value: { count: 1 }, version: 1 });
});

test("a document is removed once, and one that is not there is not written for it", async () => {
  const documents = memoryDocuments();
  await COUNTS.put(documents, "a", { count: 1 }, 0);
  expect(await COUNTS.update(documents, "a", () => "remove")).toBeNull();
  expect(await COUNTS.get(documents, "a")).toBeNull();
  expect(await COUNTS.update(documents, "a", () => "remove")).toBeNull();
});

test("what the caller has read already is not read again, and does not win over a newer value", async () => {
  const documents = memoryDocuments();
  const known = null;
  let reads = 0;
  const counted: Documents = {
    ...documents,
    get(...named) {
      reads++;
      return documents.get(...named);
    },
  };
  await COUNTS.update(counted, "a", increment, known);
  expect(reads).toBe(0);
  await COUNTS.update(counted, "a", increment, known);
  expect(await COUNTS.get(documents, "a")).toEqual({ count: 2 });
});

test("the options of a change are stored with it", async () => {
  const documents = memoryDocuments();
  await COUNTS.update(documents, "a", () => ({
    value: { count: 1 },
    options: { tag: "t", expires_at_ms: 5 },
  }));
  expect(await COUNTS.list(documents, { tag: "t", limit: 2 })).toEqual([
    { key: "a", value: { count: 1 }, version: 1 },
  ]);
  expect(await documents.removeExpired(COUNTS.name, 6, 1)).toBe(1);
});

test("values are given in the order of the keys", async () => {
  const documents = memoryDocuments();
  await COUNTS.put(documents, "b", { count: 2 }, 0);
  expect(await COUNTS.getMany(documents, ["a", "b"])).toEqual([null, { count: 2 }]);
});

test("a name is declared once", () => {
  expect(() => collection("test_counts")).toThrow('"test_counts" is declared twice');
});

test("a collection that no list names is found", () => {
  expect(missingFrom([])).toContain("test_counts");
  expect(missingFrom([COUNTS])).not.toContain("test_counts");
});

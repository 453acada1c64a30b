/** Which documents the bodies belong to: what a start finds, and what becomes of copies, restores and the operator's word. */
import { expect, test } from "vitest";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { bodyRefs } from "../../cluster/body-refs.ts";
import { adoptBodies, openStoreIdentity, readIdentity } from "../../ops/store-identity.ts";

const HOUR_MS = 60 * 60_000;

function world() {
  const random = seededRandom(1);
  const time = { now_ms: Date.UTC(2026, 10, 24) };
  const storesOf = (documents: Documents, blobs: Blobs) => ({
    documents,
    blobs,
    places: { documents: '"documents.sqlite"', bodies: '"bodies"' },
    now_ms: () => time.now_ms,
    random,
  });
  return {
    time,
    storesOf,
    open: (documents: Documents, blobs: Blobs) => openStoreIdentity(storesOf(documents, blobs)),
    /** An hour passes, and the service looks at its stores. */
    later: (identity: { look: () => Promise<unknown> }) => {
      time.now_ms += HOUR_MS;
      return identity.look();
    },
  };
}

/** Copies the documents into a store of their own: a copy, or a backup of this moment. */
async function copyOf(documents: Documents): Promise<Documents> {
  const copy = memoryDocuments();
  for (const collection of ["stores", "body_refs"])
    for (const { key, value } of await documents.list(collection, { limit: 1_000 }))
      await copy.put(collection, key, value, 0);
  return copy;
}

async function withBody(documents: Documents, blobs: Blobs, text = "page"): Promise<void> {
  const { sha256 } = await blobs.put(Buffer.from(text));
  await bodyRefs(documents).retain([sha256], text, Infinity);
}

test("new stores get one id, and have it after every start", async () => {
  const { open, later } = world();
  const [documents, blobs] = [memoryDocuments(), memoryBlobs()];
  const first = await open(documents, blobs);
  expect(first.belonging()).toEqual({ kind: "one" });
  await withBody(documents, blobs);
  for (let n = 0; n < 3; n++) {
    const again = await open(documents, blobs);
    expect(again.id).toBe(first.id);
    expect(again.belonging()).toEqual({ kind: "one" });
    expect(await later(again)).toEqual({ kind: "one" });
    expect((await readIdentity({ documents, blobs })).bodies?.id).toBe(first.id);
  }
});

test("documents of an earlier version that name bodies adopt these", async () => {
  const { open } = world();
  const [documents, blobs] = [memoryDocuments(), memoryBlobs()];
  await withBody(documents, blobs);
  const { id, belonging } = await open(documents, blobs);
  expect(belonging()).toEqual({ kind: "one" });
  expect((await blobs.readMark())?.id).toBe(id);
});

test("nodes of a cluster that agreed on an id before keep it", async () => {
  const documents = memoryDocuments();
  await documents.put("cluster", "settings", { id: "node-1", settings: {} }, 0);
  expect((await world().open(documents, memoryBlobs())).id).toBe("node-1");
});

test.each([
  ["of an earlier version", false],
  ["with an id", true],
])(
  "new documents beside bodies %s do not adopt them, at no later start either, until the operator says so",
  async (_, isMarked) => {
    const { open, later, storesOf } = world();
    const [lost, blobs] = [memoryDocuments(), memoryBlobs()];
    await withBody(lost, blobs);
    if (isMarked) await open(lost, blobs);
    const documents = memoryDocuments();
    // A command beside the service has written keys before the first start.
    await documents.put("api_keys", "a", 1, 0);
    const found = await open(documents, blobs);
    expect(found.belonging()).toEqual({
      kind: "apart",
      problem: expect.stringMatching(
        /"documents.sqlite" are new, and "bodies" has bodies already.*trawl stores adopt/s,
      ),
    });
    await withBody(documents, blobs, "another page");
    expect(await later(found)).toMatchObject({ kind: "apart" });
    expect((await open(documents, blobs)).belonging()).toMatchObject({ kind: "apart" });
    const former = (await blobs.readMark())?.id ?? null;
    expect(await adoptBodies(storesOf(documents, blobs))).toEqual({ id: found.id, former_id: former });
    expect(await later(found)).toEqual({ kind: "one" });
    expect((await open(documents, blobs)).belonging()).toEqual({ kind: "one" });
  },
);

test("stores with two ids do not start, and the sentence names both and what to do", async () => {
  const { open, storesOf } = world();
  const [documents, blobs] = [memoryDocuments(), memoryBlobs()];
  const [others, other_blobs] = [memoryDocuments(), memoryBlobs()];
  const { id } = await open(documents, blobs);
  const other = await open(others, other_blobs);
  await expect(open(documents, other_blobs)).rejects.toThrow(
    new RegExp(
      `"documents.sqlite" and the bodies in "bodies".*"${id}".*"${other.id}".*trawl stores adopt`,
      "s",
    ),
  );
  await adoptBodies(storesOf(documents, other_blobs));
  expect((await open(documents, other_blobs)).belonging()).toEqual({ kind: "one" });
});

test("bodies that lost their id, or are another empty place, are not collected", async () => {
  const { open } = world();
  const documents = memoryDocuments();
  await open(documents, memoryBlobs());
  expect((await open(documents, memoryBlobs())).belonging()).toMatchObject({
    kind: "apart",
    problem: expect.stringContaining('"bodies" carry no id'),
  });
});

test("a copy of the documents that is used elsewhere with the same bodies stops both, and adopting one ends it for that one", async () => {
  const { open, later, storesOf } = world();
  const [documents, blobs] = [memoryDocuments(), memoryBlobs()];
  const original = await open(documents, blobs);
  const copied = await copyOf(documents);
  const copy = await open(copied, blobs);
  expect(copy.belonging()).toEqual({ kind: "one" });
  expect(await later(copy)).toEqual({ kind: "one" });
  const older = {
    kind: "apart",
    problem: expect.stringContaining("or a copy of documents that another service uses"),
  };
  expect(await original.look()).toEqual(older);
  expect(await copy.look()).toEqual(older);
  await adoptBodies(storesOf(documents, blobs));
  for (let n = 0; n < 3; n++) {
    expect(await later(original)).toEqual({ kind: "one" });
    expect(await later(copy)).toEqual(older);
  }
});

test("documents that were restored from a backup of an hour before do not collect until they are adopted", async () => {
  const { open, later, storesOf } = world();
  const [documents, blobs] = [memoryDocuments(), memoryBlobs()];
  const identity = await open(documents, blobs);
  const backup = await copyOf(documents);
  await later(identity);
  const restored = await open(backup, blobs);
  expect(restored.belonging()).toMatchObject({ kind: "apart" });
  await adoptBodies(storesOf(backup, blobs));
  expect(await later(restored)).toEqual({ kind: "one" });
});

test("a turn that a crash left half done is completed, wherever it stopped", async () => {
  for (let calls = 1; calls < 8; calls++) {
    const { open, later, storesOf } = world();
    const [documents, blobs] = [memoryDocuments(), memoryBlobs()];
    await open(documents, blobs);
    let left = calls;
    const countdown = <T>(call: () => Promise<T>): Promise<T> =>
      left-- > 0 ? call() : Promise.reject(new Error("crashed"));
    const dying = {
      ...storesOf(
        { ...documents, put: (...given) => countdown(() => documents.put(...given)) },
        { ...blobs, writeMark: (mark) => countdown(() => blobs.writeMark(mark)) },
      ),
    };
    const identity = await openStoreIdentity(dying);
    await later(identity).catch(() => {});
    const again = await open(documents, blobs);
    expect([calls, again.belonging()]).toEqual([calls, { kind: "one" }]);
    expect(await later(again)).toEqual({ kind: "one" });
  }
});

test("nodes that start and turn at the same moment agree", async () => {
  const { open, time } = world();
  const [documents, blobs] = [memoryDocuments(), memoryBlobs()];
  const nodes = await Promise.all(Array.from({ length: 4 }, () => open(documents, blobs)));
  expect(new Set(nodes.map(({ id }) => id)).size).toBe(1);
  for (let n = 0; n < 5; n++) {
    time.now_ms += HOUR_MS;
    const looks = await Promise.all(nodes.map(({ look }) => look()));
    expect(looks).toEqual(nodes.map(() => ({ kind: "one" })));
  }
});

/** How long what was archived stays: the collection of bodies asks the same references. */
import { expect, test } from "vitest";
import { ARCHIVE_TTL_MS, archiveKeeper } from "../../../../actors/crawl/archive/keep.ts";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { BODY_REF_COLLECTIONS, BODY_REFS, referencedBetween } from "../../../../cluster/body-refs.ts";
import { sha256Of } from "../../../../cluster/ports/blobs.ts";
import { EMPTY_RECORD, type PageRecord } from "../../../../schemas/fetch.ts";

const digest = (digit: string): string => digit.repeat(64);
/** Its list of exchanges is empty: a page from elsewhere. */
const CONTENT = Buffer.from(
  JSON.stringify({ version: 1, url: "http://a.test/", exchanges: [], attempts: [] }),
);
const RECORD: PageRecord = {
  ...EMPTY_RECORD,
  sha256: digest("a"),
  archive: { sha256: sha256Of(CONTENT), bodies: [digest("c"), digest("d")] },
};

test("keeps every body of an archive as long as its project may download it, and no longer", async () => {
  const documents = memoryDocuments();
  const clock = virtualClock(0);
  const blobs = memoryBlobs();
  await blobs.put(CONTENT);
  const { keep, find } = archiveKeeper({ blobs, documents, clock });
  await keep("mine", "req_1", RECORD);
  const referenced = () =>
    referencedBetween(documents, BODY_REF_COLLECTIONS, { from: "0", to: "g" }).then((all) =>
      [...all].toSorted(),
    );
  const removed = (now_ms: number) =>
    Promise.all(
      ["archived_requests", BODY_REFS.name].map((name) => documents.removeExpired(name, now_ms, 100)),
    );
  await removed(ARCHIVE_TTL_MS - 1);
  expect(await find("mine", "req_1")).toEqual(RECORD);
  expect(await referenced()).toEqual([...["a", "c", "d"].map(digest), sha256Of(CONTENT)].toSorted());
  expect(await find("others", "req_1")).toBeNull();
  await removed(2 * ARCHIVE_TTL_MS);
  expect(await find("mine", "req_1")).toBeNull();
  expect(await referenced()).toEqual([]);
});

test("keeps nothing of a page without exchanges", async () => {
  const documents = memoryDocuments();
  const { keep, find } = archiveKeeper({ blobs: memoryBlobs(), documents, clock: virtualClock(0) });
  await keep("mine", "req_1", { ...RECORD, archive: undefined } as unknown as PageRecord);
  expect(await find("mine", "req_1")).toBeNull();
});

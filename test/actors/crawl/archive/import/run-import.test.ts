/** Runs of an import that die or meet another run: each record is counted once. */
import { expect, test } from "vitest";
import {
  ARCHIVE_CAPTURES,
  ARCHIVE_IMPORTS,
  type StoredImport,
} from "../../../../../actors/crawl/archive/collections.ts";
import { type RunDeps, runImport } from "../../../../../actors/crawl/archive/import/run-import.ts";
import { importKey } from "../../../../../actors/crawl/archive/import/stored-import.ts";
import { memoryBlobs } from "../../../../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../../../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../../../../cluster/adapters/time/clock.virtual.ts";
import { bodyRefs } from "../../../../../cluster/body-refs.ts";
import { sha256Of } from "../../../../../cluster/ports/blobs.ts";
import { Fault } from "../../../../../cluster/ports/fault.ts";
import { members, response } from "../../../../harness/archive-files.ts";
import { gate } from "../../../../harness/web.ts";

const RECORDS = 120;
const KEY = importKey("acme", "arc_1");
const file = members(
  ...Array.from({ length: RECORDS }, (_, n) =>
    response(`http://town.example/${n}`, "2015-03-04T05:06:07Z", `<p>${n}`),
  ),
);

async function announced() {
  const documents = memoryDocuments();
  const blobs = memoryBlobs();
  const sha256 = sha256Of(file);
  await blobs.put(file);
  const announcement: StoredImport = {
    id: "arc_1",
    project: "acme",
    is_shared: false,
    name: "town.warc.gz",
    bytes: file.length,
    sha256,
    state: "importing",
    problem: null,
    parts: [{ sha256, bytes: file.length }],
    place: { entry: 0, offset: 0 },
    is_verified: false,
    counts: { records: 0, captures: 0, known: 0, indexed: 0, bytes: 0 },
    skipped: {},
    bad: {},
    created_ms: 0,
    ended_ms: null,
  };
  await ARCHIVE_IMPORTS.put(documents, KEY, announcement, 0);
  const deps = (over: Partial<RunDeps> = {}): RunDeps => ({
    blobs,
    documents,
    refs: bodyRefs(documents),
    clock: virtualClock(),
    index: async () => false,
    unindex: () => {},
    ...over,
  });
  const stored = () => ARCHIVE_IMPORTS.get(documents, KEY);
  const captures = () => ARCHIVE_CAPTURES.list(documents, { limit: 1_000 });
  return { documents, deps, stored, captures };
}

const running = () => false;
const done = { state: "done", counts: { records: RECORDS, captures: RECORDS, known: 0 } };

test("a run that died behind the last record, before it said so, is not read again", async () => {
  const { documents, deps, stored, captures } = await announced();
  const dying = deps({
    documents: {
      ...documents,
      async put(name, key, value, version, options) {
        if ((value as { state?: string }).state === "done") throw new Fault("lease_lost", "The node died");
        return documents.put(name, key, value, version, options);
      },
    },
  });
  await expect(runImport(dying, KEY, running)).rejects.toThrow("The node died");
  expect(await stored()).toMatchObject({ state: "importing", counts: done.counts });
  expect(await runImport(deps(), KEY, running)).toBe(true);
  expect(await stored()).toMatchObject(done);
  expect(await captures()).toHaveLength(RECORDS);
});

test("a run that has lost the key to another counts nothing of what the other has read", async () => {
  const { documents, deps, stored, captures } = await announced();
  const next_stored = gate();
  const old_ended = gate();
  const old = deps({
    documents: {
      ...documents,
      async put(name, key, value, version, options) {
        if (name === "archive_imports" && (value as StoredImport).counts.records > 0)
          await next_stored.opened;
        return documents.put(name, key, value, version, options);
      },
    },
  });
  const next = deps({
    documents: {
      ...documents,
      async put(name, key, value, version, options) {
        if (name === "archive_imports" && (value as StoredImport).state === "done") await old_ended.opened;
        const isStored = await documents.put(name, key, value, version, options);
        if (name === "archive_imports" && (value as StoredImport).counts.records > 0) next_stored.open();
        return isStored;
      },
    },
  });
  const both = [runImport(old, KEY, running).finally(old_ended.open), runImport(next, KEY, running)];
  expect(await Promise.all(both)).toEqual([false, true]);
  expect(await stored()).toMatchObject(done);
  expect(await captures()).toHaveLength(RECORDS);
});

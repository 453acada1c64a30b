import { expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { bodyRefs, bodyTag } from "../../cluster/body-refs.ts";
import { openBodyGrants } from "../../gateway/body-access.ts";
import { expireDocuments } from "../../ops/expire-documents.ts";
import { collectBodies } from "../../ops/collect-bodies.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const DAY_MS = 24 * 60 * 60_000;
/** After so many minutes each of the 256 parts was looked at. */
const ROUND_MS = 257 * 60_000;

function cellar({ now_ms = Date.now() } = {}) {
  const clock = virtualClock(now_ms);
  const documents = memoryDocuments();
  const blobs = memoryBlobs();
  const telemetry = silentTelemetry();
  const { metrics, log } = telemetry;
  const work = [
    expireDocuments({ documents, clock, log, collections: ["body_refs", "body_grants"] }),
    collectBodies({ documents, blobs, clock, metrics, log, random: { next: () => 0.5 } }),
  ];
  const put = async (content: string) => (await blobs.put(Buffer.from(content))).sha256;
  const isThere = async (sha256: string) => (await blobs.head(sha256)) !== null;
  return { clock, documents, bodies: blobs, refs: bodyRefs(documents), put, isThere, work };
}

test("a body without references is removed once it is two days old", async () => {
  const { clock, put, isThere } = cellar();
  const stored = await Promise.all(["one", "two", "three"].map(put));
  await clock.advance(DAY_MS);
  expect(await Promise.all(stored.map(isThere))).toEqual([true, true, true]);
  await clock.advance(DAY_MS + ROUND_MS);
  expect(await Promise.all(stored.map(isThere))).toEqual([false, false, false]);
});

test("a body stays until its last reference has expired", async () => {
  const { clock, refs, put, isThere } = cellar();
  const page = await put("page");
  await refs.retain([page, null], "page a", clock.now() + 8 * DAY_MS);
  await refs.retain([page], "page b", clock.now() + 20 * DAY_MS);
  await clock.advance(19 * DAY_MS);
  expect(await isThere(page)).toBe(true);
  await clock.advance(2 * DAY_MS + 2 * ROUND_MS);
  expect(await isThere(page)).toBe(false);
});

test("a reference is never shortened, and one without an expiry lasts until it is released", async () => {
  const { clock, refs, put, isThere } = cellar();
  const page = await put("page");
  await refs.retain([page], "page", clock.now() + 30 * DAY_MS);
  await refs.retain([page], "page", clock.now() + DAY_MS);
  await clock.advance(29 * DAY_MS);
  expect(await isThere(page)).toBe(true);
  await refs.retain([page], "job", Infinity);
  await clock.advance(3 * DAY_MS);
  expect(await isThere(page)).toBe(true);
  await refs.release([page], "job");
  await clock.advance(ROUND_MS);
  expect(await isThere(page)).toBe(false);
});

test("a body stays as long as a document keeps it by its tag", async () => {
  const { clock, documents, put, isThere } = cellar();
  const [body, other] = await Promise.all(["page", "other page"].map(put));
  await documents.put("pages", "a", 1, 0, { tag: bodyTag(body!) });
  await clock.advance(3 * DAY_MS + ROUND_MS);
  expect(await Promise.all([body!, other!].map(isThere))).toEqual([true, false]);
  await documents.put("pages", "a", 2, 1, { tag: bodyTag(other!) });
  await clock.advance(ROUND_MS);
  expect(await isThere(body!)).toBe(false);
});

test("what a project retrieved stays for 30 days after the last time", async () => {
  const { clock, documents, put, isThere } = cellar();
  const seen = openBodyGrants({ documents, clock });
  const sha256 = await put("page");
  const grant = { sha256, content_type: null, body_kind: "origin" } as const;
  await seen.record("default", grant);
  await clock.advance(20 * DAY_MS);
  await seen.record("other", grant);
  await clock.advance(30 * DAY_MS - 1);
  expect(await isThere(sha256)).toBe(true);
  expect(await seen.find("other", sha256)).not.toBeNull();
  await clock.advance(DAY_MS + 2 * ROUND_MS);
  expect(await isThere(sha256)).toBe(false);
});

test("storing the same bytes again counts as storing them, and removing looks once more", async () => {
  const { bodies: blobs, put } = cellar();
  const sha256 = await put("page");
  const before = Date.now();
  await put("page");
  expect(await blobs.remove(sha256, before)).toBe(false);
  expect(await blobs.remove(sha256, Date.now() + 1)).toBe(true);
});

test("it stops when it is disposed", async () => {
  const { clock, work, put, isThere } = cellar();
  const sha256 = await put("page");
  for (const one of work) one[Symbol.dispose]();
  await clock.advance(5 * DAY_MS);
  expect(await isThere(sha256)).toBe(true);
});

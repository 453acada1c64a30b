import { expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { bodyRefs, bodyTag } from "../../cluster/body-refs.ts";
import { openBodyGrants } from "../../gateway/body-access.ts";
import { expireDocuments } from "../../ops/expire-documents.ts";
import { collectBodies, forceCollection } from "../../ops/collect-bodies.ts";
import type { Belonging } from "../../ops/store-identity.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const DAY_MS = 24 * 60 * 60_000;
/** After so many minutes each of the 256 parts was looked at. */
const ROUND_MS = 257 * 60_000;

function cellar({ now_ms = Date.now() } = {}) {
  const clock = virtualClock(now_ms);
  const documents = memoryDocuments();
  const swept: string[] = [];
  const blobs: Blobs = {
    ...memoryBlobs(),
    async sweep(digits) {
      swept.push(digits);
      return { indexed: 1, rewritten: 0, removed: 2 };
    },
  };
  const telemetry = silentTelemetry();
  const { metrics, log } = telemetry;
  const belonging = { now: { kind: "one" } as Belonging };
  const identity = { belonging: () => belonging.now, look: async () => belonging.now };
  const collection = collectBodies({
    documents,
    blobs,
    identity,
    clock,
    metrics,
    log,
    random: { next: () => 0.5 },
  });
  const work = [
    expireDocuments({ documents, clock, log, collections: ["body_refs", "body_grants"] }),
    collection,
  ];
  const put = async (content: string) => (await blobs.put(Buffer.from(content))).sha256;
  const isThere = async (sha256: string) => (await blobs.head(sha256)) !== null;
  return {
    clock,
    documents,
    bodies: blobs,
    refs: bodyRefs(documents),
    put,
    isThere,
    work,
    belonging,
    collection,
    telemetry,
    swept,
  };
}

/** How many of these are still there. */
const countOf = async ({ isThere }: ReturnType<typeof cellar>, digests: readonly string[]): Promise<number> =>
  (await Promise.all(digests.map(isThere))).filter(Boolean).length;

/** Bodies that a document names, and bodies that none does. */
async function filled(cellar_: ReturnType<typeof cellar>, named: number, unnamed: number) {
  const putAll = (count: number, what: string) =>
    Promise.all(Array.from({ length: count }, (_, n) => cellar_.put(`${what} ${n}`)));
  const kept = await putAll(named, "named");
  await cellar_.refs.retain(kept, "job", Infinity);
  return { kept, loose: await putAll(unnamed, "unnamed") };
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
  await documents.put("pages", "a", 1, 0, { tag: bodyTag(body!, "one") });
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

test("1,500 bodies beside documents that name none of them all stay, and an alarm says so", async () => {
  const all = cellar({ now_ms: Date.now() + 3 * DAY_MS });
  const { loose } = await filled(all, 0, 1_500);
  await all.clock.advance(2 * DAY_MS);
  expect(await countOf(all, loose)).toBe(1_500);
  expect(all.collection.stopped()).toMatch(
    /no document names \d+ of the \d+ bodies .*trawl bodies collect --force/,
  );
  expect(all.telemetry.lines.filter(({ message }) => message === "Bodies are not removed")).toHaveLength(1);
});

test("the operator's word lifts the limits for three days, and not for longer", async () => {
  const all = cellar({ now_ms: Date.now() + 3 * DAY_MS });
  const { kept, loose } = await filled(all, 20, 1_500);
  await all.clock.advance(ROUND_MS);
  expect(await countOf(all, loose)).toBe(1_500);
  await forceCollection(all.documents, all.clock.now());
  await all.clock.advance(ROUND_MS);
  expect(await countOf(all, loose)).toBe(0);
  expect(await countOf(all, kept)).toBe(20);
  expect(all.collection.stopped()).toBeNull();
  await all.clock.advance(3 * DAY_MS);
  // The virtual clock is not that of the memory store, whose bodies are old already.
  const later = await filled(all, 0, 1_000);
  await all.clock.advance(2 * ROUND_MS);
  expect(await countOf(all, later.loose)).toBeGreaterThan(900);
});

test("a tenth without references goes at a thousandth of all an hour, and is not judged again when it waits", async () => {
  const all = cellar({ now_ms: Date.now() + 3 * DAY_MS });
  const { kept, loose } = await filled(all, 5_400, 600);
  // Six an hour: the estimate of all of them varies by what is looked at.
  await all.clock.advance(12 * 60 * 60_000);
  const left = await countOf(all, loose);
  expect(left).toBeGreaterThan(600 - 12 * 9);
  expect(left).toBeLessThan(600 - 12 * 3);
  expect(await countOf(all, kept)).toBe(5_400);
  expect(all.telemetry.lines.filter(({ message }) => message === "Bodies are not removed")).toEqual([]);
});

test("nothing is removed while the documents and the bodies do not belong together", async () => {
  const all = cellar();
  const { loose } = await filled(all, 100, 3);
  all.belonging.now = { kind: "apart", problem: "Bodies are not removed: they are others'" };
  await all.clock.advance(3 * DAY_MS + ROUND_MS);
  expect(await countOf(all, loose)).toBe(3);
  expect(all.collection.stopped()).toBe("Bodies are not removed: they are others'");
  all.belonging.now = { kind: "one" };
  await all.clock.advance(60_000);
  expect(all.collection.stopped()).toBeNull();
  await all.clock.advance(3 * ROUND_MS);
  expect(await countOf(all, loose)).toBe(0);
});

test("objects that bodies share are looked after in parts, each of them once in sixteen rounds", async () => {
  const all = cellar();
  await all.clock.advance(16 * 256 * 60_000 + ROUND_MS);
  const parts = new Set(all.swept);
  expect(parts.size).toBe(16 * 256);
  expect([...parts].every((digits) => /^[0-9a-f]{3}$/.test(digits))).toBe(true);
});

test("objects that bodies share are not looked after while the documents and the bodies do not belong together", async () => {
  const all = cellar();
  all.belonging.now = { kind: "apart", problem: "Bodies are not removed: they are others'" };
  await all.clock.advance(ROUND_MS);
  expect(all.swept).toEqual([]);
});

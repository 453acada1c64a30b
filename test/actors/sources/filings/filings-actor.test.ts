/** Operations as messages: the client of a gateway or a job, and the Filings actor (actors/sources/filings/filings.actor.ts). */
import { describe, expect, test } from "vitest";
import { filingsClient } from "../../../../actors/sources/filings/client.ts";
import { filingsActor } from "../../../../actors/sources/filings/filings.actor.ts";
import { NO_FACTS, NO_SUBMISSIONS } from "../../../../actors/sources/filings/refusals.ts";
import { errorResult, failure } from "../../../../actors/sources/filings/results.ts";
import type { FilingsService } from "../../../../actors/sources/filings/service.ts";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { SILENT_LOG } from "../../../../cluster/ports/log.ts";

const failed = errorResult(NO_FACTS, failure("not_found", "None"));
const empty = errorResult(NO_SUBMISSIONS, failure("not_found", "None"));

/** The actor with these operations; every other one is a bug. */
function harness(operations: Partial<FilingsService>, isConfigured = true) {
  const clock = virtualClock(Date.UTC(2026, 0, 2));
  const documents = memoryDocuments();
  const blobs = memoryBlobs();
  const service = operations as FilingsService;
  const { ask } = embedded([filingsActor({ service, documents, blobs, clock, log: SILENT_LOG })], {
    clock,
    documents,
    random: seededRandom(1),
  });
  const filings = filingsClient({ ask, clock, isConfigured });
  const caller = { project: "p", lane: "sync", deadline_ms: clock.now() + 60_000, id: "req_1" } as const;
  return { filings, caller, blobs, documents };
}

const rows = (count: number): Buffer =>
  Buffer.from(JSON.stringify(Array.from({ length: count }, (_, n) => ({ accession: `${n}`.padStart(100) }))));

describe("an operation", () => {
  test("is answered by the actor, its filings in their place", async () => {
    const { filings, caller } = harness({
      submissions: async () => ({ ...empty, filings_json: rows(2) }),
    });
    expect(await filings("submissions", { cik: "9" }, caller)).toMatchObject({
      kind: "answer",
      answer: { filings: [{}, {}], error: "not_found" },
      answer_sha256: null,
      error: "not_found",
      is_busy: false,
    });
  });

  test("whose answer is too long for a message is answered as a body that is kept for a while", async () => {
    const { filings, caller, blobs, documents } = harness({
      submissions: async () => ({ ...empty, filings_json: rows(10_000) }),
    });
    const reply = await filings("submissions", { cik: "9" }, caller);
    const sha256 = reply.kind === "answer" ? reply.answer_sha256! : "";
    expect(reply).toMatchObject({ answer: null, error: "not_found" });
    const text = Buffer.concat(await Array.fromAsync((await blobs.get(sha256))!)).toString();
    expect((JSON.parse(text) as { filings: unknown[] }).filings).toHaveLength(10_000);
    expect(await documents.list("body_refs", { from: sha256, to: `${sha256}~`, limit: 2 })).toHaveLength(1);
  });

  test("is run anew for a caller that asks again with the same id", async () => {
    let runs = 0;
    const { filings, caller } = harness({ facts: async () => (runs++, failed) });
    await filings("facts", { cik: 9 }, caller);
    await filings("facts", { cik: 9 }, caller);
    expect(runs).toBe(2);
  });

  test("that fails for want of room fails for its caller, and not for the others", async () => {
    const { filings, caller } = harness({
      facts: async () => {
        throw new Fault("overloaded", "No room");
      },
      submissions: async () => empty,
    });
    const [first, second] = await Promise.allSettled([
      filings("facts", { cik: 9 }, caller),
      filings("submissions", { cik: 9 }, caller),
    ]);
    expect(first).toMatchObject({ status: "rejected", reason: { code: "overloaded", message: "No room" } });
    expect(second).toMatchObject({ status: "fulfilled" });
  });
});

describe("a call that needs no document", () => {
  test("is answered without the actor, in the form of its operation", async () => {
    const { filings, caller } = harness({});
    expect(await filings("facts", { cik: "x" }, caller)).toMatchObject({
      kind: "answer",
      answer: { error: "invalid_identifier", taxonomies: {}, cached: false },
    });
    expect(await filings("search", {}, caller)).toMatchObject({
      answer: { error: "invalid_identifier", hits: [] },
    });
    const document = { cik: 9, accession: "x", document: "a.htm" };
    expect(await filings("document", document, caller)).toMatchObject({
      kind: "document",
      url: "",
      answer: { error: "invalid_identifier", attempts: [] },
    });
  });

  test("says that the filing system is not configured before anything else", async () => {
    const { filings, caller } = harness({}, false);
    expect(await filings("facts", { cik: "x" }, caller)).toMatchObject({ error: "filings_not_configured" });
  });
});

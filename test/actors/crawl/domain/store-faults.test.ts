/** A domain keeps what it knows while a store is away: no Retry-After is forgotten, no slot is lost, no caller is failed. */
import { expect, test } from "vitest";
import { domainActor } from "../../../../actors/crawl/domain/actor.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { Domain, GRANT_TTL_MS } from "../../../../schemas/domain.ts";
import { flakyDocuments } from "../../../harness/flaky-documents.ts";

const SITE = "example.org";
const ORIGIN = `https://${SITE}`;
const START_MS = Date.UTC(2026, 0, 1);

function domain(max_concurrency = 2) {
  const clock = virtualClock(START_MS);
  const documents = flakyDocuments();
  const limits = { min_delay_ms: 100, max_concurrency, lease_ms: 10 * 60_000 };
  const { ask } = embedded([domainActor(limits)], { clock, random: seededRandom(1), documents });
  return {
    clock,
    documents,
    acquire: (fetch_id: string, wait_max_ms = 60_000) =>
      ask(Domain, SITE, "acquire", { fetch_id, run_id: "1", origin: ORIGIN, lane: "sync", wait_max_ms }),
    sent: (fetch_id: string) => ask(Domain, SITE, "recordSent", { fetch_id, run_id: "1", origin: ORIGIN }),
    release: (fetch_id: string, status: number | null, retry_after_s: number | null = null) =>
      ask(Domain, SITE, "release", { fetch_id, run_id: "1", origin: ORIGIN, status, retry_after_s }),
    view: () => ask(Domain, SITE, "view", null),
  };
}

test("a 429 with Retry-After 600 whose write is refused is not forgotten", async () => {
  const { clock, documents, acquire, sent, release, view } = domain();
  await acquire("a");
  await sent("a");
  documents.mode = "away";
  const released = release("a", 429, 600);
  await clock.advance(1_000);
  documents.mode = "here";
  await clock.advance(3_000);
  await released;
  expect((await view()).slowed).toMatchObject([
    { origin: ORIGIN, paused_until: new Date(START_MS + 600_001).toISOString() },
  ]);
});

test("a store that is away for 5 s leaves no slot in flight", async () => {
  const { clock, documents, acquire, sent, release, view } = domain();
  await acquire("a");
  await sent("a");
  documents.mode = "away";
  const released = release("a", 200);
  await clock.advance(5_000);
  documents.mode = "here";
  await clock.advance(3_000);
  await released;
  expect(await view()).toMatchObject({ in_flight: 0 });
});

test("400 callers that wait for a slot are served when the store is back", async () => {
  const { clock, documents, acquire, sent, release } = domain(1);
  await acquire("first");
  await sent("first");
  const served: string[] = [];
  const waiting = Array.from({ length: 400 }, (_, n) =>
    acquire(`w${n}`, 300_000).then(async ({ kind }) => {
      served.push(kind);
      await sent(`w${n}`);
      await release(`w${n}`, 200);
    }),
  );
  await clock.advance(10);
  documents.mode = "away";
  void release("first", 200);
  await clock.advance(20_000);
  documents.mode = "here";
  await clock.advance(100_000);
  await Promise.all(waiting);
  expect(served).toEqual(waiting.map(() => "granted"));
});

test("a grant that was stored late is open for its whole time, counted from when it left", async () => {
  const { clock, documents, acquire, view } = domain();
  await view();
  documents.mode = "away";
  let granted_ms = 0;
  let next_ms = 0;
  void acquire("a", 120_000).then(() => (granted_ms = clock.now()));
  await clock.advance(30_000);
  documents.mode = "here";
  await clock.advance(3_000);
  expect(granted_ms).toBeGreaterThan(START_MS + 30_000);
  void acquire("b", 120_000).then(() => (next_ms = clock.now()));
  await clock.advance(90_000);
  expect(next_ms - granted_ms).toBeGreaterThanOrEqual(GRANT_TTL_MS);
});

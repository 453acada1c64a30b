/** Domains without a delay: callers that ask at the same time are granted in one write, and none before it is stored. */
import { expect, test } from "vitest";
import { domainActor } from "../../../../actors/crawl/domain/actor.ts";
import type { Politeness } from "../../../../actors/crawl/domain/politeness.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { Domain } from "../../../../schemas/domain.ts";

const SITE = "example.org";
const ORIGIN = "https://www.example.org";

function oneDomain({ max_concurrency = 64, min_delay_ms = 0 } = {}) {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const store = memoryDocuments();
  const world = { puts: [] as number[], gate: Promise.resolve() };
  const documents: typeof store = {
    ...store,
    async put(...given) {
      world.puts.push((given[2] as Politeness).leases.length);
      await world.gate;
      return store.put(...given);
    },
  };
  const { ask } = embedded([domainActor({ min_delay_ms, max_concurrency, lease_ms: 60_000 })], {
    clock,
    random: seededRandom(1),
    documents,
  });
  const granted: string[] = [];
  const acquire = (fetch_id: string): void => {
    const request = { fetch_id, run_id: "1", origin: ORIGIN, lane: "sync", wait_max_ms: 15_000 } as const;
    void ask(Domain, SITE, "acquire", request).then(({ kind }) => {
      if (kind === "granted") granted.push(fetch_id);
    });
  };
  const release = (fetch_id: string) =>
    ask(Domain, SITE, "release", { fetch_id, run_id: "1", origin: ORIGIN, status: 200, retry_after_s: null });
  return { clock, world, granted, acquire, release, view: () => ask(Domain, SITE, "view", null) };
}

const FIVE = ["a", "b", "c", "d", "e"];

test("callers that ask together are granted in one write, in their order, once it is stored", async () => {
  const { clock, world, granted, acquire } = oneDomain();
  const stored = Promise.withResolvers<void>();
  world.gate = stored.promise;
  FIVE.forEach(acquire);
  await clock.advance(0);
  expect([world.puts, granted]).toEqual([[5], []]);
  stored.resolve();
  await clock.advance(0);
  expect([world.puts, granted]).toEqual([[5], FIVE]);
});

test("those who ask while a grant is stored are granted together after it", async () => {
  const { clock, world, granted, acquire } = oneDomain();
  const stored = Promise.withResolvers<void>();
  world.gate = stored.promise;
  acquire("a");
  await clock.advance(0);
  FIVE.slice(1).forEach(acquire);
  stored.resolve();
  await clock.advance(0);
  expect([world.puts, granted]).toEqual([[1, 5], FIVE]);
});

test("never more are granted than there are slots", async () => {
  const { clock, world, granted, acquire, release } = oneDomain({ max_concurrency: 2 });
  FIVE.forEach(acquire);
  await clock.advance(1_000);
  expect([world.puts, granted]).toEqual([[2], ["a", "b"]]);
  await release("a");
  await clock.advance(0);
  expect(granted).toEqual(["a", "b", "c"]);
  expect(Math.max(...world.puts)).toBe(2);
});

test("a question behind them in the mailbox does not hold them up", async () => {
  const { clock, granted, acquire, view } = oneDomain();
  FIVE.forEach(acquire);
  void view();
  await clock.advance(1);
  expect(granted).toEqual(FIVE);
});

test("where there is a delay, each is granted alone", async () => {
  const { clock, world, granted, acquire } = oneDomain({ min_delay_ms: 1_000 });
  FIVE.forEach(acquire);
  await clock.advance(0);
  expect([world.puts, granted]).toEqual([[1], ["a"]]);
});

import { expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import {
  COLLECT_EVERY_MS,
  COLLECT_MUCH_EVERY_MS,
  LOOK_EVERY_MS,
  memoryAtRest,
  MUCH_BYTES,
  RESTS_BELOW,
  thisProcess,
  WORTH_BYTES,
} from "../../ops/memory-at-rest.ts";

const START_BYTES = 70 * 2 ** 20;
const LEFT_BYTES = 45 * 2 ** 20;

/** A process whose CPU time passes with the virtual clock, `share` of it, and whose heap is what a collection leaves. */
function given() {
  const clock = virtualClock(0);
  const began_ms = clock.mono();
  const process = { share: 0, heap_bytes: START_BYTES, collections: 0 };
  const stop = memoryAtRest({
    clock,
    cpu_ms: () => (clock.mono() - began_ms) * process.share,
    heap_bytes: () => process.heap_bytes,
    async collect() {
      process.collections++;
      process.heap_bytes = LEFT_BYTES;
    },
  });
  return { clock, process, stop };
}

test("collects at the first rest after the start, and not again while nothing is added", async () => {
  const { clock, process } = given();
  await clock.advance(LOOK_EVERY_MS);
  expect(process).toMatchObject({ collections: 1, heap_bytes: LEFT_BYTES });
  process.heap_bytes += WORTH_BYTES - 1;
  await clock.advance(2 * COLLECT_EVERY_MS);
  expect(process.collections).toBe(1);
});

test("does not collect while the node works", async () => {
  const { clock, process } = given();
  process.share = RESTS_BELOW * 1.1;
  await clock.advance(2 * COLLECT_EVERY_MS);
  expect(process.collections).toBe(0);
});

test("collects what a burst of requests left, but no sooner than ten minutes after the last time", async () => {
  const { clock, process } = given();
  await clock.advance(LOOK_EVERY_MS);
  process.heap_bytes = START_BYTES;
  await clock.advance(COLLECT_EVERY_MS - LOOK_EVERY_MS);
  expect(process.collections).toBe(1);
  await clock.advance(LOOK_EVERY_MS);
  expect(process.collections).toBe(2);
});

test("collects what a large burst left after a minute, a smaller one after ten", async () => {
  const { clock, process } = given();
  await clock.advance(LOOK_EVERY_MS);
  process.heap_bytes += MUCH_BYTES;
  await clock.advance(COLLECT_MUCH_EVERY_MS - LOOK_EVERY_MS);
  expect(process.collections).toBe(1);
  await clock.advance(LOOK_EVERY_MS);
  expect(process).toMatchObject({ collections: 2, heap_bytes: LEFT_BYTES });
  process.heap_bytes += MUCH_BYTES - 1;
  await clock.advance(2 * COLLECT_MUCH_EVERY_MS);
  expect(process.collections).toBe(2);
});

test("looks no more when it is disposed of", async () => {
  const { clock, process, stop } = given();
  stop[Symbol.dispose]();
  await clock.advance(LOOK_EVERY_MS);
  expect(process.collections).toBe(0);
});

test("a collection of this process takes a heap's garbage away", async () => {
  let garbage: object[] | null = Array.from({ length: 500_000 }, (_, n) => ({ n, text: `${n}` }));
  const { heap_bytes, collect } = thisProcess;
  const before_bytes = heap_bytes();
  expect(garbage).toHaveLength(500_000);
  garbage = null;
  await collect();
  expect(before_bytes - heap_bytes()).toBeGreaterThan(WORTH_BYTES);
});

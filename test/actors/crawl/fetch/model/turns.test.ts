/** Which extraction asks the language model next, and which waits no longer. */
import { expect, test } from "vitest";
import { modelTurns } from "../../../../../actors/crawl/fetch/model/turns.ts";
import { virtualClock } from "../../../../../cluster/adapters/time/clock.virtual.ts";

const DEADLINE_MS = 60_000;
const NEVER = new AbortController().signal;

function turns(at_once: number) {
  const clock = virtualClock(0);
  const waiting: number[] = [];
  const { take } = modelTurns(clock, at_once, (count) => waiting.push(count));
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  /** Wants a turn; `order` has its name when the turn begins, or when it has left. */
  const wants = async (name: string, lane: "sync" | "batch" = "sync", share = "one", signal = NEVER) => {
    const end = await take({ lane, share, deadline_ms: DEADLINE_MS }, signal);
    order.push(end === null ? `${name} left` : name);
    if (end) ends.set(name, end);
  };
  /** Ends the turn of one, and lets those that wait have it. */
  const end = async (name: string) => {
    ends.get(name)!();
    await clock.advance(0);
  };
  return { clock, waiting, order, wants, end };
}

test("so many have a turn at once, and one that ends makes room for one", async () => {
  const { order, wants, end, waiting, clock } = turns(2);
  for (const name of ["a", "b", "c", "d"]) void wants(name);
  await clock.advance(0);
  expect(order).toEqual(["a", "b"]);
  expect(waiting.at(-1)).toBe(2);
  await end("b");
  expect(order).toEqual(["a", "b", "c"]);
  // A second end of the same turn makes no room.
  await end("b");
  expect(order).toEqual(["a", "b", "c"]);
  await end("a");
  expect(order).toEqual(["a", "b", "c", "d"]);
  expect(waiting.at(-1)).toBe(0);
});

test("a single fetch does not wait for a batch, nor a project for the many items of another one", async () => {
  const { order, wants, end, clock } = turns(1);
  for (const name of ["1", "2", "3"]) void wants(name, "batch", "large");
  void wants("other", "batch", "small");
  void wants("single");
  await clock.advance(0);
  for (const name of ["1", "single", "2", "other"]) await end(name);
  expect(order).toEqual(["1", "single", "2", "other", "3"]);
});

test("a caller that leaves, or whose deadline passes, waits no longer and takes no turn", async () => {
  const { order, wants, end, clock } = turns(1);
  const leaving = new AbortController();
  void wants("a");
  void wants("b", "sync", "one", leaving.signal);
  void wants("c");
  await clock.advance(0);
  leaving.abort();
  await clock.advance(0);
  expect(order).toEqual(["a", "b left"]);
  await clock.advance(DEADLINE_MS);
  expect(order).toEqual(["a", "b left", "c left"]);
  await end("a");
  void wants("d");
  void wants("e", "sync", "one", AbortSignal.abort());
  await clock.advance(0);
  expect(order).toEqual(["a", "b left", "c left", "d", "e left"]);
});

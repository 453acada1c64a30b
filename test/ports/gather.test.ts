/** Group commit of uploads (cluster/adapters/blobs/gather.ts). */
import { expect, test } from "vitest";
import { GATHER_MS, gathering } from "../../cluster/adapters/blobs/gather.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";

/** Groups that are sent end when the test ends them. */
function store() {
  const clock = virtualClock();
  const groups: { readonly items: readonly number[]; readonly end: PromiseWithResolvers<void> }[] = [];
  const gather = gathering<number>((items) => {
    const end = Promise.withResolvers<void>();
    groups.push({ items, end });
    return end.promise;
  }, clock);
  return {
    clock,
    groups,
    put: (item: number) => gather(item, 10),
    sent: () => groups.map(({ items }) => items),
  };
}

test("the first item is sent at once, and those that come meanwhile share the next group", async () => {
  const { groups, put, sent } = store();
  const first = put(1);
  const others = [put(2), put(3)];
  expect(sent()).toEqual([[1]]);
  groups[0]!.end.resolve();
  await first;
  expect(sent()).toEqual([[1], [2, 3]]);
  groups[1]!.end.resolve();
  await Promise.all(others);
});

test("one item after the other is sent at once, each alone, however fast they come", async () => {
  const { clock, groups, put, sent } = store();
  for (let n = 0; n < 9; n++) {
    const stored = put(n);
    groups[n]!.end.resolve();
    await stored;
    await clock.advance(1);
  }
  expect(sent().map((items) => items.length)).toEqual(Array.from({ length: 9 }, () => 1));
});

test("items that come fast wait for more, and no longer than the gather time", async () => {
  const { clock, groups, put, sent } = store();
  void put(0);
  // An item comes each 10 ms, until 100 ms have passed since the first of the group came.
  for (let n = 1; n <= 10; n++) {
    await clock.advance(GATHER_MS / 10);
    void put(n);
    if (n === 5) groups[0]!.end.resolve();
    expect(sent()).toEqual([[0]]);
  }
  await clock.advance(GATHER_MS / 10 - 1);
  expect(sent()).toEqual([[0]]);
  await clock.advance(1);
  expect(sent()).toEqual([[0], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]);
});

test("a group is sent when the items that came fast have ceased", async () => {
  const { clock, groups, put, sent } = store();
  for (let n = 0; n < 6; n++) {
    void put(n);
    await clock.advance(5);
  }
  groups[0]!.end.resolve();
  // Six intervals after the last one.
  await clock.advance(24);
  expect(sent()).toEqual([[0]]);
  await clock.advance(1);
  expect(sent()).toEqual([[0], [1, 2, 3, 4, 5]]);
});

test("a full group is sent at once, also while others are on their way", () => {
  const { put, sent } = store();
  for (let n = 0; n < 33; n++) void put(n);
  expect(sent().map((items) => items.length)).toEqual([1, 16, 16]);
});

test("a store that does not answer holds up the next group for the gather time only", async () => {
  const { clock, put, sent } = store();
  void put(1);
  void put(2);
  await clock.advance(GATHER_MS);
  expect(sent()).toEqual([[1], [2]]);
});

test("a group that fails fails its items, and no others", async () => {
  const { groups, put } = store();
  const first = put(1);
  const others = [put(2), put(3)];
  groups[0]!.end.reject(new Error("full"));
  await expect(first).rejects.toThrow("full");
  groups[1]!.end.resolve();
  await expect(Promise.all(others)).resolves.toBeDefined();
});

/** The places of a tier: their order, and what one project may hold while others call. */
import { expect, test } from "vitest";
import { type Places, places } from "../../../../actors/crawl/tiers/places.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";

const never = new AbortController().signal;
const LIMITS = { capacity: 3, max_waiting: 4, max_wait_ms: 15_000 };

function setup(limits: Partial<typeof LIMITS> = {}) {
  const clock = virtualClock();
  const it = places({ ...LIMITS, ...limits }, clock, () => {});
  /** Results of the calls that waited, in the order in which they ended. */
  const ended: string[] = [];
  const take = (project: string, name = project): boolean | "waits" => {
    const taken = it.take(never, project);
    if (typeof taken === "boolean") return taken;
    void taken.then((isTaken) => ended.push(`${name} ${isTaken}`));
    return "waits";
  };
  return { clock, it, take, ended };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const give = async (it: Places, project: string): Promise<void> => {
  it.giveBack(project);
  await turn();
};

test("one project alone has all of them", () => {
  const { take, it } = setup();
  expect([take("a"), take("a"), take("a"), take("a")]).toEqual([true, true, true, "waits"]);
  expect([it.in_use(), it.waiting()]).toEqual([3, 1]);
});

test("while another project waits, one holds all but one: the next place is the other's, before older calls", async () => {
  const { take, it, ended } = setup();
  for (let n = 0; n < 5; n++) take("a");
  expect(take("b")).toBe("waits");
  await give(it, "a");
  expect(ended).toEqual(["b true"]);
  // The one place is left for others while b calls now and then.
  await give(it, "b");
  expect([ended, it.in_use(), it.waiting()]).toEqual([["b true"], 2, 2]);
  expect(take("b")).toBe(true);
});

test("a minute after the last call of another, one project has all of them again", async () => {
  const { take, it, clock } = setup();
  expect(take("b")).toBe(true);
  await give(it, "b");
  expect([take("a"), take("a")]).toEqual([true, true]);
  await clock.advance(59_000);
  expect(take("a")).toBe("waits");
  await clock.advance(2_000);
  expect(take("a")).toBe(true);
});

test("the only place goes to whoever is first", () => {
  const { take } = setup({ capacity: 1 });
  expect([take("a"), take("b")]).toEqual([true, "waits"]);
});

test("where enough calls wait, the newest of the project that waits most gives way to another's first", async () => {
  const { take, it, ended } = setup();
  for (let n = 0; n < 3; n++) take("a");
  for (const name of ["a1", "a2", "a3", "a4"]) take("a", name);
  expect(take("a")).toBe(false);
  expect(take("b")).toBe("waits");
  await turn();
  expect([ended, it.waiting()]).toEqual([["a4 false"], 4]);
});

/** The order in which tenants' tasks get the children of a pool (cluster/adapters/workers/fair-queue.ts). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  displace,
  emptyFairQueue,
  enqueue,
  expectedMs,
  finish,
  putBack,
  remove,
  takeNext,
} from "../../cluster/adapters/workers/fair-queue.ts";

interface Task {
  readonly tenant: string;
  readonly cost_ms: number;
}

const tasks = (tenant: string, count: number, cost_ms: number): Task[] =>
  Array.from({ length: count }, () => ({ tenant, cost_ms }));

/** The tasks in the order in which this many children begin them; `arrives` adds tasks when as many have begun. */
function begun(
  children: number,
  first: readonly Task[],
  arrives: ReadonlyMap<number, readonly Task[]> = new Map(),
) {
  const queue = emptyFairQueue<Task>();
  const order: Task[] = [];
  const running: { task: Task; until_ms: number }[] = [];
  const add = (list: readonly Task[] = []) => list.forEach((task) => enqueue(queue, task.tenant, task));
  add(first);
  for (let now_ms = 0; ;) {
    while (running.length < children) {
      const task = takeNext(queue);
      if (!task) break;
      order.push(task);
      running.push({ task, until_ms: now_ms + task.cost_ms });
      add(arrives.get(order.length));
    }
    const next = running.toSorted((a, b) => a.until_ms - b.until_ms)[0];
    if (!next) return { order, queue };
    now_ms = next.until_ms;
    running.splice(running.indexOf(next), 1);
    finish(queue, next.task.tenant, next.task.cost_ms);
  }
}

const namesOf = (order: readonly Task[]): string => order.map(({ tenant }) => tenant).join("");

describe("a queue of tenants' tasks", () => {
  test("serves one tenant in the order of arrival", () => {
    const own = [3, 1, 2].map((cost_ms) => ({ tenant: "a", cost_ms }));
    expect(begun(1, own).order).toEqual(own);
  });

  test("expects of a tenant's next task what the last ones took", () => {
    const queue = emptyFairQueue<string>();
    for (const task of ["1", "2", "3"]) enqueue(queue, "a", task);
    expect(expectedMs(queue, "a")).toBe(null);
    for (const used_ms of [8, 4]) {
      takeNext(queue);
      finish(queue, "a", used_ms);
    }
    expect(expectedMs(queue, "a")).toBe(0.25 * 4 + 0.75 * 8);
  });

  test("skips tenants whose task may not be taken, and gives a task back behind the others", () => {
    const queue = emptyFairQueue<string>();
    for (const task of ["a1", "a2"]) enqueue(queue, "a", task);
    enqueue(queue, "b", "b1");
    expect(takeNext(queue, (task) => task !== "a1")).toBe("b1");
    expect(takeNext(queue, (task) => task !== "a1")).toBe(undefined);
    expect(takeNext(queue)).toBe("a1");
    putBack(queue, "a", "a1");
    expect([takeNext(queue), takeNext(queue), queue.waiting]).toEqual(["a2", "a1", 0]);
  });

  test("serves a newcomer next, however many wait", () => {
    const { order } = begun(1, tasks("a", 20, 5_000), new Map([[7, tasks("b", 1, 1)]]));
    expect(namesOf(order)).toBe(`${"a".repeat(7)}b${"a".repeat(13)}`);
  });

  test("serves small tasks of one tenant before the next large one of another", () => {
    const { order } = begun(1, tasks("a", 5, 1_000), new Map([[1, tasks("b", 30, 10)]]));
    expect(namesOf(order)).toBe(`a${"b".repeat(30)}aaaa`);
  });

  test("does not let a tenant that comes back after each task begin anew", () => {
    const { order } = begun(
      1,
      [...tasks("a", 1, 1_000), ...tasks("b", 20, 10)],
      new Map([[2, tasks("a", 1, 1_000)]]),
    );
    expect(namesOf(order)).toBe(`a${"b".repeat(20)}a`);
  });

  test("shares the children among tenants that are there together", () => {
    const { order } = begun(4, [...tasks("a", 8, 1_000), ...tasks("b", 8, 1_000)]);
    expect(namesOf(order.slice(0, 4)).split("").toSorted().join("")).toBe("aabb");
  });

  test("forgets tenants when nothing waits or runs", () => {
    const { queue } = begun(2, [...tasks("a", 3, 10), ...tasks("b", 1, 900)]);
    expect(queue).toEqual(emptyFairQueue());
  });

  test("takes out a task that waits, once", () => {
    const queue = emptyFairQueue<string>();
    enqueue(queue, "a", "one");
    enqueue(queue, "a", "two");
    expect([remove(queue, "a", "one"), remove(queue, "a", "one"), remove(queue, "b", "two")]).toEqual([
      true,
      false,
      false,
    ]);
    expect([takeNext(queue), takeNext(queue)]).toEqual(["two", undefined]);
  });

  test("makes room at the cost of the tenant with the most that wait, unless that is the newcomer", () => {
    const queue = emptyFairQueue<string>();
    for (const task of ["a1", "a2", "a3", "b1"]) enqueue(queue, task[0]!, task);
    expect(displace(queue, "a")).toBeUndefined();
    expect(displace(queue, "c")).toBe("a3");
    // Two of "a" wait: with its new one, "b" has as many.
    expect(displace(queue, "b")).toBeUndefined();
    expect(queue.waiting).toBe(3);
  });
});

const TENANT = fc.constantFrom("a", "b", "c", "d");
const TASK = fc.record({ tenant: TENANT, cost_ms: fc.integer({ min: 1, max: 1_000 }) });

describe("whatever comes", () => {
  test("everything is served once, and each tenant in its order", () => {
    fc.assert(
      fc.property(fc.array(TASK, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (list, children) => {
        const { order, queue } = begun(children, list);
        for (const name of "abcd")
          expect(order.filter(({ tenant }) => tenant === name)).toEqual(
            list.filter(({ tenant }) => tenant === name),
          );
        expect(queue).toEqual(emptyFairQueue());
      }),
    );
  });

  test("one child never gives a tenant with tasks more than one task beyond another's use", () => {
    fc.assert(
      fc.property(fc.array(TASK, { maxLength: 60 }), (list) => {
        const used = new Map<string, number>();
        const left = new Map<string, number>();
        for (const { tenant } of list) left.set(tenant, (left.get(tenant) ?? 0) + 1);
        const unfair: string[] = [];
        for (const { tenant, cost_ms } of begun(1, list).order) {
          const before_ms = used.get(tenant) ?? 0;
          for (const [other, count] of left)
            if (count > 0 && before_ms > (used.get(other) ?? 0)) unfair.push(`${tenant} before ${other}`);
          used.set(tenant, before_ms + cost_ms);
          left.set(tenant, left.get(tenant)! - 1);
        }
        expect(unfair).toEqual([]);
      }),
    );
  });
});

/** The checkers of histories, by histories that are known to be good or bad. */
import { describe, expect, inject, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import {
  type Call,
  type Holding,
  leaseProblems,
  notLinearizable,
  type Operation,
  recorded,
} from "../harness/history.ts";

const operation = (
  [called_ms, answered_ms]: readonly [number, number],
  call: Call,
  answer?: unknown,
  end: Operation["end"] = "ok",
): Operation => ({ key: "k", call, called_ms, answered_ms, end, answer });
const put = (version: number, value: unknown): Call => ({ kind: "put", version, value });
const GET: Call = { kind: "get" };
const at = (version: number, value: unknown) => ({ version, value });

describe("a history that could have happened", () => {
  test.each<[string, readonly Operation[]]>([
    ["of nothing", []],
    [
      "of one after the other",
      [
        operation([0, 1], GET, null),
        operation([2, 3], put(0, "a"), true),
        operation([4, 5], GET, at(1, "a")),
        operation([6, 7], put(0, "b"), false),
        operation([8, 9], { kind: "remove", version: 1 }, true),
        operation([10, 11], put(0, "c"), true),
      ],
    ],
    [
      "of two at once, of which the later answer was first",
      [
        operation([0, 9], put(0, "a"), true),
        operation([1, 5], put(1, "b"), true),
        operation([2, 3], GET, null),
      ],
    ],
    [
      "in which a write without an answer is seen later",
      [
        operation([0, 1], put(0, "a"), undefined, "info"),
        operation([2, 3], GET, null),
        operation([4, 5], GET, at(1, "a")),
        operation([6, 7], put(0, "b"), false),
      ],
    ],
    [
      "in which a write without an answer is never seen",
      [operation([0, 1], put(0, "a"), undefined, "info"), operation([2, 3], put(0, "b"), true)],
    ],
  ])("is one: %s", (_, history) => {
    expect(notLinearizable(history)).toEqual([]);
  });

  test("is what many clients do to a register that loses answers", async () => {
    const [clock, random] = [virtualClock(), seededRandom(inject("seed"))];
    const pause = () =>
      new Promise<void>((resolve) => void clock.at(clock.now() + random.next() * 50, resolve));
    const inner = memoryDocuments();
    /** Done at some moment of the call; its answer, or the call itself, may be lost. */
    const late = async <T>(run: () => Promise<T>): Promise<T> => {
      await pause();
      const isLost = random.next() < 0.1;
      if (isLost && random.next() < 0.5) void pause().then(run);
      if (isLost) throw new Fault("documents_unreachable", "lost");
      const answer = await run();
      await pause();
      return answer;
    };
    const { documents, history } = recorded(
      {
        get: (...args) => late(() => inner.get(...args)),
        put: (...args) => late(() => inner.put(...args)),
        remove: (...args) => late(() => inner.remove(...args)),
      },
      () => clock.now(),
    );
    const client = async (name: number): Promise<void> => {
      for (let n = 0; n < 40; n++) {
        const key = `k${Math.floor(random.next() * 3)}`;
        const stored = await documents.get("c", key).catch(() => null);
        await documents.put("c", key, `${name} ${n}`, stored?.version ?? 0).catch(() => {});
        if (stored && random.next() < 0.1) await documents.remove("c", key, stored.version).catch(() => {});
      }
    };
    const over = Promise.all([0, 1, 2, 3, 4].map(client));
    await clock.advance(60_000);
    await over;
    expect(history.length).toBeGreaterThan(300);
    expect(notLinearizable(history)).toEqual([]);
    // A read that is older than a write which was answered before it.
    const seen = history.findLast(({ call, answer }) => call.kind === "put" && answer === true)!;
    const stale = operation([seen.answered_ms + 1_000, seen.answered_ms + 1_001], GET, null);
    expect(notLinearizable([...history, { ...stale, key: seen.key }])).toEqual([seen.key]);
  });
});

describe("a history that could not have happened", () => {
  test.each<[string, readonly Operation[]]>([
    [
      "a write that was answered is not there",
      [operation([0, 1], put(0, "a"), true), operation([2, 3], GET, null)],
    ],
    [
      "two writes of one version were both answered",
      [operation([0, 5], put(0, "a"), true), operation([1, 6], put(0, "b"), true)],
    ],
    [
      "a read goes back behind another",
      [
        operation([0, 9], put(0, "a"), true),
        operation([1, 2], GET, at(1, "a")),
        operation([3, 4], GET, null),
      ],
    ],
    ["what was never written is read", [operation([0, 1], GET, at(1, "a"))]],
    [
      "a write that failed is seen",
      [operation([0, 1], put(0, "a"), undefined, "fail"), operation([2, 3], GET, at(1, "a"))],
    ],
    [
      "a write without an answer is seen before it was called",
      [operation([0, 1], GET, at(1, "a")), operation([2, 3], put(0, "a"), undefined, "info")],
    ],
    ["a write is refused that nothing stands against", [operation([0, 1], put(0, "a"), false)]],
  ])("is none: %s", (_, history) => {
    expect(notLinearizable(history)).toEqual(["k"]);
  });
});

describe("a lease", () => {
  const held = (holder: string, epoch: number, from_ms: number, until_ms: number): Holding => ({
    lease: "p1",
    holder,
    epoch,
    from_ms,
    until_ms,
  });

  test("goes from one holder to the next", () => {
    expect(leaseProblems([held("a", 1, 0, 5), held("b", 2, 5, 9), held("b", 4, 8, 12)])).toEqual([]);
  });

  test("that two hold at once is a problem", () => {
    expect(leaseProblems([held("b", 2, 4, 9), held("a", 1, 0, 5)])).toEqual([
      "p1 was held by a (epoch 1) and b (epoch 2) for 1 ms",
    ]);
  });

  test("whose epoch does not grow is a problem", () => {
    expect(leaseProblems([held("a", 2, 0, 5), held("b", 2, 6, 9)])).toEqual([
      "The epoch of p1 does not grow from a (epoch 2) and b (epoch 2)",
    ]);
  });
});

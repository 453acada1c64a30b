import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { byteBudget, MAX_ROOM_WAIT_MS, type Reservation, SMALL_BYTES } from "../../cluster/byte-budget.ts";

const MB = 2 ** 20;

function budgetOf(limit_mb: number) {
  const clock = virtualClock(Date.UTC(2026, 10, 22));
  const budget = byteBudget({ limit_bytes: limit_mb * MB, clock, ...silentTelemetry() });
  const reserved = () => budget.figures().reserved_bytes / MB;
  /** "waiting", or what came of it. */
  const stateOf = async (reserving: Promise<Reservation | null>) =>
    Promise.race([
      reserving.then((held) => (held ? "held" : "refused")),
      clock.advance(0).then(() => "waiting"),
    ]);
  return { clock, budget, reserved, stateOf };
}

describe("the memory for bodies", () => {
  test("is given in the order in which it was asked for, also to one that is larger than those behind it", async () => {
    const { budget, reserved, stateOf } = budgetOf(100);
    const first = await budget.reserve(40 * MB);
    const [second, third] = [budget.reserve(20 * MB), budget.reserve(5 * MB)];
    expect([await stateOf(second), await stateOf(third)]).toEqual(["waiting", "waiting"]);
    first!.release();
    expect([await stateOf(second), await stateOf(third)]).toEqual(["held", "held"]);
    expect(reserved()).toBe(25);
  });

  test("of small bodies never waits for that of large ones", async () => {
    const { budget, stateOf } = budgetOf(100);
    const large = [budget.reserve(50 * MB), budget.reserve(50 * MB)];
    expect(await Promise.all(large.map(stateOf))).toEqual(["held", "waiting"]);
    const small = Array.from({ length: 18 }, () => budget.reserve(SMALL_BYTES));
    expect(new Set(await Promise.all(small.map(stateOf)))).toEqual(new Set(["held"]));
  });

  test("is refused after a while, and to a caller that has gone, and others move up", async () => {
    const { clock, budget, stateOf } = budgetOf(100);
    const held = await budget.reserve(40 * MB);
    const leaving = new AbortController();
    const [gone, late, fits] = [
      budget.reserve(30 * MB, leaving.signal),
      budget.reserve(50 * MB),
      budget.reserve(10 * MB),
    ];
    await clock.advance(MAX_ROOM_WAIT_MS / 2);
    leaving.abort();
    expect(await gone).toBeNull();
    expect(await stateOf(late)).toBe("waiting");
    await clock.advance(MAX_ROOM_WAIT_MS / 2);
    expect(await late).toBeNull();
    expect(await fits).not.toBeNull();
    expect(budget.figures()).toMatchObject({ waiting: 0, reserved_bytes: 50 * MB });
    held!.release();
    expect(await budget.reserve(MB, AbortSignal.abort())).toBeNull();
  });

  test("of requests, of asks and of tells waits for none of the others, and at its limit only tells wait", async () => {
    const { clock, budget, reserved, stateOf } = budgetOf(320);
    const { requests, messages } = budget;
    const bodies = [budget.reserve(160 * MB), ...Array.from({ length: 60 }, () => budget.reserve(2 * MB))];
    expect(new Set(await Promise.all(bodies.map(stateOf)))).toEqual(new Set(["held"]));
    const [first_body, second_body] = ["a", "b"].map((owner) => requests.open(owner, () => {}));
    expect([first_body!.growTo(15 * MB), second_body!.growTo(5 * MB)]).toEqual([true, true]);
    expect(messages.asks.tryReserve(10 * MB)).not.toBeNull();
    expect(messages.asks.tryReserve(1)).toBeNull();
    const first = messages.tells.tryReserve(10 * MB)!;
    const leaving = new AbortController();
    const gone = messages.tells.reserve(5 * MB, leaving.signal);
    const next = messages.tells.reserve(5 * MB, new AbortController().signal);
    await clock.advance(10 * MAX_ROOM_WAIT_MS);
    expect([await stateOf(gone), await stateOf(next), reserved()]).toEqual(["waiting", "waiting", 320]);
    leaving.abort();
    expect(await gone).toBeNull();
    first.release();
    expect([await stateOf(next), reserved()]).toEqual(["held", 315]);
  });

  test("lets one body in that is larger than all of it", async () => {
    const { budget, reserved, stateOf } = budgetOf(100);
    expect(await stateOf(budget.reserve(500 * MB))).toBe("held");
    expect(reserved()).toBe(50);
  });

  test("is not given to a caller that goes in the moment in which it comes back", async () => {
    const { budget, reserved } = budgetOf(100);
    const held = (await budget.reserve(50 * MB))!;
    const leaving = new AbortController();
    const gone = budget.reserve(30 * MB, leaving.signal);
    leaving.abort();
    held.release();
    expect([await gone, reserved()]).toEqual([null, 0]);
  });

  test("that is given back in parts, or twice, is given back once", async () => {
    const { budget, reserved } = budgetOf(100);
    const held = (await budget.reserve(40 * MB))!;
    held.shrink(10 * MB);
    expect(reserved()).toBe(10);
    held.shrink(30 * MB);
    expect(reserved()).toBe(10);
    held.release();
    held.release();
    expect(reserved()).toBe(0);
  });

  test("is never exceeded, and all of it comes back, whatever is asked for and given back", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ mb: fc.integer({ min: 0, max: 90 }), keeps: fc.integer({ min: 0, max: 90 }) }), {
          maxLength: 40,
        }),
        async (bodies) => {
          const { clock, budget, reserved } = budgetOf(100);
          const works = bodies.map(async ({ mb, keeps }) => {
            const held = await budget.reserve(mb * MB);
            expect(reserved()).toBeLessThanOrEqual(100);
            await clock.advance(0);
            held?.shrink(keeps * MB);
            await clock.advance(0);
            held?.release();
            return held !== null;
          });
          expect(new Set(await Promise.all(works)).has(false)).toBe(false);
          expect(budget.figures()).toMatchObject({ reserved_bytes: 0, waiting: 0 });
        },
      ),
      { numRuns: 50 },
    );
  });
});

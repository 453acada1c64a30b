/** The most that the items of a job may cost together, however many run side by side and whenever the node dies. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withBills } from "../../../../actors/work/jobs/checkpoint.ts";
import { committedMicros, reserveCost } from "../../../../actors/work/jobs/cost-limit.ts";
import { newRecord } from "../../../../actors/work/jobs/state.ts";
import { Job } from "../../../../schemas/jobs.ts";
import type { LedgerRow } from "../../../../schemas/ledger.ts";
import { oneCluster, pages } from "../../../harness/jobs-harness.ts";

const LIMIT = 100;
const MOST = 10;
const COST = 7;

/** Items that pay for a route where the job's limit has room, and go on without where it has none. */
function paying() {
  let tries = 0;
  let spent = 0;
  const refused: string[] = [];
  const jobs = oneCluster({
    run: async (url, { request_id, attempt_id }) => {
      // As a route does: another run of the same attempt has another id.
      const id = `${attempt_id}.proxy.${tries++}`;
      const { is_reserved } = await jobs.ask(Job, "j", "reserveCost", { id, micros: MOST });
      if (!is_reserved) {
        refused.push(url);
        return { cost_micros: 0, ms: 200 };
      }
      spent += COST;
      const before = jobs.script.spent_micros.get(request_id) ?? 0;
      jobs.script.spent_micros.set(request_id, before + COST);
      return { cost_micros: COST, ms: 200 };
    },
  });
  return { jobs, refused, spent: () => spent };
}

describe("the limit of a job's cost", () => {
  test("is never passed by items side by side, and the others go on without", async () => {
    const { jobs, refused, spent } = paying();
    await jobs.create("j", pages(60, 2), { max_cost_micros: LIMIT });
    const { counts, max_cost_reached, metered } = await jobs.finished("j");
    expect(counts).toMatchObject({ done: 60, failed: 0 });
    expect(max_cost_reached).toBe(true);
    // Reserved money that an attempt did not cost is free again: 14 of them fit where 10 were reserved at once.
    expect(spent()).toBeLessThanOrEqual(LIMIT);
    expect(spent()).toBeGreaterThan(LIMIT - MOST);
    expect(metered.cost_micros).toBe(spent());
    expect(refused.length).toBe(60 - spent() / COST);
    expect((await jobs.invariants("j")).problems).toEqual([]);
  });

  test("holds when the node dies in the middle", async () => {
    const { jobs, spent } = paying();
    await jobs.create("j", pages(40, 10), { max_cost_micros: LIMIT });
    for (let n = 0; n < 5; n++) {
      await jobs.clock.advance(150 + 70 * n);
      jobs.kill();
      jobs.start();
      expect((await jobs.invariants("j")).problems).toEqual([]);
    }
    const { counts, metered } = await jobs.finished("j");
    expect(counts).toMatchObject({ done: 40 });
    expect(spent()).toBeLessThanOrEqual(LIMIT);
    expect(metered.cost_micros).toBe(spent());
  });

  test("is not there, or not reached, where nothing says so", async () => {
    const { jobs, refused } = paying();
    await jobs.create("j", pages(20, 5));
    expect((await jobs.finished("j")).max_cost_reached).toBeUndefined();
    expect(refused).toEqual([]);
    expect(await jobs.ask(Job, "j", "reserveCost", { id: "j:1.0.proxy.9", micros: 1 })).toEqual({
      is_reserved: true,
    });
  });
});

test("what is metered and reserved never passes the limit, and the same id is the same reservation", () => {
  const step = fc.tuple(fc.nat(9), fc.nat(2), fc.integer({ min: 0, max: 40 }), fc.boolean());
  const spec = oneCluster().specOf("j", 10, { max_cost_micros: LIMIT });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let record = newRecord(spec);
      const ended = new Set<number>();
      for (const [index, attempt, micros, ends] of steps) {
        if (ended.has(index)) continue;
        const request = { id: `j:${index}.${attempt}.proxy.1`, micros };
        const before = committedMicros(record);
        const isKnown = `${index}.${attempt}.proxy.1` in (record.held_micros ?? {});
        const { record: after, is_reserved } = reserveCost(record, request);
        expect(committedMicros(after) - before).toBe(is_reserved && !isKnown ? micros : 0);
        expect(is_reserved).toBe(isKnown || before + micros <= LIMIT);
        record = after;
        if (!ends) continue;
        ended.add(index);
        const held = Object.entries(record.held_micros ?? {}).filter(([key]) => key.startsWith(`${index}.`));
        const cost_micros = Math.floor(held.reduce((sum, [, each]) => sum + each, 0) / 2);
        record = withBills(record, [{ request_id: `j:${index}`, cost_micros } as LedgerRow]);
        expect(committedMicros(record)).toBeLessThanOrEqual(before + micros);
      }
      expect(committedMicros(record)).toBeLessThanOrEqual(LIMIT);
    }),
  );
});

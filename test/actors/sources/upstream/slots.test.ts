import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FILING_LIMITS } from "../../../../actors/sources/filings/upstream/limits.ts";
import {
  afterOutcome,
  INITIAL_RECORD,
  slotRules,
  type SlotRecord,
  takeSlot,
} from "../../../../actors/sources/upstream/slots.ts";
import type { Slot } from "../../../../schemas/upstream.ts";
import { worstSecond } from "../../../harness/edgar.ts";

const NOW = Date.UTC(2026, 0, 1);
const EIGHT = slotRules(8, FILING_LIMITS);

function slotOf(record: SlotRecord, now_ms: number, rate = EIGHT): { record: SlotRecord; slot: Slot } {
  const { record: nextRecord, result: slotResult } = takeSlot(record, rate, now_ms);
  if (slotResult.kind !== "slot") throw new Error(`No slot but ${slotResult.kind}`);
  return { record: nextRecord, slot: slotResult.slot };
}

const outcome = (
  slot: Slot,
  result: "answered" | "throttled" | "unreachable" | "dropped",
  retry_after_s: number | null = null,
) => ({ slot, result, retry_after_s, reason: null });

describe("slots", () => {
  test.each([
    [1, 1_000, 250],
    [8, 125, 125],
    [9, 1_000 / 9, 55],
    [10, 105, 25],
  ])("at %d a second are %d ms apart and good for %d ms", (rps, interval_ms, window_ms) => {
    expect(slotRules(rps, FILING_LIMITS)).toMatchObject({ interval_ms, window_ms });
  });

  test("begin at once after a time without requests, and are never saved up", () => {
    let record = slotOf(INITIAL_RECORD, NOW).record;
    const begins: number[] = [];
    for (let n = 0; n < 4; n++) {
      const next = slotOf(record, NOW + 60_000);
      ({ record } = next);
      begins.push(next.slot.slot_ms - NOW - 60_000);
    }
    expect(begins).toEqual([0, 125, 250, 375]);
  });

  test("of a limiter whose clock was an hour ahead count as used: the next one waits a second", () => {
    const { record } = slotOf(INITIAL_RECORD, NOW + 3_600_000);
    expect(slotOf(record, NOW).slot.slot_ms).toBe(NOW + 1_250);
  });

  test("never let an eleventh start into any second, whatever the rate and however late each is used", () => {
    const late = fc.array(
      fc.record({ asked_after_ms: fc.nat(300), late: fc.double({ min: 0, max: 1, noNaN: true }) }),
      {
        minLength: 20,
        maxLength: 120,
      },
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 }), late, (rps, uses) => {
        const rate = slotRules(rps, FILING_LIMITS);
        let record = INITIAL_RECORD;
        let now_ms = NOW;
        const starts = uses.map((use) => {
          now_ms += use.asked_after_ms;
          const next = slotOf(record, now_ms, rate);
          ({ record } = next);
          now_ms = Math.max(now_ms, next.slot.slot_ms);
          return next.slot.slot_ms + use.late * (next.slot.not_after_ms - next.slot.slot_ms);
        });
        expect(worstSecond(starts)).toBeLessThanOrEqual(10);
      }),
      { numRuns: 500 },
    );
  });

  test("would let it in if they were good for 400 ms, so the test before can fail", () => {
    const rate = { ...EIGHT, window_ms: 400 };
    let record = INITIAL_RECORD;
    const starts: number[] = [];
    for (let n = 0; n < 40; n++) {
      const guardless = { ...record, last_ms: [] };
      const next = slotOf(guardless, NOW, rate);
      ({ record } = next);
      starts.push(n % 13 === 0 ? next.slot.not_after_ms : next.slot.slot_ms);
    }
    const crowded = starts.map((at, n) => (n < 13 ? Math.max(at, starts[0]!) : at));
    expect(worstSecond(crowded)).toBeGreaterThan(10);
  });
});

describe("a pause", () => {
  /** The record after so many probes in a row that were turned away. */
  function turnedAway(
    times: number,
    retry_after_s: number | null = null,
  ): { record: SlotRecord; now_ms: number } {
    let record = INITIAL_RECORD;
    let now_ms = NOW;
    for (let n = 0; n < times; n++) {
      const next = slotOf(record, now_ms);
      record = afterOutcome(next.record, EIGHT, now_ms, outcome(next.slot, "throttled", retry_after_s));
      if (n + 1 < times) now_ms = record.pause.until_ms;
    }
    return { record, now_ms };
  }

  test.each([
    [1, 10],
    [2, 20],
    [3, 40],
    [4, 80],
    [5, 160],
    [6, 320],
    [7, 600],
    [8, 600],
    [40, 600],
  ])("lasts, the %dth time in a row, %d s", (times, lasts_s) => {
    const { record, now_ms } = turnedAway(times);
    expect(record.pause.until_ms - now_ms).toBe(lasts_s * 1_000);
  });

  test.each([
    [0, 10],
    [5, 10],
    [90, 90],
    [99_999, 600],
  ])("lasts, with Retry-After: %d, %d s", (retry_after_s, lasts_s) => {
    const { record, now_ms } = turnedAway(1, retry_after_s);
    expect(record.pause.until_ms - now_ms).toBe(lasts_s * 1_000);
  });

  test("eight turned away at once raise the level once", () => {
    let record = INITIAL_RECORD;
    const slots: Slot[] = [];
    for (let n = 0; n < 8; n++) {
      const next = slotOf(record, NOW + n * 125);
      ({ record } = next);
      slots.push(next.slot);
    }
    for (const slot of slots) record = afterOutcome(record, EIGHT, NOW + 2_000, outcome(slot, "throttled"));
    expect(record.pause).toMatchObject({ level: 1, until_ms: NOW + 12_000 });
  });

  test("grants no slot until it is over, then one probe, whose answer ends it", () => {
    const { record, now_ms } = turnedAway(3);
    expect(takeSlot(record, EIGHT, now_ms + 39_999).result).toEqual({ kind: "paused" });
    const probe = slotOf(record, now_ms + 40_000);
    expect(probe.slot.is_probe).toBe(true);
    expect(takeSlot(probe.record, EIGHT, now_ms + 41_000).result).toMatchObject({ kind: "probing" });
    const nextRecord = afterOutcome(probe.record, EIGHT, now_ms + 42_000, outcome(probe.slot, "answered"));
    expect(nextRecord.pause.level).toBe(0);
    expect(slotOf(nextRecord, now_ms + 42_000).slot.is_probe).toBe(false);
    // And the next one begins at ten seconds again.
    const next = slotOf(nextRecord, now_ms + 43_000);
    const again = afterOutcome(next.record, EIGHT, now_ms + 43_000, outcome(next.slot, "throttled"));
    expect(again.pause.until_ms - now_ms).toBe(53_000);
  });

  test.each(["throttled", "unreachable"] as const)("doubles when its probe is %s", (result) => {
    const { record, now_ms } = turnedAway(1);
    const probe = slotOf(record, now_ms + 10_000);
    const nextRecord = afterOutcome(probe.record, EIGHT, now_ms + 11_000, outcome(probe.slot, result));
    expect(nextRecord.pause).toMatchObject({ level: 2, until_ms: now_ms + 31_000 });
  });

  test("doubles when its probe has no outcome for 30 s", () => {
    const { record, now_ms } = turnedAway(1);
    const probe = slotOf(record, now_ms + 10_000);
    const { record: nextRecord, result: slotResult } = takeSlot(probe.record, EIGHT, now_ms + 40_000);
    expect(slotResult).toEqual({ kind: "paused" });
    expect(nextRecord.pause).toMatchObject({ level: 2, until_ms: now_ms + 60_000 });
    // A late outcome of the lost probe is about the pause before.
    expect(afterOutcome(nextRecord, EIGHT, now_ms + 45_000, outcome(probe.slot, "answered"))).toBe(
      nextRecord,
    );
  });

  test("has another probe when the first was never sent", () => {
    const { record, now_ms } = turnedAway(1);
    const probe = slotOf(record, now_ms + 10_000);
    const nextRecord = afterOutcome(probe.record, EIGHT, now_ms + 10_300, outcome(probe.slot, "dropped"));
    expect(slotOf(nextRecord, now_ms + 10_400).slot.is_probe).toBe(true);
  });

  test("is none for a refused connection or a lost slot while nothing was wrong", () => {
    const { record, slot } = slotOf(INITIAL_RECORD, NOW);
    expect(afterOutcome(record, EIGHT, NOW, outcome(slot, "unreachable"))).toBe(record);
    expect(afterOutcome(record, EIGHT, NOW, outcome(slot, "dropped"))).toBe(record);
    expect(afterOutcome(record, EIGHT, NOW, outcome(slot, "answered"))).toBe(record);
  });
});

/** How slow a body may be, with time moved by hand. */
import { describe, expect, test } from "vitest";
import { type Upload, uploadPace } from "../../gateway/upload-pace.ts";

/** Checked twice a second: the second in which it was ended, or null. */
function endOf(bytesAt: (second: number) => number, lasts_s: number, isAwaited = true): number | null {
  const pace = uploadPace();
  let ended: number | null = null;
  let second = 0;
  const upload: Upload = {
    get received_bytes() {
      return bytesAt(second);
    },
    isAwaited,
    onTooSlow() {
      ended ??= second;
    },
  };
  pace.add(upload, 0);
  for (; second <= lasts_s && ended === null; second += 0.5) pace.check(second * 1_000);
  return ended;
}

describe("a body", () => {
  test.each([
    ["of a byte a second is ended after six seconds", (s: number) => s, 60, 6],
    [
      "that stops after seven seconds is ended in the third window of six",
      (s: number) => Math.min(s, 7) * 2 ** 20,
      60,
      18,
    ],
    ["of 15 KB a second is ended", (s: number) => s * 15 * 1024, 60, 6],
    ["of 17 KB a second goes on", (s: number) => s * 17 * 1024, 299, null],
    [
      "that comes in a burst each five seconds goes on",
      (s: number) => Math.floor(s / 5) * 100 * 1024,
      120,
      null,
    ],
    ["that lasts five minutes is ended", (s: number) => s * 2 ** 20, 400, 300],
  ])("%s", (_, bytesAt, lasts_s, expected) => {
    expect(endOf(bytesAt, lasts_s)).toBe(expected);
  });

  test("that the server itself does not read goes on", () => {
    expect(endOf(() => 0, 120, false)).toBe(null);
  });

  test("is not ended for what a server could not read that stood still for ten seconds", () => {
    const pace = uploadPace();
    const ended: number[] = [];
    let now_ms = 0;
    const upload: Upload = { received_bytes: 0, isAwaited: true, onTooSlow: () => ended.push(now_ms) };
    const checkUntil = (end_ms: number): void => {
      for (; now_ms <= end_ms && ended.length === 0; now_ms += 500) pace.check(now_ms);
    };
    pace.add(upload, 0);
    checkUntil(2_000);
    now_ms = 12_000;
    checkUntil(60_000);
    // Counted are two seconds before, one of the ten, and three after.
    expect(ended).toEqual([15_000]);
  });

  test("that has arrived is not looked at any more", () => {
    const pace = uploadPace();
    let isEnded = false;
    const upload: Upload = { received_bytes: 0, isAwaited: true, onTooSlow: () => (isEnded = true) };
    pace.add(upload, 0);
    pace.remove(upload);
    pace.check(60_000);
    expect(isEnded).toBe(false);
  });
});

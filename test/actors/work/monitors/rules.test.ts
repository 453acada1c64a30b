import { describe, expect, test } from "vitest";
import { applyPatch } from "diff";
import {
  nextVisit,
  readSchedule,
  type Schedule,
  visitAfter,
} from "../../../../actors/work/monitors/schedule.ts";
import { MAX_DIFF_CHARS, unifiedDiff } from "../../../../actors/work/monitors/unified-diff.ts";
import { watchedOf } from "../../../../actors/work/monitors/watched.ts";
import { WATCHES } from "../../../../schemas/monitors.ts";

const NOW_MS = Date.UTC(2026, 10, 25, 12);
const cron = (pattern: string, timezone = "UTC"): Schedule => ({ kind: "cron", cron: pattern, timezone });
const iso = (at_ms: number): string => new Date(at_ms).toISOString().slice(0, 16);
const visits = (schedule: Schedule, from: string, count: number): string[] => {
  const found: string[] = [];
  for (let at_ms = Date.parse(from); found.length < count; found.push(iso(at_ms)))
    at_ms = nextVisit(schedule, at_ms);
  return found;
};

describe("when a page is visited", () => {
  test.each([
    [{ every_s: 300 }, "right"],
    [{ cron: "*/5 * * * *" }, "right"],
    [{ cron: "0 7 * * MON-FRI", timezone: "Europe/Zurich" }, "right"],
    [{ cron: "0 0 29 2 *" }, "right"],
    [{}, "every_s: One of every_s and cron is required"],
    [{ every_s: 300, cron: "0 0 * * *" }, "cron: Only one of every_s and cron may be given"],
    [{ every_s: 300, timezone: "UTC" }, "timezone: A time zone belongs to cron"],
    [{ cron: "0 0 30 2 *" }, "cron: There is no such day"],
    [{ cron: "*/4 * * * *" }, "cron: Visits should be at least 5 minutes apart"],
    [{ cron: "58,1 * * * *" }, "cron: Visits should be at least 5 minutes apart"],
    [{ cron: "0,1 0 1 1 *" }, "cron: Visits should be at least 5 minutes apart"],
  ])("%j", (given, answer) => {
    const read = readSchedule(given, NOW_MS);
    expect(read.kind === "right" ? "right" : `${read.field}: ${read.message}`).toBe(answer);
  });

  test.each(["* * * * * *", "61 * * * *", "", "monthly"])("%j is no pattern of five fields", (pattern) => {
    expect(readSchedule({ cron: pattern }, NOW_MS)).toMatchObject({ kind: "wrong", field: "cron" });
  });

  test("an unknown time zone is named", () => {
    expect(readSchedule({ cron: "0 0 * * *", timezone: "Mars/Olympus" }, NOW_MS)).toMatchObject({
      kind: "wrong",
      field: "timezone",
    });
  });

  test("a daily visit that the clock leaves out comes right after, one that it repeats comes once", () => {
    const daily = cron("30 2 * * *", "Europe/Zurich");
    expect(visits(daily, "2027-03-27T12:00:00Z", 2)).toEqual(["2027-03-28T01:00", "2027-03-29T00:30"]);
    expect(visits(daily, "2026-10-24T12:00:00Z", 2)).toEqual(["2026-10-25T00:30", "2026-10-26T01:30"]);
  });

  test("visits within an hour go on through the hour that is repeated, and none is closer than before", () => {
    const quarter = cron("*/15 * * * *", "Europe/Zurich");
    const found = visits(quarter, "2026-10-24T23:50:00Z", 12).map((at) => Date.parse(`${at}Z`));
    expect(new Set(found.slice(1).map((at_ms, n) => at_ms - found[n]!))).toEqual(new Set([15 * 60_000]));
  });

  test("visits that were missed are not made up for", () => {
    const hourly: Schedule = { kind: "interval", every_s: 3_600 };
    expect(visitAfter(hourly, NOW_MS, NOW_MS + 5_000)).toBe(NOW_MS + 3_600_000);
    expect(visitAfter(hourly, NOW_MS, NOW_MS + 86_400_000)).toBe(NOW_MS + 86_400_000 + 3_600_000);
    expect(iso(visitAfter(cron("0 7 * * *"), NOW_MS, NOW_MS + 3 * 86_400_000))).toBe("2026-11-29T07:00");
  });
});

describe("what counts as a change", () => {
  const page = {
    status: 200,
    text: " A\nB ",
    markdown: "# A\n\nB\n",
    links: [
      { url: "https://example.org/b", text: "B", rel: null },
      { url: "https://example.org/a", text: "A", rel: null },
      { url: "https://example.org/b", text: "again", rel: null },
    ],
    retrieved_at: null,
  };
  const changed = (watch: (typeof WATCHES)[number], other: Partial<typeof page>): boolean =>
    watchedOf(watch, page).value !== watchedOf(watch, { ...page, ...other }).value;

  test.each([
    ["text", { text: "A\nC" }, { links: [], status: 404, markdown: "*A*\n\nB" }],
    ["markdown", { markdown: "# A\n\nC" }, { links: [], status: 404 }],
    ["status", { status: 404 }, { text: "C", markdown: "C", links: [] }],
    ["links", { links: page.links.slice(1, 2) }, { text: "C", links: page.links.toReversed() }],
  ] as const)("%s", (watch, other, same) => {
    expect([changed(watch, other as never), changed(watch, same as never)]).toEqual([true, false]);
  });
});

describe("a diff", () => {
  test("leads from one text to the other", () => {
    const lines = Array.from({ length: 200 }, (_, n) => `line ${n}`);
    const before = `${lines.join("\n")}\n`;
    const after = `${lines.with(20, "changed").toSpliced(150, 3).join("\n")}\n`;
    const { diff, diff_truncated } = unifiedDiff("https://example.org/", before, after);
    expect(diff).toContain("--- https://example.org/\n+++ https://example.org/\n@@ -18,7 +18,7 @@\n");
    expect(applyPatch(before, diff!)).toBe(after);
    expect(diff_truncated).toBe(false);
  });

  test("ends behind a whole hunk where it would be too long", () => {
    const line = (n: number, word: string) => `${word} ${n} ${"x".repeat(1_000)}`;
    const before = Array.from({ length: 2_000 }, (_, n) => line(n, "old"));
    const after = before.map((text, n) => (n % 20 === 0 ? line(n, "new") : text));
    const found = unifiedDiff("p", `${before.join("\n")}\n`, `${after.join("\n")}\n`);
    expect(found).toEqual({ diff: null, diff_truncated: true });
    const short = [before.slice(0, 400), after.slice(0, 400)].map((each) => `${each.join("\n")}\n`);
    const { diff, diff_truncated } = unifiedDiff("p", short[0]!, short[1]!);
    expect(diff_truncated).toBe(true);
    expect(diff!.length).toBeGreaterThan(MAX_DIFF_CHARS / 2);
    expect(diff!.length).toBeLessThan(MAX_DIFF_CHARS + 1_000);
    // A truncated diff can be applied: lines beyond it are as they were.
    expect(applyPatch(short[0]!, diff!)).toContain("new 0 ");
  });

  test("of texts that share nothing, or of one line that is too long, is none", () => {
    const numbers = (from: number) => Array.from({ length: 5_000 }, (_, n) => String(from + n)).join("\n");
    expect(unifiedDiff("p", numbers(0), numbers(10_000))).toEqual({ diff: null, diff_truncated: true });
    expect(unifiedDiff("p", "a", "b".repeat(200_000))).toEqual({ diff: null, diff_truncated: true });
  });
});

/** The rules of rates and allowances, and their header fields against shared test vectors where these are present. */
import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  budgetField,
  count,
  freshWindow,
  isSpent,
  limitField,
  policyField,
  quotaCategoryOf,
  quotaField,
  ratePassed,
  secondsToReset,
} from "../../gateway/limits.ts";
import {
  budgetExhausted,
  KEY_RATE_LIMITED,
  quotaExhausted,
  RATE_LIMITED,
} from "../../gateway/http-errors.ts";
import { BILLING_CATEGORIES } from "../../schemas/common.ts";
import { fromMicros, monthEnds, toMicros } from "../../schemas/accounts.ts";

describe("a window of one second", () => {
  test("counts within the second and begins anew with the next", () => {
    const window = freshWindow();
    expect([10_000, 10_500, 10_999].map((now_ms) => count(window, now_ms))).toEqual([1, 2, 3]);
    expect(count(window, 11_000)).toBe(1);
  });

  test("begins anew when the clock is set back, rather than stay shut", () => {
    const window = freshWindow();
    count(window, 60_000);
    expect(count(window, 10_000)).toBe(1);
  });

  test("never lets more than its limit pass in one calendar second", () => {
    const arrivals = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 });
    fc.assert(
      fc.property(arrivals, fc.integer({ min: 1, max: 5 }), (pauses_ms, q) => {
        const window = freshWindow();
        const passed = new Map<number, number>();
        let now_ms = 1_000_000;
        for (const pause_ms of pauses_ms) {
          now_ms += pause_ms;
          const second = Math.floor(now_ms / 1000);
          if (count(window, now_ms) <= q) passed.set(second, (passed.get(second) ?? 0) + 1);
        }
        for (const many of passed.values()) expect(many).toBeLessThanOrEqual(q);
      }),
    );
  });
});

const seen = (q: number, used: number) => ({ q, used, window_left_ms: 500 });

describe("which limit is passed", () => {
  test.each([
    [seen(2, 2), null, null],
    [seen(2, 3), null, "project"],
    [seen(2, 1), seen(1, 1), null],
    [seen(2, 1), seen(1, 2), "key"],
    [seen(2, 3), seen(1, 2), "project"],
  ])("project %j, key %j: %s", (project, key, passed) => {
    expect(ratePassed(project, key)).toBe(passed);
  });
});

describe("an allowance of a month", () => {
  const allowances = { search: 10, fetch: 4, spend: 2_000_000 };
  test.each([
    [1_999_999, false],
    [2_000_000, true],
    [2_000_001, true],
  ])("is spent after %i micros: %s", (spend_micros, spent) => {
    expect(isSpent(allowances, spend_micros)).toBe(spent);
    expect(isSpent({ ...allowances, spend: null }, spend_micros)).toBe(false);
  });

  test("is shown with what is left", () => {
    expect(quotaField({ search: 7, fetch: 0 })).toBe("search=7, fetch=0");
    expect(budgetField(allowances, 500_000)).toBe("1.500000");
    expect(quotaField({ search: null, fetch: null })).toBeNull();
    expect(budgetField({ search: null, fetch: null, spend: null }, 500_000)).toBeNull();
  });

  test("counts every billing category of its kind and no other", () => {
    expect(Object.groupBy(BILLING_CATEGORIES, (billing) => quotaCategoryOf(billing) ?? "none")).toEqual({
      search: ["search", "search_fallback", "search_cached"],
      fetch: [
        "fetch_own",
        "fetch_paid",
        "fetch_cached",
        "filings",
        "filings_cached",
        "profiles",
        "profiles_cached",
      ],
      none: ["company", "company_cached"],
    });
  });

  test("ends with the month, in December too", () => {
    expect(secondsToReset(Date.UTC(2026, 11, 31, 23, 59, 59, 1))).toBe(1);
    expect(monthEnds(Date.UTC(2026, 11, 31))).toBe(Date.UTC(2027, 0, 1));
  });
});

describe("money", () => {
  test.each([
    ["0", 0],
    ["12.5", 12_500_000],
    ["0.000001", 1],
    ["0.1234567", null],
    ["-1", null],
    ["1e3", null],
    ["", null],
  ])("%s is %s millionths", (text, micros) => {
    expect(toMicros(text)).toBe(micros);
  });

  test("comes back as it went in", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 46 }), (micros) => {
        expect(toMicros(fromMicros(micros))).toBe(micros);
      }),
    );
  });
});

const SHARED = "../shared/fixtures/gateway/limits.json";

test.skipIf(!existsSync(SHARED))(`the shared vectors (${SHARED})`, () => {
  const { cases } = JSON.parse(readFileSync(SHARED, "utf8"));
  expect(cases.length).toBe(8);
  for (const { id, project, key, quota, budget, now, status, headers, body } of cases) {
    expect([id, policyField(project.q, key?.q ?? null)]).toEqual([id, headers["RateLimit-Policy"]]);
    expect([id, limitField(project, key)]).toEqual([id, headers["RateLimit"]]);
    const passed = ratePassed(project, key);
    const now_ms = now ? Date.parse(now) : 0;
    const refusal =
      passed === "project"
        ? RATE_LIMITED
        : passed === "key"
          ? KEY_RATE_LIMITED
          : quota && quota.used >= quota.limit
            ? quotaExhausted(quota.category, quota.limit, secondsToReset(now_ms))
            : budget && toMicros(budget.spent)! >= toMicros(budget.limit)!
              ? budgetExhausted(toMicros(budget.limit)!, budget.currency, secondsToReset(now_ms))
              : null;
    expect([id, refusal?.status ?? 200]).toEqual([id, status]);
    const content = refusal && JSON.parse((refusal.body as Buffer).toString());
    expect([id, content, refusal?.headers!["Retry-After"]]).toEqual([
      id,
      body ?? null,
      headers["Retry-After"],
    ]);
  }
});

/** Waits for a page in a browser (wait_for), on a clock that only the test moves. */
import { beforeEach, describe, expect, test } from "vitest";
import { type Awaited, awaitedState } from "../../../../actors/crawl/tiers/adapters/wait-for.ts";

const QUIET_MS = 500;
const OTHER = { matches: false, is_static: false };
const MATCH = { matches: true, is_static: false };

let now_ms = 0;
const open = (selector: string | null, ms = 0): Awaited =>
  awaitedState({ selector, ms }, 15_000, () => now_ms);
beforeEach(() => (now_ms = 0));

test("without a wish nothing is waited for", () => {
  const awaited = awaitedState(null, 15_000, () => now_ms);
  expect([awaited.isOver(), awaited.limit_ms(QUIET_MS), awaited.shortfall()]).toEqual([
    true,
    -Infinity,
    null,
  ]);
});

describe("a selector", () => {
  test("is waited for until an element matches, and a moment longer for what came with it", () => {
    const awaited = open(".price");
    awaited.onParsed(200);
    awaited.onLook(OTHER);
    expect([awaited.isOver(), awaited.limit_ms(QUIET_MS)]).toEqual([false, 15_000]);
    now_ms = 4_000;
    awaited.onLook(MATCH);
    expect([awaited.isOver(), awaited.limit_ms(QUIET_MS)]).toEqual([true, 4_500]);
    expect(awaited.shortfall()).toBeNull();
  });

  test("that never matches is selector_not_found after 15 s, and names the selector", () => {
    const awaited = open(".price");
    awaited.onParsed(200);
    now_ms = 15_000;
    awaited.onLook(OTHER);
    expect(awaited.shortfall()).toEqual({
      error: "selector_not_found",
      detail: 'No element of the page matches ".price": 15 s after it was parsed',
    });
  });

  test("that has not matched when the caller's time is over is timeout", () => {
    const awaited = open(".price");
    awaited.onParsed(200);
    now_ms = 3_000;
    awaited.onLook(OTHER);
    expect(awaited.shortfall()).toMatchObject({
      error: "timeout",
      detail: expect.stringContaining('".price"'),
    });
  });

  test.each([
    ["that the browser does not know", { matches: null, is_static: false }, "does not know"],
    ["on a page that no script changes", { matches: false, is_static: true }, "no scripts"],
  ])("%s is not waited for", (_, look, why) => {
    const awaited = open(".price");
    awaited.onParsed(200);
    awaited.onLook(look);
    expect([awaited.isOver(), awaited.limit_ms(QUIET_MS)]).toEqual([true, 0]);
    expect(awaited.shortfall()).toMatchObject({
      error: "selector_not_found",
      detail: expect.stringContaining(why),
    });
  });

  test("on an error page is not waited for: the status is the answer", () => {
    const awaited = open(".price");
    awaited.onParsed(404);
    awaited.onLook(OTHER);
    expect([awaited.isOver(), awaited.shortfall()]).toEqual([true, null]);
  });

  test("begins anew with another document", () => {
    const awaited = open(".price");
    awaited.onParsed(200);
    awaited.onLook(MATCH);
    awaited.reset();
    awaited.onParsed(200);
    awaited.onLook(OTHER);
    expect(awaited.isOver()).toBe(false);
  });
});

describe("a time", () => {
  test("is counted from when the document was parsed, whatever happens before", () => {
    const awaited = open(null, 2_000);
    now_ms = 1_000;
    awaited.onParsed(200);
    now_ms = 2_999;
    expect([awaited.isOver(), awaited.limit_ms(QUIET_MS)]).toEqual([false, 3_000]);
    now_ms = 3_000;
    expect([awaited.isOver(), awaited.shortfall()]).toEqual([true, null]);
  });

  test("with a selector holds beside it", () => {
    const awaited = open(".price", 2_000);
    awaited.onParsed(200);
    awaited.onLook(MATCH);
    expect([awaited.isOver(), awaited.limit_ms(QUIET_MS)]).toEqual([false, 2_000]);
    now_ms = 2_000;
    expect([awaited.isOver(), awaited.shortfall()]).toEqual([true, null]);
  });

  test("that the caller's own time cuts short is timeout", () => {
    const awaited = open(null, 9_000);
    awaited.onParsed(200);
    now_ms = 3_500;
    expect(awaited.shortfall()).toEqual({
      error: "timeout",
      detail: "The time of the request was over before wait_for.ms (9000)",
    });
  });
});

/** Prices of attempts on premium routes. */
import { describe, expect, test } from "vitest";
import { priceMost, priceOf, readPrice, readPrices } from "../../../../actors/crawl/fetch/prices.ts";

describe("a price list", () => {
  test.each<[string, readonly [string, number] | null]>([
    ["proxy=0.002", ["proxy", 2_000]],
    [" proxy_render = 1 ", ["proxy_render", 1_000_000]],
    ["proxy_render.high=0.000001", ["proxy_render.high", 1]],
    ["proxy=0.0000001", null],
    ["proxy=-1", null],
    ["proxy=1e-3", null],
    ["proxy", null],
    ["direct=1", null],
    ["proxy.high=1", null],
    ["", null],
  ])("%j", (text, price) => {
    expect(readPrice(text)).toEqual(price);
  });
});

const prices = readPrices([
  "proxy=0.002",
  "proxy_render=0.005",
  "proxy_render.high=0.02",
  "proxy_render.low=0",
]);

test("so much is set aside as an attempt can cost", () => {
  expect([priceMost(prices, "proxy"), priceMost(prices, "proxy_render")]).toEqual([2_000, 20_000]);
  expect(priceMost({}, "proxy")).toBe(0);
});

test.each<[string, string, string | null, number]>([
  ["proxy", "ok", null, 2_000],
  ["proxy", "timeout", null, 2_000],
  ["proxy", "tls_error", null, 2_000],
  ["proxy", "proxy_unreachable", null, 0],
  ["proxy", "proxy_refused", null, 0],
  ["proxy", "proxy_connect_failed", null, 0],
  ["proxy_render", "ok", null, 5_000],
  ["proxy_render", "ok", "low", 0],
  ["proxy_render", "ok", "medium", 5_000],
  ["proxy_render", "ok", "high", 20_000],
  ["proxy_render", "provider_bad_answer", null, 0],
  ["proxy_render", "provider_error", null, 0],
  ["proxy_render", "timeout", null, 5_000],
  ["proxy_render", "provider_over_budget", null, 0],
  ["proxy_render", "provider_rate_limited", null, 0],
])("%s that came to %s (%s) costs %i micros", (tier, reason, difficulty, micros) => {
  expect(priceOf(prices, tier as "proxy", reason, difficulty)).toBe(micros);
});

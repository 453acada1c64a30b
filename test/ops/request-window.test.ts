/** Which requests the public status counts, and as what. */
import { expect, test } from "vitest";
import { RollingWindow } from "../../actors/lib/rolling-window.ts";
import { countingRequests } from "../../ops/http.ts";
import { fetchAnswer, gatewayHarness, NOON_MS } from "../harness/gateway-harness.ts";

const PAGE = { url: "https://example.org/" };

test("requests to the API are counted when they end, those that fail by our fault not as successes", async () => {
  const window = new RollingWindow(["requests", "successes"]);
  let fail = false;
  const { fetch, call, clock } = await gatewayHarness({
    onEnd: countingRequests(window),
    fetch: async () => {
      await clock.advance(300);
      if (fail) throw new Error("a bug");
      return fetchAnswer({});
    },
  });
  await fetch(PAGE);
  await fetch({ url: 7 });
  fail = true;
  await fetch(PAGE);
  for (const path of ["/v1/status", "/health", "/v1/nowhere"]) await call("GET", path);
  expect(window.sums(clock.now())).toEqual({ requests: 3, successes: 2 });
  // Two of 300 ms, and the refusal.
  expect(window.latencies(clock.now()).filter((count) => count > 0)).toEqual([1, 2]);
  expect(window.sums(NOON_MS + 599_999)).toEqual({ requests: 3, successes: 2 });
  expect(window.sums(NOON_MS + 700_000)).toEqual({ requests: 0, successes: 0 });
});

/** Tier actors: places, the breaker, what they learn, and calls from other nodes. */
import { describe, expect, test } from "vitest";
import type { TransportResult } from "../../../../actors/lib/web/transport.ts";
import { readCapacities, readCapacity, tierPolicy } from "../../../../actors/crawl/tiers/policy.ts";
import { CallWindow } from "../../../../actors/crawl/tiers/window.ts";
import { failed, page, tierWorld } from "../../../harness/tier-world.ts";

const reasonOf = (result: TransportResult): string =>
  result.kind === "failed" ? result.reason : result.kind === "refused" ? result.refusal.reason : "page";

describe("places", () => {
  test("a tier with one place serves 500 waiting calls one after another", async () => {
    const { tier, alone, take, until, pause } = tierWorld();
    const render = tier("proxy_render", () => pause(10).then(() => page("a")), { capacity: 1 });
    const router = alone(render);
    const all = Promise.all(Array.from({ length: 501 }, () => take(router, "proxy_render")));
    expect((await until(all)).map(reasonOf)).toEqual(Array.from({ length: 501 }, () => "page"));
    expect(render.asked).toEqual({ requests: 501, running: 0, most_running: 1 });
    expect(router.loads()).toEqual({
      proxy_render: { capacity: 1, in_use: 0, waiting: 0, breaker: "closed" },
    });
  });

  test("a call that finds the line full, or waits too long in it, is told so and gives its permit back", async () => {
    const { tier, alone, take, until, pause, released } = tierWorld();
    const slow = tier("browser", () => pause(60_000).then(() => page("a")), { capacity: 1, max_waiting: 2 });
    const router = alone(slow);
    const all = Promise.all(Array.from({ length: 5 }, () => take(router, "browser")));
    const reasons = (await until(all)).map(reasonOf);
    expect(reasons).toEqual(["page", "browser_busy", "browser_busy", "browser_busy", "browser_busy"]);
    expect(slow.asked.requests).toBe(1);
    expect(released).toHaveLength(5);
  });

  test("a call that waits for its domain occupies no place", async () => {
    const { tier, alone, take, until } = tierWorld();
    const router = alone(tier("browser", async () => page("a"), { capacity: 1 }));
    void take(router, "browser", { admit: () => new Promise(() => {}) });
    expect(reasonOf(await until(take(router, "browser")))).toBe("page");
  });

  test("a caller that leaves gives its place to the next one", async () => {
    const { tier, alone, take, until, pause } = tierWorld();
    const hung = tier("browser", (signal) => pause(600_000, signal).then(() => failed("timeout")), {
      capacity: 1,
    });
    const router = alone(hung);
    const leaving = new AbortController();
    const first = take(router, "browser", { signal: leaving.signal });
    const second = new AbortController();
    const waiting = take(router, "browser", { signal: second.signal });
    await until(Promise.resolve());
    leaving.abort();
    expect(reasonOf(await until(first))).toBe("timeout");
    expect(hung.asked.requests).toBe(2);
    second.abort();
    expect(reasonOf(await until(waiting))).toBe("timeout");
    expect(router.loads()["browser"]).toMatchObject({ in_use: 0, waiting: 0 });
  });

  test("how many calls a tier takes is a setting", () => {
    expect(readCapacity("browser=4")).toEqual(["browser", 4]);
    for (const wrong of ["browser=0", "browser", "robots=1", "proxy=x", "proxy=100000"])
      expect(readCapacity(wrong)).toBeNull();
    const capacities = readCapacities(["archive=2"]);
    expect(tierPolicy("archive", capacities, 8).capacity).toBe(2);
    expect(tierPolicy("browser", capacities, 8).capacity).toBe(8);
  });
});

describe("the breaker", () => {
  const FAULTS = [
    ["archive", "archive_unreachable"],
    ["archive", "archive_error"],
    ["archive", "archive_bad_answer"],
    ["archive", "archive_rate_limited"],
    ["proxy", "proxy_refused"],
    ["proxy_render", "provider_error"],
    ["proxy_render", "provider_over_budget"],
    ["proxy_render", "provider_rate_limited"],
    ["proxy_render", "provider_bad_answer"],
  ] as const;

  test.each(FAULTS)(
    "%s: %s for an hour costs few requests, and when the provider is back it is used again",
    async (name, reason) => {
      const { tier, alone, take, until, clock } = tierWorld();
      const world = { isDown: true };
      const actor = tier(name, async () => (world.isDown ? failed(reason) : page("a")));
      const router = alone(actor);
      const reasons = new Set<string>();
      for (let minute = 0; minute < 60; minute++) {
        for (let n = 0; n < 20; n++) reasons.add(reasonOf(await take(router, name)));
        await clock.advance(60_000);
      }
      expect([...reasons]).toEqual([reason, `${name}_unavailable`]);
      // Five open it; then one a pause: 10 s, 20 s … 5 min.
      expect(actor.asked.requests).toBeLessThan(25);
      world.isDown = false;
      await clock.advance(300_000);
      expect(reasonOf(await until(take(router, name)))).toBe("page");
      expect(reasonOf(await until(take(router, name)))).toBe("page");
      expect(router.loads()[name]!.breaker).toBe("closed");
    },
  );

  test("a provider that hangs gets few of 1,000 requests, and most callers lose no time", async () => {
    const { tier, alone, take, until, pause, clock } = tierWorld();
    const hung = tier("archive", (signal) => pause(30_000, signal).then(() => failed("timeout")), {
      slow_ms: 5_000,
    });
    const router = alone(hung);
    const waits: number[] = [];
    // As 16 workers that fetch without a pause, each with 100 ms of other work.
    const workers = Array.from({ length: 16 }, async () => {
      while (waits.length < 1_000) {
        const began_ms = clock.mono();
        await take(router, "archive");
        waits.push(clock.mono() - began_ms);
        await pause(100);
      }
    });
    await until(Promise.all(workers));
    expect(hung.asked.requests).toBeLessThanOrEqual(20);
    expect(waits.toSorted((a, b) => a - b)[Math.floor(0.95 * waits.length)]).toBeLessThanOrEqual(200);
  });

  test("what has not begun when the tier becomes unavailable is not sent", async () => {
    const { tier, alone, take, until, pause } = tierWorld();
    const down = tier("archive", () => pause(100).then(() => failed("archive_unreachable")), { capacity: 1 });
    const router = alone(down);
    const all = Promise.all(Array.from({ length: 100 }, () => take(router, "archive")));
    const reasons = (await until(all)).map(reasonOf);
    expect(down.asked.requests).toBe(5);
    expect(reasons.filter((reason) => reason === "archive_unavailable")).toHaveLength(95);
  });

  test("one call at a time tries a provider that was down", async () => {
    const { tier, alone, take, until, pause, clock } = tierWorld();
    const down = tier("proxy_render", () => pause(20).then(() => failed("provider_error")));
    const router = alone(down);
    for (let n = 0; n < 5; n++) await until(take(router, "proxy_render"));
    await clock.advance(11_000);
    const all = Promise.all(Array.from({ length: 50 }, () => take(router, "proxy_render")));
    await clock.advance(1);
    expect(router.loads()["proxy_render"]!.breaker).toBe("half_open");
    await until(all);
    expect(down.asked.requests).toBe(6);
  });

  test("a probe that is not admitted leaves the next try to the next call", async () => {
    const { tier, alone, take, until, clock } = tierWorld();
    const world = { isDown: true };
    const router = alone(tier("proxy", async () => (world.isDown ? failed("proxy_unreachable") : page("a"))));
    for (let n = 0; n < 5; n++) await until(take(router, "proxy"));
    world.isDown = false;
    await clock.advance(11_000);
    const refusal = {
      error: "robots_disallowed",
      step: "robots",
      reason: "robots_disallowed",
      retry_after_s: null,
      detail: null,
    } as const;
    const refused = await until(take(router, "proxy", { admit: async () => ({ kind: "refused", refusal }) }));
    expect(reasonOf(refused)).toBe("robots_disallowed");
    expect(reasonOf(await until(take(router, "proxy")))).toBe("page");
  });

  test.each([
    ["direct", failed("network_refused")],
    ["direct", failed("timeout")],
    ["proxy", failed("timeout")],
    ["proxy", failed("proxy_connect_failed")],
    ["proxy", failed("network_reset", 503)],
    ["browser", failed("browser_crashed")],
    ["archive", failed("archive_not_found")],
    ["proxy_render", failed("provider_failed")],
    ["proxy_render", { ...page("x"), status: 503 } as TransportResult],
  ] as const)("%s: what the site answers never opens it (%j)", async (name, result) => {
    const { tier, alone, take, until } = tierWorld();
    const router = alone(tier(name, async () => result));
    for (let n = 0; n < 50; n++) await until(take(router, name));
    expect(router.loads()[name]!.breaker).toBe("closed");
  });

  test("is told to operators", async () => {
    const { tier, alone, take, until, telemetry } = tierWorld();
    const archive = tier("archive", async () => failed("archive_error"));
    const router = alone(archive);
    for (let n = 0; n < 7; n++) await until(take(router, "archive"));
    expect(telemetry.counts.get("trawl_tier_breaker_open archive")).toBe(1);
    expect(telemetry.counts.get("trawl_tier_calls_total archive infrastructure")).toBe(5);
    expect(telemetry.counts.get("trawl_tier_refusals_total archive unavailable")).toBe(2);
    expect(router.figures()["archive"]).toEqual({
      attempts: 5,
      successes: 0,
      infrastructure_failures: 5,
      p95_ms: null,
    });
  });
});

test("the figures are those of the last 600 s", () => {
  const window = new CallWindow();
  for (let n = 0; n < 20; n++) window.record("success", n === 0 ? 4_000 : 80, n * 1_000);
  window.record("infrastructure", 9, 20_000);
  expect(window.figures(20_000)).toEqual({
    attempts: 21,
    successes: 20,
    infrastructure_failures: 1,
    p95_ms: 100,
  });
  expect(window.figures(700_000)).toEqual({
    attempts: 0,
    successes: 0,
    infrastructure_failures: 0,
    p95_ms: null,
  });
});

describe("a tier of another node", () => {
  test("serves under the caller's permits", async () => {
    const { tier, node, take, until, released } = tierWorld();
    await node(tier("browser", async () => page("there")));
    const caller = await node();
    const result = await until(take(caller, "browser"));
    expect(result).toMatchObject({ kind: "page", status: 200 });
    expect(result.kind === "page" && result.headers.get("content-type")).toBe("text/html");
    expect(released).toEqual([{ status: 200, retry_after_s: null }]);
  });

  test("sends nothing when the caller may not start any more, and hands the slot back", async () => {
    const { tier, node, take, until, released } = tierWorld();
    const there = tier("proxy", async () => page("there"));
    await node(there);
    const caller = await node();
    expect(reasonOf(await until(take(caller, "proxy", { beforeSend: () => false })))).toBe("timeout");
    expect(there.asked.requests).toBe(0);
    expect(released).toEqual([{ status: null, retry_after_s: null }]);
  });

  test("passes on what the caller's admission throws", async () => {
    const { tier, node, take, until } = tierWorld();
    await node(tier("proxy", async () => page("there")));
    const caller = await node();
    const admit = () => Promise.reject(new Error("lease lost"));
    await expect(until(take(caller, "proxy", { admit }))).rejects.toThrow("lease lost");
  });

  test("that is killed in the middle is replaced by another one, and its permit released", async () => {
    const { tier, node, take, until, pause, released } = tierWorld();
    const hung = (signal: AbortSignal) => pause(600_000, signal).then(() => failed("timeout"));
    const [a, b] = [tier("browser", hung), tier("browser", async () => page("b"))];
    const first = await node(a);
    const caller = await node();
    const taken = take(caller, "browser");
    await until(pause(500));
    await node(b);
    first.bus.kill();
    expect(reasonOf(await until(taken))).toBe("page");
    expect([a.asked.requests, b.asked.requests]).toEqual([1, 1]);
    expect(released).toEqual([
      { status: null, retry_after_s: null },
      { status: 200, retry_after_s: null },
    ]);
  });

  test("that is the only proxy and is killed fails the call at once; a provider that was asked is not asked twice", async () => {
    const { tier, node, take, until, pause, clock } = tierWorld();
    const hung = (signal: AbortSignal) => pause(600_000, signal).then(() => failed("timeout"));
    const only = await node(tier("proxy", hung));
    const caller = await node();
    const taken = take(caller, "proxy");
    await until(pause(500));
    const other = tier("proxy", async () => page("other"));
    await node(other);
    const killed_ms = clock.mono();
    only.bus.kill();
    expect(reasonOf(await until(taken))).toBe("proxy_lost");
    expect(clock.mono() - killed_ms).toBeLessThan(2_000);
    expect(other.asked.requests).toBe(0);
  });

  test("that no node has is unavailable at once", async () => {
    const { node, take, until, released } = tierWorld();
    const caller = await node();
    expect(reasonOf(await until(take(caller, "browser")))).toBe("browser_unavailable");
    expect(released).toEqual([]);
  });

  test("ends its work when the caller's node is killed or silent", async () => {
    const { tier, node, take, until, pause, clock } = tierWorld();
    const hung = tier("browser", (signal) => pause(600_000, signal).then(() => failed("timeout")));
    await node(hung);
    for (const end of ["kill", "cut"] as const) {
      const caller = await node();
      void take(caller, "browser");
      await until(pause(500));
      expect(hung.asked.running).toBe(1);
      if (end === "kill") caller.bus.kill();
      else caller.bus.cut(true);
      await clock.advance(8_000);
      expect(hung.asked.running).toBe(0);
    }
  });

  test("a node ten times slower than another one gets its share and no more", async () => {
    const { tier, node, take, until, pause } = tierWorld();
    const fast = tier("browser", () => pause(200).then(() => page("fast")));
    const slow = tier("browser", () => pause(2_000).then(() => page("slow")));
    await node(fast);
    await node(slow);
    const caller = await node();
    let left = 400;
    const workers = Array.from({ length: 8 }, async () => {
      while (left-- > 0) expect(reasonOf(await take(caller, "browser"))).toBe("page");
    });
    await until(Promise.all(workers));
    expect(fast.asked.requests + slow.asked.requests).toBe(400);
    expect(fast.asked.requests).toBeGreaterThan(3 * slow.asked.requests);
  });
});

/**
 * Providers that are down for an hour and come back: whole fetches over the real transports and their tiers, with money,
 * on a virtual clock. Direct requests are blocked everywhere, so each fetch wants the provider.
 */
import { describe, expect, test } from "vitest";
import { readPrices } from "../../../../actors/crawl/fetch/prices.ts";
import { destination } from "../../../../actors/lib/web/destination.ts";
import { archiveTransport } from "../../../../actors/crawl/tiers/adapters/transport.archive.ts";
import { proxyTransport } from "../../../../actors/crawl/tiers/adapters/transport.proxy.ts";
import { renderTransport } from "../../../../actors/crawl/tiers/adapters/transport.render.ts";
import { tierPolicy } from "../../../../actors/crawl/tiers/policy.ts";
import { tierActor } from "../../../../actors/crawl/tiers/tier.actor.ts";
import { tierRoute } from "../../../../actors/crawl/tiers/tier-route.ts";
import { type FakeAnswer, fakeEgress } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import type { VirtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import type { Egress } from "../../../../cluster/ports/egress.ts";
import { localRouter } from "../../../../cluster/internal/roles/role-router.ts";
import { type Tier } from "../../../../schemas/tier-table.ts";
import { answer, HTML, oneService, type RealRoutes } from "../../../harness/fetch-harness.ts";

const HOUR_MS = 3_600_000;
/** A fetch a minute, each of another site. */
const PAUSE_MS = 60_000;
const HOSTS = { archive: "archive.example", proxy_render: "render.example" } as const;
/** Until the request's own time for a response head is over, as egress.undici.ts ends it. */
const HANGS: FakeAnswer = { problem: "timeout", connected: true };
const GARBAGE: FakeAnswer = { status: 200, body: "\u0000\u0001 no answer of this service" };
const LISTING = JSON.stringify([["timestamp", "original", "statuscode", "mimetype", "digest"]]);

interface Outage {
  readonly tier: "archive" | "proxy" | "proxy_render";
  readonly fault: string;
  readonly answer: FakeAnswer;
  /** The reason of attempts while the provider is asked. */
  readonly reason: string;
  /** Requests that reach it within the hour. */
  readonly most: number;
  /** The cost of its attempts together; others cost nothing. */
  readonly cost_usd?: number;
}

const OUTAGES: readonly Outage[] = [
  { tier: "archive", fault: "hangs", answer: HANGS, reason: "timeout", most: 20 },
  {
    tier: "archive",
    fault: "refuses connections",
    answer: { problem: "network_refused" },
    reason: "archive_unreachable",
    most: 20,
  },
  { tier: "archive", fault: "answers 500", answer: { status: 500 }, reason: "archive_error", most: 20 },
  {
    tier: "archive",
    fault: "answers 429",
    answer: { status: 429 },
    reason: "archive_rate_limited",
    most: 20,
  },
  { tier: "archive", fault: "answers garbage", answer: GARBAGE, reason: "archive_bad_answer", most: 20 },
  {
    tier: "proxy",
    fault: "refuses connections",
    answer: { problem: "proxy_unreachable" },
    reason: "proxy_unreachable",
    most: 40,
  },
  {
    tier: "proxy",
    fault: "has no money left",
    answer: { problem: "proxy_refused" },
    reason: "proxy_refused",
    most: 20,
  },
  // Whether the proxy or each of the sites is away cannot be told, so it is asked each time, and for nothing.
  {
    tier: "proxy",
    fault: "reaches no site",
    answer: { problem: "proxy_connect_failed" },
    reason: "proxy_connect_failed",
    most: 120,
  },
  // A service that took a page may bill for it: these few attempts count as used.
  { tier: "proxy_render", fault: "hangs", answer: HANGS, reason: "timeout", most: 20, cost_usd: 0.005 },
  { tier: "proxy_render", fault: "answers 500", answer: { status: 500 }, reason: "provider_error", most: 20 },
  {
    tier: "proxy_render",
    fault: "answers 402",
    answer: { status: 402 },
    reason: "provider_over_budget",
    most: 20,
  },
  {
    tier: "proxy_render",
    fault: "answers 429",
    answer: { status: 429 },
    reason: "provider_rate_limited",
    most: 20,
  },
  {
    tier: "proxy_render",
    fault: "answers garbage",
    answer: GARBAGE,
    reason: "provider_bad_answer",
    most: 20,
  },
];

/** The three providers, of which one does what `fault` says while it is down; the others serve every page. */
function providers(tier: Outage["tier"], fault: FakeAnswer) {
  const state = { isDown: true, asked: 0 };
  function answerOf(url: URL, isProxied: boolean): FakeAnswer {
    if (url.pathname === "/robots.txt") return { status: 404 };
    const provider =
      url.hostname === HOSTS.archive
        ? "archive"
        : url.hostname === HOSTS.proxy_render
          ? "proxy_render"
          : isProxied
            ? "proxy"
            : null;
    if (provider === tier) {
      state.asked++;
      if (state.isDown) return fault;
    }
    switch (provider) {
      case "archive":
        return url.pathname.startsWith("/cdx/") ? { status: 200, body: LISTING } : { status: 404 };
      case "proxy_render":
        return {
          status: 200,
          body: JSON.stringify({ status: 200, html: HTML, headers: {}, final_url: null }),
        };
      case "proxy":
      case null:
        return { status: 200, headers: { "content-type": "text/html" }, body: HTML };
    }
  }
  const egressOf = (clock: VirtualClock): Egress => ({
    exchange: (request) => {
      const url = new URL(request.url);
      const answered = answerOf(url, request.via !== undefined);
      const after_ms = answered === HANGS ? (request.headers_timeout_ms ?? 60_000) : 0;
      return fakeEgress({ [url.href]: { ...answered, after_ms } }, clock).exchange(request);
    },
    close: async () => {},
  });
  return { state, egressOf };
}

function openReal(only: readonly Tier[], egressOf: (clock: VirtualClock) => Egress) {
  return (clock: VirtualClock): RealRoutes => {
    const egress = egressOf(clock);
    const { metrics, log } = silentTelemetry();
    const common = { egress, clock, destination: destination({ allow: [], own: [] }) };
    const transports = {
      archive: archiveTransport({
        egress,
        clock,
        archive_url: `https://${HOSTS.archive}`,
        user_agent: "trawl",
      }),
      proxy: proxyTransport({ ...common, proxy_url: "http://proxy.example:8000" }),
      proxy_render: renderTransport({ ...common, render_url: `https://${HOSTS.proxy_render}/render` }),
    };
    const tiers = only.filter((tier): tier is keyof typeof transports => tier in transports);
    const { call } = localRouter(
      tiers.map((tier) =>
        tierActor(tier, {
          transport: transports[tier],
          policy: tierPolicy(tier, {}, 1),
          clock,
          metrics,
          log,
        }),
      ),
      seededRandom(1),
    );
    return {
      egress,
      transports: Object.fromEntries(tiers.map((tier) => [tier, tierRoute(tier, { call, clock })])),
    };
  };
}

describe.each(OUTAGES)(
  "$tier that $fault for an hour",
  ({ tier, answer: fault, reason, most, cost_usd = 0 }) => {
    test("is asked seldom, named in attempts and paid for nothing; the ladder goes on, and it serves again when it is back", async () => {
      const { state, egressOf } = providers(tier, fault);
      // The next premium route serves what the provider does not; the last one has none behind it.
      const tiers: Tier[] =
        tier === "archive"
          ? ["archive", "proxy"]
          : tier === "proxy"
            ? ["proxy", "proxy_render"]
            : ["proxy_render"];
      const service = await oneService(
        { direct: () => answer("no", 403) },
        { prices: readPrices(["proxy=0", "proxy_render=0.005"]) },
        openReal(tiers, egressOf),
      );
      const { clock } = service;
      let sites = 0;
      async function fetched() {
        const url = `http://site-${sites++}.example/`;
        const work = service.get({ url, tiers: ["direct", ...tiers], cache_ttl_s: 0 });
        let isOver = false;
        void work.finally(() => (isOver = true));
        // No fetch lasts longer than its deadline.
        for (const ends_ms = clock.now() + 160_000; !isOver && clock.now() < ends_ms;)
          await clock.advance(500);
        return work;
      }
      const reasons = new Set<string>();
      let spent = 0;
      const served: string[] = [];
      for (const end_ms = clock.now() + HOUR_MS; clock.now() < end_ms; await clock.advance(PAUSE_MS)) {
        const { error, attempts, cost_usd: cost, record } = await fetched();
        for (const attempt of attempts) if (attempt.tier === tier) reasons.add(attempt.reason);
        if (tier !== "proxy" || error !== null) spent += Number(cost);
        served.push(error ?? record.tier!);
      }
      expect(new Set(served)).toEqual(
        new Set([tier === "archive" ? "proxy" : tier === "proxy" ? "proxy_render" : "all_tiers_failed"]),
      );
      // An archive that answers 429 is a domain that is asked more slowly.
      const named = [reason, `${tier}_unavailable`, "archive_domain_busy"];
      expect([...reasons].filter((each) => !named.includes(each))).toEqual([]);
      expect(state.asked).toBeLessThanOrEqual(most);
      expect(spent).toBeCloseTo(cost_usd * (reason === "timeout" ? state.asked : 0), 6);

      state.isDown = false;
      // The longest pause of a breaker; a domain that asked for fewer requests may be left alone for 15 minutes.
      await clock.advance(reason === "archive_rate_limited" ? 900_000 : 300_000);
      const asked = state.asked;
      const back = await fetched();
      expect(state.asked).toBeGreaterThan(asked);
      const ok = tier === "archive" ? "archive_not_found" : "ok";
      expect(back.attempts.find((attempt) => attempt.tier === tier)).toMatchObject({ reason: ok });
      await service.stop(0);
    });
  },
);

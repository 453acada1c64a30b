/** Fetches of a batch: what they ask of the Fetch actor beyond others, and which of them are tried again. */
import { describe, expect, test } from "vitest";
import { retryForFetch } from "../../../../actors/crawl/fetch/retry-policy.ts";
import { Domain } from "../../../../schemas/domain.ts";
import { type Attempt, EMPTY_RECORD, type FetchAnswer } from "../../../../schemas/fetch.ts";
import { answer, failure, HTML, oneService, running } from "../../../harness/fetch-harness.ts";

const ended = (error: string | null, reasons: readonly string[] = [], retry_after_s: number | null = null) =>
  ({
    record: EMPTY_RECORD,
    attempts: reasons.map((words): Attempt => {
      const [tier, reason] = words.split(" ") as [string, string];
      return { tier, status: null, reason, ms: 1, detail: null };
    }),
    cached: false,
    revalidated: false,
    cost_usd: "0",
    error,
    error_detail: null,
    retry_after_s,
    premium_routes_tried: false,
  }) satisfies FetchAnswer;

const transient = { reason: "transient", retry_after_s: null };
const blocked = { reason: "blocked", retry_after_s: null };

test.each([
  [ended(null), {}, null],
  [ended("http_404", ["direct http_404"]), {}, null],
  [ended("blocked_destination"), {}, null],
  [ended("domain_dead"), {}, null],
  [ended("timeout", ["request_timeout timeout"]), {}, null],
  [ended("domain_busy", [], 9), {}, { reason: "busy", retry_after_s: 9 }],
  [ended("politeness_timeout", [], 3), {}, { reason: "busy", retry_after_s: 3 }],
  [ended("domain_unavailable", [], 600), {}, { reason: "transient", retry_after_s: 600 }],
  [ended("domain_unavailable", [], 600), { attempts: 1 }, null],
  [ended("domain_unavailable", [], 1_800), {}, null],
  [ended("robots_disallowed", ["robots rules"]), {}, null],
  [ended("robots_disallowed", ["robots robots_unreachable"]), {}, transient],
  [ended("all_tiers_failed", ["direct network_refused", "browser not_configured"]), {}, transient],
  [ended("all_tiers_failed", ["direct http_503"]), {}, transient],
  [ended("all_tiers_failed", ["direct http_429"]), {}, transient],
  [ended("all_tiers_failed", ["direct http_403", "proxy provider_rate_limited"]), {}, transient],
  [ended("all_tiers_failed", ["direct http_403", "archive timeout"]), {}, null],
  [ended("all_tiers_failed", ["direct http_403"]), { premium_later: true }, blocked],
  [ended("all_tiers_failed", ["direct challenge_cloudflare"]), { premium_later: true }, blocked],
  [ended("premium_route_required"), { premium_later: true }, { reason: "blocked", retry_after_s: 0 }],
  [ended("premium_route_required"), {}, null],
  [ended("all_tiers_failed", ["direct network_refused"]), { is_post: true }, null],
  [ended("domain_busy", ["direct network_refused"], 9), { is_post: true }, null],
  [
    ended("politeness_timeout", ["politeness politeness_timeout"], 3),
    { is_post: true },
    { reason: "busy", retry_after_s: 3 },
  ],
  [ended("robots_disallowed", ["robots robots_unreachable"]), { is_post: true }, transient],
] as const)("%#: %j", (fetched, item, expected) => {
  expect(retryForFetch(fetched, { attempts: 0, premium_later: false, is_post: false, ...item })).toEqual(
    expected,
  );
});

/** A page that takes until it is given up, and what was asked for. */
function slow() {
  const asked: string[] = [];
  return {
    asked,
    routes: {
      direct: async ({ signal }: { signal: AbortSignal }) => {
        asked.push("direct");
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return failure("timeout");
      },
      browser: () => {
        asked.push("browser");
        return answer(HTML);
      },
    },
  };
}

describe("a caller that cancels", () => {
  test("is answered, and no request is sent any more when no other caller wants the page", async () => {
    const { asked, routes } = slow();
    const { clock, getUntil } = await oneService(routes);
    const leaving = new AbortController();
    const wanted = getUntil(leaving.signal);
    await clock.advance(100);
    expect(asked).toEqual(["direct"]);
    leaving.abort();
    expect(await running(clock, wanted)).toMatchObject({ error: "timeout" });
    await clock.advance(400_000);
    expect(asked).toEqual(["direct"]);
  });

  test("takes nothing away from the callers that stay", async () => {
    const { asked, routes } = slow();
    const { clock, get, getUntil } = await oneService(routes);
    const leaving = new AbortController();
    const wanted = getUntil(leaving.signal);
    const staying = get({ deadline_ms: clock.now() + 20_000, hard_deadline: true });
    await clock.advance(100);
    leaving.abort();
    expect(await running(clock, wanted)).toMatchObject({ error: "timeout" });
    expect(asked).toEqual(["direct"]);
    let isThere = false;
    void staying.then(() => (isThere = true));
    await clock.advance(15_000);
    expect(isThere).toBe(false);
    await clock.advance(400_000);
    expect(isThere).toBe(true);
  });

  test("before another caller joins gives that caller its own run", async () => {
    let asked = 0;
    const { clock, get, getUntil } = await oneService({
      direct: async ({ signal }) => {
        if (asked++ > 0) return answer(HTML);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        // It takes a moment to notice.
        await new Promise((resolve) => clock.at(clock.now() + 500, () => resolve(null)));
        return failure("timeout");
      },
    });
    const leaving = new AbortController();
    const wanted = getUntil(leaving.signal);
    await clock.advance(100);
    leaving.abort();
    await clock.advance(100);
    const next = get();
    expect(await running(clock, wanted)).toMatchObject({ error: "timeout" });
    expect(await running(clock, next)).toMatchObject({ error: null });
    expect(asked).toBe(2);
  });
});

describe("a run that leaves premium routes for later", () => {
  const failures = async (premium_later: boolean): Promise<number> => {
    const { clock, get, ask } = await oneService({
      direct: () => answer("no", 403),
      proxy: () => answer(HTML),
    });
    for (let n = 0; n < 2; n++)
      await running(
        clock,
        get({ allow_paid: false, cache_ttl_s: 0, ...(premium_later && { premium_later }) }),
      );
    return (await ask(Domain, "example.org", "view", null)).skips[0]?.failures ?? 0;
  };

  test("is not recorded for the domain, because not all routes were tried", async () => {
    expect(await failures(true)).toBe(0);
    expect(await failures(false)).toBe(2);
  });
});

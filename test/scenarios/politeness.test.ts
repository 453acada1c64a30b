/** How sites are treated, as sites see it: when requests come, how many at once, and when no longer. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { describe, expect, test } from "vitest";
import type { FetchResponse } from "../../schemas/fetch.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, CHALLENGE, gate, type Page, type Pages, type Site } from "../harness/web.ts";

const DELAY_MS = 300;
const SLOTS = 2;
/** Milliseconds that a clock of whole milliseconds and a wire may take off a delay. */
const TOLERANCE_MS = 2;

const paged = (count: number, page: Pages[string]): Pages =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`/${n}`, page]));

const delaysOf = ({ arrivals }: Site): number[] =>
  arrivals.slice(1).map(({ at_ms }, n) => at_ms - arrivals[n]!.at_ms);

/** The median: a busy machine stretches some delays. */
const usualDelayOf = (site: Site): number => {
  const delays = delaysOf(site).toSorted((a, b) => a - b);
  return delays[Math.floor(delays.length / 2)]!;
};

const slow = async (): Promise<Page> => {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  return { body: article("Slow") };
};

/** `late_ms`: how late this process may have looked at its own clock meanwhile. */
async function timed<Answers>(
  ask: () => Promise<Answers>,
): Promise<{ readonly answers: Answers; readonly late_ms: number }> {
  const lateness = monitorEventLoopDelay({ resolution: 1 });
  lateness.enable();
  const answers = await ask();
  lateness.disable();
  return { answers, late_ms: Math.max(0, lateness.max / 1e6 - 1) };
}

describe.concurrent.each(SETUPS)("politeness, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({
    TRAWL_POLITE_DELAY_MS: String(DELAY_MS),
    TRAWL_POLITE_CONCURRENCY: String(SLOTS),
  }));

  const all = (site: Site, count: number) =>
    Promise.all(Array.from({ length: count }, (_, n) => service.fetch({ url: `${site.origin}/${n}` })));

  test("keeps requests one delay apart, including robots.txt (TRAWL_POLITE_DELAY_MS)", async () => {
    const site = sites.site(paged(8, { body: article("Apart") }));
    const { answers, late_ms } = await timed(() => all(site, 8));
    expect(answers.every(({ error }) => error === null)).toBe(true);
    expect(site.arrivals).toHaveLength(9);
    expect(Math.min(...delaysOf(site))).toBeGreaterThanOrEqual(DELAY_MS - TOLERANCE_MS - late_ms);
    // And no slower than it must: the usual delay is not much longer, though a busy machine may stretch some.
    expect(usualDelayOf(site)).toBeLessThan(DELAY_MS * 1.5 + late_ms);
  });

  test("never has more requests in flight than slots, and uses all slots (TRAWL_POLITE_CONCURRENCY)", async () => {
    const site = sites.site(paged(6, slow));
    await all(site, 6);
    expect(site.most()).toBe(SLOTS);
  });

  test("lets no site delay another", async () => {
    const many = Array.from({ length: 20 }, () => sites.site({ "/": { body: article("Many") } }));
    await Promise.all(many.map(({ origin }) => service.fetch({ url: `${origin}/` })));
    const firsts = many.map(({ arrivals }) => arrivals[0]!.at_ms);
    expect(Math.max(...firsts) - Math.min(...firsts)).toBeLessThan(20 * DELAY_MS * 0.5);
  });

  test("counts hosts of one registrable domain as one site, and hosts of other domains as others", async () => {
    const one = sites.site({ "/": { body: article("One") } }, "a.together");
    const two = sites.site({ "/": { body: article("Two") } }, "b.together");
    await Promise.all([one, two].map(({ origin }) => service.fetch({ url: `${origin}/` })));
    const starts = [...one.arrivals, ...two.arrivals].map(({ at_ms }) => at_ms).toSorted((a, b) => a - b);
    expect(starts).toHaveLength(4);
    expect(starts[3]! - starts[0]!).toBeGreaterThan(3 * (DELAY_MS - 50));
  });

  test("honours Crawl-delay, and answers domain_busy at once when the delay is too long", async () => {
    const robots: Page = { type: "text/plain", body: "User-agent: *\nCrawl-delay: 2" };
    const site = sites.site({ ...paged(3, { body: article("Delayed") }), "/robots.txt": robots });
    const { late_ms } = await timed(() => all(site, 2));
    expect(Math.min(...delaysOf(site))).toBeGreaterThan(1_900 - late_ms);

    const never: Page = { type: "text/plain", body: "User-agent: *\nCrawl-delay: 600" };
    const closed = sites.site({ "/": { body: article("Never") }, "/robots.txt": never });
    const began = performance.now();
    const { answer, ...busy } = await service.fetch({ url: `${closed.origin}/` });
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(busy).toMatchObject({ http: 503, error: "domain_busy", tier: null, text: "" });
    expect(busy.attempts).toMatchObject([{ tier: "politeness", reason: "domain_busy" }]);
    // Never more than 30 s, whatever robots.txt says.
    expect(busy.retry_after_s).toBeGreaterThan(20);
    expect(busy.retry_after_s).toBeLessThanOrEqual(31);
    expect(answer.headers["retry-after"]).toBe(String(busy.retry_after_s));
    expect(closed.hits("/")).toBe(0);
  });

  test("answers domain_busy when the queue is too long, and serves all other callers", async () => {
    const site = sites.site(paged(90, { body: article("Queue") }));
    const answers = await all(site, 90);
    const served = answers.filter(({ error }) => error === null);
    const busy = answers.filter(({ error }) => error === "domain_busy");
    // Fetches expected to take just under 15 s took just over: three on a machine at rest, more where starts come later than expected.
    const overran = answers.filter(({ error }) => error === "politeness_timeout");
    expect(overran.length).toBeLessThan(served.length);
    expect(served.length + busy.length + overran.length).toBe(90);
    // Starts each 300 ms for 15 s: about fifty, fewer where the machine is slow and the expected wait longer. A caller that
    // is let in is served over most of these 15 s.
    expect(served.length).toBeGreaterThan(15);
    const starts = site.arrivals.map(({ at_ms }) => at_ms);
    expect(Math.max(...starts) - Math.min(...starts)).toBeGreaterThan(0.5 * 15_000);
    expect(busy.length).toBeGreaterThan(25);
    for (const { http, retry_after_s, answer } of busy) {
      expect(http).toBe(503);
      expect(retry_after_s).toBeGreaterThanOrEqual(1);
      expect(answer.headers["retry-after"]).toBe(String(retry_after_s));
    }
  }, 40_000);

  test("answers politeness_timeout when the real wait exceeds the limit", async () => {
    const door = gate();
    const heldPage = async (): Promise<Page> => {
      await door.opened;
      return { body: article("Held") };
    };
    const site = sites.site({ "/0": heldPage, "/1": heldPage, "/2": heldPage });
    const holders = [0, 1].map((n) => service.fetch({ url: `${site.origin}/${n}` }));
    await site.reached("/0");
    await site.reached("/1");
    const late = await service.fetch({ url: `${site.origin}/2` });
    expect(late).toMatchObject({ http: 200, error: "politeness_timeout", tier: null });
    expect(late.attempts).toMatchObject([{ tier: "politeness", reason: "politeness_timeout" }]);
    door.open();
    expect((await Promise.all(holders)).map(({ error }) => error)).toEqual([null, null]);
    expect(site.hits("/2")).toBe(0);
  }, 40_000);

  test.each([429, 503])("waits as long as Retry-After on %i asks", async (status) => {
    const wall: Page = { status, headers: { "Retry-After": "3" }, body: "slow down" };
    const site = sites.site({ "/wall": wall, "/next": { body: article("Next") } });
    const walled = await service.fetch({ url: `${site.origin}/wall`, tiers: ["direct"] });
    expect(walled).toMatchObject({ error: "all_tiers_failed", status });
    expect(await service.fetch({ url: `${site.origin}/next` })).toMatchObject({ error: null });
    expect(delaysOf(site).at(-1)).toBeGreaterThanOrEqual(3_000 - TOLERANCE_MS);
  });

  test("answers domain_busy during a long Retry-After", async () => {
    const wall: Page = { status: 429, headers: { "Retry-After": "120" }, body: "slow down" };
    const site = sites.site({ "/wall": wall, "/next": { body: article("Next") } });
    await service.fetch({ url: `${site.origin}/wall`, tiers: ["direct"] });
    const busy = await service.fetch({ url: `${site.origin}/next` });
    expect(busy).toMatchObject({ http: 503, error: "domain_busy" });
    expect(busy.retry_after_s).toBeGreaterThan(110);
    expect(busy.retry_after_s).toBeLessThanOrEqual(121);
    expect(site.hits("/next")).toBe(0);
  });

  test("skips a domain after three fetches in a row that failed on every route", async () => {
    const site = sites.site({ "/wall": CHALLENGE, "/fine": { body: article("Fine") } });
    const wall = () => service.fetch({ url: `${site.origin}/wall` });
    const fine = (): Promise<FetchResponse> => service.fetch({ url: `${site.origin}/fine`, cache_ttl_s: 0 });
    const errors = [(await wall()).error, (await wall()).error, (await fine()).error];
    // A success in between, and the count begins anew.
    errors.push((await wall()).error, (await wall()).error, (await fine()).error);
    errors.push((await wall()).error, (await wall()).error, (await wall()).error);
    const failed = "all_tiers_failed";
    expect(errors).toEqual([failed, failed, null, failed, failed, null, failed, failed, failed]);

    const hits = site.arrivals.length;
    const skipped = await service.fetch({ url: `${site.origin}/fine`, cache_ttl_s: 0 });
    expect(skipped).toMatchObject({ http: 200, error: "domain_unavailable", tier: null });
    expect(skipped.retry_after_s).toBeGreaterThan(590);
    expect(skipped.retry_after_s).toBeLessThanOrEqual(600);
    expect(skipped.attempts).toMatchObject([{ tier: "politeness", reason: "domain_unavailable" }]);
    expect(site.arrivals).toHaveLength(hits);
    // A stored page is no matter of the domain.
    expect(await service.fetch({ url: `${site.origin}/fine` })).toMatchObject({ error: null, cached: true });
  }, 40_000);

  test("answers at once for a host that two fetches found missing (domain_dead)", async () => {
    const url = "http://nobody-is-here.test/";
    const ask = () => service.fetch({ url, cache_ttl_s: 0 });
    const first = await ask();
    expect(first).toMatchObject({ http: 200, error: "all_tiers_failed", status: null });
    expect(first.attempts).toMatchObject([
      { tier: "direct", reason: "dns_nxdomain" },
      { tier: "archive", reason: "not_configured" },
    ]);
    const second = await ask();
    expect(second).toMatchObject({ http: 200, error: "domain_dead" });
    const third = await ask();
    expect(third).toMatchObject({ http: 200, error: "domain_dead" });
    expect(third.attempts[0]).toMatchObject({ reason: "domain_dead", ms: expect.any(Number) });
    // Its neighbour on the same domain lives.
    const alive = sites.site({ "/": { body: article("Alive") } }, "www.nobody-is-here");
    expect(await service.fetch({ url: `${alive.origin}/` })).toMatchObject({ error: null });
  });
});

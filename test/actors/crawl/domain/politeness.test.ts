import { describe, expect, test } from "vitest";
import {
  delayFromSend,
  clear,
  refusalFor,
  setDelay,
  dueAt,
  expectedWait,
  medianSendDelay,
  withSendDelay,
  delayFor,
  expectedOriginWait,
  openForOrigin,
  LEASE_MS,
  mayStoreLater,
  afterNxdomain,
  type Politeness,
  refused,
  releaseSlot,
  restore,
  recordSent,
  grantSlot,
  takeOver,
  UNTOUCHED,
  withOriginStart,
  withOutcome,
} from "../../../../actors/crawl/domain/politeness.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const T0 = Date.UTC(2026, 0, 1);
const limits = { min_delay_ms: 500, max_concurrency: 2, lease_ms: LEASE_MS };
const host = "www.example.org";
const origin = `https://${host}`;
/** Another origin of the domain. */
const other = "https://shop.example.org";
const run_id = "1";
/** The process that grants. */
const process = "p";
const ours = process;
const notOurs = "another";
const granted = (fetch_id = "a", at_ms = T0) =>
  grantSlot(UNTOUCHED, limits, at_ms, { fetch_id, origin, run_id, process });
/** The delay of the origin, and when a request to it is due as far as domain and origin are concerned. */
const delayOf = (politeness: Politeness, _: typeof limits, at_ms: number, of = origin) =>
  delayFor(politeness, limits, of, at_ms);
const dueFor = (politeness: Politeness, at_ms: number, of = origin) =>
  Math.max(dueAt(politeness, limits, at_ms), openForOrigin(politeness, of, at_ms));

/** An exchange from start to answer. */
function answered(
  politeness: Politeness,
  at_ms: number,
  status: number | null,
  retry_after_s: number | null = null,
  of = origin,
) {
  const going = grantSlot(politeness, limits, at_ms, { fetch_id: "x", origin: of, run_id, process });
  return releaseSlot(going, limits, at_ms, { fetch_id: "x", run_id, origin: of, status, retry_after_s });
}

const failed = (politeness: Politeness, at_ms: number, fetch_id: string): Politeness => {
  const caller = { fetch_id, project: "first", is_open: true };
  return withOutcome(politeness, { caller, url: `${origin}/page`, result: "every_route_failed" }, at_ms);
};

const withCrawlDelay = (politeness: Politeness, of: string, crawl_delay_ms: number | null, at_ms = T0) =>
  setDelay(politeness, at_ms, { origin: of, crawl_delay_ms });

const gone = (politeness: Politeness, at_ms: number, fetch_id: string, name = host) =>
  afterNxdomain(politeness, at_ms, { fetch_id, host: name });

const afterSlotTime = (politeness: Politeness, slot_ms: number): Politeness => ({ ...politeness, slot_ms });

const after = (held_ms: number, politeness: Politeness) =>
  releaseSlot(
    grantSlot(politeness, limits, T0, { fetch_id: "x", origin, run_id, process }),
    limits,
    T0 + held_ms,
    {
      fetch_id: "x",
      run_id,
      origin,
      status: 200,
      retry_after_s: null,
    },
  );

describe("retry_after_s is rounded up, and at least 1", () => {
  test.each([
    [-5, 1],
    [0, 1],
    [1, 1],
    [1_000, 1],
    [1_001, 2],
    [600_000, 600],
  ])("%s ms are %s s", (for_ms, retry_after_s) => {
    expect(refused("domain_busy", for_ms)).toEqual({ kind: "refused", error: "domain_busy", retry_after_s });
  });
});

describe("delay and slots (TRAWL_POLITE_DELAY_MS, TRAWL_POLITE_CONCURRENCY)", () => {
  test("the first start is due at once", () => {
    expect(dueAt(UNTOUCHED, limits, T0)).toBe(T0);
  });

  test("the next start is due when the whole delay has passed, whatever the clock's last digit hides", () => {
    expect(dueAt(granted(), limits, T0)).toBe(T0 + 501);
  });

  test("without a delay it is due at once", () => {
    expect(dueAt(granted(), { ...limits, min_delay_ms: 0 }, T0 + 1)).toBe(T0 + 1);
  });

  test("with every slot taken it is due when the first one lapses", () => {
    const full = grantSlot(granted(), limits, T0 + 600, { fetch_id: "b", origin, run_id, process });
    expect(dueAt(full, limits, T0 + 600)).toBe(T0 + LEASE_MS);
    const back = releaseSlot(full, limits, T0 + 700, {
      fetch_id: "b",
      run_id,
      origin,
      status: 200,
      retry_after_s: null,
    });
    expect(dueAt(back, limits, T0 + 700)).toBe(T0 + 600 + 501);
  });

  test("a slot outlasts the longest exchange, a PDF of 5 minutes", () => {
    expect(LEASE_MS).toBeGreaterThan(5 * MINUTE + 150 * SECOND);
  });

  test("the delay counts from when the request was sent", () => {
    expect(dueAt(delayFromSend(granted(), T0 + 40), limits, T0 + 300)).toBe(T0 + 40 + 501);
    expect(dueAt(delayFromSend(granted(), T0 - 40), limits, T0 + 300)).toBe(T0 + 501);
    expect(delayFromSend(UNTOUCHED, T0)).toBe(UNTOUCHED);
  });

  test("a slot released twice is released once", () => {
    const once = releaseSlot(granted(), limits, T0 + 1, {
      fetch_id: "a",
      run_id,
      origin,
      status: 429,
      retry_after_s: 3,
    });
    expect(
      releaseSlot(once, limits, T0 + 2, { fetch_id: "a", run_id, origin, status: 429, retry_after_s: null }),
    ).toBe(once);
  });

  test("a slot that a later run has taken over is not released by what the earlier one reports", () => {
    const taken = takeOver(granted(), limits, T0, { fetch_id: "a", run_id: "2" });
    const by = (politeness: Politeness, run: string) =>
      releaseSlot(politeness, limits, T0 + 1, {
        fetch_id: "a",
        run_id: run,
        origin,
        status: 200,
        retry_after_s: null,
      });
    const late = by(taken, run_id);
    expect(late.leases).toEqual(taken.leases);
    expect(by(late, "2").leases).toEqual([]);
  });

  test("a Retry-After counts also when its slot has lapsed or was granted anew", () => {
    const late = releaseSlot(UNTOUCHED, limits, T0, {
      fetch_id: "a",
      run_id,
      origin,
      status: 429,
      retry_after_s: 9,
    });
    expect(openForOrigin(late, origin, T0)).toBe(T0 + 9 * SECOND + 1);
    expect(late.leases).toEqual([]);
  });

  test("granting more than the slots is a bug", () => {
    const full = grantSlot(granted(), limits, T0, { fetch_id: "b", origin, run_id, process });
    expect(() => grantSlot(full, limits, T0, { fetch_id: "c", origin, run_id, process })).toThrow(
      "no more requests in flight",
    );
  });
});

describe("Crawl-delay", () => {
  test("lengthens the delay of its origin, and never shortens it", () => {
    expect(delayOf(withCrawlDelay(UNTOUCHED, origin, 10_000), limits, T0)).toBe(10_000);
    expect(delayOf(withCrawlDelay(UNTOUCHED, origin, 100), limits, T0)).toBe(500);
  });

  test("is that of one origin: others of the domain are asked as before", () => {
    const two = withCrawlDelay(withCrawlDelay(granted(), origin, 10_000), other, 20_000);
    expect(delayOf(two, limits, T0)).toBe(10_000);
    expect([dueFor(two, T0), dueFor(two, T0, other)]).toEqual([T0 + 10_001, T0 + 20_001]);
    expect(dueFor(two, T0, "http://www.example.org")).toBe(T0 + 501);
    expect(delayOf(withCrawlDelay(two, other, null), limits, T0, other)).toBe(500);
    expect(delayOf(withCrawlDelay(two, other, 0), limits, T0)).toBe(10_000);
  });

  test("counts from the last request to its origin, not from those to others", () => {
    const slow = withCrawlDelay(granted(), origin, 10_000);
    const next = grantSlot(slow, limits, T0 + 600, { fetch_id: "b", origin: other, run_id, process });
    expect(dueFor({ ...next, leases: [] }, T0 + 600)).toBe(T0 + 10_001);
    const own = grantSlot(slow, limits, T0 + 10_001, { fetch_id: "b", origin, run_id, process });
    expect(openForOrigin(own, origin, T0 + 10_001)).toBe(T0 + 20_002);
    expect(openForOrigin(withOriginStart(own, origin, T0 + 11_000), origin, T0 + 11_000)).toBe(T0 + 21_001);
  });

  test("that is new counts from the last request to the domain, which may have been one to its origin", () => {
    expect(
      openForOrigin(setDelay(granted(), T0, { origin, crawl_delay_ms: 9_000 }, T0 + 40), origin, T0),
    ).toBe(T0 + 40 + 9_001);
  });

  test("is forgotten two days after it was last read", () => {
    const slow = withCrawlDelay(UNTOUCHED, origin, 10_000);
    expect(delayOf(slow, limits, T0 + 47 * HOUR)).toBe(10_000);
    expect(delayOf(slow, limits, T0 + 48 * HOUR)).toBe(500);
  });
});

describe("429 and 503 (obeyed for at most 15 min)", () => {
  test.each([
    [429, 3, 3_001],
    [503, 3, 3_001],
    [429, 0, 1_001],
    [503, 0, 501],
    [503, null, 501],
    [500, 3, 501],
    [404, 3, 501],
    [429, 900, 900_001],
    [429, 901, 900_001],
    [503, 86_400, 900_001],
  ])("%s with Retry-After %s: the next start %s ms later", (status, retry_after_s, later_ms) => {
    const slow = answered(UNTOUCHED, T0, status, retry_after_s);
    expect(dueFor(slow, T0)).toBe(T0 + later_ms);
    expect(dueFor(slow, T0, other)).toBe(T0 + 501);
  });

  test("a shorter Retry-After does not end a longer one", () => {
    const long = answered(UNTOUCHED, T0, 503, 600);
    expect(openForOrigin(answered(long, T0 + SECOND, 503, 3), origin, T0 + SECOND)).toBe(
      T0 + 600 * SECOND + 1,
    );
  });

  test("each 429 doubles the delay, from a second at least, to 15 min at most", () => {
    const delays: number[] = [];
    let politeness = UNTOUCHED;
    for (let at_ms = T0; at_ms < T0 + 13 * HOUR; at_ms += HOUR) {
      politeness = answered(politeness, at_ms, 429);
      delays.push(delayOf(politeness, limits, at_ms) / SECOND);
    }
    expect(delays).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  });

  test("two that were under way together double it once", () => {
    const two = grantSlot(granted("a"), limits, T0 + 501, { fetch_id: "b", origin, run_id, process });
    const one = releaseSlot(two, limits, T0 + 600, {
      fetch_id: "a",
      run_id,
      origin,
      status: 429,
      retry_after_s: null,
    });
    const both = releaseSlot(one, limits, T0 + 610, {
      fetch_id: "b",
      run_id,
      origin,
      status: 429,
      retry_after_s: null,
    });
    expect(delayOf(both, limits, T0 + 610)).toBe(1_000);
  });

  test("answers shrink it back to what it was", () => {
    let politeness = UNTOUCHED;
    for (let n = 0; n < 20; n++) politeness = answered(politeness, T0 + n, 429);
    expect(delayOf(politeness, limits, T0 + 20)).toBe(900_000);
    let answers = 0;
    for (; delayOf(politeness, limits, T0 + 30) > 1_000; answers++)
      politeness = answered(politeness, T0 + 30, 200);
    expect(answers).toBe(31);
    for (; delayOf(politeness, limits, T0 + 30) > 500; answers++)
      politeness = answered(politeness, T0 + 30, 404);
    expect(answers).toBe(34);
    expect(politeness.slowed).toEqual([]);
  });

  test("answers of another origin do not", () => {
    const slow = answered(UNTOUCHED, T0, 429);
    expect(delayOf(answered(slow, T0 + 1, 200, null, other), limits, T0 + 1)).toBe(1_000);
  });

  test("a server error does not shrink the back-off", () => {
    const slow = answered(UNTOUCHED, T0, 429);
    expect(delayOf(answered(slow, T0 + 1, 500), limits, T0 + 1)).toBe(1_000);
    expect(delayOf(answered(slow, T0 + 1, null), limits, T0 + 1)).toBe(1_000);
  });

  test("is forgotten six hours after the last 429, because a domain without requests cannot shrink it", () => {
    const slow = answered(UNTOUCHED, T0, 429);
    expect(delayOf(slow, limits, T0 + 6 * HOUR - 1)).toBe(1_000);
    expect(delayOf(slow, limits, T0 + 6 * HOUR)).toBe(500);
  });
});

describe("dead hosts (domain_dead)", () => {
  test("a name missing twice within 6 h is dead for 6 h", () => {
    const once = gone(UNTOUCHED, T0, "a");
    expect(refusalFor(once, { origin }, T0)).toBeNull();
    const twice = gone(once, T0 + 6 * HOUR - 1, "b");
    expect(refusalFor(twice, { origin }, T0 + 6 * HOUR)).toEqual(refused("domain_dead", 6 * HOUR - 1));
    expect(refusalFor(twice, { origin }, T0 + 12 * HOUR - 1)).toBeNull();
  });

  test("a name missing again after 6 h was missing once", () => {
    expect(
      refusalFor(gone(gone(UNTOUCHED, T0, "a"), T0 + 6 * HOUR, "b"), { origin }, T0 + 6 * HOUR),
    ).toBeNull();
  });

  test("a repeated report of one fetch counts once", () => {
    expect(refusalFor(gone(gone(UNTOUCHED, T0, "a"), T0 + 1, "a"), { origin }, T0 + 1)).toBeNull();
  });

  test("is that exact host name and no other", () => {
    const dead = gone(gone(UNTOUCHED, T0, "a"), T0, "b");
    expect(refusalFor(dead, { origin: "https://example.org" }, T0)).toBeNull();
    expect(dead.failure_rows).toEqual([]);
  });

  test("a host that answers exists", () => {
    const back = answered(gone(UNTOUCHED, T0, "a"), T0 + 1, 500);
    expect(refusalFor(gone(back, T0 + 2, "b"), { origin }, T0 + 2)).toBeNull();
    const silent = answered(gone(UNTOUCHED, T0, "a"), T0 + 1, null);
    expect(refusalFor(gone(silent, T0 + 2, "b"), { origin }, T0 + 2)).toMatchObject({ error: "domain_dead" });
  });

  test("is dead for requests that may reach the same private networks, and for no others", () => {
    const networks = ["10.0.0.0/8"];
    const dead = gone(gone(UNTOUCHED, T0, "a"), T0, "b");
    expect(refusalFor(dead, { origin, networks }, T0)).toBeNull();
    const once = afterNxdomain(dead, T0, { fetch_id: "c", host, networks });
    expect(refusalFor(once, { origin, networks }, T0)).toBeNull();
    const inside = afterNxdomain(once, T0, { fetch_id: "d", host, networks });
    expect(refusalFor(inside, { origin, networks: [] }, T0)).toBeNull();
    expect(refusalFor(inside, { origin, networks }, T0)).toMatchObject({ error: "domain_dead" });
  });

  test("that answers one network stays missing for the others", () => {
    const networks = ["10.0.0.0/8"];
    const dead = gone(gone(UNTOUCHED, T0, "a"), T0, "b");
    const grant = { fetch_id: "c", run_id, origin, process, networks };
    const leased = grantSlot(dead, limits, T0, grant);
    const slot = { fetch_id: "c", run_id, origin, status: 200, retry_after_s: null };
    const released = releaseSlot(leased, limits, T0 + 1, slot);
    expect(refusalFor(released, { origin }, T0 + 1)).toMatchObject({ error: "domain_dead" });
  });

  test("sixty-four are remembered", () => {
    let politeness = UNTOUCHED;
    for (let n = 0; n < 200; n++) politeness = gone(politeness, T0 + n, `f${n}`, `h${n}.example.org`);
    expect(politeness.nxdomains).toHaveLength(64);
    expect(politeness.nxdomains.at(-1)?.host).toBe("h199.example.org");
  });

  test("clearing forgets skips and dead hosts, but not Crawl-delay and Retry-After", () => {
    let politeness = gone(gone(UNTOUCHED, T0, "a"), T0, "b");
    for (const id of ["a", "b", "c"]) politeness = failed(politeness, T0, id);
    politeness = withCrawlDelay(answered(politeness, T0, 429, 60), origin, 9_000);
    const open = clear(politeness);
    expect(refusalFor(open, { origin }, T0)).toBeNull();
    expect(dueFor(open, T0)).toBe(T0 + 60_001);
    expect(delayOf(open, limits, T0)).toBe(9_000);
  });
});

describe("the expected wait (domain_busy)", () => {
  test.each([
    // ahead, slot time, wait: the delay decides while two slots of less than a delay each are free …
    [0, 0, 501],
    [1, 0, 1_001],
    [10, 0, 5_501],
    [10, 900, 5_501],
    // … and slots when they last longer than two delays.
    [10, 3_000, 15_501],
  ])("with %s ahead and slots held for %s ms is %s ms", (ahead, slot_ms, wait_ms) => {
    expect(expectedWait(afterSlotTime(granted(), slot_ms), limits, T0, ahead)).toBe(wait_ms);
  });

  test("counts the usual time from grant to send, where there is a delay", () => {
    expect(expectedWait(granted(), limits, T0, 10, 40)).toBe(5_501 + 10 * 40);
    expect(expectedWait(granted(), { ...limits, min_delay_ms: 0 }, T0, 10, 40)).toBe(0);
  });

  test.each([
    [[], 0],
    [[900, 20], 0],
    [[900, 20, 30], 30],
    [[900, 20, 30, 25, 15], 25],
  ])("of %j the usual time to send is %i ms", (took, usual) => {
    expect(medianSendDelay(took.reduce<readonly number[]>(withSendDelay, []))).toBe(usual);
  });

  test("of the first caller is nothing", () => {
    expect(expectedWait(UNTOUCHED, limits, T0, 0)).toBe(0);
  });

  test("contains what its origin asked for, and the callers that wait for the same", () => {
    const slow = withCrawlDelay(answered(UNTOUCHED, T0, 503, 60), origin, 5_000);
    expect(expectedOriginWait(slow, T0 + SECOND, { origin, ahead: 0 })).toBe(59_001);
    expect(expectedOriginWait(slow, T0 + SECOND, { origin, ahead: 2 })).toBe(69_001);
    expect(expectedOriginWait(slow, T0 + SECOND, { origin: other, ahead: 2 })).toBe(0);
    expect(expectedWait(slow, limits, T0 + SECOND, 0)).toBe(0);
  });

  test("of a domain that hangs grows with the time it hangs, up to the lease", () => {
    const full = afterSlotTime(
      grantSlot(granted(), limits, T0, { fetch_id: "b", origin, run_id, process }),
      SECOND,
    );
    expect(expectedWait(full, limits, T0 + 900, 0)).toBe(100);
    expect(expectedWait(full, limits, T0 + 61 * SECOND, 0)).toBe(60 * SECOND);
    expect(expectedWait(full, limits, T0 + LEASE_MS - 7, 0)).toBe(7);
  });

  test("the estimate follows what slots are held for", () => {
    expect(after(1_000, UNTOUCHED).slot_ms).toBe(1_000);
    expect(after(2_000, after(1_000, UNTOUCHED)).slot_ms).toBe(1_200);
  });
});

describe("what may be stored after it was acted on", () => {
  const stored = grantSlot(answered(answered(UNTOUCHED, T0 - SECOND, 429), T0 - 1, 429), limits, T0, {
    fetch_id: "a",
    origin,
    run_id,
    process,
  });
  const answeredBy = (status: number | null, retry_after_s: number | null = null) =>
    releaseSlot(stored, limits, T0 + SECOND, { fetch_id: "a", run_id, origin, status, retry_after_s });
  const redirected = grantSlot(UNTOUCHED, limits, T0, {
    fetch_id: "a",
    origin,
    run_id,
    process,
    redirected: "sent",
  });
  const unsent = grantSlot(UNTOUCHED, limits, T0, {
    fetch_id: "a",
    origin,
    run_id,
    process,
    redirected: "unsent",
  });
  const caller = { fetch_id: "a", project: "first", is_open: true };
  const success = { caller, url: `${origin}/page`, result: "answered" } as const;
  const missing = afterNxdomain(granted(), T0, { fetch_id: "b", host });

  test.each<[string, Politeness, Politeness, boolean]>([
    ["the same", stored, stored, true],
    ["a release after a good answer, with a shorter back-off", stored, answeredBy(200), true],
    ["a release without an answer", stored, answeredBy(null), true],
    ["a grant", stored, grantSlot(stored, limits, T0, { fetch_id: "b", origin, run_id, process }), false],
    [
      "a grant in the place of a release",
      stored,
      grantSlot(answeredBy(200), limits, T0, { fetch_id: "a", origin, run_id: "2", process }),
      false,
    ],
    ["a longer back-off", stored, answeredBy(429), false],
    ["a success", stored, withOutcome(stored, success, T0), true],
    ["a failure", stored, failed(stored, T0, "a"), false],
    ["when the request was sent", stored, withOriginStart(stored, origin, T0 + 9), true],
    ["a Retry-After", stored, answeredBy(503, 3), false],
    ["a Crawl-delay", stored, withCrawlDelay(stored, other, 5_000), false],
    ["a missing name", granted(), missing, false],
    [
      "a name that exists after all",
      missing,
      releaseSlot(missing, limits, T0, { fetch_id: "a", run_id, origin, status: 200, retry_after_s: null }),
      false,
    ],
    ["a redirect that was sent", unsent, recordSent(unsent, "a"), false],
    [
      "the release of a redirect",
      redirected,
      releaseSlot(redirected, limits, T0, {
        fetch_id: "a",
        run_id,
        origin,
        status: 200,
        retry_after_s: null,
      }),
      false,
    ],
  ])("%s", (_, before, next, expected) => {
    expect(mayStoreLater(before, next)).toBe(expected);
  });
});

describe("the stored state on another node", () => {
  test("a recent start counts as one made this moment", () => {
    expect(dueAt(restore(granted(), limits, T0 + 30 * SECOND, ours), limits, T0 + 30 * SECOND)).toBe(
      T0 + 30 * SECOND + 501,
    );
  });

  test("so does one of a clock that is ahead", () => {
    const now_ms = T0 - 3 * HOUR;
    const back = restore(granted(), limits, now_ms, notOurs);
    expect(back.last_start_ms).toBe(now_ms);
    expect(dueAt({ ...back, leases: [] }, limits, now_ms)).toBe(now_ms + 501);
  });

  test("an old one costs nothing", () => {
    expect(dueAt(restore(granted(), limits, T0 + MINUTE, ours), limits, T0 + MINUTE)).toBeLessThan(
      T0 + MINUTE,
    );
  });

  test("slots of a node that is gone are back after ten seconds, our own when they lapse", () => {
    const full = grantSlot(granted(), limits, T0, { fetch_id: "b", origin, run_id, process });
    const now_ms = T0 + SECOND;
    expect(dueAt(restore(full, limits, now_ms, notOurs), limits, now_ms)).toBe(now_ms + 10 * SECOND);
    expect(dueAt(restore(full, limits, now_ms, ours), limits, now_ms)).toBe(T0 + LEASE_MS);
  });

  test.each([
    ["is behind by two seconds", -2 * SECOND],
    ["agrees", 0],
    ["is ahead by two seconds", 2 * SECOND],
  ])("a Retry-After is obeyed to its end when that node's clock %s", (_, ahead_ms) => {
    const politeness = answered(UNTOUCHED, T0, 429, 600);
    const at_ms = T0 + 10 * SECOND;
    const back = restore(politeness, limits, at_ms + ahead_ms, notOurs);
    const open_ms = openForOrigin(back, origin, at_ms + ahead_ms) - ahead_ms;
    expect(open_ms).toBeGreaterThanOrEqual(T0 + 600 * SECOND);
    expect(open_ms).toBeLessThanOrEqual(T0 + 608 * SECOND);
  });

  test("a delay of an origin counts from a minute after a stored start, since it may have been sent late, or from now", () => {
    const slow = grantSlot(withCrawlDelay(UNTOUCHED, origin, 30_000), limits, T0, {
      fetch_id: "a",
      origin,
      run_id,
      process,
    });
    const openAt = (now_ms: number) => openForOrigin(restore(slow, limits, now_ms, notOurs), origin, now_ms);
    expect(openAt(T0 + 20 * SECOND)).toBe(T0 + 50 * SECOND + 1);
    expect(openAt(T0 + 80 * SECOND)).toBe(T0 + 90 * SECOND + 1);
  });

  test("slots of redirects from other sites are back after a minute: their requests go on", () => {
    const redirect = { fetch_id: "b", origin, run_id, process, redirected: "unsent" } as const;
    const full = grantSlot(granted(), limits, T0, redirect);
    const now_ms = T0 + SECOND;
    const back = restore(full, limits, now_ms, notOurs);
    expect(back.leases.map(({ fetch_id, lapses_ms }) => [fetch_id, lapses_ms - now_ms])).toEqual([
      ["a", 10 * SECOND],
      ["b", MINUTE],
    ]);
    expect(recordSent(back, "b").leases[1]!.redirected).toBe("sent");
    expect(recordSent(back, "a")).toBe(back);
  });

  test("no clock closes a domain for longer than its rule", () => {
    let politeness = answered(UNTOUCHED, T0, 503, 900);
    for (const id of ["a", "b", "c"]) politeness = failed(politeness, T0, id);
    politeness = afterNxdomain(afterNxdomain(politeness, T0, { fetch_id: "a", host }), T0, {
      fetch_id: "b",
      host,
    });
    const now_ms = T0 - 1_000 * HOUR;
    const back = restore(politeness, limits, now_ms, notOurs);
    expect(openForOrigin(back, origin, now_ms)).toBeLessThanOrEqual(now_ms + 15 * MINUTE);
    expect(back.failure_rows[0]!.skip_until_ms).toBeLessThanOrEqual(now_ms + 6 * HOUR);
    expect(refusalFor(back, { origin }, now_ms + 6 * HOUR)).toBeNull();
  });

  test("no clock keeps a Crawl-delay for longer than its rule", () => {
    const politeness = withCrawlDelay(UNTOUCHED, origin, 9_000);
    const now_ms = T0 - 1_000 * HOUR;
    const back = restore(politeness, limits, now_ms, notOurs);
    expect(delayOf(back, limits, now_ms + 47 * HOUR)).toBe(9_000);
    expect(delayOf(back, limits, now_ms + 49 * HOUR)).toBe(500);
  });
});

describe("more slow origins than a domain remembers (a wildcard domain with hostile hosts)", () => {
  const hostile = (n: number): string => `https://evil-${n}.example.org`;
  const success = (politeness: Politeness, of: string): Politeness =>
    withOutcome(
      politeness,
      {
        caller: { fetch_id: of, project: "first", is_open: true },
        url: `${of}/`,
        result: "answered",
      },
      T0,
    );
  const slowedBy = (count: number, politeness = UNTOUCHED): Politeness =>
    Array.from({ length: count }).reduce<Politeness>(
      (before, _, n) => answered(before, T0, 503, 100 + n, hostile(n)),
      politeness,
    );

  test("up to thirty-two hold up nobody else", () => {
    const many = slowedBy(32);
    expect(dueFor(many, T0, other)).toBe(T0 + 501);
    expect(dueFor(many, T0, hostile(0))).toBe(T0 + 100 * SECOND + 1);
  });

  test("of a million no more is stored, and each is asked no sooner than it said", () => {
    const many = slowedBy(1_000);
    expect(many.slowed).toHaveLength(33);
    for (let n = 0; n < 1_000; n++)
      expect(openForOrigin(many, hostile(n), T0)).toBeGreaterThan(T0 + Math.min(100 + n, 900) * SECOND);
  });

  test("what the forgotten asked for holds for origins that are not known, not for those that answered before", () => {
    const known = slowedBy(40, success(UNTOUCHED, origin));
    expect(openForOrigin(known, origin, T0)).toBe(0);
    expect(openForOrigin(known, other, T0)).toBe(T0 + 107 * SECOND + 1);
  });

  test("one that is forgotten is not known any more, and not by an answer of a request that was under way", () => {
    const many = slowedBy(40, success(UNTOUCHED, hostile(0)));
    expect(openForOrigin(many, hostile(0), T0)).toBe(T0 + 107 * SECOND + 1);
    expect(openForOrigin(success(many, hostile(0)), hostile(0), T0)).toBe(T0 + 107 * SECOND + 1);
  });

  test("ends with the last time that the forgotten asked for", () => {
    const later_ms = T0 + 108 * SECOND;
    const over = success(answered(slowedBy(40), later_ms, 200), other);
    expect(openForOrigin(over, "https://new.example.org", later_ms)).toBeLessThanOrEqual(later_ms);
  });

  test("Crawl-delays of the forgotten are kept, too: from any start at an origin that is not known", () => {
    let many = granted();
    for (let n = 0; n < 40; n++) many = withCrawlDelay(many, hostile(n), 10_000 + n);
    many = grantSlot({ ...many, leases: [] }, limits, T0 + 10_008, {
      fetch_id: "b",
      origin: hostile(3),
      run_id,
      process,
    });
    expect(openForOrigin(many, hostile(0), T0 + 10_008)).toBe(T0 + 20_008 + 8);
  });
});

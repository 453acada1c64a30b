import { describe, expect, test } from "vitest";
import { domainActor } from "../../../../actors/crawl/domain/actor.ts";
import { domainRecorder } from "../../../../actors/crawl/domain/figures.ts";
import { LEASE_MS } from "../../../../actors/crawl/domain/politeness.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import {
  Domain,
  type DomainSettings,
  type SlotCaller,
  type SlotRequest,
  GRANT_TTL_MS,
} from "../../../../schemas/domain.ts";

const LIMITS = { min_delay_ms: 1_000, max_concurrency: 2, lease_ms: 60_000 };
/** A delay ends when it has passed on a clock of whole milliseconds. */
const DELAY = 1_001;
const SITE = "example.org";
const ORIGIN = "https://www.example.org";
/** Another origin of the same domain. */
const OTHER = "https://shop.example.org";

function oneDomain({
  clock = virtualClock(Date.UTC(2026, 0, 1)),
  documents = memoryDocuments(),
  lease_ms = LIMITS.lease_ms,
} = {}) {
  const recorder = domainRecorder();
  const limits = { ...LIMITS, lease_ms };
  const { ask, stop } = embedded(
    [domainActor(limits, { "profiles.example": { min_delay_ms: 5_000, max_concurrency: 1 } }, recorder)],
    {
      clock,
      random: seededRandom(1),
      documents,
    },
  );
  const slot = (fetch_id: string, rest: Partial<SlotRequest> = {}, site = SITE) =>
    ask(Domain, site, "acquire", {
      fetch_id,
      run_id: "1",
      origin: ORIGIN,
      lane: "sync",
      wait_max_ms: 15_000,
      ...rest,
    });
  const sent = (fetch_id: string, site = SITE, run_id = "1", origin = ORIGIN) =>
    ask(Domain, site, "recordSent", { fetch_id, run_id, origin });
  return {
    clock,
    documents,
    stop,
    /** Asks for a slot and does nothing with it. */
    slot,
    sent,
    report: (fetch_id: string) => ask(Domain, SITE, "continues", { fetch_id, run_id: "1" }),
    /** A caller whose request is sent as soon as it is granted. */
    acquire: async (...asked: Parameters<typeof slot>) => {
      const answer = await slot(...asked);
      if (answer.kind === "granted") void sent(asked[0], asked[2], "1", asked[1]?.origin);
      return answer;
    },
    release: (
      fetch_id: string,
      status: number | null = 200,
      retry_after_s: number | null = null,
      site = SITE,
      run_id = "1",
      origin = ORIGIN,
    ) => ask(Domain, site, "release", { fetch_id, run_id, origin, status, retry_after_s }),
    settle: (
      fetch_id: string,
      result: "answered" | "every_route_failed" | "abandoned",
      caller: Partial<SlotCaller> = {},
    ) =>
      ask(Domain, SITE, "recordOutcome", {
        caller: { fetch_id, project: "first", is_open: true, ...caller },
        url: `${ORIGIN}/page`,
        result,
      }),
    missing: (fetch_id: string, host: string) => ask(Domain, SITE, "reportNxdomain", { fetch_id, host }),
    pace: (crawl_delay_ms: number | null, origin = ORIGIN) =>
      ask(Domain, SITE, "setCrawlDelay", { origin, crawl_delay_ms }),
    view: () => ask(Domain, SITE, "view", null),
    clear: () => ask(Domain, SITE, "clear", null),
    configure: (settings: DomainSettings) => ask(Domain, SITE, "configure", settings),
    recorder,
  };
}

const GRANTED = { kind: "granted", waited_ms: 0 };

describe("a domain", () => {
  test("lets the first caller through at once", async () => {
    const { acquire } = oneDomain();
    expect(await acquire("a")).toEqual(GRANTED);
  });

  test("keeps requests one delay apart, and not a millisecond less", async () => {
    const { acquire, clock } = oneDomain();
    await acquire("a");
    let second: unknown;
    void acquire("b").then((answer) => (second = answer));
    await clock.advance(DELAY - 1);
    expect(second).toBeUndefined();
    await clock.advance(1);
    expect(second).toEqual({ kind: "granted", waited_ms: DELAY });
  });

  test("counts the delay from the stored grant, not from the decision", async () => {
    const clock = virtualClock(Date.UTC(2026, 0, 1));
    const quick = memoryDocuments();
    let slow_ms = 400;
    const put: typeof quick.put = async (...args) => {
      const stored = Promise.withResolvers<void>();
      clock.at(clock.now() + slow_ms, () => stored.resolve());
      slow_ms = 0;
      await stored.promise;
      return quick.put(...args);
    };
    const { acquire } = oneDomain({ clock, documents: { ...quick, put } });
    const left: number[] = [];
    void acquire("a").then(() => left.push(clock.now()));
    void acquire("b").then(() => left.push(clock.now()));
    await clock.advance(5_000);
    expect(left).toHaveLength(2);
    expect(left[1]! - left[0]!).toBeGreaterThanOrEqual(1_000);
  });

  test("applies the limits of a single site", async () => {
    const { acquire, release, clock } = oneDomain();
    await acquire("a", {}, "profiles.example");
    const second = acquire("b", {}, "profiles.example");
    await release("a", 200, null, "profiles.example");
    await clock.advance(5_001);
    expect(await second).toEqual({ kind: "granted", waited_ms: 5_001 });
  });

  test("answers domain_busy at once when the expected wait is too long", async () => {
    const { acquire } = oneDomain();
    await acquire("a");
    expect(await acquire("b", { wait_max_ms: 500 })).toEqual({
      kind: "refused",
      error: "domain_busy",
      retry_after_s: 2,
    });
  });

  test("expects callers to wait for slots, not only for the delay", async () => {
    const { acquire, release, clock } = oneDomain();
    // Two exchanges of 20 s each: a slot is free every 10 s, though the delay is one second.
    for (const id of ["a", "b"]) {
      const slot = acquire(id);
      await clock.advance(DELAY);
      expect((await slot).kind).toBe("granted");
    }
    await clock.advance(20_000);
    await release("a");
    await release("b");
    void acquire("c");
    void acquire("d");
    await clock.advance(DELAY);
    expect(await acquire("e")).toMatchObject({ error: "domain_busy" });
    expect(await oneDomain().acquire("e")).toEqual(GRANTED);
  });

  test("refuses a caller whose deadline passes before a slot is released", async () => {
    const { acquire, clock } = oneDomain();
    void acquire("a");
    void acquire("b");
    await clock.advance(DELAY);
    const third = acquire("c", { wait_max_ms: 5_000 });
    await clock.advance(5_000);
    expect(await third).toMatchObject({ kind: "refused", error: "politeness_timeout" });
  });

  describe("frees the slot of a redirect whose node is heard of no more", () => {
    /** Two redirects have the slots; one of them is reported every 15 s for as long as the test wants. */
    async function redirects() {
      const one = oneDomain({ lease_ms: LEASE_MS });
      for (const fetch_id of ["dead", "alive"]) {
        void one.slot(fetch_id, { redirected: true, reports: true }).then(() => one.sent(fetch_id));
        await one.clock.advance(DELAY);
      }
      async function pass(for_s: number): Promise<number> {
        for (let s = 0; s < for_s; s += 15) {
          await one.report("alive");
          await one.clock.advance(15_000);
        }
        return (await one.view()).in_flight;
      }
      return { ...one, pass };
    }

    test("within 75 seconds, and no slot of one that is", async () => {
      const { pass } = await redirects();
      expect(await pass(45)).toBe(2);
      expect(await pass(30)).toBe(1);
      expect(await pass(300)).toBe(1);
    });

    test("and gives it to a caller that waits", async () => {
      const { acquire, pass } = await redirects();
      const waiting = acquire("next", { wait_max_ms: 300_000 });
      await pass(75);
      expect(await waiting).toMatchObject({ kind: "granted" });
    });

    test("but not when it is heard of again before the slot is free", async () => {
      const { clock, report, view } = await redirects();
      await clock.advance(55_000);
      await report("dead");
      await clock.advance(30_000);
      expect((await view()).in_flight).toBe(1);
    });

    test("also where it dies before its grant arrives", async () => {
      const { slot, clock, view } = oneDomain({ lease_ms: LEASE_MS });
      void slot("dead", { redirected: true, reports: true });
      await clock.advance(75_000);
      expect((await view()).in_flight).toBe(0);
    });

    test("but not that of a version that does not report", async () => {
      const { slot, clock, view } = oneDomain({ lease_ms: LEASE_MS });
      void slot("older", { redirected: true });
      await clock.advance(LEASE_MS - 1_000);
      expect((await view()).in_flight).toBe(1);
    });
  });

  test("takes a slot back when its lease lapses", async () => {
    const { acquire, clock } = oneDomain();
    void acquire("a");
    void acquire("b");
    await clock.advance(DELAY);
    const third = acquire("c", { wait_max_ms: 90_000 });
    await clock.advance(60_000);
    expect(await third).toMatchObject({ kind: "granted" });
  });

  test("refuses the caller after the four hundredth", async () => {
    const { acquire, view } = oneDomain();
    await acquire("first");
    const patient = { wait_max_ms: 3_600_000, lane: "batch" } as const;
    for (let n = 0; n < 400; n++) void acquire(`${n}`, patient);
    expect(await acquire("last", patient)).toMatchObject({ error: "domain_busy" });
    expect((await view()).waiting).toBe(400);
  });

  test("gives a caller that asks again before it left the slot it already has", async () => {
    const { slot, view } = oneDomain();
    await slot("a");
    expect(await slot("a")).toEqual(GRANTED);
    expect((await view()).in_flight).toBe(1);
  });

  test("lets a later run of the fetch wait for the delay: the earlier one may have sent until then", async () => {
    const { slot, acquire, sent, clock } = oneDomain();
    await slot("a");
    let granted_ms = 0;
    void acquire("b", { wait_max_ms: 200_000 }).then(() => (granted_ms = clock.now()));
    await clock.advance(GRANT_TTL_MS - 1_000);
    const later = slot("a", { run_id: "2" });
    await clock.advance(DELAY);
    expect(await later).toEqual({ kind: "granted", waited_ms: DELAY });
    // It has the whole time to use its slot.
    await clock.advance(GRANT_TTL_MS - 1_000);
    expect(granted_ms).toBe(0);
    const sent_ms = clock.now();
    await sent("a", SITE, "2");
    await clock.advance(10_000);
    expect(granted_ms - sent_ms).toBe(DELAY);
  });

  test.each([
    ["reports that it sent", 5_000 + DELAY],
    ["reports that it never sent", 5_000],
    ["reports nothing while its grant is valid", GRANT_TTL_MS + DELAY],
  ])("lets a later run under the same epoch wait until the earlier one %s", async (report, waited_ms) => {
    const { slot, sent, release, clock } = oneDomain();
    await slot("a", { run_id: "7.100" });
    const later = slot("a", { run_id: "7.200", wait_max_ms: 200_000 });
    await clock.advance(5_000);
    if (report === "reports that it sent") await sent("a", SITE, "7.100");
    if (report === "reports that it never sent") await release("a", null, null, SITE, "7.100");
    await clock.advance(2 * GRANT_TTL_MS);
    expect(await later).toEqual({ kind: "granted", waited_ms });
  });

  test("counts the delay from the late report of an earlier run", async () => {
    const { slot, acquire, sent, clock } = oneDomain();
    await slot("a");
    void slot("a", { run_id: "2" });
    await clock.advance(DELAY);
    await sent("a", SITE, "2");
    const other = acquire("b");
    await clock.advance(500);
    await sent("a");
    await clock.advance(DELAY);
    expect(await other).toEqual({ kind: "granted", waited_ms: 500 + DELAY });
  });

  test("does not free the slot of a later run when the earlier one reports late", async () => {
    const { slot, acquire, release, sent, clock } = oneDomain();
    await slot("a");
    void slot("a", { run_id: "2" });
    await clock.advance(DELAY);
    let granted_ms = 0;
    void acquire("b", { wait_max_ms: 200_000 }).then(() => (granted_ms = clock.now()));
    await release("a");
    await clock.advance(10_000);
    expect(granted_ms).toBe(0);
    await sent("a", SITE, "2");
    await clock.advance(DELAY);
    expect(granted_ms).toBe(clock.now());
  });

  test("has no more runs in flight than slots, when the earlier run of a fetch reports while the later one goes on", async () => {
    const { slot, sent, acquire, release, view, clock } = oneDomain();
    await slot("a", { run_id: "1.1" });
    await sent("a", SITE, "1.1");
    const later = slot("a", { run_id: "2.1" });
    await clock.advance(DELAY);
    expect((await later).kind).toBe("granted");
    await sent("a", SITE, "2.1");
    await release("a", 200, null, SITE, "1.1");
    expect((await view()).in_flight).toBe(1);
    const [second, third] = [acquire("b"), acquire("c")];
    let told = false;
    void third.then(() => (told = true));
    await clock.advance(5 * DELAY);
    expect([(await second).kind, told]).toEqual(["granted", false]);
    await release("a", 200, null, SITE, "2.1");
    expect(await third).toMatchObject({ kind: "granted" });
  });

  test.each([
    ["asks first", ["5.100", "6.50"]],
    ["asks last", ["6.50", "5.100"]],
  ])(
    "grants one slot to two waiting runs of a fetch, the later one, when the earlier %s",
    async (_, runs) => {
      const { slot, acquire, sent, clock } = oneDomain();
      await slot("before");
      await sent("before");
      const answers = runs.map((run_id) => acquire("a", { run_id }));
      await clock.advance(2 * DELAY);
      const kinds = Object.fromEntries(
        (await Promise.all(answers)).map(({ kind }, n) => [runs[n], kind] as const),
      );
      expect(kinds).toEqual({ "5.100": "refused", "6.50": "granted" });
    },
  );

  test("refuses a fetch that does not tell its runs apart", async () => {
    const { slot } = oneDomain();
    await expect(slot("a", { run_id: undefined as never })).rejects.toThrow("does not fit its contract");
  });

  test("lets a fetch that asks again wait for the delay, before the other callers and in its own slot", async () => {
    const { acquire, clock, view } = oneDomain();
    await acquire("a");
    const [other, anew] = [acquire("b"), acquire("a")];
    await clock.advance(DELAY);
    expect(await anew).toEqual({ kind: "granted", waited_ms: DELAY });
    expect((await view()).in_flight).toBe(1);
    await clock.advance(DELAY);
    expect(await other).toEqual({ kind: "granted", waited_ms: 2 * DELAY });
    expect((await view()).in_flight).toBe(2);
  });

  test("grants no slot before the last granted request is sent", async () => {
    const { slot, acquire, sent, clock } = oneDomain();
    await slot("a");
    const second = acquire("b");
    await clock.advance(5_000);
    await sent("a");
    await clock.advance(DELAY);
    expect(await second).toEqual({ kind: "granted", waited_ms: 5_000 + DELAY });
  });

  test.each([
    ["came back without having left", null, DELAY],
    ["came back and never said that it left", 200, 5_000 + DELAY],
  ])("does not wait for a request that %s", async (_, status, waited_ms) => {
    const { slot, acquire, release, clock } = oneDomain();
    await slot("a");
    const second = acquire("b");
    await clock.advance(status === null ? 100 : 5_000);
    await release("a", status);
    await clock.advance(2 * DELAY);
    expect(await second).toEqual({ kind: "granted", waited_ms });
  });

  test("waits a limited time for a granted request to be sent: then the grant is void, as if sent at that moment", async () => {
    const { slot, acquire, clock } = oneDomain();
    await slot("a");
    const second = acquire("b", { wait_max_ms: 60_000 });
    await clock.advance(GRANT_TTL_MS + DELAY);
    expect(await second).toEqual({ kind: "granted", waited_ms: GRANT_TTL_MS + DELAY });
  });

  test("answers a caller that asks twice while it waits twice, with one slot", async () => {
    const { acquire, clock, view } = oneDomain();
    await acquire("a");
    const twice = [acquire("b"), acquire("b")];
    await clock.advance(DELAY);
    expect(await Promise.all(twice)).toEqual([
      { kind: "granted", waited_ms: DELAY },
      { kind: "granted", waited_ms: DELAY },
    ]);
    expect((await view()).in_flight).toBe(2);
  });

  test("is skipped for ten minutes after three fetches in which every route failed", async () => {
    const { acquire, release, settle: recordOutcome, clock } = oneDomain();
    for (const fetch_id of ["a", "b", "c"]) {
      const slot = acquire(fetch_id);
      await clock.advance(DELAY);
      expect((await slot).kind).toBe("granted");
      await release(fetch_id, 403);
      await recordOutcome(fetch_id, "every_route_failed");
    }
    const own = { caller: { fetch_id: "d", project: "first", is_open: true } };
    expect(await acquire("d", own)).toEqual({
      kind: "refused",
      error: "domain_unavailable",
      retry_after_s: 600,
    });
    await clock.advance(600_000);
    expect((await acquire("e", own)).kind).toBe("granted");
  });

  test("refuses the waiting callers of a project for which it closes", async () => {
    const { acquire, settle: recordOutcome, clock } = oneDomain();
    await acquire("a");
    const caller = { fetch_id: "b", project: "first", is_open: true };
    const waiting = [acquire("b", { caller }), acquire("c", { lane: "batch", caller })];
    for (const fetch_id of ["x", "y", "z"]) await recordOutcome(fetch_id, "every_route_failed");
    await clock.advance(0);
    expect(await Promise.all(waiting)).toMatchObject([
      { error: "domain_unavailable", retry_after_s: 600 },
      { error: "domain_unavailable", retry_after_s: 600 },
    ]);
  });

  test("answers domain_dead for a name that was missing twice, and for no other", async () => {
    const { acquire, missing: reportNxdomain } = oneDomain();
    const gone = { origin: `https://gone.${SITE}`, wait_max_ms: 30_000 };
    await acquire("a");
    const waiting = acquire("b", gone);
    expect(await reportNxdomain("x", `gone.${SITE}`)).toEqual({ dead: false });
    expect(await reportNxdomain("y", `gone.${SITE}`)).toEqual({ dead: true });
    expect(await waiting).toEqual({ kind: "refused", error: "domain_dead", retry_after_s: 6 * 3_600 });
    expect(await acquire("c", gone)).toMatchObject({ error: "domain_dead" });
    expect(await oneDomain().acquire("d")).toEqual(GRANTED);
  });

  test("waits 3.0 s at least after a 429 with Retry-After 3, at that origin only", async () => {
    const { acquire, release, clock } = oneDomain();
    await acquire("a");
    await clock.advance(200);
    const limited_at_ms = clock.now();
    await release("a", 429, 3);
    const next = acquire("b").then(() => clock.now());
    expect(await acquire("c", {}, "other.example")).toEqual(GRANTED);
    const neighbour = acquire("d", { origin: OTHER }).then(() => clock.now());
    await clock.advance(15_000);
    expect((await next) - limited_at_ms).toBeGreaterThanOrEqual(3_000);
    expect((await neighbour) - limited_at_ms).toBe(DELAY - 200);
  });

  test("refuses callers at once whose deadline a Retry-After outlasts", async () => {
    const { acquire, release, clock } = oneDomain();
    await acquire("a");
    const short = acquire("b", { wait_max_ms: 15_000 });
    const long = acquire("c", { wait_max_ms: 100_000, lane: "batch" });
    await clock.advance(200);
    await release("a", 503, 60);
    expect(await short).toEqual({ kind: "refused", error: "domain_busy", retry_after_s: 61 });
    expect(await acquire("d")).toEqual({ kind: "refused", error: "domain_busy", retry_after_s: 61 });
    await clock.advance(61_000);
    expect(await long).toMatchObject({ kind: "granted" });
  });

  test("keeps the Crawl-delay that robots.txt asks for, also for callers that wait already", async () => {
    const { acquire, pace: setCrawlDelay, clock } = oneDomain();
    await acquire("a");
    const second = acquire("b", { wait_max_ms: 60_000 });
    await setCrawlDelay(10_000);
    await clock.advance(10_001);
    expect(await second).toEqual({ kind: "granted", waited_ms: 10_001 });
    await setCrawlDelay(null);
    const third = acquire("c", { wait_max_ms: 90_000 });
    await clock.advance(60_000);
    expect(await third).toMatchObject({ kind: "granted" });
  });

  test("shows its state to an operator, and clears it on request", async () => {
    const { acquire, settle: recordOutcome, missing: reportNxdomain, view, clear, clock } = oneDomain();
    await acquire("a");
    void acquire("b");
    for (const id of ["x", "y"]) await reportNxdomain(id, "gone.example.org");
    await recordOutcome("x", "every_route_failed");
    await clock.advance(0);
    expect(await view()).toEqual({
      domain: SITE,
      min_delay_ms: 1_000,
      operator: null,
      max_concurrency: 2,
      in_flight: 1,
      waiting: 1,
      skips: [{ origin: ORIGIN, project: "first", failures: 1, skip_until: null }],
      slowed: [],
      dead_hosts: [{ host: "gone.example.org", until: "2026-01-01T06:00:00.000Z" }],
    });
    expect(await clear()).toMatchObject({ skips: [], dead_hosts: [], waiting: 1 });
  });
});

test("a caller that has left the queue gets no slot", async () => {
  const { acquire, release, view, clock } = oneDomain();
  await acquire("a");
  const left = acquire("b");
  await release("b", null);
  expect(await left).toMatchObject({ kind: "refused", error: "domain_busy" });
  await release("a");
  await clock.advance(2 * DELAY);
  expect(await view()).toMatchObject({ in_flight: 0, waiting: 0 });
});

test("a domain that was another node's meanwhile does not wait for the runs that were aborted when it moved", async () => {
  const own = domainActor(LIMITS);
  const { clock, documents } = oneDomain();
  const asOwner = (epoch: number) => {
    const { ask } = embedded([own], { clock, random: seededRandom(1), documents });
    return (fetch_id: string) =>
      ask(Domain, SITE, "acquire", {
        fetch_id,
        run_id: `${epoch}.${clock.now()}`,
        origin: ORIGIN,
        lane: "sync",
        wait_max_ms: 15_000,
      });
  };
  expect(await asOwner(1)("a")).toMatchObject({ kind: "granted" });
  const back = asOwner(3);
  const next = back("b");
  await clock.advance(DELAY);
  expect(await next).toEqual({ kind: "granted", waited_ms: DELAY });
});

describe("what a domain stores", () => {
  const versions = async ({ documents }: ReturnType<typeof oneDomain>) =>
    (await documents.get("domain", SITE))?.version;

  test("of a request is one document: its grant, with the release of the one before", async () => {
    const domain = oneDomain();
    for (let n = 0; n < 5; n++) {
      const granted = domain.acquire(`f${n}`);
      await domain.clock.advance(100);
      expect(await granted).toMatchObject({ kind: "granted" });
      await domain.release(`f${n}`);
      await domain.clock.advance(DELAY - 100);
    }
    expect(await versions(domain)).toBe(5);
    await domain.clock.advance(1_000);
    expect(await versions(domain)).toBe(6);
    const other_node = oneDomain({ clock: domain.clock, documents: domain.documents });
    expect((await other_node.view()).in_flight).toBe(0);
  });

  test.each([
    ["429", 429, null],
    ["503 with Retry-After", 503, 3],
  ])("of a %s is stored before its release is acknowledged", async (_, status, retry_after_s) => {
    const domain = oneDomain();
    await domain.acquire("a");
    await domain.release("a", status, retry_after_s);
    expect(await versions(domain)).toBe(2);
  });

  test("is stored when its node stops, so that the next owner waits for no slot", async () => {
    const { acquire, release, clock, documents, stop } = oneDomain();
    await acquire("a");
    await release("a");
    await stop();
    expect((await oneDomain({ clock, documents }).view()).in_flight).toBe(0);
  });
});

/** Documents on which each put takes so long, and the last value that was put. */
function slowDocuments(clock: ReturnType<typeof virtualClock>, takes_ms: number) {
  const quick = memoryDocuments();
  const put: typeof quick.put = async (...args) => {
    const written = Promise.withResolvers<void>();
    clock.at(clock.now() + takes_ms, () => written.resolve());
    await written.promise;
    return quick.put(...args);
  };
  return { ...quick, put };
}

describe("a grant that is stored ahead of its time", () => {
  const STORE_MS = 80;
  /** Long enough that the next grant is being stored, and not due yet. */
  const SOON = DELAY - 50;

  function slowDomain() {
    const clock = virtualClock(Date.UTC(2026, 0, 1));
    const domain = oneDomain({ clock, documents: slowDocuments(clock, STORE_MS) });
    const stored = async () => {
      const value = (await domain.documents.get("domain", SITE))?.value as
        | { leases: readonly { fetch_id: string }[]; last_start_ms: number }
        | undefined;
      return value?.leases.map(({ fetch_id }) => fetch_id);
    };
    const first = async () => {
      const granted = domain.acquire("a");
      await clock.advance(STORE_MS);
      await granted;
      void domain.release("a");
    };
    return { ...domain, stored, first };
  }

  test("is told when it is due, however long it took to store", async () => {
    const { first, acquire, release, clock, stored } = slowDomain();
    await first();
    const told: number[] = [];
    const began_ms = clock.now();
    for (const id of ["b", "c", "d"])
      void acquire(id).then(async () => {
        told.push(clock.now() - began_ms);
        expect(await stored()).toContain(id);
        await release(id);
      });
    await clock.advance(5 * DELAY);
    expect(told).toEqual([DELAY, 2 * DELAY, 3 * DELAY]);
  });

  test("is not told before the delay has passed, although it is stored", async () => {
    const { first, acquire, clock, stored, view } = slowDomain();
    await first();
    let told = false;
    void acquire("b").then(() => (told = true));
    await clock.advance(DELAY - 5);
    expect({ told, stored: await stored() }).toEqual({ told: false, stored: ["b"] });
    expect(await view()).toMatchObject({ in_flight: 0, waiting: 1 });
  });

  test("is given up for a caller that goes first, whose grant is stored before it is told", async () => {
    const { first, acquire, clock, stored } = slowDomain();
    await first();
    void acquire("batch", { lane: "batch" });
    await clock.advance(DELAY - 5);
    expect(await stored()).toEqual(["batch"]);
    const sync = acquire("sync").then(stored);
    await clock.advance(STORE_MS + 5);
    expect(await sync).toEqual(["sync"]);
  });

  test.each([
    ["a Retry-After", DELAY - 10 + 3_001],
    ["a longer Crawl-delay", 5_001],
    ["an operator's longer delay", 6_001],
  ])("is given up for %s, and told when that is over", async (what, told_after_ms) => {
    const { first, acquire, release, pace, configure, clock, stored } = slowDomain();
    await first();
    const second = acquire("a2");
    await clock.advance(DELAY);
    await second;
    const began_ms = clock.now();
    let told_ms = 0;
    void acquire("b", { wait_max_ms: 60_000 }).then(() => (told_ms = clock.now() - began_ms));
    await clock.advance(DELAY - 10);
    expect(await stored()).toContain("b");
    if (what === "a Retry-After") void release("a2", 503, 3);
    if (what === "a longer Crawl-delay") void pace(5_000);
    if (what === "an operator's longer delay") void configure({ min_delay_ms: 6_000 });
    await clock.advance(STORE_MS);
    expect(await stored()).not.toContain("b");
    await clock.advance(20_000);
    expect(told_ms).toBe(told_after_ms);
  });

  test("costs no slot when its caller leaves", async () => {
    const { first, acquire, release, clock, view, stored } = slowDomain();
    await first();
    const left = acquire("b");
    await clock.advance(DELAY - 5);
    await Promise.all([release("b", null), clock.advance(2 * STORE_MS)]);
    expect(await left).toMatchObject({ kind: "refused" });
    expect(await stored()).toEqual([]);
    expect((await view()).in_flight).toBe(0);
    const next = acquire("c");
    await clock.advance(STORE_MS);
    expect(await next).toEqual(GRANTED);
  });

  test("is one document for each request, with the release of the one before", async () => {
    const { acquire, release, clock, documents } = oneDomain();
    const REQUESTS = 5;
    for (let n = 0; n < REQUESTS; n++)
      void acquire(`f${n}`).then(async () => {
        clock.at(clock.now() + 200, () => void release(`f${n}`));
      });
    await clock.advance((REQUESTS - 1) * DELAY + 100);
    expect((await documents.get("domain", SITE))?.version).toBe(REQUESTS);
  });

  test("is not told to a fetch that asks again when the domain is activated anew: the delay counts from then", async () => {
    const own = domainActor(LIMITS);
    const clock = virtualClock(Date.UTC(2026, 0, 1));
    const documents = memoryDocuments();
    const activated = () => {
      const { ask } = embedded([own], { clock, random: seededRandom(1), documents });
      const run = { run_id: "1.1" };
      return {
        acquire: (fetch_id: string) =>
          ask(Domain, SITE, "acquire", {
            fetch_id,
            ...run,
            origin: ORIGIN,
            lane: "sync",
            wait_max_ms: 15_000,
          }),
        sent: (fetch_id: string) => ask(Domain, SITE, "recordSent", { fetch_id, ...run, origin: ORIGIN }),
      };
    };
    const before = activated();
    await before.acquire("a");
    await before.sent("a");
    void before.acquire("b");
    await clock.advance(SOON);
    const asked_ms = clock.now();
    let told_ms = 0;
    void activated()
      .acquire("b")
      .then(() => (told_ms = clock.now()));
    await clock.advance(2 * DELAY);
    expect(told_ms - asked_ms).toBe(DELAY);
  });

  test("does not let the next owner node begin earlier", async () => {
    const { acquire, clock, documents } = oneDomain();
    await acquire("a");
    void acquire("b");
    await clock.advance(SOON);
    const other_node = oneDomain({ clock, documents });
    const next = other_node.acquire("c");
    await clock.advance(DELAY);
    // Both slots of the node that died count for ten seconds.
    await clock.advance(10_000);
    expect(await next).toEqual({ kind: "granted", waited_ms: 10_000 });
  });

  test("is not that of a redirect, which is told as soon as its node asks again", async () => {
    const { first, acquire, clock, stored } = slowDomain();
    await first();
    void acquire("b", { redirected: true });
    await clock.advance(DELAY - 5);
    expect(await stored()).not.toContain("b");
  });
});

describe("a domain whose node dies", () => {
  test("has a slot that was released within the last second for ten seconds more", async () => {
    const { acquire, release, clock, documents } = oneDomain();
    await acquire("a");
    await release("a");
    const other_node = oneDomain({ clock, documents });
    expect((await other_node.view()).in_flight).toBe(1);
    await clock.advance(10_000);
    expect((await other_node.view()).in_flight).toBe(0);
  });

  test("keeps its delay on another node", async () => {
    const { acquire, clock, documents } = oneDomain();
    await acquire("a");
    const other_node = oneDomain({ clock, documents });
    const second = other_node.acquire("b");
    await clock.advance(DELAY);
    expect(await second).toEqual({ kind: "granted", waited_ms: DELAY });
  });

  test("keeps its delay on a node whose clock is three seconds ahead", async () => {
    const { acquire, clock, documents } = oneDomain();
    await acquire("a");
    const other_node = oneDomain({ clock: virtualClock(clock.now() + 3_000), documents });
    const second = other_node.acquire("b");
    await other_node.clock.advance(DELAY);
    expect(await second).toEqual({ kind: "granted", waited_ms: DELAY });
  });

  test("lets a fetch that asks again there wait for the delay as well, in the slot it already has", async () => {
    const { acquire, clock, documents } = oneDomain();
    await acquire("a");
    const other_node = oneDomain({ clock, documents });
    const anew = other_node.acquire("a");
    await clock.advance(DELAY);
    expect(await anew).toEqual({ kind: "granted", waited_ms: DELAY });
    expect((await other_node.view()).in_flight).toBe(1);
  });

  test("counts the former owner's slots for ten seconds, not for a whole lease", async () => {
    const { acquire, clock, documents } = oneDomain();
    await acquire("a");
    void acquire("b");
    await clock.advance(DELAY);
    const other_node = oneDomain({ clock, documents });
    const third = other_node.acquire("c");
    await clock.advance(9_999);
    const { in_flight, waiting } = await other_node.view();
    expect({ in_flight, waiting }).toEqual({ in_flight: 2, waiting: 1 });
    await clock.advance(1);
    expect(await third).toEqual({ kind: "granted", waited_ms: 10_000 });
  });
});

describe("lanes", () => {
  test("synchronous callers go before batch work, at most four to one", async () => {
    const { acquire, release, clock } = oneDomain();
    await acquire("first");
    await release("first");
    let order = "";
    const join = (fetch_id: string, lane: "sync" | "batch") =>
      acquire(fetch_id, { lane, wait_max_ms: 100_000 }).then(async () => {
        order += lane[0];
        await release(fetch_id);
      });
    const all = [
      ...Array.from({ length: 5 }, (_, n) => join(`b${n}`, "batch")),
      ...Array.from({ length: 10 }, (_, n) => join(`s${n}`, "sync")),
    ];
    await clock.advance(60_000);
    await Promise.all(all);
    expect(order).toBe("ssssbssssbssbbb");
  });
});

describe("a domain that the operator changes while it is asked", () => {
  test("is not asked while it is paused: who waits is refused at once, and after the pause all goes on", async () => {
    const { acquire, release, configure, view, clock } = oneDomain();
    await acquire("a");
    const waiting = acquire("b");
    await clock.advance(10);
    const until_ms = clock.now() + 60_000;
    expect(await configure({ paused_until_ms: until_ms })).toMatchObject({
      operator: { paused_until: new Date(until_ms).toISOString() },
    });
    const refusal = { kind: "refused", error: "domain_busy", retry_after_s: 10 };
    expect(await waiting).toEqual(refusal);
    expect(await acquire("c")).toEqual(refusal);
    await release("a");
    await clock.advance(60_000);
    expect(await acquire("d")).toEqual(GRANTED);
    expect(await view()).toMatchObject({ operator: { paused_until: null } });
  });

  test("opens again when the pause is taken back, and clearing what is remembered does not open it", async () => {
    const { acquire, configure, clear, clock } = oneDomain();
    await configure({ paused_until_ms: clock.now() + 3_600_000 });
    await clear();
    // Told to come back sooner than the pause ends: it may be taken back.
    expect(await acquire("a")).toEqual({ kind: "refused", error: "domain_busy", retry_after_s: 10 });
    expect(await configure({ paused_until_ms: null })).toMatchObject({ operator: null });
    expect(await acquire("a")).toEqual(GRANTED);
  });

  test("has another delay at once, for callers who wait already, and on the next node", async () => {
    const clock = virtualClock(Date.UTC(2026, 0, 1));
    const documents = memoryDocuments();
    const first = oneDomain({ clock, documents });
    await first.acquire("a");
    let granted_ms = 0;
    void first.acquire("b").then(() => (granted_ms = clock.now()));
    await clock.advance(100);
    const view = await first.configure({ min_delay_ms: 3_000 });
    expect(view).toMatchObject({
      min_delay_ms: 3_000,
      operator: { min_delay_ms: 3_000, max_concurrency: null },
    });
    const began_ms = clock.now() - 100;
    await clock.advance(5_000);
    expect(granted_ms - began_ms).toBe(3_001);
    await first.stop(0);
    const next = oneDomain({ clock, documents });
    expect(await next.view()).toMatchObject({ min_delay_ms: 3_000 });
    expect(await next.configure({ min_delay_ms: null })).toMatchObject({
      min_delay_ms: 1_000,
      operator: null,
    });
  });

  test("has fewer slots at once, while those in use are given back, and no more than it may have", async () => {
    const { acquire, release, configure, clock } = oneDomain();
    await configure({ min_delay_ms: 0 });
    expect([await acquire("a"), await acquire("b")]).toEqual([GRANTED, GRANTED]);
    expect(await configure({ max_concurrency: 1 })).toMatchObject({ max_concurrency: 1, in_flight: 2 });
    let third: unknown;
    void acquire("c").then((answer) => (third = answer));
    await release("a");
    await clock.advance(1_000);
    expect(third).toBeUndefined();
    await release("b");
    await clock.advance(0);
    expect(third).toMatchObject({ kind: "granted" });
  });

  test("is seen with its requests, its time and its waiting callers of the last ten minutes", async () => {
    const { acquire, release, recorder, clock, configure } = oneDomain();
    await acquire("a");
    await clock.advance(2_000);
    await release("a", 503);
    await acquire("b");
    void acquire("c");
    await clock.advance(500);
    const seen = { domain: SITE, requests: 1, failures: 1, mean_ms: 2_000, waiting: 1, in_flight: 1 };
    expect(recorder.top(clock.now(), 5)).toEqual([{ ...seen, is_paused: false, slowed: [] }]);
    await configure({ paused_until_ms: clock.now() + 60_000 });
    expect(recorder.top(clock.now(), 5)).toMatchObject([{ waiting: 0, is_paused: true }]);
    await release("b", 503, 60);
    expect(recorder.top(clock.now(), 5)).toMatchObject([{ slowed: [ORIGIN] }]);
    expect(recorder.top(clock.now() + 1_200_000, 5)).toEqual([]);
  });
});

describe("origins of one domain", () => {
  /** Closed for a minute by a Retry-After. */
  async function withSlowOrigin(retry_after_s = 60) {
    const domain = oneDomain();
    await domain.acquire("a");
    await domain.release("a", 503, retry_after_s);
    await domain.clock.advance(DELAY);
    return domain;
  }

  test("are not closed by the Retry-After of another, whoever waits for it", async () => {
    const { acquire, clock, view } = await withSlowOrigin(10);
    const held = Array.from({ length: 10 }, (_, n) => acquire(`held ${n}`, { wait_max_ms: 60_000 }));
    expect(await acquire("b", { origin: OTHER })).toEqual(GRANTED);
    const next = acquire("c", { origin: OTHER });
    await clock.advance(DELAY);
    expect(await next).toEqual({ kind: "granted", waited_ms: DELAY });
    expect(await view()).toMatchObject({
      waiting: 10,
      slowed: [{ origin: ORIGIN, delay_ms: 0, paused_until: expect.stringMatching(/Z$/) }],
    });
    expect(held).toHaveLength(10);
  });

  test("have the Crawl-delay of their own robots.txt between them, and the domain's delay otherwise", async () => {
    const { acquire, release, pace, clock } = oneDomain();
    const sent: string[] = [];
    const began_ms = clock.now();
    await pace(5_000);
    const visit = (id: string, origin: string) =>
      acquire(id, { origin, wait_max_ms: 60_000 }).then(async () => {
        sent.push(`${id} ${clock.now() - began_ms}`);
        await release(id, 200, null, SITE, "1", origin);
      });
    const all = [
      ...["slow 1", "slow 2"].map((id) => visit(id, ORIGIN)),
      ...["quick 1", "quick 2", "quick 3"].map((id) => visit(id, OTHER)),
    ];
    await clock.advance(20_000);
    await Promise.all(all);
    expect(sent).toEqual([
      "slow 1 0",
      `quick 1 ${DELAY}`,
      `quick 2 ${2 * DELAY}`,
      `quick 3 ${3 * DELAY}`,
      "slow 2 5001",
    ]);
  });

  test("count their Crawl-delay from when a request to them was sent", async () => {
    const { slot, sent, acquire, release, pace, clock } = oneDomain();
    await pace(5_000);
    await slot("a");
    await clock.advance(800);
    await sent("a");
    await release("a");
    const sent_ms = clock.now();
    const next = acquire("b").then(() => clock.now());
    await clock.advance(20_000);
    expect((await next) - sent_ms).toBe(5_001);
  });

  test("are asked one after another without a delay of the domain as well, where one has a Crawl-delay", async () => {
    const { slot, sent, configure, pace, clock } = oneDomain();
    await configure({ min_delay_ms: 0 });
    await pace(5_000);
    await slot("a");
    let told = false;
    void slot("b", { wait_max_ms: 60_000 }).then(() => (told = true));
    await clock.advance(10_000);
    // The request of the first may be sent at any moment.
    expect(told).toBe(false);
    await sent("a");
    await clock.advance(5_000);
    expect(told).toBe(false);
    await clock.advance(1);
    expect(told).toBe(true);
  });

  test("leave half of the queue to callers of origins that are open", async () => {
    const { acquire, configure, view } = await withSlowOrigin(50);
    await configure({ min_delay_ms: 0 });
    for (let n = 0; n < 300; n++) void acquire(`held ${n}`, { wait_max_ms: 60_000, lane: "batch" });
    expect((await view()).waiting).toBe(200);
    expect(await acquire("b", { origin: OTHER })).toEqual(GRANTED);
    expect(await acquire("c", { wait_max_ms: 60_000 })).toMatchObject({ error: "domain_busy" });
  });

  test("keep synchronous work before batch work, at most four to one, among the callers that may be served", async () => {
    const { acquire, release, clock } = await withSlowOrigin(40);
    let order = "";
    const join = (fetch_id: string, lane: "sync" | "batch", origin: string, name: string) =>
      acquire(fetch_id, { lane, origin, wait_max_ms: 100_000 }).then(async () => {
        order += name;
        await release(fetch_id, 200, null, SITE, "1", origin);
      });
    await acquire("first", { origin: OTHER });
    const all = [
      ...Array.from({ length: 3 }, (_, n) => join(`hb${n}`, "batch", ORIGIN, "B")),
      ...Array.from({ length: 3 }, (_, n) => join(`hs${n}`, "sync", ORIGIN, "S")),
      ...Array.from({ length: 2 }, (_, n) => join(`b${n}`, "batch", OTHER, "b")),
      ...Array.from({ length: 6 }, (_, n) => join(`s${n}`, "sync", OTHER, "s")),
    ];
    await release("first", 200, null, SITE, "1", OTHER);
    await clock.advance(80_000);
    await Promise.all(all);
    expect(order).toBe("ssssbssbSSSBBB");
  });

  test("are as patient on the next node", async () => {
    const { acquire, clock, documents } = await withSlowOrigin(60);
    const next = oneDomain({ clock, documents });
    expect(await next.acquire("b")).toMatchObject({ error: "domain_busy" });
    const other = next.acquire("c", { origin: OTHER });
    await clock.advance(DELAY);
    expect(await other).toMatchObject({ kind: "granted" });
    expect(await acquire("d")).toMatchObject({ error: "domain_busy" });
  });
});

test("a caller of an open origin need not expect to wait for callers of one that is closed", async () => {
  const { acquire, release, clock, view } = oneDomain();
  await acquire("a");
  await release("a", 503, 10);
  await clock.advance(DELAY);
  for (let n = 0; n < 12; n++) void acquire(`held ${n}`);
  expect((await view()).waiting).toBe(12);
  await acquire("b", { origin: OTHER });
  const next = acquire("c", { origin: OTHER, wait_max_ms: 2_000 });
  await clock.advance(DELAY);
  expect(await next).toEqual({ kind: "granted", waited_ms: DELAY });
});

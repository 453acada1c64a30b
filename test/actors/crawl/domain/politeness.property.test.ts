import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { domainActor } from "../../../../actors/crawl/domain/actor.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { Domain, type SlotAnswer } from "../../../../schemas/domain.ts";

const SITES = ["example.org", "example.net"] as const;
/** Hosts of each site. */
const HOSTS = ["www", "api", "slow"] as const;
/** The delay that robots.txt of `slow` asks for. */
const CRAWL_DELAY_MS = 3_000;
const LIMITS = { min_delay_ms: 500, max_concurrency: 2, lease_ms: 60_000 };

interface Visit {
  readonly after_ms: number;
  readonly site: (typeof SITES)[number];
  readonly host: (typeof HOSTS)[number];
  readonly lane: "sync" | "batch";
  readonly wait_max_ms: number;
  /** From its slot to its request. */
  readonly connects_ms: number;
  /** From its slot to its end. */
  readonly takes_ms: number;
  readonly status: number | null;
  readonly retry_after_s: number | null;
  /** The slot is never released: its caller is lost. */
  readonly lost: boolean;
  readonly result: "answered" | "every_route_failed" | "abandoned";
}

interface Trace extends Visit {
  readonly asked_ms: number;
  answer: SlotAnswer | null;
  answered_ms: number;
  /** When its request left; NaN: it did not. */
  started_ms: number;
  /** When the slot was released, or lapsed. */
  ended_ms: number;
}

const VISIT = {
  after_ms: fc.oneof(fc.constant(0), fc.nat(3_000)),
  site: fc.constantFrom(...SITES),
  host: fc.constantFrom(...HOSTS),
  lane: fc.constantFrom("sync" as const, "batch" as const),
  wait_max_ms: fc.constantFrom(0, 400, 5_000, 15_000, 60_000),
  connects_ms: fc.oneof(fc.constant(0), fc.nat(400), fc.nat(15_000)),
  takes_ms: fc.oneof(fc.nat(900), fc.nat(20_000)),
  status: fc.oneof(fc.constant(200), fc.constantFrom(null, 200, 404, 429, 500, 503)),
  retry_after_s: fc.option(fc.nat(40)),
  lost: fc.nat(9).map((n) => n === 0),
  result: fc.constantFrom("answered" as const, "every_route_failed" as const, "abandoned" as const),
};

const MIXED: fc.Arbitrary<Visit[]> = fc.array(fc.record(VISIT), { minLength: 10, maxLength: 40 });

/** Domains that mostly fail, and grant enough slots to show it. */
const FAILING: fc.Arbitrary<Visit[]> = fc.array(
  fc.record({
    ...VISIT,
    host: fc.constant("www" as const),
    wait_max_ms: fc.constantFrom(15_000, 60_000),
    connects_ms: fc.nat(100),
    takes_ms: fc.nat(900),
    status: fc.constantFrom(403, 500, null),
    result: fc.constantFrom(
      "every_route_failed" as const,
      "every_route_failed" as const,
      "answered" as const,
    ),
  }),
  { minLength: 10, maxLength: 40 },
);

async function travel(visits: readonly Visit[]): Promise<Trace[]> {
  const clock = virtualClock();
  const cluster = embedded([domainActor(LIMITS)], {
    clock,
    random: seededRandom(1),
    documents: memoryDocuments(),
  });
  const traces: Trace[] = [];
  for (const site of SITES)
    await cluster.ask(Domain, site, "setCrawlDelay", {
      origin: `https://slow.${site}`,
      crawl_delay_ms: CRAWL_DELAY_MS,
    });
  for (const [index, visit] of visits.entries()) {
    const fetch_id = String(index);
    const { site, host, lane, wait_max_ms } = visit;
    const origin = `https://${host}.${site}`;
    const caller = { fetch_id, project: "default", is_open: true };
    const trace: Trace = {
      ...visit,
      asked_ms: clock.now(),
      answer: null,
      answered_ms: 0,
      started_ms: Number.NaN,
      ended_ms: Infinity,
    };
    traces.push(trace);
    const request = { fetch_id, run_id: "1", origin, caller, lane, wait_max_ms };
    void cluster.ask(Domain, site, "acquire", request).then((answer) => {
      trace.answer = answer;
      trace.answered_ms = clock.now();
      if (answer.kind !== "granted") return;
      trace.ended_ms = clock.now() + (visit.lost ? LIMITS.lease_ms : visit.takes_ms);
      const sent_ms = clock.now() + visit.connects_ms;
      // A request that ends before it is sent was never sent; a lost one may have been sent or not.
      if (sent_ms <= trace.ended_ms && !(visit.lost && visit.connects_ms % 2 === 0))
        clock.at(sent_ms, () => {
          trace.started_ms = clock.now();
          void cluster.ask(Domain, site, "recordSent", { fetch_id, run_id: "1", origin });
        });
      if (visit.lost) return;
      clock.at(trace.ended_ms, () => {
        const { retry_after_s, result } = visit;
        const status = Number.isNaN(trace.started_ms) ? null : visit.status;
        void cluster.ask(Domain, site, "release", { fetch_id, run_id: "1", origin, status, retry_after_s });
        void cluster.ask(Domain, site, "recordOutcome", { caller, url: `${origin}/`, result });
      });
    });
    await clock.advance(visit.after_ms);
  }
  await clock.advance(100_000);
  await cluster.stop();
  return traces;
}

const startedOf = (own_traces: readonly Trace[]): Trace[] =>
  own_traces
    .filter(({ answer }) => answer?.kind === "granted")
    .toSorted((a, b) => a.answered_ms - b.answered_ms);

/** Every breach of the law on one domain, in words. */
function breaches(own_traces: readonly Trace[]): string[] {
  const started = startedOf(own_traces);
  const broken: string[] = [];
  const sent = started.flatMap(({ started_ms }) => (Number.isNaN(started_ms) ? [] : [started_ms]));
  for (const [i, at_ms] of sent.entries())
    if (i > 0 && at_ms - sent[i - 1]! <= LIMITS.min_delay_ms) broken.push(`a delay too short at ${at_ms}`);
  const slow = started.flatMap(({ host, started_ms }) =>
    host !== "slow" || Number.isNaN(started_ms) ? [] : [started_ms],
  );
  for (const [i, at_ms] of slow.entries())
    if (i > 0 && at_ms - slow[i - 1]! <= CRAWL_DELAY_MS) broken.push(`a Crawl-delay too short at ${at_ms}`);
  for (const trace of started) {
    const { answered_ms, ended_ms, retry_after_s, lost } = trace;
    const status = Number.isNaN(trace.started_ms) ? null : trace.status;
    const flying = started.filter(
      (other) => other.answered_ms <= answered_ms && other.ended_ms > answered_ms,
    );
    if (flying.length > LIMITS.max_concurrency) broken.push(`${flying.length} in flight at ${answered_ms}`);
    if (lost || retry_after_s === null || (status !== 429 && status !== 503)) continue;
    const until_ms = ended_ms + retry_after_s * 1_000;
    for (const early of started) {
      const isSame = early.host === trace.host;
      if (isSame && early.answered_ms > ended_ms && early.answered_ms < until_ms)
        broken.push(`a start at ${early.answered_ms}, asked to wait from ${ended_ms} to ${until_ms}`);
    }
  }
  for (const { answer, asked_ms, answered_ms, wait_max_ms } of own_traces) {
    if (answer === null) broken.push(`no answer to the caller of ${asked_ms}`);
    else if (answered_ms - asked_ms > wait_max_ms) broken.push(`a late answer to the caller of ${asked_ms}`);
    else if (answer.kind === "granted" && answer.waited_ms !== answered_ms - asked_ms)
      broken.push(`a wrong waited_ms for the caller of ${asked_ms}`);
  }
  return broken;
}

/** When three failures in a row had closed an origin for the project: until a success, or for ten minutes. */
function closures(own_traces: readonly Trace[]): (readonly [number, number])[] {
  // The settlements in the order in which the domain heard them; of two at one moment the earlier start's.
  const outcomes = startedOf(own_traces)
    .filter(({ lost, result }) => !lost && result !== "abandoned")
    .toSorted((a, b) => a.ended_ms - b.ended_ms || a.answered_ms - b.answered_ms);
  const shut: (readonly [number, number])[] = [];
  let failures = 0;
  let closed_ms: number | null = null;
  for (const { result, ended_ms } of outcomes) {
    failures = result === "answered" ? 0 : failures + 1;
    if (failures === 3) closed_ms = ended_ms;
    if (failures > 0 || closed_ms === null) continue;
    shut.push([closed_ms, ended_ms]);
    closed_ms = null;
  }
  if (closed_ms !== null) shut.push([closed_ms, closed_ms + 600_000]);
  return shut;
}

/** Every answer that does not fit to when the domain was closed, in words. */
function misclosed(own_traces: readonly Trace[]): string[] {
  const shut = closures(own_traces);
  return own_traces.flatMap(({ answer, answered_ms }) => {
    const isShut = shut.some(([from, to]) => answered_ms > from && answered_ms < to);
    const mayBeShut = shut.some(([from, to]) => answered_ms >= from && answered_ms <= to);
    const says = answer?.kind === "refused" && answer.error === "domain_unavailable";
    if (isShut && !says) return [`answered ${JSON.stringify(answer)} at ${answered_ms} while closed`];
    return says && !mayBeShut ? [`closed at ${answered_ms} for no reason`] : [];
  });
}

/**
 * Whatever callers arrive at whatever domains and whatever becomes of their requests: no two starts on one domain are
 * closer than the delay, never are more in flight than slots, no request starts while a Retry-After or a skip closes its
 * origin, no two starts on one origin are closer than its Crawl-delay, and every caller is answered before its deadline.
 */
describe("politeness holds for any traffic", () => {
  test("delays, slots, pauses, Crawl-delays and answers", async () => {
    let granted = 0;
    await fc.assert(
      fc.asyncProperty(MIXED, async (visits) => {
        const traces = await travel(visits);
        for (const site of SITES) {
          const own_traces = traces.filter((trace) => trace.site === site);
          granted += startedOf(own_traces).length;
          expect(breaches(own_traces)).toEqual([]);
        }
      }),
      { numRuns: 150 },
    );
    // The law says nothing of a domain that grants no slots.
    expect(granted).toBeGreaterThan(1_000);
  });

  test("an origin that asks for a pause or a long delay holds up no other origin of its domain", async () => {
    const withoutSlow = fc.array(
      fc.record({ ...VISIT, host: fc.constantFrom("www" as const, "api" as const) }),
      {
        minLength: 10,
        maxLength: 30,
      },
    );
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(withoutSlow, fc.nat(8), async (drawn, every) => {
        // Visits that end well and leave at once: what one of them gets depends on the others alone.
        const visits = drawn.map((visit) => ({
          ...visit,
          lane: "sync" as const,
          wait_max_ms: 60_000,
          connects_ms: 0,
          takes_ms: 100,
          status: 200,
          lost: false,
          result: "answered" as const,
        }));
        // The visits have callers of an origin between them that is closed all the time.
        const shut = { ...visits[0]!, host: "slow" as const, after_ms: 0, status: 503, retry_after_s: 900 };
        const first = { ...shut, after_ms: 2_000 };
        const waiting = visits.flatMap((visit, n) => (n % (every + 1) === 0 ? [shut, visit] : [visit]));
        const alone = await travel([{ ...first, status: 200 }, ...visits]);
        const beside = (await travel([first, ...waiting])).filter(({ host }) => host !== "slow");
        compared += beside.length;
        expect(beside.map(({ answer }) => answer)).toEqual(alone.slice(1).map(({ answer }) => answer));
      }),
      { numRuns: 20 },
    );
    expect(compared).toBeGreaterThan(200);
  });

  test("three failures in a row, and nothing else, close the origin for ten minutes", async () => {
    let closed = 0;
    await fc.assert(
      fc.asyncProperty(FAILING, async (visits) => {
        const traces = await travel(visits);
        for (const site of SITES) {
          const own_traces = traces.filter((trace) => trace.site === site);
          closed += closures(own_traces).length;
          expect(misclosed(own_traces)).toEqual([]);
        }
      }),
      { numRuns: 100 },
    );
    expect(closed).toBeGreaterThan(50);
  });

  test("synchronous work goes first, at most four to one, and neither lane starves", async () => {
    const lanes = fc.array(fc.constantFrom("sync" as const, "batch" as const), {
      minLength: 1,
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(lanes, async (queue) => {
        const clock = virtualClock();
        const { ask } = embedded([domainActor(LIMITS)], {
          clock,
          random: seededRandom(1),
          documents: memoryDocuments(),
        });
        const waiting = { sync: 0, batch: 0 };
        let row = 0;
        const acquire = async (fetch_id: string, lane: "sync" | "batch") => {
          const request = {
            fetch_id,
            run_id: "1",
            origin: "https://www.example.org",
            lane,
            wait_max_ms: 1_000_000,
          };
          await ask(Domain, "example.org", "acquire", request);
          await ask(Domain, "example.org", "release", {
            fetch_id,
            run_id: "1",
            origin: "https://www.example.org",
            status: 200,
            retry_after_s: null,
          });
        };
        await acquire("first", "sync");
        const all = queue.map((lane, n) => {
          waiting[lane]++;
          return acquire(`${n}`, lane).then(() => {
            waiting[lane]--;
            row = lane === "sync" && waiting.batch > 0 ? row + 1 : 0;
            expect(row).toBeLessThanOrEqual(4);
            if (lane === "batch" && waiting.sync > 0) batches.push(clock.now());
            else if (lane === "sync") batches.length = 0;
            expect(batches.length).toBeLessThanOrEqual(1);
          });
        });
        const batches: number[] = [];
        await clock.advance(60_000);
        await Promise.all(all);
        expect(waiting).toEqual({ sync: 0, batch: 0 });
      }),
      { numRuns: 60 },
    );
  });
});

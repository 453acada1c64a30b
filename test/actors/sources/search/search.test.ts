/** A search from question to answer, on a clock that stands still: coalescing, instances in turn, the six reasons. */
import { describe, expect, test } from "vitest";
import { searchActor } from "../../../../actors/sources/search/actor.ts";
import type { Engine, EngineAnswer, Question, RawResult } from "../../../../actors/sources/search/engine.ts";
import { searchInstancesActor } from "../../../../actors/sources/search/instances.actor.ts";
import {
  type Spending,
  MAX_INSTANCES,
  runSearch,
  UPSTREAM_MS,
} from "../../../../actors/sources/search/run-search.ts";
import { searchService } from "../../../../actors/sources/search/service.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { type Documents } from "../../../../cluster/ports/documents.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { Instances, INSTANCES_KEY, Search, type SearchRequest } from "../../../../schemas/search.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";

type Scripted = (question: Question, signal: AbortSignal) => EngineAnswer | Promise<EngineAnswer>;

const hits = (count: number, from = "a", engines = ["e1"]): RawResult[] =>
  Array.from({ length: count }, (_, at) => ({
    url: `http://${from}.example/${at}`,
    title: `${from} ${at}`,
    snippets: [`About ${from} ${at}`],
    engines,
    published: null,
  }));
const answerOf = (
  count: number,
  more: Partial<Extract<EngineAnswer, { kind: "answered" }>> = {},
): EngineAnswer => ({
  kind: "answered",
  results: hits(count),
  unresponsive: [],
  billed: 0,
  ...more,
});
const failure = (reason: Extract<EngineAnswer, { kind: "failed" }>["reason"]): EngineAnswer => ({
  kind: "failed",
  reason,
  retry_after_s: null,
  detail: reason,
});
const failed = (engine: string, captcha = false) => ({ engine, captcha });
const fallbackFound = (count: number): EngineAnswer => ({
  kind: "answered",
  results: hits(count, "paid", ["fallback_api"]),
  unresponsive: [],
  billed: 1,
});

interface ServiceOptions {
  readonly engines?: Record<string, Scripted>;
  readonly fallback?: Scripted;
  /** Micros left by project; absent: as much as it wants. */
  readonly purses?: Record<string, number>;
  /** Micros that earlier runs of a search have spent, by its id: s0 is the first. */
  readonly spent?: Readonly<Record<string, number>>;
  readonly revision?: () => string | null;
  readonly documents?: Documents;
  readonly clock?: ReturnType<typeof virtualClock>;
}

function oneService({
  engines = { one: () => answerOf(5) },
  fallback,
  purses = {},
  ...overrides
}: ServiceOptions = {}) {
  const clock = overrides.clock ?? virtualClock(Date.UTC(2026, 10, 21));
  const documents = overrides.documents ?? memoryDocuments();
  const telemetry = silentTelemetry();
  const { metrics, log } = telemetry;
  const asked: string[] = [];
  const money: string[] = [];
  const reserved = new Map<string, { project: string; micros: number }>();
  const left = new Map(Object.entries(purses));
  const scripted = (name: string, answer: Scripted): Engine => ({
    name,
    ask: async (question, signal) => {
      asked.push(name);
      return answer(question, signal);
    },
  });
  const spending: Spending = {
    async reserve(_, { project }, id, micros) {
      if ((left.get(project) ?? Infinity) < micros) {
        money.push(`${project} refused ${micros}`);
        return false;
      }
      reserved.set(id, { project, micros });
      left.set(project, (left.get(project) ?? Infinity) - micros);
      money.push(`${project} reserved ${micros}`);
      return true;
    },
    async settle(_, { project }, id, micros) {
      left.set(project, left.get(project)! + reserved.get(id)!.micros - micros);
      reserved.delete(id);
      money.push(`${project} settled ${micros}`);
    },
  };
  const revision = overrides.revision ?? (() => null);
  const running = runSearch({
    clock,
    documents,
    metrics,
    log,
    engines: Object.entries(engines).map(([name, answer]) => scripted(name, answer)),
    fallback: fallback ? { engine: scripted("fallback", fallback), price_micros: 5_000, spending } : null,
    revision,
  });
  const { ask } = embedded(
    [searchActor({ runSearch: running, now: () => clock.now() }), searchInstancesActor(Object.keys(engines))],
    {
      clock,
      random: seededRandom(1),
      documents,
    },
  );
  const spentBy = async (search_id: string): Promise<number> => overrides.spent?.[search_id] ?? 0;
  const find = searchService({ documents, ask, clock, metrics, revision, audienceOf: () => null, spentBy });
  let number = 0;
  const request = (wished: Partial<SearchRequest> = {}): SearchRequest => ({
    search_id: `s${number++}`,
    query: "tide mill",
    language: null,
    country: null,
    max_results: 20,
    freshness: null,
    cache_ttl_s: null,
    project: "default",
    ...wished,
  });
  const look = (wished?: Partial<SearchRequest>) => find(request(wished));
  /** As a job asks whose node has changed: the same search from another address. */
  const askTwice = (wished?: Partial<SearchRequest>) => {
    const same = request(wished);
    return Promise.all([1, 2].map(() => ask(Search, "digest", "get", same, { timeout_ms: 60_000 })));
  };
  const health = () => ask(Instances, INSTANCES_KEY, "view", null);
  return { clock, documents, look, askTwice, asked, money, reserved, health };
}

const never: Scripted = () => new Promise(() => {});
const untilAborted: Scripted = (_, signal) =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(failure("timeout")), { once: true });
  });

describe("the cache", () => {
  test("answers the same question again, however it is written", async () => {
    const { look, asked } = oneService();
    const first = await look();
    expect(first).toMatchObject({
      cached: false,
      provider: "metasearch",
      fallback_reason: null,
      error: null,
    });
    const again = await look({ query: " Tide  MILL " });
    expect(again).toEqual({ ...first, cached: true, cost_usd: "0" });
    expect(asked).toEqual(["one"]);
  });

  test("is bypassed by cache_ttl_s 0, and learns from it", async () => {
    let round = 0;
    const { look, asked } = oneService({ engines: { one: () => answerOf(5 + round++) } });
    await look();
    expect((await look({ cache_ttl_s: 0 })).results).toHaveLength(6);
    expect((await look()).results).toHaveLength(6);
    expect(asked).toHaveLength(2);
  });

  test("lasts seven days", async () => {
    const { look, asked, clock } = oneService();
    await look();
    await clock.advance(7 * 86_400_000);
    expect((await look()).cached).toBe(true);
    await clock.advance(1);
    expect((await look()).cached).toBe(false);
    expect(asked).toHaveLength(2);
  });

  test("of the built-in index lasts until something is stored", async () => {
    let revision = "1";
    const { look, asked } = oneService({ revision: () => revision });
    await look();
    expect((await look()).cached).toBe(true);
    revision = "2";
    expect((await look()).cached).toBe(false);
    expect(asked).toHaveLength(2);
  });

  test("answers callers that want no more results than it has", async () => {
    const { look, asked } = oneService({ engines: { one: ({ max_results }) => answerOf(max_results / 2) } });
    expect((await look({ max_results: 20 })).results).toHaveLength(10);
    expect(await look({ max_results: 10 })).toMatchObject({ cached: true });
    expect((await look({ max_results: 100 })).results).toHaveLength(50);
    expect(await look({ max_results: 30 })).toMatchObject({ cached: true });
    expect(asked).toHaveLength(2);
  });

  test("keeps no answer in which engines failed", async () => {
    const { look, asked } = oneService({
      engines: { one: () => answerOf(5, { unresponsive: [failed("e2")] }) },
    });
    await look();
    await look();
    expect(asked).toHaveLength(2);
  });

  test("that cannot be read or written makes a search slower, not wrong", async () => {
    const whole = memoryDocuments();
    const down = (): Promise<never> => Promise.reject(new Fault("documents_unreachable", "Cannot read"));
    const { look, asked } = oneService({
      documents: {
        ...whole,
        get: (collection, key) => (collection === "searches" ? down() : whole.get(collection, key)),
      },
    });
    expect(await look()).toMatchObject({ cached: false, error: null });
    expect(await look()).toMatchObject({ cached: false, error: null });
    expect(asked).toHaveLength(2);
  });
});

describe("equal searches at the same time", () => {
  test("cost one upstream request", async () => {
    const { look, asked } = oneService({ engines: { one: () => answerOf(5) } });
    const answers = await Promise.all([look(), look({ query: "TIDE MILL" }), look({ project: "other" })]);
    expect(answers.map(({ results }) => results.length)).toEqual([5, 5, 5]);
    expect(asked).toEqual(["one"]);
  });

  test("are paid once, by the first", async () => {
    const { look, asked, money } = oneService({
      engines: { one: () => answerOf(1) },
      fallback: () => fallbackFound(5),
    });
    const answers = await Promise.all([look({ project: "a" }), look({ project: "b" })]);
    expect(answers.map(({ cost_usd }) => cost_usd)).toEqual(["0.005000", "0"]);
    expect(answers.map(({ provider }) => provider)).toEqual(["fallback", "fallback"]);
    expect(asked).toEqual(["one", "fallback"]);
    expect(money).toEqual(["a reserved 5000", "a settled 5000"]);
  });

  test("are answered under each address from which one caller asked", async () => {
    const { askTwice, asked } = oneService({ engines: { one: () => answerOf(5) } });
    const answers = await askTwice();
    expect(answers.map(({ results }) => results.length)).toEqual([5, 5]);
    expect(asked).toEqual(["one"]);
  });

  test("of which one wants more are two searches, and later callers join the larger one", async () => {
    const { look, asked } = oneService({ engines: { one: ({ max_results }) => answerOf(max_results) } });
    const answers = await Promise.all([look(), look({ max_results: 50 }), look({ max_results: 40 })]);
    expect(answers.map(({ results }) => results.length)).toEqual([20, 50, 40]);
    expect(asked).toHaveLength(2);
  });

  test("continues for another project when the first has no budget", async () => {
    const { look, money } = oneService({
      engines: { one: () => failure("http_500") },
      fallback: () => fallbackFound(5),
      purses: { poor: 4_999 },
    });
    const [poor, rich, richer] = await Promise.all([
      look({ project: "poor" }),
      look({ project: "rich" }),
      look({ project: "richer" }),
    ]);
    expect(poor).toMatchObject({
      error: "budget_exhausted",
      provider: null,
      results: [],
      cost_usd: "0.000000",
    });
    expect(rich).toMatchObject({ error: null, provider: "fallback", cost_usd: "0.005000" });
    expect(richer).toMatchObject({ error: null, provider: "fallback", cost_usd: "0" });
    expect(money).toEqual(["poor refused 5000", "rich reserved 5000", "rich settled 5000"]);
  });
});

/** Reason, what the primary does, and what the answer is without and with a fallback. */
describe("the fallback is asked", () => {
  const cases: [reason: string, engines: Record<string, Scripted>, alone: object][] = [
    ["metasearch_error", { one: () => failure("http_500") }, { error: "metasearch_error", provider: null }],
    [
      "metasearch_timeout",
      { one: () => failure("timeout") },
      { error: "metasearch_timeout", provider: null },
    ],
    ["no_metasearch_instance", {}, { error: "no_metasearch_instance", provider: null }],
    [
      "unresponsive_engines",
      { one: () => answerOf(9, { unresponsive: [failed("e2"), failed("e2")] }) },
      { error: null, provider: "metasearch", unresponsive_engines: ["e2"] },
    ],
    [
      "captcha_engines",
      { one: () => answerOf(9, { unresponsive: [failed("e2"), failed("e3", true)] }) },
      { error: null, provider: "metasearch", unresponsive_engines: ["e2", "e3"] },
    ],
    ["too_few_results", { one: () => answerOf(2) }, { error: null, provider: "metasearch" }],
  ];

  test.each(cases)("on %s", async (fallback_reason, engines, alone) => {
    const { look } = oneService({ engines });
    expect(await look()).toMatchObject({ fallback_reason, cost_usd: "0.000000", ...alone });

    const with_fallback = oneService({ engines, fallback: () => fallbackFound(5) });
    const answer = await with_fallback.look();
    expect(answer).toMatchObject({
      fallback_reason,
      provider: "fallback",
      error: null,
      cost_usd: "0.005000",
    });
    expect(answer.results.some(({ engines: by }) => by.includes("fallback_api"))).toBe(true);
    expect(with_fallback.money).toEqual(["default reserved 5000", "default settled 5000"]);
    expect(with_fallback.reserved.size).toBe(0);
    // It was paid for, so it is kept.
    expect(await with_fallback.look()).toMatchObject({ cached: true, provider: "fallback", fallback_reason });
  });

  test.each([1, 2])("not for a caller that wants %d of more", async (max_results) => {
    const { look, asked } = oneService({
      // As the built-in index does: it finds no more than it is asked for.
      engines: { one: (question) => answerOf(Math.min(5, question.max_results)) },
      fallback: () => fallbackFound(5),
    });
    const { results, fallback_reason } = await look({ max_results });
    expect([results.length, fallback_reason, asked]).toEqual([max_results, null, ["one"]]);
  });

  test("not when three were found", async () => {
    const { look, asked } = oneService({
      engines: { one: () => answerOf(3) },
      fallback: () => fallbackFound(5),
    });
    expect(await look()).toMatchObject({
      fallback_reason: null,
      provider: "metasearch",
      cost_usd: "0.000000",
    });
    expect(asked).toEqual(["one"]);
  });

  test("and what both found is one list", async () => {
    const { look } = oneService({
      engines: { one: () => answerOf(2) },
      fallback: () => ({ ...fallbackFound(0), results: hits(2, "a", ["fallback_api"]) }) as EngineAnswer,
    });
    const { results } = await look();
    expect(results.map(({ engines }) => engines)).toEqual([
      ["e1", "fallback_api"],
      ["e1", "fallback_api"],
    ]);
  });

  test("as often as the results wanted take, and what was not used is given back", async () => {
    const { look, money } = oneService({ engines: {}, fallback: () => fallbackFound(5) });
    await look({ max_results: 41 });
    expect(money).toEqual(["default reserved 15000", "default settled 5000"]);
  });
});

test("a search that was repeated after its node had paid tells what all of it cost", async () => {
  const { look } = oneService({ engines: { one: () => answerOf(5) }, spent: { s0: 5_000 } });
  expect(await look()).toMatchObject({ provider: "metasearch", cached: false, cost_usd: "0.005000" });
  expect(await look()).toMatchObject({ cached: true, cost_usd: "0" });
});

describe("an honest end", () => {
  test("no results are no error", async () => {
    const { look } = oneService({ engines: { one: () => answerOf(0) } });
    expect(await look()).toMatchObject({
      results: [],
      error: null,
      provider: "metasearch",
      fallback_reason: "too_few_results",
    });
    const both = oneService({ engines: { one: () => answerOf(0) }, fallback: () => fallbackFound(0) });
    expect(await both.look()).toMatchObject({ results: [], error: null, provider: "fallback" });
  });

  test.each([
    ["unresponsive_engines", false],
    ["captcha_engines", true],
  ])("nothing found while engines failed is %s", async (error, captcha) => {
    const { look } = oneService({
      engines: { one: () => answerOf(0, { unresponsive: [failed("e1", captcha)] }) },
    });
    expect(await look()).toMatchObject({ results: [], provider: null, error, fallback_reason: error });
  });

  test.each([
    ["http_429", "fallback_http_429"],
    ["http_500", "fallback_http_500"],
    ["timeout", "fallback_timeout"],
    ["unreachable", "fallback_unreachable"],
    ["invalid_answer", "fallback_invalid_answer"],
    ["captcha", "fallback_invalid_answer"],
  ] as const)("a fallback that fails with %s behind a primary that did, too: %s", async (reason, error) => {
    const { look, money } = oneService({
      engines: { one: () => failure("timeout") },
      fallback: () => failure(reason),
    });
    expect(await look()).toMatchObject({
      results: [],
      provider: null,
      error,
      fallback_reason: "metasearch_timeout",
      cost_usd: "0.000000",
    });
    expect(money).toEqual(["default reserved 5000", "default settled 0"]);
  });

  test("a failing fallback keeps the primary's results, and the next search tries again", async () => {
    let works = false;
    const { look } = oneService({
      engines: { one: () => answerOf(2) },
      fallback: () => (works ? fallbackFound(5) : failure("http_429")),
    });
    expect(await look()).toMatchObject({
      provider: "metasearch",
      error: null,
      fallback_reason: "too_few_results",
    });
    works = true;
    expect(await look()).toMatchObject({ cached: false, provider: "fallback" });
  });

  test("a used-up budget keeps the primary's results", async () => {
    const { look, asked } = oneService({
      engines: { one: () => answerOf(2) },
      fallback: () => fallbackFound(5),
      purses: { default: 0 },
    });
    expect(await look()).toMatchObject({ provider: "metasearch", error: null, cost_usd: "0.000000" });
    expect(asked).toEqual(["one"]);
  });

  test.each([
    ["listens", untilAborted],
    ["does not even listen", never],
  ])("upstreams that hang, and one that %s, end in a named reason in time", async (_, hanging) => {
    const { look, clock } = oneService({
      engines: { one: hanging, two: hanging, three: hanging, four: hanging },
      fallback: hanging,
    });
    let answer: unknown = null;
    void look().then((given) => (answer = given));
    await clock.advance(UPSTREAM_MS * (MAX_INSTANCES + 1) - 1);
    expect(answer).toBeNull();
    await clock.advance(1);
    expect(answer).toMatchObject({ error: "fallback_timeout", fallback_reason: "metasearch_timeout" });
  });

  test("an engine that throws is a bug, and all callers are answered", async () => {
    const { look } = oneService({
      engines: {
        one: () => {
          throw new RangeError("bug");
        },
      },
    });
    await expect(look()).rejects.toMatchObject({ code: "no_answer" });
  });
});

describe("instances", () => {
  test("take turns", async () => {
    const { look, asked } = oneService({
      engines: { one: () => answerOf(5), two: () => answerOf(5), three: () => answerOf(5) },
    });
    for (const query of ["a", "b", "c", "d"]) await look({ query });
    expect(asked).toEqual(["one", "two", "three", "one"]);
  });

  test("that fail are followed by the next, and suspended for a while", async () => {
    const { look, asked, clock, health } = oneService({
      engines: { one: () => failure("http_429"), two: () => answerOf(5) },
    });
    expect(await look({ query: "a" })).toMatchObject({ provider: "metasearch", fallback_reason: null });
    await look({ query: "b" });
    expect(asked).toEqual(["one", "two", "two"]);
    expect(await health()).toEqual([
      { instance: "one", suspended_until_ms: clock.now() + 180_000, reason: "http_429" },
      { instance: "two", suspended_until_ms: null, reason: null },
    ]);
    await clock.advance(180_000);
    await look({ query: "c" });
    expect(asked.slice(3)).toEqual(["one", "two"]);
  });

  test("that are all spared are as good as none", async () => {
    const { look, asked } = oneService({ engines: { one: () => failure("captcha") } });
    expect(await look({ query: "a" })).toMatchObject({ error: "metasearch_error" });
    expect(await look({ query: "b" })).toMatchObject({ error: "no_metasearch_instance" });
    expect(asked).toEqual(["one"]);
  });

  test("that failed without a word are tried once a second while none is left, and not before the fallback is paid", async () => {
    let isDown = true;
    const paid: string[] = [];
    const { look, asked, clock } = oneService({
      engines: { one: () => (isDown ? failure("http_500") : answerOf(5)) },
      fallback: () => {
        paid.push("paid");
        return answerOf(5);
      },
    });
    // The failure itself and a probe, each asked again at once, and within the same second none.
    for (const query of ["a", "b", "c"])
      expect(await look({ query })).toMatchObject({ provider: "fallback" });
    expect([asked.filter((name) => name === "one").length, paid.length]).toEqual([4, 3]);
    await clock.advance(1_000);
    isDown = false;
    for (const query of ["d", "e", "f"])
      expect(await look({ query })).toMatchObject({ provider: "metasearch", fallback_reason: null });
    expect(paid).toHaveLength(3);
  });

  test("are spared by the node that takes over, too", async () => {
    const here = oneService({ engines: { one: () => failure("captcha") } });
    await here.look();
    const there = oneService({
      engines: { one: () => answerOf(5) },
      documents: here.documents,
      clock: here.clock,
    });
    expect(await there.look({ query: "b" })).toMatchObject({ error: "no_metasearch_instance" });
    await here.clock.advance(3_600_000);
    expect(await there.look({ query: "b" })).toMatchObject({ error: null });
  });
});

describe("the only instance, when it fails", () => {
  const failing = (failures: EngineAnswer[]): Scripted => {
    const rest = [...failures];
    return () => rest.shift() ?? answerOf(5);
  };
  const fallback = (): EngineAnswer => fallbackFound(20);

  test.each(["unreachable", "http_502", "invalid_answer"] as const)(
    "with %s is asked again at once, before the fallback is paid",
    async (reason) => {
      const { look, asked, money } = oneService({ engines: { one: failing([failure(reason)]) }, fallback });
      expect(await look()).toMatchObject({ provider: "metasearch", fallback_reason: null });
      expect([asked, money]).toEqual([["one", "one"], []]);
    },
  );

  test.each(["http_429", "timeout", "captcha", "http_403"] as const)(
    "with %s is left alone",
    async (reason) => {
      const { look, asked } = oneService({ engines: { one: failing([failure(reason)]) }, fallback });
      expect(await look()).toMatchObject({ provider: "fallback" });
      expect(asked).toEqual(["one", "fallback"]);
    },
  );

  test("twice is not asked a third time", async () => {
    const twice = [failure("unreachable"), failure("unreachable")];
    const { look, asked } = oneService({ engines: { one: failing(twice) }, fallback });
    expect(await look()).toMatchObject({ provider: "fallback", fallback_reason: "metasearch_error" });
    expect(asked).toEqual(["one", "one", "fallback"]);
  });

  test("is not asked again where there is another", async () => {
    const engines = { one: failing([failure("unreachable")]), two: () => answerOf(5) };
    const { look, asked } = oneService({ engines, fallback });
    expect(await look()).toMatchObject({ provider: "metasearch" });
    expect(asked).toEqual(["one", "two"]);
  });
});

test("searches of other hosts are other searches, and only these hosts are found", async () => {
  const engines = {
    one: () => answerOf(0, { results: [...hits(4, "a"), ...hits(4, "b"), ...hits(4, "www.a")] }),
  };
  const { look, asked } = oneService({ engines });
  const hostsOf = async (wished: Partial<SearchRequest>): Promise<string[]> => [
    ...new Set((await look(wished)).results.map(({ url }) => new URL(url).hostname)),
  ];
  expect(await hostsOf({ include_domains: ["a.example"] })).toEqual(["a.example", "www.a.example"]);
  expect(await hostsOf({ exclude_domains: ["a.example"] })).toEqual(["b.example"]);
  expect(await hostsOf({})).toEqual(["a.example", "b.example", "www.a.example"]);
  expect(await look({ include_domains: ["a.example"] })).toMatchObject({ cached: true });
  expect(asked).toHaveLength(3);
});

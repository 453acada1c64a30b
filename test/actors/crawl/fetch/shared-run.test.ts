/** Callers of one page at the same time, with other limits or another project. */
import { describe, expect, test } from "vitest";
import type { FetchRequest } from "../../../../schemas/fetch.ts";
import { answer, failure, HTML, oneService, running, type Scripted } from "../../../harness/fetch-harness.ts";

/** A text of 5,000 bytes, read as the routes do: by the limits that hold when the body comes, which is after 100 ms. */
const SIZE = 5_000;
const sized = (headers: Record<string, string> = {}) => {
  let visits = 0;
  const route =
    (at: (then: () => void) => void): Scripted =>
    async (request) => {
      visits++;
      await new Promise<void>((resolve) => at(resolve));
      const { max_bytes } = request.max_bytes < SIZE ? await request.currentLimits!() : request;
      if (max_bytes < SIZE) return failure("too_large", 200);
      return answer("x".repeat(SIZE), 200, { "content-type": "text/plain", ...headers });
    };
  return { route, visits: () => visits };
};

async function service(headers: Record<string, string> = {}) {
  const { route, visits } = sized(headers);
  const later: { clock?: Awaited<ReturnType<typeof oneService>>["clock"] } = {};
  const it = await oneService({
    direct: route((then) => void later.clock!.at(later.clock!.now() + 100, then)),
  });
  later.clock = it.clock;
  const get = (options: Partial<FetchRequest>) => it.get({ tiers: ["direct"], ...options });
  return { ...it, get, visits };
}

describe("one request to the site answers", () => {
  const SMALL = { max_bytes: 1_000, max_pdf_bytes: 1_000 };

  test.each([
    ["first", [SMALL, {}], ["too_large", null]],
    ["last", [{}, SMALL], [null, "too_large"]],
  ] as const)("a caller with a small max_bytes that came %s, and one without", async (_, callers, errors) => {
    const { get, clock, visits } = await service();
    const answers = await running(clock, Promise.all(callers.map((caller) => get({ ...caller }))));
    expect(answers.map(({ error }) => error)).toEqual(errors);
    expect(visits()).toBe(1);
    const whole = answers.find(({ error }) => error === null)!;
    const small = answers.find(({ error }) => error !== null)!;
    expect([whole.record.bytes, small.record.bytes, small.record.sha256]).toEqual([SIZE, 0, null]);
  });

  test("a caller that accepts no PDF and one that does", async () => {
    let visits = 0;
    const { get, clock } = await oneService(
      { direct: () => (visits++, answer("%PDF-1.7\n", 200, { "content-type": "application/pdf" })) },
      { extract: async () => ({ kind: "failed", reason: "crashed", detail: "" }) },
    );
    const both = [get({ accept_pdf: false }), get({ accept_pdf: true })];
    const answers = await running(clock, Promise.all(both));
    expect(answers.map(({ error }) => error)).toEqual(["pdf_not_accepted", "unreadable_document"]);
    expect(visits).toBe(1);
  });

  test("a caller whose time runs out, at that time, and one that waits for the page", async () => {
    let visits = 0;
    const { get, clock } = await oneService({
      direct: () => (visits++, failure("network_reset")),
      browser: ({ signal }) =>
        new Promise((resolve) => {
          const late = clock.at(clock.now() + 20_000, () => resolve(answer(HTML)));
          signal.addEventListener("abort", () => {
            late[Symbol.dispose]();
            resolve(failure("timeout"));
          });
        }),
    });
    const began_ms = clock.now();
    const short = get({ hard_deadline: true, deadline_ms: began_ms + 5_000 });
    const long = get({ hard_deadline: true, deadline_ms: began_ms + 60_000 });
    const patient = get({});
    await clock.advance(6_001);
    expect(await short).toMatchObject({
      error: "timeout",
      attempts: [{ tier: "direct", reason: "network_reset" }, { tier: "request_timeout" }],
    });
    await clock.advance(15_000);
    expect(await Promise.all([long, patient])).toMatchObject([{ error: null }, { error: null }]);
    expect(visits).toBe(1);
  });

  test("no caller any more: the run ends with the last of them", async () => {
    let isAborted = false;
    const { get, clock } = await oneService({
      direct: ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            isAborted = true;
            resolve(failure("timeout"));
          });
        }),
    });
    const short = get({ hard_deadline: true, deadline_ms: clock.now() + 5_000 });
    const long = get({ hard_deadline: true, deadline_ms: clock.now() + 8_000 });
    await clock.advance(6_001);
    expect([(await short).error, isAborted]).toEqual(["timeout", false]);
    await clock.advance(2_000);
    expect([(await long).error, isAborted]).toEqual(["timeout", true]);
  });
});

test("a caller that joins after a body was refused as too large has a request of its own", async () => {
  const { get, clock, visits } = await service();
  const small = await running(clock, get({ max_bytes: 1_000, max_pdf_bytes: 1_000 }));
  expect(small.error).toBe("too_large");
  expect((await running(clock, get({}))).error).toBeNull();
  expect(visits()).toBe(2);
});

test("a reserved host whose system times out at once is asked once for its callers, and again for one with more time", async () => {
  const deadlines_ms: number[] = [];
  const { get, clock } = await oneService(
    {},
    {
      reservedHosts: {
        isReserved: () => true,
        async fetch({ deadline_ms }) {
          // A loop of runs would never let the test go on.
          if (deadlines_ms.push(deadline_ms) > 10) await new Promise(() => {});
          const nothing = { status: null, detail: "", retry_after_s: null, redirects: [], ms: 0 };
          return { kind: "failed", error: "timeout", ...nothing };
        },
      },
    },
  );
  const began_ms = clock.now();
  const ask = (more_ms: number) => get({ tiers: ["direct"], deadline_ms: began_ms + more_ms });
  const answers = await running(clock, Promise.all([ask(60_000), ask(60_000), ask(90_000)]));
  expect(answers.map(({ error }) => error)).toEqual(["timeout", "timeout", "timeout"]);
  expect(deadlines_ms).toEqual([began_ms + 60_000, began_ms + 90_000]);
});

describe("what the origin forbids sharing", () => {
  const projects = ["first", "second", "second", "third"];

  test.each([
    ["private", 3],
    ["no-store", 3],
    ["max-age=3600", 1],
  ])(
    "(%s) is requested once for each project that asks at the same time: %i requests",
    async (value, requests) => {
      const { get, clock, visits } = await service({ "cache-control": value });
      const answers = await running(clock, Promise.all(projects.map((project) => get({ project }))));
      expect(answers.map(({ error, record }) => [error, record.bytes])).toEqual(
        projects.map(() => [null, SIZE]),
      );
      expect(visits()).toBe(requests);
    },
  );

  test.each([
    ["private, max-age=3600", [true, false, true, true], 2],
    ["no-store", [false, false, false, false], 4],
    ["max-age=3600", [true, true, true, true], 1],
  ] as const)("(%s) is cached for whom it may be", async (value, cached, requests) => {
    const { get, clock, visits } = await service({ "cache-control": value });
    await running(clock, get({ project: "first" }));
    const answers = [];
    for (const project of ["first", "second", "second", "first"])
      answers.push(await running(clock, get({ project })));
    expect(answers.map((each) => each.cached)).toEqual(cached);
    // The first request was not counted among the answers.
    expect(visits()).toBe(requests === 1 ? 1 : value === "no-store" ? 5 : requests);
  });

  test("is asked for again with the validators of the project's own copy", async () => {
    const seen: (string | null)[] = [];
    const { get, clock } = await oneService({
      direct: ({ validators }) => {
        seen.push(validators?.etag ?? null);
        const headers = { etag: `"${seen.length}"`, "cache-control": "private" };
        return validators ? answer("", 304, headers) : answer(HTML, 200, headers);
      },
    });
    await running(clock, get({ project: "first" }));
    await running(clock, get({ project: "second" }));
    await clock.advance(25 * 3_600_000);
    const again = await running(clock, get({ project: "first" }));
    expect(again).toMatchObject({ revalidated: true, cached: true });
    expect(seen).toEqual([null, null, '"1"']);
  });
});

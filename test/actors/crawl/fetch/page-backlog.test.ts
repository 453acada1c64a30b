/** How much work a node takes on before its requests wait (actors/crawl/fetch/page-backlog.ts), on the virtual clock. */
import { describe, expect, test } from "vitest";
import { pageBacklog, type Sender } from "../../../../actors/crawl/fetch/page-backlog.ts";
import { fakeEgress } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { tasks } from "../../../../actors/reading/extract.ts";
import type { Extracted } from "../../../../actors/reading/extraction-result.ts";
import { virtualClock, type VirtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { answer, HTML, oneService, running } from "../../../harness/fetch-harness.ts";
import { gatewayHarness } from "../../../harness/gateway-harness.ts";

const BATCH: Sender = { project: "p", lane: "batch" };
const NEVER = new AbortController().signal;

/** A backlog whose pages took so long, and that has so many pages of the project now. */
async function backlogWith(page_ms: number, pages: number, project = "p") {
  const clock = virtualClock(0);
  const backlog = pageBacklog(clock);
  for (let n = 0; n < 100; n++) {
    const done = backlog.arrived(project);
    await clock.advance(page_ms);
    done();
  }
  return { clock, backlog, done: Array.from({ length: pages }, () => backlog.arrived(project)) };
}

const mayLeave = async (pages: number, page_ms: number, sender = BATCH) =>
  (await backlogWith(page_ms, pages)).backlog.tryLeave(sender) !== null;

describe("a request", () => {
  test.each([
    [10, 98, true],
    [10, 102, false],
    [50, 19, true],
    [50, 21, false],
    // A single slow document does not stop a node.
    [5_000, 7, true],
    [5_000, 8, false],
  ])("when a page takes %i ms and %i wait: may leave %j", async (page_ms, pages, expected) => {
    expect(await mayLeave(pages, page_ms)).toBe(expected);
  });

  test("whose caller waits for the answer may leave until there are four seconds' work", async () => {
    const sync: Sender = { project: "p", lane: "sync" };
    expect(await mayLeave(79, 50, sync)).toBe(true);
    expect(await mayLeave(81, 50, sync)).toBe(false);
  });

  test("of a project with few pages may leave whatever another has waiting", async () => {
    const { backlog } = await backlogWith(50, 500, "loud");
    expect(backlog.tryLeave({ project: "loud", lane: "batch" })).toBe(null);
    const quiet: Sender = { project: "quiet", lane: "batch" };
    expect(backlog.tryLeave(quiet)).not.toBe(null);
  });

  test("counts until it ends: all of a burst that end within a second, a tenth of those that take ten", async () => {
    const leaveAll = async (request_ms: number) => {
      const { clock, backlog } = await backlogWith(50, 0);
      for (let n = 0; n < 200; n++) {
        const end = backlog.tryLeave(BATCH)!;
        await clock.advance(request_ms);
        end();
      }
      let left = 0;
      while (backlog.tryLeave(BATCH)) left++;
      return left;
    };
    expect(Math.abs((await leaveAll(100)) - 20)).toBeLessThanOrEqual(1);
    expect(Math.abs((await leaveAll(10_000)) - 200)).toBeLessThanOrEqual(2);
  });
});

describe("a request that waits", () => {
  const FULL = 25;
  const wait = (backlog: ReturnType<typeof pageBacklog>, wait_ms = 60_000, signal = NEVER) =>
    backlog.whenOpen(BATCH, wait_ms, signal);

  test("leaves when pages are done, the first to come first", async () => {
    const { backlog, done } = await backlogWith(50, FULL);
    const order: number[] = [];
    for (const n of [1, 2, 3]) void wait(backlog).then(() => order.push(n));
    for (const each of done.slice(0, 5)) each();
    await Promise.resolve();
    expect(order.slice(0, 2)).toEqual([1, 2]);
  });

  test("is told when its time is over, and when its caller has gone", async () => {
    const { clock, backlog } = await backlogWith(50, FULL);
    const late = wait(backlog, 1_000);
    const leaving = new AbortController();
    const gone = wait(backlog, 60_000, leaving.signal);
    leaving.abort();
    expect(await gone).toBe(false);
    await clock.advance(1_000);
    expect(await late).toBe(false);
  });

  test("never waits for a node that has nothing to do", async () => {
    const { backlog, done } = await backlogWith(50, FULL);
    const waiting = Array.from({ length: 100 }, () => wait(backlog));
    for (const each of done) each();
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => true));
  });
});

describe("the wait that is expected", () => {
  const sync: Sender = { project: "p", lane: "sync" };
  /** A backlog at 50 ms a page: a sync request leaves at less than 80 pages or so. */
  const full = () => backlogWith(50, 82);
  const waiting = (backlog: ReturnType<typeof pageBacklog>, sender: Sender, count: number) => {
    for (let n = 0; n < count; n++) void backlog.whenOpen(sender, 600_000, NEVER);
  };

  test("is none where a request may leave", async () => {
    expect((await backlogWith(50, 79)).backlog.expectedWait(sync)).toBe(0);
    const { backlog } = await full();
    waiting(backlog, sync, 100);
    expect(backlog.expectedWait({ project: "quiet", lane: "sync" })).toBe(0);
  });

  test("is the time of the pages before it", async () => {
    const { backlog } = await full();
    const expectedS = (sender: Sender) => Math.round(backlog.expectedWait(sender) / 1_000);
    waiting(backlog, sync, 99);
    expect(expectedS(sync)).toBe(5);
    // It waits until there is one second's work instead of four.
    expect(expectedS(BATCH)).toBe(8);
    waiting(backlog, BATCH, 1_000);
    expect([expectedS(sync), expectedS(BATCH)]).toEqual([5, 58]);
  });

  test("is what it comes to: each leaves when it was expected to", async () => {
    const { clock, backlog, done } = await full();
    const waits: number[] = [];
    const began_ms = clock.now();
    for (let n = 0; n < 200; n++) {
      const expected_ms = backlog.expectedWait(sync);
      void backlog.whenOpen(sync, 600_000, NEVER).then(() => {
        waits.push(clock.now() - began_ms - expected_ms);
        done.push(backlog.arrived("p"));
      });
    }
    while (waits.length < 200) {
      await clock.advance(50);
      done.shift()!();
    }
    // Two may leave for a page that is done, so that some leave sooner.
    expect(Math.max(...waits)).toBeLessThanOrEqual(200);
    expect(Math.min(...waits)).toBeGreaterThan(-1_000);
  });
});

/** 150 pages of a job, read one after another in 50 ms each: the most that waited when a request left. */
async function mostWaiting(openBacklog: ((clock: VirtualClock) => ReturnType<typeof pageBacklog>) | null) {
  const read = await tasks.page();
  let [sent, ended, most] = [0, 0, 0];
  let reader = Promise.resolve();
  const service = await oneService(
    {
      direct: ({ url }) => {
        most = Math.max(most, sent++ - ended);
        return answer(HTML.replace("Harbour", url));
      },
    },
    (clock) => ({
      ...(openBacklog && { backlog: openBacklog(clock) }),
      async extract(task) {
        const value = (await read(task as never, () => 0)) as Extracted;
        reader = reader.then(
          () => new Promise((resolve) => void clock.at(clock.now() + 50, () => resolve())),
        );
        await reader;
        ended++;
        return { kind: "done", value };
      },
    }),
  );
  const { signal } = new AbortController();
  const answers = Array.from({ length: 150 }, (_, n) =>
    service.getUntil(signal, { url: `http://example.org/${n}` }),
  );
  const all = await running(service.clock, Promise.all(answers), 2_000);
  expect(all.map(({ error }) => error)).toEqual(all.map(() => null));
  return most;
}

describe("a job on a node that reads twenty pages a second", () => {
  test("has at most a second's work waiting, and all of its pages are read", async () => {
    expect(await mostWaiting(pageBacklog)).toBeLessThanOrEqual(50);
  });

  test("would have nearly all of it waiting otherwise", async () => {
    expect(await mostWaiting(null)).toBeGreaterThan(100);
  });
});

describe("a node that is asked for five times what it reads", () => {
  test("answers 503 on arrival, with the wait, to what would wait too long", async () => {
    const read = await tasks.page();
    let reader = Promise.resolve();
    const service = await oneService(
      { direct: ({ url }) => answer(HTML.replace("Harbour", url)) },
      (clock) => ({
        backlog: pageBacklog(clock),
        async extract(task) {
          const value = (await read(task as never, () => 0)) as Extracted;
          reader = reader.then(
            () => new Promise((resolve) => void clock.at(clock.now() + 50, () => resolve())),
          );
          await reader;
          return { kind: "done", value };
        },
      }),
      // A site of its own for each, so that no domain has a queue.
      (clock) => ({
        transports: {},
        egress: fakeEgress(
          Object.fromEntries(
            Array.from({ length: 1_000 }, (_, n) => [`http://site${n}.example/robots.txt`, { status: 404 }]),
          ),
          clock,
        ),
      }),
    );
    const { clock } = service;
    const { call } = await gatewayHarness({
      process: { clock, random: seededRandom(2), name: "g1" },
      fetch: (request, signal) => service.getUntil(signal, request),
      blobs: service.bodies,
    });
    const ends: { status: number; waited_ms: number; retry_after_s: number }[] = [];
    const ask = async (n: number): Promise<void> => {
      const asked_ms = clock.now();
      const url = `http://site${n}.example/`;
      const { status, headers } = await call("POST", "/v1/fetch", { body: { url } });
      ends.push({ status, waited_ms: clock.now() - asked_ms, retry_after_s: Number(headers["retry-after"]) });
    };
    const asks: Promise<void>[] = [];
    for (let n = 0; n < 1_000; n++) {
      asks.push(ask(n));
      await clock.advance(10);
    }
    await running(clock, Promise.all(asks), 4_000);
    const refused = ends.filter(({ status }) => status === 503);
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set([200, 503]));
    expect(refused.length).toBeGreaterThan(200);
    const onArrival = refused.filter(({ waited_ms }) => waited_ms <= 100);
    // The wait is an estimate: what is admitted in the last moment may wait its 15 s and be refused all the same.
    expect(onArrival.length).toBeGreaterThan(0.95 * refused.length);
    expect(Math.min(...onArrival.map(({ retry_after_s }) => retry_after_s))).toBeGreaterThan(15);
  });
});

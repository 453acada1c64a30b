/** A job from its creation until it is purged, on a virtual clock. */
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { MAX_CLIENT_PAUSE_MS } from "../../../../actors/work/jobs/actor.ts";
import { CREATION_TIMEOUT_MS } from "../../../../actors/work/jobs/state.ts";
import { actor } from "../../../../cluster/actor.ts";
import { Nullable } from "../../../../schemas/common.ts";
import { ask, contract } from "../../../../cluster/contracts/contract.ts";
import { Job, JOB_RETENTION_MS, type JobRecord } from "../../../../schemas/jobs.ts";
import { type ScriptedOutcome, BEGAN_MS, oneCluster, pages } from "../../../harness/jobs-harness.ts";

const SECOND_MS = 1_000;

describe("a job", () => {
  test("finishes, stores and meters every item exactly once", async () => {
    const jobs = oneCluster();
    await jobs.create("j", pages(120, 7));
    const { phase, counts } = await jobs.finished("j");
    expect([phase, counts]).toEqual([
      "completed",
      { total: 120, pending: 0, queued: 0, done: 120, failed: 0, cancelled: 0 },
    ]);
    expect(await jobs.invariants("j")).toEqual({ problems: [], ahead: 0 });
    expect(jobs.attempts.length).toBe(120);
    expect((await jobs.results("j")).get(17)?.answer).toEqual({
      text: "http://site-3.example/17 by j:17.0",
    });
    await jobs.clock.advance(5 * SECOND_MS);
    expect(await jobs.metered()).toBe(120);
  });

  test("stores the error and the answer of a failed item", async () => {
    const jobs = oneCluster({ run: (url) => (url.endsWith("/1") ? { error: "http_404" } : {}) });
    await jobs.create("j", pages(3));
    expect((await jobs.finished("j")).counts).toMatchObject({ done: 2, failed: 1 });
    expect((await jobs.results("j")).get(1)).toMatchObject({
      status: "failed",
      error: "http_404",
      bill: { ok: false },
    });
  });

  test("has no more items of a site in flight than its credits, while other sites go on", async () => {
    const jobs = oneCluster({ run: (url) => ({ ms: url.includes("site-0") ? 60_000 : 10 }) });
    const slow = pages(50, 1);
    const quick = pages(200, 40).filter((url) => !url.includes("site-0"));
    await jobs.create("j", [...slow, ...quick]);
    await jobs.clock.advance(5 * SECOND_MS);
    expect(jobs.attempts.filter(({ url }) => url.includes("site-0")).length).toBe(4);
    expect((await jobs.counts("j")).done).toBe(quick.length);
  });

  test("does not change when it is opened and begun again", async () => {
    const jobs = oneCluster();
    await jobs.create("j", pages(2));
    await jobs.finished("j");
    expect(await jobs.ask(Job, "j", "open", jobs.specOf("j", 2))).toEqual({ is_opened: true });
    expect(await jobs.ask(Job, "j", "begin", null)).toEqual({ exists: true });
    await jobs.clock.advance(10 * SECOND_MS);
    expect(jobs.attempts.length).toBe(2);
    expect(await jobs.ask(Job, "absent", "begin", null)).toEqual({ exists: false });
  });

  test("repeats attempts that throw, and fails the item in the end", async () => {
    const jobs = oneCluster({
      run: () => {
        throw new RangeError("Invalid script");
      },
    });
    await jobs.create("j", pages(1));
    expect((await jobs.finished("j")).counts.failed).toBe(1);
    expect((await jobs.results("j")).get(0)).toMatchObject({ error: "internal_error", bill: null });
    expect(jobs.attempts.length).toBe(5);
    expect(await jobs.invariants("j")).toEqual({ problems: [], ahead: 0 });
  });
});

describe("an item that fails for a passing reason", () => {
  test("is attempted five times, 5, 10, 20 and 40 s apart plus jitter", async () => {
    const retry = { reason: "transient", retry_after_s: null } as const;
    const jobs = oneCluster({ run: () => ({ error: "all_tiers_failed", retry }) });
    await jobs.create("j", pages(1));
    await jobs.finished("j");
    const pauses_s = jobs.attempts
      .slice(1)
      .map(({ at_ms }, n) => (at_ms - jobs.attempts[n]!.at_ms) / SECOND_MS);
    expect(pauses_s.length).toBe(4);
    for (const [n, least] of [5, 10, 20, 40].entries()) {
      expect(pauses_s[n]).toBeGreaterThanOrEqual(least);
      expect(pauses_s[n]).toBeLessThanOrEqual(least * 1.25 + 1);
    }
    expect(jobs.attempts.map(({ context }) => context.may_pay)).toEqual([false, false, false, false, true]);
    expect((await jobs.results("j")).get(0)).toMatchObject({ status: "failed", error: "all_tiers_failed" });
  });

  test("cools down once before premium routes may be used", async () => {
    const jobs = oneCluster({
      run: (_, { may_pay }) =>
        may_pay ? {} : { error: "all_tiers_failed", retry: { reason: "blocked", retry_after_s: null } },
    });
    await jobs.create("j", pages(1));
    expect((await jobs.finished("j")).counts.done).toBe(1);
    const [first, second] = jobs.attempts;
    expect(second!.at_ms - first!.at_ms).toBeGreaterThanOrEqual(30 * SECOND_MS);
    expect(jobs.attempts.map(({ context }) => context.may_pay)).toEqual([false, true]);
  });

  test("fails when it is blocked again after cooling down", async () => {
    const retry = { reason: "blocked", retry_after_s: null } as const;
    const jobs = oneCluster({ run: () => ({ error: "all_tiers_failed", retry }) });
    await jobs.create("j", pages(1));
    expect((await jobs.finished("j")).counts.failed).toBe(1);
    expect(jobs.attempts.length).toBe(2);
  });

  test("counts no attempt while the domain has no slot, and its site is paused meanwhile", async () => {
    let open = false;
    const retry = { reason: "busy", retry_after_s: 60 } as const;
    const jobs = oneCluster({
      run: (url) => (open || !url.includes("site-0") ? {} : { error: "domain_busy", retry }),
    });
    await jobs.create("j", pages(40, 2));
    await jobs.clock.advance(50 * SECOND_MS);
    expect(jobs.attempts.filter(({ url }) => url.includes("site-0")).length).toBe(4);
    expect((await jobs.counts("j")).done).toBe(20);
    for (let minute = 0; minute < 30; minute++) await jobs.clock.advance(60 * SECOND_MS);
    open = true;
    expect((await jobs.finished("j")).counts.done).toBe(40);
    expect(jobs.attempts.every(({ context }) => context.attempts === 0)).toBe(true);
  });
});

describe("an item that a busy source put back", () => {
  const Source = contract("source", {
    get: ask(Type.Null(), Type.Object({ error: Nullable(Type.String()) })),
  });
  /** Busy until it is opened, as a site or a filing system in a pause. */
  const source = () => {
    const seen = { is_open: false, asks: 0 };
    const one = actor(Source)<null>({
      activate: () => null,
      passivate_after_ms: 60_000,
      on: {
        get() {
          seen.asks++;
          return { error: seen.is_open ? null : "busy" };
        },
      },
    });
    return { seen, one };
  };

  test.each(["domain_busy", "politeness_timeout", "rate_limited"])("asks it anew after %s", async (error) => {
    const { seen, one } = source();
    const retry = { reason: "busy", retry_after_s: 60 } as const;
    const jobs = oneCluster({
      actors: [one],
      async run(_, { attempt_id }) {
        const answer = await jobs.ask(Source, "s", "get", null, { idempotency_id: attempt_id });
        return answer.error === null ? {} : { error, retry };
      },
    });
    await jobs.create("j", pages(1));
    await jobs.clock.advance(2 * SECOND_MS);
    expect(seen.asks).toBe(1);
    seen.is_open = true;
    await jobs.clock.advance(80 * SECOND_MS);
    expect([(await jobs.counts("j")).done, seen.asks]).toEqual([1, 2]);
  });

  test("has another id for each try, also after the node is killed, and the first id for its first try", async () => {
    const retry = { reason: "busy", retry_after_s: 60 } as const;
    const jobs = oneCluster({ run: () => ({ error: "rate_limited", retry }) });
    await jobs.create("j", pages(1));
    for (let minute = 0; minute < 3; minute++) await jobs.clock.advance(80 * SECOND_MS);
    jobs.kill();
    jobs.start();
    for (let minute = 0; minute < 3; minute++) await jobs.clock.advance(80 * SECOND_MS);
    const ids = jobs.attempts.map(({ context }) => context.attempt_id);
    expect(ids.filter((id) => id === "j:0.0").length).toBe(2);
    const later = ids.filter((id) => id !== "j:0.0");
    expect(later.length).toBeGreaterThanOrEqual(4);
    expect(new Set(later).size).toBe(later.length);
  });
});

describe("cancel", () => {
  test("ends within two seconds, keeps finished items and starts no more", async () => {
    const jobs = oneCluster({ run: () => ({ ms: 700 }) });
    await jobs.create("j", pages(400, 10));
    await jobs.clock.advance(2 * SECOND_MS);
    const asked_ms = jobs.clock.now();
    const cancelled = jobs.ask(Job, "j", "cancel", null);
    await jobs.clock.advance(1_600);
    expect(await cancelled).toEqual({ exists: true });
    const { phase, counts, finished_ms } = (await jobs.record("j"))!;
    expect(phase).toBe("cancelled");
    expect(finished_ms! - asked_ms).toBeLessThanOrEqual(1_600);
    expect(counts).toMatchObject({ pending: 0, queued: 0, failed: 0 });
    expect(counts.done).toBeGreaterThan(0);
    expect(counts.cancelled).toBe(400 - counts.done);
    expect(await jobs.invariants("j")).toEqual({ problems: [], ahead: 0 });
    await jobs.clock.advance(60 * SECOND_MS);
    expect(jobs.attempts.filter(({ at_ms }) => at_ms > asked_ms)).toEqual([]);
    expect(await jobs.metered()).toBe(counts.done);
  });

  test("does not wait for an item that does not stop", async () => {
    const jobs = oneCluster({ run: () => new Promise(() => {}) });
    await jobs.create("j", pages(3));
    await jobs.clock.advance(SECOND_MS);
    const cancelled = jobs.ask(Job, "j", "cancel", null);
    await jobs.clock.advance(1_600);
    expect(await cancelled).toEqual({ exists: true });
    expect(await jobs.counts("j")).toMatchObject({ cancelled: 3, queued: 0 });
  });

  test("does not change a finished job, and reports an unknown job", async () => {
    const jobs = oneCluster();
    await jobs.create("j", pages(2));
    const before = await jobs.finished("j");
    expect(await jobs.ask(Job, "j", "cancel", null)).toEqual({ exists: true });
    expect((await jobs.record("j"))!.phase).toBe(before.phase);
    expect(await jobs.ask(Job, "absent", "cancel", null)).toEqual({ exists: false });
  });
});

describe("cancel, by what the items cost and when they end", () => {
  test("stores and bills an attempt that cost money, although it ended by the cancel", async () => {
    const jobs = oneCluster({ run: () => ({ ms: 700 }) });
    jobs.script.costs_when_aborted = true;
    await jobs.create("j", pages(4, 4));
    await jobs.clock.advance(300);
    const cancelled = jobs.ask(Job, "j", "cancel", null);
    await jobs.clock.advance(1_600);
    await cancelled;
    expect(await jobs.counts("j")).toMatchObject({ failed: 4, cancelled: 0 });
    expect(await jobs.invariants("j")).toEqual({ problems: [], ahead: 0 });
    await jobs.clock.advance(5 * SECOND_MS);
    expect(await jobs.metered()).toBe(4);
  });

  test("refuses a result that comes after the job has ended, also from a node that was thought dead", async () => {
    const late = Promise.withResolvers<ScriptedOutcome>();
    const jobs = oneCluster({ run: () => late.promise });
    await jobs.create("j", pages(3));
    await jobs.clock.advance(SECOND_MS);
    const cancelled = jobs.ask(Job, "j", "cancel", null);
    await jobs.clock.advance(1_600);
    await cancelled;
    late.resolve({});
    jobs.script.costs_when_aborted = true;
    await jobs.clock.advance(5 * SECOND_MS);
    expect([...(await jobs.results("j")).values()].map(({ status }) => status)).toEqual([
      "cancelled",
      "cancelled",
      "cancelled",
    ]);
    expect(await jobs.invariants("j")).toEqual({ problems: [], ahead: 0 });
    expect(await jobs.metered()).toBe(0);
  });
});

test("what attempts cost that are repeated is in the item's row", async () => {
  const retry = { reason: "transient", retry_after_s: null } as const;
  const jobs = oneCluster({
    run: (_, { attempts }) => (attempts < 2 ? { error: "all_tiers_failed", retry } : {}),
  });
  await jobs.create("j", pages(2));
  const { metered, carried_micros } = await jobs.finished("j");
  expect([metered, carried_micros]).toEqual([{ requests: 2, cost_micros: 30 }, {}]);
  expect(await jobs.invariants("j")).toEqual({ problems: [], ahead: 0 });
  expect([...(await jobs.results("j")).values()].map(({ bill }) => bill!.cost_micros)).toEqual([15, 15]);
});

test("what an attempt had cost whose node died is in the item's row", async () => {
  const jobs = oneCluster({ run: () => ({ ms: 5 * SECOND_MS }) });
  await jobs.create("j", pages(2));
  await jobs.clock.advance(2 * SECOND_MS);
  jobs.script.spent_micros.set("j:0", 70);
  jobs.kill();
  jobs.start();
  await jobs.finished("j");
  expect([...(await jobs.results("j")).values()].map(({ bill }) => bill!.cost_micros)).toEqual([70, 5]);
  expect(await jobs.invariants("j")).toEqual({ problems: [], ahead: 0 });
});

describe("a key", () => {
  const payer = (fetch: number | null, more: { status?: "revoked"; suspended?: boolean } = {}) =>
    ({
      key: {
        status: more.status ?? "active",
        quotas: { search: null, fetch },
      },
      customer: { status: more.suspended ? "suspended" : "active" },
      spend_limits: [],
    }) as const;

  test("with a quota runs that many items; the others end with key_quota_exhausted, and units are left nowhere", async () => {
    const jobs = oneCluster();
    jobs.payer.now = payer(30);
    await jobs.create("a", pages(40, 10));
    await jobs.create("b", pages(40, 10));
    const records = [await jobs.finished("a"), await jobs.finished("b")];
    expect(records.reduce((sum, { counts }) => sum + counts.done, 0)).toBe(30);
    const errors = [...(await jobs.results("a")).values(), ...(await jobs.results("b")).values()];
    expect(errors.filter(({ error }) => error === "key_quota_exhausted")).toHaveLength(50);
    await jobs.clock.advance(10 * SECOND_MS);
    expect(await jobs.quota()).toEqual({ settled: 30, reserved: 0 });
    expect((await jobs.record("a"))!.quota).toBeNull();
  });

  test("with a quota counts each item once across crashes of its node", async () => {
    const jobs = oneCluster({ run: () => ({ ms: 300 }) });
    jobs.payer.now = payer(1_000);
    await jobs.create("j", pages(60, 10));
    for (let crash = 0; crash < 4; crash++) {
      await jobs.clock.advance(700);
      jobs.kill();
      jobs.start();
    }
    expect((await jobs.finished("j")).counts.done).toBe(60);
    await jobs.clock.advance(10 * SECOND_MS);
    expect(await jobs.quota()).toEqual({ settled: 60, reserved: 0 });
  });

  test("that is revoked ends what runs and cancels the rest", async () => {
    const jobs = oneCluster({ run: () => ({ ms: 400 }) });
    jobs.payer.now = payer(null);
    await jobs.create("j", pages(800, 10));
    await jobs.clock.advance(3 * SECOND_MS);
    jobs.payer.now = payer(null, { status: "revoked" });
    await jobs.clock.advance(6 * SECOND_MS);
    const { phase, counts } = (await jobs.record("j"))!;
    expect(phase).toBe("cancelled");
    expect(counts.done).toBeGreaterThan(0);
    expect(counts.done + counts.cancelled).toBe(800);
  });

  test("of a suspended customer starts nothing until the customer is active again", async () => {
    const jobs = oneCluster();
    jobs.payer.now = payer(null, { suspended: true });
    await jobs.create("j", pages(20, 10));
    await jobs.clock.advance(60 * SECOND_MS);
    expect(jobs.attempts).toEqual([]);
    jobs.payer.now = payer(null);
    expect((await jobs.finished("j")).counts.done).toBe(20);
  });
});

describe("creation", () => {
  test.each(["opened", "written"] as const)("abandoned when the job was %s leaves nothing", async (upto) => {
    const jobs = oneCluster();
    await jobs.create("j", pages(150), {}, upto);
    jobs.kill();
    jobs.start();
    await jobs.clock.advance(CREATION_TIMEOUT_MS + 5 * SECOND_MS);
    expect(await jobs.stored.get("job", "j")).toBeNull();
    expect(await jobs.stored.list("job_items", { limit: 10 })).toEqual([]);
    expect(jobs.attempts).toEqual([]);
  });

  test("abandoned after the idempotency key named the job runs, because the client may know its id", async () => {
    const jobs = oneCluster();
    await jobs.create("j", pages(3), {}, "named");
    jobs.kill();
    jobs.start();
    await jobs.clock.advance(CREATION_TIMEOUT_MS + 5 * SECOND_MS);
    expect((await jobs.finished("j")).counts.done).toBe(3);
  });
});

describe("30 days after its end", () => {
  test("a job is purged with its items, results, idempotency record and body references", async () => {
    const jobs = oneCluster();
    await jobs.create("j", pages(2_300, 50));
    await jobs.create("other", pages(5));
    const { finished_ms } = await jobs.finished("j");
    await jobs.finished("other");
    await jobs.clock.advance(finished_ms! + JOB_RETENTION_MS - jobs.clock.now() - 60_000);
    expect((await jobs.record("j"))!.counts.done).toBe(2_300);
    expect((await jobs.results("j")).size).toBe(2_300);
    expect(await jobs.stored.list("body_refs", { limit: 1_000 })).toHaveLength(50 + 1);
    await jobs.clock.advance(120_000);
    for (const collection of ["job", "job_items", "job_results", "job_idempotency_keys", "body_refs"])
      expect([collection, await jobs.stored.list(collection, { limit: 10 })]).toEqual([collection, []]);
  });
});

describe("the completion callback", () => {
  const url = "http://receiver.example/hook";
  const called = (jobs: ReturnType<typeof oneCluster>) =>
    jobs.egress.hits.map(({ at_ms, request }) => ({
      at_s: Math.round((at_ms - BEGAN_MS) / SECOND_MS),
      body: JSON.parse(request.body!.toString()) as unknown,
    }));

  test("reports the end of the job, once", async () => {
    const jobs = oneCluster({
      web: { [url]: { status: 204 } },
      run: (page) => (page.endsWith("/0") ? { error: "http_404" } : {}),
    });
    await jobs.create("j", pages(3), { callback_url: url });
    const { finished_ms } = await jobs.finished("j");
    await jobs.clock.advance(300 * SECOND_MS);
    expect(called(jobs).map(({ body }) => body)).toEqual([
      {
        job_id: "j",
        kind: "fetch",
        status: "completed",
        total: 3,
        succeeded: 2,
        failed: 1,
        finished_at: new Date(finished_ms!).toISOString(),
      },
    ]);
    expect((await jobs.record("j"))!.callback).toMatchObject({ status: "delivered_204", next_ms: null });
  });

  test("reports that the job was cancelled", async () => {
    const jobs = oneCluster({ web: { [url]: { status: 200 } }, run: () => ({ ms: 60_000 }) });
    await jobs.create("j", pages(3), { callback_url: url });
    await jobs.clock.advance(SECOND_MS);
    void jobs.ask(Job, "j", "cancel", null);
    await jobs.clock.advance(5 * SECOND_MS);
    expect(called(jobs)).toMatchObject([{ body: { status: "cancelled", total: 3, succeeded: 0 } }]);
  });

  test("is sent at once, after 10 s and after 60 s, and no more", async () => {
    const jobs = oneCluster({ web: { [url]: { status: 500 } } });
    await jobs.create("j", pages(1), { callback_url: url });
    await jobs.finished("j");
    await jobs.clock.advance(600 * SECOND_MS);
    const [first, second, third] = called(jobs).map(({ at_s }) => at_s);
    expect([called(jobs).length, second! - first!, third! - second!]).toEqual([3, 10, 60]);
    expect((await jobs.record("j"))!.callback).toMatchObject({ status: "http_500", next_ms: null });
  });

  test("waits ten seconds for a receiver that never answers", async () => {
    const jobs = oneCluster({ web: { [url]: { status: 200, after_ms: 3_600_000 } } });
    await jobs.create("j", pages(1), { callback_url: url });
    await jobs.finished("j");
    await jobs.clock.advance(11 * SECOND_MS);
    expect((await jobs.record("j"))!.callback!.status).toBe("error_timeout");
  });

  test("is not repeated to a blocked destination", async () => {
    const jobs = oneCluster({ web: { [url]: { problem: "blocked_destination" } } });
    await jobs.create("j", pages(1), { callback_url: url });
    await jobs.finished("j");
    await jobs.clock.advance(600 * SECOND_MS);
    expect(called(jobs).length).toBe(1);
    expect((await jobs.record("j"))!.callback!.status).toBe("blocked_destination");
  });
});

describe("several jobs", () => {
  test("share the capacity: a job of 10 items is not delayed by a job of 2,000", async () => {
    const run = () => ({ ms: 500 });
    const took = async (beside: boolean): Promise<number> => {
      const jobs = oneCluster({ run, capacity: 40 });
      if (beside) await jobs.create("large", pages(2_000, 500));
      await jobs.clock.advance(5 * SECOND_MS);
      const began_ms = jobs.clock.now();
      await jobs.create("small", pages(10, 10));
      const { finished_ms } = await jobs.finished("small");
      return finished_ms! - began_ms;
    };
    expect(await took(true)).toBeLessThanOrEqual((await took(false)) * 1.2);
  });

  test(
    "that are large wait while 64 others are loaded, until one of those ends",
    { timeout: 60_000 },
    async () => {
      let ms = 60_000;
      const jobs = oneCluster({ run: () => ({ ms }) });
      const urls = pages(1_001, 200);
      const ids = Array.from({ length: 66 }, (_, n) => `j${String(n).padStart(2, "0")}`);
      for (const id of ids) await jobs.create(id, urls);
      await jobs.clock.advance(3 * SECOND_MS);
      const waits = async () =>
        (
          await Promise.all(ids.map(async (id) => ((await jobs.record(id))!.phase === "queued" ? [id] : [])))
        ).flat();
      expect(await waits()).toEqual(["j64", "j65"]);
      ms = 20;
      void jobs.ask(Job, "j00", "cancel", null);
      expect((await jobs.finished("j64")).counts.done).toBe(1_001);
    },
  );
});

describe("a job that the operator pauses", () => {
  test("starts no further item, says so, stays paused on the next node, and goes on when it is resumed", async () => {
    const jobs = oneCluster({ run: () => ({ ms: 2_000 }) });
    await jobs.create("j", pages(60, 3));
    await jobs.clock.advance(3 * SECOND_MS);
    expect(jobs.unfinished()).toMatchObject([{ job_id: "j", total: 60, waits_for: null }]);
    expect(await jobs.ask(Job, "j", "setPaused", { is_paused: true })).toEqual({ exists: true });
    // Attempts in flight end.
    await jobs.clock.advance(5 * SECOND_MS);
    const started = jobs.attempts.length;
    expect(started).toBeLessThan(60);
    expect(jobs.unfinished()).toMatchObject([{ in_flight: 0, waits_for: "the operator, who paused it" }]);
    await jobs.clock.advance(600 * SECOND_MS);
    expect(jobs.attempts.length).toBe(started);
    jobs.kill();
    jobs.start();
    await jobs.clock.advance(600 * SECOND_MS);
    expect(jobs.attempts.length).toBe(started);
    expect(jobs.unfinished()).toHaveLength(1);
    expect(await jobs.ask(Job, "j", "setPaused", { is_paused: false })).toEqual({ exists: true });
    expect((await jobs.finished("j")).counts).toMatchObject({ done: 60, pending: 0 });
    expect(await jobs.invariants("j")).toEqual({ problems: [], ahead: 0 });
    expect(jobs.unfinished()).toEqual([]);
  });

  test("leaves its share of the cluster to other jobs, and can be cancelled", async () => {
    const jobs = oneCluster({ capacity: 4, run: () => ({ ms: 1_000 }) });
    await jobs.create("a", pages(400, 100));
    await jobs.create("b", pages(400, 100));
    await jobs.clock.advance(5 * SECOND_MS);
    await jobs.ask(Job, "a", "setPaused", { is_paused: true });
    await jobs.clock.advance(10 * SECOND_MS);
    const [before_ms, before] = [jobs.clock.now(), (await jobs.counts("b")).done];
    await jobs.clock.advance(20 * SECOND_MS);
    const rate = ((await jobs.counts("b")).done - before) / ((jobs.clock.now() - before_ms) / SECOND_MS);
    expect(rate).toBeGreaterThan(3);
    expect(await jobs.ask(Job, "a", "cancel", null)).toEqual({ exists: true });
    expect((await jobs.record("a"))!.phase).toBe("cancelled");
    expect(await jobs.ask(Job, "absent", "setPaused", { is_paused: true })).toEqual({ exists: false });
  });

  test("stays paused for a client who pauses or resumes it, and for an operator who resumes what its client paused", async () => {
    const jobs = oneCluster({ run: () => ({ ms: 2_000 }) });
    await jobs.create("j", pages(60, 3));
    await jobs.clock.advance(3 * SECOND_MS);
    const client = (is_paused: boolean) => jobs.ask(Job, "j", "setClientPaused", { is_paused });
    const done = { exists: true, is_refused: false };
    expect([await client(false), await client(true), await client(true)]).toEqual([done, done, done]);
    const { client_paused_ms } = (await jobs.record("j"))!;
    await jobs.clock.advance(5 * SECOND_MS);
    const started = jobs.attempts.length;
    expect(jobs.unfinished()).toMatchObject([{ in_flight: 0, waits_for: "its client, who paused it" }]);
    await jobs.ask(Job, "j", "setPaused", { is_paused: true });
    expect(await client(false)).toEqual({ exists: true, is_refused: true });
    expect(await jobs.record("j")).toMatchObject({ client_paused_ms });
    jobs.kill();
    jobs.start();
    await jobs.ask(Job, "j", "setPaused", { is_paused: false });
    await jobs.clock.advance(60 * SECOND_MS);
    expect(jobs.attempts.length).toBe(started);
    expect(await client(false)).toEqual(done);
    expect((await jobs.finished("j")).counts).toMatchObject({ done: 60 });
    expect(await jobs.invariants("j")).toEqual({ problems: [], ahead: 0 });
    expect(await jobs.ask(Job, "absent", "setClientPaused", { is_paused: false })).toEqual({
      exists: false,
      is_refused: false,
    });
  });

  test("is cancelled when its client has paused it for 30 days", async () => {
    const jobs = oneCluster({ run: () => ({ ms: 2_000 }) });
    await jobs.create("j", pages(60, 3));
    await jobs.clock.advance(3 * SECOND_MS);
    await jobs.ask(Job, "j", "setClientPaused", { is_paused: true });
    await jobs.clock.advance(5 * SECOND_MS);
    const { done } = await jobs.counts("j");
    /** The next node finds that the pause began earlier. */
    const aged = async (by_ms: number): Promise<void> => {
      jobs.kill();
      const { value, version } = (await jobs.stored.get("job", "j"))!;
      const record = value as JobRecord;
      const client_paused_ms = record.client_paused_ms! - by_ms;
      await jobs.stored.put("job", "j", { ...record, client_paused_ms }, version);
      jobs.start();
      // Its reminder is not in what the test stored.
      await jobs.ask(Job, "j", "begin", null);
      await jobs.clock.advance(30 * SECOND_MS);
    };
    await aged(MAX_CLIENT_PAUSE_MS - 120 * SECOND_MS);
    expect((await jobs.record("j"))!.finished_ms).toBeNull();
    await aged(120 * SECOND_MS);
    expect(await jobs.record("j")).toMatchObject({
      phase: "cancelled",
      counts: { done, cancelled: 60 - done },
    });
  });

  test("says how many items end per second, and what it waits for", async () => {
    const jobs = oneCluster({ run: () => ({ ms: 1_000 }) });
    await jobs.create("j", pages(200, 1));
    const progress = async () => (await jobs.ask(Job, "j", "progress", null)).progress;
    // Four items of a site at once, each a second long.
    await jobs.clock.advance(30 * SECOND_MS);
    const running = await progress();
    expect(running).toMatchObject({ in_flight: 4, waits_for: null, waits_until: null, waits_for_sites: [] });
    expect(running!.items_per_s).toBeGreaterThan(3);
    expect(running!.items_per_s).toBeLessThan(5);
    await jobs.ask(Job, "j", "setClientPaused", { is_paused: true });
    await jobs.clock.advance(70 * SECOND_MS);
    expect(await progress()).toMatchObject({
      items_per_s: 0,
      in_flight: 0,
      waits_for: "paused_by_client",
    });
    await jobs.ask(Job, "j", "setClientPaused", { is_paused: false });
    await jobs.finished("j");
    expect(await progress()).toBeNull();
  });

  test("that waits for sites or for its customer says which", async () => {
    const busy = { reason: "busy", retry_after_s: 120 } as const;
    const jobs = oneCluster({ run: () => ({ error: "domain_busy", retry: busy }) });
    await jobs.create("j", pages(3, 1));
    await jobs.clock.advance(5 * SECOND_MS);
    expect(jobs.unfinished()[0]!.waits_for).toMatch(/^busy sites and retries, until 2026-/);
    expect(jobs.unfinished()[0]!.waits_for_sites).toEqual(["site-0.example"]);
    const suspended = oneCluster();
    suspended.payer.now = {
      key: { status: "active", quotas: { search: null, fetch: null } },
      customer: { status: "suspended" },
      spend_limits: [],
    };
    await suspended.create("k", pages(3, 1));
    await suspended.clock.advance(5 * SECOND_MS);
    expect(suspended.unfinished()[0]!.waits_for).toBe("its customer, who is suspended");
  });
});

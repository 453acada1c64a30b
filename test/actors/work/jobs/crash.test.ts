/**
 * Crash points: the node is killed before and after each write, and started again on what is stored. No item is lost, none
 * finishes or is metered twice, and only items that were in flight are attempted again.
 */
import { describe, expect, test } from "vitest";
import { CREATION_TIMEOUT_MS } from "../../../../actors/work/jobs/state.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { Job } from "../../../../schemas/jobs.ts";
import { oneCluster, pages } from "../../../harness/jobs-harness.ts";

const HOOK = "http://receiver.example/hook";
const ITEMS = 9;

/** Kills the node before or after its n-th write; null: the job ended before that write. */
async function crashAt(
  at: number,
  when: "before" | "after",
  cancel: boolean,
  charged?: { readonly price_micros: number; readonly limit_micros: number },
) {
  const retry = { reason: "transient", retry_after_s: null } as const;
  let firsts = 0;
  const jobs = oneCluster({
    ...(charged && { charged }),
    web: { [HOOK]: { status: 200 } },
    // A single item fails once, so that it is attempted twice.
    run: (url) =>
      url.endsWith("/4") && firsts++ === 0 ? { error: "all_tiers_failed", retry, ms: 30 } : { ms: 30 },
  });
  let writes = 0;
  let is_killed = false;
  const put = jobs.stored.put.bind(jobs.stored);
  jobs.stored.put = async (...args) => {
    const isTarget = !is_killed && ++writes === at;
    if (isTarget && when === "before") {
      is_killed = true;
      jobs.kill();
      return new Promise(() => {});
    }
    const result = await put(...args);
    if (isTarget) {
      is_killed = true;
      jobs.kill();
      return new Promise(() => {});
    }
    return result;
  };
  const create = async (): Promise<void> => {
    await jobs.create("j", pages(ITEMS, 2), { callback_url: HOOK });
  };
  const act = async (): Promise<void> => {
    await create();
    if (!cancel) return;
    await jobs.clock.advance(45);
    await jobs.ask(Job, "j", "cancel", null);
  };
  act().catch(() => {});
  for (let n = 0; n < 400 && !is_killed; n++) await jobs.clock.advance(50);
  if (!is_killed) return null;
  const in_flight = jobs.attempts.length - [...(await jobs.results("j")).keys()].length;
  const attempts_before = jobs.attempts.length;
  const claim = await jobs.stored.get("job_idempotency_keys", "default:j");
  jobs.start();
  await jobs.clock.advance(claim ? 1_000 : CREATION_TIMEOUT_MS + 5_000);
  return { jobs, in_flight, attempts_before, claim };
}

describe.each(["before", "after"] as const)("a node killed %s a write", (when) => {
  test("finishes the job as if it had not been killed", { timeout: 60_000 }, async () => {
    let points = 0;
    // Jobs no client was told of must be purged. Those that were not:
    const unpurged: number[] = [];
    for (let at = 1; at < 200; at++) {
      const crash = await crashAt(at, when, false);
      if (crash === null) break;
      points++;
      const { jobs, in_flight, attempts_before, claim } = crash;
      if (!claim) {
        if (jobs.attempts.length > 0 || (await jobs.record("j"))) unpurged.push(at);
        continue;
      }
      if ((await jobs.record("j"))!.phase === "creating") await jobs.ask(Job, "j", "begin", null);
      const { phase, counts } = await jobs.finished("j", 900_000);
      await jobs.clock.advance(120_000);
      expect([at, phase, counts.done]).toEqual([at, "completed", ITEMS]);
      expect([at, await jobs.invariants("j")]).toEqual([at, { problems: [], ahead: 0 }]);
      expect([at, await jobs.metered()]).toEqual([at, ITEMS]);
      const repeated = jobs.attempts
        .slice(attempts_before)
        .filter(({ context }) =>
          jobs.attempts
            .slice(0, attempts_before)
            .some((earlier) => earlier.context.attempt_id === context.attempt_id),
        );
      expect(repeated.length).toBeLessThanOrEqual(in_flight);
      const { callback } = (await jobs.record("j"))!;
      expect([at, callback]).toMatchObject([at, { status: "delivered_200", next_ms: null }]);
      // The callback is sent twice only if the node died between the receiver's answer and the record of it.
      expect(jobs.egress.hits.length).toBeLessThanOrEqual(callback!.attempts);
    }
    expect(unpurged).toEqual([]);
    expect(points).toBeGreaterThan(20);
  });

  test("finishes a cancel that was acknowledged to a client", { timeout: 60_000 }, async () => {
    let points = 0;
    for (let at = 1; at < 200; at++) {
      const crash = await crashAt(at, when, true);
      if (crash === null) break;
      points++;
      const { jobs, claim } = crash;
      if (!claim) continue;
      if ((await jobs.record("j"))!.phase === "creating") await jobs.ask(Job, "j", "begin", null);
      const { phase, counts } = await jobs.finished("j", 900_000);
      await jobs.clock.advance(120_000);
      expect([at, counts.pending + counts.queued]).toEqual([at, 0]);
      expect([at, (await jobs.invariants("j")).problems]).toEqual([at, []]);
      expect([at, await jobs.metered()]).toEqual([at, counts.done + counts.failed]);
      expect([at, phase === "cancelled" || counts.done === ITEMS]).toEqual([at, true]);
      expect((await jobs.record("j"))!.callback!.status).toBe("delivered_200");
    }
    expect(points).toBeGreaterThan(15);
  });
});

describe.each([
  ["finished", "before", false],
  ["finished", "after", false],
  ["cancelled", "before", true],
  ["cancelled", "after", true],
] as const)("a job of a customer with prices, %s, whose node is killed %s a write", (_, when, cancel) => {
  test(
    "charges each item that has succeeded once, and nothing stays reserved",
    { timeout: 60_000 },
    async () => {
      const price_micros = 1_000;
      let points = 0;
      for (let at = 1; at < 300; at++) {
        const crash = await crashAt(at, when, cancel, {
          price_micros,
          limit_micros: (ITEMS - 2) * price_micros,
        });
        if (crash === null) break;
        points++;
        const { jobs, claim } = crash;
        if (!claim) continue;
        if ((await jobs.record("j"))!.phase === "creating") await jobs.ask(Job, "j", "begin", null);
        const { counts } = await jobs.finished("j", 900_000);
        // Longer than a reservation that is never settled takes to lapse.
        await jobs.clock.advance(400_000);
        const done = cancel ? counts.done : ITEMS - 2;
        const use = { settled: done * price_micros, reserved: 0 };
        expect([at, counts.done, await jobs.charges()]).toEqual([at, done, [use, use, use]]);
      }
      expect(points).toBeGreaterThan(20);
    },
  );
});

test("a cancel ends within seconds although every tenth write of a result fails", async () => {
  const jobs = oneCluster({ run: () => ({ ms: 600_000 }) });
  await jobs.create("j", pages(60, 30));
  await jobs.clock.advance(3_000);
  expect(jobs.attempts.length).toBe(60);
  let writes = 0;
  const put = jobs.stored.put.bind(jobs.stored);
  jobs.stored.put = async (...args) => {
    if (args[0] === "job_results" && ++writes % 10 === 0)
      throw new Fault("documents_unreachable", "The test refuses this write");
    return put(...args);
  };
  const cancelled = jobs.ask(Job, "j", "cancel", null, { timeout_ms: 60_000 });
  const { phase, counts } = await jobs.finished("j", 15_000);
  expect([phase, counts.cancelled]).toEqual(["cancelled", 60]);
  expect(await cancelled).toEqual({ exists: true });
});

test("a document store that fails now and then only delays a job", { timeout: 60_000 }, async () => {
  for (let seed = 1; seed <= 15; seed++) {
    const jobs = oneCluster({ seed, chances: { call_failed: 0.05, call_late: 0.1, late_ms: 300 } });
    for (let attempt = 0; ; attempt++) {
      const created = jobs.create("j", pages(60, 6)).then(
        () => true,
        () => false,
      );
      await jobs.clock.advance(5_000);
      if (await created) break;
      expect(attempt).toBeLessThan(20);
    }
    const { counts } = await jobs.finished("j", 900_000);
    await jobs.clock.advance(60_000);
    expect([seed, counts.done]).toEqual([seed, 60]);
    expect([seed, await jobs.invariants("j")]).toEqual([seed, { problems: [], ahead: 0 }]);
    expect([seed, await jobs.metered()]).toEqual([seed, 60]);
  }
});

/**
 * Crash points: a job is killed before and after each word it stores, and begun again on what is there. Nothing is lost,
 * nothing is settled or metered twice, and what was in flight is all that is fetched again (issue 5, Faults).
 */
import { describe, expect, test } from "vitest";
import { CREATION_TIMEOUT_MS } from "../../actors/jobs/actor.ts";
import { Job } from "../../schemas/jobs.ts";
import { oneCluster, pages } from "../harness/jobs-harness.ts";

const HOOK = "http://receiver.example/hook";
const ITEMS = 9;

/** Kills the node at its n-th write, before it is carried out or after; null: it never came to that. */
async function crashAt(at: number, when: "before" | "after", cancel: boolean) {
  const retry = { reason: "transient", retry_after_s: null } as const;
  let firsts = 0;
  const jobs = oneCluster({
    web: { [HOOK]: { status: 200 } },
    // One item fails once, so that there is something to be tried again.
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
    // A client whose gateway died asks again with the same key.
    await jobs.create("j", pages(ITEMS, 2), { callback_url: HOOK });
  };
  let cancelled_ms = 0;
  const act = async (): Promise<void> => {
    await create();
    if (!cancel) return;
    await jobs.clock.advance(45);
    cancelled_ms = jobs.clock.now();
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
  return { jobs, in_flight, before: attempts_before, known: claim, tried_ms: cancelled_ms };
}

describe.each(["before", "after"] as const)("killed %s a write", (when) => {
  test("a job ends as if nothing had been", { timeout: 60_000 }, async () => {
    let points = 0;
    // Nobody was told of these, so they may not run: they are gone, whole.
    const untold: number[] = [];
    for (let at = 1; at < 200; at++) {
      const crash = await crashAt(at, when, false);
      if (crash === null) break;
      points++;
      const { jobs, in_flight, before, known } = crash;
      if (!known) {
        if (jobs.attempts.length > 0 || (await jobs.record("j"))) untold.push(at);
        continue;
      }
      if ((await jobs.record("j"))!.phase === "creating") await jobs.ask(Job, "j", "begin", null);
      const { phase, counts } = await jobs.finished("j", 900_000);
      await jobs.clock.advance(120_000);
      expect([at, phase, counts.done]).toEqual([at, "completed", ITEMS]);
      expect([at, await jobs.invariants("j")]).toEqual([at, { problems: [], ahead: 0 }]);
      expect([at, await jobs.metered()]).toEqual([at, ITEMS]);
      const again = jobs.attempts
        .slice(before)
        .filter(({ context }) =>
          jobs.attempts.slice(0, before).some((earlier) => earlier.context.attempt_id === context.attempt_id),
        );
      expect(again.length).toBeLessThanOrEqual(in_flight);
      const { callback } = (await jobs.record("j"))!;
      expect([at, callback]).toMatchObject([at, { status: "delivered_200", next_ms: null }]);
      // Twice only when it died between the receiver's answer and the record of it.
      expect(jobs.egress.hits.length).toBeLessThanOrEqual(callback!.attempts);
    }
    expect(untold).toEqual([]);
    expect(points).toBeGreaterThan(20);
  });

  test("a cancelled job is cancelled, or was never told", { timeout: 60_000 }, async () => {
    let points = 0;
    for (let at = 1; at < 200; at++) {
      const crash = await crashAt(at, when, true);
      if (crash === null) break;
      points++;
      const { jobs, known } = crash;
      if (!known) continue;
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

test("stores that fail now and then delay a job and spoil nothing", { timeout: 60_000 }, async () => {
  for (let seed = 1; seed <= 15; seed++) {
    const jobs = oneCluster({ seed, chances: { call_failed: 0.05, call_late: 0.1, late_ms: 300 } });
    for (let tries = 0; ; tries++) {
      const created = jobs.create("j", pages(60, 6)).then(
        () => true,
        () => false,
      );
      await jobs.clock.advance(5_000);
      if (await created) break;
      expect(tries).toBeLessThan(20);
    }
    const { counts } = await jobs.finished("j", 900_000);
    await jobs.clock.advance(60_000);
    expect([seed, counts.done]).toEqual([seed, 60]);
    expect([seed, await jobs.invariants("j")]).toEqual([seed, { problems: [], ahead: 0 }]);
    expect([seed, await jobs.metered()]).toEqual([seed, 60]);
  }
});

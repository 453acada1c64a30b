/**
 * Crash points: a job is killed before and after each word it stores, and begun again on what is there. Nothing is lost,
 * nothing is settled or metered twice, and what was in flight is all that is fetched again (issue 5, Faults).
 */
import { describe, expect, test } from "vitest";
import { CREATED_WITHIN_MS } from "../../actors/jobs/actor.ts";
import { Job } from "../../schemas/jobs.ts";
import { oneCluster, pages } from "../harness/jobs-harness.ts";

const HOOK = "http://receiver.example/hook";
const ITEMS = 9;

/** Kills the node at its n-th write, before it is carried out or after; null: it never came to that. */
async function crashed(at: number, when: "before" | "after", cancel: boolean) {
  const again = { because: "transient", retry_after_s: null } as const;
  let firsts = 0;
  const jobs = oneCluster({
    web: { [HOOK]: { status: 200 } },
    // One item fails once, so that there is something to be tried again.
    run: (url) =>
      url.endsWith("/4") && firsts++ === 0 ? { error: "all_tiers_failed", again, ms: 30 } : { ms: 30 },
  });
  let writes = 0;
  let is_killed = false;
  const put = jobs.stored.put.bind(jobs.stored);
  jobs.stored.put = async (...words) => {
    const isIt = !is_killed && ++writes === at;
    if (isIt && when === "before") {
      is_killed = true;
      jobs.kill();
      return new Promise(() => {});
    }
    const result = await put(...words);
    if (isIt) {
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
  let tried_ms = 0;
  const act = async (): Promise<void> => {
    await create();
    if (!cancel) return;
    await jobs.clock.advance(45);
    tried_ms = jobs.clock.now();
    await jobs.ask(Job, "j", "cancel", null);
  };
  act().catch(() => {});
  for (let n = 0; n < 400 && !is_killed; n++) await jobs.clock.advance(50);
  if (!is_killed) return null;
  const in_flight = jobs.tries.length - [...(await jobs.results("j")).keys()].length;
  const before = jobs.tries.length;
  const known = await jobs.stored.get("job_keys", "default:j");
  jobs.start();
  await jobs.clock.advance(known ? 1_000 : CREATED_WITHIN_MS + 5_000);
  return { jobs, in_flight, before, known, tried_ms };
}

describe.each(["before", "after"] as const)("killed %s a write", (when) => {
  test("a job ends as if nothing had been", { timeout: 60_000 }, async () => {
    let points = 0;
    // Nobody was told of these, so they may not run: they are gone, whole.
    const untold: number[] = [];
    for (let at = 1; at < 200; at++) {
      const crash = await crashed(at, when, false);
      if (crash === null) break;
      points++;
      const { jobs, in_flight, before, known } = crash;
      if (!known) {
        if (jobs.tries.length > 0 || (await jobs.kept("j"))) untold.push(at);
        continue;
      }
      if ((await jobs.kept("j"))!.phase === "creating") await jobs.ask(Job, "j", "begin", null);
      const { phase, counts } = await jobs.over("j", 900_000);
      await jobs.clock.advance(120_000);
      expect([at, phase, counts.done]).toEqual([at, "completed", ITEMS]);
      expect([at, await jobs.law("j")]).toEqual([at, { problems: [], ahead: 0 }]);
      expect([at, await jobs.metered()]).toEqual([at, ITEMS]);
      const again = jobs.tries
        .slice(before)
        .filter(({ call }) =>
          jobs.tries.slice(0, before).some((earlier) => earlier.call.try_id === call.try_id),
        );
      expect(again.length).toBeLessThanOrEqual(in_flight);
      const { callback } = (await jobs.kept("j"))!;
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
      const crash = await crashed(at, when, true);
      if (crash === null) break;
      points++;
      const { jobs, known } = crash;
      if (!known) continue;
      if ((await jobs.kept("j"))!.phase === "creating") await jobs.ask(Job, "j", "begin", null);
      const { phase, counts } = await jobs.over("j", 900_000);
      await jobs.clock.advance(120_000);
      expect([at, counts.pending + counts.queued]).toEqual([at, 0]);
      expect([at, (await jobs.law("j")).problems]).toEqual([at, []]);
      expect([at, await jobs.metered()]).toEqual([at, counts.done + counts.failed]);
      expect([at, phase === "cancelled" || counts.done === ITEMS]).toEqual([at, true]);
      expect((await jobs.kept("j"))!.callback!.status).toBe("delivered_200");
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
    const { counts } = await jobs.over("j", 900_000);
    await jobs.clock.advance(60_000);
    expect([seed, counts.done]).toEqual([seed, 60]);
    expect([seed, await jobs.law("j")]).toEqual([seed, { problems: [], ahead: 0 }]);
    expect([seed, await jobs.metered()]).toEqual([seed, 60]);
  }
});

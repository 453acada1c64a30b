/**
 * Politeness on a simulated cluster: the real domain actor, connections that take their time, and partitions that move
 * under both. Each site has several origins: one has a Crawl-delay, any may answer with a Retry-After. The checker of scenario.ts measures
 * delays between requests as they are sent, to a site and to an origin.
 */
import { expect, inject, test } from "vitest";
import { domainActor } from "../../actors/crawl/domain/actor.ts";
import { LEASE_MS } from "../../actors/crawl/domain/politeness.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { Domain } from "../../schemas/domain.ts";
import { NO_FAULTS } from "./faults.ts";
import {
  DELAY_MS,
  ITEMS,
  type Origins,
  simulate,
  type Subject,
  type SimulatedWorld,
  WANT_MS,
} from "./scenario.ts";
import { isRepeated, onSeed, seeds } from "./seeds.ts";
import { isUnderWay, type SlotRun } from "./slots.ts";
import { visitor, Visits } from "./visitor.ts";

const SLOTS = 2;
/** Hosts of each site; robots.txt of the last asks for a Crawl-delay. */
const HOSTS = ["www", "shop", "slow"] as const;
const CRAWL_DELAY_MS = 2_000;
/** Sites of 60 items each, in twenty seconds: grants are stored ahead of their time. */
const CROWDED_SITES = 2;

const NO_ANSWER = { status: null, retry_after_s: null } as const;
type Run = Pick<SlotRun, "fetch_id" | "run_id">;

/**
 * Visits a site once, as a fetch does: a slot, a connection, the last question, the request, the slot back. `tells`
 * false: a visitor that does not report when its request was sent, so that delays count from grants.
 */
const polite = (
  { trueNow, sleep, chance, start, onAcknowledged, holdSlot }: SimulatedWorld,
  tells: boolean,
  runs: Map<string, Run>,
) =>
  visitor(async (site, item, client, work) => {
    const host = HOSTS[Number(item.slice(1)) % HOSTS.length]!;
    const origin = `http://${host}.${site}`;
    const crawl_delay_ms = host === "slow" ? CRAWL_DELAY_MS : 0;
    if (crawl_delay_ms > 0) await client(Domain, site, "setCrawlDelay", { origin, crawl_delay_ms });
    const run = { fetch_id: item, run_id: `${work.epoch}.${trueNow()}` };
    const slot = { ...run, origin, lane: "sync", wait_max_ms: 15_000 } as const;
    const answer = await client(Domain, site, "acquire", slot);
    if (answer.kind === "refused") return null;
    const granted_ms = trueNow();
    const held = holdSlot({ site, ...run, work });
    const isLate = !isUnderWay({ work });
    // Messages of an earlier run of the visit may come at any time. A run that hears late of its slot is the earlier one itself.
    const earlier = isLate ? undefined : runs.get(item);
    if (!isLate) runs.set(item, run);
    if (earlier) client(Domain, site, "release", { ...earlier, origin, ...NO_ANSWER }).catch(() => {});
    if (!tells) await client(Domain, site, "recordSent", { ...run, origin });
    await sleep(chance(3) === 0 ? chance(1_500) : chance(30));
    if (!isUnderWay({ work })) {
      held.releasing();
      // As a fetch does. It arrives late, where a later run of the visit may have the slot.
      client(Domain, site, "release", { ...run, origin, ...NO_ANSWER }).catch(() => {});
      throw new Fault("lease_lost", "Another node owns it by now");
    }
    if (tells) client(Domain, site, "recordSent", { ...run, origin }).catch(() => {});
    const exchange = start({ site, origin, crawl_delay_ms, item, granted_ms, work });
    await sleep(300);
    const answered = exchange.end();
    const answered_ms = trueNow();
    held.releasing();
    await client(Domain, site, "release", { ...run, origin, ...answered });
    held.released();
    onAcknowledged(origin, answered_ms, answered);
    return `${item} of ${site}`;
  });

function crowded({ running }: Origins): string | null {
  const sites = Map.groupBy(
    [...running].filter(({ work }) => !work.signal.aborted),
    ({ site }) => site,
  );
  const most = [...sites].find(([, here]) => here.length > SLOTS);
  return most ? `${most[0]} has ${most[1].length} in flight` : null;
}

const subject = (tells: boolean, sites?: number, runs = new Map<string, Run>()): Subject => ({
  ...(sites !== undefined && { sites }),
  actors: (world) => [
    domainActor({ min_delay_ms: DELAY_MS, max_concurrency: SLOTS, lease_ms: LEASE_MS }),
    polite(world, tells, runs),
  ],
  shardBy: { domain: "domain" },
  want: async (client, site, item) =>
    (await client(Visits, `${site} ${item}`, "make", { item }, { timeout_ms: WANT_MS })).result,
  wrong: crowded,
});

test.each(seeds(8))(
  "requests are sent one delay apart, although partitions move and connections are slow (seed %i)",
  (seed) =>
    onSeed(seed, async () => {
      const trace = await simulate(seed, subject(true));
      expect(trace.join("\n")).toContain(`${ITEMS} answered`);
      if (isRepeated) process.stderr.write(`${trace.join("\n")}\n`);
    }),
);

test.each(seeds(8))("and at sites for which callers wait all the time (seed %i)", (seed) =>
  onSeed(seed, async () => {
    const trace = await simulate(seed, subject(true, CROWDED_SITES));
    expect(trace.join("\n")).toContain(`${ITEMS} answered`);
    if (isRepeated) process.stderr.write(`${trace.join("\n")}\n`);
  }),
);

test("a visitor that counts from its grant is caught", async () => {
  await expect(simulate(inject("seed"), subject(false), NO_FAULTS)).rejects.toThrow(/was hit after \d+ ms/);
});

/**
 * Redirects to other sites on a simulated cluster: the real domain actor and the real admission of requests. Connections
 * are slow, so partitions of both sites move between a grant and its request. The checker of scenario.ts measures the
 * gaps at every site, redirects included.
 */
import { expect, inject, test } from "vitest";
import { domainActor } from "../../actors/crawl/domain/actor.ts";
import { LEASE_MS } from "../../actors/crawl/domain/politeness.ts";
import { distributed } from "../../cluster/distributed.ts";
import { MIN_PARTITIONS, partitionOf } from "../../cluster/placement.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { Domain } from "../../schemas/domain.ts";
import { faulty, newLink, newStore, NO_FAULTS } from "./faults.ts";
import { DELAY_MS, ITEMS, simulate, type Subject, type SimulatedWorld } from "./scenario.ts";
import { isRepeated, onSeed, seeds } from "./seeds.ts";
import { newWorld } from "./world.ts";
import { openRobots, visitor, visitRun, VISIT_MS, Visits } from "./visitor.ts";

const SITES = 12;
const MAX_CONNECT_MS = 3_000;

/** `tells` false: a visitor that does not report when its request was sent, so that delays count from grants. */
const redirected = (world: SimulatedWorld, tells: boolean) =>
  visitor(async (site, item, client, work) => {
    const target = `s${world.chance(SITES)}.example`;
    const { admit } = visitRun(site, item, world.clock, client, work);
    for (const host of [site, target]) {
      const admission = await admit(`http://${host}/`);
      if (admission.kind === "refused") return null;
      const isSlow = host !== site && world.chance(2) === 0;
      if (!tells) admission.onSent();
      await world.sleep(isSlow ? world.chance(MAX_CONNECT_MS) : world.chance(30));
      if (!admission.beforeSend()) {
        admission.release({ status: null, retry_after_s: null });
        throw new Fault("lease_lost", "Another node owns it by now");
      }
      const exchange = world.start({ site: host, item, granted_ms: world.trueNow(), work });
      if (tells) admission.onSent();
      await world.sleep(300);
      admission.release(exchange.end());
    }
    return `${item} of ${site}`;
  });

const subject = (tells: boolean): Subject => ({
  actors: (world) => [
    domainActor({ min_delay_ms: DELAY_MS, max_concurrency: 2, lease_ms: LEASE_MS }),
    openRobots(),
    redirected(world, tells),
  ],
  shardBy: { domain: "domain" },
  want: async (client, site, item) =>
    (await client(Visits, `${site} ${item}`, "make", { item }, { timeout_ms: VISIT_MS })).result,
  wrong: () => null,
});

test.each(seeds(8))("gaps are kept at the site a redirect leads to, whatever moves (seed %i)", (seed) =>
  onSeed(seed, async () => {
    const trace = await simulate(seed, subject(true));
    expect(trace.join("\n")).toContain(`${ITEMS} answered`);
    if (isRepeated) process.stderr.write(`${trace.join("\n")}\n`);
  }),
);

test("slots of redirects whose node died with its callers are free again within 75 seconds", async () => {
  const { clock, bus, leases, documents, random } = newWorld(inject("seed"), Date.UTC(2026, 0, 1));
  async function join(name: string) {
    const link = newLink();
    const ports = faulty(link, clock, random, NO_FAULTS, newStore());
    const redirects = visitor(async (site, item, client, work) => {
      const admission = await visitRun(site, item, clock, client, work).admit(`http://${target}/`);
      if (admission.kind === "refused") return null;
      admission.onSent();
      // The origin does not answer.
      return new Promise(() => {});
    });
    const limits = { min_delay_ms: DELAY_MS, max_concurrency: 2, lease_ms: LEASE_MS };
    const node = await distributed(
      [domainActor(limits), openRobots(), redirects],
      {
        clock,
        random,
        documents: ports.documents(documents),
        bus: ports.bus(bus),
        leases: ports.leases(leases),
      },
      { name, owns: true },
    );
    return { link, node };
  }
  const [first, second] = [await join("first"), await join("second")];
  await clock.advance(10_000);
  const siteOn = ({ node }: typeof first): string =>
    Array.from({ length: 100 }, (_, n) => `s${n}.example`).find((site) =>
      node.ownsPartition(partitionOf("domain", site, MIN_PARTITIONS)),
    )!;
  const [site, target] = [siteOn(first), siteOn(second)];
  async function inFlight(): Promise<number> {
    const view = second.node.ask(Domain, target, "view", null);
    await clock.advance(0);
    return (await view).in_flight;
  }

  // The callers are on the node that dies, so no caller asks again.
  for (const item of ["a", "b"])
    first.node.ask(Visits, `${site} ${item}`, "make", { item }, { timeout_ms: VISIT_MS }).catch(() => {});
  await clock.advance(60_000);
  expect(await inFlight()).toBe(2);
  await clock.advance(20_000);
  expect(await inFlight()).toBe(2);
  first.link.dead = true;
  await clock.advance(75_000);
  expect(await inFlight()).toBe(0);
});

test("a visitor that counts from its grant is caught", async () => {
  await expect(simulate(inject("seed"), subject(false), NO_FAULTS)).rejects.toThrow(/was hit after \d+ ms/);
});

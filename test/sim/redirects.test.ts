/**
 * Redirects to other sites on a simulated cluster: the real domain actor and the real admission of requests. Connections
 * are slow, so partitions of both sites move between a grant and its request. The checker of scenario.ts measures the
 * gaps at every site, redirects included.
 */
import { expect, inject, test } from "vitest";
import { domainActor } from "../../actors/domain/actor.ts";
import type { ActorClient } from "../../cluster/actor.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { CHANCES, DELAY_MS, ITEMS, simulate, type Subject, type SimulatedWorld } from "./scenario.ts";
import { isRepeated, onSeed, seeds } from "./seeds.ts";
import { openRobots, visitor, visitRun, VISIT_MS, Visits } from "./visitor.ts";

const SITES = 12;
const MAX_CONNECT_MS = 3_000;

/** `isTold` false: the domain is not told that the request comes from another site. */
const redirected = (world: SimulatedWorld, isTold: boolean) =>
  visitor(async (site, item, client, work) => {
    const target = `s${world.chance(SITES)}.example`;
    const telling = ((of: unknown, key: string, operation: string, message: object, options: object) =>
      (client as (...all: unknown[]) => unknown)(
        of,
        key,
        operation,
        operation === "acquire" && !isTold ? { ...message, redirected: false } : message,
        options,
      )) as ActorClient;
    const { admit } = visitRun(site, item, world.clock, telling, work);
    for (const host of [site, target]) {
      const admission = await admit(`http://${host}/`);
      if (admission.kind === "refused") return null;
      const isSlow = host !== site && world.chance(2) === 0;
      await world.sleep(isSlow ? world.chance(MAX_CONNECT_MS) : world.chance(30));
      if (!admission.beforeSend()) {
        admission.release({ status: null, retry_after_s: null });
        throw new Fault("lease_lost", "Another node owns it by now");
      }
      const exchange = world.start({ site: host, item, granted_ms: world.trueNow(), work });
      admission.onSent();
      await world.sleep(300);
      admission.release(exchange.end());
    }
    return `${item} of ${site}`;
  });

const subject = (isTold: boolean): Subject => ({
  actors: (world) => [
    domainActor({ min_delay_ms: DELAY_MS, max_concurrency: 2, lease_ms: 60_000 }),
    openRobots(),
    redirected(world, isTold),
  ],
  shardBy: { domain: "domain" },
  want: async (client, site, item) =>
    (await client(Visits, `${site} ${item}`, "make", { item }, { timeout_ms: VISIT_MS })).result,
  wrong: () => null,
});

test.each(seeds(8))("gaps are kept at the site a redirect leads to, whatever moves (seed %i)", (seed) =>
  onSeed(seed, async () => {
    const trace = await simulate(seed, subject(true));
    expect(trace.at(-1)).toContain(`${ITEMS} answered`);
    if (isRepeated) process.stderr.write(`${trace.join("\n")}\n`);
  }),
);

test("a domain that is not told of redirects is caught", async () => {
  // Not every course leads there. Nothing else goes wrong than that partitions move.
  const calm = { ...CHANCES, call_late: 0, call_failed: 0, answer_lost: 0, envelope_repeated: 0 };
  const first = inject("seed");
  const ends: string[] = [];
  for (let n = 0; n < 20 && !ends.some((end) => end.includes("was hit after")); n++)
    ends.push(await simulate(first + n, subject(false), calm).then(String, ({ message }: Error) => message));
  expect(ends).toContainEqual(expect.stringMatching(/was hit after \d+ ms/));
});

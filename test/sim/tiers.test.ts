/**
 * Fetches through a tier of other nodes on a simulated cluster: the real admission, the real tier actor and the real route to
 * it. Nodes that send are cut off, killed and drained as those that own sites are; messages of calls get lost. The checker
 * of scenario.ts measures the delays of every site, whichever node sends.
 */
import { expect, test } from "vitest";
import { domainActor } from "../../actors/crawl/domain/actor.ts";
import { LEASE_MS } from "../../actors/crawl/domain/politeness.ts";
import { assertOwned } from "../../actors/crawl/fetch/run.ts";
import type { Transport } from "../../actors/lib/web/transport.ts";
import { admitted } from "../../actors/crawl/tiers/adapters/one-request.ts";
import { tierActor } from "../../actors/crawl/tiers/tier.actor.ts";
import { tierRoute } from "../../actors/crawl/tiers/tier-route.ts";
import type { WorkContext } from "../../cluster/actor.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { failed, page, POLICY, rest } from "../harness/tier-world.ts";
import { DELAY_MS, ITEMS, simulate, type Subject, type SimulatedWorld } from "./scenario.ts";
import { isRepeated, onSeed, seeds } from "./seeds.ts";
import { openRobots, visitor, visitRun, VISIT_MS, Visits } from "./visitor.ts";

const MAX_CONNECT_MS = 1_500;

/** Facts that the origins are told of a request, by its address: the node that sends does not know it. */
type Requests = Map<string, { readonly granted_ms: number; readonly work: WorkContext }>;

const throughTier = (world: SimulatedWorld, requests: Requests) =>
  visitor(async (site, item, client, work) => {
    const { clock } = world;
    const { request, run, admit } = visitRun(site, item, clock, client, work);
    const url = `http://${site}/${item}/${requests.size}`;
    const result = await tierRoute("browser", { call: world.roles, clock })({
      ...request,
      url,
      validators: null,
      signal: work.signal,
      async admit(hop) {
        const admission = await admit(hop);
        requests.set(url, { granted_ms: world.trueNow(), work });
        return admission;
      },
    });
    assertOwned(run);
    return result.kind === "page" ? `${item} of ${site}` : null;
  });

/** A transport of one request, with a connection that takes its time. */
const transport =
  ({ chance, sleep, start }: SimulatedWorld, requests: Requests): Transport =>
  async (request) => {
    const entry = await admitted(request, request.url);
    if (entry === null) return failed("timeout");
    if (entry.kind === "refused") return { kind: "refused", refusal: entry.refusal, ...rest };
    await sleep(chance(3) === 0 ? chance(MAX_CONNECT_MS) : chance(30));
    if (request.signal.aborted || !(await entry.beforeSend())) {
      entry.release({ status: null, retry_after_s: null });
      return failed("timeout");
    }
    const { hostname, pathname } = new URL(request.url);
    const exchange = start({ site: hostname, item: pathname.split("/")[1]!, ...requests.get(request.url)! });
    entry.onSent();
    await sleep(300);
    entry.release(exchange.end());
    return page(request.url);
  };

function subject(): Subject {
  const requests: Requests = new Map();
  return {
    actors: (world) => [
      domainActor({ min_delay_ms: DELAY_MS, max_concurrency: 2, lease_ms: LEASE_MS }),
      openRobots(),
      throughTier(world, requests),
    ],
    roleActors: (world) => {
      const { metrics, log } = silentTelemetry();
      const deps = {
        transport: transport(world, requests),
        policy: POLICY,
        clock: world.clock,
        metrics,
        log,
      };
      return [tierActor("browser", deps)];
    },
    shardBy: { domain: "domain" },
    want: async (client, site, item) =>
      (await client(Visits, `${site} ${item}`, "make", { item }, { timeout_ms: VISIT_MS })).result,
    wrong: () => null,
  };
}

test.each(seeds(4))(
  "every page comes through tiers of other nodes, one delay apart, whatever breaks (seed %i)",
  (seed) =>
    onSeed(seed, async () => {
      const trace = await simulate(seed, subject());
      expect(trace.join("\n")).toContain(`${ITEMS} answered`);
      if (isRepeated) process.stderr.write(`${trace.join("\n")}\n`);
    }),
);

/**
 * Fetches through a tier of other nodes on a simulated cluster: the real admission, the real tier actor and the real route to
 * it. Nodes that send are cut off, killed and drained as those that own sites are; messages of calls get lost. The checker
 * of scenario.ts measures the delays of every site, whichever node sends.
 */
import { Type } from "typebox";
import { expect, test } from "vitest";
import { domainActor } from "../../actors/domain/actor.ts";
import { admit } from "../../actors/fetch/admission.ts";
import { assertOwned, limitsOf, newRun } from "../../actors/fetch/run.ts";
import type { Transport } from "../../actors/lib/web/transport.ts";
import { admitted } from "../../actors/tiers/adapters/one-request.ts";
import { tierActor } from "../../actors/tiers/tier.actor.ts";
import { tierRoute } from "../../actors/tiers/tier-route.ts";
import { actor, DEFERRED, type ReplyTo, type WorkContext } from "../../cluster/actor.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { ask, contract, tell } from "../../schemas/contract.ts";
import { Robots } from "../../schemas/domain.ts";
import { DEFAULT_REQUEST } from "../harness/fetch-request.ts";
import { failed, page, POLICY, rest } from "../harness/tier-world.ts";
import { DELAY_MS, ITEMS, simulate, type Subject, type SimulatedWorld } from "./scenario.ts";
import { isRepeated, onSeed, seeds } from "./seeds.ts";

const VISIT_MS = 100_000;
const MAX_CONNECT_MS = 1_500;
const Visited = Type.Object({ item: Type.String(), result: Type.Union([Type.String(), Type.Null()]) });
type Visit = { item: string; result: string | null };

const Visits = contract(
  "visit",
  { make: ask(Type.Object({ item: Type.String() }), Visited) },
  { made: tell(Visited) },
  { shard_by: "domain" },
);

const openRobots = () =>
  actor(Robots)<null>({
    activate: () => null,
    passivate_after_ms: 60_000,
    on: { check: () => ({ kind: "allowed", reason: "rules" }), loaded() {} },
  });

/** What the origins are told of a request, by its address: the node that sends does not know it. */
type Visits = Map<string, { readonly granted_ms: number; readonly work: WorkContext }>;

const visitor = (world: SimulatedWorld, visits: Visits) =>
  actor(Visits)<ReplyTo<Visit>[]>({
    activate: () => [],
    passivate_after_ms: 60_000,
    on: {
      make(turn, { item }) {
        turn.state.push(turn.deferReply());
        if (turn.state.length > 1) return DEFERRED;
        const site = turn.key.split(" ")[0]!;
        turn.pipeToSelf("made", async (client, work) => {
          const { clock } = world;
          const began_ms = clock.now();
          const deadline_ms = began_ms + VISIT_MS;
          const request = { ...DEFAULT_REQUEST, fetch_id: item, url: `http://${site}/`, deadline_ms };
          const run = newRun(
            {
              request,
              limits: limitsOf(request),
              attempts: [],
              digest: item,
              stored: Promise.resolve(null),
              stale: null,
            },
            { ask: client, work, signal: work.signal, began_ms, endsAt: () => deadline_ms, room: null },
            { routes: {} },
          );
          const url = `http://${site}/${item}/${visits.size}`;
          const deps = { clock, log: silentTelemetry().log };
          const result = await tierRoute("browser", { call: world.roles, clock })({
            ...request,
            url,
            validators: null,
            signal: work.signal,
            async admit(hop) {
              const admission = await admit(deps, run, hop);
              visits.set(url, { granted_ms: world.trueNow(), work });
              return admission;
            },
          });
          assertOwned(run);
          return { item, result: result.kind === "page" ? `${item} of ${site}` : null };
        });
        return DEFERRED;
      },
      made(turn, visited) {
        for (const to of turn.state) turn.answer(to, visited);
        turn.state = [];
      },
    },
  });

/** One request, with a connection that takes its time. */
const transport =
  ({ chance, sleep, start }: SimulatedWorld, visits: Visits): Transport =>
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
    const exchange = start({ site: hostname, item: pathname.split("/")[1]!, ...visits.get(request.url)! });
    entry.onSent();
    await sleep(300);
    entry.release(exchange.end());
    return page(request.url);
  };

function subject(): Subject {
  const visits: Visits = new Map();
  return {
    actors: (world) => [
      domainActor({ min_delay_ms: DELAY_MS, max_concurrency: 2, lease_ms: 60_000 }),
      openRobots(),
      visitor(world, visits),
    ],
    roleActors: (world) => {
      const { metrics, log } = silentTelemetry();
      const deps = { transport: transport(world, visits), policy: POLICY, clock: world.clock, metrics, log };
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
      expect(trace.at(-1)).toContain(`${ITEMS} answered`);
      if (isRepeated) process.stderr.write(`${trace.join("\n")}\n`);
    }),
);

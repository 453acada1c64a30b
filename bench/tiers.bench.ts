/**
 * node bench/tiers.bench.ts: what a tier costs. The route direct over a fake egress, called as a function and through its
 * tier actor in one process, in turns; CPU of the process for each fetch. The same call to a node over a NATS of its own:
 * what it takes longer. Then a provider that is down: how many of 1,000 calls reach it and what they wait, refused and
 * hanging.
 */
import { destination } from "../actors/lib/web/destination.ts";
import type { Transport, TransportRequest, TransportResult } from "../actors/lib/web/transport.ts";
import { admitted } from "../actors/tiers/adapters/one-request.ts";
import { directTransport } from "../actors/tiers/adapters/transport.direct.ts";
import { tierPolicy } from "../actors/tiers/policy.ts";
import { tierActor } from "../actors/tiers/tier.actor.ts";
import { tierRoute } from "../actors/tiers/tier-route.ts";
import { memoryBlobs } from "../cluster/adapters/blobs/blobs.memory.ts";
import { natsRoleBus } from "../cluster/adapters/nodes/role-bus.nats.ts";
import { fakeEgress } from "../cluster/adapters/egress/egress.fake.ts";
import { prometheusMetrics } from "../cluster/adapters/telemetry/metrics.prometheus.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { systemRandom } from "../cluster/adapters/time/random.system.ts";
import { SILENT_LOG } from "../cluster/ports/log.ts";
import type { RoleActor, RoleClient } from "../cluster/role-actor.ts";
import { localRouter, roleRouter } from "../cluster/role-router.ts";
import type { Tier } from "../schemas/fetch.ts";
import { ownEngine } from "../test/harness/engines.ts";
import { machine } from "./harness.ts";

const ROUNDS = 12;
const FETCHES = 2_000;
const CALLERS = 32;
const url = "http://one.example/";
const clock = systemClock();
const metrics = prometheusMetrics();

const actorOver = (tier: Tier, transport: Transport): RoleActor =>
  tierActor(tier, { transport, policy: tierPolicy(tier, {}, 4), clock, metrics, log: SILENT_LOG });

function routeOver(tier: Tier, transport: Transport): Transport {
  const { call } = localRouter([actorOver(tier, transport)], systemRandom());
  return tierRoute(tier, { call, clock });
}

const request = (): TransportRequest => ({
  url,
  max_bytes: 2 ** 20,
  accept_language: null,
  user_agent: null,
  country: null,
  validators: null,
  signal: new AbortController().signal,
  room: { reserve: async () => true, settle: () => {} },
  admit: async () => ({ kind: "admitted", beforeSend: () => true, onSent: () => {}, release: () => {} }),
});

async function cpuOf(route: Transport): Promise<number> {
  const began = process.cpuUsage();
  for (let n = 0; n < FETCHES; n++) await route(request());
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000 / FETCHES;
}

function directTo(bytes: number): Transport {
  const egress = fakeEgress({
    [url]: {
      status: 200,
      headers: { "content-type": "text/html" },
      body: Buffer.alloc(bytes, "The boats. "),
    },
  });
  return directTransport({ egress, clock, destination: destination({ allow: [], own: [] }) });
}

/** What a call takes longer on another node, over NATS on this machine. Bodies above 160 KB go through memory here. */
async function remote(): Promise<object | string> {
  const engine = await ownEngine("bus");
  if (!engine) return "no NATS on this machine";
  const blobs = memoryBlobs();
  const random = systemRandom();
  const node = async (
    cluster: number,
    nodeName: string,
    actors: readonly RoleActor[],
  ): Promise<RoleClient> => {
    const bus = await natsRoleBus(`${engine.settings["TRAWL_BUS"]}/tiers-${cluster}`);
    return (await roleRouter(actors, { clock, random, log: SILENT_LOG }, { bus, blobs, nodeName })).call;
  };
  const added: Record<string, number> = {};
  for (const bytes of [10_000, 150_000, 1_000_000]) {
    const transport = directTo(bytes);
    await node(bytes, "there", [actorOver("browser", transport)]);
    const call = await node(bytes, "here", []);
    const route = tierRoute("browser", { call, clock });
    await route(request());
    const [here, there] = [await wallOf(transport), await wallOf(route)];
    added[`${bytes} bytes`] = there - here;
  }
  await engine.stop();
  return { added_ms: added };
}

/** Median milliseconds of one call after another. */
async function wallOf(route: Transport): Promise<number> {
  const walls: number[] = [];
  for (let n = 0; n < 100; n++) {
    const began = performance.now();
    const { kind } = await route(request());
    if (kind !== "page") throw new Error(`A call ended as ${kind}`);
    walls.push(performance.now() - began);
  }
  return median(walls);
}

async function hop(): Promise<object> {
  const direct = directTo(10_000);
  const tier = routeOver("direct", direct);
  await cpuOf(direct);
  await cpuOf(tier);
  const added: number[] = [];
  const alone: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await cpuOf(direct));
    added.push((await cpuOf(tier)) - alone.at(-1)!);
  }
  return { direct_ms: median(alone), added_ms: median(added), rounds: ROUNDS, fetches: FETCHES };
}

/** 1,000 calls by so many callers at once; each does 20 ms of other work between two. */
async function outage(provider: (signal: AbortSignal) => Promise<TransportResult>): Promise<object> {
  let requests = 0;
  const archive = routeOver("archive", async (wanted) => {
    const entry = await admitted(wanted, wanted.url);
    if (entry?.kind !== "admitted") return failed("timeout");
    entry.onSent();
    requests++;
    try {
      return await provider(wanted.signal);
    } finally {
      entry.release({ status: null, retry_after_s: null });
    }
  });
  const waits: number[] = [];
  let left = 1_000;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (left-- > 0) {
      const began = performance.now();
      await archive(request());
      waits.push(performance.now() - began);
      await pause(20);
    }
  });
  await Promise.all(callers);
  const sorted = waits.toSorted((a, b) => a - b);
  return { requests, p50_ms: sorted[500], p95_ms: sorted[950], max_ms: sorted.at(-1) };
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void clock.at(clock.now() + ms, resolve));
const failed = (reason: string): TransportResult => ({
  kind: "failed",
  reason,
  status: null,
  detail: null,
  redirects: [],
  final_url: null,
  ms: 0,
});
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

const results = {
  machine: machine(),
  hop: await hop(),
  remote: await remote(),
  refused: await outage(async () => failed("archive_unreachable")),
  hanging: await outage(() => pause(30_000).then(() => failed("timeout"))),
};
process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
process.exit(0);

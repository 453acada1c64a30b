/**
 * node bench/tiers.bench.ts: what a tier costs. The route direct over a fake egress, called as a function and through its
 * tier actor in one process, in turns; CPU of the process for each fetch. The same call to a node over a NATS of its own, until the
 * page is stored: what it takes longer. Then a provider that is down: how many of 1,000 calls reach it and what they wait, refused and
 * hanging.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { destination } from "../actors/lib/web/destination.ts";
import type { Transport, TransportResult } from "../actors/lib/web/transport.ts";
import { admitted } from "../actors/crawl/tiers/adapters/one-request.ts";
import { directTransport } from "../actors/crawl/tiers/adapters/transport.direct.ts";
import { tierPolicy } from "../actors/crawl/tiers/policy.ts";
import { tierActor } from "../actors/crawl/tiers/tier.actor.ts";
import { tierRoute } from "../actors/crawl/tiers/tier-route.ts";
import { memoryBlobs } from "../cluster/adapters/blobs/blobs.memory.ts";
import { s3Blobs, type S3Options } from "../cluster/adapters/blobs/blobs.s3.ts";
import { natsRoleBus } from "../cluster/adapters/nodes/role-bus.nats.ts";
import { fakeEgress } from "../cluster/adapters/egress/egress.fake.ts";
import { METRICS } from "../ops/metrics.ts";
import { prometheusMetrics } from "../cluster/adapters/telemetry/metrics.prometheus.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { systemRandom } from "../cluster/adapters/time/random.system.ts";
import { SILENT_LOG } from "../cluster/ports/log.ts";
import type { Blobs } from "../cluster/ports/blobs.ts";
import type { RoleActor } from "../cluster/role-actor.ts";
import { wasReadFromStore } from "../cluster/role-wire.ts";
import { localRouter, roleRouter } from "../cluster/internal/roles/role-router.ts";
import { type Tier } from "../schemas/tier-table.ts";
import type { Settings } from "../ops/engines/engine.ts";
import { ownEngine } from "../test/harness/engines.ts";
import { transportRequest } from "../test/harness/transport-request.ts";
import { machine } from "./harness.ts";

const ROUNDS = 12;
const FETCHES = 2_000;
const CALLERS = 32;
const url = "http://one.example/";
const clock = systemClock();
const random = systemRandom();
const metrics = prometheusMetrics(METRICS);

const actorOver = (tier: Tier, transport: Transport): RoleActor =>
  tierActor(tier, { transport, policy: tierPolicy(tier, {}, 4), clock, metrics, log: SILENT_LOG });

function routeOver(tier: Tier, transport: Transport): Transport {
  const { call } = localRouter([actorOver(tier, transport)], random);
  return tierRoute(tier, { call, clock });
}

const request = () =>
  transportRequest(url, { max_bytes: 4 * 2 ** 20, room: { reserve: async () => true, settle: () => {} } });

async function cpuOf(route: Transport): Promise<number> {
  const began = process.cpuUsage();
  for (let n = 0; n < FETCHES; n++) await route(request());
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000 / FETCHES;
}

let pages = 0;
/** Each page has other bytes, which compress as text does. */
function pageOf(bytes: number): Buffer {
  const words = Array.from({ length: 400 }, () => Math.floor(random.next() * 1e9).toString(36));
  const page = Buffer.alloc(bytes, `${words.join(" ")} `);
  page.write(`page ${pages++} `);
  return page;
}

function directTo(page: () => Buffer): Transport {
  const egress = fakeEgress({
    [url]: () => ({ status: 200, headers: { "content-type": "text/html" }, body: page() }),
  });
  return directTransport({ egress, clock, destination: destination({ allow: [], own: [] }) });
}

interface RemoteWalls {
  readonly bytes: number;
  readonly here_ms: number;
  readonly there_ms: number;
  /** Median of the differences of a call there and the call here just before it. */
  readonly added_ms: number;
}

/**
 * Time of a page on another node and here until it is stored, as a fetch stores it: over NATS on this machine, and a body store in memory
 * or versitygw, of which each node has a client of its own.
 */
async function remote(store: "memory" | "s3"): Promise<readonly RemoteWalls[] | string> {
  const bus_engine = await ownEngine("bus");
  const s3 = store === "s3" ? await ownEngine("blobs") : null;
  if (!bus_engine || (store === "s3" && !s3)) return "no engines on this machine";
  const memory = memoryBlobs();
  const spool = mkdtempSync(join(tmpdir(), "tiers-bench-"));
  const open = (): Blobs => (s3 ? s3Blobs(s3OptionsOf(s3.settings, spool)) : memory);
  const node = async (cluster: number, nodeName: string, actors: readonly RoleActor[], blobs: Blobs) => {
    const bus = await natsRoleBus(`${bus_engine.settings["TRAWL_BUS"]}/tiers-${store}-${cluster}`);
    return (await roleRouter(actors, { clock, random, log: SILENT_LOG }, { bus, blobs, nodeName })).call;
  };
  const walls: RemoteWalls[] = [];
  for (const bytes of [10_000, 150_000, 400_000, 1_000_000, 2_700_000]) {
    const transport = directTo(() => pageOf(bytes));
    const own = open();
    await node(bytes, "there", [actorOver("browser", transport)], open());
    const call = await node(bytes, "here", [], own);
    const route = tierRoute("browser", { call, clock });
    const [here, there]: [number[], number[]] = [[], []];
    for (let round = -5; round < 60; round++)
      for (const [walk, into] of [
        [transport, here],
        [route, there],
      ] as const) {
        const wall = await storedIn(walk, own);
        if (round >= 0) into.push(wall);
      }
    walls.push({
      bytes,
      here_ms: median(here),
      there_ms: median(there),
      added_ms: median(there.map((ms, index) => ms - here[index]!)),
    });
  }
  await Promise.all([bus_engine.stop(), s3?.stop()]);
  rmSync(spool, { recursive: true });
  return walls;
}

const s3OptionsOf = (settings: Settings, spool: string): S3Options => {
  const [bucket = "", prefix = ""] = settings["TRAWL_BLOBS"]!.replace("s3://", "").split("/");
  return {
    bucket,
    prefix,
    endpoint: settings["S3_ENDPOINT"],
    credentials: {
      accessKeyId: settings["AWS_ACCESS_KEY_ID"]!,
      secretAccessKey: settings["AWS_SECRET_ACCESS_KEY"]!,
    },
    spool,
  };
};

/** Milliseconds until the page of one call is stored. */
async function storedIn(route: Transport, blobs: Blobs): Promise<number> {
  const began = performance.now();
  const result = await route(request());
  if (result.kind !== "page") throw new Error(`A call ended as ${JSON.stringify(result)}`);
  if (!wasReadFromStore(result.body)) await blobs.put(result.body);
  return performance.now() - began;
}

async function hop(): Promise<object> {
  const page = pageOf(10_000);
  const direct = directTo(() => page);
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
  remote: await remote("memory"),
  remote_s3: await remote("s3"),
  refused: await outage(async () => failed("archive_unreachable")),
  hanging: await outage(() => pause(30_000).then(() => failed("timeout"))),
};
process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
process.exit(0);

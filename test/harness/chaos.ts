/**
 * A run of chaos: a cluster of three real nodes, a thousand fetches by clients that repeat 503 and 504, a quarter of
 * them as items of batch jobs, searches and filings beside them, a fault at a moment the seed decides, and a line that
 * proves that nothing was lost, done twice or done too soon. The origin, in a process of its own, records what arrives. Where it saw two requests too close,
 * the request audit shows whether they were sent so, or whether a busy machine let the origin see one late.
 * bench/chaos.ts makes many runs, test/scenarios/chaos.test.ts one.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { cp, rename, rm } from "node:fs/promises";
import { setPriority } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { MIN_PARTITIONS } from "../../cluster/placement.ts";
import { readConfig } from "../../ops/config.ts";
import { readRequests } from "../../ops/request-audit.ts";
import type { Engine, EngineName } from "../../ops/engines/engine.ts";
import { openDocuments } from "../../ops/stores.ts";
import type { Quota } from "../../schemas/accounts.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import type { FetchResponse } from "../../schemas/fetch.ts";
import { type ChaosClient, insist, type ToldAnswer } from "./chaos-client.ts";
import { type ChaosJob, jobRowProblems, runJobs, type WantedPage } from "./chaos-jobs.ts";
import { type FaultSpan, lookups, type Lookups } from "./chaos-lookups.ts";
import { type ClusterOf, clusterOf, type NodeOf } from "./cluster-of.ts";
import { canStepClocks } from "./stepped-clock.ts";
import type { Way } from "./tcp-link.ts";
import { type Play, type ServedSites, type Arrivals, titleOf } from "./origin.child.ts";

/** The configured delay of the nodes, and how much network and rounding to milliseconds may take off it. */
const MIN_DELAY_MS = 100;
const TOLERANCE_MS = 5;
/** How late a request may be seen on a busy machine, and the error of rounding to milliseconds. */
const MAX_LATE_MS = 1_000;
const CLOCK_STEP_MS = 1;
const PAGE_MS = 40;
const NODES = 3;
const CLIENTS = 100;
/** A client repeats a fetch for so long; what is not answered by then is lost. */
const FETCH_TIMEOUT_MS = 150_000;
const SETTLE_MS = 40_000;
/** Nodes have noticed by then that NATS has lost what they read. */
const NOTICED_MS = 3_000;
/** Share of the fetches that are items of jobs. */
const PART_IN_JOBS = 1 / 4;

export interface ChaosOptions {
  readonly seed: number;
  /** Default: the seed decides. */
  readonly fault?: FaultName;
  /** Sites, and pages of the biggest; the others share the rest. Default 1,000 over 50, of which one has 200. */
  readonly fetches?: number;
  readonly sites?: number;
  readonly biggest?: number;
  /** Default: 64. */
  readonly partitions?: number;
}

export interface Run {
  readonly seed: number;
  readonly fault: FaultName;
  /** Invariants that did not hold; empty: all did. */
  readonly broken: readonly string[];
  /** The line of numbers that proves it. */
  readonly proof: string;
  readonly numbers: Readonly<Record<string, number>>;
  /** When what happened, in milliseconds since the first fetch. */
  readonly timeline: readonly string[];
}

interface Scene {
  readonly cluster: ClusterOf;
  /** Uniform in [0, 1), from the seed. */
  readonly chance: () => number;
  readonly big_site: string;
  readonly note: (what: string) => void;
}

const running = ({ cluster }: Scene): readonly NodeOf[] => cluster.nodes.filter((node) => node.isRunning());
const randomNode = (scene: Scene, nodes = running(scene)): NodeOf =>
  nodes[Math.floor(scene.chance() * nodes.length)]!;

async function kill({ note }: Scene, node: NodeOf): Promise<void> {
  await node.kill();
  note(`killed ${node.name}`);
}

async function replace({ cluster, note }: Scene): Promise<void> {
  await sleep(3_000);
  const node = await cluster.add("gateway,worker");
  note(`${node.name} joined`);
}

/** Cuts the owner node of the biggest site off one engine, or only one way, and no other node. */
const cutOff =
  (engine: EngineName, way?: Way) =>
  async (scene: Scene): Promise<void> => {
    const node = (await scene.cluster.ownerOf("domain", scene.big_site)) ?? randomNode(scene);
    node.links[engine].cut(way);
    scene.note(`cut off ${node.name}`);
    await sleep(8_000);
    node.links[engine].heal();
    scene.note(`healed ${node.name}`);
  };

/** The wall clock of the owner node of the biggest site steps, and back again. */
const stepClock =
  (ahead_s: number) =>
  async (scene: Scene): Promise<void> => {
    const node = (await scene.cluster.ownerOf("domain", scene.big_site)) ?? randomNode(scene);
    node.setClock(ahead_s);
    scene.note(`the clock of ${node.name} is ${ahead_s} s ahead`);
    await sleep(15_000);
    node.setClock(0);
    scene.note(`the clock of ${node.name} is right again`);
  };

/** Every partition has an owner node again: what was in flight with the owners before is fetched again. */
async function resettled({ cluster, note }: Pick<Scene, "cluster" | "note">): Promise<void> {
  await sleep(NOTICED_MS);
  await cluster.settled(60_000);
  note("all partitions are owned");
}

const dataOf = (engine: Engine): string => join(dirname(engine.log), "data");

/** Faults of the cluster; each resolves when the cluster is restored, or as it will stay. */
export const FAULTS = {
  none: async () => {},
  "kill one": async (scene) => {
    await kill(scene, randomNode(scene));
    await replace(scene);
  },
  "kill two": async (scene) => {
    await kill(scene, randomNode(scene));
    await sleep(1_200);
    await kill(scene, randomNode(scene));
    await replace(scene);
  },
  "kill the owner of the biggest": async (scene) => {
    const owner = await scene.cluster.ownerOf("domain", scene.big_site);
    await kill(scene, owner ?? randomNode(scene));
    await replace(scene);
  },
  "pause one": async (scene) => {
    const node = (await scene.cluster.ownerOf("domain", scene.big_site)) ?? randomNode(scene);
    node.pause();
    scene.note(`paused ${node.name}`);
    await sleep(8_000);
    node.resume();
    scene.note(`resumed ${node.name}`);
  },
  "cut one off NATS": cutOff("bus"),
  "cut what NATS sends to one": cutOff("bus", "back"),
  "cut what one sends to NATS": cutOff("bus", "there"),
  "slow link of one to NATS": async (scene) => {
    const node = (await scene.cluster.ownerOf("domain", scene.big_site)) ?? randomNode(scene);
    node.links.bus.slow(700);
    scene.note(`NATS is 700 ms away from ${node.name}, each way`);
    await sleep(8_000);
    node.links.bus.slow(0);
    scene.note(`NATS is near ${node.name} again`);
  },
  "cut one off the document store": cutOff("documents"),
  "cut one off the body store": cutOff("blobs"),
  "kill NATS": async ({ cluster, note }) => {
    await cluster.bus.kill();
    note("killed NATS");
    await sleep(1_500);
    await cluster.bus.restart();
    note("NATS is back");
  },
  "NATS loses its data": async ({ cluster, note }) => {
    await cluster.bus.kill();
    // Its configuration is in that folder, too, and stays.
    await rm(join(dataOf(cluster.bus), "jetstream"), { recursive: true });
    await cluster.bus.restart();
    note("NATS is back, without its data");
    await resettled({ cluster, note });
  },
  // Torn files included: nothing is synced by NATS for this copy.
  "NATS goes back by three seconds": async ({ cluster, note }) => {
    const data = dataOf(cluster.bus);
    await cp(data, `${data}-before`, { recursive: true });
    await sleep(3_000);
    await cluster.bus.kill();
    await rm(data, { recursive: true });
    await rename(`${data}-before`, data);
    await cluster.bus.restart();
    note("NATS is back as it was three seconds before");
    await resettled({ cluster, note });
  },
  "restart the document store": async ({ cluster, note }) => {
    await cluster.documents!.kill();
    note("killed the document store");
    await cluster.documents!.restart();
    note("the document store is back");
  },
  "slow document store": async (scene) => {
    const nodes = running(scene);
    for (const { links } of nodes) links.documents.slow(250);
    scene.note("the document store is 250 ms away, each way");
    await sleep(8_000);
    for (const { links } of nodes) links.documents.slow(0);
    scene.note("the document store is near again");
  },
  "step a clock back": stepClock(-60),
  "step a clock forward": stepClock(30),
  "add and drain": async (scene) => {
    const leaving = randomNode(scene);
    const node = await scene.cluster.add("gateway,worker");
    scene.note(`${node.name} joined`);
    await sleep(1_000);
    const code = await leaving.stop();
    scene.note(`${leaving.name} drained and ended with ${code}`);
  },
} as const satisfies Record<string, (scene: Scene) => Promise<void>>;

export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];
/** All partitions change hands: such a run takes up to two minutes, and is made when it is asked for. */
const LONG: readonly FaultName[] = ["NATS loses its data", "NATS goes back by three seconds"];
const stepsClocks = (name: FaultName): boolean => name.startsWith("step a clock");
const DRAWN = FAULT_NAMES.filter(
  (name) => name !== "none" && !LONG.includes(name) && (canStepClocks() || !stepsClocks(name)),
);

/** Null where an engine is missing. */
export async function chaos(options: ChaosOptions): Promise<Run | null> {
  const { seed, fetches = 1_000, sites = 50, biggest = 200, partitions = MIN_PARTITIONS } = options;
  const chance = (
    (random) => () =>
      random.next()
  )(seededRandom(seed));
  const fault = options.fault ?? DRAWN[Math.floor(chance() * DRAWN.length)]!;
  const pages = Array.from({ length: sites }, (_, site) =>
    site === 0 ? biggest : Math.floor((fetches - biggest + site - 1) / (sites - 1)),
  );

  const origin = fork(new URL("./origin.child.ts", import.meta.url), ["play"], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  try {
    // The origin should read its clock first; without the right to set a priority it reads it a little later.
    setPriority(origin.pid!, -15);
  } catch {}
  const ask = async <T>(what: Play | "seen"): Promise<T> => {
    origin.send(what);
    return ((await once(origin, "message")) as [T])[0];
  };
  const { dns, origins } = await ask<ServedSites>({ sites: pages, takes_ms: PAGE_MS });
  const others = await lookups();
  const environment = {
    ...others.environment,
    TRAWL_DNS_SERVERS: dns,
    TRAWL_POLITE_DELAY_MS: String(MIN_DELAY_MS),
    TRAWL_REQUEST_AUDIT: "on",
    TRAWL_PARTITIONS: String(partitions),
  };
  const roles = Array.from({ length: NODES }, () => "gateway,worker");
  const cluster = await clusterOf(roles, {
    own: ["documents", "blobs"],
    environment,
    steps_clocks: stepsClocks(fault),
  }).catch(async (problem: unknown) => {
    origin.kill();
    await others.close();
    throw problem;
  });
  if (!cluster) {
    origin.kill();
    await others.close();
    return null;
  }

  const began_ms = Date.now();
  const timeline: string[] = [];
  const note = (what: string): void => void timeline.push(`${Date.now() - began_ms} ms: ${what}`);
  const wanted = shuffled(
    pages.flatMap((count, site) =>
      Array.from({ length: count }, (_, page): WantedPage => ({
        site,
        page,
        url: `${origins[site]}/${page}`,
        answered_ms: 0,
        sha256: null,
      })),
    ),
    chance,
  );
  const agent = new Agent({ connections: CLIENTS });
  const retries = new Map<string, number>();
  const told = new Map<string, ToldAnswer>();
  try {
    await cluster.settled(60_000);
    const started_ms = Date.now();
    note("the first fetch");
    const scene: Scene = {
      cluster,
      chance,
      big_site: new URL(origins[0]!).hostname,
      note,
    };
    const fault_after_ms = 1_000 + Math.floor(chance() * 7_000);
    const span = { from_ms: 0, to_ms: 0 };
    const trouble = sleep(fault_after_ms).then(async () => {
      span.from_ms = Date.now();
      note(fault);
      await FAULTS[fault](scene);
      span.to_ms = Date.now();
    });
    // A failure is thrown where the fault is awaited, after the last answer.
    trouble.catch(() => {});

    const inJobs = Math.floor(wanted.length * PART_IN_JOBS);
    const queue = wanted.slice(inJobs);
    const client = { cluster, dispatcher: agent, timeout_ms: FETCH_TIMEOUT_MS, note, told, retries };
    const [jobs] = await Promise.all([
      runJobs({ ...client, seed }, wanted.slice(0, inJobs)),
      others.run(client),
      ...Array.from({ length: CLIENTS }, async () => {
        for (let next = queue.pop(); next; next = queue.pop()) await fetchPage(client, next);
      }),
    ]);
    const took_ms = Date.now() - started_ms;
    note("the last answer");
    await trouble;
    const left = await leftOnBus(cluster);
    const metered = await meteredBy(cluster);
    const seen = await ask<Arrivals>("seen");
    const sent = await sentTimesOf(cluster, origins, began_ms);
    const billed = await billedRequests(cluster);
    const run = judge({
      told,
      billed,
      jobs,
      others,
      seed,
      fault,
      wanted,
      seen,
      sent,
      left,
      metered,
      span,
      took_ms,
      retries,
      timeline,
    });
    return run.broken.length === 0 ? run : { ...run, timeline: [...run.timeline, ...logsOf(cluster)] };
  } catch (problem) {
    const broken = [problem instanceof Error ? (problem.stack ?? problem.message) : String(problem)];
    const whole_timeline = [...timeline, ...logsOf(cluster)];
    return { seed, fault, broken, proof: "", numbers: {}, timeline: whole_timeline };
  } finally {
    await agent.destroy();
    await cluster.close();
    await others.close();
    origin.send("end");
    await once(origin, "exit");
  }
}

/** Fetches until there is an answer. */
async function fetchPage(client: ChaosClient, wanted: WantedPage): Promise<void> {
  const answer = await insist<FetchResponse>(client, {
    path: "/v1/fetch",
    body: { url: wanted.url, tiers: ["direct"] },
    isBilled: true,
    problemOf({ error }) {
      // The wait for a slot overran: politeness_timeout is 200 by the API, with the time of the next try.
      if (error === null || error === "politeness_timeout") return error;
      throw new Error(`"${wanted.url}" ends with ${error}`);
    },
  });
  if (answer === null) return;
  if (answer.title !== titleOf(wanted.site, wanted.page))
    throw new Error(`The answer to "${wanted.url}" is "${answer.title}"`);
  Object.assign(wanted, { sha256: answer.sha256, answered_ms: Date.now() });
}

/** Envelopes that remain on the bus when the cluster has settled. */
async function leftOnBus(cluster: ClusterOf): Promise<{ waiting: number; unacknowledged: number }> {
  const ends_ms = Date.now() + SETTLE_MS;
  await cluster.settled(SETTLE_MS);
  for (;;) {
    const queues = await cluster.nodeDirectory.queues();
    const waiting = queues.reduce((sum, queue) => sum + queue.waiting, 0);
    const unacknowledged = queues.reduce((sum, queue) => sum + queue.unacknowledged, 0);
    if ((waiting === 0 && unacknowledged === 0) || Date.now() > ends_ms) return { waiting, unacknowledged };
    await sleep(200);
  }
}

/** Requests that were billed, as the account has them after all gateways have reported: they report once a second. */
async function meteredBy({ url, key }: ClusterOf): Promise<number> {
  const ends_ms = Date.now() + SETTLE_MS;
  for (let previous = -1; ;) {
    const answer = await request(`${url}/v1/quota`, { headers: { authorization: `Bearer ${key}` } });
    const body = (await answer.body.json()) as Partial<Quota>;
    const { fetch, search } = body.project?.requests ?? {};
    const used = fetch && search ? fetch.used + search.used : -1;
    if (Date.now() > ends_ms) throw new Error(`The account does not settle: ${JSON.stringify(body)}`);
    if (used === previous && used > 0) return used;
    previous = used;
    await sleep(1_500);
  }
}

/** The request ids of all rows of the ledger, as they are stored. */
async function billedRequests({ environment }: ClusterOf): Promise<readonly string[]> {
  const documents = await openDocuments(readConfig(environment));
  try {
    const ids: string[] = [];
    for (let from = ""; ;) {
      const page = await documents.list("ledger", { from, limit: 100 });
      for (const { value } of page)
        ids.push(...rowsOf(value as LedgerBatch).map(({ request_id }) => request_id));
      if (page.length < 100) return ids;
      from = `${page.at(-1)!.key}\0`;
    }
  } finally {
    await documents.close();
  }
}

/**
 * Problems between the answers that clients got and the rows of the ledger. Each row has a request of its own. Each 200 has a
 * row; a gateway that is killed may lose the rows of its last answers from the cache. A 503 or 504 has a row where
 * its request was sent to actors. Any other row is that of a request whose connection broke before its answer.
 */
function ledgerProblems(
  { told, billed: all, jobs, fault }: Pick<Evidence, "told" | "billed" | "jobs" | "fault">,
  brokenOff: number,
): readonly string[] {
  const billed = all.filter((id) => !jobs.some(({ job_id }) => id.startsWith(`${job_id}:`)));
  const rows = new Set(billed);
  const isLost = ([id, { status, isCached }]: [string, ToldAnswer]): boolean =>
    status === 200 && !rows.has(id) && !(isCached && fault.startsWith("kill"));
  const lost = [...told].filter(isLost).length;
  const unanswered = [...rows].filter((id) => !told.has(id)).length;
  return [
    ...jobRowProblems(jobs, all),
    ...(rows.size === billed.length ? [] : [`${billed.length - rows.size} rows are there twice`]),
    ...(lost === 0 ? [] : [`${lost} answers have no row`]),
    ...(unanswered <= brokenOff
      ? []
      : [`${unanswered} rows without an answer, and ${brokenOff} broken connections`]),
  ];
}

/** When requests were sent, by site, as the request audit has it. */
async function sentTimesOf(
  { environment }: ClusterOf,
  origins: readonly string[],
  since_ms: number,
): Promise<readonly number[][]> {
  const documents = await openDocuments(readConfig(environment));
  try {
    const sent = Map.groupBy(
      await readRequests(documents, since_ms, Date.now() + 60_000),
      ({ domain }) => domain,
    );
    return origins.map((origin) => (sent.get(new URL(origin).hostname) ?? []).map(({ at_ms }) => at_ms));
  } finally {
    await documents.close();
  }
}

interface Evidence extends Pick<Run, "seed" | "fault" | "timeline"> {
  readonly wanted: readonly WantedPage[];
  readonly seen: Arrivals;
  readonly sent: readonly (readonly number[])[];
  readonly left: { readonly waiting: number; readonly unacknowledged: number };
  readonly metered: number;
  readonly told: ReadonlyMap<string, ToldAnswer>;
  /** Request ids of all rows of the ledger. */
  readonly billed: readonly string[];
  readonly jobs: readonly ChaosJob[];
  readonly others: Lookups;
  readonly span: FaultSpan;
  readonly took_ms: number;
  readonly retries: ReadonlyMap<string, number>;
}

function judge({
  seed,
  fault,
  wanted,
  seen,
  sent,
  left,
  metered,
  told,
  billed,
  jobs,
  others,
  span,
  took_ms,
  retries,
  timeline,
}: Evidence): Run {
  const answers = wanted.filter(({ answered_ms }) => answered_ms > 0);
  const distinct = new Set(answers.map(({ sha256 }) => sha256)).size;
  const first = new Map<string, number>();
  let visits = 0;
  let min_gap_ms = Infinity;
  let tooSoon = 0;
  for (const [site, arrivals] of seen.entries()) {
    const left_at = sentAt(
      sent[site]!,
      arrivals.map(([at_ms]) => at_ms),
    );
    for (const [n, [at_ms, path]] of arrivals.entries()) {
      if (n > 0) min_gap_ms = Math.min(min_gap_ms, at_ms - arrivals[n - 1]![0]);
      if (n > 0 && at_ms - arrivals[n - 1]![0] < MIN_DELAY_MS - TOLERANCE_MS) {
        const left_ms = left_at[n]! - left_at[n - 1]!;
        if (!(left_ms >= MIN_DELAY_MS - TOLERANCE_MS)) tooSoon++;
        timeline = [
          ...timeline,
          `too close: ${describePair(site, arrivals, n)}; they left ${left_ms} ms apart`,
        ];
      }
      if (path === "/robots.txt") continue;
      visits++;
      if (!first.has(`${site}/${path}`)) first.set(`${site}/${path}`, at_ms);
    }
  }
  // Begun before the fault was over, and not answered when it began.
  const exposed = wanted.filter(({ site, page, answered_ms }) => {
    const at_ms = first.get(`${site}//${page}`);
    return at_ms !== undefined && at_ms <= span.to_ms && (answered_ms === 0 || answered_ms > span.from_ms);
  }).length;
  const refetched = visits - first.size;
  if (refetched > exposed) timeline = [...timeline, ...visitedTwice(seen, span.from_ms)];
  const brokenOff = [...retries].reduce((sum, [what, many]) => sum + (/^[A-Z]/.test(what) ? many : 0), 0);
  const unbilled = ledgerProblems({ told, billed, jobs, fault }, brokenOff);
  const rounded_gap_ms = Math.round(min_gap_ms * 10) / 10;
  const numbers = {
    fetches: wanted.length,
    answers: answers.length,
    distinct,
    visited: first.size,
    metered,
    streamLeft: left.waiting,
    ackPending: left.unacknowledged,
    refetched,
    exposed,
    minGap_ms: rounded_gap_ms,
    minLeft_ms: leastOf(sent),
    took_ms,
  };
  const [lookedUp, wantedLookups] = others.answered();
  const laws: [string, boolean][] = [
    ...others.problems(span).map((problem): [string, boolean] => [problem, false]),
    ["not every fetch was answered", answers.length === wanted.length],
    ["two fetches have one result", distinct === answers.length],
    ["an answer without a visit, or a visit without an answer", first.size === wanted.length],
    [`the ledger: ${unbilled.join(", ")}`, unbilled.length === 0],
    [`${metered} requests are counted, and the ledger has ${billed.length} rows`, metered === billed.length],
    ["envelopes are left on the bus", left.waiting === 0],
    ["envelopes are not acknowledged", left.unacknowledged === 0],
    ["more was fetched again than was in flight", refetched <= exposed],
    [`${tooSoon} requests were closer than ${MIN_DELAY_MS} ms`, tooSoon === 0],
  ];
  const proof =
    `seed=${seed} fault="${fault}" fetches=${numbers.fetches} answers=${numbers.answers} distinct=${distinct} ` +
    `jobs=${jobs.length} lookups=${lookedUp}/${wantedLookups} visited=${first.size} metered=${metered} streamLeft=${left.waiting} ackPending=${left.unacknowledged} ` +
    `refetched=${refetched}<=${exposed} minGap=${leastOf(sent)}>=${MIN_DELAY_MS - TOLERANCE_MS}ms minSeen=${rounded_gap_ms}ms ` +
    `took=${(took_ms / 1_000).toFixed(1)}s again=${JSON.stringify(Object.fromEntries(retries))}`;
  return {
    seed,
    fault,
    broken: laws.flatMap(([what, holds]) => (holds ? [] : [what])),
    proof,
    numbers,
    timeline,
  };
}

/**
 * When each of the requests was sent that arrived then, both in order: the earliest that is not another arrival's and
 * not too long before. NaN: the audit does not have it.
 */
export function sentAt(sent: readonly number[], arrivals_ms: readonly number[]): number[] {
  let next = 0;
  return arrivals_ms.map((at_ms) => {
    while (next < sent.length && sent[next]! < at_ms - MAX_LATE_MS) next++;
    return next < sent.length && sent[next]! <= at_ms + CLOCK_STEP_MS ? sent[next++]! : Number.NaN;
  });
}

const MAX_LISTED = 40;

/** Pages that were visited more than once, and when, since the fault began. */
const visitedTwice = (seen: Arrivals, from_ms: number): string[] =>
  seen
    .flatMap((arrivals, site) =>
      [...Map.groupBy(arrivals, ([, path]) => path)]
        .filter(([path, visits]) => path !== "/robots.txt" && visits.length > 1)
        .map(([path, visits]) => {
          const times = visits.map(([at_ms]) => `${Math.round(at_ms - from_ms)}`);
          return `visited again: site ${site}: ${path} at ${times.join(", ")} ms of the fault`;
        }),
    )
    .slice(0, MAX_LISTED);

const leastOf = (sent: readonly (readonly number[])[]): number =>
  Math.min(...sent.flatMap((times) => times.slice(1).map((at_ms, n) => at_ms - times[n]!)));

const describePair = (site: number, arrivals: Arrivals[number], n: number): string =>
  `site ${site}: ${arrivals[n - 1]![1]} at ${new Date(arrivals[n - 1]![0]).toISOString()}, then ${arrivals[n]![1]} ` +
  `${(arrivals[n]![0] - arrivals[n - 1]![0]).toFixed(1)} ms later`;

/** The warnings and errors that nodes logged, how often and when first; the most frequent of each node. */
const logsOf = ({ nodes }: ClusterOf): string[] =>
  nodes.flatMap(({ name, stderr }) => {
    const lines = stderr()
      .split("\n")
      .filter((line) => /"level":"(?:warn|error|fatal)"/.test(line))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const kinds = Map.groupBy(lines, ({ msg, problem, reason, why }) => {
      const text = JSON.stringify(problem) ?? "";
      const cause = /caused by: .{0,160}/.exec(text)?.[0];
      return [msg, reason, why, text.slice(0, 120), cause].filter(Boolean).join(" | ");
    });
    return [...kinds]
      .toSorted(([, a], [, b]) => b.length - a.length)
      .slice(0, 12)
      .map(([what, logged]) => `${name}, ${logged.length} times from ${String(logged[0]!["time"])}: ${what}`);
  });

function shuffled<T>(list: readonly T[], chance: () => number): T[] {
  const mixed = [...list];
  for (let n = mixed.length - 1; n > 0; n--) {
    const swap = Math.floor(chance() * (n + 1));
    [mixed[n], mixed[swap]] = [mixed[swap]!, mixed[n]!];
  }
  return mixed;
}

/**
 * One run of chaos (cluster.md, section 17): a cluster of three real nodes, a thousand fetches by clients that try 503
 * and 504 again, a fault at a moment the seed decides, and a line that proves that nothing was lost, done twice or done
 * too soon. The judge is the origin, in a process of its own; where it saw two requests too close, the start ledger says
 * whether they left so, or whether a busy machine let it look late. bench/chaos.ts runs many; test/scenarios/chaos.test.ts one.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { partitionOf } from "../../cluster/placement.ts";
import { readConfig } from "../../ops/config.ts";
import { readRequests } from "../../ops/request-audit.ts";
import { openDocuments } from "../../ops/stores.ts";
import type { Quota } from "../../schemas/accounts.ts";
import type { FetchResponse } from "../../schemas/fetch.ts";
import { type ClusterOf, clusterOf, type NodeOf } from "./cluster-of.ts";
import { type Play, type Played, type Seen, titleOf } from "./origin.child.ts";

/** The smallest gap the nodes are told to keep, and what wires and whole milliseconds may take off it. */
const GAP_MS = 100;
const TOLERANCE_MS = 5;
/** How late a request may be seen on a busy machine, and what whole milliseconds hide. */
const MAX_LATE_MS = 1_000;
const CLOCK_STEP_MS = 1;
const PAGE_MS = 40;
const NODES = 3;
const CLIENTS = 100;
const TRY_AGAIN_MS = 500;
/** Nobody insists for longer: what is not answered by then is lost. */
const PATIENCE_MS = 150_000;
const REST_MS = 40_000;

export interface Wishes {
  readonly seed: number;
  /** Default: the seed decides. */
  readonly fault?: FaultName;
  /** Sites, and pages of the biggest; the others share the rest. Default 1,000 over 50, of which one has 200. */
  readonly fetches?: number;
  readonly sites?: number;
  readonly biggest?: number;
}

export interface Run {
  readonly seed: number;
  readonly fault: FaultName;
  /** What was not as it must be; empty: all was. */
  readonly broken: readonly string[];
  /** The line that proves it. */
  readonly proof: string;
  readonly numbers: Readonly<Record<string, number>>;
  /** When what happened, in milliseconds since the first fetch. */
  readonly timeline: readonly string[];
}

interface Scene {
  readonly cluster: ClusterOf;
  /** Uniform in [0, 1), from the seed. */
  readonly chance: () => number;
  readonly big_partition: number;
  readonly say: (what: string) => void;
}

const running = ({ cluster }: Scene): readonly NodeOf[] => cluster.nodes.filter((node) => node.isRunning());
const oneOf = (scene: Scene, nodes = running(scene)): NodeOf =>
  nodes[Math.floor(scene.chance() * nodes.length)]!;

async function killed({ say }: Scene, node: NodeOf): Promise<void> {
  await node.kill();
  say(`killed ${node.name}`);
}

async function replaced({ cluster, say }: Scene): Promise<void> {
  await sleep(3_000);
  const node = await cluster.add("gateway,worker");
  say(`${node.name} joined`);
}

/** What is done to the cluster; each ends when all is as it was, or as it will stay. */
export const FAULTS = {
  none: async () => {},
  "kill one": async (scene) => {
    await killed(scene, oneOf(scene));
    await replaced(scene);
  },
  "kill two": async (scene) => {
    await killed(scene, oneOf(scene));
    await sleep(1_200);
    await killed(scene, oneOf(scene));
    await replaced(scene);
  },
  "kill the owner of the biggest": async (scene) => {
    const holder = await scene.cluster.ownerOf(scene.big_partition);
    await killed(scene, holder ?? oneOf(scene));
    await replaced(scene);
  },
  "pause one": async (scene) => {
    const node = (await scene.cluster.ownerOf(scene.big_partition)) ?? oneOf(scene);
    node.pause();
    scene.say(`paused ${node.name}`);
    await sleep(8_000);
    node.resume();
    scene.say(`resumed ${node.name}`);
  },
  "cut one off NATS": async (scene) => {
    const node = (await scene.cluster.ownerOf(scene.big_partition)) ?? oneOf(scene);
    node.links.bus.cut();
    scene.say(`cut off ${node.name}`);
    await sleep(8_000);
    node.links.bus.heal();
    scene.say(`healed ${node.name}`);
  },
  "kill NATS": async ({ cluster, say }) => {
    await cluster.bus.kill();
    say("killed NATS");
    await sleep(1_500);
    await cluster.bus.restart();
    say("NATS is back");
  },
  "restart the document store": async ({ cluster, say }) => {
    await cluster.documents!.kill();
    say("killed the document store");
    await cluster.documents!.restart();
    say("the document store is back");
  },
  "slow document store": async (scene) => {
    const nodes = running(scene);
    for (const { links } of nodes) links.documents.slow(250);
    scene.say("the document store is 250 ms away, each way");
    await sleep(8_000);
    for (const { links } of nodes) links.documents.slow(0);
    scene.say("the document store is near again");
  },
  "add and drain": async (scene) => {
    const leaving = oneOf(scene);
    const node = await scene.cluster.add("gateway,worker");
    scene.say(`${node.name} joined`);
    await sleep(1_000);
    const code = await leaving.stop();
    scene.say(`${leaving.name} drained and ended with ${code}`);
  },
} as const satisfies Record<string, (scene: Scene) => Promise<void>>;

export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];

interface Wanted {
  readonly site: number;
  readonly page: number;
  readonly url: string;
  /** When the whole answer was there; 0: it never was. */
  answered_ms: number;
  sha256: string | null;
}

/** Null where an engine is missing. */
export async function chaos(wishes: Wishes): Promise<Run | null> {
  const { seed, fetches = 1_000, sites = 50, biggest = 200 } = wishes;
  const chance = (
    (random) => () =>
      random.next()
  )(seededRandom(seed));
  const fault = wishes.fault ?? FAULT_NAMES[1 + Math.floor(chance() * (FAULT_NAMES.length - 1))]!;
  const pages = Array.from({ length: sites }, (_, site) =>
    site === 0 ? biggest : Math.floor((fetches - biggest + site - 1) / (sites - 1)),
  );

  const origin = fork(new URL("./origin.child.ts", import.meta.url), ["play"], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  try {
    // The judge looks at its clock first; without the right to say so it looks a little later.
    setPriority(origin.pid!, -15);
  } catch {}
  const ask = async <T>(what: Play | "seen"): Promise<T> => {
    origin.send(what);
    return ((await once(origin, "message")) as [T])[0];
  };
  const { dns, origins } = await ask<Played>({ sites: pages, takes_ms: PAGE_MS });
  const environment = {
    TRAWL_DNS_SERVERS: dns,
    TRAWL_POLITE_DELAY_MS: String(GAP_MS),
    TRAWL_REQUEST_AUDIT: "on",
  };
  const roles = Array.from({ length: NODES }, () => "gateway,worker");
  const cluster = await clusterOf(roles, { own: ["documents", "blobs"], environment }).catch(
    (problem: unknown) => {
      origin.kill();
      throw problem;
    },
  );
  if (!cluster) {
    origin.kill();
    return null;
  }

  const began_ms = Date.now();
  const timeline: string[] = [];
  const say = (what: string): void => void timeline.push(`${Date.now() - began_ms} ms: ${what}`);
  const wanted = shuffled(
    pages.flatMap((count, site) =>
      Array.from({ length: count }, (_, page): Wanted => ({
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
  const odd = new Map<string, number>();
  try {
    await cluster.settled(60_000);
    const started_ms = Date.now();
    say("the first fetch");
    const scene: Scene = {
      cluster,
      chance,
      big_partition: partitionOf("domain", new URL(origins[0]!).hostname),
      say,
    };
    const fault_after_ms = 1_000 + Math.floor(chance() * 7_000);
    const span = { from_ms: 0, to_ms: 0 };
    const trouble = sleep(fault_after_ms).then(async () => {
      span.from_ms = Date.now();
      say(fault);
      await FAULTS[fault](scene);
      span.to_ms = Date.now();
    });

    const queue = [...wanted];
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (let next = queue.pop(); next; next = queue.pop()) await insist(cluster, agent, next, odd, say);
      }),
    );
    const took_ms = Date.now() - started_ms;
    say("the last answer");
    await trouble;
    const left = await atRest(cluster);
    const metered = await meteredBy(cluster);
    const seen = await ask<Seen>("seen");
    const starts = await startsOf(cluster, origins, began_ms);
    const run = judged({ seed, fault, wanted, seen, starts, left, metered, span, took_ms, odd, timeline });
    return run.broken.length === 0 ? run : { ...run, timeline: [...run.timeline, ...saidBy(cluster)] };
  } catch (problem) {
    const broken = [problem instanceof Error ? (problem.stack ?? problem.message) : String(problem)];
    const told = [...timeline, ...saidBy(cluster)];
    return { seed, fault, broken, proof: "", numbers: {}, timeline: told };
  } finally {
    await agent.destroy();
    await cluster.close();
    origin.send("end");
    await once(origin, "exit");
  }
}

/** Asks until there is an answer, as a client should: 503 and 504 say to try again, and so does a broken connection. */
async function insist(
  { url: service, key }: ClusterOf,
  dispatcher: Agent,
  wanted: Wanted,
  odd: Map<string, number>,
  say: (what: string) => void,
): Promise<void> {
  const ends_ms = Date.now() + PATIENCE_MS;
  const count = (what: string): void => void odd.set(what, (odd.get(what) ?? 0) + 1);
  while (Date.now() < ends_ms) {
    try {
      const answer = await request(`${service}/v1/fetch`, {
        dispatcher,
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ url: wanted.url, tiers: ["direct"] }),
        headersTimeout: PATIENCE_MS,
      });
      const { statusCode: status } = answer;
      const said = (await answer.body.json()) as FetchResponse;
      if (status === 200 && said.error === null) {
        if (said.title !== titleOf(wanted.site, wanted.page))
          throw new Error(`The answer to "${wanted.url}" is "${said.title}"`);
        wanted.sha256 = said.sha256;
        wanted.answered_ms = Date.now();
        return;
      }
      count(status === 200 ? said.error! : `${status}`);
      // The real wait overran: politeness_timeout is 200 by the specification, and says when to come again.
      if (status !== 503 && status !== 504 && said.error !== "politeness_timeout")
        throw new Error(`"${wanted.url}" is answered ${status}: ${JSON.stringify(said).slice(0, 500)}`);
    } catch (problem) {
      if (problem instanceof Error && "code" in problem) count(String(problem.code));
      else throw problem;
    }
    await sleep(TRY_AGAIN_MS);
  }
  say(`gave up on ${wanted.url}`);
}

/** What is left on the bus when all has come to rest. */
async function atRest(cluster: ClusterOf): Promise<{ waiting: number; unacknowledged: number }> {
  const ends_ms = Date.now() + REST_MS;
  await cluster.settled(REST_MS);
  for (;;) {
    const queues = await cluster.nodeDirectory.queues();
    const waiting = queues.reduce((sum, queue) => sum + queue.waiting, 0);
    const unacknowledged = queues.reduce((sum, queue) => sum + queue.unacknowledged, 0);
    if ((waiting === 0 && unacknowledged === 0) || Date.now() > ends_ms) return { waiting, unacknowledged };
    await sleep(200);
  }
}

/** Requests that were billed, as the account has them when all gateways have told: they tell once a second. */
async function meteredBy({ url, key }: ClusterOf): Promise<number> {
  const ends_ms = Date.now() + REST_MS;
  for (let before = -1; ;) {
    const answer = await request(`${url}/v1/quota`, { headers: { authorization: `Bearer ${key}` } });
    const said = (await answer.body.json()) as Partial<Quota>;
    const used = said.project?.requests.fetch.used ?? -1;
    if (Date.now() > ends_ms) throw new Error(`The account does not come to rest: ${JSON.stringify(said)}`);
    if (used === before && used > 0) return used;
    before = used;
    await sleep(1_500);
  }
}

/** When requests left, by site, as the nodes wrote it down. */
async function startsOf(
  { environment }: ClusterOf,
  origins: readonly string[],
  since_ms: number,
): Promise<readonly number[][]> {
  const documents = await openDocuments(readConfig(environment));
  try {
    const starts = Map.groupBy(
      await readRequests(documents, since_ms, Date.now() + 60_000),
      ({ domain }) => domain,
    );
    return origins.map((origin) => (starts.get(new URL(origin).hostname) ?? []).map(({ at_ms }) => at_ms));
  } finally {
    await documents.close();
  }
}

interface Evidence extends Pick<Run, "seed" | "fault" | "timeline"> {
  readonly wanted: readonly Wanted[];
  readonly seen: Seen;
  readonly starts: readonly (readonly number[])[];
  readonly left: { readonly waiting: number; readonly unacknowledged: number };
  readonly metered: number;
  readonly span: { readonly from_ms: number; readonly to_ms: number };
  readonly took_ms: number;
  readonly odd: ReadonlyMap<string, number>;
}

function judged({
  seed,
  fault,
  wanted,
  seen,
  starts,
  left,
  metered,
  span,
  took_ms,
  odd,
  timeline,
}: Evidence): Run {
  const answers = wanted.filter(({ answered_ms }) => answered_ms > 0);
  const distinct = new Set(answers.map(({ sha256 }) => sha256)).size;
  const first = new Map<string, number>();
  let visits = 0;
  let min_gap_ms = Infinity;
  let tooSoon = 0;
  for (const [site, arrivals] of seen.entries()) {
    const left_at = leftAt(
      starts[site]!,
      arrivals.map(([at_ms]) => at_ms),
    );
    for (const [n, [at_ms, path]] of arrivals.entries()) {
      if (n > 0) min_gap_ms = Math.min(min_gap_ms, at_ms - arrivals[n - 1]![0]);
      if (n > 0 && at_ms - arrivals[n - 1]![0] < GAP_MS - TOLERANCE_MS) {
        const left_ms = left_at[n]! - left_at[n - 1]!;
        if (!(left_ms >= GAP_MS - TOLERANCE_MS)) tooSoon++;
        timeline = [...timeline, `too close: ${gapOf(site, arrivals, n)}; they left ${left_ms} ms apart`];
      }
      if (path === "/robots.txt") continue;
      visits++;
      if (!first.has(`${site}/${path}`)) first.set(`${site}/${path}`, at_ms);
    }
  }
  // Begun before the fault was over, and not known to be done when it began.
  const exposed = wanted.filter(({ site, page, answered_ms }) => {
    const at_ms = first.get(`${site}//${page}`);
    return at_ms !== undefined && at_ms <= span.to_ms && (answered_ms === 0 || answered_ms > span.from_ms);
  }).length;
  const refetched = visits - first.size;
  if (refetched > exposed) timeline = [...timeline, ...visitedAgain(seen, span.from_ms)];
  // Each 200 is billed once; what broke off may have been, too. Who is killed takes the last second's with it.
  const billed = answers.length + (odd.get("politeness_timeout") ?? 0);
  const brokenOff = [...odd].reduce((sum, [what, many]) => sum + (/^[A-Z]/.test(what) ? many : 0), 0);
  const isBilled = metered <= billed + brokenOff && (metered >= billed || fault.startsWith("kill"));
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
    minLeft_ms: leastOf(starts),
    took_ms,
  };
  const laws: [string, boolean][] = [
    ["not every fetch was answered", answers.length === wanted.length],
    ["two fetches have one result", distinct === answers.length],
    ["an answer without a visit, or a visit without an answer", first.size === wanted.length],
    [`${metered} requests were billed`, isBilled],
    ["letters are left on the bus", left.waiting === 0],
    ["letters are not acknowledged", left.unacknowledged === 0],
    ["more was fetched again than was in flight", refetched <= exposed],
    [`${tooSoon} starts were closer than ${GAP_MS} ms`, tooSoon === 0],
  ];
  const proof =
    `seed=${seed} fault="${fault}" fetches=${numbers.fetches} answers=${numbers.answers} distinct=${distinct} ` +
    `visited=${first.size} metered=${metered} streamLeft=${left.waiting} ackPending=${left.unacknowledged} ` +
    `refetched=${refetched}<=${exposed} minGap=${leastOf(starts)}>=${GAP_MS - TOLERANCE_MS}ms minSeen=${rounded_gap_ms}ms ` +
    `took=${(took_ms / 1_000).toFixed(1)}s again=${JSON.stringify(Object.fromEntries(odd))}`;
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
 * When each of the requests left that arrived then, both in order: the earliest start that is not another's and not too
 * long before. NaN: the ledger does not have it.
 */
export function leftAt(starts: readonly number[], arrivals_ms: readonly number[]): number[] {
  let next = 0;
  return arrivals_ms.map((at_ms) => {
    while (next < starts.length && starts[next]! < at_ms - MAX_LATE_MS) next++;
    return next < starts.length && starts[next]! <= at_ms + CLOCK_STEP_MS ? starts[next++]! : Number.NaN;
  });
}

const MAX_TOLD = 40;

/** Pages that were visited more than once, and when, since the fault began. */
const visitedAgain = (seen: Seen, from_ms: number): string[] =>
  seen
    .flatMap((arrivals, site) =>
      [...Map.groupBy(arrivals, ([, path]) => path)]
        .filter(([path, visits]) => path !== "/robots.txt" && visits.length > 1)
        .map(([path, visits]) => {
          const times = visits.map(([at_ms]) => `${Math.round(at_ms - from_ms)}`);
          return `visited again: site ${site}: ${path} at ${times.join(", ")} ms of the fault`;
        }),
    )
    .slice(0, MAX_TOLD);

const leastOf = (starts: readonly (readonly number[])[]): number =>
  Math.min(...starts.flatMap((times) => times.slice(1).map((at_ms, n) => at_ms - times[n]!)));

const gapOf = (site: number, arrivals: Seen[number], n: number): string =>
  `site ${site}: ${arrivals[n - 1]![1]} at ${new Date(arrivals[n - 1]![0]).toISOString()}, then ${arrivals[n]![1]} ` +
  `${(arrivals[n]![0] - arrivals[n - 1]![0]).toFixed(1)} ms later`;

/** What nodes warned of, how often and when first; the most frequent of each. */
const saidBy = ({ nodes }: ClusterOf): string[] =>
  nodes.flatMap(({ name, stderr }) => {
    const lines = stderr()
      .split("\n")
      .filter((line) => /"level":"(?:warn|error|fatal)"/.test(line))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const kinds = Map.groupBy(lines, ({ msg, problem, reason, why }) => {
      const told = JSON.stringify(problem) ?? "";
      const cause = /caused by: .{0,160}/.exec(told)?.[0];
      return [msg, reason, why, told.slice(0, 120), cause].filter(Boolean).join(" | ");
    });
    return [...kinds]
      .toSorted(([, a], [, b]) => b.length - a.length)
      .slice(0, 12)
      .map(([what, all]) => `${name}, ${all.length} times from ${String(all[0]!["time"])}: ${what}`);
  });

function shuffled<T>(list: readonly T[], chance: () => number): T[] {
  const mixed = [...list];
  for (let n = mixed.length - 1; n > 0; n--) {
    const other = Math.floor(chance() * (n + 1));
    [mixed[n], mixed[other]] = [mixed[other]!, mixed[n]!];
  }
  return mixed;
}

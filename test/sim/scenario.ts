/**
 * A simulated cluster on one virtual clock, with faults from a seed: nodes are cut off, killed and replaced while
 * callers want items of sites. A checker runs after every step; the subject says what an item is.
 */
import type { Actor, WorkContext, ActorClient } from "../../cluster/actor.ts";
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { distributed, type DistributedCluster } from "../../cluster/distributed.ts";
import { type Chances, faulty, type Link } from "./faults.ts";

export const DELAY_MS = 500;
export const ITEMS = 120;
const SITES = 12;
export const CHANCES: Chances = {
  answer_lost: 0.05,
  envelope_repeated: 0.05,
  call_late: 0.05,
  call_failed: 0.02,
  late_ms: 400,
  trusts_too_long_ms: 0,
};

export interface Start {
  readonly site: string;
  readonly item: string;
  readonly at_ms: number;
  readonly work: WorkContext;
}

/** The origins, which only record the requests they see. */
export interface Origins {
  readonly starts: Start[];
  readonly running: Set<Start>;
}

export interface SimulatedWorld {
  readonly origins: Origins;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Below this number, from the seed. */
  readonly chance: (below: number) => number;
}

export interface Subject {
  readonly actors: (world: SimulatedWorld) => readonly Actor[];
  /** What an item comes to; null: not now. Throws Fault. */
  readonly want: (ask: ActorClient, site: string, item: string) => Promise<string | null>;
  /** What must not be so at this moment, as a sentence; null: all is well. */
  readonly wrong: (origins: Origins) => string | null;
}

interface Member {
  readonly node: DistributedCluster;
  readonly link: Link;
}

export async function simulate(seed: number, subject: Subject, chances = CHANCES): Promise<string[]> {
  const trace: string[] = [];
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const note = (text: string) => void trace.push(`${clock.mono()} ${text}`);
  const random = seededRandom(seed);
  const chance = (below: number) => Math.floor(random.next() * below);
  const [bus, leases, documents] = [memoryBus(clock), memoryLeases(clock), memoryDocuments()];
  const origins: Origins = { starts: [], running: new Set() };
  const sleep = (ms: number) => new Promise<void>((resolve) => void clock.at(clock.now() + ms, resolve));
  const workers: Member[] = [];
  let names = 0;

  async function join(owns: boolean): Promise<Member> {
    const link = { cut: false, dead: false, calm: true };
    const faultyPorts = faulty(link, clock, random, owns ? chances : { ...chances, call_failed: 0 });
    const node = await distributed(
      owns ? subject.actors({ origins, now: () => clock.now(), sleep, chance }) : [],
      {
        clock,
        random,
        documents: faultyPorts.documents(documents),
        bus: faultyPorts.bus(bus),
        leases: faultyPorts.leases(leases),
      },
      { name: `node-${names++}`, owns },
    );
    link.calm = false;
    note(`node-${names - 1} joins`);
    return { node, link };
  }

  for (let n = 0; n < 3; n++) workers.push(await join(true));
  const gateway = await join(false);
  await clock.advance(6_000);

  const answers = new Map<string, string>();
  const wanted = Array.from({ length: ITEMS }, (_, n) => ({
    key: `s${chance(SITES)}.example`,
    item: `i${n}`,
  }));
  // A caller that gets a fault asks again, as the gateway's client would.
  async function caller({ key, item }: { key: string; item: string }): Promise<void> {
    for (;;) {
      const answer = await subject.want(gateway.node.ask, key, item).catch(() => null);
      if (answer !== null) return void answers.set(item, answer);
      await sleep(1_000);
    }
  }
  const callers = wanted.map(async (one) => {
    await sleep(chance(20_000));
    await caller(one);
  });

  function check(): void {
    const latest = new Map<string, number>();
    for (const { site: name, at_ms } of origins.starts) {
      const before = latest.get(name);
      if (before !== undefined && at_ms - before < DELAY_MS)
        throw new Error(`${name} was hit after ${at_ms - before} ms`);
      latest.set(name, at_ms);
    }
    const wrong = subject.wrong(origins);
    if (wrong !== null) throw new Error(wrong);
  }

  // Half a minute of faults, then peace until every caller has an answer.
  for (let step = 0; step < 60; step++) {
    const victim = workers[chance(workers.length)]!;
    switch (chance(10)) {
      case 0:
        note("a link is cut");
        victim.link.cut = true;
        break;
      case 1:
      case 2:
        for (const { link } of workers) link.cut = false;
        break;
      case 3:
        note("a node dies");
        victim.link.dead = true;
        workers.splice(workers.indexOf(victim), 1, await join(true));
        break;
      case 4:
        note("a node is drained");
        void victim.node.stop(5_000);
        workers.splice(workers.indexOf(victim), 1, await join(true));
        break;
      default:
    }
    await clock.advance(500);
    check();
  }
  for (const { link } of workers) link.cut = false;
  for (let step = 0; step < 600 && answers.size < ITEMS; step++) {
    await clock.advance(500);
    check();
  }
  note(`${answers.size} answered, ${origins.starts.length} starts`);
  if (answers.size < ITEMS) {
    const missing = wanted
      .filter(({ item }) => !answers.has(item))
      .map(({ key, item }) => `${item} of ${key}`);
    throw new Error(`No answer to ${missing.length}: ${missing.slice(0, 5).join(", ")}`);
  }
  await Promise.all(callers);
  for (const { key, item } of wanted)
    if (answers.get(item) !== `${item} of ${key}`) throw new Error(`${item} got the answer of another`);
  for (const { node } of [...workers, gateway]) await Promise.all([node.stop(100), clock.advance(2_000)]);
  return trace;
}

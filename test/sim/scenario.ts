/**
 * A simulated cluster on one virtual clock, with faults from a seed (nemeses.ts): nodes of two versions are cut off, killed,
 * drained and replaced, their wall clocks step, stores go away while origins answer 429, and the lease store forgets. Callers
 * want items of sites and tell notebooks numbered notes meanwhile. invariants.ts looks after every event; the subject says what an
 * item is.
 */
import type { Actor, WorkContext, ActorClient } from "../../cluster/actor.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryRoleBuses } from "../../cluster/adapters/nodes/role-bus.memory.ts";
import type { NodeClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { byteBudget } from "../../cluster/byte-budget.ts";
import { SILENT_METRICS } from "../../cluster/ports/metrics.ts";
import { distributed, type DistributedCluster } from "../../cluster/distributed.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { RoleActor, RoleClient } from "../../cluster/role-actor.ts";
import { type Chances, drawn, faulty, hears, newLink, speaks } from "./faults.ts";
import { Domain, type SlotRelease } from "../../schemas/domain.ts";
import type { Politeness } from "../../actors/crawl/domain/politeness.ts";
import { checker, type Start } from "./invariants.ts";
import { badNotes, Notebook, notebook, noteOf, type Notes } from "./messages.ts";
import { endFaults, leftOnBus, type Member, strike } from "./nemeses.ts";
import { type HeldSlot, type SlotRun, slotsInUse } from "./slots.ts";
import { LEASES_LAST_MS, newWorld, traced, type World } from "./world.ts";

/** The body of an envelope. */
interface Sent<Message> {
  readonly operation: string;
  readonly message: Message;
}

export const DELAY_MS = 500;
export const ITEMS = 120;
/** Nodes with actors placed by role, when the subject has any. */
const SENDERS = 2;
const SITES = 12;
const NOTES = 60;
const NOTEBOOKS = 6;
/** A caller waits so long for an item. */
export const WANT_MS = 60_000;
/** In peace all callers are answered within this time: a slot whose release was lost with NATS' data lapses after ten minutes. */
const MAX_PEACE_MS = 11 * 60_000;
/** A thirty-second of this is for tells: four notes at a time. */
const MEMORY_BYTES = 2 * 2 ** 20;
export const CHANCES: Chances = {
  answer_lost: 0.05,
  envelope_repeated: 0.05,
  call_late: 0.05,
  call_failed: 0.02,
  late_ms: 400,
  trusts_too_long_ms: 0,
};

export interface Exchange extends Start {
  readonly work: WorkContext;
}

/** The origins, which only record the requests they see. */
export interface Origins {
  readonly starts: Exchange[];
  readonly running: Set<Exchange>;
}

export interface OriginAnswer {
  readonly status: number;
  readonly retry_after_s: number | null;
}

/** The world as the actors of one node see it. */
export interface SimulatedWorld {
  readonly origins: Origins;
  /** The node's clock. */
  readonly now: () => number;
  readonly clock: Clock;
  /** Calls actors placed by role. */
  readonly roles: RoleClient;
  /** The time of the origins. */
  readonly trueNow: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Below this number, from the seed. */
  readonly chance: (below: number) => number;
  /** A request reaches its origin; `end` it when it is answered. */
  readonly start: (start: Omit<Exchange, "at_ms">) => { readonly end: () => OriginAnswer };
  /** The owner of the site has acknowledged a Retry-After that this origin gave at this true time. */
  readonly onAcknowledged: (origin: string, answered_ms: number, answer: OriginAnswer) => void;
  /** A domain has told this run of a slot. */
  readonly holdSlot: (run: SlotRun) => HeldSlot;
}

export interface Subject {
  readonly actors: (world: SimulatedWorld) => readonly Actor[];
  /** Actors that own nothing and are called by role. */
  readonly roleActors?: (world: SimulatedWorld) => readonly RoleActor[];
  /** By contract: the name under which its keys are sharded. */
  readonly shardBy: Readonly<Record<string, string>>;
  /** The answer for an item; null: not now. Throws Fault. */
  readonly want: (ask: ActorClient, site: string, item: string) => Promise<string | null>;
  /** Its work waits for no other actor: a caller is told only when its time is over that there is no answer. */
  readonly asksNobody?: true;
  /** The sites of the items; the fewer, the more callers wait for one. Default: 12. */
  readonly sites?: number;
  /** The invariant that is broken at this moment, as a sentence; null: all is well. */
  readonly wrong: (origins: Origins) => string | null;
}

/** Returns the events, in order. A course that fails prints them when its seed was given. */
export async function simulate(seed: number, subject: Subject, chances = CHANCES): Promise<string[]> {
  const world = newWorld(seed, Date.UTC(2026, 0, 1), chances.call_late > 0 ? LEASES_LAST_MS : undefined);
  await traced(world, () => takeCourse(world, subject, chances));
  return world.trace;
}

/** One algorithm: the world is made, broken for half a minute, and must then come to rest with everything done. */
async function takeCourse(world: World, subject: Subject, usual: Chances): Promise<void> {
  const chances = drawn(usual, world.chance);
  const { clock, random, chance, note, bus, leases, documents, store, sleep, coming } = world;
  /** Notes in envelopes that the bus had taken and lost. */
  const lostNotes = new Set<number>();
  const origins: Origins = { starts: [], running: new Set() };
  const shardBy = { ...subject.shardBy, notebook: "notebook" };
  const { partitions } = world;
  const leases_truly = { clock, partitions, ttl_ms: chances.trusts_too_long_ms > 0 ? null : leases.ttl_ms };
  const rules = checker(DELAY_MS, shardBy, leases_truly);
  const { onStart, onPause, onPauseLost, watch, watchSending, check: checkInvariants } = rules;
  const slots = slotsInUse(clock);
  world.onStored((collection, key, value) => {
    if (collection === Domain.name) slots.onStored(key, value as Politeness | null);
  });
  const [roleBuses, blobs] = [memoryRoleBuses(clock), memoryBlobs()];
  const all = new Map<string, DistributedCluster>();
  const everyone: Member[] = [];
  const workers: Member[] = [];
  const senders: Member[] = [];
  /** By note: the node whose turn passed it on. */
  const passedBy = new Map<number, string>();

  function start(exchange: Omit<Exchange, "at_ms">): { end: () => OriginAnswer } {
    const begun = { ...exchange, at_ms: clock.now() };
    origins.starts.push(begun);
    origins.running.add(begun);
    onStart(begun);
    return {
      end() {
        origins.running.delete(begun);
        const isBusy = store.isAway && chance(4) === 0;
        return isBusy ? { status: 429, retry_after_s: 5 + chance(20) } : { status: 200, retry_after_s: null };
      },
    };
  }

  function worldOf(name: string, nodeClock: NodeClock): SimulatedWorld {
    return {
      origins,
      clock: nodeClock,
      roles: (...args) => all.get(name)!.roles.call(...args),
      now: () => nodeClock.now(),
      trueNow: () => clock.now(),
      sleep,
      chance,
      start,
      holdSlot: slots.hold,
      onAcknowledged(origin, answered_ms, { retry_after_s }) {
        if (retry_after_s === null) return;
        note(`${name} acknowledges a Retry-After of ${retry_after_s} s for ${origin}`);
        onPause(origin, {
          from_ms: answered_ms,
          known_ms: clock.now(),
          until_ms: answered_ms + retry_after_s * 1_000,
        });
      },
    };
  }

  async function join(owns: boolean, sends = false, mayBeOlder = owns): Promise<Member> {
    const name = `node-${all.size}`;
    const isOlder = mayBeOlder && chance(4) === 0;
    const link = newLink();
    const nodeClock = world.nodeClock();
    const hasFaults = owns || sends;
    const faultyPorts = faulty(
      link,
      clock,
      random,
      hasFaults ? chances : { ...chances, call_failed: 0 },
      store,
    );
    const watched = watch(name, { bus, documents });
    const onPassed = (id: number) => void passedBy.set(id, name);
    const roleBus = roleBuses.open(
      () => !hears(link) && !speaks(link),
      () => !hears(link),
    );
    const seen = worldOf(name, nodeClock);
    const sending = watchSending(name, {
      documents: faultyPorts.documents(watched.documents),
      bus: faultyPorts.bus(watched.bus),
      leases: faultyPorts.leases(leases),
    });
    const node = await distributed(
      owns ? [...subject.actors(seen), notebook(onPassed, isOlder)] : [],
      {
        clock: nodeClock,
        random,
        newPartitions: partitions,
        ...sending,
        roleActors: sends ? (subject.roleActors?.(seen) ?? []) : [],
        roleNetwork: { bus: faultyPorts.roleBus(roleBus), blobs: faultyPorts.blobs(blobs) },
        memory: byteBudget({ limit_bytes: MEMORY_BYTES, clock: nodeClock, metrics: SILENT_METRICS }),
      },
      { name, owns },
    );
    link.calm = false;
    all.set(name, node);
    note(
      `${name} joins, its clock ${nodeClock.ahead_ms()} ms ahead${isOlder ? ", of an older version" : ""}`,
    );
    const member = { name, node, link, clock: nodeClock, isOlder };
    everyone.push(member);
    return member;
  }

  for (let n = 0; n < 3; n++) workers.push(await join(true));
  if (subject.roleActors) for (let n = 0; n < SENDERS; n++) senders.push(await join(false, true));
  const gateway = await join(false);

  /** Callers that were told before their time was over that there is no answer. */
  const told: string[] = [];
  function check(): void {
    checkInvariants(all);
    const wrong = subject.wrong(origins) ?? slots.wrong();
    if (wrong !== null) throw new Error(wrong);
    if (told.length > 0) throw new Error(told[0]);
  }
  const pass = (ms: number) => clock.advance(ms, check);
  await pass(6_000);

  const answers = new Map<string, string>();
  const wanted = Array.from({ length: ITEMS }, (_, n) => ({
    key: `s${chance(subject.sites ?? SITES)}.example`,
    item: `i${n}`,
  }));
  // A caller that gets a fault asks again, as the gateway's client would.
  async function caller({ key, item }: { key: string; item: string }): Promise<void> {
    for (;;) {
      const asked_ms = clock.now();
      const answer = await subject.want(gateway.node.ask, key, item).catch((problem: unknown) => {
        const isEarly = clock.now() - asked_ms < WANT_MS && problem instanceof Fault;
        if (subject.asksNobody && isEarly && problem.code === "no_answer")
          told.push(`${item} has no answer after ${clock.now() - asked_ms} ms: ${problem.message}`);
        return null;
      });
      if (answer !== null) return void answers.set(item, answer);
      await sleep(1_000);
    }
  }
  const callers = wanted.map(async (one) => {
    await sleep(chance(20_000));
    await caller(one);
  });

  /** Accepted by the bus, and where it must stand. */
  const accepted: { readonly id: number; readonly from: string | null; readonly in: string }[] = [];
  async function teller(id: number): Promise<void> {
    const [from, to] = [`b${chance(NOTEBOOKS)}`, `b${chance(NOTEBOOKS)}`];
    const isPassed = chance(2) === 0;
    // Nodes of an older version leave it to others.
    const operation = chance(3) === 0 ? "append" : "note";
    await sleep(chance(30_000));
    const telling = isPassed
      ? gateway.node.ask(Notebook, from, "pass", { id, to })
      : gateway.node.ask(Notebook, to, operation, noteOf(id));
    const isAccepted = await telling.then(
      () => true,
      () => false,
    );
    if (isAccepted) accepted.push({ id, from: isPassed ? from : null, in: to });
  }
  const tellers = Array.from({ length: NOTES }, (_, id) => teller(id));
  const bad = badNotes(world, gateway.node.ask, NOTEBOOKS);

  const stage = world.stageOf({
    workers,
    senders,
    onLost(envelopes) {
      bad.onLost(envelopes);
      for (const { name, key, body } of envelopes) {
        if (name === Notebook.name && body.startsWith("{"))
          lostNotes.add((JSON.parse(body) as Sent<{ id: number }>).message.id);
        if (name !== Domain.name) continue;
        const { operation, message } = JSON.parse(body) as Sent<SlotRelease>;
        if (operation !== "release") continue;
        slots.onReleaseLost(key, message);
        if (message.retry_after_s !== null) onPauseLost(message.origin, message.retry_after_s * 1_000);
      }
    },
    async replace(member) {
      const sends = senders.includes(member);
      const members = sends ? senders : workers;
      members.splice(members.indexOf(member), 1, await coming(join(!sends, sends), pass));
    },
    pass,
  });
  // Half a minute of faults, then peace until every caller has an answer.
  for (let round = 0; round < 60; round++) {
    await strike(stage);
    await clock.advance(500, check);
  }
  endFaults(stage);
  chances.late_ms = usual.late_ms;
  // The update is completed: what only newer nodes read waits for them.
  for (const member of workers.filter(({ isOlder }) => isOlder)) {
    note(`${member.name} is drained`);
    void member.node.stop(5_000);
    workers.splice(workers.indexOf(member), 1, await coming(join(true, false, false), pass));
  }

  const value = async (key: string): Promise<Notes> =>
    ((await documents.get("notebook", key))?.value as Notes | undefined) ?? { noted: [], passed: [] };
  /**
   * Accepted notes that stand nowhere. What the bus lost is excused, and what a node passed on and ended with, dead or cut off: it
   * was in memory.
   */
  async function missingNotes(): Promise<string[]> {
    const missing: string[] = [];
    const dead = new Set(
      everyone.filter(({ link }) => !hears(link) || !speaks(link) || link.cutStore).map(({ name }) => name),
    );
    for (const { id, from, in: to } of accepted) {
      if (lostNotes.has(id)) continue;
      if (from !== null && !(await value(from)).passed.includes(id))
        missing.push(`${id} was not passed on by ${from}`);
      else if (!(await value(to)).noted.includes(id) && !dead.has(passedBy.get(id) ?? ""))
        missing.push(`${id} is not in ${to}`);
    }
    return missing;
  }
  let left: readonly string[] = [];
  for (let waited_ms = 0; waited_ms < MAX_PEACE_MS; waited_ms += 500) {
    await clock.advance(500, check);
    if (answers.size < ITEMS || store.isAway || store.isFull) continue;
    left = [
      ...(await missingNotes()),
      ...(await bad.missing()),
      ...slots.leaked(),
      ...leftOnBus(stage, [Notebook.name]).map((name) => `${name} is not acknowledged`),
    ];
    if (left.length === 0 && accepted.length === NOTES) break;
  }
  note(`${answers.size} answered, ${origins.starts.length} starts, ${accepted.length} notes`);
  if (answers.size < ITEMS) {
    const missing = wanted
      .filter(({ item }) => !answers.has(item))
      .map(({ key, item }) => `${item} of ${key}`);
    throw new Error(`No answer to ${missing.length}: ${missing.slice(0, 5).join(", ")}`);
  }
  if (left.length > 0) throw new Error(`Not at rest: ${left.slice(0, 5).join(", ")}`);
  await Promise.all([...callers, ...tellers, bad.told]);
  for (const { key, item } of wanted)
    if (answers.get(item) !== `${item} of ${key}`) throw new Error(`${item} got the answer of another`);
  for (const { node } of [...workers, ...senders, gateway])
    await Promise.all([node.stop(100), clock.advance(2_000)]);
}

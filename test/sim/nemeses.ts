/**
 * Nemeses: faults in a simulation, one at a time, as the seed says: of single nodes, of the stores, and of what the
 * bus and the lease store remember.
 */
import type { MemoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import type { MemoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import type { NodeClock, VirtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { DistributedCluster } from "../../cluster/distributed.ts";
import type { Envelope } from "../../cluster/ports/bus.ts";
import type { Disk } from "./disk.ts";
import { heal, type Link, type StoreState } from "./faults.ts";

export interface Member {
  readonly name: string;
  readonly node: DistributedCluster;
  readonly link: Link;
  readonly clock: NodeClock;
  /** The node is of a version that lacks an operation. */
  readonly isOlder: boolean;
}

/** The state of a simulation that nemeses act on. */
export interface Stage {
  readonly clock: VirtualClock;
  readonly leases: MemoryLeases;
  readonly bus: MemoryBus;
  /** Makes the bus lose everything, and answers what that was. */
  readonly emptyBus: () => readonly Envelope[];
  readonly store: StoreState;
  /** The disk of the document store. */
  readonly disk: Disk;
  readonly upcoming: { powerCut: PowerCut | null };
  readonly workers: Member[];
  readonly senders: Member[];
  readonly note: (text: string) => void;
  readonly chance: (below: number) => number;
  /** Another node takes its place. */
  readonly replace: (member: Member) => Promise<void>;
  /** Lets time pass, with the invariants checked. */
  readonly pass: (ms: number) => Promise<void>;
  /** The revision of the lease store that its nodes have noted in the documents. */
  readonly notedRevision: () => Promise<number>;
  /** The bus has lost envelopes that it had taken. */
  readonly onLost: (envelopes: readonly Envelope[]) => void;
  /** Sends an envelope again that was sent before, as a bus does that was restored or whose window has passed. */
  readonly repeatEnvelope: () => void;
}

/** A power cut of the document store alone, or of the nodes and NATS as well. */
interface PowerCut {
  readonly due_ms: number;
  readonly isEverywhere: boolean;
  /** Makes NATS lose what it had not synced. */
  readonly rollBackNats: () => Promise<void>;
}

/** Nodes' clocks differ by so much without being refused. */
export const MAX_AHEAD_MS = 1_500;
/** The document store is away, full or slow for at least so long, and at most 25 s more. */
const MIN_STORE_FAULT_MS = 5_000;
const MAX_SLOW_MS = 2_000;
/** A slow link to the bus takes so much longer each way: at least so much, and at most 2.8 s more. */
const MIN_SLOW_LINK_MS = 200;
/** Before a power cut syncs take up to so long, for at most so long, so that there is something to lose. */
const MAX_SYNC_MS = 1_000;
const MAX_UNTIL_CUT_MS = 4_000;
/** NATS, with the bus and the leases, is rolled back by at least so much: by less than its nodes' renewals need to show it, and it may not be noticed. */
const MIN_ROLLBACK_MS = 2_000;
/** Revisions of two seconds. */
const NOTED_APART = 200;

type Nemesis = (stage: Stage, victim: Member) => void | Promise<void>;

export const everyone = ({ workers, senders }: Stage): readonly Member[] => [...workers, ...senders];

export function step({ note }: Stage, { name, clock }: Member, by_ms: number): void {
  note(`the clock of ${name} steps by ${by_ms} ms`);
  clock.step(by_ms);
}

const cut =
  (what: "cut" | "cutBus" | "deaf" | "mute" | "cutStore" | "cutBodies"): Nemesis =>
  ({ note }, { name, link }) => {
    note(`${name}: ${what}`);
    link[what] = true;
  };

const healAll: Nemesis = (stage) => {
  for (const { link } of everyone(stage)) heal(link);
};

/** A single fault of the document store at a time. */
function storeFault(
  what: string,
  begin: (store: StoreState) => void,
  end: (store: StoreState) => void,
): Nemesis {
  return ({ clock, store, note, chance }) => {
    if (store.isAway || store.isFull || store.slow_ms > 0) return;
    const for_ms = MIN_STORE_FAULT_MS + chance(25_000);
    note(`the store ${what} for ${for_ms} ms`);
    begin(store);
    clock.at(clock.now() + for_ms, () => {
      note("the store is as ever");
      end(store);
    });
  };
}

const goAway = storeFault(
  "is away",
  (store) => void (store.isAway = true),
  (store) => void (store.isAway = false),
);

async function allGo({ replace, pass, chance }: Stage, gone: readonly Member[]): Promise<void> {
  for (const { link } of gone) link.dead = true;
  await pass(500 + chance(8_000));
  for (const member of gone) await replace(member);
}

/** Remembers what NATS has; what is returned has it lose what came later, where its nodes can know. */
async function rememberNats(stage: Stage): Promise<() => Promise<void>> {
  const { leases, bus, note, notedRevision, onLost } = stage;
  const [restoreLeases, restoreBus] = [leases.copy(), bus.copy()];
  const { revision, store_id } = await leases.survey();
  return async () => {
    const [noted, current] = [await notedRevision(), await leases.survey()];
    // Without a recent note in the documents that it was further, a node that starts cannot know.
    if (noted - revision < NOTED_APART || current.revision - noted > NOTED_APART / 2) return;
    // The copy is of a store that was lost meanwhile.
    if (current.store_id !== store_id) return;
    note("NATS loses what it had not synced");
    restoreLeases();
    onLost(restoreBus());
  };
}

/** The disk of the documents has much to sync, until its power is cut. */
async function powerFails(stage: Stage): Promise<void> {
  const { clock, disk, upcoming, note, chance } = stage;
  if (upcoming.powerCut !== null) return;
  note("the disk of the documents takes its time to sync");
  disk.slow_ms = 1 + chance(MAX_SYNC_MS);
  upcoming.powerCut = {
    due_ms: clock.now() + chance(MAX_UNTIL_CUT_MS),
    isEverywhere: chance(2) === 0,
    rollBackNats: await rememberNats(stage),
  };
}

async function cutPower(stage: Stage, { isEverywhere, rollBackNats }: PowerCut): Promise<void> {
  const { disk, upcoming, note } = stage;
  upcoming.powerCut = null;
  disk.slow_ms = 0;
  const gone = isEverywhere ? [...everyone(stage)] : [];
  for (const { link } of gone) link.dead = true;
  const { unsynced, lost } = disk.cutPower();
  const of = isEverywhere ? "all nodes, NATS and the documents" : "the documents";
  note(`the power of ${of} is cut: ${lost} of ${unsynced} unsynced writes are lost`);
  if (!isEverywhere) return goAway(stage, everyone(stage)[0]!);
  await rollBackNats();
  await allGo(stage, gone);
}

/** How often each nemesis comes, of their sum. */
const NEMESES: readonly (readonly [weight: number, nemesis: Nemesis])[] = [
  [24, () => {}],
  [5, healAll],
  [2, cut("cut")],
  [2, cut("cutBus")],
  [1, cut("deaf")],
  [1, cut("mute")],
  [
    1,
    ({ note, chance }, { name, link }) => {
      link.slow_ms = MIN_SLOW_LINK_MS + chance(2_800);
      note(`${name}: the bus is up to ${link.slow_ms} ms away, each way`);
    },
  ],
  [2, cut("cutStore")],
  [1, cut("cutBodies")],
  [
    2,
    async ({ note, replace }, member) => {
      note(`${member.name} dies`);
      member.link.dead = true;
      await replace(member);
    },
  ],
  [
    2,
    async ({ note, replace }, member) => {
      note(`${member.name} is drained`);
      void member.node.stop(5_000);
      await replace(member);
    },
  ],
  [2, (stage, member) => step(stage, member, -60_000)],
  [2, (stage, member) => step(stage, member, 30_000)],
  [2, (stage, member) => step(stage, member, stage.chance(2 * MAX_AHEAD_MS) - MAX_AHEAD_MS)],
  [2, (stage, member) => step(stage, member, -member.clock.ahead_ms())],
  [1, goAway],
  [2, powerFails],
  [
    1,
    storeFault(
      "is full",
      (store) => void (store.isFull = true),
      (store) => void (store.isFull = false),
    ),
  ],
  [
    1,
    storeFault(
      "is slow",
      (store) => void (store.slow_ms = MAX_SLOW_MS),
      (store) => void (store.slow_ms = 0),
    ),
  ],
  [4, ({ repeatEnvelope }) => repeatEnvelope()],
  [
    1,
    async (stage) => {
      const { clock, chance } = stage;
      const rollBack = await rememberNats(stage);
      clock.at(clock.now() + MIN_ROLLBACK_MS + chance(13_000), () => void rollBack());
    },
  ],
  [
    1,
    ({ leases, emptyBus, note, onLost }) => {
      note("NATS loses its data");
      leases.wipe();
      onLost(emptyBus());
    },
  ],
  [
    1,
    (stage) => {
      stage.note("all workers die");
      return allGo(stage, [...stage.workers]);
    },
  ],
];

const SUM = NEMESES.reduce((sum, [weight]) => sum + weight, 0);

/** Lets one thing go wrong, or nothing. */
export async function strike(stage: Stage): Promise<void> {
  const { powerCut } = stage.upcoming;
  if (powerCut && stage.clock.now() >= powerCut.due_ms) return cutPower(stage, powerCut);
  const members = everyone(stage);
  const victim = members[stage.chance(members.length)]!;
  let left = stage.chance(SUM);
  for (const [weight, nemesis] of NEMESES) {
    left -= weight;
    if (left < 0) return nemesis(stage, victim);
  }
}

/** Everything works again, but for a fault of the store, which ends by itself. */
export function endFaults(stage: Stage): void {
  stage.upcoming.powerCut = null;
  stage.disk.slow_ms = 0;
  for (const member of everyone(stage)) {
    heal(member.link);
    step(stage, member, -member.clock.ahead_ms());
  }
}

/** Messages to these actors that the bus still has, as `actor/key operation`. */
export const leftOnBus = ({ bus }: Stage, actors: readonly string[]): readonly string[] =>
  bus
    .unacknowledged()
    .filter(({ name }) => actors.includes(name))
    .map(({ name, key, body }) => `${name}/${key} ${/"operation":"(\w+)"/.exec(body)?.[1] ?? body}`);

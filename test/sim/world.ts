/** The world that the nodes of a simulation share: one clock, one bus, one lease store, one document store, and chance from the seed. */
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { type MemoryLeases, memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import {
  type NodeClock,
  settled,
  type VirtualClock,
  virtualClock,
} from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import type { ClusterRecord } from "../../cluster/generation.ts";
import type { Bus, Envelope } from "../../cluster/ports/bus.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Random } from "../../cluster/ports/random.ts";
import { restoreConstants, shrinkConstants } from "./constants.ts";
import { diskDocuments, newDisk, type OnStored } from "./disk.ts";
import { newStore, type StoreState } from "./faults.ts";
import { MAX_AHEAD_MS, type Stage } from "./nemeses.ts";
import { isRepeated } from "./seeds.ts";

/** Envelopes that may come again. */
const MAX_REMEMBERED = 300;
const JOIN_STEP_MS = 50;

type StageOf = Pick<Stage, "workers" | "senders" | "replace" | "pass" | "onLost">;

export interface World {
  readonly clock: VirtualClock;
  readonly random: Random;
  /** Below this number, from the seed. */
  readonly chance: (below: number) => number;
  /** Events, in order. */
  readonly trace: string[];
  readonly note: (text: string) => void;
  /** As nodes use it: tells that they send may come again. */
  readonly bus: Bus;
  readonly leases: MemoryLeases;
  /** Into how many the cluster is divided, from the seed. */
  readonly partitions: number;
  readonly documents: Documents;
  /** Hears of the documents from now on. */
  readonly onStored: (listener: OnStored) => void;
  readonly store: StoreState;
  /** A node's own clock, up to MAX_AHEAD_MS off. */
  readonly nodeClock: () => NodeClock;
  readonly sleep: (ms: number) => Promise<void>;
  /** Time goes on until it is there, but for what needs none. */
  readonly coming: <T>(work: Promise<T>, pass: (ms: number) => Promise<void>) => Promise<T>;
  readonly stageOf: (members: StageOf) => Stage;
}

/** How long a lease lasts: in some courses so short that owners change when an answer is late. */
export const LEASES_LAST_MS = [3_000, 3_000, 2_000];

const PARTITIONS = [64, 256] as const;

/**
 * `ttls_ms`: of these the seed draws how long a lease lasts, and which other constants are smaller. Default: all is as in
 * production.
 */
export function newWorld(seed: number, start_ms: number, ttls_ms: readonly number[] = [3_000]): World {
  const clock = virtualClock(start_ms);
  const random = seededRandom(seed);
  const chance = (below: number) => Math.floor(random.next() * below);
  const trace: string[] = [];
  const note = (text: string) => void trace.push(`${clock.mono()} ${text}`);
  const ttl_ms = ttls_ms.length > 1 ? ttls_ms[chance(ttls_ms.length)]! : ttls_ms[0]!;
  note(`leases last ${ttl_ms} ms`);
  if (ttls_ms.length > 1) for (const shrunk of shrinkConstants(chance)) note(shrunk);
  const partitions = PARTITIONS[chance(PARTITIONS.length)]!;
  note(`${partitions} partitions`);
  const [memory, leases, disk] = [memoryBus(clock), memoryLeases(clock, ttl_ms), newDisk(clock, chance)];
  const listeners: OnStored[] = [];
  const documents = diskDocuments(disk, (...stored) => listeners.forEach((listen) => listen(...stored)), {
    refuses_synced: true,
  });
  const emptyBus = memory.copy();
  const store = newStore();
  const sent: Envelope[] = [];
  return {
    clock,
    random,
    chance,
    trace,
    note,
    leases,
    partitions,
    documents,
    onStored: (listener) => void listeners.push(listener),
    store,
    bus: {
      ...memory,
      async send(envelope) {
        if (envelope.stream === "work" && sent.push(envelope) > MAX_REMEMBERED) sent.shift();
        return memory.send(envelope);
      },
    },
    nodeClock: () => clock.node(chance(2 * MAX_AHEAD_MS) - MAX_AHEAD_MS),
    sleep: (ms) => new Promise<void>((resolve) => void clock.at(clock.now() + ms, resolve)),
    async coming(work, pass) {
      let isOver = false;
      void work.catch(() => {}).finally(() => (isOver = true));
      for (await settled(); !isOver;) await pass(JOIN_STEP_MS);
      return work;
    },
    stageOf: (members) => ({
      clock,
      disk,
      upcoming: { powerCut: null },
      leases,
      bus: memory,
      emptyBus,
      store,
      note,
      chance,
      ...members,
      async notedRevision() {
        const record = (await documents.get("cluster", "main"))?.value as ClusterRecord | undefined;
        return record?.revision ?? 0;
      },
      repeatEnvelope() {
        const envelope = sent[chance(Math.max(1, sent.length))];
        if (envelope) memory.send({ ...envelope, dedup_id: null }).catch(() => {});
      },
    }),
  };
}

/** Runs a course; when its seed was given and it fails, what happened is printed. */
export async function traced<T>({ trace }: World, course: () => Promise<T>): Promise<T> {
  try {
    return await course();
  } catch (problem) {
    if (isRepeated) process.stderr.write(`${trace.join("\n")}\n`);
    throw problem;
  } finally {
    restoreConstants();
  }
}

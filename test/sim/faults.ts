/**
 * A bus that misbehaves as real ones do, from a seed: it drops and delays answers, repeats and delays envelopes, and
 * fails calls now and then. It keeps what the port promises: when `send` resolves, the envelope is stored.
 */
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { Bus } from "../../cluster/ports/bus.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Leases } from "../../cluster/ports/leases.ts";
import type { RoleBus } from "../../cluster/ports/role-bus.ts";
import type { Random } from "../../cluster/ports/random.ts";

export interface Link {
  /** Cut off from everything. */
  cut: boolean;
  /** Cut off from the bus and the leases only. */
  cutBus: boolean;
  /** Messages of the bus and the leases do not arrive; those of the node do. */
  deaf: boolean;
  /** Messages of the node to the bus and the leases do not arrive; theirs to the node do. */
  mute: boolean;
  /** So much longer at most, each way, calls of the bus and the leases take. */
  slow_ms: number;
  /** Cut off from the document store only. */
  cutStore: boolean;
  /** Cut off from the body store only. */
  cutBodies: boolean;
  /** Dead: what it still does must not reach any other node. */
  dead: boolean;
  /** Nothing goes wrong yet. */
  calm: boolean;
}

/** A link on which nothing goes wrong until it is no longer `calm`. */
export const newLink = (): Link => ({
  cut: false,
  cutBus: false,
  deaf: false,
  mute: false,
  slow_ms: 0,
  cutStore: false,
  cutBodies: false,
  dead: false,
  calm: true,
});

/** Connects the node with everything again. */
export function heal(link: Link): void {
  link.cut = link.cutBus = link.deaf = link.mute = link.cutStore = link.cutBodies = false;
  link.slow_ms = 0;
}

const hasBus = ({ cut, cutBus, dead }: Link): boolean => !cut && !cutBus && !dead;
/** Whether messages over the bus reach the node. */
export const hears = (link: Link): boolean => hasBus(link) && !link.deaf;
/** Whether messages of the node reach the bus. */
export const speaks = (link: Link): boolean => hasBus(link) && !link.mute;

/** The document store, as all nodes have it. */
export interface StoreState {
  /** It answers no node. */
  isAway: boolean;
  /** Its disk is full: it reads and does not write. */
  isFull: boolean;
  /** Each call takes up to so much longer. */
  slow_ms: number;
}

export const newStore = (): StoreState => ({ isAway: false, isFull: false, slow_ms: 0 });

/** An adapter waits so long for an answer. */
const CALL_MS = 2_000;
/** Longer than each time-out and margin of the runtime but the ten seconds after which an ask is repeated. */
const MAX_LATE_MS = 3_000;

export interface Chances {
  readonly answer_lost: number;
  readonly envelope_repeated: number;
  readonly call_late: number;
  readonly call_failed: number;
  readonly late_ms: number;
  /** So much longer than it may a node believes in its lease: a mistake of ours, to see that it is caught. */
  readonly trusts_too_long_ms: number;
}

/** Nothing goes wrong by chance. */
export const NO_FAULTS: Chances = {
  answer_lost: 0,
  envelope_repeated: 0,
  call_late: 0,
  call_failed: 0,
  late_ms: 0,
  trusts_too_long_ms: 0,
};

/** The chances of one course. In peace no call is late by more than usual, or partitions would go on to change hands. */
export type Course = Omit<Chances, "late_ms"> & { late_ms: number };

/** In a third of the courses a call that is late may be so by more than a lease lasts. */
export const drawn = (chances: Chances, chance: (below: number) => number): Course => ({
  ...chances,
  ...(chances.call_late > 0 && chance(3) === 0 && { late_ms: MAX_LATE_MS }),
});

type CallCode = "bus_unreachable" | "documents_unreachable" | "bodies_unreachable";

/** A node's way to the ports, through which everything goes wrong. */
export function faulty(
  link: Link,
  clock: Clock,
  random: Random,
  chances: Chances,
  store: StoreState = newStore(),
) {
  const happens = (chance: number): boolean => !link.calm && random.next() < chance;
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => void clock.at(clock.now() + ms, resolve));
  const late = (most_ms = chances.late_ms): Promise<void> => pause(Math.ceil(random.next() * most_ms));
  const isCut = (code: CallCode): boolean =>
    link.cut ||
    (code === "bus_unreachable" && link.cutBus) ||
    (code === "documents_unreachable" && link.cutStore) ||
    (code === "bodies_unreachable" && link.cutBodies);

  async function call<T>(code: CallCode, run: () => Promise<T>, writes = false): Promise<T> {
    if (link.dead) return new Promise(() => {});
    const isOfBus = code === "bus_unreachable";
    // Either its way there or its answer.
    const [isLate, isAnswerLate] = [happens(chances.call_late), happens(chances.call_late)];
    if (isLate) await late();
    if (isOfBus && link.slow_ms > 0) await late(link.slow_ms);
    // A node that joins meanwhile would be started again by its operator until it can.
    const isStore = code === "documents_unreachable" && !link.calm;
    if (isStore && store.slow_ms > 0) await late(store.slow_ms);
    // A call that failed may have been carried out or not.
    const [before, after] = [happens(chances.call_failed), happens(chances.call_failed)];
    const isRefused = isStore && (store.isAway || (writes && store.isFull));
    if (isOfBus && link.mute) await pause(CALL_MS);
    if (isOfBus && link.mute) throw new Fault(code, "The simulator does not let the call through");
    if (isCut(code) || isRefused || before) throw new Fault(code, "The simulator refuses the call");
    const result = await run();
    if (isAnswerLate) await late();
    if (isOfBus && link.slow_ms > 0) await late(link.slow_ms);
    if (isOfBus && link.deaf) await pause(CALL_MS);
    if (link.dead) return new Promise(() => {});
    if (isCut(code) || after || (isOfBus && link.deaf))
      throw new Fault(code, "The simulator lost the answer");
    return result;
  }

  const bus = (real: Bus): Bus => ({
    send: (envelope) =>
      call("bus_unreachable", async () => {
        if (happens(chances.envelope_repeated)) await real.send({ ...envelope, dedup_id: null });
        return real.send(envelope);
      }),
    subscribe: (partition, epoch, take, lost, mayOpen) =>
      call("bus_unreachable", async () => {
        const reading = await real.subscribe(
          partition,
          epoch,
          (delivery) => {
            const acknowledge = () => call("bus_unreachable", () => delivery.acknowledge());
            const arrive = () => (hears(link) ? take({ ...delivery, acknowledge }) : undefined);
            return link.slow_ms > 0 ? late(link.slow_ms).then(arrive) : arrive();
          },
          () => {
            if (hears(link)) lost();
          },
          mayOpen,
        );
        return {
          backlog: reading.backlog,
          stop: () => reading.stop(),
          remove: () => call("bus_unreachable", () => reading.remove()),
          oldestUnacknowledged: () => call("bus_unreachable", () => reading.oldestUnacknowledged()),
        };
      }),
    async answer(address, body) {
      if (!speaks(link) || happens(chances.answer_lost)) return;
      if (happens(chances.call_late)) await late();
      await real.answer(address, body);
    },
    inbox: (receive) =>
      real.inbox((token, body) => {
        if (hears(link)) receive(token, body);
      }),
    onReconnect() {},
    ping: async () => {},
    close: async () => {},
  });

  const leases = (real: Leases): Leases => ({
    ttl_ms: real.ttl_ms + chances.trusts_too_long_ms,
    survey: () => call("bus_unreachable", () => real.survey()),
    create: (...args) => call("bus_unreachable", () => real.create(...args)),
    renew: (...args) => call("bus_unreachable", () => real.renew(...args)),
    release: (...args) => call("bus_unreachable", () => real.release(...args)),
    announcePresence: (...args) => call("bus_unreachable", () => real.announcePresence(...args)),
    removePresence: (...args) => call("bus_unreachable", () => real.removePresence(...args)),
    members: () => call("bus_unreachable", () => real.members()),
    hold: (...args) => call("bus_unreachable", () => real.hold(...args)),
    renewHeld: (...args) => call("bus_unreachable", () => real.renewHeld(...args)),
    releaseHeld: (...args) => call("bus_unreachable", () => real.releaseHeld(...args)),
    heldNames: () => call("bus_unreachable", () => real.heldNames()),
    textOf: (...args) => call("bus_unreachable", () => real.textOf(...args)),
    look: () => call("bus_unreachable", () => real.look()),
    table: () => call("bus_unreachable", () => real.table()),
    writeTable: (...args) => call("bus_unreachable", () => real.writeTable(...args)),
    onTable: (hear) => real.onTable(hear),
    compareClocks: (...args) => call("bus_unreachable", () => real.compareClocks(...args)),
    agreeOn: (...args) => real.agreeOn(...args),
    overrule: (...args) => real.overrule(...args),
    close: async () => {},
  });

  const documents = (real: Documents): Documents => ({
    ...real,
    get: (...args) => call("documents_unreachable", () => real.get(...args)),
    put: (...args) => call("documents_unreachable", () => real.put(...args), true),
    list: (...args) => call("documents_unreachable", () => real.list(...args)),
  });

  /** Messages of calls placed by role get lost; what a node that is cut off or deaf does not hear, the in-memory bus knows. */
  const roleBus = (real: RoleBus): RoleBus => ({
    ...real,
    announce(body) {
      if (!link.mute && !happens(chances.answer_lost)) real.announce(body);
    },
    send(to, body) {
      if (!link.mute && !happens(chances.answer_lost)) real.send(to, body);
    },
    async request(to, body) {
      if (!link.mute) return real.request(to, body);
      await pause(CALL_MS);
      return { kind: "silent" };
    },
  });

  const blobs = (real: Blobs): Blobs => ({
    ...real,
    put: (...args) => call("bodies_unreachable", () => real.put(...args)),
    head: (...args) => call("bodies_unreachable", () => real.head(...args)),
    get: (...args) => call("bodies_unreachable", () => real.get(...args)),
  });

  return { bus, leases, documents, roleBus, blobs };
}

/**
 * A bus that misbehaves as real ones do, from a seed: it drops and delays answers, repeats and delays envelopes, and
 * fails calls now and then. It keeps what the port promises: when `send` resolves, the envelope is stored.
 */
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
  /** Dead: what it still does must not reach any other node. */
  dead: boolean;
  /** Nothing goes wrong yet. */
  calm: boolean;
}

export interface StoreState {
  /** The document store answers no node. */
  isAway: boolean;
}

export interface Chances {
  readonly answer_lost: number;
  readonly envelope_repeated: number;
  readonly call_late: number;
  readonly call_failed: number;
  readonly late_ms: number;
  /** So much longer than it may a node believes in its lease: a mistake of ours, to see that it is caught. */
  readonly trusts_too_long_ms: number;
}

/** One node's way to the ports, through which everything goes wrong. */
export function faulty(
  link: Link,
  clock: Clock,
  random: Random,
  chances: Chances,
  store: StoreState = { isAway: false },
) {
  const happens = (chance: number): boolean => !link.calm && random.next() < chance;
  const late = (): Promise<void> =>
    new Promise((resolve) => {
      clock.at(clock.now() + Math.ceil(random.next() * chances.late_ms), resolve);
    });

  async function call<T>(
    code: "bus_unreachable" | "documents_unreachable",
    run: () => Promise<T>,
  ): Promise<T> {
    if (link.dead) return new Promise(() => {});
    if (happens(chances.call_late)) await late();
    // A call that failed may have been carried out or not.
    const [before, after] = [happens(chances.call_failed), happens(chances.call_failed)];
    // A node that joins meanwhile would be started again by its operator until it can.
    const isAway = code === "documents_unreachable" && store.isAway && !link.calm;
    if (link.cut || isAway || before) throw new Fault(code, "The simulator refuses the call");
    const result = await run();
    if (link.dead) return new Promise(() => {});
    if (link.cut || after) throw new Fault(code, "The simulator lost the answer");
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
            if (link.dead || link.cut) return;
            const acknowledge = () => call("bus_unreachable", () => delivery.acknowledge());
            return take({ ...delivery, acknowledge });
          },
          () => {
            if (!link.dead && !link.cut) lost();
          },
          mayOpen,
        );
        return {
          stop: () => reading.stop(),
          remove: () => call("bus_unreachable", () => reading.remove()),
          oldestUnacknowledged: () => call("bus_unreachable", () => reading.oldestUnacknowledged()),
        };
      }),
    async answer(address, body) {
      if (link.dead || link.cut || happens(chances.answer_lost)) return;
      if (happens(chances.call_late)) await late();
      await real.answer(address, body);
    },
    inbox: (receive) =>
      real.inbox((token, body) => {
        if (!link.dead && !link.cut) receive(token, body);
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
    compareClocks: (...args) => call("bus_unreachable", () => real.compareClocks(...args)),
    agreeOn: (...args) => real.agreeOn(...args),
    overrule: (...args) => real.overrule(...args),
    close: async () => {},
  });

  const documents = (real: Documents): Documents => ({
    ...real,
    get: (...args) => call("documents_unreachable", () => real.get(...args)),
    put: (...args) => call("documents_unreachable", () => real.put(...args)),
    list: (...args) => call("documents_unreachable", () => real.list(...args)),
  });

  /** Messages of calls placed by role get lost; a cut-off node is cut off by the in-memory bus. */
  const roleBus = (real: RoleBus): RoleBus => ({
    ...real,
    announce(body) {
      if (!happens(chances.answer_lost)) real.announce(body);
    },
    send(to, body) {
      if (!happens(chances.answer_lost)) real.send(to, body);
    },
  });

  return { bus, leases, documents, roleBus };
}

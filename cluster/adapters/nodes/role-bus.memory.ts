/** Messages between the nodes of one process, on a given clock: for tests and the simulator. */
import type { Clock } from "../../ports/clock.ts";
import {
  type RoleBus,
  type RoleBusEvents,
  type RoleBusReply,
  REQUEST_TIMEOUT_MS,
} from "../../ports/role-bus.ts";

export interface MemoryRoleBuses {
  /** The bus as one node sees it; while `isCut`, as after `cut(true)`; while `isDeaf`, what it sends arrives and it hears nothing. */
  readonly open: (isCut?: () => boolean, isDeaf?: () => boolean) => MemoryRoleBus;
}

export interface MemoryRoleBus extends RoleBus {
  /** The node's connection breaks, as with kill -9. */
  readonly kill: () => void;
  /** The node neither sends nor hears, but counts as connected; false: it does again. */
  readonly cut: (is_cut: boolean) => void;
}

interface Member {
  readonly events: RoleBusEvents;
  readonly canHear: () => boolean;
}

/** A message is under way for one millisecond. */
const DELAY_MS = 1;

export function memoryRoleBuses(clock: Clock): MemoryRoleBuses {
  const members = new Map<string, Member>();
  const later = (call: () => void): void => void clock.at(clock.now() + DELAY_MS, call);

  function open(isCutOff: () => boolean = () => false, isDeaf: () => boolean = () => false): MemoryRoleBus {
    let is_cut = false;
    const isCut = (): boolean => is_cut || isCutOff();
    let name: string | null = null;
    const leave = (): void => {
      if (name !== null) members.delete(name);
      name = null;
    };
    const canHear = (member: Member | undefined): member is Member => member?.canHear() ?? false;
    return {
      async join(node, events) {
        name = node;
        members.set(node, { events, canHear: () => !isCut() && !isDeaf() });
      },
      announce(body) {
        if (name === null || isCut()) return;
        for (const node of members.keys())
          later(() => {
            const member = members.get(node);
            if (canHear(member)) member.events.onAnnouncement(body);
          });
      },
      send(to, body) {
        if (name === null || isCut()) return;
        later(() => {
          const member = members.get(to);
          if (canHear(member)) member.events.onMessage(body);
        });
      },
      request(to, body) {
        const { promise, resolve } = Promise.withResolvers<RoleBusReply>();
        if (!members.has(to) && !isCut()) later(() => resolve({ kind: "gone" }));
        clock.at(clock.now() + REQUEST_TIMEOUT_MS, () => resolve({ kind: "silent" }));
        if (isCut() || name === null) return promise;
        later(() => {
          const member = members.get(to);
          if (!canHear(member)) return;
          const answer = member.events.onRequest(body);
          later(() => {
            if (!isCut() && !isDeaf()) resolve({ kind: "answered", body: answer });
          });
        });
        return promise;
      },
      async close() {
        leave();
      },
      kill: leave,
      cut: (is_cut_off) => void (is_cut = is_cut_off),
    };
  }
  return { open };
}

/** Messages between the nodes of one process, on a given clock: for tests and the simulator. */
import type { Clock } from "../../ports/clock.ts";
import {
  type RoleBus,
  type RoleBusEvents,
  type RoleBusReply,
  REQUEST_TIMEOUT_MS,
} from "../../ports/role-bus.ts";

export interface MemoryRoleBuses {
  /** The bus as one node sees it. */
  readonly open: () => MemoryRoleBus;
}

export interface MemoryRoleBus extends RoleBus {
  /** The node's connection breaks, as with kill -9. */
  readonly kill: () => void;
  /** The node neither sends nor hears, but counts as connected; false: it does again. */
  readonly cut: (is_cut: boolean) => void;
}

interface Member {
  readonly events: RoleBusEvents;
  readonly state: { is_cut: boolean };
}

/** A message is under way for one millisecond. */
const DELAY_MS = 1;

export function memoryRoleBuses(clock: Clock): MemoryRoleBuses {
  const members = new Map<string, Member>();
  const later = (call: () => void): void => void clock.at(clock.now() + DELAY_MS, call);

  function open(): MemoryRoleBus {
    const state = { is_cut: false };
    let name: string | null = null;
    const leave = (): void => {
      if (name !== null) members.delete(name);
      name = null;
    };
    const canHear = (member: Member | undefined): member is Member =>
      member !== undefined && !member.state.is_cut;
    return {
      async join(node, events) {
        name = node;
        members.set(node, { events, state });
      },
      announce(body) {
        if (name === null || state.is_cut) return;
        for (const node of members.keys())
          later(() => {
            const member = members.get(node);
            if (canHear(member)) member.events.onAnnouncement(body);
          });
      },
      send(to, body) {
        if (name === null || state.is_cut) return;
        later(() => {
          const member = members.get(to);
          if (canHear(member)) member.events.onMessage(body);
        });
      },
      request(to, body) {
        const { promise, resolve } = Promise.withResolvers<RoleBusReply>();
        if (!members.has(to) && !state.is_cut) later(() => resolve({ kind: "gone" }));
        clock.at(clock.now() + REQUEST_TIMEOUT_MS, () => resolve({ kind: "silent" }));
        if (state.is_cut || name === null) return promise;
        later(() => {
          const member = members.get(to);
          if (!canHear(member)) return;
          const answer = member.events.onRequest(body);
          later(() => {
            if (!state.is_cut) resolve({ kind: "answered", body: answer });
          });
        });
        return promise;
      },
      async close() {
        leave();
      },
      kill: leave,
      cut: (is_cut) => void (state.is_cut = is_cut),
    };
  }
  return { open };
}

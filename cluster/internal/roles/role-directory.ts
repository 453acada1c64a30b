/**
 * Which nodes have which roles, and how loaded they are. Each node announces its own load every second and after it has
 * joined; a node that is not heard of for RECORD_TTL_MS, or that says it is draining, gets no more calls.
 */
import type { RoleActor, RoleLoad } from "../../role-actor.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RoleBus } from "../../ports/role-bus.ts";

const ANNOUNCE_MS = 1_000;
const RECORD_TTL_MS = 3_500;
/**
 * A node that has not heard its own announcements for so long gets no messages, though what it sends may arrive: it says that
 * it is draining, until it hears itself again. When too small, a busy node gives up its calls.
 */
const UNHEARD_MS = 2_500;
/** A node that has just joined waits at most this long for another one with a role. */
const FIRST_RECORDS_MS = 500;

interface NodeRecord {
  readonly node: string;
  /** The node has just joined and wants to hear of the others. */
  readonly isNew: boolean;
  readonly draining: boolean;
  readonly roles: Readonly<Record<string, RoleLoad>>;
}

export interface PlacedRole {
  readonly node: string;
  readonly load: RoleLoad;
}

export interface RoleDirectory {
  /** The other nodes that take calls for the role, with their loads as far as they are known here. */
  readonly withRole: (role: string) => readonly PlacedRole[];
  /** Resolves when a node with the role is known, or when all have had the time to announce themselves to this one. */
  readonly whenKnown: (role: string) => Promise<void>;
  readonly receive: (body: string) => void;
  /** A newer load than the announced one: with the end of a call. */
  readonly update: (node: string, role: string, load: RoleLoad) => void;
  /** A call has gone to the node that its announced load does not contain yet. */
  readonly addCall: (node: string, role: string) => void;
  /** The node does not answer; it is known again when it announces itself. */
  readonly forget: (node: string) => void;
  /** Announces this node to all others; `draining`: they send it nothing more. */
  readonly announce: (state: { readonly isNew?: boolean; readonly draining?: boolean }) => void;
  readonly close: () => void;
}

export function roleDirectory(
  { clock, bus, nodeName }: { readonly clock: Clock; readonly bus: RoleBus; readonly nodeName: string },
  actors: ReadonlyMap<string, RoleActor>,
): RoleDirectory {
  const nodes = new Map<string, { readonly record_ms: number; readonly roles: Map<string, RoleLoad> }>();
  /** Null once every other node has had the time to announce itself. */
  let waiters: { readonly role: string; readonly resolve: () => void }[] | null = [];
  let isDraining = false;
  let heard_ms = clock.mono();

  function announce({
    isNew = false,
    draining = isDraining,
  }: {
    readonly isNew?: boolean;
    readonly draining?: boolean;
  }): void {
    isDraining = draining;
    const roles = Object.fromEntries([...actors].map(([role, { load }]) => [role, load()]));
    const isUnheard = clock.mono() - heard_ms > UNHEARD_MS;
    const record: NodeRecord = { node: nodeName, isNew, draining: draining || isUnheard, roles };
    bus.announce(JSON.stringify(record));
  }
  let timer: Disposable = clock.at(clock.now() + ANNOUNCE_MS, announceRegularly);
  function announceRegularly(): void {
    announce({});
    timer = clock.at(clock.now() + ANNOUNCE_MS, announceRegularly);
  }
  const firstTimer = clock.at(clock.now() + FIRST_RECORDS_MS, endWaits);
  function endWaits(): void {
    for (const { resolve } of waiters ?? []) resolve();
    waiters = null;
  }

  return {
    whenKnown: (role) =>
      new Promise((resolve) => {
        if (waiters === null) resolve();
        else waiters.push({ role, resolve });
      }),
    withRole(role) {
      const placed: PlacedRole[] = [];
      for (const [node, { record_ms, roles }] of nodes) {
        if (clock.mono() - record_ms > RECORD_TTL_MS) nodes.delete(node);
        else if (roles.has(role)) placed.push({ node, load: roles.get(role)! });
      }
      return placed;
    },
    receive(body) {
      const { node, isNew, draining, roles } = JSON.parse(body) as NodeRecord;
      if (node === nodeName) return void (heard_ms = clock.mono());
      if (draining) nodes.delete(node);
      else nodes.set(node, { record_ms: clock.mono(), roles: new Map(Object.entries(roles)) });
      for (const { role, resolve } of waiters ?? []) if (nodes.get(node)?.roles.has(role)) resolve();
      if (isNew) announce({});
    },
    update: (node, role, load) => void nodes.get(node)?.roles.set(role, load),
    addCall(node, role) {
      const roles = nodes.get(node)?.roles;
      const load = roles?.get(role);
      if (load) roles!.set(role, { ...load, in_use: load.in_use + 1 });
    },
    forget: (node) => void nodes.delete(node),
    announce,
    close() {
      timer[Symbol.dispose]();
      firstTimer[Symbol.dispose]();
      endWaits();
    },
  };
}

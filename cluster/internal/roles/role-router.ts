/**
 * Calls to actors that are placed by role: the actor of this node when it has a free place, else the less loaded of two
 * nodes with the role, drawn by chance among those whose breaker is closed. A node that is full, that cannot serve, or
 * that is lost is left out, and another one is tried while the caller waits.
 *
 * Within the process a call is a function call: nothing is copied, checked or awaited for it.
 */
import type { RoleContract } from "../../contracts/contract.ts";
import type {
  Caller,
  RoleActor,
  RoleCallOptions,
  RoleClient,
  RoleFigures,
  RoleLoad,
  RoleResult,
} from "../../role-actor.ts";
import type { Blobs } from "../../ports/blobs.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { RoleBus } from "../../ports/role-bus.ts";
import type { Tracing } from "../../ports/tracing.ts";
import { roleCalls, type RemoteResult, type RoleCalls } from "./role-calls.ts";
import { type PlacedRole, roleDirectory, type RoleDirectory } from "./role-directory.ts";

export interface RoleRouter {
  readonly call: RoleClient;
  /** Whether some node has the role, as far as this one knows. */
  readonly hasRole: (role: string) => boolean;
  /** By role: the actors of this node. */
  readonly loads: () => Readonly<Record<string, RoleLoad>>;
  readonly figures: () => Readonly<Record<string, RoleFigures>>;
  /** Takes no more calls of other nodes, and waits so long for those that run here. */
  readonly drain: (limit_ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** How nodes reach each other; null: there is only one. */
export interface RoleNetwork {
  readonly bus: RoleBus;
  readonly blobs: Blobs;
  readonly nodeName: string;
}

interface LinkDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing | undefined;
}

interface Links {
  readonly directory: RoleDirectory;
  readonly calls: RoleCalls;
  readonly bus: RoleBus;
}

interface RouterState {
  readonly random: Random;
  readonly own: ReadonlyMap<string, RoleActor>;
  readonly links: Links | null;
  readonly tracing: Tracing | undefined;
}

/** The name of this node among those that were tried. */
const HERE = "";

export async function roleRouter(
  actors: readonly RoleActor[],
  deps: LinkDeps & { readonly random: Random },
  network: RoleNetwork | null,
): Promise<RoleRouter> {
  const own = ownActors(actors);
  const { random, tracing } = deps;
  const links = network && (await connect(own, deps, network));
  return routerOf({ random, own, links, tracing });
}

/** The router of a process that is alone. */
export const localRouter = (actors: readonly RoleActor[], random: Random, tracing?: Tracing): RoleRouter =>
  routerOf({ random, own: ownActors(actors), links: null, tracing });

function routerOf(state: RouterState): RoleRouter {
  const { own, links } = state;
  return {
    call(of, operation, message, options) {
      const call = (): Promise<RoleResult<any>> =>
        route(state, of, operation, message, options as AnyOptions) as Promise<RoleResult<any>>;
      return state.tracing
        ? state.tracing.span({ name: `${of.name}.${operation}`, kind: "client" }, call)
        : call();
    },
    hasRole: (role) => own.has(role) || (links?.directory.withRole(role).length ?? 0) > 0,
    loads: () => Object.fromEntries([...own].map(([role, { load }]) => [role, load()])),
    figures: () =>
      Object.fromEntries([...own].flatMap(([role, { figures }]) => (figures ? [[role, figures()]] : []))),
    async drain(limit_ms) {
      links?.directory.announce({ draining: true });
      await links?.calls.drain(limit_ms);
    },
    async close() {
      links?.directory.close();
      links?.calls.close();
      await links?.bus.close();
    },
  };
}

function ownActors(actors: readonly RoleActor[]): ReadonlyMap<string, RoleActor> {
  const own = new Map(actors.map((actor) => [actor.contract.placement.role, actor]));
  if (own.size < actors.length) throw new TypeError("A node cannot have two actors with one role");
  return own;
}

async function connect(
  own: ReadonlyMap<string, RoleActor>,
  { clock, log, tracing }: LinkDeps,
  { bus, blobs, nodeName }: RoleNetwork,
): Promise<Links> {
  const directory = roleDirectory({ clock, bus, nodeName }, own);
  const calls = roleCalls({ clock, bus, blobs, log, tracing, nodeName, directory, actors: own });
  await bus.join(nodeName, { ...calls.events, onAnnouncement: directory.receive });
  directory.announce({ isNew: true });
  return { directory, calls, bus };
}

type AnyOptions = RoleCallOptions<any, any>;

async function route(
  state: RouterState,
  of: RoleContract<any>,
  operation: string,
  message: unknown,
  options: AnyOptions,
): Promise<RoleResult<unknown>> {
  const { role } = of.placement;
  const { own, links } = state;
  const tried = new Set<string>();
  let refusal: RoleResult<unknown> = { kind: "no_node" };
  let isFirstLook = true;
  for (;;) {
    let node = nextNode(state, role, tried);
    if (node === null && isFirstLook && links) {
      await links.directory.whenKnown(role);
      node = nextNode(state, role, tried);
    }
    isFirstLook = false;
    if (node === null) return refusal;
    tried.add(node);
    const session = options.open();
    let result: RemoteResult;
    try {
      if (node === HERE) {
        const caller: Caller<any, any> = {
          local: session.local,
          signal: options.signal,
          ask: session.answer,
        };
        result = await own.get(role)!.on[operation]!(message, caller);
      } else result = await links!.calls.call(node, { role, operation, message }, of, options, session);
    } finally {
      session.close();
    }
    if (result.kind === "done") return result;
    if (options.signal.aborted) return { kind: "lost", detail: "The caller has left" };
    if (result.kind === "lost" && !session.mayRepeat()) return result;
    // The answer of a node about its load weighs more than that another one was gone.
    if (result.kind !== "not_taken" && !(result.kind === "lost" && refusal.kind !== "no_node"))
      refusal = result;
  }
}

/** The node to try next, by name; null: none is left. */
function nextNode(
  { random, own, links }: RouterState,
  role: string,
  tried: ReadonlySet<string>,
): string | null {
  const here = tried.has(HERE) ? undefined : own.get(role)?.load();
  if (here && (links === null || (here.breaker === "closed" && here.in_use + here.waiting < here.capacity)))
    return HERE;
  const others = links?.directory.withRole(role).filter(({ node }) => !tried.has(node)) ?? [];
  const all: readonly PlacedRole[] = here ? [{ node: HERE, load: here }, ...others] : others;
  const closed = all.filter(({ load }) => load.breaker === "closed");
  return lessLoaded(closed.length > 0 ? closed : all, random)?.node ?? null;
}

/** The less loaded of two drawn by chance: where many nodes choose at once, the least loaded of all would get every call. */
function lessLoaded(nodes: readonly PlacedRole[], random: Random): PlacedRole | null {
  if (nodes.length < 2) return nodes[0] ?? null;
  const first = Math.floor(random.next() * nodes.length);
  const second = (first + 1 + Math.floor(random.next() * (nodes.length - 1))) % nodes.length;
  const [a, b] = [nodes[first]!, nodes[second]!];
  return usedShare(b.load) < usedShare(a.load) ? b : a;
}

const usedShare = ({ capacity, in_use, waiting }: RoleLoad): number => (in_use + waiting) / capacity;

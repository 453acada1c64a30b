/**
 * The door of a slice: what a feature declares before it is opened, what it gets, and what it contributes to the node.
 * ops/features.ts lists the features, and ops/start-features.ts starts them: it knows nothing else about them.
 */
import type { Static, TObject } from "typebox";
import type { ExtractCaller, Extracted, ExtractTask } from "../actors/reading/extraction-result.ts";
import type { RollingWindow } from "../actors/lib/rolling-window.ts";
import type { Destination, NetworksOf } from "../actors/lib/web/destination.ts";
import type { JoinedSites } from "../actors/lib/web/url.ts";
import type { Actor } from "../cluster/actor.ts";
import type { ByteBudget } from "../cluster/byte-budget.ts";
import type { CacheLimits } from "../cluster/cache-limits.ts";
import type { ClusterClient, NodeStats } from "../cluster/embedded.ts";
import type { Node } from "../cluster/node-record.ts";
import type { Egress } from "../cluster/ports/egress.ts";
import type { NodeFigures } from "../cluster/ports/node-directory.ts";
import type { SealedCollection, Secrets } from "../cluster/ports/secrets.ts";
import type { Tracing } from "../cluster/ports/tracing.ts";
import type { PoolSettings, TaskResult, Workers } from "../cluster/ports/workers.ts";
import type { RoleActor } from "../cluster/role-actor.ts";
import type { BodyGrants } from "../gateway/body-access.ts";
import type { Check } from "../gateway/checks.ts";
import type { DebugRecords } from "../gateway/debug-records.ts";
import type { Ledger } from "../gateway/ledger.ts";
import type { ApiReference } from "../gateway/openapi/reference.ts";
import type { Route } from "../gateway/route.ts";
import type { RequestSent } from "../schemas/domain.ts";
import type { HostOwner, HostOwners } from "./host-owners.ts";
import type { NodeConfig } from "./node-settings.ts";
import type { Declared } from "../cluster/collection.ts";
import type { Tokens, Values } from "./token.ts";
import type { Topology } from "./topology.ts";

/** Sections of settings by name; a section's settings carry their variables (settings.ts). */
export type Sections = Readonly<Record<string, TObject>>;
type SettingsOf<S extends Sections> = { readonly [Name in keyof S]: Static<S[Name]> };

export interface Feature<S extends Sections, N extends Tokens, P extends Tokens> {
  readonly name: string;
  readonly settings: S;
  /** Checks what a schema cannot: a variable and its mistake, or null. */
  problem?(settings: SettingsOf<S>): { readonly env: string; readonly message: string } | null;
  /** Every collection that it uses and no other list names: a node does not start with one that is missing here. */
  readonly collections: readonly Declared[];
  /** Collections with sealed texts, by name. Default: none has. */
  readonly sealed?: () => Promise<Readonly<Record<string, SealedCollection>>>;
  /** Hosts that only this feature may ask. Default: none. */
  hosts?(settings: SettingsOf<S>, config: NodeConfig): readonly HostOwner[];
  /** Tokens of other features, which join before this one. */
  readonly needs: N;
  readonly provides: P;
  /**
   * Before the node joins the cluster, once for each node that starts. A feature loads its modules here, so that commands start
   * quickly, and opens what it needs of the machine.
   */
  open(node: OpeningNode, settings: SettingsOf<S>): Promise<OpenFeature<Values<N>, Values<P>>>;
}

/** The compiler takes a feature's settings from this call. */
export const feature = <S extends Sections, N extends Tokens, P extends Tokens>(
  definition: Feature<S, N, P>,
): Feature<S, N, P> => definition;

/** A feature of a list, whatever it needs and provides. */
export type AnyFeature = Feature<any, any, any>;

type Intersection<U> = (U extends unknown ? (part: U) => void : never) extends (all: infer I) => void
  ? I
  : never;

/** The settings of all features in a list, as one type. */
export type FeatureSettings<F extends readonly unknown[]> = Intersection<
  F[number] extends infer One ? (One extends Feature<infer S, any, any> ? SettingsOf<S> : never) : never
>;

/** The node as a feature uses it before the node has joined its cluster. Every field lives as long as the node. */
export interface OpeningNode extends Omit<Node, "ask"> {
  readonly config: NodeConfig;
  readonly topology: Topology;
  readonly version: string;
  /** The version and the commit of the program, in words: what a report of a bug needs. */
  readonly build: string;
  /** The User-Agent of requests that declare the crawler. */
  readonly user_agent: string;
  /** Undefined: no collector is configured, and nothing is traced. */
  readonly tracing: Tracing | undefined;
  /** Id that the documents and everything that is made from them carry. */
  readonly store_id: string;
  /** The memory for bodies on this node. */
  readonly memory: ByteBudget;
  readonly caches: CacheLimits;
  /** SSRF protection. */
  readonly destination: Destination;
  /** SSRF protection that also refuses the hosts that a feature owns. */
  readonly unowned_destination: Destination;
  /** Which hosts a feature owns. */
  readonly hosts: HostOwners;
  /** The private networks that requests of a project may reach. */
  readonly networksOf: NetworksOf;
  /** Authorities that outgoing TLS trusts beside the public ones, PEM. */
  readonly ca: readonly string[];
  /** To the open web under `unowned_destination`. The node closes it. */
  readonly egress: Egress;
  /**
   * An egress of the feature's own, with the operator's resolvers and certificates; `judge` says where it may go. The
   * feature closes it.
   */
  readonly openEgress: (options: {
    readonly judge: Pick<Destination, "url" | "address">;
    /** Default true. */
    readonly http2?: boolean;
  }) => Egress;
  /** Extracts a document in a worker process. */
  readonly extract: (task: ExtractTask, caller: ExtractCaller) => Promise<TaskResult<Extracted>>;
  /** Reader processes for a feature's own documents, on workers. The feature closes them. */
  readonly openReaders: (options: ReaderOptions) => Workers;
  readonly bodyGrants: BodyGrants;
  /** Whether the right to a body is stored with its page: all nodes find it there. */
  readonly keepsRights: () => boolean;
  /** Sites that the operator joined. */
  readonly joined: JoinedSites;
  /** Requests to the API in the last 600 s, those to the status left out. */
  readonly requestWindow: RollingWindow<"requests" | "successes">;
  /** Encrypts what is stored and must not be read there. */
  readonly secrets: Secrets;
  /** The stories of requests that a client debugs. */
  readonly debugRecords: DebugRecords;
  /** A path in the data folder. */
  readonly dataPath: (name: string) => string;
}

/** The node as a feature uses it once the node has joined its cluster. The actors of the node run when all features have joined. */
export interface JoinedNode extends OpeningNode, Node {
  /** The name of this node, unlike that of every other and every earlier one. */
  readonly name: string;
  /** Calls actors that are placed by role. */
  readonly roles: Pick<ClusterClient["roles"], "call" | "hasRole">;
  /** The actors of this node: how many are awake, and what waits in their mailboxes. */
  readonly actorStats: () => NodeStats;
  /** Whether the actor with this key lives on this node now. */
  readonly ownsKey: ClusterClient["ownsKey"];
  /** Whether each dependency of this node answers within 5 s, by the names of /ready. */
  readonly checkStores: () => Promise<Readonly<Record<string, boolean>>>;
  /** Records a sent request for `trawl audit politeness`; undefined when the audit is off. */
  readonly onRequestSent: ((sent: RequestSent) => void) | undefined;
  /** Where billed answers are written down. */
  readonly ledger: Ledger;
}

/** Reader processes for the tasks of a module, in a pool for each task. */
export interface ReaderOptions {
  readonly tasks: URL;
  readonly pools: Readonly<Record<string, ReaderPool>>;
}

/** Settings that differ between pools of readers. */
export type ReaderPool = Pick<PoolSettings, "heap_mb" | "max_rss_mb" | "cpu_ms"> & Partial<PoolSettings>;

/** A feature before the node has joined. `Given`: what it needs of others; `Provided`: what it gives to them. */
export interface OpenFeature<Given = unknown, Provided = object> {
  /** Its actors of this node that are placed by role. */
  readonly role_actors?: readonly RoleActor[];
  /** The node has joined. `given` is there: what it needs was provided by features that joined before. */
  readonly join: (
    node: JoinedNode,
    given: Given,
  ) => JoinedFeature<Provided> | Promise<JoinedFeature<Provided>>;
  /** Called after the cluster has stopped, or when the start failed. */
  readonly close?: () => Promise<void>;
}

/** A feature after the node has joined. */
export interface JoinedFeature<Provided = object> {
  readonly provides: Provided;
  readonly actors?: readonly Actor[];
  readonly routes?: readonly Route[];
  /** Names, sentences and examples in /openapi.json. */
  readonly reference?: ApiReference;
  /** Checks of /ready, by name. */
  readonly checks?: Readonly<Record<string, Check>>;
  /** Changes that an operator should make although everything works, for /ready. */
  readonly warnings?: () => readonly string[];
  /** For operators, of this node. */
  readonly node_figures?: () => NodeFigures;
  /** Work that each node does every minute, all nodes at the same time; `what` is logged when it throws. */
  readonly every_minute?: {
    readonly what: string;
    readonly work: (isStopped: () => boolean) => Promise<void>;
  };
  /** The actors of the node run, and its HTTP servers are open for the node's status. */
  readonly onServing?: () => Promise<void>;
  /** The address at which clients see the service is known. */
  readonly onAddress?: (base: string) => Promise<void>;
  /** Called after the cluster has stopped. */
  readonly close?: () => Promise<void>;
}

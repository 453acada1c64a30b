/**
 * The door for a slice: what a feature declares before it is opened, what it gets, and what it contributes to the node.
 * ops/features.ts lists the features; ops/open-features.ts opens them in that order and knows nothing else about them.
 */
import type { Static, TObject } from "typebox";
import type { FindPayer } from "../actors/accounts/payer.ts";
import type { Spending } from "../actors/accounts/spend.ts";
import type { Register } from "../actors/filings/register.ts";
import type { PremiumCosts } from "../actors/fetch/premium.ts";
import type { ReservedHosts } from "../actors/fetch/reserved-hosts.ts";
import type { StoredPage } from "../actors/fetch/run.ts";
import type { ProfilesCaller, ProfilesResult } from "../actors/profiles/service.ts";
import type { RetrievedPage } from "../actors/fetch/service.ts";
import type { ItemKind } from "../actors/jobs/kind.ts";
import type { ExtractCaller, Extracted, ExtractTask } from "../actors/lib/content/extraction-result.ts";
import type { RollingWindow } from "../actors/lib/rolling-window.ts";
import type { Destination, NetworksOf } from "../actors/lib/web/destination.ts";
import type { JoinedSites } from "../actors/lib/web/url.ts";
import type { ComponentSpec } from "../actors/status/component.ts";
import type { LocalIndex } from "../actors/search/adapters/engine.local.sqlite.ts";
import type { Actor, ActorClient } from "../cluster/actor.ts";
import type { Cluster } from "../cluster/embedded.ts";
import type { NodeStats } from "../cluster/passivation.ts";
import type { ByteBudget } from "../cluster/byte-budget.ts";
import type { CacheLimits } from "../cluster/cache-limits.ts";
import type { Blobs } from "../cluster/ports/blobs.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Egress } from "../cluster/ports/egress.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { SealedCollection, Secrets } from "../cluster/ports/secrets.ts";
import type { NodeFigures } from "../cluster/ports/node-directory.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Tracing } from "../cluster/ports/tracing.ts";
import type { Random } from "../cluster/ports/random.ts";
import type { RoleActor } from "../cluster/role-actor.ts";
import type { RoleRouter } from "../cluster/role-router.ts";
import type { PoolSettings, TaskResult, Workers } from "../cluster/ports/workers.ts";
import type { BatchKind, CsvUpload, RouteNames } from "../gateway/batch.ts";
import type { DebugRecords } from "../gateway/debug-records.ts";
import type { Ledger } from "../gateway/ledger.ts";
import type { BodyGrants } from "../gateway/body-access.ts";
import type { ApiReference } from "../gateway/openapi/reference.ts";
import type { Route } from "../gateway/route.ts";
import type { Check } from "../gateway/checks.ts";
import type { RequestSent } from "../schemas/domain.ts";
import type { SourceRequest as FilingDocumentRequest } from "../schemas/filing-source.ts";
import type { ProfileBody } from "../schemas/profiles.ts";
import type { SearchAnswer, SearchRequest } from "../schemas/search.ts";
import type { Figures } from "../schemas/status.ts";
import type { SourceAnswer as FilingDocumentAnswer } from "../schemas/upstream.ts";
import type { NodeConfig } from "./node-settings.ts";
import { type Declared } from "../cluster/collection.ts";

/** Sections of settings by name; a section's settings carry their variables (settings.ts). */
export type Sections = Readonly<Record<string, TObject>>;
type SettingsOf<S extends Sections> = { readonly [Name in keyof S]: Static<S[Name]> };

export interface Feature<S extends Sections = Sections> {
  readonly name: string;
  readonly settings: S;
  /** What a schema cannot check: a variable and its mistake, or null. */
  problem?(settings: SettingsOf<S>): { readonly env: string; readonly message: string } | null;
  /** Every collection that it uses and no other list names: a node does not start with one that is missing here. */
  readonly collections: readonly Declared[];
  /** Collections with sealed texts, by name. Default: none has. */
  readonly sealed?: () => Promise<Readonly<Record<string, SealedCollection>>>;
  /** Called once for each node that starts. A feature loads its modules here, so that commands start quickly. */
  open(context: FeatureContext, settings: SettingsOf<S>): Promise<OpenFeature>;
}

/** What the compiler takes a feature's settings from. */
export const feature = <S extends Sections>(definition: Feature<S>): Feature<S> => definition;

type Intersection<U> = (U extends unknown ? (part: U) => void : never) extends (all: infer I) => void
  ? I
  : never;

/** The settings of all features in a list, as one type. */
export type FeatureSettings<F extends readonly unknown[]> = Intersection<
  F[number] extends infer One ? (One extends Feature<infer S> ? SettingsOf<S> : never) : never
>;

/** What a feature may use. Every field lives as long as the node. */
export interface FeatureContext {
  readonly config: NodeConfig;
  readonly version: string;
  /** The User-Agent of requests that declare the crawler. */
  readonly user_agent: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Undefined: no collector is configured, and nothing is traced. */
  readonly tracing: Tracing | undefined;
  readonly documents: Documents;
  readonly blobs: Blobs;
  /** What the documents and everything that is made from them carry. */
  readonly store_id: string;
  /** The memory for bodies on this node. */
  readonly memory: ByteBudget;
  /** What each cache of this node may hold. */
  readonly caches: CacheLimits;
  /** SSRF protection. */
  readonly destination: Destination;
  /** The same, and it refuses the hosts that the features opened before have reserved. */
  readonly unreserved_destination: Destination;
  /** The private networks that requests of a project may reach. */
  readonly networksOf: NetworksOf;
  /** Authorities that outgoing TLS trusts beside the public ones, PEM. */
  readonly ca: readonly string[];
  /** To the open web under `unreserved_destination`. The node closes it. */
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
  /** Asks actors. It works as soon as the node has joined the cluster. */
  readonly ask: ActorClient;
  /** Extracts a document in a worker process. */
  readonly extract: (task: ExtractTask, caller: ExtractCaller) => Promise<TaskResult<Extracted>>;
  /** Reader processes for a feature's own documents, on workers. The feature closes them. */
  readonly openReaders: (options: ReaderOptions) => Workers;
  readonly bodyGrants: BodyGrants;
  /** Sites that the operator joined. */
  readonly joined: JoinedSites;
  /** Calls actors that are placed by role. It works as soon as the node has joined the cluster. */
  readonly roles: Pick<RoleRouter, "call" | "hasRole">;
  /** The name of this node, unlike that of every other and every earlier one. It works as soon as the node has joined. */
  readonly node: () => string;
  /** The actors of this node: how many are awake, and what waits in their mailboxes. It works as soon as the node has joined. */
  readonly actorStats: () => NodeStats;
  /** Whether the actor with this key lives on this node now. It works as soon as the node has joined. */
  readonly ownsKey: Cluster["ownsKey"];
  /** Whether each dependency of this node answers within 5 s, by the names of /ready. It works as soon as the node has joined. */
  readonly checkStores: () => Promise<Readonly<Record<string, boolean>>>;
  /** Requests to the API in the last 600 s, those to the status left out. */
  readonly requestWindow: RollingWindow<"requests" | "successes">;
  /** Records a sent request for `trawl audit politeness`; undefined when the audit is off. */
  readonly onRequestSent: ((sent: RequestSent) => void) | undefined;
  /** The key, project and customer that pay for a piece of work, with the limits that hold now. */
  readonly findPayer: FindPayer;
  /** Encrypts what is stored and must not be read there. */
  readonly secrets: Secrets;
  /** The stories of requests that a client debugs. */
  readonly debugRecords: DebugRecords;
  /** Where billed answers are written down. */
  readonly ledger: Ledger;
  /** The one way to spend money. */
  readonly spending: Spending;
  /** A path in the data folder. */
  readonly dataPath: (name: string) => string;
  /** The features that are open already, in the order of the list. */
  readonly opened: readonly OpenFeature[];
}

/** One kind of batch items: how a worker runs an item, how the gateway takes and shows it, and its route. */
export interface ItemKindParts {
  readonly worker: ItemKind;
  readonly gateway: BatchKind;
  readonly route: RouteNames;
  /** The routes that take items and give results as CSV, at paths of the kind's own. */
  readonly csv?: { readonly upload: CsvUpload; readonly results: RouteNames };
}

/** What a feature adds to the public status (/v1/status). Names of figures begin with the component's. */
export interface StatusPart {
  /** Declared on every node, also where the component's figures come from other nodes. */
  readonly components: readonly ComponentSpec[];
  /** Of this node. */
  readonly figures?: () => Figures;
  /** Of the whole cluster, looked up by each gateway. */
  readonly clusterFigures?: () => Promise<Figures>;
}

/** Reader processes for the tasks of a module, in a pool for each task. */
export interface ReaderOptions {
  readonly tasks: URL;
  readonly pools: Readonly<Record<string, ReaderPool>>;
}

/** What differs between pools of readers. */
export type ReaderPool = Pick<PoolSettings, "heap_mb" | "max_rss_mb" | "cpu_ms"> & Partial<PoolSettings>;

export interface OpenFeature {
  readonly actors?: readonly Actor[];
  /** Those of this node that are placed by role. */
  readonly role_actors?: readonly RoleActor[];
  readonly routes?: readonly Route[];
  readonly item_kinds?: readonly ItemKindParts[];
  /** Names, sentences and examples in /openapi.json. */
  readonly reference?: ApiReference;
  /** The components of the public status that it adds, and the figures they are judged by. */
  readonly status?: StatusPart;
  /** What /ready asks, by name. */
  readonly checks?: Readonly<Record<string, Check>>;
  /** What an operator should change although everything works, for /ready. */
  readonly warnings?: () => readonly string[];
  /** Hosts that only this feature may ask. Fetches of their pages are delegated to it. */
  readonly reserved_hosts?: {
    readonly pages: ReservedHosts;
    readonly denyEgress: (egress: Egress) => Egress;
    readonly denyDestination: (destination: Destination) => Destination;
  };
  /** Reads a document of the filing system for another feature; absent: the filing system is off. Throws Fault. */
  readonly readFilingDocument?: (request: FilingDocumentRequest) => Promise<FilingDocumentAnswer>;
  /** Reads a company's profile for another feature; absent: profiles are off. Throws Fault. */
  readonly readProfile?: (fields: ProfileBody, caller: ProfilesCaller) => Promise<ProfilesResult>;
  /** Finds companies in the register for another feature; also for one that is opened before it. Throws Fault. */
  readonly findCompany?: Register;
  /** What attempts on premium routes cost, for another feature's work. */
  readonly premium_costs?: PremiumCosts;
  /** Searches on behalf of another feature's work. */
  readonly search?: (request: SearchRequest, client: ActorClient) => Promise<SearchAnswer>;
  readonly page_index?: {
    /** Null where pages are not indexed on this node. */
    readonly local: LocalIndex | null;
    readonly onPageStored: (page: StoredPage) => void;
    /** A project was given a page, from the cache or by a fetch of its own. */
    readonly onRetrieved: (page: RetrievedPage) => void;
    readonly onGone: (page: { readonly url: string; readonly project: string }) => void;
  };
  /** For operators, of this node. */
  readonly node_figures?: () => NodeFigures;
  /** Work that each node does every minute, all nodes at the same time; `what` is logged when it throws. */
  readonly every_minute?: {
    readonly what: string;
    readonly work: (isStopped: () => boolean) => Promise<void>;
  };
  /** The node has joined the cluster and its actors run. */
  readonly onJoined?: () => Promise<void>;
  /** The address at which clients see the service is known. */
  readonly onAddress?: (base: string) => Promise<void>;
  /** Called after the cluster has stopped. */
  readonly close?: () => Promise<void>;
}

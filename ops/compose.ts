/**
 * Starts a node from a configuration: stores, egress, features, the cluster and the HTTP servers, in this order, and stops
 * it in the opposite order. What a slice adds is in its feature (features.ts); this file names no slice but accounts.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { prepareAccounts } from "../actors/accounts/keys.ts";
import { type FindPayer, findPayer } from "../actors/accounts/payer.ts";
import { spending } from "../actors/accounts/spend.ts";
import { RollingWindow } from "../actors/lib/rolling-window.ts";
import { destination } from "../actors/lib/web/destination.ts";
import type { Actor, ActorClient } from "../cluster/actor.ts";
import { undiciEgress } from "../cluster/adapters/egress/egress.undici.ts";
import { pinoLog } from "../cluster/adapters/telemetry/log.pino.ts";
import { prometheusMetrics } from "../cluster/adapters/telemetry/metrics.prometheus.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { systemRandom } from "../cluster/adapters/time/random.system.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import { DEAD_LETTERS, retryMarked } from "../cluster/dead-letters.ts";
import { type Check, pingAll } from "../gateway/checks.ts";
import { openBodyGrants } from "../gateway/body-access.ts";
import { metering } from "../gateway/metering.ts";
import { openDebugRecords } from "../gateway/debug-records.ts";
import { PENDING_TTL_MS, pendingRequests, recoverPending } from "../gateway/pending-requests.ts";
import { openLedger } from "../gateway/ledger.ts";
import { keyQuotas } from "../gateway/quotas.ts";
import { assertNoNodeRuns, join as joinCluster, topologyProblem, type Membership } from "./cluster.ts";
import { readBuildInfo } from "./build-info.ts";
import { collectBodies } from "./collect-bodies.ts";
import type { Config } from "./config.ts";
import { everyMinute } from "./every-minute.ts";
import { expireDocuments } from "./expire-documents.ts";
import type { Extraction, ReaderDeps } from "./extraction.ts";
import type { FeatureContext, OpenFeature } from "./feature.ts";
import { FEATURES } from "./features.ts";
import { openHttp } from "./http.ts";
import { meteredBlobs, meteredDocuments } from "./metered-stores.ts";
import { inNetworks } from "./networks.ts";
import { nodeGauges } from "./node-gauges.ts";
import { openMemory } from "./memory.ts";
import { nodeReport } from "./node-report.ts";
import { ownEndpoints } from "./own-endpoints.ts";
import { openRequestAudit } from "./request-audit.ts";
import { stopSteps } from "./stop-steps.ts";
import { claimData, dataPath, openBlobs, openDocuments } from "./stores.ts";
import { PROBES, type StoreWatch, watchStores } from "./store-watch.ts";

/** A node that runs. */
export interface Running {
  /** The address at which it listens. */
  readonly address: string;
  /** Which HTTP server runs, and why not the faster one. */
  readonly http: string;
  /** The first admin key, to be printed once; null when there were keys. */
  readonly first_key: string | null;
  /** Whether the API is served at the address; else only the node's status. */
  readonly serves: boolean;
  /** Answers not_ready, lets requests in flight end within the time, hands off the partitions, stores everything. */
  readonly stop: (within_ms?: number) => Promise<void>;
  /** Resolves when the node has stopped, also after `trawl drain`. */
  readonly ended: Promise<void>;
  /** Reports a failure that no code handled, and stops the node: what it still does may be wrong. */
  readonly crash: (kind: CrashKind, problem: unknown) => void;
}

export type CrashKind = "unhandled_rejection" | "uncaught_exception";

/** The longest a request takes. */
const STOP_MS = 160_000;
/** After a crash: partitions are released, requests that take longer are aborted. */
const CRASH_STOP_MS = 5_000;
/** How long reports of usage may take at a stop, and all parts together to close. */
const REPORT_MS = 10_000;
const CLOSE_MS = 5_000;
/** A store that takes longer counts as away for the public status. */
const STORE_WAIT_MS = 5_000;
/** Collections with an expiry date that belong to no feature. */
const EXPIRING = [DEAD_LETTERS, "body_refs", "body_grants", "request_audit", PROBES];

const build = readBuildInfo(fileURLToPath(new URL("..", import.meta.url)));

/** What closes each part, in the order in which the parts were opened. */
type Closers = (() => Promise<unknown>)[];

export async function start(config: Config): Promise<Running> {
  const closers: Closers = [];
  try {
    return await compose(config, closers);
  } catch (problem) {
    for (const close of closers.toReversed()) await close().catch(() => {});
    throw problem;
  }
}

async function compose(config: Config, closers: Closers): Promise<Running> {
  const problem = topologyProblem(config);
  if (problem !== null) throw new Error(problem);
  const lock = claimData(config);
  closers.push(async () => lock[Symbol.dispose]());
  const metrics = prometheusMetrics();
  const line: { node?: string } = {};
  const log = pinoLog({ level: config.log.level, fields: line });
  const clock = systemClock();
  // Features may keep `ask` and `node`; both work once the node has joined the cluster.
  const ask: ActorClient = (of, key, operation, message, options) =>
    cluster.ask(of, key, operation, message, options);
  const roles: FeatureContext["roles"] = {
    call: (of, operation, message, options) => cluster.roles.call(of, operation, message, options),
    hasRole: (role) => cluster.roles.hasRole(role),
  };
  const given = {
    metrics,
    log,
    clock,
    ask,
    roles,
    node: () => node,
    actorStats: () => cluster.stats(),
    checkStores: () => answersOf(stores, clock),
  };
  const context = await openContext(config, given, closers);
  const opened = await openFeatures(context, config, closers);
  const { documents, blobs, random } = context;

  const actors = opened.flatMap((feature) => feature.actors ?? []);
  const roleActors = opened.flatMap((feature) => feature.role_actors ?? []);
  const { memory } = context;
  const shared = { clock, random, documents, blobs, memory, metrics, log, roleActors };
  const membership = await joinCluster(config, actors, shared);
  const { cluster, node } = membership;
  line.node = node;
  const { ping } = context.storeWatch;
  const stores = {
    documents: { ping: ping.documents, gates: true },
    ...membership.checks,
    object_storage: { ping: ping.object_storage, gates: true },
  };
  const checks = { ...stores, ...Object.assign({}, ...opened.map((feature) => feature.checks)) };
  let draining = false;
  closers.push(
    () => membership.close(),
    async () => {
      if (!draining) await cluster.stop(0);
    },
  );
  await cluster.recovered;

  const first = await prepareAccounts(documents, config.gateway.admin_key ?? null, clock.now());
  if (first.admin_key === "revoked")
    log.warn("TRAWL_ADMIN_KEY names a revoked key: it stays revoked and is refused");
  const quotas = keyQuotas({ ask, clock, log, gateway: node });
  const pending = pendingRequests({ documents, clock, log, gateway: () => node });
  const { spentBy } = context.spending;
  const usage = metering({ ask, clock, quotas, ledger: context.ledger, pending, spentBy });
  const recovery = { documents, clock, log, spentBy };
  // A single process that starts finds only requests of processes that ended.
  if (config.cluster.bus === "memory") await recoverPending(recovery, 0);
  const cleaning = chores(context, opened, actors, membership);
  const stopCleaning = (): void => cleaning.forEach((work) => work[Symbol.dispose]());
  closers.push(async () => stopCleaning());

  const http = await openHttp({
    context,
    opened,
    membership,
    usage,
    storeWatch: context.storeWatch,
    checks,
    draining: () => draining,
    metrics: {
      content_type: metrics.contentType,
      render: () => metrics.render(),
      isAllowed: inNetworks(config.gateway.metrics_allow),
    },
  });
  closers.push(http.close);

  async function end(within_ms: number): Promise<void> {
    draining = true;
    const began_ms = clock.mono();
    log.info("The node drains", { node, within_ms });
    stopCleaning();
    const steps = stopSteps({ clock, log }, within_ms);
    const { left_ms } = steps;
    await steps.run("the API", left_ms(), () => http.closeApi(left_ms()));
    await steps.run("reports of usage", Math.min(REPORT_MS, left_ms()), () => usage.drain());
    await steps.run("the cluster", left_ms(), () => cluster.stop(left_ms()));
    const closing = stopSteps({ clock, log }, CLOSE_MS);
    for (const close of closers.toReversed()) await closing.run("a connection", closing.left_ms(), close);
    log.info("The node has stopped", { node, ms: Math.round(clock.mono() - began_ms) });
    steps.throwFailure();
    closing.throwFailure();
  }
  const ended = Promise.withResolvers<void>();
  let ending: Promise<void> | null = null;
  const stop = (within_ms = STOP_MS): Promise<void> => {
    ending ??= end(within_ms).then(ended.resolve, (failure: unknown) => {
      ended.reject(failure);
      throw failure;
    });
    return ending;
  };

  for (const { onJoined } of opened) await onJoined?.();
  const started_ms = clock.now();
  const figures = () => opened.flatMap(({ node_figures }) => node_figures?.() ?? []);
  await membership.announce({
    report: () =>
      nodeReport({ config, build, membership, http, started_ms, draining: () => draining, figures }),
    setLogLevel: log.setLevel,
    // `ended` reports how the stop ends.
    drain: () => void stop().catch(() => {}),
  });
  const serves = config.cluster.roles.includes("gateway");
  if (serves) await http.serveApi();
  const { name, address } = http.listening();
  const { status_address, sentence } = http;
  metrics.gauge("trawl_http_server_info", { name }, 1);
  const listening = { address, status_address, http: name, node };
  log.info("Listening", { ...listening, ...build, nodejs: process.version });
  return {
    address,
    http: sentence,
    first_key: first.key,
    serves,
    stop,
    ended: ended.promise,
    crash(kind, crash_problem) {
      metrics.count("trawl_crashes_total", { kind });
      log.error("A failure that no code handles ends this process", { kind, problem: crash_problem });
      // `ended` reports how the stop ends.
      void stop(CRASH_STOP_MS).catch(() => {});
    },
  };
}

/** Background work of the node and of its features. */
function chores(
  { config, documents, blobs, clock, random, metrics, log, ask, spending: { spentBy } }: FeatureContext,
  opened: readonly OpenFeature[],
  actors: readonly Actor[],
  { cluster, ownedPartitions }: Membership,
): readonly Disposable[] {
  const collections = [...EXPIRING, ...FEATURES.flatMap((feature) => [...feature.collections.expiring])];
  return [
    nodeGauges({
      clock,
      metrics,
      build,
      folder: config.storage.data_dir,
      stats: cluster.stats,
      ownedPartitions: () => ownedPartitions().length,
    }),
    expireDocuments({ documents, clock, log, collections }),
    collectBodies({ documents, blobs, clock, metrics, log, random }),
    everyMinute({ clock, log, what: "Cannot write the rows of requests whose gateway died" }, () =>
      recoverPending({ documents, clock, log, spentBy }, PENDING_TTL_MS),
    ),
    // A node without the role lacks some of the actors.
    ...(config.cluster.roles.includes("worker")
      ? [
          everyMinute({ clock, log, what: "Cannot retry dead letters" }, () =>
            retryMarked(documents, actors, ask),
          ),
        ]
      : []),
    ...opened.flatMap(({ every_minute: chore }) =>
      chore ? [everyMinute({ clock, log, what: chore.what }, chore.work)] : [],
    ),
  ];
}

/** Whether each of them answers, by name. */
async function answersOf(
  checks: Readonly<Record<string, Check>>,
  clock: Clock,
): Promise<Readonly<Record<string, boolean>>> {
  const states = await pingAll(checks, clock, STORE_WAIT_MS);
  return Object.fromEntries(Object.entries(states).map(([name, state]) => [name, state === "ok"]));
}

type Given = Pick<
  FeatureContext,
  "metrics" | "log" | "clock" | "ask" | "roles" | "node" | "actorStats" | "checkStores"
>;

/** Everything that features share: the stores, the egress, the worker processes. */
async function openContext(
  config: Config,
  { metrics, log, clock, ask, roles, node, actorStats, checkStores }: Given,
  closers: Closers,
): Promise<FeatureContext & { readonly storeWatch: StoreWatch }> {
  const isWorker = config.cluster.roles.includes("worker");
  const random = systemRandom();
  const openedDocuments = await openDocuments(config, {
    log,
    assertNoneRuns: () => assertNoNodeRuns(config),
  });
  closers.push(() => openedDocuments.close());
  const openedBlobs = await openBlobs(config);
  closers.push(() => openedBlobs.close());
  const stores = {
    documents: meteredDocuments(openedDocuments, { metrics, clock }),
    blobs: meteredBlobs(openedBlobs, { metrics, clock }),
  };
  const storeWatch = watchStores({ ...stores, clock, random, metrics, log });
  closers.push(async () => storeWatch.close());
  const { documents, blobs } = storeWatch;
  const rule = destination({ allow: config.egress.allow, own: ownEndpoints(config) });
  const { dns_servers, ca_file } = config.egress;
  const ca = ca_file === undefined ? [] : [readFileSync(ca_file, "utf8")];
  const openEgress: FeatureContext["openEgress"] = (options) => undiciEgress({ ...options, dns_servers, ca });
  const egress = openEgress({ judge: rule });
  closers.push(() => egress.close());
  const readers = await openDocumentReaders(isWorker, { clock, log });
  closers.push(readers.close);
  const isAudited = isWorker && config.audit.requests === "on";
  const audit = isAudited ? openRequestAudit({ documents, clock, log, node }) : null;
  if (audit) closers.push(() => audit.close());
  const [canonical] = config.profiles.hosts;
  const payerOf: FindPayer = (project, prefix) => findPayer(documents, project, prefix);
  return {
    config,
    version: build.version,
    user_agent: `Mozilla/5.0 (compatible; ${config.crawler.name}/${build.version})`,
    clock,
    random,
    metrics,
    log,
    documents,
    blobs,
    storeWatch,
    memory: openMemory(config, { clock, metrics }),
    destination: rule,
    unreserved_destination: rule,
    egress,
    openEgress,
    ask,
    extract: readers.extract,
    openReaders: readers.openReaders,
    bodyGrants: openBodyGrants({ documents, clock }),
    joined: new Map(config.profiles.hosts.map((host) => [host, canonical!])),
    roles,
    node,
    actorStats,
    checkStores,
    requestWindow: new RollingWindow(["requests", "successes"]),
    onRequestSent: audit?.record,
    findPayer: payerOf,
    debugRecords: openDebugRecords({ documents, clock }),
    ledger: openLedger({ documents, ask, clock, log, writer: node }),
    spending: spending({ findPayer: payerOf, documents, clock, log }),
    dataPath: (name) => dataPath(config.storage.data_dir, name),
    opened: [],
  };
}

type DocumentReaders = Extraction & Pick<FeatureContext, "openReaders">;

/** Documents are read on workers; other nodes do not load what reads them. */
async function openDocumentReaders(isWorker: boolean, deps: ReaderDeps): Promise<DocumentReaders> {
  if (!isWorker) {
    const refuse = (): never => assert.fail("A node without the role worker reads no documents");
    return { extract: refuse, openReaders: refuse, close: async () => {} };
  }
  const { openExtraction, openReaders } = await import("./extraction.ts");
  return { ...openExtraction(deps), openReaders: (options) => openReaders(options, deps) };
}

/** Opens the features in their order. A feature sees what the features before it contribute. */
async function openFeatures(
  shared: FeatureContext,
  config: Config,
  closers: Closers,
): Promise<readonly OpenFeature[]> {
  const opened: OpenFeature[] = [];
  let context: FeatureContext = { ...shared, opened };
  for (const feature of FEATURES) {
    const open = await feature.open(context, config);
    opened.push(open);
    if (open.close) closers.push(open.close);
    const reserved = open.reserved_hosts;
    if (!reserved) continue;
    context = {
      ...context,
      egress: reserved.denyEgress(context.egress),
      unreserved_destination: reserved.denyDestination(context.unreserved_destination),
    };
  }
  return opened;
}

/**
 * Starts a node from a configuration: stores, egress, features, the cluster and the HTTP servers, in this order, and stops
 * it in the opposite order. What a slice adds is in its feature (features.ts); this file names no slice but accounts.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { prepareAccounts } from "../actors/business/accounts/keys.ts";
import { prepareOperatorKey } from "../actors/business/accounts/operator-key.ts";
import type { Spending } from "../actors/business/accounts/spend.ts";
import { Spend } from "../actors/business/accounts/feature/tokens.ts";
import { untracedTimers } from "../cluster/spans.ts";
import { lacksDescriptors } from "../cluster/adapters/egress/descriptors.ts";
import { pinoLog } from "../cluster/adapters/telemetry/log.pino.ts";
import { METRICS } from "./metrics.ts";
import { prometheusMetrics } from "../cluster/adapters/telemetry/metrics.prometheus.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import { Fault } from "../cluster/ports/fault.ts";
import { traceIdOf, type Tracing } from "../cluster/ports/tracing.ts";
import { type Check, pingAll } from "../gateway/checks.ts";
import { metering } from "../gateway/metering.ts";
import type { LedgerRow } from "../schemas/ledger.ts";
import { pendingRequests, recoverPending } from "../gateway/pending-requests.ts";
import { keyQuotas } from "../gateway/quotas.ts";
import type { AnyFeature, JoinedFeature, JoinedNode } from "../node/feature.ts";
import { startOrder } from "../node/start-order.ts";
import { topologyOf, topologyProblem } from "../node/topology.ts";
import { startBackgroundWork } from "./background-work.ts";
import { buildName, readBuildInfo } from "./build-info.ts";
import { join as joinCluster, type Membership } from "./cluster.ts";
import type { Config } from "./config.ts";
import { joinContext, openContext } from "./context.ts";
import { FEATURES } from "./features.ts";
import { fewFilesWarning } from "./findings.ts";
import { openHttp } from "./http.ts";
import { inNetworks } from "./networks.ts";
import { nodeReport } from "./node-report.ts";
import { engineWarnings } from "./engine-warnings.ts";
import { sealAll } from "./seal-all.ts";
import { openFeatures } from "./start-features.ts";
import { operatorKeyFile } from "./operator-key-file.ts";
import { startWhenReachable } from "./start-retry.ts";
import { type Closers, type Stopping, stopping } from "./stopping.ts";
import { claimData } from "./stores.ts";
import { openTracing } from "./tracing.ts";
import { assertListed, LISTED } from "./collections.ts";

/** A node that runs. */
export interface Running extends Pick<Stopping, "stop" | "ended" | "crash"> {
  /** The address at which it listens. */
  readonly address: string;
  /** Which HTTP server runs, and why not the faster one. */
  readonly http: string;
  /** The first admin key, to be printed once; null when there were keys. */
  readonly first_key: string | null;
  /** The console's address with a new one-time link, with the first key or the operator's in the data folder; null: there is no such link. */
  readonly signInLink: () => string | null;
  /** Whether the API is served at the address; else only the node's status. */
  readonly serves: boolean;
  /** Sentences that an operator should know at once. */
  readonly warnings: readonly string[];
  /** Starts what reads pages before the first one comes, on a node that reads any. Does not wait. */
  readonly warmReaders: () => void;
}

/** A store that takes longer counts as away for the public status. */
const STORE_WAIT_MS = 5_000;

const build = readBuildInfo(fileURLToPath(new URL("..", import.meta.url)));

/** Throws what keeps the node from starting, after TRAWL_START_WAIT_S when that is an engine that does not answer. */
export async function start(config: Config): Promise<Running> {
  const log = pinoLog({ level: config.log.level, fields: {} });
  const within_ms = 1_000 * config.cluster.start_wait_s;
  return startWhenReachable({ clock: systemClock(), log, within_ms }, async () => {
    const closers: Closers = [];
    try {
      return await compose(config, closers);
    } catch (problem) {
      for (const close of closers.toReversed()) await close().catch(() => {});
      throw problem;
    }
  });
}

async function compose(config: Config, closers: Closers): Promise<Running> {
  const order = startOrder<AnyFeature>(FEATURES);
  const topology = topologyOf(config);
  const problem = topologyProblem(topology, config.storage);
  if (problem !== null) throw new Error(problem);
  const lock = claimData(config);
  closers.push(async () => lock[Symbol.dispose]());
  const metrics = prometheusMetrics(METRICS);
  const line = { tracing: undefined as Tracing | undefined, node: undefined as string | undefined };
  const log = pinoLog({
    level: config.log.level,
    fields: {
      get node() {
        return line.node;
      },
      get trace_id() {
        return traceIdOf(line.tracing?.current() ?? null);
      },
    },
  });
  const tracing = (line.tracing = await openTracing(config, build.version, log));
  closers.push(async () => tracing?.close());
  const clock = untracedTimers(tracing, systemClock());
  const opening = await openContext(
    config,
    { topology, version: build.version, build: buildName(build), metrics, log, tracing, clock },
    closers,
  );
  const { role_actors: roleActors, join } = await openFeatures(order, opening, config, closers);

  const { random, documents, blobs, memory, caches, identity, storeWatch } = opening;
  const shared = { clock, random, documents, blobs, memory, caches, metrics, log, tracing, roleActors };
  const membership = await joinCluster(config, topology, { ...shared, documents_id: identity.id });
  const { cluster, node } = membership;
  line.node = node;
  const stores = {
    documents: { ping: storeWatch.ping.documents, gates: true },
    ...membership.checks,
    object_storage: { ping: storeWatch.ping.object_storage, gates: true },
  };
  const stops = stopping({ clock, log, metrics, node }, () => ({
    stopBackgroundWork,
    closeApi: http.closeApi,
    reportUsage: () => usage.drain(),
    leaveCluster: cluster.stop,
    closers,
  }));
  closers.push(
    () => membership.close(),
    async () => {
      if (!stops.isDraining()) await cluster.stop(0);
    },
  );
  const context = joinContext(opening, membership, () => answersOf(stores, clock), closers);
  const features = await join(context);
  assertListed();
  const { parts } = features;
  const actors = parts.flatMap((part) => part.actors ?? []);
  const persistent = actors.filter(({ persist }) => persist !== undefined).map(({ contract }) => contract);
  for (const { name } of [...LISTED, ...persistent])
    metrics.begin("trawl_documents_written_total", { collection: name });
  await membership.serve(actors);

  const first = await prepareAccounts(documents, config.gateway.admin_key ?? null, clock.now());
  if (first.admin_key === "revoked")
    log.warn("TRAWL_ADMIN_KEY names a revoked key: it stays revoked and is refused");
  const operator = await prepareOperatorKey(
    documents,
    {
      named_key: config.gateway.operator_key ?? null,
      file: operatorKeyFile(config),
      is_shared: !topology.isAlone,
    },
    clock.now(),
  );
  if (operator === "revoked")
    log.warn("TRAWL_OPERATOR_KEY names a revoked key: it stays revoked and is refused");
  const spending = features.given(Spend);
  const usage = await openUsage(context, spending);
  const work = startBackgroundWork(build, { ...context, identity, spending }, parts, actors, membership);
  const few_files = fewFilesWarning(await readFile("/proc/self/limits", "utf8").catch(() => null));
  const warnings = (): readonly string[] => [
    ...work.warnings(),
    ...membership.warnings(),
    ...(few_files === null ? [] : [few_files]),
  ];
  const sealing = opening.secrets.isAllSealed ? null : sealAll(opening);
  const stopBackgroundWork = (): void => {
    work.stop();
    sealing?.[Symbol.dispose]();
  };
  closers.push(async () => stopBackgroundWork());

  const http = await openHttp({
    context,
    parts,
    membership,
    usage,
    storeWatch,
    checks: {
      ...stores,
      file_descriptors: DESCRIPTORS,
      ...Object.assign({}, ...parts.map((part) => part.checks)),
    },
    draining: stops.isDraining,
    warnings,
    metrics: {
      content_type: metrics.contentType,
      render: () => metrics.render(),
      isAllowed: inNetworks(config.gateway.metrics_allow),
    },
  });
  closers.push(http.close);

  for (const { onServing } of parts) await onServing?.();
  await announce({ config, clock, parts, membership, http, stops, setLogLevel: log.setLevel });
  const serves = topology.isGateway;
  if (serves) await http.serveApi();
  // A node reports where it listens.
  const sharesBodies = config.storage.blobs.startsWith("s3:") && config.storage.s3_small_bodies === "shared";
  for (const agreement of sharesBodies ? [opening.rightsOfPages, opening.sharing] : [opening.rightsOfPages]) {
    const looking = agreement.follow(() => membership.reports());
    closers.push(async () => looking[Symbol.dispose]());
  }
  const { name, address } = http.listening();
  const { status_address, sentence } = http;
  metrics.gauge("trawl_http_server_info", { name }, 1);
  const listening = { address, status_address, http: name, node };
  for (const { detail, advice } of engineWarnings(config)) log.warn(detail, { advice });
  log.info("Listening", { ...listening, ...build, nodejs: process.version });
  const { stop, ended, crash } = stops;
  return {
    address,
    http: sentence,
    first_key: first.key,
    signInLink() {
      const key = first.key ?? operatorKeyFile(config).read();
      return serves && key !== null ? http.signInLink(key) : null;
    },
    serves,
    warnings: warnings(),
    warmReaders: opening.warmReaders,
    stop,
    ended,
    crash,
  };
}

/** Meters what the API answers. Rows of requests whose process died are written first. */
async function openUsage(
  { topology, documents, clock, log, ask, ledger, name }: JoinedNode,
  spending: Spending,
): Promise<ReturnType<typeof metering>> {
  const quotas = keyQuotas({ ask, clock, log, gateway: name });
  const pending = pendingRequests({ documents, clock, log, gateway: () => name });
  // A single process that starts finds only requests of processes that ended.
  const { spentBy, settleCharge } = spending;
  const onRow = (row: LedgerRow): Promise<void> => settleCharge(ask, row);
  if (topology.isAlone) await recoverPending({ documents, clock, log, spentBy, onRow }, 0);
  return metering({ ask, clock, quotas, ledger, pending, spending });
}

interface Announced {
  readonly config: Config;
  readonly clock: Clock;
  readonly parts: readonly JoinedFeature[];
  readonly membership: Membership;
  readonly http: Awaited<ReturnType<typeof openHttp>>;
  readonly stops: Stopping;
  readonly setLogLevel: ReturnType<typeof pinoLog>["setLevel"];
}

/** The node answers what other nodes ask of it: its report, `trawl drain`, its log level. */
async function announce(node: Announced): Promise<void> {
  const { config, clock, parts, membership, http, stops, setLogLevel } = node;
  const started_ms = clock.now();
  const figures = () => parts.flatMap(({ node_figures }) => node_figures?.() ?? []);
  await membership.announce({
    report: () =>
      nodeReport({ config, build, membership, http, started_ms, draining: stops.isDraining, figures }),
    setLogLevel,
    // `ended` reports how the stop ends.
    drain: () => void stops.stop().catch(() => {}),
  });
}

const DESCRIPTORS: Check = {
  gates: true,
  async ping() {
    if (lacksDescriptors()) throw new Fault("no_descriptors", "Cannot open files or sockets");
  },
};

/** Whether each of them answers, by name. */
async function answersOf(
  checks: Readonly<Record<string, Check>>,
  clock: Clock,
): Promise<Readonly<Record<string, boolean>>> {
  const states = await pingAll(checks, clock, STORE_WAIT_MS);
  return Object.fromEntries(Object.entries(states).map(([name, state]) => [name, state === "ok"]));
}

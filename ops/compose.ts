/**
 * The only place that names adapters: a configuration becomes stores, a way out, actors, routes and a listening
 * gateway. What each of them does is its own; the order in which they begin and end is decided here.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { accountActor } from "../actors/accounts/actor.ts";
import { budgetOf, findGrant, listKeys, prepareAccounts, projectsOf } from "../actors/accounts/keys.ts";
import { domainActor } from "../actors/domain/actor.ts";
import { LEASE_MS } from "../actors/domain/politeness.ts";
import { robotsActor } from "../actors/domain/robots.actor.ts";
import { fetchActor } from "../actors/fetch/actor.ts";
import { fetchPipeline } from "../actors/fetch/pipeline.ts";
import { hostProfileActor } from "../actors/fetch/host-profile.actor.ts";
import { readPrices } from "../actors/fetch/prices.ts";
import { filingPages } from "../actors/filings/fetch-bridge.ts";
import { checkFilingsItem } from "../actors/filings/items.ts";
import { filingTextActor } from "../actors/filings/text.actor.ts";
import { noRegister } from "../actors/filings/register.ts";
import { filingsService } from "../actors/filings/service.ts";
import { fetchService } from "../actors/fetch/service.ts";
import { decodeText } from "../actors/lib/content/charset.ts";
import { destination, type Endpoint } from "../actors/lib/web/destination.ts";
import { cutOff, taskOf } from "../actors/lib/content/extract.ts";
import type { Extracted, ExtractTask } from "../actors/lib/content/extraction-result.ts";
import { siteNamed } from "../actors/lib/web/url.ts";
import { archiveTransport } from "../actors/tiers/adapters/transport.archive.ts";
import { searchService } from "../actors/search/service.ts";
import { directTransport } from "../actors/tiers/adapters/transport.direct.ts";
import { BROWSER_TASK, remoteBrowser, renderTask } from "../actors/tiers/adapters/transport.remote.ts";
import { proxyTransport } from "../actors/tiers/adapters/transport.proxy.ts";
import { renderTransport } from "../actors/tiers/adapters/transport.render.ts";
import type { ActorClient } from "../cluster/actor.ts";
import { yieldToEventLoop } from "../cluster/adapters/time/event-loop.system.ts";
import { systemClock } from "../cluster/adapters/time/clock.system.ts";
import { undiciEgress } from "../cluster/adapters/egress/egress.undici.ts";
import { pinoLog } from "../cluster/adapters/telemetry/log.pino.ts";
import { prometheusMetrics } from "../cluster/adapters/telemetry/metrics.prometheus.ts";
import { onlyTo } from "../cluster/adapters/egress/upstream-proxy.ts";
import { systemRandom } from "../cluster/adapters/time/random.system.ts";
import { processWorkers } from "../cluster/adapters/workers/workers.processes.ts";
import type { TaskResult, Workers } from "../cluster/ports/workers.ts";
import { chooseHttp } from "../gateway/adapters/choose-http.ts";
import { authenticator } from "../gateway/authenticate.ts";
import { metering } from "../gateway/metering.ts";
import { sharedRates } from "../gateway/rates.ts";
import { openapi } from "../gateway/openapi.ts";
import { openBodyGrants } from "../gateway/body-access.ts";
import type { Listening } from "../gateway/http.ts";
import type { Route } from "../gateway/route.ts";
import { accountRoutes } from "../gateway/routes/accounts.ts";
import { bodyRoutes } from "../gateway/routes/bodies.ts";
import { demoRoutes } from "../gateway/routes/demo.ts";
import { domainRoutes } from "../gateway/routes/domains.ts";
import { fetchBatch, fetchRoutes } from "../gateway/routes/fetch.ts";
import { filingsBatch, filingsRoutes } from "../gateway/routes/filings.ts";
import { pageRoutes } from "../gateway/routes/pages.ts";
import { searchBatch, searchRoutes } from "../gateway/routes/search.ts";
import { statusRoutes } from "../gateway/routes/status.ts";
import { server } from "../gateway/server.ts";
import { Quota } from "../schemas/accounts.ts";
import { FetchBody, FetchResponse } from "../schemas/fetch.ts";
import { JobCreated, JobItem, JobStatus } from "../schemas/jobs.ts";
import { SearchBody, SearchResponse } from "../schemas/search.ts";
import { openBrowser } from "./browser.ts";
import { topologyProblem, join as joinCluster, openRemoteTasks } from "./cluster.ts";
import { openSources } from "./alternates.ts";
import type { Config } from "./config.ts";
import { openFilingsUpstream } from "./filings.ts";
import { expireDocuments } from "./expire-documents.ts";
import { collectBodies } from "./collect-bodies.ts";
import { fetchItems, filingsItems, jobActors, jobsRoutes, searchItems } from "./jobs.ts";
import { readDemo, seedDemo } from "./demo.ts";
import { openSearch } from "./search.ts";
import { openRequestAudit } from "./request-audit.ts";
import { dataPath, openBlobs, openDocuments } from "./stores.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";

/** A service that runs. */
export interface Running {
  /** Where it listens. */
  readonly address: string;
  /** Which HTTP server runs, and why not the faster one. */
  readonly http: string;
  /** The first admin key, to be printed once; null when there were keys. */
  readonly first_key: string | null;
  /** Whether clients are served there; else it tells of this node only. */
  readonly serves: boolean;
  /** Says not_ready, lets what is in flight end within the time, hands everything over, stores everything. */
  readonly stop: (within_ms?: number) => Promise<void>;
  /** Resolves when it has stopped, also when a node was told to by `trawl drain`. */
  readonly ended: Promise<void>;
}

const STOP_MS = 160_000;
/** The profile site is asked more slowly than others (2-adapters.md, part B). */
const PROFILES_PACE = { min_delay_ms: 1_000, max_concurrency: 2 };

/** What clients are generated from gets names; other shapes are written out where they stand. */
const NAMED = { FetchBody, FetchResponse, SearchBody, SearchResponse, JobCreated, JobItem, JobStatus, Quota };

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/** The children that read documents; what goes wrong in them stays in them. */
function readers(metrics: Metrics, log: Log): Workers {
  const size = Math.max(1, availableParallelism() - 1);
  return processWorkers({
    tasks: new URL("../actors/lib/content/extract.ts", import.meta.url),
    pools: {
      page: {
        size: 1,
        heap_mb: 256,
        max_rss_mb: 1_024,
        replace_above_rss_mb: 300,
        timeout_ms: 5_000,
        max_tasks: 2_000,
      },
      pdf: {
        size,
        heap_mb: 512,
        max_rss_mb: 1_536,
        replace_above_rss_mb: 600,
        timeout_ms: 60_000,
        max_tasks: 50,
      },
    },
    queue_limit: 256,
    log,
  });
}

export async function start(config: Config): Promise<Running> {
  const opened: Close[] = [];
  try {
    return await assemble(config, opened);
  } catch (problem) {
    // What keeps the process alive, or others waiting for it.
    for (const close of opened.toReversed()) await close().catch(() => {});
    throw problem;
  }
}

type Close = () => Promise<unknown>;

async function assemble(config: Config, opened: Close[]): Promise<Running> {
  const wrong = topologyProblem(config);
  if (wrong !== null) throw new Error(wrong);
  const { roles } = config.cluster;
  const works = roles.includes("worker");
  const serves = roles.includes("gateway");
  const clock = systemClock();
  const random = systemRandom();
  const metrics = prometheusMetrics();
  const log = pinoLog({ level: config.log.level });
  const documents = await openDocuments(config);
  opened.push(() => documents.close());
  const blobs = await openBlobs(config);
  opened.push(() => blobs.close());

  const rule = destination({ allow: config.egress.allow, own: ownEndpoints(config) });
  const filings = openFilingsUpstream(config, { clock, random, documents, blobs, metrics, log, rule });
  opened.push(() => filings.close());
  const egress = filings.denyFilingHosts(
    undiciEgress({ judge: rule, dns_servers: config.egress.dns_servers }),
  );
  // A node without actors reads no documents, so it needs none to read them.
  const workers = works ? readers(metrics, log) : null;
  const extract = async (task: ExtractTask, signal: AbortSignal): Promise<TaskResult<Extracted>> =>
    // There is nothing to read in what is no text; its bytes need not travel.
    task.kind === "binary"
      ? { kind: "done", value: { ...cutOff(task, ""), note: null } }
      : workers!.run<Extracted>(taskOf(task.kind), task, signal);

  const [canonical] = config.profiles.hosts;
  const joined = new Map(config.profiles.hosts.map((host) => [host, canonical!]));
  const pace = { ...config.politeness, lease_ms: LEASE_MS };
  const { name: crawler_name } = config.crawler;
  const user_agent = `Mozilla/5.0 (compatible; ${crawler_name}/${version})`;
  const { archive_url, proxy_url, render_url, render_key, prices } = config.tiers;
  const dns_servers = config.egress.dns_servers;
  // Leads to the rendering service and nowhere else, so that it may be private.
  const to_renderer =
    render_url === undefined ? null : undiciEgress({ judge: onlyTo(new URL(render_url)), dns_servers });
  const common = { egress, clock, destination: rule };
  const remoteTasks = await openRemoteTasks(config, log);
  if (remoteTasks) opened.push(() => remoteTasks.close());
  const browser =
    roles.includes("browser") && (works || remoteTasks)
      ? await openBrowser(config, {
          clock,
          metrics,
          log,
          destination: rule,
          subresource_destination: filings.denyFilingDestinations(rule),
        })
      : null;
  if (browser) opened.push(() => browser.close());
  // Of a worker that has the role and no Chromium nobody expects pages; one without the role asks who has it.
  const rendering = roles.includes("browser")
    ? (browser?.transport ?? null)
    : remoteTasks && remoteBrowser({ remoteTasks, blobs, clock });
  const tiers = {
    direct: directTransport(common),
    ...(rendering && { browser: rendering }),
    ...(archive_url !== "none" && { archive: archiveTransport({ egress, clock, archive_url, user_agent }) }),
    ...(proxy_url !== undefined && { proxy: proxyTransport({ ...common, proxy_url, joined }) }),
    ...(to_renderer && {
      proxy_render: renderTransport({
        ...common,
        egress: to_renderer,
        render_url: render_url!,
        ...(render_key !== undefined && { render_key }),
      }),
    }),
  };
  const requestAudit =
    works && config.audit.requests === "on"
      ? openRequestAudit({ documents, clock, log, node: () => node })
      : null;
  const budget = (project: string) => budgetOf(documents, project);
  const index_path = dataPath(config.storage.data_dir, "search.sqlite");
  const bodyGrants = openBodyGrants({ documents, clock });
  const searching = openSearch(config, { clock, documents, metrics, log, index_path, budgetOf: budget });
  const { revision } = searching;
  // Jobs that are found at the start ask with a voice of their own, before there is anybody else to ask.
  const ask: ActorClient = (of, key, operation, message, options) =>
    cluster.ask(of, key, operation, message, options);
  const source = filings.source(ask);
  const handed = filingPages({ source, hosts: filings.hosts, blobs, clock });
  const filed = filingsService({
    source: config.filings.identity === undefined ? null : source,
    register: noRegister,
    ask,
    blobs,
    documents,
    clock,
    yieldToEventLoop,
    www_url: config.filings.www_url.replace(/\/+$/, ""),
  });
  const pages = fetchService({ documents, ask, clock, metrics, log, joined, reservedHosts: handed });
  const find = searchService({ documents, ask, clock, metrics, revision });
  const membership = await joinCluster(
    config,
    [
      accountActor(),
      domainActor(pace, canonical === undefined ? {} : { [canonical]: PROFILES_PACE }),
      robotsActor({
        egress,
        clock,
        crawler_name,
        user_agent,
        joined,
        ...(requestAudit && { onRequestSent: requestAudit.record }),
      }),
      hostProfileActor(),
      fetchActor({
        runFetch: fetchPipeline({
          clock,
          documents,
          blobs,
          metrics,
          log,
          routes: tiers,
          ...(requestAudit && { onRequestSent: requestAudit.record }),
          extract,
          joined,
          prices: readPrices(prices),
          budgetOf: budget,
          sources: openSources(config, {
            clock,
            documents,
            metrics,
            log,
            searchParts: searching,
            user_agent,
          }),
          onPageStored: searching.onPageStored,
          onGone: searching.onGone,
          reservedHosts: handed,
        }),
        loadStored: (digest) => documents.get("pages", digest),
        now: () => clock.now(),
      }),
      ...searching.actors,
      ...filings.actors,
      filingTextActor({ clock, documents, blobs, metrics, log, extract }),
      ...jobActors({
        documents,
        clock,
        random,
        metrics,
        log,
        egress,
        kinds: [
          fetchItems({ pages, bodyGrants: bodyGrants, clock, joined }),
          searchItems({ search: find }),
          filingsItems({ filed, bodyGrants: bodyGrants, clock }),
        ],
      }),
    ],
    { clock, random, documents, metrics, log },
  );
  const { cluster, node } = membership;
  opened.push(
    () => membership.close(),
    () => cluster.stop(0),
  );
  await cluster.recovered;

  const first = await prepareAccounts(documents, config.gateway.admin_key ?? null, clock.now());
  if (first.admin_key === "revoked")
    log.warn("TRAWL_ADMIN_KEY names a key that was revoked: it stays so, and opens nothing");
  const isOneOfMany = membership.isShared;
  const usageMetering = metering({ ask: cluster.ask, clock, log, gateway: node, shared: isOneOfMany });
  const identify = authenticator({
    find: (key_sha256) => findGrant(documents, key_sha256),
    metering: usageMetering,
    clock,
  });
  const demo = searching.index ? readDemo() : null;

  const documentExpiry = expireDocuments({
    documents,
    clock,
    log,
    collections: [
      "submissions_files",
      "filing_texts",
      "filing_documents",
      "body_refs",
      "pages",
      "body_grants",
      "searches",
      "request_audit",
    ],
  });
  const bodyCollection = collectBodies({ documents, blobs, clock, metrics, log, random });
  const stopCleaning = (): void => [documentExpiry, bodyCollection].forEach((work) => work[Symbol.dispose]());
  opened.push(async () => stopCleaning());

  let draining = false;
  const { listen, sentence } = await chooseHttp();
  const { host, port } = config.gateway;
  const public_url = config.gateway.public_url ?? `http://${bracketed(host)}:${port}`;
  const statusPages = statusRoutes({
    checks: {
      documents: { ping: () => documents.ping(), gates: true },
      ...membership.checks,
      object_storage: { ping: () => blobs.ping(), gates: false },
      search: {
        ping: async () => {
          if (!searching.registered) throw new Error("No metasearch instance is set up");
        },
        gates: true,
      },
    },
    draining: () => draining,
    version,
    clock,
    metrics: { content_type: metrics.contentType, render: () => metrics.render() },
  });
  const routes: Route[] = [
    ...fetchRoutes({
      ...pages,
      isOperatorUrl: handed.isReserved,
      decode: decodeText,
      blobs,
      bodyGrants: bodyGrants,
      clock,
      metrics,
      log,
    }),
    ...searchRoutes({ search: find, clock, metrics, log }),
    ...filingsRoutes({
      filings: filed,
      decode: decodeText,
      blobs,
      bodyGrants: bodyGrants,
      clock,
      metrics,
      log,
      yieldToEventLoop,
    }),
    ...bodyRoutes({ blobs, bodyGrants: bodyGrants }),
    ...jobsRoutes({
      documents,
      ask: cluster.ask,
      clock,
      random,
      log,
      kinds: [
        fetchBatch({ blobs, decode: decodeText, isOperatorUrl: handed.isReserved }),
        searchBatch,
        filingsBatch({ blobs, decode: decodeText }, checkFilingsItem),
      ],
    }),
    ...accountRoutes({
      ask: cluster.ask,
      metering: usageMetering,
      clock,
      projectsOf: (customer) => projectsOf(documents, customer),
      keysOf: (project) => listKeys(documents, project),
    }),
    ...domainRoutes({
      ask: cluster.ask,
      siteOf: (name) => siteNamed(name, joined),
      // An actor's memory stands in the collection of its name, under its key: "<site> <host>".
      hostsOf: async (site, limit) => {
        const range = { from: `${site} `, to: `${site}!`, limit };
        const hosts = await documents.list("host_profile", range);
        return hosts.map(({ key }) => key.slice(site.length + 1));
      },
    }),
    ...statusPages,
    ...(demo ? demoRoutes(demo) : []),
    ...pageRoutes({
      document: () => openapi({ routes, public_url: seenAt(), named: NAMED }),
      public_url: () => seenAt(),
      version,
    }),
  ];
  const rates = isOneOfMany ? { rates: sharedRates({ ask: cluster.ask, clock, metrics }) } : {};
  const serverDeps = { identify, metering: usageMetering, ...rates, clock, random, metrics, log };
  const seed = async (base: string): Promise<void> => {
    const { index } = searching;
    if (index && demo) await seedDemo({ documents, blobs, index, clock, extract }, demo, base);
  };
  // Whoever is answered at all shall find something; only a port that is drawn must be drawn first.
  const isKnown = port !== 0 || config.gateway.public_url !== undefined;
  if (isKnown) await seed(public_url.replace(/\/+$/, ""));
  const listening = (paths: readonly Route[], at_port: number, sharing: boolean): Promise<Listening> => {
    const { admit, failed } = server({ ...serverDeps, routes: paths });
    return listen(admit, { host, port: at_port, shared: sharing, failed });
  };
  // Gateways share their port, so nobody can address one of them there: each node also has a port of its own.
  const statusServer = membership.isShared
    ? await listening(statusPages, config.cluster.status_port, false)
    : null;
  const addressOf = (at_port: number): string => `http://${bracketed(host)}:${at_port}`;
  if (statusServer) opened.push(() => statusServer.close(0));
  const status_address = statusServer ? addressOf(statusServer.port) : null;
  let address = addressOf(port);
  const seenAt = (): string => config.gateway.public_url ?? address;
  const ended = Promise.withResolvers<void>();
  let apiServer: Listening | null = null;
  async function end(within_ms: number): Promise<void> {
    draining = true;
    stopCleaning();
    await apiServer?.close(within_ms);
    await usageMetering.drain();
    await cluster.stop(within_ms);
    await requestAudit?.close();
    await statusServer?.close(0);
    await membership.close();
    await workers?.close();
    await remoteTasks?.close();
    await browser?.close();
    await egress.close();
    await filings.close();
    await searching.close();
    await to_renderer?.close();
    await blobs.close();
    await documents.close();
  }
  let ending: Promise<void> | null = null;
  const stop = (within_ms = STOP_MS): Promise<void> => {
    ending ??= end(within_ms).then(ended.resolve, (problem: unknown) => {
      ended.reject(problem);
      throw problem;
    });
    return ending;
  };

  if (remoteTasks && browser)
    await remoteTasks.serve(
      BROWSER_TASK,
      browser.max_pages,
      renderTask({ transport: browser.transport, blobs, clock }),
    );
  const began_ms = clock.now();
  await membership.announce({
    report() {
      const { activations, running_work: running, pending_asks: questions } = cluster.stats();
      return {
        node,
        version,
        roles,
        // Only where it really listens: neighbours share the port with whom they find there.
        address: apiServer ? address : null,
        status_address: status_address ?? address,
        started_ms: began_ms,
        draining,
        partitions: membership.ownedPartitions(),
        active_actors: Object.values(activations).reduce((sum, count) => sum + count, 0),
        background_works: running,
        pending_asks: questions,
      };
    },
    // How it ends is told by `ended`.
    drain: () => void stop().catch(() => {}),
  });
  if (serves) {
    const shared = membership.isShared && port !== 0;
    if (shared) await membership.claimSharedPort(host, port, address);
    apiServer = await listening(routes, port, shared);
  }
  const { name, port: listens_at } = (apiServer ?? statusServer)!;
  metrics.gauge("trawl_http_server_info", { name }, 1);
  address = addressOf(listens_at);
  if (!isKnown) await seed(address);
  log.info("Listening", { address, status_address, http: name, node, version: process.version });
  return { address, http: sentence, first_key: first.key, serves, stop, ended: ended.promise };
}

const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** Where this service and its engines listen: never a destination. */
function ownEndpoints(config: Config): readonly Endpoint[] {
  const { host, port } = config.gateway;
  const { status_port } = config.cluster;
  const engines = [config.cluster.bus, config.storage.documents, config.storage.s3_endpoint ?? ""].flatMap(
    (address) =>
      address.includes("://")
        ? address
            .replace(/^\w+:\/\/([^/@]*@)?/, "")
            .replace(/[/?].*$/, "")
            .split(",")
            .map((place) => endpointOf(place))
        : [],
  );
  return [{ host, port }, { host, port: status_port }, ...engines.filter((endpoint) => endpoint !== null)];
}

function endpointOf(place: string): Endpoint | null {
  const url = URL.parse(`http://${place}`);
  return url && url.port !== "" ? { host: url.hostname, port: Number(url.port) } : null;
}

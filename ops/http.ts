/**
 * The HTTP servers of a node: its status on a port of its own where several nodes form a cluster, and the API where the
 * node has the role `gateway`.
 */
import { findGrant } from "../actors/business/accounts/keys.ts";
import { BODY_TAG_COLLECTIONS, forgetTagged } from "../cluster/body-refs.ts";
import { chooseHttp } from "../gateway/adapters/choose-http.ts";
import { listenNode } from "../gateway/adapters/http.node.ts";
import { consoleSessions, withConsoleSessions } from "../gateway/console-sessions.ts";
import { consoleRoutes } from "../gateway/routes/console.ts";
import { signInLinks } from "../gateway/sign-in-links.ts";
import { authenticator } from "../gateway/authenticate.ts";
import type { Listening, ListenOptions } from "../gateway/http.ts";
import type { Metering } from "../gateway/metering.ts";
import { SOCKET_PATHS } from "../gateway/firecrawl/jobs.ts";
import { firecrawlRoutes } from "../gateway/firecrawl/routes.ts";
import type { ApiDocument } from "../gateway/documentation/api-document.ts";
import { documentationRoutes } from "../gateway/documentation/routes.ts";
import { guideRoutes } from "../gateway/routes/guides.ts";
import { mcpRoute } from "../gateway/mcp/mcp-route.ts";
import { openapi } from "../gateway/openapi/document.ts";
import { sharedRates } from "../gateway/rates.ts";
import type { Audience, Route } from "../gateway/route.ts";
import { bodyRoutes } from "../gateway/routes/bodies.ts";
import { crawlerRoute } from "../gateway/routes/crawler.ts";
import { audited, operatorAuditRoute } from "../gateway/operator-audit.ts";
import { deadLetterRoutes } from "../gateway/routes/dead-letters.ts";
import { operatorRoutes } from "../gateway/routes/operator.ts";
import { pageRoutes } from "../gateway/routes/pages.ts";
import {
  isLoopbackHost,
  type MetricsPage,
  type MetricsReaders,
  metricsRoute,
  type StatusRoutesDeps,
  statusRoutes,
} from "../gateway/routes/status.ts";
import type { EndedRequest } from "../gateway/request-end.ts";
import { server } from "../gateway/server.ts";
import { behindProxies } from "../gateway/trusted-proxies.ts";
import type { Membership } from "./cluster.ts";
import type { JoinedFeature, JoinedNode } from "../node/feature.ts";
import { inNetworks } from "./networks.ts";
import { ownUrl } from "./own-endpoints.ts";
import { guideFiles, pictureFiles } from "./guide-files.ts";
import { pageFiles } from "./page-files.ts";
import { openTlsFiles, tlsPaths } from "./tls-files.ts";
import type { StoreWatch } from "./store-watch.ts";

interface HttpDeps {
  readonly context: JoinedNode;
  readonly parts: readonly JoinedFeature[];
  readonly membership: Membership;
  readonly usage: Metering;
  readonly storeWatch: StoreWatch;
  /** Checks of /ready, by name. */
  readonly checks: StatusRoutesDeps["checks"];
  readonly draining: () => boolean;
  /** Warnings of the node itself; features have their own. */
  readonly warnings: () => readonly string[];
  readonly metrics: StatusRoutesDeps["metrics"];
}

export interface HttpServers {
  /** Which HTTP server runs, and why not the faster one. */
  readonly sentence: string;
  /** The address of the console with a one-time link for this key; null where others than this machine may reach the API. */
  readonly signInLink: (key: string) => string | null;
  /** The address of the API, as the node listens; null before `serveApi`. */
  readonly apiAddress: () => string | null;
  /** The address of the node's own status; null where it is served with the API. */
  readonly status_address: string | null;
  /** Listens for clients. Throws when the port is taken. */
  readonly serveApi: () => Promise<void>;
  /** The listening server's name and address. */
  readonly listening: () => { readonly name: string; readonly address: string };
  readonly closeApi: (within_ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openHttp(deps: HttpDeps): Promise<HttpServers> {
  const { context, parts, membership, usage, storeWatch } = deps;
  const { config, documents, clock, random, metrics, log, tracing, ask, requestWindow } = context;
  const { isShared } = membership;
  const { metrics: metricsPage } = deps;
  const { host, port, tls_cert, trusted_proxies } = config.gateway;
  const tls_paths = tlsPaths(config.gateway);
  const tls = tls_paths && openTlsFiles(tls_paths, { clock, log });
  const statusAddressOf = (at_port: number): string => ownUrl({ host, port: at_port });
  const addressOf = (at_port: number): string => ownUrl({ host, port: at_port, tls_cert });
  let address = addressOf(port);
  /** Null: the operator has not said it. Paths are put behind it. */
  const public_url = config.gateway.public_url?.replace(/(?<!\/)\/+$/, "") ?? null;
  const publicUrl = (): string => public_url ?? address;
  const isSecure = tls !== null || public_url?.startsWith("https:") === true;
  const sessions = consoleSessions(context.secrets, isSecure);
  const links = signInLinks(() => clock.now());
  const announceAddress = async (): Promise<void> => {
    for (const { onAddress } of parts) await onAddress?.(publicUrl());
  };

  const isNode = config.gateway.http_server === "node";
  const { listen, sentence } = await chooseHttp({ isTls: tls !== null, isNode });
  const find = (key_sha256: string) => findGrant(documents, key_sha256, clock.now());
  const identify = authenticator({ find, metering: usage, clock });
  const rates = isShared ? { rates: sharedRates({ ask, clock, metrics }) } : {};
  const { memory } = context;
  const world = { clock, random, metrics, log, onEnd: countingRequests(requestWindow), tracing };
  const serverDeps = { identify, metering: usage, ...rates, stores: storeWatch, memory, ...world };
  const open = (
    routes: readonly Route[],
    at_port: number,
    options: Pick<ListenOptions, "shared" | "tls">,
    listenBy = listen,
  ): Promise<Listening> => {
    const { admit: admitApi, failed } = server({ ...serverDeps, routes });
    const admit = withConsoleSessions(admitApi, sessions, () => clock.now());
    const behind = trusted_proxies.length === 0 ? admit : behindProxies(admit, inNetworks(trusted_proxies));
    return listenBy(behind, { host, port: at_port, failed, socket_paths: SOCKET_PATHS, ...options });
  };

  /** On a port of its own, where the operator wants it: whoever reaches it may read it. */
  const openMetrics = async (page: MetricsPage): Promise<Listening | null> => {
    const { metrics_address } = config.gateway;
    if (metrics_address === undefined) return null;
    const { admit, failed } = server({ ...serverDeps, routes: [metricsRoute(page, "all")] });
    const { hostname, port: metrics_port } = new URL(`http://${metrics_address}`);
    return listen(admit, {
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(metrics_port || 80),
      shared: false,
      failed,
    });
  };

  // Before any request is answered. A port that the system chooses is only known afterwards.
  const isAddressKnown = port !== 0 || config.gateway.public_url !== undefined;
  if (isAddressKnown) await announceAddress();
  // Gateways share their port, so each node of a cluster has a port of its own for its status. Balancers check it by HTTP/1.0.
  const statusServer = isShared
    ? await open(
        statusOf(deps, sentence, "allowed"),
        config.cluster.status_port,
        { shared: false },
        listenNode,
      )
    : null;
  const metricsServer = metricsPage && (await openMetrics(metricsPage));
  let apiServer: Listening | null = null;

  return {
    sentence,
    signInLink: (key) =>
      isPublished(config.gateway) ? null : `${publicUrl()}/console#/sign-in/${links.make(key)}`,
    apiAddress: () => (apiServer ? address : null),
    status_address: statusServer ? statusAddressOf(statusServer.port) : null,
    async serveApi() {
      const isSharing = isShared && port !== 0;
      if (isSharing) await membership.claimSharedPort(host, port, address);
      const statusPages = statusOf(deps, sentence, isPublished(config.gateway) ? "none" : "allowed");
      const own = [...statusPages, ...consoleRoutes(sessions, clock, links)];
      apiServer = await open(apiOf(deps, own, { public_url, publicUrl }), port, {
        shared: isSharing,
        ...(tls && { tls }),
      });
      address = addressOf(apiServer.port);
      if (!isAddressKnown) await announceAddress();
    },
    listening() {
      const { name, port: listens_at } = (apiServer ?? statusServer)!;
      return { name, address: (apiServer ? addressOf : statusAddressOf)(listens_at) };
    },
    closeApi: async (within_ms) => apiServer?.close(within_ms),
    async close() {
      tls?.close();
      await metricsServer?.close(0);
      await statusServer?.close(0);
    },
  };
}

/** Whether others than this machine may reach the API: then its port shows no metrics, whatever the peer's address says. */
export const isPublished = ({
  host,
  public_url,
  trusted_proxies,
}: JoinedNode["config"]["gateway"]): boolean =>
  public_url !== undefined || trusted_proxies.length > 0 || !isLoopbackHost(host);

/** Routes of every node. */
function statusOf(deps: HttpDeps, http_server: string, metrics_readers: MetricsReaders): readonly Route[] {
  const { context, parts, membership, checks, draining, warnings, metrics } = deps;
  const { memory, version, clock } = context;
  const { clock_skew_ms } = membership;
  return statusRoutes({
    checks,
    draining,
    version,
    http_server,
    clock,
    clock_skew_ms,
    memory,
    metrics_readers,
    warnings: () => [...warnings(), ...parts.flatMap((feature) => feature.warnings?.() ?? [])],
    ...(metrics && { metrics }),
  });
}

/** Routes of a gateway. */
function apiOf(
  { context, parts, membership }: HttpDeps,
  own: readonly Route[],
  { public_url, publicUrl }: { readonly public_url: string | null; readonly publicUrl: () => string },
): readonly Route[] {
  const { blobs, bodyGrants, build, clock, config, documents, log, metrics, user_agent, version } = context;
  const { name, contact = null, page_robots, url } = config.crawler;
  const references = parts.flatMap(({ reference }) => reference ?? []);
  const guides = guideFiles();
  const document = (audience: Audience): ApiDocument =>
    openapi({ routes, public_url: publicUrl(), audience, references }) as ApiDocument;
  const routes: Route[] = [
    ...parts.flatMap((feature) => feature.routes ?? []),
    ...bodyRoutes({
      blobs,
      bodyGrants,
      onVanished: (sha256) => forgetTagged(documents, BODY_TAG_COLLECTIONS, sha256),
    }),
    mcpRoute({ version, clock, publicUrl }),
    ...firecrawlRoutes({
      public_url,
      scheme: tlsPaths(config.gateway) ? "https" : "http",
    }),
    ...operatorRoutes({ ...membership, partitions: membership.partitionCount }),
    ...deadLetterRoutes({ documents }),
    operatorAuditRoute({ documents }),
    crawlerRoute({ name, user_agent, contact, page_robots, isDeclared: url !== undefined }),
    ...own,
    ...guideRoutes({ guides, publicUrl }),
    ...documentationRoutes({
      guides,
      documents: () => [document("clients"), document("operators")],
      publicUrl,
      picture: pictureFiles(),
      version,
      clock,
    }),
    ...pageRoutes({
      document,
      file: pageFiles(build),
    }),
  ];
  return audited(routes, { documents, clock, metrics, log });
}

/** Counts requests to the API for the public status. */
export const countingRequests =
  (window: JoinedNode["requestWindow"]) =>
  ({ route, status, ms, ended_ms }: EndedRequest): void => {
    if (!route.startsWith("/v1/") || route.startsWith("/v1/status")) return;
    window.add("requests", ended_ms);
    if (status < 500) window.add("successes", ended_ms);
    window.observe(ms, ended_ms);
  };

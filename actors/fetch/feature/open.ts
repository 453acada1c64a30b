/**
 * Assembles fetches: the routes that are configured, the actors of fetches, domains and host profiles, the API's routes,
 * and fetches as batch items.
 */
import { onlyTo } from "../../../cluster/adapters/egress/upstream-proxy.ts";
import type { FeatureContext, OpenFeature } from "../../../ops/feature.ts";
import type { RoleActor } from "../../../cluster/role-actor.ts";
import { type Tier, TIERS } from "../../../schemas/fetch.ts";
import { domainActor } from "../../domain/actor.ts";
import { LEASE_MS } from "../../domain/politeness.ts";
import { robotsActor } from "../../domain/robots.actor.ts";
import { decodeText } from "../../lib/content/charset.ts";
import type { Transport } from "../../lib/web/transport.ts";
import { siteNamed } from "../../lib/web/url.ts";
import { archiveTransport } from "../../tiers/adapters/transport.archive.ts";
import { directTransport } from "../../tiers/adapters/transport.direct.ts";
import { proxyTransport } from "../../tiers/adapters/transport.proxy.ts";
import { renderTransport } from "../../tiers/adapters/transport.render.ts";
import { readCapacities, tierPolicy } from "../../tiers/policy.ts";
import { tierActor } from "../../tiers/tier.actor.ts";
import { tierRoute } from "../../tiers/tier-route.ts";
import { fetchActor } from "../actor.ts";
import { formatsDeriver } from "../formats.ts";
import { hostProfileActor } from "../host-profile.actor.ts";
import { loadPages } from "../page-store.ts";
import { fetchPipeline } from "../pipeline.ts";
import { readPrices } from "../prices.ts";
import type { ReservedHosts } from "../reserved-hosts.ts";
import { openRoom } from "../run.ts";
import { fetchService, type RetrievedPage } from "../service.ts";
import { openSources } from "./alternates.ts";
import { openBrowser } from "./browser.ts";
import { domainRoutes } from "./domain-routes.ts";
import { fetchItems } from "./item-kind.ts";
import { fetchBatch, fetchRoutes } from "./routes.ts";
import type { FetchSettings } from "./settings.ts";
import { fetchReference } from "./reference.ts";

/** The profile site is asked more slowly than other domains. */
const PROFILES_LIMITS = { min_delay_ms: 1_000, max_concurrency: 2 };

export async function openFetch(context: FeatureContext, settings: FetchSettings): Promise<OpenFeature> {
  const { config, clock, documents, blobs, metrics, log, egress, ask, joined, extract, bodyGrants } = context;
  const { onRequestSent, opened, user_agent, memory } = context;
  const routes = await openTiers(context, settings);
  const reservedHosts = allReserved(opened);
  const indexes = opened.flatMap(({ page_index }) => page_index ?? []);
  const onRetrieved = (page: RetrievedPage) => indexes.forEach((index) => index.onRetrieved(page));
  const service = fetchService({ documents, ask, clock, metrics, log, joined, reservedHosts, onRetrieved });
  const rendering = { blobs, decode: decodeText, isOperatorUrl: reservedHosts.isReserved };
  const [canonical] = config.profiles.hosts;

  return {
    role_actors: routes.tiers,
    actors: [
      domainActor(
        { ...settings.politeness, lease_ms: LEASE_MS },
        canonical === undefined ? {} : { [canonical]: PROFILES_LIMITS },
      ),
      robotsActor({
        egress,
        clock,
        crawler_name: config.crawler.name,
        user_agent,
        joined,
        ...(onRequestSent && { onRequestSent }),
      }),
      hostProfileActor(),
      fetchActor({
        runFetch: fetchPipeline({
          clock,
          documents,
          blobs,
          metrics,
          log,
          memory,
          routes: routesTo(context),
          ...(onRequestSent && { onRequestSent }),
          extract,
          joined,
          prices: readPrices(settings.tiers.prices),
          spending: context.spending,
          sources: openSources(context, settings),
          onPageStored: (page) => indexes.forEach(({ onPageStored }) => onPageStored(page)),
          onGone: (page) => indexes.forEach(({ onGone }) => onGone(page)),
          reservedHosts,
        }),
        deriveFormats: formatsDeriver({ clock, documents, blobs, extract }),
        loadStored: (digest, project) => loadPages(documents, digest, project),
        now: () => clock.now(),
      }),
    ],
    routes: [
      ...fetchRoutes({
        ...service,
        ...rendering,
        bodyGrants,
        memory,
        debugRecords: context.debugRecords,
        clock,
        metrics,
        log,
      }),
      ...domainRoutes({
        ask,
        siteOf: (name) => siteNamed(name, joined),
        // A host profile is stored in the collection of its actor, under the actor's key: "<site> <host>".
        hostsOf: async (site, limit) => {
          const range = { from: `${site} `, to: `${site}!`, limit };
          const profiles = await documents.list("host_profile", range);
          return profiles.map(({ key }) => key.slice(site.length + 1));
        },
      }),
    ],
    item_kinds: [
      fetchItems({ fetchWith: service.fetchWith, bodyGrants, clock, joined }, fetchBatch(rendering)),
    ],
    reference: fetchReference,
    warnings: routes.warnings,
    close: routes.close,
  };
}

/** A route for each tier that some node has at this moment. */
function routesTo({ roles, clock, config }: FeatureContext): Readonly<Partial<Record<Tier, Transport>>> {
  // Where other nodes may have a browser, one that is away is worth another attempt: it is configured.
  const { bus, roles: ownRoles } = config.cluster;
  const isElsewhere = bus !== "memory" && !ownRoles.includes("browser");
  const routeOf = (tier: Tier): Transport => tierRoute(tier, { call: roles.call, clock });
  // Fetches run on workers, which have it themselves.
  const routes = { direct: routeOf("direct") };
  for (const tier of TIERS) {
    if (tier === "direct") continue;
    const transport = routeOf(tier);
    Object.defineProperty(routes, tier, {
      enumerable: true,
      get: () => (roles.hasRole(tier) || (tier === "browser" && isElsewhere) ? transport : undefined),
    });
  }
  return routes;
}

interface OpenTiers {
  readonly tiers: readonly RoleActor[];
  readonly warnings: () => readonly string[];
  readonly close: () => Promise<void>;
}

/** The tiers of this node: those of its roles, and of a worker all that are configured but the browser. */
async function openTiers(context: FeatureContext, settings: FetchSettings): Promise<OpenTiers> {
  const { clock, metrics, log, memory } = context;
  const { transports, pages, warnings, close } = await openTransports(context, settings);
  const capacities = readCapacities(settings.tiers.capacities);
  const tiers = TIERS.flatMap((tier) => {
    const transport = transports[tier];
    if (!transport) return [];
    const policy = tierPolicy(tier, capacities, pages);
    const room = (signal: AbortSignal) => openRoom(memory, signal);
    return [tierActor(tier, { transport, policy, clock, metrics, log, openRoom: room })];
  });
  return { tiers, warnings, close };
}

interface OpenTransports {
  readonly transports: Readonly<Partial<Record<Tier, Transport>>>;
  /** Of the browser at once. */
  readonly pages: number;
  readonly warnings: () => readonly string[];
  readonly close: () => Promise<void>;
}

async function openTransports(context: FeatureContext, settings: FetchSettings): Promise<OpenTransports> {
  const { config, clock, destination, egress, joined, user_agent } = context;
  const { archive_url, proxy_url, render_url, render_key } = settings.tiers;
  const roles: readonly string[] = config.cluster.roles;
  const isNamed = (tier: Tier): boolean => roles.includes(tier);
  if (isNamed("archive") && archive_url === "none")
    throw new Error('TRAWL_ROLES has "archive", but TRAWL_ARCHIVE_URL is none');
  if (isNamed("proxy_render") && render_url === undefined)
    throw new Error('TRAWL_ROLES has "proxy_render", but TRAWL_RENDER_URL is not set');
  if (isNamed("proxy") && roles.includes("worker") && proxy_url === undefined)
    throw new Error('TRAWL_ROLES has "worker" and "proxy", but TRAWL_PROXY_URL is not set');
  const has = (tier: Tier): boolean => isNamed(tier) || roles.includes("worker");
  const browser = isNamed("browser") ? await openBrowser(context, settings) : null;
  // Reaches only the rendering service, so that its address may be private.
  const toRenderer =
    render_url === undefined || !has("proxy_render")
      ? null
      : context.openEgress({ judge: onlyTo(new URL(render_url)) });
  const common = { egress, clock, destination };
  return {
    transports: {
      ...(has("direct") && { direct: directTransport(common) }),
      ...(browser?.transport && { browser: browser.transport }),
      ...(has("archive") &&
        archive_url !== "none" && {
          archive: archiveTransport({ egress, clock, archive_url, user_agent }),
        }),
      ...(has("proxy") &&
        proxy_url !== undefined && { proxy: proxyTransport({ ...common, proxy_url, joined }) }),
      // An egress node: other addresses than those of the workers, without a proxy behind it.
      ...(isNamed("proxy") && proxy_url === undefined && { proxy: directTransport(common) }),
      ...(toRenderer && {
        proxy_render: renderTransport({
          ...common,
          egress: toRenderer,
          render_url: render_url!,
          ...(render_key !== undefined && { render_key }),
        }),
      }),
    },
    pages: browser?.max_pages ?? 1,
    warnings: () => browser?.warnings() ?? [],
    async close() {
      await browser?.close();
      await toRenderer?.close();
    },
  };
}

/** The reserved hosts of all features as one. */
function allReserved(opened: readonly OpenFeature[]): ReservedHosts {
  const all = opened.flatMap(({ reserved_hosts }) => reserved_hosts?.pages ?? []);
  return {
    isReserved: (url) => all.some(({ isReserved }) => isReserved(url)),
    fetch(request) {
      const owner = all.find(({ isReserved }) => isReserved(request.url));
      if (!owner) throw new TypeError(`Cannot delegate "${request.url}": its host is not reserved`);
      return owner.fetch(request);
    },
  };
}

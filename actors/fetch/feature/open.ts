/**
 * Assembles fetches: the routes that are configured, the actors of fetches, domains and host profiles, the API's routes,
 * and fetches as batch items.
 */
import { onlyTo } from "../../../cluster/adapters/egress/upstream-proxy.ts";
import type { FeatureContext, OpenFeature } from "../../../ops/feature.ts";
import { FetchBody, FetchResponse } from "../../../schemas/fetch.ts";
import { domainActor } from "../../domain/actor.ts";
import { LEASE_MS } from "../../domain/politeness.ts";
import { robotsActor } from "../../domain/robots.actor.ts";
import { decodeText } from "../../lib/content/charset.ts";
import type { Transport } from "../../lib/web/transport.ts";
import { siteNamed } from "../../lib/web/url.ts";
import { archiveTransport } from "../../tiers/adapters/transport.archive.ts";
import { directTransport } from "../../tiers/adapters/transport.direct.ts";
import { proxyTransport } from "../../tiers/adapters/transport.proxy.ts";
import { BROWSER_TASK, remoteBrowser, renderTask } from "../../tiers/adapters/transport.remote.ts";
import { renderTransport } from "../../tiers/adapters/transport.render.ts";
import { fetchActor } from "../actor.ts";
import { hostProfileActor } from "../host-profile.actor.ts";
import { fetchPipeline } from "../pipeline.ts";
import { readPrices } from "../prices.ts";
import type { ReservedHosts } from "../reserved-hosts.ts";
import { fetchService } from "../service.ts";
import { openSources } from "./alternates.ts";
import { type OpenBrowser, openBrowser } from "./browser.ts";
import { domainRoutes } from "./domain-routes.ts";
import { fetchItems } from "./item-kind.ts";
import { fetchBatch, fetchRoutes } from "./routes.ts";
import type { FetchSettings } from "./settings.ts";

/** The profile site is asked more slowly than other domains. */
const PROFILES_LIMITS = { min_delay_ms: 1_000, max_concurrency: 2 };

export async function openFetch(context: FeatureContext, settings: FetchSettings): Promise<OpenFeature> {
  const { config, clock, documents, blobs, metrics, log, egress, ask, joined, extract, bodyGrants } = context;
  const { onRequestSent, opened, user_agent, memory } = context;
  const routes = await openRoutes(context, settings);
  const reservedHosts = allReserved(opened);
  const indexes = opened.flatMap(({ page_index }) => page_index ?? []);
  const service = fetchService({ documents, ask, clock, metrics, log, joined, reservedHosts });
  const rendering = { blobs, decode: decodeText, isOperatorUrl: reservedHosts.isReserved };
  const [canonical] = config.profiles.hosts;

  return {
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
          routes: routes.transports,
          ...(onRequestSent && { onRequestSent }),
          extract,
          joined,
          prices: readPrices(settings.tiers.prices),
          spending: context.spending,
          sources: openSources(context, settings),
          onPageStored: (page) => indexes.forEach(({ onPageStored }) => onPageStored(page)),
          onGone: (url) => indexes.forEach(({ onGone }) => onGone(url)),
          reservedHosts,
        }),
        loadStored: (digest) => documents.get("pages", digest),
        now: () => clock.now(),
      }),
    ],
    routes: [
      ...fetchRoutes({ ...service, ...rendering, bodyGrants, memory, clock, metrics, log }),
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
    named_schemas: { FetchBody, FetchResponse },
    onJoined: () => serveBrowser(context, routes.browser),
    close: routes.close,
  };
}

interface Routes {
  readonly transports: Readonly<Record<string, Transport>>;
  /** Null on a node without the role or without Chromium. */
  readonly browser: OpenBrowser | null;
  readonly close: () => Promise<void>;
}

/** The transports of all configured routes. */
async function openRoutes(context: FeatureContext, settings: FetchSettings): Promise<Routes> {
  const { config, clock, blobs, destination, egress, joined, user_agent, remoteTasks } = context;
  const { archive_url, proxy_url, render_url, render_key } = settings.tiers;
  const hasRole = config.cluster.roles.includes("browser");
  const isUsed = config.cluster.roles.includes("worker") || remoteTasks !== null;
  const browser = hasRole && isUsed ? await openBrowser(context, settings) : null;
  // A worker with the role uses its own browser or none. A worker without the role asks nodes that have it.
  const rendering = hasRole
    ? (browser?.transport ?? null)
    : remoteTasks && remoteBrowser({ remoteTasks, blobs, clock });
  // Reaches only the rendering service, so that its address may be private.
  const toRenderer =
    render_url === undefined ? null : context.openEgress({ judge: onlyTo(new URL(render_url)) });
  const common = { egress, clock, destination };
  return {
    transports: {
      direct: directTransport(common),
      ...(rendering && { browser: rendering }),
      ...(archive_url !== "none" && {
        archive: archiveTransport({ egress, clock, archive_url, user_agent }),
      }),
      ...(proxy_url !== undefined && { proxy: proxyTransport({ ...common, proxy_url, joined }) }),
      ...(toRenderer && {
        proxy_render: renderTransport({
          ...common,
          egress: toRenderer,
          render_url: render_url!,
          ...(render_key !== undefined && { render_key }),
        }),
      }),
    },
    browser,
    async close() {
      await browser?.close();
      await toRenderer?.close();
    },
  };
}

/** Renders pages for nodes without a browser. */
async function serveBrowser(
  { remoteTasks, blobs, clock }: FeatureContext,
  browser: OpenBrowser | null,
): Promise<void> {
  if (!remoteTasks || !browser) return;
  const { transport, max_pages } = browser;
  await remoteTasks.serve(BROWSER_TASK, max_pages, renderTask({ transport, blobs, clock }));
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

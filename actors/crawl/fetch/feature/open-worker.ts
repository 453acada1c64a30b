/**
 * The part of fetches on workers: the actors of fetches, domains, robots.txt and host profiles, with the routes that a fetch
 * may take. A node that is no worker does not load this file.
 */
import type { Actor } from "../../../../cluster/actor.ts";
import type { JoinedNode } from "../../../../node/feature.ts";
import { PREMIUM_TIERS, type Tier, TIERS } from "../../../../schemas/tier-table.ts";
import { domainActor } from "../../domain/actor.ts";
import type { DomainRecorder } from "../../domain/figures.ts";
import { LEASE_MS } from "../../domain/politeness.ts";
import { robotsCopies } from "../../domain/robots-copies.ts";
import { robotsActor } from "../../domain/robots.actor.ts";
import type { Transport } from "../../../lib/web/transport.ts";
import type { PageIndex, SearchPages } from "../../../sources/search/feature/tokens.ts";
import { exchangeByRoutes } from "../../tiers/exchange-by-routes.ts";
import { tierRoute } from "../../tiers/tier-route.ts";
import { fetchActor } from "../actor.ts";
import { formatsDeriver } from "../formats.ts";
import { modelReader } from "../model/read-by-model.ts";
import { rereader } from "../reread.ts";
import { hostProfileActor } from "../host-profile.actor.ts";
import { sessions } from "../sessions.ts";
import type { RecentLinks } from "../page-links.ts";
import { loadPages } from "../page-store.ts";
import { pageBacklog } from "../page-backlog.ts";
import { fetchPipeline } from "../pipeline.ts";
import type { PremiumCosts, Spending } from "../premium.ts";
import type { ReservedHosts } from "../reserved-hosts.ts";
import { openSources } from "./alternates.ts";
import type { OpenModel } from "./open-model.ts";
import type { FetchSettings } from "./settings.ts";

/** The profile site is asked more slowly than other domains. */
const PROFILES_LIMITS = { min_delay_ms: 1_000, max_concurrency: 2 };

interface FetchWorkerDeps {
  readonly costs: PremiumCosts;
  readonly model: OpenModel | null;
  readonly spending: Spending;
  readonly reservedHosts: ReservedHosts;
  readonly index: PageIndex;
  readonly search: SearchPages | null;
  /** No node could take a call of the tier. */
  readonly onUnavailable: (tier: Tier) => void;
  readonly domains: DomainRecorder;
  readonly recent_links: RecentLinks;
}

export function fetchActors(
  node: JoinedNode,
  settings: FetchSettings,
  {
    costs,
    model,
    spending,
    reservedHosts,
    index,
    search,
    onUnavailable,
    domains,
    recent_links,
  }: FetchWorkerDeps,
): readonly Actor[] {
  const { config, clock, documents, blobs, metrics, log, egress, joined, extract, memory, caches } = node;
  const { onRequestSent, user_agent } = node;
  const [canonical] = config.profiles.hosts;
  const routes = routesTo(node, onUnavailable);
  const copies = robotsCopies();
  const paidRoutes = () => PREMIUM_TIERS.flatMap((tier) => routes[tier] ?? []);
  return [
    domainActor(
      { ...settings.politeness, lease_ms: LEASE_MS },
      canonical === undefined ? {} : { [canonical]: PROFILES_LIMITS },
      domains,
    ),
    robotsActor({
      egress,
      clock,
      crawler_name: config.crawler.name,
      user_agent,
      joined,
      copies,
      // The profile site is never asked from this service's own addresses.
      exchangeFor: (site) => (site === canonical ? exchangeByRoutes(paidRoutes()) : null),
      ...(onRequestSent && { onRequestSent }),
    }),
    hostProfileActor(),
    fetchActor({
      runFetch: fetchPipeline({
        clock,
        documents,
        blobs,
        recent_links,
        metrics,
        log,
        memory,
        caches,
        backlog: pageBacklog(clock),
        keepsRights: node.keepsRights,
        routes,
        networksOf: node.networksOf,
        ...(onRequestSent && { onRequestSent }),
        extract,
        joined,
        costs,
        sources: openSources(node, settings, search),
        onPageStored: index.onPageStored,
        onGone: index.onGone,
        reservedHosts,
        robotsByCopy: copies.answerFor,
        sessions: sessions({ documents, secrets: node.secrets, now: () => clock.now() }),
      }),
      deriveFormats: formatsDeriver({ clock, documents, blobs, extract }),
      reread: rereader({ clock, blobs, extract }),
      readByModel: modelReader({ clock, blobs, metrics, log, model, spending }),
      loadStored: (digest, project) => loadPages(documents, digest, project),
      now: () => clock.now(),
    }),
  ];
}

/** A route for each tier that some node has at this moment. */
function routesTo(
  { roles, clock, topology }: JoinedNode,
  onUnavailable: FetchWorkerDeps["onUnavailable"],
): Readonly<Partial<Record<Tier, Transport>>> {
  // Where other nodes may have a browser, one that is away is worth another attempt: it is configured.
  const isElsewhere = !topology.isAlone && !topology.named_tiers.has("browser");
  const routeOf = (tier: Tier): Transport =>
    tierRoute(tier, { call: roles.call, clock, onUnavailable: () => onUnavailable(tier) });
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

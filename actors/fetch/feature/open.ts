/**
 * Assembles fetches: on every node the API's routes and fetches as batch items, which ask the actors; on workers those
 * actors, on nodes with tiers the tiers.
 */
import type { FeatureContext, OpenFeature } from "../../../node/feature.ts";
import { PREMIUM_TIERS, TIERS } from "../../../schemas/tier-table.ts";
import { decodeText } from "../../lib/content/decode-text.ts";
import { siteNamed } from "../../lib/web/url.ts";
import { domainRecorder } from "../../domain/figures.ts";
import { premiumCosts } from "../premium.ts";
import { readPrices } from "../prices.ts";
import { needsDirect, type ReservedHosts } from "../reserved-hosts.ts";
import { fetchService, type RetrievedPage } from "../service.ts";
import { domainRoutes } from "./domain-routes.ts";
import { fetchItems } from "./item-kind.ts";
import { fetchBatch, fetchRoutes } from "./routes.ts";
import type { FetchSettings } from "./settings.ts";
import { fetchStatus } from "./status.ts";
import { HOST_PROFILES } from "../collections.ts";

/** Of each kind: busiest, slowest, most waited for. */
const MAX_DOMAINS_REPORTED = 20;

export async function openFetch(context: FeatureContext, settings: FetchSettings): Promise<OpenFeature> {
  const { config, clock, documents, blobs, metrics, log, ask, joined, bodyGrants, opened, memory, caches } =
    context;
  const roles: readonly string[] = config.cluster.roles;
  const isWorker = roles.includes("worker");
  const hasTiers = isWorker || TIERS.some((tier) => roles.includes(tier));
  const tiers = hasTiers ? await (await import("./open-tiers.ts")).openTiers(context, settings) : null;
  const reservedHosts = allReserved(opened);
  const indexes = opened.flatMap(({ page_index }) => page_index ?? []);
  const onRetrieved = (page: RetrievedPage) => indexes.forEach((index) => index.onRetrieved(page));
  const status = fetchStatus(clock, tiers?.actors ?? [], context.actorStats);
  const service = fetchService({
    documents,
    ask,
    clock,
    metrics,
    log,
    joined,
    reservedHosts,
    onRetrieved,
    spentBy: context.spending.spentBy,
    hasPaidRoute: () => PREMIUM_TIERS.some((tier) => context.roles.hasRole(tier)),
    onFetched: status.onFetched,
    caches,
  });
  const premium = { prices: readPrices(settings.tiers.prices), spending: context.spending };
  const domains = domainRecorder();
  const rendering = { blobs, decode: decodeText, isOperatorUrl: reservedHosts.isReserved };

  return {
    role_actors: tiers?.actors ?? [],
    actors: isWorker
      ? (await import("./open-worker.ts")).fetchActors(context, settings, {
          premium,
          reservedHosts,
          indexes,
          onUnavailable: status.onUnavailable,
          domains,
        })
      : [],
    routes: [
      ...fetchRoutes({
        fetch: service.fetch,
        cache: service,
        ...rendering,
        bodyGrants,
        memory,
        caches,
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
          const profiles = await HOST_PROFILES.list(documents, range);
          return profiles.map(({ key }) => key.slice(site.length + 1));
        },
      }),
    ],
    item_kinds: [
      fetchItems({ fetchWith: service.fetchWith, bodyGrants, clock, joined }, fetchBatch(rendering)),
    ],
    premium_costs: premiumCosts(premium),
    status: status.part,
    node_figures: () => (isWorker ? { domains: domains.top(clock.now(), MAX_DOMAINS_REPORTED) } : {}),
    warnings: () => tiers?.warnings() ?? [],
    close: async () => tiers?.close(),
  };
}

/** The reserved hosts of all features as one. */
function allReserved(opened: readonly OpenFeature[]): ReservedHosts {
  const all = opened.flatMap(({ reserved_hosts }) => reserved_hosts?.pages ?? []);
  const ownerOf = (url: string) => all.find(({ isReserved }) => isReserved(url));
  return {
    isReserved: (url) => ownerOf(url) !== undefined,
    refusal: (tiers, url) => (ownerOf(url)?.refusal ?? needsDirect)(tiers, url),
    fetch(request) {
      const owner = ownerOf(request.url);
      if (!owner) throw new TypeError(`Cannot delegate "${request.url}": its host is not reserved`);
      return owner.fetch(request);
    },
  };
}

/**
 * Assembles profiles: the site's hosts, which are reserved on every node also while profiles are off, the routes and
 * batch items, and on workers the actors that ask the site over the premium tiers.
 */
import type { FeatureContext, OpenFeature } from "../../../node/feature.ts";
import { toMicros } from "../../../schemas/accounts.ts";
import type { SearchError } from "../../../schemas/errors.ts";
import { PREMIUM_TIERS, type PremiumTier } from "../../../schemas/tier-table.ts";
import { siteOf } from "../../lib/web/url.ts";
import type { Transport } from "../../lib/web/transport.ts";
import { tierRoute } from "../../tiers/tier-route.ts";
import { denyHosts } from "../../upstream/slot-egress.ts";
import { profilePages } from "../fetch-bridge.ts";
import { PROVIDERS } from "../providers/providers.ts";
import { type ProfileSite, profilesService, type SearchPages } from "../service.ts";
import { nameRules } from "./name-rules.ts";
import { profilesItems } from "./item-kind.ts";
import { profilesBatch, profilesRoutes } from "./routes.ts";
import type { ProfilesSettings } from "./settings.ts";

export async function openProfiles(
  context: FeatureContext,
  settings: ProfilesSettings,
): Promise<OpenFeature> {
  const { config, clock, blobs, metrics, log, ask, bodyGrants, roles } = context;
  const [provider] = PROVIDERS;
  const site = siteOfSettings(config.profiles.hosts, settings, context);
  const routes = premiumRoutes(context);
  const hasRoute = (): boolean => PREMIUM_TIERS.some((tier) => roles.hasRole(tier));
  const isConfigured = (): boolean => settings.enabled === "on" && hasRoute();
  const isWorker = config.cluster.roles.includes("worker");
  const worker = isWorker
    ? (await import("./open-worker.ts")).openProfilesWorker(context, { provider, routes })
    : null;
  const service = profilesService({
    clock,
    blobs,
    provider,
    site,
    names: nameRules,
    search: searchOf(context),
    isConfigured,
    spentBy: context.spending.spentBy,
  });
  const rendering = { provider, site };

  return {
    reference: { tags: { profiles: "Company profiles of a public company-information site" } },
    actors: worker?.actors ?? [],
    routes: profilesRoutes({ service, ask, bodyGrants, clock, metrics, log }),
    item_kinds: [profilesItems({ service, bodyGrants, clock }, profilesBatch())],
    reserved_hosts: {
      pages: profilePages({ ask, blobs, clock, site: rendering.site, isConfigured }),
      // Through a proxy is the only way; the tier that uses it takes a slot of the site.
      denyEgress: (egress) => {
        const denied = denyHosts(egress, { owns: site.owns, name: "the profile site" });
        return {
          ...denied,
          exchange: (request) => (request.via ? egress.exchange(request) : denied.exchange(request)),
        };
      },
      denyDestination: (destination) => ({
        ...destination,
        url: (url, networks) => (site.owns(url) ? "blocked_destination" : destination.url(url, networks)),
      }),
    },
    ...(settings.enabled === "on" && {
      readProfile: (fields, caller) => service(ask, { op: "profile", fields }, caller),
    }),
    close: async () => worker?.close(),
  };
}

function siteOfSettings(
  hosts: readonly string[],
  { url }: ProfilesSettings,
  { joined }: Pick<FeatureContext, "joined">,
): ProfileSite {
  const [canonical = ""] = hosts;
  return {
    name: canonical,
    hosts,
    origin: (url ?? `https://www.${canonical}`).replace(/(?<!\/)\/+$/, ""),
    owns: (text) => {
      const parsed = URL.parse(text);
      return parsed !== null && canonical !== "" && siteOf(parsed.hostname, joined) === canonical;
    },
  };
}

/** The premium tiers that some node has at the moment. */
function premiumRoutes({ roles, clock }: FeatureContext): Readonly<Partial<Record<PremiumTier, Transport>>> {
  const routes = {};
  for (const tier of PREMIUM_TIERS) {
    const transport = tierRoute(tier, { call: roles.call, clock });
    Object.defineProperty(routes, tier, {
      enumerable: true,
      get: () => (roles.hasRole(tier) ? transport : undefined),
    });
  }
  return routes;
}

const NO_SEARCH_ENGINE = "no_metasearch_instance" satisfies SearchError;

/** The service's own search; the feature that has it is opened after this one. */
const searchOf =
  (context: FeatureContext): SearchPages =>
  async (ask, query, { country, max_results, caller, id }) => {
    const search = context.opened.find((feature) => feature.search)?.search;
    if (!search) return { results: [], cached: true, cost_micros: 0, error: null };
    const { project, key } = caller;
    const answer = await search(
      {
        search_id: id,
        query,
        language: null,
        country,
        max_results,
        freshness: null,
        cache_ttl_s: null,
        project,
        key,
      },
      ask,
    );
    const { results, cached, cost_usd, error } = answer;
    return {
      results,
      cached,
      cost_micros: toMicros(cost_usd) ?? 0,
      error: error === NO_SEARCH_ENGINE ? null : error,
    };
  };

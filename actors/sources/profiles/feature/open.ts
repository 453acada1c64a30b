/**
 * Assembles profiles: the routes and batch items, and on workers the actors that ask the site over the premium tiers.
 */
import type { JoinedFeature, JoinedNode, OpenFeature, OpeningNode } from "../../../../node/feature.ts";
import { toMicros } from "../../../../schemas/accounts.ts";
import type { SearchError } from "../../../../schemas/errors.ts";
import { PREMIUM_TIERS, type PremiumTier } from "../../../../schemas/tier-table.ts";
import type { Spending } from "../../../business/accounts/spend.ts";
import type { PremiumCosts } from "../../../crawl/fetch/premium.ts";
import type { PageReader } from "../../../crawl/fetch/reserved-hosts.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import { siteOf } from "../../../lib/web/url.ts";
import type { Transport } from "../../../lib/web/transport.ts";
import type { SearchPages as SearchService } from "../../search/feature/tokens.ts";
import { tierRoute } from "../../../crawl/tiers/tier-route.ts";
import { profilePages } from "../fetch-bridge.ts";
import { PROVIDERS } from "../providers/providers.ts";
import { type ProfileSite, profilesService, type SearchPages } from "../service.ts";
import { nameRules } from "./name-rules.ts";
import type { ProfilesWorker } from "./open-worker.ts";
import { PROFILE_OWNER } from "./owner.ts";
import { profilesItems } from "./item-kind.ts";
import { profilesBatch, profilesRoutes } from "./routes.ts";
import type { ProfilesSettings } from "./settings.ts";
import type { ReadProfile } from "./tokens.ts";

interface ProfilesNeed {
  readonly costs: PremiumCosts;
  readonly search: SearchService | null;
  readonly spending: Spending;
}

interface ProfilesProvide {
  readonly profiles: ReadProfile | null;
  readonly readers: readonly { readonly owner: string; readonly reader: PageReader }[];
  readonly kinds: readonly ItemKindParts[];
}

export async function openProfiles(
  node: OpeningNode,
  settings: ProfilesSettings,
): Promise<OpenFeature<ProfilesNeed, ProfilesProvide>> {
  const worker = node.topology.isWorker ? (await import("./open-worker.ts")).openProfilesWorker(node) : null;
  return {
    join: (joined, given) => joinProfiles(joined, settings, given, worker),
    close: async () => worker?.close(),
  };
}

function joinProfiles(
  node: JoinedNode,
  settings: ProfilesSettings,
  { costs, search, spending }: ProfilesNeed,
  worker: ProfilesWorker | null,
): JoinedFeature<ProfilesProvide> {
  const { config, clock, blobs, metrics, log, ask, bodyGrants, roles } = node;
  const [provider] = PROVIDERS;
  const site = siteOfSettings(config.profiles.hosts, settings, node);
  const hasRoute = (): boolean => PREMIUM_TIERS.some((tier) => roles.hasRole(tier));
  const isConfigured = (): boolean => settings.enabled === "on" && hasRoute();
  const service = profilesService({
    clock,
    blobs,
    provider,
    site,
    names: nameRules,
    search: searchOf(search),
    isConfigured,
    spentBy: spending.spentBy,
  });

  return {
    provides: {
      profiles:
        settings.enabled === "on"
          ? (fields, caller) => service(ask, { op: "profile", fields }, caller)
          : null,
      readers: [{ owner: PROFILE_OWNER, reader: profilePages({ ask, blobs, clock, site, isConfigured }) }],
      kinds: [profilesItems({ service, bodyGrants, clock }, profilesBatch())],
    },
    reference: { tags: { profiles: "Company profiles of a public company-information site" } },
    actors: worker?.actors(node, { provider, costs, routes: premiumRoutes(node) }) ?? [],
    routes: profilesRoutes({ service, ask, bodyGrants, clock, metrics, log }),
  };
}

function siteOfSettings(
  hosts: readonly string[],
  { url }: ProfilesSettings,
  { joined }: Pick<OpeningNode, "joined">,
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
function premiumRoutes({ roles, clock }: JoinedNode): Readonly<Partial<Record<PremiumTier, Transport>>> {
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

const NOTHING_FOUND = { results: [], cached: true, cost_micros: 0, error: null } as const;

/** The service's own search. */
const searchOf =
  (search: SearchService | null): SearchPages =>
  async (ask, query, { country, max_results, caller, id }) => {
    if (!search) return NOTHING_FOUND;
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

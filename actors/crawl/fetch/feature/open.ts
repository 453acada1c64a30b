/**
 * Assembles fetches: on every node the API's routes and fetches as batch items, which ask the actors; on workers those
 * actors.
 */
import type { RoleActor } from "../../../../cluster/role-actor.ts";
import type { JoinedFeature, JoinedNode, OpenFeature, OpeningNode } from "../../../../node/feature.ts";
import type { HostOwners } from "../../../../node/host-owners.ts";
import { WAIT_MS } from "../../../../gateway/with-deadline.ts";
import { PREMIUM_TIERS, type PremiumTier } from "../../../../schemas/tier-table.ts";
import { decodeText } from "../../../reading/content/decode-text.ts";
import { siteNamed } from "../../../lib/web/url.ts";
import { archiveKeeper } from "../../archive/keep.ts";
import { domainRecorder } from "../../domain/figures.ts";
import type { Spending } from "../../../business/accounts/spend.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import type { PageIndex, SearchPages } from "../../../sources/search/feature/tokens.ts";
import type { StatusPart } from "../../../business/status/feature/tokens.ts";
import type { PremiumCosts } from "../premium.ts";
import { needsDirect, type PageReader, type ReservedHosts } from "../reserved-hosts.ts";
import { fetchService } from "../service.ts";
import { domainRoutes } from "./domain-routes.ts";
import { fetchItems } from "./item-kind.ts";
import { billOf } from "../answer.ts";
import { formatsOf } from "../page-parts.ts";
import { linksReader, recentLinks } from "../page-links.ts";
import { fetchBatch, fetchRequestOf, fetchRoutes } from "./routes.ts";
import { openModel, type OpenModel } from "./open-model.ts";
import type { FetchSettings } from "./settings.ts";
import { sessionRoutes } from "./session-routes.ts";
import { sessions } from "../sessions.ts";
import { fetchStatus } from "./status.ts";
import type { FetchPage, PageItemParts } from "./tokens.ts";
import { HOST_PROFILES } from "../collections.ts";

/** Domains reported of each kind: busiest, slowest, most waited for. */
const MAX_DOMAINS_REPORTED = 20;

interface FetchNeeds {
  readonly costs: PremiumCosts;
  readonly country_routes: readonly PremiumTier[];
  readonly index: PageIndex;
  readonly readers: readonly OwnersReader[];
  readonly search: SearchPages | null;
  readonly spending: Spending;
  readonly tiers: readonly RoleActor[];
}

interface FetchProvides {
  readonly items: PageItemParts;
  readonly kinds: readonly ItemKindParts[];
  readonly pages: FetchPage;
  readonly status: readonly StatusPart[];
}

export function openFetch(
  node: OpeningNode,
  settings: FetchSettings,
): OpenFeature<FetchNeeds, FetchProvides> {
  const model = openModel(node, settings);
  return {
    join: (joined, given) => joinFetch(joined, given, settings, model),
    close: async () => model?.close(),
  };
}

async function joinFetch(
  node: JoinedNode,
  { costs, country_routes, index, readers, search, spending, tiers }: FetchNeeds,
  settings: FetchSettings,
  model: OpenModel | null,
): Promise<JoinedFeature<FetchProvides>> {
  const { topology, clock, documents, blobs, metrics, log, ask, joined, bodyGrants, memory, caches } = node;
  const { isWorker } = topology;
  const reservedHosts = readersOf(node.hosts, readers);
  const status = fetchStatus(clock, tiers, node.actorStats);
  const service = fetchService({
    secrets: node.secrets,
    documents,
    ask,
    clock,
    metrics,
    log,
    joined,
    reservedHosts,
    onRetrieved: index.onRetrieved,
    spentBy: spending.spentBy,
    hasPaidRoute: () => PREMIUM_TIERS.some((tier) => node.roles.hasRole(tier)),
    onFetched: status.onFetched,
    caches,
  });
  const domains = domainRecorder();
  const recent_links = recentLinks();
  const now = (): number => clock.now();
  const stored = sessions({ documents, secrets: node.secrets, now });
  const rendering = {
    blobs,
    decode: decodeText,
    isOperatorUrl: reservedHosts.isReserved,
    model: model?.chat.model ?? null,
    sessions: stored,
  };

  const archives = archiveKeeper({ blobs, documents, clock });
  const item = fetchItems(
    { fetchWith: service.fetchWith, bodyGrants, archives, clock, joined },
    fetchBatch(rendering),
  );

  return {
    provides: {
      items: {
        item,
        linksOf: linksReader({ blobs, clock, extract: node.extract, recent_links }),
      },
      kinds: [item],
      async pages(body, { signal, ...caller }) {
        const now_ms = clock.now();
        const request = fetchRequestOf(body, { ...caller, lane: "sync", now_ms, wait_ms: WAIT_MS });
        const answer = await service.fetchWith(ask, request, signal);
        const formats = request.with_formats === true ? await formatsOf(blobs, answer.record) : null;
        return { answer, bill: billOf(answer), formats };
      },
      status: [status.part],
    },
    actors: isWorker
      ? (await import("./open-worker.ts")).fetchActors(node, settings, {
          costs,
          model,
          spending,
          reservedHosts,
          index,
          search,
          onUnavailable: status.onUnavailable,
          domains,
          recent_links,
        })
      : [],
    routes: [
      ...fetchRoutes({
        fetch: service.fetch,
        cache: service,
        ...rendering,
        country_routes,
        bodyGrants,
        archives,
        memory,
        caches,
        debugRecords: node.debugRecords,
        clock,
        metrics,
        log,
      }),
      ...sessionRoutes(stored, {
        now,
        hasExits: country_routes.includes("proxy"),
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
    node_figures: () => (isWorker ? { domains: domains.top(clock.now(), MAX_DOMAINS_REPORTED) } : {}),
  };
}

type OwnersReader = { readonly owner: string; readonly reader: PageReader };

/** The readers of all owned hosts as one. */
function readersOf({ ownerOf }: HostOwners, readers: readonly OwnersReader[]): ReservedHosts {
  const byOwner = new Map(readers.map(({ owner, reader }) => [owner, reader]));
  const readerOf = (url: string): PageReader => {
    const owner = ownerOf(url);
    const reader = owner && byOwner.get(owner.name);
    if (!reader) throw new TypeError(`Cannot delegate "${url}": no feature reads its host`);
    return reader;
  };
  return {
    isReserved: (url) => ownerOf(url) !== null,
    refusal: (tiers, url) => (readerOf(url).refusal ?? needsDirect)(tiers, url),
    fetch: (request) => readerOf(request.url).fetch(request),
  };
}

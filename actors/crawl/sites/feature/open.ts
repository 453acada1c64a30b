/** Assembles maps and crawls. */
import type { JoinedFeature, JoinedNode } from "../../../../node/feature.ts";
import type { FetchPage, PageItemParts } from "../../fetch/feature/tokens.ts";
import type { PageIndex } from "../../../sources/search/feature/tokens.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import { frontierActor } from "../frontier/frontier.actor.ts";
import { crawlItems } from "./crawl-items.ts";
import { crawlRoute } from "./crawl-route.ts";
import { mapRoutes } from "./map-route.ts";

interface SitesNeed {
  readonly fetchPage: FetchPage;
  readonly index: PageIndex;
  readonly pages: PageItemParts;
}

export function openSites(
  node: JoinedNode,
  { fetchPage, index: { local }, pages }: SitesNeed,
): JoinedFeature<{ readonly kinds: readonly ItemKindParts[] }> {
  const { ask, blobs, clock, config, documents, joined, log, memory, metrics, random, secrets } = node;
  const { name, page_robots, max_pages, url } = config.crawler;
  const crawler = { name, page_robots, user_agent: url === undefined ? null : node.user_agent };
  const items = crawlItems({ documents, blobs, clock, pages, secrets, joined, crawler });
  const services = { documents, ask, clock, random, secrets };
  const kind: ItemKindParts = {
    ...items,
    routes: (reader, webhooks) => [
      crawlRoute({ ...services, webhooks, max_pages }, pages.item.gateway),
      ...(items.routes?.(reader, webhooks) ?? []),
    ],
  };
  return {
    provides: { kinds: [kind] },
    actors: [frontierActor({ documents, clock, log, joined })],
    routes: mapRoutes({ fetchPage, blobs, clock, metrics, memory, index: local }),
  };
}

/** Assembles the filing system: its upstream, its service, the hosts it reserves, its routes and batch items. */
import { yieldToEventLoop } from "../../../cluster/adapters/time/event-loop.system.ts";
import type { FeatureContext, OpenFeature } from "../../../ops/feature.ts";
import { decodeText } from "../../lib/content/charset.ts";
import { filingPages } from "../fetch-bridge.ts";
import { checkFilingsItem } from "../items.ts";
import { noRegister } from "../register.ts";
import { filingsService } from "../service.ts";
import { filingTextActor } from "../text.actor.ts";
import { filingsItems } from "./item-kind.ts";
import { filingsBatch, filingsRoutes } from "./routes.ts";
import type { FilingsSettings } from "./settings.ts";
import { openFilingsUpstream } from "./upstream.ts";
import { filingsReference } from "./reference.ts";

export function openFilings(context: FeatureContext, settings: FilingsSettings): OpenFeature {
  const { config, clock, documents, blobs, metrics, log, ask, extract, bodyGrants, memory } = context;
  const upstream = openFilingsUpstream(config, settings, { ...context, rule: context.destination });
  const source = upstream.source(ask);
  const service = filingsService({
    source: settings.identity === undefined ? null : source,
    // The register is opened after this feature, so it is looked for when it is needed.
    register: (question) =>
      (context.opened.find(({ findCompany }) => findCompany)?.findCompany ?? noRegister)(question),
    ask,
    blobs,
    documents,
    clock,
    yieldToEventLoop,
    www_url: settings.www_url.replace(/\/+$/, ""),
  });
  const pages = filingPages({ source, hosts: upstream.hosts, blobs, clock });
  const rendering = { decode: decodeText, blobs };

  return {
    reference: filingsReference,
    actors: [...upstream.actors, filingTextActor({ clock, documents, blobs, memory, metrics, log, extract })],
    routes: filingsRoutes({
      ...rendering,
      filings: service,
      bodyGrants,
      clock,
      metrics,
      log,
      yieldToEventLoop,
    }),
    item_kinds: [filingsItems({ service, bodyGrants, clock }, filingsBatch(rendering, checkFilingsItem))],
    reserved_hosts: {
      pages,
      denyEgress: upstream.denyFilingHosts,
      denyDestination: upstream.denyFilingDestinations,
    },
    ...(settings.identity !== undefined && { readFilingDocument: source.get }),
    close: upstream.close,
  };
}

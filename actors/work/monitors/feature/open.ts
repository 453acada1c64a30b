/** Assembles monitors: their two actors, and their routes. */
import { bodyRefs } from "../../../../cluster/body-refs.ts";
import { monitorEvent } from "../../../../gateway/firecrawl/monitor-events.ts";
import type { JoinedFeature, JoinedNode } from "../../../../node/feature.ts";
import type { VisitJobs } from "../../jobs/feature/tokens.ts";
import { monitorVisitsActor } from "../visits.actor.ts";
import { monitorWebhookActor } from "../webhook.actor.ts";
import { monitorRoutes } from "./routes.ts";

export function openMonitors(node: JoinedNode, { visits }: { readonly visits: VisitJobs }): JoinedFeature {
  const { documents, random } = node;
  const refs = bodyRefs(documents);
  /** Known once the service listens. */
  let public_url = "";
  return {
    provides: {},
    actors: [
      monitorVisitsActor({ ...node, bodyRefs: refs, visits }),
      monitorWebhookActor({
        ...node,
        random: () => random.next(),
        publicUrl: () => public_url,
        theirEvent: monitorEvent,
      }),
    ],
    routes: monitorRoutes({ ...node, bodyRefs: refs, visits }),
    onAddress: async (base) => {
      public_url = base;
    },
  };
}

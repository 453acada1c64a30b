/** Assembles the public status: the components of all features, the board, the history, the routes. */
import type { JoinedFeature, JoinedNode, OpenFeature } from "../../../../node/feature.ts";
import { COMPONENT_IDS, type Figures } from "../../../../schemas/status.ts";
import type { AnnounceNotices } from "../../accounts/status-alerts.ts";
import { recentNotices } from "../announced.ts";
import { statusBoardActor } from "../board.actor.ts";
import type { ComponentSpec } from "../component.ts";
import { API, STORAGE } from "../components.ts";
import { mergeFigures, windowFigures } from "../figures.ts";
import { statusHistorianActor } from "../historian.actor.ts";
import { readNotices } from "../notices.ts";
import { watchStatus } from "../watch-status.ts";
import { noticeRoutes } from "./notice-routes.ts";
import { statusRoutes } from "./routes.ts";
import type { StatusPart } from "./tokens.ts";

export const openStatus = (period_ms: number): OpenFeature<StatusNeeds> => ({
  join: (node, needs) => joinStatus(node, needs, period_ms),
});

interface StatusNeeds {
  readonly parts: readonly StatusPart[];
  readonly announceNotices: AnnounceNotices;
}

function joinStatus(
  node: JoinedNode,
  { parts: others, announceNotices }: StatusNeeds,
  period_ms: number,
): JoinedFeature {
  const { topology, clock, log, metrics, random, ask, documents, requestWindow, checkStores, build } = node;
  let base = "";
  const own: StatusPart = {
    components: [API, STORAGE],
    figures: () => windowFigures("api", requestWindow, clock.now()),
  };
  const parts = [own, ...others];
  const watch = watchStatus({
    clock,
    log,
    metrics,
    ask,
    period_ms,
    node: node.name,
    specs: inOrder(parts.flatMap(({ components }) => components)),
    isWorker: topology.isWorker,
    isGateway: topology.isGateway,
    figures: () => mergeFigures(parts.map(({ figures }) => figures?.() ?? {})),
    clusterFigures: async () =>
      mergeFigures(
        await Promise.all(parts.map(async ({ clusterFigures }) => (await clusterFigures?.()) ?? NONE)),
      ),
    checkStores,
    readNotices: () => readNotices(documents),
  });
  return {
    provides: {},
    actors: [statusBoardActor(period_ms), statusHistorianActor()],
    routes: [
      ...statusRoutes({ watch, clock, build, base: () => base }),
      ...noticeRoutes({ documents, clock, random }),
    ],
    onAddress: async (address) => {
      base = address;
    },
    every_minute: {
      what: "Cannot tell webhooks of the status",
      work: async () =>
        announceNotices(recentNotices(await readNotices(documents), clock.now()), clock.now()),
    },
    onServing: async () => watch.start(),
    close: async () => watch.close(),
  };
}

const NONE: Figures = {};

/** As the specification lists them; company sources and what other slices add come last. */
function inOrder(specs: readonly ComponentSpec[]): readonly ComponentSpec[] {
  const place = ({ id }: ComponentSpec): number => {
    const at = (COMPONENT_IDS as readonly string[]).indexOf(id);
    return at === -1 ? COMPONENT_IDS.length : at;
  };
  return specs.toSorted((a, b) => place(a) - place(b));
}

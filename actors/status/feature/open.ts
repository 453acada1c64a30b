/** Assembles the public status: the components of all features, the board, the history, the routes. */
import type { FeatureContext, OpenFeature, StatusPart } from "../../../node/feature.ts";
import { COMPONENT_IDS, type Figures } from "../../../schemas/status.ts";
import { statusBoardActor } from "../board.actor.ts";
import type { ComponentSpec } from "../component.ts";
import { API, STORAGE } from "../components.ts";
import { mergeFigures, windowFigures } from "../figures.ts";
import { statusHistorianActor } from "../historian.actor.ts";
import { readNotices } from "../notices.ts";
import { watchStatus } from "../watch-status.ts";
import { statusRoutes } from "./routes.ts";

export function openStatus(context: FeatureContext, period_ms: number): OpenFeature {
  const { config, clock, log, metrics, ask, node, documents, requestWindow, checkStores, opened } = context;
  const own: StatusPart = {
    components: [API, STORAGE],
    figures: () => windowFigures("api", requestWindow, clock.now()),
  };
  const parts = [own, ...opened.flatMap(({ status }) => status ?? [])];
  const watch = watchStatus({
    clock,
    log,
    metrics,
    ask,
    period_ms,
    node,
    specs: inOrder(parts.flatMap(({ components }) => components)),
    isWorker: config.cluster.roles.includes("worker"),
    isGateway: config.cluster.roles.includes("gateway"),
    figures: () => mergeFigures(parts.map(({ figures }) => figures?.() ?? {})),
    clusterFigures: async () =>
      mergeFigures(
        await Promise.all(parts.map(async ({ clusterFigures }) => (await clusterFigures?.()) ?? NONE)),
      ),
    checkStores,
    readNotices: () => readNotices(documents),
  });
  return {
    actors: [statusBoardActor(period_ms), statusHistorianActor()],
    routes: statusRoutes({ watch, clock }),
    onJoined: async () => watch.start(),
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

/** Search in the public status: what counts as a failure, the figures of this node, and the health of the instances. */
import type { Node } from "../../../../cluster/node-record.ts";
import type { NodeStats } from "../../../../cluster/embedded.ts";
import type { StatusPart } from "../../../business/status/feature/tokens.ts";
import { Instances, INSTANCES_KEY, Search, type SearchAnswer } from "../../../../schemas/search.ts";
import type { Figures } from "../../../../schemas/status.ts";
import { RollingWindow } from "../../../lib/rolling-window.ts";
import { SEARCH } from "../../../business/status/components.ts";
import { mailboxesOf, windowFigures } from "../../../business/status/figures.ts";

const VIEW_TIMEOUT_MS = 3_000;
const COUNTS = ["requests", "successes", "fallback_requests", "fallback_successes"] as const;

export function searchStatus(
  deps: Pick<Node, "clock" | "ask"> & {
    readonly actorStats: () => NodeStats;
    readonly hasEngine: boolean;
    readonly hasFallback: boolean;
  },
): { readonly part: StatusPart; readonly onSearched: (answer: SearchAnswer | null, ms: number) => void } {
  const { clock, ask, actorStats, hasEngine, hasFallback } = deps;
  const searches = new RollingWindow<(typeof COUNTS)[number]>(COUNTS);

  async function clusterFigures(): Promise<Figures> {
    // Without an instance and a fallback the deployment has no search.
    if (!hasEngine && !hasFallback) return {};
    const fallback: Figures = { "search.fallback": { max: hasFallback ? 1 : 0 } };
    if (!hasEngine) return { ...fallback, "search.engines": { max: 0 } };
    const options = { timeout_ms: VIEW_TIMEOUT_MS };
    const view = await ask(Instances, INSTANCES_KEY, "view", null, options).catch(() => null);
    // Not known while no worker answers; the component is listed all the same.
    if (view === null) return { ...fallback, "search.engines": { max: 1 } };
    const healthy = view.filter(({ suspended_until_ms }) => suspended_until_ms === null).length;
    return {
      ...fallback,
      "search.engines": { max: view.length },
      "search.engines_healthy": { min: healthy },
    };
  }

  return {
    part: {
      components: [SEARCH],
      clusterFigures,
      figures() {
        const mailboxes = mailboxesOf(actorStats(), [Search, Instances]);
        return {
          ...windowFigures("search", searches, clock.now()),
          "search.sync_queue_backlog": { sum: mailboxes.waiting },
          "search.sync_queue_lag_s": { max: Math.round(mailboxes.oldest_ms / 100) / 10 },
        };
      },
    },
    onSearched(answer, ms) {
      const now_ms = clock.now();
      searches.add("requests", now_ms);
      searches.observe(ms, now_ms);
      // A budget that is used up is no fault of the service.
      const isFailed = answer === null || (answer.error !== null && answer.error !== "budget_exhausted");
      if (!isFailed) searches.add("successes", now_ms);
      if (!hasFallback || !answer || answer.fallback_reason === null || answer.error === "budget_exhausted")
        return;
      searches.add("fallback_requests", now_ms);
      if (answer.provider === "fallback") searches.add("fallback_successes", now_ms);
    },
  };
}

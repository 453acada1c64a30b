/**
 * The actor that knows the health of the metasearch instances, one for the cluster. A search asks it for the next instance and
 * reports the outcome. Its health records are persisted, so a restart does not run into the same 429; the turn is not.
 * It asks no instance itself.
 */
import { actor } from "../../cluster/actor.ts";
import { Instances } from "../../schemas/search.ts";
import { type HealthByInstance, HEALTHY, nextInstance, recordReport, restoreHealths } from "./health.ts";

interface State {
  healths: HealthByInstance;
  last: string | null;
}

/** `names` in the order they take turns; the same on all nodes. */
export const searchInstancesActor = (names: readonly string[]) =>
  actor(Instances)<State, HealthByInstance>({
    persist: ({ healths }) => healths,
    // Instances that are no longer configured are removed with the next change.
    activate: (snapshot, { now_ms }) => ({ healths: restoreHealths(snapshot ?? NONE, now_ms), last: null }),
    passivate_after_ms: 10 * 60_000,
    on: {
      next(turn, { except }) {
        const { healths, last } = turn.state;
        const instance = nextInstance(names, healths, { last, except, now_ms: turn.now_ms });
        turn.state.last = instance ?? last;
        return { instance };
      },

      report(turn, report) {
        const { healths } = turn.state;
        if (!names.includes(report.instance)) return;
        const previous = healths[report.instance] ?? HEALTHY;
        const next = recordReport(previous, report, turn.now_ms);
        if (next === previous) return;
        const configured = Object.entries(healths).filter(([name]) => names.includes(name));
        turn.state.healths = { ...Object.fromEntries(configured), [report.instance]: next };
      },

      view: ({ state, now_ms }) =>
        names.map((instance) => {
          const { until_ms, reason } = state.healths[instance] ?? HEALTHY;
          const suspended = until_ms > now_ms;
          return {
            instance,
            suspended_until_ms: suspended ? until_ms : null,
            reason: suspended ? reason : null,
          };
        }),
    },
  });

const NONE: HealthByInstance = {};

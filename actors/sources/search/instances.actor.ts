/**
 * The actor that knows the health of the metasearch instances, one for the cluster. A search asks it for the next instance and
 * reports the outcome. Its health records are persisted, so a restart does not run into the same 429; the turn is not.
 * It asks no instance itself.
 */
import { actor } from "../../../cluster/actor.ts";
import { Instances } from "../../../schemas/search.ts";
import {
  type HealthByInstance,
  HEALTHY,
  nextInstance,
  PROBE_EVERY_MS,
  probeInstance,
  recordReport,
  restoreHealths,
} from "./health.ts";

interface State {
  healths: HealthByInstance;
  last: string | null;
  /** When a suspended instance was tried last. */
  probed_ms: number;
}

/** `names` in the order they take turns; the same on all nodes. */
export const searchInstancesActor = (names: readonly string[]) =>
  actor(Instances)<State, HealthByInstance>({
    persist: ({ healths }) => healths,
    // Instances that are no longer configured are removed with the next change.
    activate: (snapshot, { now_ms }) => ({
      healths: restoreHealths(snapshot ?? NONE, now_ms),
      last: null,
      probed_ms: -Infinity,
    }),
    passivate_after_ms: 10 * 60_000,
    on: {
      next(turn, { except }) {
        const { now_ms, state } = turn;
        const { healths, last } = state;
        const instance = nextInstance(names, healths, { last, except, now_ms });
        state.last = instance ?? last;
        if (instance !== null || now_ms - state.probed_ms < PROBE_EVERY_MS) return { instance };
        const probed = probeInstance(names, healths, except);
        if (probed !== null) state.probed_ms = now_ms;
        return { instance: probed };
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

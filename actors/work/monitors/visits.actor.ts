/**
 * The actor of a monitor's visits: one for each monitor. It comes back when the next visit is due, by its reminder on whichever node owns
 * the monitor then, as deliveries do (actors/work/callbacks/delivery-behaviour.ts); visit.ts makes the visit.
 */
import { actor } from "../../../cluster/actor.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import { MonitorVisits } from "../../../schemas/monitors.ts";
import {
  type DeliverySnapshot,
  type DeliveryState,
  deliveryBehaviour,
} from "../callbacks/delivery-behaviour.ts";
import { MONITORS, type StoredMonitor } from "./stored-monitor.ts";
import { visit, type VisitDeps } from "./visit.ts";

interface DueVisit {
  readonly next_ms: number;
  readonly monitor: StoredMonitor;
}

export function monitorVisitsActor(deps: VisitDeps & { readonly log: Log }) {
  const { documents, clock, log } = deps;
  const behaviour = deliveryBehaviour<DueVisit>({
    clock,
    async listWaiting(monitor_id) {
      const monitor = await MONITORS.get(documents, monitor_id);
      return monitor === null || monitor.paused !== null ? [] : [{ next_ms: monitor.due_ms, monitor }];
    },
    attempt: (_monitor_id, { monitor }) => visit(deps, monitor),
    onStoreFault: (monitor, problem) =>
      log.warn("A monitor waits for its store", { monitor, problem: String(problem) }),
  });
  return actor(MonitorVisits)<DeliveryState, DeliverySnapshot>(behaviour);
}

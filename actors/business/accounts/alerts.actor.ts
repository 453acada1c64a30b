/**
 * The alerts actor: one for each customer. It makes the deliveries that are stored for the customer's webhooks, and stores every
 * attempt before it makes it. When it makes them: actors/work/callbacks/delivery-behaviour.ts.
 */
import { outcomeOf } from "../../work/callbacks/delivery-outcome.ts";
import { actor } from "../../../cluster/actor.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import { UsageAlerts } from "../../../schemas/alerts.ts";
import {
  type DeliverySnapshot,
  type DeliveryState,
  deliveryBehaviour,
} from "../../work/callbacks/delivery-behaviour.ts";
import { afterAttempt, beginDelivery } from "../../work/callbacks/delivery-schedule.ts";
import { postSigned, type PostSignedDeps } from "../../work/callbacks/post-signed.ts";
import { alertKey, alertOptions, changeHook, hookKey, hookPlace, openAlerts } from "./alerts.ts";
import { ALERT_DELIVERIES, ALERT_HOOKS, type StoredAlert } from "./collections.ts";

export interface AlertsDeps extends PostSignedDeps {
  readonly documents: Documents;
  readonly metrics: Metrics;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** More wait for the next look. */
const MAX_OPEN = 1_000;

/** A delivery as it was listed. */
interface WaitingAlert {
  readonly next_ms: number;
  readonly alert: StoredAlert;
  readonly version: number;
}

export function alertsActor(deps: AlertsDeps) {
  const { clock, documents, log } = deps;
  const behaviour = deliveryBehaviour<WaitingAlert>({
    clock,
    listWaiting: async (customer) => {
      const open = await ALERT_DELIVERIES.list(documents, { tag: openAlerts(customer), limit: MAX_OPEN });
      return open.map(({ value: alert, version }) => ({ next_ms: alert.next_ms, alert, version }));
    },
    attempt: (customer, { alert, version }) => attempt(deps, customer, alert, version),
    onStoreFault: (customer, problem) =>
      log.warn("Usage alerts wait for their store", { customer, problem: String(problem) }),
  });
  return actor(UsageAlerts)<DeliveryState, DeliverySnapshot>(behaviour);
}

async function attempt(
  deps: AlertsDeps,
  customer: string,
  waiting: StoredAlert,
  version: number,
): Promise<void> {
  const { documents, clock, metrics, random } = deps;
  const key = alertKey(customer, waiting);
  const hook = await ALERT_HOOKS.get(documents, hookKey(customer, waiting.hook_id));
  const begun = beginDelivery(waiting, Math.floor(clock.now()));
  // The webhook was removed.
  const given_up = { ...waiting, is_over: true };
  const before = hook ? begun : given_up;
  if (!(await ALERT_DELIVERIES.put(documents, key, before, version, alertOptions(customer, before)))) return;
  if (!hook) return;
  const { id, project } = hook;
  const { event_id, body } = begun;
  const result = await postSigned(deps, {
    project,
    event_id,
    body,
    url: { stored: hook.url, place: hookPlace(hook, "url") },
    secret: { stored: hook.secret, place: hookPlace(hook, "secret") },
  });
  const { status } = result;
  metrics.count("trawl_alert_deliveries_total", { outcome: outcomeOf(result) });
  const next = afterAttempt(begun, result, clock.now(), random());
  const after: StoredAlert =
    next.kind === "again" ? { ...next.delivery, status } : { ...begun, status, is_over: true };
  await ALERT_DELIVERIES.put(documents, key, after, version + 1, alertOptions(customer, after));
  const last_delivery_ms = Math.floor(clock.now());
  await changeHook(documents, customer, id, (current) => ({
    ...current,
    last_delivery_ms,
    last_status: status,
  }));
}

/**
 * The actor of a monitor's webhook: it delivers the changes that visits stored, one after the other, and stores every attempt before
 * it makes it. When it makes them: actors/work/callbacks/delivery-behaviour.ts.
 */
import { actor } from "../../../cluster/actor.ts";
import type { Node } from "../../../cluster/node-record.ts";
import { MonitorWebhook, type PageChangedEvent } from "../../../schemas/monitors.ts";
import {
  type DeliverySnapshot,
  type DeliveryState,
  deliveryBehaviour,
} from "../callbacks/delivery-behaviour.ts";
import { outcomeOf } from "../callbacks/delivery-outcome.ts";
import { afterAttempt, beginDelivery } from "../callbacks/delivery-schedule.ts";
import { postSigned, type PostSignedDeps } from "../callbacks/post-signed.ts";
import { changeShown } from "./shown.ts";
import {
  changeKey,
  changeOptions,
  MONITOR_CHANGES,
  MONITORS,
  monitorPlace,
  type StoredChange,
  type StoredMonitor,
} from "./stored-monitor.ts";

export interface MonitorWebhookDeps extends PostSignedDeps, Pick<Node, "documents" | "metrics"> {
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** The address at which clients see the service. */
  readonly publicUrl: () => string;
}

interface WaitingChange {
  readonly next_ms: number;
  readonly monitor: StoredMonitor;
  readonly change: StoredChange;
}

export function monitorWebhookActor(deps: MonitorWebhookDeps) {
  const { clock, log } = deps;
  const behaviour = deliveryBehaviour<WaitingChange>({
    clock,
    listWaiting: (monitor_id) => listWaiting(deps, monitor_id),
    attempt: (_monitor_id, { monitor, change }) => attempt(deps, monitor, change),
    onStoreFault: (monitor, problem) =>
      log.warn("A monitor's webhook waits for its store", { monitor, problem: String(problem) }),
  });
  return actor(MonitorWebhook)<DeliveryState, DeliverySnapshot>(behaviour);
}

/** The oldest change that waits: the others wait for it. Throws Fault. */
async function listWaiting(
  { documents }: MonitorWebhookDeps,
  monitor_id: string,
): Promise<readonly WaitingChange[]> {
  const monitor = await MONITORS.get(documents, monitor_id);
  const [first] = await MONITOR_CHANGES.list(documents, { tag: monitor_id, limit: 1 });
  if (!monitor || !first) return [];
  return [{ next_ms: first.value.next_ms, monitor, change: first.value }];
}

async function attempt(
  deps: MonitorWebhookDeps,
  { id, project, webhook }: StoredMonitor,
  waiting: StoredChange,
): Promise<void> {
  const { documents, clock, metrics, random, publicUrl } = deps;
  const key = changeKey(id, waiting.number);
  const stored = await MONITOR_CHANGES.read(documents, key);
  if (stored?.value.delivery !== "waiting") return;
  const put = (change: StoredChange, version: number): Promise<boolean> =>
    MONITOR_CHANGES.put(documents, key, change, version, changeOptions(change));
  if (webhook === null || webhook.is_off) {
    await put({ ...stored.value, delivery: "over" }, stored.version);
    return;
  }
  const begun = beginDelivery(stored.value, Math.floor(clock.now()));
  if (!(await put(begun, stored.version))) return;
  const shown = changeShown(begun);
  const event: PageChangedEvent = {
    ...shown,
    type: "page.changed",
    changes_url: `${publicUrl()}/v1/monitors/${id}/changes`,
  };
  const result = await postSigned(deps, {
    project,
    event_id: shown.id,
    body: JSON.stringify(event),
    url: { stored: webhook.url, place: monitorPlace(id, "webhook_url") },
    secret: { stored: webhook.secret, place: monitorPlace(id, "secret") },
  });
  metrics.count("trawl_monitor_deliveries_total", { outcome: outcomeOf(result) });
  const after = afterAttempt(begun, result, clock.now(), random());
  const delivery_status = result.status;
  await put(
    after.kind === "again"
      ? { ...after.delivery, delivery_status }
      : { ...begun, delivery: "over", delivery_status },
    stored.version + 1,
  );
  const isOff = after.kind === "over" && after.switchesOff;
  await MONITORS.update(documents, id, (current) => {
    if (!current?.webhook) return null;
    // An attempt at an address that was replaced meanwhile says nothing of the new one.
    if (current.webhook.url !== webhook.url) return null;
    const is_off = current.webhook.is_off || isOff;
    return {
      value: { ...current, webhook: { ...current.webhook, last_status: delivery_status, is_off } },
      options: { tag: current.project },
    };
  });
}

/**
 * The actor of a monitor's webhook: it delivers the changes that visits stored, one after the other, and stores every attempt before
 * it makes it. When it makes them: actors/work/callbacks/delivery-behaviour.ts.
 */
import { actor } from "../../../cluster/actor.ts";
import type { Node } from "../../../cluster/node-record.ts";
import {
  FIRECRAWL_MONITOR_EVENTS,
  type FirecrawlMonitorEvent,
  type MonitorChange,
  MonitorWebhook,
  type PageChangedEvent,
} from "../../../schemas/monitors.ts";
import {
  type DeliverySnapshot,
  type DeliveryState,
  deliveryBehaviour,
} from "../callbacks/delivery-behaviour.ts";
import { outcomeOf } from "../callbacks/delivery-outcome.ts";
import { type AfterAttempt, afterAttempt, beginDelivery } from "../callbacks/delivery-schedule.ts";
import { postSigned, type PostSignedDeps } from "../callbacks/post-signed.ts";
import { firecrawlSignature } from "../callbacks/webhook-signature.ts";
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
  /** An event in the form of Firecrawl's API. */
  readonly theirEvent: (
    name: FirecrawlMonitorEvent,
    about: {
      readonly change: Omit<MonitorChange, "delivery">;
      /** The number of the visit. */
      readonly number: number;
      /** Identical in every attempt. */
      readonly event_id: string;
      readonly metadata: Readonly<Record<string, string>>;
    },
  ) => object;
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
  const { documents, clock, metrics, random } = deps;
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
  const { event_id, event, isLast } = eventOf(deps, begun, webhook.firecrawl);
  const result = await postSigned(deps, {
    project,
    event_id,
    body: JSON.stringify(event),
    ...(webhook.firecrawl && { headersOf: firecrawlSignature }),
    url: { stored: webhook.url, place: monitorPlace(id, "webhook_url") },
    secret: { stored: webhook.secret, place: monitorPlace(id, "secret") },
  });
  metrics.count("trawl_monitor_deliveries_total", { outcome: outcomeOf(result) });
  const after = afterAttempt(begun, result, clock.now(), random());
  const delivery_status = result.status;
  await put({ ...changeAfter(begun, after, isLast), delivery_status }, stored.version + 1);
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

/** The next event of a change: the only one of this API's form, or one of those that the webhook wants of Firecrawl's. */
function eventOf(
  { publicUrl, theirEvent }: Pick<MonitorWebhookDeps, "publicUrl" | "theirEvent">,
  change: StoredChange,
  theirs: NonNullable<StoredMonitor["webhook"]>["firecrawl"],
): { readonly event_id: string; readonly event: object; readonly isLast: boolean } {
  const { monitor_id, number, events_delivered = 0 } = change;
  const shown = changeShown(change);
  if (theirs !== undefined) {
    const names = FIRECRAWL_MONITOR_EVENTS.filter((name) => theirs.events.includes(name));
    // The webhook may want fewer events since the first was delivered.
    const at = Math.min(events_delivered, names.length - 1);
    const name = names[at]!;
    const event_id = name === "monitor.page" ? shown.id : `${shown.id}:check`;
    const event = theirEvent(name, { change: shown, number, event_id, metadata: theirs.metadata });
    return { event_id, event, isLast: at === names.length - 1 };
  }
  const event: PageChangedEvent = {
    ...shown,
    type: "page.changed",
    changes_url: `${publicUrl()}/v1/monitors/${monitor_id}/changes`,
  };
  return { event_id: shown.id, event, isLast: true };
}

/** An event that is given up does not hold back the other one of its change, unless the receiver wants nothing more. */
function changeAfter(change: StoredChange, after: AfterAttempt<StoredChange>, isLast: boolean): StoredChange {
  if (after.kind === "again") return after.delivery;
  if (isLast || after.switchesOff) return { ...change, delivery: "over" };
  return { ...change, events_delivered: (change.events_delivered ?? 0) + 1, attempts: 0, next_ms: 0 };
}

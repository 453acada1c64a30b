/** Notices that the operator announces of the service, for the webhooks of scope status of all customers. */
import { hash } from "node:crypto";
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { type StatusNotice, type StatusNoticeEvent, UsageAlerts } from "../../../schemas/alerts.ts";
import { iso } from "../../lib/iso.ts";
import { alertKey, alertOptions, firstDelivery } from "./alerts.ts";
import { ALERT_DELIVERIES, ALERT_HOOKS, STATUS_HOOKS, type StoredAlert } from "./collections.ts";

/** Announces notices, each once to each webhook however often it is called. Throws Fault; then they are announced again. */
export type AnnounceNotices = (notices: readonly StatusNotice[], now_ms: number) => Promise<void>;

/** Webhooks in one list, and deliveries looked for at once. */
const MAX_LISTED = 500;

/** Stores a delivery for each webhook that was there before a notice, and wakes the deliveries of its customer. */
export const announceNotices =
  (documents: Documents, ask: ActorClient): AnnounceNotices =>
  async (notices, now_ms) => {
    if (notices.length === 0) return;
    const events = notices.map((notice) => ({ ...notice, ...eventOf(notice, now_ms) }));
    for (let from: string | undefined; ;) {
      const listed = await STATUS_HOOKS.list(documents, {
        limit: MAX_LISTED,
        ...(from !== undefined && { from }),
      });
      const keys = listed.map(({ key }) => key);
      const hooks = await ALERT_HOOKS.getMany(documents, keys);
      const woken = new Set<string>();
      for (const { event_id, body, since_ms } of events) {
        const waiting = hooks.flatMap((hook) =>
          hook !== null && hook.created_ms <= since_ms
            ? [{ customer: hook.customer, alert: firstDelivery(event_id, hook.id, body, now_ms) }]
            : [],
        );
        for (const customer of await storeNew(documents, waiting)) woken.add(customer);
      }
      for (const customer of woken) await ask(UsageAlerts, customer, "deliver", null);
      if (listed.length < MAX_LISTED) return;
      from = `${keys.at(-1)!}\u0000`;
    }
  };

/** Returns the customers of those that were not stored before. */
async function storeNew(
  documents: Documents,
  waiting: readonly { readonly customer: string; readonly alert: StoredAlert }[],
): Promise<readonly string[]> {
  const keys = waiting.map(({ customer, alert }) => alertKey(customer, alert));
  const stored = await ALERT_DELIVERIES.getMany(documents, keys);
  const fresh = waiting.filter((_, at) => stored[at] === null);
  for (const { customer, alert } of fresh)
    await ALERT_DELIVERIES.put(documents, alertKey(customer, alert), alert, 0, alertOptions(customer, alert));
  return fresh.map(({ customer }) => customer);
}

function eventOf({ type, incident, maintenance, state, since_ms }: StatusNotice, now_ms: number) {
  const event_id = `evt_${hash("sha256", `${type} ${state}`).slice(0, 26)}`;
  const event: StatusNoticeEvent = {
    id: event_id,
    type,
    created_at: iso(Math.min(since_ms, now_ms)),
    incident,
    maintenance,
  };
  return { event_id, body: JSON.stringify(event) };
}

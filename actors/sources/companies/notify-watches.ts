/**
 * From a change in the feed to the deliveries of the watches of its company. Storing a delivery is what counts; the word to
 * the watch's actor may be lost, because the dispatcher repeats a change until its position is stored.
 */
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { CompanyWatch } from "../../../schemas/companies.ts";
import { DELIVERY_TTL_MS } from "../../work/callbacks/delivery-schedule.ts";
import type { StoredChange } from "./feed/changes.ts";
import {
  COMPANY_DELIVERIES,
  COMPANY_WATCHES,
  deliveryKey,
  newDelivery,
  rangeOf,
  WATCHED_COMPANIES,
  watchedKey,
} from "./watch.ts";

const WATCHES_AT_ONCE = 500;

/** Throws Fault. */
export async function notifyWatches(
  {
    documents,
    ask,
    clock,
  }: { readonly documents: Documents; readonly ask: ActorClient; readonly clock: Clock },
  change: StoredChange,
): Promise<void> {
  const { company_id, type, merged_into, seq, version } = change;
  const { from, to } = rangeOf(company_id);
  for (let next = from; ;) {
    const page = await WATCHED_COMPANIES.list(documents, { from: next, to, limit: WATCHES_AT_ONCE });
    for (const { key, value } of page) {
      // The change waited in the feed when the watch was made: its maker has seen the company as it became.
      if (value !== null && version <= value.since_version) continue;
      const watch_id = key.slice(company_id.length + 1);
      const watch = await COMPANY_WATCHES.get(documents, watch_id);
      if (!watch || watch.is_off) continue;
      // A watch on a company that merges follows the survivor.
      if (type === "merged" && merged_into !== null)
        await WATCHED_COMPANIES.put(documents, watchedKey(merged_into, watch_id), null, 0);
      const now_ms = Math.floor(clock.now());
      const delivery = newDelivery(change, watch_id, company_id, now_ms);
      const options = { expires_at_ms: now_ms + DELIVERY_TTL_MS };
      await COMPANY_DELIVERIES.put(documents, deliveryKey(watch_id, seq), delivery, 0, options);
      await ask(CompanyWatch, watch_id, "deliver", null);
    }
    if (page.length < WATCHES_AT_ONCE) return;
    next = `${page.at(-1)!.key}\0`;
  }
}

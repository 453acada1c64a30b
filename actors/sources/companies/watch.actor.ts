/**
 * The watch actor: one for each watch. It delivers the changes that the dispatcher stored for it, oldest first for each
 * company, and stores every attempt before it makes it. When it makes them: actors/work/callbacks/delivery-behaviour.ts.
 */
import { outcomeOf } from "../../work/callbacks/delivery-outcome.ts";
import { actor } from "../../../cluster/actor.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import { type CompanyChangedEvent, CompanyWatch } from "../../../schemas/companies.ts";
import {
  type DeliverySnapshot,
  type DeliveryState,
  deliveryBehaviour,
} from "../../work/callbacks/delivery-behaviour.ts";
import { afterAttempt, beginDelivery, DELIVERY_TTL_MS } from "../../work/callbacks/delivery-schedule.ts";
import { postSigned, type PostSignedDeps, type SignedDelivery } from "../../work/callbacks/post-signed.ts";
import type { Cursors } from "./cursor.ts";
import { changeId } from "./feed/changes.ts";
import {
  COMPANY_DELIVERIES,
  COMPANY_WATCHES,
  deliveryKey,
  firstOfEach,
  rangeOf,
  type StoredDelivery,
  type StoredWatch,
  watchPlace,
} from "./watch.ts";

export interface WatchDeps extends PostSignedDeps {
  readonly documents: Documents;
  readonly metrics: Metrics;
  readonly cursors: Cursors;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** The address at which clients see the service. */
  readonly publicUrl: () => string;
}

/** Deliveries read at once; of each company one is tried. */
const DELIVERIES_AT_ONCE = 200;

/** The next delivery of a company, and the watch as it is now. */
interface WaitingDelivery {
  readonly next_ms: number;
  readonly watch: StoredWatch;
  readonly delivery: StoredDelivery;
}

export function watchActor(deps: WatchDeps) {
  const { clock, log } = deps;
  const behaviour = deliveryBehaviour<WaitingDelivery>({
    clock,
    listWaiting: (watch_id) => listWaiting(deps, watch_id),
    attempt: (_watch_id, { watch, delivery }) => attempt(deps, watch, delivery),
    onStoreFault: (watch, problem) =>
      log.warn("A watch waits for its store", { watch, problem: String(problem) }),
  });
  return actor(CompanyWatch)<DeliveryState, DeliverySnapshot>(behaviour);
}

/** The oldest delivery of each company. Those of a watch that is removed or off are removed. Throws Fault. */
async function listWaiting({ documents }: WatchDeps, watch_id: string): Promise<readonly WaitingDelivery[]> {
  const range = rangeOf(watch_id);
  const watch = await COMPANY_WATCHES.get(documents, watch_id);
  if (!watch || watch.is_off) {
    await COMPANY_DELIVERIES.removeRange(documents, range.from, range.to);
    return [];
  }
  const listed = await COMPANY_DELIVERIES.list(documents, { ...range, limit: DELIVERIES_AT_ONCE });
  const first = firstOfEach(listed.map(({ value }) => value));
  return first.map((delivery) => ({ next_ms: delivery.next_ms, watch, delivery }));
}

async function attempt(deps: WatchDeps, watch: StoredWatch, waiting: StoredDelivery): Promise<void> {
  const { documents, clock, metrics, random } = deps;
  const key = deliveryKey(watch.id, waiting.seq);
  const stored = await COMPANY_DELIVERIES.read(documents, key);
  if (!stored) return;
  const begun = beginDelivery(stored.value, Math.floor(clock.now()));
  const options = { expires_at_ms: begun.created_ms + DELIVERY_TTL_MS };
  if (!(await COMPANY_DELIVERIES.put(documents, key, begun, stored.version, options))) return;
  const result = await postSigned(deps, await deliveryOf(deps, watch, begun));
  metrics.count("trawl_company_deliveries_total", { outcome: outcomeOf(result) });
  const after = afterAttempt(begun, result, clock.now(), random());
  if (after.kind === "again")
    await COMPANY_DELIVERIES.put(documents, key, after.delivery, stored.version + 1, options);
  else await COMPANY_DELIVERIES.remove(documents, key, stored.version + 1);
  const last_delivery_ms = clock.now();
  await COMPANY_WATCHES.update(documents, watch.id, (current) =>
    current === null
      ? null
      : {
          value: {
            ...current,
            last_delivery_ms,
            last_status: result.status.startsWith("delivered_") ? "delivered" : result.status,
            is_off: current.is_off || (after.kind === "over" && after.switchesOff),
          },
          options: { tag: current.project },
        },
  );
}

async function deliveryOf(
  { cursors, publicUrl }: WatchDeps,
  watch: StoredWatch,
  delivery: StoredDelivery,
): Promise<SignedDelivery> {
  const { company_id, fields, created_ms, seq } = delivery;
  const id = `evt_${watch.id.slice("wch_".length)}${changeId(seq).slice("chg_".length)}`;
  const event: CompanyChangedEvent = {
    id,
    type: "company.changed",
    created_at: new Date(created_ms).toISOString(),
    watch_id: watch.id,
    company_id,
    fields: [...fields],
    change_cursor: await cursors.seal("changes ", { seq }),
    record_url: `${publicUrl()}/v1/companies/${company_id}`,
  };
  return {
    project: watch.project,
    event_id: id,
    body: JSON.stringify(event),
    url: { stored: watch.url, place: watchPlace(watch.id, "url") },
    secret: { stored: watch.secret, place: watchPlace(watch.id, "secret") },
  };
}

/**
 * The two ways out: everybody's, on which the filing system's hosts do not exist, and the adapter's, which wants a slot
 * for every request. So nothing can ask the system around its limiter.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Egress, Exchange, ExchangeRequest } from "../../../cluster/ports/egress.ts";
import type { FilingSlot } from "../../../schemas/filing-source.ts";
import type { FilingHosts } from "./hosts.ts";

/**
 * `lapsed`: there is no answer, and the slot is lost; `was_sent` when the request left and died with a connection that
 * had been kept too long.
 */
export type SlotExchange = Exchange | { readonly kind: "expired"; readonly was_sent: boolean };

export type SlotEgressRequest = Omit<ExchangeRequest, "sending"> & {
  /** Asked immediately before the request leaves, as the slot's time is. */
  readonly ownsKey: () => boolean;
};
export type SendWithSlot = (slot: FilingSlot, request: SlotEgressRequest) => Promise<SlotExchange>;

/** Each slot sends once, within its time, looked at again when the connection stands. */
export function sendWithSlot(egress: Egress, clock: Clock): SendWithSlot {
  const used = new WeakSet<FilingSlot>();
  return async (slot, request) => {
    const { ownsKey, ...exchangeRequest } = request;
    if (used.has(slot)) throw new TypeError(`Cannot ask "${request.url}": the slot was used before`);
    used.add(slot);
    const isSlotOpen = (): boolean => clock.now() >= slot.slot_ms && clock.now() <= slot.not_after_ms;
    if (!isSlotOpen()) return { kind: "expired", was_sent: false };
    let was_sent = false;
    let isLate = false;
    const sending = (): boolean => {
      // Asked a second time, a kept connection had died: the system may have counted the first.
      isLate = was_sent || !isSlotOpen() || !ownsKey();
      was_sent ||= !isLate;
      return !isLate;
    };
    const exchange = await egress.exchange({ ...exchangeRequest, beforeSend: sending });
    return exchange.kind === "failed" && isLate ? { kind: "expired", was_sent } : exchange;
  };
}

/** For everybody else. Redirects to the filing system are handed over before it is asked (actors/fetch). */
export const denyFilingHosts = (egress: Egress, { owns }: Pick<FilingHosts, "owns">): Egress => ({
  close: () => egress.close(),
  async exchange(request) {
    if (!owns(request.url)) return egress.exchange(request);
    return {
      kind: "failed",
      problem: "blocked_destination",
      connected: false,
      detail: "Cannot ask the filing system: it is asked through its limiter only",
      ms: 0,
    };
  },
});

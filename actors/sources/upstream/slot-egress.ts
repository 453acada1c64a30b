/**
 * Requests to an upstream, each with a slot of its limiter. For all other requests the upstream's hosts do not exist
 * (node/host-owners.ts), so no request reaches the upstream without a slot.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Egress, Exchange, ExchangeRequest } from "../../../cluster/ports/egress.ts";
import type { Slot, SlotAnswer } from "../../../schemas/upstream.ts";

/**
 * `expired`: there is no answer, and the slot is lost. `was_sent`: the request left on a pooled connection that the
 * upstream had closed, so the upstream may have counted it.
 */
export type SlotExchange = Exchange | { readonly kind: "expired"; readonly was_sent: boolean };

export type SlotEgressRequest = Omit<ExchangeRequest, "beforeSend"> & {
  /** Checked immediately before the request leaves: false once another node may own the work. */
  readonly ownsKey: () => boolean;
};
/** A slot as the node that asked for it may use it. */
export interface UsableSlot {
  readonly slot: Slot;
  /** On this process's monotonic clock: the slot is over from here on. */
  readonly void_ms: number;
}

/**
 * A grant has begun when it leaves the limiter, whose clock may differ from this node's and whose answer may have been on its way for
 * long. So what is left of it counts from the ask and from the wait that the limiter reports, which together end no later than
 * the limiter's own count began. `asked_ms`: of the ask, on the monotonic clock.
 */
export const usableSlot = (
  { slot, waited_ms, left_ms }: Extract<SlotAnswer, { kind: "granted" }>,
  asked_ms: number,
): UsableSlot => ({ slot, void_ms: asked_ms + waited_ms + left_ms });

export type SendWithSlot = (usable: UsableSlot, request: SlotEgressRequest) => Promise<SlotExchange>;

/** Each slot sends one request, within its time; the time is checked again when the connection is open. */
export function sendWithSlot(egress: Egress, clock: Clock): SendWithSlot {
  const used = new WeakSet<Slot>();
  return async ({ slot, void_ms }, request) => {
    const { ownsKey, ...exchangeRequest } = request;
    if (used.has(slot)) throw new TypeError(`Cannot ask "${request.url}": the slot was used before`);
    used.add(slot);
    const isSlotOpen = (): boolean => clock.mono() <= void_ms;
    if (!isSlotOpen()) return { kind: "expired", was_sent: false };
    let was_sent = false;
    let isRefused = false;
    const beforeSend = (): boolean => {
      // A second call means that the pooled connection was closed: the upstream may have counted the first request.
      isRefused = was_sent || !isSlotOpen() || !ownsKey();
      was_sent ||= !isRefused;
      return !isRefused;
    };
    const exchange = await egress.exchange({ ...exchangeRequest, beforeSend });
    return exchange.kind === "failed" && isRefused ? { kind: "expired", was_sent } : exchange;
  };
}

/**
 * The memory of one partition's envelopes from their delivery until they are acknowledged, in the node's byte budget.
 *
 * At the limit an ask is refused, so that its caller learns it at once. A tell waits: the bus keeps what comes after it.
 * Neither waits for the other, because what asks wait for may be told.
 */
import type { ByteBudget, Reservation } from "../../byte-budget.ts";
import type { Delivery, Envelope } from "../../ports/bus.ts";

/** The text of the envelope and the message that is read from it. */
const COPIES = 2;
/** The memory of an envelope beside its body: names, addresses, its place in sets. */
const ENVELOPE_BYTES = 1_024;

const sizeOf = ({ body }: Envelope): number => ENVELOPE_BYTES + COPIES * body.length;

export interface MessageRoom {
  /** False: there is no room for this ask. */
  readonly tryHold: (delivery: Delivery) => boolean;
  /** Resolves to false when the room was closed before there was room. */
  readonly hold: (delivery: Delivery) => boolean | Promise<boolean>;
  readonly release: (delivery: Delivery) => void;
  /** Gives everything back. */
  readonly close: () => void;
}

/** `messages` undefined: the node has no budget. */
export function messageRoom(messages: ByteBudget["messages"] | undefined): MessageRoom {
  const held = new Map<Delivery, Reservation>();
  const closing = new AbortController();

  function keep(delivery: Delivery, reservation: Reservation | null): boolean {
    if (reservation && !closing.signal.aborted) held.set(delivery, reservation);
    else reservation?.release();
    return reservation !== null && !closing.signal.aborted;
  }

  return {
    tryHold: (delivery) => !messages || keep(delivery, messages.asks.tryReserve(sizeOf(delivery.envelope))),
    hold(delivery) {
      if (!messages) return true;
      const bytes = sizeOf(delivery.envelope);
      const now = messages.tells.tryReserve(bytes);
      if (now) return keep(delivery, now);
      return messages.tells.reserve(bytes, closing.signal).then((reservation) => keep(delivery, reservation));
    },
    release(delivery) {
      held.get(delivery)?.release();
      held.delete(delivery);
    },
    close() {
      closing.abort();
      for (const reservation of held.values()) reservation.release();
      held.clear();
    },
  };
}

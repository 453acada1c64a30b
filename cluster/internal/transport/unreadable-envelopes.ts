/**
 * Envelopes of one partition that this node's version cannot read: it lacks their actor or operation, or the message has
 * another shape. Two versions run beside each other during an update, so the envelope stays unacknowledged for the next
 * owner of the partition, which may know it.
 *
 * An ask is kept until its deadline. A tell is given up an hour after it was sent, and of more than 500 the oldest.
 */
import type { AckReason } from "../turn/node-state.ts";
import type { Delivery } from "../../ports/bus.ts";
import type { Clock } from "../../ports/clock.ts";

/** Longer than an update takes; what is older is not known to any node. */
export const KEEP_UNREADABLE_MS = 3_600_000;
/** For each partition. The bus delivers nothing more at ten times this number. */
export const MAX_UNREADABLE = 500;
const CHECK_MS = 10_000;

export interface UnreadableEnvelopes {
  readonly keep: (delivery: Delivery) => void;
  /** Forgets them without an acknowledgement: the next owner gets them. */
  readonly stop: () => void;
}

type GiveUp = (delivery: Delivery, reason: Exclude<AckReason, "processed">) => void;

export function unreadableEnvelopes(clock: Clock, giveUp: GiveUp): UnreadableEnvelopes {
  /** With the time at which each is given up, oldest first. */
  const kept = new Map<Delivery, number>();
  let timer: Disposable | null = null;

  function check(): void {
    timer = null;
    const now_ms = clock.now();
    for (const [delivery, until_ms] of kept)
      if (until_ms <= now_ms)
        remove(delivery, delivery.envelope.timeout_ms === null ? "dead_lettered" : "expired");
    scheduleCheck();
  }

  function remove(delivery: Delivery, reason: Parameters<GiveUp>[1]): void {
    kept.delete(delivery);
    giveUp(delivery, reason);
  }

  function scheduleCheck(): void {
    if (kept.size > 0) timer ??= clock.at(clock.now() + CHECK_MS, check);
  }

  return {
    keep(delivery) {
      const { timeout_ms } = delivery.envelope;
      kept.set(
        delivery,
        timeout_ms === null ? delivery.sent_ms + KEEP_UNREADABLE_MS : clock.now() + timeout_ms,
      );
      if (kept.size > MAX_UNREADABLE) remove(kept.keys().next().value!, "dead_lettered");
      scheduleCheck();
    },
    stop() {
      timer?.[Symbol.dispose]();
      timer = null;
      kept.clear();
    },
  };
}

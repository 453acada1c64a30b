/**
 * Snapshots that are stored later than the effects of their turns leave (`mayStoreLater` of an actor): with the next turn
 * whose snapshot must be stored, at the latest a second later, and before the activation or its shard ends. A process that
 * dies before leaves the snapshot that was stored last.
 */
import { failActivation } from "./activation.ts";
import { enqueue } from "./mailbox.ts";
import { type Activation, localEntry } from "./node-state.ts";
import type { Fault } from "../../ports/fault.ts";

/** When too large, a process that dies leaves older snapshots; when too small, a delayed write finds no turn to go with. */
const STORE_LATER_MS = 1_000;

/** The operation of a turn that only stores. It is in no contract. */
export const STORE = "(store)";

/** The turn with this snapshot is over; the snapshot is stored later. */
export function storeLater(activation: Activation, snapshot: unknown): void {
  const since_ms = activation.unstored?.since_ms ?? activation.kind.shard.node.clock.now();
  activation.unstored = { snapshot, since_ms };
  if (!activation.storeTimer) setStoreTimer(activation, since_ms);
}

/** Sets the one timer of many turns: it looks whether what is not stored now has waited long enough. */
function setStoreTimer(activation: Activation, since_ms: number): void {
  const { clock } = activation.kind.shard.node;
  activation.storeTimer = clock.at(since_ms + STORE_LATER_MS, () => {
    activation.storeTimer = null;
    const { unstored } = activation;
    if (unstored && clock.now() < unstored.since_ms + STORE_LATER_MS)
      setStoreTimer(activation, unstored.since_ms);
    else storeNow(activation);
  });
}

/** Has a turn store what is not stored. */
export function storeNow(activation: Activation): void {
  if (activation.unstored) enqueue(activation, localEntry(STORE, null));
}

/** Ends an activation after a failure outside of a turn, once everything that its turns have changed is stored. */
export function failOnceStored(activation: Activation, fault: Fault): void {
  if (activation.phase !== "storing" && !activation.unstored) return failActivation(activation, fault);
  activation.failure ??= fault;
  if (activation.phase !== "storing") storeNow(activation);
}

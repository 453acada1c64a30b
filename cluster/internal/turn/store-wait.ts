/**
 * Activations wait while the document store does not answer. Their state, their mailboxes and their deferred
 * replies stay as they are, the load or the put is repeated with growing pauses, and no message counts a failure.
 *
 * A caller whose deadline comes meanwhile is told which store is missing, a little before it would stop waiting. Tells,
 * timers and reminders have no deadline and go on when the store is back.
 */
import { acknowledge, finishOne } from "./mailbox.ts";
import type { Activation, NodeState } from "./node-state.ts";
import { Fault } from "../../ports/fault.ts";

/** 100, 200, 400 ms and so on, each up to a quarter longer, so that waiting activations do not ask all at once. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
const JITTER = 0.25;
/** The lease of a partition is renewed, or given up, within a second. */
const LEASE_PAUSE_MS = 100;
/** So much before its deadline a caller is answered: the answer must arrive while the caller still waits. */
const ANSWER_EARLY_MS = 250;

/** Calls `retry` after a pause that grows with `failures`, unless the activation ends before. */
export function waitForStore(
  activation: Activation,
  problem: Fault,
  failures: number,
  retry: () => void,
): void {
  const { node } = activation.kind.shard;
  const { clock, metrics } = node;
  metrics.count("trawl_faults_total", { code: problem.code });
  if (!activation.storeWait) onWaitBegun(node, problem);
  const pause_ms = Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS);
  const retry_at_ms = clock.now() + Math.round(pause_ms * (1 + JITTER * node.nextRandom()));

  function sleep(): void {
    const at_ms = Math.min(retry_at_ms, nextDeadline(activation) - ANSWER_EARLY_MS);
    activation.storeWait = clock.at(at_ms, () => {
      failExpiredAsks(activation, problem);
      if (clock.now() < retry_at_ms) sleep();
      else retry();
    });
  }
  sleep();
}

/**
 * Calls `use` as soon as no other node may own the key: a late owner neither reads nor writes what is the next owner's by
 * now. It is not called when the activation ends before.
 */
export function whileOwned(activation: Activation, use: () => void): void {
  const { context, node } = activation.kind.shard;
  if (activation.phase === "ended") return;
  if (context.mayStore()) return use();
  node.clock.at(node.clock.now() + LEASE_PAUSE_MS, () => whileOwned(activation, use));
}

/** The store has answered, or the activation has ended. */
export function endStoreWait(activation: Activation): void {
  if (!activation.storeWait) return;
  activation.storeWait[Symbol.dispose]();
  activation.storeWait = null;
  onWaitEnded(activation.kind.shard.node);
}

function onWaitBegun({ storeWaits, clock, metrics, log }: NodeState, problem: Fault): void {
  storeWaits.count++;
  metrics.gauge("trawl_actor_store_waits", {}, storeWaits.count);
  if (storeWaits.count > 1) return;
  storeWaits.since_ms = clock.now();
  log.warn("Actors wait for the document store", { code: problem.code, problem });
}

function onWaitEnded({ storeWaits, clock, metrics, log }: NodeState): void {
  storeWaits.count--;
  metrics.gauge("trawl_actor_store_waits", {}, storeWaits.count);
  if (storeWaits.count > 0) return;
  log.info("No actor waits for the document store any more", {
    waited_ms: Math.round(clock.now() - storeWaits.since_ms),
  });
}

function nextDeadline({ openAsks }: Activation): number {
  let next_ms = Infinity;
  for (const { deadline_ms } of openAsks?.values() ?? []) next_ms = Math.min(next_ms, deadline_ms);
  return next_ms;
}

function failExpiredAsks(activation: Activation, problem: Fault): void {
  const { kind, key, current } = activation;
  const { node } = kind.shard;
  const expires_ms = node.clock.now() + ANSWER_EARLY_MS;
  const expired = [...(activation.openAsks ?? [])].filter(([, entry]) => entry.deadline_ms <= expires_ms);
  if (expired.length === 0) return;
  const text = `Cannot answer for "${kind.name}/${key}" in time: the document store does not answer`;
  const fault = new Fault(problem.code, text, { cause: problem });
  for (const [to, entry] of expired) {
    node.outbound.reply(to, { fault });
    acknowledge(activation, entry, "expired");
  }
  const gone = new Set(expired.map(([, entry]) => entry));
  const queued = activation.queue.filter((entry) => gone.has(entry) && entry !== current);
  if (queued.length === 0) return;
  activation.queue = activation.queue.filter((entry) => !gone.has(entry));
  for (const _ of queued) finishOne(kind.shard);
}

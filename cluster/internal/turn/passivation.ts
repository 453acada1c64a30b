/** Passivation: a sweep puts away activations that have been idle for long; their snapshot is stored already. */
import { acknowledge } from "./mailbox.ts";
import type { Activation, NodeState } from "./node-state.ts";

/** So often idle activations are looked for; one is put away at most this much late. */
const SWEEP_MS = 10_000;
/** Activations looked at in one go, about 5 ms; then the event loop serves others. */
const MAX_SWEEP = 20_000;
const SWEEP_PAUSE_MS = 10;

export interface NodeStats {
  readonly activations: Readonly<Record<string, number>>;
  readonly waiting: Readonly<Record<string, number>>;
  /** How long the oldest of them has waited, or has not been stored since it came; 0: none waits. */
  readonly oldest_ms: Readonly<Record<string, number>>;
  readonly running_work: number;
}

/** The figures of a node that serves no actors. */
export const NO_STATS: NodeStats = { activations: {}, waiting: {}, oldest_ms: {}, running_work: 0 };

/** Sees that a sweep comes; called when an activation is made. */
export function scheduleSweep(node: NodeState): void {
  const { sweep, clock } = node;
  if (sweep.isActive || sweep.isClosed) return;
  sweep.isActive = true;
  sweep.timer = clock.at(clock.now() + SWEEP_MS, () => sweepSome(node, allActivations(node)));
}

export function stopSweeps({ sweep }: NodeState): void {
  sweep.isClosed = true;
  sweep.timer?.[Symbol.dispose]();
}

function* allActivations({ shards }: NodeState): Generator<Activation> {
  for (const { kinds } of shards) for (const { activations } of kinds.values()) yield* activations.values();
}

function sweepSome(node: NodeState, remaining: Generator<Activation>): void {
  const now_ms = node.clock.now();
  for (let checked = 0; checked < MAX_SWEEP; checked++) {
    const { value: activation, done } = remaining.next();
    if (done) {
      node.sweep.isActive = false;
      reportGauges(node);
      if (!allActivations(node).next().done) scheduleSweep(node);
      return;
    }
    // Deferred and never answered: the caller has stopped waiting.
    for (const entry of activation.openAsks?.values() ?? [])
      if (now_ms >= entry.deadline_ms && !activation.queue.includes(entry))
        acknowledge(activation, entry, "expired");
    if (canPassivate(activation, now_ms)) {
      activation.phase = "ended";
      activation.kind.activations.delete(activation.key);
    }
  }
  node.sweep.timer = node.clock.at(now_ms + SWEEP_PAUSE_MS, () => sweepSome(node, remaining));
}

/** No message for a while, none waiting, no caller to answer, no timer and no work: all it knows is stored. */
const canPassivate = (activation: Activation, now_ms: number): boolean =>
  activation.phase === "idle" &&
  now_ms - activation.last_ms >= activation.kind.actor.passivate_after_ms &&
  activation.queue.length === 0 &&
  activation.runningWork === 0 &&
  activation.unstored === null &&
  (activation.openAsks?.size ?? 0) === 0 &&
  (activation.timers?.size ?? 0) === 0;

export function statsOf(node: NodeState): NodeStats {
  const activations: Record<string, number> = {};
  const waiting: Record<string, number> = {};
  const oldest_ms: Record<string, number> = {};
  const now_ms = node.clock.mono();
  let running_work = 0;
  for (const { name } of node.catalogue) activations[name] = waiting[name] = oldest_ms[name] = 0;
  for (const activation of allActivations(node)) {
    activations[activation.kind.name]!++;
    const { kind, queue, current } = activation;
    waiting[kind.name]! += queue.length;
    const oldest = current ?? queue[0];
    if (oldest) oldest_ms[kind.name] = Math.max(oldest_ms[kind.name]!, now_ms - (oldest.queued_ms ?? now_ms));
    running_work += activation.runningWork;
  }
  return { activations, waiting, oldest_ms, running_work };
}

function reportGauges(node: NodeState): void {
  const { activations, waiting, oldest_ms } = statsOf(node);
  for (const { name } of node.catalogue) {
    node.metrics.gauge("trawl_actor_activations", { kind: name }, activations[name]!);
    node.metrics.gauge("trawl_actor_mailbox_depth", { kind: name }, waiting[name]!);
    node.metrics.gauge("trawl_actor_oldest_message_seconds", { kind: name }, oldest_ms[name]! / 1_000);
  }
}

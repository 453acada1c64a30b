/** Background work (turn.pipeToSelf): it outlasts the turn, may ask and wait, and its result comes back as a message. */
import type { ActorClient, WorkContext } from "../../actor.ts";
import { asFault, isLeaseLost, reportFailure } from "./failures.ts";
import { enqueue, finishOne } from "./mailbox.ts";
import { type Activation, localEntry } from "./node-state.ts";
import { failOnceStored } from "./store-later.ts";
import { sealed } from "../transport/wire.ts";

export type BackgroundWork = (ask: ActorClient, context: WorkContext) => Promise<unknown>;

/** Runs `work`; its result becomes the message `operation`, a throw ends the activation. */
export function startWork(activation: Activation, operation: string, work: BackgroundWork): void {
  const { kind, key } = activation;
  const { shard } = kind;
  // A shard that quiesces starts nothing: reminders bring the work back, here later or on the next owner.
  if (activation.phase === "ended" || shard.mode !== "open") return;
  activation.runningWork++;
  shard.inFlight++;
  activation.workAbort ??= new AbortController();
  const context: WorkContext = {
    signal: activation.workAbort.signal,
    ownsKey: () => activation.phase !== "ended" && shard.mode === "open" && shard.context.ownsKeys(),
    epoch: shard.context.epoch,
  };

  function onEnd(): void {
    activation.runningWork--;
    activation.last_ms = shard.node.clock.now();
    finishOne(shard);
  }

  function onFailure(problem: unknown): void {
    onEnd();
    if (activation.phase === "ended") return;
    // Work that stops because another node may own the key is no failure: its callers ask the next owner.
    if (context.ownsKey() || !isLeaseLost(problem))
      reportFailure(shard.node, kind.name, key, operation, problem);
    const fault = asFault(problem, `Cannot answer for "${kind.name}/${key}": its background work failed`);
    // The message whose turn is being stored is not given up for it.
    failOnceStored(activation, fault);
  }

  const { tracing } = shard.node;
  const span = { name: `${kind.name} work before ${operation}`, kind: "internal" } as const;
  const run = (): Promise<unknown> => work(shard.context.ask, context);
  // Inside a promise, so that a throw before the first await is no different from one after it.
  void Promise.resolve()
    .then(() => (tracing ? tracing.span(span, run) : run()))
    .then((result) => sealed(`"${kind.name}.${operation}"`, kind.validators.get(operation)!.message, result))
    .then((message) => {
      enqueue(activation, localEntry(operation, message));
      onEnd();
    }, onFailure);
}

/**
 * Assembly: the whole cluster in one process. No bus and no leases, one shard with every key.
 *
 * Messages are checked and frozen as if they were sent, so what works here works between nodes. Only snapshots survive
 * the process: a message in a mailbox is gone with it, and reminders are found in the store.
 */
import type { Contract, MessageOf, ReplyOf } from "./contracts/contract.ts";
import type { Actor, AskOptions, ActorClient } from "./actor.ts";
import type { CacheLimits } from "./cache-limits.ts";
import { type LocalNode, node } from "./internal/turn/node.ts";
import { localEntry } from "./internal/turn/node-state.ts";
import { NO_STATS, type NodeStats } from "./internal/turn/passivation.ts";
import { ASK_TIMEOUT_MS, pendingAsks } from "./internal/transport/pending-asks.ts";
import { MIN_PARTITIONS } from "./placement.ts";
import type { Clock } from "./ports/clock.ts";
import type { Documents } from "./ports/documents.ts";
import { Fault } from "./ports/fault.ts";
import { type Log, SILENT_LOG } from "./ports/log.ts";
import { type Metrics, SILENT_METRICS } from "./ports/metrics.ts";
import type { Random } from "./ports/random.ts";
import type { Tracing } from "./ports/tracing.ts";
import type { RoleActor } from "./role-actor.ts";
import { localRouter, type RoleRouter } from "./internal/roles/role-router.ts";
import type { Shard } from "./internal/turn/shard.ts";
import { tracedAsks } from "./spans.ts";
import { tellLines } from "./internal/transport/tell-retries.ts";
import { sealed, validatorsOf } from "./internal/transport/wire.ts";

export type { NodeStats } from "./internal/turn/passivation.ts";
export type { RoleRouter } from "./internal/roles/role-router.ts";

export interface ClusterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  /** The actors of this node that are placed by role. Default: none. */
  readonly roleActors?: readonly RoleActor[];
  /** Default: nothing is counted, logged or traced. */
  readonly metrics?: Metrics;
  readonly log?: Log;
  readonly tracing?: Tracing | undefined;
  readonly caches?: Pick<CacheLimits, "answers">;
}

/** A node as its actors and routes see it. */
export interface ClusterClient {
  /** For an ask the answer; for a tell nothing, once it cannot be lost any more. */
  readonly ask: ActorClient;
  /** Calls the actors that are placed by role. */
  readonly roles: Pick<RoleRouter, "call" | "hasRole" | "loads" | "figures">;
  readonly stats: () => NodeStats & { readonly pending_asks: number };
  /** Whether the actor with this key lives on this node now. */
  readonly ownsKey: (of: Pick<Actor["contract"], "shard_by">, key: string) => boolean;
  /**
   * Takes nothing new from outside the actors, answers the callers that asked already, starts no more background work
   * and lets what is in flight end. After limit_ms the rest is aborted and its callers get a fault. Default 10 s.
   */
  readonly stop: (limit_ms?: number) => Promise<void>;
}

/** A node whose actors run. */
export interface Cluster extends ClusterClient {
  /** Resolves when the stored reminders have been found; rejects with a Fault when the store did not answer. */
  readonly recovered: Promise<void>;
}

/** A node that has joined and owns nothing yet, so that its actors can be made with its client. */
export interface Serves<C extends Cluster> {
  /** Called once: from now on the node owns keys. */
  readonly serve: (actors: readonly Actor[]) => C;
}

const STOP_MS = 10_000;

const nothing = (): void => {};

/** `epoch`: larger than that of every earlier process on these documents (process-epoch.ts). Default 0, for one process only. */
export const embedded = (actors: readonly Actor[], deps: ClusterDeps, epoch = 0): Cluster =>
  joinEmbedded(deps, epoch).serve(actors);

/** The process before its actors run, with the client that they are made with. */
export function joinEmbedded(deps: ClusterDeps, epoch = 0): ClusterClient & Serves<Cluster> {
  const { clock, metrics = SILENT_METRICS, log = SILENT_LOG, tracing } = deps;
  const pending = pendingAsks(clock, metrics);
  let nextToken = 0;
  let isStopping = false;
  let serving: { readonly node: LocalNode; readonly shard: Shard } | null = null;

  const clientFor =
    (isExternal: boolean): ActorClient =>
    <O, N extends keyof O & string>(
      of: Contract<O>,
      key: string,
      operation: N,
      message: MessageOf<O[N]>,
      { timeout_ms = ASK_TIMEOUT_MS, idempotency_id }: AskOptions = {},
    ): Promise<ReplyOf<O[N]>> => {
      const reply_to = `${of.name}.${operation}#${idempotency_id === undefined ? nextToken++ : `${key} ${idempotency_id}`}`;
      const existing = pending.get(reply_to);
      if (existing) return existing.promise;
      const { promise, deadline_ms } = pending.open(reply_to, `"${of.name}/${key}"`, timeout_ms, isExternal);
      try {
        if (isStopping && isExternal)
          throw new Fault("no_answer", `Cannot ask "${of.name}/${key}": this node is stopping`);
        if (serving === null)
          throw new Fault(
            "no_workers",
            `Cannot ask "${of.name}/${key}": this node does not serve its actors yet`,
          );
        const { kind, message: validator } = validatorsOf(of, operation);
        serving.shard.deliver(of.name, key, {
          operation,
          message: sealed(`"${of.name}.${operation}"`, validator, message),
          traceparent: tracing?.current(),
          reply_to,
          isRepeatable: idempotency_id !== undefined,
          deadline_ms: kind === "tell" ? Infinity : deadline_ms,
          ack: null,
          isLocal: true,
          failedAttempts: 0,
        });
      } catch (problem) {
        if (problem instanceof Fault) pending.resolve(reply_to, { fault: problem });
        else pending.reject(reply_to, problem);
      }
      return promise;
    };

  async function stop(limit_ms = STOP_MS): Promise<void> {
    isStopping = true;
    if (serving === null) return;
    const { shard, node: localNode } = serving;
    const limit = Promise.withResolvers<void>();
    const timer = clock.at(clock.now() + limit_ms, limit.resolve);
    await Promise.race([limit.promise, pending.drained()]);
    shard.quiesce();
    await Promise.race([limit.promise, shard.drained()]);
    timer[Symbol.dispose]();
    shard.drop(new Fault("no_answer", "Cannot answer: this node has stopped"));
    localNode.close();
  }

  const client: ClusterClient = {
    ask: tracedAsks(tracing, clientFor(true)),
    roles: localRouter(deps.roleActors ?? [], deps.random, tracing),
    stats: () => ({ ...(serving?.node.stats() ?? NO_STATS), pending_asks: pending.size() }),
    ownsKey: () => true,
    stop,
  };

  function serve(actors: readonly Actor[]): Cluster {
    const tells = tellLines({ clock, metrics, log }, ({ name, key, operation, message, traceparent }) =>
      shard.deliver(name, key, localEntry(operation, message, traceparent)),
    );
    const localNode = node(
      actors,
      { ...deps, metrics, log, partitionCount: MIN_PARTITIONS },
      {
        reply: pending.resolve,
        tell: ({ name }, key, operation, message) =>
          tells.send({ name, key, operation, message, traceparent: tracing?.current() }),
      },
    );
    const shard = localNode.openShard({
      ownsKeys: () => true,
      mayStore: () => true,
      epoch,
      ask: tracedAsks(tracing, clientFor(false)),
    });
    serving = { node: localNode, shard };
    const recovered = shard.recover(Array.from({ length: MIN_PARTITIONS }, (_, partition) => partition));
    // The caller may wait for it; a test that does not must not fail by it.
    recovered.catch(nothing);
    return { ...client, recovered };
  }

  return { ...client, serve };
}

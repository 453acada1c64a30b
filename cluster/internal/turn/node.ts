/**
 * Assembly of one process of the cluster: the actors it runs, and the shards that hold their keys.
 *
 * How a message reaches the node and how one leaves it is the business of embedded.ts and distributed.ts, which hand in
 * `outbound` and each shard's `ask`; the runtime never addresses another node itself.
 */
import { LRUCache } from "lru-cache";
import type { Actor } from "../../actor.ts";
import { activationFor } from "./activation.ts";
import { cacheLimits, RUNTIME_CACHES } from "../../cache-limits.ts";
import { type DeadLetterKeeper, deadLetterKeeper } from "../../dead-letters.ts";
import type { NodeDeps, NodeState, Outbound, ShardContext } from "./node-state.ts";
import { type NodeStats, statsOf, stopSweeps } from "./passivation.ts";
import { openShard, type Shard } from "./shard.ts";
import { takeTurn } from "./turn.ts";
import { allValidatorsOf } from "../transport/wire.ts";

/** Answers to repeatable asks that are remembered. */
const MAX_REMEMBERED_ANSWERS = 10_000;
/** Longer than any caller repeats an ask, so that an answer that was lost is found, and an old answer is not taken for a new one. */
const REMEMBER_MS = 10 * 60_000;

export interface LocalNode {
  readonly openShard: (context: ShardContext) => Shard;
  readonly deadLetters: DeadLetterKeeper;
  /** Activations, waiting messages and running background work. */
  readonly stats: () => NodeStats;
  readonly close: () => void;
}

export function node(actors: readonly Actor[], deps: NodeDeps, outbound: Outbound): LocalNode {
  const catalogue = actors.map((actor) => ({
    actor,
    name: actor.contract.name,
    validators: allValidatorsOf(actor.contract),
  }));
  const state: NodeState = {
    ...deps,
    nextRandom: () => deps.random.next(),
    outbound,
    deadLetters: deadLetterKeeper(deps),
    catalogue,
    replyValidators: new Map(
      catalogue.flatMap(({ name, validators }) =>
        [...validators].map(([operation, { reply }]) => [`${name}.${operation}`, reply]),
      ),
    ),
    shards: new Set(),
    rememberedAnswers: new LRUCache({
      max: MAX_REMEMBERED_ANSWERS,
      // By the characters of their JSON.
      maxSize: (deps.caches ?? cacheLimits(RUNTIME_CACHES)).answers,
      sizeCalculation: ({ chars }) => chars,
      ttl: REMEMBER_MS,
      // Asked at each look: a clock that a test moves has no idle time.
      ttlResolution: 0,
      // The cache takes a start at 0 for none.
      perf: { now: () => 1 + deps.clock.mono() },
    }),
    runnable: [],
    isRunning: false,
    recoveries: new Map(),
    recovering: 0,
    recoveryWaiters: [],
    storeWaits: { count: 0, since_ms: 0 },
    sweep: { isActive: false, isClosed: false, timer: null },
    takeTurn,
    activationFor,
  };
  // Every series is there from the start, so that the first failure of an actor is seen as an increase.
  for (const { name: kind } of catalogue) {
    deps.metrics.begin("trawl_actor_failures_total", { kind });
    deps.metrics.begin("trawl_dead_letters_total", { kind });
    deps.metrics.begin("trawl_actor_activations", { kind });
    deps.metrics.begin("trawl_actor_mailbox_depth", { kind });
    deps.metrics.begin("trawl_actor_oldest_message_seconds", { kind });
  }
  return {
    openShard: (context) => openShard(state, context),
    deadLetters: state.deadLetters,
    stats: () => statsOf(state),
    close() {
      stopSweeps(state);
      state.deadLetters.stop();
    },
  };
}

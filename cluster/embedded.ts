/**
 * Assembly: the whole cluster in one process. No bus and no leases, one holding that has every key.
 *
 * Messages are measured, copied and checked all the same, so what works here works across a wire. Nothing survives
 * the process but what actors keep: a message in a mailbox is gone with it, and who has duties is found in the store.
 */
import type { Contract, MessageOf, ReplyOf } from "../schemas/contract.ts";
import type { Actor, Patience, Say } from "./actor.ts";
import { shapesOf, travelled } from "./wire.ts";
import { node, type NodeStats, ownEnvelope } from "./node.ts";
import { PARTITIONS } from "./placement.ts";
import type { Clock } from "./ports/clock.ts";
import type { Documents } from "./ports/documents.ts";
import { Fault } from "./ports/fault.ts";
import type { Meters } from "./ports/meters.ts";
import type { Random } from "./ports/random.ts";
import { questions, WAIT_MS } from "./pending-asks.ts";

export interface Outside {
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  /** Default: nothing is counted or logged. */
  readonly meters?: Meters;
}

export interface Cluster {
  /** For an ask the answer; for a tell nothing, once it cannot be lost any more. */
  readonly ask: Say;
  /** Resolves when everybody with duties has been found; rejects with a Fault when the store did not answer. */
  readonly recovered: Promise<void>;
  /**
   * Hears nothing new from outside, answers who asked already, starts no more work, lets what is in flight end; after
   * limit_ms whatever is left is aborted and told so. Default 10 s.
   */
  readonly stop: (limit_ms?: number) => Promise<void>;
  readonly stats: () => NodeStats & { readonly questions: number };
}

const STOP_MS = 10_000;
/** A tell to a full mailbox is tried again this often, for ten seconds; then it is lost and counted. */
const TELL_AGAIN_MS = 250;
const TELLS_AGAIN = 40;

const nothing = (): void => {};
export const SILENT: Meters = { count: nothing, gauge: nothing, observe: nothing, say: nothing };

export function embedded(actors: readonly Actor[], outside: Outside): Cluster {
  const { clock, meters = SILENT } = outside;
  const books = questions(clock, meters);
  let asked = 0;
  let stopping = false;

  function tell(
    contract: Actor["contract"],
    key: string,
    operation: string,
    message: unknown,
    tries = 0,
  ): void {
    try {
      holding.take(contract.name, key, ownEnvelope(operation, message));
    } catch (problem) {
      if (problem instanceof Fault && tries < TELLS_AGAIN) {
        clock.at(clock.now() + TELL_AGAIN_MS, () => tell(contract, key, operation, message, tries + 1));
        return;
      }
      if (problem instanceof Fault) meters.count("trawl_faults_total", { code: problem.code });
      meters.say("error", "A message was lost", { actor: contract.name, key, operation, problem });
    }
  }

  const asking =
    (from_outside: boolean): Say =>
    <O, N extends keyof O & string>(
      of: Contract<O>,
      key: string,
      operation: N,
      message: MessageOf<O[N]>,
      { wait_ms = WAIT_MS, id }: Patience = {},
    ): Promise<ReplyOf<O[N]>> => {
      const reply_to = `${of.name}.${operation}#${id === undefined ? asked++ : `${key} ${id}`}`;
      const before = books.get(reply_to);
      if (before) return before.promise;
      const { promise, deadline_ms } = books.open(reply_to, `"${of.name}/${key}"`, wait_ms, from_outside);
      try {
        if (stopping && from_outside)
          throw new Fault("no_answer", `Cannot ask "${of.name}/${key}": this node is stopping`);
        const { message: shape } = shapesOf(of, operation);
        holding.take(of.name, key, {
          operation,
          message: travelled(`"${of.name}.${operation}"`, shape, message),
          reply_to,
          repeatable: id !== undefined,
          deadline_ms,
          settle: null,
          local: true,
          throws: 0,
        });
      } catch (problem) {
        if (problem instanceof Fault) books.conclude(reply_to, { fault: problem });
        else books.withdraw(reply_to, problem);
      }
      return promise;
    };

  const within = node(actors, { ...outside, meters }, { reply: books.conclude, tell });
  const holding = within.hold({ mayStart: () => true, epoch: 0, ask: asking(false) });
  const recovered = holding.recover(Array.from({ length: PARTITIONS }, (_, partition) => partition));
  // Whoever starts the node waits for it; a test that does not care must not break by it.
  recovered.catch(nothing);

  async function stop(limit_ms = STOP_MS): Promise<void> {
    stopping = true;
    const limit = Promise.withResolvers<void>();
    const alarm = clock.at(clock.now() + limit_ms, limit.resolve);
    await Promise.race([limit.promise, books.answered()]);
    holding.slow();
    await Promise.race([limit.promise, holding.quiet()]);
    alarm[Symbol.dispose]();
    holding.drop(new Fault("no_answer", "Cannot answer: this node has stopped"));
    within.close();
  }

  return {
    ask: asking(true),
    recovered,
    stop,
    stats: () => ({ ...within.stats(), questions: books.size() }),
  };
}

/**
 * Dead letters: messages without a caller that the node gave up, because their turn broke five times, no version read
 * them for an hour, or they are no message at all. They are kept in the document store, where `trawl dead-letters` lists,
 * shows, retries and deletes them. A store that does not answer is never a reason to give a message up.
 *
 * The collection is a ring: dead letter n is in slot n modulo MAX_DEAD_LETTERS, so a new one replaces the oldest.
 */
import { type Static, Type } from "typebox";
import type { Node } from "./node-record.ts";
import type { Actor, ActorClient } from "./actor.ts";
import { sleep } from "./ports/clock.ts";
import type { Documents } from "./ports/documents.ts";
import { isInfrastructureFault } from "./ports/fault.ts";
import { collection } from "./collection.ts";

/** Letters of the whole cluster; with MAX_MESSAGE_BYTES they take 32 MB at most. */
export const MAX_DEAD_LETTERS = 500;
/** UTF-8 bytes of a kept message; of a longer one only its size is kept, and it cannot be sent again. */
export const MAX_MESSAGE_BYTES = 64 * 1024;
/** When a dead letter is removed. */
export const KEEP_DEAD_LETTERS_MS = 30 * 24 * 3_600_000;
/** Letters of one node that wait for the store; one more is given up for good, which is counted and logged. */
const MAX_WAITING = 500;
/** The tag of dead letters that the operator wants sent again. */
export const RETRY_TAG = "retry";

const MAX_PROBLEM_CHARS = 1_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
const HEAD = "head";

export const DeadLetter = Type.Object({
  id: Type.Integer({ minimum: 0 }),
  /** When it was given up, in Unix milliseconds. */
  at_ms: Type.Integer(),
  actor: Type.String(),
  key: Type.String(),
  operation: Type.String(),
  /** JSON; null: it was longer than MAX_MESSAGE_BYTES. */
  message: Type.Union([Type.String(), Type.Null()]),
  /** UTF-8 bytes of the message. */
  bytes: Type.Integer(),
  problem: Type.String(),
  /** How often the operator had it sent again. */
  retries: Type.Integer(),
  state: Type.Enum(["kept", "retry", "sending"]),
});
export type DeadLetter = Static<typeof DeadLetter>;

/** By slot. */
export const DEAD_LETTERS = collection<DeadLetter>("dead_letters", { expires: true });
const HEADS = DEAD_LETTERS.of<{ readonly next: number }>();

/** A message that was given up. */
export interface GivenUp {
  readonly actor: string;
  readonly key: string;
  readonly operation: string;
  readonly message: unknown;
  readonly problem: unknown;
}

export interface DeadLetterKeeper {
  /** True: it is stored, or given up for good. False: the node stopped before, so the bus must not forget it. Never throws. */
  readonly keep: (given_up: GivenUp) => Promise<boolean>;
  readonly stop: () => void;
}

export const slotOf = (id: number): string => String(id % MAX_DEAD_LETTERS).padStart(3, "0");

export function deadLetterKeeper({
  documents,
  clock,
  metrics,
  log,
}: Pick<Node, "documents" | "clock" | "metrics" | "log">): DeadLetterKeeper {
  let waiting = 0;
  let isStopped = false;
  let last: Promise<unknown> = Promise.resolve();

  async function store(given_up: Omit<DeadLetter, "id">): Promise<number> {
    const head = await HEADS.update(documents, HEAD, (stored) => ({
      value: { next: (stored?.next ?? 0) + 1 },
    }));
    const id = head!.value.next - 1;
    const options = { expires_at_ms: given_up.at_ms + KEEP_DEAD_LETTERS_MS };
    await DEAD_LETTERS.update(documents, slotOf(id), (stored) =>
      stored !== null && stored.id > id ? null : { value: { id, ...given_up }, options },
    );
    return id;
  }

  async function storeWhenItAnswers(deadLetter: Omit<DeadLetter, "id">): Promise<boolean> {
    for (let failures = 0; !isStopped; failures++) {
      try {
        const id = await store(deadLetter);
        const { actor, key, operation } = deadLetter;
        log.error("A message was dead-lettered", { actor, key, operation, dead_letter: id });
        return true;
      } catch (problem) {
        if (!isInfrastructureFault(problem)) {
          log.error("A dead letter could not be kept", {
            actor: deadLetter.actor,
            key: deadLetter.key,
            problem,
          });
          return true;
        }
        const pause_ms = Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS);
        await sleep(clock, pause_ms);
      }
    }
    return false;
  }

  return {
    async keep({ actor, key, operation, message, problem }) {
      metrics.count("trawl_dead_letters_total", { kind: actor });
      if (waiting >= MAX_WAITING) {
        log.error("A dead letter could not be kept", {
          actor,
          key,
          operation,
          problem: "too many wait for the store",
        });
        return true;
      }
      const text = JSON.stringify(message) ?? "null";
      const bytes = Buffer.byteLength(text);
      waiting++;
      const stored = last.then(() =>
        storeWhenItAnswers({
          at_ms: Math.round(clock.now()),
          actor,
          key,
          operation,
          message: bytes > MAX_MESSAGE_BYTES ? null : text,
          bytes,
          problem: String(problem).slice(0, MAX_PROBLEM_CHARS),
          retries: 0,
          state: "kept",
        }),
      );
      last = stored;
      return stored.finally(() => void waiting--);
    },
    stop: () => void (isStopped = true),
  };
}

// --- for the operator -------------------------------------------------------------------------------------------

type DeadLetterStore = Pick<Documents, "get" | "put" | "remove" | "list">;

interface StoredDeadLetter {
  readonly deadLetter: DeadLetter;
  readonly version: number;
}

const PAGE = 50;

/** Newest first. */
export async function listDeadLetters(documents: DeadLetterStore): Promise<readonly DeadLetter[]> {
  const deadLetters: DeadLetter[] = [];
  // Digits are before ":", the head is after it.
  for (let from = "0"; ;) {
    const page = await DEAD_LETTERS.list(documents, { from, to: ":", limit: PAGE });
    deadLetters.push(...page.map(({ value }) => value));
    if (page.length < PAGE) return deadLetters.toSorted((a, b) => b.id - a.id);
    from = `${page.at(-1)!.key}\0`;
  }
}

export async function readDeadLetter(
  documents: DeadLetterStore,
  id: number,
): Promise<StoredDeadLetter | null> {
  const stored = await DEAD_LETTERS.read(documents, slotOf(id));
  const deadLetter = stored?.value;
  return deadLetter?.id === id ? { deadLetter, version: stored!.version } : null;
}

/** False: it changed meanwhile. */
export const removeDeadLetter = (
  documents: DeadLetterStore,
  { deadLetter, version }: StoredDeadLetter,
): Promise<boolean> => DEAD_LETTERS.remove(documents, slotOf(deadLetter.id), version);

/** Marks it for the running nodes, of which one sends it. False: it changed meanwhile. */
export const requestRetry = (documents: DeadLetterStore, stored: StoredDeadLetter): Promise<boolean> =>
  update(documents, stored, { state: "retry" });

function update(
  documents: DeadLetterStore,
  { deadLetter, version }: StoredDeadLetter,
  changes: Partial<DeadLetter>,
): Promise<boolean> {
  const changed = { ...deadLetter, ...changes };
  return DEAD_LETTERS.put(documents, slotOf(deadLetter.id), changed, version, {
    expires_at_ms: deadLetter.at_ms + KEEP_DEAD_LETTERS_MS,
    ...(changed.state === "retry" && { tag: RETRY_TAG }),
  });
}

const MAX_RETRIES_AT_ONCE = 20;

/**
 * Sends the dead letters that the operator marked. Each is removed once the bus, or in one process its actor, has taken it, and
 * otherwise kept with the new problem. When a node ends while it sends, the dead letter stays "sending" for the operator.
 */
export async function retryMarked(
  documents: DeadLetterStore,
  actors: readonly Actor[],
  ask: ActorClient,
): Promise<void> {
  const marked = await DEAD_LETTERS.list(documents, { tag: RETRY_TAG, limit: MAX_RETRIES_AT_ONCE });
  for (const { value: deadLetter, version } of marked) {
    const retries = deadLetter.retries + 1;
    // The write decides which node sends it.
    if (!(await update(documents, { deadLetter, version }, { state: "sending", retries }))) continue;
    const sending = { deadLetter: { ...deadLetter, retries }, version: version + 1 };
    const problem = await send(actors, ask, deadLetter).then(
      () => null,
      (refused: unknown) => String(refused).slice(0, MAX_PROBLEM_CHARS),
    );
    if (problem === null) await removeDeadLetter(documents, sending);
    else await update(documents, sending, { state: "kept", problem });
  }
}

async function send(
  actors: readonly Actor[],
  ask: ActorClient,
  { actor: name, key, operation, message }: DeadLetter,
): Promise<void> {
  const contract = actors.find((actor) => actor.contract.name === name)?.contract;
  if (!contract) throw new TypeError(`Cannot send to "${name}": this version has no such actor`);
  if (message === null) throw new TypeError("Cannot send the message: it was too long to be kept");
  await ask(contract, key, operation, JSON.parse(message) as never);
}

/**
 * Assembly: many processes over a Bus, Leases and Documents that all of them share.
 *
 * Every node can ask; one that `owns` also holds partitions. A question to a key this node holds stays in the process,
 * any other is a letter on SYNC; a tell is a letter on WORK. A letter is acknowledged when what its turn kept is stored
 * and its answer has left, in this order, so whoever dies in between leaves it to the next owner (cluster.md, 3.8).
 */
import { createHash } from "node:crypto";
import type { Contract, MessageOf, ReplyOf } from "../schemas/contract.ts";
import type { Actor, Patience, Say } from "./actor.ts";
import { type Cluster, type Outside, SILENT } from "./embedded.ts";
import { fitted, shapesOf, travelled } from "./wire.ts";
import { type Holding, node, type Outcome, ownEnvelope, type Settled } from "./node.ts";
import { type Estate, ownership, type Part } from "./ownership.ts";
import { partitionOf, PARTITIONS } from "./placement.ts";
import type { Bus, Delivery, Inbox, Letter } from "./ports/bus.ts";
import { Fault, type FaultCode } from "./ports/fault.ts";
import type { Leases } from "./ports/leases.ts";
import { questions, WAIT_MS } from "./pending-asks.ts";

export interface Surroundings extends Outside {
  readonly bus: Bus;
  readonly leases: Leases;
}

export interface Role {
  /** Unlike every other node's, also of those that are gone: host, process, chance. */
  readonly name: string;
  /** Whether it holds partitions; a gateway only asks. */
  readonly owns: boolean;
}

export interface DistributedCluster extends Cluster {
  readonly partitions: () => readonly number[];
  /** The same with their epochs. */
  readonly holdings: () => readonly Pick<Part, "partition" | "epoch">[];
}

/** What an answer looks like on the wire. */
type Wired =
  | { readonly reply: unknown }
  | { readonly fault: { readonly code: FaultCode; readonly message: string } };

/** An open question older than this is asked again, this often: answers travel at most once. */
const ASK_AGAIN_MS = 10_000;
const LOOK_MS = 1_000;
/** A tell that was refused is tried again this often, for ten seconds; then it is lost and counted. */
const TELL_AGAIN_MS = 250;
const TELLS_AGAIN = 40;
const ACKNOWLEDGE_AGAIN_MS = 100;
/** How often what the bus counts as unacknowledged is looked for among what this node knows it has. */
const STRANDED_MS = 60_000;
/** After the connection was away, when what was on its way may have been lost. */
const STRANDED_SOON_MS = 2_000;
const STOP_MS = 10_000;

interface Place extends Part {
  readonly holding: Holding;
  closing: boolean;
  readonly lookSoon: () => void;
}

interface Asked {
  again_ms: number;
  attempt: number;
  /** The place it was left with, when that is in this process. */
  place: Place | null;
  /** The partition whose work asks; null: asked from outside. */
  readonly home: number | null;
  readonly send: (attempt: number) => Promise<void>;
}

export async function distributed(
  actors: readonly Actor[],
  surroundings: Surroundings,
  { name: me, owns }: Role,
): Promise<DistributedCluster> {
  const { clock, bus, leases, meters = SILENT } = surroundings;
  const books = questions(clock, meters);
  const asked = new Map<string, Asked>();
  const places = new Map<number, Place>();
  let count = 0;
  let stopping = false;
  await agreed(surroundings);

  const inbox: Inbox = await bus.inbox((token, body) => {
    const wired = JSON.parse(body) as Wired;
    conclude(token, "fault" in wired ? { fault: new Fault(wired.fault.code, wired.fault.message) } : wired);
  });
  const own_address = inbox.address("");

  function conclude(token: string, outcome: Outcome): void {
    asked.delete(token);
    books.conclude(token, outcome);
  }

  // --- asking and telling --------------------------------------------------------------------------------------

  /** The partition's own mailbox, when it is in this process and takes messages. */
  function nearby(partition: number): Place | null {
    const place = places.get(partition);
    return place && !place.closing && place.mayStart() ? place : null;
  }

  const asking =
    (home: number | null): Say =>
    <O, N extends keyof O & string>(
      of: Contract<O>,
      key: string,
      operation: N,
      message: MessageOf<O[N]>,
      { wait_ms = WAIT_MS, id }: Patience = {},
    ): Promise<ReplyOf<O[N]>> => {
      const token = id === undefined ? `${count++}` : tokenOf(`${of.name} ${key} ${operation} ${id}`);
      const before = books.get(token);
      if (before) return before.promise;
      const partition = partitionOf(of.place, key);
      const what = `"${of.name}.${operation}"`;
      const from_outside = home === null;
      const { promise, deadline_ms } = books.open(token, `"${of.name}/${key}"`, wait_ms, from_outside);
      try {
        if (stopping && from_outside)
          throw new Fault("no_answer", `Cannot ask "${of.name}/${key}": this node is stopping`);
        const { kind, message: shape } = shapesOf(of, operation);
        const copy = travelled(what, shape, message);
        const reply_to = `${of.name}.${operation}#${inbox.address(token)}`;
        const body = JSON.stringify({ key, operation, message: copy });
        const number = count++;
        const question: Asked = {
          again_ms: clock.now() + ASK_AGAIN_MS,
          attempt: 0,
          place: null,
          home,
          async send(attempt) {
            // While it moves, only what its own work tells: how that ended.
            const near =
              nearby(partition) ??
              (kind === "tell" && home === partition ? places.get(partition) : null) ??
              null;
            question.place = near;
            if (near) {
              const envelope = { operation, message: copy, reply_to, repeatable: true, deadline_ms };
              return near.holding.take(of.name, key, { ...envelope, settle: null, local: true, throws: 0 });
            }
            // The next owner would answer, but it waits for this very work to end.
            if (kind === "ask" && home === partition && places.has(partition))
              throw new Fault("lease_lost", `Cannot ask "${of.name}/${key}": its partition is moving`);
            const letter = { partition, name: of.name, key, body };
            if (kind === "tell") {
              const once = id === undefined ? `${me}:${token}` : token;
              await bus.send({ ...letter, stream: "work", once, reply_to: null, deadline_ms: null });
              return conclude(token, { reply: undefined });
            }
            // Asked again it is another letter: the first may have been answered already, and the answer lost. So it
            // is when its asker had given up before and asks the same once more.
            const once = `${me}:${token}:${number}.${attempt}`;
            await bus.send({ ...letter, stream: "sync", once, reply_to, deadline_ms });
          },
        };
        asked.set(token, question);
        question.send(0).catch((problem: unknown) => refused(token, problem));
      } catch (problem) {
        refused(token, problem);
      }
      return promise;
    };

  function refused(token: string, problem: unknown): void {
    asked.delete(token);
    if (problem instanceof Fault) books.conclude(token, { fault: problem });
    else books.withdraw(token, problem);
  }

  /** Asks once more what is open for long, or was left with a place that is gone; and everything after a reconnect. */
  function askAgain(everything: boolean): void {
    const now_ms = clock.now();
    for (const [token, question] of asked) {
      if (!books.get(token)) {
        asked.delete(token);
        continue;
      }
      const { place } = question;
      const stranded = place !== null && places.get(place.partition) !== place;
      if (!everything && !stranded && now_ms < question.again_ms) continue;
      question.again_ms = now_ms + ASK_AGAIN_MS;
      // What is refused now may be taken in ten seconds; patience ends it.
      question.send(++question.attempt).catch(() => {});
    }
  }

  function tell(
    contract: Actor["contract"],
    key: string,
    operation: string,
    message: unknown,
    // The same however often it is tried: a refusal may only mean that the answer got lost.
    once = `${me}:tell:${count++}`,
    tries = 0,
  ): void {
    const partition = partitionOf(contract.place, key);
    const near = nearby(partition);
    const letter: Letter = {
      stream: "work",
      partition,
      name: contract.name,
      key,
      body: JSON.stringify({ key, operation, message }),
      once,
      reply_to: null,
      deadline_ms: null,
    };
    const sent = near
      ? Promise.resolve().then(() => near.holding.take(contract.name, key, ownEnvelope(operation, message)))
      : bus.send(letter).then(() => {});
    sent.catch((problem: unknown) => {
      if (problem instanceof Fault && problem.code !== "message_too_large" && tries < TELLS_AGAIN) {
        clock.at(clock.now() + TELL_AGAIN_MS, () => tell(contract, key, operation, message, once, tries + 1));
        return;
      }
      if (problem instanceof Fault) meters.count("trawl_faults_total", { code: problem.code });
      meters.say("error", "A message was lost", { actor: contract.name, key, operation, problem });
    });
  }

  function reply(reply_to: string, outcome: Outcome): void {
    const address = reply_to.slice(reply_to.indexOf("#") + 1);
    if (address.startsWith(own_address)) {
      const token = address.slice(own_address.length);
      const question = asked.get(token);
      const moved = "fault" in outcome && outcome.fault.code === "lease_lost" && question?.place;
      if (!moved || question.home === question.place!.partition) return conclude(token, outcome);
      // It moved while somebody else's work waited for it: asked again where it goes.
      question.send(++question.attempt).catch((problem: unknown) => refused(token, problem));
      return;
    }
    const wired: Wired =
      "reply" in outcome ? outcome : { fault: { code: outcome.fault.code, message: outcome.fault.message } };
    bus.answer(address, JSON.stringify(wired)).catch((problem: unknown) => {
      // The asker asks again.
      meters.say("debug", "An answer was lost", { problem });
    });
  }

  const within = node(actors, { ...surroundings, meters }, { reply, tell });

  // --- one partition -------------------------------------------------------------------------------------------

  async function openPartition(part: Part): Promise<Estate> {
    const holding = within.hold({
      mayStart: part.mayStart,
      epoch: part.epoch,
      ask: asking(part.partition),
    });
    const place: Place = { ...part, holding, closing: false, lookSoon };
    /** Handed out by the bus and not acknowledged yet. */
    const held = new Set<Delivery>();
    let quieted: (() => void) | null = null;
    /** Settled, and the bus has not been told yet. */
    let settling = 0;

    async function acknowledge(delivery: Delivery): Promise<void> {
      settling++;
      // "Not yours" may also be a server that has just come up, so the lease decides.
      while (part.isMine()) {
        if (await delivery.acknowledge().catch(() => false)) break;
        await pause(ACKNOWLEDGE_AGAIN_MS);
      }
      held.delete(delivery);
      settling--;
      if (settling === 0) quieted?.();
    }

    function take(delivery: Delivery): void {
      if (!part.isMine() || place.closing) return;
      held.add(delivery);
      const { letter } = delivery;
      const settle = (how: Settled): void => {
        if (how === "given_up")
          meters.say("warn", "A letter was given up", { actor: letter.name, key: letter.key });
        void acknowledge(delivery);
      };
      const now_ms = clock.now();
      if (letter.deadline_ms !== null && letter.deadline_ms <= now_ms) return settle("late");
      try {
        const { operation, message } = readLetter(letter);
        holding.take(letter.name, letter.key, {
          operation,
          message,
          reply_to: letter.reply_to ?? "",
          repeatable: letter.reply_to !== null,
          deadline_ms: letter.deadline_ms ?? Infinity,
          settle,
          local: false,
          throws: 0,
        });
      } catch (problem) {
        meters.count("trawl_actor_failures_total", { kind: letter.name });
        meters.say("error", "A letter cannot be read", { actor: letter.name, key: letter.key, problem });
        const fault = new Fault("no_answer", `Cannot read what was asked of "${letter.name}/${letter.key}"`);
        if (letter.reply_to !== null) reply(letter.reply_to, { fault });
        settle("given_up");
      }
    }

    const lost = (): void => part.lose("its reader was taken away");
    const reading = await bus.read(part.partition, part.epoch, take, lost, () => part.mayStart());
    places.set(part.partition, place);
    // Not awaited: letters are answered while those with duties are looked for.
    holding.recover([part.partition]).catch((problem: unknown) => {
      meters.say("warn", "Who has duties could not be found", { partition: part.partition, problem });
      recoverAgain();
    });
    function recoverAgain(): void {
      clock.at(clock.now() + LOOK_MS, () => {
        if (part.isMine() && !place.closing) holding.recover([part.partition]).catch(recoverAgain);
      });
    }

    /** Unacknowledged at the last look, and unknown here. */
    let strange: readonly string[] = [];
    /** Looks that come soon. */
    let soon = 0;
    let watch: Disposable | null = null;
    async function lookForStranded(): Promise<void> {
      watch = null;
      const oldest = await reading.oldest().catch(() => []);
      const known = new Set([...held].map(({ id }) => id));
      const before = strange;
      strange = oldest.filter((id) => !known.has(id));
      // One may be on its way, either way; one that was there the last time is not.
      const stranded = strange.filter((id) => before.includes(id));
      if (stranded.length > 0) {
        meters.say("warn", "Letters are stranded", { partition: part.partition, stranded });
        owner?.renounce(part.partition);
      } else lookAgain();
    }
    function lookAgain(): void {
      if (!part.isMine() || place.closing) return;
      const after_ms = soon > 0 ? STRANDED_SOON_MS : STRANDED_MS;
      soon = Math.max(0, soon - 1);
      watch = clock.at(clock.now() + after_ms, () => void lookForStranded());
    }
    function lookSoon(): void {
      soon = 2;
      // One that is looking at this moment goes on by itself.
      if (!watch) return;
      watch[Symbol.dispose]();
      lookAgain();
    }
    void lookForStranded();

    return {
      async finish() {
        place.closing = true;
        reading.stop();
        holding.close();
        await holding.quiet();
        if (settling > 0) await new Promise<void>((resolve) => (quieted = resolve));
      },
      drop() {
        place.closing = true;
        watch?.[Symbol.dispose]();
        reading.stop();
        if (places.get(part.partition) === place) places.delete(part.partition);
        holding.drop("quietly");
        const fault = new Fault("lease_lost", `Partition ${part.partition} is another node's now`);
        for (const [token, { home }] of asked) if (home === part.partition) conclude(token, { fault });
        quieted?.();
        askAgain(false);
      },
      remove: () => reading.remove(),
    };
  }

  function readLetter(letter: Letter): { operation: string; message: unknown } {
    const actor = actors.find(({ contract }) => contract.name === letter.name);
    if (!actor) throw new TypeError(`Cannot take a letter for "${letter.name}": it is not part of this node`);
    const { operation, message } = JSON.parse(letter.body) as { operation: string; message: unknown };
    const { message: shape } = shapesOf(actor.contract, operation);
    return { operation, message: fitted(`"${letter.name}.${operation}"`, shape, message) };
  }

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      clock.at(clock.now() + ms, resolve);
    });

  let look: Disposable | null = null;
  function looks(): void {
    askAgain(false);
    look = clock.at(clock.now() + LOOK_MS, looks);
  }
  looks();
  bus.onReconnect(() => {
    askAgain(true);
    for (const { lookSoon } of places.values()) lookSoon();
  });

  const owner = owns ? ownership(me, { clock, leases, meters }, openPartition) : null;

  async function stop(limit_ms = STOP_MS): Promise<void> {
    stopping = true;
    const ends_ms = clock.now() + limit_ms;
    const limit = Promise.withResolvers<void>();
    const alarm = clock.at(ends_ms, limit.resolve);
    await Promise.race([limit.promise, books.answered()]);
    await owner?.drain(Math.max(0, ends_ms - clock.now()));
    alarm[Symbol.dispose]();
    look?.[Symbol.dispose]();
    for (const token of asked.keys())
      conclude(token, { fault: new Fault("no_answer", "Cannot answer: this node has stopped") });
    await inbox.close();
    within.close();
  }

  return {
    ask: asking(null),
    recovered: owner?.begun ?? Promise.resolve(),
    stop,
    partitions: () => (owner?.held() ?? []).map(({ partition }) => partition),
    holdings: () => owner?.held() ?? [],
    stats: () => ({ ...within.stats(), questions: books.size() }),
  };
}

/** An id of any length as a part of an address. */
const tokenOf = (id: string): string => createHash("sha256").update(id).digest("base64url").slice(0, 32);

/**
 * What all nodes must share, or this one may not join. The generation is raised when the bus is rebuilt, so that its
 * revisions, which begin at 1 again then, are never mistaken for old ones.
 */
async function agreed({ leases, documents }: Surroundings): Promise<void> {
  await documents.put("cluster", "main", { generation: 1 }, 0);
  const stored = await documents.get("cluster", "main");
  const { generation } = stored!.value as { generation: number };
  const ours = { partitions: PARTITIONS, lease_ttl_ms: leases.ttl_ms, generation };
  for (const [name, value] of Object.entries(ours)) {
    const theirs = await leases.agree(name, String(value));
    if (theirs !== String(value))
      throw new Error(`Cannot join this cluster: its "${name}" is ${theirs}, this node's is ${value}`);
  }
}

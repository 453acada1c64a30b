/**
 * The bookkeeping of messages in a simulation: callers tell notebooks numbered notes, some directly and some through a
 * notebook that passes them on from its turn. What was accepted must stand in its notebook in the end, whatever broke. Turns
 * break over some notes, and some envelopes are no message at all: these must be dead letters in the end, and no others.
 */
import { Type } from "typebox";
import { type Actor, actor, type ActorClient, type Turn } from "../../cluster/actor.ts";
import { contract, tell } from "../../cluster/contracts/contract.ts";
import { listDeadLetters } from "../../cluster/dead-letters.ts";
import { partitionOf } from "../../cluster/placement.ts";
import type { Envelope } from "../../cluster/ports/bus.ts";
import type { World } from "./world.ts";

/** With padding, so that notes fill the memory for messages. */
const Note = Type.Object({ id: Type.Integer(), padding: Type.String() });

/** As nodes of an older version know it. */
const OlderNotebook = contract("notebook", {
  note: tell(Note),
  /** Passed on to another notebook from the turn that stores it. */
  pass: tell(Type.Object({ id: Type.Integer(), to: Type.String() })),
  /** Over this one every turn breaks. */
  spoil: tell(Note),
});

export const Notebook = contract("notebook", {
  ...OlderNotebook.operations,
  /** A note, by a name that older nodes do not know. */
  append: tell(Note),
});

export interface Notes {
  readonly noted: readonly number[];
  readonly passed: readonly number[];
}

const NOTE_PADDING = "x".repeat(8_000);
export const noteOf = (id: number) => ({ id, padding: NOTE_PADDING });

/** `onPassed` is called for each message that a turn on this node passes on. */
export function notebook(onPassed: (id: number) => void, isOlder = false): Actor {
  type NotebookTurn = Turn<Notes, {}>;
  const note = (turn: NotebookTurn, { id }: { readonly id: number }): void => {
    const { noted } = turn.state;
    if (!noted.includes(id)) turn.state = { ...turn.state, noted: [...noted, id] };
  };
  const pass = (turn: NotebookTurn, { id, to }: { readonly id: number; readonly to: string }): void => {
    // Again for a message that comes again: the node that stored it may have lost the key before it could tell.
    const { passed } = turn.state;
    if (!passed.includes(id)) turn.state = { ...turn.state, passed: [...passed, id] };
    onPassed(id);
    turn.tell(Notebook, to, "note", noteOf(id));
  };
  const spoil = (_: NotebookTurn, { id }: { readonly id: number }): never => {
    throw new Error(`Note ${id} is spoiled`);
  };
  const all = {
    persist: (state: Notes) => state,
    activate: (snapshot: Notes | null): Notes => snapshot ?? { noted: [], passed: [] },
    passivate_after_ms: 5_000,
  };
  return isOlder
    ? actor(OlderNotebook)<Notes, Notes>({ ...all, on: { note, pass, spoil } })
    : actor(Notebook)<Notes, Notes>({ ...all, on: { note, pass, spoil, append: note } });
}

const SPOILED = 6;
const GARBLED = 6;
const FIRST_SPOILED = 1_000;

/** Notes that can only become dead letters. */
export interface BadNotes {
  /** Resolves when all were told or refused. */
  readonly told: Promise<unknown>;
  /** The bus has lost these envelopes. */
  readonly onLost: (envelopes: readonly Envelope[]) => void;
  /** Accepted bad notes that neither ended so nor were lost, and other notes that ended so. */
  readonly missing: () => Promise<readonly string[]>;
}

const garbled = (id: number): string => `garbled ${id}`;

/** The id of the note that this text is, or that it tells of. */
const idIn = (text: string): number => Number(/(?:garbled |"id":)(\d+)/.exec(text)?.[1] ?? NaN);

export function badNotes(
  {
    bus,
    documents,
    sleep,
    chance,
    partitions,
  }: Pick<World, "bus" | "documents" | "sleep" | "chance" | "partitions">,
  ask: ActorClient,
  notebooks: number,
): BadNotes {
  const accepted = new Set<number>();
  const lost = new Set<number>();

  async function tellOne(n: number): Promise<void> {
    const [id, key] = [FIRST_SPOILED + n, `b${chance(notebooks)}`];
    await sleep(chance(30_000));
    const telling =
      n < SPOILED
        ? ask(Notebook, key, "spoil", noteOf(id))
        : bus.send({
            stream: "work",
            partition: partitionOf(Notebook.shard_by, key, partitions),
            name: Notebook.name,
            key,
            body: garbled(id),
            dedup_id: null,
            reply_to: null,
            timeout_ms: null,
          });
    await telling.then(
      () => accepted.add(id),
      () => {},
    );
  }

  return {
    told: Promise.all(Array.from({ length: SPOILED + GARBLED }, (_, n) => tellOne(n))),
    onLost(envelopes) {
      for (const { name, body } of envelopes) if (name === Notebook.name) lost.add(idIn(body));
    },
    async missing() {
      const letters = (await listDeadLetters(documents)).filter((letter) => letter.actor === Notebook.name);
      const kept = new Set(letters.map(({ message }) => idIn(message ?? "")));
      const wrong = [...kept].filter((id) => !(id >= FIRST_SPOILED));
      const neither = [...accepted].filter((id) => !kept.has(id) && !lost.has(id));
      return [
        ...neither.map((id) => `the bad note ${id} is no dead letter`),
        ...wrong.map((id) => `the note ${id} is a dead letter`),
      ];
    },
  };
}

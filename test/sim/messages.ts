/**
 * The bookkeeping of messages in a simulation: callers tell notebooks numbered notes, some directly and some through a
 * notebook that passes them on from its turn. What was accepted must stand in its notebook in the end, whatever broke.
 */
import { Type } from "typebox";
import { type Actor, actor, type Turn } from "../../cluster/actor.ts";
import { contract, tell } from "../../cluster/contracts/contract.ts";

/** With padding, so that notes fill the memory for messages. */
const Note = Type.Object({ id: Type.Integer(), padding: Type.String() });

/** As nodes of an older version know it. */
const OlderNotebook = contract("notebook", {
  note: tell(Note),
  /** Passed on to another notebook from the turn that stores it. */
  pass: tell(Type.Object({ id: Type.Integer(), to: Type.String() })),
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
  const all = {
    persist: (state: Notes) => state,
    activate: (snapshot: Notes | null): Notes => snapshot ?? { noted: [], passed: [] },
    passivate_after_ms: 5_000,
  };
  return isOlder
    ? actor(OlderNotebook)<Notes, Notes>({ ...all, on: { note, pass } })
    : actor(Notebook)<Notes, Notes>({ ...all, on: { note, pass, append: note } });
}

/**
 * The bookkeeping of messages in a simulation: callers tell notebooks numbered notes, some directly and some through a
 * notebook that passes them on from its turn. What was accepted must stand in its notebook in the end, whatever broke.
 */
import { Type } from "typebox";
import { actor } from "../../cluster/actor.ts";
import { contract, tell } from "../../schemas/contract.ts";

const Note = Type.Object({ id: Type.Integer() });

export const Notebook = contract("notebook", {
  note: tell(Note),
  /** Passed on to another notebook from the turn that stores it. */
  pass: tell(Type.Object({ id: Type.Integer(), to: Type.String() })),
});

export interface Notes {
  readonly noted: readonly number[];
  readonly passed: readonly number[];
}

/** `onPassed` is called for each message that a turn on this node passes on. */
export const notebook = (onPassed: (id: number) => void) =>
  actor(Notebook)<Notes, Notes>({
    persist: (state) => state,
    activate: (snapshot) => snapshot ?? { noted: [], passed: [] },
    passivate_after_ms: 5_000,
    on: {
      note(turn, { id }) {
        const { noted } = turn.state;
        if (!noted.includes(id)) turn.state = { ...turn.state, noted: [...noted, id] };
      },
      pass(turn, { id, to }) {
        // Again for a message that comes again: the node that stored it may have lost the key before it could tell.
        const { passed } = turn.state;
        if (!passed.includes(id)) turn.state = { ...turn.state, passed: [...passed, id] };
        onPassed(id);
        turn.tell(Notebook, to, "note", { id });
      },
    },
  });

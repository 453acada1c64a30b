/** A counter as an actor: what it understands, and how it answers. `run-counter.ts` runs it on each set of engines. */
import { Type } from "typebox";
import { actor } from "../actor.ts";
import { ask, contract } from "../contracts/contract.ts";

const Count = Type.Object({ count: Type.Integer() });

export const Counter = contract("counter", {
  add: ask(Type.Object({ by: Type.Integer() }), Count),
});

export const counter = actor(Counter)<{ count: number }, { count: number }>({
  activate: (stored) => stored ?? { count: 0 },
  persist: (state) => state,
  passivate_after_ms: 60_000,
  on: {
    add(turn, { by }) {
      turn.state = { count: turn.state.count + by };
      return turn.state;
    },
  },
});

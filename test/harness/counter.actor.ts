/** An actor to test the runtime with: it counts, waits, works, breaks and has duties, as its messages tell it to. */
import { Type } from "typebox";
import { actor, PARKED, type Held, type ReplyTo, type Say } from "../../cluster/actor.ts";
import { ask, contract, tell } from "../../schemas/contract.ts";

const Count = Type.Object({ count: Type.Integer() });

export const Counter = contract("counter", {
  add: ask(Type.Object({ by: Type.Integer() }), Count),
  read: ask(Type.Null(), Count),
  note: tell(Type.Object({ by: Type.Integer() })),
  /** Answered by the next `open`. */
  wait: ask(Type.Null(), Count),
  open: tell(Type.Null()),
  /** Answered `ring` so many milliseconds later. */
  wake: ask(Type.Object({ in_ms: Type.Integer() }), Count),
  ring: tell(Type.Null()),
  /** Answered when the work handed in is done. */
  work: ask(Type.Null(), Count),
  worked: tell(Count),
  /** Breaks this turn, this often. */
  break: ask(Type.Object({ how: Type.String() }), Count),
  stumble: tell(Type.Object({ times: Type.Integer() })),
  /** Has a duty at this time; `perform` does it. */
  owe: tell(Type.Object({ at_ms: Type.Integer() })),
  perform: tell(Type.Null()),
  /** Tells another counter. */
  pass: tell(Type.Object({ to: Type.String(), by: Type.Integer() })),
  trip: tell(Type.Object({ to: Type.String(), times: Type.Integer() })),
  echo: ask(Type.Object({ text: Type.String() }), Type.Object({ text: Type.String() })),
});

interface Kept {
  readonly count: number;
  readonly due_ms: number | null;
}

interface State {
  kept: Kept;
  waiting: readonly ReplyTo<{ count: number }>[];
}

export interface Trace {
  begun: number;
  performed: number[];
  stumbles: number;
}

export function counter(
  work: (ask: Say, held: Held) => Promise<{ count: number }> = async () => ({ count: 7 }),
  trace: Trace = { begun: 0, performed: [], stumbles: 0 },
) {
  return actor(Counter)<State, Kept>({
    keep: (state) => state.kept,
    begin(kept) {
      trace.begun++;
      return { kept: kept ?? { count: 0, due_ms: null }, waiting: [] };
    },
    idle_ms: 60_000,
    due: ({ due_ms }) => (due_ms === null ? null : { at_ms: due_ms, operation: "perform", message: null }),
    on: {
      add(turn, { by }) {
        turn.state.kept = { ...turn.state.kept, count: turn.state.kept.count + by };
        return { count: turn.state.kept.count };
      },
      read: ({ state }) => ({ count: state.kept.count }),
      note(turn, { by }) {
        turn.state.kept = { ...turn.state.kept, count: turn.state.kept.count + by };
      },
      wait(turn) {
        turn.state.waiting = [...turn.state.waiting, turn.park()];
        return PARKED;
      },
      open(turn) {
        for (const to of turn.state.waiting) turn.answer(to, { count: turn.state.kept.count });
        turn.state.waiting = [];
      },
      wake(turn, { in_ms }) {
        turn.state.waiting = [...turn.state.waiting, turn.park()];
        turn.wake(turn.now_ms + in_ms, "ring", null);
        return PARKED;
      },
      ring(turn) {
        for (const to of turn.state.waiting) turn.answer(to, { count: turn.state.kept.count });
        turn.state.waiting = [];
      },
      work(turn) {
        turn.state.waiting = [...turn.state.waiting, turn.park()];
        turn.start("worked", work);
        return PARKED;
      },
      worked(turn, { count }) {
        for (const to of turn.state.waiting) turn.answer(to, { count });
        turn.state.waiting = [];
      },
      break(turn, { how }) {
        turn.state.kept = { ...turn.state.kept, count: -1 };
        if (how === "badly") return { count: "many" } as never;
        if (how === "hugely") return { count: 1, more: "x".repeat(300_000) } as never;
        throw new RangeError("Broken on purpose");
      },
      stumble(turn, { times }) {
        if (trace.stumbles++ < times) throw new RangeError("Stumbled on purpose");
        turn.state.kept = { ...turn.state.kept, count: turn.state.kept.count + 1 };
      },
      owe(turn, { at_ms }) {
        turn.state.kept = { ...turn.state.kept, due_ms: at_ms };
      },
      perform(turn) {
        trace.performed.push(turn.now_ms);
        turn.state.kept = { count: turn.state.kept.count + 100, due_ms: null };
      },
      pass(turn, { to, by }) {
        turn.tell(Counter, to, "note", { by });
      },
      trip(turn, { to, times }) {
        turn.tell(Counter, to, "stumble", { times });
      },
      echo: (_, { text }) => ({ text }),
    },
  });
}

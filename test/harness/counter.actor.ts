/** An actor for tests of the runtime: its messages make it count, wait, work, fail and set reminders. */
import { Type } from "typebox";
import { actor, DEFERRED, type WorkContext, type ReplyTo, type ActorClient } from "../../cluster/actor.ts";
import { ask, contract, tell } from "../../cluster/contracts/contract.ts";

const Count = Type.Object({ count: Type.Integer() });

export const Counter = contract(
  "counter",
  {
    add: ask(Type.Object({ by: Type.Integer() }), Count),
    read: ask(Type.Null(), Count),
    note: tell(Type.Object({ by: Type.Integer() })),
    /** Answered by the next `release`. */
    wait: ask(Type.Null(), Count),
    release: tell(Type.Null()),
    /** Answered when its timer fires, so many milliseconds later. */
    setTimer: ask(Type.Object({ in_ms: Type.Integer() }), Count),
    /** Answered when the background work is done. */
    work: ask(Type.Null(), Count),
    /** Breaks this turn, this often. */
    break: ask(Type.Object({ how: Type.String() }), Count),
    stumble: tell(Type.Object({ times: Type.Integer() })),
    /** Has a reminder at this time. */
    setReminder: tell(Type.Object({ at_ms: Type.Integer() })),
    /** Tells another counter. */
    pass: tell(Type.Object({ to: Type.String(), by: Type.Integer() })),
    trip: tell(Type.Object({ to: Type.String(), times: Type.Integer() })),
    echo: ask(Type.Object({ text: Type.String() }), Type.Object({ text: Type.String() })),
  },
  { timerFired: tell(Type.Null()), worked: tell(Count), reminded: tell(Type.Null()) },
);

interface Snapshot {
  readonly count: number;
  readonly reminder_ms: number | null;
}

interface State {
  snapshot: Snapshot;
  waiting: readonly ReplyTo<{ count: number }>[];
}

export interface Trace {
  activations: number;
  reminders: number[];
  stumbles: number;
}

export function counterActor(
  work: (ask: ActorClient, context: WorkContext) => Promise<{ count: number }> = async () => ({ count: 7 }),
  trace: Trace = { activations: 0, reminders: [], stumbles: 0 },
) {
  return actor(Counter)<State, Snapshot>({
    persist: (state) => state.snapshot,
    // A smaller count may be stored later.
    mayStoreLater: (stored, next) => next.count < stored.count && next.reminder_ms === stored.reminder_ms,
    activate(snapshot) {
      trace.activations++;
      return { snapshot: snapshot ?? { count: 0, reminder_ms: null }, waiting: [] };
    },
    passivate_after_ms: 60_000,
    reminder: ({ reminder_ms }) =>
      reminder_ms === null ? null : { at_ms: reminder_ms, operation: "reminded", message: null },
    on: {
      add(turn, { by }) {
        turn.state.snapshot = { ...turn.state.snapshot, count: turn.state.snapshot.count + by };
        return { count: turn.state.snapshot.count };
      },
      read: ({ state }) => ({ count: state.snapshot.count }),
      note(turn, { by }) {
        turn.state.snapshot = { ...turn.state.snapshot, count: turn.state.snapshot.count + by };
      },
      wait(turn) {
        turn.state.waiting = [...turn.state.waiting, turn.deferReply()];
        return DEFERRED;
      },
      release(turn) {
        for (const to of turn.state.waiting) turn.answer(to, { count: turn.state.snapshot.count });
        turn.state.waiting = [];
      },
      setTimer(turn, { in_ms }) {
        turn.state.waiting = [...turn.state.waiting, turn.deferReply()];
        turn.setTimer(turn.now_ms + in_ms, "timerFired", null);
        return DEFERRED;
      },
      timerFired(turn) {
        for (const to of turn.state.waiting) turn.answer(to, { count: turn.state.snapshot.count });
        turn.state.waiting = [];
      },
      work(turn) {
        turn.state.waiting = [...turn.state.waiting, turn.deferReply()];
        turn.pipeToSelf("worked", work);
        return DEFERRED;
      },
      worked(turn, { count }) {
        for (const to of turn.state.waiting) turn.answer(to, { count });
        turn.state.waiting = [];
      },
      break(turn, { how }) {
        turn.state.snapshot = { ...turn.state.snapshot, count: -1 };
        if (how === "badly") return { count: "many" } as never;
        if (how === "hugely") return { count: 1, more: "x".repeat(300_000) } as never;
        throw new RangeError("Broken on purpose");
      },
      stumble(turn, { times }) {
        if (trace.stumbles++ < times) throw new RangeError("Stumbled on purpose");
        turn.state.snapshot = { ...turn.state.snapshot, count: turn.state.snapshot.count + 1 };
      },
      setReminder(turn, { at_ms }) {
        turn.state.snapshot = { ...turn.state.snapshot, reminder_ms: at_ms };
      },
      reminded(turn) {
        trace.reminders.push(turn.now_ms);
        turn.state.snapshot = { count: turn.state.snapshot.count + 100, reminder_ms: null };
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

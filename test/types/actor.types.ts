/** Never run: these lines are the compiler's tests. */
import { Type } from "typebox";
import { actor, type ActorClient, DEFERRED, type Turn } from "../../cluster/actor.ts";
import { ask as asked, contract, tell } from "../../cluster/contracts/contract.ts";

const Door = contract(
  "door",
  {
    enter: asked(
      Type.Object({ visitor: Type.String(), wait_max_ms: Type.Integer() }),
      Type.Union([
        Type.Object({ kind: Type.Literal("granted") }),
        Type.Object({ kind: Type.Literal("refused"), error: Type.Enum(["busy", "closed"]) }),
      ]),
    ),
    leave: tell(Type.Object({ visitor: Type.String() })),
  },
  { tick: tell(Type.Null()), opened: tell(Type.Object({ visitor: Type.String() })) },
);

const rest = { passivate_after_ms: 1, activate: () => 0 } as const;
const leave = () => {};
const tick = () => {};
const opened = () => {};
const tired = () => ({ kind: "refused", error: "tired" }) as const;

actor(Door)<number>({ ...rest, on: { enter: () => DEFERRED, leave, tick, opened } });
// @ts-expect-error a handler of an operation is missing
actor(Door)<number>({ ...rest, on: { enter: () => DEFERRED, tick, opened } });
// @ts-expect-error a handler of an own message is missing
actor(Door)<number>({ ...rest, on: { enter: () => DEFERRED, leave, opened } });
// @ts-expect-error the reply is not one the contract knows
actor(Door)<number>({ ...rest, on: { enter: tired, leave, tick, opened } });
// @ts-expect-error an ask must answer or defer its reply
actor(Door)<number>({ ...rest, on: { enter: () => {}, leave, tick, opened } });
// @ts-expect-error a turn does not wait
actor(Door)<number>({ ...rest, on: { enter: async () => DEFERRED, leave, tick, opened } });

const on = { enter: (): typeof DEFERRED => DEFERRED, leave, tick, opened };
const persist = (state: number) => state;
const at_ms = 1;
const due = () => ({ at_ms, operation: "tick", message: null }) as const;
const unknown = () => ({ at_ms, operation: "nap", message: null }) as const;
const foreign = () => ({ at_ms, operation: "leave", message: { visitor: "a" } }) as const;
const misfit = () => ({ at_ms, operation: "tick", message: 3 }) as const;
actor(Door)<number, number>({ ...rest, persist, on, reminder: due });
actor(Door)<number, number>({ ...rest, persist, on, reminder: () => null });
// @ts-expect-error a reminder is a message of the contract
actor(Door)<number, number>({ ...rest, persist, on, reminder: unknown });
// @ts-expect-error a reminder is one of the actor's own messages
actor(Door)<number, number>({ ...rest, persist, on, reminder: foreign });
// @ts-expect-error and carries what its contract says
actor(Door)<number, number>({ ...rest, persist, on, reminder: misfit });

export async function calls(turn: Turn<number, typeof Door.own>, ask: ActorClient) {
  const options = { timeout_ms: 5, idempotency_id: "f" };
  const slot = await ask(Door, "front", "enter", { visitor: "a", wait_max_ms: 1 }, options);
  if (slot.kind === "refused") slot.error satisfies "busy" | "closed";
  // @ts-expect-error no such operation
  await ask(Door, "front", "entr", { visitor: "a", wait_max_ms: 1 });
  // @ts-expect-error the message lacks wait_max_ms
  await ask(Door, "front", "enter", { visitor: "a" });
  // @ts-expect-error only the actor itself sends its own messages
  await ask(Door, "front", "tick", null);
  // @ts-expect-error neither does a turn of another actor
  turn.tell(Door, "front", "opened", { visitor: "a" });
  turn.tell(Door, "front", "leave", { visitor: "a" });
  turn.setTimer(1, "tick", null);
  turn.pipeToSelf("opened", async () => ({ visitor: "a" }));
  // @ts-expect-error the result of background work must fit the message it becomes
  turn.pipeToSelf("opened", async () => ({ visitors: "a" }));
  // @ts-expect-error background work reports by one of the actor's own messages
  turn.pipeToSelf("leave", async () => ({ visitor: "a" }));
  // @ts-expect-error tick carries nothing
  turn.setTimer(1, "tick", 3);
}

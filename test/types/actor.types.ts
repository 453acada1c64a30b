/** Never run: these lines are the compiler's tests. */
import { Type } from "typebox";
import { actor, PARKED, type Say, type Turn } from "../../cluster/actor.ts";
import { ask as asked, contract, tell } from "../../schemas/contract.ts";

const Door = contract("door", {
  enter: asked(
    Type.Object({ who: Type.String(), wait_max_ms: Type.Integer() }),
    Type.Union([
      Type.Object({ kind: Type.Literal("granted") }),
      Type.Object({ kind: Type.Literal("refused"), error: Type.Enum(["busy", "closed"]) }),
    ]),
  ),
  leave: tell(Type.Object({ who: Type.String() })),
  serve: tell(Type.Null()),
});

const rest = { idle_ms: 1, begin: () => 0 } as const;
const leave = () => {};
const serve = () => {};
const tired = () => ({ kind: "refused", error: "tired" }) as const;

actor(Door)<number>({ ...rest, on: { enter: () => PARKED, leave, serve } });
// @ts-expect-error a handler is missing
actor(Door)<number>({ ...rest, on: { enter: () => PARKED, leave } });
// @ts-expect-error the reply is not one the contract knows
actor(Door)<number>({ ...rest, on: { enter: tired, leave, serve } });
// @ts-expect-error an ask must answer or park
actor(Door)<number>({ ...rest, on: { enter: () => {}, leave, serve } });
// @ts-expect-error a turn does not wait
actor(Door)<number>({ ...rest, on: { enter: async () => PARKED, leave, serve } });

const on = { enter: (): typeof PARKED => PARKED, leave, serve };
const keep = (state: number) => state;
const at_ms = 1;
actor(Door)<number, number>({ ...rest, keep, on, due: () => ({ at_ms, operation: "serve", message: null }) });
actor(Door)<number, number>({ ...rest, keep, on, due: () => null });
// @ts-expect-error a duty is one of the actor's own messages
actor(Door)<number, number>({ ...rest, keep, on, due: () => ({ at_ms, operation: "nap", message: null }) });
// @ts-expect-error and carries what its contract says
actor(Door)<number, number>({ ...rest, keep, on, due: () => ({ at_ms, operation: "serve", message: 3 }) });

export async function calls(turn: Turn<number, typeof Door.operations>, ask: Say) {
  const slot = await ask(Door, "front", "enter", { who: "a", wait_max_ms: 1 }, { wait_ms: 5, id: "f" });
  if (slot.kind === "refused") slot.error satisfies "busy" | "closed";
  // @ts-expect-error no such operation
  await ask(Door, "front", "entr", { who: "a", wait_max_ms: 1 });
  // @ts-expect-error the message lacks wait_max_ms
  await ask(Door, "front", "enter", { who: "a" });
  turn.wake(1, "serve", null);
  turn.start("leave", async () => ({ who: "a" }));
  // @ts-expect-error what work comes to must fit the operation it is sent to
  turn.start("leave", async () => ({ whom: "a" }));
  // @ts-expect-error serve carries nothing
  turn.wake(1, "serve", 3);
}

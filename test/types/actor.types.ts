/** Never run: these lines are the compiler's tests. */
import { Type } from "typebox";
import { actor, DEFERRED, type ActorClient, type Turn } from "../../cluster/actor.ts";
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

const rest = { passivate_after_ms: 1, activate: () => 0 } as const;
const leave = () => {};
const serve = () => {};
const tired = () => ({ kind: "refused", error: "tired" }) as const;

actor(Door)<number>({ ...rest, on: { enter: () => DEFERRED, leave, serve } });
// @ts-expect-error a handler is missing
actor(Door)<number>({ ...rest, on: { enter: () => DEFERRED, leave } });
// @ts-expect-error the reply is not one the contract knows
actor(Door)<number>({ ...rest, on: { enter: tired, leave, serve } });
// @ts-expect-error an ask must answer or park
actor(Door)<number>({ ...rest, on: { enter: () => {}, leave, serve } });
// @ts-expect-error a turn does not wait
actor(Door)<number>({ ...rest, on: { enter: async () => DEFERRED, leave, serve } });

const on = { enter: (): typeof DEFERRED => DEFERRED, leave, serve };
const persist = (state: number) => state;
const at_ms = 1;
actor(Door)<number, number>({
  ...rest,
  persist,
  on,
  reminder: () => ({ at_ms, operation: "serve", message: null }),
});
actor(Door)<number, number>({ ...rest, persist, on, reminder: () => null });
const unknown = () => ({ at_ms, operation: "nap", message: null }) as const;
// @ts-expect-error a reminder is one of the actor's own messages
actor(Door)<number, number>({ ...rest, persist, on, reminder: unknown });
const wrong = () => ({ at_ms, operation: "serve", message: 3 }) as const;
// @ts-expect-error and carries what its contract says
actor(Door)<number, number>({ ...rest, persist, on, reminder: wrong });

export async function calls(turn: Turn<number, typeof Door.operations>, ask: ActorClient) {
  const slot = await ask(
    Door,
    "front",
    "enter",
    { who: "a", wait_max_ms: 1 },
    { timeout_ms: 5, idempotency_id: "f" },
  );
  if (slot.kind === "refused") slot.error satisfies "busy" | "closed";
  // @ts-expect-error no such operation
  await ask(Door, "front", "entr", { who: "a", wait_max_ms: 1 });
  // @ts-expect-error the message lacks wait_max_ms
  await ask(Door, "front", "enter", { who: "a" });
  turn.setTimer(1, "serve", null);
  turn.pipeToSelf("leave", async () => ({ who: "a" }));
  // @ts-expect-error what work comes to must fit the operation it is sent to
  turn.pipeToSelf("leave", async () => ({ whom: "a" }));
  // @ts-expect-error serve carries nothing
  turn.setTimer(1, "serve", 3);
}

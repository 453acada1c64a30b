/** Never run: these lines are the compiler's tests. */
import { actor, PARKED, type Say, type Turn } from "../../cluster/actor.ts";
import { Domain } from "../../schemas/domain.ts";

const rest = { idle_ms: 1, begin: () => 0 } as const;
const nothing = () => {};
const others = {
  release: nothing,
  settle: nothing,
  pace: nothing,
  view: () => PARKED,
  clear: () => PARKED,
} as const;
const serve = nothing;
const tired = () => ({ kind: "refused", error: "tired", retry_after_s: 1 }) as const;

actor(Domain)<number>({ ...rest, on: { ...others, acquire: () => PARKED, serve } });
// @ts-expect-error a handler is missing
actor(Domain)<number>({ ...rest, on: { ...others, acquire: () => PARKED } });
// @ts-expect-error the reply is not one the contract knows
actor(Domain)<number>({ ...rest, on: { ...others, acquire: tired, serve } });
// @ts-expect-error an ask must answer or park
actor(Domain)<number>({ ...rest, on: { ...others, acquire: () => {}, serve } });
// @ts-expect-error a turn does not wait
actor(Domain)<number>({ ...rest, on: { ...others, acquire: async () => PARKED, serve } });

const on = { ...others, acquire: () => PARKED, serve };
const keep = (state: number) => state;
const at_ms = 1;
actor(Domain)<number, number>({
  ...rest,
  keep,
  on,
  due: (kept) => ({ at_ms: kept, operation: "serve", message: null }),
});
actor(Domain)<number, number>({ ...rest, keep, on, due: () => null });
// @ts-expect-error a duty is one of the actor's own messages
actor(Domain)<number, number>({ ...rest, keep, on, due: () => ({ at_ms, operation: "nap", message: null }) });
// @ts-expect-error and carries what its contract says
actor(Domain)<number, number>({ ...rest, keep, on, due: () => ({ at_ms, operation: "serve", message: 3 }) });

export async function calls(turn: Turn<number, typeof Domain.operations>, ask: Say) {
  const asked = { fetch_id: "f", host: "example.org", lane: "sync", wait_max_ms: 1 } as const;
  const slot = await ask(Domain, "example.org", "acquire", asked, { wait_ms: 5, id: "f" });
  if (slot.kind === "refused") {
    slot.error satisfies "domain_busy" | "domain_unavailable" | "domain_dead" | "politeness_timeout";
  }
  // @ts-expect-error no such operation
  await ask(Domain, "example.org", "aquire", asked);
  // @ts-expect-error the message lacks wait_max_ms
  await ask(Domain, "example.org", "acquire", { fetch_id: "f", host: "example.org", lane: "sync" });
  turn.wake(1, "serve", null);
  turn.start("settle", async () => ({ fetch_id: "f", host: "example.org", result: "answered" }) as const);
  // @ts-expect-error what work comes to must fit the operation it is sent to
  turn.start("settle", async () => ({ fetch_id: "f" }));
  // @ts-expect-error serve carries nothing
  turn.wake(1, "serve", 3);
}

/** The printer actor of a node with a browser: pages of the service itself as PDF. It asks no site, so it needs no permit. */
import { roleActor, type RoleActor } from "../../../cluster/role-actor.ts";
import { PRINTER, type PrintReply } from "../../../schemas/printing.ts";

/** Prints one document; never throws. */
export type Print = (html: string, signal: AbortSignal) => Promise<PrintReply>;

/** A page holds one of the pool's slots, which fetches need. */
const CAPACITY = 1;
/** A further call is answered `busy`. */
const MAX_CALLS = 4;

export function printerActor(print: Print): RoleActor {
  let calls = 0;
  let last: Promise<unknown> = Promise.resolve();
  return roleActor(PRINTER)({
    load: () => ({
      capacity: CAPACITY,
      in_use: Math.min(calls, CAPACITY),
      waiting: Math.max(0, calls - CAPACITY),
      breaker: "closed",
    }),
    on: {
      async print({ html }, { signal }) {
        if (calls >= MAX_CALLS) return { kind: "busy", capacity: CAPACITY };
        calls++;
        const printing = last.then(() => print(html, signal));
        last = printing;
        try {
          return { kind: "done", reply: await printing };
        } finally {
          calls--;
        }
      },
    },
  });
}

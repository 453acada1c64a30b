/** One round of the event loop. */
import { setImmediate as round } from "node:timers/promises";
import type { Breathe } from "../../ports/event-loop.ts";

export const breathe: Breathe = async () => {
  await round();
};

/** One turn of the event loop. */
import { setImmediate as round } from "node:timers/promises";
import type { YieldToEventLoop } from "../../ports/event-loop.ts";

export const yieldToEventLoop: YieldToEventLoop = async () => {
  await round();
};

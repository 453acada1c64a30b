/** Spans around what a node asks of actors, stores and origins (ports/tracing.ts). Where nothing is traced, nothing is wrapped. */
import type { ActorClient } from "./actor.ts";
import type { Clock } from "./ports/clock.ts";
import type { Tracing } from "./ports/tracing.ts";

/** A client whose asks are spans below the one in progress. */
export function tracedAsks(tracing: Tracing | undefined, ask: ActorClient): ActorClient {
  if (!tracing) return ask;
  return (of, key, operation, message, options) =>
    tracing.span(
      { name: `${of.name}.${operation}`, kind: "client", attributes: { "trawl.actor.key": key } },
      () => ask(of, key, operation, message, options),
    );
}

/** A clock that calls back outside every span: a timer that a request set may serve others for hours. */
export function untracedTimers(tracing: Tracing | undefined, clock: Clock): Clock {
  if (!tracing) return clock;
  return { ...clock, at: (at_ms, call) => clock.at(at_ms, () => tracing.within(null, call)) };
}

/**
 * A node that starts waits for its engines: NATS, MongoDB and S3 may start after the node, or be too busy to answer in time.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import { isInfrastructureFault } from "../cluster/ports/fault.ts";
import type { Log } from "../cluster/ports/log.ts";
import { storeFailureOf } from "../cluster/ports/store-failure.ts";

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5_000;

interface Starting {
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds since the first attempt, after which no other begins. */
  readonly within_ms: number;
}

/**
 * Repeats attempts that an unreachable engine fails; resolves with what an attempt resolves with. Throws what the last one threw: at
 * once where an engine refuses (credentials, no space) or where anything else is wrong.
 */
export async function startWhenReachable<T>(
  { clock, log, within_ms }: Starting,
  attempt: () => Promise<T>,
): Promise<T> {
  const ends_ms = clock.now() + within_ms;
  for (let pause_ms = FIRST_PAUSE_MS; ; pause_ms = Math.min(2 * pause_ms, MAX_PAUSE_MS)) {
    try {
      return await attempt();
    } catch (problem) {
      const isAway = isInfrastructureFault(problem) && storeFailureOf(problem) === "unavailable";
      const rest_ms = ends_ms - clock.now();
      if (!isAway || rest_ms <= 0) throw problem;
      log.warn("The node cannot start yet, and tries again", {
        problem: problem.message,
        gives_up_in_ms: rest_ms,
      });
      const { promise, resolve } = Promise.withResolvers<void>();
      clock.at(clock.now() + Math.min(pause_ms, rest_ms), resolve);
      await promise;
    }
  }
}

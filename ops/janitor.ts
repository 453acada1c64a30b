/**
 * Removes what has expired from the document store, a little every minute. Every node may do it: what another has
 * removed is gone. Bodies are not its business yet: they stay until something knows who else refers to them.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Meters } from "../cluster/ports/meters.ts";

interface Needs {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly collections: readonly string[];
}

const EVERY_MS = 60_000;
/** Of one collection at a time; a store is held up by no more than this. */
const AT_ONCE = 500;
/** Rounds of one minute; a backlog larger than this is worked off over several. */
const ROUNDS_MOST = 20;

export function janitor({ documents, clock, meters, collections }: Needs): Disposable {
  let alarm: Disposable;
  let stopped = false;

  async function sweep(): Promise<void> {
    for (const collection of collections) {
      for (let round = 0; round < ROUNDS_MOST && !stopped; round++) {
        if ((await documents.forget(collection, clock.now(), AT_ONCE)) < AT_ONCE) break;
      }
    }
  }

  function arm(): void {
    alarm = clock.at(clock.now() + EVERY_MS, () => {
      sweep()
        .catch((problem: unknown) => {
          if (!stopped) meters.say("warn", "Cannot remove what has expired", { problem: String(problem) });
        })
        .finally(() => {
          if (!stopped) arm();
        });
    });
  }

  arm();
  return {
    [Symbol.dispose]: () => {
      stopped = true;
      alarm[Symbol.dispose]();
    },
  };
}

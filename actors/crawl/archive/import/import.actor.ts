/**
 * The import actor: one for each import, so that one run reads its file or removes it, on whichever node. The run is background work; what was
 * read is stored by the run. A run that ends early goes on later, also on the next owner of the key.
 */
import { actor, type Turn } from "../../../../cluster/actor.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import { ArchiveImport } from "../../../../schemas/archives.ts";
import { type RunDeps, runImport } from "./run-import.ts";

interface State {
  /** Stored: when a run is looked after; null: there is nothing to do. */
  due_ms: number | null;
  isRunning: boolean;
  /** It was woken while it ran. */
  isWoken: boolean;
}

const LOOK_EVERY_MS = 10_000;
/** Files that a node reads at once: each holds a body of 64 MiB and what it is decoded to. */
const MAX_RUNS = 2;

export function archiveImportActor(deps: RunDeps & { readonly log: Log }) {
  let running = 0;

  function run(turn: Turn<State, (typeof ArchiveImport)["own"]>): void {
    const { key, state } = turn;
    state.due_ms = turn.now_ms + LOOK_EVERY_MS;
    if (state.isRunning || running >= MAX_RUNS) return;
    state.isRunning = true;
    state.isWoken = false;
    running++;
    turn.pipeToSelf("finished", async (_, { signal, ownsKey }) => {
      try {
        return { is_done: await runImport(deps, key, () => signal.aborted || !ownsKey()) };
      } catch (problem) {
        if (!(problem instanceof Fault)) throw problem;
        deps.log.warn("An import of an archive goes on later", { import: key, problem: String(problem) });
        return { is_done: false };
      } finally {
        running--;
      }
    });
  }

  return actor(ArchiveImport)<State, { readonly due_ms: number | null }>({
    persist: ({ due_ms }) => ({ due_ms }),
    activate: (snapshot) => ({ due_ms: snapshot?.due_ms ?? null, isRunning: false, isWoken: false }),
    passivate_after_ms: 60_000,
    reminder: ({ due_ms }) => (due_ms === null ? null : { at_ms: due_ms, operation: "look", message: null }),
    on: {
      wake(turn) {
        turn.state.isWoken = true;
        run(turn);
        return null;
      },
      look: run,
      finished(turn, { is_done }) {
        const { state } = turn;
        state.isRunning = false;
        if (state.isWoken) run(turn);
        else if (is_done) state.due_ms = null;
      },
    },
  });
}

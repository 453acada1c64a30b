/**
 * A job that may have more items than one document has states: the states of its first items, once all of a chunk are done or failed and
 * nothing can change them, are moved into a document of their own. Those of the rest are in the record, which says how many are frozen.
 */
import { type JobRecord, MAX_JOB_ITEMS, statesKey } from "../../../schemas/jobs.ts";
import { writeProgress } from "./checkpoint.ts";
import { JOB_STATES } from "./collections.ts";
import type { Frontier } from "./frontier.ts";
import { type FreezeSizes, type JobServices, type JobTurn, RETRY_MS, startTask } from "./state.ts";

export const FREEZE_SIZES: FreezeSizes = { chunk_items: 10_000, open_items: MAX_JOB_ITEMS };

const NONE = { chunks: 0, items: 0 };

/** Items that a job may still have beside those that it has, before others are frozen. */
export const roomToGrow = ({ spec, counts, frozen = NONE }: JobRecord, { open_items }: FreezeSizes): number =>
  spec.total <= open_items ? Infinity : open_items - (counts.total - frozen.items);

/** Stores the states of the next chunk, in background work, when all of its items are done or failed. */
export function freeze({ documents, freeze: sizes }: JobServices, turn: JobTurn, frontier: Frontier): void {
  const { key, state } = turn;
  const { spec, frozen = NONE } = state.record!;
  const { chunks, items } = frozen;
  const end = items + sizes.chunk_items;
  if (spec.total <= sizes.open_items || state.in_progress.has("freezing") || !frontier.hasResults(items, end))
    return;
  if (!startTask(turn, "freezing")) return;
  const states = frontier.encode(items, end);
  turn.pipeToSelf("statesFrozen", async () => {
    try {
      // An earlier owner may have written the same: what has a result keeps its state.
      await JOB_STATES.put(documents, statesKey(key, chunks), { states }, 0);
      return { frozen: { chunks: chunks + 1, items: end } };
    } catch {
      return { frozen: null };
    }
  });
}

/** The states that are stored leave the record. Null: they could not be stored, and are tried again. */
export function applyFrozen(
  { state, now_ms }: JobTurn,
  frozen: NonNullable<JobRecord["frozen"]> | null,
): void {
  state.in_progress.delete("freezing");
  if (frozen === null) state.retry_at_ms = now_ms + RETRY_MS;
  else if (state.frontier) {
    state.frontier.freeze(frozen.items);
    state.record = { ...state.record!, frozen };
    writeProgress(state, state.frontier, now_ms);
  }
}

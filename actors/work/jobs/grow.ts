/**
 * How a job that grows gets its items: it asks the source of its kind whenever items have ended and few wait, stores the inputs, and then
 * counts them in. Until they are counted the source gives the same ones again, so a crash in between neither loses nor doubles
 * one. Such a job ends when all its items have ended and the source, asked after that, has no others.
 */
import { CHUNK_ITEMS, chunkKey } from "../../../schemas/jobs.ts";
import { inputPlace, sealedInput } from "../../../schemas/job-inputs.ts";
import { JOB_ITEMS } from "../../../records/collections.ts";
import { writeProgress } from "./checkpoint.ts";
import { roomToGrow } from "./freeze.ts";
import type { Frontier } from "./frontier.ts";
import type { Input } from "../../../schemas/job-inputs.ts";
import { addToLane } from "./load.ts";
import { type JobServices, type JobState, type JobTurn, RETRY_MS, startTask } from "./state.ts";

/** Items ahead of those in flight: so few that what is found meanwhile may come before them, and never too few for the window. */
const MIN_AHEAD = 12;
const MAX_AHEAD = CHUNK_ITEMS;
/** Asked for at once, at least: each time costs a turn of the source, and writes of it, of the inputs and of the job. */
const MIN_WANT = 8;

/** Whether no further items can come. */
export const hasGrown = ({ record, growth }: JobState, frontier: Frontier): boolean =>
  !record!.spec.grows || (growth.is_over && growth.asked_at === frontier.finished());

/** Asks for further items, unless enough wait or nothing has happened since the source had none. */
export function grow(services: JobServices, turn: JobTurn, frontier: Frontier): void {
  const { key, state } = turn;
  const { growth, window } = state;
  const { kind: name, grows } = state.record!.spec;
  if (!grows) return;
  const ahead = Math.min(MAX_AHEAD, Math.max(MIN_AHEAD, window)) - frontier.waiting();
  const want = Math.min(ahead, roomToGrow(state.record!, services.freeze));
  const finished = frontier.finished();
  if (want < MIN_WANT || growth.asked_at === finished) return;
  const kind = services.kinds.get(name);
  if (!kind?.source || !startTask(turn, "growing")) return;
  growth.asked_at = finished;
  growth.is_over = false;
  const { source, lane } = kind;
  const have = state.record!.counts.total;
  turn.pipeToSelf("itemsAdded", async (ask) => {
    try {
      const { items, ...more } = await source.more(ask, key, { have, want, ended: finished });
      await storeInputs(services, key, have, items);
      growth.added = { ...more, from: have, lanes: items.map(lane) };
      return { problem: null };
    } catch (problem) {
      return { problem: String(problem) };
    }
  });
}

/** Counts in what was stored. After a failure, and when items came, the source is asked again. */
export function applyGrowth({ log }: JobServices, turn: JobTurn, problem: string | null): void {
  const { key, state, now_ms } = turn;
  const { growth, frontier } = state;
  state.in_progress.delete("growing");
  const { added } = growth;
  growth.added = null;
  if (problem !== null) {
    log.warn("Cannot add items to a job", { job_id: key, problem });
    state.retry_at_ms = now_ms + RETRY_MS;
    growth.asked_at = null;
  }
  const { phase, counts } = state.record!;
  if (!added || !frontier || (phase !== "queued" && phase !== "running")) return;
  const { from, lanes, is_over, discovered, excluded } = added;
  growth.is_over = is_over;
  if (lanes.length > 0) {
    growth.asked_at = null;
    frontier.grow(lanes.length);
    for (const [at, lane] of lanes.entries()) addToLane(frontier, from + at, lane);
  }
  if (lanes.length === 0 && counts.discovered === discovered && counts.excluded === excluded) return;
  state.record = { ...state.record!, counts: { ...counts, discovered, excluded } };
  // At once: the source gives these items again until they are counted.
  writeProgress(state, frontier, now_ms);
}

/** The chunk that the first item goes into has earlier ones. Throws Fault. */
async function storeInputs(
  { documents, secrets }: JobServices,
  job_id: string,
  from: number,
  items: readonly Input[],
): Promise<void> {
  const sealed = items.map((item, at) =>
    sealedInput(item, (text) => secrets.seal(text, inputPlace(job_id, from + at))),
  );
  for (let at = 0; at < sealed.length;) {
    const place = (from + at) % CHUNK_ITEMS;
    const added = sealed.slice(at, at + CHUNK_ITEMS - place);
    const key = chunkKey(job_id, from + at);
    await JOB_ITEMS.update(documents, key, (stored) => {
      const all = [...(stored?.items ?? []).slice(0, place), ...added];
      return { value: { items: all, chars: JSON.stringify(all).length } };
    });
    at += added.length;
  }
}

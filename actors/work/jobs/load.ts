/**
 * How a job's items come into memory: the stored states say how far each item is, the results say which of the items that
 * were in flight have finished since, and the inputs say which lane an item is in. Reads documents, changes no job: what it
 * read is too large for a message, so it waits in a slot until the turn of `itemsLoaded` takes it.
 */
import { type Clock, yieldToEventLoop } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Secrets } from "../../../cluster/ports/secrets.ts";
import { CANCELLED, DONE, FAILED, isQueued, type States } from "../../../schemas/job-states.ts";
import type { LedgerRow } from "../../../schemas/ledger.ts";
import { CHUNK_ITEMS, chunkKey, type JobRecord } from "../../../schemas/jobs.ts";
import { sealAttempts, settleCharges } from "./attempt.ts";
import { frontier, type Frontier } from "./frontier.ts";
import type { ItemKind } from "./kind.ts";
import { storedResults } from "./results.ts";
import { inputOrNull } from "./stored-inputs.ts";
import { readStates } from "./stored-states.ts";
import {
  type JobServices,
  type JobTurn,
  type LoadedItems,
  type LoadSlot,
  RETRY_MS,
  startTask,
} from "./state.ts";
import { JOB_ITEMS } from "../../../records/collections.ts";

const CHUNKS_AT_ONCE = 10;

/** Starts to load the items, unless that is in progress. */
export function startLoad(services: JobServices, turn: JobTurn): void {
  if (!startTask(turn, "loading")) return;
  const { key, state } = turn;
  const record = state.record!;
  const slot: LoadSlot = { items: null };
  state.load = slot;
  turn.pipeToSelf("itemsLoaded", async (ask) => {
    const kind = services.kinds.get(record.spec.kind);
    if (!kind) return { problem: `This node has no item kind "${record.spec.kind}"` };
    try {
      const items = await loadItems(services, key, record, kind);
      // The node that stored these results may have died before it settled what is charged for them.
      await settleCharges(services, ask, items.bills);
      slot.items = items;
      return { problem: null };
    } catch (problem) {
      return { problem: String(problem) };
    }
  });
}

/** The items that were loaded are the job's; where they could not be read, they are read again later. */
export function applyLoad(
  { log }: JobServices,
  { key, state, now_ms }: JobTurn,
  problem: string | null,
): void {
  state.in_progress.delete("loading");
  const items = state.load?.items ?? null;
  state.load = null;
  if (items) {
    state.frontier = items.frontier;
    state.bills.push(...items.bills);
    state.is_dirty ||= items.is_dirty;
  }
  if (problem === null) return;
  log.warn("Cannot read the items of a job", { job_id: key, problem });
  state.retry_at_ms = now_ms + RETRY_MS;
}

/** Throws Fault, and RangeError for states of another number of items. */
export async function loadItems(
  deps: { readonly documents: Documents; readonly clock: Clock; readonly secrets: Pick<Secrets, "open"> },
  job_id: string,
  job: JobRecord,
  kind: ItemKind,
): Promise<LoadedItems> {
  const { documents, clock } = deps;
  const {
    spec,
    phase,
    frozen,
    counts: { total },
  } = job;
  const states = await readStates(documents, job_id, job);
  const in_flight = [...states.keys()].filter((index) => isQueued(states[index]!));
  // The attempts of an earlier owner of a cancelled job may still be running.
  if (phase === "cancelling") await sealAttempts({ documents }, job_id, in_flight);
  const bills = await applyResults(documents, job_id, states, in_flight);
  const items = frontier(states, spec.total);
  if (frozen) items.freeze(frozen.items);
  const first_chunk = Math.floor((frozen?.items ?? 0) / CHUNK_ITEMS);
  for (let first = first_chunk * CHUNK_ITEMS; first < total; first += CHUNKS_AT_ONCE * CHUNK_ITEMS) {
    await addToLanes(deps, job_id, items, kind, first, total);
    await yieldToEventLoop(clock);
  }
  return { frontier: items, bills, is_dirty: in_flight.length > 0 };
}

/** Marks the items in flight that have a result, and returns the bills of those. */
async function applyResults(
  documents: Documents,
  job_id: string,
  states: States,
  in_flight: readonly number[],
): Promise<readonly LedgerRow[]> {
  const bills: LedgerRow[] = [];
  for await (const [index, { status, bill }] of storedResults(documents, job_id, in_flight)) {
    states[index] = status === "done" ? DONE : status === "failed" ? FAILED : CANCELLED;
    if (bill) bills.push(bill);
  }
  return bills;
}

export function addToLane(items: Frontier, index: number, lane: ReturnType<ItemKind["lane"]>): void {
  if (lane === null || typeof lane === "string") items.add(index, lane);
  else items.add(index, lane.site, lane.origin);
}

/** Adds the items of up to ten chunks, from `first` on. An item whose input is missing or cannot be read belongs to no site. */
async function addToLanes(
  { documents, secrets }: { readonly documents: Documents; readonly secrets: Pick<Secrets, "open"> },
  job_id: string,
  items: Frontier,
  kind: ItemKind,
  first: number,
  total: number,
): Promise<void> {
  const end = Math.min(total, first + CHUNKS_AT_ONCE * CHUNK_ITEMS);
  const starts: number[] = [];
  for (let at = first; at < end; at += CHUNK_ITEMS) starts.push(at);
  const chunks = await JOB_ITEMS.getMany(
    documents,
    starts.map((at) => chunkKey(job_id, at)),
  );
  for (const [n, from] of starts.entries()) {
    const inputs = chunks[n]?.items ?? [];
    for (let index = from; index < Math.min(end, from + CHUNK_ITEMS); index++) {
      const input = inputs[index - from];
      const opened = input && inputOrNull(secrets, input, job_id, index);
      const lane = opened ? kind.lane(opened) : null;
      addToLane(items, index, lane);
    }
  }
}

/**
 * The steps after a job's last item: the end is recorded in one write, the last rows go into the ledger, the callback is
 * delivered, and 30 days later the job is purged: results, inputs, the claim of its idempotency key and its record, in
 * this order, so that a crash in between only repeats the rest.
 */
import { yieldToEventLoop } from "../../../cluster/ports/clock.ts";
import { jobRange, resultKey, retentionMs, Scheduler, SCHEDULER_KEY } from "../../../schemas/jobs.ts";
import { returnUnits } from "./allowance.ts";
import { bodyHolder } from "./attempt.ts";
import { beginAttempt, closeInterrupted, deliverCallback } from "./callback.ts";
import { finalCheckpoint, sealRows, writeRows } from "./checkpoint.ts";
import type { Frontier } from "./frontier.ts";
import { type JobServices, type JobTurn, startTask } from "./state.ts";
import { JOB_IDEMPOTENCY_KEYS, JOB_ITEMS } from "../../../records/collections.ts";
import { JOB_RESULTS, JOB_STATES, JOBS } from "./collections.ts";
import { JOB_WEBHOOKS, wakeWebhook } from "./webhook/stored-webhook.ts";

/** Results removed at once. Each is read first, for the bodies it keeps alive, and may be a few megabytes. */
const REMOVED_AT_ONCE = 50;

/** Ends the job. The callback is in the same write as the end: neither can be stored without the other. */
export function finish(
  { metrics }: JobServices,
  turn: JobTurn,
  frontier: Frontier,
  phase: "completed" | "cancelled",
): void {
  const { state, now_ms, key } = turn;
  finalCheckpoint(state, frontier, now_ms);
  const record = state.record!;
  const { kind, callback_url, grows, webhook } = record.spec;
  const callback = callback_url === null ? null : { attempts: 0, next_ms: now_ms, status: null };
  state.record = { ...record, phase, finished_ms: now_ms, callback };
  state.frontier = null;
  for (const waiter of state.cancel_waiters.splice(0)) turn.answer(waiter, { exists: true });
  turn.tell(Scheduler, SCHEDULER_KEY, "finished", { job_id: key });
  metrics.count("trawl_jobs_total", { kind, status: phase });
  // The reminder would fire, too, a little later.
  turn.setTimer(now_ms, "tick", null);
  // Crawls that version 0.2.0 has begun do not say whether they have one.
  if (!webhook && !grows) return;
  // Once the end is stored.
  turn.pipeToSelf("tick", async (ask) => {
    wakeWebhook(ask, key);
    return null;
  });
}

/** Does what a finished job still has to do now. */
export function finishUp(services: JobServices, turn: JobTurn): void {
  const { state, now_ms } = turn;
  sealRows(state, now_ms);
  writeRows(services, turn);
  returnUnits(turn);
  const { spec, callback, finished_ms, ledger_batch, quota } = state.record!;
  if (callback?.next_ms != null && now_ms >= callback.next_ms) startCallback(services, turn);
  if (ledger_batch === null && quota === null && now_ms >= finished_ms! + retentionMs(spec))
    startPurge(services, turn);
}

/** An attempt is stored before it is sent: a crash in between costs an attempt and never makes a fourth. */
function startCallback(services: JobServices, turn: JobTurn): void {
  const { state, now_ms, key } = turn;
  if (state.in_progress.has("delivering_callback")) return;
  const record = state.record!;
  const closed = closeInterrupted(record.callback!);
  if (closed) {
    state.record = { ...record, callback: closed };
    return;
  }
  state.in_progress.add("delivering_callback");
  const callback = beginAttempt(record.callback!, now_ms);
  const begun = { ...record, callback };
  state.record = begun;
  turn.pipeToSelf("callbackDelivered", async () => ({
    attempt: callback.attempts,
    status: await deliverCallback(services, key, begun),
  }));
}

/** Starts to remove everything but the record, which goes with the turn of `purged`. */
export function startPurge(services: JobServices, turn: JobTurn): void {
  if (!startTask(turn, "purging")) return;
  const { key, state } = turn;
  const {
    spec: { kind, grows, idempotency_doc },
    counts: { total },
  } = state.record!;
  const source = grows ? services.kinds.get(kind)?.source : undefined;
  turn.pipeToSelf("purged", (ask) =>
    Promise.all([purge(services, key, total, idempotency_doc), source?.forget(ask, key)]).then(
      () => ({ is_purged: true }),
      () => ({ is_purged: false }),
    ),
  );
}

async function purge(
  { documents, bodyRefs, clock }: JobServices,
  job_id: string,
  total: number,
  idempotency_doc: string,
): Promise<void> {
  for (let index = 0; index < total; index += REMOVED_AT_ONCE) {
    const [from, to] = [resultKey(job_id, index), resultKey(job_id, index + REMOVED_AT_ONCE)];
    const results = await JOB_RESULTS.list(documents, { from, to, limit: REMOVED_AT_ONCE });
    const body_refs = results.flatMap(({ value }) => value.body_refs);
    await bodyRefs.release(body_refs, bodyHolder(job_id));
    await JOB_RESULTS.removeRange(documents, from, to);
    await yieldToEventLoop(clock);
  }
  await JOB_RESULTS.removeRange(documents, ...jobRange(job_id));
  await JOB_STATES.removeRange(documents, ...jobRange(job_id));
  await JOB_WEBHOOKS.removeRange(documents, job_id, `${job_id}!`);
  await JOB_ITEMS.removeRange(documents, ...jobRange(job_id));
  await JOB_IDEMPOTENCY_KEYS.update(documents, idempotency_doc, (claim) =>
    claim?.job_id === job_id ? "remove" : null,
  );
}

/** The record of a purged job is stored as null; this removes the document as well. */
export function removeRecord({ documents }: JobServices, turn: JobTurn): void {
  const { key, state } = turn;
  state.record = null;
  turn.pipeToSelf("tick", async () => {
    await JOBS.removeRange(documents, key, `${key}!`).catch(() => {});
    return null;
  });
}

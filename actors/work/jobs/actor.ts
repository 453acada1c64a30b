/**
 * The job actor: one per job, from the moment its items are being written until 30 days after its end. It is the only
 * writer of `job/<job_id>`; readers (actors/work/jobs/feature/routes.ts) read documents and take no turn of it.
 *
 * This file is what a job understands and what it does in each phase. How its items are loaded (load.ts), attempted
 * (attempt.ts), checkpointed and metered (checkpoint.ts), and what follows the last of them (retire.ts), each has its own
 * file; so have the rules: which item is next (frontier.ts), whether it is attempted again (retry.ts), callbacks
 * (callback.ts), shares of the cluster (fairness.ts). What an attempt does is up to the item kind (kind.ts).
 */
import { outcomeOf } from "../callbacks/delivery-outcome.ts";
import { actor, DEFERRED } from "../../../cluster/actor.ts";
import { bodyRefs } from "../../../cluster/body-refs.ts";
import {
  type AttemptOutcome,
  Job,
  JOB_RETENTION_MS,
  type JobRecord,
  Scheduler,
  SCHEDULER_KEY,
} from "../../../schemas/jobs.ts";
import type { SpanSpec } from "../../../cluster/ports/tracing.ts";
import { applyLease, applyPayer, leaseUnits, permission, refusalOf, unitsOf } from "./allowance.ts";
import {
  applyOutcome,
  applySealed,
  inputCache,
  type ItemAttempt,
  runAttempt,
  sealAttempts,
  settleCharges,
  storedOutcomes,
} from "./attempt.ts";
import { recordAttempt } from "./callback.ts";
import { checkpoint, nextCheckpointMs, writeRows } from "./checkpoint.ts";
import { reserveCost } from "./cost-limit.ts";
import { MAX_IN_FLIGHT, SMALL_ITEMS } from "./fairness.ts";
import { applyFrozen, freeze, FREEZE_SIZES } from "./freeze.ts";
import type { Frontier } from "./frontier.ts";
import { applyGrowth, grow, hasGrown } from "./grow.ts";
import { type JobBoard, jobBoard } from "./job-board.ts";
import type { ItemKind } from "./kind.ts";
import { applyLoad, startLoad } from "./load.ts";
import { countEnded } from "./ended-items.ts";
import { pausedBy, progressOf } from "./progress.ts";
import { finish, finishUp, removeRecord, startPurge } from "./retire.ts";
import {
  type FreezeSizes,
  type JobServices,
  type JobState,
  type JobTurn,
  newRecord,
  newState,
  reminderAt,
  restoreRecord,
  RETRY_MS,
  startTask,
} from "./state.ts";
import { JOB_IDEMPOTENCY_KEYS } from "../../../records/collections.ts";

export interface JobDeps extends Omit<JobServices, "bodyRefs" | "kinds" | "inputs" | "board" | "freeze"> {
  /** Default: nothing is told of what jobs wait for. */
  readonly board?: JobBoard;
  readonly kinds: readonly ItemKind[];
  readonly freeze?: FreezeSizes;
}

/** A running job asks the scheduler this often how many items it may have in flight. */
const SHARE_MS = 1_000;
/** Its client's pause ends a job after this long, so that every job ends. */
export const MAX_CLIENT_PAUSE_MS = JOB_RETENTION_MS;
/** A paused job looks this often whether its key is still active. */
const PAUSED_LOOK_MS = 5_000;
/** Items in flight at a cancel have this long to stop. */
export const CANCEL_GRACE_MS = 1_500;

export function jobActor(deps: JobDeps) {
  const services: JobServices = {
    ...deps,
    board: deps.board ?? jobBoard(deps.clock, () => true),
    bodyRefs: bodyRefs(deps.documents),
    kinds: new Map(deps.kinds.map((kind) => [kind.name, kind])),
    inputs: inputCache(),
    freeze: deps.freeze ?? FREEZE_SIZES,
  };
  const { metrics } = deps;

  return actor(Job)<JobState, JobRecord | null>({
    persist: (state) => state.record,
    activate: (record, { now_ms }) => newState(record && restoreRecord(record, now_ms)),
    passivate_after_ms: 60_000,
    reminder: (record) => record && { at_ms: reminderAt(record), operation: "tick", message: null },
    on: {
      open({ state }, spec) {
        if (state.record) return { is_opened: state.record.spec.idempotency_doc === spec.idempotency_doc };
        state.record = newRecord(spec);
        return { is_opened: true };
      },

      begin(turn) {
        const { state, now_ms } = turn;
        if (!state.record) return { exists: false };
        if (state.record.phase === "creating") {
          state.record = { ...state.record, phase: "queued", updated_ms: now_ms };
          state.is_first_run = true;
          turn.setTimer(now_ms, "tick", null);
        }
        return { exists: true };
      },

      abandon(turn) {
        if (turn.state.record?.phase === "creating") startPurge(services, turn);
      },

      cancel(turn) {
        const { state } = turn;
        const { record } = state;
        if (!record || record.phase === "creating") return { exists: false };
        if (record.finished_ms !== null) return { exists: true };
        state.cancel_waiters.push(turn.deferReply());
        cancel(services, turn);
        return DEFERRED;
      },

      reserveCost: ({ state }, reservation) => holdCost(state, reservation),
      setPaused: (turn, { is_paused }) => setPaused(services, turn, "paused_ms", is_paused),
      setClientPaused: (turn, { is_paused }) => setClientPaused(services, turn, is_paused),
      progress: ({ state, now_ms }) => ({ progress: progressOf(state, now_ms) }),

      tick: (turn) => tick(services, turn),

      claimChecked(turn, { is_claimed }) {
        const { state, now_ms } = turn;
        state.in_progress.delete("checking_claim");
        if (is_claimed === null) state.retry_at_ms = now_ms + RETRY_MS;
        else if (is_claimed && state.record)
          state.record = { ...state.record, phase: "queued", updated_ms: now_ms };
        else return startPurge(services, turn);
        tick(services, turn);
      },

      itemsLoaded(turn, { problem }) {
        applyLoad(services, turn, problem);
        tick(services, turn);
      },

      itemsAdded(turn, { problem }) {
        applyGrowth(services, turn, problem);
        tick(services, turn);
      },

      statesFrozen(turn, { frozen }) {
        applyFrozen(turn, frozen);
        tick(services, turn);
      },

      sharesGranted: (turn, { window }) => applyShare(services, turn, window),

      attemptFinished(turn, outcome: AttemptOutcome) {
        const { state, now_ms } = turn;
        const status = applyOutcome(state, outcome, now_ms);
        if (outcome.kind === "final" && status !== null) countEnded(state.ended, now_ms);
        if (status !== null && state.record)
          metrics.count("trawl_job_items_total", { kind: state.record.spec.kind, status });
        tick(services, turn);
      },

      payerRead(turn, { payer }) {
        applyPayer(turn.state, payer, turn.now_ms);
        tick(services, turn);
      },

      unitsGranted(turn, granted) {
        applyLease(turn.state, granted, turn.now_ms);
        tick(services, turn);
      },

      attemptsSealed(turn, { outcomes }) {
        const { state, now_ms } = turn;
        state.in_progress.delete("sealing");
        if (outcomes === null) state.retry_at_ms = now_ms + RETRY_MS;
        for (const outcome of outcomes ?? []) applySealed(state, outcome, now_ms);
        state.is_sealed = outcomes !== null;
        tick(services, turn);
      },

      rowsWritten(turn, { sequence }) {
        const { state, now_ms } = turn;
        state.in_progress.delete("writing_rows");
        const batch = state.record?.ledger_batch;
        if (sequence === null) state.retry_at_ms = now_ms + RETRY_MS;
        else if (batch?.sequence === sequence) {
          for (const index of batch.items) state.rows.delete(index);
          state.record = { ...state.record!, ledger_batch: null };
        }
        tick(services, turn);
      },

      callbackDelivered(turn, { attempt, status }) {
        const { state, now_ms } = turn;
        state.in_progress.delete("delivering_callback");
        if (!state.record?.callback) return;
        metrics.count("trawl_job_callbacks_total", { outcome: outcomeOf({ status }) });
        const callback = recordAttempt(state.record.callback, attempt, status, now_ms);
        state.record = { ...state.record, callback, updated_ms: now_ms };
        tick(services, turn);
      },

      purged(turn, { is_purged }) {
        const { state, now_ms } = turn;
        state.in_progress.delete("purging");
        if (is_purged) return removeRecord(services, turn);
        state.retry_at_ms = now_ms + RETRY_MS;
        tick(services, turn);
      },
    },
  });
}

/** Does what the job's phase asks for now, and sets the timer for what comes later. */
function tick(services: JobServices, turn: JobTurn): void {
  proceed(services, turn);
  services.onTurn?.(turn.key, turn.state, turn.now_ms);
}

function proceed(services: JobServices, turn: JobTurn): void {
  const { state, now_ms } = turn;
  const { record, frontier } = state;
  if (!record) return services.board.ended(turn.key);
  tellBoard(services, turn.key, record, state.payer?.status === "paused");
  switch (record.phase) {
    case "creating":
      if (now_ms >= reminderAt(record)) checkClaim(services, turn);
      return;
    case "queued":
    case "running":
      if (now_ms >= (record.client_paused_ms ?? Infinity) + MAX_CLIENT_PAUSE_MS)
        return cancel(services, turn);
      if (frontier) admit(services, turn, frontier);
      else if (state.may_load || record.spec.total <= SMALL_ITEMS) startLoad(services, turn);
      else if (pausedBy(record) === null) awaitShare(services, turn);
      else wakeAt(turn, now_ms + PAUSED_LOOK_MS);
      return;
    case "cancelling":
      if (frontier) drainCancelled(services, turn, frontier);
      else startLoad(services, turn);
      return;
    case "completed":
    case "cancelled":
      finishUp(services, turn);
      return;
  }
}

function tellBoard({ board }: JobServices, job_id: string, record: JobRecord, isSuspended: boolean): void {
  const { phase, spec, counts } = record;
  if (phase === "completed" || phase === "cancelled" || phase === "creating") return board.ended(job_id);
  const isRunning = phase !== "queued";
  const { kind, created_ms } = spec;
  const isPaused = pausedBy(record) !== null || isSuspended;
  board.seen(job_id, { kind, created_ms, isRunning, isPaused, waiting: counts.pending });
}

/**
 * The gateway that wrote the items has died. If the idempotency key names this job, a client may have been told of it, so
 * it runs; if not, it is purged.
 */
function checkClaim({ documents }: JobServices, turn: JobTurn): void {
  if (!startTask(turn, "checking_claim")) return;
  const { key, state } = turn;
  const { idempotency_doc } = state.record!.spec;
  turn.pipeToSelf("claimChecked", async () => {
    const claim = await JOB_IDEMPOTENCY_KEYS.get(documents, idempotency_doc).catch(() => undefined);
    if (claim === undefined) return { is_claimed: null };
    return { is_claimed: claim?.job_id === key };
  });
}

/** Starts as many attempts as the window allows. */
function admit(services: JobServices, turn: JobTurn, frontier: Frontier): void {
  const { state, now_ms } = turn;
  frontier.admitDue(now_ms);
  if (frontier.isFinished() && hasGrown(state, frontier))
    return finish(services, turn, frontier, "completed");
  const allowed = permission(services, turn);
  if (allowed === "revoked") return cancel(services, turn);
  const isPaused = pausedBy(state.record!) !== null;
  if (!isPaused && allowed !== "paused") grow(services, turn, frontier);
  if (!isPaused) requestShare(services, turn, frontier.demand(), true);
  leaseUnits(turn, frontier);
  const refusal = refusalOf(state, now_ms);
  const limit = allowed !== "active" || isPaused ? 0 : refusal === null ? unitsOf(state) : Infinity;
  while (frontier.inFlight() < Math.min(state.window, limit)) {
    const item = frontier.take();
    if (!item) break;
    state.is_dirty = true;
    if (state.activation === "") state.activation = now_ms.toString(36);
    if (state.record!.phase === "queued")
      state.record = { ...state.record!, phase: "running", updated_ms: now_ms };
    const attempt = {
      job_id: turn.key,
      spec: state.record!.spec,
      item,
      activation: state.activation,
      holder: `${state.activation}.${state.tries++}`,
      is_first_run: state.is_first_run,
      signal: state.cancellation.signal,
      refusal,
      is_charged: state.payer?.is_charged ?? false,
      carried_micros: state.record!.carried_micros[item.index] ?? 0,
    };
    turn.pipeToSelf("attemptFinished", (ask, { ownsKey }) => {
      const run = (): Promise<AttemptOutcome> => runAttempt(services, ask, { ...attempt, ownsJob: ownsKey });
      // A trace of its own: a job has up to a million items and lasts for hours.
      return services.tracing ? services.tracing.root(itemSpan(attempt), null, run) : run();
    });
  }
  checkpoint(state, frontier, now_ms);
  // Also where nothing has changed: after a restart or a failed write the job may wait for this alone.
  freeze(services, turn, frontier);
  writeRows(services, turn);
  const next_ms = isPaused ? now_ms + PAUSED_LOOK_MS : Math.min(nextShareMs(state), frontier.nextDueMs());
  wakeAt(turn, Math.min(nextCheckpointMs(state), next_ms));
}

const itemSpan = ({ job_id, spec, item }: Pick<ItemAttempt, "job_id" | "spec" | "item">): SpanSpec => ({
  name: `job item ${spec.kind}`,
  kind: "internal",
  attributes: { "trawl.job_id": job_id, "trawl.item": item.index },
});

/** The scheduler's answer; null: it gave none, and the job goes on with the share it has. */
function applyShare(services: JobServices, turn: JobTurn, window: number | null): void {
  const { state } = turn;
  state.in_progress.delete("requesting_share");
  if (window !== null) services.board.shareGranted(turn.key);
  // The answer to what it asked before it was paused.
  if (window !== null && state.record && pausedBy(state.record) === null) state.window = window;
  if (window !== null && window > 0) state.may_load = true;
  tick(services, turn);
}

function holdCost(
  state: JobState,
  reservation: Parameters<typeof reserveCost>[1],
): { readonly is_reserved: boolean } {
  if (!state.record) return { is_reserved: false };
  const { record, is_reserved } = reserveCost(state.record, reservation);
  state.record = record;
  return { is_reserved };
}

function setPaused(
  services: JobServices,
  turn: JobTurn,
  mark: "paused_ms" | "client_paused_ms",
  is_paused: boolean,
): { readonly exists: boolean } {
  const { state, now_ms } = turn;
  const { record } = state;
  if (!record || record.phase === "creating") return { exists: false };
  if (record.finished_ms !== null || (record[mark] != null) === is_paused) return { exists: true };
  state.record = { ...record, [mark]: is_paused ? now_ms : null, updated_ms: now_ms };
  // Its share goes to other jobs.
  if (is_paused) state.window = 0;
  tick(services, turn);
  return { exists: true };
}

/** A client resumes only what no operator paused: a refused one changes nothing. */
function setClientPaused(
  services: JobServices,
  turn: JobTurn,
  is_paused: boolean,
): { readonly exists: boolean; readonly is_refused: boolean } {
  const { record } = turn.state;
  if (!is_paused && record?.paused_ms != null && record.finished_ms === null)
    return { exists: true, is_refused: true };
  return { ...setPaused(services, turn, "client_paused_ms", is_paused), is_refused: false };
}

/** Cancels what waits and stops what runs. */
function cancel(services: JobServices, turn: JobTurn): void {
  const { state, now_ms } = turn;
  if (state.record!.phase !== "cancelling") {
    state.record = { ...state.record!, phase: "cancelling", cancel_ms: now_ms };
    state.is_dirty = true;
    state.checkpoint_ms = 0;
  }
  tick(services, turn);
}

/** A large job whose items are not loaded asks for a share until the scheduler lets it load them. */
function awaitShare(services: JobServices, turn: JobTurn): void {
  requestShare(services, turn, Math.min(turn.state.record!.spec.total, MAX_IN_FLIGHT), false);
  wakeAt(turn, nextShareMs(turn.state));
}

function requestShare(services: JobServices, turn: JobTurn, demand: number, is_loaded: boolean): void {
  const { state, now_ms, key } = turn;
  if (now_ms < state.share_requested_ms + SHARE_MS || state.in_progress.has("requesting_share")) return;
  state.in_progress.add("requesting_share");
  state.share_requested_ms = now_ms;
  services.board.shareRequested(key);
  const request = { job_id: key, total: state.record!.spec.total, demand, is_loaded };
  turn.pipeToSelf("sharesGranted", (ask) =>
    // Without an answer the job continues with its current window.
    ask(Scheduler, SCHEDULER_KEY, "allot", request, { timeout_ms: SHARE_MS * 3 }).catch(() => ({
      window: null,
    })),
  );
}

/** While a request is in progress its answer, or its timeout, wakes the job. */
const nextShareMs = ({ in_progress, share_requested_ms }: JobState): number =>
  in_progress.has("requesting_share") ? Infinity : share_requested_ms + SHARE_MS;

function wakeAt(turn: JobTurn, at_ms: number): void {
  if (at_ms < Infinity) turn.setTimer(at_ms, "tick", null);
}

/** Cancels the items that wait, gives those in flight 1.5 s, and ends. */
function drainCancelled(services: JobServices, turn: JobTurn, frontier: Frontier): void {
  const { state, now_ms } = turn;
  frontier.cancelPending();
  const until_ms = state.record!.cancel_ms! + CANCEL_GRACE_MS;
  if (frontier.inFlight() === 0 && state.is_sealed) return finish(services, turn, frontier, "cancelled");
  if (frontier.inFlight() === 0 || now_ms >= until_ms) return seal(services, turn, frontier);
  const { cancellation } = state;
  if (!cancellation.signal.aborted) {
    // In background work, which starts after the cancel is stored: a cancel that a crash loses must not have aborted anything.
    turn.pipeToSelf("tick", async () => {
      cancellation.abort();
      return null;
    });
  }
  checkpoint(state, frontier, now_ms);
  turn.setTimer(until_ms, "tick", null);
}

/**
 * Ends the attempts of a cancelled job: their results are refused from now on, and those that were stored before count. An
 * attempt whose write was answered with a fault may have stored its result, too, and so may one of an earlier owner.
 */
function seal(services: JobServices, turn: JobTurn, frontier: Frontier): void {
  const { state, key } = turn;
  if (!startTask(turn, "sealing")) return;
  const cancelled = frontier.cancelled();
  const attempted = [...frontier.queued(), ...cancelled.filter((index) => frontier.wasTaken(index))];
  const others = state.is_first_run ? [] : cancelled.filter((index) => !frontier.wasTaken(index));
  const { project, key_prefix } = state.record!.spec;
  turn.pipeToSelf("attemptsSealed", async (ask) => {
    try {
      const sealed = await sealAttempts(services, key, attempted);
      const outcomes = [...sealed, ...(await storedOutcomes(services, key, others))];
      const bills = outcomes.flatMap((outcome) => (outcome.kind === "final" ? (outcome.bill ?? []) : []));
      await settleCharges(services, ask, bills);
      await services.charges?.releaseCharges(ask, { project, key: key_prefix }, `${key}:`);
      return { outcomes };
    } catch {
      return { outcomes: null };
    }
  });
}

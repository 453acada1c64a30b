/**
 * The job actor: one per job, from the moment its items are being written until it is forgotten 30 days after its end.
 *
 * It admits items as far as its share of the cluster goes, hears how each try ended, and stores where everything stands
 * twice a second, so that whoever takes it over goes on from there. An item's result is stored before the job hears of
 * it, under its number, once: what the job forgets in a crash it finds there. Whose item is next is frontier.ts, whether
 * one is tried again retry.ts, what trying means is the kind's business, and what reads jobs (gateway/routes/jobs.ts)
 * reads documents.
 */
import { LRUCache } from "lru-cache";
import { actor, DEFERRED, type ReplyTo, type ActorClient, type Turn } from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { bodyRefs } from "../../cluster/body-refs.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Egress } from "../../cluster/ports/egress.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Meters } from "../../cluster/ports/meters.ts";
import type { Random } from "../../cluster/ports/random.ts";
import { Account, monthOf } from "../../schemas/accounts.ts";
import {
  type Chunk,
  CHUNK_ITEMS,
  chunkKey,
  type ItemBill,
  Job,
  JOB_RETENTION_MS,
  type JobKind,
  type JobSpec,
  jobRange,
  type JobRecord,
  type IdempotencyRecord,
  resultKey,
  Scheduler,
  SCHEDULER_KEY,
  type AttemptOutcome,
  type StoredResult,
} from "../../schemas/jobs.ts";
import { recordAttempt, beginAttempt, deliverCallback, closeInterrupted } from "./callback.ts";
import { MAX_IN_FLIGHT, SMALL_ITEMS } from "./fairness.ts";
import { type Admitted, frontier, type Frontier } from "./frontier.ts";
import type { Input, ItemKind } from "./kind.ts";
import { addBill, hasUsage } from "./usage.ts";
import { advance, stepAfterFault, mayPay, nextStep } from "./retry.ts";
import {
  countsOf,
  DONE,
  FAILED,
  isQueued,
  progressOf,
  decodeStates,
  newStates,
  encodeStates,
} from "../../schemas/job-states.ts";

export interface JobDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
  readonly meters: Meters;
  /** For callbacks. */
  readonly egress: Egress;
  readonly kinds: readonly ItemKind[];
}

type BackgroundTask = "naming" | "loading" | "sharing" | "telling" | "delivering" | "expiring";

interface State {
  /** Null: nobody opened it, or it is gone. */
  record: JobRecord | null;
  /** Not kept, like everything below. Null until the items were read. */
  frontier: Frontier | null;
  /** Whether the scheduler said that its items may be held in memory: there may be too many large jobs. */
  may_load: boolean;
  /** Whether nothing of it was tried before this activation, so that no result can be there. */
  is_first_run: boolean;
  is_dirty: boolean;
  checkpoint_ms: number;
  reported_ms: number;
  bills: ItemBill[];
  window: number;
  allotted_ms: number;
  /** What was started and is not over. */
  readonly in_progress: Set<BackgroundTask>;
  /** When what failed is tried again. */
  retry_at_ms: number;
  stop: AbortController;
  waiters: ReplyTo<{ exists: boolean }>[];
}

/** How far what is stored may be behind. */
export const CHECKPOINT_MS = 500;
const ALLOT_MS = 1_000;
/** Tallies are told this often. */
const REPORT_MS = 2_000;
const RETRY_MS = 2_000;
/** Until its share is known. */
const INITIAL_WINDOW = 8;
/** A job whose items took longer to be written was given up by who wrote them. */
export const CREATION_TIMEOUT_MS = 10 * 60_000;
/** What is in flight at a cancel is waited for this long. */
export const CANCEL_GRACE_MS = 1_500;
/** Inputs kept in memory, by the letters of their JSON, for all jobs of a node. */
const MAX_INPUT_CHARS = 2 ** 20;
const CHUNKS_AT_ONCE = 10;
const RESULTS_AT_ONCE = 100;
/** Documents removed in one go. Results are read before, for the bodies they hold: a few megabytes each at most. */
const REMOVED_AT_ONCE = 50;

type JobTurn = Turn<State, typeof Job.own>;

export function jobActor(deps: JobDeps) {
  const { documents, clock, random, meters, egress } = deps;
  const refs = bodyRefs(documents);
  const kinds = new Map<JobKind, ItemKind>(deps.kinds.map((kind) => [kind.name, kind]));
  const chunks = new LRUCache<string, Chunk>({
    maxSize: MAX_INPUT_CHARS,
    maxEntrySize: MAX_INPUT_CHARS,
    sizeCalculation: ({ chars }) => chars + 1,
  });

  return actor(Job)<State, JobRecord | null>({
    persist: (state) => state.record,
    activate: (record) => ({
      record,
      frontier: null,
      may_load: false,
      is_first_run: false,
      is_dirty: false,
      checkpoint_ms: 0,
      reported_ms: 0,
      bills: [],
      window: INITIAL_WINDOW,
      allotted_ms: 0,
      in_progress: new Set(),
      retry_at_ms: 0,
      stop: new AbortController(),
      waiters: [],
    }),
    passivate_after_ms: 60_000,
    reminder: (record) => record && { at_ms: reminderAt(record), operation: "resume", message: null },
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
        if (turn.state.record?.phase === "creating") purge(turn);
      },

      cancel(turn) {
        const { state, now_ms } = turn;
        const { record } = state;
        if (!record || record.phase === "creating") return { exists: false };
        if (record.finished_ms !== null) return { exists: true };
        state.waiters.push(turn.deferReply());
        if (record.phase !== "cancelling") {
          state.record = { ...record, phase: "cancelling", cancel_ms: now_ms };
          state.is_dirty = true;
          state.checkpoint_ms = 0;
        }
        tick(turn);
        return DEFERRED;
      },

      resume: (turn) => tick(turn),
      tick: (turn) => tick(turn),

      claimChecked(turn, { is_claimed }) {
        turn.state.in_progress.delete("naming");
        const { state, now_ms } = turn;
        if (is_claimed === null) state.retry_at_ms = now_ms + RETRY_MS;
        else if (is_claimed && state.record)
          state.record = { ...state.record, phase: "queued", updated_ms: now_ms };
        else return purge(turn);
        tick(turn);
      },

      itemsLoaded(turn, { problem }) {
        const { state, now_ms } = turn;
        state.in_progress.delete("loading");
        if (problem !== null) {
          meters.say("warn", "Cannot read the items of a job", { job: turn.key, problem });
          state.frontier = null;
          state.retry_at_ms = now_ms + RETRY_MS;
        }
        tick(turn);
      },

      sharesGranted(turn, { window }) {
        const { state } = turn;
        state.in_progress.delete("sharing");
        if (window !== null) state.window = window;
        if (window !== null && window > 0) state.may_load = true;
        tick(turn);
      },

      attemptFinished(turn, outcome) {
        applyOutcome(turn.state, outcome, turn.now_ms);
        tick(turn);
      },

      usageReported(turn, { sequence }) {
        const { state, now_ms } = turn;
        state.in_progress.delete("telling");
        if (sequence === null) state.retry_at_ms = now_ms + RETRY_MS;
        else if (state.record?.usage_report?.sequence === sequence)
          state.record = { ...state.record, usage_report: null };
        tick(turn);
      },

      callbackDelivered(turn, { attempt, status }) {
        const { state, now_ms } = turn;
        state.in_progress.delete("delivering");
        if (!state.record?.callback) return;
        meters.count("trawl_job_callbacks_total", { outcome: status.split("_", 1)[0]! });
        const callback = recordAttempt(state.record.callback, attempt, status, now_ms);
        state.record = { ...state.record, callback, updated_ms: now_ms };
        tick(turn);
      },

      purged(turn, { is_purged }) {
        const { state, now_ms, key } = turn;
        state.in_progress.delete("expiring");
        if (!is_purged) {
          state.retry_at_ms = now_ms + RETRY_MS;
          return tick(turn);
        }
        state.record = null;
        turn.pipeToSelf("tick", async () => {
          await documents.removeRange("job", key, `${key}!`).catch(() => {});
          return null;
        });
      },
    },
  });

  /** Does whatever is to be done now, and sleeps until there is more. */
  function tick(turn: JobTurn): void {
    const { state, now_ms } = turn;
    if (!state.record) return;
    switch (state.record.phase) {
      case "creating":
        if (now_ms >= reminderAt(state.record)) checkClaim(turn);
        break;
      case "queued":
      case "running":
        if (state.frontier) admit(turn, state.frontier);
        else if (state.may_load || state.record.spec.total <= SMALL_ITEMS) load(turn);
        else awaitShare(turn);
        break;
      case "cancelling":
        if (state.frontier) drainCancelled(turn, state.frontier);
        else load(turn);
        break;
      case "completed":
      case "cancelled":
        finishUp(turn);
        break;
    }
  }

  /** Whether this may be started now: it is not under way, and what failed lately is not tried again yet. */
  function mayStart(turn: JobTurn, task: BackgroundTask): boolean {
    const { state, now_ms } = turn;
    if (state.in_progress.has(task)) return false;
    if (now_ms < state.retry_at_ms) {
      turn.setTimer(state.retry_at_ms, "tick", null);
      return false;
    }
    state.in_progress.add(task);
    return true;
  }

  // --- before its items run ------------------------------------------------------------------------------------

  /** Whoever wrote its items is gone: whether it was told to a client depends on the name alone. */
  function checkClaim(turn: JobTurn): void {
    if (!mayStart(turn, "naming")) return;
    const { key } = turn;
    const { idempotency_doc } = turn.state.record!.spec;
    turn.pipeToSelf("claimChecked", async () => {
      const existing = await documents.get("job_idempotency_keys", idempotency_doc).catch(() => undefined);
      if (existing === undefined) return { is_claimed: null };
      return { is_claimed: (existing?.value as IdempotencyRecord | undefined)?.job_id === key };
    });
  }

  /** Reads where everything stands, and what was in flight when it was written. */
  function load(turn: JobTurn): void {
    if (!mayStart(turn, "loading")) return;
    const { key, state } = turn;
    const { spec, states: text } = state.record!;
    const kind = kinds.get(spec.kind);
    turn.pipeToSelf("itemsLoaded", async () => {
      if (!kind) return { problem: `This node knows no items of kind "${spec.kind}"` };
      try {
        const states = decodeStates(text, spec.total);
        const bills: ItemBill[] = [];
        const was_queued = [...states.keys()].filter((index) => isQueued(states[index]!));
        for (let at = 0; at < was_queued.length; at += RESULTS_AT_ONCE) {
          const batch = was_queued.slice(at, at + RESULTS_AT_ONCE);
          const found = await documents.getMany(
            "job_results",
            batch.map((index) => resultKey(key, index)),
          );
          for (const [n, result] of found.entries()) {
            if (!result) continue;
            const { status, bill } = result.value as StoredResult;
            states[batch[n]!] = status === "done" ? DONE : FAILED;
            if (bill) bills.push(bill);
          }
        }
        const order = frontier(states);
        for (let first = 0; first < spec.total; first += CHUNKS_AT_ONCE * CHUNK_ITEMS) {
          const keys = [];
          const end = Math.min(spec.total, first + CHUNKS_AT_ONCE * CHUNK_ITEMS);
          for (let at = first; at < end; at += CHUNK_ITEMS) keys.push(chunkKey(key, at));
          const found = await documents.getMany("job_items", keys);
          for (const [n, chunk] of found.entries()) {
            const items = (chunk?.value as Chunk | undefined)?.items ?? [];
            const from = first + n * CHUNK_ITEMS;
            const to = Math.min(spec.total, from + CHUNK_ITEMS);
            for (let index = from; index < to; index++) {
              const input = items[index - from];
              order.add(index, input ? kind.lane(input) : null);
            }
          }
          await yieldToEventLoop();
        }
        // More than a message may hold, so it is handed over within the process that read it.
        state.bills.push(...bills);
        state.is_dirty ||= was_queued.length > 0;
        state.frontier = order;
        return { problem: null };
      } catch (problem) {
        return { problem: String(problem) };
      }
    });
  }

  /** Lets others be served. */
  function yieldToEventLoop(): Promise<void> {
    return new Promise((resolve) => {
      clock.at(clock.now(), resolve);
    });
  }

  // --- while they run --------------------------------------------------------------------------------------------

  function admit(turn: JobTurn, order: Frontier): void {
    const { state, now_ms, key } = turn;
    order.admitDue(now_ms);
    if (order.isFinished()) return finish(turn, order, "completed");
    requestShare(turn, { demand: order.demand(), is_loaded: true });
    while (order.inFlight() < state.window) {
      const item = order.take();
      if (!item) break;
      state.is_dirty = true;
      if (state.record!.phase === "queued")
        state.record = { ...state.record!, phase: "running", updated_ms: now_ms };
      const { spec } = state.record!;
      const is_untried = state.is_first_run;
      const { signal } = state.stop;
      turn.pipeToSelf("attemptFinished", (say) => runAttempt(say, key, spec, item, is_untried, signal));
    }
    checkpoint(turn, order);
    reportUsage(turn);
    const flush_ms = state.is_dirty ? state.checkpoint_ms + CHECKPOINT_MS : Infinity;
    sleep(turn, Math.min(flush_ms, nextShare(state), order.nextDueMs()));
  }

  function awaitShare(turn: JobTurn): void {
    const { total } = turn.state.record!.spec;
    requestShare(turn, { demand: Math.min(total, MAX_IN_FLIGHT), is_loaded: false });
    sleep(turn, nextShare(turn.state));
  }

  function sleep(turn: JobTurn, until_ms: number): void {
    if (until_ms < Infinity) turn.setTimer(until_ms, "tick", null);
  }

  /** The answer to a question under way wakes the job by itself, also when it does not come. */
  function nextShare({ in_progress, allotted_ms }: State): number {
    return in_progress.has("sharing") ? Infinity : allotted_ms + ALLOT_MS;
  }

  function requestShare(
    turn: JobTurn,
    demand: { readonly demand: number; readonly is_loaded: boolean },
  ): void {
    const { state, now_ms, key } = turn;
    if (now_ms < state.allotted_ms + ALLOT_MS || state.in_progress.has("sharing")) return;
    state.in_progress.add("sharing");
    state.allotted_ms = now_ms;
    const request = { job_id: key, total: state.record!.spec.total, ...demand };
    turn.pipeToSelf("sharesGranted", async (say) =>
      say(Scheduler, SCHEDULER_KEY, "allot", request, { timeout_ms: ALLOT_MS * 3 }).catch(() => ({
        // It goes on with what it has.
        window: null,
      })),
    );
  }

  /** One try of one item; its result is stored when this ends with `final`. */
  async function runAttempt(
    ask: ActorClient,
    job_id: string,
    spec: JobSpec,
    item: Admitted,
    is_first_run: boolean,
    signal: AbortSignal,
  ): Promise<AttemptOutcome> {
    const { index } = item;
    const key = resultKey(job_id, index);
    const age_ms = (): number => clock.now() - spec.created_ms;

    /** Whoever comes second takes what is there. */
    const store = async (result: StoredResult): Promise<AttemptOutcome> => {
      await refs.retain(result.body_refs, ownerOf(job_id), Infinity);
      if (await documents.put("job_results", key, result, 0))
        return { kind: "final", index, status: result.status, bill: result.bill };
      return (await stored()) ?? { kind: "retry", index, reason: "fault", delay_ms: RETRY_MS };
    };
    const stored = async (): Promise<AttemptOutcome | null> => {
      const before = (await documents.get("job_results", key))?.value as StoredResult | undefined;
      return before ? { kind: "final", index, status: before.status, bill: before.bill } : null;
    };

    try {
      const before = is_first_run ? null : await stored();
      if (before) return before;
      const input = await inputOf(job_id, index);
      if (signal.aborted) return { kind: "stopped", index };
      const attempt = await kinds.get(spec.kind)!.run(ask, input, {
        request_id: `${job_id}:${index}`,
        attempt_id: `${job_id}:${index}.${item.attempts}${item.has_cooled ? "c" : ""}`,
        project: spec.project,
        attempts: item.attempts,
        may_pay: mayPay(item),
        signal,
      });
      if (signal.aborted && attempt.error !== null) return { kind: "stopped", index };
      const next = nextStep(item, attempt.retry, age_ms(), random.next());
      if (next.kind === "retry") return { ...next, index };
      const { retry: _, ...result } = attempt;
      return await store({ status: attempt.error === null ? "done" : "failed", ...result });
    } catch (problem) {
      if (signal.aborted) return { kind: "stopped", index };
      const fault = problem instanceof Fault ? problem.code : null;
      // These are about this very item: it would only break again.
      const counts = fault === null || fault === "message_too_large" || fault === "no_answer";
      meters.say(fault === null ? "error" : "warn", "An item could not be tried", {
        job: job_id,
        index,
        problem: fault ?? problem,
      });
      const next = stepAfterFault(item, counts, age_ms(), random.next());
      if (next.kind === "retry") return { ...next, index };
      const nothing = { answer: null, bill: null, body_refs: [] };
      return store({ status: "failed", error: "internal_error", ...nothing }).catch(() => ({
        kind: "retry",
        index,
        reason: "fault",
        delay_ms: RETRY_MS,
      }));
    }
  }

  async function inputOf(job_id: string, index: number): Promise<Input> {
    const key = chunkKey(job_id, index);
    let chunk = chunks.get(key);
    if (!chunk) {
      chunk = (await documents.get("job_items", key))?.value as Chunk | undefined;
      if (!chunk) throw new Error(`The input of item ${index} is not there`);
      chunks.set(key, chunk);
    }
    return chunk.items[index % CHUNK_ITEMS]!;
  }

  function applyOutcome(state: State, outcome: AttemptOutcome, now_ms: number): void {
    const { frontier: order, record } = state;
    // An activation that ended: what it heard of is found in the results.
    if (!order || !record) return;
    const { index } = outcome;
    if (!isQueued(order.codeAt(index))) return;
    state.is_dirty = true;
    switch (outcome.kind) {
      case "final":
        order.finish(index, outcome.status);
        if (outcome.bill) state.bills.push(outcome.bill);
        meters.count("trawl_job_items_total", { kind: record.spec.kind, status: outcome.status });
        return;
      case "stopped":
        return order.cancel(index);
      case "retry": {
        const at_ms = now_ms + outcome.delay_ms;
        order.requeue(index, at_ms, advance(progressOf(order.codeAt(index)), outcome.reason));
        if (outcome.reason === "busy") order.pauseLane(index, at_ms);
        meters.count("trawl_job_items_total", { kind: record.spec.kind, status: `retry_${outcome.reason}` });
      }
    }
  }

  /** Lets go of what waits, gives what is in flight a moment, and ends. */
  function drainCancelled(turn: JobTurn, order: Frontier): void {
    const { state, now_ms } = turn;
    order.cancelPending();
    const until_ms = state.record!.cancel_ms! + CANCEL_GRACE_MS;
    if (order.inFlight() === 0 || now_ms >= until_ms) {
      order.cancelQueued();
      return finish(turn, order, "cancelled");
    }
    if (!state.stop.signal.aborted) {
      const { stop } = state;
      // Once the cancel is stored.
      turn.pipeToSelf("tick", async () => {
        stop.abort();
        return null;
      });
    }
    checkpoint(turn, order);
    turn.setTimer(until_ms, "tick", null);
  }

  /** Stores where everything stands, when that changed and the last time is long enough ago. */
  function checkpoint(turn: JobTurn, order: Frontier, must = false): void {
    const { state, now_ms } = turn;
    if (!must && (!state.is_dirty || now_ms < state.checkpoint_ms + CHECKPOINT_MS)) return;
    const record = state.record!;
    let { usage } = record;
    let { requests, cost_micros } = record.metered;
    for (const bill of state.bills.splice(0)) {
      usage = addBill(usage, bill);
      requests++;
      cost_micros += bill.cost_micros;
    }
    state.record = {
      ...record,
      states: order.encode(),
      counts: order.counts(),
      updated_ms: now_ms,
      usage,
      metered: { requests, cost_micros },
    };
    state.is_dirty = false;
    state.checkpoint_ms = now_ms;
    if (must || now_ms >= state.reported_ms + REPORT_MS) sealUsage(turn);
  }

  /** Puts what was settled into a tally with a number of its own, unless one is still on its way. */
  function sealUsage({ state, now_ms }: JobTurn): void {
    const record = state.record!;
    if (record.usage_report !== null || !hasUsage(record.usage)) return;
    state.reported_ms = now_ms;
    const sequence = record.report_sequence + 1;
    state.record = {
      ...record,
      report_sequence: sequence,
      usage_report: { sequence, month: monthOf(now_ms), usage: record.usage },
      usage: {},
    };
  }

  function reportUsage(turn: JobTurn): void {
    const { key, state } = turn;
    const { usage_report, spec } = state.record!;
    if (usage_report === null || !mayStart(turn, "telling")) return;
    const message = {
      gateway: `job:${key}`,
      sequence: usage_report.sequence,
      month: usage_report.month,
      keys: { [spec.key_prefix]: usage_report.usage },
      allowances: { [spec.key_prefix]: spec.allowances },
    };
    turn.pipeToSelf("usageReported", (say) =>
      say(Account, spec.project, "reportUsage", message, {
        timeout_ms: 10_000,
        idempotency_id: `${key}:${usage_report.sequence}`,
      }).then(
        () => ({ sequence: usage_report.sequence }),
        () => ({ sequence: null }),
      ),
    );
  }

  // --- after the last of them --------------------------------------------------------------------------------------

  function finish(turn: JobTurn, order: Frontier, phase: "completed" | "cancelled"): void {
    const { state, now_ms, key } = turn;
    checkpoint(turn, order, true);
    const record = state.record!;
    state.record = {
      ...record,
      phase,
      finished_ms: now_ms,
      // In the same document as the end itself: neither can be without the other.
      callback: record.spec.callback_url === null ? null : { attempts: 0, next_ms: now_ms, status: null },
    };
    state.frontier = null;
    for (const to of state.waiters.splice(0)) turn.answer(to, { exists: true });
    turn.tell(Scheduler, SCHEDULER_KEY, "finished", { job_id: key });
    meters.count("trawl_jobs_total", { kind: record.spec.kind, status: phase });
    // Only its own alarm: the duty would come, too, a little later.
    turn.setTimer(now_ms, "tick", null);
  }

  /** The last tallies, the callback, and in the end oblivion. */
  function finishUp(turn: JobTurn): void {
    const { state, now_ms } = turn;
    sealUsage(turn);
    reportUsage(turn);
    const { callback, finished_ms, usage_report } = state.record!;
    if (callback?.next_ms != null && now_ms >= callback.next_ms) startCallback(turn);
    if (usage_report === null && now_ms >= finished_ms! + JOB_RETENTION_MS) purge(turn);
  }

  function startCallback(turn: JobTurn): void {
    const { state, now_ms, key } = turn;
    if (state.in_progress.has("delivering")) return;
    const record = state.record!;
    const interrupted_callback = closeInterrupted(record.callback!);
    if (interrupted_callback) {
      state.record = { ...record, callback: interrupted_callback };
      return;
    }
    state.in_progress.add("delivering");
    // Written down before it is sent: a crash in between costs an attempt and never makes a fourth.
    const callback = beginAttempt(record.callback!, now_ms);
    const after = { ...record, callback };
    state.record = after;
    turn.pipeToSelf("callbackDelivered", async () => ({
      attempt: callback.attempts,
      status: await deliverCallback({ egress, clock }, key, after),
    }));
  }

  function purge(turn: JobTurn): void {
    if (!mayStart(turn, "expiring")) return;
    const { key } = turn;
    const { total, idempotency_doc } = turn.state.record!.spec;
    turn.pipeToSelf("purged", async () => {
      try {
        for (let index = 0; index < total; index += REMOVED_AT_ONCE) {
          const range = { from: resultKey(key, index), to: resultKey(key, index + REMOVED_AT_ONCE) };
          const results = await documents.list("job_results", { ...range, limit: REMOVED_AT_ONCE });
          const body_refs = results.flatMap(({ value }) => (value as StoredResult).body_refs);
          await refs.release(body_refs, ownerOf(key));
          await documents.removeRange("job_results", range.from, range.to);
          await yieldToEventLoop();
        }
        await documents.removeRange("job_results", ...jobRange(key));
        await documents.removeRange("job_items", ...jobRange(key));
        const name = await documents.get("job_idempotency_keys", idempotency_doc);
        if (name && (name.value as IdempotencyRecord).job_id === key)
          await documents.remove("job_idempotency_keys", idempotency_doc, name.version);
        return { is_purged: true };
      } catch {
        return { is_purged: false };
      }
    });
  }
}

/** Under which name a job holds bodies. */
const ownerOf = (job_id: string): string => `job ${job_id}`;

const newRecord = (spec: JobSpec): JobRecord => {
  const states = newStates(spec.total);
  return {
    spec,
    phase: "creating",
    states: encodeStates(states),
    counts: countsOf(states),
    updated_ms: spec.created_ms,
    cancel_ms: null,
    finished_ms: null,
    callback: null,
    usage: {},
    usage_report: null,
    report_sequence: 0,
    metered: { requests: 0, cost_micros: 0 },
  };
};

/** When the actor must be awake next. A job that runs is always due, so that somebody goes on with it. */
function reminderAt({
  phase,
  spec,
  updated_ms,
  finished_ms,
  callback,
  usage_report,
  usage,
}: JobRecord): number {
  if (phase === "creating") return spec.created_ms + CREATION_TIMEOUT_MS;
  if (finished_ms === null) return spec.created_ms;
  if (usage_report !== null || hasUsage(usage)) return updated_ms;
  return callback?.next_ms ?? finished_ms + JOB_RETENTION_MS;
}

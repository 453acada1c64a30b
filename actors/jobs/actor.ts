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
import { actor, PARKED, type ReplyTo, type Say, type Turn } from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { holding } from "../../cluster/body-refs.ts";
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
  JOB_KEPT_MS,
  type JobKind,
  type JobSpec,
  jobRange,
  type KeptJob,
  type NamedJob,
  resultKey,
  Scheduler,
  SCHEDULER_KEY,
  type Settled,
  type StoredResult,
} from "../../schemas/jobs.ts";
import { attempted, begun, deliver, interrupted } from "./callback.ts";
import { MAX_IN_FLIGHT, SMALL_ITEMS } from "./fairness.ts";
import { type Admitted, frontier, type Frontier } from "./frontier.ts";
import type { Input, ItemKind } from "./kind.ts";
import { addBill, hasUsage } from "./usage.ts";
import { advanced, afterFault, mayPay, nextTry } from "./retry.ts";
import {
  countsOf,
  DONE,
  FAILED,
  isQueued,
  progressOf,
  readStates,
  untouched,
  written,
} from "../../schemas/job-states.ts";

export interface Outside {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
  readonly meters: Meters;
  /** For callbacks. */
  readonly egress: Egress;
  readonly kinds: readonly ItemKind[];
}

type UnderWay = "naming" | "loading" | "sharing" | "telling" | "delivering" | "expiring";

interface State {
  /** Null: nobody opened it, or it is gone. */
  kept: KeptJob | null;
  /** Not kept, like everything below. Null until the items were read. */
  frontier: Frontier | null;
  /** Whether the scheduler said that its items may be held in memory: there may be too many large jobs. */
  may_load: boolean;
  /** Whether nothing of it was tried before this activation, so that no result can be there. */
  is_untried: boolean;
  is_dirty: boolean;
  flushed_ms: number;
  cut_ms: number;
  bills: ItemBill[];
  window: number;
  shared_ms: number;
  /** What was started and is not over. */
  readonly under_way: Set<UnderWay>;
  /** When what failed is tried again. */
  again_ms: number;
  stop: AbortController;
  waiters: ReplyTo<{ known: boolean }>[];
}

/** How far what is stored may be behind. */
export const FLUSH_MS = 500;
const SHARE_MS = 1_000;
/** Tallies are told this often. */
const TELL_MS = 2_000;
const AGAIN_MS = 2_000;
/** Until its share is known. */
const WINDOW_FIRST = 8;
/** A job whose items took longer to be written was given up by who wrote them. */
export const CREATED_WITHIN_MS = 10 * 60_000;
/** What is in flight at a cancel is waited for this long. */
export const CANCEL_MS = 1_500;
/** Inputs kept in memory, by the letters of their JSON, for all jobs of a node. */
const MAX_INPUT_CHARS = 2 ** 20;
const CHUNKS_AT_ONCE = 10;
const RESULTS_AT_ONCE = 100;
/** Documents removed in one go. Results are read before, for the bodies they hold: a few megabytes each at most. */
const REMOVED_AT_ONCE = 50;

type JobTurn = Turn<State, typeof Job.operations>;

export function job(outside: Outside) {
  const { documents, clock, random, meters, egress } = outside;
  const holds = holding(documents);
  const kinds = new Map<JobKind, ItemKind>(outside.kinds.map((kind) => [kind.name, kind]));
  const chunks = new LRUCache<string, Chunk>({
    maxSize: MAX_INPUT_CHARS,
    maxEntrySize: MAX_INPUT_CHARS,
    sizeCalculation: ({ chars }) => chars + 1,
  });

  return actor(Job)<State, KeptJob | null>({
    keep: (state) => state.kept,
    begin: (kept) => ({
      kept,
      frontier: null,
      may_load: false,
      is_untried: false,
      is_dirty: false,
      flushed_ms: 0,
      cut_ms: 0,
      bills: [],
      window: WINDOW_FIRST,
      shared_ms: 0,
      under_way: new Set(),
      again_ms: 0,
      stop: new AbortController(),
      waiters: [],
    }),
    idle_ms: 60_000,
    due: (kept) => kept && { at_ms: dutyOf(kept), operation: "resume", message: null },
    on: {
      open({ state }, spec) {
        if (state.kept) return { opened: state.kept.spec.named_by === spec.named_by };
        state.kept = opened(spec);
        return { opened: true };
      },

      begin(turn) {
        const { state, now_ms } = turn;
        if (!state.kept) return { begun: false };
        if (state.kept.phase === "creating") {
          state.kept = { ...state.kept, phase: "queued", updated_ms: now_ms };
          state.is_untried = true;
          turn.wake(now_ms, "tick", null);
        }
        return { begun: true };
      },

      abandon(turn) {
        if (turn.state.kept?.phase === "creating") expire(turn);
      },

      cancel(turn) {
        const { state, now_ms } = turn;
        const { kept } = state;
        if (!kept || kept.phase === "creating") return { known: false };
        if (kept.finished_ms !== null) return { known: true };
        state.waiters.push(turn.park());
        if (kept.phase !== "cancelling") {
          state.kept = { ...kept, phase: "cancelling", cancel_ms: now_ms };
          state.is_dirty = true;
          state.flushed_ms = 0;
        }
        pump(turn);
        return PARKED;
      },

      resume: (turn) => pump(turn),
      tick: (turn) => pump(turn),

      named(turn, { named }) {
        turn.state.under_way.delete("naming");
        const { state, now_ms } = turn;
        if (named === null) state.again_ms = now_ms + AGAIN_MS;
        else if (named && state.kept) state.kept = { ...state.kept, phase: "queued", updated_ms: now_ms };
        else return expire(turn);
        pump(turn);
      },

      loaded(turn, { problem }) {
        const { state, now_ms } = turn;
        state.under_way.delete("loading");
        if (problem !== null) {
          meters.say("warn", "Cannot read the items of a job", { job: turn.key, problem });
          state.frontier = null;
          state.again_ms = now_ms + AGAIN_MS;
        }
        pump(turn);
      },

      shared(turn, { window }) {
        const { state } = turn;
        state.under_way.delete("sharing");
        if (window !== null) state.window = window;
        if (window !== null && window > 0) state.may_load = true;
        pump(turn);
      },

      settled(turn, outcome) {
        hear(turn.state, outcome, turn.now_ms);
        pump(turn);
      },

      told(turn, { sequence }) {
        const { state, now_ms } = turn;
        state.under_way.delete("telling");
        if (sequence === null) state.again_ms = now_ms + AGAIN_MS;
        else if (state.kept?.tally?.sequence === sequence) state.kept = { ...state.kept, tally: null };
        pump(turn);
      },

      delivered(turn, { attempt, status }) {
        const { state, now_ms } = turn;
        state.under_way.delete("delivering");
        if (!state.kept?.callback) return;
        meters.count("trawl_job_callbacks_total", { outcome: status.split("_", 1)[0]! });
        const callback = attempted(state.kept.callback, attempt, status, now_ms);
        state.kept = { ...state.kept, callback, updated_ms: now_ms };
        pump(turn);
      },

      expired(turn, { gone }) {
        const { state, now_ms, key } = turn;
        state.under_way.delete("expiring");
        if (!gone) {
          state.again_ms = now_ms + AGAIN_MS;
          return pump(turn);
        }
        state.kept = null;
        turn.start("tick", async () => {
          await documents.removeRange("job", key, `${key}!`).catch(() => {});
          return null;
        });
      },
    },
  });

  /** Does whatever is to be done now, and sleeps until there is more. */
  function pump(turn: JobTurn): void {
    const { state, now_ms } = turn;
    if (!state.kept) return;
    switch (state.kept.phase) {
      case "creating":
        if (now_ms >= dutyOf(state.kept)) askForName(turn);
        break;
      case "queued":
      case "running":
        if (state.frontier) admit(turn, state.frontier);
        else if (state.may_load || state.kept.spec.total <= SMALL_ITEMS) load(turn);
        else waitForTurn(turn);
        break;
      case "cancelling":
        if (state.frontier) wind(turn, state.frontier);
        else load(turn);
        break;
      case "completed":
      case "cancelled":
        afterwards(turn);
        break;
    }
  }

  /** Whether this may be started now: it is not under way, and what failed lately is not tried again yet. */
  function mayBegin(turn: JobTurn, what: UnderWay): boolean {
    const { state, now_ms } = turn;
    if (state.under_way.has(what)) return false;
    if (now_ms < state.again_ms) {
      turn.wake(state.again_ms, "tick", null);
      return false;
    }
    state.under_way.add(what);
    return true;
  }

  // --- before its items run ------------------------------------------------------------------------------------

  /** Whoever wrote its items is gone: whether it was told to a client depends on the name alone. */
  function askForName(turn: JobTurn): void {
    if (!mayBegin(turn, "naming")) return;
    const { key } = turn;
    const { named_by } = turn.state.kept!.spec;
    turn.start("named", async () => {
      const known = await documents.get("job_keys", named_by).catch(() => undefined);
      if (known === undefined) return { named: null };
      return { named: (known?.value as NamedJob | undefined)?.job_id === key };
    });
  }

  /** Reads where everything stands, and what was in flight when it was written. */
  function load(turn: JobTurn): void {
    if (!mayBegin(turn, "loading")) return;
    const { key, state } = turn;
    const { spec, states: text } = state.kept!;
    const kind = kinds.get(spec.kind);
    turn.start("loaded", async () => {
      if (!kind) return { problem: `This node knows no items of kind "${spec.kind}"` };
      try {
        const states = readStates(text, spec.total);
        const bills: ItemBill[] = [];
        const flown = [...states.keys()].filter((index) => isQueued(states[index]!));
        for (let at = 0; at < flown.length; at += RESULTS_AT_ONCE) {
          const some = flown.slice(at, at + RESULTS_AT_ONCE);
          const found = await documents.getMany(
            "job_results",
            some.map((index) => resultKey(key, index)),
          );
          for (const [n, result] of found.entries()) {
            if (!result) continue;
            const { status, bill } = result.value as StoredResult;
            states[some[n]!] = status === "done" ? DONE : FAILED;
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
              order.place(index, input ? kind.lane(input) : null);
            }
          }
          await breath();
        }
        // More than a message may hold, so it is handed over within the process that read it.
        state.bills.push(...bills);
        state.is_dirty ||= flown.length > 0;
        state.frontier = order;
        return { problem: null };
      } catch (problem) {
        return { problem: String(problem) };
      }
    });
  }

  /** Lets others be served. */
  function breath(): Promise<void> {
    return new Promise((resolve) => {
      clock.at(clock.now(), resolve);
    });
  }

  // --- while they run --------------------------------------------------------------------------------------------

  function admit(turn: JobTurn, order: Frontier): void {
    const { state, now_ms, key } = turn;
    order.wake(now_ms);
    if (order.isSettled()) return finish(turn, order, "completed");
    share(turn, { demand: order.demand(), is_loaded: true });
    while (order.running() < state.window) {
      const item = order.take();
      if (!item) break;
      state.is_dirty = true;
      if (state.kept!.phase === "queued")
        state.kept = { ...state.kept!, phase: "running", updated_ms: now_ms };
      const { spec } = state.kept!;
      const is_untried = state.is_untried;
      const { signal } = state.stop;
      turn.start("settled", (say) => tryItem(say, key, spec, item, is_untried, signal));
    }
    flush(turn, order);
    tell(turn);
    const flush_ms = state.is_dirty ? state.flushed_ms + FLUSH_MS : Infinity;
    sleep(turn, Math.min(flush_ms, nextShare(state), order.next_ms()));
  }

  function waitForTurn(turn: JobTurn): void {
    const { total } = turn.state.kept!.spec;
    share(turn, { demand: Math.min(total, MAX_IN_FLIGHT), is_loaded: false });
    sleep(turn, nextShare(turn.state));
  }

  function sleep(turn: JobTurn, until_ms: number): void {
    if (until_ms < Infinity) turn.wake(until_ms, "tick", null);
  }

  /** The answer to a question under way wakes the job by itself, also when it does not come. */
  function nextShare({ under_way, shared_ms }: State): number {
    return under_way.has("sharing") ? Infinity : shared_ms + SHARE_MS;
  }

  function share(turn: JobTurn, wish: { readonly demand: number; readonly is_loaded: boolean }): void {
    const { state, now_ms, key } = turn;
    if (now_ms < state.shared_ms + SHARE_MS || state.under_way.has("sharing")) return;
    state.under_way.add("sharing");
    state.shared_ms = now_ms;
    const question = { job_id: key, total: state.kept!.spec.total, ...wish };
    turn.start("shared", async (say) =>
      say(Scheduler, SCHEDULER_KEY, "share", question, { wait_ms: SHARE_MS * 3 }).catch(() => ({
        // It goes on with what it has.
        window: null,
      })),
    );
  }

  /** One try of one item; its result is stored when this ends with `final`. */
  async function tryItem(
    say: Say,
    job_id: string,
    spec: JobSpec,
    item: Admitted,
    is_untried: boolean,
    signal: AbortSignal,
  ): Promise<Settled> {
    const { index } = item;
    const key = resultKey(job_id, index);
    const age_ms = (): number => clock.now() - spec.created_ms;

    /** Whoever comes second takes what is there. */
    const store = async (result: StoredResult): Promise<Settled> => {
      await holds.hold(result.needs, holderOf(job_id), Infinity);
      if (await documents.put("job_results", key, result, 0))
        return { kind: "final", index, status: result.status, bill: result.bill };
      return (await stored()) ?? { kind: "again", index, because: "fault", after_ms: AGAIN_MS };
    };
    const stored = async (): Promise<Settled | null> => {
      const before = (await documents.get("job_results", key))?.value as StoredResult | undefined;
      return before ? { kind: "final", index, status: before.status, bill: before.bill } : null;
    };

    try {
      const before = is_untried ? null : await stored();
      if (before) return before;
      const input = await inputOf(job_id, index);
      if (signal.aborted) return { kind: "stopped", index };
      const ran = await kinds.get(spec.kind)!.run(say, input, {
        request_id: `${job_id}:${index}`,
        try_id: `${job_id}:${index}.${item.tries}${item.cooled ? "c" : ""}`,
        project: spec.project,
        tries: item.tries,
        may_pay: mayPay(item),
        signal,
      });
      if (signal.aborted && ran.error !== null) return { kind: "stopped", index };
      const next = nextTry(item, ran.again, age_ms(), random.next());
      if (next.kind === "again") return { ...next, index };
      const { again: _, ...result } = ran;
      return await store({ status: ran.error === null ? "done" : "failed", ...result });
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
      const next = afterFault(item, counts, age_ms(), random.next());
      if (next.kind === "again") return { ...next, index };
      const nothing = { answer: null, bill: null, needs: [] };
      return store({ status: "failed", error: "internal_error", ...nothing }).catch(() => ({
        kind: "again",
        index,
        because: "fault",
        after_ms: AGAIN_MS,
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

  function hear(state: State, outcome: Settled, now_ms: number): void {
    const { frontier: order, kept } = state;
    // An activation that ended: what it heard of is found in the results.
    if (!order || !kept) return;
    const { index } = outcome;
    if (!isQueued(order.state(index))) return;
    state.is_dirty = true;
    switch (outcome.kind) {
      case "final":
        order.settle(index, outcome.status);
        if (outcome.bill) state.bills.push(outcome.bill);
        meters.count("trawl_job_items_total", { kind: kept.spec.kind, status: outcome.status });
        return;
      case "stopped":
        return order.drop(index);
      case "again": {
        const at_ms = now_ms + outcome.after_ms;
        order.putBack(index, at_ms, advanced(progressOf(order.state(index)), outcome.because));
        if (outcome.because === "busy") order.rest(index, at_ms);
        meters.count("trawl_job_items_total", { kind: kept.spec.kind, status: `again_${outcome.because}` });
      }
    }
  }

  /** Lets go of what waits, gives what is in flight a moment, and ends. */
  function wind(turn: JobTurn, order: Frontier): void {
    const { state, now_ms } = turn;
    order.cancelPending();
    const until_ms = state.kept!.cancel_ms! + CANCEL_MS;
    if (order.running() === 0 || now_ms >= until_ms) {
      order.cancelQueued();
      return finish(turn, order, "cancelled");
    }
    if (!state.stop.signal.aborted) {
      const { stop } = state;
      // Once the cancel is stored.
      turn.start("tick", async () => {
        stop.abort();
        return null;
      });
    }
    flush(turn, order);
    turn.wake(until_ms, "tick", null);
  }

  /** Stores where everything stands, when that changed and the last time is long enough ago. */
  function flush(turn: JobTurn, order: Frontier, must = false): void {
    const { state, now_ms } = turn;
    if (!must && (!state.is_dirty || now_ms < state.flushed_ms + FLUSH_MS)) return;
    const kept = state.kept!;
    let { usage } = kept;
    let { requests, cost_micros } = kept.metered;
    for (const bill of state.bills.splice(0)) {
      usage = addBill(usage, bill);
      requests++;
      cost_micros += bill.cost_micros;
    }
    state.kept = {
      ...kept,
      states: order.text(),
      counts: order.counts(),
      updated_ms: now_ms,
      usage,
      metered: { requests, cost_micros },
    };
    state.is_dirty = false;
    state.flushed_ms = now_ms;
    if (must || now_ms >= state.cut_ms + TELL_MS) cut(turn);
  }

  /** Puts what was settled into a tally with a number of its own, unless one is still on its way. */
  function cut({ state, now_ms }: JobTurn): void {
    const kept = state.kept!;
    if (kept.tally !== null || !hasUsage(kept.usage)) return;
    state.cut_ms = now_ms;
    const sequence = kept.tallies + 1;
    state.kept = {
      ...kept,
      tallies: sequence,
      tally: { sequence, month: monthOf(now_ms), usage: kept.usage },
      usage: {},
    };
  }

  function tell(turn: JobTurn): void {
    const { key, state } = turn;
    const { tally, spec } = state.kept!;
    if (tally === null || !mayBegin(turn, "telling")) return;
    const message = {
      gateway: `job:${key}`,
      sequence: tally.sequence,
      month: tally.month,
      keys: { [spec.key_prefix]: tally.usage },
      allowances: { [spec.key_prefix]: spec.allowances },
    };
    turn.start("told", (say) =>
      say(Account, spec.project, "add", message, { wait_ms: 10_000, id: `${key}:${tally.sequence}` }).then(
        () => ({ sequence: tally.sequence }),
        () => ({ sequence: null }),
      ),
    );
  }

  // --- after the last of them --------------------------------------------------------------------------------------

  function finish(turn: JobTurn, order: Frontier, phase: "completed" | "cancelled"): void {
    const { state, now_ms, key } = turn;
    flush(turn, order, true);
    const kept = state.kept!;
    state.kept = {
      ...kept,
      phase,
      finished_ms: now_ms,
      // In the same document as the end itself: neither can be without the other.
      callback: kept.spec.callback_url === null ? null : { attempts: 0, next_ms: now_ms, status: null },
    };
    state.frontier = null;
    for (const to of state.waiters.splice(0)) turn.answer(to, { known: true });
    turn.tell(Scheduler, SCHEDULER_KEY, "left", { job_id: key });
    meters.count("trawl_jobs_total", { kind: kept.spec.kind, status: phase });
    // Only its own alarm: the duty would come, too, a little later.
    turn.wake(now_ms, "tick", null);
  }

  /** The last tallies, the callback, and in the end oblivion. */
  function afterwards(turn: JobTurn): void {
    const { state, now_ms } = turn;
    cut(turn);
    tell(turn);
    const { callback, finished_ms, tally } = state.kept!;
    if (callback?.next_ms != null && now_ms >= callback.next_ms) call(turn);
    if (tally === null && now_ms >= finished_ms! + JOB_KEPT_MS) expire(turn);
  }

  function call(turn: JobTurn): void {
    const { state, now_ms, key } = turn;
    if (state.under_way.has("delivering")) return;
    const kept = state.kept!;
    const over = interrupted(kept.callback!);
    if (over) {
      state.kept = { ...kept, callback: over };
      return;
    }
    state.under_way.add("delivering");
    // Written down before it is sent: a crash in between costs an attempt and never makes a fourth.
    const callback = begun(kept.callback!, now_ms);
    const after = { ...kept, callback };
    state.kept = after;
    turn.start("delivered", async () => ({
      attempt: callback.attempts,
      status: await deliver({ egress, clock }, key, after),
    }));
  }

  function expire(turn: JobTurn): void {
    if (!mayBegin(turn, "expiring")) return;
    const { key } = turn;
    const { total, named_by } = turn.state.kept!.spec;
    turn.start("expired", async () => {
      try {
        for (let index = 0; index < total; index += REMOVED_AT_ONCE) {
          const range = { from: resultKey(key, index), to: resultKey(key, index + REMOVED_AT_ONCE) };
          const results = await documents.list("job_results", { ...range, limit: REMOVED_AT_ONCE });
          const needs = results.flatMap(({ value }) => (value as StoredResult).needs);
          await holds.release(needs, holderOf(key));
          await documents.removeRange("job_results", range.from, range.to);
          await breath();
        }
        await documents.removeRange("job_results", ...jobRange(key));
        await documents.removeRange("job_items", ...jobRange(key));
        const name = await documents.get("job_keys", named_by);
        if (name && (name.value as NamedJob).job_id === key)
          await documents.remove("job_keys", named_by, name.version);
        return { gone: true };
      } catch {
        return { gone: false };
      }
    });
  }
}

/** Under which name a job holds bodies. */
const holderOf = (job_id: string): string => `job ${job_id}`;

const opened = (spec: JobSpec): KeptJob => {
  const states = untouched(spec.total);
  return {
    spec,
    phase: "creating",
    states: written(states),
    counts: countsOf(states),
    updated_ms: spec.created_ms,
    cancel_ms: null,
    finished_ms: null,
    callback: null,
    usage: {},
    tally: null,
    tallies: 0,
    metered: { requests: 0, cost_micros: 0 },
  };
};

/** When the actor must be awake next. A job that runs is always due, so that somebody goes on with it. */
function dutyOf({ phase, spec, updated_ms, finished_ms, callback, tally, usage }: KeptJob): number {
  if (phase === "creating") return spec.created_ms + CREATED_WITHIN_MS;
  if (finished_ms === null) return spec.created_ms;
  if (tally !== null || hasUsage(usage)) return updated_ms;
  return callback?.next_ms ?? finished_ms + JOB_KEPT_MS;
}

/**
 * Single flight: callers that ask the same question at the same time share one run of the work that answers it.
 *
 * A coalescer records which runs are under way, which callers each of them will answer, and which callers wait for a run.
 * It does no work and has no clock: an actor keeps the record in its state, starts the runs in `started`, and answers the
 * callers that are returned to it. Pure functions of their arguments.
 *
 * Invariant: every caller that joined is returned exactly once, by `complete` or by `remove`. A caller that asks again under another
 * address, because its actor moved to another node, joins once more: both addresses are answered, so that both asks end.
 */
import assert from "node:assert/strict";

/** Rules that differ between the users of a coalescer. */
export interface CoalescerRules<Caller, Request> {
  /** Whether a run for this request answers this caller. */
  readonly serves: (request: Request, caller: Caller) => boolean;
  /**
   * The request of one run for the first of these callers and as many of the others as it serves. `previous` is the
   * request of the run after which they were left over; null for callers that have just joined.
   */
  readonly requestFor: (callers: readonly [Caller, ...Caller[]], previous: Request | null) => Request;
  /** Runs under way at once; a caller that none of them serves waits for its turn. Default: no limit. */
  readonly max_runs?: number;
  /** The most callers of one run; one more is refused. Default: no limit. */
  readonly max_callers?: number;
}

/** A run of the work, under way. `run` is its number, unique within the coalescer. */
export interface Run<Request> {
  readonly run: number;
  readonly request: Request;
}

interface Entry<Caller> {
  readonly caller: Caller;
  /** The run that will answer it; null while it waits for a run to start. */
  readonly run: number | null;
}

export interface Coalescer<Caller, Request> {
  /** In the order in which the callers joined. */
  readonly entries: readonly Entry<Caller>[];
  readonly runs: readonly Run<Request>[];
  readonly next_run: number;
}

export const emptyCoalescer = <Caller, Request>(): Coalescer<Caller, Request> => ({
  entries: [],
  runs: [],
  next_run: 0,
});

/** A run for a caller that has no more time than this would time out as well. */
const MIN_RERUN_MS = 1_000;

/**
 * Whether a caller has a run of its own after a shared one timed out: it has more time than the run was begun with. A run that
 * timed out although its time was not over is not repeated for the callers that it was begun for.
 */
export const mayRerun = (
  caller: { readonly deadline_ms: number },
  run: { readonly deadline_ms: number },
  now_ms: number,
): boolean => caller.deadline_ms > Math.max(run.deadline_ms, now_ms + MIN_RERUN_MS);

/** The callers of one run, or of all runs and those that wait. In the order in which they joined. */
export const callersOf = <Caller>({ entries }: Coalescer<Caller, unknown>, run?: number): readonly Caller[] =>
  entries.filter((entry) => run === undefined || entry.run === run).map(({ caller }) => caller);

export interface Joined<Caller, Request> {
  readonly coalescer: Coalescer<Caller, Request>;
  /** The run to start for this caller; null when a run under way serves it, or it waits for one. */
  readonly started: Run<Request> | null;
}

/** Adds a caller. Null when the run that would answer it has its maximum of callers. */
export function join<Caller, Request>(
  coalescer: Coalescer<Caller, Request>,
  rules: CoalescerRules<Caller, Request>,
  caller: Caller,
): Joined<Caller, Request> | null {
  const { max_callers = Infinity } = rules;
  const { entries } = coalescer;
  const serving = coalescer.runs.find(({ request }) => rules.serves(request, caller));
  if (serving && entries.filter(({ run }) => run === serving.run).length >= max_callers) return null;
  const joined = { ...coalescer, entries: [...entries, { caller, run: serving?.run ?? null }] };
  if (serving) return { coalescer: joined, started: null };
  const { coalescer: next, started } = startRuns(joined, rules, null);
  return { coalescer: next, started: started[0] ?? null };
}

export interface Completed<Caller, Request> {
  readonly coalescer: Coalescer<Caller, Request>;
  /** The request of the run that ended. */
  readonly request: Request;
  /** Callers to answer with the result of the run, in the order in which they joined. */
  readonly served: readonly Caller[];
  /** Runs to start now: for callers of this run that it did not serve, and for those that waited. */
  readonly started: readonly Run<Request>[];
}

/** A run has ended. Null for a run that is not under way: its message is a duplicate. */
export function complete<Caller, Request>(
  coalescer: Coalescer<Caller, Request>,
  rules: CoalescerRules<Caller, Request>,
  run: number,
  /** Whether the result of the run is the answer for this caller; otherwise another run starts for it. */
  isServed: (caller: Caller, request: Request) => boolean,
): Completed<Caller, Request> | null {
  const ended = coalescer.runs.find((each) => each.run === run);
  if (!ended) return null;
  const { request } = ended;
  const served = callersOf(coalescer, run).filter((caller) => isServed(caller, request));
  const rest: Coalescer<Caller, Request> = {
    ...coalescer,
    runs: coalescer.runs.filter((each) => each !== ended),
    entries: coalescer.entries
      .filter((entry) => entry.run !== run || !served.includes(entry.caller))
      .map((entry) => (entry.run === run ? { ...entry, run: null } : entry)),
  };
  return { ...startRuns(rest, rules, request), request, served };
}

export interface Removed<Caller, Request> {
  readonly coalescer: Coalescer<Caller, Request>;
  readonly removed: readonly Caller[];
  /** Runs that answer no caller any more. They stay until they are complete: a caller may still join them. */
  readonly abandoned: readonly Run<Request>[];
}

/** Removes callers whose deadline has passed or that have cancelled. */
export function remove<Caller, Request>(
  coalescer: Coalescer<Caller, Request>,
  leaves: (caller: Caller) => boolean,
): Removed<Caller, Request> {
  const removed = coalescer.entries.filter(({ caller }) => leaves(caller));
  if (removed.length === 0) return { coalescer, removed: [], abandoned: [] };
  const entries = coalescer.entries.filter((entry) => !removed.includes(entry));
  const abandoned = coalescer.runs.filter(
    ({ run }) => removed.some((entry) => entry.run === run) && entries.every((entry) => entry.run !== run),
  );
  return { coalescer: { ...coalescer, entries }, removed: removed.map(({ caller }) => caller), abandoned };
}

/** Starts runs for callers that wait, the earliest first, as far as the limit allows. */
function startRuns<Caller, Request>(
  coalescer: Coalescer<Caller, Request>,
  rules: CoalescerRules<Caller, Request>,
  previous: Request | null,
): { readonly coalescer: Coalescer<Caller, Request>; readonly started: readonly Run<Request>[] } {
  let { entries, runs, next_run } = coalescer;
  const started: Run<Request>[] = [];
  while (runs.length < (rules.max_runs ?? Infinity)) {
    const [first, ...others] = entries.filter((entry) => entry.run === null).map(({ caller }) => caller);
    if (first === undefined) break;
    const run = { run: next_run, request: rules.requestFor([first, ...others], previous) };
    const joins = (entry: Entry<Caller>) => entry.run === null && rules.serves(run.request, entry.caller);
    assert(entries.some(joins), "A run serves one at least of the callers it is started for");
    entries = entries.map((entry) => (joins(entry) ? { ...entry, run: run.run } : entry));
    runs = [...runs, run];
    started.push(run);
    next_run++;
  }
  return { coalescer: { entries, runs, next_run }, started };
}

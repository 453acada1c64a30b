/**
 * How much this node has to do for the requests it sends: pages that have arrived and wait to be read or stored, and requests
 * whose pages will arrive within a second. No request leaves while that is more than a second's work: pages that are not
 * stored when a node is killed are fetched again.
 *
 * A page takes the time between two pages that are done, on average of the last ones. A project with fewer pages than the
 * average of the projects present may send all the same, so that the slow documents of one do not stop the others. Requests
 * whose caller waits for the answer are few, and may leave until there are four seconds' work.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { FetchRequest } from "../../../schemas/fetch.ts";

export interface PageBacklog {
  /** How long a request of this sender would wait now, in milliseconds, at the rate at which pages are done. */
  readonly expectedWait: (sender: Sender) => number;
  /**
   * Waits until a request of this sender may leave. False: not within wait_ms, or before the signal. `hasWaited`: it was its turn
   * before, and it stands before those that come to wait.
   */
  readonly whenOpen: (
    sender: Sender,
    wait_ms: number,
    signal: AbortSignal,
    hasWaited?: boolean,
  ) => Promise<boolean>;
  /** Null: no request may leave. Else one leaves, and what is returned is called when it has ended. */
  readonly tryLeave: (sender: Sender) => (() => void) | null;
  /** A page has arrived. What is returned is called when it is read and stored, or needs neither. */
  readonly arrived: (project: string) => () => void;
}

export interface Sender {
  readonly project: string;
  readonly lane: FetchRequest["lane"];
}

/** Times of work, by the lane of a request. */
const SECONDS = { sync: 4, batch: 1 } as const;
/** For one second's work: so many never wait for each other, so that one slow document does not stop a node. */
const MIN_PAGES = 8;
/** Estimate for a page, before any is done. */
const FIRST_PAGE_MS = 20;
/** How much the last page or request counts in an average. */
const LAST_SHARE = 1 / 16;
/** Requests that a page lets go when it is done: their number grows steadily, not in one burst. */
const WAKES = 2;

interface Waiter {
  readonly sender: Sender;
  readonly wake: (isOpen: boolean) => void;
}

interface State {
  /** Pages and requests, by project. */
  readonly counts: Map<string, number>;
  pages: number;
  requests: number;
  page_ms: number;
  /** From the departure of a request to its end; null before any has ended. */
  request_ms: number | null;
  /** When a page was last done, or came to a node without pages. */
  since_ms: number;
  /** In the order in which they came. */
  waiters: Set<Waiter>;
}

export function pageBacklog(clock: Clock): PageBacklog {
  const state: State = {
    counts: new Map(),
    pages: 0,
    requests: 0,
    page_ms: FIRST_PAGE_MS,
    request_ms: null,
    since_ms: 0,
    waiters: new Set(),
  };
  return {
    expectedWait: (sender) => expectedWait(state, sender),

    whenOpen(sender, wait_ms, signal, hasWaited = false) {
      if (mayLeave(state, sender)) return Promise.resolve(true);
      if (signal.aborted || wait_ms <= 0) return Promise.resolve(false);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const onAbort = (): void => waiter.wake(false);
      const waiter: Waiter = {
        sender,
        wake(open) {
          state.waiters.delete(waiter);
          timer[Symbol.dispose]();
          signal.removeEventListener("abort", onAbort);
          resolve(open);
        },
      };
      const timer = clock.at(clock.now() + wait_ms, onAbort);
      signal.addEventListener("abort", onAbort, { once: true });
      if (hasWaited) state.waiters = new Set([waiter, ...state.waiters]);
      else state.waiters.add(waiter);
      return promise;
    },

    tryLeave(sender) {
      if (!mayLeave(state, sender)) return null;
      const { project } = sender;
      const left_ms = clock.mono();
      state.requests++;
      count(state, project, 1);
      return once(() => {
        state.requests--;
        state.request_ms = average(state.request_ms, clock.mono() - left_ms);
        count(state, project, -1);
        wakeNext(state);
      });
    },

    arrived(project) {
      if (state.pages++ === 0) state.since_ms = clock.mono();
      count(state, project, 1);
      return once(() => {
        const now_ms = clock.mono();
        state.pages--;
        state.page_ms = average(state.page_ms, now_ms - state.since_ms);
        state.since_ms = now_ms;
        count(state, project, -1);
        wakeNext(state);
      });
    },
  };
}

/** How many pages are to be read or will arrive within a second, beyond those with which a request of this lane may leave. */
function excess({ pages, requests, page_ms, request_ms }: State, lane: Sender["lane"]): number {
  // Requests end at the rate requests / request_ms (Little's law).
  const arriving = requests * Math.min(1, 1_000 / (request_ms ?? 1_000));
  return pages + arriving - SECONDS[lane] * Math.max(MIN_PAGES, 1_000 / page_ms);
}

function mayLeave(state: State, { project, lane }: Sender): boolean {
  if (excess(state, lane) < 0) return true;
  const { counts, pages, requests } = state;
  return (counts.get(project) ?? 0) < (pages + requests) / counts.size;
}

function expectedWait(state: State, sender: Sender): number {
  if (mayLeave(state, sender)) return 0;
  const projects = new Set([sender.project]);
  let [ahead, own] = [0, 0];
  for (const { sender: other } of state.waiters) {
    // A batch request leaves where a sync one may, not the other way round.
    if (sender.lane === "sync" && other.lane === "batch") continue;
    projects.add(other.project);
    ahead++;
    if (other.project === sender.project) own++;
  }
  // Projects take turns, so those of a project with few do not wait for all of one with many.
  const before = Math.min(ahead, own * projects.size);
  return (excess(state, sender.lane) + before + 1) * state.page_ms;
}

function wakeNext(state: State): void {
  // With nothing under way nothing would wake the rest.
  const isIdle = state.pages + state.requests === 0;
  let woken = 0;
  for (const waiter of state.waiters) {
    if (!mayLeave(state, waiter.sender)) continue;
    waiter.wake(true);
    if (++woken === WAKES && !isIdle) return;
  }
}

function count({ counts }: State, project: string, by: number): void {
  const total = (counts.get(project) ?? 0) + by;
  if (total === 0) counts.delete(project);
  else counts.set(project, total);
}

const average = (former: number | null, last: number): number =>
  former === null ? last : former + LAST_SHARE * (last - former);

function once(call: () => void): () => void {
  let isCalled = false;
  return () => {
    if (!isCalled) call();
    isCalled = true;
  };
}

/**
 * Which item of a job is next. Items stand in lanes, one lane for each origin, and the lanes are served in turn; items that
 * wait for another attempt are ordered by the time they are due. A site has few items in flight at once, whatever the number of its
 * lanes, so a site with most of the items uses its own credits and delays no other. A lane is paused alone: an origin that asks for a
 * pause delays no other of its site. About 30 bytes an item. No clock, no I/O.
 */
import {
  CANCELLED,
  countsOf,
  DONE,
  FAILED,
  isFinal,
  isPending,
  isQueued,
  newStates,
  pendingCode,
  type Progress,
  progressOf,
  queuedCode,
  type States,
  encodeStates,
} from "../../../schemas/job-states.ts";
import type { JobCounts } from "../../../schemas/jobs.ts";

/**
 * Items of one site in flight: the two that a domain has slots for by default, and two in the domain's queue, so that a
 * free slot never waits for the job. More would only stand in that queue, before the items of other jobs.
 */
export const CREDITS = 4;
/** Credits of the items that belong to no site. */
export const CREDITS_WITHOUT_SITE = 16;
const NONE = -1;

/** An item to be attempted now. */
export interface Admitted extends Progress {
  readonly index: number;
  /** How often this activation has put it back without counting the attempt: a busy site or limiter. */
  readonly deferrals: number;
}

export interface Frontier {
  /**
   * Puts an item of this site into its lane; null: it belongs to no site. Call it once for every item, before the first `take`.
   * `lane`, of that site: default: it has one.
   */
  readonly add: (index: number, site: string | null, lane?: string) => void;
  /** Admits the next item; null: none may start now. */
  readonly take: () => Admitted | null;
  /** Ends an item in flight. False: the item was not in flight. */
  readonly finish: (index: number, status: "done" | "failed") => boolean;
  /** Counts a deferral of an item in flight, which is put back as well. */
  readonly defer: (index: number) => void;
  /** Puts an item in flight back into its lane at this time. Without `progress` the attempt does not count. */
  readonly requeue: (index: number, at_ms: number, progress?: Progress) => void;
  /** The lane of this item starts nothing before this time. */
  readonly pauseLane: (index: number, until_ms: number) => void;
  /** The sites of which a lane has items and starts none now, at most `limit`. */
  readonly pausedSites: (limit: number) => readonly string[];
  /** Returns the items and lanes that are due by now to their lanes. */
  readonly admitDue: (now_ms: number) => void;
  /** When `admitDue` has something to do next; Infinity: never. */
  readonly nextDueMs: () => number;
  /** Cancels an item in flight that ended without a result. */
  readonly cancel: (index: number) => void;
  /** Cancels every item that waits. */
  readonly cancelPending: () => void;
  /** The items in flight. */
  readonly queued: () => number[];
  readonly cancelled: () => number[];
  /** Whether `take` has ever returned the item. */
  readonly wasTaken: (index: number) => boolean;
  /** Gives a cancelled item the status of the result that was found for it. False: it is not cancelled. */
  readonly revise: (index: number, status: "done" | "failed") => boolean;
  readonly inFlight: () => number;
  /** Items that are neither in flight nor ended. */
  readonly waiting: () => number;
  readonly finished: () => number;
  /** Makes room for so many items at the end, each of which is added then. */
  readonly grow: (count: number) => void;
  /** How many items could be in flight now, including those that are. */
  readonly demand: () => number;
  readonly isFinished: () => boolean;
  /** The state code of an item (schemas/job-states.ts). */
  readonly codeAt: (index: number) => number;
  readonly counts: () => JobCounts;
  /** Whether all of these items are done or failed. */
  readonly hasResults: (from: number, end: number) => boolean;
  /** The states of the first items are stored apart. */
  readonly freeze: (items: number) => void;
  /** States as they are stored; default: all that are not frozen. */
  readonly encode: (from?: number, end?: number) => string;
}

/**
 * Items that were in flight when `stored` was stored wait again. `most`: how many items there may be after it has grown. One
 * algorithm: lanes as linked lists in typed arrays.
 */
export function frontier(stored: States, most = stored.length): Frontier {
  let total = stored.length;
  const states = new Uint8Array(most);
  states.set(stored);
  const all = (): States => states.subarray(0, total);
  const next = new Int32Array(most).fill(NONE);
  const lane_of = new Int32Array(most).fill(NONE);
  const was_taken = new Uint8Array(most);
  /** Deferrals of the few unfinished items that were deferred. */
  const deferrals = new Map<number, number>();
  const lanes = new Map<string, number>();
  // By the number of the lane.
  const head: number[] = [];
  const tail: number[] = [];
  const waiting: number[] = [];
  const paused_until_ms: number[] = [];
  const is_ready: boolean[] = [];
  const site_of: Site[] = [];
  const sites = new Map<string, Site>();
  /** Lanes that can start an item, in the order they are served; `first` is the next. */
  let ready: number[] = [];
  let first = 0;
  const timers = heap();
  let running = 0;
  let unfinished = 0;
  let frozen = 0;
  const frozen_counts = { done: 0, failed: 0 };

  for (let index = 0; index < total; index++) {
    const state = states[index]!;
    if (isFinal(state)) continue;
    unfinished++;
    if (isQueued(state)) states[index] = pendingCode(progressOf(state));
  }

  function siteNamed(name: string | null): Site {
    const existing = sites.get(name ?? "");
    if (existing !== undefined) return existing;
    const site = { in_flight: 0, credits: name === null ? CREDITS_WITHOUT_SITE : CREDITS, held: [] };
    sites.set(name ?? "", site);
    return site;
  }

  function laneNumber(site: string | null, name: string): number {
    const key = `${site ?? ""} ${name}`;
    const existing = lanes.get(key);
    if (existing !== undefined) return existing;
    const lane = head.length;
    lanes.set(key, lane);
    head.push(NONE);
    tail.push(NONE);
    waiting.push(0);
    paused_until_ms.push(0);
    is_ready.push(false);
    site_of.push(siteNamed(site));
    return lane;
  }

  function append(lane: number, index: number): void {
    next[index] = NONE;
    if (head[lane] === NONE) head[lane] = index;
    else next[tail[lane]!] = index;
    tail[lane] = index;
    waiting[lane]!++;
    markReady(lane);
  }

  function markReady(lane: number): void {
    if (head[lane] === NONE || paused_until_ms[lane] !== 0 || is_ready[lane]) return;
    is_ready[lane] = true;
    const { in_flight, credits, held } = site_of[lane]!;
    if (in_flight < credits) ready.push(lane);
    else held.push(lane);
  }

  function returnCredit(index: number): void {
    running--;
    const lane = lane_of[index]!;
    const site = site_of[lane]!;
    site.in_flight--;
    markReady(lane);
    serveHeld(site);
  }

  /** The next lane of the site that a credit is left for. */
  function serveHeld(site: Site): void {
    const lane = site.in_flight < site.credits ? site.held.shift() : undefined;
    if (lane !== undefined) ready.push(lane);
  }

  return {
    add(index, site, name = "") {
      if (isFinal(states[index]!)) return;
      const lane = laneNumber(site, name);
      lane_of[index] = lane;
      append(lane, index);
    },
    take() {
      while (first < ready.length) {
        const lane = ready[first++]!;
        if (first > 1_024 && first * 2 > ready.length) {
          ready = ready.slice(first);
          first = 0;
        }
        const site = site_of[lane]!;
        const index = head[lane]!;
        if (index !== NONE && paused_until_ms[lane] === 0 && site.in_flight >= site.credits) {
          site.held.push(lane);
          continue;
        }
        is_ready[lane] = false;
        if (index === NONE || paused_until_ms[lane] !== 0) {
          serveHeld(site);
          continue;
        }
        head[lane] = next[index]!;
        waiting[lane]!--;
        const progress = progressOf(states[index]!);
        states[index] = queuedCode(progress);
        was_taken[index] = 1;
        site.in_flight++;
        running++;
        markReady(lane);
        return { index, ...progress, deferrals: deferrals.get(index) ?? 0 };
      }
      return null;
    },
    finish(index, status) {
      if (!isQueued(states[index]!)) return false;
      states[index] = status === "done" ? DONE : FAILED;
      deferrals.delete(index);
      unfinished--;
      returnCredit(index);
      return true;
    },
    defer: (index) => void deferrals.set(index, (deferrals.get(index) ?? 0) + 1),
    requeue(index, at_ms, progress) {
      if (!isQueued(states[index]!)) return;
      states[index] = pendingCode(progress ?? progressOf(states[index]!));
      returnCredit(index);
      timers.push(at_ms, index);
    },
    cancel(index) {
      if (!isQueued(states[index]!)) return;
      states[index] = CANCELLED;
      unfinished--;
      returnCredit(index);
    },
    pauseLane(index, until_ms) {
      const lane = lane_of[index]!;
      if (until_ms <= paused_until_ms[lane]!) return;
      paused_until_ms[lane] = until_ms;
      timers.push(until_ms, -1 - lane);
    },
    pausedSites(limit) {
      const paused = new Set<string>();
      for (const [key, lane] of lanes) {
        const site = key.slice(0, key.indexOf(" "));
        if (site !== "" && paused_until_ms[lane] !== 0 && paused.add(site).size >= limit) break;
      }
      return [...paused];
    },
    admitDue(now_ms) {
      for (let due = timers.popDue(now_ms); due !== null; due = timers.popDue(now_ms)) {
        if (due >= 0) {
          if (isPending(states[due]!)) append(lane_of[due]!, due);
          continue;
        }
        const lane = -1 - due;
        if (paused_until_ms[lane]! > now_ms) continue;
        paused_until_ms[lane] = 0;
        markReady(lane);
      }
    },
    nextDueMs: timers.first,
    cancelPending() {
      for (let index = 0; index < total; index++) {
        if (!isPending(states[index]!)) continue;
        states[index] = CANCELLED;
        unfinished--;
      }
      head.fill(NONE);
      waiting.fill(0);
      ready = [];
      first = 0;
      is_ready.fill(false);
      for (const site of sites.values()) site.held = [];
      timers.clear();
    },
    cancelled: () => [...all().keys()].filter((index) => states[index] === CANCELLED),
    wasTaken: (index) => was_taken[index] === 1,
    revise(index, status) {
      if (states[index] !== CANCELLED) return false;
      states[index] = status === "done" ? DONE : FAILED;
      return true;
    },
    queued: () => [...all().keys()].filter((index) => isQueued(states[index]!)),
    inFlight: () => running,
    waiting: () => unfinished - running,
    finished: () => total - unfinished,
    grow(count) {
      states.set(newStates(count), total);
      total += count;
      unfinished += count;
    },
    demand() {
      const startable = new Map<Site, number>();
      for (let at = first; at < ready.length; at++) {
        const lane = ready[at]!;
        const site = site_of[lane]!;
        startable.set(site, (startable.get(site) ?? 0) + waiting[lane]!);
      }
      let demand = running;
      for (const [site, items] of startable) demand += Math.min(items, site.credits - site.in_flight);
      return demand;
    },
    isFinished: () => unfinished === 0,
    codeAt: (index) => states[index]!,
    counts() {
      const open = countsOf(states.subarray(frozen, total));
      const { done, failed } = frozen_counts;
      return { ...open, total, done: open.done + done, failed: open.failed + failed };
    },
    hasResults(from, end) {
      if (end > total) return false;
      for (let index = from; index < end; index++)
        if (states[index] !== DONE && states[index] !== FAILED) return false;
      return true;
    },
    freeze(items) {
      const { done, failed } = countsOf(states.subarray(frozen, items));
      frozen_counts.done += done;
      frozen_counts.failed += failed;
      frozen = items;
    },
    encode: (from = frozen, end = total) => encodeStates(states.subarray(from, end)),
  };
}

interface Site {
  in_flight: number;
  readonly credits: number;
  /** Lanes that could start an item if the site had a credit left, in the order they are served. */
  held: number[];
}

interface Heap {
  readonly push: (at_ms: number, item: number) => void;
  /** Removes the first item that is due by now; null: none is. */
  readonly popDue: (now_ms: number) => number | null;
  readonly first: () => number;
  readonly clear: () => void;
}

/** A binary heap by time in two arrays of numbers, because all items of a job may wait in it. */
function heap(): Heap {
  let times: number[] = [];
  let items: number[] = [];

  function swap(a: number, b: number): void {
    [times[a], times[b]] = [times[b]!, times[a]!];
    [items[a], items[b]] = [items[b]!, items[a]!];
  }

  return {
    push(at_ms, item) {
      let at = times.push(at_ms) - 1;
      items.push(item);
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if (times[parent]! <= times[at]!) break;
        swap(at, parent);
        at = parent;
      }
    },
    popDue(now_ms) {
      if (times.length === 0 || times[0]! > now_ms) return null;
      const due = items[0]!;
      swap(0, times.length - 1);
      times.pop();
      items.pop();
      for (let at = 0; ;) {
        let child = 2 * at + 1;
        if (child >= times.length) break;
        if (child + 1 < times.length && times[child + 1]! < times[child]!) child++;
        if (times[at]! <= times[child]!) break;
        swap(at, child);
        at = child;
      }
      return due;
    },
    first: () => times[0] ?? Infinity,
    clear() {
      times = [];
      items = [];
    },
  };
}

/**
 * Rate limits that several gateways keep together. The project's Account actor gives each gateway shares of every
 * one-second window, so that all gateways together admit no more requests than the limit. A request waits for the actor
 * only when this gateway has used up its shares while the window still has requests left.
 *
 * While the actor does not answer, this gateway counts on its own for ALONE_MS, up to the share that the actor gave it last: a rate
 * limit must not make the service unavailable, nor multiply with the number of gateways. limits.ts writes the header fields. A single gateway does not use this file.
 */
import { LRUCache } from "lru-cache";
import type { Node } from "../cluster/node-record.ts";
import { Fault } from "../cluster/ports/fault.ts";
import { Account, type RateRequest } from "../schemas/accounts.ts";
import { limitField } from "./limits.ts";

/** The parties of a limit: the project, and its key where that has a limit of its own. */
export interface Limited {
  /** The key of the project's Account actor. */
  readonly project: string;
  readonly project_rate: number;
  readonly key: string;
  readonly key_rate: number | null;
}

export interface Counted {
  readonly passed: "project" | "key" | null;
  /** The RateLimit field. */
  readonly limit: string;
}

export interface Rates {
  /** Counts one request against both windows. A request refused for its key still counts for its project. */
  readonly count: (limited: Limited, now_ms: number) => Counted | Promise<Counted>;
}

const WINDOW_MS = 1_000;
/** The part of the limit that a gateway without a share takes for its own. */
const UNKNOWN_SHARE = 0.25;
/** How long a request waits for the Account actor. After that the gateway counts on its own for ALONE_MS. */
const WAIT_MS = 500;
const ALONE_MS = 2_000;
const MAX_PROJECTS = 10_000;
/** A gateway that has admitted this many requests in a window asks in its second half for shares of the next window. */
const BUSY_REQUESTS = 8;

/** The current window of one limit, as this gateway knows it. */
interface Pool {
  readonly name: string;
  limit: number;
  window: number;
  /** Shares of this gateway that are not used yet. */
  free: number;
  /** Requests that no gateway has been given, as of the actor's last answer. */
  remaining: number;
  used: number;
  /** Shares that the actor gave for this window. */
  granted: number;
  /** Shares that the actor gave for the last window for which it gave any; 0: none yet. */
  last_granted: number;
  ahead: { readonly window: number; readonly free: number; readonly remaining: number } | null;
}

interface ProjectRates {
  readonly name: string;
  readonly pools: Map<string, Pool>;
  waiting: {
    readonly project: Pool;
    readonly key: Pool | null;
    readonly resolve: (counted: Counted) => void;
  }[];
  isAsking: boolean;
  /** The window that was asked for ahead. */
  ahead: number;
  /** On the monotonic clock. */
  alone_until_ms: number;
}

export function sharedRates({ ask, clock, metrics }: Pick<Node, "ask" | "clock" | "metrics">): Rates {
  const byProject = new LRUCache<string, ProjectRates>({ max: MAX_PROJECTS });

  function projectRatesOf(name: string): ProjectRates {
    const existing = byProject.get(name);
    if (existing) return existing;
    const created: ProjectRates = {
      name,
      pools: new Map(),
      waiting: [],
      isAsking: false,
      ahead: 0,
      alone_until_ms: -Infinity,
    };
    byProject.set(name, created);
    return created;
  }

  /** Asks the actor until no request waits. One question runs at a time; requests that arrive meanwhile go into the next. */
  async function serveWaiting(projectRates: ProjectRates): Promise<void> {
    projectRates.isAsking = true;
    try {
      while (projectRates.waiting.length > 0) {
        const window = Math.floor(clock.now() / WINDOW_MS);
        for (const { project, key } of projectRates.waiting) {
          turn(project, window);
          if (key) turn(key, window);
        }
        const requests = requestsOf(projectRates);
        if (Object.keys(requests).length > 0) await refill(projectRates, window, requests);
        const now_ms = clock.now();
        const { waiting } = projectRates;
        projectRates.waiting = [];
        for (const waiter of waiting) {
          const counted = take(waiter.project, waiter.key, now_ms);
          if (counted) waiter.resolve(counted);
          else projectRates.waiting.push(waiter);
        }
      }
    } finally {
      projectRates.isAsking = false;
    }
  }

  async function refill(
    projectRates: ProjectRates,
    window: number,
    requests: Record<string, RateRequest>,
  ): Promise<void> {
    const isAlone = clock.mono() < projectRates.alone_until_ms;
    const answer = isAlone ? null : await requestShares(projectRates, window, requests);
    for (const name of Object.keys(requests)) {
      const pool = projectRates.pools.get(name);
      if (pool?.window !== window) continue;
      if (answer) {
        pool.free += answer[name]!.granted;
        pool.granted += answer[name]!.granted;
        pool.remaining = answer[name]!.remaining;
      } else {
        pool.free += Math.max(0, shareAlone(pool) - pool.used - pool.free);
        pool.remaining = 0;
      }
    }
  }

  async function requestShares(
    projectRates: ProjectRates,
    window: number,
    requests: Record<string, RateRequest>,
  ) {
    try {
      return await ask(
        Account,
        projectRates.name,
        "allotRates",
        { window, requests },
        { timeout_ms: WAIT_MS },
      );
    } catch (problem) {
      if (!(problem instanceof Fault)) throw problem;
      metrics.count("trawl_faults_total", { code: problem.code });
      projectRates.alone_until_ms = clock.mono() + ALONE_MS;
      return null;
    }
  }

  /** Asks for shares of the next window before it begins, so that its first requests need not wait. */
  async function askAhead(projectRates: ProjectRates, pools: readonly Pool[], window: number): Promise<void> {
    projectRates.ahead = window;
    const requests = Object.fromEntries(pools.map(({ name, limit }) => [name, { limit, requested: 0 }]));
    const answer = await requestShares(projectRates, window, requests);
    if (!answer) return;
    for (const pool of pools) {
      const { granted: free, remaining } = answer[pool.name]!;
      if (pool.window < window) pool.ahead = { window, free, remaining };
      else if (pool.window === window) {
        Object.assign(pool, { free: pool.free + free, granted: pool.granted + free, remaining });
      }
    }
  }

  return {
    count(limited, now_ms) {
      const projectRates = projectRatesOf(limited.project);
      const window = Math.floor(now_ms / WINDOW_MS);
      const project = poolOf(projectRates, "project", limited.project_rate, window);
      const key =
        limited.key_rate === null ? null : poolOf(projectRates, limited.key, limited.key_rate, window);
      // Requests are counted in the order of their arrival.
      const counted = projectRates.waiting.length === 0 ? take(project, key, now_ms) : null;
      if (!counted) {
        const { promise, resolve } = Promise.withResolvers<Counted>();
        projectRates.waiting.push({ project, key, resolve });
        if (!projectRates.isAsking) void serveWaiting(projectRates);
        return promise;
      }
      const isLate = now_ms % WINDOW_MS >= WINDOW_MS / 2;
      if (
        isLate &&
        project.used >= BUSY_REQUESTS &&
        projectRates.ahead <= window &&
        clock.mono() >= projectRates.alone_until_ms
      )
        void askAhead(projectRates, key ? [project, key] : [project], window + 1);
      return counted;
    },
  };
}

const shareAlone = ({ limit, granted, last_granted }: Pool): number =>
  Math.min(limit, Math.max(granted, last_granted, Math.ceil(UNKNOWN_SHARE * limit)));

function fieldOf(project: Pool, key: Pool | null, now_ms: number): string {
  const windowUse = ({ limit, free, remaining }: Pool) => ({
    q: limit,
    used: limit - free - remaining,
    window_left_ms: WINDOW_MS - (now_ms % WINDOW_MS),
  });
  return limitField(windowUse(project), key && windowUse(key));
}

function poolOf(projectRates: ProjectRates, name: string, limit: number, window: number): Pool {
  let pool = projectRates.pools.get(name);
  if (!pool) {
    // Keys come and go. Shares of a forgotten window are asked for again.
    if (projectRates.pools.size >= MAX_PROJECTS) projectRates.pools.clear();
    pool = {
      name,
      limit,
      window,
      free: 0,
      remaining: limit,
      used: 0,
      granted: 0,
      last_granted: 0,
      ahead: null,
    };
    projectRates.pools.set(name, pool);
  }
  pool.limit = limit;
  turn(pool, window);
  return pool;
}

function turn(pool: Pool, window: number): void {
  if (pool.window === window) return;
  const { ahead, limit, granted } = pool;
  const last_granted = granted > 0 ? granted : pool.last_granted;
  Object.assign(pool, {
    window,
    used: 0,
    free: 0,
    remaining: limit,
    granted: 0,
    last_granted,
    ahead: null,
  });
  if (ahead?.window !== window) return;
  const { free, remaining } = ahead;
  Object.assign(pool, { free, remaining, granted: free });
}

const isShort = ({ free, remaining }: Pool): boolean => free === 0 && remaining > 0;

/** Takes one request from each window, or names the limit that is exceeded. Null: the actor must be asked first. */
function take(project: Pool, key: Pool | null, now_ms: number): Counted | null {
  if (isShort(project) || (project.free > 0 && key !== null && isShort(key))) return null;
  const passed = !takeFrom(project) ? "project" : key !== null && !takeFrom(key) ? "key" : null;
  return { passed, limit: fieldOf(project, key, now_ms) };
}

function takeFrom(pool: Pool): boolean {
  if (pool.free === 0) return false;
  pool.free--;
  pool.used++;
  return true;
}

function requestsOf({ waiting }: ProjectRates): Record<string, RateRequest> {
  const byPool = new Map<Pool, number>();
  for (const { project, key } of waiting)
    for (const pool of key === null ? [project] : [project, key])
      byPool.set(pool, (byPool.get(pool) ?? 0) + 1);
  const short = [...byPool].filter(([{ free, remaining }, requested]) => free < requested && remaining > 0);
  return Object.fromEntries(
    short.map(([{ name, limit, free }, requested]) => [name, { limit, requested: requested - free }]),
  );
}

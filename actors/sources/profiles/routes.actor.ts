/**
 * The state of the routes to the profile site, one actor for the site, on the node of its Domain actor: after the
 * site refused the proxy, requests leave it out for an hour. Every tenth tries it all the same, and a success ends it.
 */
import { actor } from "../../../cluster/actor.ts";
import { ProfileRoutes } from "../../../schemas/profiles.ts";
import { PROXY_PROBE_EVERY, PROXY_SKIP_MS } from "./limits.ts";

export interface RouteMemory {
  readonly proxy_skip_until_ms: number;
  /** Requests since the refusal. */
  readonly skipped: number;
}

const EMPTY: RouteMemory = { proxy_skip_until_ms: 0, skipped: 0 };

export const isProxySkipped = ({ proxy_skip_until_ms }: RouteMemory, now_ms: number): boolean =>
  now_ms < proxy_skip_until_ms;

export function planRequest(
  memory: RouteMemory,
  now_ms: number,
): { memory: RouteMemory; skip_proxy: boolean } {
  if (!isProxySkipped(memory, now_ms)) return { memory, skip_proxy: false };
  const skipped = memory.skipped + 1;
  return { memory: { ...memory, skipped }, skip_proxy: skipped % PROXY_PROBE_EVERY !== 0 };
}

/** A refused probe does not lengthen the skip. */
export function recordProxy(memory: RouteMemory, outcome: "ok" | "refused", now_ms: number): RouteMemory {
  if (outcome === "ok") return EMPTY;
  if (isProxySkipped(memory, now_ms)) return memory;
  return { proxy_skip_until_ms: now_ms + PROXY_SKIP_MS, skipped: 0 };
}

export const profileRoutesActor = () =>
  actor(ProfileRoutes)<RouteMemory, RouteMemory>({
    persist: (state) => state,
    activate: (snapshot, { now_ms }) => {
      // A stored time is never further away than the rule allows, whatever the clock of the node that wrote it.
      const until_ms = Math.min(snapshot?.proxy_skip_until_ms ?? 0, now_ms + PROXY_SKIP_MS);
      return { ...EMPTY, ...snapshot, proxy_skip_until_ms: until_ms };
    },
    passivate_after_ms: 10 * 60_000,
    on: {
      plan(turn) {
        const { memory, skip_proxy } = planRequest(turn.state, turn.now_ms);
        turn.state = memory;
        return { skip_proxy };
      },
      recordProxy(turn, { outcome }) {
        turn.state = recordProxy(turn.state, outcome, turn.now_ms);
      },
    },
  });

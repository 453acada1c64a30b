/** Tier actors over scripted providers on a virtual clock: on the caller's node, or on others of a small cluster. */
import type { Admission, OriginAnswer, Transport, TransportResult } from "../../actors/lib/web/transport.ts";
import { admitted } from "../../actors/crawl/tiers/adapters/one-request.ts";
import { tierActor, type TierPolicy } from "../../actors/crawl/tiers/tier.actor.ts";
import { tierRoute } from "../../actors/crawl/tiers/tier-route.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { type MemoryRoleBus, memoryRoleBuses } from "../../cluster/adapters/nodes/role-bus.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock, type VirtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import type { RoleActor } from "../../cluster/role-actor.ts";
import { localRouter, type RoleRouter, roleRouter } from "../../cluster/internal/roles/role-router.ts";
import { type Tier } from "../../schemas/tier-table.ts";
import { admission, transportRequest } from "./transport-request.ts";

export const rest = { redirects: [], final_url: null, ms: 0 } as const;

export const page = (by: string): TransportResult => ({
  kind: "page",
  status: 200,
  headers: new Map([["content-type", "text/html"]]),
  body: Buffer.from(by),
  body_kind: "origin",
  redirects: [],
  final_url: "http://one.test/",
  ms: 0,
});

export const failed = (reason: string, status: number | null = null): TransportResult => ({
  kind: "failed",
  reason,
  status,
  detail: null,
  ...rest,
});

/** Handling of a request by a provider; it ends early with the signal. */
export type Provider = (signal: AbortSignal) => Promise<TransportResult>;

export interface Asked {
  requests: number;
  /** At this moment. */
  running: number;
  most_running: number;
}

/** A transport with one request, as the real ones make it: admitted, sent, answered, released. */
export function transportTo(provider: Provider): { readonly transport: Transport; readonly asked: Asked } {
  const asked: Asked = { requests: 0, running: 0, most_running: 0 };
  return {
    asked,
    async transport(request) {
      const entry = await admitted(request, request.url);
      if (entry === null) return failed("timeout");
      if (entry.kind === "refused") return { kind: "refused", refusal: entry.refusal, ...rest };
      let status: number | null = null;
      try {
        if (!(await entry.beforeSend())) return failed("timeout");
        entry.onSent();
        asked.requests++;
        asked.most_running = Math.max(asked.most_running, ++asked.running);
        const result = await provider(request.signal);
        status = result.kind === "page" ? result.status : null;
        return result;
      } finally {
        asked.running--;
        entry.release({ status, retry_after_s: null });
      }
    },
  };
}

export const POLICY: TierPolicy = { capacity: 4, max_waiting: 600, max_wait_ms: 15_000, slow_ms: null };

export interface ScriptedTier {
  readonly actor: RoleActor;
  readonly asked: Asked;
}

export interface TierWorld {
  readonly clock: VirtualClock;
  readonly telemetry: ReturnType<typeof silentTelemetry>;
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** A tier actor over the provider. */
  readonly tier: (tier: Tier, provider: Provider, policy?: Partial<TierPolicy>) => ScriptedTier;
  /** The caller's node, which has these tiers itself. */
  readonly alone: (...tiers: readonly ScriptedTier[]) => RoleRouter;
  /** A node of the cluster with these tiers. */
  readonly node: (...tiers: readonly ScriptedTier[]) => Promise<RoleRouter & { readonly bus: MemoryRoleBus }>;
  /** Takes the route; what was released is noted. */
  readonly take: (
    router: Pick<RoleRouter, "call">,
    tier: Tier,
    options?: TakeOptions,
  ) => Promise<TransportResult>;
  readonly released: OriginAnswer[];
  /** Moves time on until the work has ended. */
  readonly until: <T>(work: Promise<T>) => Promise<T>;
}

export interface TakeOptions {
  readonly signal?: AbortSignal;
  readonly admit?: (url: string) => Promise<Admission>;
  readonly beforeSend?: () => boolean;
}

export function tierWorld(): TierWorld {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const telemetry = silentTelemetry();
  const { metrics, log } = telemetry;
  const random = seededRandom(1);
  const buses = memoryRoleBuses(clock);
  const blobs = memoryBlobs();
  const released: OriginAnswer[] = [];
  let nodes = 0;
  const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const timer = clock.at(clock.now() + ms, resolve);
      signal?.addEventListener("abort", () => {
        timer[Symbol.dispose]();
        resolve();
      });
    });
  return {
    clock,
    telemetry,
    pause,
    released,
    tier(tier, provider, policy = {}) {
      const { transport, asked } = transportTo(provider);
      const deps = { transport, policy: { ...POLICY, ...policy }, clock, metrics, log };
      return { actor: tierActor(tier, deps), asked };
    },
    alone: (...tiers) =>
      localRouter(
        tiers.map(({ actor }) => actor),
        random,
      ),
    async node(...tiers) {
      const bus = buses.open();
      const actors = tiers.map(({ actor }) => actor);
      const network = { bus, blobs, nodeName: `node-${nodes++}` };
      const router = await roleRouter(actors, { clock, random, log }, network);
      // Everything that was announced has arrived.
      await clock.advance(10);
      return { ...router, bus };
    },
    take: (router, tier, { signal = new AbortController().signal, admit, beforeSend = () => true } = {}) =>
      tierRoute(tier, { call: router.call, clock })(
        transportRequest("http://one.test/", {
          max_bytes: 2 ** 20,
          signal,
          admit: admit ?? (async () => admission((answer) => void released.push(answer), beforeSend)),
        }),
      ),
    async until(work) {
      let isOver = false;
      void work.catch(() => {}).finally(() => (isOver = true));
      for (let step = 0; step < 10_000 && !isOver; step++) await clock.advance(50);
      return work;
    },
  };
}

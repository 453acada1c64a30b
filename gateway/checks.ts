/** The dependencies of a node, asked whether they answer: for /ready and for the public status. */
import type { Clock } from "../cluster/ports/clock.ts";
import { storeFailureOf } from "../cluster/ports/store-failure.ts";

/** A dependency of the service. */
export interface Check {
  /** Resolves when the dependency answers. The reason of a failure is not shown to clients. Null: the operator configured none. */
  readonly ping: (() => Promise<void>) | null;
  /** Whether the service is not ready without it. */
  readonly gates: boolean;
}

export const CHECK_STATES = [
  "ok",
  "full",
  "read_only",
  "access_denied",
  "unavailable",
  "not_configured",
] as const;
export type CheckState = (typeof CHECK_STATES)[number];

/** All at the same time; one that has not answered within the time is unavailable. */
export async function pingAll(
  checks: Readonly<Record<string, Check>>,
  clock: Clock,
  wait_ms: number,
): Promise<Record<string, CheckState>> {
  const entries = Object.entries(checks).map(
    async ([name, check]) => [name, await stateOf(check, clock, wait_ms)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

async function stateOf({ ping }: Check, clock: Clock, wait_ms: number): Promise<CheckState> {
  if (ping === null) return "not_configured";
  const timedOut = Promise.withResolvers<CheckState>();
  const timer = clock.at(clock.now() + wait_ms, () => timedOut.resolve("unavailable"));
  try {
    return await Promise.race([ping().then(() => "ok" as const, storeFailureOf), timedOut.promise]);
  } finally {
    timer[Symbol.dispose]();
  }
}

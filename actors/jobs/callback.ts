/**
 * The completion callback (1-core.md, Events): what is sent, when again, and what is recorded of it. Three attempts: at
 * once, after 10 s, after 60 s, 10 s each. An attempt is written down before it is sent, so a crash costs one and never
 * makes a fourth; only a process that dies between the receiver's 2xx and the record of it sends twice, and the receiver
 * can tell by `X-Service-Delivery`, which is the same in every attempt.
 */
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Egress } from "../../cluster/ports/egress.ts";
import type { Callback, JobRecord } from "../../schemas/jobs.ts";

export const MAX_ATTEMPTS = 3;
const PAUSES_MS = [10_000, 60_000] as const;
const ATTEMPT_MS = 10_000;
/** When the outcome of an attempt is not recorded by then, its process is gone. */
const ATTEMPT_TTL_MS = 20_000;
/** Nobody asked for what a receiver says; its status is enough. */
const INTERRUPTED = "error_interrupted";

export const beginAttempt = (callback: Callback, now_ms: number): Callback => ({
  ...callback,
  attempts: callback.attempts + 1,
  next_ms: now_ms + ATTEMPT_TTL_MS,
});

/** The last attempt never told how it ended: over, with that. Null: there is another attempt to make. */
export const closeInterrupted = (callback: Callback): Callback | null =>
  callback.attempts < MAX_ATTEMPTS
    ? null
    : { ...callback, next_ms: null, status: callback.status ?? INTERRUPTED };

/** After an attempt: over, or when again. What an earlier attempt came to is not recorded over a later one. */
export function recordAttempt(callback: Callback, attempt: number, status: string, now_ms: number): Callback {
  if (attempt !== callback.attempts) return callback;
  const is_over =
    status.startsWith("delivered_") || status === "blocked_destination" || attempt >= MAX_ATTEMPTS;
  return { ...callback, status, next_ms: is_over ? null : now_ms + PAUSES_MS[attempt - 1]! };
}

interface CallbackDeps {
  readonly egress: Egress;
  readonly clock: Clock;
}

/** One attempt; its outcome as callback_status has it. */
export async function deliverCallback(
  { egress, clock }: CallbackDeps,
  job_id: string,
  job: JobRecord,
): Promise<string> {
  const { spec, phase, counts, finished_ms } = job;
  const body = {
    job_id,
    kind: spec.kind,
    status: phase,
    total: counts.total,
    succeeded: counts.done,
    failed: counts.failed,
    finished_at: new Date(finished_ms!).toISOString(),
  };
  const timeout = new AbortController();
  const timer = clock.at(clock.now() + ATTEMPT_MS, () => timeout.abort());
  try {
    const exchange = await egress.exchange({
      url: spec.callback_url!,
      method: "POST",
      headers: [
        ["Content-Type", "application/json"],
        ["User-Agent", "trawl"],
        ["X-Service-Delivery", job_id],
      ],
      body: Buffer.from(JSON.stringify(body)),
      signal: timeout.signal,
    });
    if (exchange.kind === "failed") {
      if (exchange.problem === "blocked_destination") return "blocked_destination";
      return `error_${exchange.problem === "aborted" ? "timeout" : exchange.problem}`;
    }
    exchange.cancel();
    const { status } = exchange;
    return status >= 200 && status < 300 ? `delivered_${status}` : `http_${status}`;
  } catch {
    return "error_internal";
  } finally {
    timer[Symbol.dispose]();
  }
}

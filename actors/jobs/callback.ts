/**
 * The completion callback (1-core.md, Events): what is sent, when again, and what is recorded of it. Three attempts: at
 * once, after 10 s, after 60 s, 10 s each. An attempt is written down before it is sent, so a crash costs one and never
 * makes a fourth; only a process that dies between the receiver's 2xx and the record of it sends twice, and the receiver
 * can tell by `X-Service-Delivery`, which is the same in every attempt.
 */
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Egress } from "../../cluster/ports/egress.ts";
import type { Callback, KeptJob } from "../../schemas/jobs.ts";

export const MAX_ATTEMPTS = 3;
const PAUSES_MS = [10_000, 60_000] as const;
const ATTEMPT_MS = 10_000;
/** When the outcome of an attempt is not recorded by then, its process is gone. */
const LAPSE_MS = 20_000;
/** Nobody asked for what a receiver says; its status is enough. */
const NO_STATUS = "error_interrupted";

export const begun = (callback: Callback, now_ms: number): Callback => ({
  ...callback,
  attempts: callback.attempts + 1,
  next_ms: now_ms + LAPSE_MS,
});

/** The last attempt never told how it ended: over, with that. Null: there is another attempt to make. */
export const interrupted = (callback: Callback): Callback | null =>
  callback.attempts < MAX_ATTEMPTS
    ? null
    : { ...callback, next_ms: null, status: callback.status ?? NO_STATUS };

/** After an attempt: over, or when again. What an earlier attempt came to is not recorded over a later one. */
export function attempted(callback: Callback, attempt: number, status: string, now_ms: number): Callback {
  if (attempt !== callback.attempts) return callback;
  const is_over =
    status.startsWith("delivered_") || status === "blocked_destination" || attempt >= MAX_ATTEMPTS;
  return { ...callback, status, next_ms: is_over ? null : now_ms + PAUSES_MS[attempt - 1]! };
}

interface Ways {
  readonly egress: Egress;
  readonly clock: Clock;
}

/** One attempt; its outcome as callback_status has it. */
export async function deliver({ egress, clock }: Ways, job_id: string, job: KeptJob): Promise<string> {
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
  const late = new AbortController();
  const alarm = clock.at(clock.now() + ATTEMPT_MS, () => late.abort());
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
      signal: late.signal,
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
    alarm[Symbol.dispose]();
  }
}

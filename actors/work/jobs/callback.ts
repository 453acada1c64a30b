/**
 * The completion callback: what is sent, when it is repeated, and what is recorded. At most three attempts: at once, 10 s
 * and 60 s later, each with a timeout of 10 s. An attempt is stored before it is sent, so a crash costs an attempt and
 * never makes a fourth. A receiver gets the callback twice only if the process dies between the receiver's 2xx and the
 * record of it; `X-Service-Delivery` is the same in every attempt, so that the receiver can tell.
 */
import type { Callback, JobCompletion, JobRecord } from "../../../schemas/jobs.ts";
import { postJson, type PostDeps } from "../callbacks/post-json.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import { type Secrets, UNREADABLE_STATUS } from "../../../cluster/ports/secrets.ts";
import { callbackPlace } from "../../../schemas/jobs.ts";

export const MAX_ATTEMPTS = 3;
const PAUSES_MS = [10_000, 60_000] as const;
const ATTEMPT_MS = 10_000;
/** An attempt whose outcome is not recorded after this long was lost with its process. */
const ATTEMPT_TTL_MS = 20_000;
/** The longest wait for the next attempt. */
export const MAX_CALLBACK_WAIT_MS = Math.max(ATTEMPT_TTL_MS, ...PAUSES_MS);
/** The status of a last attempt whose outcome was lost. */
const INTERRUPTED = "error_interrupted";

export const beginAttempt = (callback: Callback, now_ms: number): Callback => ({
  ...callback,
  attempts: callback.attempts + 1,
  next_ms: now_ms + ATTEMPT_TTL_MS,
});

/** Ends a callback whose last attempt was lost. Null: there is another attempt to make. */
export const closeInterrupted = (callback: Callback): Callback | null =>
  callback.attempts < MAX_ATTEMPTS
    ? null
    : { ...callback, next_ms: null, status: callback.status ?? INTERRUPTED };

/** Records how an attempt ended, and when the next is due. The outcome of an attempt before the current one is ignored. */
export function recordAttempt(callback: Callback, attempt: number, status: string, now_ms: number): Callback {
  if (attempt !== callback.attempts) return callback;
  const is_over =
    status.startsWith("delivered_") || status === "blocked_destination" || attempt >= MAX_ATTEMPTS;
  return { ...callback, status, next_ms: is_over ? null : now_ms + PAUSES_MS[attempt - 1]! };
}

interface CallbackDeps extends PostDeps {
  readonly secrets: Pick<Secrets, "open">;
  readonly log: Log;
}

/** Makes one attempt. Returns its outcome, as `callback_status` shows it. Never throws. */
export async function deliverCallback(deps: CallbackDeps, job_id: string, job: JobRecord): Promise<string> {
  const { secrets, log } = deps;
  const { spec, phase, counts, finished_ms } = job;
  const body: JobCompletion = {
    job_id,
    kind: spec.kind,
    status: phase as JobCompletion["status"],
    total: counts.total,
    succeeded: counts.done,
    failed: counts.failed,
    finished_at: new Date(finished_ms!).toISOString(),
  };
  let url: string;
  try {
    url = secrets.open(spec.callback_url!, callbackPlace(job_id));
  } catch (problem) {
    if (!(problem instanceof Fault)) throw problem;
    log.error("A callback cannot be delivered", { code: problem.code, job_id, problem: problem.message });
    return UNREADABLE_STATUS;
  }
  const { status } = await postJson(deps, {
    project: spec.project,
    url,
    body: JSON.stringify(body),
    headers: [["X-Service-Delivery", job_id]],
    timeout_ms: ATTEMPT_MS,
  });
  return status;
}

/** A slot from the limiter, and the report of what became of it. */
import { Fault } from "../../../../cluster/ports/fault.ts";
import { FilingLimiter } from "../../../../schemas/filing-source.ts";
import type { SlotOutcome } from "../../../../schemas/upstream.ts";
import { workFields } from "../../../lib/work-fields.ts";
import { type UsableSlot, usableSlot } from "../../upstream/slot-egress.ts";
import { type FailedAnswer, failed, type FetchRun, pause } from "./fetch-run.ts";

/** Permission for one request. Its outcome is recorded once; a permit without an outcome expires. */
export interface SlotPermit {
  readonly usable: UsableSlot;
  /** Answers for how long the filing system is paused now, in seconds; null: it is not. */
  readonly recordOutcome: (
    result: SlotOutcome["result"],
    retry_after_s?: number | null,
    reason?: string | null,
  ) => Promise<number | null>;
}

/** The limiter has moved to another node, or its store does not answer: the slot is asked for again after this. */
const LIMITER_RETRY_MS = 200;
/** Beyond the longest wait of the queue, for the way there and back. */
const LIMITER_GRACE_MS = 1_000;
const LIMITER_RETRY_AFTER_S = 5;

/** Waits for a slot until `deadline_ms`. Throws Fault when the key is lost. */
export async function acquireSlot(run: FetchRun, deadline_ms: number): Promise<SlotPermit | FailedAnswer> {
  const { ask, work, request, signal } = run;
  const { clock, egress } = run.deps;
  const slot_id = `${run.digest.slice(0, 16)}.${clock.now()}.${run.slots++}`;
  const { project, lane } = request;
  for (;;) {
    const wait_max_ms = Math.round(Math.max(0, deadline_ms - clock.now()));
    const asked_ms = clock.mono();
    try {
      const answer = await ask(
        FilingLimiter,
        egress,
        "acquire",
        { slot_id, project, lane, wait_max_ms },
        { timeout_ms: wait_max_ms + LIMITER_GRACE_MS },
      );
      if (answer.kind === "refused") return refusedSlot(run, answer.error, answer.retry_after_s);
      const { slot } = answer;
      return {
        usable: usableSlot(answer, asked_ms),
        async recordOutcome(result, retry_after_s = null, reason = null) {
          const outcome = { slot_id, slot, result, retry_after_s, reason };
          return (await ask(FilingLimiter, egress, "recordOutcome", outcome)).retry_after_s;
        },
      };
    } catch (problem) {
      // The limiter and this document are in one partition. When it moves, the next owner waits for this fetch to end, and its
      // callers are delivered to that owner.
      const isMoving = !work.ownsKey();
      if (!(problem instanceof Fault) || work.signal.aborted || isMoving) throw problem;
      if (signal.aborted || clock.now() + LIMITER_RETRY_MS >= deadline_ms)
        return failed(run, "rate_limited", "The filing system's limiter does not answer", {
          retry_after_s: LIMITER_RETRY_AFTER_S,
        });
      await pause(run, LIMITER_RETRY_MS);
    }
  }
}

function refusedSlot(run: FetchRun, error: "rate_limited" | "paused", retry_after_s: number): FailedAnswer {
  if (error === "rate_limited")
    return failed(run, error, "No slot of the filing system's limiter was free within 10 s", {
      retry_after_s,
    });
  const message = "The filing system asked for a pause: it is not asked before retry_after_s has passed";
  return { ...failed(run, "filings_unavailable", message, { retry_after_s }), paused: true };
}

/** Records the outcome without waiting for the limiter: a slot whose report is lost expires. */
export function recordOutcomeLater(
  { deps: { log }, request }: FetchRun,
  permit: SlotPermit,
  result: SlotOutcome["result"],
): void {
  permit.recordOutcome(result).catch((problem: unknown) => {
    const fields = { ...workFields(request.work_id), problem: String(problem) };
    log.warn("Cannot hand a slot of the filing system back", fields);
  });
}

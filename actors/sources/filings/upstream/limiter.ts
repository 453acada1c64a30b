/** The limiter of the filing system: the limiter of every upstream, with the filing system's numbers and metrics. */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import { FilingLimiter } from "../../../../schemas/filing-source.ts";
import { limiterActor } from "../../upstream/limiter.actor.ts";
import { FILING_LIMITS, MAX_IN_FLIGHT } from "./limits.ts";
import { FILING_SLOTS } from "../collections.ts";

export interface FilingLimiterDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly requests_per_second: number;
  /** Default: nothing hears of them but the metrics. */
  readonly onSlotWait?: (seconds: number) => void;
  readonly onPauseLevel?: (level: number) => void;
}

export const filingLimiterActor = ({
  documents,
  clock,
  metrics,
  log,
  requests_per_second,
  onSlotWait,
  onPauseLevel,
}: FilingLimiterDeps) =>
  limiterActor(FilingLimiter, {
    documents,
    clock,
    collection: FILING_SLOTS,
    limits: FILING_LIMITS,
    requests_per_second,
    max_in_flight: MAX_IN_FLIGHT,
    events: {
      onAnswered: (lane, outcome) => metrics.count("trawl_filings_slots_total", { lane, outcome }),
      onWaited(lane, seconds) {
        metrics.observe("trawl_filings_slot_wait_seconds", { lane }, seconds);
        onSlotWait?.(seconds);
      },
      onPauseLevel(level) {
        metrics.gauge("trawl_filings_pause_level", {}, level);
        onPauseLevel?.(level);
      },
      onStoreFailed: (egress, problem) =>
        log.warn("Cannot take a slot of the filing system", { egress, problem: String(problem) }),
    },
  });

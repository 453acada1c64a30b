/** The filing system in the public status: what counts as a failure, and the figures of this node. */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { StatusPart } from "../../../business/status/feature/tokens.ts";
import { RollingWindow } from "../../../lib/rolling-window.ts";
import { FILINGS } from "../../../business/status/components.ts";
import { windowFigures } from "../../../business/status/figures.ts";
import { pauseFigure } from "../../../business/status/paused.ts";
import type { FilingsAnswer, FilingsClient } from "../client.ts";

const FAILURES: ReadonlySet<string> = new Set([
  "rate_limited",
  "filings_unavailable",
  "timeout",
  "all_tiers_failed",
  "unreadable_document",
]);

const isFailure = (error: string | null): boolean =>
  error !== null && (FAILURES.has(error) || /^http_5\d\d$/.test(error));

export interface FilingsStatus {
  readonly part: StatusPart;
  /** The client, and its answers are counted. */
  readonly counted: (client: FilingsClient) => FilingsClient;
  readonly onSlotWait: (seconds: number) => void;
  readonly onPauseLevel: (level: number) => void;
}

/** `requests_per_second` is null where the filing system is off. */
export function filingsStatus(clock: Clock, requests_per_second: number | null): FilingsStatus {
  const operations = new RollingWindow<"requests" | "successes">(["requests", "successes"]);
  const slots = new RollingWindow<never>([]);
  const pause = pauseFigure(clock);

  function record(answer: FilingsAnswer | null, ms: number): void {
    const now_ms = clock.now();
    const outcome = answer?.kind === "document" ? answer.answer : answer;
    if (outcome?.cached) return;
    operations.add("requests", now_ms);
    operations.observe(ms, now_ms);
    if (outcome && !isFailure(outcome.error)) operations.add("successes", now_ms);
  }

  return {
    part: {
      components: [FILINGS],
      figures: () =>
        requests_per_second === null
          ? {}
          : {
              ...windowFigures("filings", operations, clock.now()),
              ...windowFigures("filings.slots", slots, clock.now()),
              "filings.backoff_active": { max: pause.isActive() ? 1 : 0 },
              "filings.rate_limit_rps": { max: requests_per_second },
            },
    },
    counted: (client) => async (op, fields, caller) => {
      const began_ms = clock.mono();
      try {
        const answer = await client(op, fields, caller);
        record(answer, clock.mono() - began_ms);
        return answer;
      } catch (problem) {
        record(null, clock.mono() - began_ms);
        throw problem;
      }
    },
    onSlotWait: (seconds) => slots.observe(seconds * 1_000, clock.now()),
    onPauseLevel: pause.set,
  };
}

/** Calls of a tier in the last 600 s: by outcome, and how long the successful ones took. */
import type { RoleFigures } from "../../../cluster/role-actor.ts";
import { percentile95, RollingWindow } from "../../lib/rolling-window.ts";
import type { CallOutcome } from "./infrastructure.ts";

export class CallWindow {
  readonly #window = new RollingWindow<CallOutcome>(["success", "infrastructure", "neutral"]);

  record(outcome: CallOutcome, ms: number, now_ms: number): void {
    this.#window.add(outcome, now_ms);
    if (outcome === "success") this.#window.observe(ms, now_ms);
  }

  figures(now_ms: number): RoleFigures {
    const { success, infrastructure, neutral } = this.#window.sums(now_ms);
    return {
      attempts: success + infrastructure + neutral,
      successes: success,
      infrastructure_failures: infrastructure,
      p95_ms: percentile95(this.#window.latencies(now_ms)),
    };
  }
}

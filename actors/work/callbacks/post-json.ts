/**
 * A single attempt to deliver JSON to a client's address, with a timeout and the SSRF rules of the egress. When to try again is
 * the caller's rule.
 */
import type { NetworksOf } from "../../lib/web/destination.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Egress } from "../../../cluster/ports/egress.ts";
import { retryAfterSeconds } from "../../lib/web/http.ts";

export interface PostDeps {
  readonly egress: Egress;
  readonly clock: Clock;
  /** The private networks that requests of a project may reach. Default: what the operator allows to the service itself. */
  readonly networksOf?: NetworksOf | undefined;
}

export interface Delivery {
  readonly url: string;
  /** JSON text, exactly as it is signed. */
  readonly body: string;
  /** Whose delivery it is, and so which private networks it may go to; null: no project's. */
  readonly project: string | null;
  /** Beside Content-Type and User-Agent. */
  readonly headers: readonly (readonly [string, string])[];
  readonly timeout_ms: number;
}

export interface DeliveryResult {
  /** `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`. */
  readonly status: string;
  /** The Retry-After of an answer that is no 2xx. */
  readonly retry_after_s: number | null;
}

/** Redirects are not followed. It never throws. */
export async function postJson(
  { egress, clock, networksOf }: PostDeps,
  delivery: Delivery,
): Promise<DeliveryResult> {
  const timeout = new AbortController();
  const timer = clock.at(clock.now() + delivery.timeout_ms, () => timeout.abort());
  const result = (status: string): DeliveryResult => ({ status, retry_after_s: null });
  try {
    // A project of no name has what all projects have.
    const allowed = await networksOf?.(delivery.project ?? "");
    const exchange = await egress.exchange({
      url: delivery.url,
      method: "POST",
      headers: [["Content-Type", "application/json"], ["User-Agent", "trawl"], ...delivery.headers],
      body: Buffer.from(delivery.body),
      signal: timeout.signal,
      ...(allowed && { networks: allowed.networks }),
    });
    if (exchange.kind === "failed") {
      if (exchange.problem === "blocked_destination") return result("blocked_destination");
      return result(`error_${exchange.problem === "aborted" ? "timeout" : exchange.problem}`);
    }
    exchange.cancel();
    const { status, headers } = exchange;
    if (status >= 200 && status < 300) return result(`delivered_${status}`);
    return {
      status: `http_${status}`,
      retry_after_s: retryAfterSeconds(headers.get("retry-after")?.[0], clock.now()),
    };
  } catch {
    return result("error_internal");
  } finally {
    timer[Symbol.dispose]();
  }
}

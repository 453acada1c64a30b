/** The egress with its times and bytes counted and, where there is a collector, a span for each request to an origin. */
import type { Node } from "../cluster/node-record.ts";
import type { Egress, Exchange, ExchangeRequest } from "../cluster/ports/egress.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Tracing } from "../cluster/ports/tracing.ts";

const NO_LABELS = {};

/** No `traceparent` is sent: a trace ends at the origin. */
export function meteredEgress(
  egress: Egress,
  {
    metrics,
    waiting,
    tracing,
  }: Pick<Node, "metrics"> & {
    /** The node's requests that wait for their head, on all its egresses. */
    readonly waiting: { count: number };
    readonly tracing?: Tracing | undefined;
  },
): Egress {
  async function exchange(request: ExchangeRequest): Promise<Exchange> {
    metrics.gauge("trawl_egress_requests_waiting", NO_LABELS, ++waiting.count);
    try {
      const result = await egress.exchange(request);
      if (result.kind === "answered") observe(metrics, result.timings);
      return result;
    } finally {
      metrics.gauge("trawl_egress_requests_waiting", NO_LABELS, --waiting.count);
    }
  }
  return { ...egress, exchange: tracing ? (request) => traced(tracing, request, exchange) : exchange };
}

/** A kept-alive connection has no times of its own. */
function observe(
  metrics: Metrics,
  { dns_ms, connect_ms, tls_ms, first_byte_ms }: Extract<Exchange, { kind: "answered" }>["timings"],
): void {
  const phases = { dns: dns_ms, connect: connect_ms, tls: tls_ms } as const;
  for (const [phase, ms] of Object.entries(phases))
    if (ms > 0) metrics.observe("trawl_egress_phase_duration_seconds", { phase }, ms / 1_000);
  metrics.observe("trawl_egress_phase_duration_seconds", { phase: "first_byte" }, first_byte_ms / 1_000);
}

function traced(tracing: Tracing, request: ExchangeRequest, exchange: Egress["exchange"]): Promise<Exchange> {
  const { method } = request;
  const url = URL.parse(request.url);
  const attributes = {
    "http.request.method": method,
    "server.address": url?.hostname ?? "",
    "url.full": url ? `${url.origin}${url.pathname}` : "",
  };
  return tracing.span({ name: method, kind: "client", attributes }, async (span) => {
    const result = await exchange(request);
    if (result.kind === "answered") span.set({ "http.response.status_code": result.status });
    else span.fail(result.problem);
    return result;
  });
}

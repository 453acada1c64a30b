/**
 * Tracing through OpenTelemetry's SDK: spans go to a collector in batches over OTLP, as protobuf over HTTP. This file is only
 * loaded when a collector is configured.
 *
 * At most 2,048 spans wait; more are dropped, which OpenTelemetry's own limits say. A collector that does not answer costs a
 * line of the log each minute and no request.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind as OtelSpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { parseTraceParent } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { Fault } from "../../ports/fault.ts";
import type { Log } from "../../ports/log.ts";
import type { Span, SpanKind, SpanSpec, Tracing } from "../../ports/tracing.ts";

export interface OtelOptions {
  /** Address of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  readonly service_name: string;
  readonly version: string;
  /** Applies to traces that begin here; a caller that sends a traceparent decides for its own. */
  readonly sampled_share: number;
  /** Default 5,000 ms between two batches. */
  readonly batch_delay_ms?: number;
  readonly log: Log;
}

const KINDS: Readonly<Record<SpanKind, OtelSpanKind>> = {
  server: OtelSpanKind.SERVER,
  client: OtelSpanKind.CLIENT,
  internal: OtelSpanKind.INTERNAL,
};
const CLOSE_MS = 3_000;
const WARN_EVERY_MS = 60_000;

export function otelTracing(options: OtelOptions): Tracing {
  const { endpoint, service_name, version, sampled_share, batch_delay_ms, log } = options;
  warnThrough(log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": service_name, "service.version": version }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampled_share) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: `${endpoint.replace(/(?<!\/)\/+$/, "")}/v1/traces` }),
        ...(batch_delay_ms !== undefined && { scheduledDelayMillis: batch_delay_ms }),
      }),
    ],
  });
  const tracer = provider.getTracer("trawl", version);
  const contexts = new AsyncLocalStorage<Context | null>();

  function runIn<T>({ name, kind, attributes = {} }: SpanSpec, parent: Context, call: (span: Span) => T): T {
    const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, parent);
    return contexts.run(trace.setSpan(parent, span), () => ended(span, call));
  }

  return {
    span(spec, call) {
      const parent = contexts.getStore();
      return parent ? runIn(spec, parent, call) : call(NO_SPAN);
    },
    root: (spec, traceparent, call) => runIn(spec, contextOf(traceparent) ?? ROOT_CONTEXT, call),
    within: (traceparent, call) => contexts.run(contextOf(traceparent), call),
    current() {
      const span = trace.getSpanContext(contexts.getStore() ?? ROOT_CONTEXT);
      if (!span) return null;
      return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`;
    },
    async close() {
      const limit = Promise.withResolvers<void>();
      const timer = setTimeout(limit.resolve, CLOSE_MS);
      // A collector that is away was reported by then.
      await Promise.race([provider.shutdown().catch(() => {}), limit.promise]);
      clearTimeout(timer);
    },
  };
}

const NO_SPAN: Span = { set: () => {}, fail: () => {} };

function contextOf(traceparent: string | null): Context | null {
  const parent = traceparent === null ? null : parseTraceParent(traceparent);
  return parent && trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true });
}

/** Calls, and ends the span with what the call comes to. */
function ended<T>(span: OtelSpan, call: (span: Span) => T): T {
  const fail = (reason: string): void =>
    void span.setStatus({ code: SpanStatusCode.ERROR, message: reason }).setAttribute("error.type", reason);
  const failed = (problem: unknown): void => {
    fail(problem instanceof Fault ? problem.code : "exception");
    span.end();
  };
  let result: T;
  try {
    result = call({ set: (attributes) => void span.setAttributes(attributes), fail });
  } catch (problem) {
    failed(problem);
    throw problem;
  }
  if (result instanceof Promise) result.then(() => span.end(), failed);
  else span.end();
  return result;
}

/** Logs problems of the SDK, at most one line a minute: a collector that is away fails every batch. */
function warnThrough(log: Log): void {
  let warned_ms = -Infinity;
  const warn = (problem: string): void => {
    if (performance.now() - warned_ms < WARN_EVERY_MS) return;
    warned_ms = performance.now();
    log.warn("Traces do not reach their collector", { problem });
  };
  const ignore = (): void => {};
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

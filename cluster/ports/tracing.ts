/**
 * Spans of one request on all nodes that work for it, in OpenTelemetry's terms. A span begins below the one in progress, which
 * follows `await` and promises; a message carries it to another actor or node as a W3C `traceparent`.
 *
 * A node without a collector has no Tracing at all (undefined), so that a request pays nothing for it.
 */

/** OpenTelemetry's span kinds: a request answered, a request sent, and work in between. */
export type SpanKind = "server" | "client" | "internal";

/** Never a secret, a body, a user name or a query of an address. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanSpec {
  /** A name of few values, as OpenTelemetry wants it: `GET /v1/jobs/{id}`, `Domain.acquire`. */
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: SpanAttributes;
}

export interface Span {
  readonly set: (attributes: SpanAttributes) => void;
  /** The work of the span failed. `reason` is a word from a closed list. */
  readonly fail: (reason: string) => void;
}

export interface Tracing {
  /**
   * Runs `call` in a span below the one in progress; without one there is no span. The span ends when `call` returns, or when the
   * promise that it returns is settled; a throw or a rejection marks it as failed.
   */
  readonly span: <T>(spec: SpanSpec, call: (span: Span) => T) => T;
  /** Like `span`, below the span of another process, or as the first span of a new trace when `traceparent` is null or not readable. */
  readonly root: <T>(spec: SpanSpec, traceparent: string | null, call: (span: Span) => T) => T;
  /** Runs `call` as work for the span of a message; null: for none. */
  readonly within: <T>(traceparent: string | null, call: () => T) => T;
  /** The span in progress as a W3C traceparent (`00-<trace id>-<span id>-<flags>`); null: there is none. */
  readonly current: () => string | null;
  /** Sends what was not sent yet, for at most 3 s. */
  readonly close: () => Promise<void>;
}

/** The trace id of a traceparent, for log lines. */
export const traceIdOf = (traceparent: string | null): string | undefined => traceparent?.slice(3, 35);

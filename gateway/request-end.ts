/** The end of every request: its answer gets the request id and the caller's headers, and is counted and logged. */
import type { Clock } from "../cluster/ports/clock.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Log, LogLevel } from "../cluster/ports/log.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import { addCallerHeaders, type Caller } from "./authenticate.ts";
import { type CompiledRoute, type RequestContext, statusClass } from "./compiled-route.ts";
import type { Reply } from "./http.ts";
import { internalError, ofFault, storeUnavailable } from "./http-errors.ts";
import { StoreFailing } from "./store-health.ts";
import { WAIT_MS } from "./with-deadline.ts";

const NO_LABELS = {};
const SENT = { direction: "sent" };
export const OPEN_TO_BROWSERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "ETag, Retry-After, Deprecation, Sunset, Link",
};

/** A request that was answered, or whose client left before its answer. */
export interface EndedRequest {
  /** The path of its route; `none`: it has no route. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  /** Unix milliseconds. */
  readonly ended_ms: number;
}

export interface RequestEnd {
  /** `limit`: the caller's rate as its header says it; null: the request was not counted. */
  readonly finish: (
    context: RequestContext,
    reply: Reply,
    caller?: Caller | null,
    limit?: string | null,
    level?: LogLevel,
  ) => Reply;
  /** The reply for an exception: a Fault has its own status; anything else is a bug, a 500 without details. */
  readonly errorReply: (context: RequestContext, problem: unknown) => Reply;
}

export function requestEnd({
  clock,
  metrics,
  log,
  onEnd,
}: {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Called with each request. Must not wait or throw. */
  readonly onEnd?: ((ended: EndedRequest) => void) | undefined;
}): RequestEnd {
  function finish(
    context: RequestContext,
    given: Reply,
    caller: Caller | null = null,
    limit: string | null = null,
    level: LogLevel = "info",
  ): Reply {
    const { compiled, request_id, head, abort } = context;
    const { refusalAs } = compiled.route ?? {};
    const reply = refusalAs && given.status >= 400 ? refusalAs(given) : given;
    const headers: Record<string, string> = { ...reply.headers };
    if (limit !== null) addCallerHeaders(headers, caller!, limit, context.now_ms);
    if (compiled.deprecation) addDeprecation(headers, compiled.deprecation);
    if (compiled.route?.cors) Object.assign(headers, OPEN_TO_BROWSERS);
    headers["X-Request-Id"] = request_id;
    const ms = clock.mono() - context.began_ms;
    if (abort.aborted) metrics.count("trawl_http_aborted_total", NO_LABELS);
    metrics.count(
      "trawl_http_requests_total",
      compiled.counted.get(statusClass(reply.status)) ?? {
        route: compiled.duration.route,
        method: "other",
        status: statusClass(reply.status),
      },
    );
    metrics.observe("trawl_http_request_duration_seconds", compiled.duration, ms / 1000);
    metrics.count("trawl_http_body_bytes_total", SENT, reply.body?.length ?? 0);
    onEnd?.({
      route: compiled.duration.route,
      status: reply.status,
      ms,
      ended_ms: Math.floor(context.now_ms + ms),
    });
    // Monitors ask every few seconds.
    const isPoll = compiled.route?.tags[0] === "status" && reply.status < 400;
    log[isPoll ? "debug" : level]("request", {
      request_id,
      route: compiled.duration.route,
      method: head.method,
      // 499 as nginx logs it: the client disconnected before its answer.
      status: abort.aborted ? 499 : reply.status,
      ms: Math.round(ms),
      project: caller?.grant.project.name,
      key: caller?.grant.key.prefix,
    });
    const { repeated_headers } = reply;
    if (repeated_headers) return { ...reply, headers };
    return reply.body === undefined
      ? { status: reply.status, headers }
      : { status: reply.status, headers, body: reply.body };
  }

  function errorReply({ request_id, compiled, began_ms }: RequestContext, problem: unknown): Reply {
    if (problem instanceof Fault) {
      metrics.count("trawl_faults_total", { code: problem.code });
      log.warn(problem.message, { request_id, route: compiled.duration.route, code: problem.code });
      return ofFault(problem, request_id, clock.mono() - began_ms >= WAIT_MS);
    }
    if (problem instanceof StoreFailing) return storeUnavailable(problem.failing);
    log.error("A route broke", { request_id, route: compiled.duration.route, problem });
    return internalError(request_id);
  }

  return { finish, errorReply };
}

/** Links of the answer itself stay. */
function addDeprecation(
  headers: Record<string, string>,
  deprecation: NonNullable<CompiledRoute["deprecation"]>,
): void {
  const { Link } = headers;
  Object.assign(headers, deprecation);
  if (Link !== undefined) headers["Link"] = `${Link}, ${deprecation.Link}`;
}

/** Every series is there from the start, so that the first error of a route is seen as an increase. */
export function beginSeries(metrics: Metrics, compiled: Iterable<CompiledRoute>): void {
  for (const { route, counted, duration } of compiled) {
    metrics.begin("trawl_http_request_duration_seconds", duration);
    const answers = new Set([
      "2xx",
      "4xx",
      "5xx",
      ...Object.keys(route?.replies ?? {})
        .map(Number)
        .map(statusClass),
    ]);
    for (const status of answers) metrics.begin("trawl_http_requests_total", counted.get(status)!);
  }
}

/**
 * From a request's head to its answer, in one fixed order: route 404 and 405, OPTIONS, key 401, suspended 403, rate 429,
 * operators only 403, size 413, shape 422, category 403, the route's own 403, allowances 429, and then the route. Every answer gets a request
 * id and is counted and logged. It opens no socket: an adapter of the HTTP port calls `admit`, and so do tests.
 */
import type { ByteBudget } from "../cluster/byte-budget.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Random } from "../cluster/ports/random.ts";
import type { Tracing } from "../cluster/ports/tracing.ts";
import { type Caller, type Identify, isCaller } from "./authenticate.ts";
import { type CompiledRoute, compileRoute, type RequestContext } from "./compiled-route.ts";
import { isPolled, unlessEqual } from "./console-polling.ts";
import { acceptedCoding, compressed } from "./compress.ts";
import { requestCoding } from "./content-coding.ts";
import type { Admission, Admit, ClientAbort, Head, ListenOptions, Pending, Reply } from "./http.ts";
import { CODING_UNKNOWN, methodNotAllowed, NOT_FOUND } from "./http-errors.ts";
import { keyChecks, type LimitCheck } from "./key-checks.ts";
import { largeBodies } from "./large-bodies.ts";
import type { Metering } from "./metering.ts";
import type { Rates } from "./rates.ts";
import { requestBills } from "./request-bill.ts";
import { beginSeries, type EndedRequest, OPEN_TO_BROWSERS, requestEnd } from "./request-end.ts";
import { requestIds } from "./request-id.ts";
import { tracedAnswer } from "./request-span.ts";
import { requestsWithin } from "./requests-within.ts";
import { type PathRoutes, type Route, type RouteMatch, router } from "./route.ts";
import { serving } from "./serve.ts";
import type { StoreHealth } from "./store-health.ts";

interface ServerDeps {
  readonly routes: readonly Route[];
  readonly identify: Identify;
  readonly metering: Metering;
  /** Rate limits shared by several gateways. Without it this gateway counts on its own. */
  readonly rates?: Rates;
  /** Whether the stores take writes. Default: they do. */
  readonly stores?: StoreHealth;
  /** The memory for bodies of requests. Default: there is room for all. */
  readonly memory?: Pick<ByteBudget, "requests">;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Called with each request when it ends. Must not wait or throw. Default: nothing hears of it. */
  readonly onEnd?: (ended: EndedRequest) => void;
  /** Default: requests have no spans. */
  readonly tracing?: Tracing | undefined;
}

export interface Server {
  readonly admit: Admit;
  /** For an adapter whose answer failed outside a route: logs the problem and makes a 500 with a request id. */
  readonly failed: ListenOptions["failed"];
}

const NO_PARAMS: Readonly<Record<string, string>> = {};
const CLIENT_CONNECTED: ClientAbort = { aborted: false, signal: new AbortController().signal };

export function server({
  routes,
  identify,
  metering,
  rates,
  stores,
  memory,
  clock,
  random,
  metrics,
  log,
  onEnd,
  tracing,
}: ServerDeps): Server {
  const find = router(routes);
  const compiledRoutes = new Map(routes.map((route) => [route, compileRoute(route)]));
  const unrouted = compileRoute(null);
  beginSeries(metrics, [...compiledRoutes.values(), unrouted]);
  const requestId = requestIds({ random });
  const end = requestEnd({ clock, metrics, log, onEnd });
  const { finish, errorReply } = end;
  const bills = requestBills({ metering, clock, log });
  const { refuseKey, refuseRoute, checkLimits } = keyChecks({ identify, rates, end, metrics });
  const within = requestsWithin({
    find,
    checkLimits,
    contextOf: (head, abort, route, params) => contextOf(head, abort, compiledRoutes.get(route)!, params),
    serve: (...request) => serve(...request),
  });
  const { open, serve } = serving({ end, bills, metering, stores, metrics, within });
  const bodies = largeBodies(memory);

  function contextOf(
    head: Head,
    abort: ClientAbort,
    route: CompiledRoute,
    params: RouteMatch["params"],
  ): RequestContext {
    const now_ms = clock.now();
    return {
      request_id: requestId(now_ms),
      head,
      abort,
      now_ms,
      began_ms: clock.mono(),
      compiled: route,
      params,
    };
  }

  /** A request whose key, or its limits, must be asked for first. */
  function pending(context: RequestContext, admission: Promise<Admission>): Pending {
    const room = bodies.beforeAdmission();
    const admitted = admission
      .catch((problem: unknown) => finish(context, errorReply(context, problem)))
      .finally(room.release);
    return { admission: admitted, hasRoom: room.hasRoom };
  }

  async function admitAfterLookup(
    context: RequestContext,
    lookup: Promise<Caller | Reply>,
  ): Promise<Admission> {
    const caller = await lookup;
    if (!isCaller(caller)) return refuseKey(context, caller);
    return admitLimited(context, caller, await checkLimits(context, caller));
  }

  function admitLimited(context: RequestContext, caller: Caller, check: LimitCheck): Admission {
    if ("refusal" in check) return check.refusal;
    const { limit } = check;
    const coding = requestCoding(context.head.headers.get("content-encoding"));
    if (coding === "unknown") return finish(context, CODING_UNKNOWN, caller, limit);
    const { name } = caller.grant.project;
    return bodies.admit(context, name, coding, (body) => serve(context, caller, limit, body));
  }

  function admitAsIs(head: Head, abort: ClientAbort): Admission | Pending {
    const match = find(head.path);
    if (match === null) return refuseRoute(contextOf(head, abort, unrouted, NO_PARAMS), NOT_FOUND);
    const { routes: routesByMethod, allow } = match.path;
    const route =
      routesByMethod.get(head.method) ?? (head.method === "HEAD" ? routesByMethod.get("GET") : undefined);
    if (!route) {
      const context = contextOf(head, abort, unrouted, NO_PARAMS);
      return head.method === "OPTIONS"
        ? finish(context, options(match.path, head))
        : refuseRoute(context, methodNotAllowed(allow));
    }
    const compiled = compiledRoutes.get(route)!;
    const context = contextOf(head, abort, compiled, match.params);
    const { limit_bytes } = route;
    if (route.auth === "none") return { limit_bytes, answer: (body) => open(context, body) };

    const identified = identify(head.headers.get("authorization"), context.now_ms);
    if (identified instanceof Promise) return pending(context, admitAfterLookup(context, identified));
    if (!isCaller(identified)) return refuseKey(context, identified);
    const check = checkLimits(context, identified);
    return check instanceof Promise
      ? pending(
          context,
          check.then((checked) => admitLimited(context, identified, checked)),
        )
      : admitLimited(context, identified, check);
  }

  function admit(head: Head, abort: ClientAbort): Admission | Pending {
    const admission = admitAsIs(head, abort);
    if (!("admission" in admission)) return dressed(admission, head);
    return { ...admission, admission: admission.admission.then((admitted) => dressed(admitted, head)) };
  }

  /** With its span, and its answer in a coding that the client accepts; the console gets it as unchanged where it is. */
  function dressed(admission: Admission, head: Head): Admission {
    if ("status" in admission) return admission;
    const coding = acceptedCoding(head.headers.get("accept-encoding"));
    const isAskedAgain = isPolled(head);
    if (coding === null && !tracing && !isAskedAgain) return admission;
    const path = find(head.path)?.path;
    if (!path) return admission;
    const answer = tracing
      ? tracedAnswer(tracing, head, path.routes.get(head.method), admission.answer)
      : admission.answer;
    if (path.isVerbatim || (coding === null && !isAskedAgain)) return { ...admission, answer };
    const tag = head.headers.get("if-none-match");
    const last = (reply: Reply): Reply | Promise<Reply> => {
      const shown = isAskedAgain ? unlessEqual(reply, tag) : reply;
      return coding === null ? shown : compressed(shown, coding);
    };
    return {
      ...admission,
      answer: (body) => {
        const reply = answer(body);
        return reply instanceof Promise ? reply.then(last) : last(reply);
      },
    };
  }

  return {
    admit,
    failed(problem, head) {
      const context = contextOf(head, CLIENT_CONNECTED, unrouted, NO_PARAMS);
      return finish(context, errorReply(context, problem));
    },
  };
}

/** The answer to OPTIONS. On a CORS route browsers may cache it for ten minutes. */
function options({ routes, allow }: PathRoutes, head: Head): Reply {
  const welcome = [...routes.values()].some(({ cors }) => cors);
  if (!welcome || !head.headers.has("access-control-request-method"))
    return { status: 204, headers: { Allow: allow, ...(welcome && OPEN_TO_BROWSERS) } };
  return {
    status: 204,
    headers: {
      Allow: allow,
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Allow-Methods": allow,
      "Access-Control-Allow-Headers": head.headers.get("access-control-request-headers") ?? "*",
      "Access-Control-Max-Age": "600",
    },
  };
}

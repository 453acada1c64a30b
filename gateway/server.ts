/**
 * From a request's head to its answer, in one fixed order: route 404 and 405, OPTIONS, key 401, suspended 403, rate 429,
 * size 413, shape 422, category 403, the route's own 403, allowances 429, and then the route. Every answer gets a request
 * id and is counted and logged. It opens no socket: an adapter of the HTTP port calls `admit`, and so do tests.
 */
import type { ByteBudget } from "../cluster/byte-budget.ts";
import { type Clock, sleep } from "../cluster/ports/clock.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Random } from "../cluster/ports/random.ts";
import type { Bill } from "../schemas/accounts.ts";
import {
  type Caller,
  addCallerHeaders,
  categoryRefused,
  countRate,
  type Identify,
  isCaller,
  limitedBy,
  quotaRefused,
  spendRefused,
  suspended,
} from "./authenticate.ts";
import { bodyRoom, UNCOUNTED_BYTES } from "./body-room.ts";
import { acceptedCoding, compressed, type ContentCoding } from "./compress.ts";
import type { Admission, Admit, Body, ClientAbort, Head, ListenOptions, Reply } from "./http.ts";
import type { Billed, Metering } from "./metering.ts";
import { type QuotaClaim, UNLIMITED } from "./quotas.ts";
import type { Counted, Rates } from "./rates.ts";
import {
  internalError,
  invalid,
  KEY_RATE_LIMITED,
  methodNotAllowed,
  MISSING_TOKEN,
  NOT_FOUND,
  ofFault,
  RATE_LIMITED,
  storeUnavailable,
  tooLarge,
  unavailable,
} from "./http-errors.ts";
import { requestIds } from "./request-id.ts";
import { tracedAnswer } from "./request-span.ts";
import { StoreFailing, type StoreHealth } from "./store-health.ts";
import { type Answer, type RouteMatch, type PathRoutes, type Route, router } from "./route.ts";
import { WARNING_HEADER, warnOfUnknownFields, warnOfUnknownParameters } from "./warnings.ts";
import { pathReader, queryReader, type ReadResult, readJson, shape } from "./validate.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Log, LogLevel } from "../cluster/ports/log.ts";
import type { Tracing } from "../cluster/ports/tracing.ts";

interface ServerDeps {
  readonly routes: readonly Route[];
  readonly identify: Identify;
  readonly metering: Metering;
  /** Rate limits shared by several gateways. Without it this gateway counts on its own. */
  readonly rates?: Rates;
  /** Whether the stores take writes. Default: they do. */
  readonly stores?: StoreHealth;
  /** The memory for bodies of requests. Default: only their number is limited. */
  readonly memory?: Pick<ByteBudget, "requests">;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Default: requests have no spans. */
  readonly tracing?: Tracing | undefined;
}

export interface Server {
  readonly admit: Admit;
  /** For an adapter whose answer failed outside a route: logs the problem and makes a 500 with a request id. */
  readonly failed: ListenOptions["failed"];
}

/** What is compiled once for a route. */
interface CompiledRoute {
  readonly route: Route;
  readonly params: ((given: Readonly<Record<string, string>>) => ReadResult<unknown>) | null;
  readonly query: ((query: string) => ReadResult<unknown>) | null;
  readonly body: ((value: unknown) => ReadResult<unknown>) | null;
  /** Names of the query parameters. */
  readonly parameters: readonly string[];
  readonly duration: { readonly route: string };
  readonly counted: ReadonlyMap<string, { route: string; method: string; status: string }>;
}

/** One request during the checks. */
interface RequestContext {
  readonly request_id: string;
  readonly head: Head;
  readonly abort: ClientAbort;
  readonly now_ms: number;
  readonly began_ms: number;
  readonly compiled: CompiledRoute;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * A body is kept in memory until it is read. The number of connections bounds the small ones. Large ones are limited to
 * these numbers at a time, fewer for keys that are not looked up yet, and all but small ones by their bytes
 * (body-room.ts); further requests get 503.
 */
const LARGE_BODY_BYTES = 2 ** 20;
const MAX_LARGE_BODIES = 16;
const MAX_LARGE_BODIES_UNAUTHENTICATED = 4;
const TOO_MANY_LARGE = unavailable("too many large requests at once, try again", 5);

/** What an interrupted request cost is read again while the store is away. */
const READ_SPEND_AGAIN_MS = 1_000;
const MAX_SPEND_READS = 120;

const CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;
const NO_PARAMS: Readonly<Record<string, string>> = {};
const READ_NOTHING: ReadResult<unknown> = { kind: "read", value: null };

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
  tracing,
}: ServerDeps): Server {
  const find = router(routes);
  const compiledRoutes = new Map(routes.map((route) => [route, compileRoute(route)]));
  const unrouted = compileRoute(null);
  // Every series is there from the start, so that the first error of a route is seen as an increase.
  for (const { route, counted, duration } of [...compiledRoutes.values(), unrouted]) {
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
  const requestId = requestIds({ random });
  let in_flight = 0;
  const addInFlight = (by: 1 | -1): void =>
    metrics.gauge("trawl_http_requests_in_flight", NO_LABELS, (in_flight += by));

  /** Finishes every answer: adds the request id, counts and logs it. */
  function finish(
    context: RequestContext,
    reply: Reply,
    caller: Caller | null = null,
    limit: string | null = null,
    level: LogLevel = "info",
  ): Reply {
    const { compiled, request_id, head, abort } = context;
    const headers: Record<string, string> = { ...reply.headers };
    if (limit !== null) addCallerHeaders(headers, caller!, limit, context.now_ms);
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

  const large = { authenticated: 0, unauthenticated: 0 };

  /** Reserves a place and memory for a body that is or may become large, until it is answered or the client disconnects. */
  function limitLargeBodies(
    context: RequestContext,
    callers: keyof typeof large,
    limit_bytes: number,
    refuse: () => Reply | Promise<Reply>,
    answer: (body: Body) => Reply | Promise<Reply>,
  ): Admission {
    const { head, abort } = context;
    const refused = (): Admission => {
      const refusal = refuse();
      return refusal instanceof Promise
        ? { limit_bytes, hasRoom: () => false, answer: () => refusal }
        : refusal;
    };
    const length = head.headers.get("content-length");
    const isUnknown = length === undefined && head.headers.has("transfer-encoding");
    const bytes = isUnknown ? limit_bytes : Number(length ?? 0);
    if (Math.min(bytes, limit_bytes) <= UNCOUNTED_BYTES || bytes > limit_bytes)
      return { limit_bytes, answer };
    const isLarge = bytes > LARGE_BODY_BYTES;
    const most = callers === "authenticated" ? MAX_LARGE_BODIES : MAX_LARGE_BODIES_UNAUTHENTICATED;
    if (isLarge && large[callers] >= most) return refused();
    const room = bodyRoom(memory?.requests, limit_bytes);
    if (!isUnknown && !room.hasRoom(bytes)) return refused();
    if (isLarge) large[callers]++;
    const free = once(() => {
      if (isLarge) large[callers]--;
      room.release();
    });
    abort.signal.addEventListener("abort", free);
    return {
      limit_bytes,
      hasRoom: room.hasRoom,
      answer: async (body) => {
        try {
          return await (body.kind === "no_room" ? refuse() : answer(body));
        } finally {
          free();
        }
      },
    };
  }

  function refuseKey(context: RequestContext, refusal: Reply): Reply {
    const reason = refusal === MISSING_TOKEN ? "missing" : refusal.status === 401 ? "invalid" : "unavailable";
    metrics.count("trawl_auth_failures_total", { reason });
    return finish(context, refusal);
  }

  /** The answer to a request without a route: it needs no key, and a caller with one is told its limits, for which it counts. */
  function refuseRoute(context: RequestContext, refusal: Reply): Admission {
    const authorization = context.head.headers.get("authorization");
    if (authorization === undefined) return finish(context, refusal);
    const told =
      (caller: Caller) =>
      ({ limit }: Counted): Reply =>
        finish(context, refusal, caller, limit);
    const refuse = (caller: Caller | Reply): Reply | Promise<Reply> => {
      if (!isCaller(caller)) return finish(context, refusal);
      const counted = countRequest(context, caller);
      return counted instanceof Promise ? counted.then(told(caller)) : told(caller)(counted);
    };
    const identified = identify(authorization, context.now_ms);
    const reply = identified instanceof Promise ? identified.then(refuse) : refuse(identified);
    if (!(reply instanceof Promise)) return reply;
    const answer = reply.catch((problem: unknown) => finish(context, errorReply(context, problem)));
    return { limit_bytes: 0, hasRoom: () => false, answer: () => answer };
  }

  const countRequest = ({ now_ms }: RequestContext, caller: Caller): Counted | Promise<Counted> =>
    rates ? rates.count(limitedBy(caller), now_ms) : countRate(caller, now_ms);

  /** Suspension, then rates. The later checks need the body. */
  function checkLimits(context: RequestContext, caller: Caller): LimitCheck | Promise<LimitCheck> {
    const counted = countRequest(context, caller);
    return counted instanceof Promise
      ? counted.then((answer) => afterRateCount(context, caller, answer))
      : afterRateCount(context, caller, counted);
  }

  function afterRateCount(context: RequestContext, caller: Caller, { passed, limit }: Counted): LimitCheck {
    const shut = suspended(caller);
    if (shut) {
      metrics.count("trawl_auth_failures_total", { reason: "suspended" });
      return { refusal: finish(context, shut, caller, limit) };
    }
    if (passed === null) return { limit };
    const refusal = passed === "project" ? RATE_LIMITED : KEY_RATE_LIMITED;
    return { refusal: limited(context, refusal, passed, caller, limit) };
  }

  function limited(
    context: RequestContext,
    refusal: Reply,
    policy: string,
    caller: Caller,
    limit: string,
  ): Reply {
    metrics.count("trawl_rate_limited_total", { policy });
    return finish(context, refusal, caller, limit);
  }

  /** Everything after the key, with the body. Throws what a shortcut throws. */
  function serve(context: RequestContext, caller: Caller, limit: string, body: Body): Reply | Promise<Reply> {
    const { compiled, request_id, now_ms } = context;
    const { shortcut, category } = compiled.route!;
    metering.turn(caller.meter, now_ms);

    if (body.kind === "whole") metrics.count("trawl_http_body_bytes_total", RECEIVED, body.bytes.length);
    const quick = shortcut && body.kind === "whole" ? shortcut(body.bytes, caller, now_ms) : null;
    const refusal =
      quick && ((category && categoryRefused(caller, category)) ?? spendRefused(caller, now_ms));
    if (quick === null || refusal !== null) return handle(context, caller, limit, body);
    const answer = (claim: QuotaClaim): Reply => {
      try {
        metering.record(caller.meter, billed(context, quick.bill, quick.project_ref));
      } catch (problem) {
        claim.settle(false);
        return finish(context, errorReply(context, problem), caller, limit);
      }
      claim.settle(true);
      // Logged at level debug: cache hits would fill the log.
      return finish(context, quick.reply(request_id), caller, limit, "debug");
    };
    const claim = claimFor(context, caller);
    if (!(claim instanceof Promise)) return answer(claim);
    return claim.then(
      (granted) => (granted ? answer(granted) : exhausted(context, caller, limit)),
      (problem: unknown) => finish(context, errorReply(context, problem), caller, limit),
    );
  }

  /** Answered now. */
  const billed = (
    { request_id, now_ms, began_ms }: RequestContext,
    bill: Bill,
    project_ref: string | null,
  ): Billed => {
    const ms = clock.mono() - began_ms;
    return { request_id, at_ms: Math.floor(now_ms + ms), latency_ms: Math.round(ms), bill, project_ref };
  };

  const claimFor = (
    { compiled, now_ms }: RequestContext,
    { meter }: Caller,
  ): QuotaClaim | Promise<QuotaClaim | null> => {
    const { category } = compiled.route!;
    return category === null ? UNLIMITED : meter.quota.claim(category, now_ms);
  };

  const exhausted = (context: RequestContext, caller: Caller, limit: string): Reply => {
    const refusal = quotaRefused(caller, context.compiled.route!.category!, context.now_ms);
    return limited(context, refusal, "allowance", caller, limit);
  };

  async function handle(context: RequestContext, caller: Caller, limit: string, body: Body): Promise<Reply> {
    const { now_ms } = context;
    const route = context.compiled.route!;
    const { category } = route;
    const call = read(context, body);
    if ("status" in call) return finish(context, call, caller, limit);
    const work: Work = { isBegun: false, hasRow: false };
    const beginWork = async (): Promise<void> => {
      if (work.isBegun) return;
      await metering.begin(caller.meter, unanswered(context, call, "interrupted"));
      work.isBegun = true;
    };
    const authenticatedCall = { ...call, caller, beginWork };
    const refusal =
      (category && categoryRefused(caller, category)) ?? route.authorize?.(authenticatedCall) ?? null;
    if (refusal) return finish(context, refusal, caller, limit);
    const failing = isWriting(route) ? stores?.failing() : null;
    if (failing) return finish(context, storeUnavailable(failing), caller, limit);
    let claim: QuotaClaim | null = null;
    addInFlight(1);
    try {
      // Each item of a batch is limited when it runs; the route itself refuses what could not run at all.
      if (!route.items) {
        claim = await claimFor(context, caller);
        if (claim === null) return exhausted(context, caller, limit);
        if (category && caller.meter.allowances.spend !== null) await metering.readSpend(caller.meter);
        const spent = category && spendRefused(caller, now_ms);
        if (spent) return limited(context, spent, "allowance", caller, limit);
      }
      if (route.always_begins_work) await beginWork();
      const handling = route.handle(authenticatedCall);
      const answer: Answer = await (stores && isWriting(route)
        ? stores.orFailing(Promise.resolve(handling))
        : handling);
      const isTimeout = work.isBegun && answer.status === 504;
      claim?.settle(answer.bill !== undefined || isTimeout);
      if (answer.bill) {
        const row = billed(context, answer.bill, projectRefOf(call));
        const isCached = answer.bill.category.endsWith("_cached");
        if (isCached && !work.isBegun) metering.record(caller.meter, row);
        else {
          const storing = metering.store(caller.meter, row);
          work.hasRow = true;
          await storing;
        }
      } else if (isTimeout) void billLate(context, caller, call, answer.late_bill);
      if (work.isBegun && !isTimeout) metering.end(context.request_id);
      // The answer's own header tells what it left.
      if (answer.bill && answer.bill.cost_micros > 0 && caller.meter.allowances.spend !== null)
        await metering.readSpend(caller.meter);
      return finish(context, withWarnings(answer, call.warnings), caller, limit);
    } catch (problem) {
      // With a row the request stays pending until `recoverPending` has found it.
      if (work.hasRow) claim?.settle(true);
      else if (work.isBegun && mayHaveStarted(problem)) {
        claim?.settle(true);
        void billUnanswered(caller, unanswered(context, call, "interrupted"));
      } else if (work.isBegun) metering.end(context.request_id);
      return finish(context, errorReply(context, problem), caller, limit);
    } finally {
      addInFlight(-1);
      // Without an effect where the request was counted.
      claim?.settle(false);
    }
  }

  /** The row of a request that was sent to actors and has no answer. */
  const unanswered = (context: RequestContext, call: Pick<Checked, "body">, error: string): Billed => {
    const bill: Bill = {
      category: UNANSWERED_AS[context.compiled.route!.tags[0]!] ?? "fetch_own",
      ok: false,
      bytes: 0,
      paid: false,
      cost_micros: 0,
      detail: { status: null, error, reason: null, attempts: [] },
    };
    return billed(context, bill, projectRefOf(call));
  };

  /** Never throws. A row that cannot be stored now is stored later: until then the request stays pending. */
  async function storeAndEnd({ meter }: Caller, row: Billed): Promise<void> {
    try {
      await metering.store(meter, row);
      metering.end(row.request_id);
    } catch (problem) {
      log.warn("A row of the ledger is stored later", {
        request_id: row.request_id,
        problem: String(problem),
      });
    }
  }

  /** The row of a request whose work told no cost, with what its attempts have cost so far. Never throws. */
  async function billUnanswered(caller: Caller, row: Billed): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        const cost_micros = await metering.spentBy(row.request_id);
        return await storeAndEnd(caller, { ...row, bill: { ...row.bill, cost_micros } });
      } catch (problem) {
        if (!(problem instanceof Fault) || tries === MAX_SPEND_READS) {
          // It stays pending, and `recoverPending` writes its row.
          const { request_id } = row;
          return log.warn("A row of the ledger is written later", { request_id, problem: String(problem) });
        }
        await sleep(clock, READ_SPEND_AGAIN_MS);
      }
    }
  }

  /** The caller got 504 and pays no price; what the work cost is known when it ends. Never throws. */
  async function billLate(
    context: RequestContext,
    caller: Caller,
    call: Pick<Checked, "body">,
    late_bill: Promise<Bill | null> = Promise.resolve(null),
  ): Promise<void> {
    const bill = await late_bill.catch(() => null);
    const row = unanswered(context, call, "timeout");
    if (bill === null) return billUnanswered(caller, row);
    const { detail, ...known } = bill;
    const error = { ...row.bill.detail!, ...detail, error: "timeout" };
    await storeAndEnd(caller, { ...row, bill: { ...known, ok: false, detail: error } });
  }

  /** The reply for an exception: a Fault has its own status; anything else is a bug, a 500 without details. */
  function errorReply({ request_id, compiled }: RequestContext, problem: unknown): Reply {
    if (problem instanceof Fault) {
      metrics.count("trawl_faults_total", { code: problem.code });
      log.warn(problem.message, { request_id, route: compiled.duration.route, code: problem.code });
      return ofFault(problem, request_id);
    }
    if (problem instanceof StoreFailing) return storeUnavailable(problem.failing);
    log.error("A route broke", { request_id, route: compiled.duration.route, problem });
    return internalError(request_id);
  }

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

  async function open(context: RequestContext, body: Body): Promise<Reply> {
    const call = read(context, body);
    if ("status" in call) return finish(context, call);
    try {
      return finish(context, await context.compiled.route!.handle(call));
    } catch (problem) {
      return finish(context, errorReply(context, problem));
    }
  }

  /** A request whose key had to be looked up: its body has arrived meanwhile, the checks are the same. */
  async function serveAfterLookup(
    context: RequestContext,
    lookup: Promise<Caller | Reply>,
    body: Body,
  ): Promise<Reply> {
    try {
      const caller = await lookup;
      if (!isCaller(caller)) return refuseKey(context, caller);
      return await served(context, caller, checkLimits(context, caller), body);
    } catch (problem) {
      return finish(context, errorReply(context, problem));
    }
  }

  async function served(
    context: RequestContext,
    caller: Caller,
    checking: LimitCheck | Promise<LimitCheck>,
    body: Body,
  ): Promise<Reply> {
    const check = await checking;
    return "refusal" in check ? check.refusal : serve(context, caller, check.limit, body);
  }

  function admitAsIs(head: Head, abort: ClientAbort): Admission {
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
    if (identified instanceof Promise) {
      identified.catch(() => {}); // Awaited when the body has arrived; the client may disconnect before.
      const refuse = (): Reply => finish(context, TOO_MANY_LARGE);
      return limitLargeBodies(context, "unauthenticated", limit_bytes, refuse, (body) =>
        serveAfterLookup(context, identified, body),
      );
    }
    if (!isCaller(identified)) return refuseKey(context, identified);
    const checking = checkLimits(context, identified);
    if (checking instanceof Promise) {
      checking.catch(() => {});
      const refuse = async (): Promise<Reply> => {
        const check = await checking;
        return "refusal" in check ? check.refusal : finish(context, TOO_MANY_LARGE, identified, check.limit);
      };
      return limitLargeBodies(context, "authenticated", limit_bytes, refuse, (body) =>
        served(context, identified, checking, body),
      );
    }
    if ("refusal" in checking) return checking.refusal;
    const { limit } = checking;
    const refuse = (): Reply => finish(context, TOO_MANY_LARGE, identified, limit);
    return limitLargeBodies(context, "authenticated", limit_bytes, refuse, (body) =>
      serve(context, identified, limit, body),
    );
  }

  function admit(head: Head, abort: ClientAbort): Admission {
    const admission = admitAsIs(head, abort);
    if ("status" in admission) return admission;
    const coding = acceptedCoding(head.headers.get("accept-encoding"));
    if (coding === null && !tracing) return admission;
    const path = find(head.path)?.path;
    if (!path) return admission;
    const answer = tracing
      ? tracedAnswer(tracing, head, path.routes.get(head.method), admission.answer)
      : admission.answer;
    if (coding === null || path.isVerbatim) return { ...admission, answer };
    return {
      ...admission,
      answer: (body) => {
        const reply = answer(body);
        return reply instanceof Promise ? whenDone(reply, coding) : compressed(reply, coding);
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

interface Work {
  /** Actors may have been asked. */
  isBegun: boolean;
  /** The ledger has its row, or stores it as soon as it can. */
  hasRow: boolean;
}

/** The billing category of work without an answer, by the first tag of its route. */
const UNANSWERED_AS: Readonly<Record<string, Bill["category"]>> = {
  search: "search",
  fetch: "fetch_own",
  filings: "filings",
  profiles: "profiles",
  companies: "company",
};

/** Faults that say that no actor took the request. */
const NOT_STARTED: ReadonlySet<string> = new Set([
  "mailbox_full",
  "no_workers",
  "overloaded",
  "message_too_large",
]);

const mayHaveStarted = (problem: unknown): boolean =>
  !(problem instanceof Fault && NOT_STARTED.has(problem.code));

const projectRefOf = ({ body }: Pick<Checked, "body">): string | null =>
  ((body ?? {}) as { readonly project_ref?: string | null }).project_ref ?? null;

/** Whether an answer depends on something that has to be stored first. */
const isWriting = ({ method, category }: Route): boolean =>
  category !== null || method === "POST" || method === "DELETE";

type LimitCheck = { readonly refusal: Reply } | { readonly limit: string };

interface Checked {
  readonly signal: AbortSignal;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly bytes: Buffer;
  readonly warnings: Set<string>;
}

/** The answer with one header field for each unknown name. */
const withWarnings = (answer: Answer, warnings: ReadonlySet<string>): Answer =>
  warnings.size === 0
    ? answer
    : { ...answer, repeated_headers: [...warnings].map((warning) => [WARNING_HEADER, warning] as const) };

function once(call: () => void): () => void {
  let called = false;
  return () => {
    if (!called) call();
    called = true;
  };
}

const NO_BYTES = Buffer.alloc(0);
const CLIENT_CONNECTED: ClientAbort = { aborted: false, signal: new AbortController().signal };
const NO_LABELS = {};
const SENT = { direction: "sent" };
const RECEIVED = { direction: "received" };
const OPEN_TO_BROWSERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "ETag, Retry-After",
};

const statusClass = (status: number): string => CLASSES[Math.floor(status / 100) - 1] ?? "5xx";

const whenDone = async (reply: Promise<Reply>, coding: ContentCoding): Promise<Reply> =>
  compressed(await reply, coding);

/** Body and parameters as the route's schemas read them, or the refusal. Mistakes in path, query and body come in one list. */
function read(
  context: RequestContext,
  body: Body,
): (Omit<RequestContext, "params" | "abort"> & Checked) | Reply {
  const { route, params, query, body: check } = context.compiled as CompiledRoute & { route: Route };
  if (route.body && body.kind === "too_large") return tooLarge(route.too_large);
  const parts = [
    params ? params(context.params) : READ_NOTHING,
    query ? query(context.head.query) : READ_NOTHING,
    check ? readBody(body, check) : READ_NOTHING,
  ];
  const detail = parts.flatMap((part) => (part.kind === "wrong" ? part.detail : []));
  if (detail.length > 0) return invalid(detail);
  const [path, search, content] = parts.map((part) => (part as { value: unknown }).value);
  const bytes = body.kind === "whole" ? body.bytes : NO_BYTES;
  const warnings = new Set<string>();
  if (route.auth === "key") {
    warnOfUnknownParameters(context.compiled.parameters, context.head.query, warnings);
    if (check && route.body) warnOfUnknownFields(route.body, content, warnings);
  }
  return {
    ...context,
    signal: context.abort.signal,
    params: path,
    query: search,
    body: content,
    bytes,
    warnings,
  };
}

function readBody(body: Body, check: (value: unknown) => ReadResult<unknown>): ReadResult<unknown> {
  if (body.kind !== "whole") return READ_NOTHING;
  const parsed = readJson(body.bytes);
  return parsed.kind === "wrong" ? parsed : check(parsed.value);
}

/** Null stands for all requests without a route: they share one label. */
function compileRoute(route: Route | null): CompiledRoute {
  const body = route?.body && !route.raw ? shape(route.body) : null;
  const label = route?.path ?? "none";
  const method = route?.method ?? "other";
  return {
    route: route!,
    params: route?.params ? pathReader(route.params) : null,
    query: route?.query ? queryReader(route.query) : null,
    body: body && ((value) => body.read("body", value)),
    parameters: Object.keys(route?.query?.properties ?? {}),
    duration: { route: label },
    counted: new Map(CLASSES.map((status) => [status, { route: label, method, status }])),
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

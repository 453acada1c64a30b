/**
 * From a request's head to its answer, in the order decided once (notes, section 8): route 404 and 405, OPTIONS,
 * key 401, suspended 403, rate 429, too large 413, shape 422, category 403, the route's own 403, allowances 429, and
 * only then the route. Every answer gets its request id and is counted and logged. It opens no socket: an adapter of
 * the HTTP port calls `admit`, and so do tests.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Level, Meters } from "../cluster/ports/meters.ts";
import type { Random } from "../cluster/ports/random.ts";
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
import type { Admission, Admit, Body, Gone, Head, ListenOptions, Reply } from "./http.ts";
import type { Metering } from "./metering.ts";
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
  tooLarge,
  unavailable,
} from "./http-errors.ts";
import { requestIds } from "./request-id.ts";
import { type Answer, type Found, type Place, type Route, router } from "./route.ts";
import { pathReader, queryReader, type Read, readJson, shape } from "./validate.ts";

interface Needs {
  readonly routes: readonly Route[];
  readonly identify: Identify;
  readonly metering: Metering;
  /** Where several gateways keep rates together; left out, this one counts for itself. */
  readonly rates?: Rates;
  readonly clock: Clock;
  readonly random: Random;
  readonly meters: Meters;
}

export interface Server {
  readonly admit: Admit;
  /** For an adapter whose answer broke outside of a route: logged, and 500 with an id to find it by. */
  readonly failed: ListenOptions["failed"];
}

/** What of a route is compiled or drawn up once. */
interface Ready {
  readonly route: Route;
  readonly params: ((given: Readonly<Record<string, string>>) => Read<unknown>) | null;
  readonly query: ((query: string) => Read<unknown>) | null;
  readonly body: ((value: unknown) => Read<unknown>) | null;
  readonly duration: { readonly route: string };
  readonly counted: ReadonlyMap<string, { route: string; method: string; status: string }>;
}

/** One request on its way through the checks. */
interface Passage {
  readonly request_id: string;
  readonly head: Head;
  readonly gone: Gone;
  readonly now_ms: number;
  readonly began_ms: number;
  readonly ready: Ready;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * A body is held whole until it is read. Small ones are bounded by connections; of large ones so many may be on
 * their way at once, fewer from keys that are not known yet; the next is told to come back.
 */
const LARGE_BODY_BYTES = 2 ** 20;
const MAX_LARGE_BODIES = 16;
const MAX_LARGE_BODIES_OF_STRANGERS = 4;
const TOO_MANY_LARGE = unavailable("too many large requests at once, try again", 5);

const CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;
const NOBODY: Readonly<Record<string, string>> = {};
const READ_NOTHING: Read<unknown> = { kind: "read", value: null };

export function server({ routes, identify, metering, rates, clock, random, meters }: Needs): Server {
  const find = router(routes);
  const compiled = new Map(routes.map((route) => [route, prepared(route)]));
  const unrouted = prepared(null);
  const requestId = requestIds({ random });

  /** The last of every answer: its id, and what operators see of it. */
  function finish(
    passage: Passage,
    reply: Reply,
    caller: Caller | null = null,
    limit: string | null = null,
    level: Level = "info",
  ): Reply {
    const { ready, request_id, head, gone } = passage;
    const headers: Record<string, string> = { ...reply.headers };
    if (limit !== null) addCallerHeaders(headers, caller!, limit);
    if (ready.route?.cors) Object.assign(headers, OPEN_TO_BROWSERS);
    headers["X-Request-Id"] = request_id;
    const ms = clock.mono() - passage.began_ms;
    if (gone.aborted) meters.count("trawl_http_aborted_total", NO_LABELS);
    meters.count(
      "trawl_http_requests_total",
      ready.counted.get(statusClass(reply.status)) ?? {
        route: ready.duration.route,
        method: "other",
        status: statusClass(reply.status),
      },
    );
    meters.observe("trawl_http_request_duration_seconds", ready.duration, ms / 1000);
    meters.say(level, "request", {
      request_id,
      route: ready.duration.route,
      method: head.method,
      // 499 as others log it: the client left, and this is what it would have got.
      status: gone.aborted ? 499 : reply.status,
      ms: Math.round(ms),
      project: caller?.grant.project.name,
      key: caller?.grant.key.prefix,
    });
    return reply.body === undefined
      ? { status: reply.status, headers }
      : { status: reply.status, headers, body: reply.body };
  }

  const large = { known: 0, strangers: 0 };

  /** Takes a place for a body that is or may become large, until its answer or its client's end. */
  function holding(
    passage: Passage,
    whose: keyof typeof large,
    limit_bytes: number,
    answer: (body: Body) => Reply | Promise<Reply>,
  ): Admission {
    const { head, gone } = passage;
    const length = head.headers.get("content-length");
    const bytes =
      length === undefined && head.headers.has("transfer-encoding") ? limit_bytes : Number(length ?? 0);
    if (limit_bytes <= LARGE_BODY_BYTES || bytes <= LARGE_BODY_BYTES || bytes > limit_bytes)
      return { limit_bytes, answer };
    const most = whose === "known" ? MAX_LARGE_BODIES : MAX_LARGE_BODIES_OF_STRANGERS;
    if (large[whose] >= most) return finish(passage, TOO_MANY_LARGE);
    large[whose]++;
    const free = once(() => large[whose]--);
    gone.signal.addEventListener("abort", free);
    return {
      limit_bytes,
      answer: async (body) => {
        try {
          return await answer(body);
        } finally {
          free();
        }
      },
    };
  }

  function refuseKey(passage: Passage, refusal: Reply): Reply {
    const reason = refusal === MISSING_TOKEN ? "missing" : refusal.status === 401 ? "invalid" : "unavailable";
    meters.count("trawl_auth_failures_total", { reason });
    return finish(passage, refusal);
  }

  /** Suspended, then rates; what follows needs the body. */
  function enter(passage: Passage, caller: Caller): Entered | Promise<Entered> {
    const counted = rates
      ? rates.count(limitedBy(caller), passage.now_ms)
      : countRate(caller, passage.now_ms);
    return counted instanceof Promise
      ? counted.then((answer) => entered(passage, caller, answer))
      : entered(passage, caller, counted);
  }

  function entered(passage: Passage, caller: Caller, { passed, limit }: Counted): Entered {
    const shut = suspended(caller);
    if (shut) {
      meters.count("trawl_auth_failures_total", { reason: "suspended" });
      return { refusal: finish(passage, shut, caller, limit) };
    }
    if (passed === null) return { limit };
    const refusal = passed === "project" ? RATE_LIMITED : KEY_RATE_LIMITED;
    return { refusal: limited(passage, refusal, passed, caller, limit) };
  }

  function limited(passage: Passage, refusal: Reply, policy: string, caller: Caller, limit: string): Reply {
    meters.count("trawl_rate_limited_total", { policy });
    return finish(passage, refusal, caller, limit);
  }

  /** Everything after the key, with the body. Throws what a shortcut throws. */
  function serve(passage: Passage, caller: Caller, limit: string, body: Body): Reply | Promise<Reply> {
    const { ready, request_id, now_ms } = passage;
    const { shortcut, category } = ready.route!;
    metering.turn(caller.meter, now_ms);

    const quick = shortcut && body.kind === "whole" ? shortcut(body.bytes, caller, now_ms) : null;
    if (quick) {
      const refusal = (category && categoryRefused(caller, category)) ?? spendRefused(caller, now_ms);
      const granted = refusal === null && metering.claim(caller.meter, category);
      const answer = (): Reply => {
        metering.settle(caller.meter, category, quick.bill);
        // A busy cache would drown the log: these lines are there at level debug.
        return finish(passage, quick.reply(request_id), caller, limit, "debug");
      };
      if (granted === true) return answer();
      if (granted !== false)
        return granted.then(
          (isGranted) => (isGranted ? answer() : exhausted(passage, caller, limit)),
          (problem: unknown) => finish(passage, broken(passage, problem), caller, limit),
        );
    }
    return handle(passage, caller, limit, body);
  }

  const exhausted = (passage: Passage, caller: Caller, limit: string): Reply => {
    const refusal = quotaRefused(caller, passage.ready.route!.category!, passage.now_ms);
    return limited(passage, refusal, "allowance", caller, limit);
  };

  async function handle(passage: Passage, caller: Caller, limit: string, body: Body): Promise<Reply> {
    const { now_ms } = passage;
    const route = passage.ready.route!;
    const { category } = route;
    const call = read(passage, body);
    if ("status" in call) return finish(passage, call, caller, limit);
    const known = { ...call, caller };
    const refusal = (category && categoryRefused(caller, category)) ?? route.permit?.(known) ?? null;
    if (refusal) return finish(passage, refusal, caller, limit);
    let answer: Answer | null = null;
    let granted: boolean;
    try {
      const claimed = metering.claim(caller.meter, category);
      granted = claimed instanceof Promise ? await claimed : claimed;
    } catch (problem) {
      return finish(passage, broken(passage, problem), caller, limit);
    }
    if (!granted) return exhausted(passage, caller, limit);
    try {
      const spent = category && spendRefused(caller, now_ms);
      if (spent) return limited(passage, spent, "allowance", caller, limit);
      answer = await route.handle(known);
    } catch (problem) {
      return finish(passage, broken(passage, problem), caller, limit);
    } finally {
      metering.settle(caller.meter, category, answer?.bill ?? null);
    }
    return finish(passage, answer, caller, limit);
  }

  /** What was thrown: a fault of an engine has its status, anything else is a bug and says nothing of itself. */
  function broken({ request_id, ready }: Passage, problem: unknown): Reply {
    if (problem instanceof Fault) {
      meters.count("trawl_faults_total", { code: problem.code });
      meters.say("warn", problem.message, { request_id, route: ready.duration.route, code: problem.code });
      return ofFault(problem, request_id);
    }
    meters.say("error", "A route broke", { request_id, route: ready.duration.route, problem });
    return internalError(request_id);
  }

  function passageOf(head: Head, gone: Gone, found: Ready, params: Found["params"]): Passage {
    const now_ms = clock.now();
    return {
      request_id: requestId(now_ms),
      head,
      gone,
      now_ms,
      began_ms: clock.mono(),
      ready: found,
      params,
    };
  }

  async function open(passage: Passage, body: Body): Promise<Reply> {
    const call = read(passage, body);
    if ("status" in call) return finish(passage, call);
    try {
      return finish(passage, await passage.ready.route!.handle(call));
    } catch (problem) {
      return finish(passage, broken(passage, problem));
    }
  }

  /** A key that had to be looked up first: the body is here by now, the checks are the same. */
  async function late(passage: Passage, lookup: Promise<Caller | Reply>, body: Body): Promise<Reply> {
    try {
      const found = await lookup;
      if (!isCaller(found)) return refuseKey(passage, found);
      return await served(passage, found, enter(passage, found), body);
    } catch (problem) {
      return finish(passage, broken(passage, problem));
    }
  }

  async function served(
    passage: Passage,
    caller: Caller,
    entering: Entered | Promise<Entered>,
    body: Body,
  ): Promise<Reply> {
    const found = await entering;
    return "refusal" in found ? found.refusal : serve(passage, caller, found.limit, body);
  }

  return {
    admit(head, gone) {
      const found = find(head.path);
      if (found === null) return finish(passageOf(head, gone, unrouted, NOBODY), NOT_FOUND);
      const { routes: here, allow } = found.place;
      const route = here.get(head.method) ?? (head.method === "HEAD" ? here.get("GET") : undefined);
      if (!route) {
        const passage = passageOf(head, gone, unrouted, NOBODY);
        return finish(
          passage,
          head.method === "OPTIONS" ? options(found.place, head) : methodNotAllowed(allow),
        );
      }
      const ready = compiled.get(route)!;
      const passage = passageOf(head, gone, ready, found.params);
      const { limit_bytes } = route;
      if (route.auth === "none") return { limit_bytes, answer: (body) => open(passage, body) };

      const identified = identify(head.headers.get("authorization"), passage.now_ms);
      if (identified instanceof Promise) {
        identified.catch(() => {}); // Awaited when the body is there; a client may leave before.
        return holding(passage, "strangers", limit_bytes, (body) => late(passage, identified, body));
      }
      if (!isCaller(identified)) return refuseKey(passage, identified);
      const entering = enter(passage, identified);
      if (entering instanceof Promise) {
        entering.catch(() => {});
        return holding(passage, "known", limit_bytes, (body) => served(passage, identified, entering, body));
      }
      if ("refusal" in entering) return entering.refusal;
      return holding(passage, "known", limit_bytes, (body) =>
        serve(passage, identified, entering.limit, body),
      );
    },

    failed(problem, head) {
      const passage = passageOf(head, STAYED, unrouted, NOBODY);
      return finish(passage, broken(passage, problem));
    },
  };
}

type Entered = { readonly refusal: Reply } | { readonly limit: string };

interface Checked {
  readonly gone: AbortSignal;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly bytes: Buffer;
}

function once(call: () => void): () => void {
  let called = false;
  return () => {
    if (!called) call();
    called = true;
  };
}

const NO_BYTES = Buffer.alloc(0);
const STAYED: Gone = { aborted: false, signal: new AbortController().signal };
const NO_LABELS = {};
const OPEN_TO_BROWSERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "ETag, Retry-After",
};

const statusClass = (status: number): string => CLASSES[Math.floor(status / 100) - 1] ?? "5xx";

/** Body and parameters as the route's schemas say, or the refusal. Path, query and body errors come in one list. */
function read(passage: Passage, body: Body): (Omit<Passage, "params" | "gone"> & Checked) | Reply {
  const { route, params, query, body: check } = passage.ready as Ready & { route: Route };
  if (route.body && body.kind === "too_large") return tooLarge(route.too_large);
  const given = [
    params ? params(passage.params) : READ_NOTHING,
    query ? query(passage.head.query) : READ_NOTHING,
    check ? readBody(body, check) : READ_NOTHING,
  ];
  const detail = given.flatMap((part) => (part.kind === "wrong" ? part.detail : []));
  if (detail.length > 0) return invalid(detail);
  const [path, search, content] = given.map((part) => (part as { value: unknown }).value);
  const bytes = body.kind === "whole" ? body.bytes : NO_BYTES;
  return { ...passage, gone: passage.gone.signal, params: path, query: search, body: content, bytes };
}

function readBody(body: Body, check: (value: unknown) => Read<unknown>): Read<unknown> {
  if (body.kind === "too_large") return READ_NOTHING;
  const parsed = readJson(body.bytes);
  return parsed.kind === "wrong" ? parsed : check(parsed.value);
}

/** Null stands for whatever no route answers: one label for all of it. */
function prepared(route: Route | null): Ready {
  const body = route?.body && !route.raw ? shape(route.body) : null;
  const label = route?.path ?? "none";
  const method = route?.method ?? "other";
  return {
    route: route!,
    params: route?.params ? pathReader(route.params) : null,
    query: route?.query ? queryReader(route.query) : null,
    body: body && ((value) => body.read("body", value)),
    duration: { route: label },
    counted: new Map(CLASSES.map((status) => [status, { route: label, method, status }])),
  };
}

/** What may be done here; where browsers are welcome also to them, for ten minutes. */
function options({ routes, allow }: Place, head: Head): Reply {
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

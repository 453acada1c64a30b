/** Checks of a request's key before its body is read: 401, suspended 403, rate 429, operators only 403. */
import type { Node } from "../cluster/node-record.ts";
import {
  type Caller,
  countRate,
  type Identify,
  isCaller,
  limitedBy,
  operatorRefused,
  suspended,
} from "./authenticate.ts";
import type { RequestContext } from "./compiled-route.ts";
import type { Admission, Reply } from "./http.ts";
import { KEY_RATE_LIMITED, MISSING_TOKEN, RATE_LIMITED } from "./http-errors.ts";
import type { Counted, Rates } from "./rates.ts";
import type { RequestEnd } from "./request-end.ts";

/** `limit`: the caller's rate as its header says it. */
export type LimitCheck = { readonly refusal: Reply } | { readonly limit: string };

export interface KeyChecks {
  readonly refuseKey: (context: RequestContext, refusal: Reply) => Reply;
  /** The answer to a request without a route: it needs no key, and a caller with one is told its limits, for which it counts. */
  readonly refuseRoute: (context: RequestContext, refusal: Reply) => Admission;
  /** Suspension, then rates, then whether the route is for operators. The later checks need the body. */
  readonly checkLimits: (context: RequestContext, caller: Caller) => LimitCheck | Promise<LimitCheck>;
}

export function keyChecks({
  identify,
  rates,
  end,
  metrics,
}: Pick<Node, "metrics"> & {
  readonly identify: Identify;
  readonly rates: Rates | undefined;
  readonly end: RequestEnd;
}): KeyChecks {
  const { finish, errorReply } = end;

  function refuseKey(context: RequestContext, refusal: Reply): Reply {
    const reason = refusal === MISSING_TOKEN ? "missing" : refusal.status === 401 ? "invalid" : "unavailable";
    metrics.count("trawl_auth_failures_total", { reason });
    return finish(context, refusal);
  }

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
    if (passed === null) {
      const refused = context.compiled.route!.operators_only ? operatorRefused(caller) : null;
      return refused ? { refusal: finish(context, refused, caller, limit) } : { limit };
    }
    const refusal = passed === "project" ? RATE_LIMITED : KEY_RATE_LIMITED;
    metrics.count("trawl_rate_limited_total", { policy: passed });
    return { refusal: finish(context, refusal, caller, limit) };
  }

  return { refuseKey, refuseRoute, checkLimits };
}

/** Requests that a route makes to other routes in its caller's name: see AskWithin. */
import type { Caller } from "./authenticate.ts";
import type { ClientAbort, Head } from "./http.ts";
import { NOT_FOUND } from "./http-errors.ts";
import type { LimitCheck } from "./key-checks.ts";
import type { RequestContext } from "./compiled-route.ts";
import type { AskWithin, RequestWithin, Route, RouteMatch } from "./route.ts";
import type { Serve } from "./serve.ts";

interface WithinDeps extends Pick<Serve, "serve"> {
  readonly find: (path: string) => RouteMatch | null;
  readonly contextOf: (
    head: Head,
    abort: ClientAbort,
    route: Route,
    params: RouteMatch["params"],
  ) => RequestContext;
  readonly checkLimits: (context: RequestContext, caller: Caller) => LimitCheck | Promise<LimitCheck>;
}

/** Requests of one call, whose own limit is the first one's, too. */
export const requestsWithin =
  ({ find, contextOf, checkLimits, serve }: WithinDeps) =>
  (outer: RequestContext, caller: Caller, limit: string): AskWithin => {
    let isFirst = true;
    return async (request) => {
      const isCounted = isFirst;
      isFirst = false;
      const head = headWithin(outer.head, request);
      const match = find(head.path);
      const route = match?.path.routes.get(request.method);
      if (!match || !route || route.operators_only || route.auth === "none") return NOT_FOUND;
      const context = contextOf(head, outer.abort, route, match.params);
      const check = isCounted ? { limit } : await checkLimits(context, caller);
      if ("refusal" in check) return check.refusal;
      const bytes = Buffer.from(request.body === undefined ? "" : JSON.stringify(request.body));
      return serve(context, caller, check.limit, { kind: "whole", bytes });
    };
  };

/** The head of a request within another one, from the same client. */
function headWithin({ address }: Head, { method, path: target, headers }: RequestWithin): Head {
  const at = target.indexOf("?");
  const [path, query] = at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
  const given = { "content-type": "application/json", ...headers };
  return { method, path, query, address, headers: new Map(Object.entries(given)) };
}

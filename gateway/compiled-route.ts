/** A route as the gateway compiles it once, and how a request is read with it. */
import { deprecationHeaders } from "./deprecation.ts";
import type { Body, ClientAbort, Head, Reply } from "./http.ts";
import { BODY_TOO_SLOW, invalid, TOO_MANY_LARGE, tooLarge } from "./http-errors.ts";
import type { Route } from "./route.ts";
import { pathReader, queryReader, type ReadResult, readJson, shape } from "./validate.ts";
import { unknownFields, unknownParameters } from "./unknown-names.ts";
import { refusedNames } from "./warnings.ts";

const CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;
const READ_NOTHING: ReadResult<unknown> = { kind: "read", value: null };
const NO_BYTES = Buffer.alloc(0);

export const statusClass = (status: number): string => CLASSES[Math.floor(status / 100) - 1] ?? "5xx";

/** The compiled parts of a route. */
export interface CompiledRoute {
  readonly route: Route;
  readonly params: ((given: Readonly<Record<string, string>>) => ReadResult<unknown>) | null;
  readonly query: ((query: string) => ReadResult<unknown>) | null;
  readonly body: ((value: unknown) => ReadResult<unknown>) | null;
  readonly duration: { readonly route: string };
  /** Header fields of every answer; null: the route is not deprecated. */
  readonly deprecation: ReturnType<typeof deprecationHeaders> | null;
  readonly counted: ReadonlyMap<string, { route: string; method: string; status: string }>;
}

/** A request during the checks. */
export interface RequestContext {
  readonly request_id: string;
  readonly head: Head;
  readonly abort: ClientAbort;
  readonly now_ms: number;
  readonly began_ms: number;
  readonly compiled: CompiledRoute;
  readonly params: Readonly<Record<string, string>>;
}

/** The arguments of a route before the caller is known. */
export interface Checked {
  readonly signal: AbortSignal;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly bytes: Buffer;
  readonly warnings: Set<string>;
}

/** Null stands for all requests without a route: they share one label. */
export function compileRoute(route: Route | null): CompiledRoute {
  const body = route?.body && !route.raw ? shape(route.body) : null;
  const label = route?.path ?? "none";
  const method = route?.method ?? "other";
  return {
    route: route!,
    params: route?.params ? pathReader(route.params) : null,
    query: route?.query ? queryReader(route.query) : null,
    body: body && ((value) => body.read("body", value)),
    duration: { route: label },
    deprecation: route?.deprecated ? deprecationHeaders(route.deprecated) : null,
    counted: new Map(CLASSES.map((status) => [status, { route: label, method, status }])),
  };
}

/** Body and parameters as the route's schemas read them, or the refusal. Mistakes in path, query and body come in one list. */
export function readCall(
  context: RequestContext,
  body: Body,
): (Omit<RequestContext, "params" | "abort"> & Checked) | Reply {
  const { route, params, query, body: check } = context.compiled as CompiledRoute & { route: Route };
  const refusal = route.body && bodyRefusal(body, route);
  if (refusal) return refusal;
  const address = route.readAddress?.(context.params, context.head.query);
  const parts = address
    ? [READ_NOTHING, READ_NOTHING, address.body]
    : [
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
    const unknown = address?.unknown ?? [
      ...unknownParameters(route.query, context.head.query),
      ...(check && route.body ? unknownFields(route.body, content, ["body"]) : []),
    ];
    const refused = refusedNames(unknown, { head: context.head, warnings });
    if (refused.length > 0) return invalid(refused);
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

/** Null: the body is whole. */
function bodyRefusal(body: Body, { too_large }: Route): Reply | null {
  switch (body.kind) {
    case "whole":
      return null;
    case "too_large":
      return tooLarge(too_large);
    case "too_slow":
      return BODY_TOO_SLOW;
    case "no_room":
      return TOO_MANY_LARGE;
    case "unreadable": {
      const msg = `Value error, the body cannot be read as ${body.coding}, which its Content-Encoding says`;
      return invalid([{ loc: ["body"], msg, type: "value_error" }]);
    }
  }
}

function readBody(body: Body, check: (value: unknown) => ReadResult<unknown>): ReadResult<unknown> {
  if (body.kind !== "whole") return READ_NOTHING;
  const parsed = readJson(body.bytes);
  return parsed.kind === "wrong" ? parsed : check(parsed.value);
}

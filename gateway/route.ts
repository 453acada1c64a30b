/**
 * A route: one HTTP operation described as data, and a function from a checked call to an answer. The router, the
 * checks, the metric labels and the OpenAPI document are derived from this description. It opens no socket.
 */
import type { Static, TObject, TSchema } from "typebox";
import type { QuotaCategory } from "../schemas/accounts.ts";
import type { Caller } from "./authenticate.ts";
import type { Deprecation } from "./deprecation.ts";
import type { Head, Reply } from "./http.ts";
import type { BeginOptions } from "./pending-requests.ts";
import type { UnknownName } from "./unknown-names.ts";
import type { ReadResult } from "./validate.ts";
import type { Bill } from "../schemas/accounts.ts";

export type Method = "GET" | "HEAD" | "POST" | "PATCH" | "DELETE";

/** The readers of a route: programs of clients, operators and their tools, or people with a browser. */
export const AUDIENCES = ["clients", "operators", "people"] as const;
export type Audience = (typeof AUDIENCES)[number];

/** `protocols`: what a route takes and answers is described by the protocol that it speaks, in no document of this API. */
export const audienceOf = ({
  audience,
  operators_only,
}: Pick<Route, "audience" | "operators_only">): Audience | "protocols" =>
  audience ?? (operators_only ? "operators" : "clients");

const OPERATORS_PATH = "/v1/ops/";

/** 64 MB: the specification's limit of a request body. */
export const MAX_BODY_BYTES = 67_108_864;

/** A request that passed every check before the route's own. */
export interface OpenCall<Params = unknown, Query = unknown, Body = unknown> {
  readonly request_id: string;
  /** When its head arrived. */
  readonly now_ms: number;
  readonly head: Head;
  /** Aborts when the client disconnects. Work begun for the call may go on; its answer is dropped. */
  readonly signal: AbortSignal;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The body as it came, for what depends on its very bytes. */
  readonly bytes: Buffer;
  /** Unknown fields and parameters. A route that reads its body by itself adds to it; the answer carries them. */
  readonly warnings: Set<string>;
}

export interface Call<Params = unknown, Query = unknown, Body = unknown> extends OpenCall<
  Params,
  Query,
  Body
> {
  readonly caller: Caller;
  /**
   * To be awaited before work that may ask an upstream: from then on the call has a row of the ledger, also when this
   * process is killed or the caller gets 503 or 504. With `ordered`, a power cut takes that row as long as nothing was stored
   * after it: then the work awaits a durable write of the same documents before it asks anything outside. Throws Fault.
   */
  readonly beginWork: (options?: BeginOptions) => Promise<void>;
  /**
   * To be awaited before each request beyond the first that is billed as one of its own. Null: the key's quota or a limit of spend
   * leaves nothing for it. Throws Fault.
   */
  readonly beginFurtherWork: () => Promise<FurtherWork | null>;
  /** Asks another operation of this API in the caller's name. */
  readonly askWithin: AskWithin;
}

/** A request that a route makes to another route: clients' operations in another form are made of these (gateway/mcp). */
export interface RequestWithin {
  readonly method: Method;
  /** With its query. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: object;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The request is checked, limited, billed, counted and logged like one that came by itself; only the first of a call counts in no
 * window of requests, for the call did. Operators' operations are not found. Ends with the client's connection, as the call does.
 */
export type AskWithin = (request: RequestWithin) => Promise<Reply>;

export interface FurtherWork {
  /** The id of its row in the ledger. */
  readonly id: string;
  /** Called once; without it the work has a row as one that was interrupted. Resolves when the row is stored. Throws Fault. */
  readonly finish: (bill: Bill) => Promise<void>;
}

/** Without a `bill` the call is not counted, for example because the service could not answer it. */
export interface Answer extends Reply {
  readonly bill?: Bill;
  /** With a 504: how the work that goes on ends, for the ledger; null: it failed, or nothing can be said. */
  readonly late_bill?: Promise<Bill | null>;
  /**
   * Stores what must be there when the client has the answer. Called once: beside the write of the answer's row where the
   * answer waits for its row, otherwise before the row is recorded. Throws Fault; the answer is not sent then.
   */
  readonly beforeSending?: () => Promise<void>;
}

/** How one status looks in the OpenAPI document. Without a schema and a content type there is no body. */
export interface ReplyShape {
  readonly description: string;
  readonly schema?: TSchema;
  /** Default application/json, when there is a schema. */
  readonly content_type?: string;
  /** Schema of each line where the answer is `application/x-ndjson`, alone or on request. */
  readonly lines?: TSchema;
  /** Further content types that the client may ask for, each a text. */
  readonly also?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that the service makes to an address in the body of a request, for the OpenAPI document. */
export interface CallbackShape {
  /** The field of the body with the address. */
  readonly to: string;
  readonly summary: string;
  readonly description: string;
  readonly schema: TSchema;
  readonly headers: Readonly<Record<string, string>>;
}

/** An answer known from the bytes of the request alone; only its request id is missing. */
export interface Shortcut {
  readonly bill: Bill;
  readonly project_ref: string | null;
  readonly reply: (request_id: string) => Reply;
}

type ReadAddress = (
  params: Readonly<Record<string, string>>,
  query: string,
) => { readonly body: ReadResult<unknown>; readonly unknown: readonly UnknownName[] };

interface RouteDescription {
  readonly path: string;
  /** Frozen once served: clients are generated from it. */
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  /** In which API document it stands. Default: operators' for /v1/ops, else clients'. */
  readonly audience?: Audience | "protocols";
  /** A body of the first content type that works as it is. Default: none is shown. */
  readonly body_example?: object | string;
  /** Parameters without which a request says nothing, although each may be left out; for its sample. */
  readonly query_example?: Readonly<Record<string, string>>;
  readonly callbacks?: Readonly<Record<string, CallbackShape>>;
  readonly replies: Readonly<Record<number, ReplyShape>>;
  /** Adds CORS headers that let scripts of any origin read it. */
  readonly cors?: boolean;
  /** Says so in each answer and in the API document. Default: the operation is there to stay. */
  readonly deprecated?: Deprecation;
  /** For a protocol whose clients read errors in another form: makes its answer of every refusal that the gateway gives on this route. */
  readonly refusalAs?: (refusal: Reply) => Reply;
  /** Sent as it is, never compressed: the bytes are the answer. */
  readonly verbatim?: boolean;
}

/** A route as the server holds it, its types forgotten. */
export interface Route extends RouteDescription {
  readonly method: Method;
  readonly auth: "key" | "none";
  /** All of /v1/ops: other keys are refused before the body is read. */
  readonly operators_only: boolean;
  readonly params: TObject | null;
  readonly query: TObject | null;
  readonly body: TSchema | null;
  /** The body's schema by content type. Default: `body` as application/json. */
  readonly body_content?: Readonly<Record<string, TSchema>>;
  /** Header fields it reads, by name, each with its description. */
  readonly request_headers?: Readonly<Record<string, string>>;
  /** The route reads `bytes` by itself, piece by piece; `body` is only described, and null when it is called. */
  readonly raw?: boolean;
  /** The last parameter of the path takes all the rest of it, undecoded. */
  readonly rest?: boolean;
  /** Reads `body` from the path and the query, which `params` and `query` only describe: a GET that stands for a POST. */
  readonly readAddress?: ReadAddress;
  /** A batch of items: each is counted when it runs, the request itself is not. */
  readonly items?: boolean;
  /** Bodies larger than this are 413 while they arrive. */
  readonly limit_bytes: number;
  readonly too_large: string;
  /** The quota it counts towards. A key may be restricted to some categories. Null: no category and no monthly quota. */
  readonly category: QuotaCategory | null;
  /** Whether every call that is handled may ask an upstream. Default: the route calls beginWork itself. */
  readonly always_begins_work?: boolean;
  /** Refusals that need the body: after the key's category, before its allowances. */
  readonly authorize?: (call: any) => Reply | null;
  /** The error codes of those refusals, for the document. */
  readonly authorize_errors?: readonly string[];
  /** Answers at once what was asked before in the very same bytes; null: the long way. */
  readonly shortcut?: (bytes: Buffer, caller: Caller, now_ms: number, head: Head) => Shortcut | null;
  readonly handle: (call: any) => Answer | Promise<Answer>;
}

/** Left out of a definition: no parameters, no body. */
interface Shapes<P, Q, B> {
  readonly method: Method;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly body_content?: Route["body_content"];
  readonly request_headers?: Route["request_headers"];
  readonly raw?: boolean;
  readonly rest?: boolean;
  readonly readAddress?: ReadAddress;
  readonly items?: boolean;
  readonly limit_bytes?: number;
  readonly too_large?: string;
}

type Of<S> = S extends TSchema ? Static<S> : null;

interface Keyed<P, Q, B> extends RouteDescription, Shapes<P, Q, B> {
  readonly category?: QuotaCategory;
  readonly always_begins_work?: boolean;
  readonly authorize?: (call: Call<Of<P>, Of<Q>, Of<B>>) => Reply | null;
  readonly authorize_errors?: Route["authorize_errors"];
  readonly shortcut?: Route["shortcut"];
  readonly handle: (call: Call<Of<P>, Of<Q>, Of<B>>) => Answer | Promise<Answer>;
}

interface Open<P, Q> extends RouteDescription, Shapes<P, Q, undefined> {
  readonly handle: (call: OpenCall<Of<P>, Of<Q>, null>) => Answer | Promise<Answer>;
}

const NOTHING = {
  params: null,
  query: null,
  body: null,
  too_large: "request body over 64 MB",
  category: null,
} as const;

/** A route that needs a key. */
export const route = <
  P extends TObject | null = null,
  Q extends TObject | null = null,
  B extends TSchema | null = null,
>(
  definition: Keyed<P, Q, B>,
): Route =>
  ({
    ...NOTHING,
    limit_bytes: definition.body ? MAX_BODY_BYTES : 0,
    ...definition,
    auth: "key",
    operators_only: definition.path.startsWith(OPERATORS_PATH),
  }) as Route;

/** A route that needs no key. Its handler gets no caller, and an Authorization field is ignored. */
export const openRoute = <P extends TObject | null = null, Q extends TObject | null = null>(
  definition: Open<P, Q>,
): Route => ({ ...NOTHING, limit_bytes: 0, ...definition, auth: "none", operators_only: false }) as Route;

/** A path template and the routes on it, by method. */
export interface PathRoutes<R = Route> {
  readonly template: string;
  readonly routes: ReadonlyMap<string, R>;
  /** The Allow field of a 405 and of OPTIONS. */
  readonly allow: string;
  /** Answers of this path are never compressed. */
  readonly isVerbatim: boolean;
}

export interface RouteMatch<R = Route> {
  readonly path: PathRoutes<R>;
  /** Decoded; what cannot be decoded stays as it came, for its pattern to refuse. */
  readonly params: Readonly<Record<string, string>>;
}

interface Branch<R> {
  path: { template: string; routes: Map<string, R>; allow: string; isVerbatim: boolean } | null;
  readonly literals: Map<string, Branch<R>>;
  /** Parameters with what must follow them in the segment, as `.csv`; the longest first. */
  readonly parameters: { readonly name: string; readonly suffix: string; readonly branch: Branch<R> }[];
  /** A parameter that takes all that follows. */
  rest: { readonly name: string; readonly branch: Branch<R> } | null;
}

const branch = <R>(): Branch<R> => ({ path: null, literals: new Map(), parameters: [], rest: null });
const NO_PARAMS = Object.freeze({});
const SEGMENT = /^\{([a-z0-9_]+)\}(.*)$/;

/** Finds the routes of a path. In each segment a literal beats a parameter. */
export function router<R extends Pick<Route, "path" | "verbatim" | "rest"> & { readonly method: string }>(
  routes: readonly R[],
): (path: string) => RouteMatch<R> | null {
  const root = branch<R>();
  const literal = new Map<string, RouteMatch<R>>();
  for (const each of routes) {
    let at = root;
    const segments = each.path.split("/").slice(1);
    for (const [n, segment] of segments.entries())
      at = each.rest && n === segments.length - 1 ? growRest(at, segment) : grow(at, segment);
    at.path ??= { template: each.path, routes: new Map(), allow: "", isVerbatim: each.verbatim ?? false };
    if (at.path.routes.has(each.method))
      throw new TypeError(`Cannot route ${each.method} "${each.path}" twice`);
    at.path.routes.set(each.method, each);
    at.path.allow = allowOf(at.path.routes);
    if (!each.path.includes("{")) literal.set(each.path, { path: at.path, params: NO_PARAMS });
  }
  return (path) => literal.get(path) ?? search(root, path.split("/"), 1, []);
}

function grow<R>(at: Branch<R>, segment: string): Branch<R> {
  const parameter = SEGMENT.exec(segment);
  if (!parameter) {
    const existing = at.literals.get(segment) ?? branch<R>();
    at.literals.set(segment, existing);
    return existing;
  }
  const [, name, suffix] = parameter as unknown as [string, string, string];
  const existing = at.parameters.find((other) => other.name === name && other.suffix === suffix);
  if (existing) return existing.branch;
  const fresh = { name, suffix, branch: branch<R>() };
  at.parameters.push(fresh);
  at.parameters.sort((a, b) => b.suffix.length - a.suffix.length);
  return fresh.branch;
}

function growRest<R>(at: Branch<R>, segment: string): Branch<R> {
  at.rest ??= { name: SEGMENT.exec(segment)![1]!, branch: branch() };
  return at.rest.branch;
}

function allowOf(routes: ReadonlyMap<string, unknown>): string {
  const methods = new Set<string>(routes.keys());
  if (methods.has("GET")) methods.add("HEAD");
  return [...[...methods].toSorted(), "OPTIONS"].join(", ");
}

function search<R>(
  at: Branch<R>,
  segments: readonly string[],
  index: number,
  params: readonly (readonly [name: string, text: string])[],
): RouteMatch<R> | null {
  if (index === segments.length) return at.path && { path: at.path, params: Object.fromEntries(params) };
  const segment = segments[index]!;
  const literal = at.literals.get(segment);
  const match = literal && search(literal, segments, index + 1, params);
  if (match) return match;
  for (const { name, suffix, branch: next } of at.parameters) {
    if (segment.length <= suffix.length || !segment.endsWith(suffix)) continue;
    const text = decoded(segment.slice(0, segment.length - suffix.length));
    const deeper = search(next, segments, index + 1, [...params, [name, text]]);
    if (deeper) return deeper;
  }
  const { rest } = at;
  return (
    rest &&
    search(rest.branch, segments, segments.length, [...params, [rest.name, segments.slice(index).join("/")]])
  );
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

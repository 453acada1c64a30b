/**
 * An own request: header fields, cookies, a method and a body that a caller gives for a request to a site. It may hold secrets, so it is
 * sealed wherever it is stored or sent between nodes, goes to the origin that was asked, and its answer belongs to one project.
 */
import { type Static, Type } from "typebox";
import { SESSION_FIELDS } from "./sessions.ts";
import { MASKED } from "../cluster/ports/mask.ts";
import { type Action, ACTION_FIELDS, isActing } from "./actions.ts";
import { Component, Field, Nullable } from "./common.ts";

export const MAX_OWN_HEADERS = 50;
/** Names and values together; the same for cookies. */
export const MAX_OWN_HEADER_BYTES = 16_384;
export const MAX_OWN_COOKIES = 50;
/** Name and value of one cookie, as browsers have it. */
export const MAX_COOKIE_BYTES = 4_096;
export const MAX_OWN_BODY_BYTES = 65_536;

export const OWN_METHODS = ["GET", "POST"] as const;

export const GivenCookie = Component("GivenCookie", {
  name: Field(Type.String({ minLength: 1, maxLength: 256 }), "Its name", "basket"),
  value: Field(Type.String({ maxLength: MAX_COOKIE_BYTES }), "Its value", "2f6c1e"),
  domain: Type.Optional(
    Field(
      Nullable(Type.String({ minLength: 1, maxLength: 255 })),
      "The host of `url` or a domain above it: the cookie then goes to all hosts of that domain. Default: to the origin of `url` only",
      "example.org",
    ),
  ),
  path: Type.Optional(
    Field(
      Nullable(Type.String({ minLength: 1, maxLength: 1_024 })),
      "The paths that it goes to begin with this one. Default: /",
      "/shop",
    ),
  ),
});
export type GivenCookie = Static<typeof GivenCookie>;

/** Options of a fetch, in the order of the API document. */
export const OWN_REQUEST_OPTIONS = {
  headers: Type.Optional(
    Field(
      Nullable(Type.Record(Type.String(), Type.String({ maxLength: 8_192 }))),
      "Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only",
      { "X-Api-Key": "3f9a" },
    ),
  ),
  cookies: Type.Optional(
    Field(
      Nullable(Type.Array(GivenCookie, { maxItems: MAX_OWN_COOKIES })),
      "Cookies for the origin of `url`. The routes direct and browser only",
    ),
  ),
  method: Type.Optional(
    Field(
      Type.Enum([...OWN_METHODS], { default: "GET" }),
      "POST sends `body`; it is never sent twice, so no further route is tried once it may have reached the site",
    ),
  ),
  body: Type.Optional(
    Field(
      Nullable(Type.String({ maxLength: MAX_OWN_BODY_BYTES })),
      "The body of a POST, 65,536 bytes at most. Without a Content-Type in `headers` it is a form (application/x-www-form-urlencoded)",
      "user=ada&page=2",
    ),
  ),
  cache_private: Type.Optional(
    Field(
      Type.Boolean({ default: false }),
      "Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept",
    ),
  ),
  ...ACTION_FIELDS,
  ...SESSION_FIELDS,
};
const OwnOptions = Type.Object(OWN_REQUEST_OPTIONS);
export type OwnOptions = Static<typeof OwnOptions>;

/** The own request as it goes to the origin. */
export interface OwnRequest {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly cookies: readonly GivenCookie[];
  readonly method: (typeof OWN_METHODS)[number];
  readonly body: string | null;
  /** In the page, before it is read. Default: none. */
  readonly actions?: readonly Action[];
  /** Its cookies are the session's. Default: it has none. */
  readonly session_id?: string;
}

/** Whether no site may get it twice. */
export const isSentOnce = ({ method, actions = [] }: Pick<OwnRequest, "method" | "actions">): boolean =>
  method === "POST" || isActing(actions);

export const isCookieField = (name: string): boolean => name.toLowerCase() === "cookie";

/** The cookies of a Cookie field. */
export const cookiesIn = (field: string): readonly GivenCookie[] =>
  field.split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at < 0 ? [] : [{ name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() }];
  });

/** Null: the caller gives nothing of its own. */
export function ownRequestOf({
  headers,
  cookies,
  method = "GET",
  body,
  actions,
  session_id,
}: OwnOptions): OwnRequest | null {
  const fields = Object.entries(headers ?? {});
  const own: OwnRequest = {
    headers: fields.filter(([name]) => !isCookieField(name)),
    // A cookie that is no header field meets those that the site sets, also in a browser.
    cookies:
      cookies ?? fields.filter(([name]) => isCookieField(name)).flatMap(([, value]) => cookiesIn(value)),
    method,
    body: body ?? null,
    ...(actions?.length && { actions }),
    ...(session_id != null && { session_id }),
  };
  const isOwn = own.headers.length + own.cookies.length > 0 || method === "POST";
  return isOwn || own.actions || own.session_id ? own : null;
}

/** Sealed form of an own request, for messages between nodes. */
export const SealedRequest = Type.Object({
  sealed: Type.String(),
  /** No site may get it twice: it is a POST, or has steps that act. */
  is_post: Type.Boolean(),
  /** It has steps in a page. Default: none. */
  has_actions: Type.Optional(Type.Boolean()),
  /** Its answer may be kept for its project. */
  is_cached: Type.Boolean(),
});
export type SealedRequest = Static<typeof SealedRequest>;

/** Where an own request is sealed for. */
export const ownRequestPlace = (project: string) => ({
  collection: "fetch",
  key: project,
  field: "own_request",
});

/** Where the credentials of an address are sealed for. */
export const authorizationPlace = (project: string) => ({
  collection: "fetch",
  key: project,
  field: "authorization",
});

const bareDomain = (domain: string): string => domain.toLowerCase().replace(/^\.|\.$/g, "");
const bareHost = (host: string): string => host.toLowerCase().replace(/\.$/, "");

/** Whether a cookie with this domain goes to the host (RFC 6265, section 5.1.3). */
export const isWithin = (host: string, domain: string): boolean =>
  bareHost(host) === bareDomain(domain) || bareHost(host).endsWith(`.${bareDomain(domain)}`);

/** A step without what is typed and what a script says. */
const withoutWords = (action: Action): Action => ({
  ...action,
  ...(action.text !== undefined && { text: MASKED }),
  ...(action.script !== undefined && { script: MASKED }),
});

/** A body, or the input of an item, as it is shown: names stay, values do not. */
export function withoutOwnValues<T extends Readonly<Record<string, unknown>>>(input: T): T {
  const { headers, cookies, body, actions } = input as OwnOptions;
  return {
    ...input,
    ...(headers && { headers: Object.fromEntries(Object.keys(headers).map((name) => [name, MASKED])) }),
    ...(cookies && { cookies: cookies.map((cookie) => ({ ...cookie, value: MASKED })) }),
    ...(body != null && { body: MASKED }),
    ...(actions && { actions: actions.map(withoutWords) }),
  };
}

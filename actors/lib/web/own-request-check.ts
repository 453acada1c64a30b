/** Checks of a caller's own request, beyond its schema: names of fields, characters, lengths, domains of cookies. */
import { getDomain } from "tldts";
import {
  cookiesIn,
  type GivenCookie,
  isCookieField,
  isWithin,
  MAX_COOKIE_BYTES,
  MAX_OWN_BODY_BYTES,
  MAX_OWN_HEADER_BYTES,
  MAX_OWN_HEADERS,
  type OwnOptions,
} from "../../../schemas/own-request.ts";
import { secretNames } from "../../../schemas/actions.ts";
import { actionsMistake } from "./actions-check.ts";

/** Fields of the connection, of proxies, and those that say what a browser is. */
const SET_BY_SERVICE =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|expect|accept-encoding|via|forwarded|proxy-.*|sec-.*|x-forwarded-.*)$/i;
const SET_BY_OPTION: Readonly<Record<string, string>> = {
  "user-agent": "user_agent",
  "accept-language": "accept_language",
};
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
/** Visible characters, spaces and tabs of Latin-1 (RFC 9110, section 5.5). */
const FIELD_VALUE = /^[\t\u0020-\u007e\u00a0-\u00ff]*$/;
const COOKIE_VALUE = /^[\u0021\u0023-\u002b\u002d-\u003a\u003c-\u005b\u005d-\u007e]*$/;

export interface OwnMistake {
  readonly field: string;
  readonly message: string;
}

/** A mistake in the options beyond their schema; null: there is none. */
export function ownRequestMistake(
  options: OwnOptions & { readonly url: string; readonly wait_for?: object | null },
): OwnMistake | null {
  const { headers, cookies, method = "GET", body, actions, session_id, wait_for } = options;
  const wrong = (field: string, message: string): OwnMistake => ({
    field,
    message: `Value error, ${message}`,
  });
  const inHeaders = headerMistake(Object.entries(headers ?? {}));
  if (inHeaders !== null) return wrong("headers", inHeaders);
  const field = Object.entries(headers ?? {}).find(([name]) => isCookieField(name));
  if (cookies?.length && field) return wrong("cookies", 'cookies are given in headers ("Cookie"), too');
  if (session_id != null && (cookies?.length || field))
    return wrong("cookies", "the cookies of a session are those that its sites set");
  const inCookies = cookieMistake(cookies ?? [], URL.parse(options.url)?.hostname ?? "");
  if (inCookies !== null) return wrong("cookies", inCookies);
  const inField = cookieMistake(field ? cookiesIn(field[1]) : [], "");
  if (inField !== null) return wrong("headers", inField);
  if (body != null && method !== "POST") return wrong("body", 'a body needs "method": "POST"');
  if (body != null && Buffer.byteLength(body) > MAX_OWN_BODY_BYTES)
    return wrong("body", `the body has more than ${MAX_OWN_BODY_BYTES} bytes`);
  const inActions = actionsMistake(actions ?? []);
  if (inActions !== null) return wrong("actions", inActions);
  if (session_id == null && secretNames(actions ?? []).length > 0)
    return wrong("actions", 'a "secret" is one of a session: give "session_id"');
  if (actions?.length && wait_for != null)
    return wrong("wait_for", 'a page with actions waits by steps of the type "wait"');
  return null;
}

function headerMistake(fields: readonly (readonly [string, string])[]): string | null {
  if (fields.length > MAX_OWN_HEADERS) return `there are more than ${MAX_OWN_HEADERS} fields`;
  const seen = new Set<string>();
  let bytes = 0;
  for (const [name, value] of fields) {
    const shown = JSON.stringify(name.slice(0, 60));
    const lower = name.toLowerCase();
    if (!TOKEN.test(name)) return `${shown} is no name of a header field`;
    if (SET_BY_SERVICE.test(name)) return `the field ${shown} is set by the service`;
    const option = SET_BY_OPTION[lower];
    if (option !== undefined) return `the field ${shown} is set with the option "${option}"`;
    if (seen.has(lower)) return `the field ${shown} is given more than once`;
    if (!FIELD_VALUE.test(value))
      return `the value of the field ${shown} has characters that are not allowed`;
    seen.add(lower);
    bytes += name.length + value.length;
  }
  return bytes > MAX_OWN_HEADER_BYTES ? `the fields have more than ${MAX_OWN_HEADER_BYTES} bytes` : null;
}

function cookieMistake(cookies: readonly GivenCookie[], host: string): string | null {
  let bytes = 0;
  for (const { name, value, domain, path } of cookies) {
    const shown = JSON.stringify(name.slice(0, 60));
    if (!TOKEN.test(name)) return `${shown} is no name of a cookie`;
    if (!COOKIE_VALUE.test(value.replace(/^"(.*)"$/, "$1")))
      return `the value of the cookie ${shown} has characters that are not allowed`;
    if (name.length + value.length > MAX_COOKIE_BYTES)
      return `the cookie ${shown} has more than ${MAX_COOKIE_BYTES} bytes`;
    if (path != null && !/^\/[\u0021-\u003a\u003c-\u007e]*$/.test(path))
      return `the path of the cookie ${shown} does not begin with a slash, or has characters that are not allowed`;
    if (domain != null && !isCookieDomain(domain, host))
      return `the domain of the cookie ${shown} is not that of the url`;
    bytes += name.length + value.length;
  }
  return bytes > MAX_OWN_HEADER_BYTES ? `the cookies have more than ${MAX_OWN_HEADER_BYTES} bytes` : null;
}

/** A host's own name, or a domain above it under which names can be registered (Public Suffix List). */
const isCookieDomain = (domain: string, host: string): boolean =>
  isWithin(host, domain) &&
  (isWithin(domain, host) ||
    getDomain(domain.replace(/^\./, ""), { allowPrivateDomains: true, validateHostname: false }) !== null);

/** Header fields of a page's requests and responses, as the browser tells and takes them. */
import type { TransportRequest } from "../../../lib/web/transport.ts";
import { originOf } from "../../../lib/web/url.ts";
import type { PausedRequest, Replaced } from "./own-documents.ts";

interface Field {
  readonly name: string;
  readonly value: string;
}

/**
 * The caller's Accept-Language, of which Chromium would send the locale only, its credentials for the origin of its address,
 * and what it gives of its own request.
 */
export function withOwnFields(
  { accept_language, authorization, url: asked }: TransportRequest,
  paused: PausedRequest,
  url: string,
  { headers = [], ...replaced }: Replaced,
): Omit<Replaced, "headers"> & { headers?: Field[] } {
  const isLoggedIn = authorization !== undefined && originOf(url) === originOf(asked);
  return {
    ...replaced,
    ...withFields(paused, [
      ...(accept_language === null ? [] : [["Accept-Language", fieldValue(accept_language)] as const]),
      ...(isLoggedIn ? [["Authorization", authorization] as const] : []),
      ...headers,
    ]),
  };
}

/** Nothing when no field is added: the request goes on as it is. */
export function withFields(
  { request }: PausedRequest,
  own: readonly (readonly [string, string])[],
): { headers?: Field[] } {
  if (own.length === 0) return {};
  const byName = new Map(own.map(([name, value]) => [name.toLowerCase(), { name, value }]));
  const others = Object.entries(request.headers)
    .filter(([name]) => !byName.has(name.toLowerCase()))
    .map(([name, value]) => ({ name, value }));
  return { headers: [...others, ...byName.values()] };
}

/** A valid field value: a line break must not start another field. */
const fieldValue = (text: string): string => text.replaceAll(/[^\t\u0020-\u007e]+/g, " ").trim();

/** The valid languages of an Accept-Language, in order. */
export function languagesOf(accept_language: string | null): string[] {
  return (accept_language ?? "").split(",").flatMap((part) => {
    try {
      return Intl.getCanonicalLocales(part.split(";", 1)[0]!.trim());
    } catch {
      return [];
    }
  });
}

export function fieldsOf(fields: readonly Field[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const { name, value } of fields) {
    const existing = headers.get(name.toLowerCase());
    // Chromium joins repeated fields with line breaks.
    const joined = value.replaceAll("\n", ", ");
    headers.set(name.toLowerCase(), existing === undefined ? joined : `${existing}, ${joined}`);
  }
  return headers;
}

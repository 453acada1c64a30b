/**
 * The route `direct`: plain HTTP over Egress, with the header fields of one browser. The route `proxy` is the same
 * through a forward proxy (transport.proxy.ts).
 *
 * It follows redirects itself, with a permit for each hop that is released after it, and stops reading at max_bytes. What a
 * caller gives of its own request goes with the hops of its origin (actors/lib/web/own-request.ts).
 * Cookies live for one call only, and there are no caches. Meta refresh is left to the extraction of content.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { type Egress, EgressError, type EgressProblem } from "../../../../cluster/ports/egress.ts";
import type { Redirect } from "../../../../schemas/fetch.ts";
import { type Destination, isPrivateHost } from "../../../lib/web/destination.ts";
import {
  cutShort,
  ExchangeLog,
  ownFieldNames,
  type SentRequest,
  withBody,
} from "../../../lib/web/kept-exchange.ts";
import { retryAfterSeconds } from "../../../lib/web/http.ts";
import { nothingOwn, type OpenOwnRequest, type OwnHops, ownHops } from "../../../lib/web/own-request.ts";
import { NO_JARS, type SessionJars } from "../../../lib/web/session-jar.ts";
import { originOf, parseUrl } from "../../../lib/web/url.ts";
import type { HopRefusal, Transport, TransportResult, TransportRequest } from "../../../lib/web/transport.ts";
import {
  admitted,
  joinHeaders,
  sendHooks,
  destinationRefusal,
  reasonOf,
  withoutUserInfo,
} from "./one-request.ts";
import { bodyReader, sizeDetail } from "./large-bodies.ts";

export interface DirectOptions {
  readonly egress: Egress;
  readonly clock: Clock;
  /** Refuses early what egress would refuse anyway, without asking for robots.txt and a slot. */
  readonly destination: Destination;
  /** The forward proxy; absent: none. */
  readonly proxy_url?: string;
  /** Default: requests have no part of their caller's own. */
  readonly openOwn?: OpenOwnRequest;
  /** Default: requests have no sessions. */
  readonly jars?: SessionJars;
}

const MAX_REDIRECTS = 10;
const REDIRECTING: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * The fields of one browser and version, complete and in its order: Chrome 153 on Linux, the browser of the route
 * `browser`. `secure` fields are sent to https only, as browsers do. `hint` fields name the version and are left out
 * when the caller sets a user agent. Egress adds Accept-Encoding before Accept-Language. Always change all fields
 * together, and never randomise them.
 */
const FIELDS: readonly (readonly [name: string, value: string, when: "always" | "secure" | "hint"])[] = [
  ["sec-ch-ua", '"Google Chrome";v="153", "Not_A Brand";v="8", "Chromium";v="153"', "hint"],
  ["sec-ch-ua-mobile", "?0", "hint"],
  ["sec-ch-ua-platform", '"Linux"', "hint"],
  ["Upgrade-Insecure-Requests", "1", "always"],
  [
    "User-Agent",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36",
    "always",
  ],
  [
    "Accept",
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
    "always",
  ],
  ["Sec-Fetch-Site", "none", "secure"],
  ["Sec-Fetch-Mode", "navigate", "secure"],
  ["Sec-Fetch-User", "?1", "secure"],
  ["Sec-Fetch-Dest", "document", "secure"],
  ["Accept-Language", "en-US,en;q=0.9", "always"],
];

/** Neither another route nor another attempt can help: the destination itself is not allowed. */
const OUT_OF_BOUNDS: ReadonlySet<EgressProblem> = new Set(["blocked_destination", "invalid_url"]);

export function directTransport({
  egress,
  clock,
  destination,
  proxy_url,
  openOwn = nothingOwn,
  jars = NO_JARS,
}: DirectOptions): Transport {
  const readBody = bodyReader(clock);
  return async (request) => {
    const began_ms = clock.mono();
    const redirects: Redirect[] = [];
    const jar = jars.open(request);
    const cookies: Pick<Cookies, "for" | "keep"> = jar ?? new Cookies();
    const own = ownHops(openOwn(request), request.url);
    const seen = new Set<string>();
    let url = readable(request.url) ?? request.url;
    let status: number | null = null;
    let final_url: string | null = null;
    let { networks } = request;
    let is_private = false;
    const log = request.archive === true ? new ExchangeLog() : null;

    const common = () => ({
      redirects,
      final_url,
      ms: Math.round(clock.mono() - began_ms),
      ...(log && { exchanges: log.kept }),
      ...jars.result(request, jar),
    });
    const failed = (reason: string, detail: string | null): TransportResult => ({
      kind: "failed",
      reason,
      status,
      detail,
      ...common(),
    });
    const refused = (refusal: HopRefusal): TransportResult => ({ kind: "refused", refusal, ...common() });

    while (true) {
      const judged = destination.url(url, networks);
      if (judged === "blocked_destination" || judged === "invalid_url")
        return refused(destinationRefusal(judged, url));
      // A repeated request would get the same response, unless a cookie was set on the way.
      own.enter(url);
      const visit = `${own.method()} ${url} ${cookies.for(url)}`;
      if (seen.has(visit)) return failed("too_many_redirects", `The redirects lead back to ${url}`);
      seen.add(visit);
      status = null;

      const is_public_only = networks?.length === 0 && request.networks?.length !== 0;
      const entry = await admitted(request, url, { is_public_only });
      if (entry === null) return failed("timeout", "The deadline passed before the page could be requested");
      if (entry.kind === "refused") return refused(entry.refusal);

      let retry_after_s: number | null = null;
      let answered: number | null = null;
      let sent_ms = clock.now();
      const hooks = sendHooks(entry);
      const beforeSend = (): boolean => {
        sent_ms = clock.now();
        return hooks.beforeSend();
      };
      try {
        const exchange = await egress.exchange({
          url,
          method: own.method(),
          headers: fieldsFor(request, url, cookieField(own, cookies, url), [
            // A proxy would read it.
            ...(proxy_url === undefined ? loginFor(request, url) : []),
            ...own.headers(),
          ]),
          ...bodyOf(own),
          signal: request.signal,
          ...(networks && { networks }),
          ...hooks,
          beforeSend,
          ...(proxy_url !== undefined && { via: { proxy_url } }),
        });
        if (exchange.kind === "failed") {
          if (OUT_OF_BOUNDS.has(exchange.problem)) return refused(destinationRefusal(exchange.problem, url));
          return failed(reasonOf(exchange.problem), exchange.detail);
        }
        // A public site that leads on to the operator's network gets nothing there. A proxy connects by itself: behind it only an
        // address in the URL says where the site is.
        is_private =
          proxy_url === undefined ? exchange.is_private === true : isPrivateHost(destination, url, networks);
        if (!is_private) networks = [];
        status = answered = exchange.status;
        log?.begin(
          sentRequest(own, url, {
            sent_ms,
            has_session: jar !== null,
            is_proxied: proxy_url !== undefined,
          }),
          exchange,
        );
        retry_after_s = retryAfterSeconds(exchange.headers.get("retry-after")?.[0], clock.now());
        final_url = url;

        const location = REDIRECTING.has(status) ? exchange.headers.get("location")?.[0]?.trim() : "";
        // Without a session nothing follows the last response.
        if (location || jar) cookies.keep(url, exchange.headers.get("set-cookie") ?? []);
        if (!location) {
          const body = await readBody(exchange, url, request);
          log?.end((kept) => (typeof body === "string" ? cutShort(kept, body) : withBody(kept, body)));
          if (typeof body === "string") return failed(body, sizeDetail(body, request));
          return {
            kind: "page",
            status,
            headers: joinHeaders(exchange.headers),
            body,
            body_kind: "origin",
            ...(is_private && { is_private }),
            ...common(),
            final_url,
          };
        }
        await log?.endWithFewBytes(exchange);
        exchange.cancel();
        const next = readable(location, url);
        redirects.push({ url, status, location: withoutUserInfo(location) });
        if (next === null) return refused(destinationRefusal("invalid_url", url));
        if (redirects.length > MAX_REDIRECTS) {
          return failed("too_many_redirects", `More than ${MAX_REDIRECTS} redirects`);
        }
        if (!own.redirect(status, next))
          return failed("redirect_with_body", "A redirect would take the body to another origin");
        url = next;
      } catch (problem) {
        if (problem instanceof EgressError) log?.end((kept) => cutShort(kept, reasonOf(problem.problem)));
        if (problem instanceof EgressError) return failed(reasonOf(problem.problem), problem.message);
        throw problem;
      } finally {
        entry.release({ status: answered, retry_after_s });
      }
    }
  };
}

/** Names what of the request that is sent now is the caller's own, so that no archive keeps it. */
const sentRequest = (
  own: OwnHops,
  url: string,
  sent: Pick<SentRequest, "sent_ms" | "has_session" | "is_proxied">,
): SentRequest => ({
  ...sent,
  url,
  method: own.method(),
  own_fields: ownFieldNames(own.headers(), sent.has_session || own.cookies(url).length > 0),
  own_bytes: own.body()?.length ?? 0,
});

/** Parsed as everywhere else: a redirect must satisfy the same rules as a caller's URL. */
const readable = (text: string, base?: string): string | null =>
  parseUrl(text, base === undefined ? undefined : new URL(base))?.href ?? null;

/** `own`: fields that come in the place of those that the browser would send, or after them. */
function fieldsFor(
  { accept_language, user_agent, validators, range }: TransportRequest,
  url: string,
  cookie: string,
  own: readonly (readonly [string, string])[],
): (readonly [string, string])[] {
  const given: Readonly<Record<string, string | null>> = {
    "User-Agent": user_agent,
    "Accept-Language": accept_language,
  };
  const isSecure = url.startsWith("https:");
  const fields = FIELDS.filter(
    ([, , when]) => when === "always" || (isSecure && (when === "secure" || user_agent === null)),
  ).map(([name, value]): [string, string] => [name, fieldValue(given[name] ?? "") || value]);
  if (cookie !== "") fields.push(["Cookie", cookie]);
  if (range !== undefined) fields.push(["Range", fieldValue(range)]);
  if (validators?.etag) fields.push(["If-None-Match", fieldValue(validators.etag)]);
  if (validators?.last_modified) fields.push(["If-Modified-Since", fieldValue(validators.last_modified)]);
  const ownByName = new Map(own.map((field) => [field[0].toLowerCase(), field]));
  const replaced = fields.map((field) => {
    const instead = ownByName.get(field[0].toLowerCase());
    ownByName.delete(field[0].toLowerCase());
    return instead ?? field;
  });
  return [...replaced, ...ownByName.values()];
}

/** A cookie that the site has set on the way replaces the caller's. */
function cookieField(own: OwnHops, cookies: Pick<Cookies, "for">, url: string): string {
  const set = cookies.for(url);
  const names = new Set(set.split("; ").map((pair) => pair.split("=", 1)[0]));
  const given = own.cookies(url).filter(({ name }) => !names.has(name));
  return [...given.map(({ name, value }) => `${name}=${value}`), ...(set === "" ? [] : [set])].join("; ");
}

function bodyOf(own: OwnHops): { readonly body?: Buffer } {
  const body = own.body();
  return body === null ? {} : { body };
}

/** The credentials of the request, for the origin of its address only. */
const loginFor = (
  { url: asked, authorization }: TransportRequest,
  url: string,
): readonly (readonly [string, string])[] =>
  authorization !== undefined && originOf(url) === originOf(asked) ? [["Authorization", authorization]] : [];

/** A valid field value: a line break must not start another field. */
const fieldValue = (text: string): string => text.replaceAll(/[^\t\u0020-\u007e\u00a0-\u00ff]+/g, " ").trim();

/** The cookies of one call: set by a host while it redirects, sent back to the same host only, then discarded. */
class Cookies {
  static readonly MAX = 50;
  static readonly MAX_CHARS = 4_096;
  readonly #by_host = new Map<string, Map<string, string>>();

  keep(url: string, set: readonly string[]): void {
    const host = new URL(url).host;
    const jar = this.#by_host.get(host) ?? new Map<string, string>();
    this.#by_host.set(host, jar);
    for (const line of set) {
      const pair = /^\s*([^=;\s]+)\s*=\s*([^;]*)/.exec(line);
      if (!pair || line.length > Cookies.MAX_CHARS || (jar.size >= Cookies.MAX && !jar.has(pair[1]!)))
        continue;
      const isGone = /;\s*max-age\s*=\s*(?:0|-\d+)\s*(?:;|$)/i.test(line);
      if (isGone) jar.delete(pair[1]!);
      else jar.set(fieldValue(pair[1]!), fieldValue(pair[2]!));
    }
  }

  for(url: string): string {
    const jar = this.#by_host.get(new URL(url).host) ?? [];
    return [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  }
}

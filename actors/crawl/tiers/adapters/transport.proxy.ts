/**
 * The route `proxy`: the route `direct` through a residential proxy. All fetches of a site use the same exit, unless they name one. An exit
 * that fails is replaced once per fetch; a response of the site, whatever it is, never causes that. All requests of a caller's session use
 * one exit, and it is not replaced.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Egress } from "../../../../cluster/ports/egress.ts";
import type { OpenOwnRequest } from "../../../lib/web/own-request.ts";
import type { SessionJars } from "../../../lib/web/session-jar.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import type { Transport } from "../../../lib/web/transport.ts";
import { type JoinedSites, siteOf } from "../../../lib/web/url.ts";
import { anotherSession, proxyUrl, sessionOf } from "../proxy-url.ts";
import { directTransport } from "./transport.direct.ts";

export interface ProxyOptions {
  readonly egress: Egress;
  readonly clock: Clock;
  readonly destination: Destination;
  /** May contain `{session}` and `{country}`, which are filled in. */
  readonly proxy_url: string;
  readonly joined?: JoinedSites;
  /** Default: requests have no part of their caller's own. */
  readonly openOwn?: OpenOwnRequest;
  /** Default: requests have no sessions. */
  readonly jars?: SessionJars;
}

/** The exit or the connection to it failed, without a response of the site. */
const EXIT_BROKE: ReadonlySet<string> = new Set([
  "proxy_unreachable",
  "proxy_connect_failed",
  "network_reset",
]);

export function proxyTransport({ proxy_url, joined, ...rest }: ProxyOptions): Transport {
  return async (request) => {
    const { country, project = "", session_id } = request;
    const host = URL.parse(request.url)?.hostname ?? "";
    const user = session_id === undefined ? siteOf(host, joined) : `${project} ${session_id}`;
    const session = request.session ?? sessionOf(user, country);
    const through = (name: string) =>
      directTransport({ ...rest, proxy_url: proxyUrl(proxy_url, name, country) })(request);
    const first = await through(session);
    // The site would see the session's cookies come from elsewhere, and may have got a POST.
    if (session_id !== undefined) return first;
    const broke = first.kind === "failed" && first.status === null && EXIT_BROKE.has(first.reason);
    if (!broke || request.signal.aborted || !proxy_url.includes("{session}")) return first;
    const second = await through(anotherSession(session));
    return { ...second, ms: first.ms + second.ms };
  };
}

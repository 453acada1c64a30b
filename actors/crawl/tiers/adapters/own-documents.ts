/**
 * A caller's own request in the browser: header fields by request, as the browser pauses it, and never by the context, which would send
 * them to other origins too; cookies in the context, where scripts and the site's own cookies meet them. Both end when a
 * document of another origin is requested.
 */
import type { OwnHops } from "../../../lib/web/own-request.ts";
import type { OwnRequest } from "../../../../schemas/own-request.ts";
import { originOf } from "../../../lib/web/url.ts";
import type { PageLease } from "./browser-pool.ts";

/** A request as Fetch.requestPaused tells it. */
export interface PausedRequest {
  readonly resourceType: string;
  /** Id of the request whose redirect led to this one. */
  readonly redirectedRequestId?: string;
  readonly request: {
    readonly url: string;
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
  };
}

/** Parts of a request that are replaced when it goes on. */
export interface Replaced {
  readonly method?: string;
  readonly postData?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

export interface OwnDocuments {
  /** Before the first request. */
  readonly putCookies: () => Promise<void>;
  /** Further requests that the browser has to pause. */
  readonly patterns: readonly { readonly urlPattern: string }[];
  /** Replaces parts of a document of the main frame; null: a redirect would take the body to another origin. */
  readonly ofDocument: (paused: PausedRequest, url: string) => Promise<Replaced | null>;
  /** Replaces parts of what a page loads; null: it would take a cookie to another origin of the same host. */
  readonly ofResource: (paused: PausedRequest, isOfMainFrame: boolean) => Replaced | null;
}

/** Fields that are true of the document only; Chromium ends a request whose Referer is not that of its page. */
const OF_DOCUMENTS = /^(?:content-.*|referer|origin)$/i;

export function ownDocuments(
  context: PageLease["context"],
  own: OwnRequest | null,
  hops: OwnHops,
  asked: string,
): OwnDocuments {
  const origin = originOf(asked);
  const { hostname, protocol } = new URL(asked);
  const isHostOnly = own?.cookies.some(({ domain }) => domain == null) ?? false;
  /** The documents so far are the first one and redirects of it. */
  let is_chain = true;
  let isFirst = true;
  let cookies = own?.cookies ?? [];

  return {
    async putCookies() {
      if (cookies.length === 0) return;
      await context.addCookies(
        cookies.map(({ name, value, domain, path }) => ({
          name,
          value,
          domain: domain == null ? hostname : `.${domain.replace(/^\./, "")}`,
          path: path ?? "/",
          secure: protocol === "https:",
        })),
      );
    },

    patterns: [
      ...(own !== null && own.headers.length > 0 ? [{ urlPattern: `${origin}/*` }] : []),
      ...(isHostOnly ? [{ urlPattern: `*://${hostname}*` }] : []),
    ],

    async ofDocument({ redirectedRequestId, request: { method } }, url) {
      is_chain &&= isFirst || redirectedRequestId !== undefined;
      if (!isFirst && !hops.redirect(is_chain && method === "POST" ? 307 : 303, url)) return null;
      hops.enter(url);
      const left = cookies.filter((cookie) => !hops.kept(cookie));
      cookies = cookies.filter((cookie) => hops.kept(cookie));
      // Host and domain cookies of the same name go together: what the site has set since is the caller's no more.
      await Promise.all(left.map(({ name }) => context.clearCookies({ name })));
      const body = isFirst ? hops.body() : null;
      isFirst = false;
      return {
        headers: hops.headers(),
        ...(body !== null && { method: "POST", postData: body.toString("base64") }),
      };
    },

    ofResource({ request: { url } }, isOfMainFrame) {
      const to = URL.parse(url);
      if (to === null || hops.hasLeft()) return {};
      const isAsked = originOf(to) === origin;
      if (!isAsked && isHostOnly && to.hostname === hostname) return null;
      const headers = isAsked && isOfMainFrame ? hops.headers() : [];
      return { headers: headers.filter(([name]) => !OF_DOCUMENTS.test(name)) };
    },
  };
}

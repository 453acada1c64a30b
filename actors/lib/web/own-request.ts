/**
 * A caller's own request on its way: sealed at the entry of a fetch, opened by the tier that sends it, and given to the hops of
 * the origin that was asked. Once a route has left that origin nothing of it is sent any more, not even where a later hop
 * comes back.
 */
import type { Secrets } from "../../../cluster/ports/secrets.ts";
import type { FetchRequest, UnsealedFetch } from "../../../schemas/fetch.ts";
import {
  authorizationPlace,
  type GivenCookie,
  isSentOnce,
  isWithin,
  type OwnRequest,
  ownRequestPlace,
  type SealedRequest,
} from "../../../schemas/own-request.ts";
import type { Transport } from "./transport.ts";
import { basicAuthorization, originOf } from "./url.ts";

const CACHE_PURPOSE = "own request";
const LOGIN_PURPOSE = "authorization";

/** The request as it is sent to the Fetch actor. Without `cache_private` no other request has its key, and no page is looked up. */
export function sealOwnRequest(
  { seal, sign }: Pick<Secrets, "seal" | "sign">,
  { own_request, ...request }: UnsealedFetch,
): FetchRequest {
  if (!own_request) return request;
  const { given, is_cached } = own_request;
  const text = JSON.stringify(given);
  const { project, fetch_id } = request;
  return {
    ...request,
    ...(!is_cached && { cache_ttl_s: 0 }),
    own: {
      sealed: seal(text, ownRequestPlace(project)),
      is_post: isSentOnce(given),
      ...(given.actions && { has_actions: true }),
      is_cached,
    },
    own_key: is_cached ? sign(CACHE_PURPOSE, JSON.stringify([project, text])) : fetch_id,
  };
}

/** The request with the credentials of its address as a field that only a tier can read. */
export function sealAuthorization(
  { seal, sign }: Pick<Secrets, "seal" | "sign">,
  request: FetchRequest,
): FetchRequest {
  const authorization = basicAuthorization(request.url);
  if (authorization === null) return request;
  const { project } = request;
  return {
    ...request,
    sealed_authorization: seal(authorization, authorizationPlace(project)),
    authorization_key: sign(LOGIN_PURPOSE, JSON.stringify([project, authorization])),
  };
}

/** The route gets the credentials of a request in clear. Throws Fault secret_unreadable. */
export const withAuthorization =
  ({ open }: Pick<Secrets, "open">, transport: Transport): Transport =>
  async (request) => {
    const { sealed_authorization, project = "" } = request;
    if (sealed_authorization === undefined) return transport(request);
    return transport({ ...request, authorization: open(sealed_authorization, authorizationPlace(project)) });
  };

/** Opens what a request has of its caller's own; null: nothing. */
export type OpenOwnRequest = (request: {
  readonly own?: SealedRequest;
  readonly project?: string;
}) => OwnRequest | null;

/** Throws Fault secret_unreadable. */
export const ownRequestOpener =
  ({ open }: Pick<Secrets, "open">): OpenOwnRequest =>
  ({ own, project = "" }) =>
    own ? (JSON.parse(open(own.sealed, ownRequestPlace(project))) as OwnRequest) : null;

export const nothingOwn: OpenOwnRequest = () => null;

/** The own request of a route, hop by hop. */
export interface OwnHops {
  /** Before a document is requested at this address: from the first other origin on, nothing is sent. */
  readonly enter: (url: string) => void;
  readonly hasLeft: () => boolean;
  readonly method: () => OwnRequest["method"];
  /** Headers of the hop that was entered. */
  readonly headers: () => OwnRequest["headers"];
  readonly body: () => Buffer | null;
  /** Cookies that go to the address of the hop; ones with a domain also to other origins, as long as no hop has left the domain. */
  readonly cookies: (url: string) => readonly GivenCookie[];
  /** Whether a cookie still goes anywhere. */
  readonly kept: (cookie: GivenCookie) => boolean;
  /** A redirect of the hop leads there. False: it would take the body to another origin. */
  readonly redirect: (status: number, next: string) => boolean;
}

const FORM_TYPE = "application/x-www-form-urlencoded";
const OF_A_BODY = /^content-/i;

export function ownHops(own: OwnRequest | null, asked: string): OwnHops {
  const origin = originOf(asked);
  const { protocol } = new URL(asked);
  let has_left = false;
  let cookies = own?.cookies ?? [];
  let method = own?.method ?? "GET";
  const given = own?.headers ?? [];
  const hasType = given.some(([name]) => name.toLowerCase() === "content-type");
  return {
    enter(url) {
      const { hostname, protocol: scheme } = new URL(url);
      has_left ||= originOf(url) !== origin;
      cookies = cookies.filter(({ domain }) =>
        domain == null ? !has_left : scheme === protocol && isWithin(hostname, domain),
      );
    },
    hasLeft: () => has_left,
    method: () => method,
    headers() {
      if (has_left) return [];
      if (method === "GET") return given.filter(([name]) => own?.method === "GET" || !OF_A_BODY.test(name));
      return hasType ? given : [...given, ["Content-Type", FORM_TYPE]];
    },
    body: () => (method === "POST" && !has_left ? Buffer.from(own?.body ?? "") : null),
    kept: (cookie) => cookies.includes(cookie),
    cookies: (url) => cookies.filter(({ path }) => isOnPath(new URL(url).pathname, path ?? "/")),
    redirect(status, next) {
      if (method === "GET") return true;
      // As browsers do (Fetch standard, HTTP-redirect fetch): only 307 and 308 keep a POST.
      if (status === 307 || status === 308) return originOf(next) === origin;
      method = "GET";
      return true;
    },
  };
}

/** RFC 6265, section 5.1.4. */
const isOnPath = (pathname: string, path: string): boolean =>
  pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`);

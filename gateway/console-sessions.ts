/**
 * Sessions of the console. The cookie of a signed-in person holds their key, sealed by this service and with an
 * end; scripts cannot read it. It stands for the key only below /console/api/, and only for requests of the console itself: they carry a field
 * that no page of another origin may send, and the browser says that they come from this origin. Everything else is the API's: the path
 * behind the prefix is asked for with the key.
 */
import { Fault } from "../cluster/ports/fault.ts";
import type { SecretPlace, Secrets } from "../cluster/ports/secrets.ts";
import { KEY_SHAPE } from "../schemas/accounts.ts";
import type { Admit, Head } from "./http.ts";

/** Twelve hours: a day's work. */
export const CONSOLE_SESSION_S = 43_200;

const PREFIX = "/console/api";
/** The console sends it with each request; pages of other origins may not. */
export const MARK_FIELD = "x-trawl-console";
const PLACE: SecretPlace = { collection: "console", key: "cookie", field: "key" };

export interface ConsoleSessions {
  /** The Set-Cookie field of a key that stays signed in. */
  readonly cookieOf: (key: string, now_ms: number) => string;
  /** The Set-Cookie field that removes it. */
  readonly noCookie: string;
  /** The key of a Cookie field; null: there is none, it is over, or no key of this service opens it. */
  readonly keyOf: (cookies: string | undefined, now_ms: number) => string | null;
}

/** `isSecure`: browsers reach the service by HTTPS. The prefix of the name binds the cookie to this host then. */
export function consoleSessions(
  { seal, open }: Pick<Secrets, "seal" | "open">,
  isSecure: boolean,
): ConsoleSessions {
  const name = isSecure ? "__Host-trawl-console" : "trawl-console";
  const traits = `Path=/; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
  return {
    cookieOf(key, now_ms) {
      const ends_ms = Math.floor(now_ms) + CONSOLE_SESSION_S * 1000;
      return `${name}=${seal(`${ends_ms} ${key}`, PLACE)}; Max-Age=${CONSOLE_SESSION_S}; ${traits}`;
    },
    noCookie: `${name}=; Max-Age=0; ${traits}`,
    keyOf(cookies, now_ms) {
      const value = cookies
        ?.split(";")
        .map((pair) => pair.trim())
        .find((pair) => pair.startsWith(`${name}=`))
        ?.slice(name.length + 1);
      if (!value) return null;
      const [ends_ms, key] = opened(open, value).split(" ");
      return Number(ends_ms) > now_ms && key !== undefined && KEY_SHAPE.test(key) ? key : null;
    },
  };
}

function opened(open: Secrets["open"], sealed: string): string {
  try {
    return open(sealed, PLACE);
  } catch (problem) {
    if (problem instanceof Fault) return "";
    throw problem;
  }
}

/** Without a session, or from elsewhere, such a request has no key, and is answered as one. */
export const withConsoleSessions =
  (admit: Admit, { keyOf }: Pick<ConsoleSessions, "keyOf">, now: () => number): Admit =>
  (head, abort) => {
    if (!head.path.startsWith(`${PREFIX}/v1/`)) return admit(head, abort);
    const key = isOfConsole(head) ? keyOf(head.headers.get("cookie"), now()) : null;
    const headers = new Map(head.headers);
    headers.delete("cookie");
    headers.delete("authorization");
    if (key !== null) headers.set("authorization", `Bearer ${key}`);
    return admit({ ...head, path: head.path.slice(PREFIX.length), headers }, abort);
  };

/** Browsers that do not say where a request comes from name its origin where it could change something. */
function isOfConsole({ headers, method }: Head): boolean {
  if (!headers.has(MARK_FIELD)) return false;
  const site = headers.get("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const origin = headers.get("origin");
  if (origin === undefined) return method === "GET" || method === "HEAD";
  return URL.parse(origin)?.host === headers.get("host");
}

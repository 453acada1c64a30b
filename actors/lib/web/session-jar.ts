/**
 * The cookies of a session: where each goes is RFC 6265 with the Public Suffix List (tough-cookie), on the direct and the browser route alike; and
 * what pages keep in localStorage, by origin, which is the browser's alone.
 * A request tells what it has changed, never the whole jar, so that a slow one does not undo another's login.
 */
import { Cookie, CookieJar } from "tough-cookie";
import type { Secrets } from "../../../cluster/ports/secrets.ts";
import { sessionPlace, MAX_JAR_BYTES, type SessionCookie } from "../../../schemas/sessions.ts";
import { MAX_COOKIE_BYTES } from "../../../schemas/own-request.ts";

/** A cookie as tough-cookie writes it. */
type Written = ReturnType<Cookie["toJSON"]>;

/** An item that a page keeps in localStorage under one name. */
export interface StorageItem {
  readonly origin: string;
  readonly name: string;
  readonly value: string;
}
type Entry = Written | StorageItem;

export const EMPTY_JAR = "[]";
/** A cookie lives no longer, as in browsers. */
const MAX_AGE_MS = 400 * 24 * 3_600_000;

/** As Playwright has it. */
export interface BrowserCookie {
  readonly name: string;
  readonly value: string;
  readonly domain: string;
  readonly path: string;
  /** Seconds; -1: as long as the browser runs. */
  readonly expires: number;
  readonly httpOnly: boolean;
  readonly secure: boolean;
  readonly sameSite?: "Strict" | "Lax" | "None";
}

export interface SessionJar {
  /** The Cookie field of a request to the address. */
  readonly for: (url: string) => string;
  /** Set-Cookie fields of the address. */
  readonly keep: (url: string, set: readonly string[]) => void;
  readonly forBrowser: () => BrowserCookie[];
  /** All that the browser has in the end: what it has no more is gone. */
  readonly keepBrowser: (cookies: readonly BrowserCookie[]) => void;
  readonly storage: () => readonly StorageItem[];
  /** All that the localStorage of the origin has in the end. */
  readonly keepStorage: (origin: string, items: readonly StorageItem[]) => void;
  /** Changes since the jar was opened; null: there are none. */
  readonly changes: () => string | null;
}

interface Changes {
  readonly set: readonly Entry[];
  readonly gone: readonly string[];
}

const NO_CHANGES = JSON.stringify({ set: [], gone: [] } satisfies Changes);

const isItem = (entry: Entry): entry is StorageItem => "origin" in entry;
const cookieName = ({ domain, path, key }: Written): string =>
  `${String(domain)} ${String(path)} ${String(key)}`;
const nameOf = (entry: Entry): string =>
  isItem(entry) ? `${entry.origin} ${entry.name}` : cookieName(entry);
const SAME_SITE = { strict: "Strict", lax: "Lax", none: "None" } as const;

/** `text`: what `withChanges` gave, or EMPTY_JAR. */
export function sessionJar(text: string, now_ms: number): SessionJar {
  const entries = JSON.parse(text) as Entry[];
  let items = entries.filter(isItem);
  const jar = CookieJar.deserializeSync(
    JSON.stringify({
      version: "tough-cookie@6.1.0",
      storeType: "MemoryCookieStore",
      rejectPublicSuffixes: true,
      cookies: entries.filter((entry) => !isItem(entry)),
    }),
  );
  const isLive = ({ expires }: Written): boolean => !(Date.parse(String(expires)) <= now_ms);
  const all = (): Written[] => ((jar.serializeSync()?.cookies ?? []) as Written[]).filter(isLive);
  const valueOf = (entry: Entry): string =>
    JSON.stringify({ ...entry, lastAccessed: null, creation: null, creationIndex: null });
  const before = new Map([...all(), ...items].map((entry) => [nameOf(entry), valueOf(entry)]));
  const put = (cookie: Cookie | undefined, url: string): void => {
    if (!URL.canParse(url)) return;
    if (!cookie || cookie.key.length + cookie.value.length > MAX_COOKIE_BYTES) return;
    // A stored age would begin anew with each opening.
    const expiry_ms =
      typeof cookie.maxAge === "number"
        ? now_ms + cookie.maxAge * 1_000
        : cookie.expiryTime(new Date(now_ms));
    cookie.maxAge = null;
    if (expiry_ms !== undefined && expiry_ms !== Infinity)
      cookie.setExpires(new Date(Math.min(expiry_ms, now_ms + MAX_AGE_MS)));
    jar.setCookieSync(cookie, url, { ignoreError: true });
  };
  return {
    for: (url) => jar.getCookieStringSync(url),
    keep(url, set) {
      for (const line of set) put(Cookie.parse(line), url);
    },
    forBrowser: () =>
      all().map(({ key, value, domain, path, expires, httpOnly, secure, hostOnly, sameSite }) => ({
        name: String(key),
        value: String(value),
        domain: hostOnly === true ? String(domain) : `.${String(domain)}`,
        path: String(path),
        expires: typeof expires === "string" && expires !== "Infinity" ? Date.parse(expires) / 1_000 : -1,
        httpOnly: httpOnly === true,
        secure: secure === true,
        ...(typeof sameSite === "string" &&
          sameSite in SAME_SITE && { sameSite: SAME_SITE[sameSite as keyof typeof SAME_SITE] }),
      })),
    keepBrowser(cookies) {
      const there = new Set(
        cookies.map(({ name, domain, path }) => `${domain.replace(/^\./, "")} ${path} ${name}`),
      );
      for (const cookie of all())
        if (!there.has(cookieName(cookie)))
          jar.store.removeCookie(String(cookie.domain), String(cookie.path), cookie.key!, () => {});
      for (const { name, value, domain, path, expires, httpOnly, secure, sameSite } of cookies) {
        const host = domain.replace(/^\./, "");
        const cookie = new Cookie({
          key: name,
          value,
          path,
          httpOnly,
          secure,
          ...(domain.startsWith(".") && { domain: host }),
          ...(expires >= 0 && { expires: new Date(Math.round(expires * 1_000)) }),
          ...(sameSite && { sameSite: sameSite.toLowerCase() }),
        });
        put(cookie, `${secure ? "https" : "http"}://${host}${path}`);
      }
    },
    storage: () => items,
    keepStorage(origin, kept) {
      items = [...items.filter((item) => item.origin !== origin), ...kept];
    },
    changes() {
      const after = [...all(), ...items];
      const names = new Set(after.map(nameOf));
      const set = after.filter((entry) => before.get(nameOf(entry)) !== valueOf(entry));
      const gone = [...before.keys()].filter((name) => !names.has(name));
      return set.length + gone.length > 0 ? JSON.stringify({ set, gone } satisfies Changes) : null;
    },
  };
}

/** A jar as it is sealed. `count`: of cookies. */
export interface WrittenJar {
  readonly text: string;
  readonly count: number;
}

/** The jar with a request's changes; the oldest go when there are too many. */
export function withChanges(text: string, changes: string): WrittenJar {
  const { set, gone } = JSON.parse(changes) as Changes;
  const entries = new Map((JSON.parse(text) as Entry[]).map((entry) => [nameOf(entry), entry]));
  for (const name of gone) entries.delete(name);
  for (const entry of set) {
    entries.delete(nameOf(entry));
    entries.set(nameOf(entry), entry);
  }
  const kept = [...entries.values()];
  while (Buffer.byteLength(JSON.stringify(kept)) > MAX_JAR_BYTES) kept.shift();
  return { text: JSON.stringify(kept), count: kept.filter((entry) => !isItem(entry)).length };
}

/** A jar that begins with these cookies; `refused`: the place of the first one that no site may have set. */
export function jarWith(
  given: readonly SessionCookie[],
  now_ms: number,
): WrittenJar | { readonly refused: number } {
  const jar = sessionJar(EMPTY_JAR, now_ms);
  const cookies = given.map(
    ({ name, value, domain, path = "/", expires, secure = false, http_only = false }) => ({
      name,
      value,
      domain,
      path,
      expires: expires ?? -1,
      secure,
      httpOnly: http_only,
    }),
  );
  jar.keepBrowser(cookies);
  const placeOf = ({ name, domain, path }: BrowserCookie): string =>
    `${domain.toLowerCase()} ${path} ${name}`;
  const there = new Set(jar.forBrowser().map(placeOf));
  const refused = cookies.findIndex((cookie) => !there.has(placeOf(cookie)));
  return refused < 0 ? withChanges(EMPTY_JAR, jar.changes() ?? NO_CHANGES) : { refused };
}

interface OfSession {
  readonly project?: string;
  readonly session_id?: string;
  readonly session_jar?: string;
}

/** How a route has the jar of its request, which travels sealed. */
export interface SessionJars {
  /** Null: the request has no session. Throws Fault secret_unreadable. */
  readonly open: (request: OfSession) => SessionJar | null;
  /** For the result of the request. */
  readonly result: (request: OfSession, jar: SessionJar | null) => { readonly session_changes?: string };
}

export const NO_JARS: SessionJars = { open: () => null, result: () => ({}) };

export const sessionJars = (
  { open, seal }: Pick<Secrets, "open" | "seal">,
  now: () => number,
): SessionJars => ({
  open: ({ project = "", session_id = "", session_jar }) =>
    session_jar === undefined
      ? null
      : sessionJar(open(session_jar, sessionPlace(project, session_id, "jar")), now()),
  result({ project = "", session_id = "" }, jar) {
    const changes = jar?.changes() ?? null;
    return changes === null
      ? {}
      : { session_changes: seal(changes, sessionPlace(project, session_id, "changes")) };
  },
});

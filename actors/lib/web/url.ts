/**
 * Web addresses: parsing, one spelling for the page cache, and the site whose politeness a host shares. It resolves nothing;
 * destination.ts judges where requests may go.
 */
import { getDomain } from "tldts";

/** The limit of FetchBody, and of redirects. */
const MAX_URL_CHARS = 8_192;

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const ESCAPE = /%[0-9a-f]{2}/gi;
const MALFORMED_ESCAPE = /%(?![0-9a-f]{2})/i;
/** RFC 3986, section 2.3: characters that mean the same escaped and plain. */
const UNRESERVED = /[A-Za-z0-9\-._~]/;

/**
 * An http(s) address without user, password, fragment and the host's trailing dot, resolved against `base` when there
 * is one; null for everything else, which is `invalid_url`.
 */
export function parseUrl(text: string, base?: URL): URL | null {
  if (text.length > MAX_URL_CHARS) return null;
  const url = URL.parse(text, base?.href);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return null;
  url.username = "";
  url.password = "";
  url.hash = "";
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1);
  // As it is sent: escapes may have made it three times as long, and reading it again must give the same result.
  if (url.href.length > MAX_URL_CHARS) return null;
  // Empty labels: no name server can resolve them, and the setter keeps the old host when the new one is empty.
  return url.hostname.split(".").includes("") ? null : url;
}

/** An address to which paths are added, as an operator may have written it. */
export const withoutTrailingSlash = (url: string): string => url.replace(/(?<!\/)\/+$/, "");

/** Hides the user name and the password of an address; every other text is returned as it is. */
export function maskUserInfo(text: string): string {
  const url = text.includes("@") ? URL.parse(text) : null;
  if (url === null || (url.username === "" && url.password === "")) return text;
  url.username = "***";
  url.password = "";
  return url.href;
}

/** The Authorization field (RFC 7617) for the user name and the password of an address; null: it has neither. */
export function basicAuthorization(text: string): string | null {
  const url = text.includes("@") ? URL.parse(text) : null;
  if (url === null || (url.username === "" && url.password === "")) return null;
  const login = `${unescaped(url.username)}:${unescaped(url.password)}`;
  return `Basic ${Buffer.from(login).toString("base64")}`;
}

/** As it is when its escapes are no UTF-8. */
export function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Decodes escaped unreserved characters and writes the hex digits of all others in capitals (RFC 3986, section 6.2.2). */
export function normaliseEscapes(text: string): string {
  return text.replaceAll(ESCAPE, (escape) => {
    const plain = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return UNRESERVED.test(plain) ? plain : escape.toUpperCase();
  });
}

/** With a malformed escape in it a text is left alone: decoding beside one could spell a new escape ("%2%35"). */
const onePart = (text: string): string => (MALFORMED_ESCAPE.test(text) ? text : normaliseEscapes(text));

/**
 * The one spelling under which a page is cached: scheme and host in lower case, default port,
 * fragment and empty query dropped, percent-encoding normalised. Two spellings of one page may still differ; two
 * pages never get one spelling.
 */
export function normaliseUrl(url: URL): string {
  return `${originOf(url)}${onePart(url.pathname)}${onePart(url.search)}`;
}

/** Scheme, host and port without the default one: the scope of one robots.txt. */
export function originOf(url: URL | string): string {
  const { protocol, host } = typeof url === "string" ? new URL(url) : url;
  return `${protocol}//${host.replace(/\.(?=:|$)/, "")}`;
}

/** Sites an operator joined: a host and everything below it, and the name they share. */
export type JoinedSites = ReadonlyMap<string, string>;

const NONE: JoinedSites = new Map();

/** Hosts that are one site, under the name of the first. */
export const joinedSites = (hosts: readonly string[]): JoinedSites =>
  new Map(hosts.map((host) => [host, hosts[0]!]));

/** The site of a host name or address as people write it; null for what is neither. */
export function siteNamed(text: string, joined?: JoinedSites): string | null {
  const bracketed = /^[0-9a-f]*:[0-9a-f:.]+$/i.test(text) ? `[${text}]` : text;
  const url = /[/?#@\\]/.test(text) ? null : parseUrl(`http://${bracketed}/`);
  return url === null || url.port !== "" ? null : siteOf(url.hostname, joined);
}

/**
 * The site whose politeness a host shares: the name an operator joined it under, else the
 * registrable domain by the Public Suffix List with its private section, the address itself for an address, and the
 * host itself where nothing can be registered above it ("localhost", "github.io"). Never contains a space.
 */
export function siteOf(hostname: string, joined: JoinedSites = NONE): string {
  const host = hostname.toLowerCase().replace(/\.$/, "");
  if (host.startsWith("[")) return host.slice(1, -1);
  for (let name = host; joined.size > 0 && name !== ""; name = name.slice(name.indexOf(".") + 1)) {
    const site = joined.get(name);
    if (site !== undefined) return site;
    if (!name.includes(".")) break;
  }
  if (IPV4.test(host)) return host;
  return (
    getDomain(host, { allowPrivateDomains: true, extractHostname: false, validateHostname: false }) ?? host
  );
}

/** Parameters that say where a click came from, and nothing about the page. */
const TRACKING =
  /^(?:utm_\w+|fbclid|gclid|gclsrc|dclid|gbraid|wbraid|msclkid|yclid|twclid|ttclid|igshid|srsltid|mc_[ce]id|_ga|_gl|ref_src)$/i;

/** The normalised address without its tracking parameters: two addresses with the same one show the same page. */
export function withoutTracking(url: URL): string {
  if (url.search === "") return normaliseUrl(url);
  const names = [...new Set(url.searchParams.keys())].filter((name) => TRACKING.test(name));
  if (names.length === 0) return normaliseUrl(url);
  const bare = new URL(url);
  for (const name of names) bare.searchParams.delete(name);
  return normaliseUrl(bare);
}

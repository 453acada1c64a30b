/**
 * The addresses of the filing system, and the kind of document each has. Its three real hosts belong to it whatever bases
 * are configured, so no request reaches them without a slot; requests for them go to the configured bases.
 */
import type { SourceHost, SourceKind } from "../../../../schemas/filing-source.ts";

export interface SourceAddress {
  readonly host: SourceHost;
  /** Path and query. */
  readonly path: string;
}

export interface FilingHosts {
  readonly urlOf: (address: SourceAddress) => string;
  /** Null: the address is not the filing system's, has a user name, or has a port of its own. */
  readonly addressOf: (url: string) => SourceAddress | null;
}

const REAL: Readonly<Record<string, SourceHost>> = {
  "www.sec.gov": "www",
  "sec.gov": "www",
  "data.sec.gov": "data",
  "efts.sec.gov": "search",
};

const nameOf = ({ hostname }: URL): string => hostname.replace(/\.$/, "");
const isDefault = ({ port }: URL): boolean => port === "";

/** Hosts that need a slot: the real ones at any port, and the origins of the bases. */
export const ownedHosts = (
  bases: Readonly<Record<SourceHost, string>>,
): { readonly hosts: readonly string[]; readonly origins: readonly string[] } => ({
  hosts: Object.keys(REAL),
  origins: Object.values(bases).map((base) => new URL(base).origin),
});

/** `bases`: absolute addresses, with or without a path prefix. */
export function filingHosts(bases: Readonly<Record<SourceHost, string>>): FilingHosts {
  const origins = (["data", "www", "search"] as const).map((host) => {
    const url = new URL(bases[host]);
    return { host, origin: url.origin, prefix: url.pathname.replace(/(?<!\/)\/+$/, "") };
  });
  const baseOf = (url: URL): { readonly host: SourceHost; readonly prefix: string } | undefined =>
    origins.find(({ origin, prefix }) => url.origin === origin && url.pathname.startsWith(`${prefix}/`));

  return {
    urlOf({ host, path }) {
      const { origin, prefix } = origins.find((base) => base.host === host)!;
      return new URL(`${origin}${prefix}${path}`).href;
    },
    addressOf(text) {
      const url = URL.parse(text);
      if (!url || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return null;
      const base = baseOf(url);
      if (base) return unwrapViewer(base.host, url.pathname.slice(base.prefix.length) + url.search);
      const host = REAL[nameOf(url)];
      return host && isDefault(url) ? unwrapViewer(host, url.pathname + url.search) : null;
    },
  };
}

/** The viewer of inline XBRL is a script around a document: its address counts as the address of that document. */
function unwrapViewer(host: SourceHost, path: string): SourceAddress {
  const named =
    host === "www" ? /^\/ixv?(?:iewer)?\?(?:.*&)?doc=(\/Archives\/[^&#]+)/.exec(path)?.[1] : undefined;
  return { host, path: named ?? path };
}

const IN_FILING = /^\/Archives\/edgar\/data\/\d+\/(?:\d{18}\/)?[^/?]+$/;
const LISTING = /(?:-index(?:-headers)?\.html?|\/index\.json)$/;

/** The kind of document at an address. Filed documents never change; all others may. */
export function kindOf({ host, path }: SourceAddress): SourceKind {
  if (host === "search") return path.startsWith("/LATEST/search-index?") ? "search" : "page";
  if (host === "data") {
    if (/^\/submissions\/[^/?]+\.json$/.test(path)) return "submissions";
    return /^\/api\/xbrl\/companyfacts\/[^/?]+\.json$/.test(path) ? "facts" : "page";
  }
  if (/^\/files\/company_tickers(?:_exchange)?\.json$/.test(path)) return "tickers";
  if (!IN_FILING.test(path) || /^\/Archives\/edgar\/data\/\d+\/\d{18}$/.test(path)) return "page";
  return LISTING.test(path) ? "index" : "document";
}

/** Whether a redirect stays in a folder, also for a server that decodes the path twice. */
export const isWithin = (path: string, folder: string): boolean =>
  path.startsWith(folder) && !/%2f|%5c|%2e|\\/i.test(path);

/** The key of an address in an index of captures: the host from its end, and path and query in one spelling (SURT). */

/** Ports that an address may leave out. */
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/** Lower case, without `www.` and a fragment, the query sorted, as pywb and OpenWayback make it. */
export function surtOf(url: string): string {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const host = hostname.replace(/^www\d*\./, "");
  const isName = /[a-z]/i.test(host) && !host.includes(":");
  const reversed = isName ? host.split(".").toReversed().join(",") : host;
  const at = port !== "" && port !== DEFAULT_PORTS[protocol] ? `:${port}` : "";
  const query = search.length > 1 ? `?${search.slice(1).split("&").toSorted().join("&")}` : "";
  const path = pathname.length > 1 ? pathname.replace(/(?<!\/)\/+$/, "") : pathname;
  return `${reversed}${at})${path === "" ? "/" : path}${query}`.toLowerCase();
}

/** Fourteen digits: the second of a capture. */
export const timestampOf = (date: string): string => date.replaceAll(/\D/g, "").slice(0, 14);

/** Which addresses belong to a crawl or a map: those that share a path, a host, its subdomains or its domain with a seed. */
import type { Scope, SiteScope } from "../../../schemas/site-scope.ts";
import { type JoinedSites, siteOf } from "./url.ts";

/** The error of a page of a crawl that leads out of it. */
export const OUT_OF_SCOPE = "out_of_scope";

export type IsInScope = (url: URL) => boolean;

/** A host with and without "www." is one: a site redirects from one of them to the other. */
const hostOf = ({ host }: URL): string => host.replace(/^www\./, "");

/** The folder of an address: what its relative links are relative to. */
const folderOf = ({ pathname }: URL): string => pathname.slice(0, pathname.lastIndexOf("/") + 1);

export function scopeOf(seeds: readonly URL[], kind: Scope, joined?: JoinedSites): SiteScope {
  const placeOf = (seed: URL): string => {
    switch (kind) {
      case "path":
        return hostOf(seed) + folderOf(seed);
      case "host":
      case "subdomains":
        return hostOf(seed);
      case "domain":
        return siteOf(seed.hostname, joined);
    }
  };
  return { kind, places: [...new Set(seeds.map(placeOf))] };
}

/** `joined`: as `scopeOf` had them. */
export function inScope({ kind, places }: SiteScope, joined?: JoinedSites): IsInScope {
  const known = new Set(places);
  switch (kind) {
    case "path":
      return (url) => places.some((folder) => (hostOf(url) + url.pathname).startsWith(folder));
    case "host":
      return (url) => known.has(hostOf(url));
    case "subdomains":
      return (url) => {
        const host = hostOf(url);
        return places.some((seed) => host === seed || host.endsWith(`.${seed}`));
      };
    case "domain":
      return (url) => known.has(siteOf(url.hostname, joined));
  }
}

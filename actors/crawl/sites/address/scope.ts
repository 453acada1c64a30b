/** Which addresses belong to a crawl or a map: those that share a path, a host, its subdomains or its domain with a seed. */
import type { Scope } from "../../../../schemas/crawl.ts";
import { type JoinedSites, siteOf } from "../../../lib/web/url.ts";

export type IsInScope = (url: URL) => boolean;

/** A host with and without "www." is one: a site redirects from one of them to the other. */
export const hostOf = ({ host }: URL): string => host.replace(/^www\./, "");

/** The folder of an address: what its relative links are relative to. */
const folderOf = ({ pathname }: URL): string => pathname.slice(0, pathname.lastIndexOf("/") + 1);

export function scopeOf(seeds: readonly URL[], scope: Scope, joined?: JoinedSites): IsInScope {
  switch (scope) {
    case "path": {
      const folders = seeds.map((seed) => hostOf(seed) + folderOf(seed));
      return (url) => folders.some((folder) => (hostOf(url) + url.pathname).startsWith(folder));
    }
    case "host": {
      const hosts = new Set(seeds.map(hostOf));
      return (url) => hosts.has(hostOf(url));
    }
    case "subdomains": {
      const hosts = seeds.map(hostOf);
      return (url) => {
        const host = hostOf(url);
        return hosts.some((seed) => host === seed || host.endsWith(`.${seed}`));
      };
    }
    case "domain": {
      const sites = new Set(seeds.map(({ hostname }) => siteOf(hostname, joined)));
      return (url) => sites.has(siteOf(url.hostname, joined));
    }
  }
}

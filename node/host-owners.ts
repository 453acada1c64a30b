/**
 * Which host belongs to whom: one table, made before anything is opened, and looked up by everything that sends a request or
 * judges an address. A host of another system (the filing system, the profile site) is asked by its owner only.
 */
import type { Destination } from "../actors/lib/web/destination.ts";
import type { Egress } from "../cluster/ports/egress.ts";

export interface HostOwner {
  /** For messages: "the filing system". */
  readonly name: string;
  /** Hosts by name, at any port. */
  readonly hosts?: readonly string[];
  /** Hosts by name, with all below them. */
  readonly domains?: readonly string[];
  /** Hosts at one port: "https://data.sec.gov". */
  readonly origins?: readonly string[];
  /** Whether a request that goes through a proxy may reach it: the tier with that proxy takes a slot of the owner. Default: no. */
  readonly isOpenToProxies?: boolean;
}

export interface HostOwners {
  /** Null: the host is nobody's, and any request may go there. */
  readonly ownerOf: (url: string) => HostOwner | null;
}

/** Throws Error where two owners name the same host. */
export function hostOwners(owners: readonly HostOwner[]): HostOwners {
  const table = new Map<string, HostOwner>();
  const add = (owner: HostOwner, key: string): void => {
    const other = table.get(key);
    if (other && other !== owner)
      throw new Error(`Cannot start: the host "${key}" belongs to ${other.name} and to ${owner.name}`);
    table.set(key, owner);
  };
  for (const owner of owners) {
    for (const host of owner.hosts ?? []) add(owner, host.toLowerCase());
    for (const origin of owner.origins ?? []) add(owner, origin);
    for (const domain of owner.domains ?? []) {
      add(owner, domain.toLowerCase());
      add(owner, `*.${domain.toLowerCase()}`);
    }
  }
  return {
    ownerOf(text) {
      if (table.size === 0) return null;
      const url = URL.parse(text);
      if (url === null) return null;
      const host = url.hostname.replace(/\.$/, "");
      return table.get(url.origin) ?? table.get(host) ?? ownerAbove(table, host);
    },
  };
}

/** The owner of a domain that the host is below. */
function ownerAbove(table: ReadonlyMap<string, HostOwner>, host: string): HostOwner | null {
  for (let dot = host.indexOf("."); dot !== -1; dot = host.indexOf(".", dot + 1)) {
    const owner = table.get(`*${host.slice(dot)}`);
    if (owner) return owner;
  }
  return null;
}

/** The egress of everything but the owners themselves: owned hosts do not exist on it. */
export const withoutOwnedHosts = (egress: Egress, { ownerOf }: HostOwners): Egress => ({
  close: () => egress.close(),
  async exchange(request) {
    const owner = ownerOf(request.url);
    if (owner === null || (request.via && owner.isOpenToProxies)) return egress.exchange(request);
    return {
      kind: "failed",
      problem: "blocked_destination",
      connected: false,
      detail: `Cannot ask ${owner.name}: it is asked through its limiter only`,
      ms: 0,
    };
  },
});

/** A destination without owned hosts, for parts that open sockets of their own. */
export const unownedDestination = (destination: Destination, { ownerOf }: HostOwners): Destination => ({
  ...destination,
  url: (url, networks) => (ownerOf(url) === null ? destination.url(url, networks) : "blocked_destination"),
});

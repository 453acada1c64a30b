/** The hosts that a search is kept to, or kept from: as words of a query that most engines know, and as a filter of what they answer. Pure. */
import { parseUrl } from "../../lib/web/url.ts";

export interface DomainFilter {
  readonly include_domains?: readonly string[];
  readonly exclude_domains?: readonly string[];
}

/** Engines cut long queries; the filter holds for all of them. */
const MAX_OPERATORS = 10;

/** A host as it stands in addresses; null: it is none. */
export const hostOf = (domain: string): string | null =>
  URL.parse(`http://${domain}/`)?.hostname.replace(/\.$/, "") ?? null;

/** Operators that are put behind a query; empty without a filter. */
export function operatorsOf({ include_domains = [], exclude_domains = [] }: DomainFilter): string {
  const sites = include_domains.slice(0, MAX_OPERATORS).map((domain) => `site:${domain}`);
  const without = exclude_domains.slice(0, MAX_OPERATORS).map((domain) => `-site:${domain}`);
  const only = sites.length > 1 ? [`(${sites.join(" OR ")})`] : sites;
  return [...only, ...without].map((word) => ` ${word}`).join("");
}

export const hasDomains = ({ include_domains, exclude_domains }: DomainFilter): boolean =>
  include_domains !== undefined || exclude_domains !== undefined;

/** Whether an address is of the hosts that are wanted. */
export function isOfDomains(url: string, { include_domains, exclude_domains }: DomainFilter): boolean {
  const host = parseUrl(url)?.hostname.replace(/\.$/, "");
  if (host === undefined) return false;
  const isIn = (domain: string): boolean => host === domain || host.endsWith(`.${domain}`);
  return (include_domains?.some(isIn) ?? true) && !(exclude_domains?.some(isIn) ?? false);
}

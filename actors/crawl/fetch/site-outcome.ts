/**
 * The verdict of a finished run on the origins of its site: one answered, one failed on every route that the run was allowed, or nothing. Only
 * what came from the site itself counts: not an archive, a provider, a name server, or another site that a redirect led to. Pure.
 */
import type { FetchOutcome } from "../../../schemas/domain.ts";
import type { FetchError } from "../../../schemas/errors.ts";
import { type Tier } from "../../../schemas/tier-table.ts";
import { originOf } from "../../lib/web/url.ts";
import type { Candidate } from "./run.ts";

/** Failures of a connection to the site: it was made, refused, or timed out. */
const CONNECTION_FAILURES: ReadonlySet<string> = new Set([
  "tls_error",
  "network_refused",
  "network_reset",
  "network_protocol",
  "network_encoding",
  "timeout",
]);

/** Routes on which a failed connection is one to the site; the rendering service's own is none. */
const CONNECTING: readonly Tier[] = ["direct", "browser", "proxy"];

export interface SiteOutcome {
  readonly result: FetchOutcome["result"];
  /** An address for each origin that it holds for. */
  readonly urls: readonly string[];
}

/**
 * The outcome for the domain of a run for `url` that ends with this error. `isSite`: whether an address belongs to the site. A failure is
 * that of the origins where the routes ended, a success that of the origin that was asked, too.
 */
export function siteOutcome(
  {
    url,
    error,
    tried,
  }: { readonly url: string; readonly error: FetchError | null; readonly tried: readonly Candidate[] },
  isSite: (url: string) => boolean,
): SiteOutcome {
  if (error === "all_tiers_failed") {
    const urls = tried.flatMap((candidate) => reachedAt(candidate) ?? []).filter(isSite);
    return { result: urls.length > 0 ? "every_route_failed" : "abandoned", urls: oneForEachOrigin(urls) };
  }
  const answering = tried.filter(answered);
  if (answering.length === 0 && error !== "too_large") return { result: "abandoned", urls: [] };
  const urls = answering.map(({ page }) => page!.final_url).filter(isSite);
  return { result: "answered", urls: answeredAt(url, urls) };
}

/** The last is the address at which an answer came: of two at one origin it is the one that succeeded. */
export const answeredAt = (url: string, final_urls: readonly string[]): readonly string[] =>
  oneForEachOrigin([...final_urls.toReversed(), url]);

const oneForEachOrigin = (urls: readonly string[]): readonly string[] =>
  urls.filter((url, at) => urls.findIndex((other) => originOf(other) === originOf(url)) === at);

/** The address at which a route that reached a site ended. */
function reachedAt({ tier, page, ended }: Candidate): string | null {
  if (tier === "archive") return null;
  if (page) return page.final_url;
  if (!ended || !CONNECTING.includes(tier) || !CONNECTION_FAILURES.has(ended.reason)) return null;
  return ended.final_url;
}

/** Whether the site gave what it has at the address, also by a redirect: a page, or the word that there is none. */
function answered({ tier, outcome, page }: Candidate): boolean {
  if (tier === "archive" || !page) return false;
  switch (outcome.kind) {
    case "page":
    case "unreadable":
    case "incomplete":
    case "definitive":
    case "final":
      return true;
    case "blocked":
    case "no_host":
    case "unavailable":
      return false;
  }
}

/**
 * What a finished run says of its site: it answered, it failed on every route that the run was allowed, or nothing. Only
 * what came from the site itself counts: not an archive, a provider, a name server, or the target of a redirect. Pure.
 */
import type { FetchOutcome } from "../../schemas/domain.ts";
import type { FetchError } from "../../schemas/errors.ts";
import { type Tier } from "../../schemas/tier-table.ts";
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

/** The outcome for the domain of a run that ends with this error. `isSite`: whether an address belongs to the site. */
export function siteOutcome(
  error: FetchError | null,
  tried: readonly Candidate[],
  isSite: (url: string) => boolean,
): FetchOutcome["result"] {
  const atSite = tried.filter((candidate) => reached(candidate, isSite));
  if (error === "all_tiers_failed") return atSite.length > 0 ? "every_route_failed" : "abandoned";
  return tried.some(answered) || error === "too_large" ? "answered" : "abandoned";
}

function reached({ tier, page, ended }: Candidate, isSite: (url: string) => boolean): boolean {
  if (tier === "archive") return false;
  if (page) return isSite(page.final_url);
  if (!ended || !CONNECTING.includes(tier) || !CONNECTION_FAILURES.has(ended.reason)) return false;
  return ended.final_url !== null && isSite(ended.final_url);
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

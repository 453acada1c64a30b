/**
 * The meaning of one route's result for a request to the profile site, and the error of a request whose routes have all
 * failed. Pure.
 */
import type { ProfileError } from "../../../schemas/errors.ts";
import { challengeOf } from "../../reading/content/challenge.ts";
import { retryAfterSeconds } from "../../lib/web/http.ts";
import type { HopRefusal, TransportPage, TransportResult } from "../../lib/web/transport.ts";
import type { PageReading } from "./read-page.ts";

export type Outcome =
  /** The site's last word: a page, or that there is none. */
  | { readonly kind: "page"; readonly reason: string }
  | {
      readonly kind: "final";
      readonly reason: string;
      readonly error: ProfileError;
      readonly detail: string;
      readonly retry_after_s?: number | null;
    }
  /** The site refuses this route: a challenge, 403, 451, a log-in. */
  | { readonly kind: "blocked"; readonly reason: string }
  | { readonly kind: "limited"; readonly reason: string; readonly retry_after_s: number | null }
  /** Nothing was said of the request. `at_site`: the site itself failed, and not the provider of the route. */
  | { readonly kind: "failed"; readonly reason: string; readonly at_site: boolean }
  | { readonly kind: "no_budget"; readonly reason: string };

/** Challenges are recognised by the beginning of a page. */
const CHALLENGE_BYTES = 65_536;
/** A site that answers 429 without saying for how long. */
const DEFAULT_RETRY_S = 60;
/** Failures between this crawler and the site, of a proxy, of a rendering service or of the tier itself. */
const OF_THE_PROVIDER = /^(?:proxy|provider)_|^dns_|^no_room$/;

/** By its status and its first bytes, before it is read; null: it has to be read. */
export function judgeResponse(page: TransportPage, now_ms: number): Outcome | null {
  const { status, headers, body } = page;
  const challenge = challengeOf({
    status,
    headers,
    body_start: body.toString("latin1", 0, CHALLENGE_BYTES),
    bytes: body.length,
    text_chars: 0,
  });
  if (status === 429) {
    const retry_after_s = retryAfterSeconds(headers.get("retry-after"), now_ms) ?? DEFAULT_RETRY_S;
    return { kind: "limited", reason: "http_429", retry_after_s };
  }
  if (challenge) return { kind: "blocked", reason: `challenge_${challenge.vendor}` };
  if (status === 404 || status === 410) {
    const detail = `The site answers with status ${status}`;
    return { kind: "final", reason: `http_${status}`, error: "not_found", detail };
  }
  if (status === 401 || status === 403 || status === 451)
    return { kind: "blocked", reason: `http_${status}` };
  if (status >= 300 || status < 200 || status === 204 || status === 205)
    return { kind: "failed", reason: `http_${status}`, at_site: true };
  return null;
}

export function judgeReading(reading: PageReading): Outcome {
  switch (reading.kind) {
    case "profile":
    case "suggest":
    case "graph":
    case "other":
      return { kind: "page", reason: "ok" };
    case "login":
      // No account is ever used, and another exit would see the same.
      return final("login_wall", "blocked", "The site shows this page with an account only");
    case "challenge":
      return { kind: "blocked", reason: "challenge_captcha" };
    case "results":
      return final(
        "results_page",
        "not_found",
        "The site answers with a list of results instead of the page",
      );
    case "thin":
      return { kind: "failed", reason: "thin_content", at_site: true };
    case "not_json":
      return { kind: "failed", reason: "not_json", at_site: true };
    case "no_profile":
      return final("parse_failed", "parse_failed", "The page is no company profile");
  }
}

export function judgeFailure({ reason }: Extract<TransportResult, { kind: "failed" }>): Outcome {
  if (reason === "too_large") return final(reason, "all_tiers_failed", "The document is larger than is read");
  return { kind: "failed", reason, at_site: !OF_THE_PROVIDER.test(reason) };
}

export function judgeRefusal({ error, reason, detail, retry_after_s }: HopRefusal): Outcome {
  switch (error) {
    case "robots_disallowed":
      return final(reason, "robots_disallowed", detail ?? "robots.txt of the site disallows the address");
    case "domain_busy":
    case "politeness_timeout":
      return {
        ...final(reason, "politeness_timeout", "The site had no slot in time"),
        retry_after_s,
      };
    case "domain_unavailable":
      return {
        ...final(reason, "blocked", "Every route failed for the site; it is left alone for a while"),
        retry_after_s,
      };
    case "timeout":
      return final(reason, "timeout", "The time was over before the request could be sent");
    default:
      return final(reason, "all_tiers_failed", detail ?? `The request was refused: ${error}`);
  }
}

const final = (
  reason: string,
  error: ProfileError,
  detail: string,
): Extract<Outcome, { readonly kind: "final" }> => ({ kind: "final", reason, error, detail });

export interface Failure {
  readonly error: ProfileError;
  readonly error_detail: string;
  readonly retry_after_s: number | null;
}

/** The failure of a request whose routes have all been tried without a final word; at least one was. */
export function failureOf(tried: readonly Outcome[]): Failure {
  const asked = tried.filter(({ kind }) => kind !== "no_budget");
  const last = asked.at(-1);
  if (last === undefined)
    return {
      error: "budget_exhausted",
      error_detail: "The budget leaves nothing for the routes to the site",
      retry_after_s: null,
    };
  const reasons = asked.map(({ reason }) => reason).join(", ");
  const error_detail = `Every route to the site that was tried failed: ${reasons}`;
  if (asked.every(({ kind }) => kind === "blocked" || kind === "limited")) {
    if (last.kind === "limited")
      return { error: "rate_limited", error_detail, retry_after_s: last.retry_after_s };
    if (lacksBudget(tried))
      return {
        error: "budget_exhausted",
        error_detail: `${error_detail}; the budget leaves nothing for the others`,
        retry_after_s: null,
      };
    return { error: "blocked", error_detail, retry_after_s: null };
  }
  return { error: "all_tiers_failed", error_detail, retry_after_s: null };
}

/** Whether a route was left out because the payer had no room for it. */
export const lacksBudget = (tried: readonly Outcome[]): boolean =>
  tried.some(({ kind }) => kind === "no_budget");

/** The outcome of the whole request that the Domain actor is given. */
export function siteOutcome(tried: readonly Outcome[]): "answered" | "every_route_failed" | "abandoned" {
  const last = tried.at(-1);
  if (last?.kind === "page") return "answered";
  if (last?.kind === "final")
    return last.error === "not_found" || last.error === "parse_failed" ? "answered" : "abandoned";
  const failed = tried.some(
    (outcome) =>
      outcome.kind === "blocked" ||
      outcome.kind === "limited" ||
      (outcome.kind === "failed" && outcome.at_site),
  );
  return failed ? "every_route_failed" : "abandoned";
}

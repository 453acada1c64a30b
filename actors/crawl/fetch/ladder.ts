/**
 * The ladder: which route comes next, or what the answer is. One pure decision over the request, what is known of the
 * host, and the outcomes of the routes that were taken; it sees no page.
 */
import { type PremiumAdvice as Lesson } from "../../../schemas/fetch.ts";
import type { FetchError } from "../../../schemas/errors.ts";
import type { SealedRequest } from "../../../schemas/own-request.ts";
import { isPremium, type Tier, TIERS, TIER_TABLE, type RenderMode } from "../../../schemas/tier-table.ts";

/** The part of a request that decides about routes. */
export interface RouteOptions {
  readonly render: RenderMode;
  readonly tiers: readonly Tier[] | null;
  readonly allow_archive: boolean;
  readonly allow_paid: boolean;
  readonly min_text_chars: number;
  /** Each of these takes the route browser, and no other; so do steps in a page. */
  readonly wait_for?: object;
  readonly screenshot?: object;
  readonly view?: object;
  /** The part of the request that only the origin may get: it takes routes from this crawler's own addresses. */
  readonly own?: Pick<SealedRequest, "is_post" | "has_actions">;
  /** The request's session has an exit of its own, which the route proxy alone can take. Default: it has none. */
  readonly has_exit?: boolean;
}

/** The outcome of one route. */
export type Outcome =
  /** A page with a good status. Only HTML can be thin. */
  /** `text_chars` as comparableChars counts them. */
  | { readonly kind: "page"; readonly text_chars: number; readonly html: boolean }
  /** A page with a good status whose document cannot be read: damaged, or too much for a reader's time or memory. */
  | { readonly kind: "unreadable" }
  /** A page that did not come to what the request waits for, or has no screenshot. */
  | { readonly kind: "incomplete"; readonly error: FetchError }
  /** A final status of the origin: 404, 410, any 4xx that is no block. */
  | { readonly kind: "definitive"; readonly status: number }
  /** 403, 429, 451, 5xx, a challenge, a network error: another route may succeed. */
  | { readonly kind: "blocked"; readonly status: number | null }
  /** The host name does not exist, `dead` when it was seen missing before; only an archive can help. */
  | { readonly kind: "no_host"; readonly dead: boolean }
  /**
   * The route could not serve: it is not configured, its tier is full or down, it is over budget or refused by this host,
   * or has no archived copy.
   */
  | {
      readonly kind: "unavailable";
      readonly reason: "not_configured" | "down" | "budget_exhausted" | "refused" | "not_found" | "failed";
    }
  /** No other route may or can change this: too_large, robots_disallowed, blocked_destination, domain_busy … */
  | { readonly kind: "final"; readonly error: FetchError };

export interface Tried {
  readonly tier: Tier;
  readonly outcome: Outcome;
}

/** Knowledge of this host from earlier fetches. */
export interface RouteHints {
  /** The cheapest route that has worked where cheaper ones were blocked; null: begin at the bottom. */
  readonly start: Tier | null;
  /** Whether only premium routes serve it, or it refuses these as well. */
  readonly premium: Lesson["premium"];
  /** Whether this fetch tests what is believed otherwise. */
  readonly is_test?: boolean;
}

export const NO_HINTS: RouteHints = { start: null, premium: "unknown" };

export type Step =
  | { readonly kind: "route"; readonly tier: Tier }
  /** `best` is the index in `tried` of what is returned, null when there is no page. */
  | { readonly kind: "answer"; readonly error: FetchError | null; readonly best: number | null };

export const needsBrowser = ({
  wait_for,
  screenshot,
  view,
  own,
}: Pick<RouteOptions, "wait_for" | "screenshot" | "view" | "own">): boolean =>
  wait_for !== undefined || screenshot !== undefined || view !== undefined || own?.has_actions === true;

/** The routes a request may take, in ladder order. Empty: no_tier_allowed. */
export function routesOf(options: RouteOptions): readonly Tier[] {
  return TIERS.filter(
    (tier) =>
      TIER_TABLE[tier].render.includes(options.render) &&
      (options.tiers === null || options.tiers.includes(tier)) &&
      (options.allow_archive || tier !== "archive") &&
      (options.allow_paid || !isPremium(tier)) &&
      (TIER_TABLE[tier].is_browser || !needsBrowser(options)) &&
      (options.has_exit ? tier === "proxy" : TIER_TABLE[tier].has_own_address || !options.own),
  );
}

/** Whether a request may take every route to the site that is configured. */
export function isOpen(options: RouteOptions, configured: readonly Tier[]): boolean {
  const allowed = routesOf(options);
  // A site's answer to one caller's header fields is no answer to other callers.
  if (options.own) return false;
  return configured.every((tier) => tier === "archive" || allowed.includes(tier));
}

/** The next route to take, or the answer. Ends: every route is taken at most once. */
export function nextStep(options: RouteOptions, hints: RouteHints, tried: readonly Tried[]): Step {
  const allowed = routesOf(options);
  if (allowed.length === 0) return answerStep("no_tier_allowed", null);
  const isRequired = hints.premium === "required" && !needsBrowser(options) && !options.own;
  const routes = isRequired ? allowed.filter((tier) => !TIER_TABLE[tier].has_own_address) : allowed;
  if (routes.length === 0) return answerStep("premium_route_required", null);
  const last = tried.at(-1);
  if (!last) return { kind: "route", tier: startOf(routes, hints) };
  const isSent = options.own?.is_post === true && tried.some(mayHaveSent);
  const untried = (tier: Tier) =>
    !isSent && routes.includes(tier) && tried.every((attempt) => attempt.tier !== tier);

  const { outcome } = last;
  if (outcome.kind === "final") return answerStep(outcome.error, null);
  if (outcome.kind === "incomplete") return answerStep(outcome.error, tried.length - 1);
  if (outcome.kind === "page" && !isThin(outcome, options)) return answerStep(null, tried.length - 1);

  const thin = tried.some(({ outcome: seen }) => seen.kind === "page");
  if (thin) {
    // After a thin page only the browser is tried; whatever the browser returns, there is a page.
    if (last.tier === "direct" && untried("browser")) return { kind: "route", tier: "browser" };
    return answerStep(null, mostText(tried));
  }

  // A browser or another copy of the same bytes would be as hard to read.
  if (outcome.kind === "unreadable") return answerStep("unreadable_document", tried.length - 1);

  const definitive = tried.findIndex(({ outcome: seen }) => seen.kind === "definitive");
  if (definitive >= 0) {
    const { status } = tried[definitive]!.outcome as { status: number };
    const gone = status === 404 || status === 410;
    if (gone && last === tried[definitive] && untried("archive")) return { kind: "route", tier: "archive" };
    return answerStep(`http_${status}`, definitive);
  }

  const missing = tried.find(({ outcome: seen }) => seen.kind === "no_host");
  if (missing?.outcome.kind === "no_host") {
    if (untried("archive")) return { kind: "route", tier: "archive" };
    return answerStep(missing.outcome.dead ? "domain_dead" : "all_tiers_failed", null);
  }

  // Cheaper routes that the hints skipped are tried after the more expensive ones have failed.
  const next = routes.find((tier) => TIERS.indexOf(tier) > TIERS.indexOf(last.tier) && untried(tier));
  const skipped = next ?? routes.find(untried);
  if (skipped) return { kind: "route", tier: skipped };
  if (isRequired && !allowed.some(isPremium)) return answerStep("premium_route_required", null);
  return answerStep(isRequired && lacksBudget(tried) ? "budget_exhausted" : "all_tiers_failed", null);
}

/** Whether the site may have got a request by this route. */
const mayHaveSent = ({ outcome }: Tried): boolean =>
  !(outcome.kind === "unavailable" && (outcome.reason === "not_configured" || outcome.reason === "down"));

/** Whether the missing budget was the only reason why no premium route was taken. */
function lacksBudget(tried: readonly Tried[]): boolean {
  const premium = tried.filter(
    ({ tier, outcome }) =>
      isPremium(tier) && !(outcome.kind === "unavailable" && outcome.reason === "not_configured"),
  );
  return (
    premium.length > 0 &&
    premium.every(({ outcome }) => outcome.kind === "unavailable" && outcome.reason === "budget_exhausted")
  );
}

/** Whether a page's text is too short to be the page (min_text_chars); only HTML is judged. */
export function isThin(outcome: Extract<Outcome, { kind: "page" }>, options: RouteOptions): boolean {
  return outcome.html && outcome.text_chars < options.min_text_chars;
}

/** Statuses after which another route may find the page. */
export function isBlocking(status: number): boolean {
  return status === 403 || status === 429 || status === 451 || status >= 500;
}

function startOf(routes: readonly Tier[], { start }: RouteHints): Tier {
  return start !== null && routes.includes(start) ? start : routes[0]!;
}

function answerStep(error: FetchError | null, best: number | null): Step {
  return { kind: "answer", error, best };
}

/** The page with the most text among several thin ones; the cheaper one when they are equal. */
function mostText(tried: readonly Tried[]): number {
  const chars = ({ outcome }: Tried) => (outcome.kind === "page" ? outcome.text_chars : -1);
  return tried.reduce((best, attempt, index) => (chars(attempt) > chars(tried[best]!) ? index : best), 0);
}

/**
 * The tiers, in ladder order: what a fetch may take to a page, and everything that differs between them. A new tier is a row here and
 * a transport in actors/crawl/tiers/feature/open-tiers.ts; the compiler names both.
 */

export const RENDER_MODES = ["auto", "never", "always"] as const;
export type RenderMode = (typeof RENDER_MODES)[number];

interface TierRow {
  /** Every attempt costs money. */
  readonly is_premium: boolean;
  /** Asks the site from an address of this crawler, which the site may block. */
  readonly has_own_address: boolean;
  /** The values of `render` with which it may be taken. */
  readonly render: readonly RenderMode[];
  /** Runs a page's scripts for an element, a time or a screenshot that the caller asks for. */
  readonly is_browser: boolean;
  /** Calls at once on a node; null: the pages of the node's browsers. */
  readonly capacity: number | null;
  /** A provider without an answer for this long is suspect; null: waiting is not the provider's fault. */
  readonly slow_ms: number | null;
  /** Reasons that say that what the tier needs failed. Empty: its failures cannot be told from those of the site. */
  readonly failures: readonly string[];
  /** Reasons after which a provider charges nothing although it was asked, or was not asked at all. */
  readonly free_reasons: readonly string[];
  /** Difficulties of a page that may have a price of their own, as the provider names them. */
  readonly difficulties: readonly string[];
}

const TABLE = {
  /**
   * A thread sends about 2,000 requests a second: 512 calls at once keep it busy where a site takes 0.2 s (bench/capacity.bench.ts),
   * 1,000 where it takes half a second, as pages of real sites do. Cores do not change that.
   */
  direct: {
    is_premium: false,
    has_own_address: true,
    render: ["auto", "never"],
    is_browser: false,
    capacity: 1_000,
    slow_ms: null,
    failures: [],
    free_reasons: [],
    difficulties: [],
  },
  browser: {
    is_premium: false,
    has_own_address: true,
    render: ["auto", "always"],
    is_browser: true,
    capacity: null,
    slow_ms: null,
    // A page can crash a browser, so crashes are not counted: a browser that does not start is.
    failures: ["browser_unavailable"],
    free_reasons: [],
    difficulties: [],
  },
  /** Asked politely as any domain is, two requests at once in the whole cluster: four calls keep it busy. It lists a page in 1 to 10 s. */
  archive: {
    is_premium: false,
    has_own_address: false,
    render: ["auto", "never"],
    is_browser: false,
    capacity: 4,
    slow_ms: 5_000,
    failures: ["archive_unreachable", "archive_error", "archive_bad_answer", "archive_rate_limited"],
    free_reasons: [],
    difficulties: [],
  },
  proxy: {
    is_premium: true,
    has_own_address: false,
    render: ["auto", "never"],
    is_browser: false,
    capacity: 64,
    slow_ms: null,
    failures: ["proxy_unreachable", "proxy_refused"],
    free_reasons: ["proxy_unreachable", "proxy_refused", "proxy_connect_failed"],
    difficulties: [],
  },
  /** A rendering service takes up to a minute. */
  proxy_render: {
    is_premium: true,
    has_own_address: false,
    render: ["auto", "always"],
    is_browser: false,
    capacity: 16,
    slow_ms: 60_000,
    failures: [
      "provider_unreachable",
      "provider_over_budget",
      "provider_rate_limited",
      "provider_refused",
      "provider_error",
      "provider_bad_answer",
    ],
    free_reasons: [
      "provider_unreachable",
      "provider_over_budget",
      "provider_rate_limited",
      "provider_refused",
      "provider_failed",
      // The service is down, or its answer is no page.
      "provider_error",
      "provider_bad_answer",
    ],
    difficulties: ["low", "medium", "high"],
  },
} as const satisfies Readonly<Record<string, TierRow>>;

export type Tier = keyof typeof TABLE;
/** Tiers that cost money with every attempt. */
export type PremiumTier = {
  [T in Tier]: (typeof TABLE)[T]["is_premium"] extends true ? T : never;
}[Tier];

export const TIER_TABLE: Readonly<Record<Tier, TierRow>> = TABLE;
export const TIERS = Object.keys(TABLE) as readonly Tier[];
export const isPremium = (tier: string): tier is PremiumTier =>
  Object.hasOwn(TABLE, tier) && TABLE[tier as Tier].is_premium;
export const PREMIUM_TIERS: readonly PremiumTier[] = TIERS.filter(isPremium);

/** Failures that keep a tier from taking a call: no place, down or on no node, and its node gone during the call. */
const TIER_FAILURES = ["busy", "unavailable", "lost"] as const;
export type TierFailure = (typeof TIER_FAILURES)[number];

/** The reason of an attempt on a tier that did not take the call. */
export const tierFailureReason = (tier: Tier, failure: TierFailure): string => `${tier}_${failure}`;
const FAILURE_BY_REASON: ReadonlyMap<string, TierFailure> = new Map(
  TIERS.flatMap((tier) =>
    TIER_FAILURES.map((failure) => [tierFailureReason(tier, failure), failure] as const),
  ),
);
/** Null for a reason that says something else. */
export const tierFailureOf = (reason: string): TierFailure | null => FAILURE_BY_REASON.get(reason) ?? null;

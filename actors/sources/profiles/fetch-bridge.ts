/**
 * Pages of the profile site for POST /v1/fetch: over the same paid routes as profiles, and answered in the form of a
 * route's result. The fetch actor reads and caches them.
 */
import type { Node } from "../../../cluster/node-record.ts";
import { readBody } from "../../../cluster/read-body.ts";
import { type Redirect } from "../../../schemas/fetch.ts";
import { ProfilePage, type ProfilePageAnswer } from "../../../schemas/profiles.ts";
import type { ProfileSite } from "./service.ts";
import { pageDigest } from "./site-request.ts";
import { PREMIUM_TIERS, type PremiumTier, type Tier } from "../../../schemas/tier-table.ts";

/** A request ends at its deadline; its answer needs time to arrive. */
const GRACE_MS = 5_000;

/** The error of a fetch for an error of a profile. */
const FETCH_ERROR: Readonly<Record<string, string>> = {
  paid_tier_required: "premium_route_required",
  blocked: "all_tiers_failed",
  rate_limited: "all_tiers_failed",
};

const OFF =
  "The profile site is asked over paid routes only, and profiles are off on this service or have no such route";
const PAID_ONLY =
  "This site is read over the routes proxy and proxy_render only, and allow_paid or tiers leave them out";

export function profilePages({
  ask,
  blobs,
  clock,
  site,
  isConfigured,
}: Pick<Node, "ask" | "blobs" | "clock"> & {
  readonly site: ProfileSite;
  readonly isConfigured: () => boolean;
}) {
  const paid = (tiers: readonly Tier[]): PremiumTier[] =>
    PREMIUM_TIERS.filter((tier) => tiers.includes(tier));

  async function fetch(request: {
    readonly url: string;
    readonly max_bytes: number;
    readonly project: string;
    readonly key?: string;
    readonly fetch_id: string;
    readonly lane: "sync" | "batch";
    readonly deadline_ms: number;
    readonly tiers: readonly Tier[];
  }) {
    const { url, max_bytes, project, key, fetch_id, lane, deadline_ms, tiers } = request;
    const began_ms = clock.mono();
    const ms = (): number => Math.round(clock.mono() - began_ms);
    if (!isConfigured()) {
      const attempts = paid(tiers).map((tier) => ({ ...NO_ATTEMPT, tier, reason: "not_configured" }));
      return { ...NOTHING, detail: OFF, attempts, ms: ms() };
    }
    const page_request = {
      kind: "other",
      url,
      country: null,
      session_key: null,
      cache_ttl_s: null,
      routes: paid(tiers),
      max_bytes,
      lane,
      project,
      ...(key !== undefined && { key }),
      fetch_id,
      deadline_ms,
    } as const;
    const timeout_ms = Math.max(0, deadline_ms - clock.now()) + GRACE_MS;
    const address = `${site.name} ${pageDigest(page_request)}`;
    const answer = await ask(ProfilePage, address, "get", page_request, { timeout_ms });
    const { attempts, cost_micros, redirects } = answer;
    if (answer.error !== null) return { ...failed(answer), attempts, cost_micros, redirects, ms: ms() };
    const body = await readBody(blobs, answer.sha256!);
    const page = {
      kind: "page",
      final_url: answer.final_url!,
      redirects,
      status: answer.status!,
      headers: new Map(Object.entries(answer.headers)),
      body,
      body_kind: answer.body_kind!,
      ms: ms(),
    } as const;
    const { cached, revalidated, retrieved_at, tier } = answer;
    const fetched = { page, cached, revalidated, retrieved_at: retrieved_at!, fresh_ms: null };
    return { kind: "page", ...fetched, tier: tier!, attempts, cost_micros } as const;
  }

  return {
    fetch,
    refusal: (tiers: readonly Tier[]) =>
      paid(tiers).length > 0 ? null : { error: "premium_route_required" as const, error_detail: PAID_ONLY },
  };
}

const NO_ATTEMPT = { status: null, ms: 0, detail: null } as const;
const NO_REDIRECTS: readonly Redirect[] = [];
const NOTHING = {
  kind: "failed",
  error: "all_tiers_failed",
  status: null,
  retry_after_s: null,
  redirects: NO_REDIRECTS,
  cost_micros: 0,
} as const;

function failed({ error, error_detail, status, retry_after_s }: ProfilePageAnswer) {
  // A site that is left alone after three failures says when it is asked again.
  const isSkipped = error === "blocked" && retry_after_s !== null;
  const isGone = error === "not_found" && status !== null && status >= 400;
  const known = isGone
    ? `http_${status}`
    : isSkipped
      ? "domain_unavailable"
      : (FETCH_ERROR[error!] ?? error!);
  return { kind: "failed", error: known, status, detail: error_detail ?? known, retry_after_s } as const;
}

/** Fetches and their routes in the public status: what counts as a failure of the service, and the figures of this node. */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { NodeStats } from "../../../../cluster/embedded.ts";
import type { RoleActor } from "../../../../cluster/role-actor.ts";
import type { StatusPart } from "../../../business/status/feature/tokens.ts";
import { Domain, Robots } from "../../../../schemas/domain.ts";
import { Fetch, HostProfile } from "../../../../schemas/fetch.ts";
import type { Figure, Figures } from "../../../../schemas/status.ts";
import { RollingWindow } from "../../../lib/rolling-window.ts";
import { ARCHIVE, BROWSER, FETCH, PAID_TIERS } from "../../../business/status/components.ts";
import { mailboxesOf, windowFigures } from "../../../business/status/figures.ts";
import type { FetchedOutcome } from "../service.ts";
import { isPremium, type Tier } from "../../../../schemas/tier-table.ts";

/**
 * Errors of the service itself: it could not do something it can do. Everything else is the site's answer (4xx, a host
 * name that does not exist), the caller's own choice, or a fetch that was put off.
 */
const FAILURES: ReadonlySet<string> = new Set([
  "all_tiers_failed",
  "timeout",
  "unreadable_document",
  "fault",
]);

const isFailure = (error: FetchedOutcome["error"]): boolean =>
  error !== null && (FAILURES.has(error) || /^http_5\d\d$/.test(error));

/** The actors that a fetch asks before its first request. */
const ON_THE_WAY = [Fetch, HostProfile, Robots, Domain];

/** The component that shows a route; `direct` needs nothing but the network. */
const componentOf = (tier: Tier): "browser" | "archive" | "paid" | null =>
  tier === "browser" || tier === "archive" ? tier : isPremium(tier) ? "paid" : null;

export interface FetchStatus {
  readonly part: StatusPart;
  readonly onFetched: (fetched: FetchedOutcome) => void;
  readonly onUnavailable: (tier: Tier) => void;
}

export function fetchStatus(
  clock: Clock,
  tiers: readonly RoleActor[],
  actorStats: () => NodeStats,
): FetchStatus {
  const fetches = new RollingWindow<"requests" | "successes">(["requests", "successes"]);
  const unavailable = new RollingWindow<"browser" | "archive" | "paid">(["browser", "archive", "paid"]);

  function figures(): Figures {
    const now_ms = clock.now();
    const mailboxes = mailboxesOf(actorStats(), ON_THE_WAY);
    const waiting_calls = tiers.reduce((sum, { load }) => sum + load().waiting, 0);
    const oldest_call_ms = Math.max(0, ...tiers.map(({ oldest_wait_ms }) => oldest_wait_ms?.() ?? 0));
    const lag_s = Math.max(mailboxes.oldest_ms, oldest_call_ms) / 1_000;
    return {
      ...windowFigures("fetch", fetches, now_ms),
      "fetch.sync_queue_backlog": { sum: mailboxes.waiting + waiting_calls },
      "fetch.sync_queue_lag_s": { max: Math.round(lag_s * 10) / 10 },
      ...tierFigures(tiers, unavailable.sums(now_ms)),
    };
  }

  return {
    part: { components: [FETCH, BROWSER, ARCHIVE, PAID_TIERS], figures },
    onFetched({ error, ms, isBatch }) {
      const now_ms = clock.now();
      fetches.add("requests", now_ms);
      if (!isFailure(error)) fetches.add("successes", now_ms);
      // Items of a batch wait for their turn: their time says nothing of the service.
      if (!isBatch) fetches.observe(ms, now_ms);
    },
    onUnavailable(tier) {
      const component = componentOf(tier);
      if (component) unavailable.add(component, clock.now());
    },
  };
}

/** Calls that say nothing of the route itself are left out; calls that were refused because it is down count as failed. */
function tierFigures(
  tiers: readonly RoleActor[],
  refused: Readonly<Record<"browser" | "archive" | "paid", number>>,
): Figures {
  const figures: Record<string, Figure> = {};
  const add = (name: string, value: number): void => {
    const previous = figures[name];
    figures[name] = { sum: value + (previous && "sum" in previous ? previous.sum : 0) };
  };
  for (const [component, count] of Object.entries(refused))
    if (count > 0) add(`${component}.attempts`, count);
  for (const { contract, load, figures: read } of tiers) {
    const component = componentOf(contract.placement.role as Tier);
    if (!component) continue;
    const { successes, infrastructure_failures, p95_ms } = read!();
    add(`${component}.workers`, 1);
    add(`${component}.successes`, successes);
    add(`${component}.attempts`, successes + infrastructure_failures);
    add(`${component}.queue_backlog`, load().waiting);
    if (p95_ms !== null) figures[`${component}.latency_p95_ms`] = { max: p95_ms };
  }
  return figures;
}

/** The cost of a premium attempt: reserved before it, settled with what it cost after it. */
import type { ActorClient } from "../../../cluster/actor.ts";
import { type PremiumTier } from "../../../schemas/tier-table.ts";
import type { TransportResult } from "../../lib/web/transport.ts";
import { priceMost, priceOf, type Prices } from "./prices.ts";

/** The accounts that pay for an attempt: those of the request's key, project and customer. */
export interface Spending {
  /** False: one of them has less left. The same id again is the same reservation. Throws Fault. */
  readonly reserve: (
    ask: ActorClient,
    payer: { readonly project: string; readonly key?: string | undefined },
    id: string,
    micros: number,
  ) => Promise<boolean>;
  /** Never throws. */
  readonly settle: (
    ask: ActorClient,
    payer: { readonly project: string; readonly key?: string | undefined },
    id: string,
    micros: number,
  ) => Promise<void>;
}

interface PremiumDeps {
  /** Default: every attempt is free. */
  readonly prices?: Prices;
  /** Default: money has no limit. */
  readonly spending?: Spending;
}

/** The run that the cost of an attempt is counted on. */
export interface PremiumRun {
  readonly ask: ActorClient;
  readonly request: { readonly fetch_id: string; readonly project: string; readonly key?: string };
  readonly work: { readonly epoch: number };
  spent_micros: number;
}

/** With the epoch, so that what an earlier owner of the key still settles is not this run's. */
const reservationId = ({ request, work }: PremiumRun, tier: PremiumTier): string =>
  `${request.fetch_id}.${tier}.${work.epoch}`;

/** Whether the payer has room for one attempt; then the highest price of it is reserved. */
async function reserveBudget(
  { prices = {}, spending }: PremiumDeps,
  run: PremiumRun,
  tier: PremiumTier,
): Promise<boolean> {
  const micros = priceMost(prices, tier);
  if (micros === 0 || !spending) return true;
  return spending.reserve(run.ask, run.request, reservationId(run, tier), micros);
}

async function settleBudget(
  { prices = {}, spending }: PremiumDeps,
  run: PremiumRun,
  tier: PremiumTier,
  result: TransportResult,
): Promise<void> {
  if (priceMost(prices, tier) === 0) return;
  // A refusal before the first request cost nothing; a refusal of a redirect hop came after an answer.
  const wasUsed = result.kind !== "refused" || result.redirects.length > 0;
  const reason = result.kind === "failed" ? result.reason : "ok";
  const difficulty = result.kind === "page" ? (result.detail ?? null) : null;
  const micros = wasUsed ? priceOf(prices, tier, reason, difficulty) : 0;
  run.spent_micros += micros;
  await spending?.settle(run.ask, run.request, reservationId(run, tier), micros);
}

export interface PremiumCosts {
  /** False: an account that pays has less left. */
  readonly reserve: (run: PremiumRun, tier: PremiumTier) => Promise<boolean>;
  /** Adds what the attempt cost to the run. */
  readonly settle: (run: PremiumRun, tier: PremiumTier, result: TransportResult) => Promise<void>;
}

export const premiumCosts = (deps: PremiumDeps): PremiumCosts => ({
  reserve: (run, tier) => reserveBudget(deps, run, tier),
  settle: (run, tier, result) => settleBudget(deps, run, tier, result),
});

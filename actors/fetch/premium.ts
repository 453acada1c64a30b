/** The cost of a premium attempt: reserved from the project's budget before it, settled with what it cost after it. */
import { Account } from "../../schemas/accounts.ts";
import type { PremiumTier } from "../../schemas/fetch.ts";
import type { TransportResult } from "../lib/web/transport.ts";
import { priceMost, priceOf } from "./prices.ts";
import type { PipelineDeps, RunState } from "./run.ts";

type PremiumDeps = Pick<PipelineDeps, "prices" | "budgetOf" | "log">;

const reservationId = ({ request }: RunState, tier: PremiumTier): string => `${request.fetch_id}.${tier}`;

/** Whether the project's budget has room for one attempt; then the highest price of it is reserved. */
export async function reserveBudget(
  { prices = {}, budgetOf }: PremiumDeps,
  run: RunState,
  tier: PremiumTier,
): Promise<boolean> {
  const micros = priceMost(prices, tier);
  if (micros === 0) return true;
  const { project } = run.request;
  const limit_micros = (await budgetOf?.(project)) ?? null;
  const message = { id: reservationId(run, tier), micros, limit_micros };
  return (await run.ask(Account, project, "reserve", message)).kind === "reserved";
}

export async function settleBudget(
  { prices = {}, log }: PremiumDeps,
  run: RunState,
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
  const { project } = run.request;
  const message = { id: reservationId(run, tier), micros };
  await run.ask(Account, project, "settle", message).catch((problem: unknown) => {
    // The reservation expires by itself; the usage of this request counts what was spent.
    log.warn("Cannot settle a premium attempt", { project, problem: String(problem) });
  });
}

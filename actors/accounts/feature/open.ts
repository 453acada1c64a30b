/** Assembles accounts: the actors that keep them, and the routes by which clients see them. */
import type { FeatureContext, OpenFeature } from "../../../ops/feature.ts";
import { Quota } from "../../../schemas/accounts.ts";
import { RequestList, UsageReport, UsageTotals } from "../../../schemas/ledger.ts";
import { accountActor } from "../actor.ts";
import { usageTotalsActor } from "../usage-totals.actor.ts";
import { accountRoutes } from "./account-routes.ts";
import { quotaRoute } from "./quota-route.ts";
import { usageRoutes } from "./usage-routes.ts";

const REFRESH_WAIT_MS = 10_000;

type AccountsContext = Pick<FeatureContext, "documents" | "ask" | "clock" | "log" | "ledger">;

export function openAccounts(context: AccountsContext): OpenFeature {
  const { documents, ask, ledger, log } = context;
  const refresh = async (customer: string): Promise<void> => {
    await ledger.flush(customer);
    await ask(UsageTotals, customer, "refresh", null, { timeout_ms: REFRESH_WAIT_MS });
  };
  const deps = { ...context, refresh };
  return {
    actors: [accountActor(), usageTotalsActor({ documents, log })],
    routes: [quotaRoute(deps), ...usageRoutes(deps), ...accountRoutes(deps)],
    named_schemas: { Quota, UsageReport, RequestList },
  };
}

/** Tokens that the tiers give to other features. */
import type { RoleActor } from "../../../../cluster/role-actor.ts";
import { token } from "../../../../node/token.ts";
import type { PremiumTier } from "../../../../schemas/tier-table.ts";
import type { PremiumCosts } from "../../fetch/premium.ts";

/** The actors of the tiers that this node offers. */
export const OwnTiers = token<readonly RoleActor[]>("own tiers");
/** The routes whose exit may be in a country that the caller names. */
export const CountryRoutes = token<readonly PremiumTier[]>("country routes");
export const Premium = token<PremiumCosts>("premium costs");

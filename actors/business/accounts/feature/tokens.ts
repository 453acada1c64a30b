/** Services that accounts give to other features. */
import { token } from "../../../../node/token.ts";
import type { FindPayer } from "../payer.ts";
import type { Spending } from "../spend.ts";
import type { AnnounceNotices } from "../status-alerts.ts";

/** The key, project and customer that pay for a piece of work, with the limits that hold now. */
export const Payers = token<FindPayer>("payers");
/** The one way to spend money. */
export const Spend = token<Spending>("spending");
/** Webhooks that are told what the operator announces of the service. */
export const StatusAlerts = token<AnnounceNotices>("status alerts");

/** Assembles accounts: the actors that keep them, and the routes by which clients see them. */
import { hash } from "node:crypto";
import { keyIn } from "../../../../gateway/authenticate.ts";
import type { JoinedFeature, JoinedNode } from "../../../../node/feature.ts";
import { UsageTotals } from "../../../../schemas/ledger.ts";
import { debugRoutes } from "../../../../gateway/routes/debug.ts";
import { accountActor } from "../actor.ts";
import { alertsActor } from "../alerts.actor.ts";
import { announceCrossings } from "../alerts.ts";
import { findGrant } from "../keys.ts";
import { type FindPayer, findPayer } from "../payer.ts";
import { type Spending, spending } from "../spend.ts";
import { type AnnounceNotices, announceNotices } from "../status-alerts.ts";
import { usageTotalsActor } from "../usage-totals.actor.ts";
import { accountRoutes } from "./account-routes.ts";
import { type InvoiceTerms, NO_TERMS } from "../invoice-terms.ts";
import { invoiceDrawing } from "../draw-invoices.ts";
import type { Refresh } from "../read-usage.ts";
import { alertRoutes } from "./alert-routes.ts";
import { invoiceRoutes } from "./invoice-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { quotaRoute } from "./quota-route.ts";
import { usageRoutes } from "./usage-routes.ts";

const REFRESH_WAIT_MS = 10_000;

/** `terms` of the invoices that this node draws. */
export function openAccounts(
  node: Pick<
    JoinedNode,
    | "documents"
    | "ask"
    | "clock"
    | "log"
    | "metrics"
    | "egress"
    | "random"
    | "ledger"
    | "debugRecords"
    | "destination"
    | "secrets"
  > &
    Partial<Pick<JoinedNode, "networksOf">> & { readonly roles: Pick<JoinedNode["roles"], "call"> },
  terms: InvoiceTerms = NO_TERMS,
): JoinedFeature<{
  readonly payers: FindPayer;
  readonly spending: Spending;
  readonly announceNotices: AnnounceNotices;
}> {
  const { documents, ask, clock, ledger, log, random } = node;
  const payers: FindPayer = (project, prefix) => findPayer(documents, project, prefix);
  const refresh: Refresh = async (customer) => {
    await ledger.flush(customer);
    return (await ask(UsageTotals, customer, "refresh", null, { timeout_ms: REFRESH_WAIT_MS })).at_ms;
  };
  const deps = { ...node, refresh };
  return {
    provides: {
      payers,
      spending: spending({ findPayer: payers, documents, clock, log }),
      announceNotices: announceNotices(documents, ask),
    },
    actors: [
      accountActor(announceCrossings(documents)),
      usageTotalsActor({ documents, log }),
      alertsActor({ ...node, random: () => random.next() }),
    ],
    routes: [
      quotaRoute(deps),
      ...usageRoutes(deps),
      ...accountRoutes(deps),
      ...keyRoutes(deps),
      ...alertRoutes(deps),
      ...invoiceRoutes({ documents, clock, call: node.roles.call }),
      ...debugRoutes({
        ...node.debugRecords,
        async projectOf(authorization) {
          const key = keyIn(authorization);
          const grant = key === null ? null : await findGrant(documents, hash("sha256", key), clock.now());
          return grant === null || grant.customer.status === "suspended" ? null : grant.project.name;
        },
      }),
    ],
    onAddress: async (base) => node.debugRecords.onAddress(base),
    every_minute: { what: "Cannot draw up invoices", work: invoiceDrawing({ ...deps, terms }) },
  };
}

/** Reserving and settling charges, as the gateway and jobs see it; `actors/business/accounts/spend.ts` does it. */
import type { ActorClient } from "../cluster/actor.ts";
import type { ChargedRow, ChargedWork, ChargeReply } from "../schemas/invoices.ts";

/** Whose money is spent. */
export interface SpendingFor {
  readonly project: string;
  /** The prefix of the API key; absent: only the project and its customer pay. */
  readonly key?: string | undefined;
}

export interface Charges {
  /**
   * Reserves what a customer with prices is charged for a request or an item. Its id names the reservation, also after a crash;
   * `holder` names the try. Throws Fault; then some accounts may have reserved, and the caller settles.
   */
  readonly reserveCharge: (
    ask: ActorClient,
    payer: SpendingFor,
    request_id: string,
    work: ChargedWork,
    holder?: string,
  ) => Promise<ChargeReply>;
  /** Settles what was reserved for the row's request with the row's price; with a holder only what that try holds. Never throws. */
  readonly settleCharge: (ask: ActorClient, row: ChargedRow, holder?: string) => Promise<void>;
  /** Nothing is charged for what is still reserved for requests whose ids begin so. Never throws. */
  readonly releaseCharges: (ask: ActorClient, payer: SpendingFor, request_prefix: string) => Promise<void>;
}

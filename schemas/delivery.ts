/** The contract of an actor that delivers signed webhooks: usage alerts of a customer, changes of the companies of a watch. */
import { Type } from "typebox";
import { Nullable } from "./common.ts";
import { contract, tell } from "../cluster/contracts/contract.ts";

export const deliveryContract = (name: string) =>
  contract(
    name,
    {
      /** New deliveries are stored. */
      deliver: tell(Type.Null()),
    },
    {
      /** The reminder: an attempt is due. */
      tick: tell(Type.Null()),
      /** The attempts are over. `next_ms`: when the next one is due; null: nothing waits. */
      attempted: tell(Type.Object({ next_ms: Nullable(Type.Number()) })),
    },
  );

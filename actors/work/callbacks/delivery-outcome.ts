/** How deliveries to clients' addresses end, as a metric counts them. */
import type { DeliveryResult } from "./post-json.ts";

export const DELIVERY_OUTCOMES = ["delivered", "http", "error", "blocked"] as const;

/** `status` begins with its outcome. */
export const outcomeOf = ({ status }: Pick<DeliveryResult, "status">): string => status.split("_", 1)[0]!;

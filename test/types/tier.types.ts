/** Never run: a field that is added to a transport's request must be added to the message to its tier as well. */
import type { TransportRequest } from "../../actors/lib/web/transport.ts";
import type { TierRequest } from "../../schemas/tiers.ts";

/** What travels as questions and cancellation is no part of the message; the deadline travels as what is left of it. */
type Travelling =
  | Exclude<keyof TransportRequest, "signal" | "room" | "admit" | "currentLimits" | "deadline_ms">
  | "left_ms";

true satisfies [Travelling] extends [keyof TierRequest] ? true : false;

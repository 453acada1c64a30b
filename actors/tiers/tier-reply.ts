/** The result of a transport as a reply of its tier, and back: the same but for header fields, which are a map there. */
import type { TierReply } from "../../schemas/tiers.ts";
import type { TransportResult } from "../lib/web/transport.ts";

export function replyOf(result: TransportResult): TierReply {
  const redirects = [...result.redirects];
  if (result.kind !== "page") return { ...result, redirects };
  return { ...result, redirects, headers: [...result.headers] };
}

export function resultOf(reply: TierReply): TransportResult {
  if (reply.kind !== "page") return reply;
  return { ...reply, headers: new Map(reply.headers) };
}

/** The result of a transport as a reply of its tier, and back: the same but for header fields, which are a map there. */
import type { TierReply } from "../../../schemas/tiers.ts";
import type { Shortfall, TransportResult } from "../../lib/web/transport.ts";

export function replyOf(result: TransportResult): TierReply {
  const redirects = [...result.redirects];
  if (result.kind !== "page") return { ...result, redirects };
  const { screenshot: taken, ...page } = result;
  const reply = { ...page, redirects, headers: [...page.headers] };
  if (!taken) return reply;
  // Bytes travel in fields of a reply, not in fields of these.
  const { bytes: screenshot_bytes, ...screenshot } = taken;
  return { ...reply, screenshot, screenshot_bytes };
}

export function resultOf(reply: TierReply): TransportResult {
  if (reply.kind !== "page") return reply;
  const { screenshot, screenshot_bytes, shortfall, ...page } = reply;
  return {
    ...page,
    headers: new Map(page.headers),
    ...(screenshot && screenshot_bytes && { screenshot: { ...screenshot, bytes: screenshot_bytes } }),
    ...(shortfall && { shortfall: shortfall as Shortfall }),
  };
}

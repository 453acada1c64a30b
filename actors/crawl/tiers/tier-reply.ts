/** The result of a transport as a reply of its tier, and back: the same but for header fields, which are a map there. */
import type { KeptExchange } from "../../../schemas/archives.ts";
import type { TierReply } from "../../../schemas/tiers.ts";
import type { Shortfall, TransportResult } from "../../lib/web/transport.ts";

export function replyOf(result: TransportResult): TierReply {
  const { exchanges, ...rest } = result;
  const common = {
    redirects: [...result.redirects],
    ...(exchanges && { exchanges_json: Buffer.from(JSON.stringify(exchanges)) }),
  };
  if (rest.kind !== "page") return { ...rest, ...common };
  const { screenshot: taken, ...page } = rest;
  const reply = { ...page, ...common, headers: [...page.headers] };
  if (!taken) return reply;
  // Bytes travel in fields of a reply, not in fields of these.
  const { bytes: screenshot_bytes, ...screenshot } = taken;
  return { ...reply, screenshot, screenshot_bytes };
}

export function resultOf({ exchanges_json, ...reply }: TierReply): TransportResult {
  const kept = exchanges_json && {
    exchanges: JSON.parse(exchanges_json.toString()) as readonly KeptExchange[],
  };
  if (reply.kind !== "page") return { ...reply, ...kept };
  const { screenshot, screenshot_bytes, shortfall, ...page } = reply;
  return {
    ...page,
    ...kept,
    headers: new Map(page.headers),
    ...(screenshot && screenshot_bytes && { screenshot: { ...screenshot, bytes: screenshot_bytes } }),
    ...(shortfall && { shortfall: shortfall as Shortfall }),
  };
}

/** The result of a transport as a reply of its tier, and back: the same but for header fields, which are a map there. */
import type { KeptExchange } from "../../../schemas/archives.ts";
import type { TierReply } from "../../../schemas/tiers.ts";
import type { Shortfall, TakenActions, TransportResult } from "../../lib/web/transport.ts";

export function replyOf(result: TransportResult): TierReply {
  const { exchanges, ...rest } = result;
  const common = {
    redirects: [...result.redirects],
    ...(exchanges && { exchanges_json: Buffer.from(JSON.stringify(exchanges)) }),
  };
  if (rest.kind !== "page") return { ...rest, ...common };
  const { screenshot: taken, actions, ...page } = rest;
  const reply = { ...page, ...common, headers: [...page.headers], ...(actions && packed(actions)) };
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
  const { screenshot, screenshot_bytes, shortfall, actions, action_files, ...page } = reply;
  return {
    ...page,
    ...kept,
    headers: new Map(page.headers),
    ...(screenshot && screenshot_bytes && { screenshot: { ...screenshot, bytes: screenshot_bytes } }),
    ...(shortfall && { shortfall: shortfall as Shortfall }),
    ...(actions && action_files && { actions: unpacked(actions, action_files) }),
  };
}

/** Without the bytes of a file, but with their length. */
interface PackedActions {
  readonly outcomes: TakenActions["outcomes"];
  readonly files: readonly {
    readonly sha256: string;
    readonly content_type: string;
    readonly length: number;
  }[];
}

function packed({ outcomes, files }: TakenActions) {
  const described = files.map(({ bytes: { length }, ...file }) => ({ ...file, length }));
  return {
    actions: Buffer.from(JSON.stringify({ outcomes, files: described } satisfies PackedActions)),
    action_files: Buffer.concat(files.map(({ bytes }) => bytes)),
  };
}

function unpacked(json: Buffer, bytes: Buffer): TakenActions {
  const { outcomes, files } = JSON.parse(json.toString()) as PackedActions;
  let at = 0;
  return {
    outcomes,
    files: files.map(({ length, ...file }) => ({ ...file, bytes: bytes.subarray(at, (at += length)) })),
  };
}

/** What a run keeps of its exchanges for a request with `archive`: one content that lists them, and the bodies that it names. */
import { sha256Of } from "../../../cluster/ports/blobs.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Tier } from "../../../schemas/tier-table.ts";
import type { ArchivedFetch, ArchiveRef } from "../../../schemas/archives.ts";
import type { TransportResult } from "../../lib/web/transport.ts";
import type { RunState } from "./run.ts";

export function recordExchanges(
  { exchanges, exchanged_bodies }: RunState,
  tier: Tier,
  result: TransportResult,
  metrics: Metrics,
): void {
  if (!result.exchanges) return;
  metrics.count("trawl_archived_exchanges_total", { tier }, result.exchanges.length);
  exchanges.push(...result.exchanges);
  if (result.kind === "page" && result.body_kind === "origin") exchanged_bodies.push(result.body);
}

/** Null: nothing was exchanged, or the request wants no archive. */
export function draftOfArchive({
  request,
  exchanges,
  exchanged_bodies,
  attempts,
}: RunState): { readonly ref: ArchiveRef; readonly contents: readonly Buffer[] } | null {
  if (exchanges.length === 0) return null;
  const archived: ArchivedFetch = { version: 1, url: request.url, exchanges, attempts };
  const content = Buffer.from(JSON.stringify(archived));
  const named = exchanges.flatMap(({ response: { body } }) =>
    body !== null && "sha256" in body ? [body.sha256] : [],
  );
  return {
    ref: { sha256: sha256Of(content), bodies: [...new Set(named)] },
    contents: [content, ...exchanged_bodies.filter(({ length }) => length > 0)],
  };
}

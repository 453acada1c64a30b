/** Archives the exchanges of a run for a request with `archive`: one content that lists them, and the bodies that it names. */
import { sha256Of } from "../../../cluster/ports/blobs.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Tier } from "../../../schemas/tier-table.ts";
import type { ArchivedFetch, ArchiveRef, KeptExchange } from "../../../schemas/archives.ts";
import { withBody } from "../../lib/web/kept-exchange.ts";
import type { TransportResult } from "../../lib/web/transport.ts";
import type { RunState } from "./run.ts";

const withStoredBody = (exchange: KeptExchange, body: Buffer): KeptExchange => {
  const { truncated } = exchange.response;
  const stored = withBody(exchange, body);
  return { ...stored, response: { ...stored.response, truncated } };
};

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
  exchanges: own,
  robots_exchanges,
  exchanged_bodies,
  attempts,
}: RunState): { readonly ref: ArchiveRef; readonly contents: readonly Buffer[] } | null {
  if (own.length === 0) return null;
  const robots = [...robots_exchanges.values()].flatMap((json) => JSON.parse(json) as KeptExchange[]);
  const files = robots.map(({ response: { body } }) =>
    Buffer.from(body !== null && "base64" in body ? body.base64 : "", "base64"),
  );
  // A file that many pages name is one body of the store.
  const exchanges = [...robots.map((exchange, at) => withStoredBody(exchange, files[at]!)), ...own];
  const { url, blocked } = request;
  const archived: ArchivedFetch = { version: 1, url, exchanges, attempts, ...(blocked && { blocked }) };
  const content = Buffer.from(JSON.stringify(archived));
  const named = exchanges.flatMap(({ response: { body } }) =>
    body !== null && "sha256" in body ? [body.sha256] : [],
  );
  return {
    ref: { sha256: sha256Of(content), bodies: [...new Set(named)] },
    contents: [content, ...[...files, ...exchanged_bodies].filter(({ length }) => length > 0)],
  };
}

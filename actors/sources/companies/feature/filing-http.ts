/**
 * The filing system as a source of companies: its requests go through the filing slice, with its limiter, its declared
 * identity and its cache. Only addresses of structured data and of the list of tickers are asked for.
 */
import { findBody } from "../../../../cluster/read-body.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { SourceRequest as FilingRequest } from "../../../../schemas/filing-source.ts";
import type { SourceAnswer } from "../../../../schemas/upstream.ts";
import type { LookupCaller } from "../ask-source.ts";
import type { SourceHttp } from "../source.ts";
import { BRIDGE_TIMEOUT_MS, failed, missing } from "./bridged.ts";

export interface FilingHttpDeps {
  readonly read: (request: FilingRequest) => Promise<SourceAnswer>;
  readonly blobs: Blobs;
  readonly clock: Clock;
}

const DEFAULT_MAX_BYTES = 32 * 2 ** 20;
/** The freshness class of the record decides when the filing system is asked; this only saves a second request. */
const CACHE_TTL_S = 60;

export function filingHttp(
  { read, blobs, clock }: FilingHttpDeps,
  { project, lane, work_id }: Pick<LookupCaller, "project" | "lane" | "work_id">,
): SourceHttp {
  return async ({ url, max_bytes = DEFAULT_MAX_BYTES }) => {
    const { pathname, search } = new URL(url);
    const isTickers = pathname.startsWith("/files/");
    const answer = await read({
      host: isTickers ? "www" : "data",
      kind: isTickers ? "tickers" : "submissions",
      path: `${pathname}${search}`,
      cache_ttl_s: CACHE_TTL_S,
      project,
      lane,
      deadline_ms: Math.round(clock.now() + BRIDGE_TIMEOUT_MS),
      max_bytes,
      ...(work_id !== undefined && { work_id }),
    });
    switch (answer.kind) {
      case "failed":
        return failed(answer.error, answer.message, answer.retry_after_s);
      case "missing":
        return missing(url, answer.status, clock.now());
      case "got": {
        const body = await findBody(blobs, answer.sha256);
        if (body === null) return failed("unreachable", "The stored document is gone");
        const { sha256, bytes, content_type, retrieved_at } = answer;
        return {
          kind: "answered",
          status: answer.status,
          headers: new Map(Object.entries(answer.headers)),
          body,
          document: { url, retrieved_at, sha256, bytes, content_type },
        };
      }
    }
  };
}

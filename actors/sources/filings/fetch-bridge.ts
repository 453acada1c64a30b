/**
 * Pages of the filing system for POST /v1/fetch: requested from the source, and answered in the form of a route's
 * result. The fetch actor reads what the pages say.
 */
import type { Node } from "../../../cluster/node-record.ts";
import { readBody } from "../../../cluster/read-body.ts";
import type { Redirect } from "../../../schemas/fetch.ts";
import { type FilingHosts, kindOf } from "./upstream/hosts.ts";
import { KIND_RULES } from "./upstream/limits.ts";
import type { FilingSource } from "./source.ts";

interface PageRequest {
  readonly url: string;
  readonly max_bytes: number;
  readonly cache_ttl_s: number | null;
  readonly project: string;
  readonly lane: "sync" | "batch";
  readonly deadline_ms: number;
  readonly fetch_id: string;
}

export function filingPages({
  source,
  hosts,
  blobs,
  clock,
}: Pick<Node, "blobs" | "clock"> & {
  readonly source: FilingSource;
  readonly hosts: FilingHosts;
}) {
  const failed = (
    error: string,
    detail: string,
    began_ms: number,
    status: number | null = null,
    retry_after_s: number | null = null,
    redirects: readonly Redirect[] = [],
  ) => {
    const ms = Math.round(clock.mono() - began_ms);
    return { kind: "failed", error, status, detail, retry_after_s, redirects, ms } as const;
  };

  async function read({ url, fetch_id, ...request }: PageRequest) {
    const began_ms = clock.mono();
    const address = hosts.addressOf(url);
    if (!address)
      return failed(
        "blocked_destination",
        "The filing system is asked at its own ports and without a user name",
        began_ms,
      );
    const kind = kindOf(address);
    const answer = await source.get({ ...address, kind, ...request, work_id: fetch_id });
    switch (answer.kind) {
      case "missing":
        return failed(
          `http_${answer.status}`,
          "The filing system has no such document",
          began_ms,
          answer.status,
        );
      case "failed": {
        const { error, message, status, retry_after_s, redirects } = answer;
        return failed(error, message, began_ms, status, retry_after_s, redirects);
      }
      case "got": {
        const body = await readBody(blobs, answer.sha256);
        const { final_url, redirects, status, cached, revalidated, retrieved_at } = answer;
        const page = {
          kind: "page",
          final_url,
          redirects,
          status,
          headers: new Map(Object.entries(answer.headers)),
          body,
          body_kind: "origin",
          ms: Math.round(clock.mono() - began_ms),
        } as const;
        const fresh_ms = kind === "page" ? null : KIND_RULES[kind].fresh_ms;
        return { kind: "page", page, cached, revalidated, fresh_ms, retrieved_at } as const;
      }
    }
  }

  return { fetch: read };
}

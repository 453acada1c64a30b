/** A fetch of an address on a reserved host: the system that reads the host is asked, and its page is judged and cached. */
import { meaningOf } from "../../schemas/errors.ts";
import { EMPTY_RECORD, type FetchAnswer } from "../../schemas/fetch.ts";
import type { TransportResult } from "../lib/web/transport.ts";
import { assess } from "./assess.ts";
import type { PageStore } from "./page-store.ts";
import { canDelegate } from "./reserved-hosts.ts";
import { answerOf, type PipelineDeps, recordAttempt, type RunState } from "./run.ts";

/** `previous_redirects`: those that led to `url`. */
export async function delegate(
  deps: Pick<PipelineDeps, "clock" | "metrics" | "log" | "extract" | "reservedHosts">,
  store: PageStore,
  run: RunState,
  url: string,
  previous_redirects: TransportResult["redirects"],
): Promise<FetchAnswer> {
  const { request } = run;
  const empty = { ...EMPTY_RECORD, redirects: [...previous_redirects] };
  if (!canDelegate(request)) {
    const error_detail = "The filing system is read by the route direct only";
    return { ...answerOf(run, empty), error: "no_tier_allowed", error_detail };
  }
  const { cache_ttl_s, project, lane } = request;
  const { max_bytes } = run.limits;
  const deadline_ms = Math.round(Math.min(run.endsAt(), request.deadline_ms));
  const reserved = { url, max_bytes, cache_ttl_s, project, lane, deadline_ms };
  const result = await deps.reservedHosts!.fetch(reserved);
  if (result.kind === "failed") {
    const { error, status, detail, retry_after_s, ms } = result;
    recordAttempt(run, "direct", status, error, ms, detail);
    const record = { ...empty, status, redirects: [...previous_redirects, ...result.redirects] };
    return { ...answerOf(run, record), error, error_detail: detail, retry_after_s };
  }

  const { cached, revalidated, retrieved_at, fresh_ms } = result;
  const page = { ...result.page, redirects: [...previous_redirects, ...result.page.redirects] };
  const candidate = await assess(deps, store, run, "direct", page, { isTrusted: true });
  const { outcome } = candidate;
  const { record: drafted, contents } = store.draftOf(run, candidate);
  const record = { ...drafted, retrieved_at };
  if (outcome.kind !== "page") {
    await store.putBodies(contents);
    const error = outcome.kind === "final" ? outcome.error : `http_${page.status}`;
    const { final_url, redirects, status } = record;
    const shown = { ...EMPTY_RECORD, final_url, redirects, status };
    return { ...answerOf(run, shown), error, error_detail: meaningOf(error) };
  }
  if (fresh_ms === 0) await store.putBodies(contents);
  else await store.cache(run, { record, contents }, page.headers, { max_fresh_ms: fresh_ms ?? Infinity });
  return { ...answerOf(run, record), cached, revalidated };
}

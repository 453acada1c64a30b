/** A fetch of an address on a reserved host: the system that reads the host is asked, and its page is judged and cached. */
import { meaningOf } from "../../../schemas/errors.ts";
import { EMPTY_RECORD, type FetchAnswer } from "../../../schemas/fetch.ts";
import type { TransportResult } from "../../lib/web/transport.ts";
import { assess } from "./assess.ts";
import type { PageStore } from "./page-store.ts";
import { routesOf } from "./ladder.ts";
import { needsDirect } from "./reserved-hosts.ts";
import { answerOf, type PipelineDeps, recordAttempt, type RunState } from "./run.ts";
import { isPremium } from "../../../schemas/tier-table.ts";

/** `previous_redirects`: those that led to `url`. */
export async function delegate(
  deps: Pick<PipelineDeps, "clock" | "documents" | "metrics" | "log" | "extract" | "reservedHosts">,
  store: PageStore,
  run: RunState,
  url: string,
  previous_redirects: TransportResult["redirects"],
): Promise<FetchAnswer> {
  const { request } = run;
  const empty = { ...EMPTY_RECORD, redirects: [...previous_redirects] };
  const tiers = routesOf(request);
  const refusal = (deps.reservedHosts!.refusal ?? needsDirect)(tiers, url);
  if (refusal) return { ...answerOf(run, empty), ...refusal };
  const { cache_ttl_s, project, key, lane, fetch_id } = request;
  const { max_bytes } = run.limits;
  const deadline_ms = Math.round(Math.min(run.endsAt(), request.deadline_ms));
  // The other system need not store anything before it asks.
  await deps.documents.synced();
  const result = await deps.reservedHosts!.fetch({
    url,
    max_bytes,
    cache_ttl_s,
    project,
    ...(key !== undefined && { key }),
    fetch_id: `${fetch_id}.reserved`,
    tiers,
    lane,
    deadline_ms,
  });
  const { attempts = [], cost_micros = 0 } = result;
  run.spent_micros += cost_micros;
  const premium_routes_tried = attempts.some(
    ({ tier, reason }) => isPremium(tier) && reason !== "not_configured",
  );
  if (result.kind === "failed") {
    const { error, status, detail, retry_after_s, ms } = result;
    if (result.attempts) run.attempts.push(...attempts);
    else recordAttempt(run, "direct", status, error, ms, detail);
    const record = { ...empty, status, redirects: [...previous_redirects, ...result.redirects] };
    return { ...answerOf(run, record), premium_routes_tried, error, error_detail: detail, retry_after_s };
  }

  const { cached, revalidated, retrieved_at, fresh_ms, tier = "direct" } = result;
  // The last attempt is recorded with what the page is worth.
  run.attempts.push(...attempts.slice(0, -1));
  const page = { ...result.page, redirects: [...previous_redirects, ...result.page.redirects] };
  const candidate = await assess(deps, store, run, tier, page, { isTrusted: tier === "direct" });
  const { outcome } = candidate;
  const { record: drafted, contents } = store.draftOf(run, candidate);
  const record = { ...drafted, retrieved_at };
  if (outcome.kind !== "page") {
    await store.putBodies(contents);
    const error = outcome.kind === "final" ? outcome.error : `http_${page.status}`;
    const { final_url, redirects, status } = record;
    const shown = { ...EMPTY_RECORD, final_url, redirects, status };
    return { ...answerOf(run, shown), premium_routes_tried, error, error_detail: meaningOf(error) };
  }
  if (fresh_ms === 0) await store.putBodies(contents);
  const stored =
    fresh_ms === 0
      ? null
      : await store.cache(run, { record, contents }, page.headers, { max_fresh_ms: fresh_ms ?? Infinity });
  return { ...answerOf(run, record), ...stored, premium_routes_tried, cached, revalidated };
}

/**
 * The end of a run without a whole page: whether an open copy is searched for, the fields of the page that are known by
 * then, and how a copy becomes the record of the answer. The search itself is alternates/find-alternate.ts.
 */
import { attemptReasonClass } from "../../../schemas/attempt-reasons.ts";
import type { FetchError } from "../../../schemas/errors.ts";
import type { PageRecord } from "../../../schemas/fetch.ts";
import { doiInUrl } from "../../reading/content/alternate-links.ts";
import type { TransportRequest } from "../../lib/web/transport.ts";
import { causeOf, type KnownPage, wantedOf } from "./alternates/alternates.ts";
import type { AlternateLookup, AlternateMatch, AlternateResult } from "./alternates/lookup.ts";
import { asCachedPage } from "./freshness.ts";
import type { PageDraft, PageStore } from "./page-store.ts";
import { type Candidate, isSold, type PipelineDeps, recordAttempt, type RunState } from "./run.ts";
import { PAGES } from "./collections.ts";

export type FindAlternate = (lookup: AlternateLookup) => Promise<AlternateResult>;

/** An open copy of a page that is sold, closed to this crawler, gone or blocked; null when none is searched or found. */
export async function findOpenCopy(
  { documents, metrics }: Pick<PipelineDeps, "documents" | "metrics">,
  findAlternate: FindAlternate,
  run: RunState,
  admit: TransportRequest["admit"],
  error: FetchError | null,
  best: Candidate | null,
): Promise<AlternateMatch | null> {
  const { ask, request, signal } = run;
  const teaser = teaserOf(run, best);
  const cause = causeOf(request, error, teaser !== null);
  if (cause === null || signal.aborted) return null;
  const seen = cause === "paywall" ? (teaser?.extracted ?? null) : null;
  const known: KnownPage | null = seen
    ? { ...seen, final_url: teaser?.page?.final_url ?? null, ...declaredOf(seen.meta) }
    : storedVersion(await PAGES.get(documents, run.digest));
  const leads = seen?.leads ?? best?.extracted?.leads;
  // Perhaps nothing was stored since the request began, and a search need not store anything.
  await documents.synced();
  const { match, cost_micros } = await findAlternate({
    ask,
    wanted: wantedOf(request.url, cause, known, leads, request.min_text_chars),
    request,
    admit,
    // Where a page of a public address leads is asked of public addresses only.
    networks: best?.page && best.page.is_private !== true ? [] : run.networks,
    signal,
    note(status, reason, ms, detail) {
      recordAttempt(run, "source", status, reason, ms, detail);
      metrics.count("trawl_fetch_attempts_total", { tier: "source", reason: attemptReasonClass(reason) });
    },
  });
  run.spent_micros += cost_micros;
  run.isSearched = !signal.aborted;
  return match;
}

/** A copy as the page's record: under the address that was requested, with where it was found. */
export function draftOfCopy(store: PageStore, run: RunState, match: AlternateMatch): PageDraft {
  const outcome = { kind: "unavailable", reason: "failed" } as const;
  const { record, contents } = store.draftOf(run, { ...match, tier: "direct", outcome, ended: null });
  const origin = { alternate_of: run.request.url, alternate_source: match.source, match_score: match.score };
  return { record: { ...record, tier: "source", ...origin }, contents };
}

/** The links of a teaser; for a page that could not be read, the paper that its address names. */
export function primarySourcesOf(
  run: RunState,
  error: FetchError | null,
  best: Candidate | null,
): PageRecord["primary_sources"] {
  const teaser = teaserOf(run, best) ?? run.tried.findLast(isSold);
  if (teaser) return [...(teaser.extracted?.leads?.primary_sources ?? [])];
  if (causeOf({ allow_alternates: true, tiers: null }, error, false) === null) return [];
  const doi = doiInUrl(run.request.url);
  return doi === null ? [] : [{ url: `https://doi.org/${doi}`, kind: "doi", text: null }];
}

/** The answered page if it is a teaser, else the last teaser that a route returned. */
const teaserOf = ({ tried }: RunState, best: Candidate | null): Candidate | null =>
  best ? (isSold(best) ? best : null) : (tried.findLast(isSold) ?? null);

/** The version that was stored when the page could be read: copies are recognised by its title and beginning. */
function storedVersion(value: unknown): KnownPage | null {
  const record = asCachedPage(value)?.record;
  return record?.text ? { ...record, text: record.text, ...declaredOf(record.meta) } : null;
}

const declaredOf = (meta: PageRecord["meta"]) => ({
  canonical_url: meta?.canonical_url ?? null,
  language: meta?.language ?? null,
});

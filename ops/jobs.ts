/**
 * The batch part of the assembly: both halves of every kind of items, the actors that run them, and the routes.
 * compose.ts puts it into the cluster and the gateway; a new kind is added in the two lists below.
 */
import { fetchAgain } from "../actors/fetch/retry-policy.ts";
import { MAX_CLIMB_MS } from "../actors/fetch/pipeline.ts";
import type { FetchService } from "../actors/fetch/service.ts";
import { filingsLane, runFilingsItem } from "../actors/filings/items.ts";
import type { FilingsService } from "../actors/filings/service.ts";
import { job, type Outside as JobNeeds } from "../actors/jobs/actor.ts";
import type { ItemKind } from "../actors/jobs/kind.ts";
import { scheduler } from "../actors/jobs/scheduler.actor.ts";
import { type JoinedSites, parseUrl, siteOf } from "../actors/lib/web/url.ts";
import type { Actor, Say } from "../cluster/actor.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import { type BatchKind, batchRoute, type BatchServices } from "../gateway/batch.ts";
import type { Retrievals } from "../gateway/body-access.ts";
import type { Route } from "../gateway/route.ts";
import { askOf as fetchAskOf, billOf as fetchBillOf, noteBody } from "../gateway/routes/fetch.ts";
import { billOf as filingsBillOf } from "../gateway/routes/filings.ts";
import { type JobServices, jobRoutes } from "../gateway/routes/jobs.ts";
import { askOf as searchAskOf, billOf as searchBillOf } from "../gateway/routes/search.ts";
import { canRetryFilings } from "../schemas/errors.ts";
import { type FetchBody, isPremium, textsOf } from "../schemas/fetch.ts";
import type { FilingsItem, StoredFiling } from "../schemas/filings.ts";
import type { SearchAnswer, SearchAsk, SearchBody } from "../schemas/search.ts";

interface FetchNeeds {
  readonly pages: Pick<FetchService, "fetchWith">;
  readonly retrievals: Retrievals;
  readonly clock: Clock;
  readonly joined: JoinedSites;
}

export const fetchItems = ({ pages, retrievals, clock, joined }: FetchNeeds): ItemKind => ({
  name: "fetch",
  lane({ url }) {
    const parsed = parseUrl(String(url));
    return parsed && siteOf(parsed.hostname, joined);
  },
  async run(say, input, { try_id, project, may_pay, tries, signal }) {
    const ask = fetchAskOf(input as FetchBody, {
      fetch_id: try_id,
      project,
      lane: "batch",
      now_ms: clock.now(),
      patience_ms: MAX_CLIMB_MS,
    });
    // Who wants nothing but premium routes need not be blocked on others first.
    const premium_later = !may_pay && ask.allow_paid && !(ask.tiers ?? ["direct"]).every(isPremium);
    const request = premium_later ? { ...ask, allow_paid: false, premium_later } : ask;
    const answer = await pages.fetchWith(say, request, signal);
    await noteBody(retrievals, project, answer.record);
    return {
      answer,
      error: answer.error,
      bill: fetchBillOf(answer),
      needs: textsOf(answer.record),
      again: fetchAgain(answer, { tries, premium_later }),
    };
  },
});

interface SearchNeeds {
  readonly search: (question: SearchAsk, say: Say) => Promise<SearchAnswer>;
}

export const searchItems = ({ search }: SearchNeeds): ItemKind => ({
  name: "search",
  lane: () => null,
  async run(say, input, { try_id, project }) {
    const answer = await search(searchAskOf(input as SearchBody, { search_id: try_id, project }), say);
    const { error } = answer;
    return {
      answer,
      error,
      bill: searchBillOf(answer),
      needs: [],
      // A budget does not come back in minutes.
      again:
        error === null || error === "budget_exhausted" ? null : { because: "transient", retry_after_s: null },
    };
  },
});

interface FilingsNeeds {
  readonly filed: FilingsService;
  readonly retrievals: Retrievals;
  readonly clock: Clock;
}

/** As long as a caller of the single endpoint waits. */
const FILING_MS = 150_000;

export const filingsItems = ({ filed, retrievals, clock }: FilingsNeeds): ItemKind => ({
  name: "filings",
  lane: (input) => filingsLane(input as FilingsItem),
  async run(_say, input, { try_id, project }) {
    const asker = { project, lane: "batch", deadline_ms: clock.now() + FILING_MS, id: try_id } as const;
    const ran = await runFilingsItem(filed, input as FilingsItem, asker);
    const { bodies, is_busy } = ran.told;
    for (const body of bodies) await retrievals.note(project, { ...body, body_kind: "origin" });
    const { error, retry_after_s, cached } = ran.told.answer;
    const bytes = ran.kind === "document" ? ran.told.answer.record.bytes : 0;
    const stored: StoredFiling =
      ran.kind === "document"
        ? { op: "document", answer: null, document: { url: ran.told.url, answer: ran.told.answer } }
        : { op: ran.op, answer: ran.told.answer, document: null };
    const passes = error !== null && (canRetryFilings(error) || error === "timeout");
    return {
      answer: stored,
      error,
      bill: filingsBillOf(cached, error, bytes),
      needs: ran.kind === "document" ? textsOf(ran.told.answer.record) : [],
      // A full limiter and a pause say nothing of the item; what failed by itself is given a few tries.
      again: is_busy
        ? { because: "busy", retry_after_s }
        : passes
          ? { because: "transient", retry_after_s }
          : null,
    };
  },
});

export const jobActors = (needs: JobNeeds): readonly Actor[] => [job(needs), scheduler()];

export const jobsRoutes = (
  services: BatchServices & JobServices,
  more: readonly Route[] = [],
): readonly Route[] => {
  const kindOf = (name: BatchKind["name"]): BatchKind => services.kinds.find((kind) => kind.name === name)!;
  return [
    batchRoute(services, kindOf("search"), {
      path: "/v1/batch/search",
      operationId: "batchSearch",
      summary: "Search for many things, as a job",
      tag: "search",
    }),
    batchRoute(services, kindOf("fetch"), {
      path: "/v1/batch/fetch",
      operationId: "batchFetch",
      summary: "Fetch many pages, as a job",
      tag: "fetch",
    }),
    batchRoute(services, kindOf("filings"), {
      path: "/v1/batch/filings",
      operationId: "batchFilings",
      summary: "Ask the filing system for many things, as a job",
      tag: "filings",
    }),
    ...more,
    ...jobRoutes(services),
  ];
};

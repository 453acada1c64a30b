/**
 * The batch part of the assembly: the worker's half of every item kind, the job actors, and the routes. compose.ts puts
 * it into the cluster and the gateway.
 */
import { retryForFetch } from "../actors/fetch/retry-policy.ts";
import { MAX_RUN_MS } from "../actors/fetch/pipeline.ts";
import type { FetchService } from "../actors/fetch/service.ts";
import { filingsLane, runFilingsItem } from "../actors/filings/items.ts";
import type { FilingsService } from "../actors/filings/service.ts";
import { jobActor, type JobDeps } from "../actors/jobs/actor.ts";
import type { ItemKind } from "../actors/jobs/kind.ts";
import { schedulerActor } from "../actors/jobs/scheduler.actor.ts";
import { type JoinedSites, parseUrl, siteOf } from "../actors/lib/web/url.ts";
import type { Actor, ActorClient } from "../cluster/actor.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import { type BatchKind, batchRoute, type BatchRouteDeps } from "../gateway/batch.ts";
import type { BodyGrants } from "../gateway/body-access.ts";
import type { Route } from "../gateway/route.ts";
import { fetchRequestOf, billOf as fetchBillOf, grantBody } from "../gateway/routes/fetch.ts";
import { billOf as filingsBillOf } from "../gateway/routes/filings.ts";
import { type JobServices, jobRoutes } from "../gateway/routes/jobs.ts";
import { searchRequestOf, billOf as searchBillOf } from "../gateway/routes/search.ts";
import { canRetryFilings } from "../schemas/errors.ts";
import { type FetchBody, isPremium, textDigests } from "../schemas/fetch.ts";
import type { FilingsItem, StoredFiling } from "../schemas/filings.ts";
import type { SearchAnswer, SearchRequest, SearchBody } from "../schemas/search.ts";

interface FetchItemDeps {
  readonly pages: Pick<FetchService, "fetchWith">;
  readonly bodyGrants: BodyGrants;
  readonly clock: Clock;
  readonly joined: JoinedSites;
}

export const fetchItems = ({ pages, bodyGrants, clock, joined }: FetchItemDeps): ItemKind => ({
  name: "fetch",
  lane({ url }) {
    const parsed = parseUrl(String(url));
    return parsed && siteOf(parsed.hostname, joined);
  },
  async run(ask, input, { attempt_id, project, may_pay, attempts, signal }) {
    const request = fetchRequestOf(input as FetchBody, {
      fetch_id: attempt_id,
      project,
      lane: "batch",
      now_ms: clock.now(),
      wait_ms: MAX_RUN_MS,
    });
    // A request for premium routes alone need not be blocked on standard routes first.
    const premium_later = !may_pay && request.allow_paid && !(request.tiers ?? ["direct"]).every(isPremium);
    const attemptRequest = premium_later ? { ...request, allow_paid: false, premium_later } : request;
    const answer = await pages.fetchWith(ask, attemptRequest, signal);
    await grantBody(bodyGrants, project, answer.record);
    return {
      answer,
      error: answer.error,
      bill: fetchBillOf(answer),
      body_refs: textDigests(answer.record),
      retry: retryForFetch(answer, { attempts, premium_later }),
    };
  },
});

interface SearchItemDeps {
  readonly search: (request: SearchRequest, ask: ActorClient) => Promise<SearchAnswer>;
}

export const searchItems = ({ search }: SearchItemDeps): ItemKind => ({
  name: "search",
  lane: () => null,
  async run(ask, input, { attempt_id, project }) {
    const answer = await search(
      searchRequestOf(input as SearchBody, { search_id: attempt_id, project }),
      ask,
    );
    const { error } = answer;
    return {
      answer,
      error,
      bill: searchBillOf(answer),
      body_refs: [],
      // A budget is not refilled within minutes.
      retry:
        error === null || error === "budget_exhausted" ? null : { reason: "transient", retry_after_s: null },
    };
  },
});

interface FilingsItemDeps {
  readonly filed: FilingsService;
  readonly bodyGrants: BodyGrants;
  readonly clock: Clock;
}

/** As long as the single endpoint lets a caller wait. */
const FILING_TIMEOUT_MS = 150_000;

export const filingsItems = ({ filed, bodyGrants, clock }: FilingsItemDeps): ItemKind => ({
  name: "filings",
  lane: (input) => filingsLane(input as FilingsItem),
  async run(_ask, input, { attempt_id, project }) {
    const caller = {
      project,
      lane: "batch",
      deadline_ms: clock.now() + FILING_TIMEOUT_MS,
      id: attempt_id,
    } as const;
    const outcome = await runFilingsItem(filed, input as FilingsItem, caller);
    const { bodies, is_busy, answer } = outcome.result;
    for (const body of bodies) await bodyGrants.record(project, { ...body, body_kind: "origin" });
    const { error, retry_after_s, cached } = answer;
    const document = outcome.kind === "document" ? outcome.result : null;
    const stored: StoredFiling =
      outcome.kind === "document"
        ? {
            op: "document",
            answer: null,
            document: { url: outcome.result.url, answer: outcome.result.answer },
          }
        : { op: outcome.op, answer: outcome.result.answer, document: null };
    const isTransient = error !== null && (canRetryFilings(error) || error === "timeout");
    return {
      answer: stored,
      error,
      bill: filingsBillOf(cached, error, document?.answer.record.bytes ?? 0),
      body_refs: document ? textDigests(document.answer.record) : [],
      // A full limiter and a pause say nothing about the item; a failure of the item itself counts its attempts.
      retry: is_busy
        ? { reason: "busy", retry_after_s }
        : isTransient
          ? { reason: "transient", retry_after_s }
          : null,
    };
  },
});

export const jobActors = (deps: JobDeps): readonly Actor[] => [jobActor(deps), schedulerActor()];

const BATCHES = [
  { kind: "search", operationId: "batchSearch", summary: "Run many searches as a job" },
  { kind: "fetch", operationId: "batchFetch", summary: "Fetch many pages as a job" },
  { kind: "filings", operationId: "batchFilings", summary: "Run many filing requests as a job" },
] as const satisfies readonly { kind: BatchKind["name"]; operationId: string; summary: string }[];

export const jobsRoutes = (services: BatchRouteDeps & JobServices): readonly Route[] => [
  ...BATCHES.map(({ kind: name, ...naming }) =>
    batchRoute(
      services,
      services.kinds.find((kind) => kind.name === name)!,
      {
        path: `/v1/batch/${name}`,
        tag: name,
        ...naming,
      },
    ),
  ),
  ...jobRoutes(services),
];

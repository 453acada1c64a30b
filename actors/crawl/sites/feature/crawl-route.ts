/** POST /v1/crawl: checks what is asked for and creates a job of kind crawl. */
import {
  type BatchKind,
  CREATED_REPLIES,
  HEADERS_READ,
  IDEMPOTENCY_HEADER,
  JOB_COMPLETED,
  TWO_KEYS,
  withoutDefaults,
} from "../../../../gateway/batch.ts";
import { createCallersJob, type CreateJobDeps, mistakeInMaxCost } from "../../../../gateway/create-job.ts";
import { invalid } from "../../../../gateway/http-errors.ts";
import { eventCallbacks, type JobWebhooks } from "../../../../gateway/job-webhooks.ts";
import { Detail } from "../../../../gateway/openapi/gateway-reference.ts";
import { type Call, type Route, route } from "../../../../gateway/route.ts";
import type { Reply } from "../../../../gateway/http.ts";
import type { Mistake } from "../../../../gateway/validate.ts";
import { CRAWL_LIMIT_DEFAULT, CrawlBody, CrawlFetch } from "../../../../schemas/crawl.ts";
import { sealedInput } from "../../../../schemas/job-inputs.ts";
import { compilePatterns } from "../address/patterns.ts";
import { CRAWLS } from "../frontier/collections.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import type { CrawlRecord } from "../frontier/record.ts";
import { fetchPlace } from "../frontier/sealed.ts";
import { JOBS } from "../../../work/jobs/collections.ts";
import { CRAWL_EVENTS } from "./crawl-items.ts";

type CrawlCall = Call<null, null, CrawlBody>;

interface CrawlDeps extends CreateJobDeps {
  /** The largest limit. */
  readonly max_pages: number;
  readonly webhooks: JobWebhooks;
}

export const crawlRoute = (services: CrawlDeps, pages: BatchKind): Route =>
  route({
    method: "POST",
    path: "/v1/crawl",
    operationId: "crawlSite",
    summary: "Fetch a site as a job",
    description:
      "Begins at `url` or `seeds` and follows links within `scope`, the lowest depth first, until `limit` pages are fetched. Each page is an item of the " +
      "job, fetched and billed as one of a batch: it waits for the site's slots and obeys robots.txt. GET the job for its progress, " +
      "`/v1/jobs/{job_id}/results` for the pages while it runs, `/v1/jobs/{job_id}/urls` for every address that was seen and why it " +
      "was not fetched. `callback_url` is called when the crawl has finished.",
    tags: ["sites"],
    body: CrawlBody,
    body_example: { url: "https://example.org/", limit: 100, idempotency_key: "monday-site" },
    callbacks: { jobCompleted: JOB_COMPLETED, ...eventCallbacks("crawl", CRAWL_EVENTS) },
    request_headers: HEADERS_READ,
    items: true,
    category: "fetch",
    replies: {
      ...CREATED_REPLIES,
      409: { description: "The idempotency key belongs to a job of another kind or limit", schema: Detail },
    },
    handle: (call) => create(services, pages, call),
  });

async function create(services: CrawlDeps, pages: BatchKind, call: CrawlCall): Promise<Reply> {
  const { body, head, caller, request_id } = call;
  const header_key = head.headers.get(IDEMPOTENCY_HEADER);
  const mistake =
    mistakeIn(body, header_key) ??
    mistakeInLimit(body, services.max_pages) ??
    (await mistakeInFetch(call, pages)) ??
    services.webhooks.mistakeIn(body.webhook) ??
    mistakeInMaxCost(body.max_cost_usd, call, "body");
  const wrong_field = mistake ?? (await mistakeInSince(services, call));
  if (wrong_field !== null) return invalid([wrong_field]);
  const fetch = { ...body.fetch, url: "" };
  const refusal = pages.authorize?.(fetch, caller);
  if (refusal) return refusal;
  const seeds = body.seeds ?? [body.url!];
  const limit = body.limit ?? CRAWL_LIMIT_DEFAULT;
  const { scope, include, exclude, max_depth, sitemap, ignore_query, follow_nofollow } = body;
  const rules = { scope, include, exclude, max_depth, sitemap, ignore_query, follow_nofollow };
  const idempotency_key = body.idempotency_key ?? header_key ?? request_id;
  return createCallersJob(
    services,
    call,
    { idempotency_key, callback_url: body.callback_url ?? null },
    {
      kind: "crawl",
      category: "fetch",
      total: limit,
      grows: true,
      has_webhook: body.webhook != null,
      max_cost_usd: body.max_cost_usd,
      async store(job_id) {
        await services.webhooks.store(job_id, body.webhook, call);
        const options = sealedInput(optionsOf(body, pages, call), (text) =>
          services.secrets.seal(text, fetchPlace(job_id)),
        );
        const since = body.since_job != null && { since_job: body.since_job.toLowerCase() };
        const record: CrawlRecord = {
          seeds,
          limit,
          rules: givenOf(rules),
          fetch: options,
          ...since,
        };
        return CRAWLS.put(services.documents, job_id, record, 0);
      },
    },
    services.webhooks.begun,
  );
}

/** The fields that were given. */
const givenOf = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as T;

/** Options that each item is stored with. */
function optionsOf({ fetch, project_ref }: CrawlBody, pages: BatchKind, { caller }: CrawlCall) {
  const given = fetch ?? {};
  const { allow_archive, allow_alternates } = given;
  const { url: _, ...options } =
    pages.normalize?.({ ...given, url: "" }, caller) ?? withoutDefaults(CrawlFetch, given);
  return {
    ...options,
    // Unlike in a batch, true is not the default of these.
    ...(allow_archive === true && { allow_archive }),
    ...(allow_alternates === true && { allow_alternates }),
    ...(project_ref != null && { project_ref }),
  };
}

const wrong = (field: readonly (string | number)[], message: string): Mistake => ({
  loc: ["body", ...field],
  msg: `Value error, ${message}`,
  type: "value_error",
});

/** Throws Fault. */
async function mistakeInSince(
  { documents }: CrawlDeps,
  { body, caller }: CrawlCall,
): Promise<Mistake | null> {
  if (body.since_job == null) return null;
  const job = await JOBS.get(documents, body.since_job.toLowerCase());
  const isOwn = job?.spec.kind === "crawl" && job.spec.project === caller.grant.project.name;
  return isOwn ? null : wrong(["since_job"], "the project has no such crawl, or its retention is over");
}

/** A mistake in the options of its pages that a schema cannot find; null: nothing is wrong. */
async function mistakeInFetch(
  { body: { url, seeds, fetch }, caller }: CrawlCall,
  pages: BatchKind,
): Promise<Mistake | null> {
  if (fetch == null) return null;
  const [first, ...others] = (seeds ?? [url!]).map((seed) => parseUrl(seed)!);
  for (const field of ["method", "body"])
    if (field in fetch)
      return wrong(["fetch", field], "a crawl fetches its pages with GET and without a body");
  const field = fetch.headers == null ? (fetch.cookies == null ? null : "cookies") : "headers";
  if (field !== null && others.some(({ origin }) => origin !== first!.origin))
    return wrong(["fetch", field], "these go to one origin: give seeds of one origin");
  const item = { ...fetch, url: first!.href };
  const mistake = pages.check?.(item, {}) ?? (await pages.checkStored?.(caller)(item));
  if (!mistake) return null;
  const { field: wrong_field, message: msg, type = "value_error" } = mistake;
  return { loc: ["body", "fetch", wrong_field], msg, type };
}

const mistakeInLimit = ({ limit = CRAWL_LIMIT_DEFAULT }: CrawlBody, max_pages: number): Mistake | null =>
  limit <= max_pages ? null : wrong(["limit"], `a crawl of this service has at most ${max_pages} pages`);

/** A mistake that a schema cannot find; null: nothing is wrong. */
function mistakeIn(body: CrawlBody, header_key: string | undefined): Mistake | null {
  const { url, seeds, idempotency_key } = body;
  if (header_key !== undefined && idempotency_key != null && header_key !== idempotency_key) return TWO_KEYS;
  if (url == null && seeds == null) return wrong(["url"], "a crawl begins somewhere: give url or seeds");
  if (url != null && seeds != null) return wrong(["seeds"], "give url or seeds, not both");
  for (const [at, seed] of (seeds ?? [url!]).entries()) {
    const loc = seeds == null ? ["url"] : ["seeds", at];
    const parsed = parseUrl(seed) && URL.parse(seed);
    if (parsed === null) return wrong(loc, "this is not a valid URL");
    if (parsed.username !== "" || parsed.password !== "")
      return wrong(loc, "a crawl takes no user name and no password in an address");
  }
  for (const name of ["include", "exclude"] as const) {
    const compiled = compilePatterns(body[name] ?? []);
    if (compiled.kind === "refused") return wrong([name, compiled.index], compiled.problem);
  }
  return null;
}

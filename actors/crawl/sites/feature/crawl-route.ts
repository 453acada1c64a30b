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
import { SIGNATURE_FIELDS, Detail } from "../../../../gateway/openapi/gateway-reference.ts";
import { type Call, type Route, route } from "../../../../gateway/route.ts";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import type { Reply } from "../../../../gateway/http.ts";
import type { Mistake } from "../../../../gateway/validate.ts";
import {
  CRAWL_EVENTS,
  CRAWL_LIMIT_DEFAULT,
  CrawlBody,
  type CrawlEventName,
  CrawlFetch,
  FIRECRAWL_EVENTS,
} from "../../../../schemas/crawl.ts";
import { CrawlCompletedEvent, CrawlPageEvent } from "../../../../schemas/crawl-events.ts";
import { sealedInput } from "../../../../schemas/job-inputs.ts";
import { compilePatterns } from "../address/patterns.ts";
import { CRAWLS } from "../frontier/collections.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import type { CrawlRecord } from "../frontier/record.ts";
import { fetchPlace } from "../frontier/sealed.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import { JOBS } from "../../../work/jobs/collections.ts";
import { webhookAddress } from "../../../work/callbacks/webhook-address.ts";
import { newWebhookSecret } from "../../../work/callbacks/webhook-signature.ts";
import { CRAWL_WEBHOOKS, type StoredCrawlWebhook, webhookPlace } from "../webhook/stored-webhook.ts";

type CrawlCall = Call<null, null, CrawlBody>;

const EVENT = {
  to: "webhook/url",
  description:
    "Signed, and tried eight times within 24 hours, until the receiver answers 2xx. The events of a crawl are delivered one after the other, in the order of " +
    "its items; `id`, and `webhook-id` in the header, is the same in every attempt. After an event that was given up, or the answer 410, no others are delivered, and the job has `webhook.is_off`.",
  headers: SIGNATURE_FIELDS,
} as const;
const PAGE_EVENT = { ...EVENT, summary: "A page of a crawl was fetched, or failed", schema: CrawlPageEvent };
const COMPLETED_EVENT = { ...EVENT, summary: "A crawl has ended", schema: CrawlCompletedEvent };

interface CrawlDeps extends CreateJobDeps {
  readonly secrets: Pick<Secrets, "seal" | "open">;
  readonly destination: Pick<Destination, "url">;
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
    callbacks: { jobCompleted: JOB_COMPLETED, page: PAGE_EVENT, completed: COMPLETED_EVENT },
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
    mistakeInFetch(body, pages) ??
    mistakeInWebhook(body, services) ??
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
      max_cost_usd: body.max_cost_usd,
      async store(job_id) {
        if (body.webhook != null) await storeWebhook(services, call, job_id);
        const options = sealedInput(optionsOf(body, pages, call), (text) =>
          services.secrets.seal(text, fetchPlace(job_id)),
        );
        const webhook = body.webhook != null && { webhook: true as const };
        const since = body.since_job != null && { since_job: body.since_job.toLowerCase() };
        const record: CrawlRecord = {
          seeds,
          limit,
          rules: givenOf(rules),
          fetch: options,
          ...since,
          ...webhook,
        };
        return CRAWLS.put(services.documents, job_id, record, 0);
      },
    },
    (job_id) => secretOf(services, job_id),
  );
}

function storeWebhook(
  { documents, secrets }: CrawlDeps,
  { body, caller, now_ms }: CrawlCall,
  job_id: string,
): Promise<boolean> {
  const { url, form = "trawl", metadata } = body.webhook!;
  const events: readonly CrawlEventName[] =
    body.webhook!.events ?? (form === "firecrawl" ? FIRECRAWL_EVENTS : CRAWL_EVENTS);
  const webhook: StoredCrawlWebhook = {
    project: caller.grant.project.name,
    url: secrets.seal(new URL(url).href, webhookPlace(job_id, "url")),
    secret: secrets.seal(newWebhookSecret(), webhookPlace(job_id, "secret")),
    events,
    ...(form === "firecrawl" && { form, ...(metadata && { metadata }) }),
    cursor: events.includes("started") ? -1 : 0,
    last_status: null,
    state: "on",
    created_ms: Math.floor(now_ms),
    attempts: 0,
    next_ms: 0,
  };
  return CRAWL_WEBHOOKS.put(documents, job_id, webhook, 0);
}

/** Also where the same request is repeated: its first answer may have been lost. */
async function secretOf({ documents, secrets }: CrawlDeps, job_id: string): Promise<object> {
  const webhook = await CRAWL_WEBHOOKS.get(documents, job_id);
  return webhook === null
    ? {}
    : { webhook_secret: secrets.open(webhook.secret, webhookPlace(job_id, "secret")) };
}

/** The fields that were given. */
const givenOf = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as T;

/** What each item is stored with. */
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

function mistakeInWebhook({ webhook }: CrawlBody, { destination }: CrawlDeps): Mistake | null {
  if (webhook == null) return null;
  const { form = "trawl", events = [], metadata } = webhook;
  const at = events.findIndex((name) => !(CRAWL_EVENTS as readonly string[]).includes(name));
  if (form === "trawl" && at >= 0)
    return wrong(["webhook", "events", at], "only the form firecrawl has this event");
  if (form === "trawl" && metadata != null)
    return wrong(["webhook", "metadata"], "only the form firecrawl gives it back");
  const judged = webhookAddress(webhook.url, destination);
  return judged.kind === "right"
    ? null
    : { loc: ["body", "webhook", "url"], msg: judged.message, type: judged.type };
}

/** What a schema cannot check of the options of its pages; null: nothing is wrong. */
function mistakeInFetch({ url, seeds, fetch }: CrawlBody, pages: BatchKind): Mistake | null {
  if (fetch == null) return null;
  const [first, ...others] = (seeds ?? [url!]).map((seed) => parseUrl(seed)!);
  for (const field of ["method", "body"])
    if (field in fetch)
      return wrong(["fetch", field], "a crawl fetches its pages with GET and without a body");
  const field = fetch.headers == null ? (fetch.cookies == null ? null : "cookies") : "headers";
  if (field !== null && others.some(({ origin }) => origin !== first!.origin))
    return wrong(["fetch", field], "these go to one origin: give seeds of one origin");
  const mistake = pages.check?.({ ...fetch, url: first!.href }, {});
  if (!mistake) return null;
  const { field: wrong_field, message: msg, type = "value_error" } = mistake;
  return { loc: ["body", "fetch", wrong_field], msg, type };
}

/** What a schema cannot check; null: nothing is wrong. */
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

/** The client: one object for a service and a key. */
import type * as api from "./generated/api.ts";
import { type BodyOptions, type CallOptions, type ClientOptions, type Http, http } from "./http.ts";
import { Job, type StartedJob, started } from "./job.ts";
import { type Listed, listed } from "./listed.ts";
import {
  alerts,
  archive,
  batches,
  begin,
  companies,
  filings,
  invoices,
  keys,
  monitors,
  profiles,
  readers,
  sessions,
} from "./resources.ts";

export type { BodyOptions, CallOptions, ClientOptions } from "./http.ts";
export { type ErrorCode, TrawlError } from "./errors.ts";
export type { Job, ResultOptions, StartedJob } from "./job.ts";
export type { Listed } from "./listed.ts";
export { verifyWebhook, type WebhookEvent, type WebhookOptions } from "./webhook.ts";
export type * from "./generated/api.ts";

type CrawlOptions = Omit<api.CrawlBody, "url" | "seeds">;

export class Trawl {
  readonly alerts: ReturnType<typeof alerts>;
  readonly archive: ReturnType<typeof archive>;
  readonly batch: ReturnType<typeof batches>;
  readonly filings: ReturnType<typeof filings>;
  readonly companies: ReturnType<typeof companies>;
  readonly invoices: ReturnType<typeof invoices>;
  readonly keys: ReturnType<typeof keys>;
  readonly monitors: ReturnType<typeof monitors>;
  readonly profiles: ReturnType<typeof profiles>;
  readonly sessions: ReturnType<typeof sessions>;
  readonly #http: Http;
  readonly #readers: ReturnType<typeof readers>;

  constructor(options: ClientOptions) {
    this.#http = http(options);
    this.#readers = readers(this.#http);
    this.alerts = alerts(this.#readers);
    this.archive = archive(this.#readers);
    this.batch = batches(this.#http);
    this.filings = filings(this.#readers);
    this.companies = companies(this.#readers);
    this.invoices = invoices(this.#readers);
    this.keys = keys(this.#readers);
    this.monitors = monitors(this.#readers);
    this.profiles = profiles(this.#readers);
    this.sessions = sessions(this.#readers);
  }

  /** Fetches one page. Its failure stands in `error` of the answer; only a refused request is thrown. */
  fetch(url: string, options?: Omit<api.FetchBody, "url">, call?: CallOptions): Promise<api.FetchResponse> {
    return this.#readers.post("/v1/fetch", { ...options, url }, call);
  }

  /** Awaited it is the answer, iterated its results. */
  search(
    query: string,
    options?: Omit<api.SearchBody, "query">,
    call?: CallOptions,
  ): Listed<api.SearchResponse, api.SearchResult> {
    return listed(
      () => this.#readers.post<api.SearchResponse & OnePage>("/v1/search", { ...options, query }, call),
      ({ results }) => results,
    );
  }

  /** The addresses of a site: awaited it is the answer, iterated its links. */
  map(
    url: string,
    options?: Omit<api.MapBody, "url">,
    call?: CallOptions,
  ): Listed<api.MapResponse, api.MapLink> {
    return listed(
      () => this.#readers.post<api.MapResponse & OnePage>("/v1/map", { ...options, url }, call),
      ({ links }) => links,
    );
  }

  /** The pages of a site, from one address or several: awaited it is the job, iterated its pages as they come. */
  crawl(
    from: string | readonly string[],
    options?: CrawlOptions,
    call?: CallOptions,
  ): StartedJob<api.CrawlJobItem> {
    const start = typeof from === "string" ? { url: from } : { seeds: from };
    return started(begin<api.CrawlJobItem>(this.#http, "/v1/crawl", { ...options, ...start }, call));
  }

  /** A job that exists. Nothing is asked yet. */
  job<Item extends api.JobItem = api.JobItem>(id: string): Job<Item> {
    return new Job<Item>(this.#http, id, false);
  }

  /** The project's jobs, newest first. */
  jobs(query?: api.ListJobsQuery, call?: CallOptions): Listed<api.JobPage, api.JobStatus> {
    return listed(
      (cursor) =>
        this.#readers.get<api.JobPage>(
          "/v1/jobs",
          { ...query, ...(cursor !== undefined && { cursor }) },
          call,
        ),
      ({ items }) => items,
    );
  }

  /** The exact bytes with this digest, as a response whose body is still to be read. */
  body(sha256: string, { range }: BodyOptions = {}, call?: CallOptions): Promise<Response> {
    const path = `/v1/bodies/${encodeURIComponent(sha256)}`;
    return this.#http.open(
      { method: "GET", path, headers: range ? { range } : {}, isRepeatable: true },
      call,
    );
  }

  /** Rights of the key, and what its customer has agreed to. */
  account(call?: CallOptions): Promise<api.AccountView> {
    return this.#readers.get("/v1/account", {}, call);
  }

  usage(query?: api.UsageQuery, call?: CallOptions): Promise<api.UsageReport> {
    return this.#readers.get("/v1/usage", query, call);
  }

  /** The rest of the key's allowances. */
  quota(call?: CallOptions): Promise<api.Quota> {
    return this.#readers.get("/v1/quota", {}, call);
  }

  /** The ledger: each request with what it cost, newest first. */
  requests(query?: api.RequestsQuery, call?: CallOptions): Listed<api.RequestList, api.RequestRecord> {
    return listed(
      (cursor) =>
        this.#readers.get<api.RequestList>(
          "/v1/requests",
          { ...query, ...(cursor !== undefined && { cursor }) },
          call,
        ),
      ({ items }) => items,
    );
  }
}

/** An answer that has no further page. */
interface OnePage {
  readonly next_cursor?: null;
}

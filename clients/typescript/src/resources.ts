/**
 * The operations of the API by subject, as functions over one connection. Each takes the fields of the API, and then what concerns the call
 * alone: `signal`, `timeoutMs`, `retries`.
 */
import type * as api from "./generated/api.ts";
import type { CallOptions, Http } from "./http.ts";
import { Job, type StartedJob, started } from "./job.ts";
import { type Listed, listed } from "./listed.ts";

const part = (text: string | number): string => encodeURIComponent(text);

export function readers(http: Http) {
  const get = <T>(path: string, query?: object, call?: CallOptions): Promise<T> =>
    http.json<T>({ method: "GET", path, query, isRepeatable: true }, call);
  const post = <T>(path: string, body: object, call?: CallOptions, isRepeatable = false): Promise<T> =>
    http.json<T>({ method: "POST", path, body, isRepeatable }, call);
  const change = <T>(path: string, body: object, call?: CallOptions): Promise<T> =>
    http.json<T>({ method: "PATCH", path, body, isRepeatable: true }, call);
  const remove = (path: string, call?: CallOptions): Promise<void> =>
    http.json({ method: "DELETE", path, isRepeatable: true }, call);
  return { get, post, change, remove };
}
type Readers = ReturnType<typeof readers>;

/** A batch is begun once, whatever happens on the way: the key that names it is drawn where the caller gives none. */
export async function begin<Item extends api.JobItem>(
  http: Http,
  path: string,
  body: { readonly [field: string]: unknown },
  call?: CallOptions,
): Promise<Job<Item>> {
  const keyed = { ...body, idempotency_key: body["idempotency_key"] ?? crypto.randomUUID() };
  const { job_id, created, webhook_secret } = await http.json<api.JobCreated>(
    { method: "POST", path, body: keyed, isRepeatable: true },
    call,
  );
  return new Job<Item>(http, job_id, created, webhook_secret);
}

type BatchOptions<Body> = Omit<Body, "items" | "idempotency_key"> & { readonly idempotency_key?: string };

/** `Short`: what an item may be instead, where one field says everything. */
type Batch<Body extends { items: readonly unknown[] }, Item extends api.JobItem, Short = never> = (
  items: readonly (Body["items"][number] | Short)[],
  options?: BatchOptions<Body>,
  call?: CallOptions,
) => StartedJob<Item>;

export function batches(http: Http) {
  const batch =
    (path: string, field = "") =>
    (items: readonly unknown[], options: object = {}, call?: CallOptions): StartedJob<any> => {
      const whole = items.map((item) => (typeof item === "string" ? { [field]: item } : item));
      return started(begin(http, path, { ...options, items: whole }, call));
    };
  const fetch: Batch<api.BatchFetchBody, api.FetchJobItem, string> = batch("/v1/batch/fetch", "url");
  const search: Batch<api.BatchSearchBody, api.SearchJobItem, string> = batch("/v1/batch/search", "query");
  const filingItems: Batch<api.BatchFilingsBody, api.FilingsJobItem> = batch("/v1/batch/filings");
  const profileItems: Batch<api.BatchProfilesBody, api.ProfilesJobItem> = batch("/v1/batch/profiles");
  const companyItems: Batch<api.BatchCompaniesBody, api.CompanyJobItem> = batch("/v1/companies/batch");
  return {
    /** Pages, by their addresses or with options. */
    fetch,
    /** Queries, as texts or with options. */
    search,
    filings: filingItems,
    profiles: profileItems,
    companies: companyItems,
  };
}

type Cik = string | number;

export function filings({ get, post }: Readers) {
  const of = (cik: Cik, rest: string): string => `/v1/filings/companies/${part(cik)}/${rest}`;
  return {
    /** The filer with a ticker, a number, an ISIN or a name. */
    resolve: (query: api.ResolveFilerQuery, call?: CallOptions) =>
      get<api.ResolveAnswer>("/v1/filings/companies/resolve", query, call),
    submissions: (cik: Cik, query?: api.ListSubmissionsQuery, call?: CallOptions) =>
      get<api.SubmissionsAnswer>(of(cik, "submissions"), query, call),
    latest: (cik: Cik, query?: api.LatestFilingQuery, call?: CallOptions) =>
      get<api.LatestAnswer>(of(cik, "filings/latest"), query, call),
    /** The documents of one filing. */
    index: (cik: Cik, accession: string, query?: api.ListFilingDocumentsQuery, call?: CallOptions) =>
      get<api.IndexAnswer>(`/v1/filings/index/${part(cik)}/${part(accession)}`, query, call),
    document: (body: api.DocumentBody, call?: CallOptions) =>
      post<api.FilingDocumentResponse>("/v1/filings/documents/fetch", body, call),
    facts: (cik: Cik, query?: api.SummariseFactsQuery, call?: CallOptions) =>
      get<api.FactsAnswer>(of(cik, "facts"), query, call),
    search: (query: api.SearchFilingsQuery, call?: CallOptions) =>
      get<api.FilingSearchAnswer>("/v1/filings/search", query, call),
  };
}

/** Pages that the service looks at again and again. */
export function monitors({ get, post, change, remove }: Readers) {
  const of = (monitor_id: string, rest = ""): string => `/v1/monitors/${part(monitor_id)}${rest}`;
  return {
    /** Its `secret` is told only here. */
    create: (url: string, options?: Omit<api.MonitorBody, "url">, call?: CallOptions) =>
      post<api.Monitor>("/v1/monitors", { ...options, url }, call),
    list: (call?: CallOptions) => get<api.ListMonitorsResponse>("/v1/monitors", {}, call),
    get: (monitor_id: string, call?: CallOptions) => get<api.Monitor>(of(monitor_id), {}, call),
    change: (monitor_id: string, body: api.MonitorPatch, call?: CallOptions) =>
      change<api.Monitor>(of(monitor_id), body, call),
    /** Looks at the page now. */
    run: (monitor_id: string, call?: CallOptions) => post<api.Monitor>(of(monitor_id, "/run"), {}, call),
    delete: (monitor_id: string, call?: CallOptions) => remove(of(monitor_id), call),
    changes: (monitor_id: string, query?: api.ListMonitorChangesQuery, call?: CallOptions) =>
      get<api.ListMonitorChangesResponse>(of(monitor_id, "/changes"), query, call),
  };
}

/** What several fetches have in common, by their `session_id`: cookies, a user agent, a language. */
export function sessions({ get, post, remove }: Readers) {
  const of = (session_id: string): string => `/v1/sessions/${part(session_id)}`;
  return {
    create: (options: api.SessionBody = {}, call?: CallOptions) =>
      post<api.Session>("/v1/sessions", options, call),
    list: (call?: CallOptions) => get<api.ListSessionsResponse>("/v1/sessions", {}, call),
    get: (session_id: string, call?: CallOptions) => get<api.Session>(of(session_id), {}, call),
    /** Ends it, and forgets its cookies. */
    delete: (session_id: string, call?: CallOptions) => remove(of(session_id), call),
  };
}

export function profiles({ post }: Readers) {
  return {
    suggest: (body: api.SuggestBody, call?: CallOptions) =>
      post<api.SuggestAnswer>("/v1/profiles/suggest", body, call),
    discover: (body: api.DiscoverBody, call?: CallOptions) =>
      post<api.DiscoverAnswer>("/v1/profiles/discover", body, call),
    profile: (body: api.ProfileBody, call?: CallOptions) =>
      post<api.ProfileAnswer>("/v1/profiles/profile", body, call),
    graph: (body: api.GraphBody, call?: CallOptions) =>
      post<api.GraphAnswer>("/v1/profiles/graph", body, call),
  };
}

interface EntryPage {
  readonly items: readonly unknown[];
  readonly next_cursor: string | null;
}

/** A list below a company: `ref` is its id, or `scheme:value` of one of its numbers. */
type EntryList<Page extends EntryPage, Query> = (
  ref: string,
  query?: Query,
  call?: CallOptions,
) => Listed<Page, Page["items"][number]>;

export function companies({ get, post, remove }: Readers) {
  const list =
    (name: string) =>
    (ref: string, query?: object, call?: CallOptions): Listed<any, any> =>
      listed(
        (cursor) =>
          get<EntryPage>(
            `/v1/companies/${part(ref)}/${name}`,
            { ...query, ...(cursor !== undefined && { cursor }) },
            call,
          ),
        ({ items }) => items,
      );
  return {
    search: (
      query: api.SearchCompaniesQuery,
      call?: CallOptions,
    ): Listed<api.CompanySearchAnswer, api.CompanySummary> =>
      listed(
        (cursor) =>
          get<api.CompanySearchAnswer>(
            "/v1/companies/search",
            { ...query, ...(cursor !== undefined && { cursor }) },
            call,
          ),
        ({ results }) => results,
      ),
    resolve: (body: api.CompanyResolveBody, call?: CallOptions) =>
      post<api.CompanyResolveAnswer>("/v1/companies/resolve", body, call),
    get: (ref: string, query?: api.GetCompanyQuery, call?: CallOptions) =>
      get<api.CompanyRecord>(`/v1/companies/${part(ref)}`, query, call),
    history: list("history") as EntryList<api.GetCompanyHistoryResponse, api.GetCompanyHistoryQuery>,
    events: list("events") as EntryList<api.GetCompanyEventsResponse, api.GetCompanyEventsQuery>,
    people: list("people") as EntryList<api.GetCompanyPeopleResponse, api.GetCompanyPeopleQuery>,
    ownership: list("ownership") as EntryList<api.GetCompanyOwnershipResponse, api.GetCompanyOwnershipQuery>,
    relationships: list("relationships") as EntryList<
      api.GetCompanyRelationshipsResponse,
      api.GetCompanyRelationshipsQuery
    >,
    filings: list("filings") as EntryList<api.GetCompanyFilingsResponse, api.GetCompanyFilingsQuery>,
    financials: list("financials") as EntryList<
      api.GetCompanyFinancialsResponse,
      api.GetCompanyFinancialsQuery
    >,
    sources: list("sources") as EntryList<api.GetCompanySourcesResponse, api.GetCompanySourcesQuery>,
    /** What has changed since a moment or a cursor: `next_cursor` is kept for the next question. */
    changes: (query?: api.ListCompanyChangesQuery, call?: CallOptions) =>
      get<api.ListCompanyChangesResponse>("/v1/companies/changes", query, call),
    watches: {
      list: (call?: CallOptions) => get<api.ListCompanyWatchesResponse>("/v1/companies/watches", {}, call),
      create: (body: api.CreateCompanyWatchBody, call?: CallOptions) =>
        post<api.CompanyWatch>("/v1/companies/watches", body, call),
      delete: (watch_id: string, call?: CallOptions) =>
        remove(`/v1/companies/watches/${part(watch_id)}`, call),
    },
  };
}

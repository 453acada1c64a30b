/**
 * The operations of the API by subject, as functions over one connection. Each takes the fields of the API, and then what concerns the call
 * alone: `signal`, `timeoutMs`, `retries`.
 */
import type * as api from "./generated/api.ts";
import { TrawlError } from "./errors.ts";
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
  /** The answer, with its body still to be read. */
  const bytes = (path: string, query?: object, call?: CallOptions): Promise<Response> =>
    http.open({ method: "GET", path, query, isRepeatable: true }, call);
  /** The bytes are sent as they are. */
  const append = <T>(path: string, query: object, sent: Blob, call?: CallOptions): Promise<T> =>
    http.json<T>({ method: "PATCH", path, query, bytes: sent, isRepeatable: true }, call);
  return { get, post, change, remove, bytes, append };
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

/** State that several fetches share by their `session_id`: cookies, a user agent, a language. */
export function sessions({ get, post, change, remove }: Readers) {
  const of = (session_id: string): string => `/v1/sessions/${part(session_id)}`;
  return {
    create: (options: api.SessionBody = {}, call?: CallOptions) =>
      post<api.Session>("/v1/sessions", options, call),
    list: (call?: CallOptions) => get<api.ListSessionsResponse>("/v1/sessions", {}, call),
    get: (session_id: string, call?: CallOptions) => get<api.Session>(of(session_id), {}, call),
    /** Adds, replaces and removes secrets. */
    change: (session_id: string, body: api.SessionPatch, call?: CallOptions) =>
      change<api.Session>(of(session_id), body, call),
    /** Ends it, and forgets its cookies and secrets. */
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

/** Keys of the account, each known by its prefix. Only for an admin key. */
export function keys({ get, post, change, remove }: Readers) {
  const of = (prefix: string, rest = "", last_admin?: boolean): string =>
    `/v1/keys/${part(prefix)}${rest}${last_admin ? "?last_admin=true" : ""}`;
  return {
    list: (call?: CallOptions) => get<api.AccountKeys>("/v1/keys", {}, call),
    /** The key itself is told only here. */
    create: (options: api.KeyBody = {}, call?: CallOptions) =>
      post<api.AccountKeyCreated>("/v1/keys", options, call),
    /** Fields that are left out stay; null takes a limit away. */
    change: (
      prefix: string,
      { last_admin, ...fields }: api.KeyChange & api.ChangeKeyQuery,
      call?: CallOptions,
    ) => change<api.AccountKey>(of(prefix, "", last_admin), fields, call),
    /** A new key in place of this one, which works for `grace_s` more seconds. The new key is told only here. */
    rotate: (prefix: string, options: api.KeyRotation = {}, call?: CallOptions) =>
      post<api.AccountKeyCreated>(of(prefix, "/rotate"), options, call),
    revoke: (prefix: string, { last_admin }: api.RevokeKeyQuery = {}, call?: CallOptions) =>
      remove(of(prefix, "", last_admin), call),
    /** Who has made, changed and revoked keys, newest first. */
    events: (call?: CallOptions) => get<api.KeyEvents>("/v1/keys/events", {}, call),
  };
}

/** Addresses that are told when an allowance is nearly used. */
export function alerts({ get, post, remove }: Readers) {
  return {
    list: (call?: CallOptions) => get<api.ListAlertsResponse>("/v1/alerts", {}, call),
    /** Its `secret` is told only here. */
    create: (body: api.AlertBody, call?: CallOptions) => post<api.AlertHookCreated>("/v1/alerts", body, call),
    delete: (alert_id: number, call?: CallOptions) => remove(`/v1/alerts/${part(alert_id)}`, call),
  };
}

export function invoices({ get }: Readers) {
  return {
    list: (call?: CallOptions) => get<api.ListInvoicesResponse>("/v1/invoices", {}, call),
    get: (id: string, call?: CallOptions) => get<api.Invoice>(`/v1/invoices/${part(id)}`, {}, call),
  };
}

/** The service takes no larger part of a file. */
const MAX_PART_BYTES = 8 * 2 ** 20;

interface UploadOptions extends Pick<api.CreateArchiveImportBody, "shared"> {
  /** SHA-256 of the content, as hexadecimal digits. Default: computed, for which the whole content is read into memory. */
  readonly sha256?: string;
}

async function sha256Of(content: Blob): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await content.arrayBuffer()));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Archive files that you have, as a source of the service. */
function imports({ get, post, remove, bytes, append }: Readers) {
  const of = (import_id: string, rest = ""): string => `/v1/archives/${part(import_id)}${rest}`;
  const show = (import_id: string, call?: CallOptions) => get<api.ArchiveImport>(of(import_id), {}, call);
  return {
    /** A WARC or WACZ file, in parts. Again for the same content it goes on where it was broken off. The service reads the file afterwards: `get` tells how far it is. */
    async upload(
      name: string,
      content: Blob,
      { sha256, ...options }: UploadOptions = {},
      call?: CallOptions,
    ): Promise<api.ArchiveImport> {
      const body = { ...options, name, bytes: content.size, sha256: sha256 ?? (await sha256Of(content)) };
      let told = await post<api.ArchiveImport>("/v1/archives", body, call, true);
      while (told.state === "uploading" && told.received_bytes < content.size) {
        const offset = told.received_bytes;
        const sent = content.slice(offset, offset + MAX_PART_BYTES);
        try {
          told = await append<api.ArchiveImport>(of(told.id), { offset }, sent, call);
        } catch (problem) {
          // The part had arrived, though its answer was lost.
          if (!(problem instanceof TrawlError) || problem.status !== 409) throw problem;
          told = await show(told.id, call);
          if (told.received_bytes <= offset) throw problem;
        }
      }
      return told;
    },
    list: (call?: CallOptions) => get<api.ListArchiveImportsResponse>("/v1/archives", {}, call),
    get: show,
    /** With its captures. */
    delete: (import_id: string, call?: CallOptions) => remove(of(import_id), call),
    /** Its captures, as a WARC file. */
    warc: (import_id: string, call?: CallOptions) => bytes(of(import_id, ".warc.gz"), {}, call),
  };
}

/** Fetches with `archive`, and archive files that were imported. */
export function archive(readers_of: Readers) {
  const { get, bytes } = readers_of;
  return {
    imports: imports(readers_of),
    /** The names of the columns, then a row for each capture of the address. */
    captures: (url: string, query?: Omit<api.ListCapturesQuery, "url" | "output">, call?: CallOptions) =>
      get<string[][]>("/v1/archive/cdx", { ...query, url }, call),
    /** The bytes of the capture that is nearest to the time (1 to 14 digits). */
    capture: (timestamp: string, url: string, call?: CallOptions) =>
      bytes(`/v1/archive/web/${part(timestamp)}id_/${url}`, {}, call),
    /** An address at which a browser shows the capture. */
    view: (url: string, query?: Omit<api.ViewCaptureQuery, "url">, call?: CallOptions) =>
      get<api.ViewCaptureResponse>("/v1/archive/view", { ...query, url }, call),
    /** The exchanges of one fetch, as a WARC file. */
    warc: (request_id: string, call?: CallOptions) =>
      bytes(`/v1/requests/${part(request_id)}.warc.gz`, {}, call),
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

interface ReviewPage extends api.CompanyReviewPage {
  readonly next_cursor: number | null;
}

export function companies({ get, post, remove, bytes }: Readers) {
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
    /** A page of all companies; after the last one, `changes` goes on from `changes_cursor`. */
    baseline: (query?: api.ListCompanyBaselineQuery, call?: CallOptions) =>
      get<api.ListCompanyBaselineResponse>("/v1/companies/baseline", query, call),
    /** Changes since a moment or a cursor: `next_cursor` is kept for the next question. */
    changes: (query?: api.ListCompanyChangesQuery, call?: CallOptions) =>
      get<api.ListCompanyChangesResponse>("/v1/companies/changes", query, call),
    /** The sources of the register, with their licences and how they are. */
    allSources: (call?: CallOptions) =>
      get<api.ListCompanySourcesResponse>("/v1/companies/sources", {}, call),
    /** The JSON Schema of a record. */
    schema: (call?: CallOptions) => get<Record<string, unknown>>("/v1/schemas/company", {}, call),
    /** The results of a batch of companies as CSV, when it has ended. */
    csv: (job_id: string, call?: CallOptions) => bytes(`/v1/companies/batch/${part(job_id)}.csv`, {}, call),
    /** The items of a batch whose company was not found for certain. */
    review: (
      job_id: string,
      query: Omit<api.ListCompanyReviewQuery, "from"> = {},
      call?: CallOptions,
    ): Listed<ReviewPage, api.CompanyReviewItem> =>
      listed(
        (from) =>
          get<api.CompanyReviewPage>(
            `/v1/companies/batch/${part(job_id)}/review`,
            { ...query, from },
            call,
          ).then((page) => ({ ...page, next_cursor: page.next_from })),
        ({ items }) => items,
      ),
    /** Which company an item means; null: none of its candidates. */
    decide: (job_id: string, decisions: readonly api.CompanyReviewDecision[], call?: CallOptions) =>
      post<api.CompanyReviewDecided>(`/v1/companies/batch/${part(job_id)}/review`, { decisions }, call, true),
    watches: {
      list: (call?: CallOptions) => get<api.ListCompanyWatchesResponse>("/v1/companies/watches", {}, call),
      create: (body: api.CreateCompanyWatchBody, call?: CallOptions) =>
        post<api.CompanyWatch>("/v1/companies/watches", body, call),
      delete: (watch_id: string, call?: CallOptions) =>
        remove(`/v1/companies/watches/${part(watch_id)}`, call),
    },
  };
}

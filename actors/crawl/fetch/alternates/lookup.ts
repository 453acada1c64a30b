/**
 * The tools of a search for an open copy: one polite GET, and the check whether a document is a copy. Every request and
 * every verdict is recorded as an attempt. The sources that use them are sources.ts.
 */
import { LRUCache } from "lru-cache";
import type { ActorClient } from "../../../../cluster/actor.ts";
import { type CacheLimits, cacheLimits } from "../../../../cluster/cache-limits.ts";
import { FETCH_CACHES } from "../caches.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { TaskResult } from "../../../../cluster/ports/workers.ts";
import type { ContentKind, FetchRequest } from "../../../../schemas/fetch.ts";
import { challengeOf } from "../../../reading/content/challenge.ts";
import type { ExtractCaller, Extracted, ExtractTask } from "../../../reading/extraction-result.ts";
import { contentKindOf } from "../../../lib/web/http.ts";
import type { Transport, TransportPage, TransportRequest } from "../../../lib/web/transport.ts";
import type { JoinedSites } from "../../../lib/web/url.ts";
import {
  type AlternateSource,
  type Copy,
  type CopyVerdict,
  judgeCopy,
  type MatchedBy,
  type WantedPage,
} from "./alternates.ts";
import type { EmbeddedArticle } from "./guardian.ts";
import { escapeHtml } from "../../../lib/web/escape-html.ts";

/** Addresses of results, best first, and the cost of the search in micros. Never throws; ends with its signal. */
export type SearchPort = (
  ask: ActorClient,
  query: string,
  caller: { readonly id: string; readonly project: string; readonly language: string | null },
  signal: AbortSignal,
) => Promise<{ readonly urls: readonly string[]; readonly cost_micros: number }>;

/** The configured sources beside the publisher itself. Addresses do not end with a slash. */
export interface Sources {
  readonly search?: SearchPort;
  readonly guardian?: { readonly url: string; readonly key: string };
  readonly unpaywall?: { readonly url: string; readonly email: string };
  readonly common_crawl?: { readonly index_url: string; readonly data_url: string };
  /** The User-Agent for registers and indexes, which ask for a contact. Pages are requested as any page. */
  readonly user_agent: string;
}

export interface AlternateDeps extends Sources {
  /** Sends a GET over the route `direct`: each redirect hop is admitted under the rules of its own host. */
  readonly read: Transport;
  readonly extract: (task: ExtractTask, caller: ExtractCaller) => Promise<TaskResult<Extracted>>;
  readonly clock: Clock;
  readonly joined?: JoinedSites;
  readonly caches?: Pick<CacheLimits, "feeds">;
}

/** Inputs of a search. */
export interface AlternateLookup {
  readonly ask: ActorClient;
  readonly wanted: WantedPage;
  readonly request: Pick<
    FetchRequest,
    "fetch_id" | "project" | "lane" | "accept_pdf" | "max_bytes" | "accept_language"
  >;
  readonly admit: TransportRequest["admit"];
  /** As in TransportRequest. */
  readonly networks?: readonly string[] | undefined;
  readonly signal: AbortSignal;
  /** Records one attempt; `detail` is the address of the copy. */
  readonly note: (status: number | null, reason: string, ms: number, detail: string | null) => void;
}

export interface AlternateMatch {
  readonly source: AlternateSource;
  readonly score: number;
  readonly page: TransportPage;
  readonly kind: ContentKind;
  readonly extracted: Extracted;
}

export interface AlternateResult {
  readonly match: AlternateMatch | null;
  readonly cost_micros: number;
}

/** Time limit of each request of the search. */
const MAX_READ_MS = 20_000;

/** Feeds and the list of crawls are remembered: a batch over one publisher reads its feed once, not for every page. */
const REMEMBERED_MS = 10 * 60_000;

const HTML = "text/html; charset=utf-8";

/** A search under way. */
export interface Lookup extends AlternateLookup {
  readonly deps: AlternateDeps;
  /** Feeds and lists that several searches of this process read. */
  readonly recent_pages: RecentPages;
  /** Cost of the search so far. */
  cost_micros: number;
}

export type RecentPages = LRUCache<string, { readonly page: TransportPage; readonly until_ms: number }>;

export const newRecentPages = (
  { feeds }: Pick<CacheLimits, "feeds"> = cacheLimits(FETCH_CACHES),
): RecentPages =>
  new LRUCache({
    maxSize: feeds,
    sizeCalculation: ({ page }) => page.body.length + 1_024,
  });

type VerdictOf = (copy: Copy) => CopyVerdict | { readonly kind: "rejected"; readonly reason: "title" };

/** Records one attempt of a source: `alternate_<source>` for a verified copy, with the outcome behind it otherwise. */
export function note(
  lookup: Lookup,
  source: AlternateSource,
  status: number | null,
  outcome: string,
  ms: number,
  detail: string,
): void {
  lookup.note(status, `alternate_${source}${outcome === "" ? "" : `_${outcome}`}`, ms, detail);
}

/** Sends a GET. A status other than 200 (206 for a range) is recorded, as `shown` where the address contains a key. */
export async function get(
  lookup: Lookup,
  source: AlternateSource,
  url: string,
  options: { bytes: number; shown_url?: string; range?: string; anonymous?: boolean; remember?: boolean },
): Promise<TransportPage | null> {
  const { deps, recent_pages, request, signal } = lookup;
  const { clock } = deps;
  const { bytes, shown_url = url, range, anonymous = false, remember = false } = options;
  const recent = remember ? recent_pages.get(url) : undefined;
  if (recent && clock.now() < recent.until_ms) return usable(recent.page);
  const read_deadline = new AbortController();
  const read_timer = clock.at(clock.now() + MAX_READ_MS, () => read_deadline.abort());
  const result = await deps
    .read({
      url,
      max_bytes: bytes,
      accept_language: request.accept_language,
      user_agent: anonymous ? null : deps.user_agent,
      country: null,
      validators: null,
      ...(range !== undefined && { range }),
      signal: AbortSignal.any([signal, read_deadline.signal]),
      admit: lookup.admit,
      ...(lookup.networks && { networks: [...lookup.networks] }),
    })
    .finally(() => read_timer[Symbol.dispose]());
  switch (result.kind) {
    case "refused":
      note(
        lookup,
        source,
        null,
        `rejected_${REFUSAL_REASONS[result.refusal.error] ?? "refused"}`,
        result.ms,
        shown_url,
      );
      return null;
    case "failed":
      note(
        lookup,
        source,
        result.status,
        `rejected_${FAILURE_REASONS[result.reason] ?? "unreachable"}`,
        result.ms,
        shown_url,
      );
      return null;
    case "page":
      if (remember) recent_pages.set(url, { page: result, until_ms: clock.now() + REMEMBERED_MS });
      return usable(result);
  }

  function usable(page: TransportPage): TransportPage | null {
    if (page.status === (range === undefined ? 200 : 206)) return page;
    note(
      lookup,
      source,
      page.status,
      page.status === 404 ? "not_found" : "rejected_status",
      page.ms,
      shown_url,
    );
    return null;
  }
}

/** Extracts a candidate, checks it and records the verdict. */
export async function assess(
  lookup: Lookup,
  source: AlternateSource,
  page: TransportPage,
  read: { content_type: string | null; kind: ContentKind; bytes: Buffer },
  verdictOf: VerdictOf,
): Promise<AlternateMatch | null> {
  const { deps, signal } = lookup;
  const { kind, content_type, bytes } = read;
  const { status, final_url, ms } = page;
  const task = { bytes, url: final_url, content_type, kind, now_ms: deps.clock.now() };
  const result = await deps.extract(task, { signal, project: lookup.request.project });
  if (result.kind === "failed") {
    note(lookup, source, status, "rejected_unreadable", ms, final_url);
    return null;
  }
  const extracted = result.value;
  const challenge = challengeOf({
    status,
    headers: page.headers,
    body_start: kind === "pdf" || kind === "binary" ? "" : bytes.toString("latin1", 0, 65_536),
    bytes: bytes.length,
    text_chars: extracted.text.length,
  });
  const verdict = challenge
    ? ({ kind: "rejected", reason: "challenge" } as const)
    : verdictOf({ final_url, kind, extracted });
  if (verdict.kind === "rejected") {
    note(lookup, source, status, `rejected_${verdict.reason}`, ms, final_url);
    return null;
  }
  note(lookup, source, status, "", ms, final_url);
  return { source, score: verdict.score, page, kind, extracted };
}

/** A candidate that is a page at an address of its own. */
export async function fetchCandidate(
  lookup: Lookup,
  source: AlternateSource,
  url: string,
  verdictOf: VerdictOf,
): Promise<AlternateMatch | null> {
  const { request } = lookup;
  const page = await get(lookup, source, url, { bytes: request.max_bytes, anonymous: true });
  if (page === null) return null;
  const content_type = page.headers.get("content-type") ?? null;
  const kind = contentKindOf(content_type, page.body, page.final_url);
  if (kind === "pdf" && !request.accept_pdf) {
    note(lookup, source, page.status, "rejected_pdf_not_accepted", page.ms, page.final_url);
    return null;
  }
  return assess(lookup, source, page, { content_type, kind, bytes: page.body }, verdictOf);
}

/** An article in a feed or an API answer: checked as an HTML page, stored as received. */
export async function assessEmbedded(
  lookup: Lookup,
  source: AlternateSource,
  envelope: TransportPage,
  final_url: string,
  item: EmbeddedArticle,
  matched_by: MatchedBy,
): Promise<AlternateMatch | null> {
  const { wanted, deps } = lookup;
  const page: TransportPage = {
    ...envelope,
    final_url,
    redirects: [],
    headers: new Map([...envelope.headers].filter(([name]) => ENVELOPE_FIELDS.has(name))),
    body: Buffer.from(item.html),
  };
  const read = {
    content_type: HTML,
    kind: "html" as const,
    bytes: Buffer.from(asPage(item, wanted.url)),
  };
  const match = await assess(lookup, source, page, read, (copy) =>
    judgeCopy(wanted, copy, matched_by, false, deps.joined),
  );
  return (
    match && { ...match, page: { ...page, headers: new Map([...page.headers, ["content-type", HTML]]) } }
  );
}

/** The reason of an attempt whose request was refused, by the error of the refusal. */
const REFUSAL_REASONS: Readonly<Record<string, string>> = {
  robots_disallowed: "robots",
  blocked_destination: "blocked_destination",
  invalid_url: "unreachable",
  timeout: "timeout",
  domain_busy: "busy",
  politeness_timeout: "busy",
  domain_unavailable: "unavailable",
  domain_dead: "unreachable",
};
const FAILURE_REASONS: Readonly<Record<string, string>> = { timeout: "timeout", too_large: "too_large" };

/** Headers of a feed or an API answer that tell how long its content is fresh; the others do not describe the copy. */
const ENVELOPE_FIELDS: ReadonlySet<string> = new Set(["cache-control", "expires", "date", "age"]);

/** The HTML page for the extraction: an embedded article with the metadata of its feed or API. */
function asPage({ title, author, published, html }: EmbeddedArticle, url: string): string {
  const at_ms = Date.parse(published ?? "");
  const date = Number.isNaN(at_ms) ? null : new Date(at_ms).toISOString();
  const meta = (name: string, content: string | null) =>
    content === null ? "" : `<meta ${name} content="${escapeHtml(content)}">`;
  return (
    `<!doctype html><html><head><meta charset="utf-8"><title>${escapeHtml(title ?? "")}</title>` +
    `<link rel="canonical" href="${escapeHtml(url)}">` +
    `${meta('name="author"', author)}${meta('property="article:published_time"', date)}</head>` +
    `<body><article>${html}</article></body></html>`
  );
}

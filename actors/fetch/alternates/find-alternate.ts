/**
 * The search for an open copy of a page, source by source until one is verified: the publisher's feed, the Guardian's
 * API, an open-access copy by DOI, the same story on another site, and for batches Common Crawl. Every request is one
 * polite GET under the rules of its own host, and every one is listed in `attempts`. What is searched for, and what
 * counts as verified, is alternates.ts.
 */
import { LRUCache } from "lru-cache";
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { TaskResult } from "../../../cluster/ports/workers.ts";
import type { ContentKind, FetchRequest } from "../../../schemas/fetch.ts";
import { challengeOf } from "../../lib/content/challenge.ts";
import type { Extracted, ExtractTask } from "../../lib/content/extraction-result.ts";
import { contentKindOf } from "../../lib/web/http.ts";
import { addressOf } from "../../lib/content/similarity.ts";
import type { Transport, TransportResult, TransportRequest } from "../../lib/web/transport.ts";
import type { JoinedSites } from "../../lib/web/url.ts";
import {
  type MatchedBy,
  candidatesOf,
  type Copy,
  isThePaper,
  judgeCopy,
  queryOf,
  type AlternateSource,
  type CopyVerdict,
  type WantedPage,
} from "./alternates.ts";
import {
  type Capture,
  capturedAt,
  capturesUrl,
  crawlsUrl,
  newestCapture,
  rangeOf,
  readCrawls,
  readRecord,
  recordUrl,
} from "./common-crawl.ts";
import {
  type EmbeddedArticle,
  guardianAddress,
  guardianId,
  guardianRequestUrl,
  readGuardian,
} from "./guardian.ts";
import { readUnpaywall, unpaywallRequestUrl } from "./unpaywall.ts";

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

interface AlternateDeps extends Sources {
  /** One GET over the route `direct`: each redirect hop is admitted under the rules of its own host. */
  readonly read: Transport;
  readonly extract: (task: ExtractTask, signal: AbortSignal) => Promise<TaskResult<Extracted>>;
  readonly clock: Clock;
  readonly joined?: JoinedSites;
}

type Page = Extract<TransportResult, { kind: "page" }>;

export interface AlternateLookup {
  readonly ask: ActorClient;
  readonly wanted: WantedPage;
  readonly request: Pick<
    FetchRequest,
    "fetch_id" | "project" | "lane" | "accept_pdf" | "max_bytes" | "accept_language"
  >;
  readonly admit: TransportRequest["admit"];
  readonly signal: AbortSignal;
  /** Records one attempt; `detail` is the address of the copy. */
  readonly note: (status: number | null, reason: string, ms: number, detail: string | null) => void;
}

export interface AlternateMatch {
  readonly source: AlternateSource;
  readonly score: number;
  readonly page: Page;
  readonly kind: ContentKind;
  readonly extracted: Extracted;
}

export interface AlternateResult {
  readonly match: AlternateMatch | null;
  readonly cost_micros: number;
}

/** The whole search; a caller without timeout_s waits 150 s for everything. */
const MAX_LOOKUP_MS = 60_000;
/** One request of the search. */
const MAX_READ_MS = 20_000;
const MAX_FEED_BYTES = 5 * 2 ** 20;
/** One answer of a register or an index. */
const MAX_ANSWER_BYTES = 2 * 2 ** 20;

/** Feeds and the list of crawls are remembered: a batch over one publisher reads its feed once, not for every page. */
const REMEMBERED_MS = 10 * 60_000;
const MAX_REMEMBERED_BYTES = 32 * 2 ** 20;

const HTML = "text/html; charset=utf-8";

export function alternateFinder(deps: AlternateDeps): (lookup: AlternateLookup) => Promise<AlternateResult> {
  const { clock, joined, search, guardian, unpaywall, common_crawl } = deps;
  const recent_pages = new LRUCache<string, { readonly page: Page; readonly until_ms: number }>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: ({ page }) => page.body.length + 1_024,
  });

  return async (lookup) => {
    const { wanted, request } = lookup;
    const deadline = new AbortController();
    const timer = clock.at(clock.now() + MAX_LOOKUP_MS, () => deadline.abort());
    const signal = AbortSignal.any([lookup.signal, deadline.signal]);
    let cost_micros = 0;

    const note = (
      source: AlternateSource,
      status: number | null,
      outcome: string,
      ms: number,
      detail: string,
    ) => lookup.note(status, `alternate_${source}${outcome === "" ? "" : `_${outcome}`}`, ms, detail);

    /** One GET. A status other than 200 (206 for a range) is recorded, as `shown` where the address contains a key. */
    async function get(
      source: AlternateSource,
      url: string,
      options: { bytes: number; shown_url?: string; range?: string; anonymous?: boolean; remember?: boolean },
    ): Promise<Page | null> {
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
        })
        .finally(() => read_timer[Symbol.dispose]());
      switch (result.kind) {
        case "refused":
          note(
            source,
            null,
            `rejected_${REFUSAL_REASONS[result.refusal.error] ?? "refused"}`,
            result.ms,
            shown_url,
          );
          return null;
        case "failed":
          note(
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

      function usable(page: Page): Page | null {
        if (page.status === (range === undefined ? 200 : 206)) return page;
        note(source, page.status, page.status === 404 ? "not_found" : "rejected_status", page.ms, shown_url);
        return null;
      }
    }

    /** Extracts what may be a copy, judges it and records the verdict. */
    async function assess(
      source: AlternateSource,
      page: Page,
      read: { content_type: string | null; kind: ContentKind; bytes: Buffer },
      verdictOf: (copy: Copy) => CopyVerdict | { readonly kind: "rejected"; readonly reason: "title" },
    ): Promise<AlternateMatch | null> {
      const { kind, content_type, bytes } = read;
      const { status, final_url, ms } = page;
      const task = { bytes, url: final_url, content_type, kind, now_ms: clock.now() };
      const work = await deps.extract(task, signal);
      if (work.kind === "failed") {
        note(source, status, "rejected_unreadable", ms, final_url);
        return null;
      }
      const extracted = work.value;
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
        note(source, status, `rejected_${verdict.reason}`, ms, final_url);
        return null;
      }
      note(source, status, "", ms, final_url);
      return { source, score: verdict.score, page, kind, extracted };
    }

    /** A candidate that is a page at an address of its own. */
    async function fetchCandidate(
      source: AlternateSource,
      url: string,
      verdictOf: Parameters<typeof assess>[3],
    ) {
      const page = await get(source, url, { bytes: request.max_bytes, anonymous: true });
      if (page === null) return null;
      const content_type = page.headers.get("content-type") ?? null;
      const kind = contentKindOf(content_type, page.body, page.final_url);
      if (kind === "pdf" && !request.accept_pdf) {
        note(source, page.status, "rejected_pdf_not_accepted", page.ms, page.final_url);
        return null;
      }
      return assess(source, page, { content_type, kind, bytes: page.body }, verdictOf);
    }

    /** An article inside a feed or an API answer: judged as the page it makes, stored as it came. */
    async function assessEmbedded(
      source: AlternateSource,
      envelope: Page,
      final_url: string,
      item: EmbeddedArticle,
      matched_by: MatchedBy,
    ) {
      const page: Page = {
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
      const found = await assess(source, page, read, (copy) =>
        judgeCopy(wanted, copy, matched_by, false, joined),
      );
      return (
        found && { ...found, page: { ...page, headers: new Map([...page.headers, ["content-type", HTML]]) } }
      );
    }

    async function searchFeeds(): Promise<AlternateMatch | null> {
      for (const feed of wanted.feeds) {
        const page = await get("publisher_feed", feed, { bytes: MAX_FEED_BYTES, remember: true });
        if (page === null) continue;
        const content_type = page.headers.get("content-type") ?? null;
        const items = { addresses: wanted.addresses, title: wanted.title };
        const task = {
          bytes: page.body,
          url: feed,
          content_type,
          kind: "xml" as const,
          now_ms: clock.now(),
          items,
        };
        const work = await deps.extract(task, signal);
        const found = work.kind === "done" ? (work.value.items ?? []) : [];
        if (found.length === 0) {
          const outcome = work.kind === "done" ? "not_found" : "rejected_unreadable";
          note("publisher_feed", page.status, outcome, page.ms, feed);
        }
        for (const item of found) {
          const matched_by = item.exact ? "identifier" : "words";
          const copy = await assessEmbedded("publisher_feed", page, page.final_url, item, matched_by);
          if (copy) return copy;
        }
      }
      return null;
    }

    async function searchGuardian(): Promise<AlternateMatch | null> {
      const id = guardian && guardianId(wanted.url);
      if (!guardian || !id) return null;
      const shown_url = guardianAddress(guardian.url, id);
      const request_url = guardianRequestUrl(guardian.url, id, guardian.key);
      const page = await get("guardian_api", request_url, { bytes: MAX_ANSWER_BYTES, shown_url });
      if (page === null) return null;
      const item = readGuardian(page.body.toString(), id);
      if (item) return assessEmbedded("guardian_api", page, shown_url, item, "identifier");
      note("guardian_api", page.status, "rejected_unreadable", page.ms, shown_url);
      return null;
    }

    async function searchOpenAccess(): Promise<AlternateMatch | null> {
      const { doi } = wanted;
      if (!unpaywall || doi === null) return null;
      const shown_url = `https://doi.org/${doi}`;
      const request_url = unpaywallRequestUrl(unpaywall.url, doi, unpaywall.email);
      const page = await get("open_access", request_url, { bytes: MAX_ANSWER_BYTES, shown_url });
      if (page === null) return null;
      const open = readUnpaywall(page.body.toString(), doi, request.accept_pdf);
      if (open === null || open.places.length === 0) {
        note("open_access", page.status, open ? "not_found" : "rejected_unreadable", page.ms, shown_url);
        return null;
      }
      for (const place of open.places) {
        const copy = await fetchCandidate("open_access", place, (read) => {
          if (!isThePaper(wanted, open.title, read)) return { kind: "rejected", reason: "title" };
          return judgeCopy(wanted, read, "identifier", false, joined);
        });
        if (copy) return copy;
      }
      return null;
    }

    async function searchSyndication(): Promise<AlternateMatch | null> {
      const query = queryOf(wanted);
      if (!search || query === null) return null;
      const began_ms = clock.mono();
      const caller = { id: request.fetch_id, project: request.project, language: wanted.language };
      const results = await search(lookup.ask, query, caller, signal);
      cost_micros += results.cost_micros;
      const candidates = candidatesOf(results.urls, wanted, joined);
      const ms = clock.mono() - began_ms;
      lookup.note(null, `syndication_candidates_${candidates.length}`, ms, null);
      for (const candidate of candidates) {
        const copy = await fetchCandidate("syndication", candidate, (read) =>
          judgeCopy(wanted, read, "words", true, joined),
        );
        if (copy) return copy;
        if (signal.aborted) break;
      }
      return null;
    }

    async function searchCommonCrawl(): Promise<AlternateMatch | null> {
      // Never for a page that is sold: a site may show its pages to a crawler and sell them to readers.
      if (!common_crawl || request.lane !== "batch" || wanted.cause === "paywall") return null;
      const { index_url, data_url } = common_crawl;
      const source = "common_crawl";
      const list = await get(source, crawlsUrl(index_url), { bytes: MAX_ANSWER_BYTES, remember: true });
      const crawls = list && readCrawls(list.body.toString());
      if (list && !crawls) note(source, list.status, "rejected_unreadable", list.ms, crawlsUrl(index_url));
      const address = addressOf(wanted.url)!;
      let capture: Capture | null = null;
      for (const crawl of crawls ?? []) {
        const url = capturesUrl(index_url, crawl, wanted.url);
        const listing = await get(source, url, { bytes: MAX_ANSWER_BYTES });
        capture = listing && newestCapture(listing.body.toString(), address);
        if (capture) break;
        if (listing) note(source, listing.status, "not_found", listing.ms, url);
      }
      if (!capture) return null;
      const url = recordUrl(data_url, capture);
      const archived_at = capturedAt(capture, clock.now());
      if (archived_at === null || capture.length > request.max_bytes) {
        note(source, null, archived_at === null ? "rejected_too_old" : "rejected_too_large", 0, url);
        return null;
      }
      const packed = await get(source, url, { bytes: capture.length, range: rangeOf(capture) });
      if (packed === null) return null;
      const record = readRecord(packed.body, request.max_bytes);
      if (record === null || record.status !== 200 || addressOf(record.url) !== address) {
        note(source, packed.status, record ? "rejected_mismatch" : "rejected_unreadable", packed.ms, url);
        return null;
      }
      const content_type = record.headers.get("content-type") ?? null;
      const kind = contentKindOf(content_type, record.body, record.url);
      const { headers, body } = record;
      const page: Page = {
        ...packed,
        final_url: url,
        redirects: [],
        status: 200,
        headers,
        body,
        archived_at,
      };
      if (kind === "pdf" && !request.accept_pdf) {
        note(source, 200, "rejected_pdf_not_accepted", packed.ms, url);
        return null;
      }
      return assess(source, page, { content_type, kind, bytes: body }, (copy) =>
        judgeCopy(wanted, copy, "identifier", false, joined),
      );
    }

    try {
      for (const search_source of [
        searchFeeds,
        searchGuardian,
        searchOpenAccess,
        searchSyndication,
        searchCommonCrawl,
      ]) {
        if (signal.aborted) break;
        const found = await search_source();
        if (found) return { match: found, cost_micros };
      }
      return { match: null, cost_micros };
    } finally {
      timer[Symbol.dispose]();
    }
  };
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

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** The HTML page for the extraction, from an embedded article and what its feed or API says of it. */
function asPage({ title, author, published, html }: EmbeddedArticle, url: string): string {
  const at_ms = Date.parse(published ?? "");
  const date = Number.isNaN(at_ms) ? null : new Date(at_ms).toISOString();
  const meta = (name: string, content: string | null) =>
    content === null ? "" : `<meta ${name} content="${escaped(content)}">`;
  return (
    `<!doctype html><html><head><meta charset="utf-8"><title>${escaped(title ?? "")}</title>` +
    `<link rel="canonical" href="${escaped(url)}">` +
    `${meta('name="author"', author)}${meta('property="article:published_time"', date)}</head>` +
    `<body><article>${html}</article></body></html>`
  );
}

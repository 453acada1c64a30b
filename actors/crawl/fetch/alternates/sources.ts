/**
 * The sources of open copies, one function each: the publisher's feed, the Guardian's API, an open-access copy by DOI,
 * the same story on another site, and for batches Common Crawl. Each returns the first verified copy, or null.
 */
import { addressOf } from "../../../reading/content/similarity.ts";
import { contentKindOf } from "../../../lib/web/http.ts";
import type { TransportPage } from "../../../lib/web/transport.ts";
import { candidatesOf, isThePaper, judgeCopy, queryOf } from "./alternates.ts";
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
import { guardianAddress, guardianId, guardianRequestUrl, readGuardian } from "./guardian.ts";
import {
  type AlternateMatch,
  assess,
  assessEmbedded,
  fetchCandidate,
  get,
  type Lookup,
  note,
} from "./lookup.ts";
import { readUnpaywall, unpaywallRequestUrl } from "./unpaywall.ts";

const MAX_FEED_BYTES = 5 * 2 ** 20;
/** Limit of an answer of a register or an index. */
const MAX_ANSWER_BYTES = 2 * 2 ** 20;

export async function searchFeeds(lookup: Lookup): Promise<AlternateMatch | null> {
  const { wanted, deps, signal } = lookup;
  for (const feed of wanted.feeds) {
    const page = await get(lookup, "publisher_feed", feed, { bytes: MAX_FEED_BYTES, remember: true });
    if (page === null) continue;
    const content_type = page.headers.get("content-type") ?? null;
    const searched = { addresses: wanted.addresses, title: wanted.title };
    const task = {
      bytes: page.body,
      url: feed,
      content_type,
      kind: "xml" as const,
      now_ms: deps.clock.now(),
      items: searched,
    };
    const result = await deps.extract(task, { signal, project: lookup.request.project });
    const items = result.kind === "done" ? (result.value.items ?? []) : [];
    if (items.length === 0) {
      const outcome = result.kind === "done" ? "not_found" : "rejected_unreadable";
      note(lookup, "publisher_feed", page.status, outcome, page.ms, feed);
    }
    for (const item of items) {
      const matched_by = item.exact ? "identifier" : "words";
      const copy = await assessEmbedded(lookup, "publisher_feed", page, page.final_url, item, matched_by);
      if (copy) return copy;
    }
  }
  return null;
}

export async function searchGuardian(lookup: Lookup): Promise<AlternateMatch | null> {
  const { wanted, deps } = lookup;
  const { guardian } = deps;
  const id = guardian && guardianId(wanted.url);
  if (!guardian || !id) return null;
  const shown_url = guardianAddress(guardian.url, id);
  const request_url = guardianRequestUrl(guardian.url, id, guardian.key);
  const page = await get(lookup, "guardian_api", request_url, { bytes: MAX_ANSWER_BYTES, shown_url });
  if (page === null) return null;
  const item = readGuardian(page.body.toString(), id);
  if (item) return assessEmbedded(lookup, "guardian_api", page, shown_url, item, "identifier");
  note(lookup, "guardian_api", page.status, "rejected_unreadable", page.ms, shown_url);
  return null;
}

export async function searchOpenAccess(lookup: Lookup): Promise<AlternateMatch | null> {
  const { wanted, deps, request } = lookup;
  const { unpaywall, joined } = deps;
  const { doi } = wanted;
  if (!unpaywall || doi === null) return null;
  const shown_url = `https://doi.org/${doi}`;
  const request_url = unpaywallRequestUrl(unpaywall.url, doi, unpaywall.email);
  const page = await get(lookup, "open_access", request_url, { bytes: MAX_ANSWER_BYTES, shown_url });
  if (page === null) return null;
  const open = readUnpaywall(page.body.toString(), doi, request.accept_pdf);
  if (open === null || open.places.length === 0) {
    note(lookup, "open_access", page.status, open ? "not_found" : "rejected_unreadable", page.ms, shown_url);
    return null;
  }
  for (const place of open.places) {
    const copy = await fetchCandidate(lookup, "open_access", place, (read) => {
      if (!isThePaper(wanted, open.title, read)) return { kind: "rejected", reason: "title" };
      return judgeCopy(wanted, read, "identifier", false, joined);
    });
    if (copy) return copy;
  }
  return null;
}

export async function searchSyndication(lookup: Lookup): Promise<AlternateMatch | null> {
  const { wanted, deps, request, signal } = lookup;
  const { search, joined, clock } = deps;
  const query = queryOf(wanted);
  if (!search || query === null) return null;
  const began_ms = clock.mono();
  const caller = { id: request.fetch_id, project: request.project, language: wanted.language };
  const results = await search(lookup.ask, query, caller, signal);
  lookup.cost_micros += results.cost_micros;
  const candidates = candidatesOf(results.urls, wanted, joined);
  const ms = clock.mono() - began_ms;
  lookup.note(null, `syndication_candidates_${candidates.length}`, ms, null);
  for (const candidate of candidates) {
    const copy = await fetchCandidate(lookup, "syndication", candidate, (read) =>
      judgeCopy(wanted, read, "words", true, joined),
    );
    if (copy) return copy;
    if (signal.aborted) break;
  }
  return null;
}

export async function searchCommonCrawl(lookup: Lookup): Promise<AlternateMatch | null> {
  const { wanted, deps, request } = lookup;
  const { common_crawl, clock, joined } = deps;
  // Never for a page that is sold: a site may show its pages to a crawler and sell them to readers.
  if (!common_crawl || request.lane !== "batch" || wanted.cause === "paywall") return null;
  const { index_url, data_url } = common_crawl;
  const source = "common_crawl";
  const list = await get(lookup, source, crawlsUrl(index_url), { bytes: MAX_ANSWER_BYTES, remember: true });
  const crawls = list && readCrawls(list.body.toString());
  if (list && !crawls)
    note(lookup, source, list.status, "rejected_unreadable", list.ms, crawlsUrl(index_url));
  const address = addressOf(wanted.url)!;
  let capture: Capture | null = null;
  for (const crawl of crawls ?? []) {
    const url = capturesUrl(index_url, crawl, wanted.url);
    const listing = await get(lookup, source, url, { bytes: MAX_ANSWER_BYTES });
    capture = listing && newestCapture(listing.body.toString(), address);
    if (capture) break;
    if (listing) note(lookup, source, listing.status, "not_found", listing.ms, url);
  }
  if (!capture) return null;
  const url = recordUrl(data_url, capture);
  const archived_at = capturedAt(capture, clock.now());
  if (archived_at === null || capture.length > request.max_bytes) {
    note(lookup, source, null, archived_at === null ? "rejected_too_old" : "rejected_too_large", 0, url);
    return null;
  }
  const packed = await get(lookup, source, url, { bytes: capture.length, range: rangeOf(capture) });
  if (packed === null) return null;
  const record = readRecord(packed.body, request.max_bytes);
  if (record === null || record.status !== 200 || addressOf(record.url) !== address) {
    note(lookup, source, packed.status, record ? "rejected_mismatch" : "rejected_unreadable", packed.ms, url);
    return null;
  }
  const content_type = record.headers.get("content-type") ?? null;
  const kind = contentKindOf(content_type, record.body, record.url);
  const { headers, body } = record;
  const page: TransportPage = {
    ...packed,
    final_url: url,
    redirects: [],
    status: 200,
    headers,
    body,
    archived_at,
  };
  if (kind === "pdf" && !request.accept_pdf) {
    note(lookup, source, 200, "rejected_pdf_not_accepted", packed.ms, url);
    return null;
  }
  return assess(lookup, source, page, { content_type, kind, bytes: body }, (copy) =>
    judgeCopy(wanted, copy, "identifier", false, joined),
  );
}

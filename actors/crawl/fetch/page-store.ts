/**
 * Turns a page into a record and stores it: its bodies first, then the references that keep them, then the page in the
 * cache, if the origin allows caching and no better page is cached. The page's own body is kept by the tag of its document, which
 * also has the right of its project to that body. Before another page takes its place, the right becomes a document of its own.
 */
import { bodyRefs, bodyTag } from "../../../cluster/body-refs.ts";
import { wasReadFromStore } from "../../../cluster/role-wire.ts";
import { sha256Of } from "../../../cluster/ports/blobs.ts";
import type { Documents, PutOptions, Versioned } from "../../../cluster/ports/documents.ts";
import { grantExpiry, storeGrant } from "../../../records/body-grants.ts";
import {
  EMPTY_RECORD,
  type FetchAnswer,
  type PageFormats,
  type PageRecord,
  type StoredScreenshot,
  TEXT_INLINE_BYTES,
  partDigests,
} from "../../../schemas/fetch.ts";
import type { BodyRight } from "../../../schemas/accounts.ts";
import type { StoredActions } from "../../../schemas/actions.ts";
import { bodyTypeOf, exposedHeaders, freshnessOf } from "../../lib/web/http.ts";
import type { TakenActions, TakenScreenshot, TransportPage } from "../../lib/web/transport.ts";
import {
  asCachedPage,
  type CachedPage,
  expiryOf,
  type PrivateMark,
  fromCache,
  isPrivateMark,
  mayReplace,
  PRIVATE_MARK,
  privateKey,
  ttlOf,
} from "./freshness.ts";
import { keepLinks, type RecentLinks } from "./page-links.ts";
import type { Candidate, PipelineDeps, RunState } from "./run.ts";
import { TIERS } from "../../../schemas/tier-table.ts";
import { PAGES } from "./collections.ts";

/** A page's record, and the contents it names by digest, which may not be stored yet. */
export interface PageDraft {
  readonly record: PageRecord;
  readonly contents: readonly Buffer[];
}

export const EMPTY_DRAFT: PageDraft = { record: EMPTY_RECORD, contents: [] };

export interface CacheOptions {
  /** The stored page that a 304 confirms; null for a retrieved page. */
  readonly renewed?: CachedPage | null;
  /** The longest time the page counts as fresh. Default: the origin's header fields decide. */
  readonly max_fresh_ms?: number;
  /** The page belongs to one project (`sharingOf`). Default: the origin's Cache-Control decides. */
  readonly only_project?: boolean;
}

export interface PageStore {
  /** Stores one content; the same buffer is stored once. */
  readonly putBody: (content: Buffer) => Promise<unknown>;
  readonly putBodies: (contents: readonly Buffer[]) => Promise<unknown>;
  readonly draftOf: (run: RunState, candidate: Candidate) => PageDraft;
  /** Stores the bodies of the record, then the page in the cache. Null: it was not cached. */
  readonly cache: (
    run: RunState,
    draft: PageDraft,
    headers: ReadonlyMap<string, string>,
    options?: CacheOptions,
  ) => Promise<PageStored | null>;
  /** The stored page after a 304. */
  readonly revalidate: (run: RunState, stale: CachedPage, response: TransportPage) => Promise<FetchAnswer>;
}

/** `granted`: the right that is stored with the page. */
export type PageStored = Pick<FetchAnswer, "granted">;

/** Cached documents of an address. */
export interface StoredPages {
  /** Under the digest of the cache key: the page for all projects, or the mark of private copies. */
  readonly shared: Versioned<CachedPage | PrivateMark> | null;
  /** The document for this project, and its key: the shared one, or a private copy. */
  readonly own: Versioned<CachedPage | PrivateMark> | null;
  readonly key: string;
  /** The page in it. */
  readonly page: CachedPage | null;
}

export async function loadPages(
  documents: Pick<Documents, "get">,
  digest: string,
  project: string,
): Promise<StoredPages> {
  const shared = await PAGES.read(documents, digest);
  const key = isPrivateMark(shared?.value) ? privateKey(digest, project) : digest;
  const own = key === digest ? shared : await PAGES.read(documents, key);
  return { shared, own, key, page: asCachedPage(own?.value) };
}

/** Options of a stored page: when nothing in it holds any more, and the tag that keeps its body. */
export const pageOptions = ({ right, record: { sha256 }, ...page }: CachedPage): PutOptions => ({
  expires_at_ms: Math.max(expiryOf(page), right ? grantExpiry(right.retrieved_at_ms) : 0),
  ...(sha256 !== null && { tag: bodyTag(sha256, right?.project) }),
});

const STORED = Promise.resolve();

export function pageStore({
  clock,
  documents,
  blobs,
  recent_links,
  keepsRights = () => false,
}: Pick<PipelineDeps, "clock" | "documents" | "blobs" | "recent_links" | "keepsRights">): PageStore {
  const refs = bodyRefs(documents);
  const writes = new WeakMap<Buffer, Promise<unknown>>();

  const putBody = (content: Buffer): Promise<unknown> => {
    // The node of the tier has stored it already.
    const write = writes.get(content) ?? (wasReadFromStore(content) ? STORED : blobs.put(content));
    writes.set(content, write);
    return write;
  };

  const putBodies = (contents: readonly Buffer[]): Promise<unknown> => Promise.all(contents.map(putBody));

  async function cache(
    run: RunState,
    { record, contents }: PageDraft,
    headers: ReadonlyMap<string, string>,
    { renewed = null, max_fresh_ms = Infinity, only_project = false }: CacheOptions = {},
  ): Promise<PageStored | null> {
    const { request, digest } = run;
    const now_ms = clock.now();
    const origin = freshnessOf(headers, now_ms);
    const is_private = origin.is_private || only_project || renewed?.is_private === true;
    const origin_ttl_ms = ttlOf(origin);
    const key = is_private ? privateKey(digest, request.project) : digest;
    const mayCache = (existing: unknown): boolean =>
      renewed !== null || mayReplace(asCachedPage(existing), record, request, now_ms);
    const known = is_private ? await PAGES.read(documents, key) : await run.stored;
    if (origin_ttl_ms === null || !mayCache(known?.value ?? null)) {
      await putBodies(contents);
      return null;
    }
    const ttl_ms = Math.min(origin_ttl_ms, max_fresh_ms);
    const tried = renewed?.tried ?? triedRoutes(run);
    const right = keepsRights() ? rightTo(record, request.project, now_ms) : null;
    const page: CachedPage = {
      url: request.url,
      record,
      tried,
      validated_ms: now_ms,
      ttl_ms,
      is_private,
      ...(right && { right }),
    };
    const expires_at_ms = expiryOf(page);
    await Promise.all([
      putBodies(contents),
      refs.retain(partDigests(record), `page ${key}`, expires_at_ms),
      is_private && markPrivate(run, now_ms, expires_at_ms),
    ]);
    let isCached = false;
    await PAGES.update(
      documents,
      key,
      async (existing) => {
        isCached = mayCache(existing);
        if (!isCached) return null;
        const replaced = asCachedPage(existing);
        const value = page.right ? page : withRightOf(page, replaced);
        await keepReplaced(key, replaced, value);
        // The answer leaves after a durable write: that of its row or its result, or `synced`.
        return { value, options: { ...pageOptions(value), ordered: true } };
      },
      known,
    );
    if (!isCached) return null;
    return right ? { granted: { project: right.project, sha256: record.sha256!, at_ms: now_ms } } : {};
  }

  /**
   * Keeps what a page has that is replaced: the right to its body until that ends, and the body as long as the page would be, because its
   * record may still be on its way to a caller.
   */
  async function keepReplaced(
    key: string,
    replaced: CachedPage | null,
    next: Pick<CachedPage, "record" | "right"> | null,
  ): Promise<void> {
    const sha256 = replaced?.record.sha256 ?? null;
    if (replaced === null || sha256 === null) return;
    const { right } = replaced;
    const isSameBody = next?.record.sha256 === sha256;
    const until_ms = right ? grantExpiry(right.retrieved_at_ms) : 0;
    const isRightKept = isSameBody && next.right?.project === right?.project;
    if (right && !isRightKept && until_ms > clock.now()) {
      const { project, ...grant } = right;
      await storeGrant(documents, project, { sha256, ...grant });
    }
    if (!isSameBody && until_ms < expiryOf(replaced))
      await refs.retain([sha256], `page ${key}`, expiryOf(replaced));
  }

  /** A fresh page for all projects stays; the next request after it may be the first whose answer is private. */
  async function markPrivate(run: RunState, now_ms: number, expires_at_ms: number): Promise<void> {
    const shared = await run.stored;
    const page = asCachedPage(shared?.value);
    if (page && now_ms - page.validated_ms <= page.ttl_ms) return;
    await keepReplaced(run.digest, page, null);
    await PAGES.put(documents, run.digest, PRIVATE_MARK, shared?.version ?? 0, { expires_at_ms });
  }

  return {
    putBody,
    putBodies,
    cache,
    draftOf: (run, candidate) => draftOf(run, candidate, clock.now(), recent_links),

    async revalidate(run, stale, { headers }) {
      // RFC 9111, section 4.3.4: the header fields of a 304 replace the stored ones.
      const renewed_headers = exposedHeaders(headers);
      const { record: stored } = stale;
      const record: PageRecord = {
        ...stored,
        headers: { ...stored.headers, ...renewed_headers, ...contentHeaders(stored.headers) },
        etag: headers.get("etag") ?? stored.etag,
        last_modified: headers.get("last-modified") ?? stored.last_modified,
      };
      const merged = new Map<string, string>(Object.entries({ ...stored.headers, ...renewed_headers }));
      const cached = await cache(run, { record, contents: [] }, merged, { renewed: stale });
      return {
        ...fromCache({ ...stale, record }, run.request),
        ...cached,
        attempts: [...run.attempts],
        revalidated: true,
      };
    },
  };
}

/** The type under which a body is downloaded. */
export const downloadTypeOf = ({ body_kind, origin_content_type, content_type }: PageRecord): string | null =>
  body_kind === "rendered_dom" ? RENDERED_TYPE : (origin_content_type ?? content_type);

/** The right of a project to the body of its page; null: the page has none. */
function rightTo(record: PageRecord, project: string, now_ms: number): BodyRight | null {
  const { sha256, body_kind } = record;
  if (sha256 === null || body_kind === null) return null;
  const retrieved_at_ms = Math.floor(now_ms);
  return { project, content_type: downloadTypeOf(record), body_kind, retrieved_at_ms };
}

/** A page of the same body keeps the right that is there. */
const withRightOf = (page: CachedPage, replaced: CachedPage | null): CachedPage =>
  replaced?.right && replaced.record.sha256 === page.record.sha256
    ? { ...page, right: replaced.right }
    : page;

const RENDERED_TYPE = "text/html; charset=utf-8";

/** The type of the stored bytes: a serialised document is UTF-8, whatever type the origin sent. */
export const contentTypeOf = (page: TransportPage): string | null =>
  page.body_kind === "rendered_dom" ? RENDERED_TYPE : (page.headers.get("content-type") ?? null);

/** Headers that describe the stored bytes, so a 304 does not change them. */
const contentHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("content-")));

/** Routes tried before this page was accepted; `source` when open copies were searched for. */
const triedRoutes = ({ tried, isSearched }: RunState): CachedPage["tried"] => [
  ...TIERS.filter((tier) => tried.some((candidate) => candidate.tier === tier)),
  ...(isSearched ? (["source"] as const) : []),
];

/** Why an archived copy is there instead of the page; null when the page is only blocked. */
function archiveReason(tried: readonly Candidate[]): PageRecord["served_from_archive_because"] {
  if (tried.some(({ outcome }) => outcome.kind === "no_host")) return "domain_dead";
  return tried.some(({ outcome }) => outcome.kind === "definitive") ? "not_found" : null;
}

/** Formats as they are stored. */
export const formatsBody = (formats: PageFormats): Buffer => Buffer.from(JSON.stringify(formats));

/** A text as a record has it: itself, or the digest of a long one. */
export function textParts(
  text: string,
  add: (content: Buffer) => string,
): Pick<PageRecord, "text" | "text_sha256" | "text_chars"> {
  const isLong = Buffer.byteLength(text) > TEXT_INLINE_BYTES;
  return {
    text: isLong ? null : text,
    text_sha256: isLong ? add(Buffer.from(text)) : null,
    text_chars: text.length,
  };
}

const storedScreenshot = (
  { bytes, ...described }: TakenScreenshot,
  add: (content: Buffer) => string,
): StoredScreenshot => ({ ...described, sha256: add(bytes) });

const storedActions = (
  { outcomes, files }: TakenActions,
  add: (content: Buffer) => string,
): StoredActions => ({
  outcomes_sha256: add(Buffer.from(JSON.stringify(outcomes))),
  files: files.map(({ bytes, content_type }) => ({ sha256: add(bytes), content_type })),
});

function draftOf(
  { tried, request: { with_formats, with_followed } }: RunState,
  { tier, page, kind, extracted }: Candidate,
  now_ms: number,
  recent_links?: RecentLinks,
): PageDraft {
  if (page === null) return EMPTY_DRAFT;
  const contents: Buffer[] = [];
  const add = (content: Buffer): string => {
    contents.push(content);
    return sha256Of(content);
  };
  const formats = with_formats && extracted?.formats ? formatsBody(extracted.formats) : null;
  const record: PageRecord = {
    ...EMPTY_RECORD,
    final_url: page.final_url,
    redirects: [...page.redirects],
    status: page.status,
    content_type:
      kind === null ? contentTypeOf(page) : bodyTypeOf(contentTypeOf(page), kind, extracted?.charset ?? null),
    origin_content_type: page.headers.get("content-type") ?? null,
    headers: exposedHeaders(page.headers),
    tier,
    content_kind: kind,
    charset: extracted?.charset ?? null,
    title: extracted?.title ?? null,
    meta: extracted?.meta ?? null,
    ...textParts(extracted?.text ?? "", add),
    text_truncated: extracted?.text_truncated ?? false,
    pdf_pages_sha256: extracted?.pdf_pages ? add(Buffer.from(JSON.stringify(extracted.pdf_pages))) : null,
    pdf_page_count: extracted?.pdf_page_count ?? null,
    ...(page.screenshot && { screenshot: storedScreenshot(page.screenshot, add) }),
    ...(page.actions && { actions: storedActions(page.actions, add) }),
    ...(with_formats && { formats_sha256: formats && add(formats) }),
    sha256: add(page.body),
    bytes: page.body.length,
    body_kind: page.body_kind,
    etag: page.headers.get("etag") ?? null,
    last_modified: page.headers.get("last-modified") ?? null,
    retrieved_at: new Date(now_ms).toISOString(),
    archived_at: page.archived_at ?? null,
    served_from_archive_because: tier === "archive" ? archiveReason(tried) : null,
    paywall: extracted?.paywall ?? null,
    paywall_evidence: [...(extracted?.paywall_evidence ?? [])],
    page_verdict: page.status < 300 ? (extracted?.page_verdict ?? null) : null,
    text_complete: extracted?.paywall ? extracted.paywall !== "hard" : null,
  };
  if (with_followed) keepLinks(recent_links, record, extracted);
  return { record, contents };
}

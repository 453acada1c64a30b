/**
 * The rules of the page cache: when a stored page may answer a request, when the origin is asked whether it changed, and
 * how long it is stored. Pure functions.
 */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Static, Type } from "typebox";
import { compiled } from "../../../cluster/contracts/compiled.ts";
import {
  EMPTY_ANSWER,
  EMPTY_RECORD,
  type FetchAnswer,
  type FetchRequest,
  PAGE_OPTIONS,
  type PageOption,
  PageRecord,
} from "../../../schemas/fetch.ts";
import { BodyRight } from "../../../schemas/accounts.ts";
import { freshnessOf } from "../../lib/web/http.ts";
import { comparableChars } from "../../reading/content/comparable-chars.ts";
import { isThin, needsBrowser, routesOf } from "./ladder.ts";
import { type Tier, TIERS } from "../../../schemas/tier-table.ts";

/** A cached page, in the collection "pages" under the digest of its cache key. */
export const CachedPage = Type.Object({
  url: Type.String(),
  record: PageRecord,
  /**
   * Routes that were tried before this page was accepted, `source` among them when open copies were searched for: a
   * thin page or a teaser answers no request that would try more.
   */
  tried: Type.Array(Type.Enum([...TIERS, "source"])),
  /** When the origin last sent or confirmed it, Unix milliseconds. */
  validated_ms: Type.Number(),
  /** How long it counts as fresh if the request sets no cache_ttl_s. */
  ttl_ms: Type.Number(),
  /** The origin marks it private: it is cached for one project, under a key of its own. */
  is_private: Type.Boolean(),
  /** The right of the project that fetched it to its body: the document lasts as long, which is longer than the page does. */
  right: Type.Optional(BodyRight),
});
export type CachedPage = Static<typeof CachedPage>;
const cachedPage = compiled(CachedPage);

export type Freshness =
  /** `fresh_until_ms`: to its end this page answers this very request, Unix milliseconds. */
  | { readonly kind: "hit"; readonly answer: FetchAnswer; readonly fresh_until_ms: number }
  /** Too old, but the origin can be asked whether it changed (a conditional request). */
  | { readonly kind: "stale"; readonly page: CachedPage }
  | { readonly kind: "miss" };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The cache's own time to live. */
export const TTL_MS = 24 * HOUR_MS;
/** The least time to live: an origin's max-age shortens it no further. */
const MIN_TTL_MS = 5 * MINUTE_MS;
/** A page whose text is shorter than the caller asks for may be whole a moment later: it answers no longer than this. */
const THIN_TTL_MS = 5 * MINUTE_MS;
/** How long a page is stored after it stopped being fresh, for conditional requests. */
export const STALE_TTL_MS = 7 * 24 * HOUR_MS;

/** When a page is not in the cache any more. Its document may last longer. */
export const expiryOf = ({ validated_ms, ttl_ms }: Pick<CachedPage, "validated_ms" | "ttl_ms">): number =>
  validated_ms + ttl_ms + STALE_TTL_MS;

/** Every cache key has the values of so many options; of the others only those that are not the default. */
const OPTIONS_ALWAYS = 4;

/**
 * The cache key: the normalised URL and the options that change the page (`OPTION_REACH`). Tiers, sizes and times are not part of
 * it; whether a stored page fits a request is decided by `freshness`. A value that is the option's default counts as absent, so a
 * new option leaves the keys of stored pages as they are.
 */
export function cacheKey(
  normalised_url: string,
  request: FetchRequest,
  options: readonly PageOption[] = PAGE_OPTIONS,
): string {
  const given = request as Readonly<Record<string, unknown>>;
  const values = options.map(({ name, default: absent }, at) => {
    const value = name === "country" ? request.country?.toUpperCase() : given[name];
    return at >= OPTIONS_ALWAYS && isDeepStrictEqual(value, absent) ? null : keyed(value);
  });
  while (values.length > OPTIONS_ALWAYS && values.at(-1) === null) values.pop();
  return hash("sha256", JSON.stringify([normalised_url, ...values]));
}

const keyed = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? Object.values(value) : (value ?? null);

/** The key of the same page for one project, for pages that are private to it. */
export const privateKey = (digest: string, project: string): string =>
  `${digest}.${hash("sha256", project).slice(0, 32)}`;

/** Stored under a page's cache key when projects have private copies of it. It says nothing of the copies. */
export const PRIVATE_MARK = { private_copies: true } as const;
export type PrivateMark = typeof PRIVATE_MARK;
export const isPrivateMark = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.hasOwn(value, "private_copies");

/** Requests with the same variant share one run: they differ only in their caller, its deadline and its limits. */
export function variantOf(request: FetchRequest): string {
  const { fetch_id: _, deadline_ms: _d, hard_deadline: _h, project: _p, ...others } = request;
  const { key: _k, lane: _l, max_bytes: _m, max_pdf_bytes: _mp, accept_pdf: _a, ...unlimited } = others;
  const { with_formats: _f, with_followed: _wf, reading: _r, is_traced: _t, ...shared } = unlimited;
  const fields = shared as Readonly<Record<string, unknown>>;
  return JSON.stringify(
    Object.keys(fields)
      .toSorted()
      .map((name) => [name, fields[name]]),
  );
}

/** Null for a stored value of another form, as an earlier version wrote it. */
export function asCachedPage(value: unknown): CachedPage | null {
  return cachedPage.check(value) ? value : null;
}

export function freshness(stored: CachedPage | null, request: FetchRequest, now_ms: number): Freshness {
  if (stored === null || request.cache_ttl_s === 0 || !couldAnswer(stored, request)) return { kind: "miss" };
  if (now_ms >= expiryOf(stored)) return { kind: "miss" };
  const wanted_ms = request.cache_ttl_s === null ? stored.ttl_ms : request.cache_ttl_s * 1_000;
  const most_ms = Math.min(wanted_ms, isThinRecord(stored.record, request) ? THIN_TTL_MS : Infinity);
  const fresh_until_ms = stored.validated_ms + most_ms;
  if (now_ms <= fresh_until_ms) return { kind: "hit", answer: fromCache(stored, request), fresh_until_ms };
  const { etag, last_modified, tier } = stored.record;
  const isRevalidatable = tier === "direct" && (etag !== null || last_modified !== null);
  return isRevalidatable ? { kind: "stale", page: stored } : { kind: "miss" };
}

/** The request wants formats that were not derived from this page yet. A reading of its own has formats of its own. */
export const lacksFormats = (record: PageRecord, request: FetchRequest): boolean =>
  request.with_formats === true &&
  record.sha256 !== null &&
  record.formats_sha256 === undefined &&
  !wantsReading(record, request);

/** The request wants the page read otherwise than it is stored. Only elements of pages can be told apart. */
export const wantsReading = (record: PageRecord, { reading }: FetchRequest): boolean =>
  reading !== undefined && record.content_kind === "html" && record.sha256 !== null;

/** The request wants values of a language model, which may have a price. */
export const asksModel = ({ reading }: FetchRequest): boolean => reading?.data?.extract?.schema != null;

/** Whether the request's own routes could have led to this page. */
function couldAnswer({ record, tried }: CachedPage, request: FetchRequest): boolean {
  const routes = routesOf(request);
  const takes_any_route = request.tiers === null && !needsBrowser(request);
  const allows_copies = request.allow_alternates && takes_any_route;
  // A page that is part of the program is no copy of another one.
  if (record.tier === null && record.alternate_of === null) return takes_any_route;
  if (record.tier === null || record.tier === "source")
    return allows_copies && (record.alternate_source !== "common_crawl" || request.lane === "batch");
  if (allows_copies && record.paywall === "hard" && !tried.includes("source")) return false;
  if (!routes.includes(record.tier)) return false;
  if (!isThinRecord(record, request)) return true;
  return record.tier !== "direct" || !routes.includes("browser") || tried.includes("browser");
}

/** The text of a thin page is short, so its record contains it. */
function isThinRecord({ text, text_chars, content_kind }: PageRecord, request: FetchRequest): boolean {
  const page = { kind: "page", text_chars, html: content_kind === "html" } as const;
  // Only what looks thin by its length is read: a text never counts for less.
  if (text === null || !isThin(page, request)) return isThin(page, request);
  return isThin({ ...page, text_chars: text_chars + comparableChars(text) - text.length }, request);
}

/** A stored page as an answer, without attempts and without cost. */
export function fromCache(
  { record, is_private }: Pick<CachedPage, "record" | "is_private">,
  request: FetchRequest,
): FetchAnswer {
  const answer: FetchAnswer = {
    ...EMPTY_ANSWER,
    record,
    cached: true,
    ...(is_private && { only_project: true }),
  };
  return fitted(answer, request);
}

/** The answer of a shared run, or of the cache, for a request that may accept less than the run did. */
export function fitted(answer: FetchAnswer, request: FetchRequest): FetchAnswer {
  const { record } = answer;
  const isPdf = record.content_kind === "pdf";
  const refused =
    isPdf && !request.accept_pdf
      ? "pdf_not_accepted"
      : record.bytes > (isPdf ? request.max_pdf_bytes : request.max_bytes)
        ? "too_large"
        : null;
  if (refused === null) return answer;
  const error_detail = `The page does not fit this request: ${refused}`;
  return { ...answer, record: withoutContent(record), error: refused, error_detail };
}

/** The record of a page that the request does not accept: its address and status without its content. */
function withoutContent(record: PageRecord): PageRecord {
  return {
    ...EMPTY_RECORD,
    final_url: record.final_url,
    redirects: record.redirects,
    status: record.status,
    origin_content_type: record.origin_content_type,
    headers: record.headers,
    tier: record.tier,
    content_kind: record.content_kind,
  };
}

/** Tokens against forged forms: what a form or a script of this visitor sends back with the cookie. */
const FORM_TOKEN =
  /<(?:input|meta)\b[^>]{0,499}\bname=["']?(?:csrf|xsrf|_csrf|_token|authenticity_token|__requestverificationtoken)/i;
/** Shorter cookie values ("1", "en") are in many bodies by chance. */
const MIN_COOKIE_CHARS = 12;
/** Bytes of a body in which traces of its visitor are searched. */
const VISITOR_BYTES = 2 * 2 ** 20;

export interface Sharing {
  /** No answer may be given from this page, to any caller. */
  readonly no_store: boolean;
  /** Only the project that fetched it may be answered with it. */
  readonly is_private: boolean;
}

/**
 * Which callers may be answered with a page, by the origin's header fields and body (RFC 9111): `Vary: *` matches no other request (4.1), so
 * it is not stored. A page is private when its cookies made it: it varies by `Cookie` and was sent with cookies or sets
 * them, or it sets a cookie and its body has the cookie's value or a token against forged forms.
 */
export function sharingOf(
  headers: ReadonlyMap<string, string>,
  { body, redirected }: { readonly body: Buffer; readonly redirected: boolean },
  now_ms: number,
): Sharing {
  const { no_store, is_private } = freshnessOf(headers, now_ms);
  const vary = (headers.get("vary") ?? "").split(",").map((name) => name.trim().toLowerCase());
  const set_cookie = headers.get("set-cookie");
  // A redirect may have set the cookie that the page was asked for with.
  const hasCookies = set_cookie !== undefined || redirected;
  return {
    no_store: no_store || vary.includes("*"),
    is_private:
      is_private || (hasCookies && (vary.includes("cookie") || showsVisitor(body, set_cookie ?? ""))),
  };
}

function showsVisitor(body: Buffer, set_cookie: string): boolean {
  const text = body.toString("latin1", 0, VISITOR_BYTES);
  if (FORM_TOKEN.test(text)) return true;
  // Repeated fields are joined by commas, which dates have, too: every pair is looked at.
  const values = set_cookie.split(/[;,\n]/).map((pair) => pair.slice(pair.indexOf("=") + 1).trim());
  return values.some((value) => value.length >= MIN_COOKIE_CHARS && !isDate(value) && text.includes(value));
}

const isDate = (value: string): boolean => !Number.isNaN(Date.parse(value));

/** How long a page just retrieved counts as fresh; null when the origin forbids storing it. */
export function ttlOf(cache: {
  readonly no_store: boolean;
  readonly max_age_s: number | null;
}): number | null {
  if (cache.no_store) return null;
  if (cache.max_age_s === null) return TTL_MS;
  return Math.min(TTL_MS, Math.max(MIN_TTL_MS, cache.max_age_s * 1_000));
}

/** Whether a page just retrieved may replace the stored one: a fresh good page is not replaced by a thinner one or a copy. */
export function mayReplace(
  existing: CachedPage | null,
  candidate: PageRecord,
  request: FetchRequest,
  now_ms: number,
): boolean {
  if (existing === null || now_ms - existing.validated_ms > existing.ttl_ms) return true;
  const rank = (tier: PageRecord["tier"]) =>
    tier === null || tier === "source" ? 9 : TIERS.indexOf(tier as Tier);
  const isCopy = (record: PageRecord) => rank(record.tier) >= 9 || record.tier === "archive";
  // Any page replaces a teaser, also an open copy.
  if (candidate.paywall === "hard" || existing.record.paywall === "hard")
    return existing.record.paywall === "hard";
  if (isCopy(candidate) && !isCopy(existing.record)) return false;
  const thin = (record: PageRecord) => isThinRecord(record, request);
  return !thin(candidate) || thin(existing.record);
}

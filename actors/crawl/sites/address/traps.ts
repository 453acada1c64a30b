/**
 * Shapes of addresses that have no end: what a crawl leaves out, and under which name. The rules see addresses only, so they cut
 * before anything is fetched; what they have counted is a `TrapBook`, which follows from the addresses that were let through. Addresses that a sitemap
 * lists are exempt, as the site's own word for what its pages are.
 */
import { createHash } from "node:crypto";
import { addressKey, nameOf } from "./key.ts";

export const TRAPS = ["path", "calendar", "facet", "sort", "session"] as const;
export type Trap = (typeof TRAPS)[number];

/** As Heritrix: more path segments than any site needs. */
const MAX_SEGMENTS = 20;
/** A segment, or a pair of them, so often in a row (Heritrix: PathologicalPath). */
const MAX_IN_ROW = 2;
/** Equal segments anywhere in a path of at least MIN_REPEATING segments (Nutch, StormCrawler). */
const MAX_EQUAL = 2;
const MIN_REPEATING = 5;
/** A site announces what happens in the next two years. */
const MAX_YEARS_AHEAD = 2;
/** Pages with nothing but a date in their address, of one site: twenty years of months. */
const MAX_CALENDAR_PAGES = 240;
/** Paths with a repeated segment, of the same segments in any order: relative links of a template that answers everywhere. */
const MAX_ORDERS = 6;
/** Parameters of one address that make it a combination of filters. */
const MIN_FACETS = 2;
/**
 * Combinations of values that the path had before, each in another address: at least so many, and so many for each value. Filters have few values
 * and many combinations; where a parameter names the page, the next page brings a new value.
 */
const MIN_COMBINATIONS = 20;
const COMBINATIONS_A_VALUE = 2;
/** Values of one session parameter of a path; the next ones are the same pages again. */
const MAX_SESSIONS = 5;
/** Paths, and values of their parameters, that are counted; addresses with further ones are not judged by what was counted. */
const MAX_COUNTED = 20_000;

const SORTING =
  /^(?:sort(?:_?(?:by|order|dir))?|order(?:_?by|_?dir)?|dir(?:ection)?|view(?:_?mode)?|display|layout|per_?page|page_?size|limit|print(?:able)?|replytocom|share)$/i;
const SESSION =
  /^(?:s|sid|sess|session|session_?id|phpsessid|jsessionid|bv_?sid|lsid|osCsid|zenid|visit(?:or)?_?id)$/i;
/** A further page of a list: no filter. */
const PAGING = /^(?:page|paged|pg|p|offset|start|skip|cursor)$/i;
const RANDOM = /^(?=.*\d)[0-9a-z-]{8,64}$/i;
const YEAR = /^(?:19|20)\d\d$/;
const DATE = /^((?:19|20)\d\d)-?(?:0[1-9]|1[0-2])(?:-?(?:0[1-9]|[12]\d|3[01]))?$/;
const MONTH_OR_DAY = /^(?:0?[1-9]|[12]\d|3[01])$/;
const CALENDAR_WORD =
  /^(?:calendar|calendrier|kalender|cal|agenda|events?|viewcal|month|monat|week|day|date|jour)$/i;
const DATE_PARAMETER =
  /^(?:date|day|month|year|yr|mo|week|from|to|start|end|tribe-bar-date|ical|cal(?:endar)?)$/i;

/** Counts of a crawl, by short digests of paths. */
export interface TrapBook {
  readonly orders: Map<string, number>;
  readonly facets: Map<string, number>;
  /** Values of parameters, each with its path; and how many a path has. */
  readonly values: Set<string>;
  readonly values_of: Map<string, number>;
  readonly sessions: Map<string, number>;
  calendar_pages: number;
}

export const newTrapBook = (): TrapBook => ({
  orders: new Map(),
  facets: new Map(),
  values: new Set(),
  values_of: new Map(),
  sessions: new Map(),
  calendar_pages: 0,
});

interface TrapContext {
  readonly now_ms: number;
  /** Whether the crawl has this key already. */
  readonly isKnown: (key: string) => boolean;
}

/** Why an address is left out; null: it is not. An address that is let through is counted in the book. */
export function trapOf(url: URL, book: TrapBook, { now_ms, isKnown }: TrapContext): Trap | null {
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  if (isEndlessPath(segments)) return "path";
  const distinct = [...new Set(segments)].toSorted();
  if (
    distinct.length < segments.length &&
    !counts(book.orders, digestOf([url.origin, ...distinct].join("/")), MAX_ORDERS)
  )
    return "path";
  const parameters = url.search
    .slice(1)
    .split("&")
    .filter((piece) => piece !== "");
  const isKnownWithout = (isLeftOut: (piece: string) => boolean): boolean =>
    parameters.some(isLeftOut) &&
    isKnown(addressKey(withOnly(url, parameters, (piece) => !isLeftOut(piece))));
  if (isKnownWithout((piece) => SORTING.test(nameOf(piece)))) return "sort";
  if (isKnownWithout(isSession)) return "session";
  const year = calendarYear(segments, parameters);
  if (year !== null) {
    if (year > new Date(now_ms).getUTCFullYear() + MAX_YEARS_AHEAD) return "calendar";
    if (book.calendar_pages >= MAX_CALENDAR_PAGES) return "calendar";
    book.calendar_pages++;
  }
  const path = digestOf(url.origin + url.pathname);
  if (parameters.some(isSession) && !counts(book.sessions, path, MAX_SESSIONS)) return "session";
  const isNextPage = isKnownWithout((piece) => PAGING.test(nameOf(piece)));
  return !isNextPage && isCombination(path, parameters, book) ? "facet" : null;
}

/** Whether it is one combination too many of values that its path had before. Its values are counted in the book. */
function isCombination(path: string, parameters: readonly string[], book: TrapBook): boolean {
  const digests = parameters.map((piece) => digestOf(`${path} ${piece}`));
  const news = digests.filter((each) => !book.values.has(each));
  const known = book.values_of.get(path) ?? 0;
  const most = Math.max(MIN_COMBINATIONS, COMBINATIONS_A_VALUE * known);
  const isOne = new Set(parameters.map(nameOf)).size >= MIN_FACETS;
  if (isOne && news.length === 0 && !counts(book.facets, path, most)) return true;
  if (news.length === 0 || book.values.size >= MAX_COUNTED) return false;
  for (const each of news) book.values.add(each);
  book.values_of.set(path, known + news.length);
  return false;
}

/** Counts one more for a path; false: it has had as many as it may. */
function counts(book: Map<string, number>, path: string, most: number): boolean {
  const count = book.get(path) ?? 0;
  if (count >= most) return false;
  if (count > 0 || book.size < MAX_COUNTED) book.set(path, count + 1);
  return true;
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 11);

function withOnly(url: URL, parameters: readonly string[], isKept: (piece: string) => boolean): URL {
  const bare = new URL(url);
  bare.search = parameters.filter(isKept).join("&");
  return bare;
}

const isSession = (piece: string): boolean => {
  const name = nameOf(piece);
  return SESSION.test(name) && RANDOM.test(piece.slice(name.length + 1));
};

function isEndlessPath(segments: readonly string[]): boolean {
  if (segments.length > MAX_SEGMENTS) return true;
  for (const length of [1, 2]) {
    let in_row = 1;
    for (let at = length; at + length <= segments.length; at += length) {
      const isSame = segments
        .slice(at, at + length)
        .every((segment, n) => segment === segments[at - length + n]);
      in_row = isSame ? in_row + 1 : 1;
      if (in_row > MAX_IN_ROW) return true;
    }
  }
  if (segments.length < MIN_REPEATING) return false;
  const numbers = new Map<string, number>();
  for (const segment of segments) numbers.set(segment, (numbers.get(segment) ?? 0) + 1);
  return Math.max(...numbers.values()) > MAX_EQUAL;
}

/**
 * The year of an address that ends with a date, or whose parameters are one: a page of a calendar. `/2025/03/04/a-title` is an
 * article, and so is `/2025`; `/2025/03` and `?month=2025-03` are pages of a calendar.
 */
function calendarYear(segments: readonly string[], parameters: readonly string[]): number | null {
  const dated = parameters.map((piece) => piece.slice(nameOf(piece).length + 1));
  const byParameter = parameters.findIndex(
    (piece, n) => DATE_PARAMETER.test(nameOf(piece)) && (DATE.test(dated[n]!) || YEAR.test(dated[n]!)),
  );
  if (byParameter !== -1) return Number(dated[byParameter]!.slice(0, 4));
  const last = segments.at(-1) ?? "";
  const whole = DATE.exec(last);
  if (whole) return Number(whole[1]);
  let at = segments.length - 1;
  while (at >= 0 && MONTH_OR_DAY.test(segments[at]!)) at--;
  const isDated = at >= 0 && YEAR.test(segments[at]!) && at < segments.length - 1;
  const isNamed = at >= 1 && /^\d{4}$/.test(segments[at]!) && CALENDAR_WORD.test(segments[at - 1]!);
  return isDated || isNamed ? Number(segments[at]) : null;
}

/**
 * The key that addresses of one page share within a crawl or a map. The address that was found first is fetched; the
 * key only tells whether it was found before. It joins addresses that differ in tracking parameters, session ids, the order of
 * parameters and the spelling of escapes, and nothing else: scheme, host and the number of path segments stay.
 */
import { normaliseEscapes, originOf, parseUrl } from "../../../lib/web/url.ts";

/** Whole names of parameters that say where a visitor came from. */
const TRACKING =
  /^(?:(?:utm|mtm|pk|hsa|vero|oly)_.*|_hs.*|mc_[ce]id|gclid|gclsrc|dclid|[gw]braid|fbclid|msclkid|twclid|ttclid|ysclid|yclid|igshid|li_fat_id|_ga|_gl|srsltid|mkt_tok|s_cid|xtor|ref_src)$/i;
/** Parameters that name a visit, whatever stands in them. */
const SESSION_NAMES: ReadonlySet<string> = new Set(["cfid", "cftoken"]);
/** Names that also mean other things: a visit only with such a value. */
const SESSION_VALUES: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/^(?:jsessionid|phpsessid|sid)$/i, /^[0-9a-z]{32}$/i],
  [/^jsessionid$/i, /^[0-9a-f]{20,40}(?:\.\w{1,40})?$/i],
  [/^aspsessionid[a-z]{8}$/i, /^[a-z]{24}$/i],
];
const SESSION_IN_SEGMENT = /;jsessionid=[^;]*/i;
const ASP_NET_SESSION = /^\([sS]\([0-9a-z]{24}\)\)$/i;
const MALFORMED_ESCAPE = /%(?![0-9a-f]{2})/i;
const DOTS = /^\.{0,2}$/;

export interface KeyOptions {
  /** The query is no part of the key. Default: it is. */
  readonly ignore_query?: boolean;
}

/** An address of its own: its key is itself. */
export function addressKey(url: URL, { ignore_query = false }: KeyOptions = {}): string {
  const path = url.pathname.split("/").map(plainSegment).join("/");
  const query = ignore_query ? [] : parametersOf(url.search);
  return `${originOf(url)}${path}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}

/** The key of an address as it is stored; a text that is no address is its own. */
export function keyOfText(text: string, options: KeyOptions = {}): string {
  const url = parseUrl(text);
  return url === null ? text : addressKey(url, options);
}

/** The parameters that name the page, sorted by name: those of one name keep their order, which may mean something. */
function parametersOf(search: string): readonly string[] {
  return search
    .slice(1)
    .split("&")
    .map(plain)
    .filter((piece) => piece !== "" && !isOfVisit(piece))
    .map((piece) => [nameOf(piece), piece] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, piece]) => piece);
}

export const nameOf = (piece: string): string => piece.split("=", 1)[0]!;

function isOfVisit(piece: string): boolean {
  const name = nameOf(piece);
  const value = piece.slice(name.length + 1);
  return (
    TRACKING.test(name) ||
    SESSION_NAMES.has(name.toLowerCase()) ||
    SESSION_VALUES.some(([names, values]) => names.test(name) && values.test(value))
  );
}

/** Beside a malformed escape nothing is decoded: together they could spell a new one. */
const plain = (text: string): string => (MALFORMED_ESCAPE.test(text) ? text : normaliseEscapes(text));

function plainSegment(segment: string): string {
  for (let before = segment; ;) {
    const bare = before.replace(SESSION_IN_SEGMENT, "");
    // The rest of "..;jsessionid=1" would mean another folder.
    const after = plain(DOTS.test(plain(bare)) ? before : bare);
    if (after === before) return ASP_NET_SESSION.test(after) ? "(S)" : after;
    before = after;
  }
}

/**
 * Judges the addresses that a page names: each is kept once, with the reason why it is not fetched. A reason that lies in how
 * an address was found is taken back when it is found otherwise, so that what is fetched does not depend on which page answers first.
 */
import type { AddressRow, Exclusion, FoundLink } from "../../../../schemas/crawl.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { addressKey, keyOfText } from "../address/key.ts";
import { priorityOf } from "../address/priority.ts";
import { TRAPS, trapOf } from "../address/traps.ts";
import { EXCLUDED, REVOCABLE, WAITING } from "./addresses.ts";
import { withChange } from "./changes.ts";
import type { FrontierRecord } from "./record.ts";
import { refusalOfRow } from "./rules.ts";
import type { Loaded } from "./state.ts";

/** Longer addresses are no page's; what is kept of one is its beginning. A link of this length is a longer one whose attribute was cut. */
export const MAX_URL_CHARS = 2_048;
const KEPT_CHARS = 500;
/** Addresses that a crawl lists, by its limit; links beyond them are counted and not looked at. */
const LISTED_BY_LIMIT = 10;
const MIN_LISTED = 10_000;
const MAX_LISTED = 2_000_000;

export const mostListed = (limit: number): number =>
  Math.min(MAX_LISTED, Math.max(MIN_LISTED, limit * LISTED_BY_LIMIT));

/** Reasons that a shorter path, a plain link, another spelling or a sitemap takes back. */
const BY_HOW_IT_WAS_FOUND: ReadonlySet<Exclusion> = new Set([
  "too_deep",
  "nofollow",
  "not_included",
  "excluded_by_pattern",
  "duplicate_of_canonical",
  ...TRAPS.map((trap) => `trap_${trap}` as const),
]);

interface Finding {
  readonly found_on: string | null;
  /** Depth of the addresses themselves. */
  readonly depth: number;
  readonly listed?: boolean;
  readonly links: readonly FoundLink[];
}

/** The record with what is new, and the memory changed alike. The same record when nothing is. */
export function discover(
  record: FrontierRecord,
  loaded: Loaded,
  { links, ...finding }: Finding,
  now_ms: number,
): FrontierRecord {
  const { addresses, waiting, sitemaps } = loaded;
  const rows: AddressRow[] = [];
  let found = record;
  let unlisted = 0;
  for (const link of links) {
    const judged = judge(link, { ...finding, now_ms }, loaded);
    if (judged === null) continue;
    const { key, row } = judged;
    const ordinal = addresses.find(key);
    if (ordinal < 0 && (isFull(loaded) || isFullOf(row, loaded))) unlisted++;
    else if (ordinal < 0) {
      add(loaded, key, row);
      rows.push(row);
    } else if (row.reason === undefined && addresses.statusOf(ordinal) === REVOCABLE) {
      addresses.setStatus(ordinal, WAITING);
      waiting.add(ordinal, turnOf(row), row.priority);
      sitemaps.add(row);
      loaded.excluded--;
      found = withChange(found, ordinal, { ...row, reason: null });
    }
  }
  return withRows(found, rows, unlisted);
}

/** Whether the crawl has as many addresses as it lists. */
export const isFull = ({ addresses, rules }: Loaded): boolean => addresses.count() >= mostListed(rules.limit);

/** Addresses that are not fetched leave room for as many as the crawl may fetch, so that a page or a sitemap of another site hides none. */
const isFullOf = ({ reason }: AddressRow, { excluded, rules }: Loaded): boolean =>
  reason !== undefined && excluded >= mostListed(rules.limit) - rules.limit;

/** The record with rows that are new, and the number of links that were not looked at. */
export function withRows(
  record: FrontierRecord,
  added: readonly AddressRow[],
  unlisted: number,
): FrontierRecord {
  if (added.length === 0 && unlisted === 0) return record;
  const { rows } = record;
  return {
    ...record,
    rows: { ...rows, tail: [...rows.tail, ...added] },
    unlisted: record.unlisted + unlisted,
  };
}

/** The memory of an address with this key: new ones, and stored ones when they are read. */
export function add(loaded: Loaded, key: string, row: AddressRow): void {
  const { reason, priority } = row;
  loaded.sitemaps.add(row);
  if (reason === undefined) loaded.waiting.add(loaded.addresses.add(key, WAITING), turnOf(row), priority);
  else {
    loaded.addresses.add(key, BY_HOW_IT_WAS_FOUND.has(reason) ? REVOCABLE : EXCLUDED);
    loaded.excluded++;
  }
}

/** The depth with which it is fetched: sitemaps come before all pages, whatever names them. */
export const turnOf = ({ sitemap, depth }: Pick<AddressRow, "sitemap" | "depth">): number =>
  sitemap ? 0 : depth;

/** Counts a stored row among the shapes of traps, as when it was found. */
export function countTraps(
  { url, found_on, reason, sitemap, listed }: AddressRow,
  { traps, addresses }: Loaded,
  now_ms: number,
): void {
  const isCounted = found_on !== null && reason === undefined && !sitemap && !listed;
  const parsed = isCounted ? parseUrl(url) : null;
  // The rows before it are those that were known then.
  if (parsed !== null) trapOf(parsed, traps, { now_ms, isKnown: (key) => addresses.find(key) >= 0 });
}

/** The name of an address in the crawl, from its row as it is stored. */
export const keyOf = ({ url, reason }: AddressRow, { rules }: Pick<Loaded, "rules">): string =>
  reason === "trap_length" ? url : keyOfText(url, rules);

interface Circumstances extends Omit<Finding, "links"> {
  readonly now_ms: number;
}

/** Null: it is no address of a page, or the crawl knows what becomes of it. */
function judge(
  { url: text, nofollow, sitemap = false, canonical = false }: FoundLink,
  { found_on, depth: depth_of_links, listed = false, now_ms }: Circumstances,
  { rules, addresses, traps, sitemaps }: Loaded,
): { readonly key: string; readonly row: AddressRow } | null {
  // A canonical address is the page that names it, not one behind it. How deep a sitemap is says nothing of its pages.
  const depth = listed && !sitemap ? 1 : canonical ? depth_of_links - 1 : depth_of_links;
  if (text.length > MAX_URL_CHARS || (found_on !== null && text.length === MAX_URL_CHARS)) {
    const url = text.slice(0, KEPT_CHARS);
    return { key: url, row: { url, depth, found_on, priority: 0, reason: "trap_length" } };
  }
  const url = parseUrl(text);
  if (url === null) return null;
  url.hash = "";
  // A login that a page writes into its links is not the caller's.
  url.username = "";
  url.password = "";
  const key = addressKey(url, rules);
  const row: AddressRow = {
    url: url.href,
    depth,
    found_on,
    priority: sitemap ? 0 : priorityOf(url),
    ...(sitemap && { sitemap }),
    ...(listed && { listed }),
  };
  const known = addresses.find(key);
  if (known >= 0 && addresses.statusOf(known) !== REVOCABLE) return null;
  const isKnown = (each: string): boolean => addresses.find(each) >= 0;
  const trap = (): Exclusion | null => {
    const isExempt = found_on === null || sitemap || listed;
    const shape = isExempt ? null : trapOf(url, traps, { now_ms, isKnown });
    return shape === null ? null : `trap_${shape}`;
  };
  const reason =
    refusalOfRow(url, row, rules) ??
    (sitemap && !sitemaps.hasRoomFor(url) ? "over_limit" : null) ??
    (canonical ? "duplicate_of_canonical" : null) ??
    (nofollow && !rules.follow_nofollow ? "nofollow" : null) ??
    trap();
  return { key, row: reason === null ? row : { ...row, reason } };
}

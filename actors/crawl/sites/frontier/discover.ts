/** What becomes of the addresses that a page names: each is looked at once, and kept with the reason why it is not fetched. */
import type { AddressRow, Exclusion, FoundLink } from "../../../../schemas/crawl.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { refusalOf } from "../address/admit.ts";
import { addressKey } from "../address/key.ts";
import { priorityOf } from "../address/priority.ts";
import { type TrapBook, trapOf } from "../address/traps.ts";
import { EXCLUDED, WAITING } from "./addresses.ts";
import type { FrontierRecord } from "./record.ts";
import type { Loaded } from "./state.ts";

/** Longer addresses are no page's; what is kept of one is its beginning. */
const MAX_URL_CHARS = 2_048;
const KEPT_CHARS = 500;
/** Addresses that a crawl lists, by its limit; links beyond them are counted and not looked at. */
const LISTED_BY_LIMIT = 10;
const MIN_LISTED = 10_000;
const MAX_LISTED = 2_000_000;

export const mostListed = (limit: number): number =>
  Math.min(MAX_LISTED, Math.max(MIN_LISTED, limit * LISTED_BY_LIMIT));

interface Finding {
  readonly found_on: string | null;
  /** Of the addresses themselves. */
  readonly depth: number;
  readonly links: readonly FoundLink[];
}

/** The record with what is new, and the memory changed alike. The same record when nothing is. */
export function discover(
  record: FrontierRecord,
  loaded: Loaded,
  { found_on, depth, links }: Finding,
  now_ms: number,
): FrontierRecord {
  const traps: TrapBook = {
    facets: { ...record.traps.facets },
    sessions: { ...record.traps.sessions },
    calendar_pages: record.traps.calendar_pages,
  };
  const rows: AddressRow[] = [];
  let { unlisted } = record;
  const most = mostListed(loaded.rules.limit);
  for (const link of links) {
    const judged = judge(link, { found_on, depth, now_ms, traps }, loaded);
    if (judged === null || loaded.addresses.find(judged.key) >= 0) continue;
    if (loaded.addresses.count() >= most) {
      unlisted++;
      continue;
    }
    add(loaded, judged.key, judged.row);
    rows.push(judged.row);
  }
  if (rows.length === 0 && unlisted === record.unlisted) return record;
  return {
    ...record,
    traps,
    unlisted,
    rows: { ...record.rows, tail: [...record.rows.tail, ...rows] },
  };
}

/** The memory of an address with this key: new ones, and stored ones when they are read. */
export function add({ addresses, waiting, by_reason }: Loaded, key: string, row: AddressRow): number {
  const { reason, depth, priority } = row;
  const ordinal = addresses.add(key, reason === undefined ? WAITING : EXCLUDED);
  if (reason === undefined) waiting.add(ordinal, depth, priority);
  else by_reason.set(reason, (by_reason.get(reason) ?? 0) + 1);
  return ordinal;
}

/** The name of an address in the crawl, from its row as it is stored. */
export function keyOf({ url, reason }: AddressRow, { rules }: Pick<Loaded, "rules">): string {
  const parsed = reason === "trap_length" ? null : parseUrl(url);
  return parsed === null ? url : addressKey(parsed, rules);
}

interface Circumstances extends Omit<Finding, "links"> {
  readonly now_ms: number;
  readonly traps: TrapBook;
}

/** Null: it is no address of a page. */
function judge(
  { url: text, nofollow }: FoundLink,
  { found_on, depth, now_ms, traps }: Circumstances,
  { rules, addresses }: Loaded,
): { readonly key: string; readonly row: AddressRow } | null {
  if (text.length > MAX_URL_CHARS) {
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
  const row = { url: url.href, depth, found_on, priority: priorityOf(url) };
  const isKnown = (each: string): boolean => addresses.find(each) >= 0;
  if (isKnown(key)) return { key, row };
  const isSeed = found_on === null;
  const trap = (): Exclusion | null => {
    const shape = isSeed ? null : trapOf(url, traps, { now_ms, isKnown });
    return shape === null ? null : `trap_${shape}`;
  };
  const reason =
    refusalOf(url, { depth, isSeed }, rules) ??
    (nofollow && !rules.follow_nofollow ? "nofollow" : null) ??
    trap();
  return { key, row: reason === null ? row : { ...row, reason } };
}

/** Where a page led by redirects: that address counts as fetched, or is told with the reason why it should not have been. */
import type { AddressRow } from "../../../../schemas/crawl.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { addressKey } from "../address/key.ts";
import { priorityOf } from "../address/priority.ts";
import { ADMITTED, EXCLUDED, WAITING } from "./addresses.ts";
import { withChange } from "./changes.ts";
import { add, isFull, MAX_URL_CHARS, withRows } from "./discover.ts";
import type { FrontierRecord } from "./record.ts";
import { refusalOfRow } from "./rules.ts";
import type { Loaded } from "./state.ts";

interface Redirected {
  /** The address that was asked for, of this depth. */
  readonly from: string;
  readonly depth: number;
  readonly to: string;
  readonly sitemap: boolean;
}

/** The record with it, and the memory changed alike. The same record when nothing is new. */
export function redirected(
  record: FrontierRecord,
  loaded: Loaded,
  { from, depth, to, sitemap }: Redirected,
): FrontierRecord {
  const { addresses, rules, waiting } = loaded;
  const [asked, target] = [parseUrl(from), parseUrl(to)];
  if (asked === null || target === null || target.href.length > MAX_URL_CHARS) return record;
  const [own, key] = [addresses.find(addressKey(asked, rules)), addressKey(target, rules)];
  const at = addresses.find(key);
  if (own < 0 || own === at) return record;
  const told = withChange(record, own, { redirected_to: target.href });
  const found = { depth, found_on: from, ...(sitemap && { sitemap }) };
  const reason = refusalOfRow(target, found, rules) ?? "duplicate_address";
  if (at < 0) {
    if (isFull(loaded)) return withRows(told, [], 1);
    const row: AddressRow = { url: target.href, depth, found_on: from, priority: priorityOf(target), reason };
    add(loaded, key, row);
    return withRows(told, [row], 0);
  }
  const status = addresses.statusOf(at);
  if (status === ADMITTED || status === EXCLUDED || reason !== "duplicate_address") return told;
  addresses.setStatus(at, EXCLUDED);
  if (status === WAITING) {
    waiting.drop();
    loaded.excluded++;
  }
  return withChange(told, at, { reason });
}

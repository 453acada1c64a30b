/**
 * A page that was fetched is compared with those before it, and told which one of them it repeats. It is fetched, counted and followed
 * all the same, so that what is fetched does not depend on which of them answers first.
 */
import type { SeenPage } from "../../../../schemas/crawl.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { addressKey } from "../address/key.ts";
import { withChange } from "./changes.ts";
import { namesOf, type Original } from "./originals.ts";
import type { FrontierRecord } from "./record.ts";
import type { Loaded } from "./state.ts";

interface Fetched {
  /** The address that was asked for, and that at which it is. */
  readonly from: string;
  readonly at: string;
  readonly seen: SeenPage;
}

/** The record with a page that was fetched, and its original; the memory is changed alike. */
export function recognise(
  record: FrontierRecord,
  loaded: Loaded,
  { from, at, seen }: Fetched,
): { readonly record: FrontierRecord; readonly original: Original | null } {
  const asked = parseUrl(from);
  const own = asked === null ? -1 : loaded.addresses.find(addressKey(asked, loaded.rules));
  if (own < 0) return { record, original: null };
  const names = namesOf(seen, at, loaded.rules);
  const original = loaded.originals.find(own, names);
  loaded.originals.add(own, names, original?.ordinal ?? own);
  const duplicate = original && { duplicate_of: original.ordinal, duplicate_by: original.reason };
  return { record: withChange(record, own, { seen, ...duplicate }), original };
}

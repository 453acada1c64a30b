/** Whether a crawl fetches an address, and if not, why: the rules in their order, without memory of their own. */
import type { IsInScope } from "../../../lib/web/site-scope.ts";
import type { KeyOptions } from "./key.ts";
import type { Matches } from "./patterns.ts";

export interface AddressRules extends KeyOptions {
  readonly isInScope: IsInScope;
  /** Null: everything is included. */
  readonly isIncluded: Matches | null;
  readonly isExcluded: Matches;
  /** Null: any depth. */
  readonly max_depth: number | null;
}

/** Null: nothing is against it. `seeds` are taken whatever `include` says. */
export function refusalOf(
  url: URL,
  { depth, isSeed }: { readonly depth: number; readonly isSeed: boolean },
  { isInScope, isIncluded, isExcluded, max_depth }: AddressRules,
): "out_of_scope" | "excluded_by_pattern" | "not_included" | "too_deep" | null {
  if (!isInScope(url)) return "out_of_scope";
  if (isExcluded(url)) return "excluded_by_pattern";
  if (isIncluded && !isSeed && !isIncluded(url)) return "not_included";
  return max_depth !== null && depth > max_depth ? "too_deep" : null;
}

/** Whether a crawl fetches an address, and if not, why: the rules in their order, without memory of their own. */
import type { KeyOptions } from "./key.ts";
import { compilePatterns, type Compiled, type Matches } from "./patterns.ts";
import type { IsInScope } from "./scope.ts";

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

/** The two lists of a body; null in place of `include`: everything is included. */
export function compileLists(
  include: readonly string[] | null | undefined,
  exclude: readonly string[] | null | undefined,
): { readonly include: Compiled | null; readonly exclude: Compiled } {
  const isGiven = include != null && include.length > 0;
  return { include: isGiven ? compilePatterns(include) : null, exclude: compilePatterns(exclude ?? []) };
}

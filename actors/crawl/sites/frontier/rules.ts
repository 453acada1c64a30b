/** The rules of one crawl for addresses, made from what it was asked for. */
import { type JoinedSites, parseUrl } from "../../../lib/web/url.ts";
import type { AddressRules } from "../address/admit.ts";
import { compilePatterns } from "../address/patterns.ts";
import { scopeOf } from "../address/scope.ts";
import type { CrawlRecord } from "./record.ts";

export interface CrawlRules extends AddressRules {
  readonly limit: number;
  readonly follow_nofollow: boolean;
}

/** Throws RangeError for patterns that POST /v1/crawl would have refused. */
export function rulesOf({ seeds, limit, rules }: CrawlRecord, joined?: JoinedSites): CrawlRules {
  const { scope = "host", include, exclude, max_depth, ignore_query, follow_nofollow } = rules;
  const matches = (patterns: readonly string[]) => {
    const compiled = compilePatterns(patterns);
    if (compiled.kind === "refused") throw new RangeError(compiled.problem);
    return compiled.matches;
  };
  const isIncluded = (include ?? []).length === 0 ? null : matches(include!);
  return {
    limit,
    isInScope: scopeOf(
      seeds.flatMap((seed) => parseUrl(seed) ?? []),
      scope,
      joined,
    ),
    isIncluded,
    isExcluded: matches(exclude ?? []),
    max_depth: max_depth ?? null,
    ignore_query: ignore_query ?? false,
    follow_nofollow: follow_nofollow ?? false,
  };
}

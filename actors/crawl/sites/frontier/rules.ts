/** The rules of one crawl for addresses, made from what it was asked for. */
import { inScope, type IsInScope, scopeOf } from "../../../lib/web/site-scope.ts";
import { type JoinedSites, parseUrl } from "../../../lib/web/url.ts";
import { type AddressRules, refusalOf } from "../address/admit.ts";
import { compilePatterns } from "../address/patterns.ts";
import type { AddressRow } from "../../../../schemas/crawl.ts";
import type { SiteScope } from "../../../../schemas/site-scope.ts";
import type { SITEMAP_USES } from "../../../../schemas/sites.ts";
import { MAX_SITEMAP_LEVELS } from "../sitemap/sitemap.ts";
import type { CrawlRecord } from "./record.ts";

export interface CrawlRules extends AddressRules {
  readonly limit: number;
  readonly follow_nofollow: boolean;
  readonly sitemap: (typeof SITEMAP_USES)[number];
  /** Where its pages are. */
  readonly scope: SiteScope;
  /** Where its sitemaps are: also outside of the folders of its seeds. */
  readonly sitemap_scope: SiteScope;
  readonly mayHoldSitemap: IsInScope;
}

/** Why a crawl does not fetch an address, whatever its shape; null: nothing is against it. */
export function refusalOfRow(
  url: URL,
  { depth, found_on, sitemap }: Pick<AddressRow, "depth" | "found_on" | "sitemap">,
  rules: CrawlRules,
): ReturnType<typeof refusalOf> {
  if (sitemap && !rules.mayHoldSitemap(url)) return "out_of_scope";
  if (sitemap) return depth > MAX_SITEMAP_LEVELS ? "too_deep" : null;
  return refusalOf(url, { depth, isSeed: found_on === null }, rules);
}

/** Throws RangeError for patterns that POST /v1/crawl would have refused. */
export function rulesOf({ seeds, limit, rules }: CrawlRecord, joined?: JoinedSites): CrawlRules {
  const {
    scope: kind = "host",
    include,
    exclude,
    max_depth,
    sitemap = "skip",
    ignore_query,
    follow_nofollow,
  } = rules;
  const matches = (patterns: readonly string[]) => {
    const compiled = compilePatterns(patterns);
    if (compiled.kind === "refused") throw new RangeError(compiled.problem);
    return compiled.matches;
  };
  const isIncluded = (include ?? []).length === 0 ? null : matches(include!);
  const urls = seeds.flatMap((seed) => parseUrl(seed) ?? []);
  const scope = scopeOf(urls, kind, joined);
  const sitemap_scope = kind === "path" ? scopeOf(urls, "host") : scope;
  return {
    limit,
    scope,
    sitemap_scope,
    isInScope: inScope(scope, joined),
    sitemap,
    mayHoldSitemap: inScope(sitemap_scope, joined),
    isIncluded,
    isExcluded: matches(exclude ?? []),
    max_depth: max_depth ?? null,
    ignore_query: ignore_query ?? false,
    follow_nofollow: follow_nofollow ?? false,
  };
}

/**
 * Whether a page asks not to be found by searches: X-Robots-Tag, or a robots meta element (RFC 9309 leaves both to
 * convention). Such a page may still be fetched by its address.
 */

/** The first element of a sitemap, behind declarations and comments. */
const SITEMAP = /<(?:[\w-]{1,40}:)?(?:urlset|sitemapindex)[\s>]/i;
const HEAD_OF_SITEMAP_CHARS = 2_000;

/** Whether a file only tells crawlers which pages there are: robots.txt, or a sitemap in XML. No search should find it. */
export const isForCrawlers = (url: string, text: string): boolean =>
  URL.parse(url)?.pathname === "/robots.txt" || SITEMAP.test(text.slice(0, HEAD_OF_SITEMAP_CHARS));

/** Where a head ends, generously. */
const HEAD_CHARS = 65_536;
const META = /<meta\s[^<>]{0,2000}>/gi;
const SAYS_NO = /(?:^|[\s,:])(?:noindex|none)(?:$|[\s,;])/i;

export function refusesIndexing(
  headers: ReadonlyMap<string, string>,
  body: Buffer,
  crawler_name: string,
): boolean {
  const tag = headers.get("x-robots-tag");
  if (tag !== undefined && tag.split(/,(?=\s*[\w-]+\s*:)/).some((part) => speaksToUs(part, crawler_name)))
    return true;
  const head = body.toString("latin1", 0, HEAD_CHARS);
  for (const [meta] of head.matchAll(META)) {
    const name = /\bname\s*=\s*(?:["']\s*)?([\w-]+)/i.exec(meta)?.[1]?.toLowerCase();
    if (name !== "robots" && name !== crawler_name.toLowerCase()) continue;
    const content = /\bcontent\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(meta);
    if (SAYS_NO.test(content?.[1] ?? content?.[2] ?? content?.[3] ?? "")) return true;
  }
  return false;
}

/** "noindex", "googlebot: noindex", "trawl: none" */
function speaksToUs(part: string, crawler_name: string): boolean {
  // Some rules have a value of their own behind a colon.
  if (/^\s*(?:max-[a-z-]+|unavailable_after)\s*:/i.test(part)) return SAYS_NO.test(part);
  const [, agent, rules] = /^\s*(?:([\w-]+)\s*:)?(.*)$/s.exec(part)!;
  const isForCrawler = agent === undefined || agent.toLowerCase() === crawler_name.toLowerCase();
  return isForCrawler && SAYS_NO.test(rules!);
}

/**
 * Requests of a page to robots, by X-Robots-Tag or a robots meta element (RFC 9309 leaves both to convention): not to be found by
 * searches, or that its links are not followed. Such a page may still be fetched by its address.
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
const SAYS = {
  noindex: /(?:^|[\s,:])(?:noindex|none)(?:$|[\s,;])/i,
  nofollow: /(?:^|[\s,:])(?:nofollow|none)(?:$|[\s,;])/i,
} as const;
type Ask = keyof typeof SAYS;

/** `fields`: values of X-Robots-Tag, and elements in the same form (`robotsField`). */
export const asksRobots = (ask: Ask, fields: readonly string[], crawler_name: string): boolean =>
  fields.some((field) =>
    field.split(/,(?=\s*[\w-]+\s*:)/).some((part) => speaksToUs(part, ask, crawler_name)),
  );

/** A robots element as X-Robots-Tag would say it. */
export const robotsField = (name: string, content: string): string =>
  name === "robots" ? content : `${name}: ${content}`;

export function refusesIndexing(
  headers: ReadonlyMap<string, string>,
  body: Buffer,
  crawler_name: string,
): boolean {
  const fields = [headers.get("x-robots-tag") ?? ""];
  for (const [meta] of body.toString("latin1", 0, HEAD_CHARS).matchAll(META)) {
    const name = /\bname\s*=\s*(?:["']\s*)?([\w-]+)/i.exec(meta)?.[1]?.toLowerCase();
    if (name !== "robots" && name !== crawler_name.toLowerCase()) continue;
    const content = /\bcontent\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(meta);
    fields.push(robotsField(name, content?.[1] ?? content?.[2] ?? content?.[3] ?? ""));
  }
  return asksRobots("noindex", fields, crawler_name);
}

/** "noindex", "googlebot: noindex", "trawl: none" */
function speaksToUs(part: string, ask: Ask, crawler_name: string): boolean {
  // Some rules have a value of their own behind a colon.
  if (/^\s*(?:max-[a-z-]+|unavailable_after)\s*:/i.test(part)) return SAYS[ask].test(part);
  const [, agent, rules] = /^\s*(?:([\w-]+)\s*:)?(.*)$/s.exec(part)!;
  const isForCrawler = agent === undefined || agent.toLowerCase() === crawler_name.toLowerCase();
  return isForCrawler && SAYS[ask].test(rules!);
}

/**
 * The `Sitemap` lines of a robots.txt (sitemaps.org, "Specifying the Sitemap location"): outside of groups, in any case, any
 * number of times. The value keeps its case and may be relative.
 */
import { parseUrl } from "../../../lib/web/url.ts";

const LINE = /^[ \t]*site-?map[ \t]*:[ \t]*([^\s#]+)/i;
/** Limit of a file; the rest is ignored. */
const MAX_LINES = 1_000;
const MAX_LINE_CHARS = 8_300;

/** Absolute addresses in the order of the file, each once. `base`: where the file was read. */
export function sitemapsOf(robots: string, base: URL): readonly string[] {
  const found = new Set<string>();
  for (const line of robots.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/)) {
    const written = LINE.exec(line.slice(0, MAX_LINE_CHARS))?.[1];
    const url = written === undefined ? null : parseUrl(written, base);
    if (url !== null) found.add(url.href);
    if (found.size === MAX_LINES) break;
  }
  return [...found];
}

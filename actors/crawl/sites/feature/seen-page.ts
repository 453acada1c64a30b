/** Tells by a fetched page whether it was fetched before under another address. */
import { hash } from "node:crypto";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { SeenPage } from "../../../../schemas/crawl.ts";
import type { PageRecord } from "../../../../schemas/fetch.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { sketchOf, writeSketch } from "../../../reading/content/text-sketch.ts";
import { textOf } from "../../fetch/page-parts.ts";
import { addressKey } from "../address/key.ts";
import type { CrawlRules } from "../frontier/rules.ts";

const DIGITS = 32;
/** Limit of a canonical address; a longer one is no page's. */
const MAX_URL_CHARS = 2_048;
/** A value of a Link field (RFC 8288): an address, then parameters. */
const LINK = /<([^<>]*)>((?:\s*;[^;,"<]*(?:"[^"]*")?)*)/g;
const CANONICAL = /;\s*rel\s*=\s*(?:"(?:[^"]*\s)?canonical(?:\s[^"]*)?"|canonical\s*(?:;|$))/i;

/** `at`: where the page is. Undefined: the answer is no page of the site. Throws Fault. */
export async function seenOf(
  blobs: Blobs,
  record: PageRecord,
  at: URL,
  rules: CrawlRules,
): Promise<SeenPage | undefined> {
  const { sha256, status, tier, bytes } = record;
  const isOk = status !== null && status >= 200 && status < 300;
  if (sha256 === null || bytes === 0 || !isOk || tier === "archive" || tier === "source") return undefined;
  const canonical = canonicalOf(record, at, rules);
  const text = await textOf(blobs, record);
  const sketch = sketchOf(text);
  return {
    body: sha256.slice(0, DIGITS),
    content: (text !== "" ? hash("sha256", text) : sha256).slice(0, DIGITS),
    ...(canonical !== null && { canonical }),
    ...(sketch && { sketch: writeSketch(sketch) }),
  };
}

/** The address that a page names as its own; null: none, that at which it is, or one that is not of the crawl. */
export function canonicalOf(
  { meta, headers }: Pick<PageRecord, "meta" | "headers">,
  at: URL,
  rules: Pick<CrawlRules, "isInScope" | "ignore_query">,
): string | null {
  const named = meta?.canonical_url ?? canonicalOfField(headers["link"] ?? "");
  const url = named === null ? null : URL.parse(named, at.href);
  if (url === null || parseUrl(url.href) === null || url.href.length > MAX_URL_CHARS) return null;
  url.hash = "";
  url.username = "";
  url.password = "";
  const isOther = rules.isInScope(url) && addressKey(url, rules) !== addressKey(at, rules);
  return isOther ? url.href : null;
}

function canonicalOfField(field: string): string | null {
  for (const [, url, parameters] of field.matchAll(LINK)) if (CANONICAL.test(parameters!)) return url!;
  return null;
}

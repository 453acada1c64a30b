/** An answer of a fetch as their Document. What is not there is left out: their Python models refuse null in some fields. */
import { isPremium } from "../../schemas/tier-table.ts";
import { actionsOf } from "./actions.ts";
import { attributesOf } from "./attributes.ts";
import { failureOf, Refused, sentenceOf } from "./errors.ts";

/** A FetchResponse as it was read. */
type Page = Readonly<Record<string, any>>;

/** The request that asked for the page. */
export interface Asked {
  readonly url: string;
  /** In their words. */
  readonly formats: ReadonlySet<string>;
  /** The rules of `extract` that the formats became. */
  readonly rules?: Parameters<typeof attributesOf>[0];
  /** Address of this service, as the client reaches it. */
  readonly base: string;
}

/** The request of a fetch as this API has it, which does not say whether `html` or `rawHtml` was meant: both. */
export const askedFor = (fetch: Page, base: string): Asked => ({
  url: String(fetch["url"]),
  formats: new Set([
    ...(fetch["formats"] ?? []),
    ...(fetch["include_html"] ? ["html", "rawHtml"] : []),
    ...(fetch["extract"]?.schema ? ["json"] : []),
  ]),
  rules: fetch["extract"]?.fields,
  base,
});

/** Errors beside a page: it is theirs to judge by its status or its warning. */
const BESIDE_PAGE = /^(?:http_\d+|selector_not_found|screenshot_failed)$/;
export const hasPage = (error: string | null): boolean => error === null || BESIDE_PAGE.test(error);

/** Throws Refused where there is no page. */
export function documentOf(page: Page, asked: Asked): object {
  const { error } = page;
  if (!hasPage(error)) throw new Refused(failureOf(page as { error: string }));
  const { formats, base, rules } = asked;
  const wanted = (name: string, value: unknown): unknown => (formats.has(name) ? value : null);
  const isStatus = error !== null && error.startsWith("http_");
  return present({
    markdown: wanted("markdown", page["markdown"] ?? page["text"]),
    html: wanted("html", page["html"]),
    rawHtml: wanted("rawHtml", page["html"]),
    links: wanted("links", distinct(page["links"])),
    images: wanted("images", distinct(page["images"])),
    screenshot: page["screenshot"] ? `${base}${page["screenshot"].body_url}` : null,
    attributes: attributesOf(rules, page["extract"]?.data),
    json: wanted("json", page["extract"]?.data),
    actions: actionsOf(page["actions"], base),
    warning:
      error !== null && !isStatus
        ? sentenceOf(page as { error: string })
        : wanted("json", withoutValues(page)),
    metadata: metadataOf(page, asked, isStatus),
  });
}

/** Why a language model gave no values of a page; null: it gave some, or was not asked. */
export function withoutValues({ extract }: Page): string | null {
  const whole = extract?.errors.find(({ path }: { path: string }) => path === "");
  return extract?.data === null && whole ? `The page has no values: ${whole.reason}` : null;
}

function metadataOf(page: Page, { url }: Asked, isStatus: boolean): object {
  const meta = page["meta"] ?? {};
  return present({
    title: page["title"],
    description: meta.description,
    language: meta.language,
    author: meta.author,
    ogSiteName: meta.site_name,
    canonicalUrl: meta.canonical_url,
    publishedTime: meta.published_at,
    modifiedTime: meta.modified_at,
    articleSection: meta.section,
    url: page["final_url"] ?? url,
    sourceURL: url,
    statusCode: page["status"] ?? 200,
    error: isStatus ? sentenceOf(page as { error: string }) : null,
    contentType: page["content_type"],
    numPages: page["pdf_page_count"],
    proxyUsed: isPremium(String(page["tier"])) ? "stealth" : "basic",
    cacheState: page["cached"] ? "hit" : "miss",
    cachedAt: page["cached"] ? page["retrieved_at"] : null,
    creditsUsed: page["cached"] ? 0 : 1,
    scrapeId: page["request_id"],
  });
}

const distinct = (found: readonly { readonly url: string }[] | undefined): readonly string[] => [
  ...new Set((found ?? []).map(({ url }) => url)),
];

const present = (fields: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));

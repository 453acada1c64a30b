/**
 * The metadata of a page: title, author, dates, language and the rest of ArticleMeta, from JSON-LD, meta elements,
 * microdata and the visible page, in that order unless a field has another one. A field without a value in the page is null.
 */
import type { ArticleMeta } from "../../../schemas/fetch.ts";
import { authorsOf } from "./authors.ts";
import { isLdType, ldAbout, ldNames, type LdNode, ldText, type LinkedData } from "./jsonld.ts";
import type { PageKind } from "./kind.ts";
import { languageOf } from "./language.ts";
import type { Line } from "./lines.ts";
import type { Names } from "./marks.ts";
import { pageDates } from "./page-dates.ts";
import { type ChooseTitle, type Meta, siteOf, titleCandidates } from "./title.ts";
import { type Tree, unmarked } from "./tree.ts";
import { lookAround } from "./visible-meta.ts";

const DESCRIPTION_CHARS_MAX = 2_000;

/** The parts needed of a page that was read: its tree, its lines, its text and its kind. */
export interface MetaPage {
  readonly tree: Tree;
  readonly linked: LinkedData;
  readonly names: Names;
  /** 1 for hidden nodes. */
  readonly unseen: Uint8Array;
  readonly lines: readonly Line[];
  /** The first line of running text, or -1. */
  readonly first_prose: number;
  /** The text of the page, which tells its language. */
  readonly text: string;
  readonly url: string;
  readonly now_ms: number;
  readonly kind: PageKind;
}

export interface PageMeta {
  /** The JSON-LD node about this page. */
  readonly about: LdNode | null;
  readonly title: string | null;
  /** language.ts */
  readonly needs_detector: boolean;
  readonly meta: Omit<ArticleMeta, "word_count">;
}

export function readMeta(page: MetaPage, choose: ChooseTitle): PageMeta {
  const { tree, linked, names, unseen, lines, first_prose, text, url, kind } = page;
  const { meta, contents } = metaElements(tree);
  const canonical = canonicalUrl(tree, meta, url);
  const about = ldAbout(linked, canonical ? [url, canonical] : [url]);
  const { language, needs_detector } = languageOf(declaredLanguage(tree, about, meta), text);
  const site = siteName(linked, meta);
  const visible = lookAround(tree, names, unseen, lines, first_prose);
  const parts = { ...page, meta, contents, about, language, site, visible, address: canonical ?? url };
  const authors = authorsOf(parts);
  const description =
    nonEmpty(meta("description", "og:description")) ??
    nonEmpty(about && ldText(about["description"])) ??
    nonEmpty(meta("twitter:description", "dc.description"));
  return {
    about,
    needs_detector,
    title: choose(titleCandidates(tree, about, meta, siteOf(site, url), unseen, kind)),
    meta: {
      author: authors.length > 0 ? authors.join("; ") : null,
      ...pageDates(parts),
      language,
      canonical_url: canonical,
      publisher: publisherName(linked, about, meta),
      site_name: site,
      description: description && cut(description, DESCRIPTION_CHARS_MAX),
      section:
        nonEmpty(about && ldText(about["articleSection"])) ??
        nonEmpty(meta("article:section", "parsely-section", "section", "cxenseparse:category")),
    },
  };
}

/** Meta elements with a value: the first of some names, and the contents of all of a name. */
function metaElements(tree: Tree): { meta: Meta; contents: ReadonlyMap<string, readonly string[]> } {
  const first = new Map<string, string>();
  const contents = new Map<string, string[]>();
  for (const [name, content] of tree.metas) {
    if (content.trim() === "") continue;
    if (!first.has(name)) first.set(name, content.trim());
    const same = contents.get(name);
    if (same) same.push(content);
    else contents.set(name, [content]);
  }
  const meta: Meta = (...names) => {
    for (const name of names) {
      const value = first.get(name);
      if (value !== undefined) return value;
    }
    return null;
  };
  return { meta, contents };
}

function canonicalUrl(tree: Tree, meta: Meta, url: string): string | null {
  const base = absolute(tree.base, url) ?? url;
  const link = tree.links.find(({ rel }) => /(?:^|\s)canonical(?:\s|$)/i.test(rel!));
  return absolute(link?.["href"], base) ?? absolute(meta("og:url"), base);
}

function declaredLanguage(tree: Tree, about: LdNode | null, meta: Meta): string | null {
  const html = tree.tag.indexOf("html");
  return (
    languageTag(html < 0 ? null : tree.attributes[html]?.["lang"]) ??
    languageTag(meta("og:locale")) ??
    languageTag(about && ldText(about["inLanguage"])) ??
    languageTag(meta("content-language", "language", "dc.language"))
  );
}

function siteName(linked: LinkedData, meta: Meta): string | null {
  const website = linked.nodes.find((node) => isLdType(node, /^WebSite$/));
  return (
    nonEmpty(meta("og:site_name")) ??
    nonEmpty(website && ldText(website["name"])) ??
    nonEmpty(meta("application-name", "apple-mobile-web-app-title"))
  );
}

function publisherName(linked: LinkedData, about: LdNode | null, meta: Meta): string | null {
  const name = about && ldNames(about["publisher"], linked)[0];
  return (
    nonEmpty(name && !/^https?:/.test(name) ? name : null) ??
    nonEmpty(meta("dc.publisher", "citation_publisher", "publisher"))
  );
}

const TAGS_MAX = 500;
const canonicalTags = new Map<string, string | null>();

/** A tag of BCP 47 in its canonical form, or null. Few tags are declared by all pages, and ICU takes long for each. */
function canonicalTag(tag: string): string | null {
  const known = canonicalTags.get(tag);
  if (known !== undefined) return known;
  let locale: string | null = null;
  try {
    locale = Intl.getCanonicalLocales(tag)[0] ?? null;
  } catch {
    // No tag of a language.
  }
  if (canonicalTags.size < TAGS_MAX) canonicalTags.set(tag, locale);
  return locale;
}

function languageTag(value: string | null | undefined): string | null {
  if (!value) return null;
  const tag = value
    .trim()
    .split(/[,;\s]/, 1)[0]!
    .replaceAll("_", "-");
  const locale = canonicalTag(tag);
  return locale === null || locale === "und" || locale === "mul" || !/^[a-z]{2,3}(?:-|$)/.test(locale)
    ? null
    : locale;
}

function absolute(value: string | null | undefined, base: string): string | null {
  if (!value) return null;
  const parsed = URL.canParse(value.trim(), base) ? new URL(value.trim(), base) : null;
  return parsed && /^https?:$/.test(parsed.protocol) ? parsed.href : null;
}

/** At the end of a word. */
function cut(text: string, chars_max: number): string {
  if (text.length <= chars_max) return text;
  const short = text.slice(0, chars_max);
  const space = short.lastIndexOf(" ");
  return space > chars_max / 2 ? short.slice(0, space) : short;
}

const nonEmpty = (value: string | null | undefined): string | null => {
  const text = value ? unmarked(value) : "";
  return text === "" ? null : text;
};

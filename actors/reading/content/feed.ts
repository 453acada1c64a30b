/**
 * Reads RSS 2.0, RSS 1.0, Atom and sitemaps: their entries, or the items that may be a given page, with their HTML. It
 * accepts invalid feeds, in one pass and within limits; the caller decides whether an item is the page.
 */
import { Parser } from "htmlparser2";
import type { FeedEntry } from "../../../schemas/fetch.ts";
import { parseUrl } from "../../lib/web/url.ts";
import { addressOf, isSameTitle } from "./similarity.ts";
import { escapeHtml } from "../../lib/web/escape-html.ts";

/** The page whose item is wanted. */
export interface FeedWish {
  /** As addressOf names them. */
  readonly addresses: readonly string[];
  readonly title: string | null;
}

export interface FeedItem {
  /** The item has the page's address (guid, link or another one); else only its title is similar. */
  readonly exact: boolean;
  readonly title: string | null;
  readonly author: string | null;
  /** As the feed has it. */
  readonly published: string | null;
  readonly html: string;
}

const MAX_ITEMS = 5_000;
/** Limit of one field; longer ones are cut. */
const MAX_FIELD_CHARS = 2_000_000;
const MAX_SHORT_CHARS = 2_000;
const MAX_FOUND = 3;
const MAX_ALIKE = 20;

interface Draft {
  title: string;
  author: string;
  published: string;
  addresses: string[];
  /** By field: the full content is longer than the summary. */
  contents: Record<string, string>;
}

const CONTENTS: ReadonlySet<string> = new Set([
  "content:encoded",
  "content",
  "description",
  "summary",
  "atom:content",
]);
const DATES: ReadonlySet<string> = new Set([
  "pubdate",
  "published",
  "dc:date",
  "updated",
  "news:publication_date",
  "lastmod",
]);
const ADDRESSES: ReadonlySet<string> = new Set([
  "link",
  "guid",
  "id",
  "feedburner:origlink",
  "atom:link",
  "source:url",
  "loc",
]);

const isField = (name: string): boolean =>
  name === "title" ||
  name === "news:title" ||
  name === "author" ||
  name === "dc:creator" ||
  CONTENTS.has(name) ||
  DATES.has(name) ||
  ADDRESSES.has(name);

/** By the document's first element: the elements that are its entries. */
const ENTRY_NAMES: Readonly<Record<string, string>> = { urlset: "url", sitemapindex: "sitemap" };

/** Exact ones first, at most three. */
export function findItems(feed: string, wanted: FeedWish): FeedItem[] {
  const found: FeedItem[] = [];
  readDrafts(feed, (draft) => {
    const item = itemOf(draft, wanted);
    if (item && (item.exact || found.length < MAX_ALIKE)) found.push(item);
  });
  return found.toSorted((a, b) => Number(b.exact) - Number(a.exact)).slice(0, MAX_FOUND);
}

/** In the order of the document, at most 5,000. `url` is where it was read: addresses may be relative to it. */
export function feedEntries(feed: string, url: string): FeedEntry[] {
  const entries: FeedEntry[] = [];
  const base = parseUrl(url) ?? undefined;
  readDrafts(feed, ({ title, published, addresses, contents }) => {
    // An id that is no address may stand before the link.
    const absolute = addresses.map((text) => parseUrl(text)).find((parsed) => parsed !== null);
    const relative = addresses[0];
    const address = absolute ?? (relative === undefined ? null : parseUrl(relative, base));
    const summary = plain(contents["summary"] ?? contents["description"] ?? Object.values(contents)[0] ?? "");
    entries.push({
      url: address?.href ?? null,
      title: title || null,
      published_at: timeOf(published),
      summary: summary || null,
    });
  });
  return entries;
}

function timeOf(written: string): string | null {
  const time_ms = Date.parse(written);
  return Number.isNaN(time_ms) ? null : new Date(time_ms).toISOString();
}

/** Calls back with each entry, at most MAX_ITEMS. */
function readDrafts(feed: string, onEntry: (draft: Draft) => void): void {
  let items = 0;
  let names: ReadonlySet<string> | null = null;
  let draft: Draft | null = null;
  let field: string | null = null;
  let value = "";
  let form = "html";
  /** Elements open inside the field: an Atom content may be XHTML. */
  let inside = 0;
  let nested = "";

  const add = (text: string) => {
    if (value.length < MAX_FIELD_CHARS) value += text;
  };
  const finish = () => {
    if (draft === null || field === null) return;
    const text = value.trim();
    if (CONTENTS.has(field)) draft.contents[field] = form === "text" ? `<p>${escapeHtml(text)}</p>` : text;
    else if (field === "title" || field === "news:title") draft.title ||= plain(text);
    else if (ADDRESSES.has(field)) draft.addresses.push(text.slice(0, MAX_SHORT_CHARS));
    else if (DATES.has(field)) draft.published ||= text.slice(0, 100);
    else draft.author ||= plain(text);
  };

  const parser = new Parser(
    {
      onopentag(tag, attributes) {
        const name = tag.toLowerCase();
        names ??= new Set(name in ENTRY_NAMES ? [ENTRY_NAMES[name]!] : ["item", "entry"]);
        if (draft === null) {
          if (names.has(name) && items++ < MAX_ITEMS)
            draft = { title: "", author: "", published: "", addresses: [], contents: {} };
          return;
        }
        if (field !== null) {
          inside++;
          nested = name;
          const { href } = attributes;
          if (form === "xhtml") add(`<${name}${href === undefined ? "" : ` href="${escapeHtml(href)}"`}>`);
          return;
        }
        if ((name === "link" || name === "atom:link") && attributes["href"] !== undefined) {
          if ((attributes["rel"] ?? "alternate") === "alternate") draft.addresses.push(attributes["href"]);
          return;
        }
        if (!isField(name)) return;
        field = name;
        value = "";
        inside = 0;
        const type = attributes["type"] ?? "html";
        form = type === "xhtml" ? "xhtml" : /^text(?:\/plain)?$/.test(type) ? "text" : "html";
      },
      ontext: (text) => {
        if (draft === null || field === null) return;
        // Beside its name an Atom author has an address and a page.
        if (field === "author" && inside > 0 && nested !== "name") return;
        add(form === "xhtml" ? escapeHtml(text) : text);
      },
      onclosetag(tag) {
        const name = tag.toLowerCase();
        if (draft === null) return;
        if (field !== null) {
          if (inside > 0) {
            inside--;
            if (form === "xhtml") add(`</${name}>`);
            return;
          }
          finish();
          field = null;
          return;
        }
        if (names?.has(name) !== true) return;
        onEntry(draft);
        draft = null;
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.write(feed);
  parser.end();
}

function itemOf(draft: Draft, { addresses, title }: FeedWish): FeedItem | null {
  const exact = draft.addresses.some((text) => addresses.includes(addressOf(text) ?? ""));
  const alike = title !== null && draft.title !== "" && isSameTitle(draft.title, title);
  if (!exact && !alike) return null;
  const html = Object.values(draft.contents).toSorted((a, b) => b.length - a.length)[0] ?? "";
  return {
    exact,
    title: draft.title || null,
    author: draft.author || null,
    published: draft.published || null,
    html: /<[a-z]/i.test(html) ? html : paragraphs(html),
  };
}

const paragraphs = (text: string): string =>
  text
    .split(/\n\s*\n/)
    .map((part) => `<p>${escapeHtml(part.trim())}</p>`)
    .join("");

/** A title may be escaped HTML. */
const plain = (text: string): string =>
  text
    .replaceAll(/<[^<>]{0,500}>/g, "")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, MAX_SHORT_CHARS);

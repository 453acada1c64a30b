/**
 * Reads the XML of a sitemap, a sitemap index, RSS or Atom, piece by piece. It goes on behind most mistakes and says what it
 * saw: an entry that the end of the file cuts is left out. Names are compared without prefix and case, because files use
 * many namespaces; `image:loc` and its like are told apart by the element that they stand in.
 */
import { Parser } from "htmlparser2";
import { parseUrl } from "../../../lib/web/url.ts";
import type { SitemapError } from "../../../../schemas/sites.ts";
import { MAX_DEPTH, MAX_PART_CHARS, MAX_WARNINGS, type SitemapEntry, type SitemapKind } from "./sitemap.ts";

/** By the name of the first element. */
const KINDS: Readonly<Record<string, SitemapKind>> = {
  urlset: "urlset",
  url: "urlset",
  sitemapindex: "index",
  sitemap: "index",
  rss: "rss",
  rdf: "rss",
  feed: "atom",
};

const ENTRY_KIND: Readonly<Record<string, SitemapEntry["kind"]>> = {
  url: "page",
  item: "page",
  entry: "page",
  sitemap: "sitemap",
};

type FieldName = "address" | "guid" | "time" | "title";
/** Fields that stand directly in an entry. */
const FIELDS: Readonly<Record<string, FieldName>> = {
  loc: "address",
  link: "address",
  guid: "guid",
  lastmod: "time",
  pubdate: "time",
  date: "time",
  published: "time",
  updated: "time",
  title: "title",
};

/** Longer values are cut: no address may be longer. */
const MAX_VALUE_CHARS = 8_193;
const MAX_TITLE_CHARS = 2_000;

interface Draft {
  readonly kind: SitemapEntry["kind"];
  readonly addresses: string[];
  readonly translations: string[];
  /** Text beside its elements: some indexes have their addresses there. */
  bare: string;
  guid: string;
  time: string;
  title: string;
}

export interface XmlSitemap {
  /** False: it wants no more. */
  readonly write: (text: string) => boolean;
  readonly end: () => void;
  readonly kind: () => SitemapKind | null;
  readonly error: () => SitemapError | null;
  readonly warnings: () => readonly string[];
}

/** `onEntry` answers whether more entries are wanted. `base`: where the file was read. */
export function xmlSitemap(base: URL, onEntry: (entry: SitemapEntry) => boolean): XmlSitemap {
  const document = new SitemapDocument(base, onEntry);
  const parser = new Parser(
    {
      onopentag: (name, attributes) => document.open(name, attributes),
      ontext: (text) => document.text(text),
      onclosetag: (name, isImplied) => document.close(localName(name), isImplied),
    },
    { xmlMode: true, decodeEntities: true },
  );
  let written = 0;
  return {
    write(text) {
      if (document.isOver) return false;
      parser.write(text);
      written += text.length;
      if (written - parser.endIndex > MAX_PART_CHARS)
        document.fail("malformed", `A tag or a section is longer than ${MAX_PART_CHARS} characters`);
      return !document.isOver;
    },
    end() {
      document.end();
      parser.end();
    },
    kind: () => document.kind,
    error: () => document.error,
    warnings: () => [...document.warnings],
  };
}

const localName = (name: string): string => name.slice(name.indexOf(":") + 1).toLowerCase();

class SitemapDocument {
  readonly #base: URL;
  readonly #onEntry: (entry: SitemapEntry) => boolean;
  readonly #path: string[] = [];
  readonly warnings = new Set<string>();
  kind: SitemapKind | null = null;
  error: SitemapError | null = null;
  isOver = false;
  #draft: Draft | null = null;
  /** Elements open at the entry's own. */
  #entry_depth = 0;
  #field: FieldName | null = null;
  #value = "";
  /** Nothing came since the last element was opened. */
  #is_empty = false;

  constructor(base: URL, onEntry: (entry: SitemapEntry) => boolean) {
    this.#base = base;
    this.#onEntry = onEntry;
  }

  open(written_name: string, attributes: Readonly<Record<string, string>>): void {
    if (this.isOver) return;
    const name = localName(written_name);
    if (this.kind === null && !this.#begin(name)) return;
    if (this.#path.length >= MAX_DEPTH)
      return this.fail("malformed", `More than ${MAX_DEPTH} elements are open inside each other`);
    if (this.#field !== null && (this.#field === "address" || name in ENTRY_KIND)) {
      this.#warn(`"${this.#path.at(-1)}" is not closed before "${name}"`);
      this.#endField();
      this.#path.pop();
    }
    const opens = this.#opensEntry(name);
    if (opens !== null) {
      if (this.#draft) this.#warn(`An entry is not closed before the next one`);
      this.#endEntry();
      this.#draft = { kind: opens, addresses: [], translations: [], bare: "", guid: "", time: "", title: "" };
      this.#entry_depth = this.#path.length + 1;
    } else if (this.#draft) this.#openField(name, attributes);
    this.#path.push(name);
    this.#is_empty = true;
  }

  #begin(name: string): boolean {
    this.kind = KINDS[name] ?? null;
    if (this.kind === null) this.fail("not_a_sitemap", `Its first element is "${name.slice(0, 50)}"`);
    return this.kind !== null;
  }

  /** An entry stands in no other one, unless that one was not closed: then it has its address already. */
  #opensEntry(name: string): SitemapEntry["kind"] | null {
    const isFeed = this.kind === "rss" || this.kind === "atom";
    if (isFeed !== (name === "item" || name === "entry")) return null;
    return ENTRY_KIND[name] ?? null;
  }

  #openField(name: string, attributes: Readonly<Record<string, string>>): void {
    const draft = this.#draft!;
    const depth = this.#path.length;
    const isDirect = depth === this.#entry_depth;
    if (name === "link" && attributes["href"] !== undefined) {
      const rel = (attributes["rel"] ?? "alternate").toLowerCase();
      const isTranslation = attributes["hreflang"] !== undefined && this.kind === "urlset";
      if (rel === "alternate" && isDirect)
        (isTranslation ? draft.translations : draft.addresses).push(attributes["href"]);
      return;
    }
    const field = FIELDS[name] ?? null;
    const isNewsTitle = field === "title" && this.#path.at(-1) === "news";
    if (field === null || this.#field !== null || !(isDirect || isNewsTitle)) return;
    this.#field = field;
    this.#value = "";
  }

  text(text: string): void {
    this.#is_empty = false;
    if (this.#field !== null) {
      if (this.#value.length < MAX_VALUE_CHARS) this.#value += text;
    } else if (
      this.#path.length === this.#entry_depth &&
      (this.#draft?.bare.length ?? Infinity) < MAX_VALUE_CHARS
    )
      this.#draft!.bare += text;
  }

  close(name: string, isImplied: boolean): void {
    if (this.isOver) return;
    const at = this.#path.lastIndexOf(name);
    if (at === -1) return;
    // The parser implies the end of <link/>, too.
    if (isImplied && !(this.#is_empty && at === this.#path.length - 1)) this.#warn(`"${name}" is not closed`);
    if (this.#field !== null && FIELDS[this.#path.at(-1)!] === this.#field && at === this.#path.length - 1)
      this.#endField();
    this.#is_empty = false;
    this.#path.length = at;
    if (this.#draft && at < this.#entry_depth) this.#endEntry();
  }

  #endField(): void {
    const value = this.#value.trim().slice(0, MAX_VALUE_CHARS);
    const draft = this.#draft!;
    if (value !== "")
      switch (this.#field!) {
        case "address":
          draft.addresses.push(value);
          break;
        case "guid":
          // Only one that is absolute is an address for certain, whatever isPermaLink says.
          if (/^https?:/i.test(value)) draft.guid ||= value;
          break;
        case "time":
          draft.time ||= value.slice(0, 100);
          break;
        case "title":
          draft.title ||= value.replaceAll(/\s+/g, " ").slice(0, MAX_TITLE_CHARS);
      }
    this.#field = null;
  }

  #endEntry(): void {
    const draft = this.#draft;
    if (this.#field !== null) this.#endField();
    this.#draft = null;
    if (draft === null) return;
    const written = draft.addresses[0] ?? (draft.guid || draft.bare.trim());
    if (written === "") return this.#warn("An entry has no address");
    const entry = { kind: draft.kind, lastmod: timeOf(draft.time), title: draft.title || null };
    for (const [n, text] of [written, ...draft.translations].entries()) {
      const url = parseUrl(text, this.#base);
      if (url === null) this.#warn(`"${text.slice(0, 100)}" is no http or https address`);
      else if (!this.isOver) this.isOver = !this.#onEntry({ ...entry, url: url.href, is_translation: n > 0 });
    }
  }

  end(): void {
    if (this.isOver) return;
    if (this.kind === null) this.fail("not_a_sitemap", "It has no element");
    else if (this.#path.length > 0) this.fail("malformed", `It ends inside "${this.#path.at(-1)}"`);
  }

  fail(error: SitemapError, sentence: string): void {
    this.error ??= error;
    this.#warn(sentence);
    this.isOver = true;
  }

  #warn(sentence: string): void {
    if (this.warnings.size < MAX_WARNINGS) this.warnings.add(sentence);
  }
}

/** ISO 8601 dates stay as they are, since a date without a time is no moment; other forms become one. */
export function timeOf(written: string): string | null {
  if (/^\d{4}(?:-\d\d(?:-\d\d)?)?$/.test(written)) return written;
  const time_ms = Date.parse(written);
  return Number.isNaN(time_ms) ? null : new Date(time_ms).toISOString();
}

/** Entries of a sitemap or a feed, and the limits of a file and of files that name each other. */
import type { SitemapError } from "../../../../schemas/sites.ts";

export const SITEMAP_KINDS = ["urlset", "index", "rss", "atom", "text"] as const;
export type SitemapKind = (typeof SITEMAP_KINDS)[number];

export interface SitemapEntry {
  /** Absolute, http or https. */
  readonly url: string;
  /** A page, or another sitemap of an index. */
  readonly kind: "page" | "sitemap";
  /** ISO 8601 as far as the file's own text can be read; null: none. */
  readonly lastmod: string | null;
  readonly title: string | null;
  /** Named by another entry as the same page in another language; not counted as an entry of the file. */
  readonly is_translation: boolean;
}

export interface SitemapSummary {
  /** Null: the file is no sitemap. */
  readonly kind: SitemapKind | null;
  readonly entries: number;
  /** `not_a_sitemap`, `too_large`, `malformed`, `too_slow`; what was read before it counts. Null: it was read to its end. */
  readonly error: SitemapError | null;
  /** Mistakes of a file that could be read, as sentences, at most MAX_WARNINGS. */
  readonly warnings: readonly string[];
}

/** Limit of a file, uncompressed: the protocol's own (sitemaps.org). */
export const MAX_SITEMAP_BYTES = 52_428_800;
/** Limit of a file: twice the protocol's, because large sites exceed it. */
export const MAX_SITEMAP_ENTRIES = 100_000;
/** Elements inside each other: sitemaps and feeds have six. */
export const MAX_DEPTH = 100;
/** Characters of a tag, comment or CDATA section, which the parser holds in memory as a whole. */
export const MAX_PART_CHARS = 2 * 2 ** 20;
export const MAX_WARNINGS = 10;
/** Sitemaps below each other: other readers allow 10, broken sites use all of them. */
export const MAX_SITEMAP_LEVELS = 5;

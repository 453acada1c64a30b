/**
 * The features of a line: its words, its place in the page, its neighbours, and the kind of page. No feature names a
 * site, and the only vocabulary is that of the word lists; score.ts weighs the features.
 */
import { codeAt } from "../content/code-at.ts";
import { extraChars, FIRST_DENSE } from "../content/comparable-chars.ts";
import { isLdType, type LinkedData } from "./jsonld.ts";
import type { Line } from "./lines.ts";
import {
  type Choice,
  isHeading,
  NAMED_BESIDE,
  NAMED_CAPTION,
  NAMED_COMMENT,
  NAMED_STRONG,
  NAMED_TRIMMING,
  NAMED_WEAK,
  type Page,
} from "./marks.ts";
import type { Groups } from "./groups.ts";
import { isCommonEnglish } from "./language.ts";
import { isProse, PEER_FEATURES, peerFeatures, type Peers } from "./peers.ts";
import type { SharedColumns } from "./score.ts";
import type { Tree } from "./tree.ts";

/**
 * Counts and distances saturate where the training pages still have enough lines to tell. Without these bounds a line far
 * down a long document looks like a footer, because only short pages were learned from: an article of 300 paragraphs lost
 * its last third.
 */
const NEAR_CHARS = 4_000;
const NEAR_LINES = 60;
const HEADING_LINES = 40;
const GROUP_MEMBERS = 30;
const REPEATS = 8;
const PAGE_CHARS = 30_000;
const PAGE_COUNT = 60;
const signedUpTo = (value: number, most: number): number => Math.max(-most, Math.min(most, value));
const logUpTo = (value: number, most: number): number => Math.log1p(Math.min(value, most));

/** Features of the whole page: its declarations, and how often it uses elements that are typical of a kind of page. */
export interface Traits {
  readonly values: readonly number[];
}

const PRICE =
  /(?:[$€£¥₹]|\b(?:USD|EUR|GBP|CHF|AUD|CAD)\b)\s?\d|\d\s?(?:[$€£¥₹]|\b(?:USD|EUR|GBP|CHF|kr|zł)\b)/;
const SENTENCE_END = /[.!?…。！？]["”»')\]]?$/;
const LD_KINDS = [
  /Article$|Posting$/,
  /^(?:Product|ProductGroup|IndividualProduct)$/,
  /^(?:ItemList|CollectionPage|OfferCatalog)$/,
  /^(?:DiscussionForumPosting|QAPage)$/,
  /^FAQPage$/,
  /^(?:LocalBusiness|Service|Course|SoftwareApplication|ProfessionalService|MedicalBusiness|Organization)$/,
] as const;

const FORUM_NAMES =
  /\b(?:phpbb|vbulletin|xenforo|discourse|invision|mybb|vanilla|flarum|discussion|thread|topic|question|answer|forum)/i;
const DOC_GENERATORS =
  /docusaurus|sphinx|mkdocs|gitbook|vuepress|vitepress|readthedocs|hugo.{0,40}docs|antora|doxygen|javadoc|mdbook|nextra|mintlify|confluence/i;

export const TRAIT_NAMES = [
  "text", "mass_share", "link_share", "mean_block", "article_share", "article_chars", "og_article", "og_product",
  "ld_article", "ld_product", "ld_list", "ld_forum", "ld_faq", "ld_business", "published_meta", "prices", "pre",
  "list_items", "headings", "paragraphs", "cards", "card_text", "times", "inputs", "images", "tables", "url_depth", "url_date",
  "url_words", "forum_url", "forum_names", "doc_generator", "doc_url", "shop_url", "blog_url", "comments", "biggest_group", "group_mass", "english",
  "dense", "foreign",
] as const; // prettier-ignore

export const traitOf = ({ values }: Traits, name: (typeof TRAIT_NAMES)[number]): number =>
  values[TRAIT_NAMES.indexOf(name)] ?? 0;

const SAMPLED_WORDS = 600;
const PROSE_NODE_CHARS = 60;

const SAMPLED_CHARS = 4_000;
/** Characters of the Latin script, with their signs, end below the Greek ones. */
const FIRST_FOREIGN = 0x370;
const LAST_LETTER = 0xfaff;

/** Shares of the characters of a page's longer texts in scripts without spaces, and in other scripts than Latin: few of the word lists hold there. */
function scriptShares({ tree, hidden }: Page): [dense: number, foreign: number] {
  let [all, dense, foreign] = [0, 0, 0];
  for (let i = 1; i < tree.tag.length && all < SAMPLED_CHARS; i += 1) {
    if (tree.tag[i] !== "#text" || tree.chars[i]! < PROSE_NODE_CHARS || hidden[i]) continue;
    const text = tree.text[i]!;
    const length = Math.min(text.length, 1_000);
    all += length;
    for (let at = 0; at < length; at += 1) {
      const unit = codeAt(text, at);
      if (unit < FIRST_FOREIGN) continue;
      if (extraChars(unit) > 0) dense += 1;
      // General punctuation and symbols are of no script.
      else if ((unit < 0x2000 || unit >= FIRST_DENSE) && unit <= LAST_LETTER) foreign += 1;
    }
  }
  return [dense / (all || 1), (dense + foreign) / (all || 1)];
}

/** The share of the commonest English words in the longer texts of a page: the word lists are mostly English, and mean less elsewhere. */
function englishShare({ tree, hidden }: Page): number {
  let words = 0;
  let english = 0;
  for (let i = 1; i < tree.tag.length && words < SAMPLED_WORDS; i += 1) {
    if (tree.tag[i] !== "#text" || tree.chars[i]! < PROSE_NODE_CHARS || hidden[i]) continue;
    for (const word of tree.text[i]!.slice(0, 1_000).split(/\s+/)) {
      words += 1;
      if (isCommonEnglish(word)) english += 1;
    }
  }
  return english / (words || 1);
}

export function readTraits(
  page: Page,
  linked: LinkedData,
  groups: Groups,
  chosen: Choice,
  proseChars: number,
  url: string,
): Traits {
  const { tree } = page;
  const text = page.text[0]! || 1;
  const counts = new Map<string, number>();
  let prices = 0;
  let comments = 0;
  let forum = 0;
  for (let i = 1; i < tree.tag.length; i += 1) {
    const tag = tree.tag[i]!;
    if (tag !== "#text") {
      counts.set(tag, (counts.get(tag) ?? 0) + 1);
      if (page.flags[i]! & NAMED_COMMENT && page.text[i]! > 40) comments += 1;
      if (forum < 50) {
        const name = tree.attributes[i]?.["class"];
        if (name && name.length < 200 && FORUM_NAMES.test(name)) forum += 1;
      }
    } else if (tree.chars[i]! < 40 && PRICE.test(tree.text[i]!)) prices += 1;
  }
  const count = (...tags: string[]): number =>
    logUpTo(
      tags.reduce((sum, tag) => sum + (counts.get(tag) ?? 0), 0),
      PAGE_COUNT,
    );
  const meta = (name: string): string => tree.metas.find(([key]) => key === name)?.[1] ?? "";
  const ogType = meta("og:type").toLowerCase();
  const ld = LD_KINDS.map((types) => (linked.nodes.some((node) => isLdType(node, types)) ? 1 : 0));
  let path = url;
  try {
    const parsed = new URL(url);
    path = `${parsed.hostname}${parsed.pathname}`;
  } catch {
    // An invalid address has no features.
  }
  const lower = path.toLowerCase();
  let biggest = 0;
  let biggestMass = 0;
  let cards = 0;
  let cardText = 0;
  for (const group of groups.list) {
    if (group.text > biggest) {
      biggest = group.text;
      biggestMass = group.mass / (group.text || 1);
    }
    if (group.headings >= 3 || group.images >= 3) {
      cards = Math.max(cards, group.count);
      cardText = Math.max(cardText, group.text);
    }
  }
  const segments = lower.split("/").filter((segment) => segment !== "");
  const generator = meta("generator");
  return {
    values: [
      logUpTo(text, PAGE_CHARS), page.mass[0]! / text, page.link[0]! / text,
      text / (1 + (counts.get("p") ?? 0) + (counts.get("li") ?? 0) + (counts.get("div") ?? 0)),
      chosen.mass / (chosen.mass_all || 1), logUpTo(proseChars, PAGE_CHARS),
      ogType === "article" ? 1 : 0, ogType.includes("product") ? 1 : 0, ...ld,
      meta("article:published_time") === "" ? 0 : 1, logUpTo(prices, PAGE_COUNT), count("pre", "code"), count("li"),
      count("h2", "h3", "h4"), count("p"), logUpTo(cards, PAGE_COUNT), cardText / text, count("time"), count("input", "button"),
      count("img", "picture"), count("tr"), segments.length, /\/(?:19|20)\d\d\/\d|\/(?:19|20)\d\d-\d\d/.test(lower) ? 1 : 0,
      (segments.at(-1) ?? "").split(/[-_]/).length,
      /forum|community|thread|topic|question|discuss|answers|viewtopic|showthread/.test(lower) ? 1 : 0,
      logUpTo(forum, PAGE_COUNT), DOC_GENERATORS.test(generator) ? 1 : 0,
      /\bdocs?\b|documentation|manual|reference|guide|\bapi\b|tutorial|wiki|help|learn|glossary/.test(lower) ? 1 : 0,
      /product|\/p\/|\/dp\/|shop|store|item|collection|categor|\/c\/|catalog/.test(lower) ? (/product|\/p\/|\/dp\/|item/.test(lower) ? 2 : 1) : 0,
      /blog|news|article|post|story|insight/.test(lower) ? 1 : 0,
      logUpTo(comments, PAGE_COUNT), biggest / text, biggestMass, englishShare(page), ...scriptShares(page),
    ],
  }; // prettier-ignore
}

const TAG_BITS: Readonly<Record<string, number>> = {
  nav: 1, header: 2, footer: 4, aside: 8, form: 16, main: 32, article: 64, button: 128, table: 256, ul: 512, ol: 512, dl: 1024, blockquote: 2048, details: 4096, label: 8192, figure: 16384,
}; // prettier-ignore
const ROLE_BITS: Readonly<Record<string, number>> = {
  navigation: 1, banner: 2, contentinfo: 4, complementary: 8, search: 16, main: 32, article: 64, button: 128, table: 256,
}; // prettier-ignore

/** Facts that every node inherits from its ancestors, so that a line reads them in one step. */
interface Inherited {
  readonly bits: Int32Array;
  readonly trimming: Int32Array;
  readonly beside: Int32Array;
  readonly comment: Int32Array;
  readonly strong: Int32Array;
  readonly weak: Int32Array;
  readonly hidden: Int8Array;
  readonly small: Int32Array;
  readonly large: Int32Array;
  readonly quarter: Int32Array;
}

function inherit(page: Page): Inherited {
  const { tree, flags } = page;
  const count = tree.tag.length;
  const ints = (): Int32Array => new Int32Array(count).fill(-1);
  const bits = new Int32Array(count);
  const hidden = new Int8Array(count);
  const [trimming, beside, comment, strong, weak, small, large, quarter] = [
    ints(),
    ints(),
    ints(),
    ints(),
    ints(),
    ints(),
    ints(),
    ints(),
  ] as const;
  const quarterChars = 0.25 * page.text[0]!;
  small[0] = large[0] = quarter[0] = 0;
  for (let i = 1; i < count; i += 1) {
    const up = tree.parent[i]!;
    const role = tree.attributes[i]?.["role"];
    bits[i] = bits[up]! | (TAG_BITS[tree.tag[i]!] ?? 0) | (role ? (ROLE_BITS[role] ?? 0) : 0);
    hidden[i] = page.hidden[i]! || hidden[up]!;
    const flag = flags[i]!;
    trimming[i] = flag & NAMED_TRIMMING ? i : trimming[up]!;
    beside[i] = flag & NAMED_BESIDE ? i : beside[up]!;
    comment[i] = flag & NAMED_COMMENT ? i : comment[up]!;
    strong[i] = flag & NAMED_STRONG ? i : strong[up]!;
    weak[i] = flag & NAMED_WEAK ? i : weak[up]!;
    const text = page.text[i]!;
    small[i] = text >= 300 ? i : small[up]!;
    large[i] = text >= 1_500 ? i : large[up]!;
    quarter[i] = text >= quarterChars ? i : quarter[up]!;
  }
  return { bits, trimming, beside, comment, strong, weak, hidden, small, large, quarter };
}

/** Bits of ASCII characters. A table, because a branch that turns at each end of a word is mostly mispredicted. */
const [UPPER, DIGIT, COMMA, INK] = [1, 2, 4, 8] as const;
const CHAR_BITS = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  return (
    (/[A-Z]/.test(char) ? UPPER : 0) |
    (/[0-9]/.test(char) ? DIGIT : 0) |
    (char === "," ? COMMA : 0) |
    (code > 32 ? INK : 0)
  );
});
const foreignBits = (code: number): number =>
  code === 0xa0 ? 0 : code === 0xff0c || code === 0x3001 ? COMMA | INK : INK;

function letters(text: string): { upper: number; digits: number; commas: number; words: number } {
  let upper = 0;
  let digits = 0;
  let commas = 0;
  let words = 0;
  let dense = 0;
  let inside = 0;
  const length = Math.min(text.length, 400);
  for (let i = 0; i < length; i += 1) {
    const code = codeAt(text, i);
    const bits = code < 128 ? CHAR_BITS[code]! : foreignBits(code);
    upper += bits & UPPER;
    digits += bits & DIGIT;
    commas += bits & COMMA;
    words += bits & ~inside & INK;
    inside = bits;
    if (code >= FIRST_DENSE) dense += extraChars(code);
  }
  // A word of Chinese is about two characters, which count four beyond theirs.
  return {
    upper: upper / UPPER,
    digits: digits / DIGIT,
    commas: commas / COMMA,
    words: words / INK + Math.floor(dense / 4),
  };
}

/** Short lines by their purpose; each pattern is one feature. Mostly English, as most controls are. */
const SHORT_LINES = [
  // A price and nothing else.
  /^(?:from |now |was |sale(?: price)? |regular price |price:? )*[$€£¥₹]?\s?\d[\d.,]*\s?(?:[$€£¥₹]|usd|eur|gbp|kr)?(?: ?[-–] ?[$€£¥₹]?\s?\d[\d.,]*)?$/i,
  /add to (?:cart|bag|basket|wish ?list|favou?rites|compare)|buy (?:it )?now|sold out|in stock|out of stock|notify me|quick (?:view|shop|buy)|quantity|size (?:guide|chart)|choose (?:an? )?option|select (?:a )?(?:size|colou?r|option)|shop now|view (?:cart|product|details)|checkout|pre-?order/i,
  /shipping|delivery|returns?\b|refund|warranty|pay(?:ment|pal)|klarna|afterpay|gift card|guarantee/i,
  /\breviews?\b|\bratings?\b|\bstars?\b|out of 5|verified|helpful\?|\d\.\d ?\/ ?5/i,
  /^(?:.{0,25}\b)?(?:\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d+ (?:seconds?|minutes?|mins?|hours?|days?|weeks?|months?|years?|yrs?|[hdwmy]) ago|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}|\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*\.?,? \d{4}|today|yesterday)\b.{0,25}$|^.{0,12}(?:19|20)\d\d ?[-./年] ?\d{1,2} ?[-./月] ?\d{1,2}.{0,25}$/i,
  /^(?:joined|posts?|messages|reputation|location|registered|join date|threads|reactions?(?: score)?|points|likes?|thanks|rank|member since|trophies|offline|online|badges?|gender)\b/i,
  /^(?:reply|quote|report|like|upvote|downvote|share|follow|flag|edit(?:ed)?|improve this|last edited|click to expand|permalink|link|copy link|#\d+|\d+ repl(?:y|ies)|solved|best answer|senior member|junior member|moderator|administrator|well-known member|new member|active member|member|vip|op)\b.{0,20}$/i,
  /cookie|privacy|terms|copyright|all rights reserved|©|legal|accessibility/i,
  /sort by|filter|clear all|apply|show(?:ing)? \d|results?\b|\bper page\b|page \d|load more|view all|see all|next|previous/i,
  /sign (?:up|in)|log ?in|register|subscribe|newsletter|your email|create (?:an )?account|download|get started|contact us|book (?:now|a)|request a|free trial|schedule a|learn more|call (?:us|now)/i,
  /^by\b|^written by|^posted by|^author/i,
  /^[\d\s.,:%+/#()-]+$/,
  /\?$/,
  /^[^a-z]*[A-Z][^a-z]*$/,
  /^[\p{Lu}\d][^.!?]*:$/u,
  /^[^:]{2,40}:\s?\S/,
] as const;
const SHORT_CHARS_MAX = 120;

const WINDOW = 6;

export interface Context {
  readonly lines: readonly Line[];
  readonly groups: Groups;
  readonly traits: Traits;
  readonly chosen: Choice;
  readonly whole: Choice;
  /** Lines that the rules for articles select. */
  readonly prose: ReadonlySet<number>;
  readonly title: string;
  readonly peers: Peers;
}

export interface Features {
  /** `width` numbers for each line. */
  readonly rows: Float32Array;
  readonly width: number;
  /** The columns of the page's traits. */
  readonly shared: SharedColumns;
}

export function featuresOf(page: Page, context: Context): Features {
  const { tree } = page;
  const { lines, groups, traits, chosen, whole, prose } = context;
  const above = inherit(page);
  const total = page.text[0]! || 1;
  const totalMass = page.mass[0]! || 1;
  const count = lines.length;
  const lengths = lines.map((line) => Math.log1p(line.chars));
  const ended = lines.map((line) => (SENTENCE_END.test(line.text) ? 1 : 0));
  const repeats = repeatsOf(lines);
  const isProseLine = Uint8Array.from(lines, (_, i) => (prose.has(i) ? 1 : 0));
  const before = new Float64Array(count + 1);
  const linksBefore = new Float64Array(count + 1);
  const proseBefore = new Float64Array(count + 1);
  for (let i = 0; i < count; i += 1) {
    const line = lines[i]!;
    before[i + 1] = before[i]! + line.chars;
    linksBefore[i + 1] = linksBefore[i]! + line.chars * line.link;
    proseBefore[i + 1] = proseBefore[i]! + (isProse(line) ? line.chars : 0);
  }
  const all = before[count]! || 1;
  let first = -1;
  let last = -1;
  for (let i = 0; i < count; i += 1)
    if (isProseLine[i]) {
      if (first < 0) first = i;
      last = i;
    }
  const h1 = lines.findIndex((line) => line.tag === "h1");
  const droppedBy = inheritMarks(tree, chosen.dropped);
  const droppedWhole = inheritMarks(tree, whole.dropped);
  const title = context.title.toLowerCase();
  const writePeerFeatures = peerFeatures({ lines, groups, prose, title, peers: context.peers });
  const traitValues = Float32Array.from(traits.values);
  let rows = new Float32Array(0);
  let width = 0;
  let shared: SharedColumns = { from: 0, to: 0 };
  let headingAt = -1;
  let headingKind = 0;
  let headingLevel = 0;
  const share = (node: number): number => (node < 0 ? -1 : page.text[node]! / total);
  const linkShare = (node: number): number => (node < 0 ? -1 : page.link[node]! / (page.text[node]! || 1));
  const massShare = (node: number): number => (node < 0 ? -1 : page.mass[node]! / totalMass);
  const density = (node: number): number => (node < 0 ? -1 : page.mass[node]! / (page.text[node]! || 1));
  for (let i = 0; i < count; i += 1) {
    const line = lines[i]!;
    const { node, tag, text } = line;
    const size = Math.min(text.length, 400) || 1;
    const { upper, digits, commas, words } = letters(text);
    const heading = isHeading(tag) ? Number(tag[1]) : 0;
    const { junk, ending } = line;
    if (heading > 0 || ending) {
      headingAt = i;
      headingKind = ending ? 1 : junk ? 2 : 0;
      headingLevel = heading;
    }
    const repeat = repeats[i]!;
    const nth = repeat.seen;
    repeat.seen += 1;
    const bits = above.bits[node]!;
    const group = groups.list[groups.of[node]!];
    const member = groups.member[node]!;
    const outer = member < 0 ? -1 : groups.of[tree.parent[member]!]!;
    const outerGroup = groups.list[outer];
    const [low, high] = [Math.max(0, i - WINDOW), Math.min(count, i + WINDOW + 1)];
    const near = before[high]! - before[low]! || 1;
    const [wide, far] = [Math.max(0, i - 20), Math.min(count, i + 21)];
    const nearWide = before[far]! - before[wide]! || 1;
    const lower = text.length < 300 && text.length <= title.length ? text.toLowerCase() : "";
    const values = [
      lengths[i]!, words, line.link, ended[i]! ? 1 : /[:;,]$/.test(text) ? 0.5 : 0,
      tag === "p" ? 1 : 0, tag === "li" ? 1 : 0, tag === "td" || tag === "th" || tag === "tr" ? 1 : 0, tag === "dt" || tag === "dd" ? 1 : 0,
      tag === "pre" ? 1 : 0, tag === "div" ? 1 : 0, tag === "button" || tag === "label" || tag === "option" ? 1 : 0, heading,
      commas / size, digits / size, upper / size, digits > 0 && text.length < 200 && PRICE.test(text) ? 1 : 0,
      junk ? 1 : 0, ending ? 1 : 0, line.pointer ? 1 : 0, Math.min(repeat.count, REPEATS), Math.min(nth, REPEATS), size / (words || 1),
      lower !== "" && title !== "" && title.includes(lower) ? lower.length / title.length : 0,
      bits & 1 ? 1 : 0, bits & 2 ? 1 : 0, bits & 4 ? 1 : 0, bits & 8 ? 1 : 0, bits & 16 ? 1 : 0, bits & 32 ? 1 : 0, bits & 64 ? 1 : 0, bits & 128 ? 1 : 0,
      bits & 256 ? 1 : 0, bits & 512 ? 1 : 0, bits & 2048 ? 1 : 0, bits & (4096 | 8192) ? 1 : 0, bits & 16384 ? 1 : 0,
      above.hidden[node]!, share(above.trimming[node]!), share(above.beside[node]!), share(above.comment[node]!), massShare(above.strong[node]!), massShare(above.weak[node]!),
      page.flags[node]! & NAMED_CAPTION ? 1 : 0,
      droppedBy[node]! ? 1 : 0, isProseLine[i]!, droppedWhole[node]! ? 1 : 0,
      node >= chosen.root && node < tree.end[chosen.root]! ? 1 : 0, node >= whole.root && node < tree.end[whole.root]! ? 1 : 0,
      first < 0 ? -50 : Math.max(-50, Math.min(50, i - first)), first < 0 ? 50 : Math.max(-50, Math.min(50, i - last)),
      first < 0 ? 0 : signedUpTo(before[i]! - before[first]!, NEAR_CHARS), first < 0 ? 0 : signedUpTo(before[i]! - before[last]!, NEAR_CHARS),
      logUpTo(before[i]!, NEAR_CHARS), logUpTo(all - before[i]!, NEAR_CHARS), logUpTo(i, NEAR_LINES), logUpTo(count - i, NEAR_LINES), tree.depth[node]!,
      h1 < 0 ? -NEAR_LINES - 1 : Math.max(-NEAR_LINES, Math.min(NEAR_LINES, i - h1)),
      linkShare(above.small[node]!), density(above.small[node]!), Math.log1p(page.text[above.small[node]!]!),
      linkShare(above.large[node]!), density(above.large[node]!), share(above.large[node]!),
      linkShare(above.quarter[node]!), density(above.quarter[node]!), share(above.quarter[node]!),
      group ? logUpTo(group.count, GROUP_MEMBERS) : -1, group ? Math.log1p(group.text / group.count) : -1, group ? group.text / total : -1, group ? group.link / (group.text || 1) : -1,
      group ? group.mass / (group.text || 1) : -1, group ? group.headings / group.count : -1, group ? group.images / group.count : -1,
      outerGroup ? logUpTo(outerGroup.count, GROUP_MEMBERS) : -1, outerGroup ? outerGroup.text / total : -1, outerGroup ? outerGroup.link / (outerGroup.text || 1) : -1,
      member < 0 ? -1 : linkShare(member), member < 0 ? -1 : Math.log1p(page.text[member]!),
      (linksBefore[high]! - linksBefore[low]!) / near, (proseBefore[high]! - proseBefore[low]!) / near, Math.log1p(near / (high - low)),
      (linksBefore[far]! - linksBefore[wide]!) / nearWide, (proseBefore[far]! - proseBefore[wide]!) / nearWide, Math.log1p(nearWide / (far - wide)),
      headingAt < 0 ? HEADING_LINES : Math.min(HEADING_LINES, i - headingAt), headingKind, headingLevel,
      page.ownLink[node]! / (page.own[node]! || 1), Math.log1p(page.own[node]!),
    ]; // prettier-ignore
    if (rows.length === 0) {
      const from = values.length + SHORT_LINES.length + NEIGHBOURS.length * 5;
      shared = { from, to: from + traitValues.length };
      width = shared.to + PEER_FEATURES;
      rows = new Float32Array(count * width);
    }
    let at = i * width;
    rows.set(values, at);
    at += values.length;
    if (nth > 0) rows.copyWithin(at, repeat.short_lines_at, repeat.short_lines_at + SHORT_LINES.length);
    else if (text.length <= SHORT_CHARS_MAX)
      for (let k = 0; k < SHORT_LINES.length; k += 1) if (SHORT_LINES[k]!.test(text)) rows[at + k] = 1;
    repeat.short_lines_at = at;
    at += SHORT_LINES.length;
    for (const k of NEIGHBOURS) {
      const neighbour = lines[i + k];
      rows[at] = neighbour ? lengths[i + k]! : -1;
      rows[at + 1] = neighbour ? neighbour.link : -1;
      rows[at + 2] = neighbour ? ended[i + k]! : -1;
      rows[at + 3] = neighbour ? (neighbour.tag === tag ? 1 : 0) + (neighbour.node === node ? 1 : 0) : -1;
      rows[at + 4] = neighbour ? isProseLine[i + k]! : -1;
      at += 5;
    }
    rows.set(traitValues, at);
    writePeerFeatures(i, rows, at + traitValues.length);
  }
  return { rows, width, shared };
}

/** Lines of the same text. */
interface Repeat {
  count: number;
  /** How many of them have their row. */
  seen: number;
  /** Where the features of SHORT_LINES stand in the last of these rows. */
  short_lines_at: number;
}

function repeatsOf(lines: readonly Line[]): Repeat[] {
  const byText = new Map<string, Repeat>();
  return lines.map(({ text }) => {
    let repeat = byText.get(text);
    if (repeat === undefined) byText.set(text, (repeat = { count: 0, seen: 0, short_lines_at: 0 }));
    repeat.count += 1;
    return repeat;
  });
}

const NEIGHBOURS = [-2, -1, 1, 2] as const;

function inheritMarks(tree: Tree, marks: Uint8Array): Uint8Array {
  const inherited = Uint8Array.from(marks);
  for (let i = 1; i < inherited.length; i += 1) if (inherited[tree.parent[i]!]) inherited[i] = 1;
  return inherited;
}

/**
 * Finds the part of a page with its text: measures lengths and prose on the flat tree, marks boilerplate, and chooses a
 * node. Marks do not change the tree, so each reading of a page starts from the same arrays with its own marks.
 */
import { codeAt } from "../content/code-at.ts";
import { type Attributes, isBlock, nodesWithin, type Tree } from "./tree.ts";
import { BESIDE_ARTICLE, BODY_STRONG, BODY_WEAK, BUILDER, entries, TRIMMINGS } from "./words.ts";

export const NAMED_TRIMMING = 1;
export const NAMED_BESIDE = 2;
export const NAMED_STRONG = 4;
export const NAMED_WEAK = 8;
export const NAMED_BUILDER = 16;
export const NAMED_COMMENT = 32;
export const NAMED_CAPTION = 64;
export const NAMED_UNSEEN = 128;

const NAME_CHARS_MAX = 300;

const NAMES: readonly (readonly [flag: number, names: string])[] = [
  [NAMED_TRIMMING, TRIMMINGS],
  [NAMED_BESIDE, BESIDE_ARTICLE],
  [NAMED_STRONG, BODY_STRONG],
  [NAMED_WEAK, BODY_WEAK],
  [NAMED_BUILDER, BUILDER],
  [NAMED_COMMENT, "comment|comments|commentlist|reply|replies|respond|disqus|discussion|discussions"],
  [
    NAMED_UNSEEN,
    "sr only|screen reader text|visually hidden|visuallyhidden|screen reader|headerlink|header anchor|anchor link|hash link|lineno|linenos|line number|blob num",
  ],
  [NAMED_CAPTION, "caption|captions|credit|credits|figcaption|photo credit|image credit"],
];
const FLAGS_BY_NAME = new Map<string, number>();
/** How many words the longest name has that begins with a word. */
const WORDS_BY_FIRST = new Map<string, number>();
for (const [flag, names] of NAMES)
  for (const name of entries(names)) {
    FLAGS_BY_NAME.set(name, (FLAGS_BY_NAME.get(name) ?? 0) | flag);
    const [first, ...others] = name.split(" ") as [string, ...string[]];
    WORDS_BY_FIRST.set(first, Math.max(WORDS_BY_FIRST.get(first) ?? 0, 1 + others.length));
  }

const foreignNameWords = (name: string): string =>
  ` ${name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .replace(/[^a-z0-9\u00c0-\uffff]+/g, " ")
    .trim()} `;

/** "RelatedPosts__list-item" to " related posts list item ". Names in ASCII are read without patterns: a page has thousands. */
export function nameWords(name: string): string {
  const { length } = name;
  let words = " ";
  /** Where the word begins that is being read, or -1. */
  let start = -1;
  let isAfterSmall = false;
  for (let i = 0; i <= length; i += 1) {
    const code = i < length ? codeAt(name, i) : 32;
    if (code >= 0x80) return foreignNameWords(name);
    const isLarge = code >= 65 && code <= 90;
    const isSmall = (code >= 97 && code <= 122) || (code >= 48 && code <= 57);
    if (start >= 0 && ((!isLarge && !isSmall) || (isLarge && isAfterSmall))) {
      words += `${name.slice(start, i).toLowerCase()} `;
      start = -1;
    }
    if (start < 0 && (isLarge || isSmall)) start = i;
    isAfterSmall = isSmall;
  }
  return words === " " ? "  " : words;
}

/** Most names are: to ask is faster than to trim and cut thousands of them. */
function isTrimmed(name: string): boolean {
  const { length } = name;
  if (length === 0 || length > NAME_CHARS_MAX) return length === 0;
  const [first, last] = [codeAt(name, 0), codeAt(name, length - 1)];
  return first > 32 && first < 128 && last > 32 && last < 128;
}

function nameOf(attributes: Attributes): string {
  const { class: classes = "", id = "", role = "" } = attributes;
  const component = attributes["data-component"] ?? "";
  const test = attributes["data-testid"] ?? "";
  const name =
    id === "" && component === "" && test === "" && role === ""
      ? classes
      : `${classes} ${id} ${component} ${test} ${role}`;
  return isTrimmed(name) ? name : name.trim().slice(0, NAME_CHARS_MAX);
}

interface Named {
  readonly flags: number;
  readonly words: string;
}

function readSingle(single: string): Named {
  const words = nameWords(single);
  let built = false;
  let flags = 0;
  // Every run of words of the name.
  let next = 0;
  for (let start = 1; start < words.length; start = next + 1) {
    next = words.indexOf(" ", start);
    const longest = WORDS_BY_FIRST.get(words.slice(start, next)) ?? 0;
    for (let count = 0, end = next; count < longest && end > 0; count += 1) {
      const flag = FLAGS_BY_NAME.get(words.slice(start, end)) ?? 0;
      if (start === 1 && flag & NAMED_BUILDER) built = true;
      flags |= flag;
      end = words.indexOf(" ", end + 1);
    }
  }
  return { flags: built ? (flags & NAMED_TRIMMING) | NAMED_BUILDER : flags & ~NAMED_BUILDER, words };
}

/** By class, once for each page: the same few classes occur in hundreds of names. */
function readName(name: string, singles: Map<string, Named>): Named {
  let flags = 0;
  let all = " ";
  for (const single of name.split(/\s+/)) {
    let read = singles.get(single);
    if (read === undefined) singles.set(single, (read = readSingle(single)));
    flags |= read.flags;
    if (read.words.length > 2) all += read.words.slice(1);
  }
  return { flags, words: all };
}

export interface Names {
  /** The index of each node's name; 0 for none. */
  readonly of: Uint32Array;
  /** Class, id and role of each name, cut into words and padded with spaces; " " for none. */
  readonly words: readonly string[];
}

/** Whether a pattern finds a node's name. It is asked once for each name: a page has several times as many named nodes. */
export function namedLike({ of, words }: Names, pattern: RegExp): (node: number) => boolean {
  /** 0 for names that the pattern was not asked about. */
  const known = new Uint8Array(words.length);
  const [NO, YES] = [1, 2];
  known[0] = NO;
  return (node) => {
    const name = of[node]!;
    if (known[name] === 0) known[name] = pattern.test(words[name]!) ? YES : NO;
    return known[name] === YES;
  };
}

export interface Measures {
  /** Text, white space collapsed. */
  readonly text: Uint32Array;
  /** Text inside links. */
  readonly link: Uint32Array;
  /** Characters of text that looks like prose. */
  readonly mass: Float64Array;
  /** Text in the block itself and its inline elements. */
  readonly own: Uint32Array;
  readonly ownLink: Uint32Array;
}

export interface Page extends Measures {
  readonly tree: Tree;
  readonly flags: Uint8Array;
  readonly hidden: Uint8Array;
  readonly names: Names;
  /** Marks the content of noscript, unless the page has no other text. */
  readonly noscript: Uint8Array;
  /** The nearest block that contains an inline node or a text. */
  readonly block: Uint32Array;
}

const PROSE: Readonly<Record<string, readonly [minimum: number, weight: number]>> = {
  p: [25, 1],
  blockquote: [25, 1],
  pre: [25, 1],
  div: [50, 0.9],
  section: [50, 0.9],
  article: [50, 0.9],
  dd: [50, 0.9],
  center: [50, 0.9],
  main: [50, 0.9],
  body: [50, 0.9],
  details: [50, 0.9],
  td: [50, 0.6],
  li: [80, 0.5],
};

/** Children are added to their parents in one loop from the end, because a parent's index is below its children's. */
export function measure(tree: Tree, block: Uint32Array, dropped: Uint8Array): Measures {
  const count = tree.tag.length;
  const text = new Uint32Array(count);
  const link = new Uint32Array(count);
  const mass = new Float64Array(count);
  const own = new Uint32Array(count);
  const ownLink = new Uint32Array(count);
  for (let i = 0; i < count; i += 1) {
    if (dropped[i]) {
      i = tree.end[i]! - 1;
      continue;
    }
    const chars = tree.chars[i]!;
    if (chars === 0) continue;
    const up = block[i]!;
    text[i] = chars;
    own[up]! += chars;
    if (tree.linked[i]) {
      link[i] = chars;
      ownLink[up]! += chars;
    }
  }
  for (let i = count - 1; i > 0; i -= 1) {
    const size = own[i]!;
    if (size > 0) {
      const rule = PROSE[tree.tag[i]!];
      if (rule && size >= rule[0]) {
        const prose = size - 1.5 * ownLink[i]!;
        if (prose > 0.3 * size) mass[i]! += prose * rule[1];
      }
    }
    const up = tree.parent[i]!;
    text[up]! += text[i]!;
    link[up]! += link[i]!;
    mass[up]! += mass[i]!;
  }
  return { text, link, mass, own, ownLink };
}

const HIDDEN_STYLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;
/** Panels that open at a click: hidden at first, but text of the page. */
const PANEL =
  /(?:accordion|collaps|tab[-_ ]?(?:panel|pane|content)|panel|faq|answer|details|toggle|expand|read-?more|show-?more)/i;

const SENTENCES = new Set([
  "p",
  "li",
  "td",
  "th",
  "dd",
  "dt",
  "blockquote",
  "pre",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
]);

/** So many elements around a formula may hide it from visitors who see its picture. */
const FORMULA_LEVELS = 2;

/** Parts of a line that are not visible: hidden spans, words for screen readers, noscript. */
export function unseenInline(page: Page): Uint8Array {
  const { tree } = page;
  const dropped = Uint8Array.from(page.noscript);
  for (let i = 1; i < tree.tag.length; i += 1) {
    const isNamed = (page.flags[i]! & NAMED_UNSEEN) !== 0;
    if (page.block[i] === i) {
      if (tree.tag[i] !== "td") continue;
      const isGutter = isNamed || /\bgutter\b/.test(tree.attributes[i]?.["class"] ?? "");
      if (isGutter && isNumbersOnly(tree, i)) dropped[i] = 1;
      continue;
    }
    // `<code class="lineno">` has the lines, too.
    if (page.hidden[i] === 1 || (isNamed && tree.tag[i] !== "code")) dropped[i] = 1;
  }
  return dropped;
}

/** Whether a cell has nothing but the numbers of lines of code. */
function isNumbersOnly(tree: Tree, cell: number): boolean {
  for (let i = cell + 1; i < tree.end[cell]!; i += 1)
    if (tree.tag[i] === "td" || /[^\d\s]/.test(tree.text[i]!)) return false;
  return true;
}

/** 1 for nodes in a picture's caption. */
export const captions = ({ tree }: Page): Uint8Array =>
  nodesWithin(tree, (i) => tree.tag[i] === "figcaption");

export function unseenAnywhere(page: Page): Uint8Array {
  const unseen = unseenInline(page);
  for (let i = 1; i < unseen.length; i += 1)
    if (page.hidden[i] === 1 || unseen[page.tree.parent[i]!]) unseen[i] = 1;
  return unseen;
}

export function readPage(tree: Tree, closed: boolean): Page {
  const count = tree.tag.length;
  const flags = new Uint8Array(count);
  const hidden = new Uint8Array(count);
  const block = new Uint32Array(count);
  const indexByName = new Map<string, number>();
  const singles = new Map<string, Named>();
  const named: Named[] = [{ flags: 0, words: " " }];
  const of = new Uint32Array(count);
  for (let i = 1; i < count; i += 1) {
    const up = tree.parent[i]!;
    if (tree.tag[i] === "noscript") hidden[i] = 1;
    block[i] = isBlock(tree.tag[i]!) || tree.tag[i] === "button" ? i : (block[up] as number);
    const attributes = tree.attributes[i];
    if (!attributes) continue;
    const name = nameOf(attributes);
    if (name !== "") {
      let index = indexByName.get(name);
      if (index === undefined) {
        indexByName.set(name, (index = named.length));
        named.push(readName(name, singles));
      }
      of[i] = index;
      const flag = named[index]!.flags;
      flags[i] = flag;
      // A byline or a badge in a span beside other spans is a line of its own; a named word inside a sentence is not.
      const aside = NAMED_TRIMMING | NAMED_BESIDE | NAMED_CAPTION;
      if (flag & aside && block[i] !== i && tree.tag[i] !== "#text" && !SENTENCES.has(tree.tag[block[i]!]!))
        block[i] = i;
    }
    const unseen =
      attributes["hidden"] !== undefined ||
      attributes["aria-hidden"] === "true" ||
      (attributes["style"] !== undefined && HIDDEN_STYLE.test(attributes["style"]));
    if (tree.tag[i] === "noscript") continue;
    if (unseen) hidden[i] = !closed && (PANEL.test(name) || attributes["role"] === "tabpanel") ? 2 : 1;
  }
  // Pages hide the MathML of a formula beside its picture.
  for (const formula of tree.formulas)
    for (
      let up = tree.parent[formula]!, level = 0;
      level < FORMULA_LEVELS && up > 0 && block[up] !== up;
      up = tree.parent[up]!, level += 1
    ) {
      hidden[up] = 0;
      flags[up] = flags[up]! & ~NAMED_UNSEEN;
    }
  let measured = measure(tree, block, new Uint8Array(count));
  const aside = new Uint8Array(count);
  let without_script = 0;
  for (let i = 1; i < count; i += 1)
    if (tree.tag[i] === "noscript") {
      aside[i] = 1;
      without_script += measured.text[i]!;
      i = tree.end[i]! - 1;
    }
  // Some pages show their text only without scripts, and no scripts run here.
  const shown = without_script > 500 && without_script > 0.5 * measured.text[0]!;
  if (shown) for (let i = 1; i < count; i += 1) if (tree.tag[i] === "noscript") hidden[i] = 0;
  if (without_script > 0 && !shown) measured = measure(tree, block, aside);
  const names = { of, words: named.map(({ words }) => words) };
  return { tree, flags, hidden, block, names, noscript: shown ? new Uint8Array(count) : aside, ...measured };
}

const has = (page: Page, node: number, flag: number): boolean => (page.flags[node]! & flag) !== 0;

const CARD_TAGS = new Set(["li", "div", "article", "section", "tr", "a"]);
export const isHeading = (tag: string): boolean =>
  tag.length === 2 && tag[0] === "h" && tag[1]! >= "1" && tag[1]! <= "6";

/** A child with its heading inside a link, or mostly link: a pointer to another page. */
function isCard(page: Page, node: number): boolean {
  const { tree } = page;
  const size = page.text[node]!;
  if (size < 15 || size > 900) return false;
  if (page.link[node]! > 0.6 * size) return true;
  for (let i = node + 1; i < tree.end[node]!; i += 1) {
    if (!isHeading(tree.tag[i]!) || tree.depth[i]! - tree.depth[node]! > 6) continue;
    if (page.text[i]! > 12 && page.link[i]! > 0.8 * page.text[i]!) return true;
  }
  return false;
}

function* children(tree: Tree, node: number): Generator<number> {
  for (let i = node + 1; i < tree.end[node]!; i = tree.end[i]!) yield i;
}

/** Three or more cards of one tag beside each other are teasers: beside an article they are no text. */
function markCards(page: Page, dropped: Uint8Array): void {
  const { tree } = page;
  for (let i = 0; i < tree.tag.length; i += 1) {
    if (dropped[i]) {
      i = tree.end[i]! - 1;
      continue;
    }
    if (tree.tag[i] === "#text" || page.text[i]! < 60 || tree.end[i]! - i < 6) continue;
    const cards = new Map<string, number[]>();
    for (const child of children(tree, i)) {
      const tag = tree.tag[child]!;
      if (!CARD_TAGS.has(tag) || dropped[child] || !isCard(page, child)) continue;
      const same = cards.get(tag);
      if (same) same.push(child);
      else cards.set(tag, [child]);
    }
    for (const same of cards.values()) if (same.length >= 3) for (const card of same) dropped[card] = 1;
  }
}

const DROPPED_TAGS = new Set([
  "header",
  "footer",
  "nav",
  "aside",
  "form",
  "button",
  "figcaption",
  "dialog",
  "menu",
  "select",
]);

export interface Choice {
  readonly dropped: Uint8Array;
  readonly root: number;
  /** Prose in the chosen node, and in the whole page before nodes were dropped. */
  readonly mass: number;
  readonly mass_all: number;
}

/** For a page with one dense body: everything around it is boilerplate. */
export function chooseArticle(page: Page): Choice {
  const { tree } = page;
  const count = tree.tag.length;
  const dropped = new Uint8Array(count);
  for (let i = 1; i < count; i += 1)
    if (
      page.hidden[i] ||
      tree.tag[i] === "button" ||
      tree.tag[i] === "figcaption" ||
      tree.tag[i] === "dialog"
    ) {
      dropped[i] = 1;
      i = tree.end[i]! - 1;
    }
  let measured = measure(tree, page.block, dropped);
  // The whole page is hidden until a script runs, but its text is in the HTML.
  if (measured.text[0]! < 0.3 * page.text[0]!) {
    dropped.fill(0);
    measured = measure(tree, page.block, dropped);
  }
  const mass_all = measured.mass[0]!;
  markCards({ ...page, ...measured }, dropped);
  measured = measure(tree, page.block, dropped);
  const total = measured.mass[0]!;
  for (let i = 1; i < count; i += 1) {
    if (dropped[i]) {
      i = tree.end[i]! - 1;
      continue;
    }
    const tag = tree.tag[i]!;
    if (tag === "#text" || tag === "body" || tag === "html" || tag === "main") continue;
    const named = has(page, i, NAMED_TRIMMING | NAMED_BESIDE);
    if (!named && !DROPPED_TAGS.has(tag)) continue;
    const share = measured.mass[i]! / (total || 1);
    if (share >= 0.35 || (share >= 0.2 && has(page, i, NAMED_STRONG))) continue;
    // A heading may have the class of a menu or a tag and still belong to the text.
    if (isHeading(tag) || tag === "pre" || tag === "code") continue;
    if (tag === "header" && measured.mass[i]! > 200 && !has(page, i, NAMED_TRIMMING)) continue;
    dropped[i] = 1;
    i = tree.end[i]! - 1;
  }
  measured = measure(tree, page.block, dropped);
  const { mass, text, link } = measured;
  let root = 0;
  let best = -1;
  for (let i = 0; i < count; i += 1) {
    if (dropped[i] || mass[i]! <= 0.15 * mass[0]!) {
      i = tree.end[i]! - 1;
      continue;
    }
    const tag = tree.tag[i]!;
    const weight =
      tree.attributes[i]?.["itemprop"] === "articleBody"
        ? 1.5
        : has(page, i, NAMED_STRONG)
          ? 1.35
          : tag === "article"
            ? 1.25
            : has(page, i, NAMED_WEAK)
              ? 1.1
              : tag === "main"
                ? 1.05
                : 1;
    const links = Math.min(0.9, link[i]! / (text[i]! || 1));
    const score = mass[i]! * (1 - links) * weight * (0.9 + 0.012 * Math.min(tree.depth[i]!, 20));
    if (score > best) {
      best = score;
      root = i;
    }
  }
  if (!(has(page, root, NAMED_STRONG) && mass[root]! > 700))
    for (let step = 0; step < 3; step += 1) {
      const up = tree.parent[root]!;
      if (up < 0 || mass[up]! <= 1.22 * mass[root]! || link[up]! >= 0.25 * text[up]!) break;
      root = up;
    }
  return { dropped, root, mass: mass[root]!, mass_all };
}

const DROPPED_SOFTLY = new Set(["nav", "footer", "dialog", "menu"]);

/** For a page whose sections are all text: leaves out only elements that are never text. */
export function choosePage(page: Page): Choice {
  const { tree } = page;
  const count = tree.tag.length;
  const dropped = new Uint8Array(count);
  const total = page.text[0]! || 1;
  for (let i = 1; i < count; i += 1) {
    const tag = tree.tag[i]!;
    if (tag === "#text" || tag === "body" || tag === "html" || tag === "main") continue;
    let drop = page.hidden[i] === 1;
    drop ||= DROPPED_SOFTLY.has(tag) || has(page, i, NAMED_TRIMMING);
    if (tag === "header" && tree.depth[i]! < 8) drop ||= true;
    if (!drop || page.text[i]! > 0.4 * total || isHeading(tag)) continue;
    dropped[i] = 1;
    i = tree.end[i]! - 1;
  }
  const measured = measure(tree, page.block, dropped);
  let root = 0;
  let size = 0.3 * measured.text[0]!;
  for (let i = 1; i < count; i += 1) {
    const main = tree.tag[i] === "main" || tree.attributes[i]?.["role"] === "main";
    if (main && !dropped[i] && measured.text[i]! > size) {
      root = i;
      size = measured.text[i]!;
    }
  }
  return { dropped, root, mass: measured.mass[root]!, mass_all: page.mass[0]! };
}

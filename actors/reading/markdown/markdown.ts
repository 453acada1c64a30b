/**
 * The lines of a page's text as GitHub Flavored Markdown, written from the tree the lines come from: the same lines in
 * the same order, with headings, lists, quotes, code, tables, emphasis, images and absolute links, and no HTML.
 */
import { firstText, type Line, SPACE } from "../article/lines.ts";
import { isHeading, type Page } from "../article/marks.ts";
import { letters } from "../article/title.ts";
import { wordsIn } from "../article/word-count.ts";
import type { Tree } from "../article/tree.ts";
import { BLANK, inlineMarkdown, PLAIN, type Place, type Span } from "./inline.ts";
import { codeOfElement, codeOfTable, fenced, languageOf } from "./code.ts";
import { absolute, baseOf, spanReader } from "./spans.ts";
import { tableMarkdown } from "./tables.ts";

/** Lists and quotes inside each other; deeper ones are written at this depth. */
const DEPTH_MAX = 12;
const ALT_CHARS_MAX = 300;
/** Elements between a text and the heading or the block of code that contains it. */
const HEADING_LEVELS_MAX = 12;
const PRE_LEVELS_MAX = 64;
/** A heading with this share of its characters in links is a link. */
const CARD_LINK_SHARE = 0.8;
/** A section has this many words; 8, 12 and 20 give .766, .766 and .766 of F1 out of fold where 16 gives .767, and no rule .750. */
const CARD_WORDS = 16;

export interface Markdown {
  readonly markdown: string;
  /** The limit of characters was met: blocks after it are missing. */
  readonly truncated: boolean;
}

export interface MarkdownSource {
  readonly page: Page;
  /** The lines of the text, in document order. */
  readonly lines: readonly Line[];
  readonly url: string;
  /** 1 for nodes that a reader does not see. */
  readonly unseen: Uint8Array;
  /** Stands above all as a heading; where the lines have it too, its first such line is left out. Null: no heading is set above. */
  readonly title: string | null;
}

type BlockKind = "paragraph" | "heading" | "code" | "table" | "image";

interface Block {
  readonly kind: BlockKind;
  /** Quotes and list items around it, outermost first. */
  readonly containers: readonly number[];
  readonly lines: readonly string[];
}

export function markdownOf(source: MarkdownSource, chars_most: number): Markdown {
  const writer = new BlockWriter(source.page.tree, chars_most);
  if (source.title !== null) writer.write(titleBlock(source.title));
  for (const block of blocksOf(source)) if (!writer.write(block)) break;
  return { markdown: writer.text(), truncated: writer.isFull };
}

const titleBlock = (title: string): Block => ({
  kind: "heading",
  containers: [],
  lines: [`# ${escapedEnd(inlineMarkdown([{ text: title, style: PLAIN }], "heading"))}`],
});

const headingBlock = (tree: Tree, heading: number, containers: readonly number[], text: string): Block => ({
  kind: "heading",
  containers,
  lines: [`${"#".repeat(Number(tree.tag[heading]![1]))} ${escapedEnd(text)}`],
});

/** Text that does not come from elements, by lines: an empty line begins a new paragraph. */
export function plainMarkdown(text: string, title: string | null): string {
  const paragraphs = text
    .split(/\n+/)
    .map((line) => inlineMarkdown([{ text: line, style: PLAIN }], "paragraph"))
    .filter((line) => line !== "");
  return [...(title === null ? [] : titleBlock(title).lines), ...paragraphs].join("\n\n");
}

function* blocksOf({ page, lines: all, url, unseen, title }: MarkdownSource): Generator<Block> {
  const { tree } = page;
  const titled = title === null ? -1 : titleLine(tree, all, title);
  const lines = titled < 0 ? all : all.filter((_, i) => i !== titled);
  const base = baseOf(tree, url);
  const { spansOf } = spanReader(page, base);
  const images = imagesBetween(page, lines, unseen, base);
  const headings = lines.map((each) => headingAround(tree, firstText(tree, each)));
  const cards = cardTitles(tree, lines, headings, base);
  const lineSpans = (line: Line): Span[] =>
    line.pieces.flatMap((piece) => (piece === SPACE || tree.tag[piece] !== "#text" ? BLANK : spansOf(piece)));
  /** Tables whose lines stay lines. */
  const layouts = new Set<number>();
  for (let i = 0; i < lines.length;) {
    const line = lines[i]!;
    const first = firstText(tree, line);
    for (const image of images.before(first)) yield image;
    const table = tableAround(tree, first);
    const isOpen = table >= 0 && !layouts.has(table) && !isAround(headings[i]!, table);
    const rest = isOpen ? linesWithin(tree, lines, i, table) : [];
    const code = isOpen ? codeOfTable(tree, table, rest) : codeOfElement(tree, lines, i);
    if (code) {
      yield {
        kind: "code",
        containers: containersOf(tree, code.node),
        lines: fenced(code.text, languageOf(tree, code.node)),
      };
      i += code.count;
      continue;
    }
    if (isOpen) {
      const written = tableMarkdown(tree, table, rest, spansOf);
      if (written) {
        const containers = containersOf(tree, table);
        for (const caption of written.outside) {
          const heading = headingAround(tree, firstText(tree, caption));
          if (heading > 0)
            yield headingBlock(tree, heading, containers, inlineMarkdown(lineSpans(caption), "heading"));
          else
            yield { kind: "paragraph", containers, lines: [inlineMarkdown(lineSpans(caption), "paragraph")] };
        }
        yield { kind: "table", containers, lines: written.markdown };
        i += rest.length;
        continue;
      }
      layouts.add(table);
    }
    const pre = preAround(tree, first);
    const containers = containersOf(tree, pre >= 0 ? pre : first);
    if (pre >= 0) {
      yield { kind: "code", containers, lines: fenced(line.text, languageOf(tree, pre)) };
      i += 1;
      continue;
    }
    let stop = i + 1;
    while (stop < lines.length && lines[stop]!.node === line.node && lines[stop]!.text !== "") stop += 1;
    const same = lines.slice(i, stop);
    const heading = cards.has(headings[i]!) ? -1 : headings[i]!;
    i = stop;
    const place: Place = heading > 0 ? "heading" : "paragraph";
    const written = same.map((each) => inlineMarkdown(lineSpans(each), place)).filter((text) => text !== "");
    if (written.length === 0) continue;
    if (heading > 0) yield headingBlock(tree, heading, containers, written.join(" "));
    else
      yield {
        kind: "paragraph",
        containers,
        lines: written.map((text, at) => (at < written.length - 1 ? `${text}\\` : text)),
      };
  }
}

/**
 * Headings that are a link to another page as a whole, with few words below: they are titles of cards and head no section. What most
 * such headings of a level are, all of that level are.
 */
function cardTitles(
  tree: Tree,
  lines: readonly Line[],
  headings: readonly number[],
  base: string,
): ReadonlySet<number> {
  const here = URL.parse(base)?.href.replace(/#.*/, "");
  const isLinked = (i: number): boolean => {
    if (lines[i]!.link < CARD_LINK_SHARE) return false;
    const text = lines[i]!.pieces.find((piece) => piece !== SPACE && tree.linked[piece]) ?? 0;
    const href = tree.attributes[nearest(tree, text, (tag) => tag === "a")]?.["href"];
    const target = href === undefined || href.trim().startsWith("#") ? null : absolute(href, base);
    return target !== null && target.replace(/#.*/, "") !== here;
  };
  /** By level: the headings that are links, and the words below each. */
  const levels = new Map<string, { readonly heading: number; words: number }[]>();
  let current = { heading: 0, words: 0 };
  for (const [i, heading] of headings.entries()) {
    if (heading <= 0) {
      if (current.words < CARD_WORDS) current.words += wordsIn(lines[i]!.text);
      continue;
    }
    if (current.heading === heading) continue;
    current = { heading, words: 0 };
    if (!isLinked(i)) continue;
    const level = levels.get(tree.tag[heading]!);
    if (level) level.push(current);
    else levels.set(tree.tag[heading]!, [current]);
  }
  const isBare = ({ words }: { readonly words: number }): boolean => words < CARD_WORDS;
  return new Set(
    [...levels.values()]
      .filter((linked) => linked.filter(isBare).length > linked.length / 2)
      .flatMap((linked) => linked.map(({ heading }) => heading)),
  );
}

/** The heading with the title's letters, or the first line if it has them; -1: none. */
function titleLine(tree: Tree, lines: readonly Line[], title: string): number {
  const wanted = letters(title);
  return lines.findIndex(
    (line, i) =>
      line.text.length <= 2 * title.length + 20 &&
      (i === 0 || headingAround(tree, firstText(tree, line)) > 0) &&
      letters(line.text) === wanted,
  );
}

/** A heading's closing sequence of "#" is no text. */
const escapedEnd = (heading: string): string => heading.replace(/(^|\s)(#+)$/, "$1\\$2");

/** The nearest such element that is the node or contains it, at most `levels` above it; -1: none. */
function nearest(tree: Tree, node: number, isWanted: (tag: string) => boolean, levels = Infinity): number {
  for (let up = node, level = 0; up > 0 && level < levels; up = tree.parent[up]!, level += 1)
    if (isWanted(tree.tag[up]!)) return up;
  return -1;
}

const headingAround = (tree: Tree, node: number) => nearest(tree, node, isHeading, HEADING_LEVELS_MAX);
const preAround = (tree: Tree, node: number) => nearest(tree, node, (tag) => tag === "pre", PRE_LEVELS_MAX);
const tableAround = (tree: Tree, node: number) => nearest(tree, node, (tag) => tag === "table");

/** Whether there is a heading, and it contains the table. */
const isAround = (heading: number, table: number): boolean => heading >= 0 && heading < table;

/** A line and those behind it that a table contains. Text behind a table may stand in a block that contains the table. */
function linesWithin(tree: Tree, lines: readonly Line[], first: number, table: number): Line[] {
  let stop = first + 1;
  while (stop < lines.length && lines[stop]!.node >= table && lines[stop]!.node < tree.end[table]!) stop += 1;
  return lines.slice(first, stop);
}

/** Quotes and list items that contain the node, outermost first. */
function containersOf(tree: Tree, node: number): number[] {
  const found: number[] = [];
  for (let up = node; up > 0; up = tree.parent[up]!)
    if (tree.tag[up] === "li" || tree.tag[up] === "blockquote") found.push(up);
  return found.toReversed().slice(0, DEPTH_MAX);
}

/** Images with an alternative text that stand between two lines, as blocks of their own. */
function imagesBetween(
  { tree }: Page,
  lines: readonly Line[],
  unseen: Uint8Array,
  base: string,
): { readonly before: (node: number) => Generator<Block> } {
  let next = lines[0]?.node ?? 0;
  return {
    *before(node) {
      for (; next < node; next += 1) {
        if (tree.tag[next] !== "img" || unseen[next] || !isContent(tree, next)) continue;
        const image = imageOf(tree, next, base);
        if (image)
          yield {
            kind: "image",
            containers: containersOf(tree, next),
            lines: [inlineMarkdown([image], "paragraph")],
          };
      }
    },
  };
}

const FURNITURE = new Set(["a", "aside", "button", "footer", "form", "header", "nav", "menu", "table"]);

function isContent(tree: Tree, image: number): boolean {
  for (let up = tree.parent[image]!; up > 0; up = tree.parent[up]!)
    if (FURNITURE.has(tree.tag[up]!)) return false;
  return true;
}

function imageOf(tree: Tree, node: number, base: string): Span | null {
  const attributes = tree.attributes[node];
  const text = attributes?.["alt"]?.trim().slice(0, ALT_CHARS_MAX).toWellFormed() ?? "";
  const src =
    absolute(attributes?.["src"], base, /^https?:/) ?? absolute(attributes?.["data-src"], base, /^https?:/);
  return text === "" || src === null ? null : { text, style: PLAIN, src };
}

/** Puts blocks below each other, with the marks of the quotes and list items that contain them. */
class BlockWriter {
  readonly #tree: Tree;
  readonly #chars_most: number;
  readonly #out: string[] = [];
  /** The number of each list item, by node; filled by list. */
  readonly #numbers = new Map<number, number>();
  /** The marker before each list item, by node. */
  readonly #markers = new Map<number, string>();
  #chars = 0;
  #last: Block | null = null;
  isFull = false;

  constructor(tree: Tree, chars_most: number) {
    this.#tree = tree;
    this.#chars_most = chars_most;
  }

  /** False when there is no room left. */
  write(block: Block): boolean {
    const { containers } = block;
    const before = this.#last?.containers ?? [];
    let common = 0;
    while (common < containers.length && containers[common] === before[common]) common += 1;
    const opens = common < containers.length;
    if (opens)
      for (let depth = common; depth < containers.length; depth += 1) this.#mark(containers, depth, before);
    const lines = block.lines.map((line, i) => {
      const marks = containers.map((node, depth) => {
        if (this.#tree.tag[node] === "blockquote") return "> ";
        const marker = this.#markers.get(node)!;
        return i === 0 && depth >= common ? marker : " ".repeat(marker.length);
      });
      return (marks.join("") + line).trimEnd();
    });
    if (this.#last) {
      const quotes = containers
        .slice(0, common)
        .map((node) =>
          this.#tree.tag[node] === "blockquote" ? "> " : " ".repeat(this.#markers.get(node)!.length),
        );
      if (!this.#isTight(block, common)) lines.unshift(quotes.join("").trimEnd());
    }
    const written = `${lines.join("\n")}\n`;
    if (this.#chars + written.length > this.#chars_most) {
      this.isFull = true;
      return false;
    }
    this.#chars += written.length;
    this.#out.push(written);
    this.#last = block;
    return true;
  }

  text(): string {
    return this.#out.join("").replace(/\n$/, "");
  }

  /** Paragraphs of neighbouring list items stand directly below each other. */
  #isTight({ kind, containers }: Block, common: number): boolean {
    const last = this.#last!;
    const item = containers[common];
    if (kind !== "paragraph" || last.kind !== "paragraph" || item === undefined) return false;
    if (this.#tree.tag[item] !== "li") return false;
    const endsParagraph = (node: number): boolean =>
      this.#tree.tag[node] !== "li" || /^(?:[-*]|1[.)]) /.test(this.#markers.get(node)!);
    // micromark also wants a 1 of an ordered list that begins on the first line of another item.
    if (!containers.slice(common + 1).every(endsParagraph)) return false;
    const previous = last.containers[common];
    if (previous === undefined) {
      // A list inside an item: an ordered one that does not begin with 1 would not end the item's paragraph.
      return common > 0 && this.#tree.tag[containers[common - 1]!] === "li" && endsParagraph(item);
    }
    return this.#tree.tag[previous] === "li" && this.#tree.parent[previous] === this.#tree.parent[item];
  }

  /** Chooses what stands before a list item. A list directly after another one of its kind gets the other mark. */
  #mark(containers: readonly number[], depth: number, before: readonly number[]): void {
    const item = containers[depth]!;
    if (this.#tree.tag[item] !== "li" || this.#markers.has(item)) return;
    const list = this.#tree.parent[item]!;
    const ordered = this.#tree.tag[list] === "ol";
    const sibling = before[depth];
    const previous = sibling === undefined ? undefined : this.#markers.get(sibling);
    const isSameList = sibling !== undefined && this.#tree.parent[sibling] === list;
    const kind = ordered ? /\d([.)])/.exec(previous ?? "")?.[1] : /^[-*]/.exec(previous ?? "")?.[0];
    const marks = ordered ? [".", ")"] : ["-", "*"];
    const mark = kind === undefined ? marks[0]! : isSameList ? kind : marks[1 - marks.indexOf(kind)]!;
    this.#markers.set(item, ordered ? `${this.#numberOf(list, item)}${mark} ` : `${mark} `);
  }

  #numberOf(list: number, item: number): number {
    const tree = this.#tree;
    if (!this.#numbers.has(item)) {
      const start = Number.parseInt(tree.attributes[list]?.["start"] ?? "1", 10);
      let number = start >= 0 && start < 1_000_000 ? start : 1;
      for (let child = list + 1; child < tree.end[list]!; child = tree.end[child]!)
        if (tree.tag[child] === "li") this.#numbers.set(child, number++);
    }
    return this.#numbers.get(item) ?? 1;
  }
}

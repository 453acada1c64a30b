/** Turns marked nodes into lines, one for each block, and selects text lines by rules. Order and words are the page's. */
import { collapse, type Tree } from "./tree.ts";
import { comparableChars } from "../content/comparable-chars.ts";
import { type Choice, isHeading, type Page } from "./marks.ts";
import { beginPattern, ENDINGS, JUNK_LINES, phraseSet, POINTERS } from "./words.ts";

export interface Line {
  readonly text: string;
  /** Its length, comparable across scripts. */
  readonly chars: number;
  /** The block that contains it. */
  readonly node: number;
  /** Its text nodes and line breaks in document order, and SPACE where a space was added between two. */
  readonly pieces: readonly number[];
  readonly tag: string;
  /** Share of its characters inside links. */
  readonly link: number;
  /** Never text by itself: "Share", "Advertisement", "3 comments". */
  readonly junk: boolean;
  /** A link to another page. */
  readonly pointer: boolean;
  /** A line with which the part after an article begins. */
  readonly ending: boolean;
}

/** In a line's pieces: a space that is not in the page. */
export const SPACE = -1;

/** The text that a line begins with. Blanks before it may stand in other elements: between the cells of a row, before a link. */
export const firstText = (tree: Tree, { pieces, node }: Line): number =>
  pieces.find((piece) => piece !== SPACE && tree.chars[piece]! > 0) ?? node;

/** Where the lines of a page stand in its tree. */
export interface LineIndex {
  /** The node that each line begins with. */
  readonly starts: Int32Array;
  /** The lines of an element: the first, and the one behind the last. */
  readonly linesOf: (node: number) => [from: number, to: number];
}

export function lineIndex(tree: Tree, lines: readonly Line[]): LineIndex {
  const starts = Int32Array.from(lines, (line) => firstText(tree, line));
  const firstFrom = (node: number): number => {
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (starts[middle]! < node) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return { starts, linesOf: (node) => [firstFrom(node), firstFrom(tree.end[node]!)] };
}

const SEPARATED = new Set(["a", "span", "button", "label", "td", "th", "time", "input", "img", "summary"]);

/** Lines of a page: one for each block, `<br>` and row; cells and neighbouring labels are kept apart by a space; `pre` keeps its own lines. */
export function toLines(page: Page, dropped: Uint8Array): Line[] {
  const { tree } = page;
  const root = 0;
  const lines: Line[] = [];
  let parts = "";
  let pieces: number[] = [];
  /** The last piece of text: reading the end of a long concatenation takes time in its length. */
  let piece = "";
  let link = 0;
  let chars = 0;
  let node = root;
  let verbatim = -1;
  /** The `pre` that is open has blocks for lines of code alone. */
  let isCode = false;
  /** Such a block has ended. */
  let isLineEnded = false;
  const open: number[] = [];
  const flush = (): void => {
    if (parts !== "") {
      const text = verbatim >= 0 ? parts.replace(/^\s*\n/, "").trimEnd() : collapse(parts);
      if (text !== "") lines.push(judged(text, node, pieces, tree.tag[node]!, chars ? link / chars : 0));
    }
    parts = "";
    isLineEnded = false;
    pieces = [];
    piece = "";
    link = 0;
    chars = 0;
  };
  const space = (): void => {
    parts += " ";
    pieces.push(SPACE);
  };
  const stop = tree.end[root]!;
  for (let i = root; i <= stop; i += 1) {
    while (open.length > 0 && (i >= tree.end[open[open.length - 1]!]! || i === stop)) {
      const closing = open.pop()!;
      const tag = tree.tag[closing]!;
      if (closing === verbatim) {
        flush();
        verbatim = -1;
      }
      if (tag === "td" || tag === "th" || (tag === "rt" && isBareReading(tree, closing) && wordAt(tree, i)))
        space();
      else if (page.block[closing] === closing) {
        if (verbatim >= 0 && isCode) isLineEnded = true;
        else flush();
      }
    }
    if (i === stop) break;
    if (dropped[i]) {
      i = tree.end[i]! - 1;
      continue;
    }
    const tag = tree.tag[i]!;
    if (tag === "#text") {
      if (parts === "" || tree.chars[i]! > 0) node = verbatim >= 0 && isCode ? verbatim : page.block[i]!;
      if (isLineEnded && parts !== "" && !piece.endsWith("\n") && !/^\r?\n/.test(tree.text[i]!))
        parts += "\n";
      isLineEnded = false;
      piece = tree.text[i]!;
      parts += piece;
      pieces.push(i);
      chars += tree.chars[i]!;
      if (tree.linked[i]) link += tree.chars[i]!;
      continue;
    }
    if (tag === "br" || tag === "hr") {
      if (verbatim >= 0) {
        parts += "\n";
        pieces.push(i);
      } else flush();
      continue;
    }
    if (tag === "td" || tag === "th") {
      if (page.own[i]! > 160) flush();
      else space();
    } else if (page.block[i] === i) {
      if (verbatim < 0) flush();
      if (tag === "pre" && verbatim < 0 && tree.end[i]! > i + 1) {
        verbatim = i;
        isCode = isCodeOnly(page, i);
      }
    } else if (
      tag === "rt" ? isBareReading(tree, i) : SEPARATED.has(tag) && glued(piece, parts.length, page, i)
    ) {
      if (verbatim < 0) space();
    }
    if (tree.end[i]! > i + 1) open.push(i);
  }
  flush();
  return lines;
}

/** Elements that highlighters set lines of code in. With other blocks inside, a `pre` that was never closed holds half a page. */
const CODE_LINES = new Set(["pre", "div", "ol", "ul", "li"]);

function isCodeOnly({ tree, block }: Page, pre: number): boolean {
  for (let i = pre + 1; i < tree.end[pre]!; i += 1)
    if (block[i] === i && !CODE_LINES.has(tree.tag[i]!)) return false;
  return true;
}

/** How a word is read, beside the word (`<ruby>`), without the parentheses that some pages set around it. */
function isBareReading(tree: Tree, rt: number): boolean {
  let before = rt - 1;
  while (before > tree.parent[rt]! && tree.parent[before] !== tree.parent[rt]) before = tree.parent[before]!;
  return tree.tag[before] !== "rp";
}

/** Whether the text from a node on begins with a letter or digit. */
function wordAt(tree: Tree, node: number): boolean {
  let next = node;
  while (next < tree.tag.length && next < node + 8 && tree.tag[next] !== "#text") next += 1;
  return /^[\p{L}\p{N}]/u.test(tree.text[next] ?? "");
}

/** Labels set beside each other without a space: "In stockAdd to list". A drop cap before its word stays where it is. */
function glued(piece: string, length: number, page: Page, node: number): boolean {
  const { tree } = page;
  const previous = tree.tag[node - 1];
  if (length < 2 || previous !== "#text" || tree.parent[node - 1] === tree.parent[node]) return false;
  let text = node + 1;
  while (text < tree.end[node]! && tree.tag[text] !== "#text") text += 1;
  const first = tree.text[text]?.[0] ?? "";
  return /[\p{L}\p{N}]$/u.test(piece.slice(-2)) && /[\p{Lu}\p{N}$€£¥]/u.test(first);
}

/** The lines of the chosen node that are not marked. */
export function linesIn(page: Page, lines: readonly Line[], choice: Choice): Line[] {
  const { tree } = page;
  const out = Uint8Array.from(choice.dropped);
  for (let i = 1; i < out.length; i += 1) if (out[tree.parent[i]!]) out[i] = 1;
  const stop = tree.end[choice.root]!;
  return lines.filter(({ node }) => node >= choice.root && node < stop && !out[node]);
}

const JUNK = phraseSet(JUNK_LINES);
const POINTER = beginPattern(POINTERS);
const ENDING = beginPattern(ENDINGS);
const JUDGED_CHARS = 400;

const isAsciiLetter = (code: number): boolean => code >= 97 && code <= 122;

function bare(line: string): string {
  const lower = line.slice(0, JUDGED_CHARS).toLowerCase();
  if (isAsciiLetter(lower.charCodeAt(0)) && isAsciiLetter(lower.charCodeAt(lower.length - 1))) return lower;
  return lower.replace(/^[\s|•·»›>:–—-]+/, "").replace(/(?<![\s|•·»›>:.…!–—-])[\s|•·»›>:.…!–—-]+$/, "");
}

/** Placeholders that a template engine or a page builder should have replaced: "{{ title }}", "[vc_row]". */
const PLACEHOLDER = /\{\{[^{}]{0,200}\}\}|\[\/?[a-z]{2,12}_[a-z_]{2,40}(?:\s[^[\]]{0,300})?\]/g;

/** Nothing but placeholders. In code they are text. */
export function isTemplate({ text, tag }: Pick<Line, "text" | "tag">): boolean {
  if (tag === "pre" || tag === "td" || (!text.includes("{{") && !text.includes("_"))) return false;
  const rest = text.slice(0, JUDGED_CHARS).replace(PLACEHOLDER, "");
  return rest.length < Math.min(text.length, JUDGED_CHARS) && !/[\p{L}\p{N}]{2}/u.test(rest);
}

const COUNTED =
  /^\d+ (?:comments?|shares?|likes?|views?|kommentare?|commentaires?|comentarios|min(?:ute)?s?(?: read)?)$/;

function isJunk(line: string, chars: number): boolean {
  if (chars > 120) return false;
  const text = bare(line);
  return text === "" || JUNK.has(text) || COUNTED.test(text) || /^(?:©|\(c\) ?\d|copyright ©?)/i.test(text);
}

function isPointer(text: string, chars: number, tag: string, link: number): boolean {
  if (isHeading(tag) && chars > 25) return false;
  if (link > 0.8 && chars < 120 && tag !== "td") return true;
  return link > 0.5 && (tag === "li" || POINTER.test(text));
}

function judged(text: string, node: number, pieces: readonly number[], tag: string, link: number): Line {
  const chars = comparableChars(text);
  return {
    text,
    chars,
    node,
    pieces,
    tag,
    link,
    junk: isJunk(text, chars) || isTemplate({ text, tag }),
    pointer: isPointer(text, chars, tag, link),
    ending: chars < 100 && ENDING.test(text),
  };
}

const ENDED = /[.!?…:;"”»)。！？]$/;

/** So much at most stands behind an article's end, however long it is: otherwise it is a heading of its own. */
const AFTER_CHARS = 8_000;

/** Prose: starts with the first line that reads like prose, ends before what follows an article. */
export function articleLines(all: readonly Line[], title: string | null): Line[] {
  const lines = all.filter((line) => line.tag === "pre" || (!line.junk && !line.pointer));
  const own = title?.toLowerCase();
  let start = lines.findIndex(
    (line) =>
      line.chars >= 60 ||
      (ENDED.test(line.text) && (line.text.split(" ", 7).length >= 6 || line.chars > 2 * line.text.length)) ||
      line.tag === "pre",
  );
  if (start < 0) start = 0;
  // The heading directly above the first prose belongs to it, unless it is the page's title.
  while (
    start > 0 &&
    isHeading(lines[start - 1]!.tag) &&
    lines[start - 1]!.tag !== "h1" &&
    lines[start - 1]!.text.toLowerCase() !== own
  )
    start -= 1;
  const total = lines.reduce((sum, line) => sum + line.chars, 0);
  let behind = 0;
  let end = lines.length;
  const endings = new Set<string>();
  for (const [i, line] of lines.entries()) {
    if (i >= start && line.chars < 80 && line.ending) {
      // A line that stands below every post or section ends none of them.
      if (behind > Math.max(0.55 * total, total - AFTER_CHARS) && !endings.has(line.text)) {
        end = i;
        break;
      }
      endings.add(line.text);
    }
    behind += line.chars;
  }
  while (end > start + 1) {
    const last = lines[end - 1]!;
    const short =
      last.chars < 60 &&
      !ENDED.test(last.text) &&
      last.tag !== "li" &&
      last.tag !== "td" &&
      last.tag !== "pre";
    if (!isHeading(last.tag) && !short) break;
    end -= 1;
  }
  // No text has fewer characters in lower case.
  const isTitle = ({ text }: Line): boolean =>
    own !== undefined && text.length <= own.length && text.toLowerCase() === own;
  return lines.slice(start, end).filter((line) => !isTitle(line));
}

export const linesText = (lines: readonly Line[]): string => {
  let text = "";
  for (const [i, line] of lines.entries()) {
    if (i > 0) {
      const tight =
        (line.tag === "li" && lines[i - 1]!.tag === "li") ||
        line.node === lines[i - 1]!.node ||
        line.tag === "tr" ||
        line.tag === "td";
      text += tight ? "\n" : "\n\n";
    }
    text += line.text;
  }
  return text;
};

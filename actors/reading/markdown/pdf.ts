/**
 * The lines of a PDF as Markdown: larger fonts are headings, lines of one paragraph are joined, rows of columns are tables, a thematic
 * break stands between two pages. Lines whose place is not known stay lines.
 */
import { RIGHT_TO_LEFT, soundText } from "../content/text-document.ts";
import type { PdfLine } from "../content/pdf.ts";
import { inlineMarkdown, type Place, PLAIN } from "./inline.ts";
import { pipeTable } from "./pipe-table.ts";

/** A heading's font is larger than that of most text by this factor at least. */
const LARGER = 1.15;
const HEADING_CHARS_MAX = 200;
const LEVELS_MAX = 6;
const PAGE_BREAK = "---";
/** In sizes of the font: a line further below begins a paragraph, and so does one that is indented more. */
const PARAGRAPH_GAP = 1.9;
const INDENT = 0.7;
/** A line that ends this far, as a share of the page's text, before the others is the last of its paragraph. */
const SHORT_SHARE = 0.15;
/** A line that ends this far before the others is a line of its own, as in an address. */
const VERY_SHORT_SHARE = 0.4;
const TABLE_ROWS_MIN = 2;
const TABLE_COLUMNS_MAX = 30;
/** A longer cell is a column of text. */
const CELL_CHARS_MAX = 60;
/** How far cells of one column may begin apart, in sizes of the font. */
const COLUMN_SHIFT = 4;
const ITEM = /^(?:[•‣▪◦●○■□–—*·-]|\(?\d{1,3}[.)]|\(?[a-z]\))\s/iu;
const SENTENCE_END = /[.!?:;…。！？][)"”»’]*$/u;

/** Null for a document without text. */
export function pdfMarkdown(pages: readonly (readonly PdfLine[])[]): string | null {
  const levels = headingLevels(pages.flat());
  const words = wordsOf(pages);
  const blocks = pages.map((lines) => pageMarkdown(lines, levels, words)).filter((page) => page !== "");
  return blocks.length === 0 ? null : soundText(blocks.join(`\n\n${PAGE_BREAK}\n\n`));
}

/** In half points: sizes of one font differ by rounding. */
const rounded = (size: number): number => Math.round(size * 2) / 2;

/** The heading level of each size that is larger than the size of most text, the largest first. */
function headingLevels(lines: readonly PdfLine[]): ReadonlyMap<number, number> {
  const chars = new Map<number, number>();
  for (const { text, size } of lines) chars.set(rounded(size), (chars.get(rounded(size)) ?? 0) + text.length);
  let body = 0;
  for (const [size, count] of chars) if (count > (chars.get(body) ?? 0)) body = size;
  const larger = [...chars.keys()]
    .filter((size) => body > 0 && size >= body * LARGER)
    .toSorted((a, b) => b - a);
  return new Map(larger.map((size, i) => [size, Math.min(i + 1, LEVELS_MAX)]));
}

const WORD = /[\p{L}\p{M}\p{N}]+(?:[-‐][\p{L}\p{M}\p{N}]+)*/gu;
const HYPHEN_END = /(?<![\p{L}\p{M}])([\p{L}\p{M}]{1,60})[-‐\u00ad]$/u;
const WORD_START = /^[\p{Ll}\p{Lo}][\p{L}\p{M}]*/u;

/** All words of the document that no line's end cuts, in lower case: they tell which hyphens at lines' ends are part of their words. */
function wordsOf(pages: readonly (readonly PdfLine[])[]): ReadonlySet<string> {
  const words = new Set<string>();
  let isCut = false;
  for (const { text } of pages.flat()) {
    const line = text.trim().toLowerCase();
    if (line === "") continue;
    const whole = (isCut ? line.replace(WORD_START, "") : line).replace(HYPHEN_END, "");
    for (const [word] of whole.matchAll(WORD)) words.add(word);
    isCut = HYPHEN_END.test(line);
  }
  return words;
}

/** Two lines of one paragraph. A hyphen goes, except in a word that the document has with it, or of which it has both parts and not the whole. */
function joinedLines(above: string, below: string, words: ReadonlySet<string>): string {
  const end = HYPHEN_END.exec(above);
  const start = WORD_START.exec(below);
  if (!end || !start) return `${above} ${below}`;
  const [first, second] = [end[1]!.toLowerCase(), start[0].toLowerCase()];
  const isCompound =
    words.has(`${first}-${second}`) ||
    (!words.has(first + second) && words.has(first) && words.has(second) && first.length > 1);
  return isCompound ? above + below : above.slice(0, -1) + below;
}

/** The edges of a page's text, in points. */
interface Edges {
  readonly left: number;
  readonly right: number;
}

interface Block {
  readonly kind: "heading" | "paragraph" | "table";
  readonly level: number;
  lines: PdfLine[];
  /** Lines of unknown place stay apart in their block. */
  text: string;
}

function pageMarkdown(
  lines: readonly PdfLine[],
  levels: ReadonlyMap<number, number>,
  words: ReadonlySet<string>,
): string {
  const blocks: Block[] = [];
  const ends = lines.flatMap(({ right }) => (right === undefined ? [] : [right]));
  const page = { left: Math.min(...lines.map(({ left = Infinity }) => left)), right: Math.max(0, ...ends) };
  let isApart = true;
  for (let i = 0; i < lines.length; i += 1) {
    const rows = tableAt(lines, i);
    if (rows > 0) {
      blocks.push({ kind: "table", level: 0, lines: lines.slice(i, i + rows), text: "" });
      i += rows - 1;
      isApart = true;
      continue;
    }
    const line = lines[i]!;
    const text = line.text.replace(/\s+/g, " ").trim();
    if (text === "") {
      // An empty line ends a paragraph.
      isApart = true;
      continue;
    }
    const level = (text.length <= HEADING_CHARS_MAX ? levels.get(rounded(line.size)) : undefined) ?? 0;
    const last = blocks.at(-1);
    const above = last?.lines.at(-1);
    if (
      isApart ||
      !last ||
      !above ||
      last.kind === "table" ||
      last.level !== level ||
      begins(line, above, page)
    )
      blocks.push({ kind: level > 0 ? "heading" : "paragraph", level, lines: [line], text });
    else {
      const isJoined =
        line.y !== undefined && above.y !== undefined && !endsEarly(above, page, VERY_SHORT_SHARE);
      last.text = isJoined ? joinedLines(last.text, text, words) : `${last.text}\n${text}`;
      last.lines.push(line);
    }
    isApart = false;
  }
  return blocks
    .map(blockMarkdown)
    .filter((block) => block !== "")
    .join("\n\n");
}

const inline = (text: string, place: Place): string => inlineMarkdown([{ text, style: PLAIN }], place);

function blockMarkdown({ kind, level, text, lines }: Block): string {
  if (kind === "table") return tableMarkdown(lines);
  if (kind === "heading") return `${"#".repeat(level)} ${inline(text, "heading")}`;
  return text
    .split("\n")
    .map((line) => inline(line, "paragraph"))
    .join("\n");
}

/** Whether a line begins a block below another line of the same font. */
function begins(line: PdfLine, above: PdfLine, page: Edges): boolean {
  if (line.y === undefined || above.y === undefined || line.left === undefined || above.left === undefined)
    return false;
  const size = Math.max(1, line.size);
  const gap = above.y - line.y;
  if (gap < 0 || gap > PARAGRAPH_GAP * size || ITEM.test(line.text.trimStart())) return true;
  if (endsEarly(above, page, SHORT_SHARE) && SENTENCE_END.test(above.text.trim())) return true;
  // Below an item the lines of its text are indented, too.
  const isRightToLeft = RIGHT_TO_LEFT.test(line.text);
  const indent = isRightToLeft ? above.right! - line.right! : line.left - above.left;
  return indent > INDENT * size && !ITEM.test(above.text.trimStart());
}

/** Whether a line ends before most others of its page, by this share of their width. */
function endsEarly({ text, left = 0, right = 0 }: PdfLine, page: Edges, share: number): boolean {
  const rest = RIGHT_TO_LEFT.test(text) ? left - page.left : page.right - right;
  return rest > share * (page.right - page.left);
}

/** How many lines from this one on are rows of a table; 0: it is none. */
function tableAt(lines: readonly PdfLine[], from: number): number {
  const first = lines[from]!.cells ?? [];
  if (first.length < 2 || first.length > TABLE_COLUMNS_MAX) return 0;
  let rows = 0;
  for (let i = from; i < lines.length; i += 1, rows += 1) {
    const { cells = [], size } = lines[i]!;
    const isRow =
      cells.length === first.length &&
      cells.every(
        ({ text, left, right }, at) =>
          text.length <= CELL_CHARS_MAX &&
          (Math.abs(left - first[at]!.left) <= COLUMN_SHIFT * size ||
            Math.abs(right - first[at]!.right) <= COLUMN_SHIFT * size),
      );
    if (!isRow) break;
  }
  return rows >= TABLE_ROWS_MIN ? rows : 0;
}

const tableMarkdown = (lines: readonly PdfLine[]): string =>
  pipeTable(lines.map(({ cells = [] }) => cells.map(({ text }) => inline(text, "cell")))).join("\n");

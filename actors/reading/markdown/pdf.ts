/** The lines of a PDF as Markdown: larger fonts are headings, a thematic break stands between two pages. */
import { soundText } from "../content/text-document.ts";
import type { PdfLine } from "../content/pdf.ts";
import { inlineMarkdown, PLAIN } from "./inline.ts";

/** A heading's font is larger than that of most text by this factor at least. */
const LARGER = 1.15;
const HEADING_CHARS_MAX = 200;
const LEVELS_MAX = 6;
const PAGE_BREAK = "---";

/** Null for a document without text. */
export function pdfMarkdown(pages: readonly (readonly PdfLine[])[]): string | null {
  const levels = headingLevels(pages.flat());
  const blocks = pages.map((lines) => pageMarkdown(lines, levels)).filter((page) => page !== "");
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

function pageMarkdown(lines: readonly PdfLine[], levels: ReadonlyMap<number, number>): string {
  let out = "";
  let previous: number | undefined | null = null;
  for (const { text, size } of lines) {
    const level = text.length <= HEADING_CHARS_MAX ? levels.get(rounded(size)) : undefined;
    const line = inlineMarkdown([{ text, style: PLAIN }], level === undefined ? "paragraph" : "heading");
    if (line === "") {
      // An empty line ends a paragraph.
      if (out !== "") previous = null;
      continue;
    }
    if (out !== "") out += level === undefined && previous === undefined ? "\n" : "\n\n";
    out += level === undefined ? line : `${"#".repeat(level)} ${line}`;
    previous = level;
  }
  return out;
}

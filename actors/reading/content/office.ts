/**
 * Office documents and e-books: a container of XML, or RTF, read by officeparser, which has limits on what a container
 * may unpack to. Its result is written as HTML, and all lines of that are the text.
 */
import { type OfficeContentNode, OfficeParser, type OfficeParserAST } from "officeparser";
import type { OfficeKind, PageFormats } from "../../../schemas/fetch.ts";
import { type Line, linesText, toLines } from "../article/lines.ts";
import { readPage, unseenAnywhere, unseenInline } from "../article/marks.ts";
import { buildTree } from "../article/tree.ts";
import { followedLinks, imagesOf, linksOf } from "../markdown/links.ts";
import { markdownOf } from "../markdown/markdown.ts";
import { escapeHtml } from "../../lib/web/escape-html.ts";
import type { ExtractTask, PageLinks } from "../extraction-result.ts";
import { cutText, MAX_TEXT_CHARS, soundText } from "./text-document.ts";

const MB = 2 ** 20;
/** A document beyond one of them is not read: its reader process has little memory (ops/extraction.ts). */
const LIMITS = {
  maxUncompressedBytes: 128 * MB,
  maxZipEntries: 10_000,
  maxTableCells: 200_000,
  maxXmlElements: 500_000,
};
const MARKDOWN_CHARS_MAX = 10_000_000;

export interface ReadOffice {
  readonly title: string | null;
  readonly text: string;
  readonly truncated: boolean;
  readonly formats?: PageFormats;
  readonly followed?: PageLinks;
  readonly unreadable?: true;
  /** Limits that were met, or why the document could not be read. */
  readonly note: string | null;
}

export async function readOffice(
  bytes: Uint8Array,
  kind: OfficeKind,
  url: string,
  { with_formats = false, followed }: Pick<ExtractTask, "with_formats" | "followed">,
): Promise<ReadOffice> {
  const notes = new Set<string>();
  let document: OfficeParserAST;
  try {
    document = await OfficeParser.parseOffice(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), {
      fileType: kind,
      extractAttachments: false,
      decompressionLimits: LIMITS,
      onWarning: ({ code }) => void notes.add(code),
    });
  } catch (problem) {
    const note = `Cannot read the document: ${causeOf(problem)}`;
    return { title: null, text: "", truncated: false, unreadable: true, note };
  }
  const html = isWorkbook(kind) ? sheetsHtml(document) : await articleHtml(document);
  const tree = buildTree(html, with_formats);
  const page = readPage(tree, false);
  const lines: readonly Line[] = toLines(page, unseenInline(page));
  const { text, truncated } = cutText(soundText(linesText(lines)), MAX_TEXT_CHARS);
  const marked = with_formats
    ? markdownOf({ page, lines, url, unseen: unseenAnywhere(page), title: null }, MARKDOWN_CHARS_MAX)
    : null;
  return {
    title: document.metadata.title?.trim() || null,
    text,
    truncated: truncated || tree.capped.length > 0 || marked?.truncated === true || notes.size > 0,
    ...(marked && {
      formats: {
        markdown: marked.markdown === "" ? null : soundText(marked.markdown),
        links: linksOf(tree, url),
        images: imagesOf(tree, url),
      },
    }),
    ...(followed && { followed: followedLinks(tree, url) }),
    note: notes.size > 0 ? `Not read as a whole: ${[...notes].join(", ")}` : null,
  };
}

const isWorkbook = (kind: OfficeKind): boolean => kind === "xlsx" || kind === "ods";

/** Why a document could not be read, without what it contains. */
const causeOf = (problem: unknown): string =>
  problem instanceof Error ? problem.message.replace("[OfficeParser]: ", "").slice(0, 200) : "unknown";

/** A cell of one paragraph is one line of its row. */
const CELL_OF_ONE_PARAGRAPH =
  /(<t[dh][^>]*>)\s*<p>([^<]*(?:<(?!\/?(?:p|t[dhr]|table)\b)[^<]*)*)<\/p>\s*(<\/t[dh]>)/g;

async function articleHtml(document: OfficeParserAST): Promise<string> {
  const { value } = await document.to("html", { htmlConfig: { standalone: false } });
  return value
    .replaceAll(CELL_OF_ONE_PARAGRAPH, "$1$2$3")
    .replaceAll(PICTURE_FILE, "")
    .replaceAll(
      EQUATION,
      (_, tag: string, tex: string) => `<${tag}><math alttext="${validTex(tex)}"></math></${tag}>`,
    );
}

/** Below a picture officeparser writes the name of its file within the container. */
const PICTURE_FILE = /<div class="caption">[^<]{0,300}<\/div>/g;
/** Its TeX is escaped for HTML. */
const EQUATION =
  /<(span|div) class="math math-(?:inline|block)"[^<>]{0,5000}>\${1,2}([^<]{1,5000}?)\${1,2}<\/\1>/g;

/** officeparser 7 writes a single letter directly behind a command, and escapes the braces of its own escapes. */
const validTex = (tex: string): string =>
  tex
    .replaceAll(/\\textbackslash(?:\\\{\\\}|\{\})/g, String.raw`\backslash `)
    .replaceAll(/\\textasciitilde(?:\\\{\\\}|\{\})/g, String.raw`\sim `)
    .replaceAll(/\\textasciicircum(?:\\\{\\\}|\{\})/g, String.raw`\wedge `)
    .replaceAll(
      /\\(frac|sqrt|math(?:bb|cal|frak|tt|sf|rm|bf)|operatorname|overline|underline|overset|underset|bar|vec|dot|hat)([0-9A-Za-z])/g,
      "\\$1{$2}",
    )
    .replaceAll(
      /\\(bigcup|bigcap|bigwedge|bigvee|iiint|iint|oint|int|sum|prod|ldots)(?=[0-9A-Za-z])/g,
      "\\$1 ",
    );

/** Empty cells before a cell that are written; a wider gap is closed. */
const GAP_MAX = 50;

/** Sheets as tables under their names, without the letters and numbers of columns and rows. */
function sheetsHtml({ content }: OfficeParserAST): string {
  const sheets = content.map((sheet) => {
    const name = sheet.type === "sheet" ? (sheet.metadata?.sheetName ?? "") : "";
    const rows = (sheet.children ?? []).map((row) => `<tr>${cellsHtml(row)}</tr>`);
    return `<h2>${escapeHtml(name)}</h2><table>${rows.join("")}</table>`;
  });
  return sheets.join("");
}

function cellsHtml({ children = [] }: OfficeContentNode): string {
  let next = 0;
  return children
    .map((cell) => {
      const column = cell.type === "cell" ? (cell.metadata?.col ?? next) : next;
      const gap = Math.min(Math.max(column - next, 0), GAP_MAX);
      next = column + 1;
      return `${"<td></td>".repeat(gap)}<td>${escapeHtml(cell.text ?? "")}</td>`;
    })
    .join("");
}

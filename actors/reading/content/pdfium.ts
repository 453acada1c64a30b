/**
 * The second reader of PDFs, for pages that the first (pdf.ts) reads wrong: characters in the order of their pictures, as Arabic and
 * Hebrew have them, and words of Hindi or Thai with unknown characters. pdfium, compiled to WebAssembly; it draws nothing and asks for
 * nothing outside the document. What inflates too much has ended the first reader, so it does not come here.
 */
import { PDFiumLibrary } from "@hyzyla/pdfium";
import type { DrawTask } from "../extraction-result.ts";
import { RIGHT_TO_LEFT, soundText } from "./text-document.ts";

/** A line of a page, as pdf.ts has it. */
export interface SecondLine {
  readonly text: string;
  /** The size of its font; comparable within a document. */
  readonly size: number;
  readonly left?: number;
  readonly right?: number;
  readonly y?: number;
}

type Module = Record<
  | `_${"FPDF" | "FPDFText" | "FPDFPage" | "FPDFPageObj" | "FPDFFormObj" | "FPDFBitmap"}_${string}`
  | "_malloc"
  | "_free",
  (...args: number[]) => number
> & { readonly HEAPU8: Uint8Array };

export interface SecondReading {
  /** Lines of each page, numbered from 1. */
  readonly lines: ReadonlyMap<number, readonly SecondLine[]>;
  /** Pages without text that show a picture. */
  readonly pictures: ReadonlySet<number>;
}

/**
 * The lines of the pages `doubtful`, and which of the pages `empty` are pictures. A page that cannot be read is left out, as are all from
 * when `late` says so, or when pdfium breaks: it is started anew for each document.
 */
export async function readByPdfium(
  bytes: Uint8Array,
  { doubtful, empty }: { readonly doubtful: readonly number[]; readonly empty: readonly number[] },
  late: () => boolean,
): Promise<SecondReading> {
  const lines = new Map<number, readonly SecondLine[]>();
  const pictures = new Set<number>();
  try {
    const library = await PDFiumLibrary.init();
    // The package wraps a page's plain text alone.
    const module = library["module"] as unknown as Module;
    const document = (await library.loadDocument(bytes))["documentIdx"] as number;
    for (const page of doubtful) {
      if (late()) break;
      lines.set(page, pageLines(module, document, page - 1));
    }
    for (const page of empty) {
      if (late()) break;
      if (isPicture(module, document, page - 1)) pictures.add(page);
    }
    module._FPDF_CloseDocument!(document);
    library.destroy();
  } catch {
    // A trap of the WebAssembly, or a form that only the first reader knows: its text stays.
  }
  return { lines, pictures };
}

/** FPDF_PAGEOBJ_IMAGE and FPDF_PAGEOBJ_FORM of fpdf_edit.h; a form holds further objects. */
const [IMAGE, FORM] = [3, 5] as const;
const OBJECTS_MAX = 10_000;

function isPicture(module: Module, document: number, index: number): boolean {
  const page = module._FPDF_LoadPage!(document, index);
  const count = Math.min(OBJECTS_MAX, module._FPDFPage_CountObjects!(page));
  let found = false;
  for (let i = 0; i < count && !found; i += 1) {
    const object = module._FPDFPage_GetObject!(page, i);
    const type = module._FPDFPageObj_GetType!(object);
    found = type === IMAGE || (type === FORM && hasImage(module, object));
  }
  module._FPDF_ClosePage!(page);
  return found;
}

function hasImage(module: Module, form: number): boolean {
  const count = Math.min(OBJECTS_MAX, module._FPDFFormObj_CountObjects!(form));
  for (let i = 0; i < count; i += 1)
    if (module._FPDFPageObj_GetType!(module._FPDFFormObj_GetObject!(form, i)) === IMAGE) return true;
  return false;
}

/** A larger page is drawn with fewer dots an inch: A3 with 300. */
const DRAWN_MAX = 18_000_000;
const GRAY = 1;
const WHITE = 0xffffffff;
/** FPDF_ANNOT and FPDF_GRAYSCALE of fpdfview.h. */
const DRAW_FLAGS = 0x01 | 0x08;
const POINTS_AN_INCH = 72;

/** A page, numbered from 1, as a grey picture in the format PGM; null: it cannot be drawn. */
export async function drawPage({ bytes, page, dpi }: DrawTask): Promise<Uint8Array | null> {
  const library = await PDFiumLibrary.init();
  try {
    const module = library["module"] as unknown as Module;
    const document = (await library.loadDocument(bytes))["documentIdx"] as number;
    const open = module._FPDF_LoadPage!(document, page - 1);
    if (open === 0) return null;
    const [wide, high] = [module._FPDF_GetPageWidth!(open), module._FPDF_GetPageHeight!(open)];
    const wanted = dpi / POINTS_AN_INCH;
    const scale = Math.min(wanted, Math.sqrt(DRAWN_MAX / (wide * high)));
    const [width, height] = [wide, high].map((points) => Math.max(1, Math.floor(points * scale)));
    const bitmap = module._FPDFBitmap_CreateEx!(width!, height!, GRAY, 0, 0);
    if (bitmap === 0) return null;
    module._FPDFBitmap_FillRect!(bitmap, 0, 0, width!, height!, WHITE);
    module._FPDF_RenderPageBitmap!(bitmap, open, 0, 0, width!, height!, 0, DRAW_FLAGS);
    const at = module._FPDFBitmap_GetBuffer!(bitmap);
    const stride = module._FPDFBitmap_GetStride!(bitmap);
    const rows = Array.from({ length: height! }, (_, row) =>
      module.HEAPU8.subarray(at + row * stride, at + row * stride + width!),
    );
    return Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), ...rows]);
  } catch {
    return null;
  } finally {
    library.destroy();
  }
}

function pageLines(module: Module, document: number, index: number): SecondLine[] {
  const page = module._FPDF_LoadPage!(document, index);
  const text_page = module._FPDFText_LoadPage!(page);
  try {
    return linesOf(readChars(module, text_page));
  } finally {
    module._FPDFText_ClosePage!(text_page);
    module._FPDF_ClosePage!(page);
  }
}

interface Char {
  readonly char: string;
  /** Where its glyph begins, from the left, and the line it stands on, from below. */
  readonly x: number;
  readonly y: number;
  readonly left: number;
  readonly right: number;
  /** A space or a line's end that stands in no string of the page. */
  readonly isGenerated: boolean;
  readonly size: number;
}

const DOUBLE_BYTES = 8;
const CHARS_MAX = 1_000_000;

function readChars(module: Module, text_page: number): Char[] {
  const count = Math.min(CHARS_MAX, module._FPDFText_CountChars!(text_page));
  // Four doubles, or six floats of a matrix.
  const at = module._malloc(4 * DOUBLE_BYTES);
  const [second, third, fourth] = [1, 2, 3].map((i) => at + i * DOUBLE_BYTES) as [number, number, number];
  const chars: Char[] = [];
  for (let i = 0; i < count; i += 1) {
    module._FPDFText_GetCharOrigin!(text_page, i, at, second);
    const [x, y] = new Float64Array(module.HEAPU8.buffer, at, 2);
    module._FPDFText_GetCharBox!(text_page, i, at, second, third, fourth);
    const [left, right] = new Float64Array(module.HEAPU8.buffer, at, 2);
    chars.push({
      char: String.fromCodePoint(module._FPDFText_GetUnicode!(text_page, i)),
      x: x!,
      y: y!,
      left: left!,
      right: right!,
      isGenerated: module._FPDFText_IsGenerated!(text_page, i) === 1,
      size: module._FPDFText_GetFontSize!(text_page, i) * scaleOf(module, text_page, i, at),
    });
  }
  module._free(at);
  return chars;
}

/** How much larger a character is drawn than its font says. */
function scaleOf(module: Module, text_page: number, i: number, at: number): number {
  if (module._FPDFText_GetMatrix!(text_page, i, at) === 0) return 1;
  const [, , c, d] = new Float32Array(module.HEAPU8.buffer, at, 4);
  return Math.hypot(c!, d!) || 1;
}

function linesOf(chars: readonly Char[]): SecondLine[] {
  const lines: SecondLine[] = [];
  let line: Char[] = [];
  for (const char of [...chars, { ...EMPTY, char: "\n" }]) {
    if (char.char === "\r") continue;
    if (char.char !== "\n") {
      line.push(char);
      continue;
    }
    lines.push({ text: lineText(line), ...placeOf(line) });
    line = [];
  }
  return lines;
}

function placeOf(line: readonly Char[]): Omit<SecondLine, "text"> {
  const inked = line.filter(({ char }) => char.trim() !== "");
  const [first] = inked;
  if (!first) return { size: 0 };
  let [left, right, size] = [first.left, first.right, 0];
  for (const char of inked) {
    left = Math.min(left, char.left);
    right = Math.max(right, char.right);
    size = Math.max(size, char.size);
  }
  return { size, left, right, y: first.y };
}

const EMPTY: Char = { char: "", x: 0, y: 0, left: 0, right: 0, isGenerated: true, size: 0 };
const LIGATURE_PART = /[\u0600-\u06ff]/;
const PRESENTED = /[\ufb1d-\ufdff\ufe70-\ufefc]+/g;
/** A full stop behind a number, which a line that runs from right to left has before it. */
const STOP_BEFORE_NUMBER = /(^|\s)([.,،؛:!?]+)(\d[\d.,/:%]*\d|\d)(?=\s|$)/g;
/** Unknown hyphens at a line's end. */
const LINE_HYPHEN = /[\ufffe\u00ad]+/g;
/** A vowel of Thai that is two glyphs, the second without a character: its width looks like a space. */
const BEFORE_NO_SPACE = "\u0e33";
/** A narrower gap, in sizes of the font, is no space. */
const SPACE_WIDTH = 0.15;
/** A word's picture may be drawn out of order by so many clusters. */
const CLUSTERS_BACK = 6;

function lineText(line: readonly Char[]): string {
  const clusters = clustersOf(line);
  const kept: { text: string; first: Char; right: number }[] = [];
  for (const [at, cluster] of clusters.entries()) {
    const [first] = cluster as [Char];
    const text = cluster.map(({ char }) => char).join("");
    const last = kept.at(-1);
    if (first.isGenerated && text.trim() === "") {
      const next = clusters[at + 1]?.[0];
      const gap = last && next ? next.left - last.right : 1;
      const isRightToLeft = RIGHT_TO_LEFT.test(last?.text ?? "");
      if (!isRightToLeft && next && Math.abs(gap) < SPACE_WIDTH * next.size) continue;
      if (!isRightToLeft && next && gap < 0 && next.left > (last?.first.left ?? 0)) continue;
      if (last?.text.endsWith(BEFORE_NO_SPACE)) continue;
    }
    // Text that a page gives for several strings comes once for each of them; the later ones are marks above the first.
    const isAgain =
      cluster.length > 1 &&
      last !== undefined &&
      first.x < last.right &&
      kept.slice(-CLUSTERS_BACK).some((one) => one.text === text);
    if (!isAgain) kept.push({ text, first, right: cluster.at(-1)!.right });
  }
  const text = kept
    .map((one) => one.text)
    .join("")
    .replace(LINE_HYPHEN, "-")
    .replace(PRESENTED, (presented) => presented.normalize("NFKC"));
  const whole = RIGHT_TO_LEFT.test(text) ? text.replace(STOP_BEFORE_NUMBER, "$1$3$2") : text;
  return soundText(whole).trim();
}

/** Characters of one glyph begin at the same place. Those of an Arabic ligature come in reverse. */
function clustersOf(line: readonly Char[]): Char[][] {
  const clusters: Char[][] = [];
  for (const char of line) {
    const last = clusters.at(-1);
    const isSame = last !== undefined && !char.isGenerated && !last[0]!.isGenerated && last[0]!.x === char.x;
    if (isSame) last.push(char);
    else clusters.push([char]);
  }
  return clusters.map((cluster) =>
    cluster.length > 1 && cluster.every(({ char }) => LIGATURE_PART.test(char))
      ? cluster.toReversed()
      : cluster,
  );
}

/**
 * A PDF's text, page by page, by pdf.js within limits: pages, characters and time. At a limit it ends with the last
 * whole page and says so; the number of all pages is known whenever the document opens. It recognises no text in
 * pictures: a scanned page is "" without an error, and says `needs_ocr`, or has the text that another program recognised
 * (../recognise-pages.ts). What hangs inside one page is cut off from outside.
 */
import { createRequire } from "node:module";
import { dirname } from "node:path";
import type { ReadableStream } from "node:stream/web";
import type { PdfPage } from "../../../schemas/fetch.ts";
import { type Inflation, INFLATION_LIMITS, type InflationLimits, limitInflation } from "./inflation.ts";
import { soundText, MAX_TEXT_CHARS } from "./text-document.ts";

export interface PdfLimits {
  readonly pages_most: number;
  /** UTF-16 units of all pages together. */
  readonly chars_most: number;
  /** CPU time since the task began. */
  readonly cpu_most_ms: number;
  readonly inflation: InflationLimits;
}

/** Killed after 60 s of CPU time: it stops by itself before, with the pages it has. */
export const PDF_LIMITS: PdfLimits = {
  pages_most: 2_000,
  chars_most: MAX_TEXT_CHARS,
  cpu_most_ms: 50_000,
  inflation: INFLATION_LIMITS,
};

export interface Pdf {
  readonly title: string | null;
  readonly pages: readonly PdfPage[];
  /** Null when the document could not be opened. */
  readonly page_count: number | null;
  /** The pages' texts, an empty line between two. */
  readonly text: string;
  readonly truncated: boolean;
  /** No page could be read, though the document opened: `note` says why. */
  readonly unreadable?: true;
  /** If requested: the lines of all pages, which stand in the texts, too. */
  readonly lines?: readonly (readonly PdfLine[])[];
  /** Why there is less than there could be. */
  readonly note: string | null;
}

export interface PdfOptions {
  readonly limits?: PdfLimits;
  readonly with_lines?: boolean;
  /** The text of pages that are pictures, by their numbers. */
  readonly recognised?: ReadonlyMap<number, string>;
}

const NONE: ReadonlyMap<number, string> = new Map();
const BETWEEN = "\n\n";

const pdfjs = await loaded();
const folder = dirname(createRequire(import.meta.url).resolve("pdfjs-dist/package.json"));

const OPTIONS = {
  cMapUrl: `${folder}/cmaps/`,
  cMapPacked: true,
  standardFontDataUrl: `${folder}/standard_fonts/`,
  // Nothing is drawn, nothing outside the document is asked for, and nothing compiled (6.5 has no eval left).
  disableFontFace: true,
  useSystemFonts: false,
  useWorkerFetch: false,
  useWasm: false,
  isOffscreenCanvasSupported: false,
  isImageDecoderSupported: false,
  enableXfa: false,
  verbosity: 0,
} as const;

/** Takes `bytes` over when they are the whole of their buffer: they are empty afterwards. */
export async function readPdf(
  bytes: Uint8Array,
  cpu_ms: () => number,
  { limits = PDF_LIMITS, with_lines = false, recognised = NONE }: PdfOptions = {},
): Promise<Pdf> {
  const inflation = limitInflation(bytes.byteLength, limits.inflation);
  const task = pdfjs.getDocument({ ...OPTIONS, data: ownedBytes(bytes) });
  try {
    const document = await task.promise;
    const lines: PdfLine[][] = [];
    const { is_failure, ...first } = await readPages(
      document,
      cpu_ms,
      limits,
      inflation,
      with_lines ? lines : null,
    );
    const title = await titleOf(document);
    const late = () => cpu_ms() > limits.cpu_most_ms;
    const pages = await readDoubtful(document, first.pages, recognised, late, with_lines ? lines : null);
    const carried = late() ? null : await carriedBy(document);
    return {
      title,
      page_count: document.numPages,
      ...first,
      pages,
      ...(is_failure && { unreadable: true }),
      ...(with_lines && { lines }),
      text: textOf(pages),
      note: [first.note, carried].filter((note) => note !== null).join("; ") || null,
    };
  } catch (cause) {
    const locked = cause instanceof Error && cause.name === "PasswordException";
    const met = inflation.met();
    const note = locked
      ? "The PDF needs a password"
      : `Cannot open the PDF: ${met ? `it has ${met}` : reason(cause)}`;
    return { title: null, pages: [], page_count: null, text: "", truncated: false, note };
  } finally {
    await task.destroy();
    inflation[Symbol.dispose]();
  }
}

type Document = Awaited<ReturnType<typeof pdfjs.getDocument>["promise"]>;
type Page = Awaited<ReturnType<Document["getPage"]>>;

async function readPages(
  document: Document,
  cpu_ms: () => number,
  { pages_most, chars_most, cpu_most_ms }: PdfLimits,
  inflation: Inflation,
  lines: PdfLine[][] | null,
): Promise<Pick<Pdf, "pages" | "truncated" | "note"> & { readonly is_failure: boolean }> {
  const pages: PdfPage[] = [];
  const broken: number[] = [];
  let chars_left = chars_most;
  const hasText = (): boolean => pages.some(({ text }) => text !== "");
  const stopped = (limit: string, is_failure = false) => ({
    pages,
    truncated: true,
    note: `The PDF was read up to ${limit}`,
    is_failure,
  });
  for (let page = 1; page <= document.numPages; page++) {
    if (page > pages_most) return stopped(`${pages_most} pages`);
    let text = "";
    const page_lines: PdfLine[] = [];
    try {
      const open = await document.getPage(page);
      const late = () => cpu_ms() > cpu_most_ms;
      text = await readPage(open, chars_left, late, lines && page_lines);
      open.cleanup();
    } catch (cause) {
      if (cause instanceof Limit) return stopped(cause.message);
      broken.push(page);
    }
    // pdf.js goes on without the stream, and the page would be one without text.
    const met = inflation.met();
    if (met !== null) return stopped(`page ${page}, which has ${met}`, !hasText());
    chars_left -= text.length + BETWEEN.length;
    pages.push({ page, text });
    lines?.push(page_lines);
  }
  const note = broken.length
    ? `Cannot read ${broken.length} pages, the first of them page ${broken[0]}`
    : null;
  const is_failure = broken.length > 0 && broken.length === pages.length;
  return { pages, truncated: false, note, is_failure };
}

/**
 * The pages, and `lines`, with what the second reader (pdfium.ts) reads better, and whether an empty page is a picture: it is loaded for
 * documents with such pages only.
 */
async function readDoubtful(
  document: Document,
  pages: readonly PdfPage[],
  recognised: ReadonlyMap<number, string>,
  late: () => boolean,
  lines: PdfLine[][] | null,
): Promise<readonly PdfPage[]> {
  const doubtful = pages.filter(({ text }) => isDoubtful(text)).map(({ page }) => page);
  const empty = pages.filter(({ text }) => text === "").map(({ page }) => page);
  if (doubtful.length + empty.length === 0 || late()) return pages;
  const { readByPdfium } = await import("./pdfium.ts");
  const found = await readByPdfium(await document.getData(), { doubtful, empty }, late);
  return pages.map((page, i) => {
    if (found.pictures.has(page.page)) {
      const text = recognised.get(page.page);
      if (text === undefined) return { ...page, needs_ocr: true };
      if (lines) lines[i] = paragraphLines(text);
      return { ...page, text, ocr: true };
    }
    const second = found.lines.get(page.page);
    const text =
      second
        ?.map((line) => line.text)
        .join("\n")
        .trim() ?? "";
    if (second === undefined || !isBetter(text, page.text)) return page;
    if (lines) lines[i] = second.map((line) => ({ ...line, open: false }));
    return { ...page, text };
  });
}

/** A line for each paragraph, and an empty one between two. */
const paragraphLines = (text: string): PdfLine[] =>
  text
    .split(/\n{2,}/)
    .flatMap((paragraph) => [paragraph.replaceAll("\n", " "), ""])
    .map((line) => ({ text: line, size: 0, open: false }));

/** Hebrew, Arabic, the scripts of India and of South-East Asia, presentation forms, private and unknown characters. */
const DOUBTFUL =
  /[\u0590-\u08ff\u0900-\u0eff\u1000-\u109f\u1780-\u17ff\ue000-\uf8ff\ufb1d-\ufdff\ufe70-\ufefc\ufffd]/g;
const DOUBTFUL_MIN = 4;
const isDoubtful = (text: string): boolean => (text.match(DOUBTFUL)?.length ?? 0) >= DOUBTFUL_MIN;

const UNKNOWN = /[\ufffd\ue000-\uf8ff]/g;
const unknownIn = (text: string): number => text.match(UNKNOWN)?.length ?? 0;
/** Half of the text at least, and no more unknown characters. */
const isBetter = (second: string, first: string): boolean =>
  second.length >= first.length / 2 && unknownIn(second) <= unknownIn(first);

class Limit extends Error {}

async function readPage(
  page: Page,
  chars_left: number,
  late: () => boolean,
  lines: PdfLine[] | null,
): Promise<string> {
  const pieces: string[] = [];
  let chars = 0;
  // In chunks, so that a page without end is left in its middle. By hand, because pdf.js asks for a reason when its
  // stream is cancelled, which `for await` never gives.
  const reader = (page.streamTextContent() as ReadableStream<TextChunk>).getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    for (const item of chunk.value.items) {
      const { str, hasEOL } = item;
      if (str === undefined) continue;
      if (lines) addToLine(lines, str, item);
      pieces.push(hasEOL ? `${str}\n` : str);
      chars += pieces.at(-1)!.length;
    }
    const limit = chars > chars_left ? "its limit of characters" : late() ? "its limit of time" : null;
    if (limit === null) continue;
    await reader.cancel(new Error(limit));
    throw new Limit(limit);
  }
  return soundText(pieces.join("").trim());
}

/** A part of a line, apart from the next by more than a space. Left and right in points. */
interface PdfCell {
  readonly text: string;
  readonly left: number;
  readonly right: number;
}

/** A line of a page and the size of its font, in points. */
export interface PdfLine {
  readonly text: string;
  readonly size: number;
  /** More may follow in this line. */
  readonly open: boolean;
  /** Where it stands, in points from the left and from below; absent where the line is empty, or is not level. */
  readonly left?: number;
  readonly right?: number;
  readonly y?: number;
  readonly cells?: readonly PdfCell[];
}

/** A gap wider than this, in sizes of the font, is one between two columns. */
const CELL_GAP = 0.9;

function addToLine(
  lines: PdfLine[],
  text: string,
  { height = 0, width = 0, transform, hasEOL }: TextItem,
): void {
  const last = lines.at(-1)?.open ? lines.pop() : undefined;
  const open = hasEOL !== true;
  const whole = (last?.text ?? "") + text;
  if (text.trim() === "" || transform === undefined) {
    lines.push({ size: 0, ...last, text: whole, open });
    return;
  }
  const size = Math.max(last?.size ?? 0, height);
  const [, slope = 0, , , left = 0, y = 0] = transform;
  if (slope !== 0) {
    lines.push({ text: whole, size, open });
    return;
  }
  const right = left + width;
  const cells = [...(last?.cells ?? [])];
  const cell = cells.at(-1);
  const isNext = cell !== undefined && left - cell.right <= CELL_GAP * size;
  if (isNext) cells.pop();
  const gap = isNext && last!.text.endsWith(" ") && !cell.text.endsWith(" ") ? " " : "";
  cells.push(isNext ? { text: cell.text + gap + text, left: cell.left, right } : { text, left, right });
  lines.push({
    text: whole,
    size,
    open,
    left: Math.min(left, last?.left ?? left),
    right: Math.max(right, last?.right ?? right),
    y: last?.y ?? y,
    cells,
  });
}

interface TextItem {
  /** Without it it is a mark in the content, not text. */
  readonly str?: string;
  readonly hasEOL?: boolean;
  readonly height?: number;
  readonly width?: number;
  /** From the item's space to the page's: six numbers, the last two of them where it stands. */
  readonly transform?: readonly number[];
}

interface TextChunk {
  readonly items: readonly TextItem[];
}

function textOf(pages: readonly PdfPage[]): string {
  return pages
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join(BETWEEN);
}

/** Titles that programs write by themselves: names of files and of themselves. */
const NO_TITLE = [
  /^(?:microsoft (?:word|powerpoint|excel)|powerpoint|word|print|layout|slide|document)\b\s*(?:-|\d*$)/i,
  /^(?:untitled|unbenannt|sans titre|senza titolo|sin título|\(anonymous\)|title|no title|powerpoint presentation)\b/i,
  /^(?:[a-z]:)?[\\/]|^file:|^https?:/i,
  /\.(?:docx?|pdf|xlsx?|pptx?|rtf|odt|ods|odp|tex|dvi|ps|eps|indd|qxd|qxp|fm|p65|pmd|pub|pages|key|wpd|txt|md|html?|tiff?|jpe?g|png|dwg|vsdx?|ai|cdr)$/i,
];

export function isTitle(title: string): boolean {
  return /\p{L}/u.test(title) && !NO_TITLE.some((pattern) => pattern.test(title));
}

async function titleOf(document: Document): Promise<string | null> {
  const { info, metadata } = await document.getMetadata().catch(() => ({ info: {}, metadata: null }));
  const titles = [(info as { Title?: unknown }).Title, metadata?.get("dc:title")];
  for (const title of titles) {
    if (typeof title !== "string") continue;
    const clean = soundText(title.replaceAll("\u0000", "")).replace(/\s+/g, " ").trim().slice(0, 1_000);
    if (isTitle(clean)) return clean;
  }
  return null;
}

/** Names given of a form's fields, and of attachments, at most. */
const NAMES_MAX = 10;
const NAME_CHARS_MAX = 80;

/** Attachments and form fields of a document, by name: they are not read. */
async function carriedBy(document: Document): Promise<string | null> {
  const attachments = await document.getAttachments().catch(() => null);
  const fields = await document.getFieldObjects().catch(() => null);
  const files = [...(attachments?.values() ?? [])].map(({ filename }) => filename);
  const parts = [named("attachments", files), named("form fields", [...(fields?.keys() ?? [])])];
  return parts.some((part) => part !== null)
    ? `Not read: ${parts.filter((part) => part !== null).join(", ")}`
    : null;
}

function named(what: string, names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const some = names.slice(0, NAMES_MAX).map((name) => soundText(name).slice(0, NAME_CHARS_MAX));
  return `${names.length} ${what} (${some.join(", ")}${names.length > NAMES_MAX ? ", …" : ""})`;
}

function reason(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).slice(0, 200);
}

/** pdf.js refuses Buffers and empties what it is given: only bytes with an ArrayBuffer of their own are passed without a copy. */
function ownedBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = !Buffer.isBuffer(bytes) && bytes.byteLength === bytes.buffer.byteLength;
  return whole ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

/** While it is loaded pdf.js looks for a canvas and complains on the console when there is none. Text needs none. */
async function loaded() {
  const { warn } = console;
  console.warn = () => {};
  try {
    return await import("pdfjs-dist/legacy/build/pdf.mjs");
  } finally {
    console.warn = warn;
  }
}

/**
 * Pages of a PDF that are pictures: each is drawn by a reader, and its text recognised by another program. A document has
 * so many pages and so much time; what is left says `needs_ocr` as before, and the note how far it came.
 */
import type { Clock } from "../../cluster/ports/clock.ts";
import type { TaskResult } from "../../cluster/ports/workers.ts";
import type { DrawTask, Extracted, ExtractTask } from "./extraction-result.ts";
import { soundText } from "./content/text-document.ts";

/** Recognises the text of a picture in the format PGM. Null: it could not; a page without text has "". */
export type Recognise = (picture: Uint8Array, signal: AbortSignal) => Promise<string | null>;

export interface RecogniseDeps {
  readonly clock: Clock;
  readonly recognise: Recognise;
  readonly draw: (task: DrawTask) => Promise<TaskResult<Uint8Array | null>>;
  readonly read: (task: ExtractTask) => Promise<TaskResult<Extracted>>;
}

/** The least that Tesseract's guide asks for. */
export const DRAWN_DPI = 300;

const LIMITS = {
  /** The limit for one document. */
  pages: 30,
  /** From when the document was read to when the last page is begun. */
  ms: 20_000,
} as const;

/** The document with the text of its scanned pages; `first` where it has none, or none could be recognised. */
export async function recognisePages(
  { clock, recognise, draw, read }: RecogniseDeps,
  task: ExtractTask,
  first: Extracted,
  signal: AbortSignal,
): Promise<Extracted> {
  const scanned = first.pdf_pages?.filter(({ needs_ocr }) => needs_ocr) ?? [];
  if (scanned.length === 0) return first;
  const end_ms = clock.mono() + LIMITS.ms;
  const recognised = new Map<number, string>();
  let failed = 0;
  for (const { page } of scanned.slice(0, LIMITS.pages)) {
    if (signal.aborted || clock.mono() > end_ms) break;
    const drawn = await draw({ bytes: task.bytes, page, dpi: DRAWN_DPI });
    const picture = drawn.kind === "done" ? drawn.value : null;
    const text = picture && (await recognise(picture, signal));
    if (text === null) failed++;
    else recognised.set(page, linesOf(text));
  }
  if (recognised.size === 0) return { ...first, note: noted(first.note, 0, scanned.length, failed) };
  const second = await read({ ...task, recognised });
  const whole = second.kind === "done" ? second.value : first;
  return { ...whole, note: noted(whole.note, recognised.size, scanned.length, failed) };
}

/** Without what ends a page, and what stands behind lines. */
const linesOf = (text: string): string =>
  soundText(text)
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();

function noted(note: string | null, done: number, all: number, failed: number): string | null {
  if (done === all) return note;
  const why = failed > 0 ? `, ${failed} could not be` : "";
  return [note, `The text of ${done} of ${all} scanned pages was recognised${why}`]
    .filter((part) => part !== null)
    .join("; ");
}

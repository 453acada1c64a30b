/** Scanned pages whose text Tesseract recognises (apt-get install tesseract-ocr). */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findTesseract, openTesseract } from "../../../../actors/reading/adapters/ocr.tesseract.ts";
import { drawPage } from "../../../../actors/reading/content/pdfium.ts";
import { DRAWN_DPI } from "../../../../actors/reading/recognise-pages.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { SILENT_LOG } from "../../../../cluster/ports/log.ts";
import { SILENT_METRICS } from "../../../../cluster/ports/metrics.ts";
import { openExtraction } from "../../../../ops/extraction.ts";
import { scannedPage, writePdf } from "../content/pdf-writer.ts";

const signal = new AbortController().signal;
const typed = ["The harbour was built in 1902", "and its cranes lifted 40 tons."];
const drawn = () => drawPage({ bytes: writePdf({ pages: [{ lines: typed }] }), page: 1, dpi: DRAWN_DPI });

const isInstalled = spawnSync("tesseract", ["--version"]).status === 0;
describe.skipIf(!isInstalled)("by Tesseract (needs Debian's tesseract-ocr)", { timeout: 180_000 }, () => {
  let readers: ReturnType<typeof openExtraction>;
  beforeAll(() => {
    readers = openExtraction({
      // The time that a document has does not end, however busy the machine is.
      clock: virtualClock(),
      log: SILENT_LOG,
      metrics: SILENT_METRICS,
      is_warmed: false,
      ocr: "eng",
    });
  });
  afterAll(() => readers.close());
  const read = (bytes: Uint8Array) =>
    readers.extract(
      {
        bytes,
        url: "https://example.org/a.pdf",
        content_type: "application/pdf",
        kind: "pdf",
        now_ms: 0,
        with_formats: true,
      },
      { signal, project: "p" },
    );

  test("a page that is a picture has its text, in Markdown too; the others stay as they are", async () => {
    const picture = (await drawn())!;
    const blank = new Uint8Array(picture).fill(255, 20);
    const pages = [{ lines: ["Typed."] }, scannedPage(picture), scannedPage(blank)];
    const result = await read(writePdf({ pages }));
    expect(result).toMatchObject({
      kind: "done",
      value: {
        text: `Typed.\n\n${typed.join("\n")}`,
        pdf_pages: [
          { page: 1, text: "Typed." },
          { page: 2, text: typed.join("\n"), ocr: true },
          { page: 3, text: "", ocr: true },
        ],
        note: null,
      },
    });
    expect(result.kind === "done" && result.value.formats?.markdown).toContain(typed.join(" "));
  });

  test("a picture that is none fails without an error, and two at once wait for each other", async () => {
    const recognise = openTesseract(findTesseract("eng"), { launcher: [], dpi: DRAWN_DPI, most: 1 });
    const texts = await Promise.all([
      recognise(Buffer.from("no picture"), signal),
      drawn().then((picture) => recognise(picture!, signal)),
    ]);
    expect(texts).toEqual([null, expect.stringContaining("harbour")]);
    expect(await recognise(Buffer.from("P5"), AbortSignal.abort())).toBeNull();
  });

  test("a language without data is named with its setting", () => {
    expect(() => findTesseract("eng+tlh")).toThrow(/^TRAWL_OCR_LANGUAGES: .*"tlh"; it has .*eng/);
  });
});

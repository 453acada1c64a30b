import { execFileSync } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { isTitle, PDF_LIMITS, readPdf } from "../../../../actors/reading/content/pdf.ts";
import { pdfMarkdown } from "../../../../actors/reading/markdown/pdf.ts";
import { bombPage, nestedBombPage, writePdf } from "./pdf-writer.ts";

const at_once = () => 0;
const read = (bytes: Uint8Array, limits = {}) =>
  readPdf(bytes, at_once, { limits: { ...PDF_LIMITS, ...limits } });
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ lines: [`This is page ${index + 1}`, "Second line"] }));

describe("a PDF", () => {
  test("gives its pages, numbered from one, its lines apart, and the text of all", async () => {
    const pdf = await read(writePdf({ pages: numbered(3), title: "Annual report" }));
    expect(pdf).toEqual({
      title: "Annual report",
      page_count: 3,
      pages: [1, 2, 3].map((page) => ({ page, text: `This is page ${page}\nSecond line` })),
      text: "This is page 1\nSecond line\n\nThis is page 2\nSecond line\n\nThis is page 3\nSecond line",
      truncated: false,
      note: null,
    });
  });

  test("names its attachments and the fields of its form, which are not read", async () => {
    const attachments = ["invoice.xml", "levels.csv"];
    const fields = Array.from({ length: 12 }, (_, index) => `field ${index}`);
    const { note, text } = await read(writePdf({ pages: numbered(1), attachments, fields }));
    const first = fields.slice(0, 10).join(", ");
    expect({ note, text }).toEqual({
      note: `Not read: 2 attachments (invoice.xml, levels.csv), 12 form fields (${first}, …)`,
      text: "This is page 1\nSecond line",
    });
  });

  test("leaves the caller's bytes alone when they are a Buffer", async () => {
    const bytes = writePdf({ pages: numbered(1) });
    const before = Buffer.from(bytes);
    await read(bytes);
    expect(bytes.equals(before)).toBe(true);
  });

  test("reads what only the character maps of the package explain", async () => {
    const japanese = [Buffer.from("93fa967b8cea82cc955c", "hex")];
    const pdf = await read(writePdf({ pages: [{ japanese }] }));
    expect(pdf.text).toBe("日本語の表");
  });

  test("has Arabic and Hebrew in the order they are read, Hindi and Thai with all their characters", async () => {
    // Printed by Chromium with the fonts DejaVu Sans, Lohit Devanagari and Garuda.
    const bytes = readFileSync(new URL("../../../fixtures/pdf/scripts.pdf", import.meta.url));
    const { pages, lines } = await readPdf(bytes, at_once, { with_lines: true });
    const texts = [
      "وصلت العبارة الأولى إلى الميناء عند الفجر،\nوقالت الشركة إن ثلاث سفن أخرى ستبحر\nكل مساء حتى عام 2027. لا تتغير الأجرة.",
      "המעבורת הראשונה הגיעה לנמל עם שחר,\nוהחברה הודיעה כי שלוש ספינות נוספות\nיפליגו עד שנת 2027. המחיר לא ישתנה.",
      "पहली नौका भोर में बंदरगाह पहुँची, और कंपनी ने\nकहा कि तीन और जहाज चलेंगे। किराया नहीं\nबदलेगा।",
      "เรือข้ามฟากลำแรกมาถึงท่าเรือตอนรุ่งสาง\nและบริษัทกล่าวว่าเรืออีกสามลำจะแล่นทุกเย็น",
    ];
    expect(pages.map(({ text }) => text)).toEqual(texts);
    expect(pdfMarkdown(lines!)).toBe(texts.map((text) => text.replaceAll("\n", " ")).join("\n\n---\n\n"));
  });

  test("is empty without an error when it was scanned, but has its number of pages", async () => {
    const pages = Array.from({ length: 4 }, () => ({ picture: Buffer.alloc(10_000, 99) }));
    const pdf = await read(writePdf({ pages }));
    expect(pdf).toMatchObject({ text: "", page_count: 4, truncated: false, note: null });
    expect(pdf.pages).toEqual([1, 2, 3, 4].map((page) => ({ page, text: "", needs_ocr: true })));
    expect((await read(writePdf({ pages: [{}] }))).pages).toEqual([{ page: 1, text: "" }]);
  });

  test("opens when its password is empty, as it is where only printing is forbidden", async () => {
    const encrypted = { user: "", owner: "secret" };
    const pdf = await read(writePdf({ pages: numbered(1), title: "Minutes", encrypted }));
    expect(pdf).toMatchObject({ text: "This is page 1\nSecond line", title: "Minutes", note: null });
  });

  test("gives nothing but a note when it needs a password", async () => {
    const encrypted = { user: "letmein", owner: "secret" };
    const pdf = await read(writePdf({ pages: numbered(2), title: "Minutes", encrypted }));
    expect(pdf).toEqual({
      title: null,
      page_count: null,
      pages: [],
      text: "",
      truncated: false,
      note: "The PDF needs a password",
    });
  });

  test.each([
    ["nothing", Buffer.alloc(0)],
    ["another format", Buffer.from("<html><p>Not found</p></html>")],
    ["only a header", Buffer.from("%PDF-1.7\n")],
    ["noise after the header", Buffer.concat([Buffer.from("%PDF-1.7\n"), Buffer.alloc(50_000, "\x9f2 R<<")])],
  ])("gives nothing but a note when it is %s", async (_, bytes) => {
    const pdf = await read(bytes);
    expect(pdf).toMatchObject({ text: "", pages: [], truncated: false });
    expect(pdf.note).toMatch(/^Cannot open the PDF: /);
  });

  test("is put together again when its table of contents points nowhere", async () => {
    const whole = writePdf({ pages: numbered(3) }).toString("latin1");
    const pdf = await read(Buffer.from(whole.replace(/startxref\n\d+/, "startxref\n9"), "latin1"));
    expect(pdf).toMatchObject({ page_count: 3, truncated: false });
    expect(pdf.text).toContain("This is page 3");
  });
});

describe("a PDF at its limits", () => {
  test("ends after the last page allowed, and still counts them all", async () => {
    const pdf = await read(writePdf({ pages: numbered(12) }), { pages_most: 5 });
    expect(pdf).toMatchObject({
      page_count: 12,
      truncated: true,
      note: "The PDF was read up to 5 pages",
    });
    expect(pdf.pages.map(({ page }) => page)).toEqual([1, 2, 3, 4, 5]);
  });

  test("has all its pages when there are just as many as allowed", async () => {
    const pdf = await read(writePdf({ pages: numbered(5) }), { pages_most: 5 });
    expect(pdf).toMatchObject({ page_count: 5, truncated: false, note: null });
  });

  test("ends with the last page that fits whole when its characters are too many", async () => {
    const each = "This is page 1\nSecond line".length;
    const pdf = await read(writePdf({ pages: numbered(9) }), { chars_most: each * 3 + 4 });
    expect(pdf.pages.map(({ page }) => page)).toEqual([1, 2, 3]);
    expect(pdf).toMatchObject({ page_count: 9, truncated: true });
  });

  test("ends with the pages it has when its time is over", async () => {
    let cpu_ms = 0;
    const pdf = await readPdf(writePdf({ pages: numbered(9) }), () => (cpu_ms += 10_000));
    expect(pdf).toMatchObject({ page_count: 9, truncated: true });
    expect(pdf.pages.length).toBeGreaterThan(0);
    expect(pdf.pages.length).toBeLessThan(9);
  });

  test("leaves a page without end in its middle", async () => {
    const pages = [...numbered(1), bombPage(20_000_000), ...numbered(1)];
    const pdf = await read(writePdf({ pages }), { chars_most: 100_000 });
    expect(pdf).toMatchObject({ page_count: 3, truncated: true, text: "This is page 1\nSecond line" });
  });

  describe("of streams that inflate to much", () => {
    const MB = 2 ** 20;
    const inflation = { stream_bytes: 2 * MB, total_bytes: 64 * MB };

    test("is unreadable when nothing else is in it, and nothing more is inflated", async () => {
      const bytes = writePdf({ pages: [nestedBombPage(40 * MB)] });
      expect(bytes.length).toBeLessThan(3_700);
      const pdf = await read(bytes, { inflation });
      expect(pdf).toMatchObject({
        page_count: 1,
        text: "",
        unreadable: true,
        note: "The PDF was read up to page 1, which has a stream that inflates to more than 2 MB",
      });
      const whole = await read(writePdf({ pages: [nestedBombPage(MB)] }), { inflation });
      expect(whole).toMatchObject({ page_count: 1, note: null });
    });

    test("has the pages before it", async () => {
      const pages = [...numbered(2), nestedBombPage(40 * MB), ...numbered(1)];
      const pdf = await read(writePdf({ pages }), { inflation });
      expect(pdf).toMatchObject({ page_count: 4, truncated: true });
      expect(pdf.unreadable).toBeUndefined();
      expect(pdf.pages.map(({ page }) => page)).toEqual([1, 2]);
    });

    test("ends at the limit of all together", async () => {
      const pages = Array.from({ length: 60 }, () => nestedBombPage(MB));
      const { note } = await read(writePdf({ pages }), { inflation });
      expect(note).toMatch(
        /^The PDF was read up to page \d+, which has streams that inflate to more than 64 MB together$/,
      );
    });

    test("leaves the globals of its process as they were", async () => {
      const { Uint8Array: bytes, DecompressionStream: decompression } = globalThis;
      await read(writePdf({ pages: [nestedBombPage(40 * MB)] }), { inflation });
      expect(globalThis.Uint8Array).toBe(bytes);
      expect(globalThis.DecompressionStream).toBe(decompression);
    });
  });

  test("of 5,000 pages is read to its 2,000th and counted whole", async () => {
    const pdf = await read(writePdf({ pages: numbered(5_000) }));
    expect(pdf).toMatchObject({ page_count: 5_000, truncated: true });
    expect(pdf.pages).toHaveLength(2_000);
    expect(pdf.pages.at(-1)).toEqual({ page: 2_000, text: "This is page 2000\nSecond line" });
  });
});

test.each([
  ["Annual Report 2024", true],
  ["Wörter und Sachen", true],
  ["日本語の題", true],
  ["Words, a history", true],
  ["Document retention in practice", true],
  ["Apple Inc. 10-K Letter.pdf", false],
  ["Microsoft Word - report_final2.doc", false],
  ["C:\\wp\\FILE94\\MT_r1.wpd [PFP#1]", false],
  ["/home/me/thesis", false],
  ["untitled", false],
  ["Layout 1", false],
  ["PowerPoint Presentation", false],
  ["  --  ", false],
  ["20240516", false],
])("takes %j for a title: %s", (title, is) => {
  expect(isTitle(title)).toBe(is);
});

test("reads a PDF in plain Node without a canvas, and prints nothing", () => {
  const script = `
    import { readPdf } from ${JSON.stringify(new URL("../../../../actors/reading/content/pdf.ts", import.meta.url).href)};
    import { writePdf } from ${JSON.stringify(new URL("./pdf-writer.ts", import.meta.url).href)};
    const pdf = await readPdf(writePdf({ pages: [{ lines: ["Hello"] }] }), () => 0);
    process.stdout.write(pdf.text);`;
  const root = fileURLToPath(new URL("../../../..", import.meta.url));
  // Native code is forbidden, so that a canvas that happens to be installed cannot be loaded.
  const packages = realpathSync(`${root}node_modules`);
  const flags = [
    "--permission",
    `--allow-fs-read=${root}`,
    `--allow-fs-read=${packages}`,
    "--disable-warning=ExperimentalWarning",
  ];
  const printed = execFileSync(
    process.execPath,
    [...flags, "--input-type=module-typescript", "--eval", script],
    { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" },
  );
  expect(printed).toBe("Hello");
});

/** Office documents and e-books, written by test/harness/office-files.ts and read as the reader process does. */
import { strFromU8, strToU8, unzipSync, zipSync } from "fflate";
import { expect, describe, test } from "vitest";
import { tasks } from "../../../actors/reading/extract.ts";
import { contentKindOf } from "../../../actors/lib/web/http.ts";
import { OFFICE_KINDS, type OfficeKind } from "../../../schemas/fetch.ts";
import {
  bomb,
  docx,
  epub,
  heading,
  link,
  odf,
  paragraph,
  pptx,
  table,
  xlsx,
} from "../../harness/office-files.ts";

const read = await tasks.office();
const URL = "https://lakes.example/report";
const office = (kind: OfficeKind, bytes: Buffer) =>
  read({ bytes, url: URL, content_type: null, kind, now_ms: 0, with_formats: true }, () => 0);

const REPORT = docx(
  heading("Levels") +
    paragraph("The lake rose by 12 cm &amp; more.") +
    link("the data") +
    table([
      ["Month", "Level"],
      ["May", "406"],
    ]),
);
const RTF = String.raw`{\rtf1\ansi\deff0{\fonttbl{\f0 Times;}}\pard\b Levels\b0\par Caf\'e9 and \u8364? 5.\par}`;
const DOCUMENTS: Readonly<Record<OfficeKind, Buffer>> = {
  docx: REPORT,
  xlsx: xlsx("Levels", { A1: "Month", B1: "Level", A2: "May", B2: 406.5, D3: "far" }),
  pptx: pptx("Levels", ["First point", "Second point"]),
  odt: odf("odt", '<text:h text:outline-level="1">Levels</text:h><text:p>The lake rose.</text:p>'),
  ods: odf(
    "ods",
    '<table:table table:name="Levels"><table:table-row><table:table-cell><text:p>Month</text:p></table:table-cell><table:table-cell><text:p>Level</text:p></table:table-cell></table:table-row></table:table>',
  ),
  odp: Buffer.alloc(0),
  epub: epub({ "one.xhtml": "<h1>Levels</h1><p>It began.</p>", "two.xhtml": "<p>It ended.</p>" }),
  rtf: Buffer.from(RTF, "latin1"),
};

describe("an office document is read whole", () => {
  test.each<[OfficeKind, string | null, string, string]>([
    [
      "docx",
      "Lake levels",
      "Levels\nThe lake rose by 12 cm & more.\nSee the data\nMonth Level\nMay 406",
      "# Levels\n\nThe lake rose by 12 cm & more.\n\nSee [the data](https://lakes.example/data)\n\n| Month | Level |\n| --- | --- |\n| May | 406 |",
    ],
    [
      "xlsx",
      "Lake levels",
      "Levels\nMonth Level\nMay 406.5\nfar",
      "## Levels\n\n| Month | Level |  |  |\n| --- | --- | --- | --- |\n| May | 406.5 |  |  |\n|  |  |  | far |",
    ],
    ["pptx", "Lake levels", "Levels\nFirst point\nSecond point", "# Levels\n\nFirst point\n\nSecond point"],
    ["odt", null, "Levels\nThe lake rose.", "# Levels\n\nThe lake rose."],
    ["ods", null, "Levels\nMonth Level", "## Levels\n\nMonth Level"],
    ["epub", "The ferry", "Levels\nIt began.\nIt ended.", "# Levels\n\nIt began.\n\nIt ended."],
    ["rtf", null, "Levels\nCafé and € 5.", "**Levels**\n\nCafé and € 5."],
  ])("%s", async (kind, title, text, markdown) => {
    const result = await office(kind, DOCUMENTS[kind]);
    expect(result).toMatchObject({ title, text_truncated: false, charset: null, note: null });
    expect(result.text.replaceAll(/\n+/g, "\n")).toBe(text);
    expect(result.formats?.markdown).toBe(markdown);
  });

  test("with its links", async () => {
    const { formats } = await office("docx", REPORT);
    expect(formats?.links).toEqual([{ url: "https://lakes.example/data", text: "the data", rel: null }]);
  });
});

const MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"';
const part = (name: string, inside: string): string => `<m:${name}>${inside}</m:${name}>`;
const letters = (text: string): string => part("r", part("t", text));

describe("an equation of a document is TeX", () => {
  const inline = (equation: string): Buffer =>
    docx(
      `<w:p><w:r><w:t xml:space="preserve">Where </w:t></w:r><m:oMath ${MATH}>${equation}</m:oMath></w:p>`,
    );
  test.each([
    ["a fraction", part("f", part("num", letters("a")) + part("den", letters("λ"))), "\\frac{a}{λ}"],
    ["a root", part("rad", part("deg", "") + part("e", letters("x"))), "\\sqrt{x}"],
    ["a longer root", part("rad", part("deg", "") + part("e", letters("x+y"))), "\\sqrt{x+y}"],
    ["a sum", part("nary", '<m:naryPr><m:chr m:val="∑"/></m:naryPr>' + part("e", letters("n"))), "\\sum n"],
    ["a power", part("sSup", part("e", letters("c")) + part("sup", letters("2"))), "c^2"],
    ["characters of TeX", letters("5% \\ a&lt;b"), "5\\% \\backslash a<b"],
  ])("%s", async (_, equation, tex) => {
    const { text, formats } = await office("docx", inline(equation));
    expect([text, formats?.markdown]).toEqual([`Where $${tex}$`, `Where $${tex}$`]);
  });
  test("one that stands alone", async () => {
    const { formats } = await office(
      "docx",
      docx(`<w:p><m:oMathPara ${MATH}>${part("oMath", letters("E=m"))}</m:oMathPara></w:p>`),
    );
    expect(formats?.markdown).toBe("$E=m$");
  });
});

describe("a presentation", () => {
  const names = /(xmlns:a="[^"]+" xmlns:p="[^"]+" xmlns:r="[^"]+")/;
  const slide = (title: string): string =>
    strFromU8(unzipSync(pptx(title, ["First point"]))["ppt/slides/slide1.xml"]!);
  /** A slide with a picture and its number, and notes below it. */
  function withParts(): Buffer {
    const files: Record<string, Uint8Array> = unzipSync(pptx("Levels", ["First point"]));
    const xml = slide("Levels");
    const declared = names.exec(xml)![1]!;
    const number =
      '<p:sp><p:nvSpPr><p:cNvPr id="5" name="n"/><p:cNvSpPr/><p:nvPr><p:ph type="sldNum"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:fld id="{1}" type="slidenum"><a:t>17</a:t></a:fld></a:p></p:txBody></p:sp>';
    const picture =
      '<p:pic><p:nvPicPr><p:cNvPr id="4" name="Picture 3"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill><a:blip r:embed="i1"/></p:blipFill><p:spPr/></p:pic>';
    const relations = (rows: string): Uint8Array =>
      strToU8(
        `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${rows}</Relationships>`,
      );
    const type = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    files["ppt/slides/slide1.xml"] = strToU8(xml.replace("</p:spTree>", `${picture}${number}</p:spTree>`));
    files["ppt/slides/_rels/slide1.xml.rels"] = relations(
      `<Relationship Id="i1" Type="${type}/image" Target="../media/image1.png"/><Relationship Id="n1" Type="${type}/notesSlide" Target="../notesSlides/notesSlide1.xml"/>`,
    );
    files["ppt/media/image1.png"] = strToU8("png");
    files["ppt/notesSlides/notesSlide1.xml"] = strToU8(
      `<p:notes ${declared}><p:cSld><p:spTree><p:sp><p:nvSpPr><p:cNvPr id="3" name="x"/><p:cNvSpPr/><p:nvPr><p:ph type="body"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>Say it slowly</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:notes>`,
    );
    return Buffer.from(zipSync(files));
  }
  test("has its notes and slide numbers, and no names of its pictures' files", async () => {
    const { text } = await office("pptx", withParts());
    expect(text.split(/\n+/)).toEqual(["Levels", "First point", "17", "Say it slowly"]);
  });
});

describe("the kind of an office document", () => {
  const KINDS = OFFICE_KINDS.filter((kind) => DOCUMENTS[kind].length > 0);
  test.each(KINDS)("%s is known by its bytes, whatever its declared type", (kind) => {
    for (const type of [
      null,
      "application/octet-stream",
      "application/zip",
      "application/msword",
      "text/plain",
    ])
      expect(contentKindOf(type, DOCUMENTS[kind], "https://x.example/download")).toBe(kind);
  });

  test.each([
    ["an error page under its type", "<!doctype html><title>Gone</title>", "html"],
    ["bytes that are none", "\u0001\u0002", "binary"],
    ["an archive of other files", "PK\u0003\u0004 and other files", "binary"],
  ])("is not that of %s", (_, body, kind) => {
    const type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    expect(contentKindOf(type, Buffer.from(body, "latin1"), "https://x.example/a.docx")).toBe(kind);
  });
});

describe("a hostile document", () => {
  test.each<[string, OfficeKind, Buffer]>([
    ["a container that is cut off", "docx", REPORT.subarray(0, REPORT.length / 2)],
    ["no container", "docx", Buffer.from("hello")],
    ["a part that unpacks to 200 MB", "docx", bomb(200_000_000)],
    ["more elements than the limit", "docx", docx("<w:p/>".repeat(600_000))],
    ["a part that is no XML", "docx", docx("<w:p><w:r>")],
  ])("%s is not read, with a note", async (_, kind, bytes) => {
    const { text, note, unreadable } = await office(kind, bytes);
    expect({ text, note, unreadable }).toEqual({
      text: "",
      unreadable: true,
      note: expect.stringMatching(/^Cannot read the document: ./),
    });
  });

  test("macros are not read", async () => {
    const { text } = await office(
      "docx",
      docx(paragraph("Text."), { "word/vbaProject.bin": "Sub AutoOpen()" }),
    );
    expect(text).toBe("Text.");
  });

  test("a book whose reading order repeats a chapter without end is read within the limit", async () => {
    const spine = Array.from({ length: 50_000 }, () => "one.xhtml");
    const { text } = await office("epub", epub({ "one.xhtml": "<p>Again.</p>" }, spine));
    expect(text.length).toBeLessThan(5_000_001);
  });

  test("a row that is repeated a million times is cut off, and says so", async () => {
    const cell =
      '<table:table-cell table:number-columns-repeated="1000"><text:p>x</text:p></table:table-cell>';
    const row = `<table:table-row table:number-rows-repeated="1000000">${cell}</table:table-row>`;
    const { text_truncated, note } = await office("ods", odf("ods", `<table:table>${row}</table:table>`));
    expect({ text_truncated, note }).toEqual({
      text_truncated: true,
      note: expect.stringContaining("LIMIT"),
    });
  });
});

/** Small office documents and e-books, written part by part. */
import { strToU8, zipSync, type Zippable } from "fflate";

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const OOXML = "http://schemas.openxmlformats.org";
const OFFICE_TYPE = "application/vnd.openxmlformats-officedocument";

/** `stored` is the first file and not compressed. */
function container(parts: Readonly<Record<string, string | Uint8Array>>, stored?: string): Buffer {
  const files: Zippable = stored === undefined ? {} : { mimetype: [strToU8(stored), { level: 0 }] };
  for (const [name, part] of Object.entries(parts))
    files[name] = typeof part === "string" ? strToU8(part) : part;
  return Buffer.from(zipSync(files));
}

function ooxml(main: string, type: string, parts: Readonly<Record<string, string | Uint8Array>>): Buffer {
  return container({
    "[Content_Types].xml": `${XML}<Types xmlns="${OOXML}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/${main}" ContentType="${OFFICE_TYPE}.${type}.main+xml"/></Types>`,
    "_rels/.rels": `${XML}<Relationships xmlns="${OOXML}/package/2006/relationships"><Relationship Id="r1" Type="${OOXML}/officeDocument/2006/relationships/officeDocument" Target="${main}"/><Relationship Id="r2" Type="${OOXML}/package/2006/relationships/metadata/core-properties" Target="docProps/core.xml"/></Relationships>`,
    "docProps/core.xml": `${XML}<cp:coreProperties xmlns:cp="${OOXML}/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Lake levels</dc:title></cp:coreProperties>`,
    ...parts,
  });
}

const WORD = `xmlns:w="${OOXML}/wordprocessingml/2006/main" xmlns:r="${OOXML}/officeDocument/2006/relationships"`;

/** `body` is WordprocessingML; `parts` are added to the container. */
export const docx = (body: string, parts: Readonly<Record<string, string | Uint8Array>> = {}): Buffer =>
  ooxml("word/document.xml", "wordprocessingml.document", {
    "word/document.xml": `${XML}<w:document ${WORD}><w:body>${body}</w:body></w:document>`,
    "word/styles.xml": `${XML}<w:styles ${WORD}><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>`,
    "word/_rels/document.xml.rels": `${XML}<Relationships xmlns="${OOXML}/package/2006/relationships"><Relationship Id="l1" Type="${OOXML}/officeDocument/2006/relationships/hyperlink" Target="https://lakes.example/data" TargetMode="External"/><Relationship Id="s1" Type="${OOXML}/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`,
    ...parts,
  });

export const paragraph = (text: string): string =>
  `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
export const heading = (text: string): string =>
  `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`;
export const link = (text: string): string =>
  `<w:p><w:r><w:t xml:space="preserve">See </w:t></w:r><w:hyperlink r:id="l1"><w:r><w:t>${text}</w:t></w:r></w:hyperlink></w:p>`;
export const table = (rows: readonly (readonly string[])[]): string => {
  const cell = (text: string): string => `<w:tc>${paragraph(text)}</w:tc>`;
  return `<w:tbl>${rows.map((row) => `<w:tr>${row.map(cell).join("")}</w:tr>`).join("")}</w:tbl>`;
};

/** A workbook of a single sheet. Cells by address; numbers are written as numbers. */
export function xlsx(name: string, cells: Readonly<Record<string, string | number>>): Buffer {
  const sheet = `xmlns="${OOXML}/spreadsheetml/2006/main"`;
  const rows = Map.groupBy(Object.entries(cells), ([address]) => Number(/\d+/.exec(address)![0]));
  const cell = ([address, value]: [string, string | number]): string =>
    typeof value === "number"
      ? `<c r="${address}"><v>${value}</v></c>`
      : `<c r="${address}" t="inlineStr"><is><t>${value}</t></is></c>`;
  const data = [...rows].map(([row, some]) => `<row r="${row}">${some.map(cell).join("")}</row>`).join("");
  return ooxml("xl/workbook.xml", "spreadsheetml.sheet", {
    "xl/workbook.xml": `${XML}<workbook ${sheet} xmlns:r="${OOXML}/officeDocument/2006/relationships"><sheets><sheet name="${name}" sheetId="1" r:id="s1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `${XML}<Relationships xmlns="${OOXML}/package/2006/relationships"><Relationship Id="s1" Type="${OOXML}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
    "xl/worksheets/sheet1.xml": `${XML}<worksheet ${sheet}><sheetData>${data}</sheetData></worksheet>`,
  });
}

/** A presentation of a single slide: a title and paragraphs. */
export function pptx(title: string, paragraphs: readonly string[]): Buffer {
  const names = `xmlns:a="${OOXML}/drawingml/2006/main" xmlns:p="${OOXML}/presentationml/2006/main" xmlns:r="${OOXML}/officeDocument/2006/relationships"`;
  const shape = (kind: string, texts: readonly string[]): string =>
    `<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr><p:ph type="${kind}"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>${texts.map((text) => `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`).join("")}</p:txBody></p:sp>`;
  const tree = `<p:spTree><p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>${shape("title", [title])}${shape("body", paragraphs)}</p:spTree>`;
  return ooxml("ppt/presentation.xml", "presentationml.presentation", {
    "ppt/presentation.xml": `${XML}<p:presentation ${names}><p:sldIdLst><p:sldId id="256" r:id="s1"/></p:sldIdLst></p:presentation>`,
    "ppt/_rels/presentation.xml.rels": `${XML}<Relationships xmlns="${OOXML}/package/2006/relationships"><Relationship Id="s1" Type="${OOXML}/officeDocument/2006/relationships/slide" Target="slides/slide1.xml"/></Relationships>`,
    "ppt/slides/slide1.xml": `${XML}<p:sld ${names}><p:cSld>${tree}</p:cSld></p:sld>`,
  });
}

const OASIS = "urn:oasis:names:tc:opendocument:xmlns";

/** `body` is the content of office:text, or of office:spreadsheet for `ods`. */
export function odf(kind: "odt" | "ods", body: string): Buffer {
  const element = kind === "odt" ? "text" : "spreadsheet";
  const type = `application/vnd.oasis.opendocument.${element}`;
  return container(
    {
      "content.xml": `${XML}<office:document-content xmlns:office="${OASIS}:office:1.0" xmlns:text="${OASIS}:text:1.0" xmlns:table="${OASIS}:table:1.0" office:version="1.2"><office:body><office:${element}>${body}</office:${element}></office:body></office:document-content>`,
      "META-INF/manifest.xml": `${XML}<manifest:manifest xmlns:manifest="${OASIS}:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="${type}"/><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>`,
    },
    type,
  );
}

/** `chapters` are bodies of XHTML by file name; `spine` names the files in reading order. */
export function epub(
  chapters: Readonly<Record<string, string>>,
  spine: readonly string[] = Object.keys(chapters),
): Buffer {
  const names = Object.keys(chapters);
  const items = names.map((name) => `<item id="${name}" href="${name}" media-type="application/xhtml+xml"/>`);
  return container(
    {
      "META-INF/container.xml": `${XML}<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`,
      "book.opf": `${XML}<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The ferry</dc:title><dc:language>en</dc:language><dc:identifier id="id">x</dc:identifier></metadata><manifest>${items.join("")}</manifest><spine>${spine.map((name) => `<itemref idref="${name}"/>`).join("")}</spine></package>`,
      ...Object.fromEntries(
        names.map((name) => [
          name,
          `${XML}<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>${chapters[name]}</body></html>`,
        ]),
      ),
    },
    "application/epub+zip",
  );
}

/** A container whose only document unpacks to so many bytes. */
export const bomb = (bytes: number): Buffer => docx(paragraph("a".repeat(bytes)));

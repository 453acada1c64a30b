/**
 * Writes PDFs for tests: as small as a reader puts up with, with what a test asks for and nothing else. Text is
 * Latin-1 in Helvetica, one line below the other; `japanese` lines are Shift_JIS bytes in a font that only a
 * predefined character map explains.
 */
import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

interface PageContent {
  readonly lines?: readonly string[];
  readonly japanese?: readonly Buffer[];
  /** Instead of lines: the content stream as it shall stand there, already deflated. */
  readonly deflated?: Buffer;
  /** How often it is deflated. Default: once. */
  readonly times?: number;
  /** Bytes of a picture that fills the page, a byte a pixel. */
  readonly picture?: Buffer;
  /** Pixels of a row of it. Default: all. */
  readonly width?: number;
}

interface PdfToWrite {
  readonly pages: readonly PageContent[];
  readonly title?: string;
  /** Files that are attached, and fields of a form, by name. */
  readonly attachments?: readonly string[];
  readonly fields?: readonly string[];
  /** RC4 with 40 bits, revision 2. An empty user's password opens it for everyone. */
  readonly encrypted?: { readonly user: string; readonly owner: string };
}

const ID = Buffer.from("00112233445566778899aabbccddeeff", "hex");

export function writePdf({ pages, title, encrypted, attachments = [], fields = [] }: PdfToWrite): Buffer {
  const parts: Buffer[] = [];
  const offsets: number[] = [];
  let length = 0;
  const push = (text: string | Buffer) => {
    const bytes = typeof text === "string" ? Buffer.from(text, "latin1") : text;
    parts.push(bytes);
    length += bytes.length;
  };
  const lock = encrypted ? locked(encrypted.user, encrypted.owner) : null;
  const hide = (number: number, bytes: Buffer) => (lock ? rc4(objectKey(lock.key, number), bytes) : bytes);
  const object = (number: number, dictionary: string, stream?: Buffer) => {
    offsets[number] = length;
    push(`${number} 0 obj\n`);
    if (stream) {
      const hidden = hide(number, stream);
      push(`${dictionary.replace(/>>$/, `/Length ${hidden.length}>>`)}\nstream\n`);
      push(hidden);
      push("\nendstream");
    } else push(dictionary);
    push("\nendobj\n");
  };

  push("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n");
  const first = 7;
  const asText = (name: string) => text(Buffer.from(name, "latin1"));
  const files = attachments.map((name) => `${asText(name)}<</Type/Filespec/F${asText(name)}>>`).join("");
  const first_field = first + pages.length * 3;
  const form = fields.map((_, index) => `${first_field + index} 0 R`).join(" ");
  object(
    1,
    `<</Type/Catalog/Pages 2 0 R/Names<</EmbeddedFiles<</Names[${files}]>>>>/AcroForm<</Fields[${form}]>>>>`,
  );
  const kids = pages.map((_, index) => `${first + index * 3} 0 R`).join(" ");
  object(2, `<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>`);
  object(3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>");
  object(
    4,
    "<</Type/Font/Subtype/Type0/BaseFont/HeiseiMin-W3/Encoding/90ms-RKSJ-H/DescendantFonts[" +
      "<</Type/Font/Subtype/CIDFontType0/BaseFont/HeiseiMin-W3/DW 1000" +
      `/CIDSystemInfo<</Registry${text(hide(4, Buffer.from("Adobe")))}` +
      `/Ordering${text(hide(4, Buffer.from("Japan1")))}/Supplement 2>>>>]>>`,
  );
  object(5, title === undefined ? "<<>>" : `<</Title${text(hide(5, utf16(title)))}>>`);
  if (lock) {
    offsets[6] = length;
    push(`6 0 obj\n<</Filter/Standard/V 1/R 2/O${text(lock.owner)}/U${text(lock.user)}/P -4>>\nendobj\n`);
  } else object(6, "<<>>");
  for (const [index, page] of pages.entries()) {
    const number = first + index * 3;
    const picture = page.picture ? `/XObject<</P ${number + 2} 0 R>>` : "";
    object(
      number,
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents ${number + 1} 0 R` +
        `/Resources<</Font<</L 3 0 R/J 4 0 R>>${picture}>>>>`,
    );
    if (page.deflated)
      object(number + 1, `<</Filter[${"/FlateDecode".repeat(page.times ?? 1)}]>>`, page.deflated);
    else object(number + 1, "<<>>", Buffer.from(contentOf(page), "latin1"));
    const pixels = page.picture ?? Buffer.alloc(0);
    const width = page.width ?? pixels.length;
    object(
      number + 2,
      `<</Type/XObject/Subtype/Image/Width ${width}/Height ${pixels.length / width || 0}/ColorSpace/DeviceGray/BitsPerComponent 8>>`,
      pixels,
    );
  }

  for (const [index, field] of fields.entries())
    object(first_field + index, `<</FT/Tx/T${asText(field)}/Type/Annot/Subtype/Widget/Rect[0 0 9 9]>>`);

  const xref = length;
  push(`xref\n0 ${offsets.length}\n0000000000 65535 f \n`);
  push(
    offsets
      .slice(1)
      .map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`)
      .join(""),
  );
  const encrypt = lock ? "/Encrypt 6 0 R" : "";
  push(
    `trailer\n<</Size ${offsets.length}/Root 1 0 R/Info 5 0 R/ID[${text(ID)}${text(ID)}]${encrypt}>>\n` +
      `startxref\n${xref}\n%%EOF\n`,
  );
  return Buffer.concat(parts);
}

/** A document of one page, which a program draws as PGM, as a page that is the picture. */
export function scannedPage(pgm: Uint8Array): PageContent {
  const [head, width] = /^P5\n(\d+) \d+\n255\n/.exec(Buffer.from(pgm.subarray(0, 40)).toString("latin1"))!;
  return { picture: Buffer.from(pgm.subarray(head.length)), width: Number(width) };
}

/** A page of few bytes that unpacks to so many spaces, deflated twice. */
export function nestedBombPage(bytes: number): PageContent {
  const once = deflateSync(Buffer.alloc(bytes, " "), { level: 9 });
  return { deflated: deflateSync(once, { level: 9 }), times: 2 };
}

/** A page that unpacks to so many bytes of text from a thousandth of them. */
export function bombPage(bytes: number): PageContent {
  return { deflated: deflateSync(Buffer.alloc(bytes, "BT /L 9 Tf (word) Tj ET\n"), { level: 1 }) };
}

function contentOf({ lines = [], japanese = [], picture }: PageContent): string {
  const rows = [
    ...lines.map((line) => `/L 12 Tf ${text(Buffer.from(line, "latin1"))} Tj 0 -14 Td`),
    ...japanese.map((line) => `/J 12 Tf ${text(line)} Tj 0 -14 Td`),
  ];
  return `${picture ? "q 595 0 0 842 0 0 cm /P Do Q\n" : ""}BT 50 800 Td\n${rows.join("\n")}\nET`;
}

const text = (bytes: Buffer) => `<${bytes.toString("hex")}>`;
const utf16 = (words: string) => Buffer.from(`\uFEFF${words}`, "utf16le").swap16();

const PADDING = Buffer.from("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a", "hex");
const padded = (password: string) =>
  Buffer.concat([Buffer.from(password, "latin1"), PADDING]).subarray(0, 32);
const md5 = (...parts: Buffer[]) => createHash("md5").update(Buffer.concat(parts)).digest();

function locked(user: string, owner: string) {
  const ownerEntry = rc4(md5(padded(owner)).subarray(0, 5), padded(user));
  const permissions = Buffer.alloc(4);
  permissions.writeInt32LE(-4);
  const key = md5(padded(user), ownerEntry, permissions, ID).subarray(0, 5);
  return { key, owner: ownerEntry, user: rc4(key, PADDING) };
}

function objectKey(key: Buffer, number: number): Buffer {
  const place = Buffer.from([number & 255, (number >> 8) & 255, (number >> 16) & 255, 0, 0]);
  return md5(key, place).subarray(0, 10);
}

/** OpenSSL 3 no longer offers it. */
function rc4(key: Buffer, bytes: Buffer): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, index) => index);
  const swap = (a: number, b: number) => ([state[a], state[b]] = [state[b]!, state[a]!]);
  for (let i = 0, j = 0; i < 256; i++) swap(i, (j = (j + state[i]! + key[i % key.length]!) & 255));
  let i = 0;
  let j = 0;
  return Buffer.from(
    bytes.map((byte) => {
      i = (i + 1) & 255;
      j = (j + state[i]!) & 255;
      swap(i, j);
      return byte ^ state[(state[i]! + state[j]!) & 255]!;
    }),
  );
}

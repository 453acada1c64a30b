/**
 * The encoding of a document's bytes, in the WHATWG's order of evidence. It is decided once, where the document is read, by
 * bytes and headers only, never by a parsed page; decode-text.ts decodes by the name.
 */
import { isUtf8 } from "node:buffer";
import { getBOMEncoding } from "@exodus/bytes/encoding.js";
// @ts-expect-error its types on npm are those of version 3
import sniffer from "html-encoding-sniffer";
import { detect } from "jschardet";
import { type ContentKind, isOfficeKind } from "../../../schemas/fetch.ts";
import { utf16Of } from "../../lib/web/utf16.ts";
import { HZ, readable } from "./decode-text.ts";

const sniff = sniffer as (
  bytes: Uint8Array,
  options: { xml: true } | { maxPrescanBytes: number; defaultEncoding: string },
) => string;

/** The standard's 1,024 bytes miss one page in eight: some declare their encoding near byte 30,000. */
const PRESCAN_BYTES = 65_536;
/** Detection by statistics takes 28 ms per 50 KB, so it sees no more than this. */
const GUESS_BYTES = 65_536;
/** And its tags are taken out of no more than this. */
const TAGGED_BYTES = 524_288;

/** Encodings that undeclared bytes may have: jschardet's names without DOS, EBCDIC, Mac and those no browser reads. */
const GUESSES = (
  "big5hkscs cp932 cp949 euc_jis_2004 euc_kr gb18030 iso2022_jp_2 shift_jis_2004 cp874 cp1250 cp1251 cp1252 " +
  "cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 tis-620 koi8-r koi8-u iso8859-1 iso8859-2 iso8859-5 iso8859-6 " +
  "iso8859-7 iso8859-8 iso8859-9 iso8859-13 iso8859-15"
).split(" ");

/** Names jschardet uses and the standard does not know. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  CP932: "Shift_JIS",
  SHIFT_JIS_2004: "Shift_JIS",
  CP949: "EUC-KR",
  CP874: "windows-874",
  BIG5HKSCS: "Big5",
  EUC_JIS_2004: "EUC-JP",
  ISO2022_JP_2: "ISO-2022-JP",
};

const CHARSET_PARAMETER = /(?:^|[;,\s])charset\s*=\s*["']?([^\s"';,]+)/i;

interface Document {
  readonly bytes: Uint8Array;
  /** As the origin sent it, or null. */
  readonly content_type: string | null;
  readonly kind: ContentKind;
}

/** WHATWG name of the document's encoding ("UTF-8", "Shift_JIS"); null for what is no text. */
export function charsetOf({ bytes, content_type, kind }: Document): string | null {
  if (kind === "pdf" || kind === "binary" || isOfficeKind(kind)) return null;
  const bom = readable(getBOMEncoding(bytes));
  const declared = readable(CHARSET_PARAMETER.exec(content_type ?? "")?.[1]);
  switch (kind) {
    // RFC 8259: UTF-8. A declared encoding other than UTF-8 is used only when the bytes are not valid UTF-8.
    case "json":
      return bom ?? (isUtf8(bytes) ? "UTF-8" : (declared ?? "UTF-8"));
    case "xml":
      return bom ?? declared ?? readable(sniff(bytes, { xml: true })) ?? "UTF-8";
    case "html":
      return (
        bom ??
        declared ??
        inElement(bytes, readable(sniff(bytes, { maxPrescanBytes: PRESCAN_BYTES, defaultEncoding: "" }))) ??
        guess(bytes, withoutTags)
      );
    case "text":
      return bom ?? declared ?? guess(bytes, (all) => all.subarray(0, GUESS_BYTES));
  }
}

/** Bytes above 0x7F of a legacy encoding are valid UTF-8 by chance less and less often the more of them there are. */
const UTF8_BYTES_MIN = 12;

/**
 * The encoding that a page's own element declares, unless the page is valid UTF-8 with enough bytes above 0x7F to tell: such
 * pages were converted on their way, and their element was not.
 */
function inElement(bytes: Uint8Array, declared: string | null): string | null {
  if (declared === null || declared === "UTF-8" || declared.startsWith("UTF-16") || !isUtf8(bytes))
    return declared;
  let high = 0;
  for (let i = 0; i < bytes.length && high < UTF8_BYTES_MIN; i += 1) if (bytes[i]! > 0x7f) high += 1;
  return high >= UTF8_BYTES_MIN ? "UTF-8" : declared;
}

function guess(bytes: Uint8Array, sampleOf: (bytes: Uint8Array) => Uint8Array): string {
  const wide = utf16Of(bytes);
  if (wide !== null) return wide;
  if (isUtf8(bytes)) return isHz(bytes) ? HZ : "UTF-8";
  const sample = sampleOf(bytes);
  const { encoding } = detect(sample, { detectEncodings: GUESSES });
  const guessed = readable(OTHER_NAMES[encoding?.toUpperCase() ?? ""] ?? encoding);
  // Without a euro sign the two differ in nothing that a page of ISO-8859-15 would have.
  if (guessed === null || (guessed === "ISO-8859-15" && !sample.includes(EURO_15))) return "windows-1252";
  return guessed;
}

/** Two characters of Chinese or more between the escapes of RFC 1843, and no byte above 0x7F. */
const HZ_TEXT = /~\{(?:[!-w][!-~]){2,}~\}/;

function isHz(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, GUESS_BYTES)).toString(
    "latin1",
  );
  // oxlint-disable-next-line no-control-regex
  return HZ_TEXT.test(text) && !/[^\0-\x7f]/.test(text);
}

/** The euro sign in ISO-8859-15. */
const EURO_15 = 0xa4;
const [LESS, MORE, ESCAPE, SPACE] = [0x3c, 0x3e, 0x1b, 0x20] as const;
const isBlank = (byte: number): boolean => byte === SPACE || (byte >= 9 && byte <= 13 && byte !== 11);
/** Elements whose content is program text. */
const PROGRAMS = ["script", "style"] as const;

/**
 * The text of a page, for its letters to be counted: names of elements and attributes, and programs, are Latin on every
 * page. White space is collapsed by ASCII's alone, because 0xA0 is half of a letter in many encodings. No encoding that
 * is guessed has "<" or ">" as a second byte, except ISO-2022-JP, which is left as it is.
 */
function withoutTags(bytes: Uint8Array): Uint8Array {
  if (bytes.subarray(0, GUESS_BYTES).includes(ESCAPE)) return bytes.subarray(0, GUESS_BYTES);
  const page = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, TAGGED_BYTES));
  const text = new Uint8Array(GUESS_BYTES);
  let size = 0;
  for (let i = 0; i < page.length && size < GUESS_BYTES; i += 1) {
    const byte = page[i]!;
    if (byte === LESS) {
      const name = page.toString("latin1", i + 1, i + 7).toLowerCase();
      const program = PROGRAMS.find((each) => name.startsWith(each));
      const ends = program ? page.indexOf(`</${program}`, i) : i;
      const end = ends < 0 ? -1 : page.indexOf(MORE, ends);
      if (end < 0) break;
      i = end;
    }
    const blank = byte === LESS || isBlank(byte);
    if (!blank) text[size++] = byte;
    else if (size > 0 && text[size - 1] !== SPACE) text[size++] = SPACE;
  }
  return size > 0 ? text.subarray(0, size) : bytes.subarray(0, GUESS_BYTES);
}

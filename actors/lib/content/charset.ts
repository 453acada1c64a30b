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
import { readable } from "./decode-text.ts";

const sniff = sniffer as (
  bytes: Uint8Array,
  options: { xml: true } | { maxPrescanBytes: number; defaultEncoding: string },
) => string;

/** The standard's 1,024 bytes miss one page in eight: some declare their encoding near byte 30,000. */
const PRESCAN_BYTES = 65_536;
/** Detection by statistics takes 28 ms per 50 KB, so it sees no more than this. */
const GUESS_BYTES = 65_536;

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
        readable(sniff(bytes, { maxPrescanBytes: PRESCAN_BYTES, defaultEncoding: "" })) ??
        guess(bytes)
      );
    case "text":
      return bom ?? declared ?? guess(bytes);
  }
}

function guess(bytes: Uint8Array): string {
  if (isUtf8(bytes)) return "UTF-8";
  const { encoding } = detect(bytes.subarray(0, GUESS_BYTES), { detectEncodings: GUESSES });
  return readable(OTHER_NAMES[encoding?.toUpperCase() ?? ""] ?? encoding) ?? "windows-1252";
}
